"""How long each phase took and how fast it was, for the report."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from holdover.migrate.progress import Progress

_SAMPLES = 120
_SECONDS = 0.05


@dataclass
class Phase:
    """One phase: `samples` are seconds since its beginning and records until then."""

    name: str
    began: float
    total: int
    seconds: float = 0.0
    records: int = 0
    samples: list[tuple[float, int]] = field(default_factory=list)


class Timed:
    """A reporter that also remembers, with so many samples at most."""

    def __init__(self, inner: Progress) -> None:
        self._inner = inner
        self.phases: list[Phase] = []
        self._pause = _SECONDS

    def begin(self, phase: str, total: int, done: int = 0) -> None:
        """Start a phase."""
        self.phases.append(Phase(phase, time.monotonic(), total))
        self._pause = _SECONDS
        self._inner.begin(phase, total, done)

    def advance(self, number: int) -> None:
        """Count; twice as seldom whenever there are too many samples."""
        self._inner.advance(number)
        phase = self.phases[-1]
        phase.records += number
        now = time.monotonic() - phase.began
        last = phase.samples[-1][0] if phase.samples else 0.0
        if now - last >= self._pause:
            phase.samples.append((now, phase.records))
            if len(phase.samples) > _SAMPLES:
                del phase.samples[::2]
                self._pause *= 2

    def end(self) -> None:
        """The phase is over; some say so twice."""
        phase = self.phases[-1] if self.phases else None
        if phase and not phase.seconds:
            phase.seconds = time.monotonic() - phase.began
            phase.samples.append((phase.seconds, phase.records))
        self._inner.end()
