"""Deleting removes one item: that one, and no other."""

from __future__ import annotations

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
)

_group = Group("delete")
_SOME = 25


@_group.holds(Severity.LEAK)
def removes(trial: Trial) -> Steps[None]:
    """A deleted item is found by neither get nor search."""
    yield trial.put(trial.at(), "k", {"n": 1})
    yield delete(trial.at(), "k")
    yield from trial.gone((trial.at(), "k"))
    items = yield search(trial.at())
    expect_exactly(pairs_of(items), [])


@_group.holds(Severity.LEAK)
def by_none(trial: Trial) -> Steps[None]:
    """A write of `None` in a batch deletes."""
    yield trial.put(trial.at(), "k", {"n": 1})
    yield trial.batch([PutOp(trial.at(), "k", None)])
    yield from trial.gone((trial.at(), "k"))


@_group.holds(Severity.SEMANTICS)
def missing(trial: Trial) -> Steps[None]:
    """Deleting what is not there does nothing, and raises nothing."""
    yield delete(trial.at(), "none")
    yield delete(trial.at("none"), "none")


@_group.holds(Severity.LOSS)
def others(trial: Trial) -> Steps[None]:
    """Deleting leaves every other key and namespace alone, judged by count."""
    kept = {
        (trial.at(*labels), key): {"n": 1}
        for labels in [(), ("user1",), ("user10",), ("User1",), ("user1", "below")]
        for key in ["k", "K", "k1", "k k"]
    }
    gone = (trial.at("user1"), "k")
    for pair, value in kept.items():
        yield trial.put(*pair, value)
    yield delete(*gone)
    del kept[gone]
    yield from trial.still(kept)
    yield from trial.gone(gone)


@_group.holds(Severity.LOSS)
def stop_word(trial: Trial) -> Steps[None]:
    """Deleting below a word that text search drops leaves other namespaces alone."""
    kept = {(trial.at("x", "y"), "k"): {"n": 1}, (trial.at(), "k"): {"n": 2}}
    for pair, value in kept.items():
        yield trial.put(*pair, value)
    yield delete(trial.at("the"), "k")
    yield trial.put(trial.at("a"), "k", {"n": 3})
    yield from trial.still(kept)


@_group.holds(Severity.LOSS)
def again(trial: Trial) -> Steps[None]:
    """A deleted key can be written again, and is new then."""
    yield trial.put(trial.at(), "k", {"n": 1, "old": True})
    yield delete(trial.at(), "k")
    yield from trial.keeps({(trial.at(), "k"): {"n": 2}})


@_group.holds(Severity.LEAK)
def leaves_nothing(trial: Trial) -> Steps[None]:
    """When all items of a namespace are deleted, a search finds none, by count."""
    items = yield from trial.fill(_SOME)
    items |= yield from trial.fill(_SOME, trial.at("below"))
    yield trial.batch([PutOp(*pair, None) for pair in items])
    found = yield search(trial.at())
    expect(not found, f"{len(found)} of {len(items)} are still found")
