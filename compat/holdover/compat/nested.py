"""Memories made of other memories: how `to_dict` and `from_dict` reach those."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from holdover.compat.base import BaseMemory
from holdover.compat.memory import StoreMemory
from holdover.compat.notices import warn_once

#: Arguments that mean the memories inside, not what wraps them.
PLACES = ("store", "scope", "unsafe")


def dump(memory: BaseMemory) -> dict[str, Any] | None:
    """What `to_dict` says of a memory; `None` of one that is not a class of ours."""
    if isinstance(memory, StoreMemory) and _kind(type(memory).__name__) is type(memory):
        return memory.to_dict()
    return None


def needs(dumps: Iterable[Mapping[str, Any] | None], field: str) -> list[str]:
    """What these need to be made again: `field` itself if one cannot be."""
    names: set[str] = set()
    for said in dumps:
        names.update([field] if said is None else said["needs"])
    return sorted(names)


def load(said: Mapping[str, Any], arguments: Mapping[str, Any]) -> BaseMemory:
    """Make a memory again, with those of the arguments that are for it.

    Raises:
        ValueError: It describes no memory.
    """
    kind = _kind(said.get("class"))
    if kind is None:
        raise ValueError(f"This describes a {said.get('class')}, which is no memory.")
    names = _arguments_of(said)
    return kind.from_dict(
        said, **{name: value for name, value in arguments.items() if name in names}
    )


def left(said: Mapping[str, Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that are not for that memory."""
    names = _arguments_of(said)
    return {name: value for name, value in arguments.items() if name not in names}


def warn_of_place(memory: StoreMemory, given: Mapping[str, Any]) -> None:
    """Say that a place does nothing where nothing is kept."""
    if any(given.get(name) is not None for name in ("store", "scope", "session_id")):
        warn_once(
            f"{type(memory).__name__} keeps nothing itself: store=, scope= and "
            "session_id= do nothing here."
        )


def _kind(name: Any) -> type[StoreMemory] | None:
    """Our own class of that name: what data names is not just any class."""
    from holdover import compat  # noqa: PLC0415 - it imports us

    kind = getattr(compat, str(name), None)
    return kind if isinstance(kind, type) and issubclass(kind, StoreMemory) else None


def _arguments_of(said: Mapping[str, Any]) -> set[str]:
    return {*said["needs"], *PLACES}
