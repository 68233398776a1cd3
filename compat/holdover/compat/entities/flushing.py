"""How the turns of an entity memory are summarised behind the replies."""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import replace

from holdover.compat.background import Outcome, worker
from holdover.compat.both_ways import Do, Operation, arun, run, visiting
from holdover.compat.entities.access import is_private
from holdover.compat.entities.fields import EntityFields
from holdover.compat.entities.queue import BUSY_PAUSE, Drain, Report
from holdover.compat.entities.state import Home
from holdover.compat.errors import SyncUseOfAsyncStore

logger = logging.getLogger("holdover.compat")


class EntityFlushing(EntityFields):
    """See `ConversationEntityMemory`."""

    def _extract(self, history: str, text: str) -> Operation[list[str]]:
        raise NotImplementedError

    def _drain(self, *, explicit: bool = False) -> Drain:
        return Drain(
            queue=self._queue(),
            entities=self._entities(),
            asking=self._asking(),
            extract=self._extract,
            turnstile=self._turnstile(),
            human_prefix=self.human_prefix,
            merge=self.debounce > 0,
            explicit=explicit,
        )

    def _drain_from(self, home: Home, *, explicit: bool) -> Drain:
        """A drain of this thread that asks the model on the loop async code uses.

        A model may work only there. The rest stays here: the end of a loop would cut it
        off between a summary and its settling, and leave a write to a thread that
        nobody waits for.
        """
        drain = self._drain(explicit=explicit)
        there = replace(
            drain,
            asking=replace(drain.asking, home=home),
            extract=lambda *texts: visiting(home.loop, self._extract(*texts)),
        )
        only_async = drain.queue._backend.is_async  # noqa: SLF001 - our own class
        return replace(there, home=home) if only_async else there

    def _look_for_turns(self, *, inside: bool = False) -> Operation[None]:
        """Once: see to what a process left that ended before it was done."""
        if self._state.looked:
            return
        self._state.looked = True
        if self.background:
            self._wake()
            return
        if self._waiting_place() is None:
            return
        report = yield from self._drain().run(inside=inside)
        self._keep(report)

    def _wake(self) -> None:
        private = self._waiting_place() is None
        worker().wake(
            self._session(),
            self._work,
            after=self.debounce,
            # Entities in this object are gone with it in any case.
            volatile=private and not is_private(self.entity_store),
        )

    def _work(self) -> Outcome:
        return self._worked(explicit=False)

    def _work_explicitly(self) -> Outcome:
        return self._worked(explicit=True)

    def _worked(self, *, explicit: bool) -> Outcome:
        home = Home(self._state.loop)
        try:
            report = run(self._drain_from(home, explicit=explicit).run())
        finally:
            home.leave()
        self._keep(report)
        return report.outcome()

    def _keep(self, report: Report) -> None:
        for error in report.errors:
            log_failure(error)
            worker().keep_error(self._session(), error)

    def flush(self, timeout: float | None = None) -> None:
        """Wait until every turn of this session is summarised; raise what went wrong.

        A turn that failed stays for another attempt, five in all. An error is raised
        once.

        Args:
            timeout: Seconds to wait at most; `None` is as long as it takes.

        Raises:
            TimeoutError: It takes longer; it goes on in the background.
            SyncUseOfAsyncStore: It would block the event loop it waits for.
        """
        if self.background:
            self._refuse_own_loop()
            done = worker().finished(self._session(), self._work_explicitly)
            done.result(timeout)
        else:
            run(self._drained(timeout))
        self._raise_kept()

    async def aflush(self, timeout: float | None = None) -> None:  # noqa: ASYNC109 - as `flush` has it
        """See `flush`; the event loop goes on meanwhile."""
        self._state.notice_loop()
        if self.background:
            done = worker().finished(self._session(), self._work_explicitly)
            await asyncio.wait_for(asyncio.wrap_future(done), timeout)
        else:
            await arun(self._drained(timeout))
        self._raise_kept()

    def _drained(self, timeout: float | None) -> Operation[None]:
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            report = yield from self._drain(explicit=True).run()
            self._keep(report)
            if not report.busy:
                return
            if end is not None and time.monotonic() > end:
                raise TimeoutError("Another process is still summarising.")
            yield Do(self._rest, lambda: asyncio.sleep(BUSY_PAUSE))

    def _rest(self) -> None:
        self._refuse_own_loop()
        time.sleep(BUSY_PAUSE)

    def _raise_kept(self) -> None:
        error = worker().take_error(self._session())
        if error is not None:
            raise error

    def _refuse_own_loop(self) -> None:
        try:
            running = asyncio.get_running_loop()
        except RuntimeError:
            return
        stores_loop = getattr(self._queue().store, "_loop", None)
        if running in (self._state.loop, stores_loop):
            raise SyncUseOfAsyncStore(
                "flush() would block the event loop that the summaries are made in.",
                hint="Use await aflush().",
            )


def log_failure(error: BaseException) -> None:
    """Say that a summary failed, where nothing else does."""
    logger.warning(
        "A summary failed (%s); the earlier one is kept.", type(error).__name__
    )
