"""What happened, for counters: names, counts and roots, never contents.

`adopted`, `empty_ignored`, `unchanged`, `tombstoned`, `expired`, `foreign_item`,
`deleted`, `forgotten`, `pending`, `trimmed` come from the repository; the classes
built on it add their own.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass

logger = logging.getLogger("holdover.compat")


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened `count` times below `root`."""

    name: str
    root: str
    count: int = 1


_lock = threading.Lock()
_subscribers: tuple[Callable[[Event], None], ...] = ()


def subscribe(subscriber: Callable[[Event], None]) -> Callable[[], None]:
    """Call `subscriber` for every event, in the thread where it happens.

    Returns:
        A function that ends the subscription.
    """
    global _subscribers  # noqa: PLW0603 - replaced whole, so that `emit` needs no lock
    with _lock:
        _subscribers = (*_subscribers, subscriber)

    def unsubscribe() -> None:
        global _subscribers  # noqa: PLW0603
        with _lock:
            _subscribers = tuple(s for s in _subscribers if s is not subscriber)

    return unsubscribe


def emit(name: str, root: str, count: int = 1) -> None:
    """Tell every subscriber; a subscriber that raises is logged, never obeyed."""
    for subscriber in _subscribers:
        try:
            subscriber(Event(name, root, count))
        except Exception:
            logger.warning("An event subscriber failed.", exc_info=True)
