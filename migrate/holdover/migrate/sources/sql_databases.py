"""The databases that chat histories lie in, as one: their tables, and how to ask.

What differs between them is a handful of expressions and where they list columns.
Statements have `?` for a parameter.
"""

from __future__ import annotations

import re
import sqlite3
from collections import defaultdict
from collections.abc import Sequence
from contextlib import closing, contextmanager
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Protocol

from holdover.migrate.sources.sql_layouts import Column, Table
from holdover.migrate.sources.sqlite_file import damaged, is_damaged, source_error
from holdover.migrate.sources.sqlite_tables import encoding_of, quote

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from sqlalchemy.engine import Connection

    from holdover.migrate.sources.sql_layouts import HistoryTable, Kind
    from holdover.migrate.sources.sql_opening import SqlServer
    from holdover.migrate.sources.sqlite_file import SqliteFile

#: Rows as the driver has them: SQLAlchemy's would cost as much again.
Answer = Sequence[tuple[Any, ...]]


class Reading(Protocol):
    """One moment of a database."""

    def ask(self, statement: str, parameters: Sequence[Any] = ()) -> Answer:
        """All rows of an answer that is known to be small."""
        ...

    def stream(
        self, statement: str, parameters: Sequence[Any], size: Callable[[], int]
    ) -> Generator[Answer, None, None]:
        """The rows of any answer, `size()` at a time."""
        ...


class Database(Protocol):
    """What holds the tables; nothing is opened before the first question.

    Attributes:
        address: The address without its password.
        label: What it is, for a person.
        lists_objects: Whether an inventory names all tables that are not read.
        streams: Whether a row of an answer is in memory only when it is fetched.
    """

    address: str
    label: str
    lists_objects: bool
    streams: bool

    @property
    def encoding(self) -> str:
        """What the bytes are that `text` gives."""
        ...

    @property
    def any_bytes(self) -> bool:
        """Whether text may be any bytes, so that it has to be asked for as such."""
        ...

    @property
    def place(self) -> str:
        """What begins every locator."""
        ...

    def reading(self) -> Any:
        """A context that gives a `Reading`; raises a `SourceError`."""
        ...

    def tables(self) -> list[Table]:
        """Every table and view, by name."""
        ...

    def check(self, tables: Sequence[HistoryTable]) -> None:
        """Look for damage where the database does not do it itself."""
        ...

    def notes(self) -> list[str]:
        """What a reader of any result has to know of how it was opened."""
        ...

    def name(self, table: Table) -> str:
        """A table in a statement."""
        ...

    def quoted(self, column: Column) -> str:
        """A column in a statement."""
        ...

    def text(self, column: Column, *, exact: bool = False) -> str:
        """A column as text; `exact`: as its bytes, which also tell texts apart."""
        ...

    def time(self, column: Column) -> str:
        """A column as a time in UTC, or as whatever it is."""
        ...

    def size(self, column: Column) -> str:
        """An expression for how many bytes a column has, found cheaply."""
        ...

    def close(self) -> None:
        """Close it."""
        ...


class SqliteDatabase:
    """A SQLite file, opened so that reading it leaves no trace."""

    label = "SQLite file"
    lists_objects = True
    streams = True
    any_bytes = True

    def __init__(self, address: str, file: SqliteFile) -> None:
        self.address = address
        self._file = file
        self._encoding: str | None = None

    @property
    def encoding(self) -> str:
        """The file's own: its bytes are taken as they are."""
        if self._encoding is None:
            with self.reading():
                self._encoding = encoding_of(self._file.connection)
        return self._encoding

    @property
    def place(self) -> str:
        """See `Database`."""
        return f"sqlite:{self._file.path.name}#"

    @contextmanager
    def reading(self) -> Iterator[Reading]:
        """See `Database`."""
        try:
            connection = self._file.connection
            nested = connection.in_transaction
            if not nested:
                connection.execute("BEGIN")
            try:
                yield _SqliteReading(connection)
            finally:
                if not nested and connection.in_transaction:
                    connection.execute("ROLLBACK")
        except sqlite3.Error as error:
            # Not chained: Python puts the text it could not decode in its message.
            raise source_error(error, self._file.path) from None

    def tables(self) -> list[Table]:
        """See `Database`."""
        with self.reading() as reading:
            found = reading.ask(
                "SELECT type, CAST(name AS BLOB), CAST(sql AS BLOB) FROM sqlite_master"
                " WHERE type IN ('table', 'view')"
                " AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name"
            )
            return [
                self._table(reading, kind, self._said(name), self._said(sql))
                for kind, name, sql in found
            ]

    def _said(self, raw: bytes | None) -> str:
        """What a name is, to look at: no stranger's name may be in the way."""
        return (raw or b"").decode(self.encoding, "backslashreplace")

    def _table(self, reading: Reading, kind: str, name: str, sql: str) -> Table:
        why = ""
        if kind == "view":
            why = "a view: it has no rows of its own"
        elif sql.upper().startswith("CREATE VIRTUAL"):
            why = "a virtual table"
        # An entity table is told by its definition: there may be very many of them.
        if why or not _MAYBE_HISTORY.search(sql):
            return Table(name, None, name, (), why_not=why or "no chat history")
        found = reading.ask(_SQLITE_COLUMNS, (name,))
        columns = [
            (self._said(column), self._said(declared).upper(), key)
            for column, declared, key in found
        ]
        keys = [(column, declared) for column, declared, key in columns if key]
        own_rowid = any(column.lower() == "rowid" for column, _, _ in columns)
        rowids = not _WITHOUT_ROWID.search(sql)
        numbers = frozenset(
            column
            for column, declared in keys
            if len(keys) == 1 and declared == "INTEGER" and rowids
        )
        return Table(
            name,
            None,
            name,
            tuple(Column(column, _by_affinity(kind)) for column, kind, _ in columns),
            numbers,
            own=_is_own(name, sql),
            hidden_number="rowid" if rowids and not own_rowid else None,
        )

    def check(self, tables: Sequence[HistoryTable]) -> None:
        """See `Database`."""
        with self.reading():
            for one in tables:
                check = f"PRAGMA quick_check({quote(one.table.name)})"
                if is_damaged(self._file.connection, check):
                    raise damaged(self._file.path, "it fails the check of SQLite")

    def notes(self) -> list[str]:
        """See `Database`."""
        return self._file.notes()

    def name(self, table: Table) -> str:
        """See `Database`."""
        return quote(table.table)

    def quoted(self, column: Column) -> str:
        """See `Database`."""
        return quote(column.name)

    def text(
        self,
        column: Column,
        *,
        exact: bool = False,  # noqa: ARG002 - bytes are exact
    ) -> str:
        """As bytes: SQLite keeps text that is not valid."""
        return f"CAST({quote(column.name)} AS BLOB)"

    def time(self, column: Column) -> str:
        """See `Database`."""
        return f"CAST({quote(column.name)} AS BLOB)"

    def size(self, column: Column) -> str:
        """See `Database`."""
        return f"length({self.text(column)})"

    def close(self) -> None:
        """See `Database`."""
        self._file.close()


def _is_own(name: str, sql: str) -> bool:
    heads = (f"CREATE TABLE {written} (" for written in (name, quote(name)))
    return any(
        sql.startswith(head) and _OWN_COLUMNS.fullmatch(sql, len(head))
        for head in heads
    )


class _SqliteReading:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def ask(self, statement: str, parameters: Sequence[Any] = ()) -> Answer:
        return self._connection.execute(statement, parameters).fetchall()

    def stream(
        self, statement: str, parameters: Sequence[Any], size: Callable[[], int]
    ) -> Generator[Answer, None, None]:
        # A statement left open would keep a checkpoint waiting.
        with closing(self._connection.execute(statement, parameters)) as cursor:
            while found := cursor.fetchmany(size()):
                yield found


class _ServerDatabase:
    """What databases of servers have in common."""

    lists_objects = False
    streams = False
    encoding = "utf-8"

    def __init__(self, server: SqlServer) -> None:
        self._server = server
        self.address, self.label = server.address, server.label

    @property
    def any_bytes(self) -> bool:
        """A server converts what it sends, and knows what it is."""
        return False

    @property
    def place(self) -> str:
        """See `Database`."""
        return f"{self._server.backend}:{self._server.database}#"

    @contextmanager
    def reading(self) -> Iterator[Reading]:
        """See `Database`."""
        with self._server.reading() as connection:
            yield _ServerReading(connection)

    def check(self, tables: Sequence[HistoryTable]) -> None:
        """A server checks its own pages."""

    def notes(self) -> list[str]:
        """See `Database`."""
        return []

    def close(self) -> None:
        """See `Database`."""
        self._server.close()


class _ServerReading:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def ask(self, statement: str, parameters: Sequence[Any] = ()) -> Answer:
        found = self._connection.exec_driver_sql(_marked(statement), tuple(parameters))
        with closing(found):
            cursor: Any = found.cursor
            rows: Answer = cursor.fetchall()
        return rows

    def stream(
        self, statement: str, parameters: Sequence[Any], size: Callable[[], int]
    ) -> Generator[Answer, None, None]:
        streamed = self._connection.exec_driver_sql(
            _marked(statement),
            tuple(parameters),
            execution_options={"stream_results": True},
        )
        with closing(streamed):
            # Not by the driver's cursor, of which SQLAlchemy has read the beginning.
            while rows := streamed.fetchmany(size()):
                yield [tuple(row) for row in rows]


class PostgresDatabase(_ServerDatabase):
    """A database of a PostgreSQL."""

    @property
    def any_bytes(self) -> bool:
        """Whether it was made without an encoding."""
        return self._server_encoding == "SQL_ASCII"

    @cached_property
    def _server_encoding(self) -> str:
        with self.reading() as reading:
            ((encoding,),) = reading.ask("SELECT getdatabaseencoding()")
        return str(encoding)

    def tables(self) -> list[Table]:
        """See `Database`."""
        columns: dict[int, list[Column]] = defaultdict(list)
        with self.reading() as reading:
            found = reading.ask(_POSTGRES_TABLES)
            likely = [row[0] for row in found]
            for start in range(0, len(likely), _AT_ONCE):
                some = likely[start : start + _AT_ONCE]
                asked = _POSTGRES_COLUMNS.replace("$", ", ".join("?" * len(some)))
                for place, name, type_, readable in reading.ask(asked, some):
                    kind = _POSTGRES_KINDS.get(type_, "other")
                    columns[place].append(Column(name, kind, readable))
        return [
            Table(
                name if visible else f"{schema}.{name}",
                schema,
                name,
                tuple(columns[place]),
                frozenset(numbers),
                _POSTGRES_WHY.get(kind, "") or ("a partition" if partition else ""),
                estimate=int(rows) if rows >= 0 else None,
                filtered=filtered,
            )
            for (
                place, schema, name, visible, kind, partition, rows, filtered, numbers,
            ) in found
        ]  # fmt: skip

    def name(self, table: Table) -> str:
        """See `Database`."""
        return f"{quote(table.schema or '')}.{quote(table.table)}"

    def quoted(self, column: Column) -> str:
        """See `Database`."""
        return quote(column.name)

    def text(self, column: Column, *, exact: bool = False) -> str:
        """See `Database`."""
        name = quote(column.name)
        if column.kind == "bytes":
            return name
        name = name if column.kind == "text" else f"{name}::text"
        # What any bytes are converted to is what they are.
        encoding = "SQL_ASCII" if self.any_bytes else "UTF8"
        return f"convert_to({name}, '{encoding}')" if exact else name

    def time(self, column: Column) -> str:
        """A moment that Python can hold, else NULL."""
        name = quote(column.name)
        if column.kind not in ("time", "moment"):
            return name
        held = f"{name} > '0001-01-02' AND {name} < '9999-12-30'"
        return f"CASE WHEN {held} THEN {name} END"

    def size(self, column: Column) -> str:
        """Without reading what is stored apart."""
        length = "octet_length" if column.kind == "text" else "pg_column_size"
        return f"{length}({quote(column.name)})"


class MysqlDatabase(_ServerDatabase):
    """A database of a MariaDB, a MySQL, or what speaks like them."""

    def tables(self) -> list[Table]:
        """See `Database`."""
        columns: dict[str, list[Column]] = defaultdict(list)
        with self.reading() as reading:
            for table, name, type_, rights in reading.ask(_MYSQL_COLUMNS):
                readable = "select" in rights.lower() if rights else True
                kind = _by_affinity(type_.upper())
                columns[table].append(Column(name, kind, readable))
            numbers: dict[str, set[str]] = defaultdict(set)
            for table, number in reading.ask(_MYSQL_NUMBERS):
                numbers[table].add(number)
            found = reading.ask(_MYSQL_TABLES)
        return [
            Table(
                name,
                None,
                name,
                tuple(columns[name]),
                frozenset(
                    column.name
                    for column in columns[name]
                    if column.kind == "integer" and column.name in numbers[name]
                ),
                "" if kind == "BASE TABLE" else _A_VIEW,
                estimate=int(rows) if rows is not None else None,
            )
            for name, kind, rows in found
        ]

    def name(self, table: Table) -> str:
        """See `Database`."""
        return _ticked(table.table)

    def quoted(self, column: Column) -> str:
        """See `Database`."""
        return _ticked(column.name)

    def text(self, column: Column, *, exact: bool = False) -> str:
        """See `Database`."""
        name = _ticked(column.name)
        if exact:
            return f"CAST({name} AS BINARY)"
        plain = column.kind in ("text", "json", "bytes")
        return name if plain else f"CAST({name} AS CHAR)"

    def time(self, column: Column) -> str:
        """See `Database`."""
        return _ticked(column.name)

    def size(self, column: Column) -> str:
        """See `Database`."""
        return f"length({_ticked(column.name)})"


def database_of(server: SqlServer) -> Database:
    """The tables of a server's database."""
    return PostgresDatabase(server) if server.is_postgres else MysqlDatabase(server)


@lru_cache(maxsize=256)
def _marked(statement: str) -> str:
    """A statement with the drivers' marks for parameters.

    A `?` or `%` within quotes is part of a name.
    """
    return _TOKENS.sub(
        lambda found: "%s" if found[0] == "?" else found[0].replace("%", "%%"),
        statement,
    )


def _ticked(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _by_affinity(declared: str) -> Kind:
    """What SQLite makes of a declared type; other databases' types fit as well."""
    if "INT" in declared:
        return "integer"
    if "JSON" in declared:
        return "json"
    if "BLOB" in declared or "BINARY" in declared:
        return "bytes"
    if any(part in declared for part in ("CHAR", "CLOB", "TEXT", "ENUM")):
        return "text"
    if declared.startswith(("DATE", "TIME")):
        return "time"
    return "other"


_AT_ONCE = 1000
_SQLITE_COLUMNS = (
    "SELECT CAST(name AS BLOB), CAST(type AS BLOB), pk FROM pragma_table_info(?)"
)
_A_VIEW = "a view: it has no rows of its own"
_TOKENS = re.compile(r"\"(?:[^\"]|\"\")*\"|`(?:[^`]|``)*`|'(?:[^']|'')*'|\?|%")
_WITHOUT_ROWID = re.compile(r"\)[^)]*\bWITHOUT\s+ROWID\b[^)]*$", re.IGNORECASE)
_ENTITIES = r"\s*key TEXT PRIMARY KEY,\s+value TEXT\s*\)\s*"
_MAYBE_HISTORY = re.compile(rf"(?s)\((?!{_ENTITIES}$)")
# SQLAlchemy breaks and indents its CREATE TABLE so, and SQLite keeps the text.
_OWN_COLUMNS = re.compile(
    r"\n\tid INTEGER NOT NULL, \n\tsession_id TEXT, \n\tmessage TEXT,"
    r" \n\tPRIMARY KEY \(id\)\n\)"
)

_POSTGRES_WHY = {
    "v": _A_VIEW,
    "m": "a materialised view: it has no rows of its own",
    "f": "a foreign table: its rows are elsewhere",
}
_POSTGRES_KINDS: dict[str, Kind] = {
    "int2": "integer",
    "int4": "integer",
    "int8": "integer",
    "text": "text",
    "varchar": "text",
    "bpchar": "text",
    "bytea": "bytes",
    "citext": "text",
    "json": "json",
    "jsonb": "json",
    "uuid": "uuid",
    "date": "time",
    "timestamp": "time",
    "timestamptz": "moment",
}
# A column that numbers the rows: an integer that is never null, under an index of its
# own that lets nothing in twice.
_POSTGRES_TABLES = """
SELECT c.oid, n.nspname, c.relname, pg_table_is_visible(c.oid), c.relkind::text,
  c.relispartition, c.reltuples, row_security_active(c.oid),
  ARRAY(
    SELECT a.attname::text FROM pg_index i JOIN pg_attribute a
      ON a.attrelid = c.oid AND a.attnum = i.indkey[0]
    WHERE i.indrelid = c.oid AND i.indisunique AND i.indisvalid
      AND i.indnkeyatts = 1 AND i.indpred IS NULL AND a.attnotnull
      AND a.atttypid IN ('int2'::regtype, 'int4'::regtype, 'int8'::regtype)
  )
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND c.relpersistence <> 't'
  AND n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\\_%'
  AND has_schema_privilege(n.oid, 'USAGE')
ORDER BY n.nspname, c.relname
"""
_POSTGRES_COLUMNS = """
SELECT a.attrelid, a.attname::text, t.typname::text,
  has_column_privilege(a.attrelid, a.attnum, 'SELECT')
FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
WHERE a.attrelid IN ($) AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attrelid, a.attnum
"""
_MYSQL_TABLES = """
SELECT table_name, table_type, table_rows FROM information_schema.tables
WHERE table_schema = database() ORDER BY table_name
"""
_MYSQL_COLUMNS = """
SELECT table_name, column_name, data_type, privileges FROM information_schema.columns
WHERE table_schema = database() ORDER BY table_name, ordinal_position
"""
_MYSQL_NUMBERS = """
SELECT table_name, min(column_name) FROM information_schema.statistics
WHERE table_schema = database() AND non_unique = 0
GROUP BY table_name, index_name
HAVING count(*) = 1 AND max(nullable) = ''
"""
