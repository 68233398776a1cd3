"""Chat histories that `RedisChatMessageHistory` left in Redis: a list for each session.

`UpstashRedisChatMessageHistory` left the same ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from redis.exceptions import ResponseError

from holdover.migrate.sources.base import Inventory, Partition, Reject
from holdover.migrate.sources.batching import Pace, Rows, make_item
from holdover.migrate.sources.messages import Unreadable, read_message
from holdover.migrate.sources.naming import Foreign, Names
from holdover.migrate.sources.redis_census import GONE
from holdover.migrate.sources.redis_keys import Claim, Keys
from holdover.migrate.sources.redis_list_census import UNSELECTED, ListCensus
from holdover.migrate.sources.redis_list_reading import (
    Piece,
    is_wrong_type,
    read_long,
    read_short,
)
from holdover.migrate.sources.redis_messages import holds_message
from holdover.migrate.sources.redis_prefixes import Prefixes, Session
from holdover.migrate.sources.redis_spool import PARTS
from holdover.migrate.sources.redis_wire import is_hidden, unavailable
from holdover.migrate.sources.whole import WholeSource

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from redis import Redis, RedisCluster

    from holdover.migrate.sources.base import Batch, ReadOptions, SourceItem

DEFAULT_PREFIX = "message_store:"
_AT_ONCE = 1000
_WORTH_DIVIDING = 5_000
_ENDED = {GONE, 0}


class Wanted(NamedTuple):
    """A list that is to be read."""

    key: bytes
    split: Session
    locator: str


class RedisLists(WholeSource):
    """The lists of chat histories in a Redis.

    A list is read whole, its oldest message first.

    Args:
        place: The keys, or an address or a ready client for `Keys`.
        options: How its names are read.
    """

    label = "Redis"

    def __init__(
        self, place: Keys | str | Redis | RedisCluster, options: ReadOptions
    ) -> None:
        self._prefixes = Prefixes(options.roots, DEFAULT_PREFIX)
        claim = Claim(
            b"list", self._prefixes.beginnings, typed=True, note=self._prefixes.note
        )
        roots = options.roots_or(DEFAULT_PREFIX.removesuffix(":"))
        self._keys = place if isinstance(place, Keys) else Keys(place, roots)
        self._claim = self._keys.claim(claim)
        self.address = self._keys.address
        self._names = Names(options)
        self._pace = Pace(_AT_ONCE)

    def inventory(self, *, others: bool = False) -> Inventory:
        """Count the messages of every list; raises a `SourceUnavailable`."""
        self._keys.look(self, others=others)
        spool = self._keys.keys(self._claim)
        census = ListCensus(self._keys.wire, spool.count)
        whole: dict[str, None] = {}
        for page in spool.pages():
            wanted, rejects = self._wanted(page, census.skip)
            census.reject(rejects)
            census.count(wanted)
            whole |= dict.fromkeys(one.split.prefix for one in wanted if _is_bare(one))
        for one in self._claim.skipped:
            census.skip(*one)
        inventory = census.inventory()
        inventory.skipped_count += self._claim.skipped_count - len(self._claim.skipped)
        inventory.notes += [
            f"'{prefix}' is taken for the whole prefix of chat histories, without a"
            " colon behind it."
            for prefix in whole
        ]
        return inventory

    def partitions(self) -> list[Partition]:
        """Ranges of hash slots, of which each list is in one: see `RedisSource`."""
        if self._keys.keys(self._claim).count < _WORTH_DIVIDING:
            return [Partition("messages-lists", aligned=True)]
        return [
            Partition(
                f"messages-lists-{part:02}-of-{PARTS}", {"part": part}, aligned=True
            )
            for part in range(PARTS)
        ]

    def begin(self) -> None:
        """Find in another process what the inventory found in the first."""
        self._keys.look(self)

    def read(
        self,
        partition: Partition,
        cursor: Any = None,  # noqa: ARG002 - a scan starts from the beginning
        *,
        size: int = 10_000,
    ) -> Iterator[Batch]:
        """Read the messages of the lists that the last scan found."""
        rows = Rows()
        keys = self._keys.keys(self._claim)
        for page in keys.pages(partition.spec.get("part")):
            wanted, rejects = self._wanted(page)
            for built, weight, gone in self._built(wanted, rejects):
                rows.size += weight
                rows.expired += gone
                left = built
                while left or rows.full or rows.count >= size:
                    room = max(0, size - rows.count)
                    for one in left[:room]:
                        if isinstance(one, Reject):
                            rows.rejects.append(one)
                        else:
                            rows.items.append(one)
                    left = left[room:]
                    if rows.full or rows.count >= size:
                        yield rows.batch()
                        rows = Rows()
        if rows.count:
            yield rows.batch()

    def close(self) -> None:
        """Close the connection and give the disk space of the scan back."""
        self._keys.close()

    def _wanted(
        self, page: Sequence[bytes], skip: Callable[[str, str], None] = lambda *_: None
    ) -> tuple[list[Wanted], list[Reject]]:
        """Split the keys of a page; tell of those that are not to be read."""
        wanted: list[Wanted] = []
        rejects: list[Reject] = []
        for key in page:
            try:
                text = key.decode()
            except UnicodeDecodeError:
                locator = self._keys.locator(key.decode(errors="backslashreplace"))
                rejects.append(Reject("not-utf8", locator, "The key is not UTF-8."))
                continue
            split = self._prefixes.split(text)
            if isinstance(split, Foreign):
                skip(text, f"a list {split.why}")
            elif self._names.selects_all or self._names.selects(split.session):
                wanted.append(Wanted(key, split, self._keys.locator(text)))
            else:
                skip("", UNSELECTED)
        return self._histories(wanted, rejects, skip), rejects

    def _histories(
        self,
        wanted: list[Wanted],
        rejects: list[Reject],
        skip: Callable[[str, str], None],
    ) -> list[Wanted]:
        """Leave out what only begins with the letters of a root.

        Under a prefix that nothing ends, every list may be another program's: one of
        its ends has to be a message.
        """
        bare = [one for one in wanted if _is_bare(one)]
        if not bare:
            return wanted
        spool = self._keys.keys(self._claim)
        ends = [[b"LRANGE", one.key, end, end] for one in bare for end in (b"0", b"-1")]
        answers = self._keys.wire.ask(ends)
        left_out = set()
        for at, one in enumerate(bare):
            both = answers[2 * at : 2 * at + 2]
            twin = self._prefixes.twin(one.split)
            if not any(map(holds_message, both)) and not _refused(both):
                skip(one.key.decode(), "a list of something else than messages")
            elif twin and spool.holds(f"{twin.prefix}{twin.session}".encode()):
                detail = f"The prefix {twin.prefix!r} has a list of the same session."
                rejects.append(Reject("two-histories", one.locator, detail))
            else:
                continue
            left_out.add(one.key)
        return [one for one in wanted if one.key not in left_out]

    def _built(
        self, wanted: Sequence[Wanted], rejects: list[Reject]
    ) -> Iterator[tuple[list[SourceItem | Reject], int, int]]:
        """Messages and rejects in order, their size, and how many entries are gone."""
        if rejects:
            yield list(rejects), 0, 0
        for one, found in self._pieces(wanted):
            if isinstance(found, Reject):
                yield [found], 0, 0
            elif isinstance(found, int):
                yield [], 0, found
            elif found.ttl in _ENDED:
                yield [], 0, len(found.entries)
            else:
                yield _messages(one, found), sum(map(len, found.entries)), 0

    def _pieces(
        self, wanted: Sequence[Wanted]
    ) -> Iterator[tuple[Wanted, Piece | Reject | int]]:
        """The parts of lists, short ones several at once; a number is of the gone."""
        wire = self._keys.wire
        (lengths,) = wire.each([b"LLEN"], [one.key for one in wanted]) or ((),)
        some: list[tuple[Wanted, int]] = []
        entries = 0
        for one, length in zip(wanted, lengths, strict=True):
            short = isinstance(length, int) and 0 < length <= self._pace.records
            if not short or entries + length > self._pace.records:
                yield from self._short(some)
                some, entries = [], 0
            if short:
                some.append((one, length))
                entries += length
            elif isinstance(length, ResponseError):
                yield one, self._rejected(one, length)
            elif length:
                yield from self._long(one, length)
            else:
                yield one, 1
        yield from self._short(some)

    def _short(
        self, lists: Sequence[tuple[Wanted, int]]
    ) -> Iterator[tuple[Wanted, Piece | Reject | int]]:
        if not lists:
            return
        found = read_short(
            self._keys.wire, [(one.key, length) for one, length in lists]
        )
        entries = size = 0
        for (one, length), piece in zip(lists, found, strict=True):
            if isinstance(piece, ResponseError):
                yield one, self._rejected(one, piece)
            elif piece.entries:
                entries += len(piece.entries)
                size += sum(map(len, piece.entries))
                yield one, piece
            else:
                yield one, length
        self._pace.note(entries, size)

    def _long(
        self, one: Wanted, length: int
    ) -> Iterator[tuple[Wanted, Piece | Reject | int]]:
        read = 0
        for piece in read_long(self._keys.wire, one.key, self._pace):
            read = piece.position + len(piece.entries)
            yield one, piece
        if read < length:
            yield one, length - read

    def _rejected(self, one: Wanted, error: ResponseError) -> Reject:
        """Why a list is not read, where that is a matter of this list alone."""
        if is_wrong_type(error):
            return Reject("wrong-type", one.locator, "The key holds no list.")
        if is_hidden(error):
            return Reject("no-rights", one.locator, "The user may not read the key.")
        raise unavailable(error, self.address)


def _messages(one: Wanted, piece: Piece) -> list[SourceItem | Reject]:
    """The messages of a piece; what is none is a reject, and the session goes on."""
    root, session, locator = one.split.root, one.split.session, one.locator
    ttl = piece.ttl if piece.ttl >= 0 else None
    built: list[SourceItem | Reject] = []
    for position, entry in enumerate(piece.entries, start=piece.position):
        content = read_message(entry)
        place = f"{locator}#{position}"
        if isinstance(content, Unreadable):
            built.append(Reject(content.reason, place, content.detail))
        else:
            fields = ("message", root, session, "", content, place, position)
            built.append(make_item((*fields, None, ttl, None)))
    return built


def _is_bare(one: Wanted) -> bool:
    """Whether nothing but its letters sets the prefix off from the session."""
    return not one.split.prefix.endswith(":")


def _refused(answers: Sequence[Any]) -> bool:
    """Whether it was not told what a list holds."""
    return any(isinstance(answer, ResponseError) for answer in answers)
