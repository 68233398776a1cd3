"""The methods of the other way, async or sync, see and do the same."""

from __future__ import annotations

from langgraph.store.base import GetOp, PutOp

from holdover.compat.testing.outcomes import Severity
from holdover.compat.testing.registry import Group
from holdover.compat.testing.steps import Attempt, Steps, Twin
from holdover.compat.testing.trial import (
    Trial,
    delete,
    expect,
    expect_exactly,
    get,
    list_namespaces,
    pairs_of,
    search,
)

_group = Group("twins", needs="twin")


@_group.holds(Severity.LOSS)
def put(trial: Trial) -> Steps[None]:
    """What the twin of `put` wrote, `get` reads."""
    yield Twin(trial.put(trial.at(), "k", {"n": 1}))
    yield from trial.still({(trial.at(), "k"): {"n": 1}})


@_group.holds(Severity.LOSS)
def get_(trial: Trial) -> Steps[None]:
    """What `put` wrote, the twin of `get` reads."""
    yield trial.put(trial.at(), "k", {"n": 1})
    item = yield Twin(get(trial.at(), "k"))
    expect(item is not None and item.value == {"n": 1}, "it read something else")
    item = yield Twin(get(trial.at(), "none"))
    expect(item is None, "it read what is not there")


@_group.holds(Severity.LEAK)
def delete_(trial: Trial) -> Steps[None]:
    """What the twin of `delete` deleted is gone."""
    yield trial.put(trial.at(), "k", {"n": 1})
    yield Twin(delete(trial.at(), "k"))
    yield from trial.gone((trial.at(), "k"))


@_group.holds(Severity.LOSS)
def search_(trial: Trial) -> Steps[None]:
    """The twin of `search` finds the same items, filtered too."""
    items = yield from trial.fill(20)
    found = yield Twin(search(trial.at()))
    expect_exactly(pairs_of(found), items)
    found = yield Twin(search(trial.at(), filter={"n": 7}))
    expect_exactly(pairs_of(found), [(trial.at(), "k00007")])


@_group.holds(Severity.LOSS)
def list_(trial: Trial) -> Steps[None]:
    """The twin of `list_namespaces` lists the same ones."""
    yield trial.put(trial.at("a"), "k", {"n": 1})
    yield trial.put(trial.at("b"), "k", {"n": 1})
    one = yield list_namespaces(prefix=trial.at())
    other = yield Twin(list_namespaces(prefix=trial.at()))
    expect(one == other, f"it lists {len(other)} namespaces, not {len(one)}")
    expect(len(one) == 2, f"{len(one)} of 2 are listed")  # noqa: PLR2004


@_group.holds(Severity.LOSS)
def batch(trial: Trial) -> Steps[None]:
    """The twin of `batch` reads and writes the same."""
    yield trial.put(trial.at(), "a", {"n": 1})
    found = yield Twin(
        trial.batch([GetOp(trial.at(), "a"), PutOp(trial.at(), "b", {"n": 2})])
    )
    expect(len(found) == 2 and found[1] is None, "the results are others")  # noqa: PLR2004
    expect(found[0] is not None and found[0].value == {"n": 1}, "it read another value")
    yield from trial.still({(trial.at(), "b"): {"n": 2}})


@_group.holds(Severity.SEMANTICS)
def refusals(trial: Trial) -> Steps[None]:
    """The twin refuses what `put` refuses."""
    for namespace in ((), trial.at("a.b"), trial.at("")):
        error = yield Attempt(trial.put(namespace, "k", {"n": 1}))
        try:
            yield Twin(trial.put(namespace, "k", {"n": 1}))
        except Exception:  # noqa: BLE001 - refused
            expect(error is not None, "only the twin refused")
        else:
            expect(error is None, "the twin accepted what was refused")
