"""The turns whose entities are summarised behind the replies: kept until that is done.

A turn is an item in the store before its `save_context` returns. Whoever comes next to
the session finishes what a process left that was killed; the journal of each entity
tells which turns are in its summary already.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta

from holdover.compat.background import Outcome
from holdover.compat.both_ways import Do, Operation, visiting
from holdover.compat.entities.access import Entities
from holdover.compat.entities.state import Home
from holdover.compat.entities.summaries import Asking, Overtaken, together
from holdover.compat.entities.turnstile import Turnstile
from holdover.compat.pending import Work
from holdover.compat.repository import Repository

#: How long the turns of a session stay with a process that gives no sign of life.
LEASE = timedelta(seconds=20)
#: After how many seconds to look again where another process is at it.
BUSY_PAUSE = 0.25

_NOWHERE = Home(None)

Extract = Callable[[str, str], Operation[list[str]]]


@dataclass(slots=True)
class Report:
    """What came of a look at the queue.

    Attributes:
        errors: What went wrong, in order.
        again: After how many seconds to try what is left.
        busy: Whether somebody else is at it.
        blocked: Names whose summary failed.
    """

    errors: list[Exception] = field(default_factory=list)
    again: float | None = None
    busy: bool = False
    blocked: set[str] = field(default_factory=set)

    def outcome(self) -> Outcome:
        """The same, for a worker."""
        if self.busy:
            return Outcome(again=BUSY_PAUSE, settled=False)
        return Outcome(again=self.again)


@dataclass(frozen=True, slots=True)
class Drain:
    """What it takes to do what waits in one session.

    Attributes:
        queue: Where it waits.
        entities: Where summaries are kept.
        asking: How they are asked for.
        extract: Names the entities in a text, given the conversation before it.
        turnstile: Keeps it apart from turns of the same session in this process.
        human_prefix: Stands before what the human said.
        merge: Whether turns about one entity make one summary.
        explicit: Whether somebody waits for it: every failure counts then.
        home: Where the queue's store works, if it works only there.
    """

    queue: Repository
    entities: Entities
    asking: Asking
    extract: Extract
    turnstile: Turnstile
    human_prefix: str = "Human"
    merge: bool = False
    explicit: bool = False
    home: Home = _NOWHERE

    def run(self, *, inside: bool = False) -> Operation[Report]:
        """Do what waits; `inside` says that the caller is in the turnstile."""
        report = Report()
        if not inside and not (yield from self.turnstile.enter()):
            report.busy = True
            return report
        try:
            yield from visiting(self.home.loop, self._all(report))
        except Overtaken:
            report.busy = True
        finally:
            if not inside:
                self.turnstile.leave()
        return report

    def _all(self, report: Report) -> Operation[None]:
        from holdover.compat.entities.batch import Batch  # noqa: PLC0415 - it imports us

        owner = f"{_process()}:{id(self.queue.store)}"
        queue = self.queue
        tried: set[str] = set()
        while True:
            works: list[Work] | None = yield Do(
                lambda: queue.claim(owner, LEASE), lambda: queue.aclaim(owner, LEASE)
            )
            if works is None:
                report.busy = True
                return
            if not works:
                return
            batch = Batch(self, works, owner, report)
            fresh = [work for work in works if work.key not in tried]
            if not fresh:
                yield from batch.let_go()
                return
            tried |= {work.key for work in fresh}
            for result in (yield from together([batch.run(fresh), batch.beat()])):
                if isinstance(result, Exception):
                    raise result


_tokens: dict[int, str] = {}


def _process() -> str:
    """A name for this process that no other one has."""
    pid = os.getpid()
    return _tokens.setdefault(pid, f"{pid}-{uuid.uuid4().hex}")
