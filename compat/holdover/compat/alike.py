"""Whether two objects hold the same, found out without any I/O.

Fields, extra values and private attributes count, as wherever pydantic compares; what
a cached property left in an object does not. What keeps its records in a store is the
same if it is the same store and scope.
"""

from __future__ import annotations

import functools
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

if TYPE_CHECKING:
    from holdover.compat.graph import EntityGraph
    from holdover.compat.memory import StoreMemory

__all__ = ["alike", "have_same_fields", "held"]

_OURS = "holdover.compat."


def have_same_fields(one: BaseModel, other: BaseModel) -> bool:
    """Whether two are of one class, and were given the same.

    Private attributes of our own classes are left to the caller: most of them are of
    one object, such as a connection.
    """
    if _kind(one) is not _kind(other):
        return False
    mine, theirs = vars(one), vars(other)
    return (
        # A field that an old state lacks is no `None`.
        all(alike(mine.get(n, ...), theirs.get(n, ...)) for n in type(one).model_fields)
        and (one.__pydantic_extra__ or {}) == (other.__pydantic_extra__ or {})
        and _private_of_user(one) == _private_of_user(other)
    )


def alike(one: object, other: object) -> bool:
    """Whether they are equal; of histories and graphs of ours, what is in them.

    These have no `==` of their own: an application may have them in a set.
    """
    if one is other:
        return True
    kind = type(one)
    if kind is type(other) and kind.__eq__ is object.__eq__:
        from holdover.compat.chat_message_histories.store import (  # noqa: PLC0415
            StoreChatMessageHistory,
        )
        from holdover.compat.graph import EntityGraph  # noqa: PLC0415

        if isinstance(one, StoreChatMessageHistory):
            return one.is_same(other)
        if isinstance(one, EntityGraph):
            return _know_same(one, other)  # type: ignore[arg-type]
    return bool(one == other)


def held(memory: StoreMemory) -> dict[str, Any]:
    """What a memory without a store remembers beside its messages, entities and facts.

    These are fields of it, and may be far away.
    """
    bare: Any = BaseModel.__copy__(memory)
    fields = bare.__dict__
    for name in fields.keys() & memory._state_fields:  # noqa: SLF001 - our own class
        fields[name] = _stand_in(name, fields[name], bare)
    dumped: dict[str, Any] = bare._dump_state()  # noqa: SLF001
    return dumped


def _stand_in(name: str, value: Any, memory: Any) -> Any:
    """Something empty in place of what might have to be read from somewhere."""
    if name == "chat_memory":
        session = getattr(value, "session_id", None)
        return SimpleNamespace(messages=[], session_id=session)
    if name == "kg":
        from holdover.compat.graph import EntityGraph  # noqa: PLC0415

        return EntityGraph()
    if name == "entity_store":
        from holdover.compat.entities.access import is_private  # noqa: PLC0415
        from holdover.compat.entity_stores import InMemoryEntityStore  # noqa: PLC0415

        if not is_private(value):
            names = memory._state.names.seen  # noqa: SLF001 - our own class
            return InMemoryEntityStore(dict.fromkeys(names))
    return value


def _know_same(one: EntityGraph, other: EntityGraph) -> bool:
    if one.place is not None or other.place is not None:
        mine, theirs = one.place, other.place
        return mine is not None and theirs is not None and mine.is_same(theirs)
    return _known(one) == _known(other) and alike(one._source, other._source)  # noqa: SLF001 - our own class


def _known(graph: EntityGraph) -> tuple[set[Any], set[str]]:
    """The facts in a graph of this process, and the entities; in any order."""
    triples = {*graph._triples, *graph._given}  # noqa: SLF001 - our own class
    ends = (end for subject, _, object_ in triples for end in (subject, object_))
    return triples, {*graph._nodes, *ends}  # noqa: SLF001


def _kind(model: BaseModel) -> type:
    """Its class; of a generic one, whatever its parameters are, as for pydantic."""
    return model.__pydantic_generic_metadata__["origin"] or type(model)


def _private_of_user(model: BaseModel) -> dict[str, Any]:
    private = model.__pydantic_private__ or {}
    if not private:
        return {}
    ours = _private_of_ours(type(model))
    return {name: value for name, value in private.items() if name not in ours}


@functools.lru_cache(maxsize=128)
def _private_of_ours(kind: type[BaseModel]) -> frozenset[str]:
    return frozenset(
        name
        for one in kind.__mro__
        if one.__module__.startswith(_OURS)
        for name in getattr(one, "__private_attributes__", ())
    )
