"""Which backend serves a store, and which stores are refused."""

from __future__ import annotations

import importlib.metadata
import sys
from contextlib import AsyncContextDecorator, ContextDecorator
from typing import Any

from langgraph.store.base import BaseStore
from langgraph.store.base.batch import AsyncBatchedBaseStore
from langgraph.store.memory import InMemoryStore

from holdover.compat.errors import StoreUnsuitable
from holdover.compat.stores.address import check_not_empty
from holdover.compat.stores.backend import (
    AsyncPlainBackend,
    Backend,
    MemoryBackend,
    PlainBackend,
)

_LAST_LOSSY_REDIS = (0, 5, 2)


def given_store(store: Any) -> BaseStore | str | None:
    """What was given as `store=`, so that a mistake shows where it is made.

    Raises:
        TypeError: It is neither a store nor an address.
        AddressError: It is an empty address.
    """
    if store is None or isinstance(store, BaseStore):
        return store
    if isinstance(store, str):
        check_not_empty(store)
        return store
    kind = type(store).__name__
    if isinstance(store, type):
        raise TypeError(
            f"store= is the class {store.__name__}, not a store of that class."
        )
    # What `from_conn_string` of LangGraph's stores returns.
    if isinstance(store, ContextDecorator | AsyncContextDecorator):
        word = "with" if isinstance(store, ContextDecorator) else "async with"
        raise TypeError(
            f"store= is a {kind}, which opens a store and is none: use `{word} … as "
            "store:`, or pass the address."
        )
    raise TypeError(f"store= takes a LangGraph BaseStore or an address, not a {kind}.")


def backend_for(store: BaseStore, *, unsafe: bool = False) -> Backend:
    """The backend for a store: a direct path where we know it, else plain calls.

    Raises:
        StoreUnsuitable: The store is known to lose data, and `unsafe` is not set.
    """
    if not unsafe:
        _refuse_lossy(store)
    if isinstance(store, InMemoryStore):
        return MemoryBackend(store)
    # A store's class can only come from a module that is loaded already.
    for module, name, make in (
        ("langgraph.store.sqlite", "SqliteStore", _sqlite),
        ("langgraph.store.sqlite.aio", "AsyncSqliteStore", _async_sqlite),
        ("langgraph.store.postgres", "PostgresStore", _postgres),
        ("langgraph.store.postgres.aio", "AsyncPostgresStore", _async_postgres),
        ("holdover.compat.stores.redis", "PlainRedisStore", _plain_redis),
    ):
        known = getattr(sys.modules.get(module), name, None)
        # A custom deserializer reads values that our SQL would read otherwise.
        if known and isinstance(store, known) and not _deserializes(store):
            return make(store)
    return AsyncPlainBackend(store) if _is_async(store) else PlainBackend(store)


def _deserializes(store: Any) -> bool:
    return getattr(store, "_deserializer", None) is not None


def _is_async(store: BaseStore) -> bool:
    """Stores that only await are tied to the loop they were made in."""
    return isinstance(store, AsyncBatchedBaseStore)


def _sqlite(store: Any) -> Backend:
    from holdover.compat.stores.sqlite import SqliteBackend  # noqa: PLC0415

    return SqliteBackend(store)


def _async_sqlite(store: Any) -> Backend:
    from holdover.compat.stores.sqlite import AsyncSqliteBackend  # noqa: PLC0415

    return AsyncSqliteBackend(store)


def _postgres(store: Any) -> Backend:
    from holdover.compat.stores.postgres import PostgresBackend  # noqa: PLC0415

    return PostgresBackend(store)


def _async_postgres(store: Any) -> Backend:
    from holdover.compat.stores.postgres import AsyncPostgresBackend  # noqa: PLC0415

    return AsyncPostgresBackend(store)


def _plain_redis(store: Any) -> Backend:
    from holdover.compat.stores.redis_backend import (  # noqa: PLC0415
        AsyncRedisBackend,
        RedisBackend,
    )

    return AsyncRedisBackend(store) if store.is_async_only else RedisBackend(store)


def _refuse_lossy(store: BaseStore) -> None:
    lossy = any(
        kind.__module__.startswith("langgraph.store.redis")
        and kind.__name__ in ("RedisStore", "AsyncRedisStore")
        for kind in type(store).__mro__
    )
    if not lossy:
        return
    try:
        version = importlib.metadata.version("langgraph-checkpoint-redis")
    except importlib.metadata.PackageNotFoundError:
        version = ""
    numbers = tuple(int(part) for part in version.split(".")[:3] if part.isdigit())
    if numbers <= _LAST_LOSSY_REDIS:
        raise StoreUnsuitable(
            f"RedisStore {version or '(of some version)'} deletes and mixes up items "
            "whose namespaces or keys differ only in case, stem or stop words.",
            failed=("case", "stemming", "exact-namespace"),
            hint="Use another store, or pass unsafe=True to insist.",
        )
