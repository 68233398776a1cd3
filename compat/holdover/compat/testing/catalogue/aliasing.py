"""A value handed out or taken in is a copy."""

from __future__ import annotations

from typing import Any

from holdover.compat.testing.outcomes import Severity
from holdover.compat.testing.registry import Group
from holdover.compat.testing.steps import Steps
from holdover.compat.testing.trial import Trial, expect, get, search

_group = Group("aliasing")


def _spoil(value: dict[str, Any]) -> None:
    value["n"] = "changed"
    value["inner"].append("changed")


def _value() -> dict[str, Any]:
    return {"n": 1, "inner": [1]}


@_group.holds(Severity.LOSS)
def get_(trial: Trial) -> Steps[None]:
    """Changing a value that get returned does not change the store."""
    yield trial.put(trial.at(), "k", _value())
    item = yield get(trial.at(), "k")
    expect(item is not None, "nothing came back")
    _spoil(item.value)
    yield from trial.still({(trial.at(), "k"): _value()})


@_group.holds(Severity.LOSS)
def search_(trial: Trial) -> Steps[None]:
    """Changing a value that search returned does not change the store."""
    yield trial.put(trial.at(), "k", _value())
    (item,) = yield search(trial.at())
    _spoil(item.value)
    yield from trial.still({(trial.at(), "k"): _value()})


@_group.holds(Severity.LOSS)
def put(trial: Trial) -> Steps[None]:
    """Changing a value after it was put does not change the store."""
    value = _value()
    yield trial.put(trial.at(), "k", value)
    _spoil(value)
    yield from trial.still({(trial.at(), "k"): _value()})


@_group.holds(Severity.LOSS)
def put_changes_nothing(trial: Trial) -> Steps[None]:
    """Putting a value does not change the caller's object."""
    value = _value()
    yield trial.put(trial.at(), "k", value)
    expect(value == _value(), "put changed the value it was given")
