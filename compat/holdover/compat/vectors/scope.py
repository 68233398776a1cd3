"""Whose a document in a vector store is: its id, its metadata, and filters for it.

A vector store is often shared by sessions, and with documents that are no memories.
What a memory saves carries the memory's scope in its metadata, and an id made of scope
and text: saving a turn again replaces it, and its id proves whose it is.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from langchain_core.documents import Document

from holdover.compat.place import Place
from holdover.compat.records import normalised, now, timestamp
from holdover.compat.scope import Scope

#: The scope of a document, its labels joined by `/`.
SCOPE = "holdover_scope"
#: Set where a document was saved through a retriever with a filter of its own.
FILTERED = "holdover_filtered"
RECORDED_AT = "holdover_recorded_at"

#: Vector stores whose `filter=` is documented to take `{field: value}`, and several
#: of them as `{"$and": […]}`. Another one's is not guessed: some read such a filter as
#: something else, and find nothing.
_DICT_FILTERS = frozenset(
    {
        "Chroma",
        "PGVector",
        "PGVectorStore",
        "Pinecone",
        "PineconeVectorStore",
    }
)
_DOCUMENT_FILTERS = frozenset({"InMemoryVectorStore"})


def labels_of(place: Place) -> tuple[str, ...] | None:
    """The labels of what is said in a place; `None` where it has no session or scope.

    In a store of its own a history may have a short name for its session, which others
    have, too: a vector store is not its own.
    """
    if not place.is_named:
        return None
    scope, session = place.scope, place.session
    if session is not None and place.given_scope is None:
        scope = Scope(*scope[:-1], session)
    return scope.encoded()


class VectorScope:
    """The scope of one memory.

    Args:
        labels: Encoded labels, in which no `/` occurs; `None` where it has none.
        own_filter: The filter its retriever was made with.
        metadata: What its documents carry besides.
    """

    def __init__(
        self,
        labels: tuple[str, ...] | None,
        own_filter: Any = None,
        metadata: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        self.label = None if labels is None else "/".join(labels)
        self._filtered = own_filter is not None
        self._given = {**equalities(own_filter), **metadata}
        # What two users say with one filter each is not one document.
        given = json.dumps(self._given, sort_keys=True, default=str)
        self._owner = f"{self.label or ''}\x00{given if self._given else ''}"

    def labelled(self, document: Document) -> Document:
        """A document with all its metadata, and without an id."""
        metadata = {**self._given, **document.metadata, **self.marks}
        return Document(page_content=document.page_content, metadata=metadata)

    @property
    def marks(self) -> dict[str, Any]:
        """What the metadata of its documents says of it."""
        if self.label is not None:
            return {SCOPE: self.label, RECORDED_AT: timestamp(now())}
        return {FILTERED: True} if self._filtered else {}

    def id_of(self, text: str) -> str:
        """The id of a document with that text, as a UUID: some stores take no other."""
        of = f"{self._owner}\x00{normalised(text)}"
        digest = hashlib.sha256(of.encode("utf-8", "surrogatepass")).digest()
        return str(uuid.UUID(bytes=digest[:16], version=5))

    def has(self, document: Document) -> bool:
        """Whether a memory of this scope may see a document.

        Documents of no scope are seen by memories without one only, and those that
        were to be found by a filter not without any.
        """
        theirs = document.metadata
        hidden = self.label is None and not self._filtered and theirs.get(FILTERED)
        return bool(theirs.get(SCOPE) == self.label) and not hidden


def name_of(vectorstore: Any) -> str:
    """The first class of a vector store that is known by name, or `""`."""
    for kind in type(vectorstore).__mro__:
        if kind.__name__ in _DICT_FILTERS | _DOCUMENT_FILTERS:
            return kind.__name__
    return ""


def filters_late(vectorstore: Any) -> bool:
    """Whether `filter=` is applied to the first `fetch_k` documents only."""
    return any(kind.__name__ == "FAISS" for kind in type(vectorstore).__mro__)


def filter_for(vectorstore: Any, label: str, own: Any) -> Any:
    """A filter for one scope, and the retriever's own; `None` where none is safe."""
    name = name_of(vectorstore)
    if name in _DOCUMENT_FILTERS:
        if own is not None and not callable(own):
            return None
        return lambda document: (
            document.metadata.get(SCOPE) == label and (own is None or own(document))
        )
    if name in _DICT_FILTERS:
        ours = {SCOPE: label}
        if not own:
            return ours
        if isinstance(own, Mapping):
            return {"$and": [dict(own), ours]}
    return None


def equalities(where: Any) -> dict[str, Any]:
    """What a filter wants metadata to be equal to, as far as it says so plainly.

    A document that is saved with it is found by the retriever's own filter.
    """
    return dict(_equal_pairs(where))


def _equal_pairs(where: Any) -> Iterator[tuple[str, Any]]:
    if not isinstance(where, Mapping):
        return
    for name, wanted in where.items():
        if name == "$and" and isinstance(wanted, list | tuple):
            for part in wanted:
                yield from _equal_pairs(part)
        elif isinstance(name, str) and not name.startswith("$"):
            if isinstance(wanted, Mapping) and set(wanted) == {"$eq"}:
                wanted = wanted["$eq"]  # noqa: PLW2901 - the same in other words
            if isinstance(wanted, str | int | float | bool):
                yield name, wanted


def passes(where: Any, vectorstore: Any, document: Document) -> bool:
    """Whether a retriever's own filter would find a document; `True` if unknown."""
    if callable(where):
        test: Callable[[Any], Any] = where
        what = document.metadata if filters_late(vectorstore) else document
        try:
            return bool(test(what))
        except Exception:  # noqa: BLE001 - the filter of somebody else
            return False
    return True
