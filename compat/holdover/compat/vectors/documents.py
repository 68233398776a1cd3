"""The turns of one scope in a vector store: found, kept, deleted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from langchain_core.documents import Document

from holdover.compat.both_ways import Operation
from holdover.compat.erasing import ForgetReport
from holdover.compat.notices import warn_once
from holdover.compat.vectors.access import REFUSALS, Access, as_many_as_it_gives, both
from holdover.compat.vectors.scope import VectorScope, passes

#: How far a search goes for what other documents hide.
MOST = 10_000
_WIDER = 4
_AT_ONCE = 1_000
# Others may have said the same.
_NEAR = 100
# Something to be near to where everything is meant.
_ANYTHING = "conversation"


class DocumentTurns:
    """The turns of one scope, in the vector store behind a retriever.

    Args:
        access: The retriever.
        scope: Whose they are.
        saved: The ids that this process saved, in order.
    """

    def __init__(
        self,
        access: Access,
        scope: VectorScope,
        saved: dict[str, None],
    ) -> None:
        self._access, self._scope, self._saved = access, scope, saved

    def find(self, query: str) -> Operation[list[Document]]:
        """What is nearest to a text, of this scope only."""
        access = self._access
        narrowing = access.narrowing(access.vectorstore)
        try:
            found = yield from self._asked(narrowing, query)
        except AssertionError:  # an empty vector store, as some say it
            raise
        except Exception:
            if not narrowing:
                raise
            # It may be the filter that it does not take.
            narrowing = {}
            found = yield from self._asked(narrowing, query)
        mine = self._mine(found)
        k, limit = access.k or len(found), len(found)
        if len(mine) < limit and access.asking(1, narrowing) is not access.retriever:
            # Others' documents took the place of ours.
            while len(mine) < min(k, len(found)) and limit < MOST:
                least, limit = limit, min(_WIDER * limit, MOST)
                more = yield from as_many_as_it_gives(
                    lambda n: both(access.asking(n, narrowing), "invoke", query),
                    limit,
                    least,
                )
                mine = mine if more is None else self._mine(more)
                if more is None or len(more) < limit:
                    break
        return mine[:k]

    def _asked(
        self, narrowing: Mapping[str, Any], query: str
    ) -> Operation[list[Document]]:
        access = self._access
        try:
            found = yield both(access.asking(access.k, narrowing), "invoke", query)
        except NotImplementedError as error:
            if access.threshold is None:
                raise
            raise NotImplementedError(
                f"{type(access.vectorstore).__name__} does not say how relevant a "
                "document is; leave out score_threshold."
            ) from error
        return list(found)

    def keep(self, document: Document) -> Operation[None]:
        """Add a turn; one that is there already stays as it is.

        Raises:
            RetrieverReadOnly: Nothing here can add documents.
        """
        access, key = self._access, self._id_of(document)
        document = self._scope.labelled(document)
        # Before: FAISS damages its index by an id that it has.
        there = yield from access.there([key])
        if there is None and key in self._saved:
            # Some would add it a second time, whatever its id.
            return
        if not there:
            named = document.model_copy(update={"id": key})
            try:
                yield from access.add(named)
            except REFUSALS as refusal:
                # It may be the id that it does not take.
                try:
                    yield from access.add(document)
                except REFUSALS:
                    raise refusal from None
        self._remember(key)
        if not passes(access.own_filter, access.vectorstore, document):
            warn_once(
                "What was saved does not pass the retriever's own filter, a function, "
                "and will not be found through it. Pass metadata= with what it asks "
                "for."
            )

    def delete(self, text_or_id: str) -> Operation[bool]:
        """Delete a turn, by its text or by the id of its document."""
        key = self._scope.id_of(text_or_id)
        there = yield from self._access.there([key, text_or_id])
        ids = _ids(self._mine(there or []))
        if not ids:
            # Under an id that is not ours: of an older release, or given by the store.
            near = yield from self._access.near(text_or_id, _NEAR)
            same = [one for one in near or [] if one.page_content == text_or_id]
            ids = [one.id or key for one in self._mine(same)]
            if near is None and there is None:
                # Nothing can be asked: whether it was there will not be known.
                ids = [key]
        return (yield from self._delete(ids))

    def forget(self, text_or_id: str | None) -> Operation[ForgetReport]:
        """Delete one turn, or all: a vector store keeps nothing besides to erase."""
        if text_or_id is None:
            return ForgetReport((yield from self.clear()), 0, whole_scope=False)
        gone = yield from self.delete(text_or_id)
        return ForgetReport(int(gone), 0, whole_scope=False)

    def clear(self) -> Operation[int]:
        """Delete what memories of this scope saved; a warning says what stays."""
        gone: set[str] = set()
        limit, complete, others = _AT_ONCE, False, 0
        while (near := (yield from self._access.near(_ANYTHING, limit))) is not None:
            ids, others = yield from self._saved_among(self._mine(near))
            if new := sorted(ids - gone):
                if not (yield from self._delete(new)):
                    break
                gone.update(new)
            everything = len(near) < limit
            complete = everything and ids <= gone and bool(new or not ids)
            if everything or (ids and not new) or (not ids and limit == MOST):
                break
            if not ids:
                limit = min(_WIDER * limit, MOST)
        if left := [key for key in self._saved if key not in gone]:
            there = yield from self._access.there(left)
            if there is not None:
                ids_left = [one.id or self._id_of(one) for one in there]
            else:
                ids_left = left
            if ids_left and (yield from self._delete(ids_left)):
                gone.update(ids_left)
            elif ids_left:
                complete = False
        self._saved.clear()
        if not complete:
            _warn(
                "clear() could delete only what this process saved, or not even that: "
                "the vector store does not let all of it be found and deleted."
            )
        elif others:
            _warn(
                f"clear() left {others} documents that this memory finds, but that it "
                "did not save. Delete them by the vector store itself."
            )
        return len(gone)

    def _saved_among(self, mine: list[Document]) -> Operation[tuple[set[str], int]]:
        """The ids of those that memories of this scope saved; how many others are."""
        if self._scope.label is not None:
            return {one.id or self._id_of(one) for one in mine}, 0
        # Without a scope in it, a document is known by its id alone.
        nameless = [self._id_of(one) for one in mine if not one.id]
        there = (yield from self._access.there(nameless)) if nameless else None
        known = {self._id_of(one) for one in there or []}
        known |= {one.id for one in mine if one.id == self._id_of(one)}
        saved = [one for one in mine if (one.id or self._id_of(one)) in known]
        return {one.id or self._id_of(one) for one in saved}, len(mine) - len(saved)

    def _id_of(self, document: Document) -> str:
        return self._scope.id_of(document.page_content)

    def _mine(self, found: Iterable[Document]) -> list[Document]:
        return [document for document in found if self._scope.has(document)]

    def _remember(self, key: str) -> None:
        self._saved[key] = None
        if len(self._saved) > MOST:
            del self._saved[next(iter(self._saved))]

    def _delete(self, ids: list[str]) -> Operation[bool]:
        done = bool(ids) and (yield from self._access.delete(ids))
        for key in ids if done else ():
            self._saved.pop(key, None)
        return done


def _ids(documents: Iterable[Document]) -> list[str]:
    return [document.id for document in documents if document.id]


def _warn(sentence: str) -> None:
    warn_once(sentence)
