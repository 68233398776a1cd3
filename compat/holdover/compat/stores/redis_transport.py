"""Sends the commands of the plain-Redis store: by redis-py, sync or asyncio."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any, Protocol

import redis
import redis.asyncio
from redis.client import NEVER_DECODE
from redis.exceptions import RedisError, SlotNotCoveredError

from holdover.compat.stores.redis_operations import Command

_RAW = {NEVER_DECODE: True}
_SCAN_COUNT = 1_000


class Transport(Protocol):
    """Sends commands in order, and gives an answer or an error for each."""

    #: Whether keys of several slots lie on several servers.
    is_cluster: bool

    def send(self, commands: Sequence[Command]) -> list[Any]:
        """Send commands; what a server refuses is an answer, what breaks is raised."""
        ...

    def scan(self, pattern: str) -> Iterator[list[bytes]]:
        """All keys that match, of every server, in pieces; some perhaps twice."""
        ...

    def info(self) -> dict[str, Any]:
        """What the server says of itself, as far as it may; of a cluster, one does."""
        ...

    def close(self) -> None:
        """Close the connections."""
        ...


class AsyncTransport(Protocol):
    """The same, awaited."""

    is_cluster: bool

    async def send(self, commands: Sequence[Command]) -> list[Any]:
        """See `Transport.send`."""
        ...

    def scan(self, pattern: str) -> AsyncIterator[list[bytes]]:
        """See `Transport.scan`."""
        ...

    async def info(self) -> dict[str, Any]:
        """See `Transport.info`."""
        ...

    async def close(self) -> None:
        """See `Transport.close`."""
        ...


class RedisTransport:
    """A `redis.Redis` or `redis.RedisCluster`, whichever way it decodes answers."""

    def __init__(self, client: redis.Redis | redis.RedisCluster) -> None:
        self.client: Any = client
        self.is_cluster = isinstance(client, redis.RedisCluster)

    def send(self, commands: Sequence[Command]) -> list[Any]:
        """One command alone, more as a pipeline without a transaction."""
        if len(commands) == 1 and not self._is_placed(commands[0]):
            try:
                return [self.client.execute_command(*commands[0], **_RAW)]
            except redis.ResponseError as error:
                return [error]
        pipeline = self.client.pipeline(transaction=False)
        for command in commands:
            options = self._place(command) if self._is_placed(command) else {}
            pipeline.execute_command(*command, **_RAW, **options)
        answers: list[Any] = pipeline.execute(raise_on_error=False)
        return _answers(answers)

    def _is_placed(self, command: Command) -> bool:
        """Whether redis-py would ask a server for the keys of a command.

        It would send all of a script's arguments, values too, for that.
        """
        return self.is_cluster and command[0] in ("EVAL", "EVALSHA")

    def _place(self, command: Command) -> dict[str, Any]:
        try:
            return {"target_nodes": [self.client.get_node_from_key(command[3])]}
        except SlotNotCoveredError:
            return {}  # it asks the cluster anew

    def scan(self, pattern: str) -> Iterator[list[bytes]]:
        """See `Transport`."""
        page: list[bytes] = []
        for key in self.client.scan_iter(pattern, count=_SCAN_COUNT, **_RAW):
            page.append(key if isinstance(key, bytes) else key.encode())
            if len(page) == _SCAN_COUNT:
                yield page
                page = []
        if page:
            yield page

    def info(self) -> dict[str, Any]:
        """See `Transport`."""
        try:
            return _of_one(self.client.info())
        except redis.ResponseError:
            return {}

    def close(self) -> None:
        """See `Transport`."""
        self.client.close()


class AsyncRedisTransport:
    """The same with a client of `redis.asyncio`."""

    def __init__(
        self, client: redis.asyncio.Redis | redis.asyncio.RedisCluster
    ) -> None:
        self.client: Any = client
        self.is_cluster = isinstance(client, redis.asyncio.RedisCluster)

    async def send(self, commands: Sequence[Command]) -> list[Any]:
        """See `RedisTransport.send`."""
        if self.is_cluster:
            # Until it knows the cluster, it asks any node: several tasks at once are
            # then redirected so often that it closes the connections of them all.
            await self.client.initialize()
        if len(commands) == 1:
            try:
                return [await self.client.execute_command(*commands[0], **_RAW)]
            except redis.ResponseError as error:
                return [error]
        pipeline = self.client.pipeline(transaction=False)
        for command in commands:
            pipeline.execute_command(*command, **_RAW)
        return _answers(await pipeline.execute(raise_on_error=False))

    async def scan(self, pattern: str) -> AsyncIterator[list[bytes]]:
        """See `Transport`."""
        page: list[bytes] = []
        async for key in self.client.scan_iter(pattern, count=_SCAN_COUNT, **_RAW):
            page.append(key if isinstance(key, bytes) else key.encode())
            if len(page) == _SCAN_COUNT:
                yield page
                page = []
        if page:
            yield page

    async def info(self) -> dict[str, Any]:
        """See `Transport`."""
        try:
            return _of_one(await self.client.info())
        except redis.ResponseError:
            return {}

    async def close(self) -> None:
        """See `Transport`."""
        await self.client.aclose()


def _answers(answers: list[Any]) -> list[Any]:
    """What is no server's refusal is no answer: the connection broke."""
    for answer in answers:
        if isinstance(answer, Exception) and not isinstance(
            answer, redis.ResponseError
        ):
            raise answer
    return answers


def _of_one(info: Any) -> dict[str, Any]:
    """A cluster answers for each of its servers."""
    first = next(iter(info.values()), None)
    facts: dict[str, Any] = first if isinstance(first, dict) and "os" in first else info
    return facts


__all__ = [
    "AsyncRedisTransport",
    "AsyncTransport",
    "RedisError",
    "RedisTransport",
    "Transport",
]
