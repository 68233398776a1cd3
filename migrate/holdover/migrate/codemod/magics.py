"""Makes Python of a notebook's cell, and the cell of it again.

What only IPython understands (`%pip`, `!ls`, `x?`, `%%bash`) is put away, and a name
no program has stands in its place.
"""

from __future__ import annotations

import itertools
import keyword
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

#: Cell magics whose body is Python of the same notebook.
_PYTHON_BODY = frozenset(
    {"capture", "debug", "memit", "mprun", "prun", "px", "time", "timeit", "lprun"}
)
#: Cell magics whose body is no Python, or not of this notebook.
_OTHER_LANGUAGE = frozenset(
    {"", "bash", "cmd", "file", "html", "javascript", "js", "latex", "markdown"}
    | {"perl", "pypy", "python", "python2", "python3", "R", "ruby", "script", "sh"}
    | {"sql", "svg", "sx", "system", "writefile"}
)
#: Line magics whose words are not Python.
_WITHOUT_PYTHON = frozenset(
    {"alias", "autoreload", "bookmark", "cd", "conda", "config", "dirs", "env", "ll"}
    | {"load", "load_ext", "ls", "mamba", "matplotlib", "micromamba", "mkdir", "pip"}
    | {"popd", "pushd", "pwd", "pylab", "reload_ext", "rm", "rmdir", "run", "set_env"}
    | {"sx", "system", "unload_ext", "uv"}
)
_MAGIC_NAME = re.compile(r"\s*%(\w+)")
_SHELL = re.compile(r"\s*!")
_FILLED_IN = re.compile(r"\{[^{}]*\}|\$\w[\w.]*")
_DOTTED = re.compile(r"(?<![\w.])[^\W\d]\w*(?:[ \t]*\.[ \t]*[^\W\d]\w*)*")
CELL_MAGIC = re.compile(r"\s*%%(\w*)")
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
    """What was put away, and the expression that stands in its place.

    It has the names in it that the text may read, so that they are in use.
    """

    prefix: str
    kept: list[str] = field(default_factory=list)
    stand_ins: list[str] = field(default_factory=list)

    def put_away(self, text: str, reads: Iterable[str] = ()) -> str:
        """Keep a text, and give the expression for it."""
        stand_in = ", ".join([f"{self.prefix}{len(self.kept)}__", *reads])
        self.kept.append(text)
        self.stand_ins.append(stand_in)
        return stand_in

    def clear(self) -> None:
        """Forget what was put away."""
        self.kept.clear()
        self.stand_ins.clear()

    def restored(self, text: str) -> str:
        """The text with everything back in its place.

        Raises:
            LookupError: Something is missing, or there twice.
        """
        seen: set[int] = set()

        def put_back(found: re.Match[str]) -> str:
            number = int(found[1])
            if number in seen or found[0].lstrip(" \t") != self.stand_ins[number]:
                raise LookupError(number)
            seen.add(number)
            return self.kept[number]

        # The spaces before it were put away, too.
        name = rf"[ \t]*{re.escape(self.prefix)}(\d+)__"
        text = re.sub(rf"{name}(?:, [\w.]+)*", put_back, text)
        if len(seen) != len(self.kept):
            raise LookupError(len(seen))
        return text


def mask(cell: str, masks: Masks, parses: Callable[[str], bool]) -> str:
    """A cell as Python of as many lines; a cell of another language is one name."""
    if parses(cell):
        return cell
    if (magic := CELL_MAGIC.match(cell)) and magic[1] not in _PYTHON_BODY:
        foreign = magic[1] in _OTHER_LANGUAGE
        return masks.put_away(cell, () if foreign else reads_of(cell))
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
            lines[at] = indent + masks.put_away(line, reads_of(line))
        elif assigned := _ASSIGNED.match(line):
            lines[at] = (
                f"{assigned[1]} {masks.put_away(assigned[2], reads_of(assigned[2]))}"
            )
        else:
            statement.read(line)
            continue
        continues = bool(_CONTINUED.search(line))
    return "\n".join(lines)


def reads_of(text: str) -> list[str]:
    """The names that a magic command may read: rather too many than too few.

    Each with all that it begins with: `m` and `m.X` for `m.X`. Of what goes to a
    shell only what IPython fills in counts.
    """
    found: dict[str, None] = {}
    for line in text.splitlines():
        magic = _MAGIC_NAME.match(line)
        of_shell = _SHELL.match(line) or (magic and magic[1] in _WITHOUT_PYTHON)
        seen = " ".join(_FILLED_IN.findall(line)) if of_shell else line
        for dotted in _DOTTED.findall(seen):
            parts = [part.strip() for part in dotted.split(".")]
            if all(p.isidentifier() and not keyword.iskeyword(p) for p in parts):
                found |= dict.fromkeys(itertools.accumulate(parts, "{}.{}".format))
    return list(found)


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
