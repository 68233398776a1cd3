"""A source without what a layout has no form for, and with the guides it adds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from holdover.migrate.layouts.deepagents import GUIDE
from holdover.migrate.layouts.shape import Shape
from holdover.migrate.sources.base import (
    Batch,
    Group,
    Inventory,
    Partition,
    Source,
    SourceItem,
)

#: The reason code of what a layout leaves out.
NOT_IN_LAYOUT = "not-in-layout"
_REMEMBERED = 1_000_000
_GUIDE_BYTES = 800


class Narrowed:
    """A source as a layout sees it.

    Args:
        source: The source.
        shape: The layout.

    Attributes:
        whole: The source as it is.
    """

    def __init__(self, source: Source, shape: Shape) -> None:
        self.whole, self._shape = source, shape
        self.address, self.label = source.address, source.label
        self.partitions, self.fetch = source.partitions, source.fetch
        self.close = source.close
        self._kinds: dict[str, list[str]] | None = None

    def inventory(self, *, others: bool = False) -> Inventory:
        """What there is of the kinds the layout has, and a note about the rest."""
        found = self.whole.inventory(others=others)
        self._kinds = _kinds_by_root(found, self._shape)
        kept = [group for group in found.groups if self._takes(group.kind)]
        left = sum(group.items for group in found.groups) - sum(g.items for g in kept)
        found.groups = kept
        if left:
            found.notes.append(f"{left:,} {self._shape.left_out}")
        found.groups += [
            Group(root, GUIDE, 0, sessions, sessions * _GUIDE_BYTES)
            for root, sessions in _sessions_by_root(kept).items()
            if self._shape.guides(root, "", self._kinds_of(root))
        ]
        return found

    def _takes(self, kind: str) -> bool:
        return kind in self._shape.kinds

    def _kinds_of(self, root: str) -> Sequence[str]:
        if self._kinds is None:
            self._kinds = _kinds_by_root(self.whole.inventory(), self._shape)
        return self._kinds.get(root, ())

    def read(
        self, partition: Partition, cursor: Any = None, *, size: int = 10_000
    ) -> Iterator[Batch]:
        """Read what the layout has a form for; count the rest."""
        guides = _Guides(self._shape, self._kinds_of)
        for batch in self.whole.read(partition, cursor, size=size):
            items = [item for item in batch.items if self._takes(item.kind)]
            skipped = dict(batch.skipped)
            if left := len(batch.items) - len(items):
                skipped[NOT_IN_LAYOUT] = skipped.get(NOT_IN_LAYOUT, 0) + left
            yield batch._replace(items=guides.added(items), skipped=skipped)

    def keys(
        self, partition: Partition, *, size: int = 10_000
    ) -> Iterator[list[SourceItem]]:
        """Read names likewise."""
        guides = _Guides(self._shape, self._kinds_of)
        for items in self.whole.keys(partition, size=size):
            yield guides.added([item for item in items if self._takes(item.kind)])


class _Guides:
    """Adds the guides of each session where it is first seen in a partition."""

    def __init__(self, shape: Shape, kinds_of: Any) -> None:
        self._shape, self._kinds_of = shape, kinds_of
        self._seen: set[int] = set()

    def added(self, items: list[SourceItem]) -> list[SourceItem]:
        found = []
        for item in items:
            place = hash((item.root, item.session))
            if place not in self._seen:
                if len(self._seen) > _REMEMBERED:
                    self._seen.clear()  # one is met again: it is already there
                self._seen.add(place)
                kinds = self._kinds_of(item.root)
                found += self._shape.guides(item.root, item.session, kinds)
            found.append(item)
        return found


def _kinds_by_root(inventory: Inventory, shape: Shape) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for group in inventory.groups:
        if group.items and group.kind in shape.kinds:
            found.setdefault(group.root, []).append(group.kind)
    return found


def _sessions_by_root(groups: Sequence[Group]) -> dict[str, int]:
    found: dict[str, int] = {}
    for group in groups:
        found[group.root] = max(found.get(group.root, 0), group.sessions)
    return found
