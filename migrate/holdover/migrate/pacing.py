"""`--rate`: how long to wait so that so many records a second are not exceeded."""

from __future__ import annotations

import time


class Pace:
    """Records a second since the first of them, over all that share it.

    Args:
        rate: The limit; `None` is none.
    """

    def __init__(self, rate: float | None) -> None:
        self._rate = rate
        self._free = 0.0

    def ahead(self, number: int) -> float:
        """How many seconds to wait after so many records more."""
        if not self._rate:
            return 0.0
        now = time.monotonic()
        self._free = max(self._free, now) + number / self._rate
        return self._free - now

    def wait(self, number: int) -> None:
        """Wait as long."""
        time.sleep(self.ahead(number))
