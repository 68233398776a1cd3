"""How far a conversation was moved to the vector memory."""

from __future__ import annotations

from holdover.compat.both_ways import Do, Operation
from holdover.compat.place import Place
from holdover.compat.transcript import START, Cursor

_KIND = "summary"
_KEY = "vector-memory"


class Flushed:
    """Reads and writes the cursor of one session, in a store or in this object."""

    def __init__(self) -> None:
        self._own: Cursor | None = None

    @property
    def began(self) -> bool:
        """Whether this object holds a cursor."""
        return self._own is not None

    def read(self, place: Place) -> Operation[Cursor]:
        """What was moved already."""
        if not place.is_shared:
            return self._own or START
        stored = place.repository
        record = yield Do(
            lambda: stored.get(_KIND, _KEY), lambda: stored.aget(_KIND, _KEY)
        )
        content = record.content if record is not None else {}
        count, digest = content.get("count"), content.get("hash")
        key = content.get("last")
        return Cursor(
            count if isinstance(count, int) else 0,
            digest if isinstance(digest, str) else "",
            key if isinstance(key, str) else "",
        )

    def write(self, place: Place, cursor: Cursor) -> Operation[None]:
        """Note that everything up to there was moved; it never goes back."""
        if not place.is_shared:
            self._own = cursor
            return
        if (yield from self.read(place)).count >= cursor.count:
            return
        stored = place.repository
        content = {
            "text": f"The vector memory holds the first {cursor.count} messages.",
            "count": cursor.count,
            "hash": cursor.hash,
            "last": cursor.key,
        }
        yield Do(
            lambda: stored.put(_KIND, content, keys=[_KEY]),
            lambda: stored.aput(_KIND, content, keys=[_KEY]),
        )

    def clear(self, place: Place) -> Operation[None]:
        """Begin anew."""
        self._own = START
        if place.is_shared:
            stored = place.repository
            yield Do(
                lambda: stored.delete(_KIND, _KEY), lambda: stored.adelete(_KIND, _KEY)
            )
