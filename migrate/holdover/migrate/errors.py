"""Errors of a migration; each knows the exit code it stands for."""

from __future__ import annotations

from holdover.compat.errors import HoldoverError


class MigrateError(HoldoverError):
    """Base of what stops a command."""

    code = "migrate"
    exit_code = 4


class UsageError(MigrateError):
    """The command cannot be carried out as it was given."""

    code = "usage"
    exit_code = 2


class SourceError(MigrateError):
    """A source cannot be read."""

    code = "source"


class SourceNotFound(SourceError):
    """No such file, folder or address, or not of a form we read."""

    code = "source-not-found"
    exit_code = 2


class SourceDamaged(SourceError):
    """The source is there but damaged: nothing is written."""

    code = "source-damaged"
    exit_code = 3


class SourceUnavailable(SourceError):
    """The source does not answer, is locked, or refuses the login."""

    code = "source-unavailable"


class TargetError(MigrateError):
    """The target refused or lost a write; the same command resumes."""

    code = "target"


class RunBusy(UsageError):
    """Another process holds the lease of this run."""

    code = "run-busy"


class RunNotFound(UsageError):
    """The target records no such run."""

    code = "run-not-found"


class PlanBlocked(MigrateError):
    """The plan has blockers; nothing was written."""

    code = "plan-blocked"
    exit_code = 3


class UnreadablePickle(SourceDamaged):
    """It is no pickle, or a damaged one.

    Attributes:
        at: The byte at which it could not be read on.
    """

    code = "unreadable-pickle"

    def __init__(self, at: int = 0, message: str = "", *, hint: str = "") -> None:
        super().__init__(
            message or f"It is no pickle, or it is damaged at byte {at:,}.",
            hint=hint or "`python -m pickletools FILE` shows what is in it.",
        )
        self.at = at


class PickleTooLarge(UnreadablePickle):
    """A pickle is larger than what is read, or unfolds into more than that."""

    code = "pickle-too-large"

    def __init__(self, at: int = 0) -> None:
        super().__init__(
            at,
            "The pickle unfolds into more than is read of one.",
            hint="Is it from somebody you trust? Split it, and repeat.",
        )
