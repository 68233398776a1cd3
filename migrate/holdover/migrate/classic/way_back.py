"""The way back: from a store to an empty place that old releases read.

Everything is written out of sight, compared with the store, and then shown. Whoever
was stopped goes on: the same command again, exactly once.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING

from holdover.compat import records
from holdover.compat.errors import AddressError
from holdover.compat.records import KINDS, Record
from holdover.migrate.classic.base import Entry, Form
from holdover.migrate.classic.forms import open_form
from holdover.migrate.classic.messages import classic_message
from holdover.migrate.collecting import rare_collections
from holdover.migrate.ends import opened_target, source_identity
from holdover.migrate.errors import SourceNotFound, UsageError
from holdover.migrate.progress import Progress as Reporter
from holdover.migrate.progress import Silent
from holdover.migrate.rejects import RejectsFile
from holdover.migrate.sources.base import SAMPLES, Blocker, Reject
from holdover.migrate.sources.store import Left, Space, StoreSource, name_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdover.migrate.options import Options, Prepared

_AT_ONCE = 500


@dataclass
class WayBackReport:
    """What a way back did, or would do.

    Attributes:
        sessions: How many sessions there are, by kind.
        items: How many records, by kind; expired ones included.
        left: Namespaces that are not among the sessions asked for, by reason.
        skipped: Records of kinds that the place has no form for, by kind.
        written: Records written in this call; with `resumed`, the rest was before.
        equal: Records that the place gives back as the store has them.
        expired: Records whose lifetime has ended.
        rejects: Records that cannot be written there, by reason.
        missing: Records that the place does not give back.
        different: Records that it gives back otherwise.
        extra: Records that it holds and the store does not.
        examples: Sessions with something missing or different.
    """

    source: str
    target: str
    target_label: str
    sessions: dict[str, int] = field(default_factory=dict)
    items: dict[str, int] = field(default_factory=dict)
    left: dict[str, int] = field(default_factory=dict)
    skipped: dict[str, int] = field(default_factory=dict)
    blockers: list[Blocker] = field(default_factory=list)
    dry_run: bool = False
    resumed: bool = False
    written: int = 0
    equal: int = 0
    expired: int = 0
    rejects: dict[str, int] = field(default_factory=dict)
    rejects_file: str | None = None
    missing: int = 0
    different: int = 0
    extra: int = 0
    examples: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def clean(self) -> bool:
        """Whether the place gives back what the store holds, and nothing else."""
        return not (self.missing or self.different or self.extra)

    @property
    def exit_code(self) -> int:
        """0 done and verified, 1 anything rejected or different, 3 blocked."""
        if self.blockers:
            return 3
        return int(bool(self.rejects) or not self.clean)


def way_back(
    source: str,
    target: str,
    options: Options | None = None,
    *,
    jsonb: bool = False,
    dry_run: bool = False,
    reporter: Reporter | None = None,
    confirm: Callable[[WayBackReport], bool] | None = None,
) -> WayBackReport:
    """Write what a store holds into an empty place, as old releases read it.

    Args:
        source: The store: a path, a URL, `module:factory`, or `env:NAME`.
        target: A new SQLite file, a PostgreSQL or Redis without data under the same
            names, or an empty folder.
        options: Which sessions and kinds, and whether lifetimes are kept.
        jsonb: Messages in PostgreSQL are for `PostgresChatMessageHistory`.
        dry_run: Only look.
        reporter: Told of the progress.
        confirm: Asked, with the report so far, before anything is written.

    Raises:
        UsageError: The arguments do not fit, or another way back was begun there.
        SourceNotFound: There is no store.
        TargetError: A write failed; the same call resumes.
    """
    from holdover.migrate.options import Options  # noqa: PLC0415

    options = options or Options()
    began = time.monotonic()
    prepared = options.prepared()
    with rare_collections(), opened_target(source, writing=False) as store:
        if store.missing:
            raise SourceNotFound(
                f"{store.address} holds no store.", hint="Check the address."
            )
        try:
            form = open_form(target, jsonb=jsonb)
        except AddressError as error:
            raise UsageError(str(error)) from error
        with closing(form):
            reading = StoreSource(store, prepared)
            back = _WayBack(reading, form, prepared, reporter or Silent())
            mark = _mark(source, prepared, jsonb=jsonb)
            back.look(mark)
            report = back.report
            report.dry_run = dry_run
            if report.blockers or dry_run:
                return report
            if confirm and not confirm(report):
                raise UsageError("Nothing was written: the plan was not confirmed.")
            back.write(mark)
            back.compare()
            form.finish()
    report.seconds = time.monotonic() - began
    return report


def _mark(source: str, prepared: Prepared, *, jsonb: bool) -> str:
    """What is written, and from where: the same for the same command."""
    return json.dumps([source_identity(source), prepared.fingerprint(), jsonb])


class _WayBack:
    """One call."""

    def __init__(
        self, source: StoreSource, form: Form, prepared: Prepared, reporter: Reporter
    ) -> None:
        self._source, self._form, self._reporter = source, form, reporter
        self._options = prepared.options
        self._at = records.timestamp(records.now())
        self.report = WayBackReport(source.address, form.address, form.label)

    def look(self, mark: str) -> None:
        """Count what there is, and look whether the place is empty."""
        report, left = self.report, Left()
        sessions: Counter[str] = Counter()
        items: Counter[str] = Counter()
        skipped: Counter[str] = Counter()
        roots: dict[tuple[str, str], None] = {}
        for space in self._source.spaces(left):
            number = self._source.count(space)
            label = KINDS[space.kind].label
            if space.kind not in self._form.kinds:
                skipped[label] += number
                continue
            sessions[label] += 1
            items[label] += number
            roots[space.kind, space.root] = None
        report.sessions, report.items = dict(sessions), dict(items)
        report.left, report.skipped = left.counts, dict(skipped)
        begun = self._form.begun()
        if begun is None:
            if taken := self._form.taken(roots):
                names = ", ".join(taken)
                report.blockers.append(
                    Blocker(
                        "not-empty",
                        f"{report.target} is not empty: it holds {names}",
                        "a place that is empty, or empty this one",
                    )
                )
        elif begun:
            what, _, began_at = begun.rpartition(" ")
            if what != mark:
                raise UsageError(
                    "Another way back, with other choices, was begun in "
                    f"{report.target}.",
                    hint="Finish that one with its own command, or name another place.",
                )
            # What had a life left then has been written.
            self._at = began_at
            report.resumed = True

    def write(self, mark: str) -> None:
        """Write session by session what was not written before."""
        report, form = self.report, self._form
        path = self._options.rejects_file or "holdover-way-back.rejects.jsonl"
        rejects = RejectsFile(path, fresh=not report.resumed)
        self._reporter.begin("writing", sum(report.items.values()))
        try:
            form.begin(f"{mark} {self._at}")
            for space in self._source.spaces():
                if space.kind not in form.kinds:
                    continue
                if refusal := form.refuses(space):
                    rejects.add(
                        Reject(refusal.reason, _locator(space, record), refusal.detail)
                        for record in self._source.records(space)
                        if record is None or not record.expired(self._at)
                    )
                elif not form.holds(space):
                    entries = self._entries(space, rejects)
                    first = next(entries, None)
                    if first is not None:
                        report.written += form.write(space, _chained(first, entries))
        finally:
            self._reporter.end()
            rejects.close()
        if rejects.counts:
            report.rejects_file = str(rejects.path)

    def _entries(self, space: Space, rejects: RejectsFile) -> Iterator[Entry]:
        for record in self._source.records(space):
            self._reporter.advance(1)
            if record is None:
                detail = "It is no record, and has no text."
                rejects.add([Reject("no-record", _locator(space, None), detail)])
            elif not record.expired(self._at):
                entry = self._entry(space, record)
                if refusal := self._form.refuses_entry(space, entry):
                    rejects.add([Reject(refusal.reason, entry.locator, refusal.detail)])
                else:
                    yield entry

    def _entry(self, space: Space, record: Record) -> Entry:
        lifetime = None
        if self._options.ttl == "keep":
            lifetime = records.remaining(record.meta)
        locator = _locator(space, record)
        if space.kind == "message":
            return Entry("", classic_message(record), locator, lifetime)
        return Entry(name_of(record), record.text, locator, lifetime)

    def compare(self) -> None:
        """Read everything back and compare it with the store, counting anew."""
        report, form = self.report, self._form
        form.prepare_reading()
        self._reporter.begin("verifying", sum(report.items.values()))
        rejects: Counter[str] = Counter()
        try:
            for space in self._source.spaces():
                if space.kind not in form.kinds:
                    continue
                wanted = self._wanted(space, rejects)
                if space.kind == "message":
                    self._compare_messages(space, wanted)
                else:
                    self._compare_entities(space, wanted)
        finally:
            self._reporter.end()
        report.rejects = dict(rejects)
        if form.counts_all:
            report.extra += max(0, form.held() - report.equal - report.different)

    def _wanted(self, space: Space, rejects: Counter[str]) -> Iterator[Entry]:
        """What the place has to give back of a session."""
        refusal = self._form.refuses(space)
        for record in self._source.records(space):
            self._reporter.advance(1)
            if record is None:
                rejects["no-record"] += 1
            elif record.expired(self._at):
                self.report.expired += 1
            elif refusal:
                rejects[refusal.reason] += 1
            else:
                entry = self._entry(space, record)
                if own := self._form.refuses_entry(space, entry):
                    rejects[own.reason] += 1
                else:
                    yield entry

    def _compare_messages(self, space: Space, wanted: Iterator[Entry]) -> None:
        first = next(wanted, None)
        if first is None:
            return
        found = self._form.messages(space)
        nothing = object()
        equal, different, missing = 0, 0, 0
        for entry in _chained(first, wanted):
            message = next(found, nothing)
            if message is nothing:
                missing += self._missed(entry)
            elif message == entry.value:  # as JSON: 1.0 is 1, as in JSONB
                equal += 1
            else:
                different += 1
        more = sum(1 for _ in found)
        if not self._form.counts_all:
            self.report.extra += more
        self._note(space, equal, different, missing)

    def _compare_entities(self, space: Space, wanted: Iterator[Entry]) -> None:
        while some := list(islice(wanted, _AT_ONCE)):
            found = self._form.summaries(space, [entry.key for entry in some])
            equal = different = missing = 0
            for entry, summary in zip(some, found, strict=True):
                if summary is None:
                    missing += self._missed(entry)
                elif summary == entry.value:
                    equal += 1
                else:
                    different += 1
            self._note(space, equal, different, missing)

    def _missed(self, entry: Entry) -> int:
        """Count a record that is not there: 0 where its life ended meanwhile."""
        over = entry.lifetime is not None and entry.lifetime.total_seconds() <= 1
        self.report.expired += over
        return int(not over)

    def _note(self, space: Space, equal: int, different: int, missing: int) -> None:
        report = self.report
        report.equal += equal
        report.different += different
        report.missing += missing
        if (different or missing) and len(report.examples) < SAMPLES:
            report.examples.append("/".join(space.namespace))


def _chained(first: Entry, rest: Iterator[Entry]) -> Iterator[Entry]:
    yield first
    yield from rest


def _locator(space: Space, record: Record | None) -> str:
    key = "?" if record is None else record.key
    return f"store:{'.'.join(space.namespace)}#{key}"
