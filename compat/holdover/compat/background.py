"""Work that is done behind the replies: a few threads of this process, at most.

Nothing here is durable. What has to survive the process is an item in a store, and a
worker only comes to look at it: see `pending`.
"""

from __future__ import annotations

import atexit
import logging
import os
import threading
import time
import traceback
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from dataclasses import dataclass, field

logger = logging.getLogger("holdover.compat")

#: How many sessions are worked on at the same time.
THREADS = 4
# A thread without work ends; the next work starts another.
_IDLE_SECONDS = 5.0
#: How long the end of the interpreter waits for work that would be lost with it.
EXIT_SECONDS = 5.0
# The first error of so many sessions is kept for their `flush`.
_MOST_ERRORS = 1_000

Key = Hashable


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a look at the work of a key ended.

    Attributes:
        again: After how many seconds to look again; `None` is not at all.
        settled: Whether it came as far as it could: whoever waits may go on.
    """

    again: float | None = None
    settled: bool = True


Work = Callable[[], Outcome]


@dataclass(slots=True)
class _Task:
    """What is to be done about one key; always by one thread."""

    work: Work
    due: float
    volatile: bool
    waiting: list[Future[None]] = field(default_factory=list)


class Worker:
    """Does the work of a process: for each key in order, for several keys at once."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._tasks: dict[Key, _Task] = {}
        self._running: dict[Key, _Task] = {}
        self._errors: dict[Key, BaseException] = {}
        self._threads = self._idle = 0

    def wake(
        self, key: Key, work: Work, *, after: float = 0.0, volatile: bool = False
    ) -> None:
        """Have `work` done in `after` seconds, or when it is due already.

        Args:
            key: Work of one key is done in order.
            work: What to do.
            after: Seconds from now.
            volatile: It is lost with the process: its end waits a little.
        """
        with self._changed:
            self._add(key, work, after, volatile=volatile)

    def finished(self, key: Key, work: Work) -> Future[None]:
        """Have `work` done at once; the future ends when there is nothing left to do.

        Errors are not in it: see `take_error`.
        """
        done: Future[None] = Future()
        with self._changed:
            self._add(key, work, 0.0, volatile=False)
            self._tasks[key].waiting.append(done)
        return done

    def keep_error(self, key: Key, error: BaseException) -> None:
        """Keep the first error of a key until somebody takes it; of old ones, none."""
        # Its frames would keep every object in them alive.
        error.__traceback__ = error.__context__ = error.__cause__ = None
        with self._changed:
            self._errors.setdefault(key, error)
            if len(self._errors) > _MOST_ERRORS:
                del self._errors[next(iter(self._errors))]

    def take_error(self, key: Key) -> BaseException | None:
        """The first error of a key; it is given once."""
        with self._changed:
            return self._errors.pop(key, None)

    def drop(self, key: Key) -> None:
        """Forget what is not begun yet, and what went wrong."""
        with self._changed:
            task = self._tasks.pop(key, None)
            self._errors.pop(key, None)
        for done in task.waiting if task else ():
            _end(done)

    def wait_for_volatile(self, seconds: float) -> int:
        """Let what would be lost be done now; give how much is left in the end."""
        end = time.monotonic() + seconds
        with self._changed:
            for task in self._tasks.values():
                if task.volatile:
                    task.due = 0.0
            self._changed.notify_all()
            while left := self._volatile():
                if not self._changed.wait(end - time.monotonic()):
                    break
            return left

    def _volatile(self) -> int:
        both = (*self._tasks.values(), *self._running.values())
        return sum(task.volatile for task in both)

    def _add(self, key: Key, work: Work, after: float, *, volatile: bool) -> None:
        due = time.monotonic() + after
        task = self._tasks.get(key)
        if task is None:
            self._tasks[key] = _Task(work, due, volatile)
        else:
            task.work = work
            task.due = min(task.due, due)
            task.volatile = task.volatile or volatile
        self._changed.notify_all()
        if self._idle < len(self._tasks) and self._threads < THREADS:
            self._start()

    def _start(self) -> None:
        thread = threading.Thread(target=self._serve, name="holdover", daemon=True)
        self._threads += 1
        try:
            thread.start()
        except RuntimeError:  # the interpreter is about to end
            self._threads -= 1

    def _serve(self) -> None:
        while True:
            with self._changed:
                found = self._next()
                if found is None:
                    self._threads -= 1
                    return
                key, task = found
                del self._tasks[key]
                self._running[key] = task
            outcome = self._carry_out(key, task)
            with self._changed:
                del self._running[key]
                if outcome.again is not None:
                    newer = self._tasks.get(key, task)
                    work, volatile = newer.work, task.volatile
                    self._add(key, work, outcome.again, volatile=volatile)
                if not outcome.settled and (later := self._tasks.get(key)):
                    later.waiting += task.waiting
                    task.waiting = []
                self._changed.notify_all()
            for done in task.waiting:
                _end(done)
            del task, found

    def _next(self) -> tuple[Key, _Task] | None:
        """Wait for work that is due; `None` after a while without any at all."""
        idle_until = time.monotonic() + _IDLE_SECONDS
        while True:
            now = time.monotonic()
            ready = [one for one in self._tasks.items() if one[0] not in self._running]
            if ready:
                key, task = min(ready, key=lambda one: one[1].due)
                if task.due <= now:
                    return key, task
                pause = task.due - now
            else:
                pause = idle_until - now
                if pause <= 0:
                    return None
            self._idle += 1
            self._changed.wait(pause)
            self._idle -= 1

    def _carry_out(self, key: Key, task: _Task) -> Outcome:
        try:
            return task.work()
        except BaseException as error:  # noqa: BLE001 - of a store; kept for `flush`
            log_failure(error)
            self.keep_error(key, error)
            return Outcome()


def log_failure(error: BaseException) -> None:
    """Say what failed and where, but not with what words: they may hold content."""
    where = traceback.extract_tb(error.__traceback__)[-1:]
    logger.warning(
        "Work behind a reply failed: %s%s.",
        type(error).__name__,
        "".join(f" in {frame.filename}:{frame.lineno}" for frame in where),
    )


def _end(done: Future[None]) -> None:
    if done.set_running_or_notify_cancel():
        done.set_result(None)


_worker: Worker | None = None
_making = threading.Lock()
_ending = False


def worker() -> Worker:
    """The worker of this process."""
    global _worker  # noqa: PLW0603 - one for the process is its purpose
    with _making:
        if _worker is None:
            _worker = Worker()
        return _worker


def is_ending() -> bool:
    """Whether the interpreter ends: no thread can be started any more."""
    return _ending or not threading.main_thread().is_alive()


def _after_fork() -> None:
    """Leave to the parent what it had begun."""
    global _worker, _making  # noqa: PLW0603
    _making = threading.Lock()
    _worker = None


def _at_exit() -> None:
    global _ending  # noqa: PLW0603
    _ending = True
    if _worker is None:
        return
    if left := _worker.wait_for_volatile(EXIT_SECONDS):
        logger.warning(
            "The process ended before the summaries of %d session(s) were made; "
            "call flush() at the end.",
            left,
        )


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
atexit.register(_at_exit)
