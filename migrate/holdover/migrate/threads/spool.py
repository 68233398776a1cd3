"""Sessions put together on local disk: sources deliver messages, not sessions."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import orjson

from holdover.migrate.sources.base import Reject, SourceItem

#: A state is one value, read as a whole: past this, no program can go on with it.
MOST_BYTES = 64 << 20
_CACHE_KB = 16_384
_REMEMBERED = 100_000


@dataclass
class Session:
    """The messages of one session, in order.

    Attributes:
        contents: Position and content of each.
        locator: Where they came from, without the place of a message.
        ended_at: When the last of them was written, if that is known.
        aligned: Whether positions are places in a list that may lose its old end.
        size: Its bytes as JSON; contents are left out where it is too large.
    """

    root: str
    id: str
    locator: str = ""
    contents: list[tuple[int, dict[str, Any]]] = field(default_factory=list)
    ended_at: datetime | None = None
    aligned: bool = False
    size: int = 0
    rejects: list[Reject] = field(default_factory=list)

    @property
    def too_large(self) -> bool:
        """Whether it is more than can be one state."""
        return self.size > MOST_BYTES


class Spool:
    """Messages as they come, sessions as they are wanted; memory stays flat."""

    def __init__(self) -> None:
        self._conn = sqlite3.connect("", isolation_level=None)
        self._conn.execute("PRAGMA journal_mode=OFF")
        self._conn.execute("PRAGMA synchronous=OFF")
        self._conn.execute(f"PRAGMA cache_size=-{_CACHE_KB}")
        self._conn.execute(
            "CREATE TABLE session (id INTEGER PRIMARY KEY, root BLOB, name BLOB, "
            "aligned INTEGER, size INTEGER DEFAULT 0, UNIQUE (root, name))"
        )
        self._conn.execute("CREATE TABLE thread (id BLOB PRIMARY KEY) WITHOUT ROWID")
        self._conn.execute(
            "CREATE TABLE message (session INTEGER, position INTEGER, locator BLOB, "
            "created_at TEXT, content BLOB)"
        )
        self._ids: dict[tuple[str, str], int] = {}
        self._indexed = False

    def add(self, items: Iterable[SourceItem], *, aligned: bool = False) -> int:
        """Keep the messages among these; say how many there were."""
        rows = []
        conn = self._conn
        conn.execute("BEGIN")
        for item in items:
            if item.kind != "message":
                continue
            content = _dumped(item.content)
            session = self._session(item.root, item.session, aligned=aligned)
            created = item.created_at.isoformat() if item.created_at else None
            rows.append(
                (session, item.position or 0, _raw(item.locator), created, content)
            )
        conn.executemany("INSERT INTO message VALUES (?, ?, ?, ?, ?)", rows)
        conn.execute("COMMIT")
        return len(rows)

    def add_names(self, items: Iterable[SourceItem]) -> None:
        """Keep the sessions of these only."""
        self._conn.execute("BEGIN")
        for item in items:
            if item.kind == "message":
                self._session(item.root, item.session, aligned=False)
        self._conn.execute("COMMIT")

    def claim(self, thread_id: str) -> bool:
        """Take a thread's id; `False` if another session has it."""
        taken = self._conn.execute(
            "INSERT OR IGNORE INTO thread VALUES (?)", (_raw(thread_id),)
        )
        return bool(taken.rowcount)

    def _session(self, root: str, name: str, *, aligned: bool) -> int:
        found = self._ids.get((root, name))
        if found is None:
            if len(self._ids) > _REMEMBERED:
                self._ids.clear()
            raw = (_raw(root), _raw(name))
            self._conn.execute(
                "INSERT OR IGNORE INTO session (root, name, aligned) VALUES (?, ?, ?)",
                (*raw, aligned),
            )
            row = self._conn.execute(
                "SELECT id FROM session WHERE root = ? AND name = ?", raw
            ).fetchone()
            found = self._ids[root, name] = int(row[0])
        return found

    @property
    def count(self) -> int:
        """How many sessions there are."""
        return int(self._conn.execute("SELECT count(*) FROM session").fetchone()[0])

    def names(self) -> Iterator[tuple[str, str]]:
        """Root and id of every session."""
        for root, name in self._conn.execute("SELECT root, name FROM session"):
            yield _text(root), _text(name)

    def sessions(self) -> Iterator[Session]:
        """Every session with its messages, one after the other."""
        if not self._indexed:
            self._conn.execute("CREATE INDEX places ON message (session, position)")
            self._indexed = True
        listed = self._conn.execute(
            "SELECT id, root, name, aligned FROM session ORDER BY id"
        )
        for number, root, name, aligned in listed:
            session = Session(_text(root), _text(name), aligned=bool(aligned))
            self._fill(session, number)
            yield session

    def _fill(self, session: Session, number: int) -> None:
        (session.size,) = self._conn.execute(
            "SELECT sum(length(content)) FROM message WHERE session = ?", (number,)
        ).fetchone()
        rows = self._conn.execute(
            "SELECT position, locator, created_at, content FROM message "
            "WHERE session = ? ORDER BY position, rowid",
            (number,),
        )
        last: tuple[int, bytes] | None = None
        for position, locator, created_at, content in rows:
            if not session.locator:
                session.locator = _text(locator).rpartition("#")[0]
            if session.too_large:
                return
            if last and last[0] == position:
                if last[1] != content:
                    session.rejects.append(
                        Reject(
                            "same-place",
                            _text(locator),
                            "another message of the session has the same position",
                        )
                    )
                continue
            last = (position, content)
            session.contents.append((position, orjson.loads(content)))
            if created_at:
                session.ended_at = datetime.fromisoformat(created_at)

    def close(self) -> None:
        """Remove it."""
        self._conn.close()


def _dumped(content: Any) -> bytes:
    try:
        return orjson.dumps(content)
    except TypeError:
        return orjson.dumps(_whole(content))


def _whole(value: Any) -> Any:
    """A copy with escapes in place of lone surrogates, which no checkpoint holds."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {_whole(name): _whole(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_whole(one) for one in value]
    return value


def _raw(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogatepass")
