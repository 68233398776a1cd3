"""Chat histories of langchain-redis: a JSON document for each message.

A document says which session it belongs to and when it was said; its key, which is
`{key_prefix}{session}:{time or ULID}`, could be split in several ways. Documents end
one by one, so a message's position is its time and not its place in a list: it is the
same whatever is there besides.
"""

from __future__ import annotations

import re
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from zlib import crc32

from redis.exceptions import ResponseError

from holdover.migrate.sources.base import (
    SAMPLES,
    Group,
    Inventory,
    Partition,
    Reject,
    Skipped,
)
from holdover.migrate.sources.batching import Pace, Rows, make_item
from holdover.migrate.sources.messages import Unreadable, read_message
from holdover.migrate.sources.naming import Foreign, Names
from holdover.migrate.sources.redis_census import GONE, LIFETIMES, lifetime
from holdover.migrate.sources.redis_document_index import END, Entry, Index
from holdover.migrate.sources.redis_keys import Claim, Keys
from holdover.migrate.sources.redis_list_census import no_rights
from holdover.migrate.sources.redis_messages import parsed
from holdover.migrate.sources.redis_prefixes import Prefixes
from holdover.migrate.sources.redis_spool import PARTS
from holdover.migrate.sources.redis_wire import is_hidden, unavailable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from redis import Redis, RedisCluster

    from holdover.migrate.sources.base import Batch, ReadOptions, SourceItem

DEFAULT_PREFIX = "chat:"
_AT_ONCE = 1000
_WORTH_DIVIDING = 20_000
_ENDED = {GONE, 0}
_FIELDS = (b"$.session_id", b"$.timestamp")
_ULID = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}")
_TIME = re.compile(r"\d{1,10}(?:\.\d{1,9})?")
_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_WRONG_TYPE = re.compile("WRONGTYPE|wrong .*type", re.IGNORECASE)
#: From about so many documents the size of all is estimated.
_WEIGHED = 200

_NEVER_STORED = (
    "langchain-redis kept of a message its type, content and additional_kwargs, in some"
    " releases a tool's tool_call_id and status: its id, name, tool calls, usage, the"
    " role of a chat message and the name of a function message were never stored."
)


@dataclass
class _Known:
    """What the last look at all documents found; `scan` says at which keys."""

    scan: int
    index: Index = field(default_factory=Index)
    items: Counter[str] = field(default_factory=Counter)
    lifetimes: Counter[tuple[str, str]] = field(default_factory=Counter)
    weights: list[int] = field(default_factory=list)
    rejects: Counter[str] = field(default_factory=Counter)
    skipped: list[Skipped] = field(default_factory=list)
    skipped_count: int = 0
    unselected: int = 0
    refused: list[str] = field(default_factory=list)

    def skip(self, name: str, why: str) -> None:
        """Note a key that is not to be read."""
        self.skipped_count += 1
        if self.skipped_count <= SAMPLES:
            self.skipped.append(Skipped(name, why))

    def refuse(self, reject: Reject) -> None:
        """Note a key that cannot be read."""
        self.index.refuse(reject)
        self.rejects[reject.reason] += 1


class RedisDocuments:
    """The documents of langchain-redis.

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
            b"ReJSON-RL",
            self._prefixes.beginnings,
            typed=True,
            note=self._prefixes.note,
        )
        roots = options.roots_or(DEFAULT_PREFIX.removesuffix(":"))
        self._keys = place if isinstance(place, Keys) else Keys(place, roots)
        self._claim = self._keys.claim(claim)
        self.address = self._keys.address
        self._names = Names(options)
        self._locator = self._keys.locator("")
        self._pace = Pace(_AT_ONCE)
        self._known: _Known | None = None

    def inventory(self, *, others: bool = False) -> Inventory:
        """Look at the session and time of every document."""
        self._keys.look(self, others=others)
        known = self._looked_up()
        inventory = Inventory(self.address)
        sessions = known.index.sessions()
        inventory.groups = [
            Group(
                root,
                "message",
                sessions.get(root, 0),
                known.items[root],
                known.items[root] * sum(known.weights) // max(1, len(known.weights)),
                {label: known.lifetimes[root, label] for label in LIFETIMES},
            )
            for root in sorted(known.items)
        ]
        inventory.rejects = dict(known.rejects)
        inventory.skipped = [*self._claim.skipped, *known.skipped][:SAMPLES]
        inventory.skipped_count = self._claim.skipped_count + known.skipped_count
        inventory.notes = self._notes(known)
        if known.items:
            inventory.never_stored = [_NEVER_STORED]
        if known.refused:
            inventory.blockers.append(no_rights(known.refused))
        return inventory

    def partitions(self) -> list[Partition]:
        """The sessions by hash: keys can only be listed from the beginning."""
        if self._keys.keys(self._claim).count < _WORTH_DIVIDING:
            return [Partition("messages-documents")]
        return [
            Partition(f"messages-documents-{part:02}-of-{PARTS}", {"part": part})
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
        """Read the documents that the last scan found, each session in its order."""
        rows = Rows()
        index, part = self._looked_up().index, partition.spec.get("part")
        for rejects in index.rejects(part):
            rows.rejects += rejects
            while len(rows.rejects) >= size:
                yield Rows(rejects=rows.rejects[:size]).batch()
                rows = Rows(rejects=rows.rejects[size:])
        for page in index.pages(part):
            wanted: Sequence[Entry] = page
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
        partition: Partition,
        *,
        size: int = 10_000,
    ) -> Iterator[list[SourceItem]]:
        """Give the places of the documents that the last scan found."""
        items: list[SourceItem] = []
        for page in self._looked_up().index.pages(partition.spec.get("part")):
            items += [self._item(one, {}, None) for one in page]
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
        """Read the documents and lifetimes of these items."""
        rows = Rows()
        wanted = [
            Entry(
                item.root,
                item.session,
                item.created_at.timestamp() if item.created_at else 0.0,
                item.locator.removeprefix(self._locator).encode(),
                item.position or 0,
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
        if self._known is not None:
            self._known.index.close()
            self._known = None

    def _take(self, wanted: Sequence[Entry], rows: Rows) -> None:
        """Read documents and lifetimes."""
        commands: list[list[bytes]] = []
        for one in wanted:
            # The lifetime is asked for behind the document, so it is never older.
            commands += [[b"JSON.GET", one.key, b"$"], [b"PTTL", one.key]]
        answers = self._keys.wire.ask(commands)
        size = 0
        for one, answer, ttl in zip(wanted, answers[::2], answers[1::2], strict=True):
            locator = f"{self._locator}{one.key.decode()}"
            if isinstance(ttl, ResponseError):
                raise unavailable(ttl, self.address)
            if isinstance(answer, ResponseError):
                reject = self._rejected(locator, answer)
                rows.rejects.append(reject)
                continue
            if answer is None or ttl in _ENDED:
                rows.expired += 1
                continue
            size += len(answer)
            content = read_message(_inner(answer))
            if isinstance(content, Unreadable):
                reject = Reject(content.reason, locator, content.detail)
                rows.rejects.append(reject)
            else:
                rows.items.append(self._item(one, content, ttl if ttl >= 0 else None))
        self._pace.note(len(wanted), size)
        rows.size += size

    def _item(self, one: Entry, content: dict[str, Any], ttl: int | None) -> SourceItem:
        said = datetime.fromtimestamp(one.moment, UTC) if one.moment else None
        locator = f"{self._locator}{one.key.decode()}"
        place = ("message", one.root, one.session, "", content, locator)
        return make_item((*place, one.position, said, ttl, None))

    def _looked_up(self) -> _Known:
        """What the documents say of themselves, as far as it was not asked before."""
        spool = self._keys.keys(self._claim)
        if self._known is not None:
            if self._known.scan == self._keys.scans:
                return self._known
            self._known.index.close()
            self._known = None
        known = _Known(self._keys.scans)
        with ExitStack() as failing:
            failing.callback(known.index.close)
            for page in spool.pages():
                self._look_up(self._texts(page, known), spool.count, known)
            known.index.seal()
            failing.pop_all()
        self._known = known
        return known

    def _texts(self, page: Sequence[bytes], known: _Known) -> list[tuple[bytes, str]]:
        """The keys that are text; the others are rejects."""
        texts = []
        for key in page:
            try:
                texts.append((key, key.decode()))
            except UnicodeDecodeError:
                locator = self._locator + key.decode(errors="backslashreplace")
                known.refuse(Reject("not-utf8", locator, "The key is not UTF-8."))
        return texts

    def _look_up(
        self, page: Sequence[tuple[bytes, str]], total: int, known: _Known
    ) -> None:
        """Ask a page of documents for their session and time."""
        wire = self._keys.wire
        commands: list[list[bytes]] = []
        for key, _ in page:
            commands += [[b"JSON.GET", key, *_FIELDS], [b"PTTL", key]]
        answers = wire.ask(commands)
        entries, weighed = [], []
        for (key, text), answer, ttl in zip(
            page, answers[::2], answers[1::2], strict=True
        ):
            entry = self._entry(key, text, answer, known)
            if entry is None:
                continue
            if isinstance(ttl, ResponseError):
                raise unavailable(ttl, self.address)
            if ttl == GONE:
                continue
            entries.append(entry)
            known.items[entry.root] += 1
            known.lifetimes[entry.root, lifetime(ttl)] += 1
            if crc32(key) * total < _WEIGHED << 32:
                weighed.append(key)
        known.index.add(entries)
        for answer in wire.ask([[b"JSON.GET", key, b"$"] for key in weighed]):
            if isinstance(answer, bytes):
                known.weights.append(len(answer))

    def _entry(self, key: bytes, text: str, answer: Any, known: _Known) -> Entry | None:
        """Where a document belongs; `None` where that is nowhere."""
        locator = f"{self._locator}{text}"
        if isinstance(answer, ResponseError):
            reject = self._rejected(locator, answer)
            known.refuse(reject)
            if reject.reason == "no-rights":
                known.refused.append(locator)
                del known.refused[SAMPLES:]
            return None
        if answer is None:
            return None
        session, time = _fields(answer)
        if session is None:
            known.skip(text, "a JSON document without a session_id")
            return None
        tail = text.rpartition(":")[2]
        split = self._prefixes.split_known(text, session, tail)
        if isinstance(split, Foreign):
            known.skip(text, f"a JSON document {split.why}")
            return None
        if not (self._names.selects_all or self._names.selects(session)):
            known.unselected += 1
            return None
        return Entry(split.root, session, _moment(time, tail), key)

    def _rejected(self, locator: str, error: ResponseError) -> Reject:
        """Why a document is not read, where that is a matter of this one alone."""
        if is_hidden(error):
            return Reject("no-rights", locator, "The user may not read the key.")
        if _WRONG_TYPE.search(str(error)):
            return Reject("wrong-type", locator, "The key holds no JSON document.")
        raise unavailable(error, self.address)

    def _notes(self, known: _Known) -> list[str]:
        notes = self._keys.wire.notes()
        if known.unselected:
            notes.append(
                f"{known.unselected:,} chat messages are outside the named sessions or"
                " the sample."
            )
        return notes


def _fields(answer: Any) -> tuple[str | None, Any]:
    """Session and time, as `JSON.GET` with two paths gives them."""
    found = parsed(answer)
    if not isinstance(found, dict):
        return None, None
    values = [found.get(name.decode()) for name in _FIELDS]
    session, time = (v[0] if isinstance(v, list) and v else None for v in values)
    return (session if isinstance(session, str) else None), time


def _moment(time: Any, tail: str) -> float:
    """When a message was said: as the document tells, or else its key; 0 is unknown."""
    if isinstance(time, int | float) and not isinstance(time, bool) and 0 < time < END:
        return float(time)
    if _ULID.fullmatch(tail):
        number = 0
        for letter in tail[:10]:
            number = number * 32 + _CROCKFORD.index(letter)
        return number / 1000 if number / 1000 < END else 0.0
    if _TIME.fullmatch(tail):
        return float(tail) if float(tail) < END else 0.0
    return 0.0


def _inner(answer: bytes) -> bytes:
    """The document itself, of the list of all that a path finds."""
    return answer[1:-1] if answer[:1] == b"[" else answer
