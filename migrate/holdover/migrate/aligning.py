"""Positions in lists that lost their old end, found again by content.

The position of a message in a list is its place from the oldest. Where the old
application trims its lists, every place shifts between two passes; the target's
messages then tell where the list of today begins. Lists lose their oldest and gain
newest messages, so what the source holds reaches at least as far as what was moved.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from holdover.compat import records
from holdover.compat.errors import InvalidScope, UnportableValue
from holdover.compat.message_keys import is_adopted_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from holdover.migrate.building import RowBuilder
    from holdover.migrate.sources.base import (
        Batch,
        Partition,
        Source,
        SourceItem,
    )
    from holdover.migrate.targets.base import Row, Target


class Aligned:
    """A source whose aligned partitions give the positions that the target knows.

    Args:
        source: The source.
        target: Where its items were moved to before.
        builder: Builds the rows that are compared.
    """

    def __init__(self, source: Source, target: Target, builder: RowBuilder) -> None:
        self._source, self._target, self._builder = source, target, builder
        self.address, self.label = source.address, source.label
        self.inventory, self.partitions = source.inventory, source.partitions
        self.fetch, self.close = source.fetch, source.close

    def read(
        self, partition: Partition, cursor: Any = None, *, size: int = 10_000
    ) -> Iterator[Batch]:
        """Read, and shift positions where that is needed."""
        batches = self._source.read(partition, cursor, size=size)
        if not self._shifts(partition):
            yield from batches
            return
        shifts = _Shifts(self._target, self._builder)
        for batch in batches:
            yield batch._replace(items=shifts.applied(batch.items))

    def keys(
        self, partition: Partition, *, size: int = 10_000
    ) -> Iterator[list[SourceItem]]:
        """Read names, likewise."""
        pages = self._source.keys(partition, size=size)
        if not self._shifts(partition):
            yield from pages
            return
        shifts = _Shifts(self._target, self._builder)
        for items in pages:
            yield shifts.applied(items)

    def _shifts(self, partition: Partition) -> bool:
        # Into an empty target every list goes as it is.
        return partition.aligned and self._target.holds_anything()


class _Shifts:
    """How far each session's positions are shifted, one session after the other."""

    def __init__(self, target: Target, builder: RowBuilder) -> None:
        self._target, self._builder = target, builder
        self._session: tuple[str, ...] | None = None
        self._shift = 0

    def applied(self, items: Sequence[SourceItem]) -> list[SourceItem]:
        """The items with the positions that the target knows."""
        shifted: list[SourceItem] = []
        for session, group in groupby(items, _session_of):
            some = list(group)
            if session != self._session:
                self._session = session
                whole = len(shifted) + len(some) < len(items)
                self._shift = self._found(some, whole=whole)
            shifted += [_moved(item, self._shift) for item in some]
        return shifted

    def _found(self, items: Sequence[SourceItem], *, whole: bool) -> int:
        """How many messages the list lost; `whole` unless it may go on."""
        rows: list[Row] = []
        placed: list[int] = []
        for item in items:
            try:
                namespace, key = self._builder.place(item)
            except (InvalidScope, UnportableValue):
                return 0
            built, _ = self._builder.rows([item])
            if built:
                rows.append(built[0]._replace(namespace=namespace, key=key))
                placed.append(item.position or 0)
        if not rows:
            return 0
        stem = _stem(rows[0].locator)
        values = self._target.read([(row.namespace, row.key) for row in rows])
        if all(
            value is None
            or _neutral(value, stem)
            or _hash(value) == row.value["meta"]["hash"]
            for row, value in zip(rows, values, strict=True)
        ):
            return 0
        known = dict(self._known(rows[0].namespace, stem))
        hashes = [str(row.value["meta"]["hash"]) for row in rows]
        return _shift(placed, hashes, known, whole=whole)

    def _known(
        self, namespace: tuple[str, ...], stem: str
    ) -> Iterator[tuple[int, str]]:
        """Position and hash of each message that came from this list."""
        for key, value in self._target.entries(namespace):
            if is_adopted_key(key) and not _neutral(value, stem):
                place = _locator(value).rpartition("#")[2]
                content = _hash(value)
                if place.isdecimal() and content is not None:
                    yield int(place), content


def _shift(
    placed: Sequence[int],
    hashes: Sequence[str],
    known: Mapping[int, str],
    *,
    whole: bool,
) -> int:
    """The least shift with which nothing that is known differs.

    Without one the list began anew: it goes on behind what is known.
    """
    newest = max(known, default=-1)
    places: dict[str, list[int]] = {}
    for position, content in sorted(known.items()):
        places.setdefault(content, []).append(position)
    tried: set[int] = set()
    for at, content in zip(placed, hashes, strict=True):
        for position in places.get(content, ()):
            shift = position - at
            if shift < 0 or shift in tried:
                continue
            tried.add(shift)
            if whole and placed[-1] + shift < newest:
                continue
            if all(
                known.get(place + shift, one) == one
                for place, one in zip(placed, hashes, strict=True)
            ):
                return shift
    return newest + 1 - placed[0]


def _session_of(item: SourceItem) -> tuple[str, ...]:
    return (item.kind, item.root, item.session, _stem(item.locator))


def _moved(item: SourceItem, shift: int) -> SourceItem:
    if not shift or item.position is None:
        return item
    position = item.position + shift
    locator = f"{_stem(item.locator)}#{position}"
    return item._replace(position=position, locator=locator)


def _stem(locator: str) -> str:
    return locator.rpartition("#")[0]


def _locator(value: Any) -> str:
    try:
        return str(value["meta"]["source"]["locator"])
    except (KeyError, TypeError):
        return ""


def _neutral(value: Mapping[str, Any], stem: str) -> bool:
    """Whether a value is not as it came from this list, and so says nothing."""
    return (
        _stem(_locator(value)) != stem
        or "parent" in value["meta"]  # the application's, which came after it
        or not records.intact(value)
    )


def _hash(value: Mapping[str, Any]) -> str | None:
    try:
        return records.content_hash(value)
    except (TypeError, ValueError):
        return None
