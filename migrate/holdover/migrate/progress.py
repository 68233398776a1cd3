"""Progress on stderr: a bar on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from typing import Any, Protocol, TextIO

_LINE_SECONDS = 5.0


class Progress(Protocol):
    """What a long command tells of its progress."""

    def begin(self, phase: str, total: int, done: int = 0) -> None:
        """Start a phase; `done` of its `total` happened in an earlier run."""
        ...

    def advance(self, number: int) -> None:
        """So many records more."""
        ...

    def end(self) -> None:
        """The phase is over, whatever was reached."""
        ...


class Silent:
    """Says nothing."""

    def begin(self, phase: str, total: int, done: int = 0) -> None:
        """Say nothing."""

    def advance(self, number: int) -> None:
        """Say nothing."""

    def end(self) -> None:
        """Say nothing."""


class Lines:
    """A plain line at most every five seconds, for logs."""

    def __init__(self, out: TextIO | None = None) -> None:
        self._out = out or sys.stderr
        self._phase, self._total, self._done, self._before = "", 0, 0, 0
        self._began = self._said = 0.0

    def begin(self, phase: str, total: int, done: int = 0) -> None:
        """Start counting; the first line comes only if the phase takes long."""
        self._phase, self._total, self._done, self._before = phase, total, done, done
        self._began = self._said = time.monotonic()

    def advance(self, number: int) -> None:
        """Count, and say so now and then."""
        self._done += number
        now = time.monotonic()
        if now - self._said >= _LINE_SECONDS:
            self._said = now
            rate = (self._done - self._before) / (now - self._began)
            left = max(0, self._total - self._done) / rate if rate else 0
            print(
                f"{self._phase} {self._done:,} of {self._total:,}, "
                f"{rate:,.0f}/s, about {left:,.0f} s left",
                file=self._out,
                flush=True,
            )

    def end(self) -> None:
        """Nothing more to say."""


class Bar:
    """A bar on a terminal."""

    def __init__(self) -> None:
        # Loaded only where there is a terminal to draw on.
        from rich.console import Console  # noqa: PLC0415

        self._console = Console(stderr=True)
        self._bar: Any = None
        self._task: Any = None

    def begin(self, phase: str, total: int, done: int = 0) -> None:
        """Draw an empty or partly filled bar."""
        from rich import progress  # noqa: PLC0415

        self.end()
        self._bar = progress.Progress(
            progress.TextColumn("{task.description:<9}"),
            progress.BarColumn(),
            progress.MofNCompleteColumn(),
            progress.TimeRemainingColumn(),
            console=self._console,
            transient=True,
        )
        self._task = self._bar.add_task(phase, total=total or None, completed=done)
        self._bar.start()

    def advance(self, number: int) -> None:
        """Fill it further."""
        self._bar.advance(self._task, number)

    def end(self) -> None:
        """Take it away."""
        if self._bar:
            self._bar.stop()
            self._bar = None


def for_stream(*, quiet: bool = False) -> Progress:
    """What fits where stderr goes."""
    if quiet:
        return Silent()
    return Bar() if sys.stderr.isatty() else Lines()
