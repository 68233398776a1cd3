"""Runs a program with the old imports working, and reports what it used of them.

The program is run by an interpreter of its own, never inside this one: then its
`__main__`, its tracebacks, its exit code and the processes it starts are what Python
makes of them. A folder in `PYTHONPATH` installs the shim in each of these processes
as it starts.

Without a report nothing has to happen afterwards, so the interpreter takes this
process's place, with its number, terminal and signals. With one, this process waits:
the report is written however the program ends, also when it is killed. Each process
under the shim notes what it uses in a file as it goes, and the report is made of that.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdover.migrate.errors import UsageError

if TYPE_CHECKING:
    from types import FrameType

    from holdover.compat.shim import Report

_BY_SIGNAL = 128
#: What a terminal sends to all its processes at once.
_OF_TERMINAL = ("SIGINT", "SIGQUIT")
_FORWARDED = ("SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2")


@dataclass(frozen=True, slots=True)
class Program:
    """What to run.

    Attributes:
        name: A path, `-` for stdin, the name of a module, or code.
        arguments: All its own.
        kind: `script`, `module` or `code`.
    """

    name: str
    arguments: tuple[str, ...] = ()
    kind: str = "script"

    def command(self) -> list[str]:
        """The words that run it."""
        option = {"module": ["-m"], "code": ["-c"]}.get(self.kind, [])
        return [sys.executable, *option, self.name, *self.arguments]

    @property
    def shown(self) -> str:
        """What it is called in a report; arguments and code may hold secrets."""
        if self.kind == "code":
            return "-c"
        return f"-m {self.name}" if self.kind == "module" else self.name

    def check(self) -> None:
        """Refuse a script that is not there.

        Raises:
            UsageError: Nothing was run.
        """
        if self.kind != "script" or self.name == "-":
            return
        path = Path(self.name)
        if not path.exists():
            raise UsageError(f"{self.name}: no such script.")
        if path.is_dir() and not (path / "__main__.py").is_file():
            raise UsageError(f"{self.name}: a folder without __main__.py.")


def environment(
    *, override: bool = False, quiet: bool = False, journal: str = ""
) -> dict[str, str]:
    """What tells an interpreter, and all it starts, to install the shim.

    Args:
        override: Also put our classes in the place of classic ones.
        quiet: No warnings, unless the caller's environment asks for errors.
        journal: Where processes note what they use.
    """
    from holdover.compat import shim  # noqa: PLC0415 - not needed for a help text

    variables = dict(os.environ)
    # An empty entry would mean the working folder.
    inherited = variables.get("PYTHONPATH", "").split(os.pathsep)
    paths = dict.fromkeys([shim.startup_path(), *filter(None, inherited)])
    variables["PYTHONPATH"] = os.pathsep.join(paths)
    if override:
        variables["HOLDOVER_SHIM_OVERRIDE"] = "1"
    if quiet:
        variables.setdefault("HOLDOVER_SHIM", "silent")
    if journal:
        variables["HOLDOVER_SHIM_REPORT"] = journal
    return variables


def execute(program: Program, *, override: bool = False, quiet: bool = False) -> int:
    """Run a program in the place of this process, where the system can.

    Raises:
        UsageError: There is no such script.
    """
    program.check()
    variables = environment(override=override, quiet=quiet)
    sys.stdout.flush()
    sys.stderr.flush()
    if os.name == "posix":
        os.execve(sys.executable, program.command(), variables)  # noqa: S606
    return _exit_code(_wait_for(program.command(), variables))


@dataclass(frozen=True, slots=True)
class Executed:
    """How a program ended, and what it used.

    Attributes:
        exit_code: Its own; 128 and the number of the signal that ended it.
        uses: How many old names it used, each line of the program counted.
        files: In how many files these lines are.
        text: Where the report for a reader is.
        json: Where that for programs is.
    """

    exit_code: int
    uses: int
    files: int
    text: str
    json: str

    @property
    def summary(self) -> str:
        """One line to close with."""
        if not self.uses:
            return f"no old import path ran; see {self.text}."
        return (
            f"{_number(self.uses, 'use')} of old import paths in "
            f"{_number(self.files, 'file')}; see {self.text}. "
            f"Next: {_next_command(self.json)}"
        )


def _number(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _next_command(document: str) -> str:
    return shlex.join(["holdover", "codemod", "--from-report", document])


def execute_and_report(
    program: Program, report: str, *, override: bool = False, quiet: bool = False
) -> Executed:
    """Run a program as a child, and write what it used when it is over.

    Args:
        program: What to run.
        report: The file to write: JSON if it ends in `.json`, else text. The other
            of the two is written beside it, with the other suffix.
        override: Also put our classes in the place of classic ones.
        quiet: No warnings.

    Raises:
        UsageError: There is no such script, or the report could not be written.
    """
    program.check()
    text, document = both_of(report)
    for file in (text, document):
        _refuse_unwritable(file)
    with tempfile.TemporaryDirectory(prefix="holdover-exec-") as folder:
        journal = Path(folder) / "uses.jsonl"
        variables = environment(override=override, quiet=quiet, journal=str(journal))
        here = Path.cwd()
        exit_code = _exit_code(_wait_for(program.command(), variables))
        found = _collected(journal, here)
        _pass_on(journal)
    _write(text, _as_text(found, program, exit_code, document))
    about = {"program": program.shown, "exit_code": exit_code}
    _write(document, json.dumps({**found.as_dict(), **about}, indent=2) + "\n")
    files = {use.file for use in found.uses}
    return Executed(exit_code, len(found.uses), len(files), str(text), str(document))


def both_of(report: str) -> tuple[Path, Path]:
    """Where the text and where the JSON of a report go."""
    path = Path(report)
    if path.suffix.lower() == ".json":
        return path.with_suffix(".txt"), path
    return path, path.with_suffix(".json")


def _refuse_unwritable(file: Path) -> None:
    folder = file.parent
    if not folder.is_dir():
        raise UsageError(f"--report {file}: there is no folder {folder}.")
    if file.is_dir():
        raise UsageError(f"--report {file}: that is a folder.")
    if not os.access(file if file.exists() else folder, os.W_OK):
        raise UsageError(f"--report {file}: cannot be written.")


def _write(file: Path, text: str) -> None:
    # Programs may change where they are, but not where we are.
    try:
        file.write_text(text, "utf-8", errors="backslashreplace")
    except OSError as error:
        message = f"--report {file}: cannot be written: {error.strerror}."
        raise UsageError(message) from None


def _wait_for(command: Sequence[str], variables: Mapping[str, str]) -> int:
    """Run a child until it ends; what ends us is passed on to it."""
    child: subprocess.Popen[bytes] | None = None
    early: list[int] = []

    def forward(number: int, _: FrameType | None) -> None:
        if signal.Signals(number).name in _OF_TERMINAL and _in_foreground():
            return
        if child is None:
            early.append(number)
        else:
            child.send_signal(number)

    with _handled(forward):
        # A handler, unlike "ignored", is not inherited by the child.
        child = subprocess.Popen(command, env=variables)  # noqa: S603 - the user's own
        for number in early:
            child.send_signal(number)
        return child.wait()


@contextlib.contextmanager
def _handled(forward: Any) -> Iterator[None]:
    before: dict[int, Any] = {}
    for name in (*_OF_TERMINAL, *_FORWARDED):
        number = getattr(signal, name, None)  # each system has its own
        # Who runs us with a signal ignored (nohup) means the program, too.
        if number and signal.getsignal(number) is not signal.SIG_IGN:
            before[number] = signal.signal(number, forward)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _in_foreground() -> bool:
    """Whether Ctrl-C on a terminal reaches the child by itself, as it reached us."""
    try:
        with Path("/dev/tty").open("rb", buffering=0) as terminal:
            return os.tcgetpgrp(terminal.fileno()) == os.getpgrp()
    except (OSError, AttributeError):
        return os.name != "posix"


def _exit_code(returned: int) -> int:
    return _BY_SIGNAL - returned if returned < 0 else returned


def _collected(journal: Path, here: Path) -> Report:
    """The uses of all processes together, each once, by file and line."""
    from holdover.compat.shim import Report, Use  # noqa: PLC0415 - see `environment`

    uses: dict[tuple[str, int, str], Use] = {}
    if journal.exists():
        for line in journal.read_text("utf-8", errors="replace").splitlines():
            # A process that was killed may have left half a line.
            with contextlib.suppress(ValueError, TypeError):
                use = Use(**json.loads(line))
                if not use.file.startswith("<"):  # else it is no file
                    use = replace(use, file=str(here / use.file))
                uses.setdefault((use.file, use.line, use.old), use)
    return Report(tuple(uses[key] for key in sorted(uses)))


def _pass_on(journal: Path) -> None:
    """Tell whoever runs us under the shim, and collects what it used, too."""
    outer = os.environ.get("HOLDOVER_SHIM_REPORT")
    if outer and journal.exists():
        with contextlib.suppress(OSError), Path(outer).open("ab") as file:
            file.write(journal.read_bytes())


def _as_text(found: Report, program: Program, exit_code: int, document: Path) -> str:
    lines = [
        f"Old import paths that ran in {program.shown} (exit code {exit_code}):",
        "",
        found.text().rstrip("\n"),
    ]
    if found.uses:
        lines += ["", f"Next: {_next_command(str(document))}"]
    return "\n".join(lines) + "\n"
