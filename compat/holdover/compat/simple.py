"""`SimpleMemory`: variables that never change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Self

from langchain_core.messages import BaseMessage, message_to_dict, messages_from_dict
from pydantic import BeforeValidator, PlainSerializer

from holdover.compat import nested
from holdover.compat.memory import StoreMemory

__all__ = ["SimpleMemory"]

#: What JSON says of a message; nobody's own variable looks like it.
_MESSAGE = "~message"


def _copied(value: Any) -> Any:
    """A copy of containers and messages; what else a prompt is given is left alone.

    A variable may be a client or an open file, which nobody wants a second of.
    """
    kind = type(value)
    if kind in (list, tuple, set):
        return kind(map(_copied, value))
    if kind is dict:
        return {name: _copied(one) for name, one in value.items()}
    if isinstance(value, BaseMessage):
        return value.model_copy(deep=True)
    return value


def _packed(value: Any) -> Any:
    if isinstance(value, BaseMessage):
        return {_MESSAGE: message_to_dict(value)}
    if isinstance(value, Mapping):
        return {name: _packed(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_packed(one) for one in value]
    return value


def _unpacked(value: Any) -> Any:
    if type(value) is dict:
        if value.keys() == {_MESSAGE}:
            return messages_from_dict([value[_MESSAGE]])[0]
        return {name: _unpacked(one) for name, one in value.items()}
    if type(value) is list:
        return [_unpacked(one) for one in value]
    return value


class SimpleMemory(StoreMemory):
    """Gives the same variables each time, as copies: what they hold stays as it is."""

    memories: Annotated[
        dict[str, Any],
        BeforeValidator(_unpacked),
        PlainSerializer(_packed, return_type=object, when_used="json"),
    ] = {}  # noqa: RUF012 - pydantic copies it

    def __init__(self, *args: Any, **fields: Any) -> None:
        super().__init__(*args, **fields)
        nested.warn_of_place(self, fields)

    @property
    def memory_variables(self) -> list[str]:
        """The names of the variables."""
        return list(self.memories)

    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        """Give the variables."""
        variables: dict[str, Any] = _copied(self.memories)
        return variables

    async def aload_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """See `load_memory_variables`."""
        return self.load_memory_variables(inputs)

    def save_context(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
        """Do nothing: the variables never change."""

    async def asave_context(
        self, inputs: dict[str, Any], outputs: dict[str, Any]
    ) -> None:
        """Do nothing."""

    def clear(self) -> None:
        """Do nothing."""

    async def aclear(self) -> None:
        """Do nothing."""

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], **arguments: Any) -> Self:
        """Make the object again; a store is for the memories beside it."""
        for name in nested.PLACES:
            arguments.pop(name, None)
        return super().from_dict(data, **arguments)
