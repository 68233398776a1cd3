"""Work that waits in the store: done in order, by one at a time, also after a crash.

An item holds what has to be done. Whoever does it takes a lease on the oldest item of
the scope, which keeps everybody else from all of them, and renews it meanwhile: a
lease that ran out is one of somebody who is gone. The items of a scope may have to be
done again; that nothing happens twice then is up to what is done.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from holdover.compat import journal, records
from holdover.compat.entities.aliases import Aliasing
from holdover.compat.erasing import ForgetReport
from holdover.compat.reading import minutes
from holdover.compat.records import KINDS, new_revision, now, timestamp
from holdover.compat.scope import INTERNAL_ROOT, encode_key
from holdover.compat.stores.backend import (
    Page,
    Read,
    Replace,
    Steps,
    Value,
    Write,
    arun,
    run,
)

_KIND = "pending"
#: What was tried often enough, and waits for a person.
_ASIDE = "pending-aside"
#: So much is taken at once.
CLAIM_AT_MOST = 100
_ATTEMPTS = 4
_LEASE = "lease"


@dataclass(frozen=True, slots=True)
class Work:
    """One item.

    Attributes:
        key: A UUIDv7: its place in the order.
        content: What has to be done.
        claims: How often somebody began with it, this time included.
        attempts: How often it failed, as far as that was counted.
        tried_at: When that was counted last.
        value: The stored value.
    """

    key: str
    content: Mapping[str, Any]
    claims: int
    attempts: int
    tried_at: str | None
    value: Mapping[str, Any]


class Pending(Aliasing):
    """The operations on work that waits."""

    def enqueue(self, content: Mapping[str, Any]) -> str:
        """Add work at the end, and give its key. The content is not redacted."""
        return run(self._backend, self._enqueue(content))

    async def aenqueue(self, content: Mapping[str, Any]) -> str:
        """See `enqueue`."""
        return await arun(self._backend, self._enqueue(content))

    def claim(self, owner: str, lease: timedelta) -> list[Work] | None:
        """Take what waits, oldest first; `None` where somebody else has it.

        Only the owner may go on with it, until `lease` has passed or is renewed; the
        lease lies on the first one, which therefore is settled last.
        """
        return run(self._backend, self._claim(owner, lease))

    async def aclaim(self, owner: str, lease: timedelta) -> list[Work] | None:
        """See `claim`."""
        return await arun(self._backend, self._claim(owner, lease))

    def renew(self, key: str, owner: str, lease: timedelta) -> bool:
        """Keep a lease for longer; whether the owner still had it."""
        return run(self._backend, self._renew(key, owner, lease))

    async def arenew(self, key: str, owner: str, lease: timedelta) -> bool:
        """See `renew`."""
        return await arun(self._backend, self._renew(key, owner, lease))

    def settle(
        self,
        done: Sequence[str] = (),
        *,
        kept: Sequence[Work] = (),
        aside: bool = False,
    ) -> None:
        """Remove what is done, and let go of what has to be tried again.

        Args:
            done: Keys of what is done.
            kept: What is not, as it is to be tried again.
            aside: Move `kept` aside instead, until `retry_pending`.
        """
        run(self._backend, self._settle(done, kept, aside=aside))

    async def asettle(
        self,
        done: Sequence[str] = (),
        *,
        kept: Sequence[Work] = (),
        aside: bool = False,
    ) -> None:
        """See `settle`."""
        await arun(self._backend, self._settle(done, kept, aside=aside))

    def pending(self, *, aside: bool = False) -> list[Work]:
        """What waits, or what was moved aside; oldest first."""
        return run(self._backend, self._all_pending(aside=aside))

    async def apending(self, *, aside: bool = False) -> list[Work]:
        """See `pending`."""
        return await arun(self._backend, self._all_pending(aside=aside))

    def retry_pending(self) -> int:
        """Let what was moved aside wait again; how much that is."""
        return run(self._backend, self._retry_pending())

    async def aretry_pending(self) -> int:
        """See `retry_pending`."""
        return await arun(self._backend, self._retry_pending())

    def clear_pending(self) -> int:
        """Remove all of it, done or not; how much that was."""
        return run(self._backend, self._clear_pending())

    async def aclear_pending(self) -> int:
        """See `clear_pending`."""
        return await arun(self._backend, self._clear_pending())

    def finish_write(self, kind: str, name: str) -> bool:
        """Make the newest journal entry the head, where a crash came between the two.

        Returns:
            Whether it had; never in a store that writes both or none.
        """
        return run(self._backend, self._finish_write(kind, name))

    async def afinish_write(self, kind: str, name: str) -> bool:
        """See `finish_write`."""
        return await arun(self._backend, self._finish_write(kind, name))

    def _finish_write(self, kind: str, name: str) -> Steps[bool]:
        if self._backend.atomic:
            return False
        key, namespace = encode_key(name), self.namespace(kind)
        into = journal.namespace(self._labels, KINDS[kind].label, key)
        (head,) = yield Read([(namespace, key)])
        newest = yield Page(into, None, 1, reverse=True)
        entry = newest[0][1] if newest else None
        revision = records.revision_of(head, kind)
        # What the head came from was never replaced by what was to replace it.
        if (
            not records.revision_of(entry, kind)
            or _meta(entry).get("parent") != revision
        ):
            return False
        if (head is None) != (revision is None):
            return False
        lifetime = minutes(records.remaining(_meta(entry)))
        index = list(KINDS[kind].index)
        put = self._backend.put_op(namespace, key, entry, index, lifetime)
        if head is None:
            yield Write([[put]])
            return True
        replaced: bool = yield Replace(put, head)
        return replaced

    def _waiting(self, what: str = _KIND) -> tuple[str, ...]:
        return (INTERNAL_ROOT, what, *self._labels)

    def _enqueue(self, content: Mapping[str, Any]) -> Steps[str]:
        key = new_revision()
        meta = {"revision": key, "recorded_at": timestamp(now())}
        value = records.build(_KIND, dict(content), meta)
        yield from self._write([[self._backend.put_op(self._waiting(), key, value)]])
        return key

    def _claim(self, owner: str, lease: timedelta) -> Steps[list[Work] | None]:
        for _ in range(_ATTEMPTS):
            entries = yield Page(self._waiting(), None, CLAIM_AT_MOST)
            found = [_work(key, value) for key, value in entries]
            works = [work for work in found if work is not None]
            if not works:
                return []
            first = works[0]
            # Not only the first: it may have come after the one with the lease.
            if any(_is_held(work.value, owner) for work in works):
                return None
            value = _leased(first.value, owner, lease)
            put = self._backend.put_op(self._waiting(), first.key, value)
            if (yield Replace(put, first.value)):
                mine = [w for w in (_work(first.key, value), *works[1:]) if w]
                return (yield from self._apart(mine, owner, first.value))
        return None

    def _apart(
        self, works: list[Work], owner: str, before: Value
    ) -> Steps[list[Work] | None]:
        """What nobody else claimed in the same moment, having seen another first item.

        Theirs begins at the item they hold; who holds the older one goes on.
        """
        first = works[0]
        entries = yield Page(self._waiting(), None, CLAIM_AT_MOST)
        held = [key for key, value in entries if _is_held(value, owner)]
        if held and held[0] < first.key:
            put = self._backend.put_op(self._waiting(), first.key, before)
            yield Replace(put, first.value)
            return None
        return [work for work in works if not held or work.key < held[0]]

    def _renew(self, key: str, owner: str, lease: timedelta) -> Steps[bool]:
        for _ in range(_ATTEMPTS):
            (value,) = yield Read([(self._waiting(), key)])
            if value is None or _meta(value).get(_LEASE, {}).get("owner") != owner:
                return False
            renewed = _leased(value, owner, lease, begun=False)
            put = self._backend.put_op(self._waiting(), key, renewed)
            if (yield Replace(put, value)):
                return True
        return False

    def _settle(
        self, done: Sequence[str], kept: Sequence[Work], *, aside: bool
    ) -> Steps[None]:
        put = self._backend.put_op
        group = [put(self._waiting(), key, None) for key in done]
        for work in kept:
            value = _again(work)
            if aside:
                group.append(put(self._waiting(_ASIDE), work.key, value))
                group.append(put(self._waiting(), work.key, None))
                continue
            (before,) = yield Read([(self._waiting(), work.key)])
            # Not brought back where the session was cleared meanwhile.
            if before is not None:
                yield Replace(put(self._waiting(), work.key, value), before)
        if group:
            yield Write([group])
        self._emit("pending_aside", len(kept) if aside else 0)

    def _all_pending(self, *, aside: bool) -> Steps[list[Work]]:
        into = self._waiting(_ASIDE if aside else _KIND)
        found: list[Work] = []
        after = None
        while entries := (yield Page(into, after, CLAIM_AT_MOST)):
            found += filter(None, (_work(key, value) for key, value in entries))
            after = entries[-1][0]
        return found

    def _retry_pending(self) -> Steps[int]:
        works = yield from self._all_pending(aside=True)
        put = self._backend.put_op
        for work in works:
            fresh = Work(work.key, work.content, work.claims, 0, None, work.value)
            yield Write(
                [
                    [
                        put(self._waiting(), work.key, _again(fresh)),
                        put(self._waiting(_ASIDE), work.key, None),
                    ]
                ]
            )
        return len(works)

    def _clear_pending(self) -> Steps[int]:
        gone = 0
        for what in (_KIND, _ASIDE):
            into = self._waiting(what)
            while entries := (yield Page(into, None, CLAIM_AT_MOST)):
                put = self._backend.put_op
                yield Write([[put(into, key, None) for key, _ in entries]])
                gone += len(entries)
        return gone

    def _forget(self, kind: str | None, name: str | None) -> Steps[ForgetReport]:
        report = yield from super()._forget(kind, name)
        if kind is None:
            yield from self._clear_pending()
        return report


def _meta(value: Any) -> Mapping[str, Any]:
    meta = value.get("meta") if isinstance(value, Mapping) else None
    return meta if isinstance(meta, Mapping) else {}


def _work(key: str, value: Any) -> Work | None:
    if not records.is_record(value, _KIND):
        return None
    _, content, _ = records.unknown_fields(value, frozenset())
    meta = _meta(value)
    return Work(
        key,
        content,
        _number(meta.get("claims")),
        _number(meta.get("attempts")),
        meta.get("tried_at"),
        value,
    )


def _number(value: Any) -> int:
    return value if isinstance(value, int) else 0


def _is_held(value: Any, owner: str) -> bool:
    """Whether somebody else has a lease that has not run out."""
    lease = _meta(value).get(_LEASE)
    if not isinstance(lease, Mapping) or lease.get("owner") == owner:
        return False
    until = lease.get("until")
    return isinstance(until, str) and until > timestamp(now())


def _leased(
    value: Mapping[str, Any], owner: str, lease: timedelta, *, begun: bool = True
) -> dict[str, Any]:
    meta = dict(_meta(value))
    meta["revision"] = new_revision()
    meta[_LEASE] = {"owner": owner, "until": timestamp(now() + lease)}
    if begun:
        meta["claims"] = _number(meta.get("claims")) + 1
    return {**value, "meta": meta}


def _again(work: Work) -> dict[str, Any]:
    """The value of work that is to be tried again: nobody's."""
    meta = records.without_empty(
        {
            "revision": new_revision(),
            "recorded_at": _meta(work.value).get("recorded_at"),
            "claims": work.claims,
            "attempts": work.attempts or None,
            "tried_at": work.tried_at,
        }
    )
    return records.build(_KIND, dict(work.content), meta)
