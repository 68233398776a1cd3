"""`CombinedMemory`: several memories as one."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, ClassVar, Self

from pydantic import field_validator

from holdover.compat import base, nested
from holdover.compat.base import BaseMemory
from holdover.compat.both_ways import Do, Operation, arun, run
from holdover.compat.memory import StoreMemory

__all__ = ["CombinedMemory"]


class CombinedMemory(StoreMemory):
    """Gives what several memories give, and saves each turn in all of them, in order.

    None of them sees the variables of the others: a vector memory would store them as
    what was said. One that fails keeps none of the others from saving the turn.
    """

    memories: list[BaseMemory]

    _state_fields: ClassVar[tuple[str, ...]] = ("memories",)

    def __init__(self, *args: Any, **fields: Any) -> None:
        super().__init__(*args, **fields)
        nested.warn_of_place(self, fields)

    @field_validator("memories")
    @classmethod
    def check_repeated_memory_variable(
        cls, value: list[BaseMemory]
    ) -> list[BaseMemory]:
        """Refuse two memories that give the same variable."""
        seen: set[str] = set()
        for memory in value:
            overlap = seen.intersection(memory.memory_variables)
            if overlap:
                raise ValueError(
                    f"The same variables {overlap} are found in multiple"
                    "memory object, which is not allowed by CombinedMemory."
                )
            seen.update(memory.memory_variables)
        return value

    @field_validator("memories")
    @classmethod
    def check_input_key(cls, value: list[BaseMemory]) -> list[BaseMemory]:
        """Warn where nothing tells a memory which input is meant."""
        for memory in value:
            if isinstance(memory, base.BaseChatMemory) and memory.input_key is None:
                warnings.warn(
                    "When using CombinedMemory, input keys should be so the input is "
                    f"known.  Was not set on {type(memory).__name__}",
                    stacklevel=5,
                )
        return value

    @property
    def memory_variables(self) -> list[str]:
        """The names all of them give."""
        return [name for memory in self.memories for name in memory.memory_variables]

    def _inputs_for(self, memory: BaseMemory, inputs: dict[str, Any]) -> dict[str, Any]:
        """The inputs without what the other memories gave; unless it is named."""
        others = set(self.memory_variables).difference(memory.memory_variables)
        others.discard(getattr(memory, "input_key", None) or "")
        return {name: value for name, value in inputs.items() if name not in others}

    def _load(self, inputs: dict[str, Any]) -> Operation[dict[str, Any]]:
        loaded: dict[str, Any] = {}
        for memory in self.memories:
            given = self._inputs_for(memory, inputs)
            variables = yield Do(
                lambda m=memory, i=given: m.load_memory_variables(i),  # type: ignore[misc]
                lambda m=memory, i=given: m.aload_memory_variables(i),  # type: ignore[misc]
            )
            for name, value in variables.items():
                if name in loaded:
                    raise ValueError(
                        f"The variable {name} is repeated in the CombinedMemory."
                    )
                loaded[name] = value
        return loaded

    def _save(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> Operation[None]:
        """Keep a turn in all of them; what one of them raises is raised at the end."""

        def save(memory: BaseMemory) -> Do:
            given = self._inputs_for(memory, inputs)
            return Do(
                lambda: memory.save_context(given, outputs),
                lambda: memory.asave_context(given, outputs),
            )

        yield from _each([save(memory) for memory in self.memories])

    def _clear(self) -> Operation[None]:
        yield from _each([Do(memory.clear, memory.aclear) for memory in self.memories])

    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """Give the variables of all of them."""
        return run(self._load(inputs))

    async def aload_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """See `load_memory_variables`."""
        return await arun(self._load(inputs))

    def to_dict(self) -> dict[str, Any]:
        """This object and the memories in it, as JSON."""
        inner = [nested.dump(memory) for memory in self.memories]
        said = super().to_dict()
        return {
            **said,
            "needs": nested.needs(inner, "memories"),
            "state": {"memories": inner},
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], **arguments: Any) -> Self:
        """Make the object again; arguments also reach the memories in it."""
        inner = data.get("state", {}).get("memories", [])
        if "memories" not in arguments and None not in inner:
            memories = [nested.load(one, arguments) for one in inner]
            for one in inner:
                arguments = nested.left(one, arguments)
            arguments = {"memories": memories, **arguments}
        return super().from_dict(data, **arguments)


def _each(steps: list[Do]) -> Operation[None]:
    """Do all of them; the first error is raised then, with notes of the others."""
    first: Exception | None = None
    for step in steps:
        try:
            yield step
        except Exception as error:  # noqa: BLE001 - raised when all are done
            if first is None:
                first = error
            else:
                # Never what it says: that may be anything the user told the model.
                first.add_note(f"Another memory failed, too: {type(error).__name__}")
    if first is not None:
        raise first
