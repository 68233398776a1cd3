"""The queue in a Chroma database: what was written and is not yet in an index."""

from __future__ import annotations

import array
import math
import sqlite3
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

_DELETE = 3
_FORMATS = {"FLOAT32": "f"}


class Queue:
    """The vectors of one collection that are in the queue, by the document's id.

    Args:
        connection: The database.
        collection: The collection's id, which ends its topic.
    """

    def __init__(self, connection: sqlite3.Connection, collection: str) -> None:
        self._connection = connection
        self._there = bool(
            connection.execute(
                "SELECT 1 FROM sqlite_master WHERE name = 'embeddings_queue'"
            ).fetchone()
        )
        self._topic = f"%/{collection}"
        self._spool: sqlite3.Connection | None = None

    def of(self, name: str, sequence: Any) -> Sequence[float] | None:
        """The newest vector of a document, if it is here and can be stored.

        Args:
            name: The document's id.
            sequence: The number of the last entry about it that Chroma took over.
        """
        if not self._there:
            return None
        if isinstance(sequence, bytes):
            sequence = int.from_bytes(sequence[:8], "big", signed=True)
        found = self._entry(sequence) if isinstance(sequence, int) else None
        if found is None or found[0] != name:
            return None
        if found[1] is None:
            # It changed the metadata alone: the vector came with an entry before it.
            found = self._entry(self._newest(name))
        return _numbers(found[1], found[2]) if found else None

    def close(self) -> None:
        """Forget what was looked up."""
        if self._spool is not None:
            self._spool.close()
            self._spool = None

    def _entry(self, sequence: int | None) -> Any:
        return self._connection.execute(
            "SELECT id, vector, encoding FROM embeddings_queue"
            " WHERE seq_id = ? AND topic LIKE ?",
            (sequence, self._topic),
        ).fetchone()

    def _newest(self, name: str) -> int | None:
        """The last entry of a document that brought a vector; no index leads to it."""
        if self._spool is None:
            self._spool = sqlite3.connect("", isolation_level=None)
            self._spool.execute(
                "CREATE TABLE entry (id PRIMARY KEY, seq_id) WITHOUT ROWID"
            )
            self._spool.execute("BEGIN")
            self._spool.executemany(
                "INSERT OR REPLACE INTO entry VALUES (?, ?)",
                self._connection.execute(
                    "SELECT id, seq_id FROM embeddings_queue WHERE vector IS NOT NULL"
                    " AND operation <> ? AND topic LIKE ? ORDER BY seq_id",
                    (_DELETE, self._topic),
                ),
            )
        found = self._spool.execute(
            "SELECT seq_id FROM entry WHERE id = ?", (name,)
        ).fetchone()
        return found[0] if found else None


def _numbers(raw: Any, encoding: Any) -> Sequence[float] | None:
    if not isinstance(raw, bytes) or encoding not in _FORMATS or not raw:
        return None
    if len(raw) % 4:
        return None
    numbers = array.array("f", raw)
    if sys.byteorder != "little":
        numbers.byteswap()
    return numbers if all(map(math.isfinite, numbers)) else None
