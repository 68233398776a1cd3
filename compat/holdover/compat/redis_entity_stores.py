"""The classic entity store classes of Redis and of Upstash.

Their entities end: `set` gives `ttl`, and a `get` gives `recall_ttl`, both in seconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any, ClassVar

from langgraph.store.base import BaseStore
from pydantic import ConfigDict, Field, PrivateAttr, field_serializer

from holdover.compat import redis_clients
from holdover.compat.entity_stores import AnyString, StoreEntityStore
from holdover.compat.journal import DEFAULT_HISTORY, History
from holdover.compat.legacy.redis import LegacyRedisKeys
from holdover.compat.notices import warn_of, warn_once
from holdover.compat.place import reads_legacy
from holdover.compat.repository import LegacyPlace
from holdover.compat.scope import DEFAULT_ROOT, DEFAULT_SESSION, Scope
from holdover.compat.stores.address import redact_url, resolve_env

__all__ = ["RedisEntityStore", "UpstashRedisEntityStore"]

_DAY = 60 * 60 * 24
DEFAULT_URL = "redis://localhost:6379/0"
Seconds = int | timedelta | None


class _ExpiringEntityStore(StoreEntityStore):
    """What the two classes share: names, lifetimes, and an address not to be shown."""

    model_config = ConfigDict(
        arbitrary_types_allowed=True, extra="ignore", hide_input_in_errors=True
    )
    reopens_after_fork: ClassVar[bool] = True

    session_id: AnyString = DEFAULT_SESSION
    key_prefix: AnyString = DEFAULT_ROOT
    ttl: Seconds = _DAY
    recall_ttl: Seconds = 3 * _DAY
    url: AnyString = ""

    _client: Any = PrivateAttr(default=None)
    _read_legacy: bool = PrivateAttr(default=True)

    @property
    def full_key_prefix(self) -> str:
        """What the keys of the classic class began with, but for a last colon."""
        return f"{self.key_prefix}:{self.session_id}"

    def _begin(
        self,
        unknown: dict[str, Any],
        *,
        store: BaseStore | str | None,
        scope: Scope | tuple[str, ...] | str | None,
        client: Any,
        history: History,
        legacy: str,
        unsafe: bool,
    ) -> None:
        name = type(self).__name__
        warn_of(unknown, type(self))
        self._settle(store, scope, history=history, unsafe=unsafe)
        self._client = client
        self._read_legacy = reads_legacy(legacy)
        for argument in ("ttl", "recall_ttl"):
            _lifetime(argument, getattr(self, argument))
        if self.session_id == DEFAULT_SESSION and scope is None:
            warn_once(
                f"{name} without a session_id: every user of the session "
                f"{DEFAULT_SESSION!r} shares its entities. Pass session_id=."
            )
        if self.ttl is None and self.recall_ttl is not None:
            warn_once(
                f"{name} with ttl=None: an entity that is read ends recall_ttl "
                "later, as in the classic class. Pass recall_ttl=None as well to "
                "keep entities for ever."
            )

    @field_serializer("url")
    def _without_password(self, url: str) -> str:
        return redact_url(url)

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        """Show the address without its password."""
        for name, value in super().__repr_args__():
            yield name, redact_url(value) if name == "url" else value

    def __getstate__(self) -> dict[Any, Any]:
        """Refuse a ready client, which holds sockets and locks."""
        if self._client is not None:
            raise TypeError(
                f"A {type(self).__name__} with a redis_client cannot be pickled: "
                "make it with url= instead."
            )
        return super().__getstate__()

    def _own_scope(self) -> tuple[str, str]:
        return self.key_prefix, self.session_id

    def _has_same(self, other: StoreEntityStore) -> bool:
        assert isinstance(other, _ExpiringEntityStore)  # noqa: S101 - of one class
        # Of two clients, nobody can tell whether they lead to the same server.
        return (
            self._client is other._client  # noqa: SLF001 - our own class
            and self._read_legacy == other._read_legacy  # noqa: SLF001
            and super()._has_same(other)
        )

    def _lifetime(self) -> timedelta | None:
        return _lifetime("ttl", self.ttl)

    def _recall(self) -> timedelta | None:
        return _lifetime("recall_ttl", self.recall_ttl)


class RedisEntityStore(_ExpiringEntityStore):
    """Entities of a session that a classic `RedisEntityStore` kept in Redis.

    Without a store, items are kept in the same Redis, below the prefix `holdover`. The
    classic keys are only read: a name found there is taken over once, with what is
    left of its lifetime, and the key keeps its own.

    Args:
        session_id: Any string.
        url: `redis://`, `rediss://`, `unix://` or `redis+sentinel://`, a server or a
            cluster, or `env:NAME`; with a store, only the place to read old data. It
            is connected to at the first use.
        key_prefix: The classic prefix; the root of the scope.
        ttl: Seconds that an entity lives after `set`; `None` is for ever.
        recall_ttl: Seconds that it lives after a `get`, be that sooner or later than
            it would have ended; 0 or `None` is `ttl`, and where that is `None`, a
            `get` changes nothing. `exists` never does.
        args: Not supported, as in the classic class.
        store: A `BaseStore` or an address for `open_store`.
        scope: The whole scope instead of `(key_prefix, session_id)`.
        redis_client: A ready `redis.Redis` or `redis.RedisCluster` instead of `url`.
        history: How much of each entity's journal is kept.
        legacy: `"off"` never looks at the classic keys.
        unsafe: Accept a store that is known to lose data.
        unknown: Anything else is named in a warning.

    Raises:
        ValueError: A lifetime is not positive. The classic class let Redis refuse it
            at the first `set`.
    """

    url: AnyString = DEFAULT_URL

    def __init__(
        self,
        session_id: str = DEFAULT_SESSION,
        url: str = DEFAULT_URL,
        key_prefix: str = DEFAULT_ROOT,
        ttl: Seconds = _DAY,
        recall_ttl: Seconds = 3 * _DAY,
        *args: Any,
        store: BaseStore | str | None = None,
        scope: Scope | tuple[str, ...] | str | None = None,
        redis_client: Any = None,
        history: History = DEFAULT_HISTORY,
        legacy: str = "",
        unsafe: bool = False,
        **unknown: Any,
    ) -> None:
        fields: dict[str, Any] = {
            "session_id": session_id,
            "url": url,
            "key_prefix": key_prefix,
            "ttl": ttl,
            "recall_ttl": recall_ttl or ttl,
        }
        super().__init__(*args, **fields)
        if redis_client is not None:
            redis_client = redis_clients.check_client(redis_client)
        self._begin(
            unknown,
            store=store,
            scope=scope,
            client=redis_client,
            history=history,
            legacy=legacy,
            unsafe=unsafe,
        )

    @property
    def redis_client(self) -> Any:
        """The client, whose answers are text; connected to when it is asked for."""
        if self._client is None:
            return redis_clients.decoding_client_at(self.url)
        return self._client

    @redis_client.setter
    def redis_client(self, client: Any) -> None:
        self._client = redis_clients.check_client(client)
        self._let_go()

    def _own_store(self) -> BaseStore:
        if self._client is None:
            from holdover.compat.stores.opening import open_store  # noqa: PLC0415

            return open_store(self.url)
        from holdover.compat.stores.redis import PlainRedisStore  # noqa: PLC0415

        return PlainRedisStore(self._client)

    def _legacy_place(self) -> LegacyPlace | None:
        if not self._read_legacy:
            return None
        from holdover.compat.stores.redis_connecting import (  # noqa: PLC0415
            parse_address,
        )
        from holdover.compat.stores.redis_transport import (  # noqa: PLC0415
            RedisTransport,
        )

        url, client = self.url, self._client
        if client is None:
            address = parse_address(resolve_env(url))
            database, shown = address.db, address.shown
        else:
            database = redis_clients.database_of(client)
            shown = "the address of redis_client"
        return LegacyRedisKeys(
            lambda: RedisTransport(client or redis_clients.client_at(url)),
            self.key_prefix,
            self.session_id,
            database=database,
            shown=shown,
        )


class UpstashRedisEntityStore(_ExpiringEntityStore):
    """Entities of a session that a classic `UpstashRedisEntityStore` kept in Upstash.

    It speaks Upstash's REST protocol itself; the package `upstash-redis` is not needed.
    All else is as in `RedisEntityStore`.

    Args:
        session_id: Any string.
        url: The database's REST URL; if empty, `UPSTASH_REDIS_REST_URL` counts. With a
            store, only the place to read old data.
        token: Its token; if empty, `UPSTASH_REDIS_REST_TOKEN` counts.
        key_prefix: The classic prefix; the root of the scope.
        ttl: Seconds that an entity lives after `set`; `None` is for ever.
        recall_ttl: Seconds that it lives after a `get`; see `RedisEntityStore`.
        args: Not supported, as in the classic class.
        store: A `BaseStore` or an address for `open_store`.
        scope: The whole scope instead of `(key_prefix, session_id)`.
        redis_client: A ready `upstash_redis.Redis`, whose URL and token are used.
        history: How much of each entity's journal is kept.
        legacy: `"off"` never looks at the classic keys.
        unsafe: Accept a store that is known to lose data.
        unknown: Anything else is named in a warning.

    Raises:
        ValueError: A lifetime is not positive.
    """

    token: AnyString = Field(default="", repr=False, exclude=True)

    def __init__(
        self,
        session_id: str = DEFAULT_SESSION,
        url: str = "",
        token: str = "",
        key_prefix: str = DEFAULT_ROOT,
        ttl: Seconds = _DAY,
        recall_ttl: Seconds = 3 * _DAY,
        *args: Any,
        store: BaseStore | str | None = None,
        scope: Scope | tuple[str, ...] | str | None = None,
        redis_client: Any = None,
        history: History = DEFAULT_HISTORY,
        legacy: str = "",
        unsafe: bool = False,
        **unknown: Any,
    ) -> None:
        if redis_client is not None:
            url, token = redis_clients.login_of_upstash(redis_client)
        fields: dict[str, Any] = {
            "session_id": session_id,
            "url": url,
            "token": token,
            "key_prefix": key_prefix,
            "ttl": ttl,
            "recall_ttl": recall_ttl or ttl,
        }
        super().__init__(*args, **fields)
        self._begin(
            unknown,
            store=store,
            scope=scope,
            client=redis_client,
            history=history,
            legacy=legacy,
            unsafe=unsafe,
        )

    @property
    def redis_client(self) -> Any:
        """An `upstash_redis.Redis`, made when it is asked for."""
        if self._client is None:
            return redis_clients.upstash_client_at(self.url, self.token)
        return self._client

    @redis_client.setter
    def redis_client(self, client: Any) -> None:
        self.url, self.token = redis_clients.login_of_upstash(client)
        self._client = client
        self._let_go()

    def _own_store(self) -> BaseStore:
        from holdover.compat.stores.redis import PlainRedisStore  # noqa: PLC0415

        return PlainRedisStore(redis_clients.upstash_at(self.url, self.token))

    def _legacy_place(self) -> LegacyPlace | None:
        # With a store of another kind, there need be no old place.
        if not self._read_legacy or not redis_clients.is_upstash_set(self.url):
            return None
        url, token = redis_clients.upstash_login(self.url, self.token)
        return LegacyRedisKeys(
            lambda: redis_clients.upstash_at(url, token),
            self.key_prefix,
            self.session_id,
            shown=redact_url(url),
        )


def _lifetime(argument: str, seconds: Any) -> timedelta | None:
    if seconds is None:
        return None
    given = seconds if isinstance(seconds, timedelta) else timedelta(seconds=seconds)
    if given <= timedelta(0):
        raise ValueError(
            f"{argument}={seconds!r}: give seconds above 0, or None for no end."
        )
    return given
