"""An Upstash database by its REST interface as a source."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from redis.exceptions import ResponseError

from holdover.compat.errors import StoreUnavailable
from holdover.migrate.errors import SourceUnavailable
from holdover.migrate.sources.redis_wire import unavailable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from holdover.compat.stores.upstash_rest import UpstashRest

_SCAN_COUNT = "1000"


class RestWire:
    """A database of Upstash as a `Wire`.

    Args:
        rest: The client; keys that are not UTF-8 are never asked for.
        address: As it may be shown.
    """

    db = 0

    def __init__(self, rest: UpstashRest, address: str) -> None:
        self.address = address
        self._rest = rest

    def scan(self, pattern: str | None = None) -> Iterator[list[bytes]]:
        """See `Wire.scan`."""
        cursor = b"0"
        match = [] if pattern is None else ["MATCH", pattern]
        while True:
            command: list[bytes | str] = ["SCAN", cursor, *match, "COUNT", _SCAN_COUNT]
            (answer,) = self._send([command])
            if isinstance(answer, ResponseError):
                raise unavailable(answer, self.address)
            cursor, keys = answer
            yield keys
            # An integer is what the protocol's JSON may make of a number.
            cursor = cursor if isinstance(cursor, bytes) else b"%d" % cursor
            if cursor == b"0":
                return

    def read(self, keys: Sequence[bytes]) -> tuple[list[Any], list[Any]]:
        """See `Wire.read`."""
        lifetimes = [[b"PTTL", key] for key in keys]
        values, *ttls = self._send([[b"MGET", *keys], *lifetimes])
        if isinstance(values, ResponseError):
            raise unavailable(values, self.address)
        return values, ttls

    def each(
        self, commands: Sequence[bytes], keys: Sequence[bytes]
    ) -> list[Sequence[Any]]:
        """See `Wire.each`."""
        answers = self._send([[command, key] for command in commands for key in keys])
        count = len(keys)
        return [answers[at * count : (at + 1) * count] for at in range(len(commands))]

    def ask(self, commands: Sequence[Sequence[bytes]]) -> list[Any]:
        """See `Wire.ask`."""
        return self._send(commands)

    def notes(self) -> list[str]:
        """See `Wire.notes`."""
        return []

    def close(self) -> None:
        """See `Wire.close`."""
        self._rest.close()

    def _send(self, commands: Sequence[Sequence[bytes | str]]) -> list[Any]:
        try:
            return self._rest.send(commands)
        except StoreUnavailable as error:
            raise SourceUnavailable(error.args[0], hint=error.hint) from None
