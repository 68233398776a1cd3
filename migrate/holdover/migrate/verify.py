"""Verify: the source streamed against the target, by recomputed hash."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from holdover.compat import records
from holdover.compat.records import has_content
from holdover.migrate.aligning import Aligned
from holdover.migrate.building import RowBuilder
from holdover.migrate.collecting import rare_collections
from holdover.migrate.conflicts import Decision
from holdover.migrate.ends import (
    find_run,
    opened_source,
    opened_target,
    refuse_blocked,
    source_identity,
)
from holdover.migrate.layouts.applying import ShapedTarget
from holdover.migrate.layouts.shape import named
from holdover.migrate.ledger import Ledger, Run
from holdover.migrate.options import Options, Prepared
from holdover.migrate.progress import Progress as Reporter
from holdover.migrate.progress import Silent
from holdover.migrate.sources.base import SAMPLES, Inventory, Reject, Source
from holdover.migrate.tallies import Tally
from holdover.migrate.targets.base import Row, Target, run_of
from holdover.migrate.targets.resolving import Resolved, Resolver

if TYPE_CHECKING:
    from holdover.migrate.threads.moving import ThreadsVerified

_GONE = frozenset({Decision.DELETED, Decision.FORGOTTEN, Decision.SUPERSEDED})


@dataclass
class VerifyReport:
    """How the records of a source compare with the target.

    Attributes:
        equal: The target holds the same content.
        changed: The application changed or deleted it since it was moved.
        expired: Its lifetime ended, in the source or in the target.
        missing: The target does not hold it. A failure.
        different: The target holds something else in its place. A failure.
        extra: Records of the run in the target that the source no longer has.
        rejected: What the source holds and cannot be moved, by reason.
        skipped: What the source holds and is knowingly not moved, by reason.
        examples: Locators of some that are missing or different.
        contents: What those hold at both ends, where that was asked for.
        threads: How the sessions compare with their threads, where there are some.
    """

    source: str
    target: str
    run: str | None = None
    equal: int = 0
    changed: int = 0
    expired: int = 0
    missing: int = 0
    different: int = 0
    extra: int = 0
    rejected: dict[str, int] = field(default_factory=dict)
    skipped: dict[str, int] = field(default_factory=dict)
    examples: dict[str, list[str]] = field(default_factory=dict)
    contents: list[dict[str, Any]] = field(default_factory=list)
    threads: ThreadsVerified | None = None

    @property
    def compared(self) -> int:
        """How many records of the source were compared."""
        return self.equal + self.changed + self.expired + self.missing + self.different

    @property
    def clean(self) -> bool:
        """Whether nothing is missing and nothing is different."""
        threads = self.threads is None or self.threads.clean
        return threads and not (self.missing or self.different)

    def sample(self, name: str, locator: str) -> bool:
        """Keep a locator as an example; tell whether there was room."""
        kept = self.examples.setdefault(name, [])
        if len(kept) < SAMPLES:
            kept.append(locator)
            return True
        return False


def verify(
    source: str,
    target: str,
    options: Options | None = None,
    *,
    reporter: Reporter | None = None,
) -> VerifyReport:
    """Compare a source with a target, item by item; write nothing."""
    options = options or Options()
    prepared = options.prepared()
    reporter = reporter or Silent()
    with (
        rare_collections(),
        opened_source(source, prepared) as reading,
        opened_target(target, writing=False) as target_read,
    ):
        inventory = reading.inventory()
        refuse_blocked(inventory)
        run = find_run(Ledger(target_read), source_identity(source), prepared)
        return compare_reported(
            reading, target_read, prepared, run, reporter, inventory
        )


def compare_reported(
    source: Source,
    target: Target,
    prepared: Prepared,
    run: Run | None,
    reporter: Reporter,
    inventory: Inventory,
    tally: Tally | None = None,
) -> VerifyReport:
    """Compare, and tell how far that is; counts by session go to `tally`."""
    reporter.begin("verifying", inventory.records)
    try:
        return compare(
            source, target, prepared, run, tick=reporter.advance, tally=tally
        )
    finally:
        reporter.end()


def compare(
    source: Source,
    target: Target,
    prepared: Prepared,
    run: Run | None,
    *,
    tick: Callable[[int], None] = lambda _: None,
    tally: Tally | None = None,
) -> VerifyReport:
    """Compare everything; memory stays flat. `tick` is told of every batch."""
    report = VerifyReport(source.address, target.address, run.id if run else None)
    options = prepared.options
    run_id = run.id if run else records.new_revision()
    if "threads" in options.into:
        from holdover.migrate.threads import steps  # noqa: PLC0415 - rare

        report.threads, counts = steps.compare(source, target, prepared, run, tick=tick)
        report.expired += counts.pop("expired", 0)
        for name, number in counts.items():
            what, _, reason = name.partition(":")
            kept = report.rejected if what == "reject" else report.skipped
            kept[reason] = kept.get(reason, 0) + number
    if "items" not in options.into:
        return report
    builder = RowBuilder.of(prepared, run_id)
    source = Aligned(source, target, builder)
    shape = named(options.layout)
    shaped: Any = ShapedTarget(target, shape, run_id) if shape else None
    ours = 0
    for partition in source.partitions():
        for batch in source.read(partition, size=options.batch):
            rows, rejects = builder.rows(batch.items)
            _count_rejects(report, [*batch.rejects, *rejects])
            report.expired += batch.expired
            for reason, number in batch.skipped.items():
                report.skipped[reason] = report.skipped.get(reason, 0) + number
            if shaped:
                ours += shaped.compare(report, rows)
            else:
                ours += _compare_rows(
                    report,
                    target,
                    rows,
                    run_id,
                    show_content=options.show_content,
                    tally=tally,
                )
            tick(len(batch.items) + len(batch.rejects))
    if run:
        held = shaped.held() if shaped else target.count_of_run(run.id)
        report.extra = max(0, held - ours)
    return report


def _count_rejects(report: VerifyReport, rejects: Sequence[Reject]) -> None:
    for reject in rejects:
        report.rejected[reject.reason] = report.rejected.get(reject.reason, 0) + 1


def _compare_rows(
    report: VerifyReport,
    target: Target,
    rows: Sequence[Row],
    run_id: str,
    *,
    show_content: bool,
    tally: Tally | None,
) -> int:
    """Class each row; return how many of the target's values are the run's."""
    values = target.read([(row.namespace, row.key) for row in rows])
    at = records.timestamp(records.now())
    ours = 0
    unclear = []
    for row, value in zip(rows, values, strict=True):
        if value is not None and run_of(value) == run_id:
            ours += 1
        if value is not None and has_content(value, row.value["meta"]["hash"]):
            name = "expired" if _expired(value, at) else "equal"
            setattr(report, name, getattr(report, name) + 1)
            if tally:
                tally.add(row.namespace, name)
        else:
            unclear.append(row)
    if unclear:
        for one in Resolver(target).decide(unclear):
            name = _class_of(one, at)
            setattr(report, name, getattr(report, name) + 1)
            if tally:
                tally.add(one.row.namespace, name)
            failed = name in ("missing", "different")
            if failed and report.sample(name, one.row.locator) and show_content:
                report.contents.append(_contents(one))
    return ours


def classes_of(target: Target, rows: Sequence[Row]) -> list[str]:
    """The class of each row, as a `VerifyReport` names it."""
    values = target.read([(row.namespace, row.key) for row in rows])
    at = records.timestamp(records.now())
    found = [
        ("expired" if _expired(value, at) else "equal")
        if value is not None and has_content(value, row.value["meta"]["hash"])
        else ""
        for row, value in zip(rows, values, strict=True)
    ]
    unclear = [position for position, name in enumerate(found) if not name]
    if unclear:
        decided = Resolver(target).decide([rows[position] for position in unclear])
        for position, one in zip(unclear, decided, strict=True):
            found[position] = _class_of(one, at)
    return found


def _contents(one: Resolved) -> dict[str, Any]:
    existing = one.existing or {}
    return {
        "locator": one.row.locator,
        "source": one.row.value["content"],
        "target": existing.get("content", existing or None),
    }


def _expired(value: Mapping[str, Any], at: str) -> bool:
    meta = value.get("meta")
    return isinstance(meta, Mapping) and records.is_expired(meta, at)


def _class_of(one: Resolved, at: str) -> str:
    """The class of a record whose place holds nothing or another content."""
    if one.decision in _GONE:
        return "changed"
    if one.existing is None:
        return "expired" if records.is_expired(one.row.value["meta"], at) else "missing"
    return "expired" if _expired(one.existing, at) else "different"
