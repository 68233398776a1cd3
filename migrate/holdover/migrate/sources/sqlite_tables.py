"""Tells the library's entity tables from everything else in a SQLite file."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from holdover.migrate.sources.base import SAMPLES, Blocker, Skipped
from holdover.migrate.sources.naming import Foreign, fold, names

if TYPE_CHECKING:
    import sqlite3

    from holdover.migrate.sources.base import ReadOptions

#: SQLite keeps the text of CREATE TABLE as it was written; no other program breaks
#: and indents it so. The name was quoted since langchain 0.3.27.
_OWN_COLUMNS = re.compile(
    r" \(\n\s+key TEXT PRIMARY KEY,\n\s+value TEXT\n\s+\)", re.ASCII
)
_WITHOUT_ROWID = re.compile(r"\)[^)]*\bWITHOUT\s+ROWID\b[^)]*$", re.IGNORECASE)
_CHAT_COLUMNS = re.compile(r"\bid\b.*\bsession_id\b.*\bmessage\b", re.DOTALL)
_LANGGRAPH = {"store", "store_migrations", "store_vectors", "vector_migrations"}
_WANTED = {"key", "value"}
_SHOWN = 5


class EntityTable(NamedTuple):
    """A table to read: one session's entities."""

    name: str
    root: str
    session: str


@dataclass
class Tables:
    """What a file holds; `skipped` begins with what looks most like an entity table."""

    entities: list[EntityTable] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    #: The library's own tables under no known root.
    unknown: list[str] = field(default_factory=list)
    #: Entity tables outside the named sessions or the sample.
    unselected: int = 0

    def blockers(self) -> list[Blocker]:
        """Name the roots to add: one blocker for each, however many its tables."""
        by_root: dict[str | None, list[str]] = {}
        for name in self.unknown:
            root, line, _ = name.rpartition("_")
            by_root.setdefault(root if line else None, []).append(name)
        return [_unknown(root, tables) for root, tables in by_root.items()]


def quote(name: str) -> str:
    """Quote a table's name for SQL."""
    return '"' + name.replace('"', '""') + '"'


def encoding_of(connection: sqlite3.Connection) -> str:
    """Tell how the file stores text, as Python names it."""
    encoding: str = connection.execute("PRAGMA encoding").fetchone()[0]
    return {"UTF-16le": "utf-16-le", "UTF-16be": "utf-16-be"}.get(encoding, "utf-8")


def find_tables(connection: sqlite3.Connection, options: ReadOptions) -> Tables:
    """Sort every table and view of a file; entity tables come ordered by name."""
    tables = Tables()
    if "entities" not in options.kinds:
        return tables
    encoding = encoding_of(connection)
    rows = connection.execute(
        "SELECT type, CAST(name AS BLOB), CAST(sql AS BLOB) FROM sqlite_master"
        " WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
        " ORDER BY name"
    ).fetchall()
    rules, skip = names(options), frozenset(map(fold, options.skip))
    others: list[Skipped] = []
    for kind, raw_name, raw_sql in rows:
        name = raw_name.decode(encoding, "backslashreplace")
        sql = raw_sql.decode(encoding, "replace")
        if fold(name) in skip:
            tables.skipped.append(Skipped(name, "left out by --skip"))
            continue
        split = rules.table(name)
        own = _is_own(name, sql)
        if isinstance(split, Foreign):
            if own:
                tables.unknown.append(name)
            else:
                others.append(Skipped(name, _why_other(kind, name, sql)))
            continue
        why = ""
        if name.encode(encoding, "replace") != raw_name:
            why = f"its name is not {encoding.upper()}"
        elif not own:
            listed = rules.lists(split.session)
            why = _why_by_kind(kind, name, sql) or _why_by_columns(
                connection, name, listed=listed
            )
        if why:
            tables.skipped.append(Skipped(name, why))
        elif rules.selects(split.session, table=True):
            tables.entities.append(EntityTable(name, split.root, split.session))
        else:
            tables.unselected += 1
    tables.skipped += others
    tables.entities.sort()
    return tables


def _is_own(name: str, sql: str) -> bool:
    head = "CREATE TABLE "
    return any(
        sql.startswith(head + written)
        and _OWN_COLUMNS.fullmatch(sql, len(head) + len(written))
        for written in (quote(name), name)
    )


def _why_other(kind: str, name: str, sql: str) -> str:
    """Say why a table that does not look like one is left out."""
    return _why_by_kind(kind, name, sql) or "not an entity table"


def _why_by_kind(kind: str, name: str, sql: str) -> str:
    findings = (
        (kind == "view", "a view: it has no rows of its own"),
        (sql.upper().startswith("CREATE VIRTUAL"), "a virtual table"),
        (name in _LANGGRAPH, "LangGraph's own table"),
        (_CHAT_COLUMNS.search(sql), "chat history: not an entity table"),
        (_WITHOUT_ROWID.search(sql), "a WITHOUT ROWID table: the library makes none"),
    )
    return next((why for found, why in findings if found), "")


def _why_by_columns(connection: sqlite3.Connection, name: str, *, listed: bool) -> str:
    """Say why a table with a fitting name is left out; empty if it is read."""
    columns = connection.execute(
        "SELECT name, type, pk FROM pragma_table_info(?)", (name,)
    ).fetchall()
    found = {fold(column): (kind.upper(), pk) for column, kind, pk in columns}
    if not found.keys() >= _WANTED:
        return f"other columns: {_some([column for column, _, _ in columns])}"
    if "rowid" in found:
        return "a column of its own named rowid"
    extra = [column for column, _, _ in columns if fold(column) not in _WANTED]
    other = [column for column, (kind, _) in found.items() if kind != "TEXT"]
    if listed:
        return ""
    if extra:
        why = f"extra columns: {_some(extra)}"
    elif not found["key"][1] or found["value"][1]:
        why = "its key is not the primary key"
    elif other:
        why = f"its {other[0]} is not TEXT"
    else:
        why = "same shape, but not written by the library"
    return f"{why} (name its session with --session to read it)"


def _some(columns: list[str]) -> str:
    return ", ".join(columns[:_SHOWN]) + (", …" if len(columns) > _SHOWN else "")


def _unknown(root: str | None, tables: list[str]) -> Blocker:
    first = tables[0]
    skip = " ".join(f"--skip {shlex.quote(name)}" for name in tables[:SAMPLES])
    many = f" and {len(tables) - 1} more like it" if len(tables) > 1 else ""
    if root is None:
        return Blocker(
            "unknown-root",
            f"Table {first}{many} was written by the library, but its name holds no"
            " underscore between root and session.",
            skip,
        )
    return Blocker(
        "unknown-root",
        f"Table {first}{many} was written by the library under a root you did not"
        f" name: {root!r} if the session is what follows the last underscore.",
        f"--root {shlex.quote(root)} or {skip}",
    )
