"""Keys of messages: their order is the order of the conversation.

A key is a UUIDv7 whose `rand_a` holds the fraction of the millisecond, so keys are in
order to a quarter of a microsecond. What was adopted or migrated has a UUID-shaped key
made from its position in the source: the same in every run, before any live key.
"""

from __future__ import annotations

import secrets
import threading
import time

#: Positions a source may have: below it, `adopted_key` keeps them in order.
MAX_POSITION = 2**63 - 1

_TICKS_PER_MS = 4096
_MOST_TICKS = 2**60 - 1
_LIVE, _ADOPTED = 7, 8
_TAIL_BITS = 62
# The largest random start that leaves room to count up for one call's messages.
_START_BITS = 61
_TAIL = 2**_TAIL_BITS - 1
_ADOPTED_TAIL_BITS = 50
# The first byte of a live key is 01 until the year 2527.
_ADOPTED_TICK_BITS = 52


def adopted_key(position: int) -> str:
    """The key of the message at a position of its list, file or table of a session.

    Args:
        position: How many messages of the session are before it, or the row's id where
            the source has one: an integer that orders them, from 0 to `MAX_POSITION`.

    Raises:
        ValueError: The position is outside.
    """
    if not 0 <= position <= MAX_POSITION:
        raise ValueError(f"A position is from 0 to {MAX_POSITION}, not {position}.")
    low = position % 2 ** (64 - _ADOPTED_TICK_BITS)
    ticks = position >> (64 - _ADOPTED_TICK_BITS)
    return _uuid(ticks, low << _ADOPTED_TAIL_BITS, _ADOPTED)


def is_adopted_key(key: str) -> bool:
    """Whether `adopted_key` made it."""
    return key[:2] == "00" and key[14:15] == str(_ADOPTED)


class MessageKeys:
    """Makes the keys of one object's messages, never before one it has seen.

    Safe to share between threads. Of two processes whose clocks went back to the same
    key, each makes different ones.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last = -1

    @property
    def began(self) -> bool:
        """Whether it has made or seen a key."""
        return self._last >= 0

    def make(self, number: int) -> list[str]:
        """Keys for the messages of one call: adjacent, in order."""
        tail = secrets.randbits(_START_BITS)
        with self._lock:
            ticks = time.time_ns() * _TICKS_PER_MS // 1_000_000
            if ticks <= self._last < _MOST_TICKS:
                ticks = self._last + 1
            self._last = ticks
        return [_uuid(ticks, tail + offset, _LIVE) for offset in range(number)]

    def saw(self, key: str) -> None:
        """Make only larger keys from now on; keys of other programs do not count."""
        ticks = _ticks(key)
        if ticks > self._last:
            with self._lock:
                self._last = max(self._last, ticks)

    def __getstate__(self) -> int:
        """Leave out the lock."""
        return self._last

    def __setstate__(self, last: int) -> None:
        """Go on behind the same key."""
        self.__init__()  # type: ignore[misc]
        self._last = last


def _uuid(ticks: int, tail: int, version: int) -> str:
    milliseconds, fraction = divmod(ticks, _TICKS_PER_MS)
    number = (
        milliseconds << 80
        | version << 76
        | fraction << 64
        | 0b10 << _TAIL_BITS
        | (tail & _TAIL)
    )
    # As `str(UUID(int=number))`, in a third of the time: a migration makes millions.
    text = f"{number:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def _ticks(key: str) -> int:
    """The time in a UUIDv7, in ticks; −1 where the key is none."""
    if len(key) != 36 or key[14] != str(_LIVE):  # noqa: PLR2004 - of a UUID's text
        return -1
    try:
        return int(key[:8] + key[9:13] + key[15:18], 16)
    except ValueError:
        return -1
