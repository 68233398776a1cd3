"""Deleting, which can be undone, and forgetting, which cannot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langgraph.store.base import PutOp

from holdover.compat import journal, marks, records, tombstones
from holdover.compat.errors import Forgotten, RevisionNotFound, UnportableValue
from holdover.compat.reading import LABELS, PAGE, minutes
from holdover.compat.records import KINDS, Record
from holdover.compat.scope import INTERNAL_ROOT, decode_label, encode_key, is_cut
from holdover.compat.stores.backend import Namespaces, Page, Read, Steps, Write
from holdover.compat.writing import Writing, self_journaled

REVIEW = "review"
# Sorts after every revision.
_AFTER_ALL = "~head"
# What a restored state does not take over from the revision it was.
_OF_ONE_REVISION = frozenset(
    {
        "v", "revision", "parent", "status", "recorded_at", "expires_at", "hash",
        "source", "escaped",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ForgetReport:
    """What `forget` erased: items, journal entries, and whether a scope is closed."""

    items: int
    revisions: int
    whole_scope: bool


def review_namespace(scope: tuple[str, ...], kind: str) -> tuple[str, ...]:
    """Where records of a kind wait for approval."""
    return (INTERNAL_ROOT, REVIEW, *scope, KINDS[kind].label)


class Erasing(Writing):
    """The operations that remove records, and the history that brings them back."""

    def _delete(self, kind: str, names: Sequence[str]) -> Steps[int]:
        keys = [encode_key(name) for name in names]
        values = yield Read([(self.namespace(kind), key) for key in keys])
        moment = records.timestamp(records.now())
        gone = 0
        groups: list[list[PutOp]] = []
        for name, key, value in zip(names, keys, values, strict=True):
            live = value is not None and self._live(kind, key, value, moment)
            gone += bool(live)
            deletion = yield from self._deletion(kind, name, key, value, moment)
            groups.append(deletion)
        yield from self._write(groups)
        self._emit("deleted", gone)
        return gone

    def _deleted_mark(self, kind: str, key: str, moment: str) -> PutOp:
        note = marks.mark("deleted", revision=records.new_revision(), at=moment)
        into = marks.deleted_namespace(self._labels, KINDS[kind].label)
        return self._backend.put_op(into, key, note)

    def _deletion(
        self, kind: str, name: str, key: str, head: Any, moment: str
    ) -> Steps[list[PutOp]]:
        """What deletes an item; also one that is written while we look."""
        put = self._backend.put_op
        gone = put(self.namespace(kind), key, None)
        group = [self._deleted_mark(kind, key, moment)]
        if head is None or self._bound.off:
            return [*group, gone]
        into = journal.namespace(self._labels, KINDS[kind].label, key)
        ours = records.is_record(head, kind)
        parent = records.revision_of(head, kind)
        # What is journaled ends when the item would have ended.
        lifetime = minutes(records.remaining(head.get("meta", {}) if ours else {}))
        if not self_journaled(head, kind):
            entry = self._superseded(head, kind, moment)
            revision = parent or records.new_revision()
            group.append(put(into, revision, entry, ttl=lifetime))
        revision = records.new_revision()
        event = journal.deletion(name, revision=revision, parent=parent, at=moment)
        group.append(put(into, revision, event, ttl=lifetime))
        group[:0] = yield from self._trimmed(kind, key, len(group) - 1)
        return [*group, gone]

    def _clear(self, kind: str) -> Steps[int]:
        moment = records.timestamp(records.now())
        label = KINDS[kind].label
        note = marks.mark("cleared", revision=records.new_revision(), at=moment)
        into = marks.deleted_namespace(self._labels, label)
        yield from self._write([[self._backend.put_op(into, marks.SESSION, note)]])
        gone = 0
        after = None
        while entries := (yield Page(self.namespace(kind), after, PAGE)):
            groups: list[list[PutOp]] = []
            for key, value in entries:
                record = records.read(kind, key, value)
                name = record.name if record else key
                deletion = yield from self._deletion(kind, name, key, value, moment)
                groups.append(deletion)
            yield Write(groups)
            gone += len(entries)
            after = entries[-1][0]
        self._emit("deleted", gone)
        return gone

    def _entries(self, kind: str, key: str) -> Steps[list[tuple[str, Any]]]:
        """The journal of an item key, newest first, no more than the bound keeps."""
        into = journal.namespace(self._labels, KINDS[kind].label, key)
        limit = self._bound.keep
        oldest = self._bound.oldest(records.now()) or ""
        found: list[tuple[str, Any]] = []
        after = None
        while limit is None or len(found) < limit:
            wanted = PAGE if limit is None else min(PAGE, limit - len(found))
            entries = yield Page(into, after, wanted, reverse=True)
            found += [entry for entry in entries if entry[0] >= oldest]
            if len(entries) < wanted or entries[-1][0] < oldest:
                break
            after = entries[-1][0]
        return found

    def _history(self, kind: str, name: str) -> Steps[list[Record]]:
        key = encode_key(name)
        (head,) = yield Read([(self.namespace(kind), key)])
        entries = yield from self._entries(kind, key)
        moment = records.timestamp(records.now())
        states = dict(entries)
        ended = False
        if head is not None:
            # Last, as a recall may have extended it since it was journaled.
            states[records.revision_of(head, kind) or _AFTER_ALL] = head
            current = records.read(kind, key, head)
            ended = current is not None and current.expired(moment)
        found = []
        for _, value in sorted(states.items(), reverse=True):
            state = _state(value)
            record = None if state is None else records.read(kind, key, state)
            # The journal ends with its item, be that earlier or later than it says.
            if record and not (ended or (head is None and record.expired(moment))):
                found.append(record)
        return found

    def _restore(self, kind: str, name: str, revision: str | None) -> Steps[Record]:
        key = encode_key(name)
        (head,) = yield Read([(self.namespace(kind), key)])
        states = yield from self._history(kind, name)
        if revision is not None:
            states = [s for s in states if s.revision == revision]
        elif head is not None:
            current = records.revision_of(head, kind)
            states = [
                s
                for s in states
                if s.value != head and (current is None or s.revision != current)
            ]
        if not states:
            yield from self._refuse_forgotten(kind, [{"name": name}])
            raise RevisionNotFound(
                f"The journal of this {kind} holds no "
                f"{'such revision' if revision else 'earlier state'}.",
                hint="history() lists what it holds.",
            )
        chosen = states[0]
        content = dict(chosen.content)
        if chosen.foreign:
            content = {"name": name, KINDS[kind].text: chosen.text}
        yield from self._refuse_forgotten(kind, [content])
        yield from self._put_many(
            kind,
            [content],
            keys=[name],
            origin="human",
            status=chosen.meta.get("status", "inferred"),
            ttl=records.remaining(chosen.meta),
            meta={n: v for n, v in chosen.meta.items() if n not in _OF_ONE_REVISION},
        )
        record = yield from self._get(kind, name, None)
        if record is None:
            raise RevisionNotFound("The restored state was deleted again meanwhile.")
        return record

    def _refuse_forgotten(
        self, kind: str, contents: Sequence[Mapping[str, Any]]
    ) -> Steps[None]:
        if not (yield from tombstones.any_there()):
            return
        keyring = yield from tombstones.read_keyring()
        if any((yield from tombstones.stopped(keyring, self._labels, kind, contents))):
            raise Forgotten(f"This {kind} was forgotten and cannot be restored.")

    def _forget(self, kind: str | None, name: str | None) -> Steps[ForgetReport]:
        whole = kind is None
        if whole and name is not None:
            raise ValueError("forget: a key needs its kind.")
        keyring = yield from tombstones.make_keyring(self._backend.put_op)
        at = records.timestamp(records.now())
        digests: list[str] = []
        if whole:
            digests = keyring.of_scope(self._labels)
        elif name is not None:
            digests = keyring.of_name(self._labels, kind or "", name)
        # The tombstones first: a kill in between leaves nothing that can come back.
        yield Write([self._tombstones(digests, at)])
        items = revisions = 0
        for one in KINDS if whole else [kind or ""]:
            if name is None:
                keys = yield from self._known_keys(one)
            else:
                keys = [encode_key(name)]
            for key in keys:
                erased = yield from self._erase(one, key, keyring, at)
                items += erased[0]
                revisions += erased[1]
            yield from self._erase_proposals(one, None if name is None else keys[0])
            if whole:
                cleared = marks.deleted_namespace(self._labels, KINDS[one].label)
                put = self._backend.put_op(cleared, marks.SESSION, None)
                yield Write([[put]])
        # Other scopes may share the labels before the last.
        last = self._labels[-1]
        if whole and is_cut(last):
            yield Write([[self._backend.put_op(LABELS, last, None)]])
        self._emit("forgotten", items)
        return ForgetReport(items, revisions, whole)

    def _tombstones(self, digests: Sequence[str], at: str) -> list[PutOp]:
        put = self._backend.put_op
        value = tombstones.tombstone(at)
        names = dict.fromkeys((tombstones.ANY, *digests))
        return [put(tombstones.NAMESPACE, digest, value) for digest in names]

    def _erase(
        self, kind: str, key: str, keyring: tombstones.Keyring, at: str
    ) -> Steps[tuple[int, int]]:
        """Remove an item with its journal and marks; note what its values were."""
        put = self._backend.put_op
        namespace = self.namespace(kind)
        (head,) = yield Read([(namespace, key)])
        into = journal.namespace(self._labels, KINDS[kind].label, key)
        entries: list[tuple[str, Any]] = []
        while page := (yield Page(into, entries[-1][0] if entries else None, PAGE)):
            entries += page
        digests: list[str] = []
        for value in (*(value for _, value in entries), head):
            state = _state(value)
            record = None if state is None else records.read(kind, key, state)
            if record:
                digests += keyring.of_record(self._labels, record)
        group = self._tombstones(digests, at)
        group += [put(into, revision, None) for revision, _ in entries]
        group += [
            put(where, mark, None)
            for where, mark in self._mark_pairs(kind, key)
            if mark != marks.SESSION
        ]
        group.append(put(namespace, key, None))
        yield Write([group])
        return int(head is not None), len(entries)

    def _erase_proposals(self, kind: str, key: str | None) -> Steps[None]:
        """Remove what waits for approval: of one item, or of all."""
        namespace = review_namespace(self._labels, kind)
        after = None
        while entries := (yield Page(namespace, after, PAGE)):
            gone = [
                self._backend.put_op(namespace, proposal, None)
                for proposal, value in entries
                if key is None or _key_of(kind, proposal, value) == key
            ]
            if gone:
                yield Write([gone])
            after = entries[-1][0]

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
        # Last, as whoever deleted only the head left no mark.
        known = {journal.namespace(self._labels, label, key) for key in found}
        above = journal.namespace(self._labels, label, "")[:-1]
        for namespace in (yield Namespaces(above)):
            if namespace in known or len(namespace) != len(above) + 1:
                continue
            if not is_cut(namespace[-1]):
                found[decode_label(namespace[-1])] = None
                continue
            for _, value in (yield Page(namespace, None, PAGE)):
                found[_key_of(kind, "", _state(value) or value)] = None
        return list(found)


def _state(value: Any) -> Any:
    """What a journal entry, or a head, says the item was; `None` for a deletion."""
    kind = value.get("kind") if isinstance(value, Mapping) else None
    if kind == journal.RAW:
        content = value.get("content")
        return content.get("value") if isinstance(content, Mapping) else value
    return None if kind == journal.DELETION else value


def _key_of(kind: str, key: str, value: Any) -> str:
    """The item key a stored value would have."""
    record = records.read(kind, key, value)
    try:
        return encode_key(records.key_of(kind, record.content if record else {}))
    except (KeyError, TypeError, UnportableValue):
        return key
