"""Tells tables that hold chat histories from everything else in a database.

Pure logic: what a table looks like was asked before. The layouts that libraries made:

| written by | columns |
|---|---|
| `SQLChatMessageHistory` | `id`, `session_id` text, `message` text |
| `PostgresChatMessageHistory` | `id`, `session_id` text, `message` jsonb |
| `langchain_postgres` | `id`, `session_id` uuid, `message` jsonb, `created_at` |
| `SingleStoreDBChatMessageHistory` | `id`, `session_id` text, `message` json |
| `TiDBChatMessageHistory` | `id`, `session_id` varchar, `message` json, `create_time` |

Any other table is read where it is named, by the columns that `--field` names.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

from holdover.migrate.sources.base import Blocker, Skipped
from holdover.migrate.sources.naming import fold

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from holdover.migrate.sources.base import ReadOptions

#: The classes' own names for their tables.
HISTORY_ROOTS = ("message_store", "langchain_message_store")

#: A `moment` is a time with its zone.
Kind = Literal["integer", "text", "json", "uuid", "time", "moment", "bytes", "other"]

_TIMES = ("created_at", "create_time")
#: What `--field` may name.
FIELDS = ("id", "session", "message", "created_at", "type", "content")
_TEXTS = {"text", "uuid"}
_SHOWN = 5


class Column(NamedTuple):
    """A column and what it holds; `readable` unless this login may not see it."""

    name: str
    kind: Kind
    readable: bool = True


@dataclass(frozen=True)
class Table:
    """What a database says of a table.

    Attributes:
        name: What it is called here: with its schema where it needs that.
        schema: Its schema, where there are some.
        table: Its name in that schema.
        columns: All its columns.
        numbers: Columns that number its rows: integers, unique, never null.
        why_not: Why it is none to read, whatever its columns are: a view, …
        own: Whether the library wrote its definition; `None` where that is not kept.
        estimate: About how many rows it has, as far as the database keeps count.
        filtered: Whether a policy hides rows from this login.
        hidden_number: A name for rows that is no column: SQLite's `rowid`.
    """

    name: str
    schema: str | None
    table: str
    columns: tuple[Column, ...]
    numbers: frozenset[str] = frozenset()
    why_not: str = ""
    own: bool | None = None
    estimate: int | None = None
    filtered: bool = False
    hidden_number: str | None = None

    @property
    def readable(self) -> bool:
        """Whether this login may see all its columns."""
        return all(column.readable for column in self.columns)

    def column(self, name: str) -> Column | None:
        """A column by its name, else by its name in other letters if only one fits."""
        exact = [one for one in self.columns if one.name == name]
        fitting = exact or [one for one in self.columns if fold(one.name) == fold(name)]
        if not fitting and name == self.hidden_number:
            return Column(name, "integer")
        return fitting[0] if len(fitting) == 1 else None


@dataclass(frozen=True)
class HistoryTable:
    """A table to read, and where in it everything is.

    Attributes:
        root: The first label of the scope: its name as the user, or the class, gave it.
        table: The table.
        session: The column of the session ids.
        message: The column of the messages' JSON, or those of type and text.
        number: The column that numbers the rows; `None` where there is none, and the
            place in the session has to do.
        order: What orders the rows of a session otherwise.
        created: The column of the time.
    """

    root: str
    table: Table
    session: Column
    message: tuple[Column, ...]
    number: Column | None
    order: tuple[Column, ...]
    created: Column | None


@dataclass
class Histories:
    """What a database holds; `skipped` begins with what looks most like a history.

    `unknown` are tables of a library's layout whose names nobody gave.
    """

    tables: list[HistoryTable] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    blockers: list[Blocker] = field(default_factory=list)
    unknown: list[Table] = field(default_factory=list)

    def block_unknown(self) -> None:
        """Block for what is still unknown, and name the roots to add."""
        self.blockers += [
            Blocker(
                "unknown-root",
                f"Table {table.name} is a chat history by its columns, under a name"
                " you did not give.",
                f"--root {shlex.quote(table.name)} or --skip {shlex.quote(table.name)}",
            )
            for table in self.unknown
        ]


def sort_out(
    tables: Sequence[Table], options: ReadOptions, *, list_others: bool
) -> Histories:
    """Sort every table of a database.

    Args:
        tables: All of them, in a stable order.
        options: What is to be read.
        list_others: Whether `skipped` has tables that are nothing like a history, too.
    """
    found = Histories()
    others: list[Skipped] = []
    skip = frozenset(map(fold, options.skip))
    roots = _by_table(tables, options.roots_or(*HISTORY_ROOTS))
    named = bool(options.roots or options.fields)
    for table in tables:
        root = roots.get(table.name)
        if fold(table.name) in skip:
            found.skipped.append(Skipped(table.name, "left out by --skip"))
        elif root is not None:
            # A root may as well be what the names of entity tables begin with.
            longer = fold(f"{root}_")
            asked = named and not any(fold(t.name).startswith(longer) for t in tables)
            _take(found, table, root, options, named=named, asked=asked)
        elif not table.why_not and not _why_inexact(table):
            if table.own is False:
                why = "same shape, but not written by the library"
                found.skipped.append(Skipped(table.name, _naming(why)))
            else:
                found.unknown.append(table)
        elif _looks_like_one(table):
            why = table.why_not or _naming(_why_inexact(table))
            found.skipped.append(Skipped(table.name, why))
        elif list_others:
            others.append(Skipped(table.name, table.why_not or "no chat history"))
    found.skipped += others
    return found


def _by_table(tables: Sequence[Table], roots: Iterable[str]) -> dict[str, str]:
    """The root of each table that is named, by the table's name."""
    found: dict[str, str] = {}
    by_name = {table.name: table for table in tables}
    for table in tables:
        by_name.setdefault(f"{table.schema}.{table.table}", table)
    folded: dict[str, list[Table]] = {}
    for table in tables:
        folded.setdefault(fold(table.name), []).append(table)
    for root in roots:
        # The classic class for PostgreSQL let the server fold its tables' names.
        fitting = [by_name[root]] if root in by_name else folded.get(fold(root), [])
        if len(fitting) == 1:
            found.setdefault(fitting[0].name, root)
    return found


def _take(
    found: Histories,
    table: Table,
    root: str,
    options: ReadOptions,
    *,
    named: bool,
    asked: bool,
) -> None:
    """Read a table under one of the roots, or say why not.

    `named` where it may have other columns than the libraries made; `asked` where
    nothing else can have been meant.
    """
    why = table.why_not or ("" if named else _why_inexact(table))
    columns = None if why else _columns(table, root, options)
    if isinstance(columns, str):
        why = columns
    if columns is None or isinstance(columns, str):
        if asked:
            found.blockers.append(
                Blocker(
                    "no-history",
                    f"Table {table.name} cannot be read as a chat history: {why}.",
                    f"--skip {shlex.quote(table.name)} or --field NAME=COLUMN for each"
                    f" of {', '.join(FIELDS)} that is called otherwise",
                )
            )
        else:
            found.skipped.append(Skipped(table.name, why if named else _naming(why)))
        return
    if table.filtered:
        found.blockers.append(
            Blocker(
                "row-security",
                f"A policy hides rows of table {table.name} from this login.",
                f"--skip {shlex.quote(table.name)} or a login that sees every row"
                " (BYPASSRLS)",
            )
        )
    elif not all(one.readable for one in _needed(columns)):
        found.blockers.append(
            Blocker(
                "no-right",
                f"This login may not read table {table.name}.",
                f"--skip {shlex.quote(table.name)} or GRANT SELECT on it",
            )
        )
    elif columns.number is None and not columns.order:
        found.blockers.append(
            Blocker(
                "no-order",
                f"Nothing orders the messages of table {table.name}.",
                f"--skip {shlex.quote(table.name)} or --field id=COLUMN or --field"
                " created_at=COLUMN, of a column that grows with each message",
            )
        )
    else:
        found.tables.append(columns)


def _columns(table: Table, root: str, options: ReadOptions) -> HistoryTable | str:
    """Where everything is in a table; else why it cannot be read."""
    # A library's own table needs no help; another one of the same run may.
    fields = dict(options.fields) if _why_inexact(table) else {}
    session_name = fields.get("session", "session_id")
    session = table.column(session_name)
    if "content" in fields or "type" in fields:
        wanted = [fields.get(one, one) for one in ("type", "content")]
    else:
        wanted = [fields.get("message", "message")]
    message = [table.column(one) for one in wanted]
    number = table.column(fields.get("id", "id"))
    created = [table.column(fields.get("created_at", one)) for one in _TIMES]
    time = next((one for one in created if one), None)
    given = [fields[name] for name in ("id", "created_at") if name in fields]
    names = (session_name, *wanted, *given)
    missing = [name for name in names if table.column(name) is None]
    if missing or session is None:
        return f"it has no column {', '.join(missing)}"
    # An id that is no number, and that nobody called the order, may be random.
    counted = number and ("id" in fields or number.kind == "integer")
    order = [number, time] if counted else [time, number if time else None]
    numbers = number and (
        number.name in table.numbers or number.name == table.hidden_number
    )
    return HistoryTable(
        root,
        table,
        session,
        tuple(one for one in message if one),
        number if numbers else None,
        tuple(one for one in order if one),
        time,
    )


def _needed(found: HistoryTable) -> list[Column]:
    many = (found.session, *found.message, found.number, *found.order, found.created)
    return [one for one in many if one]


def _why_inexact(table: Table) -> str:
    """Say what tells a table from those the libraries made; empty if nothing does."""
    columns = {column.name: column.kind for column in table.columns}
    kinds = {"id": {"integer"}, "session_id": _TEXTS, "message": {"text", "json"}}
    if missing := [name for name in kinds if name not in columns]:
        return f"no column {', '.join(missing)}"
    time = next((name for name in _TIMES if name in columns), None)
    extra = [name for name in columns if name not in kinds and name != time]
    if extra:
        return f"extra columns: {_some(extra)}"
    for name, allowed in kinds.items():
        if columns[name] not in allowed:
            return f"its {name} is of another type"
    if time and columns[time] not in ("time", "moment"):
        return f"its {time} is of another type"
    if "id" not in table.numbers:
        return "its id is not unique"
    return ""


def _looks_like_one(table: Table) -> bool:
    names = {fold(column.name) for column in table.columns}
    return bool(names & {"session_id", "sessionid"} and "message" in names)


def _naming(why: str) -> str:
    return f"{why} (name it with --root to read it)"


def _some(columns: list[str]) -> str:
    return ", ".join(columns[:_SHOWN]) + (", …" if len(columns) > _SHOWN else "")
