"""Commands that delete old data: made here, run by the user.

Every name in them is quoted so that nothing of it is read as a command, whatever it
holds.
"""

from __future__ import annotations

import shlex
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from holdover.compat.stores.address import redact_url, scheme_of, sqlite_path
from holdover.migrate.sources import file_path
from holdover.migrate.sources.sqlite_tables import quote

if TYPE_CHECKING:
    from holdover.migrate.sources.base import Partition, Reject, Source, SourceItem

Language = Literal["sql", "redis", "sh", ""]
#: Classes of a row whose old record nobody needs any more.
SAFE = frozenset({"equal", "changed", "expired"})
_PRINTABLE = range(0x20, 0x7F)
_ESCAPED = b'"\\'
_NONE = -2
#: The sqlite3 tool drops a carriage return at the end of a line, also within quotes.
_ODD = "a name that no script can hold"
_SESSION = "session "


class Kept(NamedTuple):
    """What is not safe to delete: where it is, and why."""

    locator: str
    why: str


class Units:
    """What is deleted as one, each with whether all of it may be; on local disk."""

    def __init__(self) -> None:
        self._conn = sqlite3.connect("", isolation_level=None)
        self._conn.executescript(
            "CREATE TABLE unit (part INTEGER, name BLOB, safe INTEGER, why TEXT,"
            " PRIMARY KEY (part, name)) WITHOUT ROWID;"
            "CREATE TABLE line (part INTEGER, text BLOB)"
        )
        self._conn.execute("BEGIN")

    def see(self, part: int, names: dict[str, str]) -> None:
        """Note units; `names` gives why one is not safe, or an empty text."""
        self._conn.executemany(
            "INSERT INTO unit VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO UPDATE"
            " SET safe = min(safe, excluded.safe),"
            " why = CASE why WHEN '' THEN excluded.why ELSE why END",
            [(part, _raw(name), not why, why) for name, why in names.items()],
        )

    def safe(self, part: int) -> Iterator[str]:
        """The units of a part of which all is safe, by name."""
        query = "SELECT name FROM unit WHERE part = ? AND safe ORDER BY name"
        for (name,) in self._conn.execute(query, (part,)):
            yield _text(name)

    def kept(self, part: int) -> Iterator[Kept]:
        """The others."""
        query = "SELECT name, why FROM unit WHERE part = ? AND NOT safe ORDER BY name"
        for name, why in self._conn.execute(query, (part,)):
            yield Kept(_text(name), why)

    def is_safe(self, part: int, name: str) -> bool:
        """Whether a unit was seen, and all of it is safe."""
        query = "SELECT safe FROM unit WHERE part = ? AND name = ?"
        row = self._conn.execute(query, (part, _raw(name))).fetchone()
        return bool(row and row[0])

    def any_kept_below(self, part: int, name: str) -> bool:
        """Whether a unit that is not safe has a name that begins so."""
        query = (
            "SELECT 1 FROM unit WHERE part = ? AND name >= ? AND name < ? "
            "AND NOT safe LIMIT 1"
        )
        raw = _raw(name)
        row = self._conn.execute(query, (part, raw, raw + b"\xff")).fetchone()
        return row is not None

    def note(self, part: int, line: str) -> None:
        """Keep a command that is safe by itself."""
        self._conn.execute("INSERT INTO line VALUES (?, ?)", (part, _raw(line)))

    def lines(self, part: int) -> Iterator[str]:
        """Those commands, as they came."""
        query = "SELECT text FROM line WHERE part = ? ORDER BY rowid"
        for (text,) in self._conn.execute(query, (part,)):
            yield _text(text)

    def close(self) -> None:
        """Give the disk space back."""
        self._conn.close()


class Remover(ABC):
    """Makes the commands for one part of a source.

    Args:
        part: The part.
        number: Its number among the parts.
        units: Where its units are noted.
    """

    language: Language = ""

    def __init__(self, part: Source, number: int, units: Units) -> None:
        self._part, self._number, self._units = part, number, units

    def begin(self, partition: Partition) -> None:  # noqa: B027 - most do nothing
        """A partition is read from its beginning."""

    def end(self) -> None:  # noqa: B027
        """It was read to its end."""

    def see(
        self,
        items: Sequence[SourceItem],
        classes: Sequence[str],
        rejects: Sequence[Reject],
    ) -> None:
        """Note a batch: what became of each item, and what could not be moved."""
        names: dict[str, str] = {}
        for item, name in zip(items, classes, strict=True):
            unit = self.unit(item)
            names[unit] = names.get(unit) or ("" if name in SAFE else name)
        for reject in rejects:
            unit = self.rejected(reject.locator)
            names[unit] = names.get(unit) or reject.reason
        self._units.see(self._number, names)

    @abstractmethod
    def unit(self, item: SourceItem) -> str:
        """What an item is deleted with."""

    def rejected(self, locator: str) -> str:
        """The unit that a reject is, or lies in."""
        return locator

    def safe(self) -> Iterator[str]:
        """The units of which all is safe: with nothing unreadable in them."""
        for name in self._units.safe(self._number):
            if not self._units.any_kept_below(self._number, f"{name}#"):
                yield name

    @abstractmethod
    def commands(self) -> Iterator[str]:
        """What deletes all that is safe."""

    def kept(self) -> Iterator[Kept]:
        """What is not."""
        return self._units.kept(self._number)


class EntityTables(Remover):
    """Tables of `SQLiteEntityStore`: one a session."""

    language = "sql"

    def unit(self, item: SourceItem) -> str:
        """The table."""
        return item.locator

    def see(
        self,
        items: Sequence[SourceItem],
        classes: Sequence[str],
        rejects: Sequence[Reject],
    ) -> None:
        """See `Remover.see`."""
        super().see(items, classes, rejects)
        odd = {item.locator: _ODD for item in items if "\r" in item.locator}
        self._units.see(self._number, odd)

    def commands(self) -> Iterator[str]:
        """Drop it."""
        prefix = f"sqlite:{Path(sqlite_path(self._part.address)).name}#"
        for name in self.safe():
            yield f"DROP TABLE {quote(name.removeprefix(prefix))};"


class MessageRows(Remover):
    """Rows of chat histories, by their numbers; what comes later has other numbers."""

    language = "sql"

    def __init__(self, part: Any, number: int, units: Units) -> None:
        super().__init__(part, number, units)
        self._table, self._column = "", ""
        self._first = self._last = _NONE

    def begin(self, partition: Partition) -> None:
        """See `Remover.begin`."""
        part: Any = self._part
        self._table, self._column = part.table_of(partition)

    def end(self) -> None:
        """See `Remover.end`."""
        if self._first != _NONE:
            between = f"BETWEEN {self._first} AND {self._last}"
            line = f"DELETE FROM {self._table} WHERE {self._column} {between};"  # noqa: S608 - it is printed
            self._units.note(self._number, line)
        self._first = self._last = _NONE

    def see(
        self,
        items: Sequence[SourceItem],
        classes: Sequence[str],
        rejects: Sequence[Reject],
    ) -> None:
        """Only numbers that were all seen make one range."""
        if not self._column or "\r" in self._table:
            why = _ODD if self._column else "no row numbers"
            self._units.see(self._number, {f"table {self._table}": why})
            return
        for item, name in zip(items, classes, strict=True):
            place = item.position
            if name in SAFE and place is not None:
                if place != self._last + 1:
                    self.end()
                    self._first = place
                self._last = place
            else:
                self._units.see(self._number, {item.locator: name})
        for reject in rejects:
            self._units.see(self._number, {reject.locator: reject.reason})

    def unit(self, item: SourceItem) -> str:
        """The row."""
        return item.locator

    def commands(self) -> Iterator[str]:
        """Those that were noted."""
        return self._units.lines(self._number)


class RedisKeys(Remover):
    """Keys that hold one record each."""

    language = "redis"

    def unit(self, item: SourceItem) -> str:
        """The key."""
        return item.locator

    def commands(self) -> Iterator[str]:
        """Unlink it: an old server that does not know that has DEL."""
        for name in self.safe():
            key = name.split(":", 2)[2]
            yield f"UNLINK {redis_quoted(key.encode())}"


class RedisListKeys(RedisKeys):
    """Keys that hold a session each."""

    def unit(self, item: SourceItem) -> str:
        """The key."""
        return item.locator.rpartition("#")[0]


class HistoryFiles(Remover):
    """Files that hold a session each."""

    language = "sh"

    def unit(self, item: SourceItem) -> str:
        """The session: names of files may repeat in folders."""
        return _session(item.session)

    def commands(self) -> Iterator[str]:
        """Remove files of sessions that are safe, without anything unreadable."""
        part: Any = self._part
        units, number = self._units, self._number
        for session, path, locator in part.files():
            if units.is_safe(number, _session(session)) and not (
                units.any_kept_below(number, locator)
                or units.any_kept_below(number, f"file:{Path(path).name}")
            ):
                yield f"rm -- {shlex.quote(str(Path(path).resolve()))}"

    def kept(self) -> Iterator[Kept]:
        """What is not, by the session where it is its whole."""
        for kept in super().kept():
            yield kept._replace(locator=kept.locator.removeprefix(_SESSION))


class Whole(Remover):
    """What is deleted as a whole, or by tools of its own."""

    def __init__(self, part: Source, number: int, units: Units) -> None:
        super().__init__(part, number, units)
        scheme = scheme_of(part.address)
        self._path: Path | None = None
        if scheme == "file":
            self._path = file_path(part.address)
        elif scheme == "sqlite":
            self._path = Path(sqlite_path(part.address))
        if self._path and self._path.is_dir():
            self._path = None  # what else lies in it was not looked at
        self.language = "sh" if self._path else ""

    def unit(self, item: SourceItem) -> str:  # noqa: ARG002
        """Everything."""
        return self._part.address

    def rejected(self, locator: str) -> str:  # noqa: ARG002
        """Everything."""
        return self._part.address

    def commands(self) -> Iterator[str]:
        """Remove the file or folder, or say what to remove."""
        for address in self.safe():
            if self._path:
                yield f"rm -- {shlex.quote(str(self._path.resolve()))}"
            else:
                yield f"Delete with its own tools: {redact_url(address)}"


def _session(name: str) -> str:
    return _SESSION + name


def redis_quoted(key: bytes) -> str:
    """A key as redis-cli reads it in a line, whatever its bytes."""
    body = "".join(
        chr(byte) if byte in _PRINTABLE and byte not in _ESCAPED else f"\\x{byte:02x}"
        for byte in key
    )
    return f'"{body}"'


def remover_for(part: Source, number: int, units: Units) -> Remover:
    """What makes the commands for a part of a source."""
    kind = type(part).__name__
    if hasattr(part, "files"):
        return HistoryFiles(part, number, units)
    if kind == "SqliteSource":
        return EntityTables(part, number, units)
    if kind == "SqlHistories":
        return MessageRows(part, number, units)
    if kind in ("RedisSource", "RedisDocuments"):
        return RedisKeys(part, number, units)
    if kind == "RedisLists":
        return RedisListKeys(part, number, units)
    return Whole(part, number, units)


def _raw(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogatepass")
