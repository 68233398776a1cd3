"""A PostgreSQL table as the classic histories read it.

`SQLChatMessageHistory` keeps JSON in a TEXT column, `PostgresChatMessageHistory` in a
JSONB one. The tables are made in a schema of our own, and get into the one that the
address leads to when they are complete.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, LiteralString

import psycopg
from psycopg import sql
from psycopg.rows import tuple_row

from holdover.compat.stores import postgres
from holdover.migrate.classic.base import (
    SURROGATE,
    Entry,
    Form,
    Refusal,
    unstorable,
)
from holdover.migrate.classic.messages import as_json
from holdover.migrate.errors import TargetError
from holdover.migrate.sources.store import Space

_SCHEMA = "holdover_way_back"
_OURS = sql.Identifier(_SCHEMA)
_DONE = sql.Identifier(_SCHEMA, "~done")
_DONE_NAME = "~done"
#: What each class creates, but for the schema.
_TEXT = "CREATE TABLE {} (id SERIAL PRIMARY KEY, session_id TEXT, message TEXT)"
_JSONB = (
    "CREATE TABLE {} (id SERIAL PRIMARY KEY, session_id TEXT NOT NULL, "
    "message JSONB NOT NULL)"
)
_LONGEST = 63
_ROWS_PER_COMMIT = 10_000
# PostgresChatMessageHistory writes its name sometimes with quotes, sometimes without.
_PLAIN = re.compile(r"[a-z_][a-z0-9_]*", re.ASCII)
_NO_TABLE = Refusal("table-name", "No table can have that name.")
_NUL = Refusal("nul", "PostgreSQL keeps no NUL.")


class PostgresForm(Form):
    """A table that is not there yet, of the name of each root."""

    label = "PostgreSQL"
    kinds = frozenset({"message"})
    counts_all = True

    def __init__(self, address: str, shown: str, *, jsonb: bool) -> None:
        super().__init__(shown)
        self._jsonb = jsonb
        self._conn = postgres.connect(address)
        self._conn.row_factory = tuple_row
        self._made: set[str] = set()
        self._open: Any = None
        self._uncommitted = 0

    def begun(self) -> str | None:
        """See `Form.begun`."""
        with self._errors():
            row = self._one("SELECT to_regnamespace(%s)::text", (_SCHEMA,))
            if row is None or row[0] is None:
                return None
            row = self._one(
                "SELECT 1 FROM pg_tables WHERE schemaname = %s AND tablename = %s",
                (_SCHEMA, _DONE_NAME),
            )
            if row is None:
                return ""
            query = sql.SQL("SELECT mark FROM {} WHERE place = ''").format(_DONE)
            row = self._conn.execute(query).fetchone()
        return str(row[0]) if row else ""

    def taken(self, roots: Iterable[tuple[str, str]]) -> list[str]:
        """What already has the name of a root: any relation stands in the way."""
        names = [root for _, root in roots if not self._refuses_name(root)]
        query = (
            "SELECT 'relation ' || c.relname FROM pg_class c JOIN pg_namespace n "
            "ON n.oid = c.relnamespace WHERE n.nspname = current_schema() "
            "AND c.relname = ANY(%s) ORDER BY 1"
        )
        with self._errors():
            return [name for (name,) in self._conn.execute(query, (names,))]

    def _refuses_name(self, root: str) -> Refusal | None:
        if unstorable(root):
            return SURROGATE
        wrong = not root or "\x00" in root or len(root.encode()) > _LONGEST
        if wrong or root == _DONE_NAME or (self._jsonb and not _PLAIN.fullmatch(root)):
            return _NO_TABLE
        return None

    def refuses(self, space: Space) -> Refusal | None:
        """A root is a table."""
        if refusal := self._refuses_name(space.root):
            return refusal
        if unstorable(space.session):
            return SURROGATE
        return _NUL if "\x00" in space.session else None

    def refuses_entry(self, space: Space, entry: Entry) -> Refusal | None:  # noqa: ARG002
        """As text, JSON escapes what PostgreSQL refuses; JSONB does not."""
        if not self._jsonb:
            return None
        text = json.dumps(entry.value, ensure_ascii=False)
        if unstorable(text):
            return SURROGATE
        return _NUL if "\\u0000" in text and _has_nul(entry.value) else None

    def begin(self, mark: str) -> None:
        """See `Form.begin`."""
        with self._errors():
            if not self.begun():
                with self._conn.transaction():
                    # Of one that was stopped before its first record.
                    drop = sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(_OURS)
                    self._conn.execute(drop)
                    self._conn.execute(sql.SQL("CREATE SCHEMA {}").format(_OURS))
                    self._conn.execute(
                        sql.SQL(
                            "CREATE TABLE {} (place TEXT PRIMARY KEY, mark TEXT)"
                        ).format(_DONE)
                    )
                    self._conn.execute(
                        sql.SQL("INSERT INTO {} VALUES ('', %s)").format(_DONE),
                        (mark,),
                    )
            query = "SELECT tablename FROM pg_tables WHERE schemaname = %s"
            names = self._conn.execute(query, (_SCHEMA,)).fetchall()
        self._made = {name for (name,) in names} - {_DONE_NAME}

    def holds(self, space: Space) -> bool:
        """See `Form.holds`."""
        query = sql.SQL("SELECT 1 FROM {} WHERE place = %s").format(_DONE)
        with self._errors():
            row = self._conn.execute(query, (".".join(space.namespace),)).fetchone()
        return row is not None

    def write(self, space: Space, entries: Iterable[Entry]) -> int:
        """See `Form.write`; a few sessions share a transaction."""
        with self._errors():
            if self._open is None:
                self._open = self._conn.transaction()
                self._open.__enter__()
            if space.root not in self._made:
                form = sql.SQL(_JSONB if self._jsonb else _TEXT)
                self._conn.execute(form.format(self._table(space)))
                self._made.add(space.root)
            into = sql.SQL("COPY {} (session_id, message) FROM STDIN").format(
                self._table(space)
            )
            written = 0
            with self._conn.cursor() as cursor, cursor.copy(into) as copy:
                for entry in entries:
                    copy.write_row((space.session, as_json(entry.value)))
                    written += 1
            done = sql.SQL("INSERT INTO {} VALUES (%s, NULL)").format(_DONE)
            self._conn.execute(done, (".".join(space.namespace),))
            self._uncommitted += written + 1
            if self._uncommitted >= _ROWS_PER_COMMIT:
                self._commit()
        return written

    def _commit(self) -> None:
        if self._open is not None:
            opened, self._open, self._uncommitted = self._open, None, 0
            opened.__exit__(None, None, None)

    def prepare_reading(self) -> None:
        """See `Form.prepare_reading`; the classic tables have no index."""
        with self._errors():
            self._commit()
            for number, name in enumerate(sorted(self._made)):
                index = sql.Identifier(f"~index {number}")
                drop = sql.SQL("DROP INDEX IF EXISTS {}.{}").format(_OURS, index)
                self._conn.execute(drop)
                self._conn.execute(
                    sql.SQL("CREATE INDEX {} ON {} (session_id, id)").format(
                        index, sql.Identifier(_SCHEMA, name)
                    )
                )

    def messages(self, space: Space) -> Iterator[Any]:
        """See `Form.messages`, by a cursor in the server."""
        if space.root not in self._made:
            return
        query = sql.SQL(
            "SELECT message::text FROM {} WHERE session_id = %s ORDER BY id"
        ).format(self._table(space))
        with (
            self._errors(),
            self._conn.transaction(),
            self._conn.cursor("messages") as cursor,
        ):
            for (text,) in cursor.execute(query, (space.session,)):
                yield json.loads(text)

    def held(self) -> int:
        """See `Form.held`."""
        total = 0
        with self._errors():
            for name in self._made:
                table = sql.Identifier(_SCHEMA, name)
                query = sql.SQL("SELECT count(*) FROM {}").format(table)
                row = self._conn.execute(query).fetchone()
                total += row[0] if row else 0
        return total

    def finish(self) -> None:
        """Show all tables in one transaction; a name taken meanwhile stops it."""
        with self._errors():
            self._commit()
            row = self._one("SELECT current_schema()", ())
            schema = sql.Identifier(str(row[0] if row else "public"))
            with self._conn.transaction():
                for number, name in enumerate(sorted(self._made)):
                    index = sql.Identifier(f"~index {number}")
                    self._conn.execute(
                        sql.SQL("DROP INDEX IF EXISTS {}.{}").format(_OURS, index)
                    )
                    self._conn.execute(
                        sql.SQL("ALTER TABLE {} SET SCHEMA {}").format(
                            sql.Identifier(_SCHEMA, name), schema
                        )
                    )
                self._conn.execute(sql.SQL("DROP TABLE {}").format(_DONE))
                self._conn.execute(sql.SQL("DROP SCHEMA {}").format(_OURS))

    def _table(self, space: Space) -> sql.Identifier:
        return sql.Identifier(_SCHEMA, space.root)

    def _one(self, query: LiteralString, values: tuple[str, ...]) -> Any:
        return self._conn.execute(query, values).fetchone()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except psycopg.Error as error:
            reason = postgres.reason(error)
            raise TargetError(f"{self.address}: {reason}.") from None

    def close(self) -> None:
        """See `Form.close`."""
        self._conn.close()


def _has_nul(value: Any) -> bool:
    if isinstance(value, str):
        return "\x00" in value
    if isinstance(value, dict):
        return any("\x00" in name or _has_nul(inner) for name, inner in value.items())
    return isinstance(value, list) and any(map(_has_nul, value))
