"""The turns of one scope in a store that was opened with an index."""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from langchain_core.documents import Document

from holdover.compat.both_ways import Do, Operation
from holdover.compat.configuration import configuration
from holdover.compat.erasing import ForgetReport
from holdover.compat.errors import IndexRequired, StoreUnsuitable
from holdover.compat.place import Place
from holdover.compat.records import Record, key_of
from holdover.compat.repository import Repository

if TYPE_CHECKING:
    from langgraph.store.base import BaseStore

_KIND = "turn"
_KEY = re.compile(r"[0-9a-f]{64}")
_UNKNOWN = object()


class IndexedPlace(Place):
    """A place whose store, where it is an address, is opened with an index."""

    index: Mapping[str, Any] | None = None

    @classmethod
    def of(cls, place: Place, index: Mapping[str, Any]) -> IndexedPlace:
        """The same place, opened with an index."""
        other = cls.__new__(cls)
        other.__dict__.update(place.__getstate__(), index=index)
        return other

    def _opened(self) -> Repository:
        settings = self._settings or configuration()
        address = settings.store if self.store is None else self.store
        if self.index is None or not isinstance(address, str):
            return super()._opened()
        from holdover.compat.stores.opening import open_store  # noqa: PLC0415

        there = copy.copy(self)
        there.store, there.index = open_store(address, self.index), None
        return there._opened()  # noqa: SLF001 - the same class


class RecordTurns:
    """The turns of one scope, as records of a store.

    Args:
        repository: The records of the scope.
        metadata: What each turn carries besides.
        k: How many to find.
        threshold: The least score of what is found, as the store has it: the higher
            the nearer, whatever its distance.
    """

    def __init__(
        self,
        repository: Repository,
        metadata: Mapping[str, Any],
        *,
        k: int,
        threshold: float | None,
    ) -> None:
        self._repository, self._metadata = repository, metadata
        self._k, self._threshold = k, threshold

    def find(self, query: str) -> Operation[list[Document]]:
        """What is nearest to a text; nothing is near to an empty one.

        Raises:
            IndexRequired: The store cannot rank.
        """
        repository, k = self._repository, self._k
        require_index(repository.store)
        if not query.strip():
            # A store would list what is newest instead.
            return []
        found = yield Do(
            lambda: repository.search(_KIND, query, limit=k),
            lambda: repository.asearch(_KIND, query, limit=k),
        )
        if found and all(score is None for _, score in found):
            raise _index_required(repository.store)
        return [
            _document(record, score)
            for record, score in found
            if _is_ranked(score)
            and (self._threshold is None or score >= self._threshold)
        ]

    def keep(self, document: Document) -> Operation[None]:
        """Put a turn; the same text is kept once.

        Raises:
            IndexRequired: It could not be found again.
        """
        repository = self._repository
        require_index(repository.store)
        content: dict[str, Any] = {"text": document.page_content}
        if metadata := {**self._metadata, **document.metadata}:
            content["metadata"] = metadata
        yield Do(
            lambda: repository.put(_KIND, content),
            lambda: repository.aput(_KIND, content),
        )

    def delete(self, text_or_key: str) -> Operation[bool]:
        """Delete a turn, by its text or its key."""
        gone = False
        for key in self._keys(text_or_key):
            gone = gone or (yield self._both("delete", key))
        return gone

    def forget(self, text_or_key: str | None) -> Operation[ForgetReport]:
        """Erase one turn, or all, with what the journal holds; it stays away."""
        if text_or_key is None:
            report: ForgetReport = yield self._both("forget")
            return report
        items = revisions = 0
        for key in self._keys(text_or_key):
            report = yield self._both("forget", key)
            items += report.items
            revisions += report.revisions
        return ForgetReport(items, revisions, whole_scope=False)

    def clear(self) -> Operation[int]:
        """Delete every turn of this scope, and nothing else."""
        gone: int = yield self._both("clear")
        return gone

    def _both(self, method: str, *key: str) -> Do:
        call = getattr(self._repository, method)
        acall = getattr(self._repository, f"a{method}")
        return Do(lambda: call(_KIND, *key), lambda: acall(_KIND, *key))

    def _keys(self, text_or_key: str) -> list[str]:
        if _KEY.fullmatch(text_or_key):
            return [text_or_key]
        contents: list[Mapping[str, Any]] = [{"text": text_or_key}]
        redact = self._repository._redact  # noqa: SLF001 - what it was written with
        if redact:
            contents.append(redact(_KIND, dict(contents[0])))
        keys = [key_of(_KIND, one) for one in contents if one.get("text")]
        return list(dict.fromkeys(keys))


def require_index(store: BaseStore) -> None:
    """Refuse a store that cannot rank by meaning, as far as that can be told.

    Raises:
        IndexRequired: It has no index.
        StoreUnsuitable: It ranks what is farthest first.
    """
    plain = type(store).__module__.startswith("holdover.compat.stores.redis")
    index = getattr(store, "index_config", None if plain else _UNKNOWN)
    if not index:
        raise _index_required(store)
    sqlite = any(
        kind.__module__.startswith("langgraph.store.sqlite")
        for kind in type(store).__mro__
    )
    if sqlite and isinstance(index, Mapping) and index.get("distance_type") == "l2":
        raise StoreUnsuitable(
            "LangGraph's SQLite store ranks the farthest first by the distance l2.",
            failed=("ranking",),
            hint="Open it with the distance 'cosine', its default.",
        )


def _index_required(store: BaseStore) -> IndexRequired:
    return IndexRequired(
        f"This {type(store).__name__} has no index, so that turns cannot be found in "
        "it by meaning.",
        hint="Open it with one: open_store(url, index={'embed': …, 'dims': …}).",
    )


def _is_ranked(score: float | None) -> bool:
    # A vector without a direction is at no distance: `nan`.
    return score is not None and score == score  # noqa: PLR0124


def _document(record: Record, score: float | None) -> Document:
    given = record.content.get("metadata")
    metadata = dict(given) if isinstance(given, Mapping) and not record.foreign else {}
    if recorded_at := record.meta.get("recorded_at"):
        metadata["recorded_at"] = recorded_at
    return Document(
        id=record.key, page_content=record.text, metadata={**metadata, "score": score}
    )
