"""What a scope's reads do: live records only, exactly its own, old data adopted."""

from __future__ import annotations

import itertools
import math
import weakref
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from langgraph.store.base import PutOp, SearchOp

from holdover.compat import events, journal, marks, records, tombstones
from holdover.compat.records import KINDS, Record
from holdover.compat.scope import INTERNAL_ROOT, Scope, encode_key
from holdover.compat.stores.backend import (
    Call,
    Count,
    DirectReads,
    Page,
    Read,
    Replace,
    Search,
    Steps,
    Write,
)
from holdover.compat.stores.choosing import backend_for

if TYPE_CHECKING:
    from collections.abc import Callable

    from langgraph.store.base import BaseStore

    Redactor = Callable[[str, dict[str, Any]], dict[str, Any]]

LABELS = (INTERNAL_ROOT, "labels")
PAGE = 500
_next_number = itertools.count()
_numbers: weakref.WeakKeyDictionary[BaseStore, int] = weakref.WeakKeyDictionary()


class OldValue(NamedTuple):
    """What an old place holds, where it ends there; what is left of its life."""

    text: str
    lifetime: timedelta | None = None


class LegacyPlace(Protocol):
    """Where a classic class kept its data; it is only read."""

    def found(self) -> bool:
        """Whether the old place exists."""
        ...

    def read(self, name: str) -> str | OldValue | None:
        """The old value of a name, or `None`."""
        ...

    def locator(self, name: str) -> str:
        """Where that value is, as `meta.source.locator` says it."""
        ...


class SharedLegacyPlace(LegacyPlace, Protocol):
    """An old place that cannot tell whether it holds anything of one session.

    A mark for every name that is ever set would outlive all of them, so only the
    names it holds are marked.
    """

    def holds(self, names: Sequence[str]) -> set[str]:
        """Which of these names it has."""
        ...


class Reading:
    """The state of a repository, and the operations that read."""

    def __init__(
        self,
        store: BaseStore,
        scope: Scope | tuple[str, ...] | str,
        *,
        history: journal.History = journal.DEFAULT_HISTORY,
        redact: Redactor | None = None,
        legacy: LegacyPlace | None = None,
        unsafe: bool = False,
    ) -> None:
        self.scope = Scope.of(scope)
        self._labels = self.scope.encoded()
        self._backend = backend_for(store, unsafe=unsafe)
        self._direct = self._backend if isinstance(self._backend, DirectReads) else None
        self._bound = journal.Bound.of(history)
        self._redact = redact
        self._legacy = legacy
        self._labelled = not self.scope.cut_labels()
        self._prefixes = {name: ".".join(self.namespace(name)) for name in KINDS}

    @property
    def store(self) -> BaseStore:
        """The store itself."""
        return self._backend.store

    @property
    def identity(self) -> tuple[int, Scope]:
        """The same for all that work on these records in this process.

        Of the store, it is a number that no other store gets, as an `id` may be.
        """
        return _numbers.setdefault(self.store, next(_next_number)), self.scope

    def namespace(self, kind: str) -> tuple[str, ...]:
        """The namespace of one kind, as `store.search` takes it."""
        return (*self._labels, KINDS[kind].label)

    def _emit(self, name: str, count: int = 1) -> None:
        if count:
            events.emit(name, self.scope[0], count)

    def _old_place(self) -> LegacyPlace | None:
        place = self._legacy
        return place if place is not None and place.found() else None

    def _mark_pairs(self, kind: str, key: str) -> list[tuple[tuple[str, ...], str]]:
        label = KINDS[kind].label
        deleted = marks.deleted_namespace(self._labels, label)
        return [
            (marks.touched_namespace(self._labels, label), key),
            (deleted, key),
            (deleted, marks.SESSION),
        ]

    def _live(self, kind: str, key: str, value: Any, moment: str) -> Record | None:
        """Read a value as a record, unless it expired or is not one."""
        if value is None:
            return None
        record = records.read(kind, key, value)
        if record is None:
            self._emit("foreign_item")
            return None
        if record.expired(moment):
            self._emit("expired")
            return None
        return record

    def _get(
        self, kind: str, name: str, recall: timedelta | None
    ) -> Steps[Record | None]:
        key = encode_key(name)
        moment = records.timestamp(records.now())
        place = self._old_place()
        head = (self.namespace(kind), key)
        if place is None:
            (value,) = yield Read([head])
            record = self._live(kind, key, value, moment)
        else:
            # Made before the marks are read: a deletion noted later overtakes it.
            revision = records.new_revision()
            value, touched, deleted, cleared = yield Read(
                [head, *self._mark_pairs(kind, key)]
            )
            record = self._live(kind, key, value, moment)
            if (
                record
                and _imported(record)
                and any(
                    note and marks.overtakes(note, record.revision)
                    for note in (deleted, cleared)
                )
            ):
                record = None
            elif value is None and not (touched or deleted or cleared):
                record = yield from self._adopt(kind, name, key, revision, place)
        if record and recall is not None and not record.foreign:
            yield from self._extend(record, recall)
        return record

    def _get_at_once(self, kind: str, name: str) -> Record | None:
        """A head that is there and needs no second look, where one read is direct.

        Most reads end here; a miss, and what came from an old place, do not.
        """
        if self._direct is None:
            return None
        key = encode_key(name)
        try:
            value = self._direct.value(self._prefixes[kind], key)
        except Exception:  # noqa: BLE001 - the long way repeats it, or says what it means
            return None
        if value is None:
            return None
        record = records.read(kind, key, value)
        if record is None or "expires_at" in record.meta:
            return None
        if self._legacy is not None and _imported(record):
            return None
        return record

    def _adopt(
        self, kind: str, name: str, key: str, revision: str, place: LegacyPlace
    ) -> Steps[Record | None]:
        """Take a name over from the old place, once."""
        old = yield Call(lambda: place.read(name))
        text, left = old if isinstance(old, OldValue) else (old, None)
        if not text:
            return None
        content: dict[str, Any] = {"name": name, KINDS[kind].text: text}
        if self._redact:
            content = self._redact(kind, content)
            if not content.get(KINDS[kind].text):
                return None
        if (yield from tombstones.any_there()):
            keyring = yield from tombstones.read_keyring()
            if (yield from tombstones.stopped(keyring, self._labels, kind, [content]))[
                0
            ]:
                self._emit("tombstoned")
                return None
        moment = records.now()
        at = records.timestamp(moment)
        meta: dict[str, Any] = {
            "revision": revision,
            "status": "imported",
            "recorded_at": at,
            "source": {"kind": "adoption", "locator": place.locator(name)},
        }
        if left is not None:
            meta["expires_at"] = records.timestamp(moment + left)
        value = records.build(kind, content, meta)
        touched = marks.touched_namespace(self._labels, KINDS[kind].label)
        put = self._backend.put_op
        note = marks.mark("adopted", revision=revision, at=at)
        index = list(KINDS[kind].index)
        if encode_key(records.key_of(kind, content)) != key:
            # The redactor keeps this name out of the store.
            return records.read(kind, key, value)
        head = (self.namespace(kind), key)
        adopted = put(*head, value, index, minutes(left))
        yield from self._write([[put(touched, key, note), adopted]])
        # A deletion noted before the head was written did not see it.
        now_there, _, *noted = yield Read([head, *self._mark_pairs(kind, key)])
        if any(noted):
            if records.revision_of(now_there, kind) == revision:
                yield Write([[put(*head, None)]])
            return None
        self._emit("adopted")
        return records.read(kind, key, value)

    def _extend(self, record: Record, lifetime: timedelta) -> Steps[None]:
        """Put the same revision with an end of its own, unless it was replaced."""
        expires_at = records.timestamp(records.now() + lifetime)
        value = dict(record.value)
        value["meta"] = {**record.meta, "expires_at": expires_at}
        put = self._backend.put_op(
            self.namespace(record.kind),
            record.key,
            value,
            list(KINDS[record.kind].index),
            minutes(lifetime),
        )
        if not (yield Replace(put, record.value)):
            return
        ending = yield from self._ending(record.kind, record.key, record.meta, lifetime)
        if ending:
            yield Write([ending])

    def _ending(
        self,
        kind: str,
        key: str,
        meta: Mapping[str, Any],
        lifetime: timedelta | None,
    ) -> Steps[list[PutOp]]:
        """Puts that let the journal of an item end with it, where it had no end."""
        if lifetime is None or "expires_at" in meta or self._bound.off:
            return []
        into = journal.namespace(self._labels, KINDS[kind].label, key)
        expires_at = records.timestamp(records.now() + lifetime)
        puts: list[PutOp] = []
        after = None
        while entries := (yield Page(into, after, PAGE)):
            for after, value in entries:
                kept = dict(value)
                kept["meta"] = {**value.get("meta", {}), "expires_at": expires_at}
                puts.append(
                    self._backend.put_op(into, after, kept, ttl=minutes(lifetime))
                )
        return puts

    def _get_many(self, kind: str, names: Sequence[str]) -> Steps[list[Record | None]]:
        if self._old_place() is not None:
            each: list[Record | None] = []
            for name in names:
                record = yield from self._get(kind, name, None)
                each.append(record)
            return each
        keys = [encode_key(name) for name in names]
        namespace = self.namespace(kind)
        values = yield Read([(namespace, key) for key in keys])
        moment = records.timestamp(records.now())
        return [
            self._live(kind, key, value, moment)
            for key, value in zip(keys, values, strict=True)
        ]

    def _exists(self, kind: str, name: str) -> Steps[bool]:
        return (yield from self._get(kind, name, None)) is not None

    def _page(
        self, kind: str, after: str | None, limit: int, *, reverse: bool
    ) -> Steps[list[Record]]:
        found: list[Record] = []
        moment = records.timestamp(records.now())
        while len(found) < limit:
            wanted = limit - len(found)
            entries = yield Page(self.namespace(kind), after, wanted, reverse)
            for key, value in entries:
                record = self._live(kind, key, value, moment)
                if record:
                    found.append(record)
            if len(entries) < wanted:
                break
            after = entries[-1][0]
        return found

    def _count(self, kind: str) -> Steps[int]:
        number: int = yield Count(self.namespace(kind))
        return number

    def _search(
        self, kind: str, query: str | None, limit: int, where: dict[str, Any] | None
    ) -> Steps[list[tuple[Record, float | None]]]:
        namespace = self.namespace(kind)
        wanted = limit
        while True:
            op = SearchOp(
                namespace, where, limit=wanted, query=query, refresh_ttl=False
            )
            items = yield Search(op)
            moment = records.timestamp(records.now())
            found = []
            for item in items:
                # A store may answer with siblings and descendants.
                if tuple(item.namespace) != namespace:
                    continue
                record = self._live(kind, item.key, item.value, moment)
                if record:
                    found.append((record, item.score))
            if len(found) >= limit or len(items) < wanted:
                return found[:limit]
            wanted *= 4

    def _write(self, groups: list[list[PutOp]]) -> Steps[None]:
        """Write; the first time, with the whole of every label that was shortened."""
        if not self._labelled:
            meta = {"recorded_at": records.timestamp(records.now())}
            labels = [
                self._backend.put_op(
                    LABELS, encoded, records.build("label", {"label": raw}, meta)
                )
                for encoded, raw in self.scope.cut_labels().items()
            ]
            groups = [labels, *groups]
        yield Write(groups)
        self._labelled = True


def minutes(lifetime: timedelta | None) -> float | None:
    """A lifetime as every store keeps it: whole minutes, rounded up."""
    if lifetime is None:
        return None
    return float(max(1, math.ceil(lifetime.total_seconds() / 60)))


def _imported(record: Record) -> bool:
    return record.meta.get("status") == "imported"
