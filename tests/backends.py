"""Every kind of store the tests run on, and one way to call what has two twins."""

from __future__ import annotations

import asyncio
import inspect
import sqlite3
import threading
from concurrent.futures import Future
from contextlib import contextmanager

from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore

SYNC = ("memory", "sqlite", "stock-sqlite", "plain", "postgres", "redis")
ASYNC = ("async-sqlite", "async-postgres", "async-redis")
ALL = (*SYNC, *ASYNC)


class PlainStore(BaseStore):
    """A store nobody knows: only `batch` and `abatch`, handed to another one."""

    supports_ttl = False

    def __init__(self, inner=None):
        self.inner = inner or InMemoryStore()
        # `InMemoryStore` has none, and fails where threads search and write at once.
        self.lock = threading.RLock()

    def batch(self, ops):
        with self.lock:
            return self.inner.batch(list(ops))

    async def abatch(self, ops):
        return self.batch(ops)


class Loop:
    """An event loop in a thread of its own."""

    def __init__(self):
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self._thread.start()

    def run(self, coroutine):
        """Run a coroutine there and wait for it."""
        future: Future = asyncio.run_coroutine_threadsafe(coroutine, self.loop)
        return future.result(120)

    def close(self):
        self.run(self._cancel_all())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(10)
        self.loop.close()

    async def _cancel_all(self):
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class Driven:
    """Calls each method as it is, or by its async twin."""

    def __init__(self, target, way, loop):
        self._target, self._way, self._loop = target, way, loop

    def __getattr__(self, name):
        if self._way == "sync" or not hasattr(self._target, f"a{name}"):
            return getattr(self._target, name)
        twin = getattr(self._target, f"a{name}")

        async def await_it(args, kwargs):
            result = twin(*args, **kwargs)
            if inspect.isasyncgen(result):
                return [item async for item in result]
            return await result

        return lambda *args, **kwargs: self._loop.run(await_it(args, kwargs))


@contextmanager
def opened(kind, loop, *, path, url):
    """Open a store of one kind in a file or database, set up."""
    if kind == "memory":
        yield InMemoryStore()
    elif kind == "plain":
        yield PlainStore()
    elif kind == "sqlite":
        from holdover.compat.stores.opening import close_store, open_sqlite

        store = open_sqlite(str(path))
        yield store
        close_store(store)
    elif kind == "stock-sqlite":
        from langgraph.store.sqlite import SqliteStore

        conn = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        conn.execute("PRAGMA synchronous=OFF")
        store = SqliteStore(conn)
        store.setup()
        yield store
        conn.close()
    elif kind in ("postgres", "redis"):
        from holdover.compat.stores.opening import _open, close_store

        store = _open(url, None, setup=True)
        yield store
        close_store(store)
    elif kind == "async-redis":
        import redis.asyncio

        from holdover.compat.stores.redis import PlainRedisStore

        client = redis.asyncio.Redis.from_url(url, protocol=2)
        store = PlainRedisStore(client, prefix="other", shards=3)
        loop.run(store.asetup())
        yield store
        loop.run(client.aclose())
    else:
        context = loop.run(_aopen(kind, path, url))
        yield context[0]
        loop.run(context[1].__aexit__(None, None, None))


async def _aopen(kind, path, url):
    if kind == "async-sqlite":
        from langgraph.store.sqlite.aio import AsyncSqliteStore

        manager = AsyncSqliteStore.from_conn_string(str(path))
    else:
        from langgraph.store.postgres.aio import AsyncPostgresStore

        manager = AsyncPostgresStore.from_conn_string(url)
    store = await manager.__aenter__()
    await store.setup()
    if kind == "async-sqlite":
        await store.conn.execute("PRAGMA synchronous=OFF")
    return store, manager


def rows_of(kind, *, path, url):
    """Every row of a store's tables, as one text: what a curious admin would see."""
    if "redis" in kind:
        from moving import redis_keys

        return repr(redis_keys(url))
    if "postgres" in kind:
        import psycopg

        with psycopg.connect(url) as conn:
            return repr(
                conn.execute("SELECT prefix, key, value::text FROM store").fetchall()
            )
    with sqlite3.connect(path) as conn:
        rows = conn.execute("SELECT prefix, key, CAST(value AS TEXT) FROM store")
        text = repr(rows.fetchall())
    conn.close()
    return text


class OldPlace:
    """A place a classic class kept its data in, here a dictionary."""

    def __init__(self, **entities):
        self.entities, self.reads = entities, 0

    def found(self):
        return True

    def read(self, name):
        self.reads += 1
        return self.entities.get(name)

    def locator(self, name):
        return "old:place"


def journal_of(repository, key, kind="entity"):
    """Every physical entry of an item's journal, oldest first, plainly read."""
    from langgraph.store.base import SearchOp

    from holdover.compat import journal
    from holdover.compat.records import KINDS
    from holdover.compat.scope import Scope, encode_key

    labels = Scope.of(repository.scope).encoded()
    into = journal.namespace(labels, KINDS[kind].label, encode_key(key))
    op = SearchOp(into, limit=100_000, refresh_ttl=False)
    items = repository.store.batch([op])[0]
    return [item.value for item in sorted(items, key=lambda item: item.key)]


def value_of(repository, key, kind="entity"):
    """The stored value of a head, plainly read."""
    from langgraph.store.base import GetOp

    from holdover.compat.scope import encode_key

    namespace = repository.namespace(kind)
    op = GetOp(namespace, encode_key(key), refresh_ttl=False)
    item = repository.store.batch([op])[0]
    return None if item is None else item.value


def put_plainly(store, namespace, key, value):
    """Write as any other program would."""
    from langgraph.store.base import PutOp

    store.batch([PutOp(namespace, key, value)])
