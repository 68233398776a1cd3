"""When an item was made, and when it changed."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from holdover.compat.testing.outcomes import Severity
from holdover.compat.testing.registry import Group
from holdover.compat.testing.steps import Sleep, Steps
from holdover.compat.testing.trial import Trial, expect, get, search

_group = Group("timestamps")
_TICK_SECONDS = 1.1
_NEAR_SECONDS = 120.0


def _item(trial: Trial) -> Steps[Any]:
    item = yield get(trial.at(), "k", refresh_ttl=False)
    expect(item is not None, "nothing came back")
    return item


def _utc(moment: datetime) -> datetime:
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment


@_group.holds(Severity.SEMANTICS)
def aware(trial: Trial) -> Steps[None]:
    """Times know their time zone."""
    yield trial.put(trial.at(), "k", {"n": 1})
    item = yield from _item(trial)
    for name in ("created_at", "updated_at"):
        moment = getattr(item, name)
        expect(isinstance(moment, datetime), f"{name} is a {type(moment).__name__}")
        expect(moment.tzinfo is not None, f"{name} is naive")


@_group.holds(Severity.SEMANTICS)
def now(trial: Trial) -> Steps[None]:
    """The time of a new item is now, in UTC where it knows no zone."""
    yield trial.put(trial.at(), "k", {"n": 1})
    item = yield from _item(trial)
    for name in ("created_at", "updated_at"):
        off = abs((_utc(getattr(item, name)) - datetime.now(UTC)).total_seconds())
        expect(off < _NEAR_SECONDS, f"{name} is {off:.0f} s off")


@_group.holds(Severity.SEMANTICS)
def below_a_second(trial: Trial) -> Steps[None]:
    """Times are finer than a second."""
    fine = False
    for _ in range(4):
        yield trial.put(trial.at(), "k", {"n": 1})
        item = yield from _item(trial)
        fine = fine or item.updated_at.microsecond != 0
    expect(fine, "four times are all of a whole second")


@_group.holds(Severity.SEMANTICS, sleeps=True)
def created_kept(trial: Trial) -> Steps[None]:
    """An update keeps the time at which the item was created."""
    yield trial.put(trial.at(), "k", {"n": 1})
    before = yield from _item(trial)
    created = before.created_at
    yield Sleep(_TICK_SECONDS)
    yield trial.put(trial.at(), "k", {"n": 2})
    after = yield from _item(trial)
    expect(after.created_at == created, "an update reset created_at")


@_group.holds(Severity.SEMANTICS, sleeps=True)
def updated_moves(trial: Trial) -> Steps[None]:
    """An update moves the time of the last change, also one to the same value."""
    yield trial.put(trial.at(), "k", {"n": 1})
    before = yield from _item(trial)
    updated = before.updated_at
    yield Sleep(_TICK_SECONDS)
    yield trial.put(trial.at(), "k", {"n": 1})
    after = yield from _item(trial)
    expect(after.updated_at > updated, "updated_at did not move")


@_group.holds(Severity.SEMANTICS, sleeps=True)
def reading_changes_nothing(trial: Trial) -> Steps[None]:
    """Reading, which may refresh a lifetime, does not move the time of the change."""
    yield trial.put(trial.at(), "k", {"n": 1})
    before = yield from _item(trial)
    updated = before.updated_at
    yield Sleep(_TICK_SECONDS)
    yield get(trial.at(), "k", refresh_ttl=True)
    yield search(trial.at(), refresh_ttl=True)
    after = yield from _item(trial)
    expect(after.updated_at == updated, "reading moved updated_at")


@_group.holds(Severity.SEMANTICS)
def same_in_search(trial: Trial) -> Steps[None]:
    """Search and get tell the same times."""
    yield trial.put(trial.at(), "k", {"n": 1})
    item = yield from _item(trial)
    (found,) = yield search(trial.at(), refresh_ttl=False)
    expect(
        (found.created_at, found.updated_at) == (item.created_at, item.updated_at),
        "search tells other times than get",
    )
