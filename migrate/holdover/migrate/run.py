"""Migrate: plan, copy, verify. Run again, it resumes; finished, it writes nothing."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from holdover.compat import records
from holdover.compat.stores.address import (
    redact_url,
)
from holdover.compat.stores.probing import probe as probe_store
from holdover.migrate.collecting import rare_collections
from holdover.migrate.conflicts import Decision
from holdover.migrate.copying import Copier
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
from holdover.migrate.sources.base import Partition, Source
from holdover.migrate.tallies import Tally
from holdover.migrate.targets import Applied, Target
from holdover.migrate.verify import VerifyReport, compare_reported

if TYPE_CHECKING:
    from holdover.migrate.threads.moving import ThreadsCopied


#: States of a run that has read all of its source once.
_OVER = ("copied", "done")


@dataclass
class CopyReport:
    """What a copy did, in this and in the runs it resumed."""

    run: str | None
    resumed: bool = False
    decisions: dict[str, int] = field(default_factory=dict)
    rejects: dict[str, int] = field(default_factory=dict)
    skipped: dict[str, int] = field(default_factory=dict)
    expired: int = 0
    written: int = 0
    seconds: float = 0.0
    rejects_file: str | None = None
    threads: ThreadsCopied | None = None


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
        if self.verify.threads:
            rejected = rejected or self.verify.threads.rejected
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
    check: bool = True,
    tally: Tally | None = None,
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
        check: Verify what was copied; `sync` does so after its last pass.
        tally: Given the counts of each session.

    Raises:
        UsageError: The arguments do not fit, or the run is being carried out.
        SourceError: The source cannot be read.
        TargetError: A write failed; the same call resumes.
    """
    options = options or Options()
    prepared = options.prepared()
    reporter = reporter or Silent()
    refuse_same_file(source, target)
    if options.scheduler:
        from holdover.migrate.cluster import check_reachable  # noqa: PLC0415 - rare

        check_reachable(source, target, options.scheduler)
    with rare_collections(), opened_source(source, prepared) as reading:
        identity = source_identity(source)
        with opened_target(target, writing=False) as looking:
            run = find_run(Ledger(looking), identity, prepared)
            run_id = run.id if run else records.new_revision()
            reporter.begin("planning", 0)
            again = run is not None and run.state in _OVER
            plan = make_plan(reading, looking, prepared, run_id, again=again)
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
                    reading, looking, prepared, None, reporter, plan.inventory, tally
                )
            return MigrateReport(plan, CopyReport(None), report)
        if run is not None and again and not plan.to_write:
            return _verified_again(
                reading, target, prepared, run, reporter, plan, tally
            )
        with opened_target(target, writing=True, index=index_of(options)) as writing:
            check_suitable(writing)
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
                copied = copying.carry_out(source, target)
                if not check:
                    return MigrateReport(plan, copied)
                report = compare_reported(
                    reading, writing, prepared, run, reporter, plan.inventory, tally
                )
                if report.clean:
                    note_verified(ledger, run)
            return MigrateReport(plan, copied, report)


def set_up(target: str, options: Options | None = None) -> None:
    """Create the target's tables, and nothing else."""
    index = index_of(options or Options())
    with opened_target(target, writing=True, index=index) as made:
        made.prepare()


def _verified_again(
    source: Source,
    target: str,
    prepared: Prepared,
    run: Run,
    reporter: Reporter,
    plan: Plan,
    tally: Tally | None,
) -> MigrateReport:
    """A finished run, called again: it is compared, and nothing is written."""
    unverified = run.state == "copied"
    with opened_target(target, writing=unverified) as finished:
        copied = CopyReport(run.id, resumed=True, rejects=dict(plan.rejects))
        report = compare_reported(
            source, finished, prepared, run, reporter, plan.inventory, tally
        )
        if unverified and report.clean:
            ledger = Ledger(finished)
            with ledger.leased(run):
                note_verified(ledger, run)
        return MigrateReport(plan, copied, report)


def note_verified(ledger: Ledger, run: Run) -> None:
    """Record that a run was verified, and give its lease back."""
    run.state = "done"
    run.verified_at = records.timestamp(records.now())
    ledger.finish(run)


def check_suitable(target: Target) -> None:
    """A store we do not know is asked first whether it keeps items apart."""
    if not target.bulk:
        probe_store(target.store, unsafe=False).require()


def index_of(options: Options) -> dict[str, Any] | None:
    """What the options say of the target's index.

    Raises:
        UsageError: A model without its dimensions.
    """
    if options.index is None:
        return None
    if options.dims is None:
        raise UsageError("--index needs --dims.", hint="Give the model's dimensions.")
    from holdover.migrate.targets.models import NamedModel  # noqa: PLC0415 - slow

    model = NamedModel(options.index, options.dims)
    return {"embed": model, "dims": options.dims, "fields": ["$"]}


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
        self._prepared, self._options = prepared, prepared.options
        self._ledger = Ledger(target)
        self._reporter, self._plan = reporter, plan
        path = self._options.rejects_file or f"holdover-{run.shown}.rejects.jsonl"
        self._rejects = RejectsFile(path)
        self._rejected_before = 0

    def carry_out(self, source: str, target: str) -> CopyReport:
        """Copy what is not there; record how far that is with every batch.

        Args:
            source: The address as it was given, for other processes.
            target: The address as it was given.
        """
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
            if run.state == "copying" and part.id in known and known[part.id].goes_on
        }
        self._rejects.fresh = not going_on
        self._rejected_before = sum(one.rejects for one in going_on.values())
        try:
            run.state = "copying"
            run.planned = max(run.planned, self._plan.to_write)
            ledger.begin(run, known.keys() - going_on.keys())
            ledger.take_rejects(run, self._rejects.add)
            self._check_rejects()
            self._reporter.begin("copying", self._plan.items)
            begun = [going_on.get(part.id) or Progress(part.id) for part in parts]
            passes = []
            if "items" in self._options.into:
                passes = self._copied(parts, begun, source, target)
            threads = self._threads(passes) if "threads" in self._options.into else None
            report = self._report(passes, resumed=resumed)
            report.threads = threads
            for reason, number in (threads.rejects if threads else {}).items():
                report.rejects[reason] = report.rejects.get(reason, 0) + number
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

    def _copied(
        self,
        parts: Sequence[Partition],
        begun: Sequence[Progress],
        source: str,
        target: str,
    ) -> list[Progress]:
        """Copy here, or have it done by as many others as that is worth."""
        todo = [part for part, one in zip(parts, begun, strict=True) if not one.done]
        crew = min(self._options.workers, len(todo))
        if todo and (crew > 1 or self._options.scheduler):
            from holdover.migrate.crews import copy_by_others  # noqa: PLC0415 - rare

            done = copy_by_others(
                (source, target),
                self._prepared,
                self._run,
                self._target,
                todo,
                rejected=self._rejects.add,
                moved=self._note_moved,
            )
            return [done.get(one.partition, one) for one in begun]
        copier = Copier(
            self._source,
            self._target,
            self._prepared,
            self._run,
            rejected=self._rejects.add,
            moved=self._note_moved,
        )
        return [copier.copy(part, one) for part, one in zip(parts, begun, strict=True)]

    def _threads(self, passes: list[Progress]) -> ThreadsCopied:
        from holdover.migrate.threads import steps  # noqa: PLC0415 - rare

        done, counts = steps.copy(
            self._source,
            self._target,
            self._prepared,
            self._run,
            rejected=self._rejects.add,
            moved=self._note_moved,
        )
        passes.append(Progress(steps.PARTITION, done=True, counts=counts))
        return done

    def _note_moved(self, number: int) -> None:
        self._reporter.advance(number)
        self._check_rejects()

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
        rejects = _named(total, "reject:")
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
            skipped=_named(total, "skip:"),
            expired=total["expired"],
            written=Applied(
                Counter({Decision(d): n for d, n in decisions.items()})
            ).written,
            rejects_file=str(self._rejects.path) if made else None,
        )


def _named(counts: Counter[str], prefix: str) -> dict[str, int]:
    return {
        name.removeprefix(prefix): number
        for name, number in counts.items()
        if name.startswith(prefix)
    }
