"""How far a conversation was moved to the vector memory."""

from __future__ import annotations

from collections.abc import Hashable

from holdover.compat.both_ways import Do, Operation
from holdover.compat.entities.turnstile import turnstile
from holdover.compat.place import Place
from holdover.compat.transcript import START, Cursor

_KIND = "summary"
_KEY = "vector-memory"


class Flushed:
    """Reads and writes the cursor of each session, in its store or in this object."""

    def __init__(self) -> None:
        # Without a store a history may have a session all the same.
        self._own: dict[tuple[str, ...], Cursor] = {}

    def began(self, place: Place) -> bool:
        """Whether this object holds the cursor of a place."""
        return tuple(place.scope) in self._own

    def read(self, place: Place) -> Operation[Cursor]:
        """What was moved already."""
        if not place.is_shared:
            return self._own.get(tuple(place.scope), START)
        stored = yield from place.opened()
        record = yield Do(
            lambda: stored.get(_KIND, _KEY), lambda: stored.aget(_KIND, _KEY)
        )
        return Cursor.of(record.content) if record is not None else START

    def write(self, place: Place, cursor: Cursor) -> Operation[None]:
        """Note that everything up to there was moved; it never goes back."""
        if not place.is_shared:
            self._own[tuple(place.scope)] = cursor
            return
        if (yield from self.read(place)).count >= cursor.count:
            return
        stored = yield from place.opened()
        content = {
            "text": f"The vector memory holds the first {cursor.count} messages.",
            **cursor.as_dict(),
        }
        yield Do(
            lambda: stored.put(_KIND, content, keys=[_KEY]),
            lambda: stored.aput(_KIND, content, keys=[_KEY]),
        )

    def alone(self, place: Place, operation: Operation[None]) -> Operation[None]:
        """Do this while nobody else in this process moves or clears the session."""
        key: tuple[Hashable, ...] = (id(self),)
        if place.is_shared:
            stored = yield from place.opened()
            key = (stored.identity,)
        gate = turnstile(("vector-tokens", *key))
        came = yield from gate.enter()
        try:
            yield from operation
        finally:
            if came:
                gate.leave()

    def clear(self, place: Place) -> Operation[None]:
        """Begin anew."""
        self._own[tuple(place.scope)] = START
        if place.is_shared:
            stored = yield from place.opened()
            yield Do(
                lambda: stored.delete(_KIND, _KEY), lambda: stored.adelete(_KIND, _KEY)
            )
