"""A session that lost its old end, put behind what was moved of it before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from langchain_core.messages import BaseMessage

from holdover.compat.message_records import message_content
from holdover.migrate.threads.state import MARK, State, is_made_up, is_removal, state_of

Contents = Sequence[tuple[int, Mapping[str, Any]]]


def joined(before: Sequence[BaseMessage], contents: Contents, session: str) -> State:
    """The state of a session of which the source may hold only the newest part.

    Args:
        before: The messages that were moved.
        contents: What the source holds now, oldest first.
        session: What makes ids differ from those of other sessions.
    """
    old = _told(before)
    held = [one for one in contents if not is_removal(one[1])]
    new = _told(state_of(held, session).messages)
    shared = _shared([_key(m) for m in old], [_key(m) for m in new])
    whole: list[tuple[int, Mapping[str, Any]]] = [
        (at, message_content(message)) for at, message in enumerate(old)
    ]
    tail = [content for _, content in held[shared:]]
    whole += enumerate(tail, start=len(whole))
    return state_of(whole, session)


def extended(before: Sequence[BaseMessage], contents: Contents, session: str) -> State:
    """The state of a session whose messages the source knows by places that stay.

    What was moved and is older than all that the source still holds is kept.
    """
    new = state_of(contents, session).messages
    old = _told(before)
    first = _told(new)[0].id if new else None
    at = next((at for at, message in enumerate(old) if message.id == first), 0)
    whole = [(-1, message_content(message)) for message in old[:at]]
    return state_of([*whole, *contents], session)


def _told(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """What was said, in its order, without what was made up."""
    found = [m for m in messages if "place" not in _mark(m)]
    moved = [m for m in messages if "place" in _mark(m)]
    for message in sorted(moved, key=lambda m: int(_mark(m)["place"])):
        found.insert(int(_mark(message)["place"]), message)
    return [m for m in found if not is_made_up(m)]


def _shared(old: Sequence[bytes], new: Sequence[bytes]) -> int:
    """How many messages at the end of what was moved the source still begins with."""
    for start in range(max(0, len(old) - len(new)), len(old)):
        if old[start] == new[0] and list(old[start:]) == list(new[: len(old) - start]):
            return len(old) - start
    return 0


def _key(message: BaseMessage) -> bytes:
    """What a message says, without ids: those of lists come from places."""
    content = message_content(message)
    data = {n: v for n, v in content["data"].items() if n not in _OF_PLACES}
    kept = dict(data.get("response_metadata") or {})
    kept.pop(MARK, None)
    data["response_metadata"] = kept
    data["tool_calls"] = [
        {n: v for n, v in call.items() if n != "id"}
        for call in data.get("tool_calls") or ()
    ]
    return orjson.dumps([content["type"], data], option=orjson.OPT_SORT_KEYS)


_OF_PLACES = ("id", "tool_call_id")


def _mark(message: BaseMessage) -> Mapping[str, Any]:
    mark = message.response_metadata.get(MARK)
    return mark if isinstance(mark, Mapping) else {}
