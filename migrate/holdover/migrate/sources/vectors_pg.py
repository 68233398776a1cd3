"""Vector memory in PostgreSQL: what LangChain's two vector stores for pgvector keep.

`PGVector` (of `langchain_community` and `langchain_postgres`) has all collections in
one table; `PGVectorStore` has a table for each, with columns that may have any name.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from holdover.migrate.sources.batching import Pace
from holdover.migrate.sources.vectors_documents import Document, numbers_of
from holdover.migrate.sources.vectors_pg_tables import (
    COLLECTIONS,
    VectorTable,
    find_tables,
    quote,
)
from holdover.migrate.sources.vectors_source import VectorForm, VectorSource

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy.engine import Connection

    from holdover.migrate.sources.base import Blocker, ReadOptions, Skipped
    from holdover.migrate.sources.sql_opening import SqlServer
    from holdover.migrate.sources.vectors_source import Collection

_AT_ONCE = 1_000
_NO_COLLECTION = "langchain"


def of_server(server: SqlServer, options: ReadOptions) -> VectorSource:
    """Read a database that others read, too."""
    return VectorSource(server.address, PgVectors(server, options), options, one=False)


class PgVectors(VectorForm):
    """The collections and tables of one database."""

    label = "PostgreSQL"

    def __init__(self, server: SqlServer, options: ReadOptions) -> None:
        self._server, self._options = server, options
        self._skipped: list[Skipped] = []
        self._blockers: list[Blocker] = []

    def collections(self) -> list[Collection]:
        """Collections by their name, tables by theirs."""
        found: list[Collection] = []
        with self._server.reading() as connection:
            held = find_tables(connection, self._options)
            self._skipped, self._blockers = held.skipped, held.blockers
            for table in held.tables:
                if table.columns.shared:
                    found += self._shared(connection, table)
                else:
                    found.append(
                        PgCollection(self._server, table, table.name, table.name)
                    )
        return found

    def skipped(self) -> list[Skipped]:
        """The other tables."""
        return self._skipped

    def blockers(self) -> list[Blocker]:
        """Tables of vector memory that this login cannot read whole."""
        return self._blockers

    def close(self) -> None:
        """Give back the connections."""
        self._server.close()

    def _shared(
        self, connection: Connection, table: VectorTable
    ) -> Iterator[PgCollection]:
        """The collections of a table that all share; several may have one name."""
        rows = connection.exec_driver_sql(
            f"SELECT uuid::text, name FROM {quote(table.schema)}.{quote(COLLECTIONS)}"  # noqa: S608 - quoted
            " ORDER BY uuid"
        ).all()
        by_name: dict[str, list[str]] = {}
        for key, name in rows:
            by_name.setdefault(name if name is not None else "", []).append(key)
        # In a second schema, the same names mean other collections.
        where = f"{table.schema}." if table.qualified else ""
        for name, keys in by_name.items():
            locator = f"{table.name}/{name}"
            yield PgCollection(self._server, table, f"{where}{name}", locator, keys)
        orphans = connection.exec_driver_sql(
            f"SELECT EXISTS (SELECT 1 FROM {table.quoted}"  # noqa: S608
            " WHERE collection_id IS NULL)"
        ).scalar()
        if orphans:
            locator = f"{table.name}/"
            yield PgCollection(
                self._server, table, f"{where}{_NO_COLLECTION}", locator, []
            )


class PgCollection:
    """One collection, or one table.

    Args:
        server: Where it is.
        table: Its table.
        root: Its root.
        locator: How locators name it.
        keys: Of a shared table, the collections; none of it are rows without one.
    """

    def __init__(
        self,
        server: SqlServer,
        table: VectorTable,
        root: str,
        locator: str,
        keys: list[str] | None = None,
    ) -> None:
        self._server, self._table, self._keys = server, table, keys
        self.root = root
        self.locator = f"{server.backend}:{server.database}#{locator}"

    def documents(self, after: Any, *, vectors: bool) -> Iterator[Document]:
        """By primary key; what is before `after` without vectors."""
        if after is not None:
            for row in self._rows(None, after, vectors=False):
                yield self._document(row, known=True)
        for row in self._rows(after, None, vectors=vectors):
            yield self._document(row, known=False)

    def _rows(
        self, after: Any, until: Any, *, vectors: bool
    ) -> Iterator[tuple[Any, ...]]:
        pace = Pace(_AT_ONCE)
        while True:
            sql, values = self._select(after, until, pace.records, vectors=vectors)
            with self._server.reading() as connection:
                rows = connection.exec_driver_sql(sql, values).all()
            if not rows:
                return
            size = 0
            for row in rows:
                size += sum(len(one) for one in row if isinstance(one, str))
                yield tuple(row)
            pace.note(len(rows), size)
            after = rows[-1][0]

    def _select(
        self, after: Any, until: Any, most: int, *, vectors: bool
    ) -> tuple[str, tuple[Any, ...]]:
        table = self._table
        wheres: list[str] = []
        values: list[Any] = []
        if self._keys is not None and self._keys:
            wheres.append("collection_id = ANY(CAST(%s AS uuid[]))")
            values.append(self._keys)
        elif self._keys is not None:
            wheres.append("collection_id IS NULL")
        for sign, place in ((">", after), ("<=", until)):
            if place is not None:
                wheres.append(f"{table.key} {sign} CAST(%s AS {table.key_type})")
                values.append(place)
        where = f"WHERE {' AND '.join(wheres)}" if wheres else ""
        held = table.columns
        numbers = f"{quote(held.embedding)}::text" if held.embedding else "NULL::text"
        count = f"array_length(string_to_array({numbers}, ','), 1)"
        columns = ", ".join(
            (
                f"{table.key}::text",
                f"{quote(held.text)}::text",
                f"{quote(held.metadata)}::text" if held.metadata else "NULL",
                _others(table),
                numbers if vectors else "NULL",
                "NULL" if vectors else count,
            )
        )
        values.append(most)
        sql = (
            f"SELECT {columns} FROM {table.quoted} {where}"  # noqa: S608 - quoted
            f" ORDER BY {table.key} LIMIT %s"
        )
        return sql, tuple(values)

    def _document(self, row: tuple[Any, ...], *, known: bool) -> Document:
        key, text, metadata, others, numbers, count = row
        vector = _vector(numbers)
        dims = len(vector) if vector is not None else count or 0
        # Rows of the old class have no metadata, those of the new one columns for it.
        held = _parsed(metadata)
        if isinstance(held, dict) or held is None:
            more = _parsed(others)
            if isinstance(more, dict):
                given = {n: v for n, v in more.items() if v is not None}
                held = {**(held or {}), **given}
        return Document(key, key, text, held, vector, dims, known=known)


def _others(table: VectorTable) -> str:
    """The columns that are metadata, too, as one JSON."""
    if not table.others:
        return "NULL"
    names = ", ".join(f"{table.alias}.{name}" for name in table.others)
    return f"(SELECT row_to_json(x) FROM (SELECT {names}) x)::text"  # noqa: S608 - quoted


def _parsed(text: str | None) -> Any:
    if text is None:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _vector(text: str | None) -> Any:
    """`[1,2]` of a vector or `{1,2}` of an array."""
    if not text or text[0] not in "[{":
        return None
    try:
        return numbers_of(list(map(float, text[1:-1].split(","))))
    except ValueError:
        return None
