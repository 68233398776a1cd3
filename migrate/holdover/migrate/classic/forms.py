"""Which classic place an address is."""

from __future__ import annotations

from pathlib import Path

from holdover.compat.errors import AddressError
from holdover.compat.stores.address import (
    REDIS_SCHEMES,
    redact_url,
    refuse_driver,
    resolve_env,
    scheme_of,
)
from holdover.migrate.classic.base import Form
from holdover.migrate.errors import UsageError

_POSTGRES = ("postgresql", "postgres")


def open_form(address: str, *, jsonb: bool = False) -> Form:
    """Open a classic place; nothing is written yet.

    Args:
        address: A SQLite file, a PostgreSQL, a Redis, or a folder: one that exists, a
            path that ends with a slash, or `file:///FOLDER`.
        jsonb: Whether messages in PostgreSQL are for `PostgresChatMessageHistory`.

    Raises:
        UsageError: There is no classic form for that address.
    """
    resolved = resolve_env(address)
    refuse_driver(resolved)
    scheme, shown = scheme_of(resolved), redact_url(resolved)
    if jsonb and scheme not in _POSTGRES:
        raise UsageError("--jsonb is for a PostgreSQL target only.")
    if scheme == "file" or (
        "://" not in resolved
        and scheme == "sqlite"
        and (resolved.endswith("/") or Path(resolved).is_dir())
    ):
        from holdover.migrate.classic.files import FilesForm  # noqa: PLC0415
        from holdover.migrate.sources import file_path  # noqa: PLC0415

        path = file_path(resolved) if scheme == "file" else Path(resolved)
        return FilesForm(path, shown)
    if scheme == "sqlite":
        from holdover.migrate.classic.sqlite import SqliteForm  # noqa: PLC0415

        return SqliteForm(resolved, shown)
    if scheme in _POSTGRES:
        try:
            from holdover.migrate.classic.postgres import PostgresForm  # noqa: PLC0415
        except ImportError as error:
            raise UsageError(
                "PostgreSQL needs packages that are not installed.",
                hint="Run: pip install 'holdover[postgres]'",
            ) from error
        return PostgresForm(resolved, shown, jsonb=jsonb)
    if scheme in REDIS_SCHEMES:
        from holdover.migrate.classic.redis import RedisForm  # noqa: PLC0415 - slow

        return RedisForm(resolved, shown)
    raise AddressError(
        f"{shown} is no place that old releases read.",
        hint="Give a new SQLite file, a folder (with a slash behind it), redis:// or "
        "postgresql://.",
    )
