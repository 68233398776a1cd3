"""`open_store`: one address, one store, opened once per process."""

from __future__ import annotations

import importlib
import os
import sqlite3
import threading
import weakref
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore

from holdover.compat.errors import AddressError, MissingDependency, StoreUnavailable
from holdover.compat.notices import logger
from holdover.compat.stores.address import (
    REDIS_SCHEMES,
    redact_url,
    refuse_driver,
    resolve_env,
    right_form,
    scheme_of,
    sqlite_path,
)

if TYPE_CHECKING:
    from holdover.compat.stores.redis import PlainRedisStore

_POSTGRES = ("postgresql", "postgres")
_lock = threading.Lock()
_Key = tuple[str, str, bool]
_opened: dict[_Key, BaseStore] = {}
#: Device and inode of the files that were opened.
_files: dict[_Key, tuple[int, int] | None] = {}
#: Stores whose file was removed or replaced; somebody may still hold one.
_replaced: weakref.WeakSet[BaseStore] = weakref.WeakSet()
_listeners: list[Callable[[list[BaseStore]], None]] = []
#: Stores of the parent process: closing them here would end its connections.
_inherited: list[BaseStore] = []


def _forget_after_fork() -> None:
    global _lock  # noqa: PLW0603 - another thread may have held it when we forked
    _lock = threading.Lock()
    _inherited.extend([*_opened.values(), *_replaced])
    _opened.clear()
    _files.clear()
    _replaced.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_after_fork)


def open_store(
    url: str, index: Mapping[str, Any] | None = None, *, setup: bool = True
) -> BaseStore:
    """Open the store at an address, or return the one this process has open.

    Args:
        url: `sqlite:///file` or a bare path, `postgresql://…`, `redis://…` (see
            `redis_connecting`), `memory://`, `module:factory` (a function that
            returns a `BaseStore`), `env:NAME`. Every `memory://` store of a process
            is the same one.
        index: LangGraph's `IndexConfig`, for a store that can be searched by
            meaning.
        setup: Create the store's tables if they are missing.

    Raises:
        AddressError: The address is not of a form listed above.
        StoreUnavailable: It cannot be reached, opened or set up.
        MissingDependency: An extra has to be installed first.
        TypeError: The address is no text.
        ValueError: The index does not say how long its vectors are.
    """
    if not isinstance(url, str):
        raise TypeError(
            f"open_store takes an address, not a {type(url).__name__}: a path or URL "
            "as text."
        )
    address = resolve_env(url)
    if index and not index.get("dims"):
        raise ValueError(
            "The index has no 'dims': say how many numbers a vector of its embedding "
            "has, index={'embed': …, 'dims': …}."
        )
    place = address
    is_file = scheme_of(address) == "sqlite"
    if is_file:
        # The folder we are in may change.
        place = os.path.abspath(sqlite_path(address))  # noqa: PTH100 - no such file yet
    memoised = (place, repr(sorted(index.items())) if index else "", setup)
    with _lock:
        if is_file:
            _drop_replaced(place)
        store = _opened.get(memoised)
        if store is None:
            store = _opened[memoised] = _open(address, index, setup=setup)
            _files[memoised] = _file_at(place) if is_file else None
        return store


def _drop_replaced(path: str) -> None:
    """Forget stores whose file is gone or another one: what they write is lost."""
    known = [key for key in _opened if key[0] == path and _files.get(key)]
    found = _file_at(path) if known else None
    gone = [_opened.pop(key) for key in known if _files[key] != found]
    if not gone:
        return
    logger.warning(
        "%s was removed or replaced while it was open: it is opened anew. What is "
        "written by a store that was opened before is lost.",
        redact_url(path),
    )
    for store in gone:
        # Closed when nobody holds it any more: it may be in use at this moment.
        closing = weakref.finalize(store, _close, getattr(store, "conn", None))
        closing.atexit = False
        _replaced.add(store)
    _tell(gone)


def _file_at(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)  # noqa: PTH116
    except OSError:
        return None
    return status.st_dev, status.st_ino


def when_gone(listener: Callable[[list[BaseStore]], None]) -> None:
    """Be told of stores that are closed, or whose file is another one by now."""
    _listeners.append(listener)


def _tell(stores: list[BaseStore]) -> None:
    for listener in _listeners:
        listener(stores)


def is_inherited(store: BaseStore) -> bool:
    """Whether `open_store` opened a store in the process this one was forked from."""
    return any(store is one for one in _inherited)


def close_stores() -> None:
    """Close what `open_store` opened; a store still in use stops working.

    Memories, histories and entity stores that were given an address open it again.
    """
    with _lock:
        stores = [*_opened.values(), *_replaced]
        _opened.clear()
        _files.clear()
        _replaced.clear()
    _tell(stores)
    for store in stores:
        close_store(store)


def close_store(store: BaseStore) -> None:
    """Close the connection or pool behind a store that `open_store` made."""
    _close(getattr(store, "conn", store))


def _close(own: Any) -> None:
    close = getattr(own, "close", None)
    if close is not None:
        close()


def _open(address: str, index: Mapping[str, Any] | None, *, setup: bool) -> BaseStore:
    scheme = scheme_of(address)
    if scheme == "sqlite":
        return open_sqlite(sqlite_path(address), index, setup=setup)
    if scheme in _POSTGRES:
        return _open_postgres(address, index, setup=setup)
    if scheme in REDIS_SCHEMES:
        if index:
            raise AddressError(
                "A store in plain Redis cannot be searched by meaning.",
                hint="Use a PostgreSQL or SQLite store, or leave the index out.",
            )
        return open_redis(address, setup=setup)
    if scheme == "memory":
        return InMemoryStore(index=dict(index) if index else None)  # type: ignore[arg-type]
    if scheme == "factory":
        return _call_factory(address)
    refuse_driver(address)
    raise AddressError(
        f"{redact_url(address)} is not an address of a store.",
        hint="Give a path, sqlite:///FILE, postgresql://…, redis://…, memory://, "
        "module:factory or env:NAME.",
    )


def open_sqlite(
    path: str, index: Mapping[str, Any] | None = None, *, setup: bool = True
) -> BaseStore:
    """Open a store in a file, which is created if need be."""
    from holdover.compat.stores import sqlite  # noqa: PLC0415 - loads sqlite-vec

    shown = redact_url(path)
    if os.path.isdir(path):  # noqa: PTH112
        raise AddressError(f"{shown} is a folder.", hint="Name a file in it.")
    if not setup and not os.path.exists(path):  # noqa: PTH110
        raise StoreUnavailable(f"{shown} does not exist.", hint="Check the path.")
    try:
        conn = sqlite.connect(path)
        try:
            sqlite.check_columns(conn, shown)
            if setup:
                sqlite.ensure_schema(conn, vectors=bool(index))
        except BaseException:
            conn.close()
            raise
    except sqlite3.Error as error:
        translated = sqlite.translated(error, shown)
        if isinstance(translated, StoreUnavailable):
            raise translated from error
        raise StoreUnavailable(
            f"{shown} cannot be opened as a store: {error}.",
            hint="Check the folder, its rights and the free space.",
        ) from error
    store = sqlite.HoldoverSqliteStore(conn, index=dict(index) if index else None)
    if index:
        sqlite.load_vectors(conn)
    # Never by its own set-up, at its first use: it is done, or not wanted.
    store.is_setup = True
    return store


def _open_postgres(
    address: str, index: Mapping[str, Any] | None, *, setup: bool
) -> BaseStore:
    try:
        from holdover.compat.stores import postgres  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise MissingDependency(
            "PostgreSQL needs packages that are not installed.",
            hint="Run: pip install 'holdover[postgres]'",
        ) from error
    from langgraph.store.postgres import PostgresStore  # noqa: PLC0415

    # A first connection finds out at once what a pool would retry for long.
    postgres.connect(address).close()
    pool = postgres.open_pool(address)
    store = PostgresStore(pool, index=dict(index) if index else None)  # type: ignore[arg-type]
    try:
        if setup:
            postgres.ensure_schema(store, address)
    except BaseException:
        pool.close()
        raise
    return store


def open_redis(address: str, *, setup: bool = True) -> PlainRedisStore:
    """Open a store in Redis; without set-up, what is not there reads as empty."""
    from redis import RedisError  # noqa: PLC0415 - takes long to load

    from holdover.compat.stores.redis import PlainRedisStore  # noqa: PLC0415
    from holdover.compat.stores.redis_connecting import explain  # noqa: PLC0415

    store = PlainRedisStore.from_url(address)
    try:
        if setup:
            store.setup()
        else:
            store.run(store.known_layout(create=False))
    except RedisError as error:
        store.close()
        message, hint = explain(error, store.shown)
        raise StoreUnavailable(message, hint=hint) from None
    return store


def _call_factory(address: str) -> BaseStore:
    module, _, name = address.partition(":")
    try:
        factory = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise AddressError(
            f"{address} cannot be imported: {error}.",
            hint=right_form(address)
            or "Write module:function, importable from here (set PYTHONPATH).",
        ) from error
    store = (
        factory()
        if callable(factory) and not isinstance(factory, BaseStore)
        else factory
    )
    if not isinstance(store, BaseStore):
        raise AddressError(
            f"{address} returned a {type(store).__name__}, not a BaseStore.",
            hint="It must return a ready store.",
        )
    return store
