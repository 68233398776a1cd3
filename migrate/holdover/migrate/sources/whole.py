"""What sources share whose names cannot be read without their values."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from typing import TYPE_CHECKING, Any

from holdover.migrate.sources.base import Batch, Group, Inventory
from holdover.migrate.sources.batching import size_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from holdover.migrate.sources.base import Partition, SourceItem

_HOUR = 3_600_000
_LIFETIMES = {
    "under 1 hour": _HOUR,
    "under 1 day": 24 * _HOUR,
    "under 3 days": 72 * _HOUR,
    "under 30 days": 720 * _HOUR,
}


def lifetime_label(ttl_ms: int | None) -> str:
    """In which column of the plan a lifetime is counted."""
    if ttl_ms is None:
        return "no expiry"
    return next((label for label, end in _LIFETIMES.items() if ttl_ms < end), "longer")


class WholeSource(ABC):
    """A source that is read whole for a plan, too: `keys` yields complete items."""

    address: str
    label: str

    @abstractmethod
    def partitions(self) -> list[Partition]:
        """See `Source.partitions`."""

    @abstractmethod
    def read(
        self, partition: Partition, cursor: Any = None, *, size: int = 10_000
    ) -> Iterator[Batch]:
        """See `Source.read`."""

    def inventory(
        self,
        *,
        others: bool = False,  # noqa: ARG002 - it holds one thing
    ) -> Inventory:
        """Read everything once and count it."""
        found = Inventory(self.address)
        batches = (
            batch for partition in self.partitions() for batch in self.read(partition)
        )
        take_inventory(found, batches)
        return found

    def keys(
        self, partition: Partition, *, size: int = 10_000
    ) -> Iterator[list[SourceItem]]:
        """Read whole items: their names cost as much."""
        for batch in self.read(partition, size=size):
            yield batch.items

    def fetch(
        self,
        partition: Partition,  # noqa: ARG002 - see `keys`
        items: Sequence[SourceItem],
    ) -> Batch:
        """Give the items back: `keys` has read them."""
        return Batch(list(items), [], None)

    def close(self) -> None:  # noqa: B027 - nothing stays open unless it says so
        """Give back what was opened."""


def take_inventory(found: Inventory, batches: Iterator[Batch]) -> None:
    """Count what is read into an inventory: exactly."""
    groups: dict[tuple[str, str], Group] = {}
    lifetimes: dict[tuple[str, str], Counter[str]] = {}
    sessions: set[int] = set()
    rejects: Counter[str] = Counter(found.rejects)
    skipped: Counter[str] = Counter()
    expired = 0
    last: Group | None = None
    for batch in batches:
        for item in batch.items:
            place = (item.root, item.kind)
            if last is None or (last.root, last.kind) != place:
                last = groups.setdefault(place, Group(item.root, item.kind))
            last.items += 1
            last.bytes += size_of(item.content)
            lifetimes.setdefault(place, Counter())[lifetime_label(item.ttl_ms)] += 1
            # Eight bytes of each session: a million of them are still no burden.
            session = hash((place, item.session))
            if session not in sessions:
                sessions.add(session)
                last.sessions += 1
        for reject in batch.rejects:
            rejects[reject.reason] += 1
        skipped.update(batch.skipped)
        expired += batch.expired
    for place, group in groups.items():
        if lifetimes[place].keys() != {"no expiry"}:
            group.lifetimes = dict(lifetimes[place])
    found.rejects = dict(rejects)
    found.groups = sorted(groups.values(), key=lambda group: (group.root, group.kind))
    if expired:
        found.notes.append(f"Past their end, and not moved: {expired:,}.")
    found.notes += [
        f"Not moved: {number:,} {reason}." for reason, number in skipped.items()
    ]
