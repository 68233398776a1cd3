"""Decide about rows whose places may be taken: heads, marks, tombstones, journals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from langgraph.store.base import PutOp

from holdover.compat import journal, marks, records, tombstones
from holdover.compat.records import KINDS
from holdover.compat.scope import INTERNAL_ROOT
from holdover.compat.stores.backend import Pair, Value, run
from holdover.migrate.conflicts import (
    WRITES,
    Decision,
    OnConflict,
    decide,
    descends,
    settle,
)
from holdover.migrate.targets.stored_vectors import packed

if TYPE_CHECKING:
    from holdover.migrate.targets.base import Row, Target


#: Says of a journal entry that it never was the head: the target's value stayed.
AS_REVISION = "revision"
#: Where a journal entry keeps the vectors of what was replaced.
VECTORS = "store_vectors"


@dataclass
class Resolved:
    """A row, what was decided, and the puts with what each expects to find.

    The expectation is `None` for nothing, a value, or `...` for whatever is there.
    """

    row: Row
    decision: Decision
    existing: Value | None = None
    puts: list[tuple[PutOp, Any]] = field(default_factory=list)

    @property
    def head(self) -> tuple[PutOp, Any] | None:
        """The put of the current item, which comes last."""
        if self.puts and self.puts[-1][0].namespace[0] != INTERNAL_ROOT:
            return self.puts[-1]
        return None


class Resolver:
    """Reads what is there and decides; one per batch."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._at = records.timestamp(records.now())

    def resolve(self, rows: Sequence[Row], policy: OnConflict) -> list[Resolved]:
        """Decide about each row and say what to write."""
        resolved = self.decide(rows)
        for one in resolved:
            one.decision = settle(one.decision, policy)
            if one.decision in WRITES:
                one.puts = self._puts(one)
        return resolved

    def decide(self, rows: Sequence[Row]) -> list[Resolved]:
        """Decide about each row; conflicts are left to the policy."""
        heads = self._target.read([(row.namespace, row.key) for row in rows])
        noted = self._marks(rows)
        buried = self._buried(rows)
        found = []
        for position, row in enumerate(rows):
            existing = heads[position]
            decision = decide(row.value, existing, self._at)
            if position in buried:
                decision = Decision.FORGOTTEN
            elif decision is not Decision.ALREADY and position in noted:
                decision = noted[position]
            elif decision is Decision.CONFLICT and self._descends(row):
                decision = Decision.SUPERSEDED
            found.append(Resolved(row, decision, existing))
        return found

    def _marks(self, rows: Sequence[Row]) -> dict[int, Decision]:
        """The rows whose name was deleted, cleared or taken over in the target."""
        if not self._target.holds_marks():
            return {}
        pairs: list[Pair] = []
        for row in rows:
            labels, label = row.namespace[:-1], row.namespace[-1]
            deleted = marks.deleted_namespace(labels, label)
            touched = marks.touched_namespace(labels, label)
            pairs += [(deleted, row.key), (deleted, marks.SESSION), (touched, row.key)]
        unique = list(dict.fromkeys(pairs))
        values = dict(zip(unique, self._target.read(unique), strict=True))
        found = {}
        for position in range(len(rows)):
            gone, cleared, taken = (
                values[pair] is not None
                for pair in pairs[3 * position : 3 * position + 3]
            )
            if gone or cleared:
                found[position] = Decision.DELETED
            elif taken:
                found[position] = Decision.SUPERSEDED
        return found

    def _buried(self, rows: Sequence[Row]) -> set[int]:
        """The rows that a tombstone stops."""
        backend = self._target.backend
        if not run(backend, tombstones.any_there()):
            return set()
        keyring = run(backend, tombstones.read_keyring())
        found = set()
        for position, row in enumerate(rows):
            kind = row.value["kind"]
            record = records.read(kind, row.key, row.value)
            contents = [record.content] if record else []
            labels = row.namespace[:-1]
            if any(run(backend, tombstones.stopped(keyring, labels, kind, contents))):
                found.add(position)
        return found

    def _descends(self, row: Row) -> bool:
        entries = self._target.entries(journal_of(row))
        return descends([value for _, value in entries], row.locator)

    def _puts(self, one: Resolved) -> list[tuple[PutOp, Any]]:
        row, target = one.row, self._target
        value = row.value
        if one.decision is Decision.VERSION:
            meta = value["meta"]
            source = {**meta["source"], "as": AS_REVISION}
            value = {**value, "meta": {**meta, "source": source}}
            put = target.put(journal_of(row), meta["revision"], value)
            return [(put, ...)]
        puts: list[tuple[PutOp, Any]] = []
        if one.existing is not None:
            parent, entry = self._replaced(row, one.existing)
            puts.append((target.put(journal_of(row), parent, entry), ...))
            meta = {**value["meta"], "parent": parent}
            if one.decision is Decision.UPDATE:
                meta["revision"] = records.new_revision()
            value = {**value, "meta": meta}
        index = list(KINDS[value["kind"]].index)
        put = target.backend.put_op(row.namespace, row.key, value, index, row.ttl)
        return [*puts, (put, one.existing)]

    def _replaced(self, row: Row, existing: Value) -> tuple[str, Any]:
        """The journal's key and entry for what a put replaces, byte for byte."""
        run_id = row.value["meta"]["source"]["run"]
        meta = existing.get("meta")
        source = meta.get("source") if isinstance(meta, Mapping) else None
        revision = meta.get("revision") if isinstance(meta, Mapping) else None
        if isinstance(source, Mapping) and source.get("run") == run_id and revision:
            # Our own earlier state of this run: nothing of anybody else's.
            return str(revision), existing
        place = (row.namespace, row.key)
        ends_at = self._target.ends_at(*place)
        kept: dict[str, Any] = {}
        if ends_at:
            kept["store_expires_at"] = records.timestamp(ends_at)
        if vectors := self._target.vectors_of([place]).get(place):
            kept[VECTORS] = packed(vectors)
        entry = journal.raw(existing, at=self._at, replaced_by=run_id, **kept)
        return records.new_revision(), entry


def decide_again(
    target: Target, losers: Sequence[Resolved], policy: OnConflict
) -> None:
    """Somebody took these places between our reading and writing.

    It may have been the same content; anything else is never overwritten.
    """
    decided = Resolver(target).decide([one.row for one in losers])
    for one, now in zip(losers, decided, strict=True):
        one.decision = now.decision
        if now.decision in WRITES or now.decision is Decision.CONFLICT:
            one.decision = Decision.SKIP if policy == "skip" else Decision.CONFLICT


def journal_of(row: Row) -> tuple[str, ...]:
    """Where the journal of a row's item is."""
    return journal.namespace(row.namespace[:-1], row.namespace[-1], row.key)
