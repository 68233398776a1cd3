"""How memories read a history: any of them, and ours without reading all of it.

A history may be a list in memory, a file that is read anew, a table behind an async
engine; some return copies, some are read by key.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from langchain_core.messages import BaseMessage, SystemMessage

from holdover.compat.base import BaseChatMessageHistory
from holdover.compat.both_ways import Do, Operation
from holdover.compat.messages import message_hash
from holdover.compat.records import without_empty

_FIRST_PAGE = 32
_LARGEST_PAGE = 1_000
# How many of the last messages a cursor knows, by hash and by key.
_HASHES, _RECENT = 4, 32
Enough = Callable[[list[BaseMessage]], bool]


@runtime_checkable
class KeyedHistory(Protocol):
    """A history that can be read a part at a time, in either direction."""

    def page(
        self, *, after: str | None = None, limit: int = 500, reverse: bool = False
    ) -> list[tuple[str, BaseMessage]]:
        """Messages with their keys, beyond `after`."""
        ...

    async def apage(
        self, *, after: str | None = None, limit: int = 500, reverse: bool = False
    ) -> list[tuple[str, BaseMessage]]:
        """See `page`."""
        ...


@dataclass(frozen=True, slots=True)
class Cursor:
    """How far into a history something got.

    `count` and `hash` (of the last message it covers) find the place again in any
    history; `key` finds it at once in one that is read by key.

    Attributes:
        before: The hashes of the messages before that one, the nearest first: answers
            repeat, conversations do not.
        recent: The keys of the last messages it covers. Two writers can add messages
            in one moment, and the one with the smaller key come last: what lies
            between these keys and is none of them came late.
    """

    count: int = 0
    hash: str = ""
    key: str = ""
    before: tuple[str, ...] = ()
    recent: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """What a record holds of it."""
        fields: dict[str, Any] = {
            "hash": self.hash,
            "before": list(self.before),
            "last": self.key,
            "recent": list(self.recent),
        }
        return {"count": self.count, **without_empty(fields)}

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> Cursor:
        """The cursor in a record, also one that somebody else wrote."""
        count = content.get("count")
        return cls(
            count if isinstance(count, int) else 0,
            _text(content.get("hash")),
            _text(content.get("last")),
            _texts(content.get("before")),
            _texts(content.get("recent")),
        )

    @property
    def floor(self) -> str:
        """The key up to which every message is covered."""
        if not self.recent:
            return self.key
        return self.recent[0] if self.count > len(self.recent) else ""

    def covers(self, key: str) -> bool:
        """Whether the message of a key is covered."""
        return key <= self.floor or key in self.recent


START = Cursor()


@dataclass(frozen=True, slots=True)
class Entry:
    """A message, and where it stands."""

    message: BaseMessage
    count: int
    key: str = ""

    @property
    def cursor(self) -> Cursor:
        """A cursor that covers it and all before it."""
        return moved(START, [self], self.count)


def moved(cursor: Cursor, entries: Sequence[Entry], count: int | None = None) -> Cursor:
    """The cursor that covers these messages too."""
    if not entries:
        return cursor
    hashes = [message_hash(entry.message) for entry in entries[-_HASHES:]]
    known = (*reversed(hashes), *((cursor.hash, *cursor.before) if cursor.hash else ()))
    keys = sorted({*cursor.recent, *(entry.key for entry in entries if entry.key)})
    return Cursor(
        cursor.count + len(entries) if count is None else count,
        known[0],
        max(cursor.key, *(entry.key for entry in entries)),
        known[1:_HASHES],
        tuple(keys[-_RECENT:]),
    )


def everything(history: BaseChatMessageHistory) -> Operation[list[BaseMessage]]:
    """All messages, as a list of their own."""
    messages = yield Do(lambda: history.messages, history.aget_messages)
    return list(messages or ())


def tail(
    history: BaseChatMessageHistory,
    enough: Enough,
    *,
    beyond: Cursor = START,
    opening: bool = False,
) -> Operation[list[BaseMessage]]:
    """The newest messages: as many as are enough, where the history can tell.

    Args:
        history: Any history.
        enough: Whether these messages will do, so that no more have to be read.
        beyond: Leaves out what this cursor covers.
        opening: Puts a system message that opens the conversation first in any case.
    """
    if not isinstance(history, KeyedHistory):
        messages = yield from everything(history)
        return messages[_anchor(messages, beyond) :]
    if beyond.count and not beyond.key:
        return [entry.message for entry in (yield from _beyond_hash(history, beyond))]
    found: list[BaseMessage] = []
    after: str | None = None
    limit = _FIRST_PAGE
    while True:
        page = yield _page(history, after, limit, reverse=True)
        newer = [message for key, message in page if not beyond.covers(key)]
        found[:0] = reversed(newer)
        if len(page) < limit or page[-1][0] <= beyond.floor:
            return found
        if enough(found):
            break
        after = page[-1][0]
        limit = min(2 * limit, _LARGEST_PAGE)
    if opening:
        first = yield _page(history, None, 1, reverse=False)
        if first and isinstance(first[0][1], SystemMessage):
            found.insert(0, first[0][1])
    return found


def beyond(
    history: BaseChatMessageHistory, cursor: Cursor, enough: Enough | None = None
) -> Operation[list[Entry]]:
    """The messages a cursor does not cover, oldest first; as many as are enough.

    Where the history was trimmed, the last covered message is looked for by its
    hash; if it is gone too, everything that is there is newer.
    """
    if isinstance(history, KeyedHistory):
        return (yield from _beyond_key(history, cursor, enough))
    messages = yield from everything(history)
    start = _anchor(messages, cursor)
    covered = max(0, cursor.count - start)
    return [
        Entry(message, covered + at + 1)
        for at, message in enumerate(messages[start:], start)
    ]


def is_there(history: BaseChatMessageHistory, entry: Entry) -> Operation[bool]:
    """Whether a message was not cleared since it was read."""
    if not isinstance(history, KeyedHistory):
        return len((yield from everything(history))) >= entry.count
    # Of one call's messages, the keys differ in their last digits only.
    page = yield _page(history, entry.key[:-1], _FIRST_PAGE, reverse=False)
    return any(key == entry.key for key, _ in page)


def _beyond_key(
    history: Any, cursor: Cursor, enough: Enough | None = None
) -> Operation[list[Entry]]:
    if cursor.count and not cursor.key:
        # The cursor was set over another kind of history: find its message here.
        return (yield from _beyond_hash(history, cursor))
    after = cursor.floor or None
    found: list[Entry] = []
    while True:
        page = yield _page(history, after, _LARGEST_PAGE, reverse=False)
        for after, message in page:
            if not cursor.covers(after):
                count = cursor.count + len(found) + 1
                found.append(Entry(message, count, after))
        if len(page) < _LARGEST_PAGE:
            return found
        if enough is not None and enough([entry.message for entry in found]):
            return found


def _beyond_hash(history: Any, cursor: Cursor) -> Operation[list[Entry]]:
    entries = yield from _beyond_key(history, START)
    start = _anchor([entry.message for entry in entries], cursor)
    return entries[start:]


def _anchor(messages: Sequence[BaseMessage], cursor: Cursor) -> int:
    """Where the first message stands that a cursor does not cover."""
    if not cursor.count:
        return 0
    # Usually nothing was trimmed; else it moved towards the beginning.
    for at in range(min(cursor.count, len(messages)), 0, -1):
        last = reversed(messages[max(0, at - _HASHES) : at])
        pairs = zip(last, (cursor.hash, *cursor.before), strict=False)
        if all(message_hash(message) == digest for message, digest in pairs):
            return at
    return 0


def _page(history: Any, after: str | None, limit: int, *, reverse: bool) -> Do:
    return Do(
        lambda: history.page(after=after, limit=limit, reverse=reverse),
        lambda: history.apage(after=after, limit=limit, reverse=reverse),
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        return ()
    return tuple(one for one in value if isinstance(one, str))
