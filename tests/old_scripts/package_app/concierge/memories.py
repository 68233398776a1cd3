"""Which memory the concierge has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from langchain.memory import (
    ConversationBufferMemory,
    ConversationTokenBufferMemory,  # the default
)

try:
    from langchain_community.chat_message_histories import ChatMessageHistory
except ImportError:  # before 0.1
    from langchain.memory import ChatMessageHistory

if TYPE_CHECKING:
    from langchain.memory.chat_memory import BaseChatMemory
    from langchain_core.language_models import BaseLanguageModel


def build_memory(llm: BaseLanguageModel, limit: int | None = None) -> BaseChatMemory:
    """Limit by tokens, or keep everything."""
    history = ChatMessageHistory()
    if limit is None:
        return ConversationBufferMemory(chat_memory=history, return_messages=True)
    return ConversationTokenBufferMemory(
        llm=llm, chat_memory=history, max_token_limit=limit, return_messages=True
    )
