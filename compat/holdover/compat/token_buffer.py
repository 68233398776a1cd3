"""`ConversationTokenBufferMemory`: as much of the conversation as a limit allows."""

from __future__ import annotations

from typing import ClassVar

from langchain_core.messages import BaseMessage
from pydantic import Field

from holdover.compat.both_ways import Operation
from holdover.compat.buffer import BufferMemory
from holdover.compat.prompting import Model
from holdover.compat.tokens import TokenCounter, counter_of
from holdover.compat.transcript import tail
from holdover.compat.windows import fit

__all__ = ["ConversationTokenBufferMemory"]


class ConversationTokenBufferMemory(BufferMemory):
    """Gives the newest messages that fit `max_token_limit`.

    The limit holds whenever messages are given, also those of an old history; the
    history itself keeps them all. `token_counter` counts a list of messages; without
    it the model does.
    """

    llm: Model
    max_token_limit: int = 2000
    token_counter: TokenCounter | None = Field(default=None, exclude=True)

    _live_fields: ClassVar[tuple[str, ...]] = ("llm", "token_counter")

    def _kept(self) -> Operation[list[BaseMessage]]:
        count = counter_of(self.llm, self.token_counter)
        limit = self.max_token_limit
        messages = yield from tail(self.chat_memory, lambda read: count(read) > limit)
        return fit(messages, limit, count)
