"""SQLite: a store that cannot wedge, its schema, and direct reads and writes."""

from __future__ import annotations

import asyncio
import functools
import re
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import sqlite_vec  # type: ignore[import-untyped]
from langgraph.store.base import Op, PutOp, Result, SearchItem, SearchOp
from langgraph.store.sqlite import AsyncSqliteStore, SqliteStore

from holdover.compat.errors import StoreUnavailable, StoreUnsuitable
from holdover.compat.stores import distances
from holdover.compat.stores.address import redact_url
from holdover.compat.stores.backend import (
    AsyncPlainBackend,
    DirectReads,
    Namespace,
    Pair,
    Value,
    revision_in,
)
from holdover.compat.stores.lengths import Measuring, differing_lengths, lengths_differ

BUSY_SECONDS = 30.0
_MOMENT_SECONDS = 0.01
PUT = (
    "INSERT OR REPLACE INTO store "
    "(prefix, key, value, created_at, updated_at, expires_at, ttl_minutes) "
    "VALUES (?, ?, ?, CURRENT_TIMESTAMP, CURRENT_TIMESTAMP, ?, ?)"
)
_GET = "SELECT value FROM store WHERE prefix = ? AND key = ?"
_RANGE = (
    "SELECT key, value FROM store WHERE prefix = ? AND key >= ? AND key <= ? LIMIT ?"
)
_RANGE_FROM = 32
_RANGE_WASTE = 4
_DELETE = "DELETE FROM store WHERE prefix = ? AND key = ?"
_COUNT = "SELECT count(*) FROM store WHERE prefix = ?"
# Stock stores write JSON as a BLOB, which SQLite would take for its own binary form.
_REPLACE = (
    "UPDATE store SET value = ?, updated_at = CURRENT_TIMESTAMP, expires_at = ?, "
    "ttl_minutes = ? WHERE prefix = ? AND key = ? "
    "AND json_extract(CAST(value AS TEXT), '$.meta.revision') IS ?"
)
_OLDER = "SELECT key FROM store WHERE prefix = ? ORDER BY key DESC LIMIT -1 OFFSET ?"
_COLUMN_ADDED = re.compile(r"ADD COLUMN (\w+)")
#: The tables of a LangGraph store; a legacy file may not have its own by that name.
STORE_TABLES = frozenset(
    {"store", "store_migrations", "store_vectors", "vector_migrations"}
)


class HoldoverSqliteStore(SqliteStore):
    """LangGraph's `SqliteStore` on a connection that survives a lock timeout.

    The stock store commits in a `finally`: after one failed commit it stays inside
    a transaction and refuses every later call, and a batch that failed half-way
    keeps its first half. Here a failed batch is rolled back, a batch with writes
    takes the write lock first, and the async methods run in a thread.
    """

    def __init__(self, conn: sqlite3.Connection, **options: Any) -> None:
        super().__init__(conn, **options)
        if self.index_config and self.embeddings is not None:
            dims = self.index_config.get("dims")
            self.embeddings = Measuring(self.embeddings, dims)
        # Reentrant: who holds a transaction open may read through the store.
        self.lock = threading.RLock()  # type: ignore[assignment]
        self._writing = threading.local()

    def setup(self) -> None:
        """Create or complete the schema; make vectors comparable on any Python."""
        with self.lock:
            if self.is_setup:
                return
            ensure_schema(self.conn, vectors=bool(self.index_config))
            if self.index_config:
                load_vectors(self.conn)
            self.is_setup = True

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Execute a batch; all of it or, where it raises, nothing."""
        ops = list(ops)
        self._writing.now = any(isinstance(op, PutOp) for op in ops)
        try:
            return super().batch(ops)
        except sqlite3.OperationalError as error:
            if lengths_differ(error, self):
                raise differing_lengths(self) from error
            raise
        finally:
            self._writing.now = False

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Execute a batch in a thread."""
        return await asyncio.to_thread(self.batch, list(ops))

    @contextmanager
    def _cursor(self, *, transaction: bool = True) -> Iterator[sqlite3.Cursor]:
        if not self.is_setup:
            self.setup()
        with self.lock:
            if not transaction:
                yield self.conn.cursor()
                return
            writing = getattr(self._writing, "now", False)
            with atomically(self.conn, "IMMEDIATE" if writing else "DEFERRED"):
                yield self.conn.cursor()


@contextmanager
def atomically(conn: sqlite3.Connection, mode: str) -> Iterator[None]:
    """A transaction that is rolled back whatever ends the block early."""
    conn.execute(f"BEGIN {mode}")
    try:
        yield
        conn.execute("COMMIT")
    finally:
        if conn.in_transaction:
            conn.rollback()


def connect(path: str, *, read_only: bool = False) -> sqlite3.Connection:
    """Open a store's file as the store needs it; a new file gets a write-ahead log.

    An existing file keeps its journal mode: other programs may rely on it.
    """
    conn = sqlite3.connect(
        path, check_same_thread=False, isolation_level=None, timeout=BUSY_SECONDS
    )
    try:
        if read_only:
            conn.execute("PRAGMA query_only=ON")
            return conn
        conn.execute("PRAGMA foreign_keys=ON")
        _begin_with_a_log(conn)
        if conn.execute("PRAGMA journal_mode").fetchone()[0] == "wal":
            conn.execute("PRAGMA synchronous=NORMAL")
    except BaseException:
        conn.close()
        raise
    return conn


def _begin_with_a_log(conn: sqlite3.Connection) -> None:
    """Give an empty file a write-ahead log, which others may do at this moment.

    SQLite does not wait for a lock here, whatever the timeout.
    """
    deadline = time.monotonic() + BUSY_SECONDS
    while not conn.execute("PRAGMA page_count").fetchone()[0]:
        try:
            conn.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if not _is_busy(error) or time.monotonic() > deadline:
                raise
            time.sleep(_MOMENT_SECONDS)
        else:
            return


def load_vectors(conn: sqlite3.Connection) -> None:
    """Give a connection the functions that a search by meaning calls.

    They are sqlite-vec's, or our slower equals where this Python's SQLite cannot load
    extensions (macOS, a default build of pyenv) or there is none for this machine.
    """
    try:
        conn.enable_load_extension(True)  # noqa: FBT003 - it takes no name
        try:
            sqlite_vec.load(conn)
        finally:
            conn.enable_load_extension(False)  # noqa: FBT003
    except (AttributeError, sqlite3.Error):
        distances.register(conn)


def ensure_schema(conn: sqlite3.Connection, *, vectors: bool) -> None:
    """Create the store's own schema, or complete one whose set-up was killed.

    The stock set-up runs statement by statement and records each step after it, so
    that a kill in between makes its next `ALTER TABLE` fail for good. Here it is
    one transaction, and a column that is already there counts as added.
    """
    plans = [("store_migrations", SqliteStore.MIGRATIONS)]
    if vectors:
        plans.append(("vector_migrations", SqliteStore.VECTOR_MIGRATIONS))
    if all(_version(conn, table) == len(steps) - 1 for table, steps in plans):
        return
    with atomically(conn, "IMMEDIATE"):
        for table, steps in plans:
            conn.execute(
                f"CREATE TABLE IF NOT EXISTS {table} (\n"
                "                    v INTEGER PRIMARY KEY\n                )"
            )
            for v in range(_version(conn, table) + 1, len(steps)):
                added = _COLUMN_ADDED.search(steps[v])
                if not (added and added[1] in _columns(conn)):
                    conn.execute(steps[v])
                conn.execute(f"INSERT INTO {table} (v) VALUES (?)", (v,))  # noqa: S608


def has_schema(conn: sqlite3.Connection) -> bool:
    """Whether the file holds a store, complete enough to read."""
    return "expires_at" in _columns(conn)


def _columns(conn: sqlite3.Connection) -> set[str]:
    return {row[1] for row in conn.execute("PRAGMA table_info(store)")}


def _version(conn: sqlite3.Connection, table: str) -> int:
    try:
        row = conn.execute(f"SELECT max(v) FROM {table}").fetchone()  # noqa: S608
    except sqlite3.OperationalError:
        return -1
    return -1 if row[0] is None else int(row[0])


def check_columns(conn: sqlite3.Connection, path: str) -> None:
    """Refuse a file whose own tables have the names a store needs.

    Raises:
        StoreUnsuitable: Such a table is there and is not LangGraph's.
    """
    foreign = []
    for table in sorted(STORE_TABLES):
        columns = {row[1] for row in conn.execute(f"PRAGMA table_info({table})")}
        needed = {"prefix", "key"}
        if table == "store":
            needed = {"prefix", "key", "value"}
        elif table.endswith("migrations"):
            needed = {"v"}
        if columns and not needed <= columns:
            foreign.append(table)
    if foreign:
        raise StoreUnsuitable(
            f"{path} has a table of its own named {', '.join(foreign)}, where a "
            "LangGraph store would keep items.",
            failed=tuple(foreign),
            hint="Give a store in another file: store='sqlite:///memory.db'.",
        )


def needs_vectors(op: PutOp) -> bool:
    """Whether a put has to be embedded."""
    return op.value is not None and op.index is not False


def expiry(ttl: float | None, moment: datetime) -> str | None:
    """A TTL (minutes) as the store writes the moment it ends."""
    if ttl is None:
        return None
    return (moment + timedelta(minutes=ttl)).isoformat(" ")


class SqliteBackend(DirectReads):
    """A `SqliteStore`, ours or the user's, by SQL on its own connection."""

    atomic = True
    max_puts = 6_500
    store: SqliteStore

    def _ready(self) -> sqlite3.Connection:
        if not self.store.is_setup:
            self.store.setup()
        return self.store.conn

    def value(self, prefix: str, key: str) -> Value | None:
        """One value, by the shortest way."""
        store = self.store
        conn = store.conn if store.is_setup else self._ready()
        with store.lock:
            row = conn.execute(_GET, (prefix, key)).fetchone()
        return None if row is None else orjson.loads(row[0])

    def read(self, pairs: Sequence[Pair]) -> list[Value | None]:
        """Read each key by the primary index; many of one namespace as a range."""
        conn = self._ready()
        if len(pairs) >= _RANGE_FROM and self._sorts_as_python:
            return self._read_many(conn, pairs)
        found: list[Value | None] = []
        with self.store.lock:
            for namespace, key in pairs:
                row = conn.execute(_GET, (".".join(namespace), key)).fetchone()
                found.append(None if row is None else orjson.loads(row[0]))
        return found

    @functools.cached_property
    def _sorts_as_python(self) -> bool:
        """Whether keys sort by code point; in a UTF-16 file they do not."""
        with self.store.lock:
            row = self.store.conn.execute("PRAGMA encoding").fetchone()
        return bool(row[0] == "UTF-8")

    def _read_many(
        self, conn: sqlite3.Connection, pairs: Sequence[Pair]
    ) -> list[Value | None]:
        wanted: dict[Namespace, list[int]] = {}
        for at, (namespace, _) in enumerate(pairs):
            wanted.setdefault(namespace, []).append(at)
        found: list[Value | None] = [None] * len(pairs)
        for namespace, places in wanted.items():
            prefix = ".".join(namespace)
            rows = None
            if len(places) >= _RANGE_FROM:
                keys = [pairs[at][1] for at in places]
                # A range may hold much else: past that, keys are read one by one.
                limit = _RANGE_WASTE * len(keys)
                with self.store.lock:
                    rows = conn.execute(
                        _RANGE, (prefix, min(keys), max(keys), limit)
                    ).fetchall()
            if rows is not None and len(rows) < limit:
                values = dict(rows)
                for at in places:
                    raw = values.get(pairs[at][1])
                    if raw is not None:
                        found[at] = orjson.loads(raw)
                continue
            with self.store.lock:
                for at in places:
                    row = conn.execute(_GET, (prefix, pairs[at][1])).fetchone()
                    if row is not None:
                        found[at] = orjson.loads(row[0])
        return found

    def write(self, groups: Sequence[Sequence[PutOp]]) -> None:
        """Write as the store would, in one transaction; embedding is left to it."""
        ops = [op for group in groups for op in group]
        if self.store.index_config and any(map(needs_vectors, ops)):
            for batch in self.batches(groups):
                self._batch(batch)
            return
        last = {(op.namespace, op.key): op for op in ops}
        moment = datetime.now(UTC)
        puts, deletes = [], []
        for (namespace, key), op in last.items():
            prefix = ".".join(namespace)
            if op.value is None:
                deletes.append((prefix, key))
                continue
            value = orjson.dumps(op.value)
            puts.append((prefix, key, value, expiry(op.ttl, moment), op.ttl))
        conn = self._ready()
        with self.store.lock, atomically(conn, "IMMEDIATE"):
            if deletes:
                conn.executemany(_DELETE, deletes)
            if puts:
                conn.executemany(PUT, puts)

    def replace(self, put: PutOp, before: Value) -> bool:
        """Compare and write in one statement."""
        conn = self._ready()
        with self.store.lock, atomically(conn, "IMMEDIATE"):
            return bool(conn.execute(_REPLACE, _replacing(put, before)).rowcount)

    def _batch(self, batch: list[PutOp]) -> None:
        try:
            self.store.batch(batch)
        except sqlite3.Error:
            # A stock store stays inside the transaction whose commit failed.
            with self.store.lock:
                if self.store.conn.in_transaction:
                    self.store.conn.rollback()
            raise

    def page(
        self,
        namespace: Namespace,
        after: str | None,
        limit: int,
        reverse: bool,  # noqa: FBT001
    ) -> list[tuple[str, Value]]:
        """Read a range of the primary index."""
        conn = self._ready()
        with self.store.lock:
            rows = conn.execute(*_page_query(namespace, after, limit, reverse=reverse))
            return [(key, orjson.loads(value)) for key, value in rows]

    def count(self, namespace: Namespace) -> int:
        """Count by the index."""
        conn = self._ready()
        with self.store.lock:
            return int(conn.execute(_COUNT, (".".join(namespace),)).fetchone()[0])

    def older(self, namespace: Namespace, keep: int) -> list[str]:
        """Read keys from the index alone."""
        conn = self._ready()
        with self.store.lock:
            rows = conn.execute(_OLDER, (".".join(namespace), keep)).fetchall()
        return [row[0] for row in rows]

    def search(self, op: SearchOp) -> list[SearchItem]:
        """Leave ranking to the store."""
        return self.store.batch([op])[0]  # type: ignore[return-value]

    def transient(self, error: BaseException) -> bool:
        """Whether another connection held the lock."""
        return _is_busy(error)

    def translate(self, error: BaseException) -> BaseException:
        """Name the file and what to do."""
        if lengths_differ(error, self.store):
            return differing_lengths(self.store, _cause(error))
        return translated(error, _file_of(self.store.conn))


class AsyncSqliteBackend(AsyncPlainBackend):
    """An `AsyncSqliteStore`, by SQL on its own connection."""

    keyed = True
    max_puts = 6_500
    store: AsyncSqliteStore

    async def read(self, pairs: Sequence[Pair]) -> list[Value | None]:
        """Read each key by the primary index."""
        found: list[Value | None] = []
        async with self.store._cursor(transaction=False) as cur:  # noqa: SLF001
            for namespace, key in pairs:
                await cur.execute(_GET, (".".join(namespace), key))
                row = await cur.fetchone()
                found.append(None if row is None else orjson.loads(row[0]))
        return found

    async def write(self, groups: Sequence[Sequence[PutOp]]) -> None:
        """Write by the store; undo the transaction a failed commit leaves open."""
        for batch in self.batches(groups):
            try:
                await self.store.abatch(batch)
            except sqlite3.Error:
                async with self.store.lock:
                    if self.store.conn.in_transaction:
                        await self.store.conn.rollback()
                raise

    async def replace(self, put: PutOp, before: Value) -> bool:
        """Compare and write in one statement."""
        async with self.store._cursor() as cur:  # noqa: SLF001 - as the store writes
            await cur.execute(_REPLACE, _replacing(put, before))
            return bool(cur.rowcount)

    async def page(
        self,
        namespace: Namespace,
        after: str | None,
        limit: int,
        reverse: bool,  # noqa: FBT001
    ) -> list[tuple[str, Value]]:
        """Read a range of the primary index."""
        query = _page_query(namespace, after, limit, reverse=reverse)
        async with self.store._cursor(transaction=False) as cur:  # noqa: SLF001
            await cur.execute(*query)
            return [(row[0], orjson.loads(row[1])) for row in await cur.fetchall()]

    async def count(self, namespace: Namespace) -> int:
        """Count by the index."""
        async with self.store._cursor(transaction=False) as cur:  # noqa: SLF001
            await cur.execute(_COUNT, (".".join(namespace),))
            row = await cur.fetchone()
        return int(row[0]) if row else 0

    async def older(self, namespace: Namespace, keep: int) -> list[str]:
        """Read keys from the index alone."""
        async with self.store._cursor(transaction=False) as cur:  # noqa: SLF001
            await cur.execute(_OLDER, (".".join(namespace), keep))
            return [row[0] for row in await cur.fetchall()]

    def transient(self, error: BaseException) -> bool:
        """Whether another connection held the lock."""
        return _is_busy(error)

    def translate(self, error: BaseException) -> BaseException:
        """Name the file and what to do."""
        return translated(error)


def _replacing(put: PutOp, before: Value) -> tuple[Any, ...]:
    ends = expiry(put.ttl, datetime.now(UTC))
    value, prefix = orjson.dumps(put.value), ".".join(put.namespace)
    return (value, ends, put.ttl, prefix, put.key, revision_in(before))


def _page_query(
    namespace: Namespace, after: str | None, limit: int, *, reverse: bool
) -> tuple[str, tuple[Any, ...]]:
    beyond, order = ("<", "DESC") if reverse else (">", "ASC")
    where, start = (f"AND key {beyond} ?", (after,)) if after is not None else ("", ())
    query = (
        f"SELECT key, value FROM store WHERE prefix = ? {where} "  # noqa: S608
        f"ORDER BY key {order} LIMIT ?"
    )
    return query, (".".join(namespace), *start, limit)


def _cause(error: BaseException) -> BaseException:
    """SQLite's own error: the stock store wraps those of reads in others."""
    own = isinstance(error, sqlite3.Error) or error.__cause__ is None
    return error if own else error.__cause__  # type: ignore[return-value]


def _is_busy(error: BaseException) -> bool:
    error = _cause(error)
    return isinstance(error, sqlite3.OperationalError) and (
        "locked" in str(error) or "busy" in str(error)
    )


_REMEDIES = (
    ("readonly", "{} cannot be written.", "Give a store elsewhere with store=."),
    ("disk is full", "The disk is full.", "Free some space and repeat."),
    ("disk I/O", "The disk failed.", "Check the disk, then repeat."),
    ("malformed", "{} is damaged.", "Restore it from a backup."),
    (
        "not a database",
        "{} is another kind of file, not a SQLite database.",
        "Check the address.",
    ),
    (
        "locked",
        "{} was locked by another program for too long; nothing was written.",
        "Stop it, then repeat.",
    ),
    (
        "unable to open",
        "{} cannot be opened.",
        "Check the folder, its rights and the free space.",
    ),
    ("no such table: store", "{} holds no store yet.", "Open it with setup."),
)


def _file_of(conn: sqlite3.Connection) -> str:
    try:
        row = conn.execute("PRAGMA database_list").fetchone()
    except sqlite3.Error:
        return ""
    return redact_url(row[2]) if row and row[2] else ""


def translated(error: BaseException, file: str = "") -> BaseException:
    """What SQLite's error means, in a sentence; others are given back."""
    own = _cause(error)
    if not isinstance(own, sqlite3.Error):
        return error
    error = own
    for part, sentence, hint in _REMEDIES:
        if part in str(error):
            text = sentence.format(file or "The file")
            unavailable = StoreUnavailable(text, hint=hint)
            unavailable.__cause__ = error
            return unavailable
    return error
