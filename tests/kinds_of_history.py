"""Histories of every habit that memories meet."""

from __future__ import annotations

from langchain_core.messages import BaseMessage, message_to_dict, messages_from_dict
from langgraph.store.memory import InMemoryStore

from holdover.compat import ChatMessageHistory, StoreChatMessageHistory
from holdover.compat.base import BaseChatMessageHistory


class CopyingHistory(BaseChatMessageHistory):
    """Reads its messages anew each time, as one over a file or a table does."""

    def __init__(self, session_id=None):
        self.session_id = session_id
        self.kept: list[dict] = []

    @property
    def messages(self) -> list[BaseMessage]:
        return messages_from_dict(self.kept)

    @messages.setter
    def messages(self, messages):
        self.kept = [message_to_dict(message) for message in messages]

    def add_message(self, message):
        self.kept.append(message_to_dict(message))

    def clear(self):
        self.kept = []


class AsyncOnlyHistory(BaseChatMessageHistory):
    """Works from async code alone, as one over an async engine does."""

    def __init__(self):
        self.kept: list[BaseMessage] = []

    @property
    def messages(self) -> list[BaseMessage]:
        raise NotImplementedError("Use aget_messages.")

    async def aget_messages(self):
        return list(self.kept)

    def add_messages(self, messages):
        raise NotImplementedError("Use aadd_messages.")

    async def aadd_messages(self, messages):
        self.kept.extend(messages)

    def clear(self):
        raise NotImplementedError("Use aclear.")

    async def aclear(self):
        self.kept = []


def stored():
    return StoreChatMessageHistory("s", store=InMemoryStore())


KINDS = {
    "in memory": ChatMessageHistory,
    "copying": CopyingHistory,
    "stored": stored,
}
