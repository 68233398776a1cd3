"""Asks a Redis for keys, values, lifetimes and sizes, and for nothing else.

Commands are written to a connection directly: a pipeline of redis-py spends more time
on each `PTTL` than the rest of the migration does.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Protocol

from redis.backoff import NoBackoff
from redis.exceptions import (
    AuthenticationError,
    NoPermissionError,
    RedisError,
    ResponseError,
)
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError
from redis.retry import Retry

from holdover.compat.stores.redis_connecting import explain
from holdover.migrate.errors import SourceUnavailable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from redis import Redis

_TRIES = 3
_PAUSE = 0.2
_LONGEST_PAUSE = 1.0
#: How long a server that has answered may be gone: a replica is being promoted.
FAILOVER_SECONDS = 30.0
_SCANS = 5
_SCAN_COUNT = b"1000"


class Wire(Protocol):
    """A Redis as a source needs it, wherever its keys lie.

    What the server refuses for a key is an answer (`ResponseError`); everything else
    that goes wrong is a `SourceUnavailable`.
    """

    #: The address without its password.
    address: str
    db: int

    def scan(self, pattern: str | None = None) -> Iterator[list[bytes]]:
        """All keys that match, in pieces; some perhaps several times."""
        ...

    def read(self, keys: Sequence[bytes]) -> tuple[list[Any], list[Any]]:
        """Values (`None` where there is no string) and then lifetimes, of each key.

        The lifetime is asked for behind the value, so it is never older: of a key
        that is written in between, the old value comes with the new lifetime.
        """
        ...

    def each(
        self, commands: Sequence[bytes], keys: Sequence[bytes]
    ) -> list[Sequence[Any]]:
        """The answers of each key to the first command, to the second, and so on."""
        ...

    def ask(self, commands: Sequence[Sequence[bytes]]) -> list[Any]:
        """The answers to whole commands, whose second word is the key."""
        ...

    def notes(self) -> list[str]:
        """What may be missing from what was scanned."""
        ...

    def close(self) -> None:
        """Close the connections; the next question opens them again."""
        ...


class Line:
    """A connection to one server, opened by what is sent first and again when broken.

    Args:
        client: Lends its settings. The connection is another one: `NO-TOUCH` must not
            change the application's.
        place: Another host and port than those of the client.
    """

    def __init__(self, client: Redis, place: tuple[str, int] | None = None) -> None:
        pool: Any = client.connection_pool
        self._client = client  # Sentinel's connections ask its pool for the master
        settings = _settings(pool.connection_kwargs)
        if place is not None:
            settings |= {"host": place[0], "port": place[1]}
        self._connection = pool.connection_class(**settings)
        self._up = False
        #: How often it was opened: behind each time may be another server.
        self.opened = 0

    def send(self, request: bytes) -> None:
        """Send packed commands."""
        if not self._up:
            self._connection.connect()
            # Reads then do not count as use, where the server knows how (7.2).
            self._connection.send_command("CLIENT", "NO-TOUCH", "ON")
            self._answer()
            self._up = True
            self.opened += 1
        self._connection.send_packed_command([request])

    def receive(self, count: int) -> list[Any]:
        """Take the answers; an error of the server is one of them."""
        return [self._answer() for _ in range(count)]

    def ask(self, *command: bytes) -> Any:
        """Send one command; raises what the server refuses, and what breaks."""
        self.send(packed(command))
        answer = self._answer()
        if isinstance(answer, ResponseError):
            raise answer
        return answer

    def close(self) -> None:
        """Close the connection."""
        self._up = False
        self._connection.disconnect()

    def _answer(self) -> Any:
        try:
            return self._connection.read_response()
        except ResponseError as error:
            return error


class ServerWire:
    """One server, or the one that Sentinel says is the master.

    Args:
        line: The connection.
        address: As it may be shown.
        db: The number of its database.
        patient: Whether another server may soon take this one's place.
    """

    def __init__(
        self, line: Line, address: str, db: int = 0, *, patient: bool = False
    ) -> None:
        self.address, self.db = address, db
        self._line = line
        self._patience = FAILOVER_SECONDS if patient else 0.0

    def scan(self, pattern: str | None = None) -> Iterator[list[bytes]]:
        """See `Wire.scan`."""
        for _ in range(_SCANS):
            cursor, opened = b"0", 0
            while True:
                (answer,) = self.ask_all(scan_command(cursor, pattern), 1)
                if isinstance(answer, ResponseError):
                    raise unavailable(answer, self.address)
                cursor, keys = answer
                yield keys
                opened = opened or self._line.opened
                if opened != self._line.opened:
                    # To a server that was restarted or promoted, the cursor means
                    # nothing, and it would skip keys without a word.
                    break
                if cursor == b"0":
                    return
        raise SourceUnavailable(
            f"Redis at {self.address} breaks the connection before all its keys are "
            "listed.",
            hint="See why in its log, then run again.",
        )

    def read(self, keys: Sequence[bytes]) -> tuple[list[Any], list[Any]]:
        """See `Wire.read`."""
        request = packed([b"MGET", *keys]) + packed_each(b"PTTL", keys)
        values, *ttls = self.ask_all(request, 1 + len(keys))
        if isinstance(values, ResponseError):
            raise unavailable(values, self.address)
        return values, ttls

    def each(
        self, commands: Sequence[bytes], keys: Sequence[bytes]
    ) -> list[Sequence[Any]]:
        """See `Wire.each`."""
        request = b"".join([packed_each(command, keys) for command in commands])
        count = len(keys)
        answers = self.ask_all(request, count * len(commands))
        return [answers[at * count : (at + 1) * count] for at in range(len(commands))]

    def ask(self, commands: Sequence[Sequence[bytes]]) -> list[Any]:
        """See `Wire.ask`."""
        return self.ask_all(b"".join(map(packed, commands)), len(commands))

    def notes(self) -> list[str]:
        """See `Wire.notes`."""
        return []

    def close(self) -> None:
        """See `Wire.close`."""
        self._line.close()

    def ask_all(self, request: bytes, count: int) -> list[Any]:
        """Send packed commands at once; what breaks is tried again."""
        began, attempt = time.monotonic(), 0
        while True:
            attempt += 1
            try:
                self._line.send(request)
                return self._line.receive(count)
            except (RedisError, OSError) as error:
                self._line.close()
                waited = time.monotonic() - began
                patient = self._line.opened and waited < self._patience
                if not may_pass(error) or (attempt >= _TRIES and not patient):
                    raise unavailable(error, self.address) from None
            time.sleep(min(_PAUSE * attempt, _LONGEST_PAUSE))


def packed(parts: Sequence[bytes]) -> bytes:
    """Encode one command for the wire."""
    return b"*%d\r\n" % len(parts) + b"".join(
        [b"$%d\r\n%b\r\n" % (len(part), part) for part in parts]
    )


def packed_each(name: bytes, keys: Iterable[bytes]) -> bytes:
    """Encode the same command for each of many keys."""
    head = b"*2\r\n$%d\r\n%b\r\n$" % (len(name), name)
    return b"".join([b"%b%d\r\n%b\r\n" % (head, len(key), key) for key in keys])


def scan_command(cursor: bytes, pattern: str | None) -> bytes:
    """Encode the question for the next piece of all keys."""
    match = [] if pattern is None else [b"MATCH", pattern.encode()]
    return packed([b"SCAN", cursor, *match, b"COUNT", _SCAN_COUNT])


def may_pass(error: Exception) -> bool:
    """Whether it is worth asking again; a refused login is not."""
    passing = isinstance(error, RedisConnectionError | RedisTimeoutError | OSError)
    return passing and not isinstance(error, AuthenticationError)


def is_hidden(answer: Any) -> bool:
    """Whether the user may not read this key, though others perhaps."""
    # Else the command is refused: "… has no permissions to run the 'llen' command".
    return isinstance(answer, NoPermissionError) and "access" in str(answer)


def unavailable(error: BaseException, address: str) -> SourceUnavailable:
    """Say in one sentence what an error means; its own text may hold a secret."""
    message, hint = explain(error, address)
    return SourceUnavailable(message, hint=hint)


def _settings(kwargs: dict[str, Any]) -> dict[str, Any]:
    """Take over a pool's settings, but for what decides the form of answers."""
    kept = {
        name: value
        for name, value in kwargs.items()
        # RESP3 only, and refused with RESP2
        if "maint_notifications" not in name and not name.startswith("orig_")
    }
    # Whole questions are repeated here, so that no answer is taken for another's.
    retry = Retry(NoBackoff(), 0)
    return {**kept, "protocol": 2, "decode_responses": False, "retry": retry}
