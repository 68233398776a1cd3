"""Migrate: plan, copy, verify. Run again, it resumes; finished, it writes nothing."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from langgraph.store.base import PutOp

from holdover.compat import records
from holdover.compat.reading import LABELS
from holdover.compat.stores.address import (
    redact_url,
)
from holdover.compat.stores.probing import probe as probe_store
from holdover.migrate.building import RowBuilder
from holdover.migrate.collecting import rare_collections
from holdover.migrate.conflicts import Decision
from holdover.migrate.ends import (
    find_run,
    opened_source,
    opened_target,
    refuse_same_file,
    source_identity,
)
from holdover.migrate.errors import TargetError, UsageError
from holdover.migrate.ledger import Ledger, Progress, Run, new_run
from holdover.migrate.options import Options, Prepared
from holdover.migrate.plan import Plan, make_plan
from holdover.migrate.progress import Progress as Reporter
from holdover.migrate.progress import Silent
from holdover.migrate.rejects import RejectsFile
from holdover.migrate.sources.base import Batch, Partition, Source
from holdover.migrate.targets import Applied, Note, Row, Target
from holdover.migrate.verify import VerifyReport, compare_reported

_ATTEMPTS = 6
_PAUSE = 0.05


@dataclass
class CopyReport:
    """What a copy did, in this and in the runs it resumed."""

    run: str | None
    resumed: bool = False
    decisions: dict[str, int] = field(default_factory=dict)
    rejects: dict[str, int] = field(default_factory=dict)
    expired: int = 0
    written: int = 0
    seconds: float = 0.0
    rejects_file: str | None = None


@dataclass
class MigrateReport:
    """A whole `migrate`: `copy` and `verify` are `None` where it stopped before."""

    plan: Plan
    copy: CopyReport | None = None
    verify: VerifyReport | None = None

    @property
    def exit_code(self) -> int:
        """0 done and verified, 1 anything rejected or different, 3 blocked."""
        if self.plan.blockers:
            return 3
        if self.copy is None or self.verify is None:
            return 0
        rejected = self.copy.rejects or self.verify.rejected
        return int(bool(rejected) or not self.verify.clean)


def migrate(
    source: str,
    target: str,
    options: Options | None = None,
    *,
    dry_run: bool = False,
    command: str | None = None,
    reporter: Reporter | None = None,
    confirm: Callable[[Plan], bool] | None = None,
) -> MigrateReport:
    """Move the records of a source into a target.

    Args:
        source: A path, a URL, or `env:NAME`.
        target: A path, a URL, `module:factory`, or `env:NAME`.
        options: What to move and how.
        dry_run: Stop after the plan; write nothing anywhere.
        command: What the ledger records as the way to resume.
        reporter: Told of the progress.
        confirm: Asked, with the plan, before anything is written.

    Raises:
        UsageError: The arguments do not fit, or the run is being carried out.
        SourceError: The source cannot be read.
        TargetError: A write failed; the same call resumes.
    """
    options = options or Options()
    prepared = options.prepared()
    reporter = reporter or Silent()
    refuse_same_file(source, target)
    with rare_collections(), opened_source(source, prepared) as reading:
        identity = source_identity(source)
        with opened_target(target, writing=False) as looking:
            run = find_run(Ledger(looking), identity, prepared)
            run_id = run.id if run else records.new_revision()
            reporter.begin("planning", 0)
            plan = make_plan(reading, looking, prepared, run_id)
            reporter.end()
            plan.run = run.id if run else None
        if dry_run or plan.blockers:
            return MigrateReport(plan)
        if plan.to_write and confirm and not confirm(plan):
            raise UsageError("Nothing was written: the plan was not confirmed.")
        if run is None and not plan.to_write and not plan.rejects:
            # Nothing to move: no run, and no target if there was none.
            with opened_target(target, writing=False) as looking:
                report = compare_reported(
                    reading, looking, prepared, None, reporter, plan.inventory
                )
            return MigrateReport(plan, CopyReport(None), report)
        if run is not None and run.state in ("copied", "done") and not plan.to_write:
            return _verified_again(reading, target, prepared, run, reporter, plan)
        with opened_target(target, writing=True, index=_index(options)) as writing:
            _check_suitable(writing)
            writing.prepare()
            ledger = Ledger(writing)
            if run is None:
                shown = command or f"holdover migrate {identity} {redact_url(target)}"
                run = new_run(identity, prepared.fingerprint(), shown, plan.to_write)
                run.id = run_id
            with ledger.leased(run):
                # Another copy of the command may have got further since we looked.
                run = find_run(ledger, identity, prepared) or run
                copying = _Copy(reading, writing, prepared, run, reporter, plan)
                copied = copying.carry_out()
                report = compare_reported(
                    reading, writing, prepared, run, reporter, plan.inventory
                )
                if report.clean:
                    _note_verified(ledger, run)
            return MigrateReport(plan, copied, report)


def set_up(target: str, options: Options | None = None) -> None:
    """Create the target's tables, and nothing else."""
    index = _index(options or Options())
    with opened_target(target, writing=True, index=index) as made:
        made.prepare()


def _verified_again(
    source: Source,
    target: str,
    prepared: Prepared,
    run: Run,
    reporter: Reporter,
    plan: Plan,
) -> MigrateReport:
    """A finished run, called again: it is compared, and nothing is written."""
    unverified = run.state == "copied"
    with opened_target(target, writing=unverified) as finished:
        copied = CopyReport(run.id, resumed=True, rejects=dict(plan.rejects))
        report = compare_reported(
            source, finished, prepared, run, reporter, plan.inventory
        )
        if unverified and report.clean:
            ledger = Ledger(finished)
            with ledger.leased(run):
                _note_verified(ledger, run)
        return MigrateReport(plan, copied, report)


def _note_verified(ledger: Ledger, run: Run) -> None:
    run.state = "done"
    run.verified_at = records.timestamp(records.now())
    ledger.finish(run)


def _check_suitable(target: Target) -> None:
    """A store we do not know is asked first whether it keeps items apart."""
    if not target.bulk:
        probe_store(target.store, unsafe=False).require()


def _index(options: Options) -> dict[str, Any] | None:
    if options.index is None:
        return None
    if options.dims is None:
        raise UsageError("--index needs --dims.", hint="Give the model's dimensions.")
    return {"embed": options.index, "dims": options.dims, "fields": ["$"]}


class _Copy:
    """One pass over the source's partitions."""

    def __init__(
        self,
        source: Source,
        target: Target,
        prepared: Prepared,
        run: Run,
        reporter: Reporter,
        plan: Plan,
    ) -> None:
        self._source, self._target, self._run = source, target, run
        self._ledger = Ledger(target)
        self._options = prepared.options
        self._mapper = prepared.mapper
        keep_ttl = self._options.ttl == "keep"
        self._builder = RowBuilder(prepared.mapper, run.id, keep_ttl=keep_ttl)
        self._reporter, self._plan = reporter, plan
        self._labelled: set[str] = set()
        path = self._options.rejects_file or f"holdover-{run.shown}.rejects.jsonl"
        self._rejects = RejectsFile(path)
        self._rejected_before = 0
        rate = self._options.rate
        self._batch = max(1, min(self._options.batch, int(rate) if rate else 10**9))

    def carry_out(self) -> CopyReport:
        """Copy what is not there; record how far that is with every batch."""
        run, ledger = self._run, self._ledger
        began = time.monotonic()
        known = ledger.progress(run)
        resumed = bool(known)
        parts = self._source.partitions()
        # Where everything was read once, this pass looks for what came since. What
        # has no cursor is read again from its beginning, and counted again.
        going_on = {
            part.id: known[part.id]
            for part in parts
            if run.state == "copying"
            and part.id in known
            and (known[part.id].done or known[part.id].cursor is not None)
        }
        self._rejects.fresh = not going_on
        self._rejected_before = sum(one.rejects for one in going_on.values())
        try:
            run.state = "copying"
            run.planned = max(run.planned, self._plan.to_write)
            ledger.begin(run, known.keys() - going_on.keys())
            self._check_rejects()
            self._reporter.begin("copying", self._plan.items)
            passes = [
                self._partition(part, going_on.get(part.id) or Progress(part.id))
                for part in parts
            ]
            report = self._report(passes, resumed=resumed)
            report.seconds = time.monotonic() - began
            self._target.finish(report.written)
            run.state = "copied"
            run.counts = {**report.decisions}
            run.finished_at = records.timestamp(records.now())
            ledger.save(run)
        finally:
            self._reporter.end()
            self._rejects.close()
        return report

    def _partition(self, part: Partition, progress: Progress) -> Progress:
        if progress.done:
            return progress
        started = time.monotonic()
        moved = 0
        for batch in self._source.read(part, progress.cursor, size=self._batch):
            progress = self._apply(batch, progress)
            moved += len(batch.items)
            self._reporter.advance(len(batch.items))
            self._check_rejects()
            if self._options.rate:
                ahead = moved / self._options.rate - (time.monotonic() - started)
                time.sleep(max(0.0, ahead))
        progress = Progress(part.id, progress.cursor, done=True, counts=progress.counts)
        self._target.write([self._ledger.progress_put(self._run, progress)])
        return progress

    def _apply(self, batch: Batch, progress: Progress) -> Progress:
        rows, refused = self._builder.rows(batch.items)
        labels = self._label_puts()
        following = progress
        # Before the progress that passes over them: a kill in between may list them
        # twice, but never drops them.
        self._rejects.add([*batch.rejects, *refused])

        def note(applied: Applied) -> list[PutOp]:
            nonlocal following
            counts: Counter[str] = Counter(progress.counts)
            counts.update({str(d): n for d, n in applied.decisions.items()})
            rejects = [*batch.rejects, *refused]
            counts.update(f"reject:{reject.reason}" for reject in rejects)
            counts["expired"] += batch.expired
            following = Progress(progress.partition, batch.cursor, counts=counts)
            return [
                self._ledger.progress_put(self._run, following),
                *self._ledger.heartbeat(self._run),
                *labels,
            ]

        applied = self._applied(rows, note)
        self._rejects.add(applied.rejects)
        return following

    def _applied(self, rows: list[Row], note: Note) -> Applied:
        """Apply a batch, again where other writers were in the way."""
        for attempt in range(_ATTEMPTS):
            try:
                return self._target.apply(rows, self._options.on_conflict, note)
            except Exception as error:
                if not self._target.backend.transient(error):
                    raise
                time.sleep(_PAUSE * 2**attempt)
        return self._target.apply(rows, self._options.on_conflict, note)

    def _label_puts(self) -> list[PutOp]:
        """Keep the whole of labels that had to be shortened."""
        new = {
            encoded: raw
            for encoded, raw in self._mapper.cut_labels.items()
            if encoded not in self._labelled
        }
        self._labelled |= new.keys()
        meta = {"recorded_at": records.timestamp(records.now()), "source": {}}
        return [
            self._target.put(
                LABELS, encoded, records.build("label", {"label": raw}, meta)
            )
            for encoded, raw in new.items()
        ]

    def _check_rejects(self) -> None:
        limit = self._options.max_rejects
        number = self._rejected_before + self._rejects.counts.total()
        if limit is not None and number > limit:
            raise TargetError(
                f"Stopped after more than {limit:,} rejects; they are in "
                f"{self._rejects.path}.",
                hint="Raise --max-rejects and repeat to go on.",
            )

    def _report(self, passes: list[Progress], *, resumed: bool) -> CopyReport:
        total: Counter[str] = Counter()
        for progress in passes:
            total.update(progress.counts)
        rejects = {
            name.removeprefix("reject:"): number
            for name, number in total.items()
            if name.startswith("reject:")
        }
        if conflicts := total.pop(str(Decision.CONFLICT), 0):
            rejects["conflict"] = conflicts
        known = {str(decision) for decision in Decision}
        decisions = {name: n for name, n in total.items() if name in known and n}
        made = self._rejects.counts.total() > 0
        return CopyReport(
            self._run.id,
            resumed=resumed,
            decisions=decisions,
            rejects=rejects,
            expired=total["expired"],
            written=Applied(
                Counter({Decision(d): n for d, n in decisions.items()})
            ).written,
            rejects_file=str(self._rejects.path) if made else None,
        )
