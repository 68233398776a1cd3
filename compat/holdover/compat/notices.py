"""What a user is told once: of an argument that does nothing, of a choice made."""

from __future__ import annotations

import functools
import logging
import sys
import warnings
from collections.abc import Iterable

logger = logging.getLogger("holdover.compat")
_told: set[str] = set()
_LIBRARIES = ("holdover.", "langchain_core.", "langchain_classic.", "pydantic.")


def warn_once(message: str) -> None:
    """Warn of one thing once, at the user's line."""
    if message not in _told:
        warnings.warn(message, stacklevel=_users_level())
        _told.add(message)


def warn_of(unknown: Iterable[str], kind: type) -> None:
    """Name arguments that do nothing."""
    if names := ", ".join(sorted(unknown)):
        warn_once(f"{kind.__name__} does not know the argument(s) {names}; ignored.")


def _users_level() -> int:
    """The `stacklevel`, for our caller, of the innermost frame that is not a library's.

    A constructor is reached through pydantic, LangChain and several of our classes.
    """
    level, frame = 1, sys._getframe(1)  # noqa: SLF001 - `warnings` does the same
    while frame.f_back and frame.f_globals.get("__name__", "").startswith(_LIBRARIES):
        level, frame = level + 1, frame.f_back
    return level


@functools.cache
def log_once(message: str, *arguments: str) -> None:
    """Log one thing once."""
    logger.warning(message, *arguments)
