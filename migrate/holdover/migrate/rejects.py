"""What could not be moved, one JSON object a line: where it is and why, no content."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import IO

import orjson

from holdover.migrate.errors import UsageError
from holdover.migrate.sources.base import Reject


class RejectsFile:
    """A file that is made when there is a first reject, readable by its owner only.

    Attributes:
        fresh: Whether what an earlier pass listed is listed anew.
    """

    def __init__(self, path: str | Path, *, fresh: bool = False) -> None:
        self.fresh = fresh
        self.path = Path(path)
        self.counts: Counter[str] = Counter()
        self._file: IO[bytes] | None = None

    def add(self, rejects: Iterable[Reject]) -> None:
        """Write rejects down."""
        for reject in rejects:
            self.counts[reject.reason] += 1
            line = orjson.dumps(
                {
                    "reason": reject.reason,
                    "locator": _printable(reject.locator),
                    "detail": _printable(reject.detail),
                }
            )
            self._opened().write(line + b"\n")
        if self._file:
            self._file.flush()

    def _opened(self) -> IO[bytes]:
        if self._file is None:
            mode = os.O_CREAT | os.O_APPEND | os.O_WRONLY
            if self.fresh:
                mode |= os.O_TRUNC
            try:
                self._file = os.fdopen(os.open(self.path, mode, 0o600), "ab")
            except OSError as error:
                raise UsageError(
                    f"The rejects file {self.path} cannot be written: "
                    f"{error.strerror}.",
                    hint="Name another with --rejects FILE, then repeat.",
                ) from error
        return self._file

    def close(self) -> None:
        """Close the file, if there is one."""
        if self._file:
            self._file.close()
            self._file = None


def _printable(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()
