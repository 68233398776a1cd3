"""Makes Python of a notebook's cell, and the cell of it again.

What only IPython understands (`%pip`, `!ls`, `x?`, `%%bash`) is put away, and a name
no program has stands in its place.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

#: Cell magics whose body is Python of the same notebook.
_PYTHON_BODY = frozenset(
    {"capture", "debug", "memit", "mprun", "prun", "px", "time", "timeit", "lprun"}
)
_CELL = re.compile(r"\s*%%(\w*)")
_LINE = re.compile(r"[ \t]*(?:[%!?]|[,;/]\s*[A-Za-z_])")
_HELP = re.compile(r"[ \t]*%{0,2}[A-Za-z_*][\w.*\[\]'\"]*[ \t]*\?{1,2}[ \t]*;?[ \t]*$")
_ASSIGNED = re.compile(r"([^#'\"=!<>%\n]*[^#'\"=!<>%\s][ \t]*=)([ \t]*[!%][ \t]*\S.*)$")
_CONTINUED = re.compile(r"\\[ \t]*$")
#: What matters for where a statement ends: comments, strings, brackets.
_OF_WEIGHT = re.compile(
    r"#.*|'''|\"\"\"|'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"|[()\[\]{}]"
)
_CLOSING = {
    quote: re.compile(rf"(?:\\.|(?!{quote}).)*{quote}") for quote in ("'''", '"""')
}


@dataclass(slots=True)
class Masks:
    """What was put away, by the name that stands in its place."""

    prefix: str
    kept: list[str] = field(default_factory=list)

    def put_away(self, text: str) -> str:
        """Keep a text, and give the name for it."""
        self.kept.append(text)
        return f"{self.prefix}{len(self.kept) - 1}__"

    def restored(self, text: str) -> str:
        """The text with everything back in its place.

        Raises:
            LookupError: Something is missing, or there twice.
        """
        seen: set[int] = set()

        def put_back(found: re.Match[str]) -> str:
            number = int(found[1])
            if number in seen:
                raise LookupError(number)
            seen.add(number)
            return self.kept[number]

        # The spaces before it were put away, too.
        text = re.sub(rf"[ \t]*{re.escape(self.prefix)}(\d+)__", put_back, text)
        if len(seen) != len(self.kept):
            raise LookupError(len(seen))
        return text


def mask(cell: str, masks: Masks, parses: Callable[[str], bool]) -> str:
    """A cell as Python of as many lines; a cell of another language is one name."""
    if parses(cell):
        return cell
    if (magic := _CELL.match(cell)) and magic[1] not in _PYTHON_BODY:
        return masks.put_away(cell)
    lines = cell.split("\n")
    statement = _Statement()
    continues, indent = False, ""
    for at, line in enumerate(lines):
        if not continues:
            if not statement.ended:
                statement.read(line)
                continue
            indent = line[: len(line) - len(line.lstrip())]
        if continues or _is_magic(line):
            lines[at] = indent + masks.put_away(line)
        elif assigned := _ASSIGNED.match(line):
            lines[at] = f"{assigned[1]} {masks.put_away(assigned[2])}"
        else:
            statement.read(line)
            continue
        continues = bool(_CONTINUED.search(line))
    return "\n".join(lines)


def _is_magic(line: str) -> bool:
    return bool(_LINE.match(line) or _HELP.match(line))


class _Statement:
    """Whether the next line begins a statement."""

    def __init__(self) -> None:
        self._quote = ""
        self._depth = 0
        self.ended = True

    def read(self, line: str) -> None:
        at = 0
        while True:
            if self._quote:
                closed = _CLOSING[self._quote].match(line, at)
                if not closed:
                    break
                at, self._quote = closed.end(), ""
            found = _OF_WEIGHT.search(line, at)
            if not found:
                break
            at = found.end()
            if found[0] in _CLOSING:
                self._quote = found[0]
            elif found[0] in "([{":
                self._depth += 1
            elif found[0] in ")]}":
                self._depth -= 1
        self.ended = not (self._quote or self._depth > 0 or line.endswith("\\"))
