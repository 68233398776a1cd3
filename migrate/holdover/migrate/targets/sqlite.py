"""The bulk path into SQLite: one transaction per batch, rows as the store's own."""

from __future__ import annotations

import shutil
import sqlite3
import struct
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
from langgraph.store.base import PutOp

from holdover.compat.scope import INTERNAL_ROOT
from holdover.compat.stores.backend import Namespace, Pair, Value
from holdover.compat.stores.sqlite import (
    PUT,
    HoldoverSqliteStore,
    atomically,
    expiry,
)
from holdover.migrate.conflicts import Decision, OnConflict
from holdover.migrate.targets.base import (
    Applied,
    Note,
    Row,
    StoredRow,
    Target,
    run_of,
    tally,
    unique_batches,
)
from holdover.migrate.targets.resolving import Resolver
from holdover.migrate.targets.stored_vectors import Vector, numbers_of
from holdover.migrate.targets.vectors import embed

_INSERT_NEW = PUT.replace("INSERT OR REPLACE", "INSERT OR IGNORE")
_DELETE = "DELETE FROM store WHERE prefix = ? AND key = ?"
_PUT_VECTOR = (
    "INSERT OR REPLACE INTO store_vectors "
    "(prefix, key, field_name, embedding, created_at, updated_at) "
    "VALUES (?, ?, ?, ?, CURRENT_TIMESTAMP, CURRENT_TIMESTAMP)"
)
# `~` sorts after every other character a label begins with, `/` right after `.`.
_ANY_CURRENT = (
    "SELECT EXISTS (SELECT 1 FROM store WHERE prefix < '~holdover.') "
    "OR EXISTS (SELECT 1 FROM store WHERE prefix >= '~holdover/')"
)
_ANY_MARK = (
    "SELECT EXISTS (SELECT 1 FROM store "
    "WHERE prefix >= '~holdover.legacy.' AND prefix < '~holdover.legacy/')"
)
_ANY_TOMBSTONE = (
    "SELECT EXISTS (SELECT 1 FROM store WHERE prefix = '~holdover.tombstones')"
)
_VECTOR_BYTES = "SELECT length(embedding) FROM store_vectors LIMIT 1"
_ANY_VECTORS = "SELECT 1 FROM sqlite_master WHERE name = 'store_vectors'"
_VECTORS_OF = (
    "SELECT field_name, embedding FROM store_vectors WHERE prefix = ? AND key = ?"
)
_DROP_VECTORS = "DELETE FROM store_vectors WHERE prefix = ? AND key = ?"
_ENDS_AT = "SELECT expires_at FROM store WHERE prefix = ? AND key = ?"
_AFTER = (
    "SELECT prefix, key, value FROM store WHERE (prefix, key) > (?, ?) "
    "ORDER BY prefix, key LIMIT ?"
)
_COUNT_OF_RUN = (
    "SELECT count(*) FROM store "
    "WHERE (prefix < '~holdover.' OR prefix >= '~holdover/') "
    "AND instr(CAST(value AS BLOB), ?)"
)
_PAGE = 5_000


class SqliteTarget(Target):
    """A LangGraph store in a SQLite file."""

    label = "SQLite store"
    bulk = True
    keeps_vectors = True
    one_writer = True
    store: HoldoverSqliteStore

    def __init__(self, store: HoldoverSqliteStore, address: str, path: str) -> None:
        super().__init__(store, address)
        self._path = path
        self._conn = store.conn

    def _one(self, query: str) -> Any:
        with self.store.lock:
            return self._conn.execute(query).fetchone()[0]

    def holds_anything(self) -> bool:
        """Whether there is a current item, a mark or a tombstone."""
        return any(map(self._one, (_ANY_CURRENT, _ANY_MARK, _ANY_TOMBSTONE)))

    def holds_marks(self) -> bool:
        """Whether there is any mark."""
        return bool(self._one(_ANY_MARK))

    def vector_dims(self) -> int | None:
        """Measure one of the vectors."""
        with self.store.lock:
            try:
                row = self._conn.execute(_VECTOR_BYTES).fetchone()
            except sqlite3.OperationalError:
                return None  # there is no index
        return row[0] // 4 if row and row[0] else None

    def apply(self, rows: Sequence[Row], policy: OnConflict, note: Note) -> Applied:
        """One transaction; the common case, all new, needs no reads."""
        moment = datetime.now(UTC)
        applied = Applied()
        indexed = self.store.index_config is not None
        batches = list(unique_batches(rows))
        if len(batches) == 1 and not indexed:
            staged = _staged(rows, moment)
            with self.turn(), self.store.lock, atomically(self._conn, "IMMEDIATE"):
                if self._insert_all(staged):
                    applied.decisions[Decision.COPY] = len(rows)
                    self._put_all(note(applied), moment)
                    return applied
                self._conn.rollback()
                self._conn.execute("BEGIN IMMEDIATE")
                self._settle(batches[0], policy, applied, moment, {})
                self._put_all(note(applied), moment)
            return applied
        # Embedding takes long; it happens before the write lock is taken.
        vectors = [embed(self, batch, policy) if indexed else {} for batch in batches]
        with self.turn(), self.store.lock, atomically(self._conn, "IMMEDIATE"):
            for batch, known in zip(batches, vectors, strict=True):
                self._settle(batch, policy, applied, moment, known)
            self._put_all(note(applied), moment)
        return applied

    def _insert_all(self, staged: Sequence[tuple[Any, ...]]) -> bool:
        if self.holds_marks() or self._one(_ANY_TOMBSTONE):
            return False
        cursor = self._conn.executemany(_INSERT_NEW, staged)
        return cursor.rowcount == len(staged) or not staged

    def write(self, puts: Sequence[PutOp]) -> None:
        """Write unconditionally."""
        with self.turn():
            super().write(puts)

    def _settle(
        self,
        batch: Sequence[Row],
        policy: OnConflict,
        applied: Applied,
        moment: datetime,
        vectors: dict[tuple[Namespace, str], list[Vector]],
    ) -> None:
        resolved = Resolver(self).resolve(batch, policy)
        self._put_all((op for one in resolved for op, _ in one.puts), moment)
        for one in resolved:
            if one.head:
                op = one.head[0]
                place = (op.namespace, op.key)
                if one.existing is not None:
                    self._drop_vectors(place)
                self._put_vectors(place, vectors.get(place, []))
        tally(applied, resolved)

    def _put_all(self, puts: Any, moment: datetime) -> None:
        for op in puts:
            prefix = ".".join(op.namespace)
            if op.value is None:
                self._conn.execute(_DELETE, (prefix, op.key))
                continue
            value = orjson.dumps(op.value)
            row = (prefix, op.key, value, expiry(op.ttl, moment), op.ttl)
            self._conn.execute(PUT, row)

    def _put_vectors(self, place: Pair, vectors: Sequence[Vector]) -> None:
        for field_name, numbers in vectors:
            blob = struct.pack(f"<{len(numbers)}f", *numbers)
            row = (".".join(place[0]), place[1], field_name, blob)
            self._conn.execute(_PUT_VECTOR, row)

    def _drop_vectors(self, place: Pair) -> None:
        """What was embedded for the value before says nothing of the new one."""
        if self._has_vectors():
            row = (".".join(place[0]), place[1])
            self._conn.execute(_DROP_VECTORS, row)

    def _has_vectors(self) -> bool:
        return bool(self._conn.execute(_ANY_VECTORS).fetchone())

    def vectors_of(self, pairs: Sequence[Pair]) -> dict[Pair, list[Vector]]:
        """Read the table of vectors, where there is one."""
        found: dict[Pair, list[Vector]] = {}
        with self.store.lock:
            if not self._has_vectors():
                return found
            for place in pairs:
                row = (".".join(place[0]), place[1])
                rows = self._conn.execute(_VECTORS_OF, row).fetchall()
                if rows:
                    found[place] = [(name, numbers_of(raw)) for name, raw in rows]
        return found

    def ends_at(self, namespace: Namespace, key: str) -> datetime | None:
        """Read the column."""
        with self.store.lock:
            row = self._conn.execute(_ENDS_AT, (".".join(namespace), key)).fetchone()
        if not row or not row[0]:
            return None
        moment = datetime.fromisoformat(row[0])
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)

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
        """Compare and write under the write lock."""
        with self.store.lock, atomically(self._conn, "IMMEDIATE"):
            if self.read([(namespace, key)])[0] != seen:
                return False
            put = self.put(namespace, key, new, ttl)
            self._put_all([put, *also], datetime.now(UTC))
            if vectors is not None:
                self._drop_vectors((namespace, key))
                self._put_vectors((namespace, key), vectors)
        return True

    def count_of_run(self, run_id: str) -> int:
        """Count by bytes: no text of a record can hold these quotes unescaped."""
        needle = f'"run":"{run_id}"'.encode()
        with self.store.lock:
            row = self._conn.execute(_COUNT_OF_RUN, (needle,)).fetchone()
        return int(row[0])

    def rows_of_run(self, run_id: str) -> Iterator[list[StoredRow]]:
        """Scan the table by its primary key; bytes tell most rows apart."""
        needle = f'"run":"{run_id}"'
        after = ("", "")
        while True:
            with self.store.lock:
                rows = self._conn.execute(_AFTER, (*after, _PAGE)).fetchall()
            if not rows:
                return
            found = []
            for prefix, key, raw in rows:
                text = raw.encode() if isinstance(raw, str) else raw
                if needle.encode() not in text:
                    continue
                value = orjson.loads(text)
                if run_of(value) == run_id:
                    found.append(StoredRow(tuple(prefix.split(".")), key, value))
            if found:
                yield found
            after = rows[-1][:2]

    def finish(self, written: int) -> None:
        """Leave one file: fold the write-ahead log back where nobody else uses it."""
        if written:
            try:
                self._conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            except sqlite3.OperationalError:
                return  # somebody reads or writes; the log stays, nothing is lost

    def facts(self) -> list[str]:
        """How to back the file up, with its own tool."""
        return [f"back up the target first: sqlite3 {self._path} \".backup 'copy.db'\""]

    def free_bytes(self) -> int | None:
        """Free space on the file's disk."""
        return shutil.disk_usage(Path(self._path).resolve().parent).free

    def close(self) -> None:
        """Close the connection."""
        self._conn.close()


def _staged(rows: Sequence[Row], moment: datetime) -> list[tuple[Any, ...]]:
    """Rows as they are inserted; made before the file is locked."""
    dumps = orjson.dumps
    return [
        (".".join(namespace), key, dumps(value), expiry(ttl, moment), ttl)
        for namespace, key, value, ttl, _ in rows
    ]


__all__ = ["INTERNAL_ROOT", "SqliteTarget"]
