"""The order of messages that are keys of their own: a cache on local disk."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from holdover.migrate.sources.base import Reject
from holdover.migrate.sources.redis_spool import PARTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_PAGE = 1000
_SORTED = (
    "SELECT id, root, session, moment, key FROM sorted WHERE id > ? {} "
    "ORDER BY id LIMIT ?"
)
_REJECTS = (
    "SELECT id, reason, locator, detail FROM rejects WHERE id > ? {} "
    "ORDER BY id LIMIT ?"
)
#: A microsecond has so many positions, for messages of the same one.
_TIES = 1024
#: The first moment, in seconds, that is none: the last positions are for ties.
END = 9_000_000_000.0


class Entry(NamedTuple):
    """A document: where its message belongs, and when it was said, in seconds."""

    root: str
    session: str
    moment: float
    key: bytes
    position: int = 0


class Index:
    """Holds any number of documents in little memory; they come back by session.

    The file has no name: it is gone when it is closed, or when the process dies.
    """

    def __init__(self) -> None:
        self._db = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._db.executescript(
            "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
            "PRAGMA cache_size = -8192; PRAGMA temp_store = FILE;"
            "CREATE TABLE found"
            " (part INTEGER, root BLOB, session BLOB, moment REAL, key BLOB);"
            "CREATE TABLE sorted (id INTEGER PRIMARY KEY,"
            " part INTEGER, root BLOB, session BLOB, moment REAL, key BLOB);"
            "CREATE TABLE rejects"
            " (id INTEGER PRIMARY KEY, part INTEGER, reason, locator, detail);"
            "BEGIN"
        )

    def add(self, entries: Iterable[Entry]) -> None:
        """Add documents."""
        # As bytes: the text of a document may hold half a character.
        self._db.executemany(
            "INSERT INTO found VALUES (?, ?, ?, ?, ?)",
            (
                (part_of(one), _raw(one.root), _raw(one.session), one.moment, one.key)
                for one in entries
            ),
        )

    def refuse(self, reject: Reject) -> None:
        """Add what cannot be read."""
        self._db.execute(
            "INSERT INTO rejects (part, reason, locator, detail) VALUES (?, ?, ?, ?)",
            (crc32(_raw(reject.locator)) % PARTS, *reject),
        )

    def seal(self) -> None:
        """Sort what was added."""
        self._db.execute(
            "INSERT INTO sorted (part, root, session, moment, key) SELECT * FROM found"
            " ORDER BY part, root, session, moment, key"
        )
        self._db.execute("DROP TABLE found")
        # Ids are in the order of the parts, so an index has nothing to sort.
        self._db.execute("CREATE INDEX sorted_by_part ON sorted (part)")

    def pages(self, part: int | None = None) -> Iterator[list[Entry]]:
        """Give the documents, or those of a part, in order, with their positions."""
        last, position = 0, -1
        session: tuple[bytes, bytes] | None = None
        while rows := self._db.execute(
            _SORTED.format(_of(part)), (last, _PAGE)
        ).fetchall():
            last = rows[-1][0]
            page = []
            for _, root, name, moment, key in rows:
                if (root, name) != session:
                    session, position = (root, name), -1
                position = max(position + 1, round(moment * 1_000_000) * _TIES)
                page.append(Entry(_text(root), _text(name), moment, key, position))
            yield page

    def rejects(self, part: int | None = None) -> Iterator[list[Reject]]:
        """Give what cannot be read."""
        last = 0
        while rows := self._db.execute(
            _REJECTS.format(_of(part)), (last, _PAGE)
        ).fetchall():
            last = rows[-1][0]
            yield [Reject(*row[1:]) for row in rows]

    def sessions(self) -> dict[str, int]:
        """Count the sessions of each root."""
        counted = self._db.execute(
            "SELECT root, count(DISTINCT session) FROM sorted GROUP BY root"
        )
        return {_text(root): number for root, number in counted}

    def close(self) -> None:
        """Give the disk space back."""
        self._db.close()


def part_of(one: Entry) -> int:
    """The part of a session: the same in every run."""
    return crc32(_raw(one.session), crc32(_raw(one.root))) % PARTS


def _of(part: int | None) -> str:
    return "" if part is None else f"AND part = {int(part)}"


def _raw(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogatepass")
