"""`UpstashRedisChatMessageHistory`: with its classic constructor, on a store."""

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
from holdover.compat.stores.address import redact_url

if TYPE_CHECKING:
    from langgraph.store.base import BaseStore

    from holdover.compat.legacy.histories import OldHistory

__all__ = ["UpstashRedisChatMessageHistory"]


class UpstashRedisChatMessageHistory(ClassicHistory):
    """Messages of a session that a classic history kept in Upstash.

    It speaks Upstash's REST protocol itself; the package `upstash-redis` is not needed.
    All else is as in `RedisChatMessageHistory`.

    Args:
        session_id: Any string.
        url: The database's REST URL; if empty, `UPSTASH_REDIS_REST_URL` counts. With a
            store, only the place to read old messages.
        token: Its token; if empty, `UPSTASH_REDIS_REST_TOKEN` counts.
        key_prefix: The classic prefix; without a last colon, the root of the scope.
        ttl: Seconds that the messages live after the last addition, or up to a
            sixteenth longer; 0 and `None` are for ever.
        store: A `BaseStore` or an address for `open_store`.
        scope: The whole scope instead of `(key_prefix, session_id)`.
        redis_client: A ready `upstash_redis.Redis`, whose URL and token are used.
        history: How much of the journal of a deleted message is kept.
        legacy: `"off"` never looks at the classic list.
        unsafe: Accept a store that is known to lose data.
        unknown: Anything else is named in a warning.

    Raises:
        AddressError: There is neither a store nor a URL and token; a `ValueError`.
    """

    _ends_together: ClassVar[bool] = True
    _client: Any = None

    def __init__(
        self,
        session_id: str,
        url: str = "",
        token: str = "",
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
        if redis_client is not None:
            url, token = redis_clients.login_of_upstash(redis_client)
            self._client = redis_client
        self.key_prefix = key_prefix
        self.ttl = ttl
        self._url, self._token = url, token
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
        if self.place.is_own:
            redis_clients.upstash_login(url, token)

    @property
    def key(self) -> str:
        """The key of the classic list."""
        return f"{self.key_prefix}{self.session_id}"

    @property
    def redis_client(self) -> Any:
        """An `upstash_redis.Redis`, made when it is asked for."""
        if self._client is None:
            return redis_clients.upstash_client_at(self._url, self._token)
        return self._client

    @redis_client.setter
    def redis_client(self, client: Any) -> None:
        self._url, self._token = redis_clients.login_of_upstash(client)
        self._client = client
        self.place.let_go()

    def __getstate__(self) -> dict[str, Any]:
        """Leave a ready client out: URL and token make it again."""
        return {n: v for n, v in self.__dict__.items() if n != "_client"}

    def _own_store(self) -> BaseStore:
        from holdover.compat.stores.redis import PlainRedisStore  # noqa: PLC0415

        return PlainRedisStore(redis_clients.upstash_at(self._url, self._token))

    def _old(self) -> OldHistory | None:
        # With a store of another kind, there need be no old place.
        if not redis_clients.is_upstash_set(self._url):
            return None
        url, token = redis_clients.upstash_login(self._url, self._token)
        return LegacyRedisList(
            lambda: redis_clients.upstash_at(url, token),
            self.key,
            self.place.root,
            shown=redact_url(url),
        )
