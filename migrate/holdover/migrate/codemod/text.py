"""A source text by line and column, and changes to it."""

from __future__ import annotations

import bisect
import itertools
import re
from collections.abc import Iterable
from dataclasses import dataclass

_NEWLINE = re.compile(r"\r\n?|\n")
_FORM_FEEDS = re.compile(r"^\f+", re.MULTILINE)


@dataclass(frozen=True, slots=True, order=True)
class Edit:
    """Text to stand in the place of `source[start:end]`."""

    start: int
    end: int
    text: str


class FormFeeds:
    """A source without the form feeds that begin lines, and the way back to it.

    Python reads over them; libcst loses them.
    """

    def __init__(self, source: str) -> None:
        self.source = source
        found = [match.span() for match in _FORM_FEEDS.finditer(source)]
        removed = list(itertools.accumulate((b - a for a, b in found), initial=0))
        self._removed = removed
        self._at = [a - gone for (a, _), gone in zip(found, removed, strict=False)]
        self.without = _FORM_FEEDS.sub("", source) if found else source

    def restored(self, edits: Iterable[Edit]) -> str:
        """The source after changes that were meant for the text without them."""
        return apply(
            self.source,
            (
                Edit(
                    one.start + self._removed[bisect.bisect_right(self._at, one.start)],
                    one.end + self._removed[bisect.bisect_right(self._at, one.end)],
                    one.text,
                )
                for one in edits
            ),
        )


class Overlap(Exception):
    """Two changes want the same place."""


class Text:
    """A source, its lines numbered from 1 and its columns from 0, as libcst does."""

    def __init__(self, source: str) -> None:
        self.source = source
        self._starts = [0, *(match.end() for match in _NEWLINE.finditer(source))]

    def offset(self, line: int, column: int) -> int:
        """Where a line and column are."""
        return self._starts[line - 1] + column

    def place(self, offset: int) -> tuple[int, int]:
        """The line and column of an offset."""
        line = bisect.bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1]

    def line_start(self, offset: int) -> int:
        """Where the line of an offset begins."""
        return self._starts[self.place(offset)[0] - 1]

    def line(self, number: int) -> str:
        """A line, without its end."""
        start = self._starts[number - 1]
        found = _NEWLINE.search(self.source, start)
        return self.source[start : found.start() if found else None]

    def indentation(self, offset: int) -> str:
        """The white space that the line of an offset begins with."""
        line = self.line(self.place(offset)[0])
        return line[: len(line) - len(line.lstrip())]

    def newline(self, offset: int) -> str:
        """How the line of an offset ends, or the first that does."""
        match = _NEWLINE.search(self.source, offset) or _NEWLINE.search(self.source)
        return match[0] if match else "\n"


def apply(source: str, edits: Iterable[Edit]) -> str:
    """The source after the changes.

    Raises:
        Overlap: Two of them want the same place.
    """
    done: list[str] = []
    at = 0
    for edit in sorted(edits):
        if edit.start < at:
            raise Overlap
        done += (source[at : edit.start], edit.text)
        at = edit.end
    return "".join([*done, source[at:]])
