"""Entities that `SQLiteEntityStore` left in a SQLite file."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from bisect import bisect_left
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdover.compat.stores.address import sqlite_path
from holdover.migrate.sources.base import Group, Inventory, Partition
from holdover.migrate.sources.batching import Rows
from holdover.migrate.sources.sqlite_file import (
    SqliteFile,
    damaged,
    is_damaged,
    source_error,
)
from holdover.migrate.sources.sqlite_rows import READABLE, REASONS, RowReader
from holdover.migrate.sources.sqlite_tables import (
    EntityTable,
    Tables,
    find_tables,
    quote,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from holdover.migrate.sources.base import Batch, ReadOptions, SourceItem

_MOST_PARTITIONS = 64
_PARTITION_BYTES = 16 << 20
_CHECKED_ALONE = 256
_AT_ONCE = 100  # tables in one compound SELECT, keys in one IN

_NEVER_STORED = (
    "Entity tables hold the latest summary of each entity and nothing else: running"
    " summaries and conversation turns were never stored in them."
)


class SqliteSource:
    """A SQLite file as a source; opened when it is first looked at.

    Args:
        address: A path or `sqlite:///path`.
        options: How its names are read.
        timeout: How long to wait for a lock, in seconds.
        file: The file, where others read it, too.
    """

    label = "SQLite file"
    lists_objects = True

    def __init__(
        self,
        address: str,
        options: ReadOptions,
        *,
        timeout: float = 30.0,
        file: SqliteFile | None = None,
    ) -> None:
        path = Path(sqlite_path(address))
        self.address = address
        self._options = options
        self._file = file or SqliteFile(path, timeout=timeout)
        self._prefix = f"sqlite:{path.name}#"
        self._tables: Tables | None = None
        self._reader: RowReader | None = None

    def inventory(
        self,
        *,
        others: bool = False,  # noqa: ARG002 - tables of others are listed as skipped
    ) -> Inventory:
        """Check the file and count what it holds; raises a `SourceError`."""
        inventory = Inventory(self.address)
        self._tables = None
        tables = self._find()
        self._check(tables.entities)
        groups: dict[str, Group] = {}
        for table, items, size, rejects in self._count(tables.entities):
            group = groups.setdefault(table.root, Group(table.root, "entity"))
            group.sessions += items > 0
            group.items += items
            group.bytes += size
            for reason, count in rejects.items():
                inventory.rejects[reason] = inventory.rejects.get(reason, 0) + count
        inventory.groups = sorted(groups.values(), key=lambda group: group.root)
        inventory.skipped = list(tables.skipped)
        inventory.skipped_count = len(tables.skipped)
        inventory.blockers = tables.blockers()
        inventory.notes = self._notes(tables)
        if tables.entities:
            inventory.never_stored.append(_NEVER_STORED)
        return inventory

    def partitions(self) -> list[Partition]:
        """Ranges of table names: few, and hardly touched by tables that come later.

        The cuts are the tables whose names hash lowest, so a new table moves a cut
        only if its own hash is among those.
        """
        tables = self._find().entities
        with self._errors():
            pages, page = self._pragma("page_count"), self._pragma("page_size")
        wanted = 1
        while wanted < _MOST_PARTITIONS and pages * page >= wanted * _PARTITION_BYTES:
            wanted *= 2
        by_hash = sorted(
            (table.name for table in tables[1:]),
            key=lambda name: hashlib.sha256(name.encode()).digest(),
        )
        cuts = ["", *sorted(by_hash[: wanted - 1]), None]
        return [_partition(start, end) for start, end in pairwise(cuts)]

    def read(
        self, partition: Partition, cursor: Any = None, *, size: int = 10_000
    ) -> Iterator[Batch]:
        """Read tables by name and rows by rowid; raises a `SourceError`."""
        return self._batches(partition, cursor, size, names_only=False)

    def keys(
        self, partition: Partition, *, size: int = 10_000
    ) -> Iterator[list[SourceItem]]:
        """Read names only; what has no value to read is left out."""
        for batch in self._batches(partition, None, size, names_only=True):
            yield batch.items

    def fetch(
        self,
        partition: Partition,  # noqa: ARG002 - an item tells its table
        items: Sequence[SourceItem],
    ) -> Batch:
        """Read the rows of these items again."""
        by_table: dict[str, list[SourceItem]] = {}
        for item in items:
            by_table.setdefault(item.locator, []).append(item)
        rows = Rows()
        for locator, wanted in by_table.items():
            name = locator[len(self._prefix) :]
            table = EntityTable(name, wanted[0].root, wanted[0].session)
            for start in range(0, len(wanted), _AT_ONCE):
                keys = [item.key for item in wanted[start : start + _AT_ONCE]]
                with self._reading() as reader, self._may_vanish(table):
                    reader.named(table, keys, rows)
        return rows.batch()

    def close(self) -> None:
        """Close the file and remove its copy, if it had to be copied."""
        self._reader = self._tables = None
        self._file.close()

    def _batches(
        self, partition: Partition, cursor: Any, size: int, *, names_only: bool
    ) -> Iterator[Batch]:
        tables = self._in_range(partition)
        index, rowid = 0, None
        if cursor is not None:
            name, rowid = cursor
            index = bisect_left(tables, name, key=lambda table: table.name)
            if index == len(tables) or tables[index].name != name:
                rowid = None
        while index < len(tables):
            rows = Rows()
            # One snapshot for a batch and none between: the application's
            # checkpoints wait for readers.
            with self._reading() as reader:
                take = reader.keys if names_only else reader.after
                while index < len(tables) and (room := size - rows.count) > 0:
                    table = tables[index]
                    done = True
                    with self._may_vanish(table):
                        rowid, done = take(table, rowid, room, rows)
                    position = [table.name, rowid]
                    if not done:
                        break
                    index, rowid = index + 1, None
            if rows.count:
                yield rows.batch(position)

    def _find(self) -> Tables:
        if self._tables is None:
            with self._errors():
                self._tables = find_tables(self._file.connection, self._options)
        return self._tables

    def _in_range(self, partition: Partition) -> list[EntityTable]:
        start, end = partition.spec["tables_from"], partition.spec["tables_to"]
        return [
            table
            for table in self._find().entities
            if start <= table.name and (end is None or table.name < end)
        ]

    def _pragma(self, name: str) -> int:
        value: int = self._file.connection.execute(f"PRAGMA {name}").fetchone()[0]
        return value

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            # Not chained: Python puts the text it could not decode in its message.
            raise source_error(error, self._file.path) from None

    @contextmanager
    def _reading(self) -> Iterator[RowReader]:
        with self._errors():
            connection = self._file.connection
            if self._reader is None:
                self._reader = RowReader(connection, self._prefix)
            connection.execute("BEGIN")
            try:
                yield self._reader
            finally:
                if connection.in_transaction:  # SQLite ends it itself on some errors
                    connection.execute("ROLLBACK")

    @contextmanager
    def _may_vanish(self, table: EntityTable) -> Iterator[None]:
        """Take a table that was dropped meanwhile for an empty one."""
        try:
            yield
        except sqlite3.OperationalError:
            found = self._file.connection.execute(
                "SELECT 1 FROM sqlite_master WHERE name = ?", (table.name,)
            ).fetchone()
            if found:
                raise

    def _check(self, tables: list[EntityTable]) -> None:
        """Look for damage before anything is written."""
        connection = self._file.connection
        with self._errors():
            broken = None
            # One by one the locks are short, but each check walks the whole schema.
            if len(tables) > _CHECKED_ALONE:
                broken = is_damaged(connection, "PRAGMA quick_check")
            if broken is None:
                broken = any(
                    is_damaged(connection, f"PRAGMA quick_check({quote(table.name)})")
                    for table in tables
                )
        if broken:
            raise damaged(self._file.path, "it fails the check of SQLite")

    def _count(
        self, tables: list[EntityTable]
    ) -> Iterator[tuple[EntityTable, int, int, dict[str, int]]]:
        counts = ", ".join(f"sum({condition})" for condition in REASONS.values())
        select = (
            f"SELECT count(*), {counts}, sum(CASE WHEN {READABLE} THEN"  # noqa: S608 - quoted
            " length(CAST(key AS BLOB)) + length(CAST(value AS BLOB)) END) FROM "
        )
        with self._errors():
            for start in range(0, len(tables), _AT_ONCE):
                some = tables[start : start + _AT_ONCE]
                rows = self._file.connection.execute(
                    " UNION ALL ".join(select + quote(table.name) for table in some)
                ).fetchall()
                for table, (count, *found, size) in zip(some, rows, strict=True):
                    rejects = {
                        reason: number
                        for reason, number in zip(REASONS, found, strict=True)
                        if number
                    }
                    yield table, count - sum(rejects.values()), size or 0, rejects

    def _notes(self, tables: Tables) -> list[str]:
        notes = self._file.notes()
        if tables.unselected:
            notes.append(
                f"{tables.unselected:,} entity tables are outside the named sessions"
                " or the sample."
            )
        return notes


def _partition(start: str | None, end: str | None) -> Partition:
    digest = hashlib.sha256(json.dumps([start, end]).encode()).hexdigest()
    return Partition(
        f"entities-{digest[:16]}", {"tables_from": start, "tables_to": end}
    )
