"""Puts a new content into a file, or leaves it exactly as it was."""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import tempfile
from pathlib import Path

from holdover.migrate.codemod.outcome import Untouchable

_ANYBODY_WRITES = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


def digest(data: bytes) -> bytes:
    """What tells whether a file still holds these bytes."""
    return hashlib.sha256(data).digest()


def replace(path: str, data: bytes, *, was: bytes) -> None:
    """Write a file in one step, keeping its mode and, where allowed, its owner.

    A link stays a link. A file with several names keeps them all, so it is written
    in place; so is one in a folder that takes no new file.

    Args:
        path: The file.
        data: All it shall hold.
        was: The digest of what was read.

    Raises:
        Untouchable: It changed since, is read-only, or the disk refuses.
    """
    real = Path(os.path.realpath(path))
    try:
        about = real.stat()
        if not about.st_mode & _ANYBODY_WRITES or not os.access(real, os.W_OK):
            raise Untouchable("is read-only; not written")
        before = real.read_bytes()
        if digest(before) != was:
            raise Untouchable("changed in the meantime; not written, run again")
        if about.st_nlink > 1 or not os.access(real.parent, os.W_OK):
            _in_place(real, before, data)
        else:
            _beside(real, data, about)
    except OSError as error:
        raise Untouchable(f"cannot be written: {error.strerror}") from None


def _beside(real: Path, data: bytes, about: os.stat_result) -> None:
    handle, name = tempfile.mkstemp(prefix=".", suffix=".holdover", dir=real.parent)
    try:
        with open(handle, "wb") as file:  # noqa: PTH123 - a descriptor
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(OSError, AttributeError):
            os.chown(name, about.st_uid, about.st_gid)
        # After the owner, whose change takes bits away.
        Path(name).chmod(stat.S_IMODE(about.st_mode))
        Path(name).replace(real)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise


def _in_place(real: Path, before: bytes, data: bytes) -> None:
    with real.open("r+b") as file:
        try:
            _fill(file.fileno(), data)
        except BaseException:
            _fill(file.fileno(), before)
            raise


def _fill(handle: int, data: bytes) -> None:
    os.lseek(handle, 0, os.SEEK_SET)
    left = memoryview(data)
    while left:
        left = left[os.write(handle, left) :]
    os.ftruncate(handle, len(data))
    os.fsync(handle)
