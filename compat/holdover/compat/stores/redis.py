"""`PlainRedisStore`: a LangGraph store in any Redis, without modules."""

from __future__ import annotations

import asyncio
import itertools
import time
import warnings
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import redis
import redis.asyncio
from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
)

from holdover.compat.errors import AddressError, SyncUseOfAsyncStore
from holdover.compat.stores import redis_operations as operations
from holdover.compat.stores.filtering import matcher
from holdover.compat.stores.redis_connecting import (
    RedisAddress,
    async_twin,
    connect,
    parse_address,
)
from holdover.compat.stores.redis_layout import (
    Layout,
    Namespace,
    Stored,
    check_labels,
    check_namespace,
    milliseconds,
    moment,
    to_json,
)
from holdover.compat.stores.redis_operations import Change, Found, Talk
from holdover.compat.stores.redis_transport import (
    AsyncRedisTransport,
    AsyncTransport,
    RedisTransport,
    Transport,
)

__all__ = ["PlainRedisStore"]

T = TypeVar("T")
Client = (
    redis.Redis
    | redis.RedisCluster
    | redis.asyncio.Redis
    | redis.asyncio.RedisCluster
    | Transport
)
DEFAULT_PREFIX = "holdover"
_SHARDS_OF_A_CLUSTER = 64


class PlainRedisStore(BaseStore):
    """A store in a Redis or Valkey of any kind: one server, Sentinel, or a cluster.

    Items are exact, any string is a key, and lifetimes are Redis's own. There is no
    search by meaning: `query` is ignored, as by every store without an index. Searches
    give what was put last first; `created_at` is kept when an item is put again. The
    page "A store in plain Redis" describes the keys.

    A `batch` is checked whole before anything is written. Its changes take effect in
    calls of up to 100 that happen whole or not at all; in a cluster, a call holds what
    lies in one shard.

    Args:
        client: A client of redis-py. A sync one serves both kinds of methods, async
            ones from a thread. An asyncio client works in one loop, the first it is
            used in; sync methods may be called from other threads meanwhile.
        prefix: What all keys begin with; several stores can be in one database.
        shards: In how many slots of a cluster a new store lies; by default 64, and 1
            where there is no cluster. An existing store keeps its number.
        ttl: LangGraph's `TTLConfig`: `default_ttl` in minutes, `refresh_on_read`.
    """

    supports_ttl = True

    def __init__(
        self,
        client: Client,
        *,
        prefix: str = DEFAULT_PREFIX,
        shards: int | None = None,
        ttl: TTLConfig | None = None,
    ) -> None:
        if not prefix or "{" in prefix or "}" in prefix:
            raise ValueError(f"A prefix is not empty and has no braces: {prefix!r}.")
        if shards is not None and shards < 1:
            raise ValueError("A store has at least one shard.")
        self.prefix = prefix
        self.ttl_config = ttl
        self._shards = shards
        self._layout: Layout | None = None
        self._ready = False
        self._address: RedisAddress | None = None
        self._sync: Transport | None = None
        self._async: AsyncTransport | None = None
        #: Where an asyncio client is at home; known once it has been used.
        self._loop: asyncio.AbstractEventLoop | None = None
        self._by_loop: weakref.WeakKeyDictionary[
            asyncio.AbstractEventLoop, AsyncTransport
        ] = weakref.WeakKeyDictionary()
        if isinstance(client, redis.asyncio.Redis | redis.asyncio.RedisCluster):
            self._async = AsyncRedisTransport(client)
        elif isinstance(client, redis.Redis | redis.RedisCluster):
            self._sync = RedisTransport(client)
        else:
            self._sync = client

    @classmethod
    def from_url(cls, url: str, **options: Any) -> PlainRedisStore:
        """Connect to an address; sync and async methods have clients of their own.

        Args:
            url: `redis://`, `rediss://`, `unix://` or `redis+sentinel://`; behind
                the `?` may stand `prefix` and `shards`, too.
            options: See the class.

        Raises:
            AddressError: It is no such address.
            StoreUnavailable: Nothing answers there.
        """
        address = parse_address(url)
        client = connect(address)
        try:
            store = cls(client, **{**address.store_options, **options})
        except ValueError as error:
            client.close()
            raise AddressError(f"{address.shown} cannot be used. {error}") from None
        store._address = address
        return store

    # What a store does.

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Carry operations out; all reads see the state before all writes."""
        return self.run(self._batch(list(ops)))

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """See `batch`."""
        return await self.arun(self._batch(list(ops)))

    def setup(self) -> None:
        """Write down the layout of a new store, as the first put does, too.

        Warns if the server may evict keys, and so items and lists apart.
        """
        self.run(self._prepared())
        _warn_of_eviction(self._transport().info())

    async def asetup(self) -> None:
        """See `setup`."""
        await self.arun(self._prepared())
        if self._borrows_thread:
            return
        _warn_of_eviction(await self._async_transport().info())

    def sweep_ttl(self) -> int:
        """Take expired items off the lists at once; how many they were.

        Each write takes some off, so this is needed only where nothing is written.
        """
        return self.run(self._swept())

    async def asweep_ttl(self) -> int:
        """See `sweep_ttl`."""
        return await self.arun(self._swept())

    def repair(self) -> int:
        """Make lists and items agree; how many entries differed.

        They differ only after keys were lost or removed by something else: by an
        eviction, by hand. It looks at every key of the store, in small steps.
        """
        mended = 0
        for keys in self._transport().scan(self._pattern()):
            mended += self.run(self._mended_keys(keys))
        return mended + self.run(self._mended_lists())

    async def arepair(self) -> int:
        """See `repair`."""
        if self._borrows_thread:
            return await asyncio.to_thread(self.repair)
        mended = 0
        async for keys in self._async_transport().scan(self._pattern()):
            mended += await self.arun(self._mended_keys(keys))
        return mended + await self.arun(self._mended_lists())

    def facts(self) -> dict[str, Any]:
        """What `INFO` tells of the server; empty where it may not be asked."""
        return self._transport().info()

    def close(self) -> None:
        """Close the connections of the sync methods."""
        if self._sync is not None:
            self._sync.close()

    async def aclose(self) -> None:
        """Close the connections that the async methods made in this loop."""
        made = self._by_loop.pop(asyncio.get_running_loop(), None)
        for transport in (made, self._async):
            if transport is not None:
                await transport.close()

    # Who carries it out.

    def run(self, talk: Talk[T]) -> T:
        """Carry an operation of `redis_operations` out."""
        if self._sync is None:
            return self._run_on_its_loop(talk)
        transport = self._sync
        answers: Any = None
        try:
            while True:
                answers = transport.send(talk.send(answers))
        except StopIteration as stop:
            return stop.value  # type: ignore[no-any-return]

    async def arun(self, talk: Talk[T]) -> T:
        """See `run`."""
        if self._borrows_thread:
            return await asyncio.to_thread(self.run, talk)
        transport = self._async_transport()
        if self._async is not None and self._loop is None:
            self._loop = asyncio.get_running_loop()
        answers: Any = None
        try:
            while True:
                answers = await transport.send(talk.send(answers))
        except StopIteration as stop:
            return stop.value  # type: ignore[no-any-return]

    def _run_on_its_loop(self, talk: Talk[T]) -> T:
        try:
            running = asyncio.get_running_loop()
        except RuntimeError:
            running = None
        loop = self._loop
        if loop is None or loop is running or not loop.is_running():
            raise SyncUseOfAsyncStore(
                "This PlainRedisStore was given an asyncio client.",
                hint="Use the method's async twin, or give a redis.Redis.",
            )
        return asyncio.run_coroutine_threadsafe(self.arun(talk), loop).result()

    def _transport(self) -> Transport:
        if self._sync is None:
            raise SyncUseOfAsyncStore(
                "This PlainRedisStore was given an asyncio client.",
                hint="Use the method's async twin, or give a redis.Redis.",
            )
        return self._sync

    def _async_transport(self) -> AsyncTransport:
        if self._async is not None:
            return self._async
        # The connections of an asyncio client belong to the loop that made them.
        loop = asyncio.get_running_loop()
        made = self._by_loop.get(loop)
        if made is None:
            for ended in [one for one in self._by_loop if one.is_closed()]:
                del self._by_loop[ended]  # a client keeps its loop: it would stay
            client: Any = self._transport()
            twin = async_twin(self._address, client.client)  # type: ignore[arg-type]
            made = self._by_loop[loop] = AsyncRedisTransport(twin)
        return made

    @property
    def _borrows_thread(self) -> bool:
        """Whether there is a sync client only, and no address to make another from."""
        return self._async is None and self._address is None

    @property
    def is_cluster(self) -> bool:
        """Whether its shards may lie on several servers."""
        transport = self._sync or self._async
        return transport is not None and transport.is_cluster

    # What it is made of.

    def known_layout(self, *, create: bool) -> Talk[Layout]:
        """The layout in use, or the one a store that is not there yet would have."""
        if self._layout is None:
            shards = self._shards or (_SHARDS_OF_A_CLUSTER if self.is_cluster else 1)
            self._layout = yield from operations.layout_of(
                self.prefix, shards, create=create
            )
            if self._layout is None:
                return Layout(self.prefix, shards)
        return self._layout

    def one(self, op: Op) -> Talk[Result]:
        """One operation of a batch."""
        return (yield from self._batch([op]))[0]

    @property
    def is_async_only(self) -> bool:
        """Whether it was given an asyncio client."""
        return self._sync is None

    @property
    def is_there(self) -> bool:
        """Whether a layout was found or written down, when last looked for."""
        return self._layout is not None

    @property
    def shown(self) -> str:
        """The address without its password, where it is known."""
        return "this address" if self._address is None else self._address.shown

    def _prepared(self) -> Talk[None]:
        yield from self.known_layout(create=True)

    def _swept(self) -> Talk[int]:
        layout = yield from self.known_layout(create=False)
        return (yield from operations.sweep(layout, now_ms()))

    def _mended_lists(self) -> Talk[int]:
        layout = yield from self.known_layout(create=False)
        return (yield from operations.mend_registries(layout))

    def _mended_keys(self, keys: Sequence[bytes]) -> Talk[int]:
        layout = yield from self.known_layout(create=False)
        return (yield from operations.mend_keys(layout, keys))

    def _pattern(self) -> str:
        return f"{escape_glob(self.prefix)}:{{*}}:*"

    def _batch(self, ops: Sequence[Op]) -> Talk[list[Result]]:
        # Whatever is wrong with one of them, nothing has happened yet.
        ops = [_checked(op) for op in ops]
        filters = {n: matcher(op.filter) for n, op in _of(SearchOp, ops)}
        puts = {(op.namespace, op.key): op for _, op in _of(PutOp, ops)}
        changes = [(op, *_what(op)) for op in puts.values()]

        layout = yield from self.known_layout(create=bool(puts))
        results, touched = yield from _read(layout, ops, filters)
        yield from operations.apply(
            layout,
            [
                Change(layout.space(one.namespace), one.key, "touch", group=n)
                for n, one in enumerate(touched)
                if one.stored.ttl is not None
            ],
        )
        yield from operations.apply(
            layout,
            [
                Change(layout.space(op.namespace), op.key, what, json, group=n)
                for n, (op, what, json) in enumerate(changes)
            ],
        )
        return results


OpT = TypeVar("OpT", bound=Op)
Filters = Mapping[int, Callable[[Mapping[str, Any]], bool] | None]


def _read(
    layout: Layout, ops: Sequence[Op], filters: Filters
) -> Talk[tuple[list[Any], list[Found]]]:
    """The results of all but puts, and the items whose lifetime begins anew."""
    results: list[Any] = [None] * len(ops)
    touched: list[Found] = []
    gets = list(_of(GetOp, ops))
    pairs = [(op.namespace, op.key) for _, op in gets]
    held = yield from operations.read(layout, pairs)
    for (n, get), one in zip(gets, held, strict=True):
        if one is not None:
            found = Found(get.namespace, get.key, one)
            results[n] = Item(**_fields(found))
            touched += [found] if get.refresh_ttl else []
    for n, search in _of(SearchOp, ops):
        hits = yield from operations.search(
            layout, search.namespace_prefix, filters[n], search.limit, search.offset
        )
        results[n] = [SearchItem(**_fields(found)) for found in hits]
        touched += hits if search.refresh_ttl else []
    for n, listing in _of(ListNamespacesOp, ops):
        results[n] = yield from _listed(layout, listing)
    return results, touched


def _of(kind: type[OpT], ops: Sequence[Op]) -> Iterable[tuple[int, OpT]]:
    return ((n, op) for n, op in enumerate(ops) if isinstance(op, kind))


def _checked(op: Op) -> Op:
    """An operation whose names and numbers can be used."""
    if isinstance(op, PutOp):
        check = check_labels if op.value is None else check_namespace
        return op._replace(namespace=check(op.namespace), key=_key(op.key))
    if isinstance(op, GetOp):
        return op._replace(namespace=check_labels(op.namespace), key=_key(op.key))
    if isinstance(op, SearchOp):
        _check_bounds(op.limit, op.offset)
        return op._replace(namespace_prefix=check_labels(op.namespace_prefix))
    if isinstance(op, ListNamespacesOp):
        _check_bounds(op.limit, op.offset)
        if op.max_depth is not None and op.max_depth < 1:
            raise ValueError("max_depth is at least 1.")
        for condition in op.match_conditions or ():
            check_labels(condition.path)
            if condition.match_type not in ("prefix", "suffix"):
                raise ValueError(f"Unsupported match type: {condition.match_type}")
        return op
    raise ValueError(f"Unknown operation type: {type(op)}")


def _key(key: Any) -> str:
    if not isinstance(key, str):
        raise TypeError(f"A key is a string, not {key!r}.")
    return key


def _check_bounds(limit: Any, offset: Any) -> None:
    if not isinstance(limit, int) or not isinstance(offset, int):
        raise TypeError("limit and offset are whole numbers.")
    if limit < 0 or offset < 0:
        raise ValueError("limit and offset are not negative.")


def _what(op: PutOp) -> tuple[str, bytes]:
    """What the script is to do for a put."""
    if op.value is None:
        return "delete", b""
    return put_with(milliseconds(op.ttl)), to_json(op.value)


def put_with(ttl: int | None) -> str:
    """The script's word for a put with a lifetime in milliseconds."""
    if ttl is None:
        return "put"
    # What has no time to live is gone at once.
    return f"put {ttl}" if ttl else "delete"


def _fields(found: Found) -> dict[str, Any]:
    stored: Stored = found.stored
    return {
        "namespace": found.namespace,
        "key": found.key,
        "value": stored.value,
        "created_at": moment(stored.created),
        "updated_at": moment(stored.updated),
    }


def _listed(layout: Layout, op: ListNamespacesOp) -> Talk[list[Namespace]]:
    conditions = list(op.match_conditions or ())
    starts = [_literal(c.path) for c in conditions if c.match_type == "prefix"]
    return (
        yield from operations.namespaces(
            layout,
            max(starts, key=len, default=()),
            lambda namespace: all(_matches(c, namespace) for c in conditions),
            op.max_depth,
            op.limit,
            op.offset,
            now_ms(),
        )
    )


def _literal(path: Sequence[str]) -> Namespace:
    return tuple(itertools.takewhile(lambda label: label != "*", path))


def _matches(condition: MatchCondition, namespace: Namespace) -> bool:
    """Each label as given, `*` any one label."""
    path = condition.path
    if len(path) > len(namespace):
        return False
    at = 0 if condition.match_type == "prefix" else len(namespace) - len(path)
    part = namespace[at : at + len(path)]
    return all(p in ("*", label) for p, label in zip(path, part, strict=True))


def evicts(info: Mapping[str, Any]) -> str:
    """The policy by which a server removes keys when its memory is full, if any."""
    policy = str(info.get("maxmemory_policy", "noeviction"))
    return "" if policy == "noeviction" else policy


def _warn_of_eviction(info: Mapping[str, Any]) -> None:
    policy = evicts(info)
    if policy:
        warnings.warn(
            f"This Redis evicts keys when its memory is full (maxmemory-policy "
            f"{policy}): items of the store would be lost. Set it to noeviction.",
            stacklevel=3,
        )


def now_ms() -> int:
    """The client's time, for what has expired but is still listed."""
    return time.time_ns() // 1_000_000


def escape_glob(text: str) -> str:
    """Text that stands for itself in a pattern of Redis."""
    return "".join(f"\\{sign}" if sign in "\\*?[]^" else sign for sign in text)
