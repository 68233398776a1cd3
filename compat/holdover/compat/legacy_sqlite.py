"""The table a classic `SQLiteEntityStore` kept: read in place, never written."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from pathlib import Path

_RECHECK_SECONDS = 1.0
_BUSY_SECONDS = 30.0


class LegacySqliteTable:
    """One session's table in a classic file.

    A table that is not there yet is looked for again at most once a second: the
    old application may still be writing. No statement stays open between reads.
    """

    def __init__(self, db_file: str, table_name: str, session_id: str) -> None:
        self._path = os.fspath(db_file)
        table = f"{table_name}_{session_id}"
        self._base = f"sqlite:{Path(self._path).name}#{table}"
        quoted = table.replace('"', '""')
        self._query = f'SELECT value FROM "{quoted}" WHERE key = ?'  # noqa: S608
        self._probe = f'SELECT key, value FROM "{quoted}" LIMIT 0'  # noqa: S608
        self._lock = threading.Lock()
        self._conn: sqlite3.Connection | None = None
        self._pid = 0
        self._found = False
        self._looked = float("-inf")

    def found(self) -> bool:
        """Whether the table exists and has a key and a value."""
        if self._found:
            return True
        if time.monotonic() - self._looked < _RECHECK_SECONDS:
            return False
        self._looked = time.monotonic()
        with self._lock:
            try:
                self._connection().execute(self._probe).close()
            except (sqlite3.Error, UnicodeEncodeError):
                # No such file or table, or a name no SQLite table can have.
                return False
        self._found = True
        return True

    def read(self, name: str) -> str | None:
        """The old summary of a name; values that are not text do not count."""
        with self._lock:
            try:
                row = self._connection().execute(self._query, (name,)).fetchone()
            except UnicodeEncodeError:
                return None
        return row[0] if row and isinstance(row[0], str) else None

    def locator(self, name: str) -> str:  # noqa: ARG002 - the name is in the record
        """File and table."""
        return self._base

    def _connection(self) -> sqlite3.Connection:
        # A connection must not cross a fork.
        if self._conn is None or self._pid != os.getpid():
            uri = Path(self._path).resolve().as_uri() + "?mode=ro"
            self._conn = sqlite3.connect(
                uri,
                uri=True,
                check_same_thread=False,
                isolation_level=None,
                timeout=_BUSY_SECONDS,
            )
            self._pid = os.getpid()
        return self._conn
