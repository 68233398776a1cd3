"""A process that copies partitions for another: it asks, and does what it is told."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any, NoReturn

from holdover.compat.errors import HoldoverError
from holdover.migrate.copying import Copier
from holdover.migrate.errand import Ends, Errand, Failure, opened
from holdover.migrate.sources.base import Reject
from holdover.migrate.unforeseen import traced

#: How long the work at hand may take to be given up when the command is gone.
_PATIENCE = 5.0
_LOOK_MS = 1_000


def main(line: Connection) -> NoReturn:
    """Serve whoever is at the other end of the line until it hangs up."""
    signal.signal(signal.SIGTERM, _interrupted)
    threading.Thread(target=_end_with, args=(line.fileno(),), daemon=True).start()
    try:
        _serve(line)
    except (EOFError, OSError, KeyboardInterrupt):
        os._exit(1)  # nobody listens any more, or we were told to stop
    os._exit(0)


def _serve(line: Connection) -> None:
    errand: Errand = line.recv()
    try:
        with opened(errand) as ends:
            _carry_out(line, errand, ends)
    except HoldoverError as error:
        line.send(("failed", Failure.of(error)))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        raise
    except Exception as error:  # noqa: BLE001 - the command shows what nobody foresaw
        line.send(("crashed", traced(error)))


def _carry_out(line: Connection, errand: Errand, ends: Ends) -> None:
    talk = _Talk(line)
    ends.target.turn = talk.turn
    copier = Copier(
        ends.source,
        ends.target,
        ends.prepared,
        errand.run,
        rejected=talk.rejected,
        moved=talk.moved,
        wait=talk.wait if errand.options.rate else None,
        also=tuple,
    )
    line.send(("ready", None))
    while (part := line.recv()) is not None:
        line.send(("done", copier.copy(part, copier.known(part))))


class _Talk:
    """What a worker tells and asks the process that counts and decides for all."""

    def __init__(self, line: Connection) -> None:
        self._line = line

    def rejected(self, rejects: Iterable[Reject]) -> None:
        """Wait until they are written down: the progress that follows passes over."""
        if listed := list(rejects):
            self._ask("rejects", listed)

    def moved(self, number: int) -> None:
        """Tell how many records more."""
        self._line.send(("moved", number))

    def wait(self, number: int) -> None:
        """Sleep as long as the rate of all workers together asks for."""
        time.sleep(self._ask("paced", number))

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Write while nobody else does."""
        self._ask("turn", None)
        try:
            yield
        finally:
            self._line.send(("over", None))

    def _ask(self, what: str, detail: Sequence[Any] | int | None) -> Any:
        self._line.send((what, detail))
        return self._line.recv()


def _interrupted(*_: object) -> NoReturn:
    # So that temporary copies are removed and statements cancelled on the way out.
    raise KeyboardInterrupt


def _end_with(line: int) -> None:
    """End this process when the one at the other end of the line has ended."""
    parent = os.getppid()
    hung_up = select.poll()
    hung_up.register(line, 0)
    with contextlib.suppress(OSError):
        while not hung_up.poll(_LOOK_MS) and os.getppid() == parent:
            pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(_PATIENCE)
    os._exit(1)
