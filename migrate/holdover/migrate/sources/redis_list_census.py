"""Counts what lists of chat histories hold, from lengths and lifetimes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from zlib import crc32

from redis.exceptions import ResponseError

from holdover.migrate.sources.base import (
    SAMPLES,
    Blocker,
    Group,
    Inventory,
    Reject,
    Skipped,
)
from holdover.migrate.sources.redis_census import GONE, LIFETIMES, lifetime
from holdover.migrate.sources.redis_list_reading import is_wrong_type
from holdover.migrate.sources.redis_wire import is_hidden, unavailable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from holdover.migrate.sources.redis_lists import Wanted
    from holdover.migrate.sources.redis_wire import Wire

#: From the oldest messages of about so many lists the size of all is estimated.
WEIGHED = 1_000
_AT_ONCE = 50
UNSELECTED = "unselected"

_NEVER_STORED = (
    "A list holds the messages of a session and their order; when each was said was"
    " never stored, and one lifetime, renewed by each message, is that of them all."
)


@dataclass
class _Tally:
    """What the lists of one root add up to; the size, of those weighed."""

    sessions: int = 0
    items: int = 0
    weighed: int = 0
    size: int = 0
    lifetimes: Counter[str] = field(default_factory=Counter)

    def group(self, root: str) -> Group:
        size = self.items * self.size // self.weighed if self.weighed else 0
        lifetimes = {label: self.lifetimes[label] for label in LIFETIMES}
        return Group(root, "message", self.sessions, self.items, size, lifetimes)


class ListCensus:
    """Counts lists as they come.

    Args:
        wire: Where they are.
        total: How many there are at most.
    """

    def __init__(self, wire: Wire, total: int) -> None:
        self._wire, self._total = wire, total
        self._tallies: dict[str, _Tally] = {}
        self._rejects: Counter[str] = Counter()
        self._skipped: list[Skipped] = []
        self._skipped_count = 0
        self._unselected = 0
        self._refused: list[str] = []

    def skip(self, name: str, why: str) -> None:
        """Note a key that is not to be read."""
        if why == UNSELECTED:
            self._unselected += 1
            return
        self._skipped_count += 1
        if self._skipped_count <= SAMPLES:
            self._skipped.append(Skipped(name, why))

    def reject(self, rejects: Iterable[Reject]) -> None:
        """Count rejects."""
        self._rejects.update(one.reason for one in rejects)

    def count(self, lists: Sequence[Wanted]) -> None:
        """Ask for the lengths and lifetimes of lists."""
        keys = [one.key for one in lists]
        lengths, ttls = self._wire.each([b"LLEN", b"PTTL"], keys)
        weighed = []
        for one, length, ttl in zip(lists, lengths, ttls, strict=True):
            if isinstance(length, ResponseError):
                self._unread(one, length)
                continue
            if isinstance(ttl, ResponseError):
                raise unavailable(ttl, self._wire.address)
            if not length or ttl == GONE:
                continue
            tally = self._tallies.setdefault(one.split.root, _Tally())
            tally.sessions += 1
            tally.items += length
            tally.lifetimes[lifetime(ttl)] += length
            if crc32(one.key) * self._total < WEIGHED << 32:
                weighed.append(one)
        self._weigh(weighed)

    def inventory(self) -> Inventory:
        """What was counted."""
        inventory = Inventory(self._wire.address)
        inventory.groups = [t.group(root) for root, t in sorted(self._tallies.items())]
        inventory.rejects = dict(self._rejects)
        inventory.skipped = self._skipped
        inventory.skipped_count = self._skipped_count
        inventory.notes = self._notes()
        if self._tallies:
            inventory.never_stored = [_NEVER_STORED]
        if self._refused:
            inventory.blockers.append(no_rights(self._refused))
        return inventory

    def _unread(self, one: Wanted, error: ResponseError) -> None:
        if is_wrong_type(error):
            self._rejects["wrong-type"] += 1
        elif is_hidden(error):
            self._rejects["no-rights"] += 1
            self._refused.append(one.locator)
            del self._refused[SAMPLES:]
        else:
            raise unavailable(error, self._wire.address)

    def _weigh(self, lists: Sequence[Wanted]) -> None:
        """Measure the oldest message of some lists."""
        for start in range(0, len(lists), _AT_ONCE):
            some = lists[start : start + _AT_ONCE]
            commands = [[b"LRANGE", one.key, b"-1", b"-1"] for one in some]
            for one, answer in zip(some, self._wire.ask(commands), strict=True):
                if isinstance(answer, ResponseError):
                    if not is_wrong_type(answer):
                        raise unavailable(answer, self._wire.address)
                elif answer:
                    tally = self._tallies[one.split.root]
                    tally.weighed += 1
                    tally.size += len(answer[0])

    def _notes(self) -> list[str]:
        notes = self._wire.notes()
        if self._tallies:
            notes.append(
                "The size of chat histories is an estimate, from the oldest message of"
                f" {'each list' if self._total <= WEIGHED else 'some lists'}."
            )
        if self._unselected:
            notes.append(
                f"{self._unselected:,} chat histories are outside the named sessions or"
                " the sample."
            )
        return notes


def no_rights(locators: Sequence[str]) -> Blocker:
    """Say that keys are there which the user may not read."""
    return Blocker(
        "no-rights",
        f"the user may not read keys of chat histories, such as {locators[0]}",
        "more rights (docs/rights.md), or --kind entities",
    )
