"""`ConversationBufferWindowMemory`: the last turns of the conversation."""

from __future__ import annotations

from langchain_core.messages import BaseMessage

from holdover.compat.both_ways import Operation
from holdover.compat.buffer import BufferMemory
from holdover.compat.transcript import tail
from holdover.compat.windows import last_turns, turns_in

__all__ = ["ConversationBufferWindowMemory"]


class ConversationBufferWindowMemory(BufferMemory):
    """Gives the last `k` turns, with the tool calls in them whole."""

    k: int = 5

    def _kept(self) -> Operation[list[BaseMessage]]:
        k = self.k
        if k <= 0:
            return []
        messages = yield from tail(
            self.chat_memory, lambda read: turns_in(read) >= k, opening=True
        )
        return last_turns(messages, k)
