"""What Chroma keeps in a folder: `chroma.sqlite3`, and an index folder per collection.

The texts and their metadata are in the database. A vector is in the queue of the
database until Chroma has moved it to the index folder; of several, the newest counts.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from holdover.migrate.errors import SourceNotFound
from holdover.migrate.sources.batching import Pace
from holdover.migrate.sources.sqlite_file import SqliteFile, damaged, source_error
from holdover.migrate.sources.vectors_chroma_hnsw import HnswVectors
from holdover.migrate.sources.vectors_chroma_queue import Queue
from holdover.migrate.sources.vectors_documents import Document
from holdover.migrate.sources.vectors_files import name_of, shown
from holdover.migrate.sources.vectors_source import VectorForm, VectorSource

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdover.migrate.sources.base import ReadOptions
    from holdover.migrate.sources.vectors_source import Collection

_DATABASE = "chroma.sqlite3"
_TEXT = "chroma:document"
_OWN = "chroma:"
_AT_ONCE = 500
_TABLES = {"collections", "segments", "embeddings", "embedding_metadata"}


def open_chroma(address: str, path: Path, options: ReadOptions) -> VectorSource:
    """Open a folder or the database in it; nothing is read yet."""
    return VectorSource(address, Chroma(path), options, one=False)


class Chroma(VectorForm):
    """A persistent Chroma; its collections are the roots."""

    label = "Chroma"

    def __init__(self, path: Path, *, timeout: float = 30.0) -> None:
        self._folder = path if path.is_dir() else path.parent
        database = path / _DATABASE if path.is_dir() else path
        self._file = SqliteFile(database, timeout=timeout)
        self._found: list[_Collection] = []

    def collections(self) -> list[Collection]:
        """Those of every tenant and database."""
        self._refuse_old()
        self._forget()
        with self.errors():
            tables = {
                name
                for (name,) in self._query("SELECT name FROM sqlite_master")
                if isinstance(name, str)
            }
            if not tables >= _TABLES:
                raise SourceNotFound(
                    f"{shown(self._file.path)} is no database of Chroma 0.4 or later.",
                    hint="Open it once with a newer Chroma, which converts it.",
                )
            columns = self._columns("collections")
            wide = {"name", "database_id"} <= columns and "databases" in tables
            rows = self._query(
                "SELECT c.id, c.name, d.tenant_id, d.name FROM collections c"
                " LEFT JOIN databases d ON d.id = c.database_id ORDER BY c.id"
                if wide
                else "SELECT id, name, NULL, NULL FROM collections ORDER BY id"
            )
        known = [row for row in rows if all(isinstance(one, str) for one in row[:2])]
        named = Counter(name for _, name, _, _ in known)
        folder = name_of(self._folder.absolute())
        for key, name, tenant, database in known:
            root = name
            if named[name] > 1:
                # One name in several databases.
                root = "/".join(str(part) for part in (tenant, database, name))
            self._found.append(
                _Collection(self, key, root, f"chroma:{folder}#{name}#{key}", tables)
            )
        return list(self._found)

    def notes(self) -> list[str]:
        """What was copied, and why vectors are missing, where they are."""
        notes = []
        if self._file.copied:
            notes.append(
                "Read from a temporary copy, so that nothing beside it changes."
            )
        notes += [
            f"{one.without:,} vectors of {one.root} cannot be read:"
            f" {one.index.missing or 'they are in no index'}."
            for one in self._found
            if one.without
        ]
        return notes

    def close(self) -> None:
        """Close the database and the indexes."""
        self._forget()
        self._file.close()

    def folder_of(self, segment: str) -> Path:
        """Where the index of a segment is; no name leads out of the folder."""
        name = Path(segment).name
        return self._folder / (name if name not in ("", "..") else "-")

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Say in a sentence what SQLite says."""
        try:
            yield
        except sqlite3.Error as error:
            raise source_error(error, self._file.path) from None
        except UnicodeDecodeError:  # what it says quotes what is broken
            raise damaged(self._file.path, "its schema cannot be read") from None

    @property
    def connection(self) -> sqlite3.Connection:
        """The open database."""
        connection = self._file.connection
        # A text that cannot be decoded is one bad text, not a bad file.
        connection.text_factory = _decoded
        return connection

    def _query(self, sql: str) -> list[tuple[Any, ...]]:
        return self.connection.execute(sql).fetchall()

    def _columns(self, table: str) -> set[str]:
        return {row[1] for row in self._query(f"PRAGMA table_info({table})")}

    def _forget(self) -> None:
        for one in self._found:
            one.close()
        self._found = []

    def _refuse_old(self) -> None:
        if not self._folder.is_dir() or (self._folder / _DATABASE).exists():
            return
        if any(self._folder.glob("chroma-*.parquet")):
            raise SourceNotFound(
                f"{shown(self._folder)} was written by a Chroma before 0.4, which kept"
                " its data in parquet files.",
                hint="Convert a copy of it with chroma-migrate, and name that.",
            )


class _Row(NamedTuple):
    """A document as its tables hold it, but for its metadata."""

    rowid: int
    name: str
    sequence: Any
    created_at: Any


class _Collection:
    def __init__(
        self, form: Chroma, key: str, root: str, locator: str, tables: set[str]
    ) -> None:
        self.root, self.locator = root, locator
        self._form, self._key = form, key
        self._tables = tables
        self._index: HnswVectors | None = None
        self._queue: Queue | None = None
        #: How many documents have no vector that can be read.
        self.without = 0

    @property
    def index(self) -> HnswVectors:
        if self._index is None:
            segment = self._segment("VECTOR")
            self._index = HnswVectors(self._form.folder_of(segment or ""))
        return self._index

    def documents(self, after: Any, *, vectors: bool) -> Iterator[Document]:
        self.without = 0
        segment = self._segment("METADATA")
        last, pace = -(2**63), Pace(_AT_ONCE)
        while True:
            rows, described = self._page(segment, last, pace.records)
            if not rows:
                return
            size = 0
            for row in rows:
                known = after is not None and row.rowid <= after
                found = self._document(row, described, known=known, vectors=vectors)
                size += len(found.text) if isinstance(found.text, str) else 0
                yield found
            pace.note(len(rows), size)
            last = rows[-1].rowid

    def close(self) -> None:
        if self._index is not None:
            self._index.close()
            self._index = None
        if self._queue is not None:
            self._queue.close()
            self._queue = None

    def _segment(self, scope: str) -> str | None:
        with self._form.errors():
            found = self._form.connection.execute(
                "SELECT id FROM segments WHERE collection = ? AND scope = ?",
                (self._key, scope),
            ).fetchone()
        return found[0] if found and isinstance(found[0], str) else None

    def _page(
        self, segment: str | None, last: int, most: int
    ) -> tuple[list[_Row], dict[int, dict[str, Any]]]:
        with self._form.errors():
            connection = self._form.connection
            rows = [
                _Row(*found)
                for found in connection.execute(
                    "SELECT id, embedding_id, seq_id, created_at FROM embeddings"
                    " WHERE segment_id = ? AND id > ? ORDER BY id LIMIT ?",
                    (segment, last, most),
                )
            ]
            described: dict[int, dict[str, Any]] = {row.rowid: {} for row in rows}
            marks = ",".join("?" * len(rows))
            ids = [row.rowid for row in rows]
            for rowid, name, *values in connection.execute(
                "SELECT id, key, string_value, int_value, float_value, bool_value"  # noqa: S608 - marks
                f" FROM embedding_metadata WHERE id IN ({marks})",
                ids,
            ):
                described[rowid][name] = _value(*values)
            if "embedding_metadata_array" in self._tables:
                for rowid, name, *values in connection.execute(
                    "SELECT id, key, string_value, int_value, float_value, bool_value"  # noqa: S608
                    f" FROM embedding_metadata_array WHERE id IN ({marks})"
                    " ORDER BY rowid",
                    ids,
                ):
                    listed = described[rowid].setdefault(name, [])
                    if isinstance(listed, list):
                        listed.append(_value(*values))
        return rows, described

    def _document(
        self,
        row: _Row,
        described: dict[int, dict[str, Any]],
        *,
        known: bool,
        vectors: bool,
    ) -> Document:
        held = described[row.rowid]
        text = held.pop(_TEXT, None)
        metadata = {
            name: value
            for name, value in held.items()
            if not str(name).startswith(_OWN)
        }
        vector = None
        if not known and isinstance(row.name, str):
            vector = self._vector(row)
            self.without += vector is None
        return Document(
            row.rowid,
            str(row.rowid),
            text,
            metadata,
            vector if vectors else None,
            len(vector) if vector is not None else 0,
            _moment(row.created_at),
            known=known,
        )

    def _vector(self, row: _Row) -> Any:
        if self._queue is None:
            with self._form.errors():
                self._queue = Queue(self._form.connection, self._key)
        with self._form.errors():
            queued = self._queue.of(row.name, row.sequence)
        return queued if queued is not None else self.index.of(row.name)


def _value(text: Any, whole: Any, number: Any, truth: Any) -> Any:
    if truth is not None:
        return bool(truth)
    return next((one for one in (text, whole, number) if one is not None), None)


def _decoded(raw: bytes) -> str | bytes:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw


def _moment(value: Any) -> datetime | None:
    """`CURRENT_TIMESTAMP`, which is UTC."""
    try:
        moment = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
