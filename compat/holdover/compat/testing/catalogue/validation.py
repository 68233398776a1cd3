"""What cannot be a namespace or a limit is refused, and not taken for another."""

from __future__ import annotations

from typing import Any

from langgraph.store.base import PutOp

from holdover.compat.testing.outcomes import Severity
from holdover.compat.testing.registry import Group
from holdover.compat.testing.steps import Attempt, Steps
from holdover.compat.testing.trial import Trial, expect, search, shown

_group = Group("validation")
_SOME = 12


def _refuses(trial: Trial, namespace: Any, *, batch: bool) -> Steps[None]:
    """A write there is refused; the key is random, as the place may not be ours."""
    key = trial.label
    call = (
        trial.batch([PutOp(namespace, key, {"n": 1})])
        if batch
        else trial.put(namespace, key, {"n": 1})
    )
    what = "text" if isinstance(namespace, str) else shown(namespace)
    yield from trial.refuses(call, f"the namespace {what}")


@_group.holds(Severity.SEMANTICS)
def empty_namespace(trial: Trial) -> Steps[None]:
    """`put` refuses the empty namespace."""
    yield from _refuses(trial, (), batch=False)


@_group.holds(Severity.SEMANTICS)
def empty_namespace_by_batch(trial: Trial) -> Steps[None]:
    """`batch` refuses the empty namespace."""
    yield from _refuses(trial, (), batch=True)


@_group.holds(Severity.SEMANTICS)
def reserved_root(trial: Trial) -> Steps[None]:
    """`put` refuses namespaces below `langgraph`."""
    yield from _refuses(trial, ("langgraph", trial.label), batch=False)


@_group.holds(Severity.SEMANTICS)
def reserved_root_by_batch(trial: Trial) -> Steps[None]:
    """`batch` refuses namespaces below `langgraph`."""
    yield from _refuses(trial, ("langgraph", trial.label), batch=True)


@_group.holds(Severity.LEAK)
def period(trial: Trial) -> Steps[None]:
    """`put` refuses a label with a period."""
    yield from _refuses(trial, trial.at("a.b"), batch=False)


@_group.holds(Severity.LEAK)
def period_by_batch(trial: Trial) -> Steps[None]:
    """`batch` refuses a label with a period."""
    yield from _refuses(trial, trial.at("a.b", "c"), batch=True)


@_group.holds(Severity.LEAK)
def period_reaches_others(trial: Trial) -> Steps[None]:
    """A label with a period, if taken at all, does not reach another namespace."""
    yield trial.put(trial.at("a", "b"), "k", {"n": 1})
    yield Attempt(trial.batch([PutOp(trial.at("a.b"), "k", {"n": 2})]))
    yield from trial.still({(trial.at("a", "b"), "k"): {"n": 1}})


@_group.holds(Severity.SEMANTICS)
def empty_label(trial: Trial) -> Steps[None]:
    """`put` refuses an empty label."""
    yield from _refuses(trial, trial.at("a", ""), batch=False)


@_group.holds(Severity.SEMANTICS)
def empty_label_by_batch(trial: Trial) -> Steps[None]:
    """`batch` refuses an empty label."""
    yield from _refuses(trial, trial.at("a", ""), batch=True)


@_group.holds(Severity.SEMANTICS)
def nul_in_label(trial: Trial) -> Steps[None]:
    """`put` refuses a label with a NUL."""
    yield from _refuses(trial, trial.at("a\x00b"), batch=False)


@_group.holds(Severity.SEMANTICS)
def nul_in_label_by_batch(trial: Trial) -> Steps[None]:
    """`batch` refuses a label with a NUL."""
    yield from _refuses(trial, trial.at("a\x00b"), batch=True)


@_group.holds(Severity.SEMANTICS)
def label_of_another_type(trial: Trial) -> Steps[None]:
    """`put` refuses a label that is no text."""
    yield from _refuses(trial, (trial.label, 5), batch=False)


@_group.holds(Severity.SEMANTICS)
def label_of_another_type_by_batch(trial: Trial) -> Steps[None]:
    """`batch` refuses a label that is no text."""
    yield from _refuses(trial, (trial.label, 5), batch=True)


@_group.holds(Severity.LEAK)
def text_as_namespace(trial: Trial) -> Steps[None]:
    """Text is refused where a tuple is due, not taken for its letters."""
    yield from _refuses(trial, trial.label, batch=False)


@_group.holds(Severity.SEMANTICS)
def value_of_another_type(trial: Trial) -> Steps[None]:
    """A value that is no mapping is refused."""
    for value in ([1, 2], "text", 5, [("a", 1)]):
        yield from trial.refuses(trial.put(trial.at(), "k", value), repr(value))


@_group.holds(Severity.SEMANTICS)
def negative_limit(trial: Trial) -> Steps[None]:
    """A negative limit is refused."""
    yield from trial.fill(_SOME)
    yield from trial.refuses(search(trial.at(), limit=-1), "a limit of -1")


@_group.holds(Severity.SEMANTICS)
def negative_offset(trial: Trial) -> Steps[None]:
    """A negative offset is refused."""
    yield from trial.fill(_SOME)
    yield from trial.refuses(search(trial.at(), offset=-1), "an offset of -1")


@_group.holds(Severity.LOSS)
def no_limit(trial: Trial) -> Steps[None]:
    """A limit of `None` is refused, or is no limit; it is never a part."""
    yield from trial.fill(_SOME)
    try:
        found = yield search(trial.at(), limit=None)
    except Exception:  # noqa: BLE001 - refused
        return
    expect(len(found) == _SOME, f"it gave {len(found)} of {_SOME}")
