"""A message as old releases read it: `{"type": …, "data": {…}}` with all its keys."""

from __future__ import annotations

import json
from typing import Any

from langchain_core.messages import ChatMessage, message_to_dict, messages_from_dict

from holdover.compat.message_records import message_of
from holdover.compat.records import Record

#: What each type's class of 0.3.27 wrote; the first releases had some of it, and drop
#: what they do not know.
_COMMON: dict[str, Any] = {
    "content": "",
    "additional_kwargs": {},
    "response_metadata": {},
}
_NAMED = {"name": None, "id": None}
_AI = {
    "example": False,
    "tool_calls": [],
    "invalid_tool_calls": [],
    "usage_metadata": None,
}
_OWN: dict[str, dict[str, Any]] = {
    "human": {"example": False},
    "ai": _AI,
    "system": {},
    "chat": {"role": ""},
    "function": {"name": ""},
    "tool": {"tool_call_id": "", "artifact": None, "status": "success"},
    "remove": {},
    "HumanMessageChunk": {"example": False},
    "AIMessageChunk": {**_AI, "tool_call_chunks": []},
    "SystemMessageChunk": {},
    "ChatMessageChunk": {"role": ""},
    "FunctionMessageChunk": {"name": ""},
    "ToolMessageChunk": {"tool_call_id": "", "artifact": None, "status": "success"},
}


def classic_message(record: Record) -> dict[str, Any]:
    """What a classic history would have stored of a message.

    A type that old releases do not know would make them refuse the whole session: it
    becomes a chat message with that role, as in `compat`.
    """
    if not record.foreign:
        kind, data = record.content.get("type"), record.content.get("data")
        own = _OWN.get(kind) if isinstance(kind, str) else None
        if own is not None and isinstance(data, dict):
            whole = {**_COMMON, "type": kind, **_NAMED, **own, **data}
            if _is_read(kind, whole):
                return {"type": kind, "data": whole}
    message = message_of(record)
    if message.type not in _OWN:
        message = ChatMessage(content=message.content, role=message.type)
    plain = message_to_dict(message)
    kind = plain["type"]
    data = {name: value for name, value in plain["data"].items() if value is not None}
    return {
        "type": kind,
        "data": {**_COMMON, "type": kind, **_NAMED, **_OWN[kind], **data},
    }


def _is_read(kind: Any, data: dict[str, Any]) -> bool:
    """Whether the class of that type takes these fields."""
    try:
        messages_from_dict([{"type": kind, "data": data}])
    except Exception:  # noqa: BLE001 - of data of any origin: it is written otherwise
        return False
    return True


def as_json(message: dict[str, Any]) -> str:
    """The text that a classic history stores: ASCII, as `json.dumps` writes it."""
    return json.dumps(message)
