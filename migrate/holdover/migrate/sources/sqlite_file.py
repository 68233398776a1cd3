"""Opens a SQLite file so that reading it leaves no trace.

A file is read where it lies when SQLite can do that without writing beside it. Else
(a hot journal; write-ahead logging without its `-shm` or `-wal`, which SQLite would
create) it is copied with its companions to a temporary folder and recovered there.
"""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import stat
import sys
import tempfile
import time
import weakref
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from holdover.compat.stores.address import redact_url
from holdover.migrate.errors import (
    SourceDamaged,
    SourceError,
    SourceNotFound,
    SourceUnavailable,
)

if TYPE_CHECKING:
    from collections.abc import Callable

_MAGIC = b"SQLite format 3\x00"
_HEADER = 100
_WAL_VERSION = b"\x02\x02"  # header bytes 18 and 19
_COPY_TRIES = 5
_PAUSE = 0.05
# Where SQLite's Unix locks lie: a reader holds a shared lock on this range.
_SHARED_FIRST, _SHARED_SIZE = 0x40000002, 510

_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_NOT_IN_PLACE = {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN}
_LOCKED = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
# What these findings tell is no damage but a broken rule of another application.
_RULE_BROKEN = re.compile(r"CHECK constraint|NULL value|[\w-]+ value in ")
_NO_TRACE = "mode=ro&readonly_shm=1"  # without readonly_shm a -shm is created


def source_error(error: sqlite3.Error, path: Path) -> SourceError:
    """Say in one sentence what SQLite's error means for the file at `path`."""
    primary = _primary(error)
    name = getattr(error, "sqlite_errorname", type(error).__name__)
    if primary in _DAMAGED or name == "SQLITE_IOERR_SHORT_READ":
        return damaged(path, name)
    if primary in _LOCKED:
        return locked(path)
    if primary == sqlite3.SQLITE_FULL:
        return SourceUnavailable(
            f"{_shown(path)} cannot be read: the disk is full.",
            hint="Free some space, or set TMPDIR to another disk.",
        )
    return SourceUnavailable(
        f"{_shown(path)} cannot be read ({name}).",
        hint="Check the permissions of the file and its folder.",
    )


def damaged(path: Path, finding: str) -> SourceDamaged:
    """Say that a file's content is broken."""
    return SourceDamaged(
        f"{_shown(path)} is damaged or incomplete ({finding}).",
        hint="Restore it from a backup, or recover it with `sqlite3 FILE .recover`.",
    )


def locked(path: Path) -> SourceUnavailable:
    """Say that another process keeps readers out."""
    return SourceUnavailable(
        f"{_shown(path)} is locked: another process holds an exclusive lock on it.",
        hint="Stop that process or let it finish its transaction, then run again.",
    )


def is_damaged(connection: sqlite3.Connection, check: str) -> bool | None:
    """Run one of SQLite's checks; `None` if it cannot be made."""
    try:
        findings = connection.execute(check).fetchall()
    except sqlite3.Error as error:
        # Another application's table wants a collation or module we do not have.
        if _primary(error) != sqlite3.SQLITE_ERROR:
            raise
        return None
    return any(
        finding != "ok" and not _RULE_BROKEN.match(finding) for (finding,) in findings
    )


class SqliteFile:
    """A SQLite file, opened at the first use of `connection`."""

    def __init__(self, path: Path, *, timeout: float = 30.0) -> None:
        self.path = path
        self.copied = False
        self.empty = False
        #: The header says write-ahead logging, and there is no -wal file.
        self.wal_missing = False
        self._timeout = timeout
        self._connection: sqlite3.Connection | None = None
        self._discard: Callable[[], object] = lambda: None

    @property
    def connection(self) -> sqlite3.Connection:
        """The open file, in autocommit mode; raises a `SourceError`."""
        if self._connection is None:
            self._connection = self._open()
        return self._connection

    def notes(self) -> list[str]:
        """What a reader of any result has to know of how the file was opened."""
        notes = []
        if self.empty:
            notes.append("0 bytes: an empty database; nothing found.")
        if self.wal_missing:
            notes.append(
                "The file uses write-ahead logging and has no -wal file beside it: if"
                " it was copied while in use, a -wal file may have been left behind"
                " with the latest changes."
            )
        if self.copied:
            notes.append(
                "Read from a temporary copy, so that nothing beside it changes."
            )
        return notes

    def close(self) -> None:
        """Close the file and remove its copy."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        self._discard()

    def _open(self) -> sqlite3.Connection:
        # The companions of a symbolic link lie beside what it points to.
        real = Path(os.path.realpath(self.path))
        header = self._header(real)
        if header and header[:16] != _MAGIC[: len(header)]:
            raise SourceNotFound(
                f"{_shown(self.path)} is not a SQLite database.",
                hint="If it is encrypted, decrypt a copy of it first.",
            )
        self.empty = not header
        self._check_companions(real)
        wal = _beside(real, "-wal").exists()
        logged = header[18:20] == _WAL_VERSION
        self.wal_missing = logged and not wal
        # Write-ahead logging without a -wal: SQLite would make one. An empty file with
        # a companion: it would be taken for the remains of another.
        in_place = wal or not logged
        if self.empty:
            in_place = not wal and not _beside(real, "-journal").exists()
        if in_place:
            try:
                return self._connect(real, _NO_TRACE)
            except sqlite3.Error as error:
                if _primary(error) not in _NOT_IN_PLACE:
                    raise source_error(error, self.path) from None
        return self._open_copy(real)

    def _header(self, real: Path) -> bytes:
        try:
            if not stat.S_ISREG(real.stat().st_mode):
                raise SourceNotFound(
                    f"{_shown(self.path)} is not a file.",
                    hint="Name a SQLite database file.",
                )
            # Closing this drops locks that this process holds on the file, so it
            # comes before SQLite opens it, never after.
            with real.open("rb") as file:
                return file.read(_HEADER)
        except FileNotFoundError:
            raise SourceNotFound(
                f"{_shown(self.path)} does not exist.", hint="Check the path."
            ) from None
        except OSError as error:
            raise self._unreadable(error) from None

    def _check_companions(self, real: Path) -> None:
        """Refuse what SQLite would wait for, or read without end."""
        for suffix in ("-wal", "-journal", "-shm"):
            beside = _beside(real, suffix)
            if beside.exists() and not beside.is_file():
                raise SourceUnavailable(
                    f"{_shown(self.path)} has {suffix} beside it, which is not a file.",
                    hint="Remove what lies there: SQLite did not put it there.",
                )

    def _unreadable(self, error: OSError) -> SourceUnavailable:
        reason = os.strerror(error.errno or 0).lower()
        return SourceUnavailable(
            f"{_shown(self.path)} cannot be read: {reason}.",
            hint="Check the permissions of the file and its folder, and free disk.",
        )

    def _connect(self, file: Path, parameters: str) -> sqlite3.Connection:
        connection = sqlite3.connect(
            f"{file.as_uri()}?{parameters}",
            uri=True,
            timeout=self._timeout,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            # The first look takes the locks and finds a hot journal.
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except UnicodeDecodeError:
            # What SQLite says of a broken schema quotes it.
            connection.close()
            raise damaged(self.path, "its schema cannot be read") from None
        except BaseException:
            connection.close()
            raise
        return connection

    def _open_copy(self, real: Path) -> sqlite3.Connection:
        try:
            folder = Path(tempfile.mkdtemp(prefix="holdover-"))
        except OSError as error:
            raise self._unreadable(error) from None
        # Also where nobody closes the source, or the process ends.
        self._discard = weakref.finalize(self, shutil.rmtree, folder, True)  # noqa: FBT003 - ignore_errors
        copy = folder / "source.db"
        with ExitStack() as undo:
            undo.callback(self._discard)
            try:
                self._copy(real, copy)
                connection = self._connect(copy, "mode=rw")
                undo.callback(connection.close)
                connection.execute("PRAGMA query_only=1")
                broken = is_damaged(connection, "PRAGMA quick_check")
            except OSError as error:
                raise self._unreadable(error) from None
            except sqlite3.Error as error:
                raise source_error(error, self.path) from None
            if broken:
                raise damaged(self.path, "its copy fails the check of SQLite")
            undo.pop_all()
        self.copied = True
        return connection

    def _copy(self, real: Path, copy: Path) -> None:
        """Copy a file and what a recovery needs, all of one moment."""
        deadline = time.monotonic() + self._timeout
        for _ in range(_COPY_TRIES):
            before = _state(real)
            with real.open("rb") as source:
                while not _share(source):
                    if time.monotonic() >= deadline:
                        raise locked(self.path)
                    time.sleep(_PAUSE)
                # Through this handle: closing another one would drop the lock.
                with copy.open("wb") as target:
                    shutil.copyfileobj(source, target, 1 << 20)
                # The -shm is left out: SQLite makes it anew from the -wal.
                for suffix in ("-wal", "-journal"):
                    _beside(copy, suffix).unlink(missing_ok=True)
                    with suppress(FileNotFoundError):
                        shutil.copyfile(_beside(real, suffix), _beside(copy, suffix))
            if _state(real) == before:
                return
            time.sleep(_PAUSE)
        raise SourceUnavailable(
            f"{_shown(self.path)} keeps changing while it is copied.",
            hint="Stop the application that writes to it, then run again.",
        )


def _shown(path: Path) -> str:
    return redact_url(str(path))


def _primary(error: sqlite3.Error) -> int:
    code: int = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
    return code & 0xFF


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def _state(path: Path) -> list[tuple[int, int, int] | None]:
    """Describe a file and its companions so that any write between shows."""
    states: list[tuple[int, int, int] | None] = []
    for suffix in ("", "-wal", "-journal"):
        try:
            status = _beside(path, suffix).stat()
        except FileNotFoundError:
            states.append(None)
        else:
            states.append((status.st_ino, status.st_size, status.st_mtime_ns))
    return states


if sys.platform == "win32":

    def _share(_file: BinaryIO) -> bool:
        return True  # an exclusive lock makes the read itself fail

else:
    import fcntl

    def _share(file: BinaryIO) -> bool:
        """Take a reader's lock, which keeps a rollback writer from the pages."""
        try:
            fcntl.lockf(
                file, fcntl.LOCK_SH | fcntl.LOCK_NB, _SHARED_SIZE, _SHARED_FIRST
            )
        except BlockingIOError:
            return False
        except PermissionError:  # what some systems say instead
            return False
        return True
