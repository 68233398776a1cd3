"""Engines of the classic SQL histories: by URL, one for a process, or ready ones."""

from __future__ import annotations

import importlib.util
import os
import threading
import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from langgraph.store.memory import InMemoryStore

from holdover.compat.errors import AddressError, MissingDependency, StoreUnavailable
from holdover.compat.stores.address import redact_url, resolve_env

if TYPE_CHECKING:
    from langgraph.store.base import BaseStore
    from sqlalchemy.engine import URL, Engine

#: By address and arguments.
Engines = dict[tuple[str, str], "Engine"]
_lock = threading.Lock()
_engines: Engines = {}
#: The stores beside databases that are in memory only, of which each engine has one.
_private: weakref.WeakKeyDictionary[Any, BaseStore] = weakref.WeakKeyDictionary()
# Old messages are read synchronously wherever an address allows it: without greenlet.
_SYNC_DRIVERS = {
    "sqlite+aiosqlite": "sqlite",
    "postgresql+asyncpg": "postgresql",
    "postgresql+psycopg_async": "postgresql+psycopg",
    "mysql+aiomysql": "mysql+pymysql",
    "mysql+asyncmy": "mysql+pymysql",
    "mariadb+aiomysql": "mariadb+pymysql",
    "mariadb+asyncmy": "mariadb+pymysql",
    "oracle+oracledb_async": "oracle+oracledb",
}
_MEMORY = (None, "", ":memory:")
# asyncpg's word for what libpq calls `sslmode`.
_SSL = "ssl"


def _forget_after_fork() -> None:
    global _lock  # noqa: PLW0603 - another thread may have held it when we forked
    _lock = threading.Lock()
    for engine in _engines.values():
        # The connections are the parent's: they are not closed, only not used.
        engine.dispose(close=False)
    _engines.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_after_fork)


def sqlalchemy() -> Any:
    """The package, where it is installed.

    Raises:
        MissingDependency: It is not.
    """
    try:
        return importlib.import_module("sqlalchemy")
    except ImportError as error:
        raise MissingDependency(
            "SQLChatMessageHistory needs SQLAlchemy, which is not installed.",
            hint="Run: pip install 'holdover[sql]'",
        ) from error


def url_of(address: str) -> URL:
    """An address as SQLAlchemy reads it, with a driver that needs no event loop.

    Raises:
        AddressError: It cannot be read.
    """
    package = sqlalchemy()
    address = resolve_env(address)
    try:
        url: URL = package.make_url(address)
    except (package.exc.ArgumentError, ValueError):
        # What SQLAlchemy says quotes the whole address.
        raise AddressError(
            f"{redact_url(address)} is not an address SQLAlchemy can read.",
            hint="Write dialect://user:password@host/database, or sqlite:///file.db.",
        ) from None
    url = url.set(drivername=_SYNC_DRIVERS.get(url.drivername, url.drivername))
    if url.drivername in ("postgresql", "postgres") and not _has("psycopg2"):
        url = url.set(drivername="postgresql+psycopg")
    if url.drivername.startswith("postgresql") and _SSL in url.query:
        url = url.difference_update_query([_SSL]).update_query_dict(
            {"sslmode": str(url.query[_SSL])}
        )
    return url


def engine_at(
    address: str, arguments: Mapping[str, Any] | None, own: Engines | None = None
) -> Engine:
    """The engine of this process for an address and `engine_args`.

    Args:
        address: Where the database is.
        arguments: What `create_engine` takes besides.
        own: Keeps the engine of a database that nobody else can have.

    Raises:
        AddressError: The address cannot be read.
        MissingDependency: SQLAlchemy or its driver is not installed.
    """
    url = url_of(address)
    given = dict(arguments or {})
    name = (url.render_as_string(hide_password=False), repr(sorted(given.items())))
    engines = own if own is not None and _is_private(url) else _engines
    with _lock:
        if name not in engines:
            engines[name] = _created(url, given)
        return engines[name]


def _created(url: URL, arguments: dict[str, Any]) -> Engine:
    try:
        engine: Engine = sqlalchemy().create_engine(url, **arguments)
    except ImportError as error:
        raise MissingDependency(
            f"The driver for {url.drivername} is not installed: {error}.",
            hint="Install it, or name another one in the address.",
        ) from error
    except sqlalchemy().exc.NoSuchModuleError:
        raise AddressError(
            f"SQLAlchemy knows no database {url.drivername}.",
            hint="Install the package of its dialect.",
        ) from None
    return engine


def close_engines() -> None:
    """Close what `engine_at` made; an object still in use connects again."""
    with _lock:
        engines = list(_engines.values())
        _engines.clear()
    for engine in engines:
        engine.dispose()


def database_file(url: URL) -> str | None:
    """The file of a SQLite database; `None` where it is in memory or elsewhere."""
    name = url.database
    if url.get_backend_name() != "sqlite" or name is None or name in _MEMORY:
        return None
    if name.startswith("file:"):
        # SQLite's own URLs, of which only a plain path is a file for others, too.
        path, _, query = name.removeprefix("file:").partition("?")
        mode = f"{query}&{url.query.get('mode', '')}"
        return None if path == ":memory:" or "memory" in mode else path
    return name


def _is_private(url: URL) -> bool:
    """Whether each engine has such a database for itself: in memory, without a name."""
    if url.get_backend_name() != "sqlite" or database_file(url) is not None:
        return False
    _, _, query = (url.database or "").partition("?")
    return "cache=shared" not in query and url.query.get("cache") != "shared"


def own_store(url: URL, engine: Any) -> BaseStore:
    """The store in the same database.

    Args:
        url: Where it is.
        engine: What stands for the database where it is in memory only.

    Raises:
        AddressError: LangGraph has no store for such a database.
    """
    from holdover.compat.stores.opening import open_store  # noqa: PLC0415

    backend = url.get_backend_name()
    if backend == "sqlite":
        path = database_file(url)
        if path is not None:
            return open_store(f"sqlite:///{path}")
        with _lock:
            return _private.setdefault(engine, InMemoryStore())
    if backend == "postgresql":
        plain = url.set(drivername="postgresql")
        return open_store(plain.render_as_string(hide_password=False))
    raise AddressError(
        f"No store can be kept in a {backend} database.",
        hint="Pass store=, or configure(store=...): the old table stays readable.",
    )


def unreadable(table: str, error: BaseException) -> StoreUnavailable:
    """What a database said, without statement, parameters and address."""
    cause = getattr(error, "orig", None) or error
    diagnostic = getattr(cause, "diag", None)
    text = (diagnostic and diagnostic.message_primary) or str(cause)
    first = next(iter(text.strip().splitlines()), type(cause).__name__).rstrip(".")
    return StoreUnavailable(
        f"The old table {table} cannot be read: {first}.",
        hint="Check the database, or pass legacy='off' to go on without it.",
    )


def _has(package: str) -> bool:
    return importlib.util.find_spec(package) is not None
