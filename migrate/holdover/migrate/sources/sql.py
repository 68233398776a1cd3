"""Chat histories in tables of SQL databases: SQLite, PostgreSQL, MariaDB and MySQL."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from holdover.migrate.errors import SourceUnavailable
from holdover.migrate.sources.base import Batch, Group, Inventory, Partition, Skipped
from holdover.migrate.sources.batching import Rows
from holdover.migrate.sources.messages import NULL
from holdover.migrate.sources.naming import Names
from holdover.migrate.sources.sql_layouts import Histories, sort_out
from holdover.migrate.sources.sql_opening import StatementTimeout
from holdover.migrate.sources.sql_rows import NULL_SESSION, RowReader, Tally

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from holdover.migrate.sources.base import ReadOptions, SourceItem
    from holdover.migrate.sources.sql_databases import Database
    from holdover.migrate.sources.sql_layouts import HistoryTable

_MOST_PARTITIONS = 64
_PARTITION_ROWS = 1 << 17
_COUNTED = 10_000_000  # rows that are counted one by one
_LOOKED_AT = 100_000  # of more rows, to tell about the rest
_TOO_FEW = 100
_SEEN_AT_ONCE = 20  # questions in one transaction that give nothing to hand on
_SESSIONS_AT_ONCE = 5_000
_IN_ONE_QUESTION = 500

_NEVER_STORED = (
    "Tables of chat histories hold messages and nothing else: running summaries were"
    " never stored in them."
)


class SqlHistories:
    """The chat histories of a database.

    A table whose rows have numbers is read by them, in ranges; in any other one a
    message's place in its session stands for its number.

    Args:
        database: Where they are; it is closed with this source.
        options: How its names are read.
    """

    def __init__(self, database: Database, options: ReadOptions) -> None:
        self._database = database
        self.address, self.label = database.address, database.label
        self.lists_objects = database.lists_objects
        self._options = options
        self._names = Names(options)
        self._found: Histories | None = None
        self._readers: dict[str, RowReader] = {}

    def inventory(
        self,
        *,
        others: bool = False,  # noqa: ARG002 - what is like a history is listed as skipped
    ) -> Inventory:
        """Look at every table and count the rows of histories."""
        inventory = Inventory(self.address)
        self._found = None
        found = self._histories()
        self._database.check(found.tables)
        inventory.skipped = list(found.skipped)
        inventory.skipped_count = len(found.skipped)
        inventory.blockers = list(found.blockers)
        inventory.notes = self._database.notes()
        for table in found.tables:
            self._count(table, inventory)
        if found.tables:
            inventory.never_stored.append(_NEVER_STORED)
        return inventory

    def partitions(self) -> list[Partition]:
        """Ranges of row numbers; the last is open, so that new rows belong to it."""
        found: list[Partition] = []
        for table in self._histories().tables:
            name = hashlib.sha256(table.root.encode("utf-8", "surrogatepass"))
            stem = f"messages-{name.hexdigest()[:16]}"
            if table.number is None:
                found.append(Partition(stem, {"table": table.root}, aligned=True))
                continue
            with self._database.reading() as reading:
                edges = self._reader(table).edges(reading)
            if edges:
                found += _ranges(stem, table.root, *edges)
        return found

    def read(
        self, partition: Partition, cursor: Any = None, *, size: int = 10_000
    ) -> Iterator[Batch]:
        """Read rows by their number, or session by session."""
        table = self._table(partition)
        if table.number is None:
            return self._ranked(table, cursor, size)
        return self._numbered(table, partition, cursor, size)

    def keys(
        self, partition: Partition, *, size: int = 10_000
    ) -> Iterator[list[SourceItem]]:
        """Read number and session only; where places are counted, whole items."""
        table = self._table(partition)
        if table.number is None:
            for batch in self._ranked(table, None, size):
                yield batch.items
            return
        reader = self._reader(table)
        last, end = _bounds(partition)
        done = False
        while not done:
            with self._database.reading() as reading:
                items, last, done = reader.names(reading, last, end, size)
            if items:
                yield items

    def fetch(self, partition: Partition, items: Sequence[SourceItem]) -> Batch:
        """Read the rows with these numbers again."""
        reader = self._reader(self._table(partition))
        numbers = [item.position for item in items if item.position is not None]
        rows = Rows()
        with self._database.reading() as reading:
            for start in range(0, len(numbers), _IN_ONE_QUESTION):
                some = numbers[start : start + _IN_ONE_QUESTION]
                reader.numbered(reading, some, rows)
        return rows.batch()

    def table_of(self, partition: Partition) -> tuple[str, str | None]:
        """The table of a partition and the column of its numbers, for a statement."""
        table = self._table(partition)
        number = table.number and self._database.quoted(table.number)
        return self._database.name(table.table), number

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    def _histories(self) -> Histories:
        if self._found is None:
            self._readers.clear()
            found = sort_out(
                self._database.tables(), self._options, list_others=self.lists_objects
            )
            self._leave_empty(found)
            found.block_unknown()
            self._found = found
        return self._found

    def _leave_empty(self, found: Histories) -> None:
        """A table of no rows, under whatever name, is nothing to ask about."""
        for table in [one for one in found.unknown if one.readable]:
            with self._database.reading() as reading:
                name = self._database.name(table)
                rows = reading.ask(f"SELECT 1 FROM {name} LIMIT 1")  # noqa: S608 - quoted
            if not rows:
                found.unknown.remove(table)
                found.skipped.append(Skipped(table.name, "an empty table"))

    def _table(self, partition: Partition) -> HistoryTable:
        root = partition.spec["table"]
        for table in self._histories().tables:
            if table.root == root:
                return table
        raise SourceUnavailable(
            f"Table {root} is gone from {self.address}, or is another one now.",
            hint="Run again: what is there is looked at anew.",
        )

    def _reader(self, table: HistoryTable) -> RowReader:
        if table.root not in self._readers:
            self._readers[table.root] = RowReader(self._database, table, self._names)
        return self._readers[table.root]

    def _numbered(
        self, table: HistoryTable, partition: Partition, cursor: Any, size: int
    ) -> Iterator[Batch]:
        reader = self._reader(table)
        last, end = _bounds(partition)
        last = last if cursor is None else max(last, cursor)
        done = False
        while not done:
            rows = Rows()
            # One moment for a batch and none between: nothing waits for us while
            # the target writes.
            with self._database.reading() as reading:
                for _ in range(_SEEN_AT_ONCE):
                    last, done = reader.after(
                        reading, last, end, size - rows.count, rows
                    )
                    if done or rows.full or rows.count >= size:
                        break
            if rows.count:
                yield rows.batch(last)

    def _ranked(self, table: HistoryTable, cursor: Any, size: int) -> Iterator[Batch]:
        """Read whole sessions; the cursor is the last one that was read to its end."""
        reader = self._reader(table)
        if cursor is None and self._names.selects_all:
            yield from self._unnamed(reader, size)
        last = None if cursor is None else bytes.fromhex(cursor)
        while True:
            with self._database.reading() as reading:
                sessions, seen = reader.sessions(reading, last, _SESSIONS_AT_ONCE)
            if seen is None:
                return
            for some in _together(sessions, size):
                yield from self._of_sessions(reader, some, cursor, size)
                cursor = some[-1].hex()
            last = seen

    def _unnamed(self, reader: RowReader, size: int) -> Iterator[Batch]:
        """Rows without a session, before all others; on resume they come again."""
        with self._database.reading() as reading:
            left = reader.unnamed(reading)
        while left:
            rows = Rows()
            for _ in range(min(left, size)):
                reader.refuse_unnamed(rows)
            left -= rows.count
            yield rows.batch()

    def _of_sessions(
        self, reader: RowReader, sessions: Sequence[bytes], cursor: Any, size: int
    ) -> Iterator[Batch]:
        rows = Rows()
        session, position = None, 0
        with self._database.reading() as reading:
            for found in reader.ranked(reading, sessions):
                read = 0
                for row in found:
                    if row[1] != session:
                        cursor = cursor if session is None else bytes(session).hex()
                        session, position = row[1], 0
                    read += reader.add_ranked(row, position, rows)
                    position += 1
                reader.pace.note(len(found), read)
                # Only a very long session, or very long messages, get here.
                if rows.full or rows.count >= 2 * size:
                    yield rows.batch(cursor)
                    rows = Rows()
        if rows.count:
            yield rows.batch(cursor if session is None else bytes(session).hex())

    def _count(self, table: HistoryTable, inventory: Inventory) -> None:
        group = Group(table.root, "message")
        inventory.groups.append(group)
        reader = self._reader(table)
        about = table.table.estimate or 0
        if about <= _COUNTED:
            try:
                with self._database.reading() as reading:
                    tally = reader.tally(reading, self._names)
            except StatementTimeout:
                tally = None
            if tally:
                group.sessions, group.bytes = tally.sessions, tally.size
                group.items = tally.rows - tally.unnamed - tally.empty
                rejects = inventory.rejects
                for reason, number in (
                    (NULL_SESSION.reason, tally.unnamed),
                    (NULL.reason, tally.empty),
                ):
                    if number:
                        rejects[reason] = rejects.get(reason, 0) + number
                return
        tally = self._looked_at(reader)
        with self._database.reading() as reading:
            edges = reader.edges(reading) if table.number and not about else None
        about = about or (edges[1] - edges[0] + 1 if edges else tally.looked_at)
        share = about / max(tally.looked_at, 1)
        group.sessions = tally.sessions
        group.items, group.bytes = round(tally.rows * share), round(tally.size * share)
        inventory.notes.append(
            f"Table {table.table.name} has about {about:,} rows, too many to count"
            f" here: its numbers come from {tally.looked_at:,} of them, and of its"
            " sessions only those in these are counted."
        )

    def _looked_at(self, reader: RowReader) -> Tally:
        """Count among as many rows as the server has time for."""
        number = _LOOKED_AT
        while True:
            try:
                with self._database.reading() as reading:
                    return reader.tally(reading, self._names, looked_at=number)
            except StatementTimeout:
                if number < _TOO_FEW:
                    raise
                number //= 10


def _together(
    sessions: Sequence[tuple[bytes, int]], size: int
) -> Iterator[list[bytes]]:
    """Sessions that have about `size` rows together."""
    some: list[bytes] = []
    number = 0
    for session, rows in sessions:
        if some and (number + rows > size or len(some) == _IN_ONE_QUESTION):
            yield some
            some, number = [], 0
        some.append(session)
        number += rows
    if some:
        yield some


def _ranges(stem: str, root: str, low: int, high: int) -> Iterator[Partition]:
    """Ranges of one length that do not move when rows come.

    Numbers may have gaps of any length, so that it is the length that has to fit.
    """
    length = _PARTITION_ROWS
    while high // length - low // length >= _MOST_PARTITIONS:
        length *= 2
    first, last = low // length, high // length
    for place in range(first, last + 1):
        end = None if place == last else (place + 1) * length
        yield Partition(
            f"{stem}-{length}-{place}",
            {"table": root, "from": place * length, "to": end},
        )


def _bounds(partition: Partition) -> tuple[int, int | None]:
    """The number before the first one, and the one behind the last."""
    return partition.spec["from"] - 1, partition.spec["to"]
