"""What every target promises: a batch of rows and its progress, conditionally."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from langgraph.store.base import BaseStore, PutOp

from holdover.compat.records import KINDS
from holdover.compat.scope import INTERNAL_ROOT
from holdover.compat.stores.backend import (
    Backend,
    Count,
    Namespace,
    Page,
    Pair,
    Read,
    Step,
    Value,
    Write,
    run,
)
from holdover.compat.stores.choosing import backend_for
from holdover.migrate.conflicts import WRITES, Decision, OnConflict
from holdover.migrate.sources.base import Reject
from holdover.migrate.targets.resolving import Resolved, Resolver
from holdover.migrate.targets.stored_vectors import Vector

_PAGE = 2_000
_NAMESPACES = 1_000
INDEX = {kind.label: list(kind.index) for kind in KINDS.values()}


class Row(NamedTuple):
    """A record on its way: where it goes, and its value; `ttl` in minutes.

    `vector` is what the source had embedded its text to, where it kept that.
    """

    namespace: Namespace
    key: str
    value: Mapping[str, Any]
    ttl: float | None = None
    vector: Sequence[float] | None = None

    @property
    def locator(self) -> str:
        """Where it came from."""
        return str(self.value["meta"]["source"]["locator"])


@dataclass
class Applied:
    """What became of a batch."""

    decisions: Counter[Decision] = field(default_factory=Counter)
    rejects: list[Reject] = field(default_factory=list)

    @property
    def written(self) -> int:
        """How many records were written, as heads or as revisions."""
        return sum(self.decisions[decision] for decision in WRITES)


class StoredRow(NamedTuple):
    """An item of the target."""

    namespace: Namespace
    key: str
    value: Value


Note = Callable[[Applied], Iterable[PutOp]]


class Target:
    """Any `BaseStore`, by its own `batch`: progress is written after its data.

    Args:
        store: The store.
        address: Its address without the password.
    """

    label = "store"
    #: Whether there is no store yet at that address.
    missing = False
    #: Whether it is read and written by statements of our own.
    bulk = False
    #: Its address as it was given, with a password if there was one: never shown.
    given = ""
    #: Whether vectors of the source can be written as they are.
    keeps_vectors = False
    #: Whether a second process that writes would only wait.
    one_writer = False
    #: Entered for every transaction, so that processes can take turns.
    turn: Callable[[], AbstractContextManager[object]] = nullcontext

    def __init__(self, store: BaseStore, address: str) -> None:
        self.store = store
        self.address = address
        self.backend: Backend = backend_for(store)

    # Reading.

    def do(self, step: Step) -> Any:
        """Carry out one step on the store."""

        def steps() -> Any:
            return (yield step)

        return run(self.backend, steps())

    def read(self, pairs: Sequence[Pair]) -> list[Value | None]:
        """The values of exact keys."""
        values: list[Value | None] = self.do(Read(pairs))
        return values

    def page(
        self, namespace: Namespace, after: str | None = None, *, limit: int = _PAGE
    ) -> list[tuple[str, Value]]:
        """A namespace in key order."""
        entries: list[tuple[str, Value]] = self.do(Page(namespace, after, limit))
        return entries

    def entries(self, namespace: Namespace) -> Iterator[tuple[str, Value]]:
        """All of a namespace, in pages."""
        after = None
        while page := self.page(namespace, after):
            yield from page
            after = page[-1][0]

    def count(self, namespace: Namespace) -> int:
        """How many items a namespace holds."""
        number: int = self.do(Count(namespace))
        return number

    def namespaces(self) -> list[Namespace]:
        """All of them at once: pages would shift where the reader deletes items."""
        found: list[Namespace] = []
        while page := self.store.list_namespaces(limit=_NAMESPACES, offset=len(found)):
            found += map(tuple, page)
        return found

    def holds_anything(self) -> bool:
        """Whether some item could stand in the way of a new one."""
        return bool(self.store.list_namespaces(limit=1))

    def holds_marks(self) -> bool:
        """Whether there may be any mark; marks are looked up only then."""
        return True

    def vectors_of(self, pairs: Sequence[Pair]) -> dict[Pair, list[Vector]]:  # noqa: ARG002
        """The vectors that items have, where they can be read."""
        return {}

    def vector_dims(self) -> int | None:
        """The dimensions of the index that is there, where that can be known."""
        return None

    def rows_of_run(self, run_id: str) -> Iterator[list[StoredRow]]:
        """Every item of the run, current and internal, and what it replaced."""
        for namespace in self.namespaces():
            rows = [
                StoredRow(namespace, key, value)
                for key, value in self.entries(namespace)
                if belongs_to(value, run_id)
            ]
            if rows:
                yield rows

    def count_of_run(self, run_id: str) -> int:
        """How many current items are the run's."""
        return sum(
            row.namespace[0] != INTERNAL_ROOT
            for rows in self.rows_of_run(run_id)
            for row in rows
        )

    # Writing.

    def put(
        self, namespace: Namespace, key: str, value: Any, ttl: float | None = None
    ) -> PutOp:
        """A put of an item that is not indexed; `None` deletes."""
        return self.backend.put_op(namespace, key, value, ttl=ttl)

    def write(self, puts: Sequence[PutOp]) -> None:
        """Write unconditionally."""
        self.do(Write([[op] for op in puts]))

    def ends_at(self, namespace: Namespace, key: str) -> datetime | None:  # noqa: ARG002
        """When the store itself will drop an item, where that can be known."""
        return None

    def swap(
        self,
        namespace: Namespace,
        key: str,
        seen: Value | None,
        new: Value | None,
        ttl: float | None = None,
        *,
        also: Sequence[PutOp] = (),
        vectors: Sequence[Vector] | None = None,  # noqa: ARG002 - by those that keep them
    ) -> bool:
        """Write, and `also` with it, only if the item still is what was seen.

        With `vectors`, they replace those the item has.
        """
        if self.read([(namespace, key)])[0] != seen:
            return False
        put = self.put(namespace, key, new, ttl)
        # A rollback that is killed in between finds what was to follow.
        groups = [[put, *also]] if self.backend.atomic else [[put], [*also]]
        for group in filter(None, groups):
            self.do(Write([group]))
        return True

    def apply(self, rows: Sequence[Row], policy: OnConflict, note: Note) -> Applied:
        """Decide about each row, write what is to be written, then the progress."""
        applied = Applied()
        for batch in unique_batches(rows):
            resolved = Resolver(self).resolve(batch, policy)
            puts = [[op for op, _ in one.puts] for one in resolved if one.puts]
            if puts:
                self.do(Write(puts))
            tally(applied, resolved)
        self.write(list(note(applied)))
        return applied

    def prepare(self) -> None:
        """Make the target ready to be written: tables, checks."""

    def finish(self, written: int) -> None:
        """Called once after a copy."""

    def facts(self) -> list[str]:
        """What an operator should know before writing here, in sentences."""
        return []

    def free_bytes(self) -> int | None:
        """Free space where the target is, if that can be known from here."""
        return None

    def close(self) -> None:
        """Give back connections."""


def run_of(value: Any) -> Any:
    """The run that wrote a record, if one did."""
    try:
        return value["meta"]["source"]["run"]
    except (KeyError, TypeError):
        return None


def belongs_to(value: Any, run_id: str) -> bool:
    """Whether a run wrote an item, or journaled it because it replaced it."""
    meta = value.get("meta") if isinstance(value, Mapping) else None
    replaced_by = meta.get("replaced_by") if isinstance(meta, Mapping) else None
    return run_id in (run_of(value), replaced_by)


def unique_batches(rows: Sequence[Row]) -> Iterator[list[Row]]:
    """Split so that no batch has two rows for one place; the second meets the first."""
    seen: dict[Pair, Row] = {}
    again: list[Row] = []
    for row in rows:
        first = seen.setdefault((row.namespace, row.key), row)
        if first is not row:
            again.append(row)
    yield list(seen.values())
    if again:
        yield from unique_batches(again)


def tally(applied: Applied, resolved: Iterable[Resolved]) -> None:
    """Count decisions; a conflict is a reject."""
    for one in resolved:
        applied.decisions[one.decision] += 1
        if one.decision is Decision.CONFLICT:
            applied.rejects.append(conflict_reject(one.row))


def conflict_reject(row: Row) -> Reject:
    """The reject for a record whose place was taken meanwhile."""
    return Reject(
        "conflict",
        row.locator,
        "the target holds another value; --on-conflict chooses what happens",
    )
