"""Threads planned, written, compared and taken back: what the commands call."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from holdover.compat import records
from holdover.compat.errors import InvalidScope
from holdover.migrate.conflicts import WRITES, Decision
from holdover.migrate.ledger import Ledger, Progress, Run
from holdover.migrate.mapping import Mapper
from holdover.migrate.options import Prepared
from holdover.migrate.sources.base import (
    SAMPLES,
    Blocker,
    Group,
    Inventory,
    Reject,
    Source,
)
from holdover.migrate.targets.base import Target
from holdover.migrate.threads.deciding import Decided, Decider
from holdover.migrate.threads.spool import Session, Spool
from holdover.migrate.threads.table import ASIDE, Found, ThreadTable

#: The ledger's name for the pass that writes threads.
PARTITION = "threads"
#: A thread's id is part of a key, which no database lets grow without end.
LONGEST_ID = 1_000
_MESSAGES = ("message", "messages")
# Measured on two cores (docs/threads.md); only an order of magnitude.
_MESSAGES_PER_SECOND = 10_000
_AT_ONCE = 200
_WORTH_TELLING = 100 << 20
_BYTES_AT_ONCE = 4 << 20
_ATTEMPTS = 6
_PAUSE = 0.05
_COLLISION = "another session of the source became a thread of the same id"


@dataclass
class ThreadsPlan:
    """What would become of the sessions.

    Attributes:
        sessions: How many there are.
        decisions: How many threads meet which fate, by `Decision` value.
        collisions: How many sessions would share the id of another's thread.
        rejects: How many sessions cannot be a thread, by reason.
        examples: Locators of some conflicts and collisions.
        bytes: About how many bytes they take.
        seconds: About how long it takes to write them.
    """

    sessions: int = 0
    decisions: dict[str, int] = field(default_factory=dict)
    collisions: int = 0
    rejects: dict[str, int] = field(default_factory=dict)
    examples: dict[str, list[str]] = field(default_factory=dict)

    bytes: int = 0
    seconds: float = 0.0

    @property
    def to_write(self) -> int:
        """How many threads would be written."""
        return sum(self.decisions.get(str(decision), 0) for decision in WRITES)

    def weigh(self, groups: Iterable[Group]) -> None:
        """Find out about how many bytes and seconds that takes."""
        groups = [group for group in groups if group.kind in _MESSAGES]
        share = self.to_write / max(1, self.sessions)
        self.bytes = round(share * sum(group.bytes for group in groups))
        messages = sum(group.items for group in groups)
        self.seconds = share * messages / _MESSAGES_PER_SECOND


@dataclass
class ThreadsCopied:
    """What became of the sessions.

    Attributes:
        decisions: How many threads met which fate, by `Decision` value.
        changes: What was done to messages that no model would accept, with counts.
        rejects: How many sessions could not be a thread, by reason.
        messages: How many messages the threads hold that were written.
    """

    decisions: dict[str, int] = field(default_factory=dict)
    changes: dict[str, int] = field(default_factory=dict)
    rejects: dict[str, int] = field(default_factory=dict)
    messages: int = 0

    @property
    def written(self) -> int:
        """How many threads were written."""
        return sum(self.decisions.get(str(decision), 0) for decision in WRITES)


@dataclass
class ThreadsVerified:
    """How the sessions of a source compare with the threads in the target.

    Attributes:
        equal: The thread holds the same messages.
        changed: The application went on with it.
        missing: There is none. A failure.
        different: There is another one. A failure.
        extra: Threads of the run whose session the source no longer has.
        rejected: Sessions that cannot be a thread, by reason.
        examples: Locators of some that are missing or different.
    """

    equal: int = 0
    changed: int = 0
    missing: int = 0
    different: int = 0
    extra: int = 0
    rejected: dict[str, int] = field(default_factory=dict)
    examples: dict[str, list[str]] = field(default_factory=dict)

    @property
    def clean(self) -> bool:
        """Whether nothing is missing and nothing is different."""
        return not (self.missing or self.different)


@dataclass
class ThreadsTakenBack:
    """What a rollback did to threads.

    Attributes:
        removed: Threads of the run that are gone.
        restored: Threads that the run had put aside and that are back.
        left: Threads that somebody went on with and that stay.
        examples: Ids of some that stay.
    """

    removed: int = 0
    restored: int = 0
    left: int = 0
    examples: list[str] = field(default_factory=list)


class Ids:
    """Which thread a session becomes: `--thread-id`, by default the session's id."""

    def __init__(self, mapper: Mapper) -> None:
        self._mapper = mapper

    @property
    def of_session_alone(self) -> bool:
        """Whether sessions of different names never meet, whatever their root."""
        return self._mapper.template in ("{session}", "{root}/{session}")

    def of(self, session: Session) -> str | Reject:
        """The id, or why there is none."""
        place = session.locator or f"{session.root}:{session.id}"
        try:
            scope = self._mapper.scope("message", session.root, session.id)
        except InvalidScope as error:
            return Reject("thread-id", place, str(error))
        found = "/".join(scope)
        if not found:
            return Reject("thread-id", place, "a thread's id cannot be empty")
        if "\x00" in found:
            return Reject("thread-id", place, "a thread's id cannot hold NUL")
        try:
            size = len(found.encode())
        except UnicodeEncodeError:
            return Reject("thread-id", place, "a thread's id must be valid Unicode")
        if size > LONGEST_ID:
            return Reject(
                "thread-id", place, f"a thread's id has at most {LONGEST_ID:,} bytes"
            )
        return found


def plan_threads(
    source: Source,
    table: ThreadTable | None,
    prepared: Prepared,
    run_id: str,
    inventory: Inventory,
) -> ThreadsPlan:
    """Look at both ends; read messages only where a thread is there already."""
    plan = ThreadsPlan()
    ids = Ids(prepared.threads)
    groups = [g for g in inventory.groups if g.kind in _MESSAGES]
    alone = ids.of_session_alone and len(groups) <= 1
    if table is None and alone and all(group.sessions for group in groups):
        plan.sessions = sum(group.sessions for group in groups)
        plan.decisions = {str(Decision.COPY): plan.sessions}
        return plan
    with closing(Spool()) as spool:
        for part in source.partitions():
            for items in source.keys(part):
                spool.add_names(items)
        if not _any_there(spool, table, ids, plan):
            return plan
    plan.decisions, plan.rejects = {}, {}
    with closing(Spool()) as spool:
        fill(spool, source, prepared)
        policy = prepared.options.on_conflict
        for decided, _ in _decided(
            spool, ids, table, Decider(_needed(table), run_id, policy), plan.rejects
        ):
            _count(plan.decisions, str(decided.decision))
            if decided.decision is Decision.CONFLICT:
                _sample(plan.examples, "conflict", decided.session.locator)
    return plan


def _any_there(
    spool: Spool, table: ThreadTable | None, ids: Ids, plan: ThreadsPlan
) -> bool:
    """Count sessions and collisions by name; tell whether any thread is there."""
    seen = False
    wanted: list[str] = []
    for root, name in spool.names():
        plan.sessions += 1
        thread_id = ids.of(Session(root, name))
        if isinstance(thread_id, Reject):
            _count(plan.rejects, thread_id.reason)
        elif not spool.claim(thread_id):
            plan.collisions += 1
            _sample(plan.examples, "same id", f"{root}:{name}")
        else:
            wanted.append(thread_id)
            _count(plan.decisions, str(Decision.COPY))
        if table and len(wanted) >= _AT_ONCE:
            seen = seen or bool(table.look(wanted))
            wanted.clear()
    return seen or bool(table and wanted and table.look(wanted))


def blockers_of(plan: ThreadsPlan, prepared: Prepared) -> list[Blocker]:
    """Why nothing may be written yet."""
    found = []
    if plan.collisions:
        found.append(
            Blocker(
                "thread-collisions",
                f"sessions that would share a thread with another: {plan.collisions:,}",
                "--thread-id '{root}:{session}'",
            )
        )
    conflicts = plan.decisions.get(str(Decision.CONFLICT), 0)
    if conflicts and prepared.options.on_conflict in ("fail", "version"):
        found.append(
            Blocker(
                "thread-conflicts",
                f"{conflicts:,} threads in the target are others of the same id",
                "--on-conflict skip|overwrite",
            )
        )
    return found


def facts_of(inventory: Inventory) -> list[str]:
    """What an operator should know before threads are written."""
    groups = [g for g in inventory.groups if g.kind in _MESSAGES]
    found = ["each session becomes one thread of one checkpoint"]
    limited = any(name != "for ever" for g in groups for name in g.lifetimes)
    if limited:
        found.append("threads have no lifetime: what would have expired stays there")
    size = sum(group.bytes for group in groups)
    if size >= _WORTH_TELLING:
        found.append(
            f"sessions are put together in a temporary file of about {size:,} bytes "
            "on this machine (TMPDIR)"
        )
    return found


def fill(
    spool: Spool,
    source: Source,
    prepared: Prepared,
    *,
    seen: Callable[[Any], None] = lambda _: None,
) -> None:
    """Read every message of a source into a spool; `seen` gets each batch."""
    for part in source.partitions():
        for batch in source.read(part, size=prepared.options.batch):
            spool.add(batch.items, aligned=part.aligned)
            seen(batch)


def _chunks(
    spool: Spool, ids: Ids, rejects: dict[str, int], note: Callable[[Reject], None]
) -> Iterator[list[tuple[str, Session]]]:
    """Sessions with their threads' ids, some at once."""
    chunk: list[tuple[str, Session]] = []
    size = 0
    for session in spool.sessions():
        refused = list(session.rejects)
        thread_id = ids.of(session)
        if session.too_large:
            place = session.locator
            text = f"the session has {session.size:,} bytes, too many for one state"
            refused.append(Reject("too-large", place, text))
        elif isinstance(thread_id, Reject):
            refused.append(thread_id)
        else:
            chunk.append((thread_id, session))
            size += session.size
        for reject in refused:
            _count(rejects, reject.reason)
            note(reject)
        if len(chunk) >= _AT_ONCE or size >= _BYTES_AT_ONCE:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def _decided(
    spool: Spool,
    ids: Ids,
    table: ThreadTable | None,
    decider: Decider,
    rejects: dict[str, int],
) -> Iterator[tuple[Decided, Found | None]]:
    for chunk in _chunks(spool, ids, rejects, lambda _: None):
        found = table.look([thread_id for thread_id, _ in chunk]) if table else {}
        for thread_id, session in chunk:
            there = found.get(thread_id)
            decided = decider.decide(thread_id, session, there)
            if decided.state.messages:
                yield decided, there


def copy_threads(
    source: Source,
    table: ThreadTable,
    target: Target,
    prepared: Prepared,
    run: Run,
    *,
    rejected: Callable[[Iterable[Reject]], None],
    seen: Callable[[Any], None] = lambda _: None,
) -> ThreadsCopied:
    """Write the threads that are not there; a repetition finds them there.

    Args:
        source: Where messages are read.
        table: Where threads are written.
        target: Where the ledger is.
        prepared: What was asked for.
        run: The run that is carried out.
        rejected: Told of sessions that cannot be a thread.
        seen: Told of each batch of the source.
    """
    ledger = Ledger(target)

    def beat(batch: Any) -> None:
        if puts := ledger.heartbeat(run):
            target.write(puts)
        seen(batch)

    with closing(Spool()) as spool:
        fill(spool, source, prepared, seen=beat)
        writer = _Writer(table, target, prepared, run, rejected)
        writer.write(spool)
        return writer.copied


class _Writer:
    def __init__(
        self,
        table: ThreadTable,
        target: Target,
        prepared: Prepared,
        run: Run,
        rejected: Callable[[Iterable[Reject]], None],
    ) -> None:
        self._table, self._target, self._run = table, target, run
        self._ids = Ids(prepared.threads)
        self._decider = Decider(table, run.id, prepared.options.on_conflict)
        self._ledger = Ledger(target)
        self._rejected = rejected
        self._decisions: Counter[str] = Counter()
        self._changes: Counter[str] = Counter()
        self.copied = ThreadsCopied()

    def write(self, spool: Spool) -> None:
        """Write all of them, and with each part how far that is."""
        note = self._reject
        for chunk in _chunks(spool, self._ids, self.copied.rejects, note):
            self._write(chunk)
            self._record(done=False)
        self.copied.decisions = dict(self._decisions)
        self.copied.changes = dict(self._changes)
        self._record(done=True)

    def _reject(self, reject: Reject) -> None:
        self._rejected([reject])

    def _write(self, chunk: list[tuple[str, Session]]) -> None:
        taken: set[str] = set()
        found = self._table.look([thread_id for thread_id, _ in chunk])
        wanted = []
        for thread_id, session in chunk:
            if thread_id in taken:
                self._conflict(session, _COLLISION)
                continue
            taken.add(thread_id)
            decided = self._decider.decide(thread_id, session, found.get(thread_id))
            if not decided.state.messages:
                self._decisions["empty"] += 1
            elif decided.change:
                wanted.append(decided)
            else:
                self._note(decided)
        lost = self._written(wanted)
        for decided in wanted:
            if decided.thread.id in lost:
                text = "a thread of this id came meanwhile"
                self._conflict(decided.session, text)
            else:
                self._note(decided)
                self._changes.update(decided.state.changes)
                self.copied.messages += len(decided.thread.messages)

    def _note(self, decided: Decided) -> None:
        if decided.decision is Decision.CONFLICT:
            text = "the target holds another thread of this id"
            self._conflict(decided.session, text)
        else:
            self._decisions[str(decided.decision)] += 1

    def _conflict(self, session: Session, text: str) -> None:
        self._reject(Reject("thread-conflict", session.locator, text))
        _count(self.copied.rejects, "thread-conflict")

    def _written(self, wanted: list[Decided]) -> set[str]:
        """Write, again where other writers were in the way."""
        changes = [decided.change for decided in wanted if decided.change]
        for attempt in range(_ATTEMPTS):
            try:
                return self._table.write(changes)
            except Exception as error:
                if not self._target.backend.transient(error):
                    raise
                time.sleep(_PAUSE * 2**attempt)
        return self._table.write(changes)

    def _record(self, *, done: bool) -> None:
        counts = Counter({f"thread:{name}": n for name, n in self._decisions.items()})
        counts.update({f"reject:{n}": c for n, c in self.copied.rejects.items()})
        progress = Progress(PARTITION, None, done=done, counts=counts)
        puts = [self._ledger.progress_put(self._run, progress)]
        self._target.write([*puts, *self._ledger.heartbeat(self._run)])


def compare_threads(
    source: Source,
    table: ThreadTable | None,
    prepared: Prepared,
    run: Run | None,
    *,
    seen: Callable[[Any], None] = lambda _: None,
) -> ThreadsVerified:
    """Compare every session with its thread, message by message."""
    report = ThreadsVerified()
    run_id = run.id if run else records.new_revision()
    ids = Ids(prepared.threads)
    ours = 0
    with closing(Spool()) as spool:
        fill(spool, source, prepared, seen=seen)
        decider = Decider(_needed(table), run_id, "fail")
        for decided, found in _decided(spool, ids, table, decider, report.rejected):
            name = decider.compared(decided, found)
            setattr(report, name, getattr(report, name) + 1)
            ours += bool(found and found.origin and found.origin.run == run_id)
            if name in ("missing", "different"):
                _sample(report.examples, name, decided.session.locator)
    if run and table:
        report.extra = max(0, sum(1 for _ in table.of_run(run.id)) - ours)
    return report


def take_back_threads(table: ThreadTable, run_id: str) -> ThreadsTakenBack:
    """Remove the threads of a run that nobody went on with; leave the others."""
    report = ThreadsTakenBack()
    for thread_id, checkpoint_id in table.of_run(run_id):
        if table.remove(thread_id, checkpoint_id):
            report.removed += 1
        else:
            report.left += 1
            if len(report.examples) < SAMPLES:
                report.examples.append(thread_id)
    prefix = ASIDE.format(run=run_id)
    for put_aside in table.aside(prefix):
        if table.rename(put_aside, put_aside.removeprefix(prefix)):
            report.restored += 1
            report.removed -= 1
        elif len(report.examples) < SAMPLES:
            report.examples.append(put_aside)
    return report


def _needed(table: ThreadTable | None) -> ThreadTable:
    # Without tables nothing is found, and the decider asks for nothing.
    return table  # type: ignore[return-value]


def _count(counts: dict[str, int], name: str) -> None:
    counts[name] = counts.get(name, 0) + 1


def _sample(examples: dict[str, list[str]], what: str, locator: str) -> None:
    kept = examples.setdefault(what, [])
    if len(kept) < SAMPLES:
        kept.append(locator)
