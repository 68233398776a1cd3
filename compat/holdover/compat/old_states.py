"""Objects of ours made of the states that classic ones were pickled with.

A state is judged by what is in it, not by the release that wrote it: pydantic 1 and
pydantic 2 give the fields other names, and what the fields say is in `old_fields`.
Fields that a class of today does not have are left out: `verbose`, callbacks, copies
of the arguments. What no longer exists is a placeholder; see `shim.load`.
"""

from __future__ import annotations

import functools
import inspect
import pickle
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ValidationError, create_model

from holdover.compat.errors import HoldoverError
from holdover.compat.half_made import mend
from holdover.compat.memory import StoreMemory
from holdover.compat.old_fields import modern, takes, triples_in
from holdover.compat.placeholders import is_lost

__all__ = [
    "UnreadableState",
    "check_state",
    "old_triples",
    "revive",
    "revive_plain",
]

_OURS = "holdover.compat"


class UnreadableState(HoldoverError, pickle.UnpicklingError):
    """A class of today cannot hold what an old one was pickled with."""

    code = "unreadable-state"


def revive(model: Any, state: Any) -> None:
    """Make a memory or entity store, in place, of the state of a classic one.

    Raises:
        UnreadableState: The class refuses what the state says.
    """
    kind = type(model)
    fields, private = _parts(kind, state)
    mend(fields.values())
    known = takes(kind)
    try:
        arguments = {n: v for n, v in modern(kind, fields).items() if n in known}
    except (AttributeError, TypeError, ValueError) as error:
        raise _unreadable(kind, error) from error
    _begin(model, arguments)
    for name in private.keys() & kind.__private_attributes__.keys():
        setattr(model, name, private[name])


def revive_plain(made: Any, state: Any) -> None:
    """Make an object that is no model; its constructor knows the names.

    Raises:
        UnreadableState: It is no state.
    """
    ours = _own(type(made))
    fields, _ = _parts(type(made), state)
    known = inspect.signature(ours).parameters
    ours.__init__(made, **{n: v for n, v in fields.items() if n in known})


def old_triples(state: Any) -> list[tuple[str, str, str]]:
    """The triples in the state of a `NetworkxEntityGraph`.

    Raises:
        UnreadableState: It is no state.
    """
    from holdover.compat.graph import EntityGraph  # noqa: PLC0415

    fields, _ = _parts(EntityGraph, state)
    return triples_in(fields.get("_graph")) or []


def check_state(kind: type, state: Any) -> None:
    """Refuse a state that no release ever pickled.

    Raises:
        UnreadableState: It is no mapping.
    """
    _mapping(kind, state, "state")


def _parts(kind: type, state: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The fields and the private attributes in a state of any form."""
    check_state(kind, state)
    if not isinstance(state.get("__dict__"), Mapping):
        return dict(state), {}
    extra = _mapping(kind, state.get("__pydantic_extra__") or {}, "extra values")
    private = state.get("__pydantic_private__")
    private = private or state.get("__private_attribute_values__") or {}
    private = _mapping(kind, private, "private attributes")
    return {**state["__dict__"], **extra}, dict(private)


def _mapping(kind: type, value: Any, name: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        said = f"{name} of the kind {type(value).__name__}, not a mapping"
        raise _unreadable(kind, TypeError(said))
    return value


def _begin(model: Any, arguments: dict[str, Any]) -> None:
    """Do what the constructor of ours does; a user's own may take other arguments."""
    kind: Any = type(model)
    lost = frozenset(name for name, value in arguments.items() if _holds_lost(value))
    try:
        if lost:
            object.__setattr__(model, "__class__", _lenient(kind, lost))
        _own(kind).__init__(model, **arguments)
        if isinstance(model, StoreMemory):
            model._revived()  # noqa: SLF001 - our own class
    except (ValidationError, TypeError, ValueError) as error:
        if not lost:
            raise _unreadable(kind, error) from error
        made = kind.model_construct(**arguments)
        BaseModel.__setstate__(model, made.__getstate__())
    finally:
        object.__setattr__(model, "__class__", kind)


def _own(kind: type) -> Any:
    """The class of ours that it is or inherits from."""
    return next(one for one in kind.__mro__ if one.__module__.startswith(_OURS))


def _holds_lost(value: Any) -> bool:
    return is_lost(value) or (isinstance(value, list) and any(map(is_lost, value)))


@functools.lru_cache(maxsize=64)
def _lenient(kind: type[BaseModel], lost: frozenset[str]) -> type[BaseModel]:
    """The same class, but for fields that take anything, for a moment."""
    anything: dict[str, Any] = dict.fromkeys(
        lost & kind.model_fields.keys(), (Any, ...)
    )
    return create_model(
        kind.__name__, __base__=kind, __module__=kind.__module__, **anything
    )


def _unreadable(kind: type, error: Exception) -> UnreadableState:
    """Say what is wrong, without the values: these are what users said."""
    said = str(error).rstrip(".")
    if isinstance(error, ValidationError):
        said = "; ".join(
            f"{'.'.join(map(str, one['loc']))}: {one['msg']}"
            for one in error.errors(include_input=False, include_url=False)
        )
    return UnreadableState(
        f"A {kind.__name__} of today cannot hold what was pickled: {said}.",
        hint="`python -m pickletools FILE` shows all that is in the file.",
    )
