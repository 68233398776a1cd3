"""A chat message as an old history wrote it, for every source that holds some."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

import orjson

from holdover.compat.message_records import content_of

# orjson makes a float of an integer that needs more than 64 bits.
_AS_ZEROS = bytes.maketrans(b"123456789", b"000000000")
_LONG = b"0" * 19
_NUL = b"\\u0000"
#: So many brackets cannot be nested more deeply than a record may be.
_SHALLOW = 60
_KEPT_IF_FALSE = frozenset({bool, int, float})


class Unreadable(NamedTuple):
    """Why something is no message: a reason code for a reject, and a sentence."""

    reason: str
    detail: str


NULL = Unreadable("null-message", "There is no message.")
NOT_UTF8 = Unreadable("not-utf8", "The message is not UTF-8.")
NOT_JSON = Unreadable("not-json", "The message is not valid JSON.")
TOO_DEEP = Unreadable("too-deep", "The message is nested too deeply.")
NO_OBJECT = Unreadable("not-a-message", "The JSON is not an object.")
NO_TYPE = Unreadable("not-a-message", "The object has no text as its type.")
NO_DATA = Unreadable("not-a-message", "The object has no data beside its type.")


def read_message(raw: Any) -> dict[str, Any] | Unreadable:
    """The content of a message's record, or why there is none.

    Args:
        raw: JSON text as `message_to_dict` gives it, or what a database or a file made
            of it. A type nobody knows is kept.
    """
    # The common case first, at half the price.
    if raw.__class__ is bytes or raw.__class__ is str:
        found = _quickly(raw)
        if found is not None:
            return found
    if raw is None:
        return NULL
    if isinstance(raw, str | bytes | bytearray | memoryview):
        raw = _parsed(raw)
        if isinstance(raw, Unreadable):
            return raw
    if not isinstance(raw, Mapping):
        return NO_OBJECT
    kind, data = raw.get("type"), raw.get("data")
    if not isinstance(kind, str):
        return NO_TYPE
    if not isinstance(data, Mapping):
        return NO_DATA
    return content_of(kind, data)


def _quickly(raw: bytes | str) -> dict[str, Any] | None:
    """The content of a message in which nothing has to be rewritten, else `None`."""
    try:
        text = raw.encode() if isinstance(raw, str) else raw
    except UnicodeEncodeError:
        return None
    if _NUL in text or _LONG in text.translate(_AS_ZEROS):
        return None
    if text.count(b"{") + text.count(b"[") > _SHALLOW:
        return None
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    if found.__class__ is not dict:
        return None
    kind, data = found.get("type"), found.get("data")
    if kind.__class__ is not str or data.__class__ is not dict:
        return None
    kept = {
        name: value
        for name, value in data.items()
        if value or value.__class__ in _KEPT_IF_FALSE
    }
    kept.pop("content", None)
    if kept.get("example") is False:
        del kept["example"]
    said = data.get("content")
    return {"type": kind, "data": {"content": "" if said is None else said, **kept}}


def _parsed(raw: str | bytes | bytearray | memoryview) -> Any:
    """What JSON says: also long integers, NaN and lone surrogates."""
    try:
        return json.loads(raw if isinstance(raw, str) else bytes(raw))
    except UnicodeDecodeError:
        return NOT_UTF8
    except ValueError:
        return NOT_JSON
    except RecursionError:
        return TOO_DEEP
