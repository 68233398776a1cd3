"""What a user is told once: of an argument that does nothing, of a choice made."""

from __future__ import annotations

import functools
import logging
import warnings
from collections.abc import Iterable

logger = logging.getLogger("holdover.compat")
_told: set[str] = set()


def warn_once(message: str, stacklevel: int = 3) -> None:
    """Warn of one thing once; by default at the caller of our caller."""
    if message not in _told:
        warnings.warn(message, stacklevel=stacklevel)
        _told.add(message)


def warn_of(unknown: Iterable[str], kind: type, stacklevel: int = 4) -> None:
    """Name arguments that do nothing, at the caller of the constructor."""
    if names := ", ".join(sorted(unknown)):
        warn_once(
            f"{kind.__name__} does not know the argument(s) {names}; ignored.",
            stacklevel=stacklevel,
        )


@functools.cache
def log_once(message: str, *arguments: str) -> None:
    """Log one thing once."""
    logger.warning(message, *arguments)
