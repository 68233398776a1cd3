"""Sync: passes over a source in use, until what is left is less than a second's work.

A pass copies what came or changed since the one before. With the writer stopped, one
last pass and a verify end the cut-over.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from holdover.compat import records
from holdover.compat.stores.address import redact_url
from holdover.compat.stores.backend import Replace
from holdover.migrate.collecting import rare_collections
from holdover.migrate.conflicts import Decision
from holdover.migrate.copying import Copier
from holdover.migrate.deletions import Deletions, OnSourceDelete, look_for_deletions
from holdover.migrate.ends import (
    begin_reading,
    find_run,
    opened_source,
    opened_target,
    refuse_blocked,
    refuse_same_file,
    source_identity,
)
from holdover.migrate.errors import TargetError, UsageError
from holdover.migrate.ledger import Ledger, Progress, Run, new_run
from holdover.migrate.progress import Progress as Reporter
from holdover.migrate.progress import Silent
from holdover.migrate.rejects import RejectsFile
from holdover.migrate.run import (
    CopyReport,
    check_suitable,
    index_of,
    migrate,
    note_verified,
)
from holdover.migrate.targets import Applied, Target
from holdover.migrate.targets.base import run_of
from holdover.migrate.verify import VerifyReport, compare_reported

if TYPE_CHECKING:
    from holdover.migrate.options import Options, Prepared
    from holdover.migrate.plan import Plan
    from holdover.migrate.sources.base import Source
    from holdover.migrate.targets import Note, Row

MAX_PASSES = 20
#: An end that moved by less is the same end, read at another moment.
_SLACK_SECONDS = 1.0
_CHANGES = (Decision.COPY, Decision.UPDATE, Decision.VERSION, Decision.OVERWRITE)


@dataclass
class PassReport:
    """What one pass found.

    Attributes:
        read: Records of the source it looked at.
        new: Records the target did not hold.
        changed: Records whose value changed in the source.
        extended: Records whose lifetime was renewed in the source.
        seconds: How long it took.
        left: How long it would take to copy as much again.
    """

    number: int
    read: int = 0
    new: int = 0
    changed: int = 0
    extended: int = 0
    seconds: float = 0.0
    left: float = 0.0

    @property
    def changes(self) -> int:
        """How many records it wrote."""
        return self.new + self.changed + self.extended

    @property
    def settled(self) -> bool:
        """Whether it found fewer changes than a second of copying."""
        return self.left < 1


@dataclass
class SyncReport:
    """What the passes of one `sync` did.

    Attributes:
        plan: Of the first whole copy, where this call made it, or had to stop there.
        first: That copy.
        settled: Whether the passes caught up with the writer.
        final: Whether the writer had been stopped.
        deletions: What the source no longer holds.
        verify: After the last pass of a `final` sync.
        commands: The last pass, and a verify, as commands.
    """

    source: str
    target: str
    run: str | None = None
    plan: Plan | None = None
    first: CopyReport | None = None
    passes: list[PassReport] = field(default_factory=list)
    settled: bool = False
    final: bool = False
    deletions: Deletions = field(default_factory=Deletions)
    verify: VerifyReport | None = None
    decisions: dict[str, int] = field(default_factory=dict)
    rejects: dict[str, int] = field(default_factory=dict)
    rejects_file: str | None = None
    commands: dict[str, str] = field(default_factory=dict)

    @property
    def exit_code(self) -> int:
        """0 ready or clean, 1 behind the writer or different, 3 blocked."""
        if self.plan is not None and self.plan.blockers:
            return 3
        if self.final:
            clean = self.verify is not None and self.verify.clean
            return int(not clean or bool(self.rejects))
        return int(not self.settled)


def sync(
    source: str,
    target: str,
    options: Options | None = None,
    *,
    final: bool = False,
    on_source_delete: OnSourceDelete = "keep",
    max_passes: int = MAX_PASSES,
    command: str | None = None,
    reporter: Reporter | None = None,
    told: Callable[[PassReport], None] = lambda _: None,
) -> SyncReport:
    """Bring a target up to a source in use, as far as that is possible.

    Args:
        source: A path, a URL, or `env:NAME`.
        target: A path, a URL, `module:factory`, or `env:NAME`.
        options: What to move and how; the same as of `migrate`, whose run goes on.
        final: The writer was stopped: make one last pass, and verify.
        on_source_delete: Whether what was deleted in the source is deleted in the
            target. What expired is no deletion.
        max_passes: Give up after so many where the writer is faster.
        command: What the ledger records as the way to resume.
        reporter: Told of the progress within a pass.
        told: Told of each pass that ended.

    Raises:
        UsageError: The arguments do not fit, or the run is being carried out.
        SourceError: The source cannot be read.
        TargetError: A write failed; the same call resumes.
    """
    from holdover.migrate.options import Options  # noqa: PLC0415

    options = options or Options()
    if max_passes < 1:
        raise UsageError("--max-passes has to be at least 1.")
    if options.into != frozenset({"items"}) or options.layout != "native":
        raise UsageError(
            "Only items of our own layout are followed.",
            hint="Migrate threads and other layouts once the writer is stopped.",
        )
    syncing = _Sync(source, target, options, reporter or Silent(), told, command)
    refuse_same_file(source, target)
    with rare_collections():
        return syncing.carry_out(
            final=final, on_source_delete=on_source_delete, max_passes=max_passes
        )


class _Sync:
    """The passes of one call."""

    def __init__(
        self,
        source: str,
        target: str,
        options: Options,
        reporter: Reporter,
        told: Callable[[PassReport], None],
        command: str | None,
    ) -> None:
        self._source, self._target_address = source, target
        self._options, self._prepared = options, options.prepared()
        self._reporter, self._told = reporter, told
        self._identity = source_identity(source)
        shown = f"holdover sync {self._identity} {redact_url(target)}"
        self._command = command or shown
        self._report = SyncReport(self._identity, redact_url(target))
        self._rejects: RejectsFile | None = None
        self._ours = 0

    def carry_out(
        self, *, final: bool, on_source_delete: OnSourceDelete, max_passes: int
    ) -> SyncReport:
        """Copy whole if that was never done, then pass after pass."""
        report = self._report
        report.final = final
        if not self._copied_before() and not self._copy_whole():
            return report
        index = index_of(self._options)
        with opened_target(self._target_address, writing=True, index=index) as target:
            check_suitable(target)
            target.prepare()
            ledger = Ledger(target)
            run = self._run(ledger)
            report.run = run.id
            with ledger.leased(run):
                run = find_run(ledger, self._identity, self._prepared) or run
                for number in range(1, (1 if final else max_passes) + 1):
                    done = self._one_pass(target, ledger, run, number)
                    report.passes.append(done)
                    self._told(done)
                    report.settled = done.settled
                    if done.settled:
                        break
                if report.settled or final:
                    self._look_for_deletions(target, ledger, run, on_source_delete)
                if final:
                    self._verify(target, ledger, run)
        return report

    def _copied_before(self) -> bool:
        """Whether a whole pass over the source ended, in this or an earlier command."""
        with opened_target(self._target_address, writing=False) as looking:
            run = find_run(Ledger(looking), self._identity, self._prepared)
        return run is not None and run.state in ("copied", "done")

    def _copy_whole(self) -> bool:
        """Plan and copy; `False` where the plan has blockers."""
        made = migrate(
            self._source,
            self._target_address,
            self._options,
            command=self._command,
            reporter=self._reporter,
            check=False,
        )
        report = self._report
        report.plan, report.first = made.plan, made.copy
        if made.copy:
            self._note_rejects(made.copy.rejects, made.copy.rejects_file)
        return not made.plan.blockers

    def _run(self, ledger: Ledger) -> Run:
        run = find_run(ledger, self._identity, self._prepared)
        if run is None:
            # There was nothing to move so far.
            fingerprint = self._prepared.fingerprint()
            run = new_run(self._identity, fingerprint, self._command, 0)
        return run

    def _one_pass(
        self, target: Target, ledger: Ledger, run: Run, number: int
    ) -> PassReport:
        began = time.monotonic()
        path = self._options.rejects_file or f"holdover-{run.shown}.rejects.jsonl"
        self._rejects = rejects = RejectsFile(path, fresh=True)
        # Opened anew: what a source found out about its names is of one moment.
        with opened_source(self._source, self._prepared) as source:
            begin_reading(source)
            try:
                run.state = "copying"
                ledger.begin(run, ledger.progress(run))
                self._reporter.begin(f"pass {number}", run.planned)
                copier = _Following(
                    source,
                    target,
                    self._prepared,
                    run,
                    rejected=rejects.add,
                    moved=self._moved,
                )
                parts = [
                    copier.copy(part, Progress(part.id)) for part in source.partitions()
                ]
                run.state = "copied"
                run.finished_at = records.timestamp(records.now())
                counts = _total(parts)
                run.planned = max(run.planned, _read(counts))
                run.counts = {
                    str(decision): counts[decision]
                    for decision in Decision
                    if counts[decision]
                }
                ledger.save(run)
            finally:
                self._reporter.end()
                rejects.close()
        done = copier.report(number, counts)
        self._ours = copier.ours(counts)
        target.finish(done.changes)
        done.seconds = time.monotonic() - began
        self._report.decisions = dict(run.counts)
        refused = {
            name.removeprefix("reject:"): n
            for name, n in counts.items()
            if name.startswith("reject:")
        }
        if conflicts := counts[Decision.CONFLICT]:
            refused["conflict"] = conflicts
        listed = str(rejects.path) if rejects.counts.total() else None
        self._note_rejects(refused, listed)
        return done

    def _moved(self, number: int) -> None:
        self._reporter.advance(number)
        limit, rejects = self._options.max_rejects, self._rejects
        if limit is not None and rejects and rejects.counts.total() > limit:
            raise TargetError(
                f"Stopped after more than {limit:,} rejects; they are in "
                f"{rejects.path}.",
                hint="Raise --max-rejects and repeat to go on.",
            )

    def _note_rejects(self, refused: dict[str, int], path: str | None) -> None:
        self._report.rejects = dict(refused)
        self._report.rejects_file = path

    def _look_for_deletions(
        self, target: Target, ledger: Ledger, run: Run, policy: OnSourceDelete
    ) -> None:
        if policy == "keep" and target.count_of_run(run.id) <= self._ours:
            return  # every one of them was seen, and nothing follows from it
        self._reporter.begin("looking for deletions", run.planned)
        try:
            with opened_source(self._source, self._prepared) as source:
                self._report.deletions = look_for_deletions(
                    source,
                    target,
                    self._prepared,
                    run,
                    policy,
                    tick=self._reporter.advance,
                    beat=lambda: target.write(ledger.heartbeat(run)),
                )
        finally:
            self._reporter.end()

    def _verify(self, target: Target, ledger: Ledger, run: Run) -> None:
        with opened_source(self._source, self._prepared) as source:
            inventory = source.inventory()
            refuse_blocked(inventory)
            self._report.verify = compare_reported(
                source, target, self._prepared, run, self._reporter, inventory
            )
        if self._report.verify.clean:
            note_verified(ledger, run)


class _Following(Copier):
    """A copier that looks first: most of what it reads is in the target already.

    Where the old application renewed a lifetime, the target's ends later, too.
    """

    def __init__(
        self, source: Source, target: Target, prepared: Prepared, run: Run, **told: Any
    ) -> None:
        super().__init__(source, target, prepared, run, **told)
        self._rate = prepared.options.rate
        self._extended = 0
        self._handled, self._seconds = 0, 0.0
        self._run_id = run.id
        self._seen = 0
        self._asked = time.monotonic()

    def ours(self, counts: Counter[str]) -> int:
        """How many of the run's items in the target the source still holds."""
        written = (Decision.COPY, Decision.UPDATE, Decision.OVERWRITE)
        return self._seen + sum(counts[decision] for decision in written)

    def report(self, number: int, counts: Counter[str]) -> PassReport:
        """What this pass found."""
        done = PassReport(number, read=_read(counts), extended=self._extended)
        done.new = counts[Decision.COPY]
        done.changed = sum(counts[one] for one in _CHANGES if one != Decision.COPY)
        if done.changes:
            # Of what was handed to the target, only the changes will come again.
            done.left = self._seconds * done.changes / max(1, self._handled)
            if self._rate:
                done.left = max(done.left, done.changes / self._rate)
        return done

    def _applied(self, rows: Sequence[Row], note: Note) -> Applied:
        began = time.monotonic()
        # An end is told from when the batch is complete: no more exactly than that.
        rest, renewed = self._look(rows, _SLACK_SECONDS + began - self._asked)
        settled = len(rows) - len(rest)

        def noted(applied: Applied) -> Any:
            applied.decisions[Decision.ALREADY] += settled
            return note(applied)

        looked = time.monotonic()
        applied = super()._applied(rest, noted)
        for row, existing in renewed:
            self._extended += self._extend(row, existing)
        if rest or renewed:
            self._handled += len(rest) + len(renewed)
            # What reading and comparing took is shared by all that was read.
            share = (len(rest) + len(renewed)) / len(rows)
            self._seconds += time.monotonic() - looked + (looked - began) * share
        self._asked = time.monotonic()
        return applied

    def _look(
        self, rows: Sequence[Row], slack: float
    ) -> tuple[list[Row], list[tuple[Row, dict[str, Any]]]]:
        """The rows to be decided about, and those that only live longer now."""
        target = self._target
        values = target.read([(row.namespace, row.key) for row in rows])
        at = records.timestamp(records.now())
        rest, renewed = [], []
        for row, value in zip(rows, values, strict=True):
            meta = value.get("meta") if value is not None else None
            if (
                value is None
                or not isinstance(meta, dict)
                or records.is_expired(meta, at)
                or not records.has_content(value, row.value["meta"]["hash"])
            ):
                rest.append(row)
                continue
            self._seen += run_of(value) == self._run_id
            if _lives_longer(row.value["meta"], meta, slack):
                renewed.append((row, dict(value)))
        return rest, renewed

    def _extend(self, row: Row, existing: dict[str, Any]) -> bool:
        """Move the end of a lifetime, if nobody wrote there meanwhile."""
        target = self._target
        meta = {n: v for n, v in existing["meta"].items() if n != "expires_at"}
        if "expires_at" in row.value["meta"]:
            meta["expires_at"] = row.value["meta"]["expires_at"]
        value = {**existing, "meta": meta}
        put = target.put(row.namespace, row.key, value, row.ttl)
        return bool(target.do(Replace(put, existing)))


def _lives_longer(
    ours: Mapping[str, Any], theirs: Mapping[str, Any], slack: float
) -> bool:
    """Whether a lifetime was renewed since, of what nobody but a move has written."""
    source = theirs.get("source")
    kind = source.get("kind") if isinstance(source, dict) else None
    if kind not in ("migration", "adoption") or "expires_at" not in theirs:
        return False
    if "expires_at" not in ours:
        return True
    # What a store itself can tell is rounded up to minutes; the record says it.
    before, after = records.remaining(theirs), records.remaining(ours)
    if before is None or after is None:
        return False
    return (after - before).total_seconds() > slack


def _total(parts: Sequence[Progress]) -> Counter[str]:
    total: Counter[str] = Counter()
    for part in parts:
        total.update(part.counts)
    return total


def _read(counts: Counter[str]) -> int:
    """How many records of the source were decided about."""
    return sum(counts[decision] for decision in Decision)
