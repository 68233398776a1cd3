"""What the old chat histories have in common: they are read and never written."""

from __future__ import annotations

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta
from typing import Any, NamedTuple

from holdover.compat import events
from holdover.compat.adopting import OldItem, OldItems
from holdover.compat.message_keys import adopted_key
from holdover.compat.message_records import content_of
from holdover.compat.notices import log_once, logger


class OldMessage(NamedTuple):
    """A message at its position; `content` is `None` where it cannot be read."""

    position: int
    content: dict[str, Any] | None


class OldHistory(ABC):
    """One session of an old history.

    Args:
        root: The first label of the scope, to tell operators about.
    """

    def __init__(self, root: str) -> None:
        self._root = root

    @property
    @abstractmethod
    def locator(self) -> str:
        """Where it is, as a migration names it; `#` and a position name a message."""

    @abstractmethod
    def read(self) -> OldItems | None:
        """All its messages; `None` where there is nothing of this session.

        Raises:
            StoreUnavailable: It cannot be reached or read.
        """

    async def aread(self) -> OldItems | None:
        """See `read`."""
        return await asyncio.to_thread(self.read)

    def _items(
        self, messages: Iterable[OldMessage], lifetime: timedelta | None = None
    ) -> OldItems | None:
        found = list(messages)
        items = [
            OldItem(adopted_key(one.position), one.content, self._at(one.position))
            for one in found
            if one.content is not None
        ]
        if not found:
            return None
        unreadable = len(found) - len(items)
        if unreadable:
            # What is adopted is read once, what cannot be is looked at by each object.
            tell = logger.warning if items else log_once
            # Neither session nor content: they may name people.
            tell(
                "%s message(s) of an old history below %s cannot be read. They stay "
                "where they are; the other %s are taken over.",
                str(unreadable),
                self._root,
                str(len(items)),
            )
            events.emit("legacy_skipped", self._root, unreadable)
        return OldItems(items, unreadable, lifetime)

    def _at(self, position: int) -> str:
        return f"{self.locator}#{position}"


def read_message(raw: Any) -> dict[str, Any] | None:
    """The content of a message as the old histories wrote it, or `None`.

    It is JSON text, or what a database or a file made of it: `type`, and `data` with
    whatever the release wrote. An unknown type is kept.
    """
    if isinstance(raw, str | bytes | bytearray):
        try:
            raw = json.loads(raw)
        except (ValueError, RecursionError):
            return None
    if not isinstance(raw, Mapping):
        return None
    kind, data = raw.get("type"), raw.get("data")
    if not isinstance(kind, str) or not isinstance(data, Mapping):
        return None
    return content_of(kind, data)


def numbered(raws: Iterable[Any]) -> Iterator[OldMessage]:
    """Messages of a list, oldest first, by their place in it."""
    for position, raw in enumerate(raws):
        yield OldMessage(position, read_message(raw))
