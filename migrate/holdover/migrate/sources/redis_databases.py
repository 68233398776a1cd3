"""What may lie in a Redis, each layout by the part that reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdover.migrate.sources.base import Inventory
from holdover.migrate.sources.batching import Rows
from holdover.migrate.sources.naming import ENTITY_ROOTS
from holdover.migrate.sources.redis import RedisSource
from holdover.migrate.sources.redis_documents import RedisDocuments
from holdover.migrate.sources.redis_keys import Keys
from holdover.migrate.sources.redis_lists import RedisLists

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from redis import Redis, RedisCluster

    from holdover.migrate.sources.base import (
        Batch,
        Partition,
        ReadOptions,
        Source,
        SourceItem,
    )


def parts_of(address: str | Redis | RedisCluster, options: ReadOptions) -> list[Source]:
    """The parts that read what the options ask for; they share a connection."""
    keys = Keys(address, options.roots_or(*ENTITY_ROOTS, "message_store", "chat"))
    parts: list[Source] = []
    if "entities" in options.kinds:
        parts.append(RedisSource(keys, options))
    if "messages" in options.kinds:
        parts += [RedisLists(keys, options), RedisDocuments(keys, options)]
    return [*parts, OtherKeys(keys)] if parts else []


class OtherKeys:
    """What else lies in a Redis: it is told, and not read.

    Args:
        keys: The keys of the database.
    """

    label = "Redis"

    def __init__(self, keys: Keys) -> None:
        self._keys = keys
        self.address = keys.address

    def inventory(self, *, others: bool = False) -> Inventory:
        """Count it if asked; for a million keys that takes about six seconds."""
        inventory = Inventory(self.address)
        if others:
            inventory.others, inventory.notes = self._keys.others()
        return inventory

    def partitions(self) -> list[Partition]:
        """None: nothing of it is read."""
        return []

    def read(
        self,
        partition: Partition,  # noqa: ARG002 - there is none
        cursor: Any = None,  # noqa: ARG002
        *,
        size: int = 10_000,  # noqa: ARG002
    ) -> Iterator[Batch]:
        """Read nothing."""
        return iter(())

    def keys(
        self,
        partition: Partition,  # noqa: ARG002 - there is none
        *,
        size: int = 10_000,  # noqa: ARG002
    ) -> Iterator[list[SourceItem]]:
        """Name nothing."""
        return iter(())

    def fetch(
        self,
        partition: Partition,  # noqa: ARG002 - there is none
        items: Sequence[SourceItem],  # noqa: ARG002
    ) -> Batch:
        """Read nothing."""
        return Rows().batch()

    def close(self) -> None:
        """Close the connection."""
        self._keys.close()
