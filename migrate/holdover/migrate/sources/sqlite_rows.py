"""Turns the rows of entity tables into items and rejects."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Any

from holdover.migrate.sources.base import Reject
from holdover.migrate.sources.batching import Pace, Rows, make_item
from holdover.migrate.sources.sqlite_tables import encoding_of, quote

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from holdover.migrate.sources.sqlite_tables import EntityTable

_AT_ONCE = 2000
_DETAILS = {
    "null-key": "The key is NULL: it names no entity.",
    "binary-key": "The key is binary, not text.",
    "null-value": "The value is NULL.",
    "binary-value": "The value is binary, not text.",
    "empty-value": "The value is empty.",
    "not-utf8": "The text is not valid in the encoding of the file.",
}
_TEXT = "typeof({0}) NOT IN ('null', 'blob')"
_KEY, _VALUE = _TEXT.format("key"), _TEXT.format("value")
#: What `RowReader` will find, for SQL: a row counts under the first that is true.
REASONS = {
    "null-key": "key IS NULL",
    "binary-key": "typeof(key) = 'blob'",
    "null-value": f"value IS NULL AND {_KEY}",
    "binary-value": f"typeof(value) = 'blob' AND {_KEY}",
    "empty-value": f"value = '' AND {_KEY}",
}
READABLE = f"{_KEY} AND {_VALUE} AND value <> ''"


class RowReader:
    """Reads rows of one open file; `prefix` begins every locator."""

    def __init__(self, connection: sqlite3.Connection, prefix: str) -> None:
        self._connection = connection
        self._prefix = prefix
        self._encoding = encoding_of(connection)
        self._pace = Pace(_AT_ONCE)

    def after(
        self, table: EntityTable, rowid: int | None, room: int, rows: Rows
    ) -> tuple[int | None, bool]:
        """Read on behind a row; gives the last row read, and whether it was all."""
        where, parameters = ("", []) if rowid is None else ("WHERE rowid > ?", [rowid])
        before = rows.count
        last = self._select(
            table, f"{where} ORDER BY rowid LIMIT ?", [*parameters, room], rows
        )
        if last is None:
            return rowid, True
        return last, rows.count - before < room and not rows.full

    def named(self, table: EntityTable, keys: Sequence[str], rows: Rows) -> None:
        """Read the rows with these keys."""
        marks = ",".join("?" * len(keys))
        self._select(table, f"WHERE key IN ({marks})", keys, rows)

    def keys(
        self, table: EntityTable, rowid: int | None, room: int, rows: Rows
    ) -> tuple[int | None, bool]:
        """Read names only, of the rows that have something to read."""
        where, parameters = ("", []) if rowid is None else ("AND rowid > ?", [rowid])
        found = self._connection.execute(
            f"SELECT rowid, CAST(key AS BLOB) FROM {quote(table.name)}"  # noqa: S608 - quoted
            f" WHERE {READABLE} {where} ORDER BY rowid LIMIT ?",
            [*parameters, room],
        ).fetchall()
        locator = f"{self._prefix}{table.name}"
        _, root, session = table
        rows.items += [
            make_item(
                ("entity", root, session, key, {}, locator, None, None, None, None)
            )
            for key in self._readable([raw for _, raw in found])
        ]
        return (found[-1][0] if found else rowid), len(found) < room

    def _readable(self, keys: list[bytes]) -> list[str]:
        """Decode keys; one that cannot be read is a reject where its value is."""
        try:
            return [key.decode(self._encoding) for key in keys]
        except UnicodeDecodeError:
            half = len(keys) // 2
            if not half:
                return []
            return self._readable(keys[:half]) + self._readable(keys[half:])

    def _fields(
        self, table: EntityTable, key: str, content: dict[str, Any]
    ) -> tuple[Any, ...]:
        locator = f"{self._prefix}{table.name}"
        name = ("entity", table.root, table.session, key)
        return (*name, content, locator, None, None, None, None)

    def _select(
        self, table: EntityTable, where: str, parameters: Sequence[Any], rows: Rows
    ) -> int | None:
        if self._encoding == "utf-8":
            marks = len(rows.items), len(rows.rejects), rows.size
            try:
                return self._clean(table, where, parameters, rows)
            except sqlite3.OperationalError as error:
                # Only the failed decoding, which is Python's own, has no code.
                if hasattr(error, "sqlite_errorcode"):
                    raise
                del rows.items[marks[0] :], rows.rejects[marks[1] :]
                rows.size = marks[2]
        return self._exact(table, where, parameters, rows)

    def _clean(
        self, table: EntityTable, where: str, parameters: Sequence[Any], rows: Rows
    ) -> int | None:
        """Read rows that SQLite's own decoding gets right: nearly all there are."""
        locator = f"{self._prefix}{table.name}"
        _, root, session = table
        last = None
        sql = f"SELECT rowid, key, value FROM {quote(table.name)} {where}"  # noqa: S608 - quoted
        for found in self._chunks(sql, parameters):
            before = len(rows.items)
            rows.items += [
                make_item(
                    (
                        "entity",
                        root,
                        session,
                        key,
                        {"name": key, "summary": value},
                        locator,
                        None,
                        None,
                        None,
                        None,
                    )
                )
                for _, key, value in found
                if type(key) is str is type(value) and value
            ]
            if len(rows.items) - before < len(found):
                del rows.items[before:]
                for rowid, key, value in found:
                    self._add(table, rowid, key, value, rows)
            size = sum([len(value) for _, _, value in found if value.__class__ is str])
            last = self._advance(found, size, rows)
            if rows.full:
                break
        return last

    def _exact(
        self, table: EntityTable, where: str, parameters: Sequence[Any], rows: Rows
    ) -> int | None:
        """Read rows byte by byte.

        SQLite turns broken UTF-16 into other characters without a word, and Python
        raises for a whole chunk of rows.
        """
        last = None
        sql = (
            "SELECT rowid, typeof(key), CAST(key AS BLOB), typeof(value),"  # noqa: S608 - quoted
            f" CAST(value AS BLOB) FROM {quote(table.name)} {where}"
        )
        for found in self._chunks(sql, parameters):
            size = 0
            for rowid, key_type, raw_key, value_type, raw_value in found:
                size += len(raw_value or b"")
                try:
                    key, value = (
                        raw.decode(self._encoding)
                        if kind not in {"null", "blob"}
                        else raw
                        for kind, raw in ((key_type, raw_key), (value_type, raw_value))
                    )
                except UnicodeDecodeError:
                    self._refuse(table, f"rowid={rowid}", "not-utf8", rows)
                else:
                    self._add(table, rowid, key, value, rows)
            last = self._advance(found, size, rows)
            if rows.full:
                break
        return last

    def _chunks(self, sql: str, parameters: Sequence[Any]) -> Iterator[list[Any]]:
        cursor = self._connection.execute(sql, parameters)
        try:
            while found := cursor.fetchmany(self._pace.records):
                yield found
        finally:
            cursor.close()  # a statement left open would keep a checkpoint waiting

    def _advance(self, found: list[Any], size: int, rows: Rows) -> int:
        self._pace.note(len(found), size)
        rows.size += size
        last: int = found[-1][0]
        return last

    def _add(
        self, table: EntityTable, rowid: int, key: object, value: object, rows: Rows
    ) -> None:
        """Add one row: a number stands for its text, as in a TEXT column."""
        place = f"rowid={rowid}"
        if key is None:
            self._refuse(table, place, "null-key", rows)
        elif isinstance(key, bytes):
            self._refuse(table, place, "binary-key", rows)
        elif value is None:
            self._refuse(table, str(key), "null-value", rows)
        elif isinstance(value, bytes):
            self._refuse(table, str(key), "binary-value", rows)
        elif value == "":
            self._refuse(table, str(key), "empty-value", rows)
        else:
            content = {"name": str(key), "summary": str(value)}
            rows.items.append(make_item(self._fields(table, str(key), content)))

    def _refuse(self, table: EntityTable, place: str, reason: str, rows: Rows) -> None:
        locator = f"{self._prefix}{table.name}#{place}"
        rows.rejects.append(Reject(reason, locator, _DETAILS[reason]))
