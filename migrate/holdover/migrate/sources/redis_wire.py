"""One connection to Redis that sends only reads, many at a time.

Commands are written to the connection directly: a pipeline of redis-py spends more
time on each `PTTL` than the rest of the migration does.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

from redis import ConnectionPool, Redis
from redis.backoff import NoBackoff
from redis.exceptions import (
    AuthenticationError,
    BusyLoadingError,
    InvalidResponse,
    NoPermissionError,
    RedisError,
    ResponseError,
)
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError
from redis.retry import Retry

from holdover.compat.stores.address import redact_url
from holdover.migrate.errors import SourceNotFound, SourceUnavailable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_TRIES = 3
_PAUSE = 0.2
_CONNECT_SECONDS = 10
_ANSWER_SECONDS = 60


class Wire:
    """A connection that is opened at the first question and again when it breaks."""

    def __init__(self, address: str | Redis) -> None:
        pool = _pool(address) if isinstance(address, str) else _pool_of_client(address)
        # A connection of its own: NO-TOUCH must not change the application's.
        self._connection = pool.connection_class(**_settings(pool.connection_kwargs))
        self._up = False
        self.db = int(pool.connection_kwargs.get("db") or 0)
        self.address = (
            redact_url(address)
            if isinstance(address, str)
            else _address(pool.connection_kwargs)
        )

    def ask(self, *command: bytes | str) -> Any:
        """Send one command; raises a `SourceUnavailable`."""
        parts = [part.encode() if isinstance(part, str) else part for part in command]
        answer = self.ask_all([packed(parts)])[0]
        if isinstance(answer, ResponseError):
            raise unavailable(answer, self.address) from None
        return answer

    def ask_all(self, commands: Sequence[bytes]) -> list[Any]:
        """Send packed commands at once; an error is an answer like the others."""
        request = b"".join(commands)
        for attempt in range(1, _TRIES + 1):
            try:
                self._open()
                self._connection.send_packed_command([request])
                return [self._answer() for _ in commands]
            except (RedisError, OSError) as error:
                self.close()
                passing = isinstance(error, RedisConnectionError | RedisTimeoutError)
                if attempt == _TRIES or not passing or _is_refusal(error):
                    raise unavailable(error, self.address) from None
            time.sleep(_PAUSE * attempt)
        raise AssertionError  # the last attempt returns or raises

    def close(self) -> None:
        """Close the connection; the next question opens it again."""
        self._up = False
        self._connection.disconnect()

    def _open(self) -> None:
        if not self._up:
            self._connection.connect()
            # Reads then do not count as use, where the server knows how (7.2).
            self._connection.send_command("CLIENT", "NO-TOUCH", "ON")
            self._answer()
            self._up = True

    def _answer(self) -> Any:
        try:
            return self._connection.read_response()
        except ResponseError as error:
            return error


def packed(parts: Sequence[bytes]) -> bytes:
    """Encode one command for the wire."""
    return b"*%d\r\n" % len(parts) + b"".join(
        [b"$%d\r\n%b\r\n" % (len(part), part) for part in parts]
    )


def packed_each(name: bytes, keys: Iterable[bytes]) -> list[bytes]:
    """Encode the same command for each of many keys."""
    head = b"*2\r\n$%d\r\n%b\r\n$" % (len(name), name)
    return [b"%b%d\r\n%b\r\n" % (head, len(key), key) for key in keys]


def unavailable(error: Exception, address: str) -> SourceUnavailable:
    """Say in one sentence what an error means; its own text may hold a secret."""
    for kinds, start, message, hint in _MEANINGS:
        if isinstance(error, kinds) and str(error).startswith(start):
            return SourceUnavailable(message.format(address), hint=hint)
    return SourceUnavailable(
        f"Redis at {address} cannot be reached.",
        hint="Check the address and that the server runs, then run again.",
    )


_CLUSTER = "Restore a backup of it into a single Redis and read that."
_MEANINGS: tuple[tuple[tuple[type[Exception], ...], tuple[str, ...], str, str], ...] = (
    (
        (NoPermissionError,),
        ("",),
        "The user of {} may not run the commands that read it.",
        "Grant +scan +mget +pttl +strlen +type on the keys.",
    ),
    (
        (AuthenticationError,),
        ("",),
        "Redis at {} refuses the login.",
        "Give user and password in the address, or the password in REDISCLI_AUTH.",
    ),
    (
        (BusyLoadingError,),
        ("",),
        "Redis at {} is still loading its data.",
        "Run again later.",
    ),
    (
        (RedisTimeoutError, TimeoutError),
        ("",),
        "Redis at {} does not answer.",
        "Check the address and the network, then run again.",
    ),
    (
        (InvalidResponse,),
        ("",),
        "What answers at {} is not Redis.",
        "Check the address.",
    ),
    (
        (ResponseError,),
        ("CROSSSLOT", "MOVED"),
        "{} is a node of a Redis Cluster, which cannot be read.",
        _CLUSTER,
    ),
    (
        (ResponseError,),
        ("DB index", "invalid DB index"),
        "{} names a database that the server does not have.",
        "Check the number at the end of the address.",
    ),
    (
        (ResponseError,),
        ("",),
        "Redis at {} refuses a command that reads it.",
        "It must know SCAN, MGET, PTTL, STRLEN and TYPE.",
    ),
)


def _is_refusal(error: Exception) -> bool:
    return isinstance(error, AuthenticationError)


def _settings(kwargs: dict[str, Any]) -> dict[str, Any]:
    """Take over a pool's settings, but for what decides the form of answers."""
    kept = {
        name: value
        for name, value in kwargs.items()
        # RESP3 only, and refused with RESP2
        if "maint_notifications" not in name and not name.startswith("orig_")
    }
    retry = Retry(NoBackoff(), 0)  # `ask_all` repeats whole questions
    return {**kept, "protocol": 2, "decode_responses": False, "retry": retry}


def _pool(url: str) -> Any:
    try:
        pool = ConnectionPool.from_url(
            url,
            socket_timeout=_ANSWER_SECONDS,
            socket_connect_timeout=_CONNECT_SECONDS,
        )
    except (ValueError, TypeError):
        raise SourceNotFound(
            f"{redact_url(url)} is not a Redis address.",
            hint="Write redis://[[user]:password@]host[:port][/db], rediss:// for TLS,"
            " or unix:///path?db=0.",
        ) from None
    if not pool.connection_kwargs.get("password") and (
        password := os.environ.get("REDISCLI_AUTH")
    ):
        pool.connection_kwargs["password"] = password
    return pool


def _pool_of_client(client: Redis) -> Any:
    try:
        return client.connection_pool
    except AttributeError:
        raise SourceNotFound(
            f"A {type(client).__name__} cannot be read.",
            hint="Give a redis.Redis client.",
        ) from None


def _address(kwargs: dict[str, Any]) -> str:
    if path := kwargs.get("path"):
        return f"unix://{path}?db={kwargs.get('db') or 0}"
    host, port = kwargs.get("host", "localhost"), kwargs.get("port", 6379)
    return f"redis://{host}:{port}/{kwargs.get('db') or 0}"
