"""Models that a pickle left half made, and how they are finished.

pydantic 2 takes the state that pydantic 1 pickled without a word: the fields that were
there then are set, those that came later are missing, and so is what pydantic itself
keeps. Such an object prints, and fails when it is compared, copied or dumped.

A pickle can also lead to objects that were there before, by a name or by a function
that hands them out. A model that is whole, with all fields of today and nothing that
its class does not know, is never changed, wherever it comes from.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from types import MemberDescriptorType
from typing import Any, cast

from langchain_core.messages import BaseMessage
from pydantic import BaseModel

from holdover.compat.base import BaseChatMessageHistory, BaseEntityStore
from holdover.compat.notices import warn_once
from holdover.compat.old_fields import LEFT_OUT, modern
from holdover.compat.placeholders import Placeholder

__all__ = ["is_part", "mend"]

#: Whether something is to be done with an object.
Test = Callable[[object], bool]

_FIELDS_SET = "__pydantic_fields_set__"
_CONTAINERS: tuple[Any, ...] = (list, tuple, set, frozenset, deque)
# Nothing is in them, and there may be millions.
_PLAIN = frozenset({type(None), bool, int, float, complex, str, bytes, bytearray})
# A field that messages had; it says something only where it was set.
_GONE_FROM_MESSAGES = {"example": False}


def is_part(one: object) -> bool:
    """Whether it is a kind of object that memories are made of."""
    return issubclass(type(one), (BaseModel, BaseChatMessageHistory, Placeholder))


def mend(
    roots: Iterable[Any], opens: Test = is_part, mends: Test = lambda _: True
) -> None:
    """Finish the half-made models that are anywhere below these; others stay.

    Those of today's fields that the pickle says nothing of get their defaults; messages
    are made anew, as they would be today. An object stays the one it is. Of a history
    of others, nobody can tell whether it is whole: it is given the defaults of those
    arguments that it has no attributes for.

    Args:
        roots: Where to look.
        opens: Which objects to look into, besides lists and the like.
        mends: Which of them may be changed.
    """
    # What is inside comes first.
    for one in reversed(_reached(roots, opens)):
        # Asked by their classes: some objects raise whatever they are asked.
        if issubclass(type(one), BaseModel):
            if mends(one):
                _mend(cast("BaseModel", one))
        elif issubclass(type(one), BaseChatMessageHistory) and mends(one):
            _give_defaults(cast("BaseChatMessageHistory", one))


def _reached(roots: Iterable[Any], opens: Test) -> list[object]:
    """All that is below these, each once, the outer ones first."""
    seen: dict[int, object] = {}
    slots: dict[type, list[MemberDescriptorType]] = {}
    waiting = deque(one for one in roots if type(one) not in _PLAIN)
    while waiting:
        one = waiting.popleft()
        if id(one) not in seen:
            seen[id(one)] = one
            inside = _inside(one, opens, slots)
            waiting.extend(part for part in inside if type(part) not in _PLAIN)
    return list(seen.values())


def _inside(
    one: object, opens: Test, slots: dict[type, list[MemberDescriptorType]]
) -> Iterator[Any]:
    # What a subclass made of its methods is not asked: it may be a view of a database.
    kind = type(one)
    if issubclass(kind, dict):
        yield from dict.keys(one)  # type: ignore[arg-type]
        yield from dict.values(one)  # type: ignore[arg-type]
    for container in _CONTAINERS:
        if issubclass(kind, container):
            yield from container.__iter__(one)
    if issubclass(kind, type) or not opens(one):
        return
    yield from _attributes(one).values()
    if kind not in slots:
        slots[kind] = _slots_of(kind)
    for slot in slots[kind]:
        with contextlib.suppress(AttributeError):  # empty
            yield slot.__get__(one)


def _attributes(one: object) -> dict[str, Any]:
    try:
        found = object.__getattribute__(one, "__dict__")
    except Exception:  # noqa: BLE001 - a class may have made anything of it
        return {}
    return found if isinstance(found, dict) else {}


def _slots_of(kind: type) -> list[MemberDescriptorType]:
    return [
        slot
        for one in kind.__mro__
        for slot in vars(one).values()
        if isinstance(slot, MemberDescriptorType)
    ]


def _fields_set(model: BaseModel) -> Any:
    """What pydantic keeps there; `None` where no state was set."""
    try:
        return object.__getattribute__(model, _FIELDS_SET)
    except AttributeError:
        return None


def _mend(model: BaseModel) -> None:
    kind = type(model)
    if _fields_set(model) is None:
        if isinstance(model, BaseEntityStore):
            warn_once(
                "An entity store in the pickle has no state: old releases kept the "
                "entities in the class, for all sessions of the process, and they are "
                "in no pickle."
            )
        model.__setstate__({})
    # What it should be, pydantic 1 called by another name.
    whole = isinstance(_fields_set(model), set)
    given, known = model.__dict__, kind.model_fields
    lacks = not known.keys() <= given.keys()
    if isinstance(model, BaseMessage):
        others = given.keys() - known.keys()
        if not whole or lacks or any(_is_strange(kind, name) for name in others):
            _remake(model, whole=whole)
    elif not whole:
        fields = {n: v for n, v in given.items() if n not in LEFT_OUT}
        _become(model, kind.model_construct(**modern(kind, fields)))
    elif lacks:
        made = kind.model_construct(**given)
        # What is there stays, also what was computed and kept.
        given.update({n: v for n, v in made.__dict__.items() if n not in given})


def _is_strange(kind: Any, name: str) -> bool:
    """Whether a class knows nothing of an attribute: a cached property is its own."""
    return name not in kind.model_fields and not hasattr(kind, name)


def _give_defaults(history: BaseChatMessageHistory) -> None:
    """Set what a constructor that is not ours has learnt to keep since."""
    kind = type(history)
    if kind.__module__.startswith("holdover."):
        return
    attributes = _attributes(history)
    parameters = [
        one
        for one in inspect.signature(kind).parameters.values()
        if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
    ]
    missing = [
        one
        for one in parameters
        if one.name not in attributes and not hasattr(kind, one.name)
    ]
    if any(one.default is one.empty for one in missing):
        return  # it keeps its arguments under other names
    for one in missing:
        setattr(history, one.name, one.default)


def _remake(message: BaseMessage, *, whole: bool) -> None:
    kind = type(message)
    known = kind.model_fields
    extra = message.__pydantic_extra__ if whole else None
    fields = {
        name: value
        for name, value in {**message.__dict__, **(extra or {})}.items()
        if name in known or (_is_strange(kind, name) and _says_something(name, value))
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
        name: field.get_default(call_default_factory=True, validated_data={})
        for name, field in kind.model_fields.items()
    }


def _become(model: BaseModel, made: BaseModel) -> None:
    """Be what another object is: the pickle may hold the first one in more places."""
    BaseModel.__setstate__(model, made.__getstate__())
