"""The base classes of this environment: LangChain's where installed, else our equals.

An old `Chain` or `ConversationEntityMemory` accepts only instances of the classic
classes. No other module imports the classic packages at module level.
"""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from langchain_core.load.serializable import Serializable
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.runnables import run_in_executor
from pydantic import BaseModel, ConfigDict, Field

from holdover.compat.real_modules import import_real

#: The package the bases come from; `None` where no classic package is.
CLASSIC: str | None = None
_CLASSIC_PACKAGES = ("langchain_classic", "langchain")


class BaseEntityStore(BaseModel, ABC):
    """The contract of entity stores, as classic's class of this name promises it."""

    @abstractmethod
    def get(self, key: str, default: str | None = None) -> str | None:
        """Give the summary of an entity, or `default`."""

    @abstractmethod
    def set(self, key: str, value: str | None) -> None:
        """Keep a summary."""

    @abstractmethod
    def delete(self, key: str) -> None:
        """Remove an entity."""

    @abstractmethod
    def exists(self, key: str) -> bool:
        """Tell whether an entity is there."""

    @abstractmethod
    def clear(self) -> None:
        """Remove all entities of the session."""


class BaseMemory(Serializable, ABC):
    """The contract of memories, as classic's class of this name promises it."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    @property
    @abstractmethod
    def memory_variables(self) -> list[str]:
        """The names it adds to a chain's inputs."""

    @abstractmethod
    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """Give what it adds, for these inputs."""

    async def aload_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """See `load_memory_variables`."""
        return await run_in_executor(None, self.load_memory_variables, inputs)

    @abstractmethod
    def save_context(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
        """Keep a turn."""

    async def asave_context(
        self, inputs: dict[str, Any], outputs: dict[str, Any]
    ) -> None:
        """See `save_context`."""
        await run_in_executor(None, self.save_context, inputs, outputs)

    @abstractmethod
    def clear(self) -> None:
        """Forget everything."""

    async def aclear(self) -> None:
        """See `clear`."""
        await run_in_executor(None, self.clear)


class BaseChatMessageHistory(ABC):
    """The contract of histories, as langchain-core's class of this name promises it."""

    messages: list[BaseMessage]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)

    async def aget_messages(self) -> list[BaseMessage]:
        """Give the messages."""
        return await run_in_executor(None, lambda: self.messages)

    def add_user_message(self, message: HumanMessage | str) -> None:
        """Add what the human said."""
        self.add_message(HumanMessage(message) if isinstance(message, str) else message)

    def add_ai_message(self, message: AIMessage | str) -> None:
        """Add what the AI said."""
        self.add_message(AIMessage(message) if isinstance(message, str) else message)

    def add_message(self, message: BaseMessage) -> None:
        """Add one message."""
        if type(self).add_messages is BaseChatMessageHistory.add_messages:
            raise NotImplementedError("Implement add_messages or add_message.")
        self.add_messages([message])

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Add messages, in order."""
        for message in messages:
            self.add_message(message)

    async def aadd_messages(self, messages: Sequence[BaseMessage]) -> None:
        """See `add_messages`."""
        await run_in_executor(None, self.add_messages, messages)

    @abstractmethod
    def clear(self) -> None:
        """Remove all messages."""

    async def aclear(self) -> None:
        """See `clear`."""
        await run_in_executor(None, self.clear)

    def __str__(self) -> str:
        """Show the messages as text."""
        from holdover.compat.messages import render  # noqa: PLC0415 - it imports us

        return render(self.messages)


class InMemoryChatMessageHistory(BaseChatMessageHistory, BaseModel):
    """A history in this object, as langchain-core's class of this name keeps it."""

    messages: list[BaseMessage] = Field(default_factory=list)

    async def aget_messages(self) -> list[BaseMessage]:
        """Give the messages."""
        return self.messages

    def add_message(self, message: BaseMessage) -> None:
        """Add one message."""
        self.messages.append(message)

    async def aadd_messages(self, messages: Sequence[BaseMessage]) -> None:
        """See `add_messages`."""
        self.add_messages(messages)

    def clear(self) -> None:
        """Remove all messages."""
        self.messages = []

    async def aclear(self) -> None:
        """See `clear`."""
        self.clear()


# Type checkers see the classes above, whichever package is installed.
if not TYPE_CHECKING:
    with contextlib.suppress(ImportError):  # ours stay
        from langchain_core.chat_history import (
            BaseChatMessageHistory,
            InMemoryChatMessageHistory,
        )


class BaseChatMemory(BaseMemory, ABC):
    """What chat memories have in common, as classic's class of this name has it."""

    chat_memory: BaseChatMessageHistory = Field(
        default_factory=InMemoryChatMessageHistory
    )
    output_key: str | None = None
    input_key: str | None = None
    return_messages: bool = False


if not TYPE_CHECKING:
    for _package in _CLASSIC_PACKAGES:
        try:
            _chat_memory = import_real(f"{_package}.memory.chat_memory")
            _entity = import_real(f"{_package}.memory.entity")
        except ImportError:
            continue
        BaseChatMemory, BaseMemory = (
            _chat_memory.BaseChatMemory,
            _chat_memory.BaseMemory,
        )
        BaseEntityStore = _entity.BaseEntityStore
        CLASSIC = _package
        break

__all__ = [
    "CLASSIC",
    "BaseChatMemory",
    "BaseChatMessageHistory",
    "BaseEntityStore",
    "BaseMemory",
    "InMemoryChatMessageHistory",
    "classic_module",
]


def classic_module(name: str) -> Any:
    """The module of that name below the classic package, such as `memory.prompt`.

    Raises:
        ImportError: There is no classic package here, or no such module in it.
    """
    if CLASSIC is None:
        raise ImportError("No classic LangChain package is installed.")
    return import_real(f"{CLASSIC}.{name}")
