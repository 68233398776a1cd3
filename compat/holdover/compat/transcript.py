"""How memories read a history: any of them, and ours without reading all of it.

A history may be a list in memory, a file that is read anew, a table behind an async
engine; some return copies, some are read by key.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from langchain_core.messages import BaseMessage, SystemMessage

from holdover.compat.base import BaseChatMessageHistory
from holdover.compat.both_ways import Do, Operation
from holdover.compat.messages import message_hash

_FIRST_PAGE = 32
_LARGEST_PAGE = 1_000
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
    """

    count: int = 0
    hash: str = ""
    key: str = ""


START = Cursor()


@dataclass(frozen=True, slots=True)
class Entry:
    """A message, and where it stands."""

    message: BaseMessage
    count: int
    key: str = ""

    @property
    def cursor(self) -> Cursor:
        """The cursor that covers it and all before it."""
        return Cursor(self.count, message_hash(self.message), self.key)


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
        newer = [message for key, message in page if key > beyond.key]
        found[:0] = reversed(newer)
        if len(newer) < limit:
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


def _beyond_key(
    history: Any, cursor: Cursor, enough: Enough | None = None
) -> Operation[list[Entry]]:
    if cursor.count and not cursor.key:
        # The cursor was set over another kind of history: find its message here.
        return (yield from _beyond_hash(history, cursor))
    count, after = cursor.count, cursor.key or None
    found: list[Entry] = []
    while True:
        page = yield _page(history, after, _LARGEST_PAGE, reverse=False)
        for after, message in page:
            count += 1
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
        if message_hash(messages[at - 1]) == cursor.hash:
            return at
    return 0


def _page(history: Any, after: str | None, limit: int, *, reverse: bool) -> Do:
    return Do(
        lambda: history.page(after=after, limit=limit, reverse=reverse),
        lambda: history.apage(after=after, limit=limit, reverse=reverse),
    )
