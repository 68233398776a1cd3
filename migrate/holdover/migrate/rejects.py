"""What could not be moved, one JSON object a line: where it is and why, no content."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import IO

import orjson

from holdover.migrate.sources.base import Reject


class RejectsFile:
    """A file that is made when there is a first reject, readable by its owner only."""

    def __init__(self, path: str | Path) -> None:
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
            self._file = os.fdopen(os.open(self.path, mode, 0o600), "ab")
        return self._file

    def close(self) -> None:
        """Close the file, if there is one."""
        if self._file:
            self._file.close()
            self._file = None


def _printable(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()
