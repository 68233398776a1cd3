"""Clients of the classic Redis classes: by address, shared by a process, or ready ones.

Applications make an entity store for each request; what they connect to is connected
to once.
"""

from __future__ import annotations

import importlib
import os
import threading
from typing import TYPE_CHECKING, Any

from holdover.compat.errors import AddressError, MissingDependency
from holdover.compat.stores.address import resolve_env

if TYPE_CHECKING:
    import redis

    from holdover.compat.stores.redis_transport import Transport

_lock = threading.Lock()
_connected: dict[str, Any] = {}
_decoding: dict[str, Any] = {}
_upstash: dict[tuple[str, str], Any] = {}
_upstash_clients: dict[tuple[str, str], Any] = {}
_MEMOS: tuple[dict[Any, Any], ...] = (
    _connected,
    _decoding,
    _upstash,
    _upstash_clients,
)
_UPSTASH_URL = "UPSTASH_REDIS_REST_URL"
_UPSTASH_TOKEN = "UPSTASH_REDIS_REST_TOKEN"  # noqa: S105 - the variable's name


def _forget_after_fork() -> None:
    global _lock  # noqa: PLW0603 - another thread may have held it when we forked
    _lock = threading.Lock()
    for memo in _MEMOS:
        memo.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_after_fork)


def close_clients() -> None:
    """Close what this process connected to; an object still in use connects again."""
    with _lock:
        opened = [one for memo in _MEMOS for one in memo.values()]
        for memo in _MEMOS:
            memo.clear()
    for one in opened:
        one.close()


def client_at(url: str) -> Any:
    """The client of this process for an address; its answers are bytes.

    Raises:
        AddressError: It is no address of Redis.
        StoreUnavailable: Nothing answers there.
    """
    from holdover.compat.stores.redis_connecting import (  # noqa: PLC0415
        connect,
        parse_address,
    )

    url = resolve_env(url)
    with _lock:
        if url not in _connected:
            _connected[url] = connect(parse_address(url))
        return _connected[url]


def decoding_client_at(url: str) -> Any:
    """The client that a classic class has: its answers are text."""
    url = resolve_env(url)
    plain = client_at(url)
    with _lock:
        if url not in _decoding:
            _decoding[url] = _decoding_like(plain, url)
        return _decoding[url]


def _decoding_like(plain: Any, url: str) -> Any:
    import redis  # noqa: PLC0415 - takes long to load
    import redis.sentinel  # noqa: PLC0415

    from holdover.compat.stores.redis_connecting import (  # noqa: PLC0415
        parse_address,
        sentinel_settings,
        settings,
    )

    address = parse_address(url)
    arguments = settings(address, decode_responses=True)
    if isinstance(plain, redis.RedisCluster):
        arguments.pop("db", None)
        host, port = address.nodes[0]
        return redis.RedisCluster(
            host=host, port=port, require_full_coverage=False, **arguments
        )
    if address.service is not None:
        sentinel: Any = redis.sentinel.Sentinel
        sentinels = sentinel(
            address.nodes, sentinel_kwargs=sentinel_settings(address), **arguments
        )
        return sentinels.master_for(address.service)
    if address.nodes:
        arguments["host"], arguments["port"] = address.nodes[0]
    return redis.Redis(**arguments)


def check_client(client: Any) -> redis.Redis | redis.RedisCluster:
    """A client that a caller brought along.

    Raises:
        TypeError: It is none that can be used here.
    """
    import redis  # noqa: PLC0415 - takes long to load
    import redis.asyncio  # noqa: PLC0415

    if isinstance(client, redis.Redis | redis.RedisCluster):
        return client
    if isinstance(client, redis.asyncio.Redis | redis.asyncio.RedisCluster):
        raise TypeError(
            "redis_client is an asyncio client, which get and set cannot use. Give a "
            "redis.Redis, or url= alone: aget and aset then await."
        )
    raise TypeError(
        f"redis_client is a {type(client).__name__}; give a redis.Redis or a "
        "redis.RedisCluster, or url=."
    )


def database_of(client: Any) -> int:
    """The number of the database a client works in; a cluster has only 0."""
    pool = getattr(client, "connection_pool", None)
    return int(getattr(pool, "connection_kwargs", {}).get("db") or 0)


def upstash_login(url: str, token: str) -> tuple[str, str]:
    """The URL and token of an Upstash database, from the environment where empty.

    Raises:
        AddressError: Neither argument nor environment says where it is.
    """
    url = url or os.environ.get(_UPSTASH_URL, "")
    token = token or os.environ.get(_UPSTASH_TOKEN, "")
    if not url or not token:
        raise AddressError(
            f"Upstash needs {'a token' if url else 'a URL'}.",
            hint=f"Pass url= and token=, or set {_UPSTASH_URL} and {_UPSTASH_TOKEN}.",
        )
    return url, token


def upstash_at(url: str, token: str) -> Transport:
    """The connection of this process to an Upstash database; see `upstash_login`."""
    from holdover.compat.stores.upstash_rest import UpstashRest  # noqa: PLC0415
    from holdover.compat.stores.upstash_transport import UpstashTransport  # noqa: PLC0415

    login = upstash_login(url, token)
    with _lock:
        if login not in _upstash:
            _upstash[login] = UpstashTransport(UpstashRest(*login))
        transport: Transport = _upstash[login]
        return transport


def upstash_client_at(url: str, token: str) -> Any:
    """The client that the classic class has, of the optional package."""
    login = upstash_login(url, token)
    try:
        package = importlib.import_module("upstash_redis")
    except ImportError as error:
        raise MissingDependency(
            "redis_client is a client of upstash-redis, which is not installed. "
            "Entities do not need it.",
            hint="Run: pip install upstash-redis",
        ) from error
    with _lock:
        if login not in _upstash_clients:
            _upstash_clients[login] = package.Redis(*login)
        return _upstash_clients[login]


def is_upstash_set(url: str) -> bool:
    """Whether an Upstash database is named, by argument or environment."""
    return bool(url or os.environ.get(_UPSTASH_URL))


def login_of_upstash(client: Any) -> tuple[str, str]:
    """The URL and the token of a ready `upstash_redis.Redis`.

    It decodes every answer as UTF-8 and cannot give an error as an answer, so only its
    login is used.

    Raises:
        TypeError: It is no such client.
    """
    url = getattr(client, "_url", None)
    headers = getattr(client, "_headers", None) or {}
    scheme, _, token = str(headers.get("Authorization", "")).partition(" ")
    if not isinstance(url, str) or scheme != "Bearer" or not token:
        raise TypeError(
            f"redis_client is a {type(client).__name__}; give an upstash_redis.Redis, "
            "or url= and token=."
        )
    return url, token
