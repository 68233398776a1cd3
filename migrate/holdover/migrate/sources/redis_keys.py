"""The keys of a Redis as all that read it share them: one connection, one scan.

Each layout claims keys by what they begin with. A key that several claim, or whose type
has to be known, is asked for its type once; everything else is told by its name alone.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from redis.exceptions import NoPermissionError, ResponseError

from holdover.migrate.errors import UsageError
from holdover.migrate.sources.base import SAMPLES, Skipped
from holdover.migrate.sources.redis_opening import Way
from holdover.migrate.sources.redis_others import Others
from holdover.migrate.sources.redis_prefixes import is_text, patterns
from holdover.migrate.sources.redis_spool import Spool
from holdover.migrate.sources.redis_wire import unavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from redis import Redis, RedisCluster

    from holdover.migrate.sources.base import Other
    from holdover.migrate.sources.redis_wire import Wire

ABSENT = b"none"
#: What the types are called where they are not called what they are.
_NAMES = {b"ReJSON-RL": "JSON document"}


@dataclass
class Claim:
    """The keys of one layout.

    Attributes:
        type: What they are.
        beginnings: What they begin with.
        typed: Whether a key of another type is not theirs; else its owner says so.
        note: Told of all keys that begin so, of whatever type.
        names: Keys that nobody claims and that their owner tells of all the same.
        spool: Those of the last scan.
        skipped: Keys of other types, at most `SAMPLES` of them.
        skipped_count: How many those are.
    """

    type: bytes
    beginnings: Sequence[str]
    typed: bool
    note: Callable[[Sequence[bytes]], None] = field(default=lambda _: None)
    names: frozenset[bytes] = frozenset()
    spool: Spool = field(init=False)
    skipped: list[Skipped] = field(default_factory=list)
    skipped_count: int = 0

    def __post_init__(self) -> None:
        """Encode what keys begin with; a `UsageError` where that cannot be."""
        if not all(map(is_text, self.beginnings)):
            raise UsageError("The name of a root has to be UTF-8.")
        self.bytes = tuple(one.encode() for one in self.beginnings)

    def renew(self) -> None:
        """Begin a scan."""
        self.drop()
        self.spool = Spool()
        self.skipped, self.skipped_count = [], 0

    def drop(self) -> None:
        """Give the disk space of the last scan back."""
        if "spool" in vars(self):
            self.spool.close()
            del self.spool

    def skip(self, key: bytes, why: str) -> None:
        """Note a key that is not to be read."""
        self.skipped_count += 1
        if self.skipped_count <= SAMPLES:
            name = key.decode(errors="backslashreplace")
            self.skipped.append(Skipped(name, why))


class Keys:
    """One database of a Redis, or a cluster; connected when it is first looked at.

    Args:
        address: An address (see `holdover.migrate.sources`), or a ready client (of
            which only the settings are used).
        roots: What keys that will be asked for begin with, before a colon.
    """

    def __init__(
        self, address: str | Redis | RedisCluster, roots: Sequence[str]
    ) -> None:
        self._way = Way(address, [root for root in roots if is_text(root)])
        self.address, self.db = self._way.address, self._way.db
        self._claims: list[Claim] = []
        self._taken: set[int] = set()
        self._scanned = False
        self._others: Others | None = None
        #: How often the keys were listed.
        self.scans = 0

    @cached_property
    def wire(self) -> Wire:
        """The connection."""
        return self._way.open()

    def locator(self, key: str) -> str:
        """How a key is named in a record."""
        return f"redis:{self.db}:{key}"

    def claim(self, claim: Claim) -> Claim:
        """Have these keys found, too."""
        self._claims.append(claim)
        return claim

    def look(self, who: object, *, others: bool = False) -> None:
        """See to it that the keys are those of now.

        Those who ask one after the other share one scan; who asks twice has a new one.
        """
        asked = id(who)
        if asked in self._taken or not self._scanned or (others and not self._others):
            self._scan(others=others)
        self._taken.add(asked)

    def keys(self, claim: Claim) -> Spool:
        """The keys of a claim as the last scan found them."""
        if not self._scanned:
            self._scan(others=False)
        return claim.spool

    def finds(self, key: bytes, kind: bytes | None) -> bool:
        """Whether a key of a type is somebody's."""
        return any(
            claim.type == kind and key.startswith(claim.bytes) for claim in self._claims
        )

    def others(self) -> tuple[list[Other], list[str]]:
        """What nobody claims, and what a reader has to know about that."""
        self.look(self, others=True)
        return self._others.count(self.wire) if self._others else ([], [])

    def types(
        self, keys: Sequence[bytes], *, all_told: bool = False
    ) -> list[bytes | None]:
        """What the keys are; `None` where the user may not know, and need not."""
        (answers,) = self.wire.each([b"TYPE"], keys) if keys else ([],)
        kinds: list[bytes | None] = []
        for answer in answers:
            if isinstance(answer, NoPermissionError) and not all_told:
                kinds.append(None)
            elif isinstance(answer, ResponseError):
                raise unavailable(answer, self.address)
            else:
                kinds.append(answer)
        return kinds

    def close(self) -> None:
        """Close the connection and give the disk space back."""
        if "wire" in vars(self):
            self.wire.close()
        for claim in self._claims:
            claim.drop()
        self._scanned = False
        self._drop_others()

    def _drop_others(self) -> None:
        if self._others is not None:
            self._others.close()
            self._others = None

    def _scan(self, *, others: bool) -> None:
        self._drop_others()
        self._scanned = False
        self._taken.clear()
        self.scans += 1
        for claim in self._claims:
            claim.renew()
        if others:
            names = frozenset[bytes]().union(*(claim.names for claim in self._claims))
            asked_for = any(claim.type == b"list" for claim in self._claims)
            self._others = Others(names, advise=asked_for)
        asked = Spool()
        try:
            for keys in self._listed():
                self._divide(keys, asked)
            asked.seal()
            for page in asked.pages():
                self._settle(page)
        finally:
            asked.close()
        for claim in self._claims:
            claim.spool.seal()
        self._scanned = True

    def _listed(self) -> Iterator[list[bytes]]:
        """The names of all keys that matter, some perhaps several times."""
        if self._others is not None:
            yield from self.wire.scan()
            return
        for pattern in patterns(b for claim in self._claims for b in claim.beginnings):
            yield from self.wire.scan(pattern)

    def _divide(self, keys: list[bytes], asked: Spool) -> None:
        """Give keys to who claims them alone, and keep those that are to be settled."""
        times: Counter[bytes] = Counter()
        unclear: set[bytes] = set()
        taken = []
        for claim in self._claims:
            mine = [key for key in keys if key.startswith(claim.bytes)]
            if not mine:
                continue
            claim.note(mine)
            taken.append((claim, mine))
            if claim.typed:
                unclear.update(mine)
        if len(taken) > 1:
            for _, mine in taken:
                times.update(dict.fromkeys(mine, 1))
            unclear.update(key for key, number in times.items() if number > 1)
        for claim, mine in taken:
            if not claim.typed:
                # In the common case, a page of one layout, nothing is looked up.
                only = [k for k in mine if k not in unclear] if unclear else mine
                claim.spool.add(only)
        if unclear:
            asked.add(unclear)
        if self._others is not None:
            claimed = tuple(one for claim in self._claims for one in claim.bytes)
            self._others.take([key for key in keys if not key.startswith(claimed)])

    def _settle(self, page: list[bytes]) -> None:
        """Tell by their types whose keys are that several claim."""
        texts = [key for key in page if _decodes(key)]
        kinds = dict(zip(texts, self.types(texts), strict=True))
        for key in page:
            claims = [claim for claim in self._claims if key.startswith(claim.bytes)]
            if key not in kinds:  # no text: whoever is first says so
                claims[0].spool.add([key])
                continue
            kind = kinds[key]
            if kind == ABSENT:
                continue
            owner = next((claim for claim in claims if claim.type == kind), None)
            # Who does not mind the type tells of others as it reads.
            owner = owner or next((c for c in claims if not c.typed), None)
            if owner is not None:
                owner.spool.add([key])
            elif kind is None:  # reading it will say so
                claims[0].spool.add([key])
            elif _is_below(key, claims[0]):
                claims[0].skip(key, f"a {named(kind)}, not a {named(claims[0].type)}")
            elif self._others is not None:
                self._others.take([key])


def named(kind: bytes) -> str:
    """What a type is to a person."""
    return _NAMES.get(kind) or kind.decode(errors="replace")


def _is_below(key: bytes, claim: Claim) -> bool:
    """Whether a key begins with a root and a colon, not with some letters of one."""
    return any(
        key.startswith(one if one.endswith(b":") else one + b":") for one in claim.bytes
    )


def _decodes(key: bytes) -> bool:
    try:
        key.decode()
    except UnicodeDecodeError:
        return False
    return True
