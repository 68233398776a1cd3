"""`ConversationBufferMemory`: the whole conversation."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import BaseMessage

from holdover.compat.both_ways import Do, Operation, arun, run, twins
from holdover.compat.chat_memory import BaseChatMemory
from holdover.compat.messages import render
from holdover.compat.notices import warn_once
from holdover.compat.string_buffer import ConversationStringBufferMemory

__all__ = ["BufferMemory", "ConversationBufferMemory", "ConversationStringBufferMemory"]

_PREFIXES = ("Human", "AI")


class BufferMemory(BaseChatMemory):
    """A memory that gives messages of its history, or their text.

    Which ones is said by `_kept`.
    """

    human_prefix: str = _PREFIXES[0]
    ai_prefix: str = _PREFIXES[1]
    memory_key: str = "history"

    def __init__(self, *args: Any, **fields: Any) -> None:
        super().__init__(*args, **fields)
        prefixes = (self.human_prefix, self.ai_prefix)
        if self.return_messages and prefixes != _PREFIXES:
            warn_once(
                f"{type(self).__name__}: human_prefix and ai_prefix are for text; with "
                "return_messages=True they do nothing.",
            )

    def _kept(self) -> Operation[list[BaseMessage]]:
        # Where the history is a list, that one: applications change it in place.
        history = self.chat_memory
        messages: list[BaseMessage] = yield Do(
            lambda: history.messages, history.aget_messages
        )
        return messages

    def _as_str(self) -> Operation[str]:
        messages = yield from self._kept()
        return self._buffer_as_str(messages)

    def _load(self) -> Operation[dict[str, Any]]:
        # By the public names: a subclass may have replaced any of them.
        buffer = yield twins(self, "buffer", "abuffer")
        # What a chain is given does not grow while it runs.
        return {self.memory_key: buffer[:] if isinstance(buffer, list) else buffer}

    def _buffer_as_str(self, messages: list[BaseMessage]) -> str:
        return render(messages, self.human_prefix, self.ai_prefix)

    @property
    def buffer(self) -> Any:
        """What `load_memory_variables` gives: messages or text."""
        return self.buffer_as_messages if self.return_messages else self.buffer_as_str

    async def abuffer(self) -> Any:
        """See `buffer`."""
        name = "buffer_as_messages" if self.return_messages else "buffer_as_str"
        return await twins(self, name, f"a{name}").acall()

    @property
    def buffer_as_str(self) -> str:
        """The text, whatever `return_messages` says."""
        return run(self._as_str())

    async def abuffer_as_str(self) -> str:
        """See `buffer_as_str`."""
        return await arun(self._as_str())

    @property
    def buffer_as_messages(self) -> list[BaseMessage]:
        """The messages, whatever `return_messages` says."""
        return run(self._kept())

    async def abuffer_as_messages(self) -> list[BaseMessage]:
        """See `buffer_as_messages`."""
        return await arun(self._kept())

    @property
    def memory_variables(self) -> list[str]:
        """The one name it adds."""
        return [self.memory_key]

    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        """Give the messages, or their text."""
        return run(self._load())

    async def aload_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        """See `load_memory_variables`."""
        return await arun(self._load())


class ConversationBufferMemory(BufferMemory):
    """Gives the whole conversation."""
