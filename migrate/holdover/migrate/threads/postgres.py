"""The tables of `PostgresSaver`: a row, and the conversation in another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import orjson
import psycopg
from langgraph.checkpoint.postgres import PostgresSaver
from psycopg.rows import tuple_row

from holdover.compat.stores import postgres as stores
from holdover.migrate.threads.checkpoint import CHANNEL, origin_of, serializer
from holdover.migrate.threads.table import Change, Found, ThreadTable

_TABLES = ("checkpoints", "checkpoint_blobs", "checkpoint_writes")
_INDEXES = tuple(f"{table}_thread_id_idx" for table in _TABLES)
_LOOK = """
SELECT t.id,
    (SELECT count(*) FROM checkpoints c WHERE c.thread_id = t.id),
    EXISTS (SELECT 1 FROM checkpoint_writes w WHERE w.thread_id = t.id),
    (SELECT jsonb_agg(jsonb_build_array(c.checkpoint_id, c.metadata)
                      ORDER BY c.checkpoint_id)::text
     FROM checkpoints c WHERE c.thread_id = t.id AND c.checkpoint_ns = ''
     AND c.metadata -> 'holdover' IS NOT NULL)
FROM unnest(%s::text[]) AS t(id)
"""
_INSERT = """
INSERT INTO checkpoints (thread_id, checkpoint_ns, checkpoint_id,
                         parent_checkpoint_id, checkpoint, metadata)
SELECT t.thread_id, '', t.checkpoint_id, NULL, t.checkpoint, t.metadata
FROM unnest(%s::text[], %s::text[], %s::jsonb[], %s::jsonb[])
    AS t(thread_id, checkpoint_id, checkpoint, metadata)
WHERE NOT EXISTS (SELECT 1 FROM checkpoints c WHERE c.thread_id = t.thread_id)
ON CONFLICT DO NOTHING
RETURNING thread_id
"""
_INSERT_BLOB = """
INSERT INTO checkpoint_blobs (thread_id, checkpoint_ns, channel, version, type, blob)
VALUES (%s, '', %s, %s, %s, %s)
ON CONFLICT (thread_id, checkpoint_ns, channel, version)
DO UPDATE SET type = EXCLUDED.type, blob = EXCLUDED.blob
"""
_CHILD = (
    "SELECT EXISTS (SELECT 1 FROM checkpoints "
    "WHERE thread_id = %s AND checkpoint_ns = '' AND parent_checkpoint_id = %s)"
)
_DELETE = """
DELETE FROM checkpoints c WHERE c.thread_id = %(thread)s AND c.checkpoint_id = %(own)s
AND (SELECT count(*) FROM checkpoints o WHERE o.thread_id = %(thread)s) = 1
AND NOT EXISTS (SELECT 1 FROM checkpoint_writes w WHERE w.thread_id = %(thread)s)
"""
_PAGE = """
SELECT thread_id, checkpoint_id, metadata::text FROM checkpoints
WHERE (thread_id, checkpoint_id) > (%s, %s) AND checkpoint_ns = ''
AND metadata -> 'holdover' ->> 'run' = %s
ORDER BY thread_id, checkpoint_id LIMIT %s
"""
_PAGE_SIZE = 1_000


class PostgresThreads(ThreadTable):
    """The threads in a PostgreSQL database."""

    label = "PostgresSaver"

    def __init__(self, conn: psycopg.Connection[Any], address: str) -> None:
        self._conn, self._address = conn, address
        self._serde = serializer()

    def _rows(self, query: Any, arguments: Any = ()) -> list[tuple[Any, ...]]:
        with self._conn.cursor(row_factory=tuple_row) as cur:
            return cur.execute(query, arguments).fetchall()

    @property
    def ready(self) -> bool:
        """Whether all three tables are there."""
        rows = self._rows(
            "SELECT bool_and(to_regclass(n) IS NOT NULL) FROM unnest(%s::text[]) n",
            (list(_TABLES),),
        )
        return bool(rows[0][0])

    def prepare(self) -> None:
        """Let the saver make its own schema, one process at a time."""
        if self._complete():
            return
        with stores.setting_up(self._address) as conn:
            for name in self._broken():
                conn.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")
                # Its step counts as done; without the row it is done again.
                step = 6 + _INDEXES.index(name)
                conn.execute("DELETE FROM checkpoint_migrations WHERE v >= %s", (step,))
            PostgresSaver(conn).setup()

    def _complete(self) -> bool:
        if not self.ready or self._broken():
            return False
        made = self._rows("SELECT count(*) FROM checkpoint_migrations")[0][0]
        return bool(made >= len(PostgresSaver.MIGRATIONS))

    def _broken(self) -> list[str]:
        """Indexes whose making was killed."""
        rows = self._rows(
            "SELECT i.indexrelid::regclass::text FROM pg_index i "
            "WHERE NOT i.indisvalid AND i.indexrelid = ANY "
            "(ARRAY(SELECT to_regclass(n)::oid FROM unnest(%s::text[]) n))",
            (list(_INDEXES),),
        )
        return [name for (name,) in rows]

    @cached_property
    def _saver(self) -> PostgresSaver:
        return PostgresSaver(self._conn, serde=self._serde)

    def saver(self) -> PostgresSaver:
        """The saver on this connection."""
        return self._saver

    def look(self, ids: Sequence[str]) -> Mapping[str, Found]:
        """One statement for all of them."""
        found = {}
        for thread_id, checkpoints, written, listed in self._rows(_LOOK, (list(ids),)):
            if not checkpoints and not written:
                continue
            alone = checkpoints == 1 and not written
            found[thread_id] = Found(None, None, alone)
            for row_id, metadata in orjson.loads(listed or b"[]"):
                if origin := origin_of(thread_id, row_id, metadata):
                    found[thread_id] = Found(origin, row_id, alone)
                    break
        return found

    def has_child(self, thread_id: str, checkpoint_id: str) -> bool:
        """Look for a checkpoint that names it as its parent."""
        return bool(self._rows(_CHILD, (thread_id, checkpoint_id))[0][0])

    def write(self, changes: Sequence[Change]) -> set[str]:
        """Write all of them, or where something fails none."""
        if not changes:
            return set()
        # In one order, so that two writers cannot wait for each other.
        changes = sorted(changes, key=lambda change: change.thread.id)
        blobs = {}
        rows: list[tuple[str, str, str, str]] = []
        for thread, _, _ in changes:
            checkpoint: dict[str, Any] = dict(thread.checkpoint)
            values = checkpoint["channel_values"]
            kind, data = self._serde.dumps_typed(values[CHANNEL])
            blobs[thread.id] = (thread.id, CHANNEL, thread.version, kind, data)
            checkpoint["channel_values"] = {}
            documents = (checkpoint, thread.metadata)
            shown = (orjson.dumps(document).decode() for document in documents)
            rows.append((thread.id, thread.checkpoint_id, *shown))  # type: ignore[arg-type]
        with self._conn.transaction(), self._conn.cursor(row_factory=tuple_row) as cur:
            for thread, before, aside in changes:
                if aside is not None:
                    self._move(cur, thread.id, aside)
                elif before is not None:
                    self._delete(cur, thread.id, before)
            columns = [list(column) for column in zip(*rows, strict=True)]
            cur.execute(_INSERT, columns)
            written = {row[0] for row in cur.fetchall()}
            cur.executemany(_INSERT_BLOB, [blobs[one] for one in sorted(written)])
        return blobs.keys() - written

    def _delete(self, cur: psycopg.Cursor[Any], thread_id: str, own: str) -> bool:
        cur.execute(_DELETE, {"thread": thread_id, "own": own})
        if not cur.rowcount:
            return False
        cur.execute("DELETE FROM checkpoint_blobs WHERE thread_id = %s", (thread_id,))
        return True

    def _move(self, cur: psycopg.Cursor[Any], thread_id: str, new: str) -> None:
        for table in _TABLES:
            cur.execute(
                f"UPDATE {table} SET thread_id = %s WHERE thread_id = %s",  # noqa: S608
                (new, thread_id),
            )

    def of_run(self, run_id: str) -> Iterator[tuple[str, str]]:
        """Scan by the primary key."""
        after = ("", "")
        while rows := self._rows(_PAGE, (*after, run_id, _PAGE_SIZE)):
            for thread_id, row_id, metadata in rows:
                if origin_of(thread_id, row_id, orjson.loads(metadata)):
                    yield thread_id, row_id
            after = rows[-1][:2]

    def remove(self, thread_id: str, checkpoint_id: str) -> bool:
        """Delete its rows, if they are the only ones."""
        with self._conn.transaction(), self._conn.cursor() as cur:
            return self._delete(cur, thread_id, checkpoint_id)

    def aside(self, prefix: str) -> Iterator[str]:
        """Scan the ids."""
        for (thread_id,) in self._rows(
            "SELECT DISTINCT thread_id FROM checkpoints "
            "WHERE starts_with(thread_id, %s)",
            (prefix,),
        ):
            yield thread_id

    def rename(self, thread_id: str, new: str) -> bool:
        """Change the id in all three tables."""
        with self._conn.transaction(), self._conn.cursor(row_factory=tuple_row) as cur:
            cur.execute(
                "SELECT EXISTS (SELECT 1 FROM checkpoints WHERE thread_id = %s)", (new,)
            )
            row = cur.fetchone()
            if row and row[0]:
                return False
            self._move(cur, thread_id, new)
        return True

    def close(self) -> None:
        """Close the connection."""
        self._conn.close()
