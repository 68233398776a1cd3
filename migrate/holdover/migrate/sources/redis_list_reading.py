"""Reads a list from its old end while others push, trim and delete.

New messages are pushed at the head, so places are counted from the tail. A list that
is trimmed while it is read loses its oldest, and with them every place shifts: the
entries that were read last are read again with each piece, and where they have moved
to tells by how much.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

from redis.exceptions import ResponseError

from holdover.migrate.sources.redis_wire import unavailable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from holdover.migrate.sources.batching import Pace
    from holdover.migrate.sources.redis_wire import Wire

#: So many entries that were read last are looked for in the next piece.
WINDOW = 16
#: So far behind the place where they were they are looked for at first.
_BEHIND = 64
_TRIES = 5
_WRONG_TYPE = "WRONGTYPE"

_Asked = tuple[list[bytes], int]


class Piece(NamedTuple):
    """Neighbouring entries of a list, oldest first; `ttl` as `PTTL` tells it."""

    position: int
    entries: list[bytes]
    ttl: int


def read_short(
    wire: Wire, lists: Sequence[tuple[bytes, int]]
) -> list[Piece | ResponseError]:
    """Read the oldest entries of lists, each of them at once."""
    commands: list[list[bytes]] = []
    for key, length in lists:
        commands += [_range(key, 0, length), [b"PTTL", key]]
    answers = wire.ask(commands)
    return [
        answers[at]
        if isinstance(answers[at], ResponseError)
        else Piece(0, answers[at][::-1], _lifetime(answers[at + 1], wire))
        for at in range(0, len(answers), 2)
    ]


def read_long(wire: Wire, key: bytes, pace: Pace) -> Iterator[Piece]:
    """Read a list of any length in pieces."""
    return _Long(wire, key, pace).pieces()


class _Long:
    def __init__(self, wire: Wire, key: bytes, pace: Pace) -> None:
        self._wire, self._key, self._pace = wire, key, pace
        self._done = 0  # entries that were read: the position of the next one, too
        self._trimmed = 0  # entries that the list has lost since the beginning
        self._last: list[bytes] = []  # digests of those that were read last

    def pieces(self) -> Iterator[Piece]:
        tries = 0
        while True:
            place = self._done - self._trimmed
            first, end = max(0, place - _BEHIND), place + self._pace.records
            entries, ttl = self._ask(first, end)
            found = self._find(entries, place - first, oldest=first == 0)
            if found is None:
                tries += 1
                place_now = self._search() if first and tries < _TRIES else None
                if place_now is None:
                    # What was read is gone, so all that is there is new.
                    self._trimmed, self._last = self._done, []
                else:
                    self._trimmed = self._done - place_now
                continue
            self._trimmed += place - first - found
            fresh = entries[found:]
            self._pace.note(len(fresh), sum(map(len, fresh)))
            if fresh:
                tries = 0
                yield Piece(self._done, fresh, ttl)
                self._done += len(fresh)
                read = [*self._last, *map(_digest, fresh[-WINDOW:])]
                self._last = read[-WINDOW:]
            if len(entries) < end - first:
                return  # the newest was among them

    def _ask(self, first: int, end: int) -> _Asked:
        entries, ttl = self._wire.ask(
            [_range(self._key, first, end), [b"PTTL", self._key]]
        )
        if isinstance(entries, ResponseError):
            if not is_wrong_type(entries):
                raise unavailable(entries, self._wire.address)
            return [], -2  # another value has taken its place
        return entries[::-1], _lifetime(ttl, self._wire)

    def _find(
        self, entries: Sequence[bytes], expected: int, *, oldest: bool
    ) -> int | None:
        """Where what follows those that were read last begins."""
        last = self._last
        known = [_digest(entry) for entry in entries[:expected]]
        for at in range(len(known), len(last) - 1, -1):
            if known[at - len(last) : at] == last:
                return at
        if not oldest:
            return None
        # The list may have been cut among them. An empty one has lost them all.
        for left in range(min(len(last) - 1, len(known)), 0, -1):
            if known[:left] == last[-left:]:
                return left
        return None if entries and last else 0

    def _search(self) -> int | None:
        """Look for those that were read last in the whole list, from its old end."""
        first = 0
        while True:
            end = first + max(self._pace.records, 2 * WINDOW)
            entries, _ = self._ask(first, end)
            found = self._find(entries, len(entries), oldest=first == 0)
            if found:
                return first + found
            if len(entries) < end - first or end >= self._done + WINDOW:
                return None
            first = end - WINDOW


def is_wrong_type(answer: Any) -> bool:
    """Whether a key is refused because it is something else."""
    return isinstance(answer, ResponseError) and str(answer).startswith(_WRONG_TYPE)


def _range(key: bytes, first: int, end: int) -> list[bytes]:
    """Ask for the entries from `first` up to `end`, counted from the oldest."""
    return [b"LRANGE", key, b"%d" % -end, b"%d" % (-first - 1)]


def _lifetime(answer: Any, wire: Wire) -> int:
    if isinstance(answer, ResponseError):
        raise unavailable(answer, wire.address)
    return int(answer)


def _digest(entry: bytes) -> bytes:
    return blake2b(entry, digest_size=16).digest()
