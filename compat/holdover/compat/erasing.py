"""Deleting, which can be undone, and forgetting, which cannot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langgraph.store.base import PutOp

from holdover.compat import journal, marks, records, tombstones
from holdover.compat.errors import Forgotten, RevisionNotFound
from holdover.compat.reading import LABELS, PAGE
from holdover.compat.records import KINDS, Record
from holdover.compat.scope import encode_key
from holdover.compat.stores.backend import Page, Read, Steps, Write
from holdover.compat.writing import Writing, self_journaled


@dataclass(frozen=True, slots=True)
class ForgetReport:
    """What `forget` erased: items, journal entries, and whether a scope is closed."""

    items: int
    revisions: int
    whole_scope: bool


class Erasing(Writing):
    """The operations that remove records, and the history that brings them back."""

    def _delete(self, kind: str, names: Sequence[str]) -> Steps[int]:
        keys = [encode_key(name) for name in names]
        values = yield Read([(self.namespace(kind), key) for key in keys])
        place = self._old_place()
        moment = records.timestamp(records.now())
        gone = 0
        groups = []
        for name, key, value in zip(names, keys, values, strict=True):
            live = value is not None and self._live(kind, key, value, moment)
            gone += bool(live)
            if value is None and place is None and not KINDS[kind].append_only:
                # Nothing was ever here, but old data may still be moved here.
                groups.append([self._deleted_mark(kind, key, moment)])
                continue
            groups.append(self._deletion(kind, name, key, value, moment))
        groups[0][:0] = self._label_puts()
        yield Write(groups)
        self._emit("deleted", gone)
        return gone

    def _deleted_mark(self, kind: str, key: str, moment: str) -> PutOp:
        note = marks.mark("deleted", revision=records.new_revision(), at=moment)
        into = marks.deleted_namespace(self._labels, KINDS[kind].label)
        return self._backend.put_op(into, key, note)

    def _deletion(
        self, kind: str, name: str, key: str, head: Any, moment: str
    ) -> list[PutOp]:
        put = self._backend.put_op
        group = [self._deleted_mark(kind, key, moment)]
        if head is None:
            return group
        if not self._bound.off:
            into = journal.namespace(self._labels, KINDS[kind].label, key)
            ours = records.is_record(head, kind)
            parent = head.get("meta", {}).get("revision") if ours else None
            if not self_journaled(head, kind):
                entry = self._superseded(head, kind, moment)
                group.append(put(into, parent or records.new_revision(), entry))
            revision = records.new_revision()
            content = head["content"] if ours and kind == "entity" else {"name": name}
            event = journal.deletion(
                {"name": content.get("name", name)},
                revision=revision,
                parent=parent,
                at=moment,
            )
            if ours and "escaped" in head.get("meta", {}):
                event["content"] = {}
            group.append(put(into, revision, event))
        group.append(put(self.namespace(kind), key, None))
        return group

    def _clear(self, kind: str) -> Steps[int]:
        moment = records.timestamp(records.now())
        label = KINDS[kind].label
        note = marks.mark("cleared", revision=records.new_revision(), at=moment)
        into = marks.deleted_namespace(self._labels, label)
        mark = self._backend.put_op(into, marks.SESSION, note)
        yield Write([[*self._label_puts(), mark]])
        gone = 0
        after = None
        while True:
            entries = yield Page(self.namespace(kind), after, PAGE)
            if not entries:
                break
            yield Write(
                [
                    self._deletion(kind, key, key, value, moment)
                    for key, value in entries
                ]
            )
            gone += len(entries)
            after = entries[-1][0]
        self._emit("deleted", gone)
        return gone

    def _entries(self, kind: str, key: str) -> Steps[list[tuple[str, Any]]]:
        """The journal of an item key, newest first, no more than the bound keeps."""
        into = journal.namespace(self._labels, KINDS[kind].label, key)
        limit = self._bound.keep
        found: list[tuple[str, Any]] = []
        after = None
        while limit is None or len(found) < limit:
            wanted = PAGE if limit is None else min(PAGE, limit - len(found))
            entries = yield Page(into, after, wanted, reverse=True)
            found += entries
            if len(entries) < wanted:
                break
            after = entries[-1][0]
        return found

    def _history(self, kind: str, name: str) -> Steps[list[Record]]:
        key = encode_key(name)
        (head,) = yield Read([(self.namespace(kind), key)])
        entries = yield from self._entries(kind, key)
        moment = records.timestamp(records.now())
        states = dict(entries)
        if head is not None:
            revision = (
                head.get("meta", {}).get("revision")
                if records.is_record(head, kind)
                else None
            )
            states.setdefault(revision or "~head", head)
        found = []
        for _, value in sorted(states.items(), reverse=True):
            kept = value
            if isinstance(value, Mapping) and value.get("kind") == journal.RAW:
                kept = value["content"]["value"]
            if isinstance(value, Mapping) and value.get("kind") == journal.DELETION:
                continue
            record = self._live(kind, key, kept, moment)
            if record:
                found.append(record)
        return found

    def _restore(self, kind: str, name: str, revision: str | None) -> Steps[Record]:
        key = encode_key(name)
        (head,) = yield Read([(self.namespace(kind), key)])
        states = yield from self._history(kind, name)
        if revision is None and head is not None:
            current = head.get("meta", {}).get("revision")
            states = [s for s in states if s.revision != current and s.value != head]
        elif revision is not None:
            states = [s for s in states if s.revision == revision]
        if not states:
            raise RevisionNotFound(
                f"The journal of this {kind} holds no "
                f"{'such revision' if revision else 'earlier state'}.",
                hint="history() lists what it holds.",
            )
        chosen = states[0]
        content = dict(chosen.content)
        if chosen.foreign:
            content = {"name": name, KINDS[kind].text: chosen.text}
        (outcome,) = yield from self._put_many(
            kind,
            [content],
            keys=[name],
            origin="human",
            status=chosen.meta.get("status", "inferred"),
        )
        if outcome == "tombstoned":
            raise Forgotten(f"This {kind} was forgotten and cannot be restored.")
        record = yield from self._get(kind, name, None)
        if record is None:
            raise RevisionNotFound("The restored state was deleted again meanwhile.")
        return record

    def _forget(self, kind: str | None, name: str | None) -> Steps[ForgetReport]:
        keyring = yield from tombstones.make_keyring(self._backend.put_op)
        at = records.timestamp(records.now())
        whole = kind is None
        digests: list[str] = []
        items = revisions = 0
        if whole:
            digests += keyring.of_scope(self._labels)
        elif name is not None:
            digests += keyring.of_name(self._labels, kind or "", name)
        # The tombstones first: a kill in between leaves nothing that can come back.
        yield Write([self._tombstones(digests, at)])
        for one in KINDS if whole else [kind or ""]:
            keys = None if name is None else [encode_key(name)]
            erased = yield from self._erase(one, keys, keyring, at)
            items += erased[0]
            revisions += erased[1]
        if whole:
            cut = self.scope.cut_labels()
            put = self._backend.put_op
            if cut:
                yield Write([[put(LABELS, encoded, None) for encoded in cut]])
        self._emit("forgotten", items)
        return ForgetReport(items, revisions, whole)

    def _tombstones(self, digests: Sequence[str], at: str) -> list[PutOp]:
        put = self._backend.put_op
        value = tombstones.tombstone(at)
        names = dict.fromkeys((tombstones.ANY, *digests))
        return [put(tombstones.NAMESPACE, digest, value) for digest in names]

    def _erase(
        self,
        kind: str,
        keys: list[str] | None,
        keyring: tombstones.Keyring,
        at: str,
    ) -> Steps[tuple[int, int]]:
        """Remove items with their journal and marks; note what their values were."""
        put = self._backend.put_op
        namespace = self.namespace(kind)
        label = KINDS[kind].label
        items = revisions = 0
        wanted = keys if keys is not None else (yield from self._known_keys(kind))
        for key in wanted:
            (head,) = yield Read([(namespace, key)])
            into = journal.namespace(self._labels, label, key)
            entries: list[tuple[str, Any]] = []
            while page := (yield Page(into, entries[-1][0] if entries else None, PAGE)):
                entries += page
            values = [value for _, value in entries]
            values += [head] if head is not None else []
            digests = []
            for value in values:
                kept = value
                if isinstance(value, Mapping) and value.get("kind") == journal.RAW:
                    kept = value["content"]["value"]
                record = records.read(kind, key, kept)
                if record:
                    digests += keyring.of_record(self._labels, record)
            group = self._tombstones(digests, at)
            group += [put(into, revision, None) for revision, _ in entries]
            group += [
                put(where, mark, None)
                for where, mark in self._mark_pairs(kind, key)
                if mark != marks.SESSION
            ]
            if head is not None:
                group.append(put(namespace, key, None))
                items += 1
            revisions += len(entries)
            yield Write([group[at : at + PAGE] for at in range(0, len(group), PAGE)])
        return items, revisions

    def _known_keys(self, kind: str) -> Steps[list[str]]:
        """Item keys with a head, a mark or a journal: deleted ones have no head."""
        label = KINDS[kind].label
        found: dict[str, None] = {}
        for namespace in (
            self.namespace(kind),
            marks.touched_namespace(self._labels, label),
            marks.deleted_namespace(self._labels, label),
        ):
            after = None
            while entries := (yield Page(namespace, after, PAGE)):
                found |= dict.fromkeys(key for key, _ in entries)
                after = entries[-1][0]
        found.pop(marks.SESSION, None)
        return list(found)
