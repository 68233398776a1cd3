"""Upstash's REST interface as what the plain-Redis store sends its commands by."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from redis.exceptions import ResponseError

if TYPE_CHECKING:
    from holdover.compat.stores.redis_operations import Command
    from holdover.compat.stores.upstash_rest import UpstashRest

_SCAN_COUNT = 1_000


class UpstashTransport:
    """A `Transport` of `redis_transport`; the database is one server, seen from here.

    Args:
        rest: The client of the database.
    """

    is_cluster = False

    def __init__(self, rest: UpstashRest) -> None:
        self._rest = rest

    def send(self, commands: Sequence[Command]) -> list[Any]:
        """See `Transport.send`."""
        # Over JSON a number would come as a number, not as a word of a command.
        words = [[_word(part) for part in command] for command in commands]
        return self._rest.send(words)

    def scan(self, pattern: str) -> Iterator[list[bytes]]:
        """See `Transport.scan`."""
        cursor: Any = "0"
        while True:
            command = ("SCAN", cursor, "MATCH", pattern, "COUNT", _SCAN_COUNT)
            (answer,) = self.send([command])
            if isinstance(answer, Exception):
                raise answer
            cursor, page = answer
            if page:
                yield page
            if int(cursor) == 0:
                return

    def info(self) -> dict[str, Any]:
        """See `Transport.info`."""
        (answer,) = self.send([("INFO",)])
        if isinstance(answer, ResponseError):
            return {}
        text = answer.decode() if isinstance(answer, bytes) else str(answer)
        lines = (line.partition(":") for line in text.splitlines())
        return {name: value for name, colon, value in lines if colon}

    def close(self) -> None:
        """See `Transport.close`."""
        self._rest.close()


def _word(part: Any) -> bytes | str:
    return part if isinstance(part, bytes | str) else str(part)
