"""Reads rows of a history's table: the loops that must be fast."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any

from holdover.compat.message_keys import MAX_POSITION
from holdover.migrate.sources.base import Reject
from holdover.migrate.sources.batching import Pace, make_item
from holdover.migrate.sources.messages import (
    NOT_UTF8,
    NULL,
    Unreadable,
    read_message,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from holdover.migrate.sources.base import SourceItem
    from holdover.migrate.sources.batching import Rows
    from holdover.migrate.sources.naming import Names
    from holdover.migrate.sources.sql_databases import Answer, Database, Reading
    from holdover.migrate.sources.sql_layouts import Column, HistoryTable

NULL_SESSION = Unreadable("null-session", "The row has no session.")
BAD_SESSION = Unreadable("not-utf8", "The name of the session is not UTF-8.")
BAD_NUMBER = Unreadable("bad-position", "The row's number is below 0 or too large.")

#: The last number of a piece, how many rows it was to have, and those it has.
_Piece = tuple[int, int, "Answer"]

_FETCHED = 1000
_PIECE = 8 << 20
_MOST_SESSIONS = 100_000  # whose names are kept decoded
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Seconds up to the year 5138, else thousandths, else millionths of one.
_SCALES = ((1e11, 1), (1e14, 1_000), (1e17, 1_000_000))


@dataclass
class Tally:
    """How much there is: of the rows, `unnamed` have no session, `empty` no message."""

    sessions: int = 0
    rows: int = 0
    unnamed: int = 0
    empty: int = 0
    size: int = 0
    looked_at: int = 0


class RowReader:
    """Reads one table; its statements are made once.

    Args:
        database: Where it is.
        table: What to read.
        names: Says which sessions are to be read.
    """

    def __init__(self, database: Database, table: HistoryTable, names: Names) -> None:
        self.pace = Pace(_FETCHED)
        self._root = table.root
        self._stem = f"{database.place}{table.root}#"
        self._encoding = database.encoding
        self._names = names
        self._streams = database.streams
        self._sessions: dict[Any, str | Unreadable | None] = {}
        self._split = len(table.message) > 1
        self._dated = table.created is not None
        # Rows as they are read fastest; and sessions in an order that tells all apart.
        self._columns = (
            _Columns(database, table, exact=database.any_bytes),
            _Columns(database, table, exact=True),
        )

    def edges(self, reading: Reading) -> tuple[int, int] | None:
        """The lowest and the highest number of a row."""
        one, _ = self._columns
        number = f"min({one.number}), max({one.number})"
        ((low, high),) = reading.ask(f"SELECT {number} FROM {one.table}")  # noqa: S608 - quoted
        return None if low is None else (low, high)

    def after(
        self, reading: Reading, last: int, end: int | None, room: int, rows: Rows
    ) -> tuple[int, bool]:
        """Read on behind a number; gives the last one read, and whether it was all."""
        read = self._streamed if self._streams else self._measured
        reached, seen = last, 0
        for until, number, found in read(reading, last, end, room):
            self._add(found, rows)
            reached, seen = until, seen + number
            if rows.full:
                return reached, False
        return reached, seen < room

    def _streamed(
        self, reading: Reading, last: int, end: int | None, room: int
    ) -> Iterator[_Piece]:
        """Rows as they come, from where none is in memory before it is asked for."""
        columns, _ = self._columns
        rest, parameters = _behind(last, end, room)
        statement = columns.statement("everything", rest)
        pieces = reading.stream(statement, parameters, lambda: self.pace.records)
        with closing(pieces):
            for found in pieces:
                self.pace.note(len(found), sum([len(row[2] or b"") for row in found]))
                yield found[-1][0], len(found), found

    def _measured(
        self, reading: Reading, last: int, end: int | None, room: int
    ) -> Iterator[_Piece]:
        """Rows in pieces whose size is asked for first: a driver takes answers whole.

        That costs little: a server knows how long a value is without reading it.
        """
        sizes = self._ask(reading, "sizes", *_behind(last, end, room))
        where = "WHERE {number} > ? AND {number} <= ? ORDER BY {number}"
        for number, until in _pieces(sizes):
            # Of these, some may be gone where a server knows no snapshots.
            found = self._ask(reading, "everything", where, [last, until])
            last = until
            yield until, number, found

    def names(
        self, reading: Reading, last: int, end: int | None, limit: int
    ) -> tuple[list[SourceItem], int, bool]:
        """Number and session of the rows that have both a session and a message."""
        statement, parameters = _behind(last, end, limit)
        statement = statement.replace("ORDER", "AND {filled} ORDER")
        found = self._ask(reading, "names", statement, parameters)
        root, stem = self._root, self._stem
        items: list[SourceItem] = []
        for place, raw in found:
            session = self._session(raw)
            if session.__class__ is str and 0 <= place <= MAX_POSITION:
                locator = f"{stem}{place}"
                name: tuple[Any, ...] = ("message", root, session, "", {}, locator)
                items.append(make_item((*name, place, None, None, None)))
        return items, found[-1][0] if found else last, len(found) < limit

    def numbered(self, reading: Reading, numbers: Sequence[int], rows: Rows) -> None:
        """Read the rows with these numbers."""
        marks = ", ".join("?" * len(numbers))
        where = f"WHERE {{number}} IN ({marks}) ORDER BY {{number}}"
        self._add(self._ask(reading, "everything", where, numbers), rows)

    def unnamed(self, reading: Reading) -> int:
        """How many rows have no session."""
        one, _ = self._columns
        where = f"{one.session_column} IS NULL"
        ((number,),) = reading.ask(f"SELECT count(*) FROM {one.table} WHERE {where}")  # noqa: S608 - quoted
        return int(number)

    def refuse_unnamed(self, rows: Rows) -> None:
        """Reject a row that has no session, and so no place in one either."""
        rows.rejects.append(_reject(NULL_SESSION, self._stem[:-1]))

    def sessions(
        self, reading: Reading, last: bytes | None, limit: int
    ) -> tuple[list[tuple[bytes, int]], bytes | None]:
        """The next sessions that are to be read, with their rows, and the last seen.

        They come in the order of their bytes, and as bytes: databases have orders in
        which two sessions are one.
        """
        _, one = self._columns
        where = "" if last is None else f"AND {one.session} > ?"
        found = reading.ask(
            f"SELECT {one.session}, count(*) FROM {one.table}"  # noqa: S608 - quoted
            f" WHERE {one.session_column} IS NOT NULL {where}"
            f" GROUP BY {one.session} ORDER BY 1 LIMIT {limit}",
            [] if last is None else [last],
        )
        sessions = [(bytes(raw), number) for raw, number in found]
        chosen = [one for one in sessions if self._session(one[0]) is not None]
        return chosen, sessions[-1][0] if sessions else None

    def ranked(self, reading: Reading, sessions: Sequence[bytes]) -> Iterator[Answer]:
        """The rows of some sessions, each in its order."""
        marks = ", ".join("?" * len(sessions))
        _, one = self._columns
        return reading.stream(
            f"SELECT {one.ranked} FROM {one.table} WHERE {one.session} IN ({marks})"  # noqa: S608 - quoted
            f" ORDER BY {one.order}",
            sessions,
            lambda: self.pace.records,
        )

    def add_ranked(self, row: tuple[Any, ...], position: int, rows: Rows) -> int:
        """Add a row at its place in its session; gives its size."""
        locator = f"{self._stem}{position}"
        session = self._session(bytes(row[1]))
        if not isinstance(session, str):
            rows.rejects.append(_reject(session or BAD_SESSION, locator))
            return 0
        content = self._content(row)
        if isinstance(content, Unreadable):
            rows.rejects.append(_reject(content, locator))
        else:
            created = self._moment(row[-1]) if self._dated else None
            name = ("message", self._root, session, "", content, locator, position)
            rows.items.append(make_item((*name, created, None, None)))
        size = len(row[2]) if isinstance(row[2], bytes) else 0
        rows.size += size
        return size

    def tally(
        self, reading: Reading, names: Names, *, looked_at: int | None = None
    ) -> Tally:
        """Count what is to be read: all of it, or among the first so many rows."""
        _, one = self._columns
        if names.selects_all and looked_at is None:
            return self._whole(reading)
        table = one.table
        if looked_at is not None:
            table = f"(SELECT * FROM {table} LIMIT {looked_at}) AS part"  # noqa: S608 - quoted
        statement = (
            f"SELECT {one.session}, {one.counts} FROM {table}"  # noqa: S608 - quoted
            f" GROUP BY {one.session}"
        )
        found = Tally()
        for answer in reading.stream(statement, [], lambda: _FETCHED):
            for session, rows, empty, size in answer:
                found.looked_at += rows
                if (
                    self._session(session if session is None else bytes(session))
                    is None
                ):
                    continue
                if session is None:
                    found.unnamed += rows
                found.sessions += session is not None
                found.rows += rows
                found.empty += int(empty or 0)
                found.size += int(size or 0)
        return found

    def _whole(self, reading: Reading) -> Tally:
        _, one = self._columns
        ((sessions,),) = reading.ask(
            f"SELECT count(*) FROM (SELECT DISTINCT {one.session} FROM {one.table}"  # noqa: S608
            f" WHERE {one.session_column} IS NOT NULL) AS found"
        )
        unnamed = f"sum(CASE WHEN {one.session_column} IS NULL THEN 1 ELSE 0 END)"
        ((rows, *sums),) = reading.ask(
            f"SELECT {one.counts}, {unnamed} FROM {one.table}"  # noqa: S608 - quoted
        )
        empty, size, without = (int(one or 0) for one in sums)
        return Tally(sessions, rows, without, empty, size, rows)

    def _ask(
        self, reading: Reading, what: str, rest: str, parameters: Sequence[Any]
    ) -> Answer:
        columns, _ = self._columns
        return reading.ask(columns.statement(what, rest), parameters)

    def _add(self, found: Answer, rows: Rows) -> int:
        """Add rows with a number; gives their size."""
        size = 0
        root, stem, dated = self._root, self._stem, self._dated
        known, items = self._sessions, rows.items
        plain = not self._split and self._encoding == "utf-8"
        for row in found:
            place, session, raw = row[0], row[1], row[2]
            # Nearly always found: a name is decoded and chosen once.
            session = known[session] if session in known else self._session(session)
            if session is None:
                continue
            locator = f"{stem}{place}"
            if isinstance(session, Unreadable):
                rows.rejects.append(_reject(session, locator))
                continue
            if raw.__class__ is str or raw.__class__ is bytes:
                size += len(raw)
            content = read_message(raw) if plain else self._content(row)
            if content.__class__ is Unreadable:
                rows.rejects.append(_reject(content, locator))
            elif not 0 <= place <= MAX_POSITION:
                rows.rejects.append(_reject(BAD_NUMBER, locator))
            else:
                created = self._moment(row[-1]) if dated else None
                name = ("message", root, session, "", content, locator, place)
                items.append(make_item((*name, created, None, None)))
        rows.size += size
        return size

    def _session(self, raw: Any) -> str | Unreadable | None:
        """The name of a session, `None` if it is not to be read, or what is wrong."""
        known = self._sessions
        if raw in known:
            return known[raw]
        if len(known) > _MOST_SESSIONS:
            known.clear()
        found: str | Unreadable | None
        if raw is None:
            # Where some sessions are chosen, it is in none of them.
            found = NULL_SESSION if self._names.selects_all else None
        else:
            try:
                found = self._text(raw)
            except UnicodeDecodeError:
                found = BAD_SESSION if self._names.selects_all else None
            else:
                found = found if self._names.selects(found) else None
        known[raw] = found
        return found

    def _content(self, row: tuple[Any, ...]) -> dict[str, Any] | Unreadable:
        try:
            if not self._split:
                raw = row[2]
                return read_message(raw if raw is None else self._text(raw))
            if row[2] is None or row[3] is None:
                return NULL
            kind, content = self._text(row[2]), self._text(row[3])
        except UnicodeDecodeError:
            return NOT_UTF8
        return read_message({"type": kind, "data": {"content": content}})

    def _moment(self, raw: Any) -> datetime | None:
        if isinstance(raw, bytes) and self._encoding != "utf-8":
            raw = raw.decode(self._encoding, "replace")
        return moment_of(raw)

    def _text(self, raw: Any) -> str:
        if isinstance(raw, bytes | bytearray | memoryview):
            return bytes(raw).decode(self._encoding)
        return raw if isinstance(raw, str) else str(raw)


class _Columns:
    """What a table's columns are in a statement; `exact`: as bytes."""

    def __init__(self, database: Database, table: HistoryTable, *, exact: bool) -> None:
        def text(column: Column) -> str:
            return database.text(column, exact=exact)

        quoted = database.quoted
        self.table = database.name(table.table)
        self.session, self.session_column = text(table.session), quoted(table.session)
        self.number = quoted(table.number) if table.number else "NULL"
        message = [text(column) for column in table.message]
        time = [database.time(table.created)] if table.created else []
        self.names = f"{self.number}, {self.session}"
        self.everything = ", ".join([self.names, *message, *time])
        size = " + ".join(f"coalesce({database.size(one)}, 0)" for one in table.message)
        self.sizes = f"{self.number}, {size}"
        self.ranked = ", ".join(["NULL", self.session, *message, *time])
        messages = [quoted(column) for column in table.message]
        there = [f"{one} IS NOT NULL" for one in (self.session_column, *messages)]
        self.filled = " AND ".join(there)
        # What still ties has to come in the same order each time.
        order = [quoted(column) for column in table.order]
        self.order = ", ".join([self.session, *order, *message])
        empty = " OR ".join(f"{one} IS NULL" for one in messages)
        self.counts = (
            f"count(*), sum(CASE WHEN {self.session_column} IS NOT NULL AND ({empty})"
            f" THEN 1 ELSE 0 END), sum({size})"
        )

    def statement(self, what: str, rest: str) -> str:
        """A SELECT of one of our attributes; `rest` names others in braces."""
        rest = rest.format(number=self.number, filled=self.filled)
        return f"SELECT {getattr(self, what)} FROM {self.table} {rest}"  # noqa: S608 - quoted


def moment_of(value: Any) -> datetime | None:
    """A time as databases have it: in UTC where it says no zone; else `None`.

    Text may be ISO 8601; a number counts seconds since 1970, or parts of them.
    """
    if value is None:
        return None
    if isinstance(value, datetime):
        return value if value.tzinfo else value.replace(tzinfo=UTC)
    try:
        if isinstance(value, date):
            return datetime(value.year, value.month, value.day, tzinfo=UTC)
        raw = isinstance(value, bytes | bytearray | memoryview)
        text = bytes(value).decode() if raw else str(value)
        return _counted(float(text)) if _is_number(text) else _written(text)
    except (ValueError, OverflowError):
        return None


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).isdecimal() and not _is_year(text)


def _is_year(text: str) -> bool:
    return len(text) == len("20261130") and text.isdecimal()


def _written(text: str) -> datetime:
    found = datetime.fromisoformat(text.strip())
    return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)


def _counted(number: float) -> datetime | None:
    scale = next((scale for most, scale in _SCALES if number < most), None)
    return _EPOCH + timedelta(seconds=number / scale) if scale else None


def _behind(last: int, end: int | None, limit: int) -> tuple[str, list[int]]:
    """The rows between two numbers, the first ones of them."""
    before = "" if end is None else " AND {number} < ?"
    order = f"ORDER BY {{number}} LIMIT {limit}"
    parameters = [last] if end is None else [last, end]
    return f"WHERE {{number}} > ?{before} {order}", parameters


def _pieces(sizes: Answer) -> Iterator[tuple[int, int]]:
    """How many rows are read at once, and the last number of them."""
    size = count = last = 0
    for number, own in sizes:
        if count and size + own > _PIECE:
            yield count, last
            size = count = 0
        size, count, last = size + own, count + 1, number
    if count:
        yield count, last


def _reject(why: Unreadable, locator: str) -> Reject:
    return Reject(why.reason, locator, why.detail)
