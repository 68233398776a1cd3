"""Entities that `RedisEntityStore` left in Redis."""

from __future__ import annotations

from contextlib import closing
from functools import cached_property
from typing import TYPE_CHECKING, Any

from redis.exceptions import ResponseError

from holdover.migrate.errors import UsageError
from holdover.migrate.sources.base import AmbiguousKey, Partition, Reject
from holdover.migrate.sources.batching import Pace, Rows, make_item
from holdover.migrate.sources.naming import Names, Split
from holdover.migrate.sources.redis_census import GONE, take_census
from holdover.migrate.sources.redis_opening import Way
from holdover.migrate.sources.redis_others import Others
from holdover.migrate.sources.redis_spool import Spool
from holdover.migrate.sources.redis_wire import unavailable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from redis import Redis, RedisCluster

    from holdover.migrate.sources.base import (
        Batch,
        Inventory,
        ReadOptions,
        SourceItem,
    )
    from holdover.migrate.sources.redis_wire import Wire

_AT_ONCE = 1000
_GLOB = str.maketrans({letter: f"\\{letter}" for letter in "\\*?[]"})
_EXPIRED = {GONE, 0}
_AGAIN = 3  # how often a key is asked for that was made while it was read

_Wanted = tuple[bytes, Split, str]


class RedisSource:
    """One database of a Redis, or a cluster; connected when it is first looked at.

    Keys come in byte order, so a session's entities come together. A key that is not
    a string is a reject, unless `inventory` has seen and listed it before.

    Args:
        address: An address (see `holdover.migrate.sources`), or a ready client (of
            which only the settings are used).
        options: How its names are read.
    """

    label = "Redis"

    def __init__(
        self, address: str | Redis | RedisCluster, options: ReadOptions
    ) -> None:
        if not all(map(_is_text, options.roots)):
            raise UsageError("The name of a root has to be UTF-8.")
        self._way = Way(address, options.roots)
        self.address = self._way.address
        self._options = options
        self._names = Names(options)
        self._prefix = f"redis:{self._way.db}:"
        self._spool: Spool | None = None
        self._pace = Pace(_AT_ONCE)

    def inventory(self, *, others: bool = False) -> Inventory:
        """Look at every key once and count; raises a `SourceUnavailable`.

        `others` has the server give the names of all keys, which takes about six
        seconds for a million that are under no root.
        """
        if not others:
            return take_census(self._wire, self._scan(), self._names, self._options)
        with closing(Others(self._options.roots)) as found:
            spool = self._scan(found)
            inventory = take_census(self._wire, spool, self._names, self._options)
            inventory.others, notes = found.count(self._wire)
            inventory.notes += notes
        return inventory

    def partitions(self) -> list[Partition]:
        """The whole database: its keys can only be listed from the beginning.

        So are those of a cluster, whose servers are not the same in every run.
        """
        return [Partition("entities")] if "entities" in self._options.kinds else []

    def read(
        self,
        partition: Partition,  # noqa: ARG002 - there is one
        cursor: Any = None,  # noqa: ARG002 - a scan starts from the beginning
        *,
        size: int = 10_000,
    ) -> Iterator[Batch]:
        """Read values and lifetimes of all keys that the last scan found."""
        rows = Rows()
        for page in self._pages():
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
        self,
        partition: Partition,  # noqa: ARG002 - there is one
        *,
        size: int = 10_000,
    ) -> Iterator[list[SourceItem]]:
        """Give the names that the last scan found."""
        items: list[SourceItem] = []
        for page in self._pages():
            items += [
                _item(split, locator, {}, None)
                for _, split, locator in self._wanted(page, Rows())
            ]
            while len(items) >= size:
                yield items[:size]
                items = items[size:]
        if items:
            yield items

    def fetch(self, items: Sequence[SourceItem]) -> Batch:
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
        """Close the connection and give the disk space of the spool back."""
        if "_wire" in vars(self):
            self._wire.close()
        if self._spool is not None:
            self._spool.close()
            self._spool = None

    @cached_property
    def _wire(self) -> Wire:
        return self._way.open()

    def _scan(self, others: Others | None = None) -> Spool:
        """List the keys under the roots, and give the rest to `others`."""
        if self._spool is not None:
            self._spool.close()
        self._spool = spool = Spool()
        wanted = "entities" in self._options.kinds
        if others is not None:
            for keys in self._wire.scan():
                ours = others.take(keys)
                if wanted:
                    spool.add(ours)
        elif wanted:
            for root in _outermost(self._options.roots):
                for keys in self._wire.scan(f"{root.translate(_GLOB)}:*"):
                    spool.add(keys)
        spool.seal()
        return spool

    def _pages(self) -> Iterator[list[bytes]]:
        return (self._spool or self._scan()).pages()

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


def _is_text(root: str) -> bool:
    try:
        root.encode()
    except UnicodeEncodeError:  # bytes of the command line that are none
        return False
    return True


def _outermost(roots: Sequence[str]) -> list[str]:
    """Leave out the roots whose keys the pattern of another root finds too."""
    return [
        root
        for root in dict.fromkeys(roots)
        if not any(root.startswith(f"{other}:") for other in roots)
    ]
