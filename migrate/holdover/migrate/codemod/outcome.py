"""What became of one file."""

from __future__ import annotations

from dataclasses import dataclass

from holdover.migrate.codemod.findings import Finding
from holdover.migrate.errors import MigrateError

_MOST_SAID = 200


class Untouchable(MigrateError):
    """A file is left as it is, for a reason its owner should know.

    Attributes:
        line: Where the reason stands, from 1; 0 when it has no place.
        cell: Likewise the cell of a notebook.
        reason: One short phrase.
    """

    code = "untouchable"
    exit_code = 2

    def __init__(self, reason: str, *, line: int = 0, cell: int = 0) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line
        self.cell = cell


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a file, or one cell of it, could not be dealt with."""

    reason: str
    line: int = 0
    cell: int = 0

    @classmethod
    def of(cls, error: Untouchable) -> Failure:
        """The failure that an error tells of."""
        return cls(error.reason, error.line, error.cell)

    @classmethod
    def unforeseen(cls, error: Exception) -> Failure:
        """One that only a mistake of ours explains."""
        said = " ".join(str(error).split())[:_MOST_SAID]
        about = ": ".join(part for part in (type(error).__name__, said) if part)
        return cls(f"could not be dealt with, please report it ({about})")


@dataclass(frozen=True, slots=True)
class Placed:
    """A finding, and in which cell of a notebook it stands (from 1; 0 in a file)."""

    finding: Finding
    cell: int = 0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was found in a file, and what it would be.

    Attributes:
        path: The file, as it is shown.
        findings: In the order of the source.
        failures: What could not be read or parsed; the rest is still dealt with.
        changed: The rewritten text is another.
        data: The whole new content, if it was asked for and differs.
        digest: Of the bytes that were read.
        diff: For a reader, if it was asked for.
        patch: For `patch`, if it was asked for.
        written: The new content is in the file.
    """

    path: str
    findings: tuple[Placed, ...] = ()
    failures: tuple[Failure, ...] = ()
    changed: bool = False
    data: bytes | None = None
    digest: bytes = b""
    diff: str = ""
    patch: bytes = b""
    written: bool = False

    @property
    def open_findings(self) -> tuple[Placed, ...]:
        """What is left for a person."""
        return tuple(one for one in self.findings if not one.finding.fixed)

    @property
    def nothing_to_say(self) -> bool:
        """Whether there is nothing to change, to decide or to complain about."""
        return not (self.findings or self.failures or self.changed)
