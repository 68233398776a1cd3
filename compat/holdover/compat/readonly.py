"""`ReadOnlySharedMemory`: a memory that others write."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self

from holdover.compat import nested
from holdover.compat.base import BaseMemory
from holdover.compat.memory import StoreMemory

if TYPE_CHECKING:
    from holdover.compat.repository import Repository

__all__ = ["ReadOnlySharedMemory"]


class ReadOnlySharedMemory(StoreMemory):
    """Gives what another memory gives; saving and clearing do nothing."""

    memory: BaseMemory

    _state_fields: ClassVar[tuple[str, ...]] = ("memory",)

    def __init__(self, *args: Any, **fields: Any) -> None:
        super().__init__(*args, **fields)
        nested.warn_of_place(self, fields)

    @property
    def repository(self) -> Repository:
        """The records of the memory it reads."""
        inner = self.memory
        return (
            inner.repository if isinstance(inner, StoreMemory) else super().repository
        )

    @property
    def memory_variables(self) -> list[str]:
        """The names the other memory gives."""
        return self.memory.memory_variables

    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """Give what the other memory gives."""
        return self.memory.load_memory_variables(inputs)

    async def aload_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """See `load_memory_variables`."""
        return await self.memory.aload_memory_variables(inputs)

    def save_context(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
        """Do nothing."""

    async def asave_context(
        self, inputs: dict[str, Any], outputs: dict[str, Any]
    ) -> None:
        """Do nothing."""

    def clear(self) -> None:
        """Do nothing."""

    async def aclear(self) -> None:
        """Do nothing."""

    def to_dict(self) -> dict[str, Any]:
        """This object and the memory it reads, as JSON."""
        inner = nested.dump(self.memory)
        said = super().to_dict()
        return {
            **said,
            "needs": nested.needs([inner], "memory"),
            "state": {"memory": inner},
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], **arguments: Any) -> Self:
        """Make the object again; arguments also reach the memory it reads."""
        inner = data.get("state", {}).get("memory")
        if "memory" not in arguments and inner is not None:
            memory = nested.load(inner, arguments)
            arguments = {"memory": memory, **nested.left(inner, arguments)}
        return super().from_dict(data, **arguments)
