"""Targets: where records go, opened for writing or only for reading."""

from __future__ import annotations

import os
import shutil
import sqlite3
from pathlib import Path
from typing import Any

from langgraph.store.memory import InMemoryStore

from holdover.compat.errors import AddressError, StoreUnavailable
from holdover.compat.stores.address import (
    REDIS_SCHEMES,
    redact_url,
    scheme_of,
    sqlite_path,
)
from holdover.compat.stores.opening import open_store
from holdover.migrate.errors import UsageError
from holdover.migrate.targets.base import Applied, Note, Row, StoredRow, Target

__all__ = ["Applied", "Note", "Row", "StoredRow", "Target", "open_target"]

_POSTGRES = ("postgresql", "postgres")


def open_target(
    address: str, *, writing: bool, index: dict[str, Any] | None = None
) -> Target:
    """Open a target; one that is only read is neither created nor set up.

    Raises:
        UsageError: The address is not one of a target.
        StoreUnavailable: It cannot be reached or opened.
    """
    scheme = scheme_of(address)
    shown = redact_url(address)
    if scheme == "memory":
        raise UsageError(
            "memory:// ends with this command, and everything moved there with it.",
            hint="Name a file, a database, or module:factory.",
        )
    if scheme == "sqlite":
        return _open_sqlite(sqlite_path(address), shown, index, writing=writing)
    if scheme in _POSTGRES:
        try:
            from holdover.migrate.targets.postgres import (  # noqa: PLC0415 - an extra
                open_postgres,
            )
        except ImportError as error:
            raise UsageError(
                "PostgreSQL needs packages that are not installed.",
                hint="Run: pip install 'holdover[postgres]'",
            ) from error
        target = open_postgres(address, shown, index, setup=writing)
        return target or _Empty(shown, "PostgreSQL store")
    if scheme in REDIS_SCHEMES:
        return _open_redis(address, shown, index, writing=writing)
    if scheme == "factory":
        return Target(open_store(address), shown)
    raise AddressError(
        f"{shown} is not an address of a target.",
        hint="Give a path, sqlite:///FILE, postgresql://…, redis://…, module:factory "
        "or env:NAME.",
    )


class _Empty(Target):
    """What a target that does not exist yet holds, and the space it would have."""

    missing = True
    keeps_vectors = True

    def __init__(self, shown: str, label: str, folder: Path | None = None) -> None:
        super().__init__(InMemoryStore(), shown)
        self.label = label
        self._folder = folder

    def free_bytes(self) -> int | None:
        return shutil.disk_usage(self._folder).free if self._folder else None


def _open_redis(
    address: str, shown: str, index: dict[str, Any] | None, *, writing: bool
) -> Target:
    from holdover.compat.stores.opening import open_redis  # noqa: PLC0415
    from holdover.migrate.targets.redis import RedisTarget  # noqa: PLC0415 - slow

    if index:
        raise UsageError(
            "A store in plain Redis cannot be searched by meaning.",
            hint="Leave --index out, or name a SQLite or PostgreSQL target.",
        )
    return RedisTarget(open_redis(address, setup=writing), shown)


def connected_to_read(path: str) -> sqlite3.Connection:
    """Connect without a file being made.

    A file with a write-ahead log needs one beside it even to be read; where that
    cannot be made and the log holds nothing, the file alone is everything.
    """
    from holdover.compat.stores import sqlite  # noqa: PLC0415

    conn = sqlite.connect(path, read_only=True)
    try:
        conn.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.OperationalError:
        conn.close()
        log = Path(f"{path}-wal")
        if log.exists() and log.stat().st_size:
            raise
        if os.access(Path(os.path.realpath(path)).parent, os.W_OK):
            raise
        address = f"{Path(os.path.realpath(path)).as_uri()}?immutable=1"
        return sqlite3.connect(
            address, uri=True, check_same_thread=False, isolation_level=None
        )
    except BaseException:
        conn.close()
        raise
    return conn


def cannot_open(path: str, what: str, error: sqlite3.Error) -> StoreUnavailable:
    """Why a SQLite file cannot be opened as a store or something else."""
    folder = Path(os.path.realpath(path)).parent
    return StoreUnavailable(
        f"{path} cannot be opened as a {what}: {error}.",
        hint="Check the file, its rights and the free space."
        if os.access(folder, os.W_OK)
        else f"The folder {folder} cannot be written.",
    )


def _open_sqlite(
    path: str, shown: str, index: dict[str, Any] | None, *, writing: bool
) -> Target:
    from holdover.compat.stores import sqlite  # noqa: PLC0415 - loads sqlite-vec
    from holdover.migrate.targets.sqlite import SqliteTarget  # noqa: PLC0415

    if Path(path).is_dir():
        raise AddressError(f"{path} is a folder.", hint="Name a file in it.")
    folder = Path(os.path.realpath(path)).parent
    if not folder.is_dir():
        raise AddressError(
            f"The folder {folder} does not exist.", hint="Create it first."
        )
    if not writing and (not Path(path).exists() or not Path(path).stat().st_size):
        return _Empty(shown, "SQLite store", folder)
    if writing and index:
        from holdover.compat.stores.opening import open_sqlite  # noqa: PLC0415

        return SqliteTarget(open_sqlite(path, index), shown, path)  # type: ignore[arg-type]
    try:
        conn = sqlite.connect(path) if writing else connected_to_read(path)
        try:
            sqlite.check_columns(conn, path)
            if writing:
                sqlite.ensure_schema(conn, vectors=False)
            elif not sqlite.has_schema(conn):
                conn.close()
                return _Empty(shown, "SQLite store", folder)
        except BaseException:
            conn.close()
            raise
    except sqlite3.Error as error:
        raise cannot_open(path, "store", error) from error
    store = sqlite.HoldoverSqliteStore(conn)
    store.is_setup = True
    return SqliteTarget(store, shown, path)
