"""The path into a plain Redis: conditional puts by script, progress after its data."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from langgraph.store.base import PutOp

from holdover.compat.scope import INTERNAL_ROOT
from holdover.compat.stores import redis_operations as operations
from holdover.compat.stores.backend import Namespace, Value
from holdover.compat.stores.redis import PlainRedisStore, evicts, put_with
from holdover.compat.stores.redis_backend import changes_of
from holdover.compat.stores.redis_layout import Layout, milliseconds, to_json
from holdover.compat.stores.redis_operations import (
    Change,
    Found,
    Place,
    Talk,
)
from holdover.migrate.conflicts import Decision, OnConflict
from holdover.migrate.targets.base import (
    Applied,
    Note,
    Row,
    StoredRow,
    Target,
    belongs_to,
    tally,
    unique_batches,
)
from holdover.migrate.targets.resolving import Resolved, Resolver, decide_again
from holdover.migrate.targets.stored_vectors import Vector

_PAGE = 1_000
#: Namespaces are read so many at once, this many items of each at first.
_SPACES_AT_ONCE, _FIRST_ITEMS = 200, 50
_NEW, _FREE = b"new", b"free"
_SKEW_SECONDS = 5
_MARKS = (INTERNAL_ROOT, "legacy")
_TOMBSTONES = (INTERNAL_ROOT, "tombstones")


class RedisTarget(Target):
    """A `PlainRedisStore`.

    A head is written only if the place still holds what was seen there, by the server
    itself. In a cluster, the journal of what is replaced is written before the head.
    """

    label = "Redis store"
    bulk = True
    store: PlainRedisStore

    def __init__(self, store: PlainRedisStore, address: str) -> None:
        super().__init__(store, address)
        self.missing = not store.is_there

    def _layout(self, *, writing: bool = False) -> Layout:
        return self.store.run(self.store.known_layout(create=writing))

    def _any(self, prefix: Namespace) -> bool:
        return bool(self.store.list_namespaces(prefix=prefix, limit=1))

    def holds_anything(self) -> bool:
        """Whether there is a current item, a mark or a tombstone."""
        roots = self.store.list_namespaces(max_depth=1, limit=2)
        current = any(root != (INTERNAL_ROOT,) for root in roots)
        return current or self.holds_marks() or self._any(_TOMBSTONES)

    def holds_marks(self) -> bool:
        """Whether there is any mark."""
        return self._any(_MARKS)

    def apply(self, rows: Sequence[Row], policy: OnConflict, note: Note) -> Applied:
        """Put what is new; look only where a place is taken or something is marked."""
        applied = Applied()
        for batch in unique_batches(rows):
            taken: Sequence[Row] = batch
            if not self.holds_marks() and not self._any(_TOMBSTONES):
                taken = self._put_new(batch)
                applied.decisions[Decision.COPY] += len(batch) - len(taken)
            if taken:
                self._settle(taken, policy, applied)
        self.write(list(note(applied)))
        return applied

    def _put_new(self, rows: Sequence[Row]) -> list[Row]:
        """Put what has a free place; return the rest."""
        layout = self._layout(writing=True)
        changes = [
            _head(layout, n, row.namespace, row.key, row.value, row.ttl, _NEW)
            for n, row in enumerate(rows)
        ]
        refused = self.store.run(operations.apply(layout, changes)).refused
        return [rows[n] for n in sorted(refused)]

    def _settle(
        self, rows: Sequence[Row], policy: OnConflict, applied: Applied
    ) -> None:
        resolved = Resolver(self).resolve(rows, policy)
        writing = [one for one in resolved if one.puts]
        lost = self._put_seen(writing)
        if lost:
            decide_again(self, lost, policy)
        tally(applied, resolved)

    def _put_seen(self, resolved: Sequence[Resolved]) -> list[Resolved]:
        """Write each with its journal, if its head is as it was seen; return the rest.

        What has no head of its own (a revision) is written as it is.
        """
        layout = self._layout(writing=True)
        groups = [[op for op, _ in one.puts] for one in resolved]
        first, after = changes_of(layout, groups)
        seen = {
            (number, layout.space(op.namespace), op.key): _condition(expected)
            for number, one in enumerate(resolved)
            for op, expected in one.puts
            if expected is not ...
        }
        refused: set[int] = set()
        for part in (first, after):
            conditional = [
                change
                if (at := (change.group, change.space, change.key)) not in seen
                else _under(change, seen[at])
                for change in part
            ]
            refused |= self.store.run(operations.apply(layout, conditional)).refused
        return [resolved[number] for number in sorted(refused)]

    def swap(
        self,
        namespace: Namespace,
        key: str,
        seen: Value | None,
        new: Value | None,
        ttl: float | None = None,
        *,
        also: Sequence[PutOp] = (),
        vectors: Sequence[Vector] | None = None,  # noqa: ARG002 - it keeps none
    ) -> bool:
        """Compare and write in the server."""
        layout = self._layout(writing=True)
        head = _head(layout, 0, namespace, key, new, ttl, _condition(seen))
        first, after = changes_of(layout, [also])
        together = layout.shards == 1
        changes = [head, *first, *after] if together else [head]
        if self.store.run(operations.apply(layout, changes)).refused:
            return False
        if not together:
            self.store.run(operations.apply(layout, [*first, *after]))
        return True

    def ends_at(self, namespace: Namespace, key: str) -> datetime | None:
        """Ask for the time to live."""
        layout = self._layout()
        item = layout.item(layout.space(namespace), key)
        left = int(self.store.run(operations.ask_one("PTTL", item)))
        return None if left < 0 else datetime.now(UTC) + timedelta(milliseconds=left)

    def count_of_run(self, run_id: str) -> int:
        """Look for the run's id in the current items, without reading their JSON."""
        mark = f'"run":"{run_id}"'.encode()
        return sum(
            mark in found.stored.json
            for page in self._items()
            for found in page
            if found.namespace[0] != INTERNAL_ROOT
        )

    def rows_of_run(self, run_id: str) -> Iterator[list[StoredRow]]:
        """Look at every item of the store; see `Target`."""
        mark = run_id.encode()
        for page in self._items():
            found = [one for one in page if mark in one.stored.json]
            rows = [
                StoredRow(one.namespace, one.key, one.stored.value) for one in found
            ]
            if rows := [row for row in rows if belongs_to(row.value, run_id)]:
                yield rows

    def _items(self) -> Iterator[list[Found]]:
        """Every item, in pages, many namespaces at a time."""
        layout = self._layout()
        at: Place | None = Place()
        while at is not None:
            spaces, at = self.store.run(operations.some_spaces(layout, at))
            for start in range(0, len(spaces), _SPACES_AT_ONCE):
                part = spaces[start : start + _SPACES_AT_ONCE]
                firsts = self.store.run(
                    operations.first_pages(layout, part, _FIRST_ITEMS)
                )
                yield [
                    Found(first.space.namespace, key, stored)
                    for first in firsts
                    for key, stored in first.entries
                ]
                for first in firsts:
                    yield from self._rest(layout, first)

    def _rest(
        self, layout: Layout, first: operations.FirstPage
    ) -> Iterator[list[Found]]:
        after, namespace = first.after, first.space.namespace
        while after is not None:
            page = self.store.run(operations.page(layout, namespace, after, _PAGE))
            yield [Found(namespace, key, stored) for key, stored in page]
            after = page[-1][0] if len(page) == _PAGE else None

    def facts(self) -> list[str]:
        """How to back it up, what a crash may cost, and whether it evicts keys."""
        info = self.store.facts()
        found = ["back up the target first: redis-cli --rdb dump.rdb"]
        found.append(_persistence(info))
        if policy := evicts(info):
            found.append(
                f"maxmemory-policy is {policy}: when memory is full, moved records are "
                "evicted; set it to noeviction"
            )
        skew = abs(self.store.run(_server_time(self.store)) - time.time())
        if skew > _SKEW_SECONDS:
            found.append(f"the server's clock differs from this one by {skew:.0f} s")
        return found

    def free_bytes(self) -> int | None:
        """What is left of `maxmemory`, where one is set."""
        info = self.store.facts()
        limit = int(info.get("maxmemory", 0))
        return max(0, limit - int(info.get("used_memory", 0))) if limit else None

    def close(self) -> None:
        """Close the connections."""
        self.store.close()


def _head(
    layout: Layout,
    group: int,
    namespace: Namespace,
    key: str,
    value: Value | None,
    ttl: float | None,
    condition: bytes,
) -> Change:
    what = "delete" if value is None else put_with(milliseconds(ttl))
    json = b"" if value is None else to_json(value)
    return Change(layout.space(namespace), key, what, json, condition, group)


def _condition(seen: Value | None) -> bytes:
    return _FREE if seen is None else b"=" + to_json(seen)


def _under(change: Change, condition: bytes) -> Change:
    return Change(
        change.space, change.key, change.what, change.json, condition, change.group
    )


def _server_time(store: PlainRedisStore) -> Talk[float]:
    """The server's clock; ours, where there are several or it may not be asked."""
    if store.is_cluster:
        return time.time()
    (answer,) = yield [("TIME",)]
    if isinstance(answer, Exception):
        return time.time()
    return int(answer[0]) + int(answer[1]) / 1_000_000


def _persistence(info: dict[str, Any]) -> str:
    if not info:
        return "the server does not say whether it keeps its data on disk"
    if int(info.get("aof_enabled", 0)):
        return (
            "the server logs every write; a crash costs what its appendfsync allows "
            "(everysec: the last second)"
        )
    saves = int(info.get("rdb_saves", info.get("rdb_last_save_time", 0)))
    return (
        "the server keeps no log (appendonly no): a crash costs everything since its "
        f"last snapshot{'' if saves else ', and there is none'}"
    )
