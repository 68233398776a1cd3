"""What every source promises: it is only read, in parts that can be copied alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Protocol

from holdover.compat.records import KINDS

Ambiguous = Literal["fail", "first", "last", "reject"]
Roles = Literal["refuse", "alternate"]

#: The labels of what can be moved: the last label of a record's namespace.
ALL_KINDS = frozenset(kind.label for kind in KINDS.values())


class SourceItem(NamedTuple):
    """One record as a source holds it, before it has a place in a target.

    `key` is the raw name (an entity's name, else ""); `content` is what a record of
    that kind holds (`{"name": …, "summary": …}` for an entity) and is empty where only
    keys were read. `position` is a message's place in its session: a row's id, or an
    index from the oldest. `ttl_ms` is the lifetime left in milliseconds, `None` for
    ever.
    """

    kind: str
    root: str
    session: str
    key: str
    content: dict[str, Any]
    locator: str
    position: int | None = None
    created_at: datetime | None = None
    ttl_ms: int | None = None
    vector: Sequence[float] | None = None


class Reject(NamedTuple):
    """What could not be moved: a stable reason code, where it is, and a sentence."""

    reason: str
    locator: str
    detail: str


class Batch(NamedTuple):
    """A slice of a partition; `cursor` (JSON) resumes after it, `expired` are gone.

    `skipped` counts, by a reason code, what is knowingly not moved: with the items,
    the rejects and the expired it is all that the slice holds.
    """

    items: list[SourceItem]
    rejects: list[Reject]
    cursor: Any
    expired: int = 0
    skipped: Mapping[str, int] = MappingProxyType({})


@dataclass(frozen=True)
class Partition:
    """A part of a source that can be copied alone; `id` is the same in every run.

    Attributes:
        aligned: Its positions are places in lists that may have lost their old ends.
            Each session is then read whole from its oldest message, its items
            adjacent, also on resume; `keys` yields complete items.
    """

    id: str
    spec: Mapping[str, Any] = field(default_factory=dict)
    aligned: bool = False


class Skipped(NamedTuple):
    """An object of the source that is not ours to move, and why."""

    name: str
    why: str


@dataclass(frozen=True)
class Other:
    """What else lies in a source, which this version does not move.

    `kind` is a stable code, `name` what it is to a person.
    """

    kind: str
    name: str
    count: int
    estimated: bool = False
    moved: bool = False


class Blocker(NamedTuple):
    """Why nothing may be written yet, and what to add to the command."""

    code: str
    message: str
    fix: str


class AmbiguousKey(NamedTuple):
    """A physical key that can be split in two ways; each reading: session, entity."""

    locator: str
    root: str
    first: tuple[str, str]
    last: tuple[str, str]


@dataclass
class Group:
    """What one root holds of one kind.

    `items` are what reading will give, as far as a look tells: without what
    `Inventory.rejects` counts, with what only reading shows to be a reject.
    """

    root: str
    kind: str
    sessions: int = 0
    items: int = 0
    bytes: int = 0
    #: Lifetimes left: how many items live for ever, under an hour, a day, …
    lifetimes: dict[str, int] = field(default_factory=dict)
    #: Vectors that are there: how many items have one, by its dimensions.
    vectors: dict[int, int] = field(default_factory=dict)


@dataclass
class Inventory:
    """What a source holds, found by reading names and sizes, not contents.

    Lists keep at most `SAMPLES` examples; the counts beside them are complete. (A part
    of a `CombinedSource` may list more: see there.) `rejects` are what a look shows to
    be unreadable; reading may find more, and never fewer.
    """

    source: str
    groups: list[Group] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    skipped_count: int = 0
    ambiguous: list[AmbiguousKey] = field(default_factory=list)
    ambiguous_count: int = 0
    rejects: dict[str, int] = field(default_factory=dict)
    blockers: list[Blocker] = field(default_factory=list)
    others: list[Other] = field(default_factory=list)
    #: What a reader of any result has to know: estimates, copies, left-out sessions.
    notes: list[str] = field(default_factory=list)
    #: What the old classes never kept, or kept for a while only.
    never_stored: list[str] = field(default_factory=list)

    @property
    def records(self) -> int:
        """How many records a look finds, with those that cannot be read."""
        return sum(group.items for group in self.groups) + sum(self.rejects.values())


SAMPLES = 20
#: What `--field` may name: columns and attributes of custom layouts, and the encoding
#: of files.
FIELDS = (
    "id", "session", "message", "created_at", "expires_at", "type", "content",
    "metadata", "embedding", "encoding",
)  # fmt: skip


@dataclass(frozen=True)
class ReadOptions:
    """How names of a source are read: see `holdover migrate --help`."""

    #: None named: each layout has a default of its own.
    roots: tuple[str, ...] = ()
    sessions: frozenset[str] = frozenset()
    session_pattern: str | None = None
    kinds: frozenset[str] = ALL_KINDS
    ambiguous: Ambiguous = "fail"
    skip: frozenset[str] = frozenset()
    #: Only the sessions named by `sessions`, `session_pattern` or the session map.
    only_named: bool = False
    #: Whole sessions, by hash; 1.0 is everything.
    sample: float = 1.0
    #: Whether messages that lost their type are read as human and AI, in turn.
    roles: Roles = "refuse"
    #: Columns or attributes of a custom layout: pairs of our name and theirs.
    fields: tuple[tuple[str, str], ...] = ()

    def roots_or(self, *default: str) -> tuple[str, ...]:
        """The roots that were named, or a layout's own."""
        return self.roots or default

    def field(self, name: str, default: str) -> str:
        """What a custom layout calls one of our fields."""
        return dict(self.fields).get(name, default)


class Source(Protocol):
    """The reading end of a migration."""

    #: The address without its password.
    address: str
    #: What the source is, for a person: "SQLite file", "Redis".
    label: str

    def inventory(self, *, others: bool = False) -> Inventory:
        """Look at everything once; raise a `SourceError` if it cannot be read.

        With `others`, also at what is not read, where that takes a look of its own.
        """
        ...

    def partitions(self) -> list[Partition]:
        """The parts, in a stable order."""
        ...

    def read(
        self, partition: Partition, cursor: Any = None, *, size: int = 10_000
    ) -> Iterator[Batch]:
        """Read a partition from after `cursor`, in the order it is stored."""
        ...

    def keys(
        self, partition: Partition, *, size: int = 10_000
    ) -> Iterator[list[SourceItem]]:
        """Read names only: items with empty content.

        Where names cost as much as values, whole items.
        """
        ...

    def fetch(self, partition: Partition, items: Sequence[SourceItem]) -> Batch:
        """Read the values of items that `keys` returned; vanished ones are left out."""
        ...

    def close(self) -> None:
        """Give back connections and temporary files."""
        ...
