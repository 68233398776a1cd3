"""Entities that `RedisEntityStore` left in Redis."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from redis.exceptions import ResponseError

from holdover.migrate.sources.base import (
    SAMPLES,
    AmbiguousKey,
    Inventory,
    Partition,
    Reject,
    Skipped,
)
from holdover.migrate.sources.batching import Pace, Rows, make_item
from holdover.migrate.sources.naming import ENTITY_ROOTS, Names, Split
from holdover.migrate.sources.redis_census import GONE, MEASURED, take_census
from holdover.migrate.sources.redis_keys import ABSENT, Claim, Keys
from holdover.migrate.sources.redis_spool import PARTS
from holdover.migrate.sources.redis_wire import unavailable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from redis import Redis, RedisCluster

    from holdover.migrate.sources.base import Batch, ReadOptions, SourceItem
    from holdover.migrate.sources.redis_wire import Wire

_AT_ONCE = 1000
#: Below, the batches of a part would be small ones.
_WORTH_DIVIDING = 20_000
_EXPIRED = {GONE, 0}
_AGAIN = 3  # how often a key is asked for that was made while it was read

_Wanted = tuple[bytes, Split, str]


class RedisSource:
    """The entities of a Redis.

    Keys come in byte order, so a session's entities come together. A key that is not
    a string is a reject, unless `inventory` has seen and listed it before.

    Args:
        place: The keys, or an address or a ready client for `Keys`.
        options: How its names are read.
    """

    label = "Redis"

    def __init__(
        self, place: Keys | str | Redis | RedisCluster, options: ReadOptions
    ) -> None:
        options = replace(options, roots=options.roots_or(*ENTITY_ROOTS))
        beginnings = [f"{root}:" for root in options.roots]
        wanted = "entities" in options.kinds
        names = frozenset(root.encode("utf-8", "replace") for root in options.roots)
        claim = Claim(b"string", beginnings, typed=False, names=names)
        self._keys = place if isinstance(place, Keys) else Keys(place, options.roots)
        self._claim = self._keys.claim(claim) if wanted else None
        self.address = self._keys.address
        self._options = options
        self._names = Names(options)
        self._prefix = self._keys.locator("")
        self._pace = Pace(_AT_ONCE)

    def inventory(self, *, others: bool = False) -> Inventory:
        """Look at every key once and count; raises a `SourceUnavailable`."""
        if self._claim is None:
            return Inventory(self.address)
        self._keys.look(self, others=others)
        spool = self._keys.keys(self._claim)
        census = take_census(self._wire, spool, self._names, self._options)
        for name in self._alone():
            census.skipped_count += 1
            if census.skipped_count <= SAMPLES:
                skipped = Skipped(name, "no session and no entity part")
                census.skipped.append(skipped)
        return census

    def _alone(self) -> list[str]:
        """Keys that are named like a root, which no pattern finds."""
        names = [name for name in dict.fromkeys(self._options.roots) if name]
        kinds = self._keys.types([name.encode() for name in names], all_told=True)
        return [
            name
            for name, kind in zip(names, kinds, strict=True)
            if kind != ABSENT and not self._keys.finds(name.encode(), kind)
        ]

    def partitions(self) -> list[Partition]:
        """Ranges of hash slots: the same in every run, whatever servers there are.

        Keys can only be listed from the beginning. Those that the last scan found are
        divided here; a few stay together.
        """
        if self._claim is None:
            return []
        if self._keys.keys(self._claim).count < _WORTH_DIVIDING:
            return [Partition("entities")]
        return [
            Partition(f"entities-{part:02}-of-{PARTS}", {"part": part})
            for part in range(PARTS)
        ]

    def begin(self) -> None:
        """Find in another process what the inventory found in the first."""
        if self._claim is not None:
            self._keys.look(self)
            if self._keys.keys(self._claim).count <= MEASURED:
                self.inventory()

    def read(
        self,
        partition: Partition,
        cursor: Any = None,  # noqa: ARG002 - a scan starts from the beginning
        *,
        size: int = 10_000,
    ) -> Iterator[Batch]:
        """Read values and lifetimes of the keys that the last scan found."""
        rows = Rows()
        for page in self._pages(partition):
            wanted = self._wanted(page, rows)
            while wanted:
                room = min(self._pace.records, size - rows.count)
                if room <= 0 or rows.full:
                    yield rows.batch()
                    rows = Rows()
                    continue
                self._take(wanted[:room], rows)
                wanted = wanted[room:]
        if rows.count:
            yield rows.batch()

    def keys(
        self, partition: Partition, *, size: int = 10_000
    ) -> Iterator[list[SourceItem]]:
        """Give the names that the last scan found."""
        items: list[SourceItem] = []
        for page in self._pages(partition):
            items += [
                _item(split, locator, {}, None)
                for _, split, locator in self._wanted(page, Rows())
            ]
            while len(items) >= size:
                yield items[:size]
                items = items[size:]
        if items:
            yield items

    def fetch(
        self,
        partition: Partition,  # noqa: ARG002 - an item tells its key
        items: Sequence[SourceItem],
    ) -> Batch:
        """Read the values and lifetimes of these items."""
        rows = Rows()
        wanted = [
            (
                f"{item.root}:{item.session}:{item.key}".encode(),
                Split(item.root, item.session, item.key),
                item.locator,
            )
            for item in items
        ]
        while wanted:
            room = self._pace.records
            self._take(wanted[:room], rows)
            wanted = wanted[room:]
        return rows.batch()

    def close(self) -> None:
        """Close the connection and give the disk space of the scan back."""
        self._keys.close()

    @property
    def _wire(self) -> Wire:
        return self._keys.wire

    def _pages(self, partition: Partition) -> Iterator[list[bytes]]:
        if self._claim is None:
            return iter(())
        return self._keys.keys(self._claim).pages(partition.spec.get("part"))

    def _wanted(self, page: list[bytes], rows: Rows) -> list[_Wanted]:
        """Split the keys of a page and leave out what is not to be read."""
        wanted: list[_Wanted] = []
        names, prefix = self._names, self._prefix
        for key in page:
            try:
                text = key.decode()
            except UnicodeDecodeError:
                locator = prefix + key.decode(errors="backslashreplace")
                rows.rejects.append(
                    Reject("not-utf8", locator, "The key is not UTF-8.")
                )
                continue
            split = names.split(text)
            if isinstance(split, Split):
                if names.selects_all or names.selects(split.session):
                    wanted.append((key, split, prefix + text))
            elif isinstance(split, AmbiguousKey) and names.selects_key(split):
                rows.rejects.append(
                    Reject("ambiguous", prefix + text, "The key can be read two ways.")
                )
        return wanted

    def _take(self, wanted: Sequence[_Wanted], rows: Rows, *, again: int = 0) -> None:
        """Read values and lifetimes.

        Without a value there is a key of another type, or none.
        """
        keys = [key for key, _, _ in wanted]
        values, ttls = self._wire.read(keys)
        for answer in (values[0], ttls[0]):
            if isinstance(answer, ResponseError):
                raise unavailable(answer, self.address)
        size, no_value = 0, []
        for one, value, ttl in zip(wanted, values, ttls, strict=True):
            if value is None and ttl != GONE:
                no_value.append(one)
                continue
            if value is None or ttl in _EXPIRED:
                rows.expired += 1
                continue
            _, split, locator = one
            size += len(value)
            try:
                summary = value.decode()
            except UnicodeDecodeError:
                rows.rejects.append(
                    Reject("not-utf8", locator, "The value is not UTF-8.")
                )
                continue
            if summary:
                content = {"name": split.entity, "summary": summary}
                rows.items.append(
                    _item(split, locator, content, ttl if ttl >= 0 else None)
                )
            else:
                rows.rejects.append(
                    Reject("empty-value", locator, "The value is empty.")
                )
        self._pace.note(len(wanted), size)
        rows.size += size
        if no_value:
            self._explain(no_value, rows, again)

    def _explain(self, no_value: Sequence[_Wanted], rows: Rows, again: int) -> None:
        """Settle keys that exist and gave no value: mostly of another type."""
        (kinds,) = self._wire.each([b"TYPE"], [key for key, *_ in no_value])
        made_meanwhile = []
        for one, kind in zip(no_value, kinds, strict=True):
            if kind == b"string" and again < _AGAIN:
                made_meanwhile.append(one)
            elif kind in {b"none", b"string"}:
                rows.expired += 1
            else:
                name = kind.decode() if isinstance(kind, bytes) else "something else"
                detail = f"The key holds a {name}, not a string."
                rows.rejects.append(Reject("wrong-type", one[2], detail))
        if made_meanwhile:
            self._take(made_meanwhile, rows, again=again + 1)


def _item(
    split: Split, locator: str, content: dict[str, Any], ttl: int | None
) -> SourceItem:
    root, session, entity = split
    return make_item(
        ("entity", root, session, entity, content, locator, None, None, ttl, None)
    )
