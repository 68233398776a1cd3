"""What Redis answers about a message, before it is read as one."""

from __future__ import annotations

from typing import Any

import orjson

from holdover.migrate.sources.messages import Unreadable, read_message


def holds_message(answer: Any) -> bool:
    """Whether one of the entries of a list, as `LRANGE` gives them, is a message."""
    return isinstance(answer, list) and any(
        isinstance(entry, bytes) and not isinstance(read_message(entry), Unreadable)
        for entry in answer
    )


def session_of(answer: Any) -> str | None:
    """The session of a document, as `JSON.GET key $.session_id` gives it."""
    match parsed(answer):
        case [str(session)]:
            return session
    return None


def parsed(answer: Any) -> Any:
    """What the server wrote as JSON; `None` where it did not."""
    if not isinstance(answer, bytes):
        return None
    try:
        return orjson.loads(answer)
    except orjson.JSONDecodeError:
        return None
