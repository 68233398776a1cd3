"""`--workers N`: partitions copied in processes of their own.

Each opens both ends itself and is joined to this process by a line of its own, so
that one that is killed leaves nothing locked: what it held is known here, and its
partition is taken up where the target's ledger says. This process alone keeps the
lease, lists the rejects, counts, and says who may write to a target that takes one
writer at a time.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from multiprocessing import connection
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any, Self

from holdover.migrate.errand import Errand, Failure
from holdover.migrate.errors import TargetError, UsageError
from holdover.migrate.ledger import Progress
from holdover.migrate.pacing import Pace
from holdover.migrate.sources.base import Partition, Reject

_TICK = 1.0
_PATIENCE = 3.0
#: So often a partition may cost its worker's life.
_DEATHS = 3
# Not multiprocessing's own start: that would run the program's main module again.
_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[2]); "
    "from multiprocessing.connection import Connection; "
    "from holdover.migrate.worker import main; main(Connection(int(sys.argv[1])))"
)


@dataclass(eq=False)
class _Worker:
    process: subprocess.Popen[bytes]
    line: Connection
    part: Partition | None = None


@dataclass
class Workers:
    """Processes that copy.

    Args:
        errand: What they carry out.
        number: How many there are at most.
        rejected: Told of what cannot be moved.
        moved: Told how many records were read.
        beat: Keeps the lease; called often, while no worker writes.
    """

    errand: Errand
    number: int
    rejected: Callable[[Iterable[Reject]], None]
    moved: Callable[[int], None]
    beat: Callable[[], None]
    _workers: dict[Connection, _Worker] = field(default_factory=dict)
    _idle: list[_Worker] = field(default_factory=list)
    _waiting: deque[Partition] = field(default_factory=deque)
    _turns: deque[_Worker] = field(default_factory=deque)
    _deaths: Counter[str] = field(default_factory=Counter)
    _done: dict[str, Progress] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check that this can be done here."""
        if os.name != "posix":
            raise UsageError(
                "--workers needs Linux, macOS or another POSIX system.",
                hint="Leave it out.",
            )
        options = self.errand.options
        self._pace = Pace(options.rate)
        if options.rate:
            # All of them together write no more at once than one alone would.
            batch = min(options.batch, max(1, int(options.rate / self.number)))
            options = replace(options, batch=batch)
            self.errand = replace(self.errand, options=options)

    def __enter__(self) -> Self:
        """Begin; processes are started as they are needed."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End them all; what they were at is resumed from the ledger."""
        for worker in self._workers.values():
            if kind is None:
                self._tell(worker, None)
            else:
                worker.process.terminate()
        deadline = time.monotonic() + _PATIENCE
        for worker in self._workers.values():
            try:
                worker.process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                worker.process.kill()
                worker.process.wait()
            worker.line.close()
        self._workers.clear()

    def copy(self, parts: Sequence[Partition]) -> dict[str, Progress]:
        """Copy partitions; how far each is, by its id.

        Raises:
            HoldoverError: What stopped a worker.
            TargetError: A partition cost several workers their lives.
        """
        self._waiting.extend(parts)
        self._done.clear()
        while len(self._done) < len(parts):
            self._employ()
            for line in connection.wait(list(self._workers), timeout=_TICK):
                worker = self._workers.get(line)  # type: ignore[call-overload]
                if worker is not None:
                    self._hear(worker)
            if not self._turns:
                self.beat()
        return self._done

    def _employ(self) -> None:
        """Give what waits to who is idle, or to somebody new."""
        while self._waiting and self._idle:
            worker = self._idle.pop()
            worker.part = self._waiting.popleft()
            self._tell(worker, worker.part)
        starting = sum(worker.part is None for worker in self._workers.values())
        missing = min(self.number - len(self._workers), len(self._waiting) - starting)
        for _ in range(missing):
            self._start()

    def _start(self) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            command = [sys.executable, "-c", _START]
            process = subprocess.Popen(  # noqa: S603 - ourselves
                [*command, str(theirs.fileno()), json.dumps(sys.path)],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is for this process
            )
        line = Connection(ours.detach())
        worker = self._workers[line] = _Worker(process, line)
        self._tell(worker, self.errand)

    def _hear(self, worker: _Worker) -> None:
        """Do what a worker wants, or find that there is none any more."""
        try:
            what, detail = worker.line.recv()
        except (EOFError, OSError):
            self._bury(worker)
            return
        getattr(self, f"_when_{what}")(worker, detail)

    def _tell(self, worker: _Worker, what: Any) -> None:
        # One that died meanwhile is noticed when nothing comes from it.
        with contextlib.suppress(OSError):
            worker.line.send(what)

    def _when_ready(self, worker: _Worker, _: None) -> None:
        self._idle.append(worker)

    def _when_done(self, worker: _Worker, progress: Progress) -> None:
        worker.part = None
        self._done[progress.partition] = progress
        self._idle.append(worker)

    def _when_moved(self, _: _Worker, number: int) -> None:
        self.moved(number)

    def _when_paced(self, worker: _Worker, number: int) -> None:
        self._tell(worker, self._pace.ahead(number))

    def _when_rejects(self, worker: _Worker, rejects: list[Reject]) -> None:
        self.rejected(rejects)
        self._tell(worker, None)

    def _when_turn(self, worker: _Worker, _: None) -> None:
        self._turns.append(worker)
        if self._turns[0] is worker:
            self._tell(worker, None)

    def _when_over(self, worker: _Worker, _: None) -> None:
        self._end_turn(worker)

    def _end_turn(self, worker: _Worker) -> None:
        if worker not in self._turns:
            return
        first = self._turns[0] is worker
        self._turns.remove(worker)
        if first and self._turns:
            self._tell(self._turns[0], None)

    def _when_failed(self, _: _Worker, failure: Failure) -> None:
        raise failure.error()

    def _when_crashed(self, _: _Worker, trace: str) -> None:
        raise WorkerCrashed(trace)

    def _bury(self, worker: _Worker) -> None:
        """Let others go on with what a worker that is gone was at."""
        self._workers.pop(worker.line).line.close()
        code = worker.process.wait()
        if worker in self._idle:
            self._idle.remove(worker)
        self._end_turn(worker)
        at = worker.part.id if worker.part else ""
        self._deaths[at] += 1
        if self._deaths[at] >= _DEATHS:
            doing = f"copied partition {at}" if at else "began"
            raise TargetError(
                f"{_DEATHS} workers ended while they {doing}, the last with "
                f"{_ending(code)}.",
                hint="Is there enough memory? Run the same command again to resume, "
                "without --workers.",
            )
        if worker.part:
            self._waiting.appendleft(worker.part)


class WorkerCrashed(Exception):
    """What nobody foresaw happened in a worker; `trace` says where."""

    def __init__(self, trace: str) -> None:
        super().__init__(f"in a worker:\n{trace}")
        self.trace = trace


def _ending(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit code {code}"
