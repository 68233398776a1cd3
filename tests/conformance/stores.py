"""Every store the suite is run on: how it is opened, and what it claims.

A store is opened by a context manager that gets what it needs from `Servers`; one whose
package or server is not here raises `servers.Unavailable`.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import importlib.metadata
import sqlite3
from collections.abc import Callable
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import servers

from holdover.compat.testing import Capabilities, Report, acheck, check, index_config

EVERYTHING = Capabilities(ttl=True)


@dataclass(frozen=True)
class Kind:
    """One kind of store.

    `packages` are the distributions whose versions a report tells, `server` the name
    of a method of `Servers` that tells the server's version.
    """

    title: str
    opened: Callable[[Any], Any]
    packages: tuple[str, ...]
    capabilities: Capabilities = EVERYTHING
    way: str = "sync"
    server: str = ""

    def run(self, given, differences=(), **options) -> Report:
        """Open the store and check it."""
        about = {name: importlib.metadata.version(name) for name in self.packages}
        options = {
            "capabilities": self.capabilities,
            "differences": differences,
            **options,
        }
        if self.way == "async":
            return asyncio.run(self._arun(given, about, options))
        with self.opened(given) as store:
            about |= given.about(self.server)
            return check(store, about=about, **options)

    async def _arun(self, given, about, options):
        async with self.opened(given) as store:
            about |= given.about(self.server)
            return await acheck(store, about=about, **options)


class Servers:
    """Places for stores: a folder, and servers that start when they are asked for."""

    def __init__(self, folder, exits: contextlib.ExitStack, **urls: str) -> None:
        self.folder, self._exits, self._urls = folder, exits, urls
        self._numbers = iter(range(10**6))

    def url(self, name: str) -> str:
        if name not in self._urls:
            self._urls[name] = self._exits.enter_context(getattr(servers, name)())
        return self._urls[name]

    @contextmanager
    def start(self, server):
        """Start a server for this one store; its version can be asked meanwhile."""
        with server() as url:
            self._urls[server.__name__] = url
            yield url
            del self._urls[server.__name__]

    def path(self) -> str:
        """A file that is not there yet."""
        return str(self.folder / f"{next(self._numbers)}.db")

    @contextmanager
    def database(self):
        """An empty PostgreSQL database."""
        psycopg = needed("psycopg")
        name = f"conformance_{next(self._numbers)}"
        server = self.url("postgres")
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}"')
        yield servers.with_database(server, name)
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')

    def about(self, server: str) -> dict[str, str]:
        """The version of a server, by its name."""
        return getattr(self, f"_about_{server}")() if server else {}

    def _about_sqlite(self):
        return {"SQLite": sqlite3.sqlite_version}

    def _about_postgres(self):
        with needed("psycopg").connect(self.url("postgres")) as connection:
            version = connection.execute("SHOW server_version").fetchone()[0]
        return {"PostgreSQL": version}

    def _about_mariadb(self):
        url = urlsplit(self.url("mariadb"))
        pymysql = needed("pymysql")
        with pymysql.connect(host=url.hostname, port=url.port, user="root") as one:
            cursor = one.cursor()
            cursor.execute("SELECT VERSION()")
            return {"MariaDB": cursor.fetchone()[0].split("-")[0]}

    def _about_redis_with_modules(self):
        with needed("redis").Redis.from_url(self.url("redis_with_modules")) as client:
            modules = {
                one[b"name"].decode(): one[b"ver"] for one in client.module_list()
            }
        return {
            **self._about_redis("redis_with_modules"),
            "RediSearch": _dotted(modules["search"]),
            "RedisJSON": _dotted(modules["ReJSON"]),
        }

    def _about_redis(self, server="redis"):
        with needed("redis").Redis.from_url(self.url(server)) as client:
            found = client.info("server")
        name = "Valkey" if "valkey_version" in found else "Redis"
        return {name: found.get("valkey_version", found["redis_version"])}


def _dotted(version: int) -> str:
    """A module says 21005 for 2.10.5."""
    return f"{version // 10_000}.{version // 100 % 100}.{version % 100}"


def needed(module: str) -> Any:
    """Import a package that may not be here."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise servers.Unavailable(f"{module} cannot be imported: {error}") from error


@contextmanager
def memory(given):
    from langgraph.store.memory import InMemoryStore

    yield InMemoryStore()


@contextmanager
def memory_with_vectors(given):
    from langgraph.store.memory import InMemoryStore

    yield InMemoryStore(index=index_config())


@contextmanager
def sqlite(given, index=None):
    from holdover.compat.stores.opening import close_store, open_sqlite

    store = open_sqlite(given.path(), index)
    yield store
    close_store(store)


def _can_load_extensions():
    if not hasattr(sqlite3.Connection, "enable_load_extension"):
        raise servers.Unavailable("this Python's sqlite3 cannot load extensions")
    needed("sqlite_vec")


@contextmanager
def sqlite_with_vectors(given):
    with sqlite(given, index_config()) as store:
        yield store


@contextmanager
def stock_sqlite(given, index=None):
    from langgraph.store.sqlite import SqliteStore

    conn = sqlite3.connect(given.path(), check_same_thread=False, isolation_level=None)
    conn.execute("PRAGMA synchronous=OFF")
    store = SqliteStore(conn, index=index)
    store.setup()
    yield store
    conn.close()


@contextmanager
def stock_sqlite_with_vectors(given):
    _can_load_extensions()
    with stock_sqlite(given, index_config()) as store:
        yield store


@asynccontextmanager
async def async_sqlite(given):
    from langgraph.store.sqlite.aio import AsyncSqliteStore

    async with AsyncSqliteStore.from_conn_string(given.path()) as store:
        await store.setup()
        await store.conn.execute("PRAGMA synchronous=OFF")
        yield store


@contextmanager
def postgres(given, index=None):
    from holdover.compat.stores.opening import _open, close_store

    needed("psycopg")
    with given.database() as url:
        store = _open(url, index, setup=True)
        yield store
        close_store(store)


@contextmanager
def postgres_with_vectors(given):
    with postgres(given, index_config()) as store:
        yield store


@contextmanager
def stock_postgres(given):
    module = needed("langgraph.store.postgres")
    with (
        given.database() as url,
        module.PostgresStore.from_conn_string(url) as store,
    ):
        store.setup()
        yield store


@asynccontextmanager
async def async_postgres(given):
    module = needed("langgraph.store.postgres.aio")
    with given.database() as url:
        async with module.AsyncPostgresStore.from_conn_string(url) as store:
            await store.setup()
            yield store


@contextmanager
def plain_redis(given):
    from holdover.compat.stores.opening import _open, close_store

    needed("holdover.compat.stores.redis")
    store = _open(given.url("redis"), None, setup=True)
    yield store
    close_store(store)


_CHECKPOINT = "langgraph-checkpoint"
_SQLITE = (_CHECKPOINT, "langgraph-checkpoint-sqlite")
_POSTGRES = (_CHECKPOINT, "langgraph-checkpoint-postgres")
_VECTORS = Capabilities(ttl=True, vectors=True)

OWN: dict[str, Kind] = {
    "memory": Kind(
        "InMemoryStore", memory, (_CHECKPOINT,), capabilities=Capabilities()
    ),
    "memory-vectors": Kind(
        "InMemoryStore with an index",
        memory_with_vectors,
        (_CHECKPOINT,),
        capabilities=Capabilities(vectors=True),
    ),
    "sqlite": Kind("Holdover on SQLite", sqlite, _SQLITE, server="sqlite"),
    "sqlite-vectors": Kind(
        "Holdover on SQLite with an index",
        sqlite_with_vectors,
        (*_SQLITE, "sqlite-vec"),
        capabilities=_VECTORS,
        server="sqlite",
    ),
    "stock-sqlite": Kind(
        "SqliteStore",
        stock_sqlite,
        _SQLITE,
        # Its `abatch` says so: `NotImplementedError`.
        capabilities=Capabilities(ttl=True, async_=False),
        server="sqlite",
    ),
    "stock-sqlite-vectors": Kind(
        "SqliteStore with an index",
        stock_sqlite_with_vectors,
        (*_SQLITE, "sqlite-vec"),
        capabilities=Capabilities(ttl=True, vectors=True, async_=False),
        server="sqlite",
    ),
    # It says that it has no lifetimes, accepts them, and keeps them.
    "async-sqlite": Kind(
        "AsyncSqliteStore", async_sqlite, _SQLITE, way="async", server="sqlite"
    ),
    "postgres": Kind("Holdover on PostgreSQL", postgres, _POSTGRES, server="postgres"),
    "postgres-vectors": Kind(
        "Holdover on PostgreSQL with an index",
        postgres_with_vectors,
        _POSTGRES,
        capabilities=_VECTORS,
        server="postgres",
    ),
    "stock-postgres": Kind(
        "PostgresStore", stock_postgres, _POSTGRES, server="postgres"
    ),
    "async-postgres": Kind(
        "AsyncPostgresStore",
        async_postgres,
        _POSTGRES,
        way="async",
        server="postgres",
    ),
    "plain-redis": Kind(
        "Holdover on Redis", plain_redis, (_CHECKPOINT, "redis"), server="redis"
    ),
}
