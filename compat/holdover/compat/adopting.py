"""Taking over the whole of an old place at once, and letting records end together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from holdover.compat import marks, records, tombstones
from holdover.compat.reading import PAGE, minutes
from holdover.compat.records import KINDS
from holdover.compat.review import Reviewing
from holdover.compat.scope import encode_key
from holdover.compat.stores.backend import Page, Read, Steps, Write

if TYPE_CHECKING:
    from langgraph.store.base import PutOp


@dataclass(frozen=True, slots=True)
class OldItem:
    """One item of an old place: its raw key here, its content, where it was."""

    key: str
    content: Mapping[str, Any]
    locator: str


@dataclass(frozen=True, slots=True)
class OldItems:
    """All that an old place holds of a session.

    Attributes:
        items: What could be read, in order.
        unreadable: How many could not.
        lifetime: What is left of the life of them all.
    """

    items: Sequence[OldItem] = field(default_factory=tuple)
    unreadable: int = 0
    lifetime: timedelta | None = None


class Adopting(Reviewing):
    """The operations on all records of a kind that came from, or go, together."""

    def _unadopted(self, kind: str) -> Steps[bool]:
        """Whether the old place was neither adopted nor cleared so far."""
        label = KINDS[kind].label
        spaces = (
            marks.touched_namespace(self._labels, label),
            marks.deleted_namespace(self._labels, label),
        )
        noted = yield Read([(space, marks.SESSION) for space in spaces])
        return not any(note is not None for note in noted)

    def _adopt_all(self, kind: str, old: OldItems) -> Steps[int]:
        """Take over what is not here and was not deleted, then leave the mark.

        The keys are the same in every run: whoever comes second, or after one that was
        killed, writes what is missing.
        """
        items = yield from self._adoptable(kind, old.items)
        revision = records.new_revision()
        adopted = 0
        for start in range(0, len(items), PAGE):
            chunk = items[start : start + PAGE]
            written = yield from self._adopt_some(kind, chunk, revision, old.lifetime)
            if written is None:
                self._emit("adopted", adopted)
                return adopted
            adopted += written
        at = records.timestamp(records.now())
        touched = marks.touched_namespace(self._labels, KINDS[kind].label)
        note = marks.mark("adopted", revision=revision, at=at)
        yield from self._write([[self._backend.put_op(touched, marks.SESSION, note)]])
        self._emit("adopted", adopted)
        return adopted

    def _adoptable(self, kind: str, items: Sequence[OldItem]) -> Steps[list[OldItem]]:
        """What redactor and tombstones let through."""
        if self._redact:
            redact, text = self._redact, KINDS[kind].text
            contents = [redact(kind, dict(item.content)) for item in items]
            items = [
                OldItem(item.key, content, item.locator)
                for item, content in zip(items, contents, strict=True)
                if content.get(text)
            ]
        if not (yield from tombstones.any_there()):
            return list(items)
        keyring = yield from tombstones.read_keyring()
        contents = [dict(item.content) for item in items]
        stopped = yield from tombstones.stopped(keyring, self._labels, kind, contents)
        self._emit("tombstoned", sum(stopped))
        return [item for item, stop in zip(items, stopped, strict=True) if not stop]

    def _adopt_some(
        self,
        kind: str,
        items: Sequence[OldItem],
        revision: str,
        lifetime: timedelta | None,
    ) -> Steps[int | None]:
        """Adopt some items; `None` where the session was cleared meanwhile."""
        namespace = self.namespace(kind)
        deleted = marks.deleted_namespace(self._labels, KINDS[kind].label)
        keys = [encode_key(item.key) for item in items]
        cleared, *values = yield Read(
            [
                (deleted, marks.SESSION),
                *((namespace, key) for key in keys),
                *((deleted, key) for key in keys),
            ]
        )
        if cleared is not None:
            return None
        heads, gone = values[: len(keys)], values[len(keys) :]
        fresh = {
            key: item
            for key, item, head, note in zip(keys, items, heads, gone, strict=True)
            if head is None and note is None
        }
        if not fresh:
            return 0
        put = self._backend.put_op
        yield from self._write(self._imported(kind, fresh, revision, lifetime))
        # A deletion noted before these were written did not see them.
        cleared, *gone = yield Read(
            [(deleted, marks.SESSION), *((deleted, key) for key in fresh)]
        )
        late = [
            key
            for key, note in zip(fresh, gone, strict=True)
            if cleared is not None or note is not None
        ]
        if late:
            yield Write([[put(namespace, key, None)] for key in late])
        return None if cleared is not None else len(fresh) - len(late)

    def _imported(
        self,
        kind: str,
        items: Mapping[str, OldItem],
        revision: str,
        lifetime: timedelta | None,
    ) -> list[list[PutOp]]:
        moment = records.now()
        meta: dict[str, Any] = {
            "revision": revision,
            "status": "imported",
            "recorded_at": records.timestamp(moment),
        }
        if lifetime is not None:
            meta["expires_at"] = records.timestamp(moment + lifetime)
        groups: list[list[PutOp]] = []
        for key, item in items.items():
            source = {"kind": "adoption", "locator": item.locator}
            content = dict(item.content)
            value = records.build(kind, content, {**meta, "source": source})
            head = (self.namespace(kind), key)
            index = list(KINDS[kind].index)
            op = self._backend.put_op(*head, value, index, minutes(lifetime))
            groups.append([op])
        return groups

    def _renew_all(
        self, kind: str, lifetime: timedelta, slack: timedelta
    ) -> Steps[int]:
        """Let every live record live `lifetime` from now, and at most `slack` longer.

        The first record tells whether any needs it: all are renewed together, and
        what is put later ends later.
        """
        moment = records.now()
        at, needed = records.timestamp(moment), records.timestamp(moment + lifetime)
        after, judged, renewed = None, False, 0
        while entries := (
            yield Page(self.namespace(kind), after, PAGE if judged else 1)
        ):
            for after, value in entries:
                record = self._live(kind, after, value, at)
                if record is None or record.foreign:
                    continue
                expires_at = record.meta.get("expires_at")
                if not isinstance(expires_at, str) or expires_at < needed:
                    yield from self._extend(record, lifetime + slack)
                    renewed += 1
                elif not judged:
                    return 0
                judged = True
        return renewed
