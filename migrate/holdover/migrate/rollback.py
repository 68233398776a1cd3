"""Rollback: remove what a run wrote, put back what it replaced, leave the rest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from holdover.compat import journal, records
from holdover.compat.scope import (
    INTERNAL_ROOT,
    decode_label,
    encode_key,
    is_cut,
)
from holdover.compat.stores.backend import Pair
from holdover.migrate.ends import opened_target
from holdover.migrate.layouts.applying import is_note, take_back
from holdover.migrate.ledger import Ledger
from holdover.migrate.sources.base import SAMPLES
from holdover.migrate.targets.base import StoredRow, Target, run_of
from holdover.migrate.targets.resolving import AS_REVISION, VECTORS
from holdover.migrate.targets.stored_vectors import Vector, unpacked

if TYPE_CHECKING:
    from holdover.migrate.threads.moving import ThreadsTakenBack


@dataclass
class RollbackReport:
    """What a rollback did.

    Attributes:
        removed: Items of the run that are gone.
        restored: Items that hold again what the run had replaced.
        left: Items that were changed since and stay.
        examples: Namespace and key of some that stay.
        threads: What became of the threads of the run, where there are some.
    """

    target: str
    run: str
    removed: int = 0
    restored: int = 0
    left: int = 0
    examples: list[str] = field(default_factory=list)
    threads: ThreadsTakenBack | None = None


def rollback(target: str, run_id: str | None = None) -> RollbackReport:
    """Undo a run; by default the newest. A killed rollback goes on where it was.

    Raises:
        RunNotFound: The target records no such run.
        RunBusy: The run is being carried out.
    """
    from holdover.migrate.threads import steps  # noqa: PLC0415 - loads messages

    with opened_target(target, writing=False) as looking:
        _find(Ledger(looking), run_id)  # so that a wrong name creates nothing
    with opened_target(target, writing=True) as opened:
        opened.prepare()
        ledger = Ledger(opened)
        run = _find(ledger, run_id)
        with ledger.leased(run):
            run.state = "rolling back"
            ledger.save(run)
            report = RollbackReport(opened.address, run.id)
            for rows in opened.rows_of_run(run.id):
                for row in rows:
                    _undo(opened, row, run.id, report)
            report.threads = steps.take_back(opened, run.id)
            ledger.remove(run)
        return report


def _find(ledger: Ledger, run_id: str | None) -> Any:
    if run_id is not None:
        return ledger.find(run_id)
    newest = None
    for run in ledger.runs():
        newest = run
    return newest or ledger.find("")


def _undo(target: Target, row: StoredRow, run_id: str, report: RollbackReport) -> None:
    if is_note(row):
        name = take_back(target, row)
        if name == "left":
            _leave(report, (row.namespace[2:], row.key))
        elif name:
            setattr(report, name, getattr(report, name) + 1)
        return
    if row.namespace[0] == INTERNAL_ROOT:
        _undo_entry(target, row, run_id, report)
        return
    if not records.intact(row.value):
        _leave(report, (row.namespace, row.key))
        return
    into = journal.namespace(row.namespace[:-1], row.namespace[-1], row.key)
    entries = list(target.entries(into))
    before, ttl, vectors = _replaced(entries, run_id)
    ours = [
        target.put(into, key, None)
        for key, value in entries
        if _is_of_run(value, run_id)
    ]
    place = (row.namespace, row.key)
    if not target.swap(*place, row.value, before, ttl, also=ours, vectors=vectors):
        _leave(report, (row.namespace, row.key))
        return
    if before is None:
        report.removed += 1
    else:
        report.restored += 1


def _undo_entry(
    target: Target, row: StoredRow, run_id: str, report: RollbackReport
) -> None:
    source = row.value["meta"].get("source") or {}
    if source.get("as") == AS_REVISION:
        report.removed += target.swap(row.namespace, row.key, row.value, None)
    elif _left_behind(target, row, run_id):
        target.swap(row.namespace, row.key, row.value, None)
    elif source and _overwritten(target, row, item := _item_of(row), run_id):
        _leave(report, item)


def _left_behind(target: Target, entry: StoredRow, run_id: str) -> bool:
    """Whether an earlier rollback undid the item, and was killed before its journal.

    It can only be so where the two are not undone in one transaction.
    """
    label = entry.namespace[-1]
    if is_cut(label):
        return False
    (head,) = target.read([(entry.namespace[2:-1], decode_label(label))])
    if entry.value.get("kind") == journal.RAW:
        return head is not None and head == entry.value["content"]["value"]
    entries = target.entries(entry.namespace)
    return head is None and all(_is_of_run(value, run_id) for _, value in entries)


def _item_of(entry: StoredRow) -> Pair:
    """The item whose journal an entry stands in."""
    _, _, *namespace, key = entry.namespace
    record = records.read(entry.value["kind"], "", entry.value)
    if record and isinstance(record.content.get("name"), str):
        key = encode_key(record.content["name"])
    return tuple(namespace), key


def _overwritten(target: Target, entry: StoredRow, item: Pair, run_id: str) -> bool:
    """Whether a journal entry of the run is the history of what came after it."""
    kept, head = target.read([(entry.namespace, entry.key), item])
    return kept is not None and head is not None and run_of(head) != run_id


def _replaced(
    entries: list[tuple[str, Any]], run_id: str
) -> tuple[Any, float | None, list[Vector] | None]:
    """What stood there before the run, its minutes left, if any, and its vectors."""
    for _, entry in entries:
        if entry.get("kind") == journal.RAW and _is_of_run(entry, run_id):
            ends_at = entry["meta"].get("store_expires_at")
            left = None
            if ends_at:
                seconds = (
                    datetime.fromisoformat(ends_at) - records.now()
                ).total_seconds()
                left = max(0.0, seconds / 60)
            vectors = unpacked(entry["meta"].get(VECTORS))
            return entry["content"]["value"], left, vectors
    return None, None, None


def _is_of_run(entry: Mapping[str, Any], run_id: str) -> bool:
    meta = entry.get("meta")
    replaced_by = meta.get("replaced_by") if isinstance(meta, Mapping) else None
    return replaced_by == run_id or run_of(entry) == run_id


def _leave(report: RollbackReport, item: Pair) -> None:
    report.left += 1
    if len(report.examples) < SAMPLES:
        namespace, key = item
        report.examples.append(f"{'/'.join(namespace)} {key}")
