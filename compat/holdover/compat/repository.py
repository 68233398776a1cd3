"""Decides what is read and written: for adapters, migration and the CLI alike.

Every operation is one generator of steps, driven synchronously or from async code
by `holdover.compat.stores.backend`; how a step is carried out is the backend's.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any

from holdover.compat.adopting import Adopting, OldItem, OldItems
from holdover.compat.erasing import ForgetReport
from holdover.compat.pending import Pending
from holdover.compat.reading import PAGE, LegacyPlace
from holdover.compat.records import Record
from holdover.compat.stores.backend import arun, run
from holdover.compat.writing import Outcome

__all__ = [
    "ForgetReport",
    "LegacyPlace",
    "OldItem",
    "OldItems",
    "Outcome",
    "Repository",
]


class Repository(Pending, Adopting):
    """The records of one scope in one store.

    Args:
        store: Any LangGraph `BaseStore`, sync or async.
        scope: Raw labels; see `holdover.compat.scope.Scope`.
        history: The journal's bound per item: `"all"`, a number of revisions, a
            timedelta, or `0` for none.
        redact: Called with a kind and a content before every write; what it
            returns is written.
        legacy: The old place to read through, if there is one.
        unsafe: Accept a store that is known to lose data.
    """

    def get(
        self, kind: str, key: str, *, recall: timedelta | None = None
    ) -> Record | None:
        """Read the head of a raw key; `recall` extends its lifetime to that."""
        if recall is None and (record := self._get_at_once(kind, key)):
            return record
        return run(self._backend, self._get(kind, key, recall))

    async def aget(
        self, kind: str, key: str, *, recall: timedelta | None = None
    ) -> Record | None:
        """See `get`."""
        return await arun(self._backend, self._get(kind, key, recall))

    def get_many(self, kind: str, keys: Sequence[str]) -> list[Record | None]:
        """Read several heads at once, in order."""
        return run(self._backend, self._get_many(kind, keys))

    async def aget_many(self, kind: str, keys: Sequence[str]) -> list[Record | None]:
        """See `get_many`."""
        return await arun(self._backend, self._get_many(kind, keys))

    def put(self, kind: str, content: Mapping[str, Any], **options: Any) -> Outcome:
        """Write one record; the options are those of `put_many`."""
        return run(self._backend, self._put_many(kind, [content], **options))[0]

    async def aput(
        self, kind: str, content: Mapping[str, Any], **options: Any
    ) -> Outcome:
        """See `put`."""
        steps = self._put_many(kind, [content], **options)
        return (await arun(self._backend, steps))[0]

    def put_many(
        self, kind: str, contents: Sequence[Mapping[str, Any]], **options: Any
    ) -> list[Outcome]:
        """Write records of one kind together.

        Args:
            kind: `entity`, `message`, `turn`, `summary` or `triple`.
            contents: What the records hold.
            options: `keys` (raw; needed for messages), `origin` (`"chain"`,
                `"human"`, `"agent"`), `source` (more fields of `meta.source`),
                `status`, `ttl` (a timedelta; `None` is for ever), `meta` (more
                fields of `meta`).

        Returns:
            For each content, what became of it. An empty text changes nothing, an
            unchanged one writes nothing, a forgotten one stays forgotten.
        """
        return run(self._backend, self._put_many(kind, contents, **options))

    async def aput_many(
        self, kind: str, contents: Sequence[Mapping[str, Any]], **options: Any
    ) -> list[Outcome]:
        """See `put_many`."""
        return await arun(self._backend, self._put_many(kind, contents, **options))

    def exists(self, kind: str, key: str) -> bool:
        """Whether a live record is there, or still in the old place."""
        return run(self._backend, self._exists(kind, key))

    async def aexists(self, kind: str, key: str) -> bool:
        """See `exists`."""
        return await arun(self._backend, self._exists(kind, key))

    def delete(self, kind: str, key: str) -> bool:
        """Remove the head, journal that, and keep it away: also from old data.

        Returns:
            Whether there was a live record.
        """
        return run(self._backend, self._delete(kind, [key])) > 0

    async def adelete(self, kind: str, key: str) -> bool:
        """See `delete`."""
        return await arun(self._backend, self._delete(kind, [key])) > 0

    def delete_many(self, kind: str, keys: Sequence[str]) -> int:
        """Delete several; returns how many live records there were."""
        return run(self._backend, self._delete(kind, keys))

    async def adelete_many(self, kind: str, keys: Sequence[str]) -> int:
        """See `delete_many`."""
        return await arun(self._backend, self._delete(kind, keys))

    def unadopted(self, kind: str) -> bool:
        """Whether nobody adopted an old place as a whole, or cleared the scope."""
        return run(self._backend, self._unadopted(kind))

    async def aunadopted(self, kind: str) -> bool:
        """See `unadopted`."""
        return await arun(self._backend, self._unadopted(kind))

    def adopt(self, kind: str, old: OldItems) -> int:
        """Take over all an old place holds, once; returns how many were written.

        What is here already, was deleted or forgotten is left alone. Done by several
        at once, or again after one that was killed, it ends with each item once.
        """
        return run(self._backend, self._adopt_all(kind, old))

    async def aadopt(self, kind: str, old: OldItems) -> int:
        """See `adopt`."""
        return await arun(self._backend, self._adopt_all(kind, old))

    def renew_all(self, kind: str, lifetime: timedelta, slack: timedelta) -> int:
        """Let all records live that long from now, or at most `slack` longer.

        It is for records that end together: it reads only the first of them where
        that needs nothing.
        """
        return run(self._backend, self._renew_all(kind, lifetime, slack))

    async def arenew_all(self, kind: str, lifetime: timedelta, slack: timedelta) -> int:
        """See `renew_all`."""
        return await arun(self._backend, self._renew_all(kind, lifetime, slack))

    def clear(self, kind: str) -> int:
        """Delete every record of a kind in this scope, and nothing else."""
        return run(self._backend, self._clear(kind))

    async def aclear(self, kind: str) -> int:
        """See `clear`."""
        return await arun(self._backend, self._clear(kind))

    def history(self, kind: str, key: str) -> list[Record]:
        """The states of an item, newest first; the head included, deletions not."""
        return run(self._backend, self._history(kind, key))

    async def ahistory(self, kind: str, key: str) -> list[Record]:
        """See `history`."""
        return await arun(self._backend, self._history(kind, key))

    def restore(self, kind: str, key: str, revision: str | None = None) -> Record:
        """Make an earlier state the head again, as a new revision.

        Args:
            kind: The record's kind.
            key: Its raw key.
            revision: Which state; by default the one before the head, or the last
                one where the item was deleted.

        Raises:
            RevisionNotFound: The journal does not hold it.
            Forgotten: It was erased by `forget`.
        """
        return run(self._backend, self._restore(kind, key, revision))

    async def arestore(
        self, kind: str, key: str, revision: str | None = None
    ) -> Record:
        """See `restore`."""
        return await arun(self._backend, self._restore(kind, key, revision))

    def forget(self, kind: str | None = None, key: str | None = None) -> ForgetReport:
        """Erase an item with its journal, or the whole scope, and keep it away.

        What is erased cannot be restored; a tombstone without content stops the
        same name and value from being learnt or imported again.
        """
        return run(self._backend, self._forget(kind, key))

    async def aforget(
        self, kind: str | None = None, key: str | None = None
    ) -> ForgetReport:
        """See `forget`."""
        return await arun(self._backend, self._forget(kind, key))

    def page(
        self,
        kind: str,
        *,
        after: str | None = None,
        limit: int = PAGE,
        reverse: bool = False,
    ) -> list[Record]:
        """Live records in the order of their item keys, beyond the item key `after`."""
        return run(self._backend, self._page(kind, after, limit, reverse=reverse))

    async def apage(
        self,
        kind: str,
        *,
        after: str | None = None,
        limit: int = PAGE,
        reverse: bool = False,
    ) -> list[Record]:
        """See `page`."""
        steps = self._page(kind, after, limit, reverse=reverse)
        return await arun(self._backend, steps)

    def records(self, kind: str) -> Iterator[Record]:
        """Every live record, read in pages."""
        after = None
        while page := self.page(kind, after=after):
            yield from page
            after = page[-1].key

    async def arecords(self, kind: str) -> AsyncIterator[Record]:
        """See `records`."""
        after = None
        while page := await self.apage(kind, after=after):
            for record in page:
                yield record
            after = page[-1].key

    def count(self, kind: str) -> int:
        """How many items a kind holds; expired ones count until they are swept."""
        return run(self._backend, self._count(kind))

    async def acount(self, kind: str) -> int:
        """See `count`."""
        return await arun(self._backend, self._count(kind))

    def search(
        self,
        kind: str,
        query: str | None = None,
        *,
        limit: int = 10,
        filter: dict[str, Any] | None = None,  # noqa: A002 - LangGraph's word
    ) -> list[tuple[Record, float | None]]:
        """Search by meaning (or list); only this scope's records come back."""
        return run(self._backend, self._search(kind, query, limit, filter))

    async def asearch(
        self,
        kind: str,
        query: str | None = None,
        *,
        limit: int = 10,
        filter: dict[str, Any] | None = None,  # noqa: A002
    ) -> list[tuple[Record, float | None]]:
        """See `search`."""
        return await arun(self._backend, self._search(kind, query, limit, filter))

    def propose(self, kind: str, content: Mapping[str, Any], reason: str) -> str:
        """Keep a record out of sight of agents until it is approved.

        Returns:
            The id to approve or reject it by.
        """
        return run(self._backend, self._propose(kind, content, reason))

    async def apropose(self, kind: str, content: Mapping[str, Any], reason: str) -> str:
        """See `propose`."""
        return await arun(self._backend, self._propose(kind, content, reason))

    def proposed(self, kind: str) -> dict[str, Record]:
        """What waits for approval, by id."""
        return run(self._backend, self._proposed(kind))

    async def aproposed(self, kind: str) -> dict[str, Record]:
        """See `proposed`."""
        return await arun(self._backend, self._proposed(kind))

    def approve(self, kind: str, proposal: str) -> Outcome:
        """Write a proposed record as `verified`; raises `RevisionNotFound`."""
        return run(self._backend, self._approve(kind, proposal))

    async def aapprove(self, kind: str, proposal: str) -> Outcome:
        """See `approve`."""
        return await arun(self._backend, self._approve(kind, proposal))

    def reject(self, kind: str, proposal: str) -> bool:
        """Drop a proposed record; returns whether it was there."""
        return run(self._backend, self._reject(kind, proposal))

    async def areject(self, kind: str, proposal: str) -> bool:
        """See `reject`."""
        return await arun(self._backend, self._reject(kind, proposal))
