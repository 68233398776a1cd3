"""The command as a whole: files in, outcomes shown, an exit code out."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass

from holdover.migrate.codemod import contents, files, running, showing, starting
from holdover.migrate.codemod.outcome import Failure, Outcome
from holdover.migrate.codemod.running import Wanted
from holdover.migrate.errors import UsageError

STDIN = "-"
_FAILED = 2
_INTERRUPTED = 130


@dataclass(frozen=True, slots=True)
class Request:
    """What the command line asked for.

    Attributes:
        paths: Files and folders.
        codes: The rules to apply.
        write: Change the files.
        check: Only name them.
        json: Tell it to a program.
        terminal: Stdout is one, with a reader before it.
        report: Of `holdover exec`, to start from.
        exclude: Globs of what to leave out.
        jobs: Processes; 0 for as many as fit.
    """

    paths: tuple[str, ...]
    codes: frozenset[str]
    write: bool = False
    check: bool = False
    json: bool = False
    terminal: bool = False
    report: str = ""
    exclude: tuple[str, ...] = ()
    jobs: int = 0

    @property
    def wanted(self) -> Wanted:
        """What each file is examined for."""
        shows = not (self.write or self.check or self.json)
        return Wanted(
            self.codes,
            diff=shows and self.terminal,
            patch=shows and not self.terminal,
            data=self.write,
        )


def page_for(request: Request, out: showing.Say, err: showing.Say) -> showing.Page:
    """How the outcomes of a request are shown."""
    if request.json:
        return showing.Document(out, err)
    if request.check:
        return showing.Pending(out, err, terminal=request.terminal)
    if request.write:
        return showing.Written(out, err, terminal=request.terminal)
    return showing.Diff(out, err, colour=showing.wants_colour(sys.stdout))


def codemod(request: Request, out: showing.Say, err: showing.Say) -> int:
    """Examine every file in turn, write it if asked, show it, and count.

    Raises:
        UsageError: The request cannot be carried out.
    """
    unlisted: list[Outcome] = []

    def complain(path: str, reason: str) -> None:
        unlisted.append(Outcome(path, failures=(Failure(reason),)))

    if request.write and request.check:
        raise UsageError("Give --write or --check, not both.")
    if STDIN in request.paths:
        return _filter(request, out, err)
    paths = _paths(request)
    found = files.find(paths, exclude=request.exclude, complain=complain)
    standing = None
    if sys.stderr.isatty():
        total = sum(1 for _ in files.find(paths, exclude=request.exclude))
        standing = showing.Standing(total)
        out, err = _aside(out, standing), _aside(err, standing)
    page = page_for(request, out, err)
    tally = showing.Tally()
    outcomes = running.examine_all(found, request.wanted, jobs=request.jobs)
    try:
        with closing(outcomes):
            for outcome in outcomes:
                shown = running.write(outcome) if request.write else outcome
                tally.add(shown)
                page.show(shown)
                if standing:
                    standing.at(tally.files)
    except BaseException as error:
        # What was told so far stays JSON, unless nobody can be told.
        if isinstance(page, showing.Document) and not isinstance(error, OSError):
            interrupted = isinstance(error, KeyboardInterrupt)
            page.close(tally, _INTERRUPTED if interrupted else _FAILED)
        raise
    finally:
        if standing:
            standing.aside()
    for outcome in unlisted:
        tally.add(outcome)
        tally.files -= 1
        page.show(outcome)
    page.end(tally)
    return tally.exit_code


def _paths(request: Request) -> Sequence[str]:
    if not request.report:
        if not request.paths:
            raise UsageError("Give files or folders, for example: holdover codemod src")
        return request.paths
    files.refuse_missing(request.paths)
    return starting.files_of(request.report, request.paths)


def _aside(say: showing.Say, standing: showing.Standing) -> showing.Say:
    def step_aside_and_say(text: str | bytes) -> None:
        standing.aside()
        say(text)

    return step_aside_and_say


def _filter(request: Request, out: showing.Say, err: showing.Say) -> int:
    """Stdin to stdout: rewritten, or as it was. A patch of it would serve nobody."""
    if request.paths != (STDIN,) or request.report or request.write:
        raise UsageError("- stands alone, and without --write: stdin goes to stdout.")
    data = sys.stdin.buffer.read()
    wanted = Wanted(request.codes, data=True)
    outcome = Outcome(STDIN)
    if contents.mentioned_in(data):
        outcome = running.attempt(
            STDIN, lambda: running.examine_bytes(STDIN, data, wanted)
        )
    tally = showing.Tally()
    tally.add(outcome)
    if request.check or request.json:
        page = page_for(request, out, err)
        page.show(outcome)
        page.end(tally)
        return tally.exit_code
    showing.tell(outcome, err)
    sys.stdout.flush()
    sys.stdout.buffer.write(data if outcome.data is None else outcome.data)
    return tally.exit_code
