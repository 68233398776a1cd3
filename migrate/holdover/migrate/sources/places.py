"""Positions of messages whose sessions come in any order, in flat memory."""

from __future__ import annotations

import sqlite3
from hashlib import blake2b

_IN_MEMORY = 200_000
_EXPLICIT = -1


class Places:
    """Counts each session's messages, or checks the positions that they carry.

    A session does one or the other. What memory does not hold is in a temporary file,
    which ends with this object.
    """

    def __init__(self) -> None:
        self._next: dict[bytes, int] = {}
        self._spool: sqlite3.Connection | None = None

    def following(self, session: str) -> int | None:
        """The next position of a session; `None` if its messages carry their own."""
        known, found = self._found(session)
        if found == _EXPLICIT:
            return None
        self._keep(known, (found or 0) + 1)
        return found or 0

    def take(self, session: str, position: int) -> bool | None:
        """Whether a position is free; `None` if its session's messages are counted."""
        known, found = self._found(session)
        if found is not None and found != _EXPLICIT:
            return None
        if found is None:
            self._keep(known, _EXPLICIT)
        place = known + position.to_bytes(8)
        cursor = self._file().execute(
            "INSERT OR IGNORE INTO taken VALUES (?)", (place,)
        )
        return cursor.rowcount > 0

    def close(self) -> None:
        """Remove the temporary file."""
        if self._spool is not None:
            self._spool.close()
            self._spool = None

    def _found(self, session: str) -> tuple[bytes, int | None]:
        raw = session.encode("utf-8", "surrogatepass")
        known = blake2b(raw, digest_size=16).digest()
        found = self._next.get(known)
        if found is None and self._spool is not None:
            row = self._spool.execute(
                "SELECT next FROM counted WHERE session = ?", (known,)
            ).fetchone()
            found = row[0] if row else None
        return known, found

    def _keep(self, known: bytes, following: int) -> None:
        self._next[known] = following
        if len(self._next) >= _IN_MEMORY:
            self._file().executemany(
                "INSERT OR REPLACE INTO counted VALUES (?, ?)", self._next.items()
            )
            self._next = {}

    def _file(self) -> sqlite3.Connection:
        if self._spool is None:
            # "" is a file of its own that SQLite removes; one transaction is never
            # ended, so that nothing waits for the disk.
            self._spool = sqlite3.connect("", isolation_level=None)
            self._spool.execute(
                "CREATE TABLE counted (session BLOB PRIMARY KEY, next INTEGER)"
                " WITHOUT ROWID"
            )
            self._spool.execute(
                "CREATE TABLE taken (place BLOB PRIMARY KEY) WITHOUT ROWID"
            )
            self._spool.execute("BEGIN")
        return self._spool
