"""One after the other, in the order they came: threads and tasks of this process."""

from __future__ import annotations

import asyncio
import os
import threading
import weakref
from collections import deque
from collections.abc import Hashable
from concurrent.futures import Future

from holdover.compat.both_ways import Do, Operation

#: How many seconds somebody waits behind others before going on beside them.
PATIENCE = 60.0


class Turnstile:
    """Lets one operation through at a time, be it synchronous or async."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._taken = False
        self._queue: deque[Future[None]] = deque()

    def enter(self, patience: float = PATIENCE) -> Operation[bool]:
        """Wait for one's turn, and tell whether it came; whoever got it leaves again.

        It does not come to who would block the event loop that the others need, nor
        within `patience` seconds if somebody is stuck.
        """
        with self._lock:
            if not self._taken:
                self._taken = True
                return True
            ticket: Future[None] = Future()
            self._queue.append(ticket)
        came: bool = yield Do(
            lambda: self._wait(ticket, patience), lambda: self._await(ticket, patience)
        )
        return came

    def leave(self) -> None:
        """Let the next one through."""
        with self._lock:
            while self._queue:
                ticket = self._queue.popleft()
                # One that was given up is passed over.
                if ticket.set_running_or_notify_cancel():
                    ticket.set_result(None)
                    return
            self._taken = False

    def _wait(self, ticket: Future[None], patience: float) -> bool:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            pass
        else:
            patience = 0
        try:
            ticket.result(patience)
        except TimeoutError:
            # It may have come in this very moment.
            return not ticket.cancel()
        return True

    async def _await(self, ticket: Future[None], patience: float) -> bool:
        try:
            async with asyncio.timeout(patience):
                await asyncio.wrap_future(ticket)
        except TimeoutError:
            return not ticket.cancel()
        except asyncio.CancelledError:
            if not ticket.cancel():
                self.leave()
            raise
        return True


_making = threading.Lock()
_turnstiles: weakref.WeakValueDictionary[Hashable, Turnstile] = (
    weakref.WeakValueDictionary()
)


def turnstile(key: Hashable) -> Turnstile:
    """The turnstile of a key, in this process."""
    with _making:
        found = _turnstiles.get(key)
        if found is None:
            found = _turnstiles[key] = Turnstile()
        return found


def _after_fork() -> None:
    """Begin anew: whoever held one is a thread of the parent."""
    global _making  # noqa: PLW0603 - another thread may have held it
    _making = threading.Lock()
    _turnstiles.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
