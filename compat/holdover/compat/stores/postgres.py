"""PostgreSQL: pooled connections, the store's schema, direct reads."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import orjson
import psycopg
from langgraph.store.base import PutOp, SearchItem, SearchOp
from langgraph.store.postgres import AsyncPostgresStore, PostgresStore
from psycopg.rows import dict_row, tuple_row
from psycopg_pool import ConnectionPool

from holdover.compat.errors import AddressError, StoreUnavailable
from holdover.compat.stores.address import check_login, redact_url
from holdover.compat.stores.backend import (
    AsyncPlainBackend,
    Backend,
    Namespace,
    Pair,
    Value,
    revision_in,
)

CONNECT_SECONDS = 10
_SETUP_SECONDS = 120
# Any fixed number: all set-ups of Holdover in one database wait for each other.
_SETUP_LOCK = 0x686F6C64
_READ = (
    "SELECT k.n, s.value::text FROM unnest(%s::text[], %s::text[]) "
    "WITH ORDINALITY AS k(prefix, key, n) "
    "JOIN store s ON s.prefix = k.prefix AND s.key = k.key"
)
_COUNT = "SELECT count(*) FROM store WHERE prefix = %s"
_REPLACE = (
    "UPDATE store SET value = %s::jsonb, updated_at = CURRENT_TIMESTAMP, "
    "expires_at = now() + %s * interval '1 minute', ttl_minutes = %s "
    "WHERE prefix = %s AND key = %s "
    "AND value->'meta'->>'revision' IS NOT DISTINCT FROM %s"
)
_OLDER = "SELECT key FROM store WHERE prefix = %s ORDER BY key DESC OFFSET %s"
_INDEXES = ("store_prefix_idx", "store_vectors_embedding_idx")


def connection_options() -> dict[str, Any]:
    """What LangGraph's store expects of a connection, and a limit on connecting."""
    return {
        "autocommit": True,
        "prepare_threshold": 0,
        "row_factory": dict_row,
        "connect_timeout": CONNECT_SECONDS,
        "application_name": "holdover",
    }


def connect(url: str) -> psycopg.Connection[Any]:
    """Open one connection.

    Raises:
        StoreUnavailable: In one sentence without the password.
        AddressError: Likewise, where the address cannot be read.
    """
    check_login(url)
    try:
        return psycopg.connect(url, **connection_options())
    except psycopg.ProgrammingError:
        # What libpq says quotes the part it cannot read: perhaps the password.
        raise AddressError(
            f"{redact_url(url)} is not an address libpq can read.",
            hint="Percent-encode special characters: a space is %20, % is %25.",
        ) from None
    except psycopg.Error as error:
        raise unavailable(url, error) from error


def unavailable(url: str, error: BaseException) -> StoreUnavailable:
    """Say what PostgreSQL said, in one line, without the address's password."""
    return StoreUnavailable(
        f"PostgreSQL at {redact_url(url)} cannot be used: {reason(error)}.",
        hint="Check the address, the login and that the server is up.",
    )


def reason(error: BaseException) -> str:
    """What PostgreSQL said, in one line; never its DETAIL, which quotes rows."""
    diagnostic = getattr(error, "diag", None)
    text = (diagnostic and diagnostic.message_primary) or str(error)
    return " ".join(text.split()).rstrip(".?") or type(error).__name__


def open_pool(url: str) -> ConnectionPool[Any]:
    """A pool that opens connections as they are needed and replaces dead ones."""
    return ConnectionPool(
        url,
        min_size=0,
        max_size=4,
        kwargs=connection_options(),
        check=ConnectionPool.check_connection,
        timeout=BUSY_SECONDS,
        open=True,
    )


BUSY_SECONDS = 30.0


def has_schema(conn: psycopg.Connection[Any]) -> bool:
    """Whether the database holds a store, complete enough to read."""
    with conn.cursor(row_factory=tuple_row) as cur:
        row = cur.execute(
            "SELECT count(*) FROM pg_attribute "
            "WHERE attrelid = to_regclass('store') AND attname = 'expires_at'"
        ).fetchone()
    return bool(row and row[0])


def ensure_schema(store: PostgresStore, url: str) -> None:
    """Let the store make its own schema, one process at a time.

    Concurrent first set-ups fail or deadlock, and a killed one may leave an
    invalid index, which is dropped here so that it is built again.
    """
    with setting_up(url) as conn, conn.cursor(row_factory=tuple_row) as cur:
        if not _complete(cur, store):
            _drop_invalid_indexes(cur)
            PostgresStore(conn, index=store.index_config).setup()


@contextmanager
def setting_up(url: str) -> Iterator[psycopg.Connection[Any]]:
    """A connection of its own, while no other process of ours sets anything up."""
    with connect(url) as conn, conn.cursor(row_factory=tuple_row) as cur:
        _lock(cur)
        try:
            yield conn
        except psycopg.Error as error:
            raise unavailable(url, error) from error
        finally:
            if not conn.broken:
                cur.execute("SELECT pg_advisory_unlock(%s)", (_SETUP_LOCK,))


def _lock(cur: psycopg.Cursor[Any]) -> None:
    # Polling: a waiting pg_advisory_lock holds a snapshot, and CREATE INDEX
    # CONCURRENTLY waits for every snapshot, so the two would deadlock.
    deadline = time.monotonic() + _SETUP_SECONDS
    while True:
        row = cur.execute("SELECT pg_try_advisory_lock(%s)", (_SETUP_LOCK,)).fetchone()
        if row and row[0]:
            return
        if time.monotonic() > deadline:
            raise StoreUnavailable(
                "Another process has been setting up this database for two minutes.",
                hint="Wait for it or end it, then repeat.",
            )
        time.sleep(0.1)


def _complete(cur: psycopg.Cursor[Any], store: PostgresStore) -> bool:
    wanted = [("store_migrations", len(store.MIGRATIONS))]
    if store.index_config:
        # A flat index leaves its step out.
        flat = store.index_config.get("ann_index_config", {}).get("kind") == "flat"
        wanted.append(("vector_migrations", len(store.VECTOR_MIGRATIONS) - flat))
    for table, steps in wanted:
        row = cur.execute("SELECT to_regclass(%s)", (table,)).fetchone()
        if not row or row[0] is None:
            return False
        row = cur.execute(f"SELECT count(*) FROM {table}").fetchone()  # type: ignore[call-overload,unused-ignore]  # noqa: S608
        if not row or row[0] < steps:
            return False
    return not _invalid_indexes(cur)


def _invalid_indexes(cur: psycopg.Cursor[Any]) -> list[str]:
    rows = cur.execute(
        "SELECT i.indexrelid::regclass::text FROM pg_index i "
        "WHERE NOT i.indisvalid AND i.indexrelid = ANY "
        "(ARRAY(SELECT to_regclass(n)::oid FROM unnest(%s::text[]) n))",
        (list(_INDEXES),),
    ).fetchall()
    return [row[0] for row in rows]


def _drop_invalid_indexes(cur: psycopg.Cursor[Any]) -> None:
    for name in _invalid_indexes(cur):
        cur.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")
        # Its step counts as done; without the row it is done again.
        table, step = (
            ("store_migrations", 1)
            if name.endswith(_INDEXES[0])
            else ("vector_migrations", 2)
        )
        cur.execute(f"DELETE FROM {table} WHERE v >= %s", (step,))  # noqa: S608


def _replacing(put: PutOp, before: Value) -> tuple[Any, ...]:
    value, prefix = orjson.dumps(put.value).decode(), ".".join(put.namespace)
    return (value, put.ttl, put.ttl, prefix, put.key, revision_in(before))


class PostgresBackend(Backend):
    """A `PostgresStore`, ours or the user's: reads by SQL, writes by the store.

    The store's own `get` contains an UPDATE and fails for a read-only role.
    """

    atomic = True
    max_puts = 3_000
    store: PostgresStore

    @contextmanager
    def _cursor(self) -> Iterator[psycopg.Cursor[Any]]:
        conn = self.store.conn
        if isinstance(conn, ConnectionPool):
            with conn.connection() as one, one.cursor(row_factory=tuple_row) as cur:
                yield cur
        else:
            with self.store.lock, conn.cursor(row_factory=tuple_row) as cur:
                yield cur

    def read(self, pairs: Sequence[Pair]) -> list[Value | None]:
        """Read all keys in one statement."""
        found: list[Value | None] = [None] * len(pairs)
        with self._cursor() as cur:
            for n, value in cur.execute(_READ, _read_arguments(pairs)):
                found[n - 1] = orjson.loads(value)
        return found

    def write(self, groups: Sequence[Sequence[PutOp]]) -> None:
        """Write by the store; each batch is one transaction."""
        for batch in self.batches(groups):
            self.store.batch(batch)

    def replace(self, put: PutOp, before: Value) -> bool:
        """Compare and write in one statement."""
        with self._cursor() as cur:
            return bool(cur.execute(_REPLACE, _replacing(put, before)).rowcount)

    def page(
        self,
        namespace: Namespace,
        after: str | None,
        limit: int,
        reverse: bool,  # noqa: FBT001
    ) -> list[tuple[str, Value]]:
        """Read a range of the primary index, in the database's own order."""
        query, arguments = _page_query(namespace, after, limit, reverse=reverse)
        with self._cursor() as cur:
            rows = cur.execute(query, arguments).fetchall()
        return [(key, orjson.loads(value)) for key, value in rows]

    def count(self, namespace: Namespace) -> int:
        """Count by the index."""
        with self._cursor() as cur:
            row = cur.execute(_COUNT, (".".join(namespace),)).fetchone()
        return int(row[0]) if row else 0

    def older(self, namespace: Namespace, keep: int) -> list[str]:
        """Read keys alone."""
        with self._cursor() as cur:
            rows = cur.execute(_OLDER, (".".join(namespace), keep)).fetchall()
        return [row[0] for row in rows]

    def search(self, op: SearchOp) -> list[SearchItem]:
        """Leave ranking to the store."""
        return self.store.batch([op])[0]  # type: ignore[return-value]

    def transient(self, error: BaseException) -> bool:
        """Deadlocks, serialisation failures, lock timeouts."""
        return isinstance(error, _TRANSIENT)

    def translate(self, error: BaseException) -> BaseException:
        """Say in one sentence what a lost or refused connection means."""
        return _translated(error)


class AsyncPostgresBackend(AsyncPlainBackend):
    """An `AsyncPostgresStore`: reads by SQL, writes by the store."""

    atomic = True
    keyed = True
    max_puts = 3_000
    store: AsyncPostgresStore

    async def _rows(self, query: str, arguments: Sequence[Any]) -> list[Any]:
        async with self.store._cursor() as cur:  # noqa: SLF001
            await cur.execute(query, arguments)
            return [tuple(row.values()) for row in await cur.fetchall()]

    async def read(self, pairs: Sequence[Pair]) -> list[Value | None]:
        """Read all keys in one statement."""
        found: list[Value | None] = [None] * len(pairs)
        for n, value in await self._rows(_READ, _read_arguments(pairs)):
            found[n - 1] = orjson.loads(value)
        return found

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
        """Read a range of the primary index, in the database's own order."""
        rows = await self._rows(*_page_query(namespace, after, limit, reverse=reverse))
        return [(key, orjson.loads(value)) for key, value in rows]

    async def count(self, namespace: Namespace) -> int:
        """Count by the index."""
        return int((await self._rows(_COUNT, (".".join(namespace),)))[0][0])

    async def older(self, namespace: Namespace, keep: int) -> list[str]:
        """Read keys alone."""
        return [row[0] for row in await self._rows(_OLDER, (".".join(namespace), keep))]

    def transient(self, error: BaseException) -> bool:
        """Deadlocks, serialisation failures, lock timeouts."""
        return isinstance(error, _TRANSIENT)

    def translate(self, error: BaseException) -> BaseException:
        """Say in one sentence what a lost or refused connection means."""
        return _translated(error)


_TRANSIENT = (
    psycopg.errors.DeadlockDetected,
    psycopg.errors.SerializationFailure,
    psycopg.errors.LockNotAvailable,
)


def _read_arguments(pairs: Sequence[Pair]) -> tuple[list[str], list[str]]:
    return [".".join(ns) for ns, _ in pairs], [key for _, key in pairs]


def _page_query(
    namespace: Namespace, after: str | None, limit: int, *, reverse: bool
) -> tuple[str, tuple[Any, ...]]:
    beyond, order = ("<", "DESC") if reverse else (">", "ASC")
    where = f"AND key {beyond} %s" if after is not None else ""
    start = (after,) if after is not None else ()
    query = (
        f"SELECT key, value::text AS value FROM store WHERE prefix = %s {where} "  # noqa: S608
        f"ORDER BY key {order} LIMIT %s"
    )
    return query, (".".join(namespace), *start, limit)


def _translated(error: BaseException) -> BaseException:
    if not isinstance(error, psycopg.Error):
        return error
    hint = ""
    if isinstance(error, psycopg.errors.UndefinedTable):
        hint = (
            "Set the store up first: holdover migrate --setup-only, or store.setup()."
        )
    elif isinstance(error, psycopg.errors.InsufficientPrivilege):
        hint = "Grant the rights listed in the page on least rights."
    translated = StoreUnavailable(f"PostgreSQL refused: {reason(error)}.", hint=hint)
    translated.__cause__ = error
    return translated
