"""A diff of two contents that a reader, `patch` and `git apply` can follow."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence

from holdover.migrate.codemod.naming import in_patch, plain

_CONTEXT = 3
_NO_NEWLINE = b"\n\\ No newline at end of file\n"
#: Lines that go or come. With more of them a rougher comparison has to do.
_MOST = 600

#: Lines `[a:b]` of the old content became lines `[c:d]` of the new.
Change = tuple[int, int, int, int]


def of_bytes(path: str, old: bytes, new: bytes) -> bytes:
    """A patch of a file, to the byte: any encoding and byte order mark stay."""
    return _diff(in_patch(path), old, new)


def of_texts(name: str, old: str, new: str) -> str:
    """A diff for a reader. Lines end where newlines are, and nowhere else."""
    titled, before, after = (
        text.encode("utf-8", "surrogatepass") for text in (plain(name), old, new)
    )
    return _diff(titled, before, after).decode("utf-8", "surrogatepass")


def _diff(title: bytes, old: bytes, new: bytes) -> bytes:
    before, after = _lines(old), _lines(new)
    parts = [b"--- %b\n+++ %b\n" % (title, title)]
    for changes in _hunks(_changes(before, after)):
        parts += _hunk(before, after, changes)
    return b"".join(parts) if len(parts) > 1 else b""


def _lines(data: bytes) -> list[bytes]:
    lines = [line + b"\n" for line in data.split(b"\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def _hunks(changes: Sequence[Change]) -> Iterator[list[Change]]:
    """Changes that are shown together, because what is around them meets."""
    hunk: list[Change] = []
    for change in changes:
        if hunk and change[0] - hunk[-1][1] > 2 * _CONTEXT:
            yield hunk
            hunk = []
        hunk.append(change)
    if hunk:
        yield hunk


def _hunk(
    old: Sequence[bytes], new: Sequence[bytes], changes: Sequence[Change]
) -> Iterator[bytes]:
    above = min(_CONTEXT, changes[0][0])
    below = min(_CONTEXT, len(old) - changes[-1][1])
    at = changes[0][0] - above
    ranges = (
        _range(at, changes[-1][1] + below),
        _range(changes[0][2] - above, changes[-1][3] + below),
    )
    yield b"@@ -%b +%b @@\n" % ranges
    for start, end, new_start, new_end in changes:
        yield from _marked(b" ", old[at:start])
        yield from _marked(b"-", old[start:end])
        yield from _marked(b"+", new[new_start:new_end])
        at = end
    yield from _marked(b" ", old[at : at + below])


def _range(start: int, end: int) -> bytes:
    if end - start == 1:
        return b"%d" % (start + 1)
    # An empty range is named by the line before it.
    return b"%d,%d" % (start + (end > start), end - start)


def _marked(mark: bytes, lines: Sequence[bytes]) -> Iterator[bytes]:
    for line in lines:
        yield mark + line + (b"" if line.endswith(b"\n") else _NO_NEWLINE)


def _changes(old: Sequence[bytes], new: Sequence[bytes]) -> list[Change]:
    """What differs, from the first line to the last."""
    most = min(len(old), len(new))
    head = next((at for at in range(most) if old[at] != new[at]), most)
    tail = next(
        (at for at in range(most - head) if old[-1 - at] != new[-1 - at]), most - head
    )
    before, after = old[head : len(old) - tail], new[head : len(new) - tail]
    found = _fewest(before, after)
    if found is None:
        matcher = difflib.SequenceMatcher(None, before, after)
        found = [codes[1:] for codes in matcher.get_opcodes() if codes[0] != "equal"]
    return [(a + head, b + head, c + head, d + head) for a, b, c, d in found]


def _fewest(old: Sequence[bytes], new: Sequence[bytes]) -> list[Change] | None:
    """The fewest changes (Myers, 1986); `None` if there are too many.

    It costs as many steps as there are lines, and changes squared; lines that occur
    often, such as empty ones, cost nothing more.
    """
    middle = _MOST + 1
    reach = [0] * (2 * middle + 1)  # of each diagonal, the furthest line of the old
    steps: list[list[int]] = []
    for edits in range(min(len(old) + len(new), _MOST) + 1):
        steps.append(reach[middle - edits - 1 : middle + edits + 2])
        for diagonal in range(-edits, edits + 1, 2):
            before = _before(steps[-1], edits, diagonal)
            x = reach[middle + before] + (before < diagonal)
            y = x - diagonal
            while x < len(old) and y < len(new) and old[x] == new[y]:
                x, y = x + 1, y + 1
            reach[middle + diagonal] = x
            if x >= len(old) and y >= len(new):
                return _path(steps, x, y)
    return None


def _before(reach: Sequence[int], edits: int, diagonal: int) -> int:
    """The diagonal from which one more change leads furthest on this one."""
    at = diagonal + edits + 1
    if diagonal == -edits:
        return diagonal + 1
    if diagonal != edits and reach[at - 1] < reach[at + 1]:
        return diagonal + 1
    return diagonal - 1


def _path(steps: Sequence[Sequence[int]], x: int, y: int) -> list[Change]:
    """The changes that led there, those next to each other as one."""
    found: list[Change] = []
    for edits in range(len(steps) - 1, 0, -1):
        diagonal = x - y
        before = _before(steps[edits], edits, diagonal)
        x = steps[edits][before + edits + 1]
        y = x - before
        end, new_end = x + (before < diagonal), y + (before > diagonal)
        if found and (end, new_end) == (found[-1][0], found[-1][2]):
            end, new_end = found[-1][1], found[-1][3]
            found.pop()
        found.append((x, end, y, new_end))
    return found[::-1]
