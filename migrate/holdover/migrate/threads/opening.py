"""The checkpoint tables behind the address of a target."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING

from holdover.compat.errors import StoreUnsuitable
from holdover.compat.stores.address import (
    redact_url,
    resolve_env,
    scheme_of,
    sqlite_path,
)
from holdover.migrate.errors import UsageError
from holdover.migrate.threads.table import ThreadTable

if TYPE_CHECKING:
    from holdover.migrate.threads.sqlite import SqliteThreads

_POSTGRES = ("postgresql", "postgres")


def refuse_without_checkpointer(address: str) -> None:
    """Say at once where there can be no thread.

    Raises:
        UsageError: LangGraph has no checkpointer that we write for such a target.
    """
    if scheme_of(resolve_env(address)) not in ("sqlite", *_POSTGRES):
        raise UsageError(
            f"{redact_url(resolve_env(address))} holds no threads: they go into "
            "SQLite and PostgreSQL only.",
            hint="Leave --into threads out, or name a file or a PostgreSQL database.",
        )


def open_threads(address: str, *, writing: bool) -> ThreadTable | None:
    """Open the tables; `None` where there are none and none may be made.

    Raises:
        StoreUnavailable: They cannot be reached or opened.
        StoreUnsuitable: Another program's tables have their names.
        UsageError: The packages are missing.
    """
    resolved = resolve_env(address)
    scheme = scheme_of(resolved)
    if scheme == "sqlite":
        return _open_sqlite(sqlite_path(resolved), writing=writing)
    if scheme in _POSTGRES:
        return _open_postgres(resolved, writing=writing)
    return None


def _open_sqlite(path: str, *, writing: bool) -> ThreadTable | None:
    from holdover.compat.stores import sqlite  # noqa: PLC0415 - loads sqlite-vec
    from holdover.migrate.targets import (  # noqa: PLC0415
        cannot_open,
        connected_to_read,
    )
    from holdover.migrate.threads.sqlite import SqliteThreads  # noqa: PLC0415

    if not writing and (not Path(path).exists() or not Path(path).stat().st_size):
        return None
    try:
        conn = sqlite.connect(path) if writing else connected_to_read(path)
        table = SqliteThreads(conn)
        try:
            _refuse_foreign(table, path)
            if writing:
                table.prepare()
            elif not table.ready:
                conn.close()
                return None
        except BaseException:
            conn.close()
            raise
    except sqlite3.Error as error:
        raise cannot_open(path, "checkpointer", error) from error
    return table


def _refuse_foreign(table: SqliteThreads, path: str) -> None:
    if foreign := table.foreign():
        raise StoreUnsuitable(
            f"{path} has a table of its own named {', '.join(foreign)}, where a "
            "LangGraph checkpointer would keep threads.",
            failed=tuple(foreign),
            hint="Name another file as the target.",
        )


def _open_postgres(address: str, *, writing: bool) -> ThreadTable | None:
    try:
        from holdover.compat.stores import postgres  # noqa: PLC0415 - an extra
        from holdover.migrate.threads.postgres import (  # noqa: PLC0415
            PostgresThreads,
        )
    except ImportError as error:
        raise UsageError(
            "PostgreSQL needs packages that are not installed.",
            hint="Run: pip install 'holdover[postgres]'",
        ) from error
    conn = postgres.connect(address)
    table = PostgresThreads(conn, address)
    try:
        if writing:
            table.prepare()
        elif not table.ready:
            conn.close()
            return None
    except BaseException:
        conn.close()
        raise
    return table
