"""What to do with a record whose place in the target is not empty.

One function decides for the plan and for every write path; the decision depends on
the contents alone, so that a rerun decides the same and writes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Literal

from holdover.compat import records

OnConflict = Literal["fail", "skip", "version", "overwrite"]


class Decision(StrEnum):
    """What happens to one record of the source."""

    COPY = "copied"
    UPDATE = "updated"
    ALREADY = "already there"
    SUPERSEDED = "superseded"
    DELETED = "deleted in the target"
    FORGOTTEN = "forgotten in the target"
    CONFLICT = "conflict"
    SKIP = "skipped"
    VERSION = "kept as a revision"
    OVERWRITE = "overwritten"


#: Decisions that write something.
WRITES = frozenset(
    {Decision.COPY, Decision.UPDATE, Decision.VERSION, Decision.OVERWRITE}
)
#: Decisions about conflicts, which `--on-conflict` makes.
CONFLICTS = frozenset(
    {Decision.CONFLICT, Decision.SKIP, Decision.VERSION, Decision.OVERWRITE}
)
_POLICY = {
    "fail": Decision.CONFLICT,
    "skip": Decision.SKIP,
    "version": Decision.VERSION,
    "overwrite": Decision.OVERWRITE,
}


def decide(
    ours: Mapping[str, Any], existing: Mapping[str, Any] | None, at: str
) -> Decision:
    """Compare our record with the head in the target.

    `CONFLICT` is only a suspicion until the journal was looked at: `descends`.
    """
    if existing is None:
        return Decision.COPY
    meta = existing.get("meta")
    if not isinstance(meta, Mapping) or "content" not in existing:
        return Decision.CONFLICT
    over = records.is_expired(meta, at)
    if _same(existing, ours):
        # The old application may have extended a lifetime that ended here.
        again = over and not records.is_expired(ours["meta"], at)
        return Decision.UPDATE if again else Decision.ALREADY
    if over:
        return Decision.UPDATE
    theirs, mine = meta.get("source"), ours["meta"]["source"]
    origin = theirs if isinstance(theirs, Mapping) else {}
    # Before the parent: of what was updated before, it is our own first revision.
    if origin.get("run") == mine["run"] and records.intact(existing):
        return Decision.UPDATE
    if meta.get("parent") == ours["meta"]["revision"]:
        return Decision.SUPERSEDED
    if origin.get("locator") == mine["locator"]:
        return Decision.SUPERSEDED
    return Decision.CONFLICT


def descends(
    entries: Mapping[str, Any] | list[Mapping[str, Any]], locator: str
) -> bool:
    """Whether a journal holds a state that came from the same place."""
    for entry in entries:
        meta = entry.get("meta") if isinstance(entry, Mapping) else None
        source = meta.get("source") if isinstance(meta, Mapping) else None
        if isinstance(source, Mapping) and source.get("locator") == locator:
            return True
    return False


def settle(decision: Decision, policy: OnConflict) -> Decision:
    """Apply `--on-conflict`; only conflicts obey it."""
    return _POLICY[policy] if decision is Decision.CONFLICT else decision


def _same(existing: Mapping[str, Any], ours: Mapping[str, Any]) -> bool:
    return records.has_content(existing, ours["meta"]["hash"])
