"""Which tables of a database hold vector memory, by their columns."""

from __future__ import annotations

import shlex
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from holdover.migrate.sources.base import Blocker, Skipped

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

    from holdover.migrate.sources.base import ReadOptions

COLLECTIONS = "langchain_pg_collection"
EMBEDDINGS = "langchain_pg_embedding"
#: LangGraph's own, which belong to no source.
_LANGGRAPH = {"store", "store_vectors"}
_VECTOR_TYPES = {"vector", "halfvec"}
_ARRAY_TYPES = {"_float4", "_float8"}
_NO_METADATA = {"vector", "halfvec", "sparsevec", "bit", "tsvector", "bytea"}
_JSON_TYPES = {"json", "jsonb"}
_TEXT_TYPES = {"text", "varchar", "bpchar"}

_COLUMNS = """
SELECT n.nspname, c.relname, a.attname, t.typname, format_type(a.atttypid, NULL),
       has_column_privilege(c.oid, a.attnum, 'SELECT'), row_security_active(c.oid)
FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
JOIN pg_type t ON t.oid = a.atttypid
WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition
  AND n.nspname <> 'information_schema' AND left(n.nspname, 3) <> 'pg_'
ORDER BY n.nspname, c.relname, a.attnum
"""
_KEYS = """
SELECT n.nspname, c.relname, a.attname
FROM pg_index i
JOIN pg_class c ON c.oid = i.indrelid
JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = i.indkey[0]
WHERE i.indisprimary AND i.indnkeyatts = 1
"""


def quote(name: str) -> str:
    """An identifier in a statement that a driver fills in."""
    return '"' + name.replace('"', '""').replace("%", "%%") + '"'


class _Column(NamedTuple):
    name: str
    type: str
    shown: str
    readable: bool
    filtered: bool


class Columns(NamedTuple):
    """Where a table has what; `shared` if all collections are in it."""

    text: str
    embedding: str | None
    metadata: str | None
    shared: bool


@dataclass(frozen=True)
class VectorTable:
    """A table to be read.

    Attributes:
        schema: Its schema.
        table: Its name there.
        name: What it is called here: with its schema where it needs that.
        qualified: Whether another schema has a table of that name.
        key: What its rows are ordered by, quoted.
        key_type: The type of that.
        columns: Its columns.
        others: Columns that are metadata each, quoted.
    """

    schema: str
    table: str
    name: str
    qualified: bool
    key: str
    key_type: str
    columns: Columns
    others: tuple[str, ...]

    @property
    def alias(self) -> str:
        """The table before one of its columns."""
        return quote(self.table)

    @property
    def quoted(self) -> str:
        """The table in a statement."""
        return f"{quote(self.schema)}.{quote(self.table)}"


@dataclass
class Held:
    """What a database holds of vector memory."""

    tables: list[VectorTable] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    blockers: list[Blocker] = field(default_factory=list)


def find_tables(connection: Connection, options: ReadOptions) -> Held:
    """Tell the tables of vector memory from all others."""
    columns: dict[tuple[str, str], dict[str, _Column]] = {}
    for schema, table, *column in connection.exec_driver_sql(_COLUMNS):
        held = columns.setdefault((schema, table), {})
        held[column[0]] = _Column(*column)
    keys = {
        (schema, table): name
        for schema, table, name in connection.exec_driver_sql(_KEYS)
    }
    home = connection.exec_driver_sql("SELECT current_schema()").scalar()
    named = Counter(table for _, table in columns)
    found = Held()
    for (schema, table), held in columns.items():
        name = table if schema == home else f"{schema}.{table}"
        taken = _take(table, held, options)
        if taken is None:
            continue
        if name in options.skip:
            found.skipped.append(Skipped(name, "left out by --skip"))
        elif isinstance(taken, str):
            found.skipped.append(Skipped(name, taken))
        elif why := _hidden(held, taken):
            found.blockers.append(
                Blocker(
                    "rights",
                    f"Table {name} holds vector memory, and this login {why}.",
                    f"--skip {shlex.quote(name)} or a login that reads all of it",
                )
            )
        else:
            key = keys.get((schema, table))
            found.tables.append(
                VectorTable(
                    schema,
                    table,
                    name,
                    qualified=schema != home and named[table] > 1,
                    key=quote(key) if key else "ctid",
                    key_type=held[key].shown if key else "tid",
                    columns=taken,
                    others=_others(held, taken, key),
                )
            )
    return found


def _take(
    table: str, held: dict[str, _Column], options: ReadOptions
) -> Columns | str | None:
    """How to read a table, or why not; `None` where it has nothing to do with it."""
    if table == EMBEDDINGS and {"collection_id", "document"} <= held.keys():
        metadata = "cmetadata" if "cmetadata" in held else None
        embedding = "embedding" if _is_vector(held.get("embedding")) else None
        return Columns("document", embedding, metadata, shared=True)
    own = table in _LANGGRAPH and "prefix" in held
    vectors = [one.name for one in held.values() if one.type in _VECTOR_TYPES]
    if own or not vectors:
        return None
    text = options.field("content", "content")
    metadata = options.field("metadata", "langchain_metadata")
    embedding = options.field("embedding", "embedding")
    if embedding not in vectors and len(vectors) == 1:
        embedding = vectors[0]
    known = {"langchain_id", metadata} & held.keys() or table in options.roots
    if not known or text not in held or held[text].type not in _TEXT_TYPES:
        return (
            "a table with vectors, but not with the columns of a PGVectorStore:"
            f" --kind turns --root {shlex.quote(table)} --field content=COLUMN reads it"
        )
    if embedding not in vectors:
        return "a table with several vectors: --field embedding=COLUMN reads one"
    is_json = metadata in held and held[metadata].type in _JSON_TYPES
    return Columns(text, embedding, metadata if is_json else None, shared=False)


def _is_vector(column: _Column | None) -> bool:
    return column is not None and column.type in _VECTOR_TYPES | _ARRAY_TYPES


def _others(
    held: dict[str, _Column], taken: Columns, key: str | None
) -> tuple[str, ...]:
    """The columns that are metadata each."""
    if taken.shared:
        return ()
    known = {key, taken.text, taken.embedding, taken.metadata}
    return tuple(
        quote(one.name)
        for one in held.values()
        if one.name not in known and one.type not in _NO_METADATA
    )


def _hidden(held: dict[str, _Column], taken: Columns) -> str:
    """Say what of a table this login may not see, if there is anything."""
    wanted = (taken.text, taken.embedding, taken.metadata)
    for one in held.values():
        if one.filtered:
            return "does not see all of its rows"
        if not one.readable and (one.name in wanted or not taken.shared):
            return f"may not read its column {one.name}"
    return ""
