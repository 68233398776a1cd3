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
from holdover.compat.message_keys import MAX_POSITION, adopted_key, is_adopted_key
from holdover.migrate.sources.base import Batch
from holdover.migrate.sources.batching import size_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from holdover.migrate.building import RowBuilder
    from holdover.migrate.sources.base import Partition, Source, SourceItem
    from holdover.migrate.targets.base import Row, Target

#: So much of a session tells where it belongs: no more of it is kept in memory.
_ENOUGH = 10_000
_ENOUGH_BYTES = 16 << 20

_Session = tuple[str, ...]


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
        yield from shifts.applied(batches)

    def keys(
        self, partition: Partition, *, size: int = 10_000
    ) -> Iterator[list[SourceItem]]:
        """Read names, likewise."""
        pages = self._source.keys(partition, size=size)
        if not self._shifts(partition):
            yield from pages
            return
        shifts = _Shifts(self._target, self._builder)
        for batch in shifts.applied(Batch(items, [], None) for items in pages):
            yield batch.items

    def _shifts(self, partition: Partition) -> bool:
        # Into an empty target every list goes as it is.
        return partition.aligned and self._target.holds_anything()


class _Shifts:
    """How far each session's positions are shifted.

    A session may reach over many batches, however small they are, and its beginning
    alone may be like many places: batches wait until enough of it was read.
    """

    def __init__(self, target: Target, builder: RowBuilder) -> None:
        self._target, self._builder = target, builder
        self._session: _Session | None = None
        self._begun: list[SourceItem] = []
        self._number = self._size = 0
        self._found: dict[_Session, int] = {}

    def applied(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """The batches, with the positions that the target knows."""
        waiting: list[Batch] = []
        for batch in batches:
            waiting.append(batch)
            for session, group in groupby(batch.items, _session_of):
                self._add(session, list(group))
            self._number += len(batch.rejects)
            if self._number >= _ENOUGH or self._size >= _ENOUGH_BYTES:
                self._settle(whole=False)
            if self._session is None or self._session in self._found:
                yield from self._all_of(waiting)
                waiting = []
        self._settle(whole=True)
        yield from self._all_of(waiting)

    def _all_of(self, batches: Sequence[Batch]) -> Iterator[Batch]:
        for batch in batches:
            items = [_moved(one, self._found[_session_of(one)]) for one in batch.items]
            yield batch._replace(items=items)
        last = self._session
        self._found = {one: by for one, by in self._found.items() if one == last}

    def _add(self, session: _Session, items: list[SourceItem]) -> None:
        if session != self._session:
            self._settle(whole=True)
            self._session = session
        elif session in self._found:
            return
        self._begun += items
        self._number += len(items)
        self._size += sum(size_of(item.content) for item in items)

    def _settle(self, *, whole: bool) -> None:
        """Find the shift of the session that was begun; `whole` if it has ended."""
        if self._session is not None and self._session not in self._found:
            self._found[self._session] = self._shift_of(self._begun, whole=whole)
        self._begun, self._number, self._size = [], 0, 0

    def _shift_of(self, items: Sequence[SourceItem], *, whole: bool) -> int:
        """How many messages the list lost."""
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
        stem, namespace = _stem(rows[0].locator), rows[0].namespace
        places = [(row.namespace, row.key) for row in rows]
        if whole and placed[-1] < MAX_POSITION:
            # Something behind the newest: the list lost as much, or more.
            places.append((namespace, adopted_key(placed[-1] + 1)))
        values = self._target.read(places)
        behind = values[len(rows) :]
        if all(value is None or _neutral(value, stem) for value in behind) and all(
            value is None
            or _neutral(value, stem)
            or _hash(value) == row.value["meta"]["hash"]
            for row, value in zip(rows, values[: len(rows)], strict=True)
        ):
            return 0
        known = dict(self._known(namespace, stem))
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

    Without one the list lost its newest, where nothing differs as it is, or it began
    anew: it goes on behind what is known.
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
            if _fits(placed, hashes, known, shift):
                return shift
    if _fits(placed, hashes, known, 0):
        return 0
    return newest + 1 - placed[0]


def _fits(
    placed: Sequence[int], hashes: Sequence[str], known: Mapping[int, str], shift: int
) -> bool:
    return all(
        known.get(place + shift, one) == one
        for place, one in zip(placed, hashes, strict=True)
    )


def _session_of(item: SourceItem) -> _Session:
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
