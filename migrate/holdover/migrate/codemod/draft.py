"""A source while it is rewritten: changes, findings, TODO comments."""

from __future__ import annotations

import functools
import re
import unicodedata
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import libcst as cst
from libcst.metadata import CodeRange

from holdover.compat.shim.entries import Answer, Kind
from holdover.migrate.codemod.findings import Finding, Rewritten
from holdover.migrate.codemod.names import Names
from holdover.migrate.codemod.parsing import positions, still_parses
from holdover.migrate.codemod.rule import ALL
from holdover.migrate.codemod.text import Edit, FormFeeds, Overlap, Text

#: Where a person must decide something that is not about one removed name.
UNDECIDED = "HO402"
_IGNORE = re.compile(r"#\s*holdover:\s*ignore\b(?:\[([^\]]*)\])?")
_TODO = "TODO(holdover {code})"


@dataclass(frozen=True, slots=True)
class NewImport:
    """A name to import; or with no name a module, by its dotted path."""

    module: str
    name: str = ""
    local: str = ""

    @property
    def text(self) -> str:
        """What stands after `from module import`, or after `import`."""
        name = self.name or self.module
        return name if self.local in ("", name) else f"{name} as {self.local}"


@dataclass(slots=True)
class Fate:
    """What becomes of one part of an import.

    Attributes:
        keep: It stays where it is.
        new: What is imported instead, or besides.
    """

    keep: bool = True
    new: list[NewImport] = field(default_factory=list)


class Draft:
    """What the passes read and write.

    Attributes:
        names: What the source binds and reads.
        fates: What becomes of the parts of imports; others stay.
        needs: What a star's place must import besides, for what was rewritten.
        edits: Changes to the text.
        reexports: The names of the file are there for others to import.
    """

    def __init__(
        self,
        source: FormFeeds,
        tree: cst.Module,
        names: Names,
        codes: frozenset[str],
        *,
        reexports: bool,
    ) -> None:
        self.text = Text(source.without)
        self._source = source
        self.tree = tree
        self.names = names
        self.reexports = reexports
        self.fates: defaultdict[cst.ImportAlias, Fate] = defaultdict(Fate)
        self.needs: defaultdict[cst.ImportFrom, list[NewImport]] = defaultdict(list)
        self.edits: list[Edit] = []
        self._codes = codes
        self._findings: list[Finding] = []
        self._todos: defaultdict[int, dict[str, list[str]]] = defaultdict(dict)

    # -- where things are

    @functools.cached_property
    def _positions(self) -> Mapping[cst.CSTNode, CodeRange]:
        return positions(self.tree)

    def span(self, node: cst.CSTNode) -> tuple[int, int]:
        """Where a node begins and ends."""
        found = self._positions[node]
        return (
            self.text.offset(found.start.line, found.start.column),
            self.text.offset(found.end.line, found.end.column),
        )

    def written(self, node: cst.CSTNode) -> str:
        """A node as the source has it."""
        start, end = self.span(node)
        return self.text.source[start:end]

    def logical_line(self, node: cst.CSTNode) -> cst.CSTNode:
        """The statement that begins the line of a node."""
        at = node
        # A suite on the line of the statement around it has no line of its own.
        while not isinstance(at, _LINES) and at in self.names.parents:
            at = self.names.parents[at]
        return at

    def _line_start(self, node: cst.CSTNode) -> int:
        line = self.logical_line(node)
        start = self.span(line)[0]
        if isinstance(line, cst.FunctionDef | cst.ClassDef) and line.decorators:
            start = min(start, self.span(line.decorators[0])[0])
        return self.text.line_start(start)

    # -- what may be done

    def takes(self, code: str, node: cst.CSTNode) -> bool:
        """Whether a rule was asked for, and nothing on the line says to ignore it."""
        return code in self._codes and not self.ignored(code, node)

    @functools.cached_property
    def _ignoring(self) -> bool:
        return _IGNORE.search(self.text.source) is not None

    def ignored(self, code: str, node: cst.CSTNode) -> bool:
        """Whether the lines of a node say that a rule is not for them."""
        if not self._ignoring:
            return False
        lines = set(self._lines(node))
        line = self.logical_line(node)
        if isinstance(line, cst.SimpleStatementLine):
            lines |= {min(self._lines(line)), max(self._lines(line))}
        for number in lines:
            match = _IGNORE.search(self.text.line(number))
            if match and (match[1] is None or code in re.split(r"[\s,]+", match[1])):
                return True
        return False

    def _lines(self, node: cst.CSTNode) -> range:
        found = self._positions[node]
        return range(found.start.line, found.end.line + 1)

    # -- what was found

    def found(
        self,
        code: str,
        node: cst.CSTNode,
        old: str,
        new: str,
        message: str,
        *,
        fixed: bool = True,
        safe: bool | None = None,
        at: int = 0,
    ) -> None:
        """Report something; `at` counts from the start of the node."""
        line, column = self.text.place(self.span(node)[0] + at)
        sure = ALL[code].safe if safe is None else safe
        self._findings.append(
            Finding(code, line, column + 1, old, new, message, sure and fixed, fixed)
        )

    def found_moved(
        self, node: cst.CSTNode, old: str, answer: Answer, *, at: int = 0
    ) -> None:
        """Report a name that is imported from elsewhere now."""
        message = f"{old} is {answer.path} now."
        if answer.package:
            message += f" It needs: pip install {answer.package}"
        self.found(answer.code, node, old, answer.path, message, at=at)

    def todo(self, code: str, node: cst.CSTNode, old: str, message: str) -> None:
        """Report something that a person must decide, and say so above its line."""
        self.found(code, node, old, "", message, fixed=False)
        texts = self._todos[self._line_start(node)].setdefault(code, [])
        if message not in texts:
            texts.append(message)

    def removed(self, node: cst.CSTNode, old: str, answer: Answer) -> None:
        """Report a name that is nowhere left."""
        message = f"{old} is gone. {_plain(answer.why)}".rstrip()
        self.todo(answer.code, node, old, message)

    def unknown(self, node: cst.CSTNode, module: str, name: str) -> None:
        """Report a name that a module is not known to have had."""
        message = f"LangChain 1.x has no {module}, and it is not known where {name} is."
        self.todo(UNDECIDED, node, f"{module}.{name}", message)

    # -- the result

    def edit(self, start: int, end: int, text: str) -> None:
        """Let a text stand in the place of another."""
        self.edits.append(Edit(start, end, text))

    def has_todo(self, node: cst.CSTNode) -> bool:
        """Whether a comment is to come above the line of a node."""
        return self._line_start(node) in self._todos

    def finish(self) -> Rewritten:
        """The rewritten text; the source itself if that would not be Python."""
        source = self._source.source
        findings = tuple(
            sorted(
                dict.fromkeys(self._findings),
                key=lambda one: (one.line, one.column, one.code),
            )
        )
        if not self.edits and not self._todos:
            return Rewritten(source, findings)
        try:
            after = self._source.restored([*self.edits, *self._comments()])
        except Overlap:
            after = ""
        # Positions are to be relied on where the tree is the source; but for its end,
        # where libcst loses the newline of an old Mac.
        exact = self.tree.code.rstrip() == self.text.source.rstrip()
        if not after or not exact or not still_parses(source, after):
            return Rewritten(source, tuple(map(_not_done, findings)))
        return Rewritten(after, findings)

    def _comments(self) -> list[Edit]:
        edits = []
        for start, by_code in self._todos.items():
            indentation = self.text.indentation(start)
            newline = self.text.newline(start)
            above = self._comments_above(start)
            lines = [
                f"{indentation}# {_TODO.format(code=code)}: {' '.join(texts)}{newline}"
                for code, texts in sorted(by_code.items())
                if _TODO.format(code=code) not in above
            ]
            edits.append(Edit(start, start, "".join(lines)))
        return edits

    def _comments_above(self, offset: int) -> str:
        number = self.text.place(offset)[0] - 1
        found = []
        while number and (line := self.text.line(number).strip()).startswith("#"):
            found.append(line)
            number -= 1
        return "\n".join(found)


def removed(answer: Answer | None) -> bool:
    """Whether an answer says that a name is nowhere left."""
    return answer is not None and answer.kind is Kind.REMOVED


def _plain(text: str) -> str:
    """A text for the comment of a file, whose encoding may have no more than ASCII."""
    text = unicodedata.normalize("NFKD", text.translate(_PLAINER))
    return text.encode("ascii", "backslashreplace").decode()


_PLAINER = str.maketrans("\u2018\u2019\u201c\u201d\u2013\u2014\u2212", "''\"\"---")


def _not_done(finding: Finding) -> Finding:
    return replace(
        finding,
        message=f"{finding.message} It could not be rewritten here without breaking "
        "the file: please do it by hand.",
        safe=False,
        fixed=False,
    )


_LINES = (
    cst.SimpleStatementLine,
    cst.BaseCompoundStatement,
    cst.ExceptHandler,
    cst.ExceptStarHandler,
    cst.Else,
    cst.Finally,
    cst.MatchCase,
)
