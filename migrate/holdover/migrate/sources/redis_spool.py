"""The keys of a Redis database, each once, on local disk: a cache, not state."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

from redis.crc import key_slot

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_PAGE = 1000
#: A part is a range of the hash slots that a cluster divides its keys by.
PARTS = 16
_SLOTS = 16_384
_ALL = "SELECT id, key FROM keys WHERE id > ? ORDER BY id LIMIT ?"
_OF_PART = "SELECT id, key FROM keys WHERE part(key) = ? AND id > ? ORDER BY id LIMIT ?"


class Spool:
    """Holds any number of keys in little memory; they come back in byte order.

    The file has no name: it is gone when it is closed, or when the process dies.
    """

    def __init__(self) -> None:
        self.count = 0
        self._db = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._db.executescript(
            "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
            "PRAGMA cache_size = -8192; PRAGMA temp_store = FILE;"
            "CREATE TABLE scanned (key BLOB);"
            "CREATE TABLE keys (id INTEGER PRIMARY KEY, key BLOB);"
            "CREATE TABLE sessions (root TEXT, name TEXT, PRIMARY KEY (root, name))"
            " WITHOUT ROWID; BEGIN"
        )

    def add(self, keys: Iterable[bytes]) -> None:
        """Add keys, which may be there already: SCAN repeats itself."""
        self._db.executemany("INSERT INTO scanned VALUES (?)", zip(keys, strict=True))

    def seal(self) -> None:
        """Sort the keys that were added, drop the repeated, and count the rest."""
        # Sorting at the end takes a fifth of what a unique index takes on the way.
        self._db.execute(
            "INSERT INTO keys (key) SELECT DISTINCT key FROM scanned ORDER BY key"
        )
        self._db.execute("DROP TABLE scanned")
        self.count = self._db.execute("SELECT count(*) FROM keys").fetchone()[0]

    def pages(self, part: int | None = None) -> Iterator[list[bytes]]:
        """Give the keys, or those of a part, up to a thousand at a time."""
        select = _ALL
        of: tuple[int, ...] = ()
        if part is not None:
            self._divide()
            select, of = _OF_PART, (part,)
        last = 0
        while page := self._db.execute(select, (*of, last, _PAGE)).fetchall():
            last = page[-1][0]
            yield [key for _, key in page]

    def _divide(self) -> None:
        """Sort the keys by part, where they are asked for so."""
        self._db.create_function("part", 1, part_of, deterministic=True)
        self._db.execute("CREATE INDEX IF NOT EXISTS keys_by_part ON keys (part(key))")

    def remove(self, keys: Iterable[bytes]) -> None:
        """Forget keys."""
        self._db.execute("CREATE INDEX IF NOT EXISTS keys_by_key ON keys (key)").close()
        self._db.executemany("DELETE FROM keys WHERE key = ?", zip(keys, strict=True))

    def holds(self, key: bytes) -> bool:
        """Tell whether a key is there."""
        self._db.execute("CREATE INDEX IF NOT EXISTS keys_by_key ON keys (key)").close()
        found = self._db.execute("SELECT 1 FROM keys WHERE key = ?", (key,)).fetchone()
        return found is not None

    def add_session(self, root: str, session: str) -> None:
        """Note a session, which may be noted already."""
        self._db.execute(
            "INSERT OR IGNORE INTO sessions VALUES (?, ?)", (root, session)
        )

    def sessions(self) -> dict[str, int]:
        """Count the sessions of each root."""
        return dict(
            self._db.execute("SELECT root, count(*) FROM sessions GROUP BY root")
        )

    def close(self) -> None:
        """Give the disk space back."""
        self._db.close()


def part_of(key: bytes) -> int:
    """The part of a key: the same in every run, whatever server holds it."""
    return key_slot(key) * PARTS // _SLOTS
