"""`RedisChatMessageHistory`: with its classic constructor, on a store."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, ClassVar

from holdover.compat import redis_clients
from holdover.compat.chat_message_histories.classic import (
    ClassicHistory,
    name_of,
    root_of,
)
from holdover.compat.journal import DEFAULT_HISTORY, History
from holdover.compat.legacy.lists import LegacyRedisList
from holdover.compat.scope import Scope
from holdover.compat.stores.address import resolve_env

if TYPE_CHECKING:
    from langgraph.store.base import BaseStore

    from holdover.compat.legacy.histories import OldHistory

__all__ = ["RedisChatMessageHistory"]


class RedisChatMessageHistory(ClassicHistory):
    """Messages of a session that a classic history kept in Redis.

    Without a store, items are kept in the same Redis, below the prefix `holdover`. The
    classic list is only read: at the first use it is taken over whole, with what is
    left of its lifetime.

    Args:
        session_id: Any string.
        url: `redis://`, `rediss://`, `unix://` or `redis+sentinel://`, a server or a
            cluster, or `env:NAME`; with a store, only the place to read old messages.
            It is connected to at the first use.
        key_prefix: The classic prefix; without a last colon, the root of the scope.
        ttl: Seconds that the messages live after the last addition, or up to a
            sixteenth longer; 0 and `None` are for ever.
        store: A `BaseStore` or an address for `open_store`.
        scope: The whole scope instead of `(key_prefix, session_id)`.
        redis_client: A ready `redis.Redis` or `redis.RedisCluster` instead of `url`.
        history: How much of the journal of a deleted message is kept.
        legacy: `"off"` never looks at the classic list.
        unsafe: Accept a store that is known to lose data.
        unknown: Anything else is named in a warning.
    """

    _ends_together: ClassVar[bool] = True
    _client: Any = None

    def __init__(
        self,
        session_id: str,
        url: str = "redis://localhost:6379/0",
        key_prefix: str = "message_store:",
        ttl: float | timedelta | None = None,
        *,
        store: BaseStore | str | None = None,
        scope: Scope | tuple[str, ...] | str | None = None,
        redis_client: Any = None,
        history: History = DEFAULT_HISTORY,
        legacy: str = "",
        unsafe: bool = False,
        **unknown: Any,
    ) -> None:
        self.key_prefix = key_prefix
        self.ttl = ttl
        self._url = url
        if redis_client is not None:
            self._client = redis_clients.check_client(redis_client)
        self._settle(
            name_of(session_id),
            root_of(key_prefix),
            store=store,
            scope=scope,
            history=history,
            legacy=legacy,
            unsafe=unsafe,
            unknown=unknown,
            ttl=ttl or None,
        )
        self.place.reopens_after_fork = True

    @property
    def key(self) -> str:
        """The key of the classic list."""
        return f"{self.key_prefix}{self.session_id}"

    @property
    def redis_client(self) -> Any:
        """The client, whose answers are bytes; connected to when it is asked for."""
        return self._client or redis_clients.client_at(self._url)

    @redis_client.setter
    def redis_client(self, client: Any) -> None:
        self._client = redis_clients.check_client(client)
        self.place.let_go()

    def __getstate__(self) -> dict[str, Any]:
        """Refuse a ready client, which holds sockets and locks."""
        if self._client is not None:
            raise TypeError(
                f"A {type(self).__name__} with a redis_client cannot be pickled: "
                "make it with url= instead."
            )
        return self.__dict__.copy()

    def _own_store(self) -> BaseStore:
        if self._client is None:
            from holdover.compat.stores.opening import open_store  # noqa: PLC0415

            return open_store(self._url)
        from holdover.compat.stores.redis import PlainRedisStore  # noqa: PLC0415

        return PlainRedisStore(self._client)

    def _old(self) -> OldHistory:
        from holdover.compat.stores.redis_connecting import (  # noqa: PLC0415
            parse_address,
        )
        from holdover.compat.stores.redis_transport import (  # noqa: PLC0415
            RedisTransport,
        )

        url, client = self._url, self._client
        if client is None:
            address = parse_address(resolve_env(url))
            database, shown = address.db, address.shown
        else:
            database = redis_clients.database_of(client)
            shown = "the address of redis_client"
        return LegacyRedisList(
            lambda: RedisTransport(client or redis_clients.client_at(url)),
            self.key,
            self.place.root,
            database=database,
            shown=shown,
        )
