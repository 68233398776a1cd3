"""Counts what a Redis database holds, from names, sizes and lifetimes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from redis.exceptions import ResponseError

from holdover.migrate.sources.base import (
    SAMPLES,
    AmbiguousKey,
    Blocker,
    Group,
    Inventory,
    Skipped,
)
from holdover.migrate.sources.naming import Foreign, Names, Split
from holdover.migrate.sources.redis_wire import unavailable

if TYPE_CHECKING:
    from holdover.migrate.sources.base import ReadOptions
    from holdover.migrate.sources.redis_spool import Spool
    from holdover.migrate.sources.redis_wire import Wire

GONE = -2  # what PTTL says of a key that is not there
MEASURED = 50_000
_HOUR = 3_600_000
#: Upper ends in milliseconds; the classic lifetimes are one day and three.
_LIFETIMES = {
    "under 1 hour": _HOUR,
    "under 1 day": 24 * _HOUR,
    "under 3 days": 72 * _HOUR,
    "under 30 days": 720 * _HOUR,
}
_FOR_EVER, _LONGER = "no expiry", "longer"
LIFETIMES = (_FOR_EVER, *_LIFETIMES, _LONGER)

_NEVER_STORED = (
    "Entity keys hold the latest summary of each entity and nothing else: running"
    " summaries and conversation turns were never stored in them."
)
_EXPIRE = (
    "Expired keys are gone: unless the application chose otherwise, an entity lived"
    " one day after it was written and three days after it was read."
)


class _Key(NamedTuple):
    physical: bytes
    split: Split


@dataclass
class _Tally:
    """What the keys of one root add up to; sizes and lifetimes of those measured."""

    items: int = 0
    measured: int = 0
    size: int = 0
    lifetimes: Counter[str] = field(default_factory=Counter)

    def group(self, root: str, sessions: int) -> Group:
        """Scale what was measured to all items; lifetimes still add up to them."""
        share = self.items / self.measured if self.measured else 0
        lifetimes, seen, given = {}, 0, 0
        for label in LIFETIMES:
            seen += self.lifetimes[label]
            upto = round(seen * share)
            lifetimes[label], given = upto - given, upto
        size = round(self.size * share)
        return Group(root, "entity", sessions, self.items, size, lifetimes)


def take_census(
    wire: Wire, spool: Spool, names: Names, options: ReadOptions
) -> Inventory:
    """Count the keys of `spool`, and take those that are no strings out of it."""
    census = _Census(wire, spool, names, options)
    return census.take()


class _Census:
    def __init__(
        self, wire: Wire, spool: Spool, names: Names, options: ReadOptions
    ) -> None:
        self._wire, self._spool, self._names = wire, spool, names
        self._options = options
        self._prefix = f"redis:{wire.db}:"
        self._inventory = Inventory(wire.address)
        self._rejects: Counter[str] = Counter()
        self._tallies: dict[str, _Tally] = {}
        self._unselected = 0
        self._not_strings: list[bytes] = []

    def take(self) -> Inventory:
        inventory, total = self._inventory, self._spool.count
        session = None
        for page in self._spool.pages():
            measured = []
            for physical in page:
                key = self._read(physical)
                if key is None:
                    continue
                split = key.split
                if split[:2] != session:  # sorted keys: mostly the session before
                    session = split[:2]
                    self._spool.add_session(*session)
                self._tallies.setdefault(split.root, _Tally()).items += 1
                if _is_measured(physical, total):
                    measured.append(key)
            self._measure(measured, exact=total <= MEASURED)
        self._spool.remove(self._not_strings)
        sessions = self._spool.sessions()
        inventory.groups = [
            tally.group(root, sessions[root])
            for root, tally in sorted(self._tallies.items())
        ]
        inventory.rejects = dict(self._rejects)
        if self._options.ambiguous == "fail" and inventory.ambiguous_count:
            inventory.blockers.append(_blocker(inventory))
        inventory.notes = self._notes(total)
        inventory.never_stored = [*([_NEVER_STORED] if total else []), _EXPIRE]
        return inventory

    def _read(self, physical: bytes) -> _Key | None:
        """Split a key; note what is not to be read."""
        try:
            text = physical.decode()
        except UnicodeDecodeError:
            self._rejects["not-utf8"] += 1
            return None
        split = self._names.parse(text)
        if isinstance(split, Foreign):
            self._skip(text, split.why)
            return None
        if isinstance(split, AmbiguousKey):
            if not self._names.selects_key(split):
                self._unselected += 1
                return None
            self._inventory.ambiguous_count += 1
            if self._inventory.ambiguous_count <= SAMPLES:
                named = split._replace(locator=self._prefix + text)
                self._inventory.ambiguous.append(named)
            split = self._names.settle(split)
            if isinstance(split, AmbiguousKey):
                if self._options.ambiguous == "reject":
                    self._rejects["ambiguous"] += 1
                return None
        if not self._names.selects(split.session):
            self._unselected += 1
            return None
        return _Key(physical, split)

    def _measure(self, keys: list[_Key], *, exact: bool) -> None:
        physical = [key.physical for key in keys]
        if not physical:
            return
        ttls, lengths = self._wire.each([b"PTTL", b"STRLEN"], physical)
        for key, ttl, length in zip(keys, ttls, lengths, strict=True):
            tally = self._tallies[key.split.root]
            if isinstance(ttl, ResponseError):
                raise unavailable(ttl, self._wire.address)
            if ttl != GONE and isinstance(length, int) and length:
                tally.measured += 1
                tally.size += len(key.split.entity.encode()) + length
                tally.lifetimes[lifetime(ttl)] += 1
            elif exact:
                tally.items -= 1
                if isinstance(length, ResponseError):
                    self._not_a_string(key, length)
                elif ttl != GONE:
                    self._rejects["empty-value"] += 1

    def _not_a_string(self, key: _Key, error: ResponseError) -> None:
        if not str(error).startswith("WRONGTYPE"):
            raise unavailable(error, self._wire.address)
        kind = self._type(key.physical).decode()
        self._skip(key.physical.decode(), f"a {kind}, not a string")
        self._not_strings.append(key.physical)

    def _type(self, key: bytes) -> bytes:
        ((answer,),) = self._wire.each([b"TYPE"], [key])
        if isinstance(answer, ResponseError):
            raise unavailable(answer, self._wire.address)
        kind: bytes = answer
        return kind

    def _skip(self, name: str, why: str) -> None:
        self._inventory.skipped_count += 1
        if self._inventory.skipped_count <= SAMPLES:
            self._inventory.skipped.append(Skipped(name, why))

    def _notes(self, total: int) -> list[str]:
        notes = self._wire.notes()
        if total > MEASURED:
            notes.append(
                f"Sizes and lifetimes are estimates, from about {MEASURED:,} of"
                f" {total:,} keys; keys that are not strings are found while copying."
            )
        if self._unselected:
            notes.append(
                f"{self._unselected:,} keys are outside the named sessions or the"
                " sample."
            )
        return notes


def _is_measured(key: bytes, total: int) -> bool:
    """Choose about `MEASURED` keys by hash: every n-th could share a property."""
    return crc32(key) * total < MEASURED << 32


def lifetime(ttl: int) -> str:
    """The label of what `PTTL` says is left."""
    if ttl < 0:
        return _FOR_EVER
    return next((label for label, end in _LIFETIMES.items() if ttl < end), _LONGER)


def _blocker(inventory: Inventory) -> Blocker:
    count = inventory.ambiguous_count
    return Blocker(
        "ambiguous-keys",
        f"{count:,} keys hold more colons than session and entity account for, such"
        f" as {inventory.ambiguous[0].locator}.",
        "--session ID or --session-pattern REGEX for the sessions whose names hold a"
        " colon, or --ambiguous first|last|reject",
    )
