"""Rewrites the cells of a notebook as the one module they are.

A name that one cell imports is used in others, so they are joined before they are
rewritten. Between them stand expressions of a name that no program has; a rewriter of
imports leaves such statements where they are, and there the text is cut again.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace

from holdover.migrate.codemod import source
from holdover.migrate.codemod.contents import LARGEST
from holdover.migrate.codemod.findings import Finding
from holdover.migrate.codemod.magics import CELL_MAGIC, Masks, mask, reads_of
from holdover.migrate.codemod.outcome import Failure, Placed, Untouchable
from holdover.migrate.codemod.parsing import parse

_INDENT = re.compile(r"(?:[ \t]*\n)*([ \t]+)\S")


@dataclass(frozen=True, slots=True)
class Cells:
    """Cells after the rules.

    Attributes:
        texts: One for each cell that was given.
        findings: With the number of the cell, from 1.
        failures: Cells that are no Python; they are left as they are.
    """

    texts: tuple[str, ...]
    findings: tuple[Placed, ...]
    failures: tuple[Failure, ...]


def rewrite(cells: Sequence[str], *, codes: frozenset[str], package: str) -> Cells:
    """Apply the rules to all cells together.

    Raises:
        Untouchable: The notebook as a whole cannot be rewritten.
    """
    token = _unused(cells)
    indents = [_indent_of(cell) for cell in cells]
    masks = [Masks(f"__holdover_{token}_{at}_") for at in range(len(cells))]
    python, failures = [], []
    for at, cell in enumerate(cells):
        text = mask(_without(indents[at], cell), masks[at], _parses)
        if why := _why_not(text):
            failures.append(Failure(why.reason, why.line, at + 1))
            masks[at].clear()
            indents[at] = ""
            text = masks[at].put_away(cell, reads_of(cell))
        python.append(text)
    joined = _join(python, token)
    if len(joined) > LARGEST:
        raise Untouchable(f"has more than {LARGEST:,} characters of code; not parsed")
    try:
        done = source.rewrite(joined, codes=codes, module=package)
    except source.Unparsable as error:
        number, line = _place(python, error.line)
        raise Untouchable(error.reason, line=line, cell=number) from None
    texts = list(cells)
    if done.text != joined:
        for at, text in enumerate(_cut(done.text, python, token)):
            if text != python[at]:
                whole = _unmasked(text, masks[at], at)
                texts[at] = _with(indents[at], whole)
                _refuse_moved_magic(cells[at], texts[at], at)
    placed = [_placed(one, python, indents) for one in done.findings]
    return Cells(tuple(texts), tuple(placed), tuple(failures))


def _indent_of(cell: str) -> str:
    """What IPython takes off each line, where all have it and it can be put back."""
    found = _INDENT.match(cell)
    indent = found[1] if found else ""
    return indent if _with(indent, _without(indent, cell)) == cell else ""


def _without(indent: str, cell: str) -> str:
    return "\n".join(line.removeprefix(indent) for line in cell.split("\n"))


def _with(indent: str, cell: str) -> str:
    return "\n".join(indent + line if line else line for line in cell.split("\n"))


def _unused(cells: Sequence[str]) -> str:
    number = 0
    while any(f"__holdover_{number}" in cell for cell in cells):
        number += 1
    return str(number)


def _why_not(text: str) -> source.Unparsable | None:
    try:
        parse(text)
    except source.Unparsable as error:
        return error
    return None


def _parses(text: str) -> bool:
    return _why_not(text) is None


def _marker(token: str, at: int) -> str:
    return f"__holdover_{token}_cell_{at}__\n"


def _ended(text: str) -> str:
    return text if text.endswith("\n") or not text else text + "\n"


def _join(python: Sequence[str], token: str) -> str:
    parts = [_ended(python[0])]
    for at, text in enumerate(python[1:], start=1):
        parts += [_marker(token, at), _ended(text)]
    return "".join(parts)


def _cut(text: str, python: Sequence[str], token: str) -> list[str]:
    pieces = re.split(rf"^__holdover_{token}_cell_(\d+)__\n", text, flags=re.MULTILINE)
    numbers = [int(one) for one in pieces[1::2]]
    if numbers != list(range(1, len(python))):
        raise Untouchable("its cells could not be told apart afterwards; not changed")
    return [
        piece if piece.endswith("\n") == before.endswith("\n") else piece[:-1]
        for piece, before in zip(pieces[::2], python, strict=True)
    ]


def _unmasked(text: str, masks: Masks, at: int) -> str:
    if why := _why_not(text):
        raise Untouchable(f"would not parse afterwards: {why.reason}", cell=at + 1)
    try:
        return masks.restored(text)
    except LookupError:
        reason = "its magic commands could not be kept; not changed"
        raise Untouchable(reason, cell=at + 1) from None


def _refuse_moved_magic(before: str, after: str, at: int) -> None:
    """A cell magic works only at the beginning of its cell."""
    if CELL_MAGIC.match(before) and not CELL_MAGIC.match(after):
        reason = "its cell magic would not be first any more; not changed"
        raise Untouchable(reason, cell=at + 1)


def _placed(finding: Finding, python: Sequence[str], indents: Sequence[str]) -> Placed:
    cell, line = _place(python, finding.line)
    column = finding.column + len(indents[cell - 1])
    return Placed(replace(finding, line=line, column=column), cell)


def _place(python: Sequence[str], line: int) -> tuple[int, int]:
    """The cell, from 1, and the line in it, of a line of the joined text."""
    starts = [1]
    for text in python[:-1]:
        starts.append(starts[-1] + _ended(text).count("\n") + 1)
    at = max(0, bisect_right(starts, line) - 1)
    return at + 1, max(1, line - starts[at] + 1)
