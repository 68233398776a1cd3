"""The bulk path into PostgreSQL: COPY to a staging table, then a conditional upsert."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

import orjson
import psycopg
from langgraph.store.base import PutOp
from langgraph.store.postgres import PostgresStore
from psycopg.rows import tuple_row

from holdover.compat.stores import postgres
from holdover.compat.stores.backend import Namespace, Pair, Value
from holdover.migrate.conflicts import Decision, OnConflict
from holdover.migrate.targets.base import (
    Applied,
    Note,
    Row,
    StoredRow,
    Target,
    conflict_reject,
    tally,
    unique_batches,
)
from holdover.migrate.targets.resolving import Resolved, Resolver, decide_again
from holdover.migrate.targets.stored_vectors import Vector
from holdover.migrate.targets.vectors import embed

_STAGE = """
CREATE TEMP TABLE IF NOT EXISTS holdover_stage (
    prefix text, key text, value jsonb, ttl double precision, seen jsonb
) ON COMMIT DELETE ROWS
"""
_COPY = "COPY holdover_stage (prefix, key, value, ttl, seen) FROM STDIN"
_COLUMNS = "prefix, key, value, created_at, updated_at, expires_at, ttl_minutes"
_EXPIRES = "CASE WHEN ttl IS NOT NULL THEN NOW() + ttl * interval '1 minute' END"
_INSERT_NEW = f"""
INSERT INTO store ({_COLUMNS})
SELECT prefix, key, value, CURRENT_TIMESTAMP, CURRENT_TIMESTAMP, {_EXPIRES}, ttl
FROM holdover_stage WHERE seen IS NULL
ORDER BY prefix, key
ON CONFLICT (prefix, key) DO NOTHING
"""  # noqa: S608 - constants
_UPDATE_SEEN = f"""
INSERT INTO store ({_COLUMNS})
SELECT prefix, key, value, CURRENT_TIMESTAMP, CURRENT_TIMESTAMP, {_EXPIRES}, ttl
FROM holdover_stage WHERE seen IS NOT NULL
ORDER BY prefix, key
ON CONFLICT (prefix, key) DO UPDATE
SET value = EXCLUDED.value, updated_at = CURRENT_TIMESTAMP,
    expires_at = EXCLUDED.expires_at, ttl_minutes = EXCLUDED.ttl_minutes
WHERE store.value = (
    SELECT g.seen FROM holdover_stage g
    WHERE g.prefix = EXCLUDED.prefix AND g.key = EXCLUDED.key
)
"""  # noqa: S608
_NOT_WRITTEN = """
SELECT g.prefix, g.key FROM holdover_stage g
LEFT JOIN store s ON s.prefix = g.prefix AND s.key = g.key
WHERE s.value IS DISTINCT FROM g.value
"""
_PUT = f"""
INSERT INTO store ({_COLUMNS})
VALUES (%s, %s, %s, CURRENT_TIMESTAMP, CURRENT_TIMESTAMP,
        NOW() + %s * interval '1 minute', %s)
ON CONFLICT (prefix, key) DO UPDATE
SET value = EXCLUDED.value, updated_at = CURRENT_TIMESTAMP,
    expires_at = EXCLUDED.expires_at, ttl_minutes = EXCLUDED.ttl_minutes
"""  # noqa: S608
_PUT_NEW = _PUT.partition("ON CONFLICT")[0] + "ON CONFLICT DO NOTHING"
_PUT_SEEN = """
UPDATE store SET value = %s, updated_at = CURRENT_TIMESTAMP,
    expires_at = NOW() + %s * interval '1 minute', ttl_minutes = %s
WHERE prefix = %s AND key = %s AND value = %s::jsonb
"""
_DELETE = "DELETE FROM store WHERE prefix = %s AND key = %s"
_DELETE_SEEN = f"{_DELETE} AND value = %s::jsonb"
_ENDS_AT = "SELECT expires_at FROM store WHERE prefix = %s AND key = %s"
_PUT_VECTOR = """
INSERT INTO store_vectors
    (prefix, key, field_name, embedding, created_at, updated_at)
VALUES (%s, %s, %s, %s, CURRENT_TIMESTAMP, CURRENT_TIMESTAMP)
ON CONFLICT (prefix, key, field_name) DO UPDATE
SET embedding = EXCLUDED.embedding, updated_at = CURRENT_TIMESTAMP
"""
_ANY_CURRENT = "SELECT EXISTS (SELECT 1 FROM store WHERE prefix NOT LIKE '~holdover.%')"
_ANY_MARK = "SELECT EXISTS (SELECT 1 FROM store WHERE prefix LIKE '~holdover.legacy.%')"
_ANY_TOMBSTONE = (
    "SELECT EXISTS (SELECT 1 FROM store WHERE prefix = '~holdover.tombstones')"
)
_OF_RUN = (
    "SELECT prefix, key, value::text FROM store "
    "WHERE (prefix, key) > (%s, %s) AND value->'meta'->'source'->>'run' = %s "
    "ORDER BY prefix, key LIMIT %s"
)
_COUNT_OF_RUN = (
    "SELECT count(*) FROM store WHERE value->'meta'->'source'->>'run' = %s "
    "AND prefix NOT LIKE '~holdover.%%'"
)
_ANY_VECTORS = "SELECT to_regclass('store_vectors') IS NOT NULL"
_VECTORS_OF = (
    "SELECT field_name, embedding::text FROM store_vectors "
    "WHERE prefix = %s AND key = %s"
)
_DROP_VECTORS = "DELETE FROM store_vectors WHERE prefix = %s AND key = %s"
_VECTOR_DIMS = (
    "SELECT atttypmod FROM pg_attribute "
    "WHERE attrelid = to_regclass('store_vectors') AND attname = 'embedding'"
)
_PAGE = 5_000
_WORTH_ANALYZING = 10_000
_NULL = b"\\N"
_SKEW_SECONDS = 5


class PostgresTarget(Target):
    """A LangGraph store in PostgreSQL, on one connection of our own."""

    label = "PostgreSQL store"
    bulk = True
    keeps_vectors = True
    store: PostgresStore

    def __init__(
        self, store: PostgresStore, conn: psycopg.Connection[Any], address: str
    ) -> None:
        super().__init__(store, address)
        self._conn = conn

    def _one(self, query: str) -> Any:
        with self._conn.cursor(row_factory=tuple_row) as cur:
            row = cur.execute(query).fetchone()
        return row[0] if row else None

    def holds_anything(self) -> bool:
        """Whether there is a current item, a mark or a tombstone."""
        return any(map(self._one, (_ANY_CURRENT, _ANY_MARK, _ANY_TOMBSTONE)))

    def holds_marks(self) -> bool:
        """Whether there is any mark."""
        return bool(self._one(_ANY_MARK))

    def vector_dims(self) -> int | None:
        """Ask for the type of the column."""
        found = self._one(_VECTOR_DIMS)
        return int(found) if found and found > 0 else None

    def prepare(self) -> None:
        """Make the staging table of this connection."""
        self._conn.execute(_STAGE)

    def apply(self, rows: Sequence[Row], policy: OnConflict, note: Note) -> Applied:
        """One transaction; the common case, all new, needs no reads."""
        indexed = self.store.index_config is not None
        batches = list(unique_batches(rows))
        if len(batches) == 1 and not indexed and self._insert_all(rows, note):
            return Applied(decisions=_counted(len(rows)))
        applied = Applied()
        vectors = [embed(self, batch, policy) if indexed else {} for batch in batches]
        with self._conn.transaction(), self._conn.cursor(row_factory=tuple_row) as cur:
            for batch, known in zip(batches, vectors, strict=True):
                resolved = Resolver(self).resolve(batch, policy)
                lost = self._write_heads(cur, [one for one in resolved if one.head])
                losers = [
                    one for one in resolved if (one.row.namespace, one.row.key) in lost
                ]
                decide_again(self, losers, policy)
                for one in resolved:
                    place = (one.row.namespace, one.row.key)
                    if place in lost:
                        continue
                    self._put_all(cur, (op for op, seen in one.puts if seen is ...))
                heads = [one for one in resolved if one.head]
                written = {(one.row.namespace, one.row.key) for one in heads} - lost
                replaced = [
                    (one.row.namespace, one.row.key)
                    for one in heads
                    if one.existing is not None
                ]
                self._drop_vectors(cur, [one for one in replaced if one in written])
                self._put_vectors(cur, written, known)
                tally(applied, resolved)
            self._put_all(cur, note(applied))
        return applied

    def _insert_all(self, rows: Sequence[Row], note: Note) -> bool:
        """Try to insert everything as new; nothing happens where that fails."""
        if self.holds_marks() or self._one(_ANY_TOMBSTONE):
            return False
        written = False
        with self._conn.transaction(), self._conn.cursor() as cur:
            with cur.copy(_COPY) as copy:
                copy.write(_staged((*row[:4], None) for row in rows))
            cur.execute(_INSERT_NEW)
            written = cur.rowcount == len(rows)
            if not written:
                raise psycopg.Rollback
            self._put_all(cur, note(Applied(decisions=_counted(len(rows)))))
        return written

    def _write_heads(
        self, cur: psycopg.Cursor[Any], resolved: Sequence[Resolved]
    ) -> set[tuple[Namespace, str]]:
        """Write heads that still are as they were seen; return the places that lost."""
        if not resolved:
            return set()
        heads = [one.head for one in resolved if one.head]
        with cur.copy(_COPY) as copy:
            copy.write(
                _staged(
                    (op.namespace, op.key, op.value, op.ttl, seen) for op, seen in heads
                )
            )
        cur.execute(_INSERT_NEW)
        written = cur.rowcount
        cur.execute(_UPDATE_SEEN)
        written += cur.rowcount
        lost: set[tuple[Namespace, str]] = set()
        if written != len(heads):
            rows = cur.execute(_NOT_WRITTEN).fetchall()
            lost = {(tuple(prefix.split(".")), key) for prefix, key in rows}
        cur.execute("DELETE FROM holdover_stage")
        return lost

    def _put_all(self, cur: psycopg.Cursor[Any], puts: Iterable[PutOp]) -> None:
        for op in puts:
            prefix = ".".join(op.namespace)
            if op.value is None:
                cur.execute(_DELETE, (prefix, op.key))
            else:
                value = orjson.dumps(op.value).decode()
                cur.execute(_PUT, (prefix, op.key, value, op.ttl, op.ttl))

    def _put_vectors(
        self,
        cur: psycopg.Cursor[Any],
        written: set[Pair],
        vectors: Mapping[Pair, list[Vector]],
    ) -> None:
        rows = [
            (".".join(place[0]), place[1], name, _vector_text(numbers))
            for place in written
            for name, numbers in vectors.get(place, ())
        ]
        if rows:
            # In the order in which the store locks them, too.
            cur.executemany(_PUT_VECTOR, sorted(rows))

    def _drop_vectors(self, cur: psycopg.Cursor[Any], places: Sequence[Pair]) -> None:
        """What was embedded for the values before says nothing of the new ones."""
        if places and self._one(_ANY_VECTORS):
            rows = [(".".join(namespace), key) for namespace, key in places]
            cur.executemany(_DROP_VECTORS, sorted(rows))

    def vectors_of(self, pairs: Sequence[Pair]) -> dict[Pair, list[Vector]]:
        """Read the table of vectors, where there is one."""
        found: dict[Pair, list[Vector]] = {}
        if not pairs or not self._one(_ANY_VECTORS):
            return found
        with self._conn.cursor(row_factory=tuple_row) as cur:
            for place in pairs:
                row = (".".join(place[0]), place[1])
                rows = cur.execute(_VECTORS_OF, row).fetchall()
                if rows:
                    found[place] = [(name, orjson.loads(text)) for name, text in rows]
        return found

    def ends_at(self, namespace: Namespace, key: str) -> datetime | None:
        """Read the column."""
        with self._conn.cursor(row_factory=tuple_row) as cur:
            row = cur.execute(_ENDS_AT, (".".join(namespace), key)).fetchone()
        return row[0] if row else None

    def swap(
        self,
        namespace: Namespace,
        key: str,
        seen: Value | None,
        new: Value | None,
        ttl: float | None = None,
        *,
        also: Sequence[PutOp] = (),
        vectors: Sequence[Vector] | None = None,
    ) -> bool:
        """Compare and write in one statement."""
        prefix = ".".join(namespace)
        wanted = None if seen is None else orjson.dumps(seen).decode()
        value = None if new is None else orjson.dumps(new).decode()
        with self._conn.transaction(), self._conn.cursor() as cur:
            if new is None:
                cur.execute(_DELETE_SEEN, (prefix, key, wanted))
            elif seen is None:
                cur.execute(_PUT_NEW, (prefix, key, value, ttl, ttl))
            else:
                cur.execute(_PUT_SEEN, (value, ttl, ttl, prefix, key, wanted))
            written = cur.rowcount == 1
            if written:
                self._put_all(cur, also)
            if written and vectors is not None:
                place = (namespace, key)
                self._drop_vectors(cur, [place])
                self._put_vectors(cur, {place}, {place: list(vectors)})
        return written

    def count_of_run(self, run_id: str) -> int:
        """Count in the server."""
        with self._conn.cursor(row_factory=tuple_row) as cur:
            row = cur.execute(_COUNT_OF_RUN, (run_id,)).fetchone()
        return int(row[0]) if row else 0

    def rows_of_run(self, run_id: str) -> Iterator[list[StoredRow]]:
        """Scan the table by its primary key."""
        after = ("", "")
        while True:
            with self._conn.cursor(row_factory=tuple_row) as cur:
                rows = cur.execute(_OF_RUN, (*after, run_id, _PAGE)).fetchall()
            if not rows:
                return
            yield [
                StoredRow(tuple(prefix.split(".")), key, orjson.loads(raw))
                for prefix, key, raw in rows
            ]
            after = rows[-1][:2]

    def finish(self, written: int) -> None:
        """Let the planner know what was loaded; only the owner may tell it."""
        if written >= _WORTH_ANALYZING:
            try:
                self._conn.execute("ANALYZE store")
            except psycopg.errors.InsufficientPrivilege:
                return

    def facts(self) -> list[str]:
        """How to back the table up, and whether the clocks agree."""
        found = ["back up the target first: pg_dump -t store -t 'store_*' > store.sql"]
        theirs = self._one("SELECT extract(epoch FROM clock_timestamp())::float8")
        skew = abs(theirs - time.time())
        if skew > _SKEW_SECONDS:
            found.append(f"the server's clock differs from this one by {skew:.0f} s")
        return found

    def close(self) -> None:
        """Close the connection."""
        self._conn.close()


def open_postgres(
    address: str, shown: str, index: dict[str, Any] | None, *, setup: bool
) -> PostgresTarget | None:
    """Open a target; `None` if it holds no store and may not be given one."""
    conn = postgres.connect(address)
    store = PostgresStore(conn, index=index)  # type: ignore[arg-type]
    try:
        if setup:
            postgres.ensure_schema(store, address)
        elif not postgres.has_schema(conn):
            conn.close()
            return None
    except BaseException:
        conn.close()
        raise
    return PostgresTarget(store, conn, shown)


def _counted(number: int) -> Any:
    applied = Applied()
    applied.decisions[Decision.COPY] = number
    return applied.decisions


def _vector_text(numbers: Sequence[float]) -> str:
    return f"[{','.join(map(repr, map(float, numbers)))}]"


def _staged(rows: Iterable[tuple[Namespace, str, Any, float | None, Any]]) -> bytes:
    """Rows in COPY's text format; JSON and item keys hold no raw tab or newline."""
    lines = []
    for namespace, key, value, ttl, seen in rows:
        prefix = ".".join(namespace)
        lines.append(
            b"\t".join(
                (
                    f"{prefix}\t{key}".encode().replace(b"\\", b"\\\\"),
                    orjson.dumps(value).replace(b"\\", b"\\\\"),
                    _NULL if ttl is None else b"%r" % ttl,
                    _NULL
                    if seen is None
                    else orjson.dumps(seen).replace(b"\\", b"\\\\"),
                )
            )
        )
    lines.append(b"")
    return b"\n".join(lines)


__all__ = ["PostgresTarget", "conflict_reject", "open_postgres"]
