"""The sources of a migration, by address.

| address | read |
|---|---|
| a path, `sqlite:///FILE` | a SQLite file |
| `redis://`, `rediss://`, `unix://` | a Redis; one that is in a cluster, the cluster |
| `redis://HOST,HOST,…` | a cluster by the first of its hosts that answers |
| `redis+sentinel://HOST,…/SERVICE/DB` | the master that the sentinels know |
| `upstash+https://HOST`, `https://NAME.upstash.io` | Upstash by its REST interface |
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdover.compat.errors import AddressError
from holdover.compat.stores.address import (
    REDIS_SCHEMES,
    is_upstash,
    redact_url,
    scheme_of,
)
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
        if scheme in REDIS_SCHEMES or is_upstash(address):
            from holdover.migrate.sources.redis import RedisSource  # noqa: PLC0415

            return RedisSource(address, options)
    except AddressError as error:
        raise SourceNotFound(error.args[0], hint=error.hint) from error
    raise SourceNotFound(
        f"{redact_url(address)} is not a source that can be read.",
        hint="Give a SQLite file (a path or sqlite:///FILE); redis://, rediss://, "
        "unix:// or redis+sentinel:// for Redis; or upstash+https://HOST.",
    )
