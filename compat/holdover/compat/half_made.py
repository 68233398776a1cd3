"""Models that a pickle left half made, and how they are finished.

pydantic 2 takes the state that pydantic 1 pickled without a word: the fields that were
there then are set, those that came later are missing, and so is what pydantic itself
keeps. Such an object prints, and fails when it is compared, copied or dumped.
"""

from __future__ import annotations

import functools
import inspect
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from langchain_core.messages import BaseMessage
from pydantic import BaseModel

from holdover.compat.base import BaseChatMessageHistory, BaseEntityStore
from holdover.compat.notices import warn_once
from holdover.compat.old_fields import LEFT_OUT, modern
from holdover.compat.placeholders import Placeholder

__all__ = ["mend"]

#: Whether to look inside an object.
Opens = Callable[[object], bool]

_FIELDS_SET = "__pydantic_fields_set__"
_CONTAINERS: tuple[Any, ...] = (list, tuple, set, frozenset, deque)
# A field that messages had; it says something only where it was set.
_GONE_FROM_MESSAGES = {"example": False}


def is_part(one: object) -> bool:
    """Whether it is a kind of object that memories are made of."""
    return isinstance(one, BaseModel | BaseChatMessageHistory | Placeholder)


def mend(roots: Iterable[Any], opens: Opens = is_part) -> None:
    """Finish the half-made models that are anywhere below these; others stay.

    Those of today's fields that the pickle says nothing of get their defaults; messages
    are made anew, as they would be today. An object stays the one it is.

    Args:
        roots: Where to look.
        opens: Which objects to look into, besides lists and the like.
    """
    # What is inside comes first.
    for one in reversed(_reached(roots, opens)):
        if isinstance(one, BaseModel):
            _mend(one)
        elif isinstance(one, BaseChatMessageHistory):
            _give_defaults(one)


def _reached(roots: Iterable[Any], opens: Opens) -> list[object]:
    """All that is below these, each once, the outer ones first."""
    seen: dict[int, object] = {}
    waiting = deque(roots)
    while waiting:
        one = waiting.popleft()
        if one is not None and id(one) not in seen:
            seen[id(one)] = one
            waiting.extend(_inside(one, opens))
    return list(seen.values())


def _inside(one: object, opens: Opens) -> Iterator[Any]:
    if isinstance(one, str | bytes | int | float):
        return
    # What a subclass made of its methods is not asked: it may be a view of a database.
    if isinstance(one, dict):
        yield from dict.keys(one)
        yield from dict.values(one)
    for kind in _CONTAINERS:
        if isinstance(one, kind):
            yield from kind.__iter__(one)
    if isinstance(one, type) or not opens(one):
        return
    yield from getattr(one, "__dict__", {}).values()
    slots = (vars(kind).get("__slots__", ()) for kind in type(one).__mro__)
    for names in slots:
        for name in (names,) if isinstance(names, str) else names:
            if name not in ("__dict__", "__weakref__"):
                yield getattr(one, name, None)


def _mend(model: BaseModel) -> None:
    kind = type(model)
    if not hasattr(model, _FIELDS_SET):
        if isinstance(model, BaseEntityStore):
            warn_once(
                "An entity store in the pickle has no state: old releases kept the "
                "entities in the class, for all sessions of the process, and they are "
                "in no pickle."
            )
        model.__setstate__({})
    # What it should be, pydantic 1 called by another name.
    whole = isinstance(getattr(model, _FIELDS_SET), set)
    given, known = model.__dict__, kind.model_fields
    if isinstance(model, BaseMessage):
        if not whole or given.keys() != known.keys():
            _remake(model, whole=whole)
    elif not whole:
        fields = {n: v for n, v in given.items() if n not in LEFT_OUT}
        _become(model, kind.model_construct(**modern(kind, fields)))
    elif not known.keys() <= given.keys():
        made = kind.model_construct(**given)
        # What is there stays, also what was computed and kept.
        given.update({n: v for n, v in made.__dict__.items() if n not in given})


def _give_defaults(history: BaseChatMessageHistory) -> None:
    """Set what a constructor that is not ours has learnt to keep since."""
    kind = type(history)
    if kind.__module__.startswith("holdover."):
        return
    for name, parameter in inspect.signature(kind).parameters.items():
        there = name in vars(history) or hasattr(kind, name)
        if parameter.default is not parameter.empty and not there:
            setattr(history, name, parameter.default)


def _remake(message: BaseMessage, *, whole: bool) -> None:
    kind = type(message)
    known = kind.model_fields
    extra = message.__pydantic_extra__ if whole else None
    fields = {
        name: value
        for name, value in {**message.__dict__, **(extra or {})}.items()
        if name in known or _says_something(name, value)
    }
    try:
        made = kind(**fields)
    except (TypeError, ValueError):
        # What is no valid message any more is still what was said.
        made = kind.model_construct(**fields)
    _become(message, made)
    values, usual = made.__dict__, _defaults(kind)
    told = {n for n in known & values.keys() if values[n] != usual[n]}
    object.__setattr__(message, _FIELDS_SET, told | (fields.keys() - known.keys()))


def _says_something(name: str, value: Any) -> bool:
    """Whether it is worth keeping of a message that has no such field."""
    told = value is not None and _GONE_FROM_MESSAGES.get(name, ...) != value
    return told and name not in LEFT_OUT


@functools.lru_cache(maxsize=128)
def _defaults(kind: type[BaseModel]) -> dict[str, Any]:
    return {
        name: field.get_default(call_default_factory=True)
        for name, field in kind.model_fields.items()
    }


def _become(model: BaseModel, made: BaseModel) -> None:
    """Be what another object is: the pickle may hold the first one in more places."""
    BaseModel.__setstate__(model, made.__getstate__())
