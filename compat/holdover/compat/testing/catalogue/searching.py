"""Search finds what is there: all of it, once, and nothing of the neighbours."""

from __future__ import annotations

from datetime import datetime

from langgraph.store.base import PutOp

from holdover.compat.testing.equality import same
from holdover.compat.testing.outcomes import Severity
from holdover.compat.testing.registry import Group
from holdover.compat.testing.steps import Sleep, Steps
from holdover.compat.testing.trial import (
    MANY,
    Pair,
    Trial,
    expect,
    expect_exactly,
    pairs_of,
    search,
)

_group = Group("search")
_PAGE = 100
_SOME = 25
_NAMESPACES = 250
_DEFAULT = 10
#: Longer than the resolution of any clock a store was seen to use.
_TICK_SECONDS = 1.1


@_group.holds(Severity.LOSS)
def complete(trial: Trial) -> Steps[None]:
    """A thousand and one items of a namespace are all found, judged by count."""
    items = yield from trial.fill(MANY)
    found = yield search(trial.at())
    expect_exactly(pairs_of(found), items)


@_group.holds(Severity.LOSS)
def paging_complete(trial: Trial) -> Steps[None]:
    """Pages of 100, by limit and offset, give each item of one batch once."""
    items = {(trial.at(), f"k{n:05d}"): {"n": n} for n in range(MANY)}
    yield trial.batch([PutOp(*pair, value) for pair, value in items.items()])
    found: list[Pair] = []
    for offset in range(0, MANY + _PAGE, _PAGE):
        page = yield search(trial.at(), limit=_PAGE, offset=offset)
        found += pairs_of(page)
    expect_exactly(found, items)


@_group.holds(Severity.LOSS)
def many_namespaces(trial: Trial) -> Steps[None]:
    """A search above 250 namespaces finds the items of all, judged by count."""
    items = {(trial.at(f"n{n:05d}"), "k"): {"n": n} for n in range(_NAMESPACES)}
    yield trial.batch([PutOp(*pair, value) for pair, value in items.items()])
    found = yield search(trial.at())
    expect_exactly(pairs_of(found), items)


@_group.holds(Severity.LEAK)
def leak(trial: Trial) -> Steps[None]:
    """A search finds a namespace and what is below it, and no sibling, by count."""
    inside = [trial.at("user1"), trial.at("user1", "below")]
    outside = [trial.at(), trial.at("user10"), trial.at("user"), trial.at("User1")]
    outside += [trial.at("user1x"), trial.at("x", "user1"), trial.at("user2")]
    for namespace in (*inside, *outside):
        yield from trial.fill(_SOME, namespace)
    found = yield search(trial.at("user1"))
    expect_exactly(
        pairs_of(found),
        [(one, f"k{n:05d}") for one in inside for n in range(_SOME)],
    )


@_group.holds(Severity.LOSS)
def short_label(trial: Trial) -> Steps[None]:
    """A search for a label of one letter finds its items."""
    yield trial.put(trial.at("m"), "k", {"n": 1})
    found = yield search(trial.at("m"))
    expect_exactly(pairs_of(found), [(trial.at("m"), "k")])


@_group.holds(Severity.SEMANTICS)
def nothing(trial: Trial) -> Steps[None]:
    """A search where there is nothing gives an empty list."""
    found = yield search(trial.at("none"))
    expect(found == [], f"it gave {len(found)} items")


@_group.holds(Severity.SEMANTICS)
def default_limit(trial: Trial) -> Steps[None]:
    """Without a limit, a search gives ten items."""
    yield from trial.fill(_SOME)
    call = search(trial.at())
    call.kwargs.pop("limit")
    found = yield call
    expect(len(found) == _DEFAULT, f"it gave {len(found)}")


@_group.holds(Severity.SEMANTICS)
def limit(trial: Trial) -> Steps[None]:
    """A search gives as many items as asked for; for a limit of zero, none."""
    yield from trial.fill(_SOME)
    for wanted in (0, 1, 7, _SOME, _SOME + 5):
        found = yield search(trial.at(), limit=wanted)
        right = min(wanted, _SOME)
        expect(len(found) == right, f"limit {wanted} gave {len(found)} of {_SOME}")


@_group.holds(Severity.SEMANTICS)
def offset(trial: Trial) -> Steps[None]:
    """An offset skips as many items; beyond the end there are none."""
    yield from trial.fill(_SOME)
    for skipped in (1, 10, _SOME - 1, _SOME, _SOME + 5):
        found = yield search(trial.at(), limit=_SOME, offset=skipped)
        right = max(0, _SOME - skipped)
        expect(len(found) == right, f"offset {skipped} gave {len(found)} of {_SOME}")


@_group.holds(Severity.SEMANTICS)
def what_an_item_has(trial: Trial) -> Steps[None]:
    """A found item has its namespace as a tuple, key, value, times, and no score."""
    yield trial.put(trial.at("a"), "k", {"n": 1})
    (item,) = yield search(trial.at())
    expect(
        item.namespace == trial.at("a") and isinstance(item.namespace, tuple),
        f"the namespace is a {type(item.namespace).__name__}",
    )
    expect(item.key == "k" and same(item.value, {"n": 1}), "key or value is another")
    times = (item.created_at, item.updated_at)
    expect(all(isinstance(one, datetime) for one in times), "a time is no datetime")
    expect(item.score is None, f"without a query the score is {item.score!r}")


@_group.holds(Severity.SEMANTICS, sleeps=True)
def order_newest_first(trial: Trial) -> Steps[None]:
    """Without a query, what was written last comes first."""
    yield trial.put(trial.at(), "a", {"n": 1})
    yield trial.put(trial.at(), "b", {"n": 1})
    yield Sleep(_TICK_SECONDS)
    yield trial.put(trial.at(), "b", {"n": 2})
    yield trial.put(trial.at(), "c", {"n": 1})
    found = yield search(trial.at())
    keys = [item.key for item in found]
    expect(
        sorted(keys[:2]) == ["b", "c"] and keys[2:] == ["a"],
        f"written a and b, then b and c; found {', '.join(keys)}",
    )


@_group.holds(Severity.SEMANTICS, needs="no vectors")
def query_without_index(trial: Trial) -> Steps[None]:
    """A store without an index answers a query as it would without it."""
    items = yield from trial.fill(5)
    found = yield search(trial.at(), query="k")
    expect_exactly(pairs_of(found), items)
    expect(all(item.score is None for item in found), "an item has a score")


@_group.holds(Severity.SEMANTICS)
def empty_query(trial: Trial) -> Steps[None]:
    """An empty query is none."""
    items = yield from trial.fill(5)
    found = yield search(trial.at(), query="")
    expect_exactly(pairs_of(found), items)
