"""How the codemod tells what it found: a diff, a list, or JSON, file by file.

Results go to stdout, as soon as they are there and none of them kept. What a person
must know besides goes to stderr, so that stdout stays a patch or a list of files.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TextIO

from holdover.migrate.codemod.naming import in_list, plain
from holdover.migrate.codemod.outcome import Failure, Outcome, Placed
from holdover.migrate.codemod.rule import Rule

SCHEMA = 1
_COLOURS = {"+": "32", "-": "31", "@": "36"}

#: Takes a text, or bytes that are to come out as they are.
Say = Callable[[str | bytes], None]


@dataclass(slots=True)
class Tally:
    """What there was in all files together."""

    files: int = 0
    changed: int = 0
    written: int = 0
    findings: int = 0
    left: int = 0
    failed: int = 0

    def add(self, outcome: Outcome) -> None:
        """Count one file."""
        self.files += 1
        self.changed += outcome.changed
        self.written += outcome.written
        self.findings += len(outcome.findings)
        self.left += len(outcome.open_findings)
        self.failed += bool(outcome.failures)

    @property
    def exit_code(self) -> int:
        """0: nothing to do. 1: changes needed or made. 2: files failed."""
        if self.failed:
            return 2
        return int(bool(self.changed or self.left))


class Page(Protocol):
    """Where outcomes are shown, in order."""

    def show(self, outcome: Outcome) -> None:
        """Show one file, if there is something to say about it."""
        ...

    def end(self, tally: Tally) -> None:
        """Close with the counts."""
        ...


def where(path: str, line: int = 0, cell: int = 0) -> str:
    """A place as editors understand it."""
    parts = [plain(path), f"cell {cell}" if cell else "", str(line) if line else ""]
    return ":".join(part for part in parts if part)


class Diff:
    """The diff or patch on stdout; what is left for a person on stderr."""

    def __init__(self, out: Say, err: Say, *, colour: bool = False) -> None:
        self._out, self._err, self._colour = out, err, colour

    def show(self, outcome: Outcome) -> None:
        """Show the file's diff, and its places for a person."""
        if outcome.diff:
            self._out(coloured(outcome.diff) if self._colour else outcome.diff)
        elif outcome.patch:
            self._out(outcome.patch)
        tell(outcome, self._err)

    def end(self, tally: Tally) -> None:
        """Say how to have it written."""
        self._err(_closing(tally, f"{_files(tally.changed)} would change"))
        if tally.changed:
            self._err("Run it again with --write to change them.\n")


class Written:
    """The names of the files that were rewritten."""

    def __init__(self, out: Say, err: Say, *, terminal: bool) -> None:
        self._out, self._err, self._terminal = out, err, terminal

    def show(self, outcome: Outcome) -> None:
        """Name the file if it was written."""
        if outcome.written:
            self._out(in_list(outcome.path, terminal=self._terminal))
        tell(outcome, self._err)

    def end(self, tally: Tally) -> None:
        """Say how many they were."""
        self._err(_closing(tally, f"{_files(tally.written)} rewritten"))


class Pending:
    """The names of the files that are not done yet, and how many they are."""

    def __init__(self, out: Say, err: Say, *, terminal: bool) -> None:
        self._out, self._err, self._terminal = out, err, terminal
        self._named = 0

    def show(self, outcome: Outcome) -> None:
        """Name the file if a change or a person is needed."""
        if outcome.changed or outcome.open_findings:
            self._named += 1
            self._out(in_list(outcome.path, terminal=self._terminal))
        _complain(outcome, self._err)

    def end(self, tally: Tally) -> None:
        """Say how many they are."""
        self._out(f"{_files(self._named)} to change, of {tally.files:,}\n")


class Document:
    """One JSON object, written file by file."""

    def __init__(self, out: Say, err: Say) -> None:
        self._out, self._err, self._first = out, err, True
        out(f'{{"schema": {SCHEMA}, "command": "codemod", "files": [')

    def show(self, outcome: Outcome) -> None:
        """Add the file, if there is something to say about it."""
        if outcome.nothing_to_say:
            return
        self._out(("\n" if self._first else ",\n") + json.dumps(_as_dict(outcome)))
        self._first = False

    def end(self, tally: Tally) -> None:
        """Close the object with the counts."""
        self.close(tally, tally.exit_code)

    def close(self, tally: Tally, exit_code: int) -> None:
        """Close it, for whatever reason there is no more to come."""
        counts = {name: getattr(tally, name) for name in tally.__slots__}
        self._out(f'\n], "counts": {json.dumps(counts)}, "exit_code": {exit_code}}}\n')


def _as_dict(outcome: Outcome) -> Mapping[str, Any]:
    return {
        "path": outcome.path,
        "changed": outcome.changed,
        "written": outcome.written,
        "findings": [_finding(one) for one in outcome.findings],
        "failures": [
            {"reason": one.reason, "line": one.line, "cell": one.cell}
            for one in outcome.failures
        ],
    }


def _finding(placed: Placed) -> Mapping[str, Any]:
    finding = placed.finding
    return {name: getattr(finding, name) for name in finding.__slots__} | {
        "cell": placed.cell
    }


def tell(outcome: Outcome, err: Say) -> None:
    """Say what a person must decide, or look at."""
    for placed in outcome.findings:
        finding = placed.finding
        if finding.fixed and finding.safe:
            continue
        place = where(outcome.path, finding.line, placed.cell)
        review = "to review: " if finding.fixed else ""
        err(f"{place}: {finding.code} {review}{finding.message}\n")
    _complain(outcome, err)


def _complain(outcome: Outcome, err: Say) -> None:
    for failure in outcome.failures:
        err(f"holdover: {_failure(outcome.path, failure)}\n")


def _failure(path: str, failure: Failure) -> str:
    return f"{where(path, failure.line, failure.cell)}: {failure.reason}"


def _closing(tally: Tally, done: str) -> str:
    parts = [f"{done}, of {tally.files:,}"]
    if tally.left:
        places = "place is" if tally.left == 1 else "places are"
        parts.append(f"{tally.left:,} {places} left for a person")
    if tally.failed:
        parts.append(f"{_files(tally.failed)} failed")
    return "; ".join(parts) + ".\n"


def _files(number: int) -> str:
    return f"{number:,} file{'' if number == 1 else 's'}"


def coloured(diff: str) -> str:
    """A diff with the colours of a terminal."""
    lines = []
    for line in diff.split("\n"):
        colour = "1" if line.startswith(("+++", "---")) else _COLOURS.get(line[:1])
        lines.append(f"\x1b[{colour}m{line}\x1b[0m" if colour else line)
    return "\n".join(lines)


def wants_colour(out: TextIO) -> bool:
    """Whether a stream is a terminal that shows colours to someone who wants them."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return out.isatty() and not plain


def listed(rules: Iterable[Rule]) -> list[str]:
    """One line for each rule."""
    return [
        f"{rule.code}  {'safe' if rule.safe else 'needs review':<12}  {rule.what}"
        for rule in rules
    ]


def explained(rule: Rule) -> list[str]:
    """A rule for a reader: what, why, before and after."""
    return [
        f"{rule.code}: {rule.what}",
        "",
        rule.why,
        "",
        "Safe." if rule.safe else "Needs review.",
        "",
        "Before:",
        *_indented(rule.before),
        "",
        "After:",
        *_indented(rule.after),
    ]


def _indented(text: str) -> list[str]:
    return [f"    {line}" if line else "" for line in text.rstrip("\n").split("\n")]


def rules_as_json(rules: Iterable[Rule]) -> str:
    """The same for programs."""
    described = [
        {name: getattr(rule, name) for name in rule.__slots__} for rule in rules
    ]
    return json.dumps({"schema": SCHEMA, "command": "codemod", "rules": described})


class Standing:
    """One line on a terminal's stderr that says how far it is, and steps aside."""

    def __init__(self, total: int, err: TextIO | None = None) -> None:
        self._total, self._err = total, err or sys.stderr
        self._shown = False

    def at(self, number: int) -> None:
        """Say how many are done."""
        self._err.write(f"\r\x1b[K{number:,} of {self._total:,} files")
        self._err.flush()
        self._shown = True

    def aside(self) -> None:
        """Make room for a line of the result."""
        if self._shown:
            self._err.write("\r\x1b[K")
            self._err.flush()
            self._shown = False
