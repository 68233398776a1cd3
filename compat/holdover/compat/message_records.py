"""A message as a record's content, and back.

Whatever a message holds is stored: what JSON cannot hold becomes text. Whatever a
store holds is read: an item of another program, or a type nobody knows, too.
"""

from __future__ import annotations

import base64
import dataclasses
import math
import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from datetime import date, datetime, time
from enum import Enum
from typing import Any

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    HumanMessage,
    SystemMessage,
    messages_from_dict,
)
from pydantic import BaseModel, ValidationError

from holdover.compat.plain import is_plain
from holdover.compat.records import EMPTY, Record, without_empty
from holdover.compat.scope import escape

_INT64 = range(-(2**63), 2**63)
# Below what a record may be nested, with what stands around it.
_DEEPEST = 80
_UNSTORABLE_NAME = re.compile(r"[\x00\ud800-\udfff]")
# How other programs name who speaks.
_SPEAKERS: dict[str, type[BaseMessage]] = {
    "user": HumanMessage,
    "human": HumanMessage,
    "assistant": AIMessage,
    "ai": AIMessage,
    "system": SystemMessage,
}


def message_content(message: BaseMessage) -> dict[str, Any]:
    """The content of a message's record: its type, and its fields that hold something.

    Raises:
        TypeError: It is no message.
    """
    if not isinstance(message, BaseMessage):
        raise TypeError(f"A history holds messages, not a {type(message).__name__}.")
    return content_of(str(message.type), _fields(message))


def content_of(kind: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """The content of a record, of a message's type and fields as old data has them."""
    if type(fields) is dict and is_plain(fields):
        # Nearly always, of old data: nothing has to be made storable.
        text = fields.get("content", "")
        stored = {
            name: value
            for name, value in fields.items()
            if (value or (value is not None and value not in EMPTY))
            and name != "content"
        }
    else:
        text = _plain(fields.get("content", ""), ())
        rest = {_name(n): _plain(v, ()) for n, v in fields.items() if n != "content"}
        stored = without_empty(rest)
    # Of classes that lost it: absent and false are the same.
    if stored.get("example") is False:
        del stored["example"]
    return {"type": kind, "data": {"content": "" if text is None else text, **stored}}


def message_of(record: Record) -> BaseMessage:
    """The message in a record, whoever wrote it.

    An item that is no record of ours is what a human said, unless its `role` or `type`
    says who. A message of an unknown type is a `ChatMessage` with that role.
    """
    if record.foreign:
        role = record.content.get("role") or record.content.get("type")
        kind = _SPEAKERS.get(role.lower() if isinstance(role, str) else "")
        return (kind or HumanMessage)(content=record.text)
    return message_from(record.content.get("type"), record.content.get("data"))


def message_from(kind: Any, data: Any) -> BaseMessage:
    """A message of a type, from its fields; nothing raises."""
    fields = dict(data) if isinstance(data, Mapping) else {"content": _text(data)}
    fields.setdefault("content", "")
    if not isinstance(fields["content"], str | list):
        fields["content"] = _text(fields["content"])
    try:
        return messages_from_dict([{"type": kind, "data": fields}])[0]
    except Exception:  # noqa: BLE001 - of data of any origin; what it says is shown
        return _unknown(str(kind or "unknown"), fields)


def _unknown(role: str, fields: dict[str, Any]) -> BaseMessage:
    known = BaseMessage.model_fields.keys() - {"type"}
    kept = {name: value for name, value in fields.items() if name in known}
    try:
        return ChatMessage(**kept, role=role)
    except ValidationError:
        content = kept["content"]
        text = content if isinstance(content, str) else _text(content)
        return ChatMessage.model_construct(content=text, role=role)


def _fields(message: BaseMessage) -> dict[str, Any]:
    """The fields as `message_to_dict` gives them, where it can."""
    try:
        return message.model_dump(warnings=False)
    except Exception:  # noqa: BLE001 - of values of any class; no turn is lost by one
        return {**dict(message), **(message.model_extra or {})}


def _plain(value: Any, above: tuple[int, ...]) -> Any:
    """A copy of any value in what every store keeps."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, Enum):
        value = value.value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int):
        return int(value) if value in _INT64 else _digits(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else str(float(value))
    if isinstance(value, bytes | bytearray | memoryview):
        return _bytes_text(bytes(value))
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if len(above) > _DEEPEST or id(value) in above:
        return _text(value)
    inner = _opened(value)
    if inner is None:
        return _text(value)
    above = (*above, id(value))
    if isinstance(inner, Mapping):
        return {_name(n): _plain(v, above) for n, v in inner.items()}
    return [_plain(one, above) for one in inner]


def _opened(value: Any) -> Mapping[Any, Any] | list[Any] | None:
    """The parts of a value that has some."""
    if isinstance(value, Mapping):
        return value
    if isinstance(value, list | tuple | AbstractSet):
        return list(value)
    try:
        if isinstance(value, BaseModel):
            return value.model_dump(warnings=False)
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    except Exception:  # noqa: BLE001 - of any class; its text is kept instead
        return None
    return None


def _name(name: Any) -> str:
    text = name if isinstance(name, str) else _text(name)
    return _UNSTORABLE_NAME.sub(lambda match: escape(match[0]), text)


def _digits(value: int) -> str:
    try:
        return str(int(value))
    except ValueError:  # over the interpreter's limit of digits
        return hex(value)


def _bytes_text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return base64.b64encode(value).decode()


def _text(value: Any) -> str:
    try:
        return str(value)
    except Exception:  # noqa: BLE001 - of any class
        return f"<{type(value).__name__}>"
