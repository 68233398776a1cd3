"""Search by meaning, on an index made by `index_config`.

Every word of a small vocabulary is a direction of its own, so that it is known which
item is nearest to a query.
"""

from __future__ import annotations

from typing import Any

from langgraph.store.base import PutOp

from holdover.compat.testing.outcomes import Severity
from holdover.compat.testing.registry import Group
from holdover.compat.testing.steps import Steps
from holdover.compat.testing.trial import (
    Trial,
    delete,
    expect,
    expect_exactly,
    pairs_of,
    search,
    shown,
)

_group = Group("vectors", needs="vectors")
_MANY = 40
_PAGE = 10


def _ranked(trial: Trial, query: str, **options: Any) -> Steps[list[str]]:
    """The keys that have a score, best first; others may be appended without one."""
    found = yield search(trial.at(), query=query, **{"limit": _PAGE, **options})
    return [item.key for item in found if item.score is not None]


def _first(trial: Trial, query: str, key: str) -> Steps[None]:
    keys = yield from _ranked(trial, query)
    expect(keys[:1] == [key], f"{query!r} ranked {' '.join(keys) or 'nothing'}")


def _unranked(trial: Trial, key: str, query: str, why: str) -> Steps[None]:
    keys = yield from _ranked(trial, query)
    expect(key not in keys, f"{key} is ranked {why}")


@_group.holds(Severity.SEMANTICS)
def ranking(trial: Trial) -> Steps[None]:
    """What is nearest comes first, with the highest score."""
    texts = {"far": "blue", "near": "red", "between": "red blue", "other": "green"}
    for key, text in texts.items():
        yield trial.put(trial.at(), key, {"text": text})
    found = yield search(trial.at(), query="red")
    keys = [item.key for item in found]
    expect(keys[:2] == ["near", "between"], f"it ranked {' '.join(keys)}")
    scores = [item.score for item in found if item.score is not None]
    expect(len(scores) == len(texts), f"{len(scores)} of {len(texts)} have a score")
    expect(scores == sorted(scores, reverse=True), f"the scores are {shown(scores)}")


@_group.holds(Severity.LEAK)
def scope(trial: Trial) -> Steps[None]:
    """A query finds nothing outside the namespace searched."""
    for label in ("user1", "user10", "user", "User1"):
        yield trial.put(trial.at(label), "k", {"text": "red"})
    found = yield search(trial.at("user1"), query="red")
    expect_exactly(pairs_of(found), [(trial.at("user1"), "k")])


@_group.holds(Severity.SEMANTICS)
def fields(trial: Trial) -> Steps[None]:
    """Only the configured fields are embedded."""
    yield trial.put(trial.at(), "text", {"text": "red", "note": "blue"})
    yield trial.put(trial.at(), "note", {"text": "green", "note": "red red red"})
    yield trial.put(trial.at(), "both", {"text": "red green", "note": "green"})
    keys = yield from _ranked(trial, "red")
    expect(keys == ["text", "both", "note"], f"it ranked {' '.join(keys)}")


@_group.holds(Severity.SEMANTICS)
def fields_of_put(trial: Trial) -> Steps[None]:
    """The fields named in a put are embedded in place of the configured ones."""
    yield trial.put(trial.at(), "k", {"text": "green", "note": "red"}, index=["note"])
    yield trial.put(trial.at(), "other", {"text": "red green", "note": "green"})
    yield from _first(trial, "red", "k")


@_group.holds(Severity.LEAK)
def index_false(trial: Trial) -> Steps[None]:
    """What was put without an index is not ranked."""
    yield trial.put(trial.at(), "hidden", {"text": "red"}, index=False)
    yield trial.put(trial.at(), "shown", {"text": "blue"})
    yield from _unranked(trial, "hidden", "red", "though put with index=False")


@_group.holds(Severity.LOSS)
def index_false_is_stored(trial: Trial) -> Steps[None]:
    """What was put without an index is found without a query."""
    yield trial.put(trial.at(), "k", {"text": "red"}, index=False)
    yield from trial.still({(trial.at(), "k"): {"text": "red"}})
    found = yield search(trial.at())
    expect_exactly(pairs_of(found), [(trial.at(), "k")])


@_group.holds(Severity.SEMANTICS)
def update(trial: Trial) -> Steps[None]:
    """An update replaces what the item is found by."""
    yield trial.put(trial.at(), "k", {"text": "red"})
    yield trial.put(trial.at(), "other", {"text": "red blue"})
    yield trial.put(trial.at(), "k", {"text": "blue"})
    yield from _first(trial, "red", "other")
    yield from _first(trial, "blue", "k")


@_group.holds(Severity.LEAK)
def stale_after_index_false(trial: Trial) -> Steps[None]:
    """An update without an index removes the old vector."""
    yield trial.put(trial.at(), "k", {"text": "red"})
    yield trial.put(trial.at(), "k", {"text": "blue"}, index=False)
    yield from _unranked(trial, "k", "red", "by its old text")


@_group.holds(Severity.LEAK)
def stale_field(trial: Trial) -> Steps[None]:
    """An update that lacks the field removes the old vector."""
    yield trial.put(trial.at(), "k", {"text": "red"})
    yield trial.put(trial.at(), "k", {"title": "x"})
    yield from _unranked(trial, "k", "red", "by a field it no longer has")


@_group.holds(Severity.LEAK)
def deleted(trial: Trial) -> Steps[None]:
    """A query does not find what was deleted."""
    yield trial.put(trial.at(), "k", {"text": "red"})
    yield delete(trial.at(), "k")
    found = yield search(trial.at(), query="red")
    expect_exactly(pairs_of(found), [])


@_group.holds(Severity.LEAK)
def deleted_and_put(trial: Trial) -> Steps[None]:
    """A deleted item's vector does not come back with its key."""
    yield trial.put(trial.at(), "k", {"text": "red"})
    yield delete(trial.at(), "k")
    yield trial.put(trial.at(), "k", {"text": "blue"}, index=False)
    yield from _unranked(trial, "k", "red", "by the text of a deleted item")


@_group.holds(Severity.LOSS)
def same_text_twice(trial: Trial) -> Steps[None]:
    """Two items of one batch may have the same text."""
    items = {(trial.at(), key): {"text": "red"} for key in ("a", "b", "c")}
    yield from trial.keeps(items, once=True)
    keys = yield from _ranked(trial, "red")
    expect(sorted(keys) == ["a", "b", "c"], f"it ranked {' '.join(keys) or 'nothing'}")


@_group.holds(Severity.SEMANTICS)
def limit(trial: Trial) -> Steps[None]:
    """A query gives as many items as asked for."""
    yield trial.batch(
        [PutOp(trial.at(), f"k{n}", {"text": "red " * n}) for n in range(1, 21)]
    )
    found = yield search(trial.at(), query="red", limit=7)
    expect(len(found) == 7, f"it gave {len(found)} of 7")  # noqa: PLR2004


@_group.holds(Severity.LOSS)
def offset(trial: Trial) -> Steps[None]:
    """Pages of ten by offset give each of forty items once."""
    words = ["red", "blue", "green", "white"]
    items = {
        (trial.at(), f"k{n:02d}"): {"text": f"{words[n % 4]} " + "black " * (n // 4)}
        for n in range(_MANY)
    }
    yield trial.batch([PutOp(*pair, value) for pair, value in items.items()])
    found = []
    for skipped in range(0, _MANY, _PAGE):
        page = yield search(trial.at(), query="red", limit=_PAGE, offset=skipped)
        found += pairs_of(page)
    expect_exactly(found, items)


@_group.holds(Severity.LOSS)
def filtered(trial: Trial) -> Steps[None]:
    """A filter counts before the limit: a distant match is found."""
    ops = [PutOp(trial.at(), f"k{n}", {"text": "red", "x": "no"}) for n in range(20)]
    # Distinct texts: it is not about the same text twice.
    ops = [
        op._replace(value={"text": f"red word{n}", "x": "no"})
        for n, op in enumerate(ops)
    ]
    ops.append(PutOp(trial.at(), "match", {"text": "blue", "x": "yes"}))
    yield trial.batch(ops)
    found = yield search(trial.at(), query="red", filter={"x": "yes"}, limit=3)
    expect_exactly(pairs_of(found), [(trial.at(), "match")])


@_group.holds(Severity.LOSS)
def many_of_one_item(trial: Trial) -> Steps[None]:
    """Items with many texts each count once against the limit."""
    for n in range(_PAGE):
        parts = [f"red word{n * 20 + part}" for part in range(20)]
        yield trial.put(trial.at(), f"k{n}", {"parts": parts}, index=["parts[*]"])
    keys = yield from _ranked(trial, "red", limit=5)
    expect(len(set(keys)) == 5, f"a limit of 5 gave {len(set(keys))} items")  # noqa: PLR2004


@_group.holds(Severity.SEMANTICS)
def best_of_one_item(trial: Trial) -> Steps[None]:
    """An item with several texts is as near as the nearest of them."""
    parts = ["green", "red", "blue"]
    yield trial.put(trial.at(), "parts", {"parts": parts}, index=["parts[*]"])
    yield trial.put(trial.at(), "mixed", {"text": "red white"})
    yield from _first(trial, "red", "parts")
