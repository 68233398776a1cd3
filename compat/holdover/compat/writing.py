"""What a scope's writes do: nothing is lost, nothing empty or unchanged is written."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal, cast

from langgraph.store.base import PutOp

from holdover.compat import journal, marks, records, tombstones
from holdover.compat.notices import log_once
from holdover.compat.reading import Reading, minutes
from holdover.compat.records import KINDS
from holdover.compat.scope import encode_key
from holdover.compat.stores.backend import Call, Older, Page, Pair, Read, Steps

if TYPE_CHECKING:
    from holdover.compat.reading import SharedLegacyPlace

Outcome = Literal["written", "unchanged", "extended", "empty", "tombstoned"]
Origin = Literal["chain", "migration", "adoption", "human", "agent"]

# Records of these origins are already in the journal under their own revision.
_SELF_JOURNALED = frozenset({"chain", "human", "agent"})
VERIFIED = "verified"
_TRIM_ONE_IN = 16
_TRIM_AT_MOST = 10_000


@dataclass(frozen=True, slots=True)
class _Write:
    """What the records of one call have in common."""

    kind: str
    at: str
    meta: Mapping[str, Any]
    ttl: timedelta | None
    careful: bool


@dataclass(frozen=True, slots=True)
class _Next:
    """What becomes of one content: its puts, and the value that is then there."""

    outcome: Outcome
    puts: list[PutOp]
    value: Any


class Writing(Reading):
    """The operations that put records."""

    def _put_many(
        self,
        kind: str,
        contents: Sequence[Mapping[str, Any]],
        *,
        keys: Sequence[str] | None = None,
        origin: Origin = "chain",
        source: Mapping[str, Any] | None = None,
        status: str = "inferred",
        ttl: timedelta | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> Steps[list[Outcome]]:
        given: list[dict[str, Any]] = [dict(content) for content in contents]
        if self._redact:
            given = [self._redact(kind, content) for content in given]
        outcomes: list[Outcome] = [
            "empty" if _empty(content.get(KINDS[kind].text)) else "written"
            for content in given
        ]
        self._emit("empty_ignored", outcomes.count("empty"))
        if "written" not in outcomes:
            return outcomes
        names = keys or [records.key_of(kind, content) for content in given]
        item_keys = [encode_key(name) for name in names]

        heads, noted, buried = yield from self._before_writing(kind, names, item_keys)
        if buried:
            keyring = yield from tombstones.read_keyring()
            stopped = yield from tombstones.stopped(keyring, self._labels, kind, given)
            outcomes = [
                "tombstoned" if stop and outcome == "written" else outcome
                for stop, outcome in zip(stopped, outcomes, strict=True)
            ]
            if stopped_now := outcomes.count("tombstoned"):
                self._emit("tombstoned", stopped_now)
                log_once(
                    "What was forgotten below %s is not kept again: a record was left "
                    "out. A whole scope that was forgotten stays closed.",
                    self.scope[0],
                )

        # The moment is taken after the reads, so that it follows what they found.
        moment = records.now()
        at = records.timestamp(moment)
        common = records.without_empty(
            {"status": status, "recorded_at": at, **(meta or {})}
        )
        if ttl is not None:
            common["expires_at"] = records.timestamp(moment + ttl)
        common["source"] = records.without_empty({"kind": origin, **(source or {})})
        write = _Write(kind, at, common, ttl, not records.portable(common))
        groups: list[list[PutOp]] = []
        for position, key in enumerate(item_keys):
            if outcomes[position] != "written":
                continue
            head = heads[key]
            following = self._successor(write, key, given[position], head)
            outcomes[position] = following.outcome
            if not following.puts:
                continue
            group = list(following.puts)
            if key not in noted:
                noted.add(key)
                group.insert(0, self._touched_put(kind, key, "set", following.value))
            if head is not None:
                if records.is_record(head, kind):
                    before = head.get("meta", {})
                    group[:0] = yield from self._ending(kind, key, before, ttl)
                adds = len(following.puts) - 1
                group[:0] = yield from self._trimmed(kind, key, adds)
            groups.append(group)
            # A second content for the same key in this call follows the first.
            heads[key] = following.value
        self._emit("unchanged", outcomes.count("unchanged"))
        if groups:
            yield from self._write(groups)
        return outcomes

    def _before_writing(
        self, kind: str, names: Sequence[str], keys: Sequence[str]
    ) -> Steps[tuple[dict[str, Any], set[str], bool]]:
        """The heads, the keys that need no mark, and whether any tombstone exists."""
        namespace = self.namespace(kind)
        pairs: list[Pair] = [(tombstones.NAMESPACE, tombstones.ANY)]
        pairs += [(namespace, key) for key in keys]
        place = self._old_place()
        if place is not None:
            touched = marks.touched_namespace(self._labels, KINDS[kind].label)
            pairs += [(touched, key) for key in keys]
        buried, *values = yield Read(pairs)
        heads = dict(zip(keys, values, strict=False))
        noted = set(keys)
        if place is not None:
            marked = zip(keys, values[len(keys) :], strict=True)
            noted = {key for key, mark in marked if mark is not None}
        # Asked by name: `isinstance` of a protocol takes as long as a read.
        if hasattr(place, "holds"):
            shared = cast("SharedLegacyPlace", place)
            of = {
                key: n for key, n in zip(keys, names, strict=True) if key not in noted
            }
            held = yield Call(lambda: shared.holds(list(of.values())))
            noted |= {key for key, name in of.items() if name not in held}
        return heads, noted, buried is not None

    def _touched_put(self, kind: str, key: str, what: str, value: Any) -> PutOp:
        revision = records.revision_of(value, kind) or records.new_revision()
        at = records.timestamp(records.now())
        note = marks.mark(what, revision=revision, at=at)
        into = marks.touched_namespace(self._labels, KINDS[kind].label)
        return self._backend.put_op(into, key, note)

    def _head_put(self, write: _Write, key: str, value: Any) -> PutOp:
        kind = KINDS[write.kind]
        lifetime = minutes(write.ttl)
        put = self._backend.put_op
        return put((*self._labels, kind.label), key, value, list(kind.index), lifetime)

    def _successor(
        self, write: _Write, key: str, content: dict[str, Any], head: Any
    ) -> _Next:
        """What makes `content` the next head of `key`."""
        kind = KINDS[write.kind]
        ours = records.is_record(head, write.kind)
        # Made first: in the journal, what is replaced stands before what replaces it.
        replaced = records.new_revision()
        meta: dict[str, Any] = {"revision": records.new_revision()}
        extra: dict[str, Any] = {}
        careful = write.careful
        source = write.meta["source"]
        if ours:
            source = _with_origin(source, head)
            known = kind.fields | content.keys()
            extra, inner, outer = records.unknown_fields(head, known)
            content = {**inner, **content}
            meta |= outer
            careful = careful or "escaped" in head.get("meta", {})
            if parent := records.revision_of(head, write.kind):
                meta["parent"] = replaced = parent
        built = records.build(
            write.kind,
            content,
            {**meta, **write.meta, "source": source},
            careful=careful,
        )
        value = {**extra, **built}
        if (
            ours
            and not records.is_expired(head.get("meta", {}), write.at)
            and records.has_content(head, value["meta"]["hash"])
            and not _confirms(write.meta, head.get("meta", {}))
        ):
            return self._unchanged(write, key, head)
        head_put = self._head_put(write, key, value)
        if self._bound.off or (head is None and kind.append_only):
            return _Next("written", [head_put], value)
        into = journal.namespace(self._labels, kind.label, key)
        put, lifetime = self._backend.put_op, minutes(write.ttl)
        puts = [put(into, value["meta"]["revision"], value, ttl=lifetime)]
        # Of a bound of one, the new revision is the one.
        bounded = self._bound.keep == 1
        if head is not None and not bounded and not self_journaled(head, write.kind):
            entry = self._superseded(head, write.kind, write.at)
            puts.append(put(into, replaced, entry, ttl=lifetime))
        return _Next("written", [*puts, head_put], value)

    def _unchanged(self, write: _Write, key: str, head: Any) -> _Next:
        """Nothing to write, unless the lifetime begins anew."""
        meta = dict(head.get("meta", {}))
        if write.ttl is None and "expires_at" not in meta:
            return _Next("unchanged", [], head)
        meta.pop("expires_at", None)
        if write.ttl is not None:
            meta["expires_at"] = write.meta["expires_at"]
        value = {**head, "meta": meta}
        return _Next("extended", [self._head_put(write, key, value)], value)

    def _superseded(self, head: Any, kind: str, at: str) -> Mapping[str, Any]:
        """A head that is in no journal yet, as an entry."""
        if records.revision_of(head, kind):
            entry: Mapping[str, Any] = head
            return entry
        self._emit("foreign_item")
        return journal.raw(head, at=at)

    def _trimmed(self, kind: str, key: str, adds: int) -> Steps[list[PutOp]]:
        """Deletes of what the journal's bound no longer keeps once `adds` are there."""
        # Where it means reading a whole journal, it is not done at every write.
        if not adds or (
            not self._backend.keyed and random.randrange(_TRIM_ONE_IN)  # noqa: S311 - no secret
        ):
            return []
        into = journal.namespace(self._labels, KINDS[kind].label, key)
        oldest = self._bound.oldest(records.now())
        if self._bound.keep is not None:
            old = yield Older(into, max(0, self._bound.keep - adds))
        elif oldest is not None:
            entries = yield Page(into, oldest, _TRIM_AT_MOST, reverse=True)
            old = [name for name, _ in entries]
        else:
            return []
        self._emit("trimmed", len(old))
        return [self._backend.put_op(into, name, None) for name in old]


def _confirms(meta: Mapping[str, Any], before: Mapping[str, Any]) -> bool:
    """Whether a person vouches for what nobody had vouched for."""
    return meta.get("status") == VERIFIED != before.get("status")


def _with_origin(source: dict[str, Any], head: Any) -> dict[str, Any]:
    """Carry on where the first of these revisions came from.

    The journal is bounded; a migration that is run again must still see that what
    stands here descends from its record.
    """
    before = head.get("meta", {}).get("source")
    origin = before.get("locator") if isinstance(before, Mapping) else None
    return {"locator": origin, **source} if isinstance(origin, str) else source


def _empty(text: Any) -> bool:
    return text is None or (isinstance(text, str) and not text.strip())


def self_journaled(head: Any, kind: str) -> bool:
    """Whether a head was journaled when it was written, as chain writes are.

    The first of an append-only kind was not. One with an end is not relied on: a recall
    may have let it outlive its entry.
    """
    if not records.is_record(head, kind) or "expires_at" in head.get("meta", {}):
        return False
    if KINDS[kind].append_only and "parent" not in head.get("meta", {}):
        return False
    source = head.get("meta", {}).get("source")
    return isinstance(source, Mapping) and source.get("kind") in _SELF_JOURNALED
