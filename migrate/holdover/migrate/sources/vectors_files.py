"""What the vector stores in files share: paths, damage, the last part of an address."""

from __future__ import annotations

import errno
import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from holdover.compat.stores.address import redact_url
from holdover.migrate.errors import SourceDamaged, SourceNotFound, SourceUnavailable
from holdover.migrate.sources.json_values import BadJson

if TYPE_CHECKING:
    from collections.abc import Iterator


def shown(path: Path) -> str:
    """A path as it may be printed: it may look like a login."""
    return redact_url(str(path))


def damaged(path: Path, finding: str) -> SourceDamaged:
    """Say that a file's content is broken."""
    return SourceDamaged(
        f"{shown(path)} is damaged or incomplete: {finding}.",
        hint="Restore it from a backup.",
    )


def open_regular(path: Path) -> BinaryIO:
    """Open a file to read it; a pipe or a device is none, and might never end.

    Raises:
        OSError: It cannot be opened.
    """
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
    return path.open("rb")


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """Open a file to read it; what goes wrong within becomes a `SourceError`."""
    try:
        if not path.is_file():
            raise SourceNotFound(
                f"{shown(path)} is not a file.", hint="Check the path."
            )
        with path.open("rb") as file:
            yield file
    except OSError as error:
        reason = os.strerror(error.errno or 0).lower()
        raise SourceUnavailable(
            f"{shown(path)} cannot be read: {reason}.",
            hint="Check the permissions of the file and its folder.",
        ) from None
    except BadJson as error:
        raise damaged(path, str(error)) from None


def name_of(path: Path) -> str:
    """The name that a file or a folder has, whatever way leads there."""
    return Path(os.path.realpath(path)).name or "root"
