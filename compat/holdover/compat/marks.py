"""Marks: the notes that a name was looked up, or deleted, where old data may be.

A mark has no TTL. `touched` marks and `deleted` marks are separate items, so that
an adoption can never overwrite the note of a deletion that overtook it.
"""

from __future__ import annotations

from typing import Any

from holdover.compat.records import VERSION
from holdover.compat.scope import INTERNAL_ROOT

LEGACY = "legacy"
DELETED = "deleted"
#: Stands for the whole session; no encoded key equals it.
SESSION = "~session"


def touched_namespace(scope: tuple[str, ...], label: str) -> tuple[str, ...]:
    """Where names are noted that were adopted or set over an old place."""
    return (INTERNAL_ROOT, LEGACY, *scope, label)


def deleted_namespace(scope: tuple[str, ...], label: str) -> tuple[str, ...]:
    """Where names are noted that were deleted, and the session that was cleared."""
    return (INTERNAL_ROOT, LEGACY, *scope, label, DELETED)


def mark(what: str, *, revision: str, at: str) -> dict[str, Any]:
    """The value of a mark; `revision` orders it against the records of the item."""
    return {
        "kind": "mark",
        "content": {"what": what},
        "meta": {"v": VERSION, "revision": revision, "recorded_at": at},
    }


def overtakes(mark: Any, revision: str | None) -> bool:
    """Whether a deletion was noted after a revision was made."""
    try:
        return revision is None or mark["meta"]["revision"] > revision
    except (KeyError, TypeError):
        return mark is not None
