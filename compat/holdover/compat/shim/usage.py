"""Which old names ran, from which line: warned of once, and reported."""

from __future__ import annotations

import json
import os
import sys
import threading
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from types import FrameType
from typing import Any

from holdover.compat.errors import HoldoverError
from holdover.compat.shim.entries import Answer, Kind, in_classic
from holdover.compat.shim.resolving import said_of

__all__ = [
    "JOURNAL",
    "MODE",
    "LegacyImportWarning",
    "Mode",
    "Report",
    "UnknownMode",
    "Use",
    "begin",
    "mode_of",
    "note",
    "note_star",
    "read_journal",
    "report",
]

#: The environment variables of what a legacy import does, and of where it is noted.
MODE = "HOLDOVER_SHIM"
JOURNAL = "HOLDOVER_SHIM_REPORT"
_VERSION = 1
_STAR = "import the names you use, each from its place"
_STDLIB = os.path.dirname(warnings.__file__) + os.sep  # noqa: PTH120
#: Files whose lines are never the user's: they import or look up for others.
_BETWEEN = (
    "<frozen importlib",
    str(Path(__file__).parent) + os.sep,
    *(
        os.path.join(_STDLIB, *name.split("/"))  # noqa: PTH118
        for name in (
            *("importlib/", "inspect.py", "pickle.py", "pkgutil.py", "pydoc.py"),
            "unittest/mock.py",
        )
    ),
)
_BETWEEN_ENDS = (
    os.path.join("_pytest", "monkeypatch.py"),  # noqa: PTH118
    os.path.join("langchain_classic", "_api", "module_import.py"),  # noqa: PTH118
    os.path.join("langchain", "_api", "module_import.py"),  # noqa: PTH118
)


class LegacyImportWarning(UserWarning):
    """An import path of LangChain before 1.0 was used; the message says what to write.

    A `UserWarning`, since Python shows those of every module by default.
    """


class UnknownMode(HoldoverError, ValueError):
    """`HOLDOVER_SHIM` is none of its three values."""

    code = "unknown-mode"


class Mode(StrEnum):
    """What a legacy import does, besides working."""

    ONCE = "once"
    ERROR = "error"
    SILENT = "silent"


@dataclass(frozen=True, slots=True)
class Use:
    """One old name, used by one line.

    Attributes:
        old: The old dotted path; it ends in `.*` for a star import.
        new: Where it is now; empty if it was removed.
        code: The code of the codemod's rule; see `holdover codemod --explain CODE`.
        file: The file of the line, as Python knows it.
        line: Its number, from 1.
        kind: `moved`, `forwarded` or `removed`.
        why: Of a removed name, the reason.
    """

    old: str
    new: str
    code: str
    file: str
    line: int
    kind: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """What ran under the shim, in the order it was first used."""

    uses: tuple[Use, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return {"version": _VERSION, "uses": [asdict(use) for use in self.uses]}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Report:
        """Read what `as_dict` gave.

        Raises:
            ValueError: It is something else, or of a later version.
        """
        if data.get("version") != _VERSION or not isinstance(data.get("uses"), list):
            raise ValueError("This is no report of the shim.")
        try:
            return cls(tuple(Use(**use) for use in data["uses"]))
        except TypeError as error:
            raise ValueError("This is no report of the shim.") from error

    def text(self) -> str:
        """The report as lines to read, by file."""
        if not self.uses:
            return "No old import path was used.\n"
        lines = []
        for file in dict.fromkeys(use.file for use in self.uses):
            lines.append(file)
            of_file = [use for use in self.uses if use.file == file]
            lines += [_line(use) for use in sorted(of_file, key=lambda use: use.line)]
        removed = sum(use.kind == "removed" for use in self.uses)
        files = len({use.file for use in self.uses})
        total = (
            f"{_count(len(self.uses), 'use')} of old paths in {_count(files, 'file')}"
        )
        lines.append(f"{total}, {removed} of them removed.")
        return "\n".join(lines) + "\n"


def _line(use: Use) -> str:
    now = use.new or f"removed. {use.why}".rstrip()
    if use.old.endswith(".*"):
        now = _STAR
    return f"  {use.line}: {use.code} {use.old} -> {now}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


class _Seen:
    """What this process used so far."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.clear()

    def clear(self) -> None:
        self.uses: dict[tuple[str, str, int], Use] = {}
        self.noted: set[tuple[str, str, str, int]] = set()
        self.warned: set[tuple[str, int]] = set()
        self.starred: set[tuple[str, str, int]] = set()
        self.mode = Mode.ONCE


_seen = _Seen()


def mode_of(environment: Mapping[str, str]) -> Mode:
    """What `HOLDOVER_SHIM` asks for; `once` without it.

    Raises:
        UnknownMode: It is none of the three words.
    """
    word = environment.get(MODE, "").strip().lower() or Mode.ONCE
    try:
        return Mode(word)
    except ValueError:
        raise UnknownMode(
            f"{MODE} is {word!r}.", hint="Set it to error, once or silent."
        ) from None


def begin() -> None:
    """Forget what was used, and read the environment again."""
    mode = mode_of(os.environ)
    if journal := os.environ.get(JOURNAL):
        # The program and its children may go to other folders.
        os.environ[JOURNAL] = str(Path(journal).absolute())
    with _seen.lock:
        _seen.clear()
        _seen.mode = mode


def report() -> Report:
    """Which old names this process used since the shim was installed."""
    with _seen.lock:
        return Report(tuple(_seen.uses.values()))


def note(module: str, name: str, found: Answer | None) -> None:
    """Keep that a line used an old name, and warn of the line once.

    Raises:
        LegacyImportWarning: `HOLDOVER_SHIM` is `error`.
    """
    frame = _user_frame()
    file, line = frame.f_code.co_filename, frame.f_lineno
    known = (module, name, file, line)
    if known in _seen.noted:
        return
    old, code = f"{module}.{name}", found.code if found else "HO204"
    if (module, file, line) not in _seen.starred:
        kind = found.kind.value if found else Kind.FORWARDED.value
        new = found.path if found else f"{in_classic(module)}.{name}"
        _keep(Use(old, new, code, file, line, kind, found.why if found else ""))
    _warn(frame, old, code, said_of(module, name, found))
    _seen.noted.add(known)


def note_star(module: str) -> None:
    """Keep that a line took all names of an old module."""
    frame = _user_frame()
    file, line = frame.f_code.co_filename, frame.f_lineno
    _seen.starred.add((module, file, line))
    _keep(Use(f"{module}.*", "", "HO402", file, line, Kind.FORWARDED.value))
    _warn(frame, f"{module}.*", "HO402", _STAR)


def _keep(use: Use) -> None:
    key = (use.old, use.file, use.line)
    with _seen.lock:
        if key in _seen.uses:
            return
        _seen.uses[key] = use
    journal = os.environ.get(JOURNAL)
    if journal:
        _append(journal, use)


def _append(journal: str, use: Use) -> None:
    """Write one line at once, so that processes share the file and may be killed."""
    text = json.dumps(asdict(use)) + "\n"
    try:
        # A pipe that nobody reads is an error, and does not stop the program.
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NONBLOCK", 0)
        handle = os.open(journal, flags, 0o600)
        try:
            os.write(handle, text.encode())
        finally:
            os.close(handle)
    except OSError as error:
        # An application must not fail for its report; it says so once instead.
        os.environ.pop(JOURNAL, None)
        sys.stderr.write(f"holdover: cannot write {JOURNAL}={journal}: {error}\n")


def _warn(frame: FrameType, old: str, code: str, said: str) -> None:
    message = f"{code} {old} is an old import path; {said}"
    if _seen.mode is Mode.ERROR:
        raise LegacyImportWarning(message)
    place = (frame.f_code.co_filename, frame.f_lineno)
    with _seen.lock:
        if place in _seen.warned or _seen.mode is Mode.SILENT:
            return
    warnings.warn_explicit(
        message,
        LegacyImportWarning,
        *place,
        module=frame.f_globals.get("__name__", "<unknown>"),
        registry=frame.f_globals.setdefault("__warningregistry__", {}),
    )
    # Only now: where warnings are errors, the line is to fail every time.
    with _seen.lock:
        _seen.warned.add(place)


def _user_frame() -> FrameType:
    """The innermost frame that is not part of how imports work."""
    frame = sys._getframe(1)  # noqa: SLF001
    while frame.f_back is not None and _is_between(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def _is_between(file: str) -> bool:
    return file.startswith(_BETWEEN) or file.endswith(_BETWEEN_ENDS)


def read_journal(lines: Iterable[str]) -> Report:
    """The uses that processes wrote, each once; a line cut short by a kill is left."""
    uses: dict[tuple[str, str, int], Use] = {}
    for line in lines:
        try:
            use = Use(**json.loads(line))
            uses.setdefault((use.old, use.file, use.line), use)
        except (ValueError, TypeError):
            continue
    return Report(tuple(uses.values()))
