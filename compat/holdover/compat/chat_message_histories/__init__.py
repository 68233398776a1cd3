"""The chat histories: over a store, and every classic one by its old name.

Names are loaded when they are first used. Histories of services that Holdover has no
class for are those of the installed LangChain packages.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from holdover.compat.base import BaseChatMessageHistory
    from holdover.compat.chat_message_histories.file import FileChatMessageHistory
    from holdover.compat.chat_message_histories.in_memory import ChatMessageHistory
    from holdover.compat.chat_message_histories.postgres import (
        PostgresChatMessageHistory,
    )
    from holdover.compat.chat_message_histories.redis import RedisChatMessageHistory
    from holdover.compat.chat_message_histories.sql import SQLChatMessageHistory
    from holdover.compat.chat_message_histories.store import StoreChatMessageHistory
    from holdover.compat.chat_message_histories.upstash_redis import (
        UpstashRedisChatMessageHistory,
    )

_HERE = "holdover.compat.chat_message_histories"
_OURS = {
    "BaseChatMessageHistory": "holdover.compat.base",
    "ChatMessageHistory": f"{_HERE}.in_memory",
    "FileChatMessageHistory": f"{_HERE}.file",
    "PostgresChatMessageHistory": f"{_HERE}.postgres",
    "RedisChatMessageHistory": f"{_HERE}.redis",
    "SQLChatMessageHistory": f"{_HERE}.sql",
    "StoreChatMessageHistory": f"{_HERE}.store",
    "UpstashRedisChatMessageHistory": f"{_HERE}.upstash_redis",
}

__all__ = [
    "BaseChatMessageHistory",
    "ChatMessageHistory",
    "FileChatMessageHistory",
    "PostgresChatMessageHistory",
    "RedisChatMessageHistory",
    "SQLChatMessageHistory",
    "StoreChatMessageHistory",
    "UpstashRedisChatMessageHistory",
]


def __getattr__(name: str) -> Any:
    if name in _OURS:
        return getattr(importlib.import_module(_OURS[name]), name)
    if name.endswith("ChatMessageHistory"):
        from holdover.compat.chat_message_histories.forwarded import (  # noqa: PLC0415
            FORWARDED,
            forwarded,
        )

        if name in FORWARDED:
            return forwarded(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    from holdover.compat.chat_message_histories.forwarded import (  # noqa: PLC0415
        FORWARDED,
    )

    histories = [name for name in FORWARDED if name.endswith("ChatMessageHistory")]
    return sorted([*globals(), *__all__, *histories])
