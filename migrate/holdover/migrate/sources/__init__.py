"""The sources of a migration, by address.

| address | read |
|---|---|
| a path | what its first bytes are: see `holdover.migrate.sources.sniffing` |
| `sqlite:///FILE` | a SQLite file |
| `file:///PATH` | a file history or a folder of them, whatever it looks like |
| `module:factory` | the histories that it returns for the sessions that are named |
| `mongodb://`, `mongodb+srv://` | a collection of chat histories |
| `dynamodb://TABLE` | a table of chat histories |
| `postgresql://`, `mysql://`, `mariadb://` | a database of a server |
| `redis://`, `rediss://`, `unix://` | a Redis; one that is in a cluster, the cluster |
| `redis://HOST,HOST,…` | a cluster by the first of its hosts that answers |
| `redis+sentinel://HOST,…/SERVICE/DB` | the master that the sentinels know |
| `upstash+https://HOST`, `https://NAME.upstash.io` | Upstash by its REST interface |
"""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from holdover.compat.errors import AddressError
from holdover.compat.stores.address import (
    REDIS_SCHEMES,
    is_upstash,
    redact_url,
    scheme_of,
    sqlite_path,
)
from holdover.migrate.errors import SourceNotFound, SourceUnavailable
from holdover.migrate.sources.combined import CombinedSource

if TYPE_CHECKING:
    from holdover.migrate.sources.base import ReadOptions, Source

__all__ = ["file_path", "open_source"]

_SHOWN = 200  # characters of a path that is too long
_SERVERS = ("postgresql", "postgres", "mysql", "mariadb")

#: Sources of which one reads everything: module and name, called with the address and
#: the options.
_ALONE = {
    "factory": ("factory", "FactorySource"),
    "mongodb": ("mongodb", "MongoSource"),
    "mongodb+srv": ("mongodb", "MongoSource"),
    "dynamodb": ("dynamodb", "DynamoSource"),
}


def open_source(address: str, options: ReadOptions) -> Source:
    """Choose the sources for an address; nothing is read yet.

    Raises:
        SourceNotFound: The address is of no form that is read, or holds none of the
            kinds that are asked for.
    """
    scheme = scheme_of(address)
    try:
        if scheme == "file" or (scheme == "sqlite" and "://" not in address):
            label, parts = _at_path(address, options)
        elif scheme == "sqlite":
            label, parts = "SQLite file", _in_sqlite(address, options)
        elif scheme.partition("+")[0] in _SERVERS:
            label, parts = _in_server(address, options)
        elif scheme in REDIS_SCHEMES or is_upstash(address):
            label, parts = "Redis", _in_redis(address, options)
        elif scheme in _ALONE:
            found = _alone(address, scheme, options)
            label, parts = found.label, [found]
        else:
            raise SourceNotFound(
                f"{redact_url(address)} is not a source that can be read.",
                hint="Give a path, sqlite:///FILE or file:///PATH; redis://, "
                "rediss://, unix:// or redis+sentinel:// for Redis; "
                "upstash+https://HOST; postgresql://, mysql:// or mariadb://; "
                "mongodb://, dynamodb://TABLE or module:factory.",
            )
    except AddressError as error:
        raise SourceNotFound(error.args[0], hint=error.hint) from error
    shown = parts[0].address if parts else redact_url(address)
    if not parts:
        kinds = ", ".join(sorted(options.kinds))
        raise SourceNotFound(
            f"No {kinds} can be read from {shown}.", hint="Ask for another --kind."
        )
    return CombinedSource(shown, label, parts, options)


def _alone(address: str, scheme: str, options: ReadOptions) -> Source:
    module, name = _ALONE[scheme]
    found = importlib.import_module(f"holdover.migrate.sources.{module}")
    source: Source = getattr(found, name)(address, options)
    return source


def _at_path(address: str, options: ReadOptions) -> tuple[str, list[Source]]:
    """What lies at a path, by what it looks like; by its address a file history."""
    from holdover.migrate.sources import sniffing  # noqa: PLC0415

    if scheme_of(address) == "file":
        kind, path = sniffing.Kind.HISTORIES, file_path(address)
        _check_reachable(path)
    elif address == "-":
        raise SourceNotFound(
            "Standard input is read once, and a source several times.",
            hint="Write it to a file, and give its path.",
        )
    else:
        path = Path(sqlite_path(address))
        _check_reachable(path)
        kind = sniffing.kind_of(path)
        if kind is sniffing.Kind.HISTORIES and path.is_dir():
            kind = sniffing.Kind.SERIALIZED  # histories, and whatever lies beside them
    if kind is sniffing.Kind.SQLITE:
        return "SQLite file", _in_sqlite(address, options)
    found = sniffing.open_path(address, path, kind, options)
    return found.label, [found]


def file_path(address: str) -> Path:
    """The path of `file:///PATH`.

    Raises:
        AddressError: It names another host, or nothing.
    """
    # Everything behind the host: in a path, `?` and `#` are letters like any other.
    host, slash, path = address.partition("://")[2].partition("/")
    if host not in ("", "localhost") or not path.strip("/"):
        raise AddressError(
            f"{redact_url(address)!r} is not the address of a file.",
            hint="Write file:///absolute/path.",
        )
    path = unquote(slash + path)
    if "\0" in path:
        raise AddressError("No path holds a NUL.")
    return Path(path)


def _check_reachable(path: Path) -> None:
    """Refuse a path that the system does not even look up.

    Raises:
        SourceUnavailable: It is too long, goes in a circle, or leads through a folder
            without rights.
    """
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        pass  # what reads it says so in its own words
    except OSError as error:
        shown = redact_url(str(path))
        shown = shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"
        raise SourceUnavailable(
            f"{shown} cannot be read: {os.strerror(error.errno or 0).lower()}.",
            hint="Check the path, and the rights of the folders in it.",
        ) from None


def _in_sqlite(address: str, options: ReadOptions) -> list[Source]:
    """What may lie in a SQLite file; the parts share it."""
    from holdover.migrate.sources.sqlite_file import SqliteFile  # noqa: PLC0415

    path = Path(sqlite_path(address))
    _check_reachable(path)
    file = SqliteFile(path)
    parts: list[Source] = []
    if "entities" in options.kinds:
        from holdover.migrate.sources.sqlite import SqliteSource  # noqa: PLC0415

        parts.append(SqliteSource(address, options, file=file))
    if "messages" in options.kinds:
        from holdover.migrate.sources.sql import SqlHistories  # noqa: PLC0415
        from holdover.migrate.sources.sql_databases import (  # noqa: PLC0415
            SqliteDatabase,
        )

        parts.append(SqlHistories(SqliteDatabase(address, file), options))
    return parts


def _in_server(address: str, options: ReadOptions) -> tuple[str, list[Source]]:
    """What may lie in a database of a server; the parts share its connections."""
    from holdover.migrate.sources.sql_opening import SqlServer  # noqa: PLC0415

    server = SqlServer(address)
    parts: list[Source] = []
    if "messages" in options.kinds:
        from holdover.migrate.sources.sql import SqlHistories  # noqa: PLC0415
        from holdover.migrate.sources.sql_databases import database_of  # noqa: PLC0415

        parts.append(SqlHistories(database_of(server), options))
    if "turns" in options.kinds and server.is_postgres:
        from holdover.migrate.sources.vectors_pg import of_server  # noqa: PLC0415

        parts.append(of_server(server, options))
    return server.label, parts


def _in_redis(address: str, options: ReadOptions) -> list[Source]:
    """What may lie in a Redis."""
    from holdover.migrate.sources.redis_databases import parts_of  # noqa: PLC0415

    return parts_of(address, options)
