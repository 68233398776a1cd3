"""Lifetimes: an item is there until its time, and not after.

A store may hide what expired, or remove it when it is swept. Where a property is not
about which of the two, the store is swept before it is asked.

Times are chosen so that a store whose clock counts whole seconds can pass.
"""

from __future__ import annotations

from langgraph.store.base import PutOp

from holdover.compat.testing.outcomes import Severity
from holdover.compat.testing.registry import Group
from holdover.compat.testing.steps import Attempt, Sleep, Steps, Sweep
from holdover.compat.testing.trial import (
    Pair,
    Trial,
    expect,
    get,
    list_namespaces,
    search,
)

_group = Group("ttl", needs="ttl")
_MINUTE = 60.0
#: An item that lives so long …
_LIFE_SECONDS = 4.0
_LIFE = _LIFE_SECONDS / _MINUTE
#: … is there, and may be refreshed, after these seconds …
_MIDDLE = 2.4
#: … and gone after so many more, if nothing refreshed it.
_REST = 2.8
_SHORT = 0.5 / _MINUTE
_AFTER_SHORT = 1.3


def _there(trial: Trial, *keys: str) -> Steps[None]:
    yield Sweep()
    for key in keys:
        item = yield get(trial.at(), key, refresh_ttl=False)
        expect(item is not None, f"{key} is gone before its time")


def _gone(trial: Trial, *keys: str) -> Steps[None]:
    yield Sweep()
    for key in keys:
        item = yield get(trial.at(), key, refresh_ttl=False)
        expect(item is None, f"{key} is still there")


@_group.holds(Severity.LOSS, sleeps=True)
def below_a_minute(trial: Trial) -> Steps[None]:
    """A lifetime of seconds is one of seconds: neither less nor more."""
    yield trial.put(trial.at(), "k", {"n": 1}, ttl=_LIFE)
    yield Sleep(_MIDDLE)
    yield from _there(trial, "k")
    yield Sleep(_REST)
    yield from _gone(trial, "k")


@_group.holds(Severity.LOSS, sleeps=True)
def in_batch(trial: Trial) -> Steps[None]:
    """The lifetime of a write in a batch counts as that of `put`."""
    yield trial.batch([PutOp(trial.at(), "k", {"n": 1}, ttl=_LIFE)])
    yield Sleep(_MIDDLE)
    yield from _there(trial, "k")
    yield Sleep(_REST)
    yield from _gone(trial, "k")


@_group.holds(Severity.LEAK, sleeps=True)
def hidden_at_once(trial: Trial) -> Steps[None]:
    """What expired is hidden from get and search, swept or not."""
    yield trial.put(trial.at(), "k", {"n": 1}, ttl=_SHORT)
    yield Sleep(_AFTER_SHORT)
    item = yield get(trial.at(), "k", refresh_ttl=False)
    found = yield search(trial.at(), refresh_ttl=False)
    expect(item is None and not found, "what expired is still shown")


@_group.holds(Severity.SEMANTICS, sleeps=True)
def hidden_from_list(trial: Trial) -> Steps[None]:
    """A namespace whose items all expired is not listed, swept or not."""
    yield trial.put(trial.at(), "k", {"n": 1}, ttl=_SHORT)
    yield Sleep(_AFTER_SHORT)
    found = yield list_namespaces(prefix=trial.at())
    expect(not found, "it is still listed")


@_group.holds(Severity.LOSS, sleeps=True)
def others_stay(trial: Trial) -> Steps[None]:
    """When an item expires, those without and those with a longer lifetime stay."""
    yield trial.put(trial.at(), "short", {"n": 1}, ttl=_SHORT)
    yield trial.put(trial.at(), "long", {"n": 1}, ttl=60.0)
    yield trial.put(trial.at(), "forever", {"n": 1})
    yield Sleep(_MIDDLE)
    yield from _there(trial, "long", "forever")
    yield from _gone(trial, "short")


@_group.holds(Severity.LOSS, sleeps=True)
def put_again_without(trial: Trial) -> Steps[None]:
    """A write without a lifetime ends the old one."""
    yield trial.put(trial.at(), "k", {"n": 1}, ttl=_SHORT)
    yield trial.put(trial.at(), "k", {"n": 2}, ttl=None)
    yield Sleep(_MIDDLE)
    yield from _there(trial, "k")


@_group.holds(Severity.LOSS, sleeps=True)
def put_again_longer(trial: Trial) -> Steps[None]:
    """A write with a longer lifetime replaces the old one."""
    yield trial.put(trial.at(), "k", {"n": 1}, ttl=_SHORT)
    yield trial.put(trial.at(), "k", {"n": 2}, ttl=60.0)
    yield Sleep(_MIDDLE)
    yield from _there(trial, "k")


@_group.holds(Severity.LEAK, sleeps=True)
def put_again_shorter(trial: Trial) -> Steps[None]:
    """A write with a shorter lifetime replaces the old one."""
    yield trial.put(trial.at(), "k", {"n": 1}, ttl=60.0)
    yield trial.put(trial.at(), "k", {"n": 2}, ttl=_SHORT)
    yield Sleep(_MIDDLE)
    yield from _gone(trial, "k")


@_group.holds(Severity.LOSS, sleeps=True)
def deleted_and_put(trial: Trial) -> Steps[None]:
    """A deleted item leaves no lifetime behind for the next under its key."""
    yield trial.put(trial.at(), "k", {"n": 1}, ttl=_SHORT)
    yield trial.batch([PutOp(trial.at(), "k", None)])
    yield trial.put(trial.at(), "k", {"n": 2})
    yield Sleep(_MIDDLE)
    yield from _there(trial, "k")


def _read_in_the_middle(trial: Trial, by: str, *, refresh: bool) -> Steps[None]:
    yield trial.put(trial.at(), "k", {"n": 1}, ttl=_LIFE)
    yield Sleep(_MIDDLE)
    if by == "get":
        yield get(trial.at(), "k", refresh_ttl=refresh)
    else:
        yield search(trial.at(), refresh_ttl=refresh)
    yield from _there(trial, "k")
    yield Sleep(_REST)


@_group.holds(Severity.LOSS, sleeps=True)
def get_refreshes(trial: Trial) -> Steps[None]:
    """A get that asks for it starts the item's own lifetime anew."""
    yield from _read_in_the_middle(trial, "get", refresh=True)
    yield from _there(trial, "k")


@_group.holds(Severity.LOSS, sleeps=True)
def search_refreshes(trial: Trial) -> Steps[None]:
    """A search that asks for it starts the items' own lifetimes anew."""
    yield from _read_in_the_middle(trial, "search", refresh=True)
    yield from _there(trial, "k")


@_group.holds(Severity.LEAK, sleeps=True)
def get_without_refresh(trial: Trial) -> Steps[None]:
    """A get that does not ask for it leaves the lifetime alone."""
    yield from _read_in_the_middle(trial, "get", refresh=False)
    yield from _gone(trial, "k")


@_group.holds(Severity.LEAK, sleeps=True)
def search_without_refresh(trial: Trial) -> Steps[None]:
    """A search that does not ask for it leaves the lifetimes alone."""
    yield from _read_in_the_middle(trial, "search", refresh=False)
    yield from _gone(trial, "k")


@_group.holds(Severity.LEAK, sleeps=True)
def refresh_is_not_longer(trial: Trial) -> Steps[None]:
    """A refreshed item lives for its own lifetime again, not for longer."""
    yield trial.put(trial.at(), "k", {"n": 1}, ttl=_LIFE)
    yield get(trial.at(), "k", refresh_ttl=True)
    yield Sleep(_MIDDLE + _REST)
    yield from _gone(trial, "k")


@_group.holds(Severity.LEAK, sleeps=True)
def reading_does_not_revive(trial: Trial) -> Steps[None]:
    """A read that refreshes does not bring back what had expired."""
    yield trial.put(trial.at(), "k", {"n": 1}, ttl=2 * _SHORT)
    yield Sleep(_AFTER_SHORT + 1)
    yield get(trial.at(), "k", refresh_ttl=True)
    yield from _gone(trial, "k")


@_group.holds(Severity.LOSS, sleeps=True)
def without_stays(trial: Trial) -> Steps[None]:
    """Refreshing gives no lifetime to what has none."""
    yield trial.put(trial.at(), "k", {"n": 1}, ttl=None)
    yield get(trial.at(), "k", refresh_ttl=True)
    yield search(trial.at(), refresh_ttl=True)
    yield Sleep(_AFTER_SHORT)
    yield from _there(trial, "k")


@_group.holds(Severity.LOSS, needs="no ttl")
def refused(trial: Trial) -> Steps[None]:
    """A store without lifetimes refuses one given to `put`."""
    error = yield Attempt(trial.put(trial.at(), "k", {"n": 1}, ttl=60.0))
    expect(error is not None, "a lifetime was accepted, and will never end")


@_group.holds(Severity.LEAK, needs="no ttl")
def refused_in_batch(trial: Trial) -> Steps[None]:
    """A store without lifetimes refuses one given in a batch."""
    call = trial.batch([PutOp(trial.at(), "k", {"n": 1}, ttl=60.0)])
    error = yield Attempt(call)
    expect(error is not None, "a lifetime was accepted, and will never end")


@_group.holds(Severity.LEAK, sleeps=True)
def zero(trial: Trial) -> Steps[None]:
    """A lifetime of zero is over at once, or refused; it is not none at all."""
    place: Pair = (trial.at(), "k")
    if (yield Attempt(trial.put(*place, {"n": 1}, ttl=0.0))) is None:
        yield Sleep(_AFTER_SHORT)
        yield from _gone(trial, "k")
