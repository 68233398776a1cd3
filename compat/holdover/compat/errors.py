"""Errors a caller can act on: a stable `code`, a sentence, and a hint."""

from __future__ import annotations


class HoldoverError(Exception):
    """Base of every error raised on purpose.

    Attributes:
        code: Stable, for programs.
        hint: What to do about it; may be empty.
    """

    code = "holdover"

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint

    def __str__(self) -> str:  # noqa: D105 - what print shows
        message = super().__str__()
        return f"{message} {self.hint}" if self.hint else message


class InvalidScope(HoldoverError, ValueError):
    """A scope or label cannot be turned into a namespace."""

    code = "invalid-scope"


class UnportableValue(HoldoverError, ValueError):
    """A value cannot be stored so that every backend gives it back.

    Attributes:
        path: Where in the content it stands, dotted.
    """

    code = "unportable-value"

    def __init__(self, message: str, *, path: str = "", hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.path = path


class AddressError(HoldoverError, ValueError):
    """An address (path, URL, `module:factory`, `env:NAME`) is not usable."""

    code = "address"


class StoreUnavailable(HoldoverError):
    """A store cannot be reached, refuses the login, or stopped answering."""

    code = "store-unavailable"


class StoreUnsuitable(HoldoverError):
    """A store would lose or mix data; `property` names what it gets wrong."""

    code = "store-unsuitable"

    def __init__(
        self, message: str, *, failed: tuple[str, ...] = (), hint: str = ""
    ) -> None:
        super().__init__(message, hint=hint)
        self.failed = failed


class MissingDependency(HoldoverError, ImportError):
    """An optional package is needed; the hint is the command that installs it."""

    code = "missing-dependency"


class SyncUseOfAsyncStore(HoldoverError, RuntimeError):
    """An async-only store was used synchronously from its own event loop."""

    code = "sync-use-of-async-store"


class Forgotten(HoldoverError):
    """What was forgotten cannot be restored."""

    code = "forgotten"


class RevisionNotFound(HoldoverError, KeyError):
    """The journal holds no such revision."""

    code = "revision-not-found"


class IndexRequired(HoldoverError, ValueError):
    """A search by meaning needs a store that was opened with an index."""

    code = "index-required"


class RetrieverReadOnly(HoldoverError, TypeError):
    """A retriever has no way to add documents, and no writer was given."""

    code = "retriever-read-only"
