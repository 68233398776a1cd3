"""A SQLite file as `SQLiteEntityStore` and `SQLChatMessageHistory` read it.

It is written under another name, with a table of what is done; both go when it gets
its own name.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from holdover.compat.errors import AddressError
from holdover.compat.stores.address import sqlite_path
from holdover.migrate.classic.base import (
    SURROGATE,
    Entry,
    Form,
    Refusal,
    unstorable,
)
from holdover.migrate.classic.messages import as_json
from holdover.migrate.errors import TargetError
from holdover.migrate.sources.naming import fold
from holdover.migrate.sources.sqlite_tables import quote
from holdover.migrate.sources.store import Space

#: As `SQLiteEntityStore` leaves it in `sqlite_master`.
_ENTITIES = (
    "CREATE TABLE {} (\n"
    "                key TEXT PRIMARY KEY,\n"
    "                value TEXT\n"
    "            )"
)
#: As SQLAlchemy makes it for `SQLChatMessageHistory`.
_MESSAGES = (
    "CREATE TABLE {} (\n"
    "\tid INTEGER NOT NULL, \n"
    "\tsession_id TEXT, \n"
    "\tmessage TEXT, \n"
    "\tPRIMARY KEY (id)\n"
    ")"
)
_NO_TABLE = Refusal("table-name", "No table can have that name.")
_NO_IDENTIFIER = Refusal(
    "session-name",
    "SQLiteEntityStore takes a table_name and a session_id that are identifiers.",
)
_SHARED = Refusal("table-shared", "Another session has the same table.")
_PLAIN = re.compile(r"(?!current_)[a-z_][a-z0-9_]*", re.ASCII)
_PART = ".holdover-part"
_DONE = "holdover way back"
_ROWS_PER_COMMIT = 10_000


class SqliteForm(Form):
    """A new file, or one that holds nothing."""

    label = "SQLite file"
    kinds = frozenset({"entity", "message"})
    counts_all = True

    def __init__(self, address: str, shown: str) -> None:
        super().__init__(shown)
        self._path = Path(sqlite_path(address)).resolve()
        if self._path.is_dir():
            raise AddressError(f"{shown} is a folder.", hint="Name a file in it.")
        if not self._path.parent.is_dir():
            raise AddressError(
                f"The folder {self._path.parent} does not exist.",
                hint="Create it first.",
            )
        self._part = self._path.with_name(self._path.name + _PART)
        self._conn: sqlite3.Connection | None = None
        self._uncommitted = 0
        #: Which session each table is of, by its name as SQLite compares it.
        self._tables: dict[str, Space] = {}
        self._made: set[str] = set()

    def begun(self) -> str | None:
        """See `Form.begun`."""
        if not self._part.exists():
            return None
        conn = sqlite3.connect(self._part)
        try:
            row = conn.execute(
                f"SELECT mark FROM {quote(_DONE)} WHERE place = ''"  # noqa: S608
            ).fetchone()
        except sqlite3.Error:
            return ""  # stopped before the first commit, or somebody else's
        finally:
            conn.close()
        return str(row[0]) if row else ""

    def taken(self, roots: Iterable[tuple[str, str]]) -> list[str]:  # noqa: ARG002
        """The tables in the file, whoever made them."""
        if not self._path.exists() or not self._path.stat().st_size:
            return []
        conn = sqlite3.connect(f"{self._path.as_uri()}?mode=ro", uri=True)
        try:
            rows = conn.execute(
                "SELECT type || ' ' || name FROM sqlite_master WHERE type != 'index' "
                "ORDER BY name"
            ).fetchall()
        except sqlite3.Error:
            return [f"{self._path.name}, which is no SQLite file"]
        finally:
            conn.close()
        return [str(name) for (name,) in rows]

    def refuses(self, space: Space) -> Refusal | None:
        """The class takes identifiers only, and SQLite folds the case of names."""
        if space.kind == "message":
            name = space.root
            if not name:
                return _NO_TABLE
        else:
            if not (space.root.isidentifier() and space.session.isidentifier()):
                return _NO_IDENTIFIER
            name = f"{space.root}_{space.session}"
        if unstorable(name + space.session):
            return SURROGATE
        if "\x00" in name or fold(name).startswith("sqlite_") or name == _DONE:
            return _NO_TABLE
        owner = self._tables.setdefault(fold(name), space)
        if space.kind == owner.kind == "message":
            return None if owner.root == space.root else _SHARED
        return None if owner == space else _SHARED

    def refuses_entry(self, space: Space, entry: Entry) -> Refusal | None:
        """The JSON of a message is ASCII."""
        refused = space.kind == "entity" and unstorable(entry.key + entry.value)
        return SURROGATE if refused else None

    def begin(self, mark: str) -> None:
        """See `Form.begin`."""
        fresh = not self.begun()
        if fresh:
            for leftover in ("", "-journal", "-wal", "-shm"):
                Path(f"{self._part}{leftover}").unlink(missing_ok=True)
            # What was moved is nobody else's to read.
            os.close(os.open(self._part, os.O_CREAT | os.O_WRONLY, 0o600))
        self._conn = conn = sqlite3.connect(self._part, isolation_level=None)
        conn.execute("BEGIN IMMEDIATE")
        if fresh:
            conn.execute(
                f"CREATE TABLE {quote(_DONE)} (place TEXT PRIMARY KEY, mark TEXT)"
            )
            conn.execute(f"INSERT INTO {quote(_DONE)} VALUES ('', ?)", (mark,))  # noqa: S608
            conn.execute("COMMIT")
            conn.execute("BEGIN IMMEDIATE")

    @property
    def _open(self) -> sqlite3.Connection:
        if self._conn is None:
            raise TargetError("The file is not open.")
        return self._conn

    def holds(self, space: Space) -> bool:
        """See `Form.holds`."""
        query = f"SELECT 1 FROM {quote(_DONE)} WHERE place = ?"  # noqa: S608
        return self._open.execute(query, (_place(space),)).fetchone() is not None

    def write(self, space: Space, entries: Iterable[Entry]) -> int:
        """See `Form.write`."""
        of_messages = space.kind == "message"
        write = self._write_messages if of_messages else self._write_entities
        written = write(space, entries)
        query = f"INSERT INTO {quote(_DONE)} VALUES (?, NULL)"  # noqa: S608
        self._open.execute(query, (_place(space),))
        self._uncommitted += written + 1
        if self._uncommitted >= _ROWS_PER_COMMIT:
            self._open.execute("COMMIT")
            self._open.execute("BEGIN IMMEDIATE")
            self._uncommitted = 0
        return written

    def _write_entities(self, space: Space, entries: Iterable[Entry]) -> int:
        table = quote(f"{space.root}_{space.session}")
        self._open.execute(_ENTITIES.format(table))
        query = f"INSERT INTO {table} VALUES (?, ?)"  # noqa: S608
        rows = ((entry.key, entry.value) for entry in entries)
        return max(0, self._open.executemany(query, rows).rowcount)

    def _write_messages(self, space: Space, entries: Iterable[Entry]) -> int:
        table = quote(space.root)
        if space.root not in self._made:
            query = "SELECT 1 FROM sqlite_master WHERE name = ?"
            if self._open.execute(query, (space.root,)).fetchone() is None:
                # SQLAlchemy quotes a name where it has to; keywords have no underscore.
                bare = "_" in space.root and _PLAIN.fullmatch(space.root)
                name = space.root if bare else table
                self._open.execute(_MESSAGES.format(name))
            self._made.add(space.root)
        query = f"INSERT INTO {table} (session_id, message) VALUES (?, ?)"  # noqa: S608
        rows = ((space.session, as_json(entry.value)) for entry in entries)
        return max(0, self._open.executemany(query, rows).rowcount)

    def prepare_reading(self) -> None:
        """See `Form.prepare_reading`; the classic table has no index."""
        conn = self._open
        for number, table in enumerate(self._message_tables()):
            index = quote(f"{_DONE} {number}")
            conn.execute(f"DROP INDEX IF EXISTS {index}")
            conn.execute(f"CREATE INDEX {index} ON {quote(table)} (session_id)")

    def _message_tables(self) -> list[str]:
        made = self._open.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table'"
        ).fetchall()
        roots = {s.root for s in self._tables.values() if s.kind == "message"}
        return sorted(roots & {name for (name,) in made})

    def messages(self, space: Space) -> Iterator[Any]:
        """See `Form.messages`."""
        query = (
            f"SELECT message FROM {quote(space.root)} "  # noqa: S608
            "WHERE session_id = ? ORDER BY id"
        )
        for (text,) in self._open.execute(query, (space.session,)):
            yield json.loads(text)

    def summaries(self, space: Space, names: Sequence[str]) -> list[str | None]:
        """See `Form.summaries`."""
        table = quote(f"{space.root}_{space.session}")
        query = f"SELECT value FROM {table} WHERE key = ?"  # noqa: S608
        rows = (self._open.execute(query, (name,)).fetchone() for name in names)
        return [row[0] if row else None for row in rows]

    def held(self) -> int:
        """See `Form.held`."""
        names = self._open.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name != ?",
            (_DONE,),
        ).fetchall()
        return sum(
            self._open.execute(f"SELECT count(*) FROM {quote(name)}").fetchone()[0]  # noqa: S608
            for (name,) in names
        )

    def finish(self) -> None:
        """See `Form.finish`."""
        conn = self._open
        indexes = conn.execute(
            "SELECT name FROM sqlite_master WHERE type = 'index' AND name LIKE ?",
            (f"{_DONE} %",),
        ).fetchall()
        for (name,) in indexes:
            conn.execute(f"DROP INDEX {quote(name)}")
        conn.execute(f"DROP TABLE {quote(_DONE)}")
        conn.execute("COMMIT")
        conn.close()
        self._conn = None
        if self._path.exists() and self._path.stat().st_size:
            raise TargetError(
                f"{self.address} was written by somebody else meanwhile.",
                hint=f"What was made is in {self._part}.",
            )
        self._part.replace(self._path)

    def close(self) -> None:
        """See `Form.close`."""
        if self._conn is not None:
            self._conn.close()


def _place(space: Space) -> str:
    return ".".join(space.namespace)
