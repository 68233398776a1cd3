"""Collects what is read into batches, so that large values do not fill the memory."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from holdover.migrate.sources.base import Batch, Reject, SourceItem

if TYPE_CHECKING:
    from collections.abc import Callable

_START = 64
_GROWTH = 4
_AT_ONCE = 8 << 20
_PER_BATCH = 32 << 20

#: Makes an item of a tuple of all ten fields. The constructor of a NamedTuple binds
#: its arguments in Python; this takes a quarter of the time.
make_item: Callable[[tuple[Any, ...]], SourceItem] = partial(tuple.__new__, SourceItem)


@dataclass
class Rows:
    """What was read since the last batch; `size` counts its characters or bytes."""

    items: list[SourceItem] = field(default_factory=list)
    rejects: list[Reject] = field(default_factory=list)
    expired: int = 0
    size: int = 0
    skipped: Counter[str] = field(default_factory=Counter)

    @property
    def count(self) -> int:
        """How many records that is."""
        known = len(self.items) + len(self.rejects) + self.expired
        return known + self.skipped.total()

    @property
    def full(self) -> bool:
        """Whether their size alone says that it is time to hand them on."""
        return self.size >= _PER_BATCH

    def add(self, one: SourceItem | Reject) -> None:
        """Take what one record was read as."""
        if isinstance(one, Reject):
            self.rejects.append(one)
        else:
            self.items.append(one)
            self.size += size_of(one.content)

    def batch(self, cursor: Any = None) -> Batch:
        """Hand on what was read."""
        return Batch(self.items, self.rejects, cursor, self.expired, self.skipped)


class Pace:
    """Grows a request's number of records while their size allows it."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.records = min(_START, most)

    def note(self, records: int, size: int) -> None:
        """Learn from an answer of so many records and characters."""
        if records:
            fitting = _AT_ONCE * records // max(size, 1)
            self.records = max(1, min(self._most, fitting, self.records * _GROWTH))


def size_of(content: dict[str, Any]) -> int:
    """About how many bytes a message takes; the deep ones are not gone through."""
    data = content.get("data", content)
    text = data.get("content", "")
    return (len(text) if isinstance(text, str) else len(str(text))) + 50 * len(data)
