"""Retire: commands that delete the old data, for the user to run.

The source is compared with the target at this moment. Where anything is missing or
different nothing is written; what could not be moved stays, and so does everything
that the run was not asked to move.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Any

from holdover.migrate.aligning import Aligned
from holdover.migrate.building import RowBuilder
from holdover.migrate.collecting import rare_collections
from holdover.migrate.ends import (
    find_run,
    opened_source,
    opened_target,
    refuse_blocked,
    source_identity,
)
from holdover.migrate.errors import RunNotFound, UsageError
from holdover.migrate.ledger import Ledger
from holdover.migrate.progress import Progress as Reporter
from holdover.migrate.progress import Silent
from holdover.migrate.rejects import RejectsFile
from holdover.migrate.removing import Kept, Language, Remover, Units, remover_for
from holdover.migrate.sources.base import SAMPLES, Reject
from holdover.migrate.sources.combined import CombinedSource
from holdover.migrate.verify import classes_of

if TYPE_CHECKING:
    from holdover.migrate.options import Options, Prepared
    from holdover.migrate.sources.base import Source, SourceItem
    from holdover.migrate.targets import Row, Target

_OPEN: dict[Language, str] = {"sql": "BEGIN;", "redis": "", "sh": "set -e", "": ""}
_CLOSE: dict[Language, str] = {"sql": "COMMIT;", "redis": "", "sh": "", "": ""}


@dataclass
class RetireReport:
    """What may be deleted, and what stays.

    Attributes:
        classes: Records of the source by what became of them; see `VerifyReport`.
        rejects: Records that could not be moved, by reason.
        commands: How many commands were written.
        languages: What they are for: `sql`, `redis` (redis-cli), `sh`.
        kept: How many keys, tables, rows or files stay because of their records.
        examples: Some of those, and why.
        kept_file: Where all of them are listed.
    """

    source: str
    target: str
    run: str
    classes: dict[str, int] = field(default_factory=dict)
    rejects: dict[str, int] = field(default_factory=dict)
    commands: int = 0
    languages: list[Language] = field(default_factory=list)
    kept: int = 0
    examples: list[Kept] = field(default_factory=list)
    kept_file: str | None = None
    refused: bool = False

    @property
    def exit_code(self) -> int:
        """0 everything may go, 1 something stays, or nothing may be deleted."""
        return int(self.refused or self.kept > 0 or bool(self.rejects))


def retire(
    source: str,
    target: str,
    out: IO[bytes],
    options: Options | None = None,
    *,
    kept_file: str | None = None,
    reporter: Reporter | None = None,
) -> RetireReport:
    """Write the commands that delete what was moved; delete nothing.

    Args:
        source: A path, a URL, or `env:NAME`.
        target: Where it was moved to.
        out: Where the commands go.
        options: The same choices as of the run.
        kept_file: Where what stays is listed.
        reporter: Told of the progress.

    Raises:
        RunNotFound: The target records no run of this source with these choices.
        PlanBlocked: The source cannot be read as it is asked for.
    """
    from holdover.migrate.options import Options  # noqa: PLC0415

    options = options or Options()
    if "items" not in options.into or options.layout != "native":
        raise UsageError(
            "Only what was moved as items of our own layout can be compared for this.",
            hint="Verify it, and delete the old data by hand.",
        )
    prepared = options.prepared()
    with (
        rare_collections(),
        opened_source(source, prepared) as reading,
        opened_target(target, writing=False) as comparing,
        closing(Units()) as units,
    ):
        inventory = reading.inventory()
        refuse_blocked(inventory)
        run = find_run(Ledger(comparing), source_identity(source), prepared)
        if run is None:
            raise RunNotFound(
                f"{comparing.address} records no run of this source with these "
                "choices.",
                hint="Give the same choices as to migrate, or --run ID.",
            )
        report = RetireReport(reading.address, comparing.address, run.id)
        reporter = reporter or Silent()
        reporter.begin("verifying", inventory.records)
        try:
            removers = _compare(
                reading, comparing, prepared, run.id, units, report, reporter
            )
        finally:
            reporter.end()
        report.refused = bool(
            report.classes.get("missing") or report.classes.get("different")
        )
        if not report.refused:
            _write(removers, out, report)
        _keep(removers, report, kept_file or f"holdover-{run.shown}.kept.jsonl")
        return report


def _compare(
    source: Source,
    target: Target,
    prepared: Prepared,
    run_id: str,
    units: Units,
    report: RetireReport,
    reporter: Reporter,
) -> list[Remover]:
    builder = RowBuilder.of(prepared, run_id)
    parts = source.parts if isinstance(source, CombinedSource) else [source]
    classes: Counter[str] = Counter()
    rejected: Counter[str] = Counter()
    removers = []
    for number, part in enumerate(parts):
        remover = remover_for(part, number, units)
        removers.append(remover)
        aligned: Any = Aligned(part, target, builder)
        for partition in part.partitions():
            remover.begin(partition)
            for batch in aligned.read(partition, size=prepared.options.batch):
                items, rows, refused = _built(builder, batch.items)
                rejects = [*batch.rejects, *refused]
                found = classes_of(target, rows)
                remover.see(items, found, rejects)
                classes.update(found)
                rejected.update(reject.reason for reject in rejects)
                reporter.advance(len(batch.items) + len(batch.rejects))
            remover.end()
    report.classes, report.rejects = dict(classes), dict(rejected)
    return removers


def _built(
    builder: RowBuilder, items: Sequence[SourceItem]
) -> tuple[Sequence[SourceItem], list[Row], list[Reject]]:
    """The items that can be stored, with their rows, and the rejects."""
    rows, rejects = builder.rows(items)
    if not rejects:
        return items, rows, rejects
    kept, rows = [], []
    for item in items:
        built, _ = builder.rows([item])
        if built:
            kept.append(item)
            rows += built
    return kept, rows, rejects


def _write(removers: Iterable[Remover], out: IO[bytes], report: RetireReport) -> None:
    """The commands, those of one language together."""
    by_language: dict[Language, list[Remover]] = {}
    for remover in removers:
        by_language.setdefault(remover.language, []).append(remover)
    for language, some in by_language.items():
        before = report.commands
        for remover in some:
            for line in remover.commands():
                if report.commands == before and _OPEN[language]:
                    _put(out, _OPEN[language])
                _put(out, line)
                report.commands += 1
        if report.commands > before:
            report.languages.append(language)
            if _CLOSE[language]:
                _put(out, _CLOSE[language])
    out.flush()


def _put(out: IO[bytes], line: str) -> None:
    # A path may hold bytes that are no UTF-8.
    out.write(line.encode("utf-8", "surrogateescape") + b"\n")


def _keep(removers: Iterable[Remover], report: RetireReport, path: str) -> None:
    """List what stays."""
    listed = RejectsFile(path, fresh=True)
    try:
        for remover in removers:
            for kept in remover.kept():
                report.kept += 1
                if len(report.examples) < SAMPLES:
                    report.examples.append(kept)
                detail = "It is not safe to delete."
                listed.add([Reject(kept.why, kept.locator, detail)])
    finally:
        listed.close()
    report.kept_file = path if report.kept else None
