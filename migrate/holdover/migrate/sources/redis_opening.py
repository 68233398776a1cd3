"""Finds the way to a Redis: a server, Sentinel, a cluster, or Upstash over HTTPS."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import redis
import redis.sentinel
from redis.backoff import NoBackoff
from redis.exceptions import (
    AskError,
    ClusterDownError,
    NoPermissionError,
    ResponseError,
)
from redis.retry import Retry

from holdover.compat.stores.address import is_upstash, redact_url
from holdover.compat.stores.redis_connecting import (
    RedisAddress,
    parse_address,
    sentinel_settings,
    settings,
)
from holdover.compat.stores.upstash_rest import UpstashRest
from holdover.migrate.errors import SourceNotFound, SourceUnavailable
from holdover.migrate.sources.redis_cluster import ClusterWire
from holdover.migrate.sources.redis_rest import RestWire
from holdover.migrate.sources.redis_wire import (
    Line,
    ServerWire,
    Wire,
    packed,
    unavailable,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from holdover.migrate.sources.redis_cluster import Place

    MakeLine = Callable[[Place], Line]

# redis-py gives it no types.
_SENTINEL: Any = redis.sentinel.Sentinel
#: Hashed to as many places: a server with a part of a cluster does not have them all.
_PROBES = 512


class Way:
    """The way to a Redis; nothing is connected before `open`.

    Args:
        address: An address, or a ready client (of which only the settings are used).
        roots: What the keys that will be asked for begin with.

    Raises:
        AddressError: The address is of no form that is read.
        SourceNotFound: The client is of no kind that is read.
    """

    def __init__(
        self, address: str | redis.Redis | redis.RedisCluster, roots: Sequence[str]
    ) -> None:
        self.db = 0
        self.open: Callable[[], Wire]
        if not isinstance(address, str):
            self._by_client(address, roots)
        elif is_upstash(address):
            rest = UpstashRest.from_address(address)
            self.address = redact_url(address)
            self.open = lambda: RestWire(rest, self.address)
        else:
            parsed = parse_address(address)
            self.address, self.db = parsed.shown, parsed.db
            self.open = lambda: _by_address(parsed, roots)

    def _by_client(self, client: Any, roots: Sequence[str]) -> None:
        if isinstance(client, redis.RedisCluster):
            nodes = client.nodes_manager
            seeds = [(node.host, node.port) for node in nodes.startup_nodes.values()]
            self.address = f"redis://{seeds[0][0]}:{seeds[0][1]}/0"
            kwargs = {
                name: value
                for name, value in nodes.connection_kwargs.items()
                if name != "redis_connect_func"  # may ask for READONLY
            }
            make = _lines(redis.Redis(**kwargs))
            self.open = lambda: ClusterWire(self.address, seeds, make)
        elif isinstance(client, redis.Redis):
            kwargs = client.connection_pool.connection_kwargs
            self.address, self.db = _shown(kwargs), int(kwargs.get("db") or 0)
            seeds = [(kwargs["host"], kwargs["port"])] if "host" in kwargs else []
            self.open = lambda: _told(
                ServerWire(Line(client), self.address, self.db),
                seeds,
                _lines(client),
                roots,
            )
        else:
            raise SourceNotFound(
                f"A {type(client).__name__} cannot be read.",
                hint="Give a redis.Redis or redis.RedisCluster client.",
            )


def _by_address(address: RedisAddress, roots: Sequence[str]) -> Wire:
    arguments = settings(address)
    if address.service is not None:
        once = {**sentinel_settings(address), "retry": Retry(NoBackoff(), 0)}
        sentinels = _SENTINEL(address.nodes, sentinel_kwargs=once, **arguments)
        line = Line(sentinels.master_for(address.service))
        return ServerWire(line, address.shown, address.db, patient=True)
    if not address.nodes:
        client = redis.Redis(**arguments)
        wire = ServerWire(Line(client), address.shown, address.db)
        return _told(wire, [], _lines(client), roots)
    return _by_hosts(address, arguments, roots)


def _by_hosts(
    address: RedisAddress, arguments: dict[str, Any], roots: Sequence[str]
) -> Wire:
    """Ask the first host that answers."""
    # A cluster refuses the number of a database before it says that it is one.
    first = _lines(redis.Redis(**{**arguments, "db": 0}))
    failure: SourceUnavailable | None = None
    for place in address.nodes:
        seeds = [place, *(other for other in address.nodes if other != place)]
        asked = ServerWire(first(place), address.shown)
        try:
            wire = _told(asked, seeds, first, roots)
        except SourceUnavailable as error:
            failure = failure or error
            continue
        if isinstance(wire, ClusterWire):
            if address.db:
                raise SourceNotFound(
                    f"{address.shown} is a cluster, which has no database "
                    f"{address.db}.",
                    hint="Leave the number out.",
                )
        elif len(address.nodes) > 1:
            wire.close()
            raise SourceNotFound(
                f"{address.shown} names several hosts that are no cluster.",
                hint="Name one, or write redis+sentinel://… if they are sentinels.",
            )
        elif address.db:
            wire.close()
            line = Line(redis.Redis(**arguments), place)
            return ServerWire(line, address.shown, address.db)
        return wire
    raise failure or AssertionError  # an address names at least one host


def _told(
    wire: ServerWire, seeds: list[Place], make: MakeLine, roots: Sequence[str]
) -> Wire:
    """Ask a server whether it is in a cluster, of which it has only a part."""
    (slots,) = wire.ask_all(packed([b"CLUSTER", b"SLOTS"]), 1)
    if not isinstance(slots, ResponseError):
        wire.close()
        if not seeds:
            raise SourceNotFound(
                f"{wire.address} is a node of a cluster.",
                hint="Give its host and port: redis://HOST:PORT.",
            )
        return ClusterWire(wire.address, seeds, make)
    if isinstance(slots, NoPermissionError):
        _refuse_part(wire, roots)
    return wire


def _refuse_part(wire: ServerWire, roots: Sequence[str]) -> None:
    """Raise if a server sends some questions to others.

    What it has would be read, and the rest be missing without a word.
    """
    names = [f"{root}:{n}".encode() for root in roots for n in range(_PROBES)]
    (answers,) = wire.each([b"TYPE"], names)
    for answer in answers:
        if isinstance(answer, AskError | ClusterDownError):
            wire.close()
            raise unavailable(answer, wire.address)


def _lines(client: redis.Redis) -> MakeLine:
    """Make connections to other places with the settings of a client."""
    return lambda place: Line(client, place)


def _shown(kwargs: dict[str, Any]) -> str:
    if path := kwargs.get("path"):
        return f"unix://{path}?db={kwargs.get('db') or 0}"
    host, port = kwargs.get("host", "localhost"), kwargs.get("port", 6379)
    return f"redis://{host}:{port}/{kwargs.get('db') or 0}"
