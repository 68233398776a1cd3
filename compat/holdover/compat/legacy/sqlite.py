"""The table a classic `SQLiteEntityStore` kept: read in place, never written."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from pathlib import Path

from holdover.compat.errors import StoreUnavailable

_RECHECK_SECONDS = 1.0
_BUSY_SECONDS = 30.0
#: Connections of a parent process: closing them here could end its locks.
_inherited: list[sqlite3.Connection | None] = []
# The classic class made one table of sessions whose ids differ only in case; here
# it is the table of the one that named it.
_NAMED = "SELECT 1 FROM sqlite_master WHERE name = ? AND type IN ('table', 'view')"


class LegacySqliteTable:
    """One session's table in a classic file.

    A table that is not there yet is looked for again at most once a second: the
    old application may still be writing. No statement stays open between reads.

    Raises:
        StoreUnavailable: The file is there and cannot be read.
    """

    def __init__(self, db_file: str, table_name: str, session_id: str) -> None:
        self._path = os.fspath(db_file)
        self._table = f"{table_name}_{session_id}"
        self._base = f"sqlite:{Path(self._path).name}#{self._table}"
        quoted = self._table.replace('"', '""')
        self._query = f'SELECT value, typeof(value) FROM "{quoted}" WHERE key = ?'  # noqa: S608
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
        with self._lock:
            # Another thread may have looked while this one waited.
            if time.monotonic() - self._looked > _RECHECK_SECONDS:
                self._found = self._look()
                self._looked = time.monotonic()
            return self._found

    def _look(self) -> bool:
        if not Path(self._path).is_file():
            return False
        try:
            conn = self._connection()
            if conn.execute(_NAMED, (self._table,)).fetchone() is None:
                return False
            conn.execute(self._probe).close()
        except UnicodeEncodeError:
            # No SQLite table can have that name.
            return False
        except sqlite3.Error as error:
            if "no such column" in str(error):
                return False
            raise self._unreadable(error) from error
        return True

    def read(self, name: str) -> str | None:
        """The old summary of a name; values that are not text do not count."""
        with self._lock:
            try:
                row = self._connection().execute(self._query, (name,)).fetchone()
            except UnicodeEncodeError:
                return None
            except sqlite3.Error as error:
                if "no such table" in str(error):
                    self._found = False
                    return None
                raise self._unreadable(error) from error
        if row is None or row[1] != b"text":
            return None
        try:
            return str(row[0], "utf-8")
        except UnicodeDecodeError:
            return None

    def locator(self, name: str) -> str:  # noqa: ARG002 - the name is in the record
        """File and table."""
        return self._base

    def _unreadable(self, error: sqlite3.Error) -> StoreUnavailable:
        return StoreUnavailable(
            f"The old data in {self._path} cannot be read: {error}.",
            hint="Repair the file, or pass legacy='off' to go on without it.",
        )

    def _connection(self) -> sqlite3.Connection:
        # A connection must not cross a fork.
        if self._pid != os.getpid():
            _inherited.append(self._conn)
            self._conn = None
        if self._conn is None:
            uri = Path(self._path).resolve().as_uri() + "?mode=ro"
            self._conn = sqlite3.connect(
                uri,
                uri=True,
                check_same_thread=False,
                isolation_level=None,
                timeout=_BUSY_SECONDS,
            )
            # A text may be no valid UTF-8; that is found out row by row.
            self._conn.text_factory = bytes
            self._pid = os.getpid()
        return self._conn
