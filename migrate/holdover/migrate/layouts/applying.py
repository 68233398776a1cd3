"""Write, compare and take back items that cannot say themselves where they came from.

What a run wrote is noted beside them: for each item one of our own, under its namespace
and key below `("~holdover", "layouts")`, with the hash of what was written and what was
there before. Both are written at once where the store can do that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from langgraph.store.base import PutOp

from holdover.compat.records import VERSION, now, timestamp
from holdover.compat.scope import INTERNAL_ROOT
from holdover.compat.stores.backend import Pair, Value, Write
from holdover.migrate.conflicts import WRITES, Decision, OnConflict, settle
from holdover.migrate.layouts.shape import Shape, ShapedRow, named
from holdover.migrate.targets.base import Applied, StoredRow, Target, conflict_reject

if TYPE_CHECKING:
    from holdover.migrate.verify import VerifyReport

NOTES = (INTERNAL_ROOT, "layouts")
NOTE = "written"
_CHUNK = 200


class Settled(NamedTuple):
    """A row, what was decided, what is there, and the note about it."""

    row: ShapedRow
    decision: Decision
    existing: Value | None
    note: Value | None


class ShapedTarget:
    """The writing end of a layout.

    Args:
        target: Where items go.
        shape: The layout.
        run_id: The run that is carried out.
    """

    def __init__(self, target: Target, shape: Shape, run_id: str) -> None:
        self._target, self._shape, self._run_id = target, shape, run_id

    def resolve(self, rows: Sequence[ShapedRow], policy: OnConflict) -> list[Settled]:
        """Decide about each row, by what is there and what was noted."""
        if policy == "version":
            policy = "fail"  # items of another program have no revisions
        places = [(row.namespace, row.key) for row in rows]
        found = self._target.read([*places, *map(note_of, places)])
        heads, notes = found[: len(rows)], found[len(rows) :]
        return [
            Settled(row, settle(self._decide(row, head, note), policy), head, note)
            for row, head, note in zip(rows, heads, notes, strict=True)
        ]

    def _decide(
        self, row: ShapedRow, existing: Value | None, note: Value | None
    ) -> Decision:
        if existing is None:
            return Decision.COPY
        held = self._shape.hash_of(existing)
        if held == row.hash:
            return Decision.ALREADY
        if note is None:
            return Decision.CONFLICT
        if note["meta"]["source"]["locator"] != _storable(row.locator):
            return Decision.CONFLICT
        # Ours, and as we wrote it: the source has changed. Else the application has.
        ours = note["content"]["hash"] == held
        return Decision.UPDATE if ours else Decision.SUPERSEDED

    def apply(
        self,
        rows: Sequence[ShapedRow],
        policy: OnConflict,
        note: Callable[[Applied], Iterable[PutOp]],
    ) -> Applied:
        """Write what is to be written, each item with its note; then the progress."""
        applied = Applied()
        for chunk in _chunks(rows):
            settled = self.resolve(chunk, policy)
            wanted = [one for one in settled if one.decision in WRITES]
            lost = self._write(wanted)
            for one in settled:
                decision = one.decision
                if (one.row.namespace, one.row.key) in lost:
                    decision = Decision.CONFLICT
                applied.decisions[decision] += 1
                if decision is Decision.CONFLICT:
                    applied.rejects.append(conflict_reject(one.row))  # type: ignore[arg-type]
        self._target.write(list(note(applied)))
        return applied

    def _write(self, wanted: Sequence[Settled]) -> set[Pair]:
        """Write; return the places that changed between reading and writing."""
        target = self._target
        if getattr(target.store, "index_config", None):
            # The store embeds; it knows no condition.
            index = list(self._shape.index)
            groups = []
            for one in wanted:
                row = one.row
                put = target.backend.put_op(row.namespace, row.key, row.value, index)
                groups.append([self._noted(one), put])
            if groups:
                target.do(Write(groups))
            return set()
        lost = set()
        for one in wanted:
            place, value = (one.row.namespace, one.row.key), dict(one.row.value)
            also = [self._noted(one)]
            if not target.backend.atomic:
                # A note about what is not there yet does no harm; an item without one
                # could not be taken back.
                target.write(also)
            if not target.swap(*place, one.existing, value, also=also):
                lost.add(place)
        return lost

    def _noted(self, one: Settled) -> PutOp:
        namespace, key = note_of((one.row.namespace, one.row.key))
        content: dict[str, Any] = {"layout": self._shape.name, "hash": one.row.hash}
        before = one.note["content"].get("replaced") if one.note else None
        if one.decision is Decision.OVERWRITE:
            before = one.existing
        if before is not None:
            content["replaced"] = before
        source = {
            "kind": "migration",
            "run": self._run_id,
            "locator": _storable(one.row.locator),
        }
        meta = {"v": VERSION, "recorded_at": timestamp(now()), "source": source}
        value = {"kind": NOTE, "content": content, "meta": meta}
        return self._target.put(namespace, key, value)

    def compare(self, report: VerifyReport, rows: Sequence[ShapedRow]) -> int:
        """Class each row into a report; return how many are the run's."""
        ours = 0
        for settled in self.resolve(rows, "fail"):
            if settled.note and settled.note["meta"]["source"]["run"] == self._run_id:
                ours += 1
            name = _class_of(settled.decision)
            setattr(report, name, getattr(report, name) + 1)
            if name in ("missing", "different"):
                report.sample(name, settled.row.locator)
        return ours

    def held(self) -> int:
        """How many items the run wrote, by the notes about them."""
        pages = self._target.rows_of_run(self._run_id)
        return sum(is_note(row) for rows in pages for row in rows)


def note_of(place: Pair) -> Pair:
    """Where the note about an item is."""
    namespace, key = place
    return (*NOTES, *namespace), key


def is_note(row: StoredRow) -> bool:
    """Whether an internal item is a note about an item of a layout."""
    return row.namespace[:2] == NOTES and row.value.get("kind") == NOTE


def take_back(target: Target, row: StoredRow) -> str:
    """Undo what a note is about; say which count of a rollback that is."""
    place = row.namespace[2:], row.key
    content: Mapping[str, Any] = row.value["content"]
    (existing,) = target.read([place])
    gone = target.put(row.namespace, row.key, None)
    if existing is None:
        target.write([gone])
        return ""
    shape = named(content["layout"])
    if shape is None or shape.hash_of(existing) != content["hash"]:
        return "left"
    before = content.get("replaced")
    if not target.swap(*place, existing, before, also=[gone]):
        return "left"
    return "removed" if before is None else "restored"


def _class_of(decision: Decision) -> str:
    if decision is Decision.COPY:
        return "missing"
    if decision is Decision.ALREADY:
        return "equal"
    return "changed" if decision is Decision.SUPERSEDED else "different"


def _chunks(rows: Sequence[ShapedRow]) -> Iterable[list[ShapedRow]]:
    """Some rows at once, of which no two have one place."""
    chunk: dict[Pair, ShapedRow] = {}
    for row in rows:
        place = (row.namespace, row.key)
        if place in chunk or len(chunk) >= _CHUNK:
            yield list(chunk.values())
            chunk = {}
        chunk[place] = row
    if chunk:
        yield list(chunk.values())


def _storable(text: str) -> str:
    return text.replace("\x00", "\\x00").encode("utf-8", "backslashreplace").decode()
