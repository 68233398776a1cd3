"""How the repository reads and writes a `PlainRedisStore`: by key, in few exchanges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langgraph.store.base import PutOp, SearchOp
from redis.exceptions import (
    AuthenticationError,
    AuthorizationError,
    BusyLoadingError,
    ClusterDownError,
    ClusterError,
    MasterDownError,
    ReadOnlyError,
    RedisClusterException,
    RedisError,
    TryAgainError,
)
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError
from redis.sentinel import MasterNotFoundError

from holdover.compat.errors import StoreUnavailable
from holdover.compat.scope import INTERNAL_ROOT
from holdover.compat.stores import redis_operations as operations
from holdover.compat.stores.backend import Backend, Namespace, Pair, Value
from holdover.compat.stores.redis import PlainRedisStore, now_ms, put_with
from holdover.compat.stores.redis_connecting import explain, unwrapped
from holdover.compat.stores.redis_layout import Layout, milliseconds, to_json
from holdover.compat.stores.redis_operations import Change, Talk

#: A server that comes back, or another one in its place, will answer the same call.
_PASSING = (
    RedisConnectionError,
    RedisTimeoutError,
    BusyLoadingError,
    ClusterDownError,
    ClusterError,
    MasterDownError,
    MasterNotFoundError,
    ReadOnlyError,
    RedisClusterException,
    TryAgainError,
)
_REFUSED = (AuthenticationError, AuthorizationError)


class RedisBackend(Backend):
    """A `PlainRedisStore` with a sync client."""

    store: PlainRedisStore

    def _do(self, talk: Talk[Any]) -> Any:
        return self.store.run(talk)

    def read(self, pairs: Sequence[Pair]) -> Any:
        """Read keys with one command for each shard."""
        return self._do(_read(self.store, pairs))

    def write(self, groups: Sequence[Sequence[PutOp]]) -> Any:
        """Write; where there is one shard, each group at once."""
        return self._do(_write(self.store, groups))

    def replace(self, put: PutOp, before: Value) -> Any:
        """Compare and write in the server."""
        return self._do(_replace(self.store, put, before))

    def page(
        self,
        namespace: Namespace,
        after: str | None,
        limit: int,
        reverse: bool,  # noqa: FBT001
    ) -> Any:
        """Read a range of the sorted set of keys."""
        return self._do(_page(self.store, namespace, after, limit, reverse=reverse))

    def count(self, namespace: Namespace) -> Any:
        """Ask for the size of the sorted set."""
        return self._do(_count(self.store, namespace))

    def older(self, namespace: Namespace, keep: int) -> Any:
        """Read the keys behind the newest."""
        return self._do(_older(self.store, namespace, keep))

    def search(self, op: SearchOp) -> Any:
        """Leave it to the store."""
        return self._do(self.store.one(op))

    def namespaces(self, prefix: Namespace) -> Any:
        """Read a range of the registry."""
        return self._do(_namespaces(self.store, prefix))

    def transient(self, error: BaseException) -> bool:
        """Whether the server was away, or not yet itself."""
        # To redis-py, a login that is refused is a connection that failed.
        error = unwrapped(error)
        return isinstance(error, _PASSING) and not isinstance(error, _REFUSED)

    def translate(self, error: BaseException) -> BaseException:
        """Name the server and what to do."""
        # It is no `RedisError`: no server of the cluster answers.
        if not isinstance(error, RedisError | RedisClusterException | OSError):
            return error
        message, hint = explain(error, self.store.shown)
        unavailable = StoreUnavailable(message, hint=hint)
        unavailable.__cause__ = error
        return unavailable


class AsyncRedisBackend(RedisBackend):
    """A `PlainRedisStore` with an asyncio client only: the same, awaited."""

    is_async = True

    def _do(self, talk: Talk[Any]) -> Any:
        return self.store.arun(talk)


def changes_of(
    layout: Layout, groups: Sequence[Sequence[PutOp]]
) -> tuple[list[Change], list[Change]]:
    """What is to be written first, and what after it.

    The journal precedes the head. In one shard they are one group and happen at once;
    across shards, the internal items go first.
    """
    first: list[Change] = []
    after: list[Change] = []
    for number, group in enumerate(groups):
        heads = []
        for op in group:
            space = layout.space(op.namespace)
            what = "delete" if op.value is None else put_with(milliseconds(op.ttl))
            json = b"" if op.value is None else to_json(op.value)
            change = Change(space, op.key, what, json, group=number)
            if op.namespace[0] == INTERNAL_ROOT:
                first.append(change)
            else:
                heads.append(change)
        (first if layout.shards == 1 else after).extend(heads)
    return first, after


def _read(store: PlainRedisStore, pairs: Sequence[Pair]) -> Talk[list[Value | None]]:
    layout = yield from store.known_layout(create=False)
    held = yield from operations.read(layout, pairs)
    return [None if one is None else one.value for one in held]


def _write(store: PlainRedisStore, groups: Sequence[Sequence[PutOp]]) -> Talk[None]:
    layout = yield from store.known_layout(create=True)
    first, after = changes_of(layout, groups)
    yield from operations.apply(layout, first)
    yield from operations.apply(layout, after)


def _replace(store: PlainRedisStore, put: PutOp, before: Value) -> Talk[bool]:
    layout = yield from store.known_layout(create=True)
    change = Change(
        layout.space(put.namespace),
        put.key,
        put_with(milliseconds(put.ttl)),
        to_json(put.value),
        b"=" + to_json(before),
    )
    return not (yield from operations.apply(layout, [change])).refused


def _page(
    store: PlainRedisStore,
    namespace: Namespace,
    after: str | None,
    limit: int,
    *,
    reverse: bool,
) -> Talk[list[tuple[str, Value]]]:
    layout = yield from store.known_layout(create=False)
    entries = yield from operations.page(
        layout, namespace, after, limit, reverse=reverse
    )
    return [(key, one.value) for key, one in entries]


def _count(store: PlainRedisStore, namespace: Namespace) -> Talk[int]:
    layout = yield from store.known_layout(create=False)
    return (yield from operations.count(layout, namespace, now_ms()))


def _older(store: PlainRedisStore, namespace: Namespace, keep: int) -> Talk[list[str]]:
    layout = yield from store.known_layout(create=False)
    return (yield from operations.older(layout, namespace, keep))


def _namespaces(store: PlainRedisStore, prefix: Namespace) -> Talk[list[Namespace]]:
    layout = yield from store.known_layout(create=False)
    everything = 2**62
    return (
        yield from operations.namespaces(
            layout, prefix, lambda _: True, None, everything, 0, now_ms()
        )
    )
