"""Turns of one session that are summarised by one process, under one lease."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from holdover.compat.both_ways import Do, Operation
from holdover.compat.entities.naming import Meaning, meaning_of
from holdover.compat.entities.queue import LEASE, Drain, Report
from holdover.compat.entities.summaries import Mention, Overtaken, summarise
from holdover.compat.entities.turn import Turn
from holdover.compat.pending import Work
from holdover.compat.records import now, timestamp

logger = logging.getLogger("holdover.compat")

#: After how many seconds a lease is renewed.
BEAT = 6.0
#: How often a turn is tried before it is moved aside.
ATTEMPTS = 5
_FIRST_PAUSE = 60.0
_LONGEST_PAUSE = 3_600.0
_POLL = 0.02


@dataclass(slots=True)
class _Told:
    """A turn, and what became of it.

    `left` are the names that are still to be summarised, and `error` is why.
    """

    work: Work
    turn: Turn
    meaning: Meaning = field(default_factory=Meaning)
    left: set[str] = field(default_factory=set)
    error: Exception | None = None

    @property
    def remains(self) -> Turn | None:
        """The turn as it is to be tried again."""
        if self.turn.names is None:
            return self.turn
        return replace(self.turn, names=sorted(self.left)) if self.left else None


class Batch:
    """The turns that were claimed together.

    The lease lies on the first, which is therefore settled last.
    """

    def __init__(
        self, drain: Drain, works: Sequence[Work], owner: str, report: Report
    ) -> None:
        self._drain, self._owner, self._report = drain, owner, report
        self._first = works[0]
        # Begun before, and not finished: part of it may be done. What was begun need
        # not be the first any more: an item may come later than its key says.
        others = works[1:]
        self._begun = self._first.claims > 1 or any(work.claims for work in others)
        self._ended = threading.Event()
        self._postponed: tuple[Work, bool] | None = None
        # What failed in one turn waits in the following ones too: order is kept.
        self._blocked = report.blocked

    def run(self, works: Sequence[Work]) -> Operation[None]:
        """Summarise these turns, of those that were claimed."""
        try:
            parts = [works] if self._drain.merge else [[work] for work in works]
            for part in parts:
                yield from self._some(part)
            if self._postponed is None:
                yield from self.let_go()
            elif (yield from self._confirm()):
                yield from self._put_back(*self._postponed)
            else:
                raise Overtaken
        finally:
            self._ended.set()

    def beat(self) -> Operation[None]:
        """Renew the lease while the model thinks."""
        while not self._ended.is_set():
            yield Do(lambda: self._ended.wait(BEAT), self._rest)
            if not self._ended.is_set():
                yield from self._confirm()

    async def _rest(self) -> None:
        for _ in range(int(BEAT / _POLL)):
            if self._ended.is_set():
                return
            await asyncio.sleep(_POLL)

    def let_go(self) -> Operation[None]:
        """End the lease, with nothing changed."""
        yield from self._put_back(self._first, done=False)

    def _confirm(self) -> Operation[bool]:
        """Whether the turns are still ours: neither overtaken nor cleared."""
        queue, key, owner = self._drain.queue, self._first.key, self._owner
        still: bool = yield Do(
            lambda: queue.renew(key, owner, LEASE),
            lambda: queue.arenew(key, owner, LEASE),
        )
        return still

    def _some(self, works: Iterable[Work]) -> Operation[None]:
        """Summarise these turns together: one summary for each entity."""
        told = [_Told(work, Turn.of(work.content)) for work in works]
        by_name: dict[str, list[_Told]] = {}
        for one in told:
            yield from self._find_names(one)
            for name in one.meaning.summaries:
                by_name.setdefault(name, []).append(one)
        if self._begun:
            for name, about in by_name.items():
                done = yield from self._drain.entities.turns(name)
                about[:] = [one for one in about if one.work.key not in done]
        mentions = [
            self._mention(name, about)
            for name, about in by_name.items()
            if about and name not in self._blocked
        ]
        errors = yield from summarise(
            mentions, self._drain.asking, self._drain.entities, self._confirm
        )
        for name, about in by_name.items():
            for one in about:
                if name in errors or name in self._blocked:
                    one.left.add(name)
                    one.error = one.error or errors.get(name)
        self._blocked.update(errors)
        self._report.errors += errors.values()
        for one in told:
            yield from self._settle(one)

    def _find_names(self, one: _Told) -> Operation[None]:
        names = one.turn.names
        if names is None:
            try:
                names = yield from self._drain.extract(one.turn.before, one.turn.text)
            except Exception as error:  # noqa: BLE001 - of a model; the turn waits
                one.error = error
                self._report.errors.append(error)
                return
        told_before = one.turn.names is not None
        one.meaning = yield from meaning_of(
            names, self._drain.entities, tell=not told_before
        )
        one.turn = replace(one.turn, names=names)

    def _mention(self, name: str, about: Sequence[_Told]) -> Mention:
        first, *others = [one.turn for one in about]
        said = [called for one in about for called in one.meaning.said.get(name, ())]
        return Mention(
            name,
            f"\n{self._drain.human_prefix}: ".join(one.turn.text for one in about),
            "\n".join([first.history, *(turn.lines for turn in others)]),
            tuple(dict.fromkeys(said)),
            tuple(one.work.key for one in about),
        )

    def _settle(self, one: _Told) -> Operation[None]:
        """Remove a turn, or let it wait with what is left of it."""
        work, remains = one.work, one.remains
        if remains is not None:
            work = replace(work, content=remains.content())
            if one.error is not None:
                work = self._counted(work)
        if work.key == self._first.key:
            self._postponed = work, remains is None
        else:
            yield from self._put_back(work, done=remains is None)

    def _put_back(self, work: Work, done: bool) -> Operation[None]:  # noqa: FBT001
        queue = self._drain.queue
        if done:
            yield Do(
                lambda: queue.settle([work.key]), lambda: queue.asettle([work.key])
            )
            return
        aside = work.attempts >= ATTEMPTS
        if aside:
            logger.error(
                "The entities of a turn could not be summarised in %d attempts; it is "
                "moved aside: repository.retry_pending() tries it again.",
                work.attempts,
            )
        yield Do(
            lambda: queue.settle(kept=[work], aside=aside),
            lambda: queue.asettle(kept=[work], aside=aside),
        )

    def _counted(self, work: Work) -> Work:
        """The work after one more failure, and when to try again."""
        due = _has_passed(work.tried_at, _pause(work.attempts))
        if due or self._drain.explicit:
            work = replace(work, attempts=work.attempts + 1, tried_at=timestamp(now()))
        if work.attempts < ATTEMPTS:
            pause, again = _pause(work.attempts), self._report.again
            self._report.again = pause if again is None else min(again, pause)
        return work


def _pause(attempts: int) -> float:
    """Seconds until the next attempt, after so many."""
    pause: float = _FIRST_PAUSE * 4 ** max(0, attempts - 1)
    return min(_LONGEST_PAUSE, pause)


def _has_passed(since: str | None, pause: float) -> bool:
    """Whether an attempt counts: a busy session must not use them up in a minute."""
    if not isinstance(since, str):
        return True
    try:
        return (now() - datetime.fromisoformat(since)).total_seconds() >= pause
    except (TypeError, ValueError):
        return True
