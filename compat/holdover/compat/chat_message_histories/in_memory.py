"""`ChatMessageHistory`: messages in this object alone."""

from __future__ import annotations

from holdover.compat.base import InMemoryChatMessageHistory

__all__ = ["ChatMessageHistory"]


class ChatMessageHistory(InMemoryChatMessageHistory):
    """A history in memory; gone with the object."""
