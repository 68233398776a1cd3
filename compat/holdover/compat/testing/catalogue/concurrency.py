"""Several writers at once lose nothing of each other's."""

from __future__ import annotations

from langgraph.store.base import PutOp

from holdover.compat.testing.outcomes import Severity
from holdover.compat.testing.registry import Group
from holdover.compat.testing.steps import Call, Steps, Tasks, Threads
from holdover.compat.testing.trial import (
    Trial,
    expect,
    expect_exactly,
    get,
    pairs_of,
    search,
)

_group = Group("concurrency")
_WRITERS = 8
_EACH = 15
_ROUNDS = 20


def _lanes(trial: Trial) -> list[list[Call]]:
    return [
        [
            call
            for n in range(_EACH)
            for call in (
                trial.put(trial.at(), f"w{writer}n{n}", {"n": n, "writer": writer}),
                get(trial.at(), f"w{writer}n{n}"),
            )
        ]
        for writer in range(_WRITERS)
    ]


def _all_there(trial: Trial, errors: list[Exception]) -> Steps[None]:
    expect(
        not errors,
        f"{len(errors)} of {_WRITERS} raised, such as "
        f"{type(errors[0]).__name__ if errors else ''}: {errors[0] if errors else ''}",
    )
    found = yield search(trial.at())
    expect_exactly(
        pairs_of(found),
        [(trial.at(), f"w{w}n{n}") for w in range(_WRITERS) for n in range(_EACH)],
    )


@_group.holds(Severity.LOSS, needs="sync")
def threads(trial: Trial) -> Steps[None]:
    """Eight threads that write and read keys of their own lose none, by count."""
    errors = yield Threads(_lanes(trial))
    yield from _all_there(trial, errors)


@_group.holds(Severity.LOSS, needs="async_")
def tasks(trial: Trial) -> Steps[None]:
    """Eight tasks that write and read keys of their own lose none, by count."""
    errors = yield Tasks(_lanes(trial))
    yield from _all_there(trial, errors)


@_group.holds(Severity.LOSS, needs="sync")
def one_key(trial: Trial) -> Steps[None]:
    """Eight threads that write one key leave one item, with a whole value."""
    errors = yield Threads(
        [
            [
                trial.put(trial.at(), "k", {"a": writer, "b": [writer] * 50})
                for _ in range(_EACH)
            ]
            for writer in range(_WRITERS)
        ]
    )
    expect(not errors, f"{len(errors)} of {_WRITERS} raised: {errors[:1]}")
    found = yield search(trial.at())
    expect_exactly(pairs_of(found), [(trial.at(), "k")])
    value = found[0].value
    expect(value["b"] == [value["a"]] * 50, "the value is of two writers")


@_group.holds(Severity.LOSS, needs="sync")
def opposite_batches(trial: Trial) -> Steps[None]:
    """Threads that write the same keys in opposite order do not block each other."""
    keys = [f"k{n}" for n in range(10)]
    errors = yield Threads(
        [
            [
                trial.batch([PutOp(trial.at(), key, {"n": lane}) for key in order])
                for _ in range(_ROUNDS)
            ]
            for lane, order in enumerate([keys, keys[::-1]] * 2)
        ]
    )
    expect(
        not errors,
        f"{len(errors)} of 4 raised, such as "
        f"{type(errors[0]).__name__ if errors else ''}",
    )


@_group.holds(Severity.SEMANTICS, needs="sync")
def reading_while_writing(trial: Trial) -> Steps[None]:
    """Threads can search while others write."""
    yield from trial.fill(200)
    writes = [
        [
            trial.put(trial.at(f"w{lane}", f"n{n}"), "k", {"n": n})
            for n in range(_EACH * 4)
        ]
        for lane in range(4)
    ]
    reads = [[search(trial.at(), filter={"n": -1})] * _EACH for _ in range(4)]
    errors = yield Threads([*writes, *reads])
    expect(
        not errors,
        f"{len(errors)} of 8 raised, such as "
        f"{type(errors[0]).__name__ if errors else ''}: {errors[0] if errors else ''}",
    )


@_group.holds(Severity.LOSS, needs="async_")
def bad_call_beside_good(trial: Trial) -> Steps[None]:
    """A call that fails does not fail those made at the same moment."""
    good = [[trial.put(trial.at(), f"k{n}", {"n": n})] for n in range(3)]
    bad = [trial.put(trial.at(), "bad", {"v": object()})]
    yield Tasks([good[0], bad, *good[1:]])
    for n in range(3):
        yield from trial.still({(trial.at(), f"k{n}"): {"n": n}})
