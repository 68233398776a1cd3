"""A batch reads before it writes, keeps the last write of a key, and is one thing."""

from __future__ import annotations

from typing import Any

from langgraph.store.base import GetOp, ListNamespacesOp, PutOp, SearchOp

from holdover.compat.testing.outcomes import Severity
from holdover.compat.testing.registry import Group
from holdover.compat.testing.steps import Attempt, Call, Steps
from holdover.compat.testing.trial import (
    MANY,
    Trial,
    expect,
    expect_exactly,
    pairs_of,
    search,
)

_group = Group("batch")
_SOME = 50


@_group.holds(Severity.SEMANTICS)
def empty(trial: Trial) -> Steps[None]:
    """An empty batch gives an empty list."""
    found = yield trial.batch([])
    expect(found == [], f"it gave {found!r}")


@_group.holds(Severity.SEMANTICS)
def any_iterable(trial: Trial) -> Steps[None]:
    """The operations may come from a generator."""
    for number in range(3):
        trial.remember(trial.at(), f"k{number}")
    ops = (PutOp(trial.at(), f"k{number}", {"n": number}) for number in range(3))
    yield Call("batch", (ops,))
    yield from trial.still({(trial.at(), f"k{n}"): {"n": n} for n in range(3)})


@_group.holds(Severity.LOSS)
def get_many(trial: Trial) -> Steps[None]:
    """Fifty reads in one batch give fifty items, each in its place."""
    yield from trial.fill(_SOME)
    keys = [f"k{n:05d}" for n in reversed(range(_SOME))]
    found = yield trial.batch([GetOp(trial.at(), key) for key in keys])
    expect(len(found) == _SOME, f"{len(found)} results for {_SOME} operations")
    got = [None if item is None else item.key for item in found]
    missing = got.count(None)
    expect(not missing, f"{missing} of {_SOME} missing")
    expect(got == keys, "the results are in another order")


@_group.holds(Severity.LOSS)
def get_same_twice(trial: Trial) -> Steps[None]:
    """The same read twice in a batch gives two results."""
    yield trial.put(trial.at(), "k", {"n": 1})
    op = GetOp(trial.at(), "k")
    found = yield trial.batch([op, GetOp(trial.at(), "none"), op])
    got = [item and item.value for item in found]
    expect(got == [{"n": 1}, None, {"n": 1}], f"the results are {got!r}")


@_group.holds(Severity.LOSS)
def many_puts(trial: Trial) -> Steps[None]:
    """A thousand and one writes in one batch are all there, judged by count."""
    items = {(trial.at(), f"k{n:05d}"): {"n": n} for n in range(MANY)}
    yield trial.batch([PutOp(*pair, value) for pair, value in items.items()])
    found = yield trial.batch([GetOp(*pair) for pair in items])
    wrong = sum(
        item is None or item.value != value
        for item, value in zip(found, items.values(), strict=True)
    )
    expect(not wrong, f"{wrong} of {MANY} missing or wrong")


@_group.holds(Severity.SEMANTICS)
def results_in_order(trial: Trial) -> Steps[None]:
    """Each operation's result stands at its place; a write's is `None`."""
    yield trial.put(trial.at("a"), "k", {"n": 1})
    found = yield trial.batch(
        [
            PutOp(trial.at("b"), "k", {"n": 2}),
            GetOp(trial.at("a"), "k"),
            SearchOp(trial.at("a")),
            PutOp(trial.at("c"), "k", None),
            GetOp(trial.at("none"), "k"),
            ListNamespacesOp(),
        ]
    )
    expect(
        len(found) == 6  # noqa: PLR2004
        and found[0] is None
        and found[1] is not None
        and found[1].value == {"n": 1}
        and [item.key for item in found[2]] == ["k"]
        and found[3] is None
        and found[4] is None
        and isinstance(found[5], list),
        f"the results are {[type(one).__name__ for one in found]}",
    )


@_group.holds(Severity.SEMANTICS)
def reads_see_state_before(trial: Trial) -> Steps[None]:
    """Every read of a batch sees what was there before it, wherever it stands."""
    yield trial.put(trial.at(), "k", {"n": "old"})
    put = PutOp(trial.at(), "k", {"n": "new"})
    other = PutOp(trial.at(), "other", {"n": "new"})
    found = yield trial.batch(
        [
            put,
            other,
            GetOp(trial.at(), "k"),
            SearchOp(trial.at()),
            GetOp(trial.at(), "x"),
        ]
    )
    expect(
        found[2] is not None and found[2].value == {"n": "old"},
        "get saw the new value",
    )
    seen = [(item.key, item.value) for item in found[3]]
    expect(seen == [("k", {"n": "old"})], "search saw the new value")
    yield from trial.still({(trial.at(), "k"): {"n": "new"}})


@_group.holds(Severity.LOSS)
def last_put_wins(trial: Trial) -> Steps[None]:
    """Of several writes to one key in a batch, the last one counts."""
    yield trial.batch([PutOp(trial.at(), "k", {"n": n}) for n in range(5)])
    yield from trial.still({(trial.at(), "k"): {"n": 4}})


@_group.holds(Severity.LOSS)
def put_then_delete(trial: Trial) -> Steps[None]:
    """A write and then a deletion of one key in a batch: it is deleted."""
    yield trial.batch([PutOp(trial.at(), "k", {"n": 1}), PutOp(trial.at(), "k", None)])
    yield from trial.gone((trial.at(), "k"))


@_group.holds(Severity.LOSS)
def delete_then_put(trial: Trial) -> Steps[None]:
    """A deletion and then a write of one key in a batch: it is written."""
    yield trial.put(trial.at(), "k", {"n": 0})
    yield trial.batch([PutOp(trial.at(), "k", None), PutOp(trial.at(), "k", {"n": 1})])
    yield from trial.still({(trial.at(), "k"): {"n": 1}})


@_group.holds(Severity.LOSS)
def all_or_nothing(trial: Trial) -> Steps[None]:
    """Where a batch raises, nothing of it was done; where it does not, all of it."""
    bad: list[tuple[str, Any]] = [
        ("a value that cannot be encoded", PutOp(trial.at(), "bad", {"v": object()})),
        ("no key", PutOp(trial.at(), None, {"v": 1})),  # type: ignore[arg-type]
        ("a NUL", PutOp(trial.at(), "bad\x00", {"v": "\x00"})),
        ("a label with a period", PutOp(trial.at("a.b"), "bad", {"v": 1})),
    ]
    for number, (what, wrong) in enumerate(bad):
        old, gone, new = (
            trial.at(f"n{number}", name) for name in ("old", "gone", "new")
        )
        yield trial.put(old, "k", {"n": "old"})
        yield trial.put(gone, "k", {"n": "old"})
        call = trial.batch(
            [
                PutOp(gone, "k", None),
                PutOp(old, "k", {"n": "new"}),
                wrong,
                PutOp(new, "k", {"n": "new"}),
            ]
        )
        error = yield Attempt(call)
        found = []
        for place in (old, gone, new):
            value = yield from trial.value(place, "k")
            found.append(value and value["n"])
        wanted = ["new", None, "new"] if error is None else ["old", "old", None]
        raised = "nothing was raised" if error is None else "it raised"
        expect(
            found == wanted,
            f"with {what}, {raised}, and update, deletion and insert left {found}",
        )


@_group.holds(Severity.SEMANTICS)
def unknown_operation(trial: Trial) -> Steps[None]:
    """What is no operation is refused, not skipped."""
    yield from trial.refuses(trial.batch([("no", "operation")]), "a pair of words")  # type: ignore[list-item]


@_group.holds(Severity.SEMANTICS)
def usable_after_an_error(trial: Trial) -> Steps[None]:
    """After a batch that failed, the store works as before."""
    yield Attempt(trial.batch([PutOp(trial.at(), "bad", {"v": object()})]))
    yield Attempt(trial.batch([PutOp(trial.at(), None, {"v": 1})]))  # type: ignore[arg-type]
    yield from trial.keeps({(trial.at("after"), "k"): {"n": 1}})
    items = yield search(trial.at("after"))
    expect_exactly(pairs_of(items), [(trial.at("after"), "k")])
