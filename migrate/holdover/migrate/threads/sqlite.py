"""The tables of `SqliteSaver`: one row is a whole thread."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from functools import cached_property

from langgraph.checkpoint.sqlite import SqliteSaver

from holdover.compat.stores.sqlite import atomically
from holdover.migrate.threads.checkpoint import Thread, origin_of, serializer
from holdover.migrate.threads.table import Change, Found, ThreadTable

_TABLES = {
    "checkpoints": {"thread_id", "checkpoint_ns", "checkpoint_id", "checkpoint"},
    "writes": {"thread_id", "checkpoint_ns", "checkpoint_id", "channel"},
}
_INSERT = (
    "INSERT INTO checkpoints (thread_id, checkpoint_ns, checkpoint_id, "
    "parent_checkpoint_id, type, checkpoint, metadata) "
    "SELECT ?1, '', ?2, NULL, ?3, ?4, ?5 "
    "WHERE NOT EXISTS (SELECT 1 FROM checkpoints WHERE thread_id = ?1)"
)
# Text outside of a string is never quoted like this in JSON.
_OF_THREAD = (
    "SELECT checkpoint_id, metadata FROM checkpoints WHERE thread_id = ? "
    "AND checkpoint_ns = '' AND instr(CAST(metadata AS BLOB), ?) "
    "ORDER BY checkpoint_id"
)
_COUNT = (
    "SELECT (SELECT count(*) FROM checkpoints WHERE thread_id = ?1), "
    "(SELECT count(*) FROM writes WHERE thread_id = ?1)"
)
_CHILD = (
    "SELECT EXISTS (SELECT 1 FROM checkpoints "
    "WHERE thread_id = ? AND checkpoint_ns = '' AND parent_checkpoint_id = ?)"
)
_DELETE = (
    "DELETE FROM checkpoints WHERE thread_id = ?1 AND checkpoint_id = ?2 "
    "AND (SELECT count(*) FROM checkpoints WHERE thread_id = ?1) = 1 "
    "AND NOT EXISTS (SELECT 1 FROM writes WHERE thread_id = ?1)"
)
_PAGE = (
    "SELECT thread_id, checkpoint_id, metadata FROM checkpoints "
    "WHERE (thread_id, checkpoint_id) > (?, ?) AND checkpoint_ns = '' "
    "AND instr(CAST(metadata AS BLOB), ?) ORDER BY thread_id, checkpoint_id LIMIT ?"
)
_ASIDE = (
    "SELECT DISTINCT thread_id FROM checkpoints "
    "WHERE substr(thread_id, 1, length(?1)) = ?1"
)
_PAGE_SIZE = 1_000
_KEY = b'"holdover": {'


class SqliteThreads(ThreadTable):
    """The threads in a SQLite file."""

    label = "SqliteSaver"

    def __init__(self, conn: sqlite3.Connection) -> None:
        self._conn = conn
        self._serde = serializer()

    @property
    def ready(self) -> bool:
        """Whether both tables are there."""
        return all(needed <= self._columns(name) for name, needed in _TABLES.items())

    def _columns(self, table: str) -> set[str]:
        return {row[1] for row in self._conn.execute(f"PRAGMA table_info({table})")}

    def foreign(self) -> list[str]:
        """Tables of another program that have the names."""
        return [
            name
            for name, needed in _TABLES.items()
            if (columns := self._columns(name)) and not needed <= columns
        ]

    def prepare(self) -> None:
        """Create the tables in one transaction, with the statements of the saver.

        Its own set-up also changes the journal mode, which the file's owner chose.
        """
        if self.ready:
            return
        with closing(sqlite3.connect(":memory:")) as fresh:
            SqliteSaver(fresh).setup()
            statements = dict(
                fresh.execute("SELECT name, sql FROM sqlite_master WHERE type='table'")
            )
        with atomically(self._conn, "IMMEDIATE"):
            for name in _TABLES:
                if not self._columns(name):
                    self._conn.execute(statements[name])

    @cached_property
    def _saver(self) -> SqliteSaver:
        saver = SqliteSaver(self._conn, serde=self._serde)
        saver.is_setup = True
        if "task_path" not in self._columns("writes"):
            saver._has_task_path = False  # noqa: SLF001 - as it finds out by a write
        return saver

    def saver(self) -> SqliteSaver:
        """The saver, which need not set anything up."""
        return self._saver

    def look(self, ids: Sequence[str]) -> Mapping[str, Found]:
        """One look by the primary key for each id."""
        return {one: found for one in ids if (found := self._look(one))}

    def _look(self, thread_id: str) -> Found | None:
        checkpoints, writes = self._conn.execute(_COUNT, (thread_id,)).fetchone()
        if not checkpoints and not writes:
            return None
        alone = checkpoints == 1 and not writes
        for row_id, metadata in self._conn.execute(_OF_THREAD, (thread_id, _KEY)):
            if origin := origin_of(thread_id, row_id, _read(metadata)):
                return Found(origin, row_id, alone)
        return Found(None, None, alone)

    def has_child(self, thread_id: str, checkpoint_id: str) -> bool:
        """Look for a checkpoint that names it as its parent."""
        row = self._conn.execute(_CHILD, (thread_id, checkpoint_id)).fetchone()
        return bool(row[0])

    def write(self, changes: Sequence[Change]) -> set[str]:
        """Write all of them, or where something fails none."""
        rows = [self._row(change.thread) for change in changes]
        lost = set()
        with atomically(self._conn, "IMMEDIATE"):
            for (thread, before, aside), row in zip(changes, rows, strict=True):
                if aside is not None:
                    self._move(thread.id, aside)
                elif before is not None:
                    self._conn.execute(_DELETE, (thread.id, before))
                if not self._conn.execute(_INSERT, row).rowcount:
                    lost.add(thread.id)
        return lost

    def _row(self, thread: Thread) -> tuple[str, str, str, bytes, bytes]:
        kind, data = self._serde.dumps_typed(thread.checkpoint)
        metadata = json.dumps(thread.metadata, ensure_ascii=False).encode()
        return (thread.id, thread.checkpoint_id, kind, data, metadata)

    def _move(self, thread_id: str, new: str) -> None:
        for table in _TABLES:
            self._conn.execute(
                f"UPDATE {table} SET thread_id = ? WHERE thread_id = ?",  # noqa: S608
                (new, thread_id),
            )

    def of_run(self, run_id: str) -> Iterator[tuple[str, str]]:
        """Scan by the primary key; bytes tell most rows apart."""
        after = ("", "")
        while True:
            rows = self._conn.execute(
                _PAGE, (*after, f'"run": "{run_id}"'.encode(), _PAGE_SIZE)
            ).fetchall()
            if not rows:
                return
            for thread_id, row_id, metadata in rows:
                origin = origin_of(thread_id, row_id, _read(metadata))
                if origin and origin.run == run_id:
                    yield thread_id, row_id
            after = rows[-1][:2]

    def remove(self, thread_id: str, checkpoint_id: str) -> bool:
        """Delete the one row, if it is the only one."""
        with atomically(self._conn, "IMMEDIATE"):
            return bool(
                self._conn.execute(_DELETE, (thread_id, checkpoint_id)).rowcount
            )

    def aside(self, prefix: str) -> Iterator[str]:
        """Scan the ids."""
        for row in self._conn.execute(_ASIDE, (prefix,)).fetchall():
            yield str(row[0])

    def rename(self, thread_id: str, new: str) -> bool:
        """Change the id in both tables."""
        with atomically(self._conn, "IMMEDIATE"):
            if any(self._conn.execute(_COUNT, (new,)).fetchone()):
                return False
            self._move(thread_id, new)
        return True

    def close(self) -> None:
        """Close the connection."""
        self._conn.close()


def _read(metadata: bytes | str | None) -> object:
    try:
        return json.loads(metadata) if metadata else None
    except ValueError:
        return None
