"""The running summary of a conversation: a text, and how far it got.

Both are one item, so each message is summarised exactly once whatever happens: who
writes writes a text together with what it covers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from holdover.compat.both_ways import Do, Operation
from holdover.compat.place import Place
from holdover.compat.repository import Repository
from holdover.compat.transcript import START, Cursor

_KIND = "summary"
_KEY = "current"


@dataclass(frozen=True, slots=True)
class Summary:
    """A summary and the messages it covers."""

    text: str = ""
    cursor: Cursor = START

    def as_dict(self) -> dict[str, Any]:
        """What a record holds of it; an empty text is not stored."""
        cursor = self.cursor
        fields = {"text": self.text, "count": cursor.count, "hash": cursor.hash}
        return {**fields, "last": cursor.key} if cursor.key else fields

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> Summary:
        """The summary in a record, also one that somebody else wrote."""
        count, text = content.get("count"), content.get("text")
        digest, key = content.get("hash"), content.get("last")
        return cls(
            text if isinstance(text, str) else "",
            Cursor(
                count if isinstance(count, int) else 0,
                digest if isinstance(digest, str) else "",
                key if isinstance(key, str) else "",
            ),
        )


NOTHING = Summary()


class RunningSummary:
    """Reads and writes the summary of one session, in a place or in this object.

    A place without a store keeps it here.

    Args:
        initial: What a session that has none begins with.
    """

    def __init__(self, initial: str = "") -> None:
        self._initial = Summary(initial)
        self._own: Summary | None = None

    def read(self, place: Place) -> Operation[Summary]:
        """The summary as it stands."""
        stored = _records(place)
        if stored is None:
            return self._own or self._initial
        record = yield Do(
            lambda: stored.get(_KIND, _KEY), lambda: stored.aget(_KIND, _KEY)
        )
        if record is None:
            return self._initial
        return Summary.of({"text": record.text, **record.content})

    def advance(self, place: Place, before: Summary, after: Summary) -> Operation[bool]:
        """Put `after` in place of `before`, and tell whether it counted.

        Somebody else may have got as far meanwhile, or cleared the session: then
        theirs stays.
        """
        now = yield from self.read(place)
        overtaken = now.cursor.count >= after.cursor.count and now != before
        cleared = before.cursor.count > 0 and now.cursor.count == 0
        if overtaken or cleared:
            return False
        yield from self.write(place, after)
        return True

    def write(self, place: Place, summary: Summary) -> Operation[None]:
        """Keep a summary."""
        stored = _records(place)
        if stored is None:
            self._own = summary
            return
        content = summary.as_dict()
        yield Do(
            lambda: stored.put(_KIND, content), lambda: stored.aput(_KIND, content)
        )

    def clear(self, place: Place) -> Operation[None]:
        """Forget it; what a new conversation begins with is empty too."""
        self._initial, self._own = NOTHING, None
        stored = _records(place)
        if stored is not None:
            yield Do(
                lambda: stored.delete(_KIND, _KEY), lambda: stored.adelete(_KIND, _KEY)
            )


def _records(place: Place) -> Repository | None:
    return place.repository if place.is_shared else None
