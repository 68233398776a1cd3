"""Clients for a Redis by its address: one server, Sentinel, or a cluster.

The forms of an address are those that langchain-community's Redis classes took:
`redis://`, `rediss://` (TLS), `unix://` and `redis+sentinel://`, with redis-py's own
options behind the `?`. A cluster is recognised when it is connected to.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, urlsplit

import redis
import redis.asyncio
import redis.asyncio.sentinel
import redis.sentinel
from redis.asyncio.retry import Retry as AsyncRetry
from redis.backoff import ExponentialBackoff, NoBackoff
from redis.connection import parse_url
from redis.exceptions import (
    AskError,
    AuthenticationError,
    BusyLoadingError,
    ClusterCrossSlotError,
    InvalidResponse,
    NoPermissionError,
    OutOfMemoryError,
    ReadOnlyError,
    RedisClusterException,
    RedisError,
    ResponseError,
)
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError
from redis.retry import Retry
from redis.sentinel import MasterNotFoundError

from holdover.compat.errors import AddressError, StoreUnavailable
from holdover.compat.stores.address import check_login, redact_url

_CONNECT_SECONDS = 10
_ANSWER_SECONDS = 60
_RETRIES = 3
_BACKOFF = ExponentialBackoff(cap=1, base=0.05)
_SENTINEL = "+sentinel"
# redis-py gives these no types.
_SENTINEL_CLASS: Any = redis.sentinel.Sentinel
_ASYNC_SENTINEL: Any = redis.asyncio.sentinel.Sentinel
_SERVICE = "mymaster"
_FORMS = (
    "Write redis://[[user]:password@]host[:port][/db], rediss:// for TLS, "
    "unix:///path?db=0, or redis+sentinel://host:port/service/db; more hosts are "
    "separated by commas."
)


@dataclass(frozen=True)
class RedisAddress:
    """What an address says: `options` are redis-py's, without host and port.

    `service` is the name Sentinel knows a server by; `nodes` are then the sentinels.
    """

    shown: str
    nodes: tuple[tuple[str, int], ...]
    options: dict[str, Any] = field(repr=False)
    service: str | None = None
    sentinel_options: dict[str, Any] = field(default_factory=dict, repr=False)
    #: What is not redis-py's, but ours: `prefix` and `shards` of the store.
    store_options: dict[str, Any] = field(default_factory=dict)

    @property
    def db(self) -> int:
        """The number of the database."""
        return int(self.options.get("db") or 0)


def parse_address(address: str) -> RedisAddress:
    """Read an address; the password may also be in `REDISCLI_AUTH`.

    Raises:
        AddressError: It is none of the forms.
    """
    shown = redact_url(address)
    check_login(address)
    try:
        return _parsed(address, shown)
    except (ValueError, TypeError):
        # redis-py's own words may hold the password.
        error = AddressError(f"{shown} is not an address of Redis.", hint=_FORMS)
    raise error


def _parsed(address: str, shown: str) -> RedisAddress:
    parts = urlsplit(address)
    by_sentinel = parts.scheme.endswith(_SENTINEL)
    scheme = parts.scheme.removesuffix(_SENTINEL)
    userinfo, at, places = parts.netloc.rpartition("@")
    hosts = places.split(",")
    service, path = None, parts.path
    if by_sentinel:
        name, db = [*path.split("/")[1:], "", ""][:2]
        service, path = unquote(name) or _SERVICE, f"/{db}"
    query = f"?{parts.query}" if parts.query else ""
    parse: Any = parse_url
    options = parse(f"{scheme}://{userinfo}{at}{hosts[0]}{path}{query}")
    if (number := path.strip("/")) and scheme != "unix":
        options["db"] = int(number)  # redis-py takes a word for database 0
    connection = options.pop("connection_class", None)
    if connection is not None and scheme == "rediss":
        options["ssl"] = True
    elif connection is not None:
        options["unix_socket_path"] = options.pop("path")
    default = 26379 if by_sentinel else 6379
    options.pop("host", None)
    options.pop("port", None)
    nodes = tuple(_node(host, default) for host in hosts) if scheme != "unix" else ()
    if not options.get("password") and (password := os.environ.get("REDISCLI_AUTH")):
        options["password"] = password
    store_options: dict[str, Any] = {
        name: read(options.pop(name))
        for name, read in (("prefix", str), ("shards", int))
        if name in options
    }
    sentinel_options = {
        name: options.pop(f"sentinel_{name}", options.get(name))
        for name in ("username", "password")
    }
    sentinel_options |= {n: v for n, v in options.items() if n.startswith("ssl")}
    return RedisAddress(
        shown,
        nodes,
        options,
        service,
        {n: v for n, v in sentinel_options.items() if v is not None},
        store_options,
    )


def _node(place: str, default: int) -> tuple[str, int]:
    parts = urlsplit(f"//{place}")
    return parts.hostname or "localhost", parts.port or default


def settings(address: RedisAddress, **more: Any) -> dict[str, Any]:
    """redis-py's arguments for every connection: RESP2, bytes, bounded waits."""
    return {
        "socket_timeout": _ANSWER_SECONDS,
        "socket_connect_timeout": _CONNECT_SECONDS,
        **address.options,
        "protocol": 2,
        "decode_responses": False,
        **more,
    }


def sentinel_settings(address: RedisAddress) -> dict[str, Any]:
    """redis-py's arguments for the connections to the sentinels themselves."""
    return {
        "socket_timeout": _CONNECT_SECONDS,
        "socket_connect_timeout": _CONNECT_SECONDS,
        **address.sentinel_options,
        "protocol": 2,
    }


def connect(address: RedisAddress) -> redis.Redis | redis.RedisCluster:
    """Connect, and find out whether a server or a cluster answers.

    Raises:
        StoreUnavailable: Nothing does, or not to us.
    """
    arguments = settings(address, retry=Retry(_BACKOFF, _RETRIES))
    try:
        if address.service is not None:
            return _by_sentinel(address, arguments)
        if not address.nodes:
            return _answering(redis.Redis(**arguments))
        return _server_or_cluster(address, arguments)
    except (RedisError, RedisClusterException, OSError) as error:
        message, hint = explain(error, address.shown)
    raise StoreUnavailable(message, hint=hint)


def async_twin(
    address: RedisAddress, client: redis.Redis | redis.RedisCluster
) -> redis.asyncio.Redis | redis.asyncio.RedisCluster:
    """An asyncio client of what `connect` found; it connects at its first command."""
    arguments = settings(address, retry=AsyncRetry(_BACKOFF, _RETRIES))
    if isinstance(client, redis.RedisCluster):
        node: Any = redis.asyncio.cluster.ClusterNode
        return redis.asyncio.RedisCluster(
            startup_nodes=[node(host, port) for host, port in address.nodes],
            require_full_coverage=False,
            **_without_db(arguments),
        )
    if address.service is not None:
        once = {**sentinel_settings(address), "retry": AsyncRetry(NoBackoff(), 0)}
        sentinels: Any = _ASYNC_SENTINEL(
            address.nodes, sentinel_kwargs=once, **arguments
        )
        master: redis.asyncio.Redis = sentinels.master_for(address.service)
        return master
    place = _place(address)
    return redis.asyncio.Redis(**place, **arguments)


def _by_sentinel(address: RedisAddress, arguments: dict[str, Any]) -> redis.Redis:
    # A sentinel that is away is not asked again and again: there are others.
    once = {**sentinel_settings(address), "retry": Retry(NoBackoff(), 0)}
    sentinels: Any = _SENTINEL_CLASS(address.nodes, sentinel_kwargs=once, **arguments)
    return _answering(sentinels.master_for(address.service))


def _server_or_cluster(
    address: RedisAddress, arguments: dict[str, Any]
) -> redis.Redis | redis.RedisCluster:
    client = _first_answering(address, arguments)
    if not is_cluster(client):
        if len(address.nodes) > 1:
            client.close()
            raise AddressError(
                f"{address.shown} names several hosts that are no cluster.",
                hint="Name one, or write redis+sentinel://… if they are sentinels.",
            )
        return client
    try:
        # A refusal has a name here; behind `RedisCluster`, none.
        client.execute_command("CLUSTER SLOTS")  # type: ignore[no-untyped-call]
    finally:
        client.close()
    if address.db:
        raise AddressError(
            f"{address.shown} is a cluster, which has no database {address.db}.",
            hint="Leave the number out.",
        )
    make: Any = redis.cluster.ClusterNode
    nodes = [make(host, port) for host, port in address.nodes]
    return redis.RedisCluster(
        startup_nodes=nodes, require_full_coverage=False, **_without_db(arguments)
    )


def _first_answering(address: RedisAddress, arguments: dict[str, Any]) -> redis.Redis:
    *others, last = address.nodes
    for host, port in others:
        with suppress(RedisConnectionError, RedisTimeoutError, OSError):
            return _answering(redis.Redis(host=host, port=port, **arguments))
    return _answering(redis.Redis(host=last[0], port=last[1], **arguments))


def is_cluster(client: redis.Redis) -> bool:
    """Whether a server is a node of a cluster, as far as it may tell us."""
    try:
        facts: Any = client.info("cluster")
    except ResponseError:
        # INFO is not allowed; a node of a cluster still lists its slots.
        try:
            slots: Any = client.execute_command("CLUSTER SLOTS")  # type: ignore[no-untyped-call]
            return bool(slots)
        except ResponseError:
            return False
    return bool(facts.get("cluster_enabled"))


def _answering(client: redis.Redis) -> redis.Redis:
    try:
        client.ping()
    except NoPermissionError:
        pass  # it answers
    except BaseException:
        client.close()
        raise
    return client


def _place(address: RedisAddress) -> dict[str, Any]:
    if not address.nodes:
        return {}
    host, port = address.nodes[0]
    return {"host": host, "port": port}


def _without_db(arguments: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if name != "db"}


_IN_A_SCRIPT = {
    "-READONLY": ReadOnlyError,
    "-OOM": OutOfMemoryError,
    "-NOPERM": NoPermissionError,
}


def unwrapped(error: BaseException) -> BaseException:
    """What a command in a script answered; servers before 7 wrap it in words."""
    text = str(error)
    if isinstance(error, ResponseError) and text.startswith("Error running script"):
        for code, kind in _IN_A_SCRIPT.items():
            if f" {code} " in text:
                return kind(text)
    return error


def explain(error: BaseException, shown: str) -> tuple[str, str]:
    """A sentence and a hint for redis-py's error, whose own text may hold a secret."""
    error = unwrapped(error)
    for kinds, starts, message, hint in _MEANINGS:
        if isinstance(error, kinds) and str(error).startswith(starts):
            return message.format(shown), hint
    return (
        f"Redis at {shown} cannot be reached.",
        "Check the address and that the server runs, then run again.",
    )


_ONE_OF_A_CLUSTER = (
    "{} is one server of a cluster, and the others are not known.",
    "Grant +cluster|slots to its user, or give a RedisCluster client.",
)
_MEANINGS: tuple[
    tuple[type[Exception] | tuple[type[Exception], ...], tuple[str, ...], str, str], ...
] = (
    (
        NoPermissionError,
        ("",),
        "The user of {} may not run a command that is needed.",
        "Grant the commands and keys that the page on rights lists.",
    ),
    (
        AuthenticationError,
        ("",),
        "Redis at {} refuses the login.",
        "Give user and password in the address, or the password in REDISCLI_AUTH.",
    ),
    (BusyLoadingError, ("",), "Redis at {} is still loading its data.", "Try later."),
    (
        (MasterNotFoundError,),
        ("",),
        "The sentinels at {} know no running master of that name.",
        "Check the name behind the host: redis+sentinel://host:port/NAME.",
    ),
    (
        (RedisTimeoutError, TimeoutError),
        ("",),
        "Redis at {} does not answer.",
        "Check the address and the network, then run again.",
    ),
    (
        InvalidResponse,
        ("",),
        "What answers at {} is not Redis.",
        "Check the address.",
    ),
    (
        ResponseError,
        ("DB index", "invalid DB index"),
        "{} names a database that the server does not have.",
        "Check the number at the end of the address.",
    ),
    (
        OutOfMemoryError,
        ("",),
        "Redis at {} has no memory left and takes no writes.",
        "Raise maxmemory or remove data, then run again.",
    ),
    (
        ResponseError,
        ("MISCONF",),
        "Redis at {} cannot save to its disk and takes no writes.",
        "Mend its disk (see its log), then run again.",
    ),
    (
        ReadOnlyError,
        ("",),
        "Redis at {} is a replica, which takes no writes.",
        "Give the master's address, or that of the sentinels.",
    ),
    (
        ResponseError,
        ("unknown command", "ERR unknown command"),
        "Redis at {} does not know a command that is needed.",
        "Redis 5 or newer is needed, with its commands under their own names.",
    ),
    (
        (AskError, ClusterCrossSlotError),
        ("",),
        *_ONE_OF_A_CLUSTER,
    ),
    # Older redis-py has no class for these.
    (ResponseError, ("MOVED", "ASK ", "CROSSSLOT"), *_ONE_OF_A_CLUSTER),
    (
        ResponseError,
        ("",),
        "Redis at {} refuses a command that is needed.",
        "See the page on rights for those that are.",
    ),
)
