"""The sources of a migration, by address."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdover.compat.errors import AddressError
from holdover.compat.stores.address import redact_url, scheme_of
from holdover.migrate.errors import SourceNotFound

if TYPE_CHECKING:
    from holdover.migrate.sources.base import ReadOptions, Source

__all__ = ["open_source"]


def open_source(address: str, options: ReadOptions) -> Source:
    """Choose the source for an address; nothing is read yet.

    Raises:
        SourceNotFound: The address is of no form that is read.
    """
    scheme = scheme_of(address)
    try:
        if scheme == "sqlite":
            from holdover.migrate.sources.sqlite import SqliteSource  # noqa: PLC0415

            return SqliteSource(address, options)
        if scheme in {"redis", "rediss", "unix"}:
            from holdover.migrate.sources.redis import RedisSource  # noqa: PLC0415

            return RedisSource(address, options)
    except AddressError as error:
        raise SourceNotFound(error.args[0], hint=error.hint) from error
    raise SourceNotFound(
        f"{redact_url(address)} is not a source that can be read.",
        hint="Give a SQLite file (a path or sqlite:///FILE), or redis://, rediss://"
        " or unix:// for Redis.",
    )
