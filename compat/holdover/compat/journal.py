"""The journal: every written state of an item, and what became of it.

One namespace per item, keyed by revision (a UUIDv7), so that the order of keys is
the order of writing and writers that race for the head lose no revision. An entry
is a record as it stood, or one of two events: `deletion`, and `raw` (an item that
was no record of ours, kept before it was overwritten).
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from holdover.compat.records import VERSION, build
from holdover.compat.scope import INTERNAL_ROOT, encode_label

JOURNAL = "journal"
DELETION = "deletion"
RAW = "raw"

History = Literal["all"] | int | timedelta
DEFAULT_HISTORY = 100


@dataclass(frozen=True, slots=True)
class Bound:
    """How much of an item's journal is kept: a number, an age, or everything."""

    keep: int | None = DEFAULT_HISTORY
    age: timedelta | None = None

    @classmethod
    def of(cls, history: History) -> Bound:
        """Read what callers pass as `history=`.

        Raises:
            ValueError: Neither `"all"`, a number from 0, nor a timedelta.
        """
        if isinstance(history, timedelta) and history >= timedelta(0):
            return cls(keep=None, age=history)
        if history == "all":
            return cls(keep=None)
        if type(history) is int and history >= 0:
            return cls(keep=history)
        raise ValueError(
            f"history={history!r}: give 'all', a number from 0, or a timedelta."
        )

    @property
    def off(self) -> bool:
        """Whether nothing is journaled at all."""
        return self.keep == 0

    def oldest(self, moment: datetime) -> str | None:
        """The smallest key that the age still keeps, or `None`."""
        if self.age is None:
            return None
        milliseconds = max(0, int((moment - self.age).timestamp() * 1000))
        return str(uuid.UUID(int=milliseconds << 80 | 0x7000 << 64))


def namespace(scope: tuple[str, ...], label: str, key: str) -> tuple[str, ...]:
    """Where the journal of one item lives; `scope` is encoded, `key` an item key."""
    return (INTERNAL_ROOT, JOURNAL, *scope, label, encode_label(key))


def deletion(
    name: str, *, revision: str, parent: str | None, at: str
) -> dict[str, Any]:
    """The event of a deletion; it names the item and holds no text of it."""
    meta: dict[str, Any] = {"revision": revision}
    if parent:
        meta["parent"] = parent
    return build(DELETION, {"name": name}, {**meta, "recorded_at": at})


def raw(value: Mapping[str, Any], *, at: str, **meta: Any) -> dict[str, Any]:
    """An item as it was, whatever it was; `meta` says who replaced it."""
    return {
        "kind": RAW,
        "content": {"value": dict(value)},
        "meta": {"v": VERSION, "recorded_at": at, **meta},
    }
