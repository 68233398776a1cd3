"""What the rules make of one file, and of many at once."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, replace

from holdover.migrate.codemod import (
    cells,
    contents,
    diffs,
    notebooks,
    source,
    writing,
)
from holdover.migrate.codemod.files import package_of
from holdover.migrate.codemod.outcome import Failure, Outcome, Placed, Untouchable
from holdover.migrate.codemod.pool import Died, in_order

#: Fewer files than this are done sooner than other processes start.
FEW = 16
_MOST_JOBS = 16


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to do with each file.

    Attributes:
        codes: The rules to apply.
        diff: Give a diff for a reader.
        patch: Give a patch of the file's bytes.
        data: Give the new content.
    """

    codes: frozenset[str]
    diff: bool = False
    patch: bool = False
    data: bool = False


def examine(path: str, wanted: Wanted) -> Outcome:
    """What the rules make of a file. Writes nothing; a bad content is a failure."""
    return attempt(path, lambda: examine_bytes(path, contents.read(path), wanted))


def attempt(path: str, work: Callable[[], Outcome]) -> Outcome:
    """Do something with one file; whatever goes wrong with it is its failure."""
    try:
        return work()
    except Untouchable as error:
        return Outcome(path, failures=(Failure.of(error),))
    except MemoryError:
        raise  # and no matter of this file
    except Exception as error:  # noqa: BLE001 - the other files are to be done
        return Outcome(path, failures=(Failure.unforeseen(error),))


def examine_bytes(path: str, data: bytes, wanted: Wanted) -> Outcome:
    """Likewise of a content; the path says what it is, and is shown.

    Raises:
        Untouchable: It cannot be read as what it is, or not be rewritten.
    """
    package = package_of(path) if path != "-" else ""
    if path.endswith(".ipynb"):
        return _notebook(path, data, wanted, package)
    held = contents.decode(data)
    try:
        done = source.rewrite(
            held.text,
            codes=wanted.codes,
            module=package,
            stub=path.endswith(".pyi"),
        )
    except source.Unparsable as error:
        raise Untouchable(error.reason, line=error.line) from None
    findings = tuple(map(Placed, done.findings))
    if done.text == held.text:
        return Outcome(path, findings)
    diff = diffs.of_texts(path, held.text, done.text) if wanted.diff else ""
    return _changed(
        Outcome(path, findings, diff=diff), data, held.encoded(done.text), wanted
    )


def _notebook(path: str, data: bytes, wanted: Wanted, package: str) -> Outcome:
    held = contents.decode(data, declared=False)
    found = notebooks.cells_of(held.text)
    if not any(contents.mentioned_in_text(cell.text) for cell in found):
        return Outcome(path)
    done = cells.rewrite(
        [cell.text for cell in found], codes=wanted.codes, package=package
    )
    # Among all cells, as a reader counts them.
    numbers = [0, *(cell.number for cell in found)]
    outcome = Outcome(
        path,
        tuple(replace(one, cell=numbers[one.cell]) for one in done.findings),
        tuple(replace(one, cell=numbers[one.cell]) for one in done.failures),
    )
    changes = {
        cell: text
        for cell, text in zip(found, done.texts, strict=True)
        if text != cell.text
    }
    if not changes:
        return outcome
    text = notebooks.replaced(held.text, changes)
    if wanted.diff:
        diff = "".join(
            diffs.of_texts(f"{path}:cell {cell.number}", cell.text, new)
            for cell, new in changes.items()
        )
        outcome = replace(outcome, diff=diff)
    return _changed(outcome, data, held.encoded(text), wanted)


def _changed(outcome: Outcome, old: bytes, new: bytes, wanted: Wanted) -> Outcome:
    return replace(
        outcome,
        changed=True,
        patch=diffs.of_bytes(outcome.path, old, new) if wanted.patch else b"",
        data=new if wanted.data else None,
        digest=writing.digest(old),
    )


def examine_all(
    paths: Iterator[str], wanted: Wanted, *, jobs: int = 0
) -> Generator[Outcome]:
    """Examine many files, several at a time, and give them in the order they came.

    Files that cannot have anything to change are read, not parsed. However many there
    are, only a few are held at a time. A process that dies costs the file it was at.

    Args:
        paths: The files.
        wanted: What to give of each.
        jobs: Processes; 0 for as many as there are processors.
    """
    jobs = jobs or min(_processors(), _MOST_JOBS)
    listed = ((path, contents.mentions(path)) for path in paths)
    head = list(_until_many(listed))
    rest = next(listed, None)
    if jobs == 1 or rest is None:
        everything = itertools.chain(head, [rest] if rest else [], listed)
        for path, worth in everything:
            yield examine(path, wanted) if worth else Outcome(path)
        return
    for path, result in in_order(
        examine, itertools.chain(head, [rest], listed), wanted, jobs=jobs
    ):
        if isinstance(result, Died):
            yield Outcome(path, failures=(Failure("ended the process that parsed it"),))
        else:
            yield result or Outcome(path)


def _until_many(listed: Iterator[tuple[str, bool]]) -> Iterator[tuple[str, bool]]:
    worth = 0
    for path, worthy in listed:
        yield path, worthy
        worth += worthy
        if worth == FEW:
            return


def write(outcome: Outcome) -> Outcome:
    """Put the new content in its place; a refusal becomes a failure of the file."""
    if outcome.data is None:
        return outcome
    data = outcome.data

    def put() -> Outcome:
        writing.replace(outcome.path, data, was=outcome.digest)
        return replace(outcome, written=True, data=None)

    done = attempt(outcome.path, put)
    if done.written:
        return done
    return replace(outcome, failures=(*outcome.failures, *done.failures), data=None)


def _processors() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1
