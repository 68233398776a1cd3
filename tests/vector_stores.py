"""Vector stores and retrievers for the tests: of every habit that real ones have."""

from __future__ import annotations

import math
import uuid

from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import VectorStore

from holdover.compat.testing.embedding import embed


def cosine(one, other):
    size = math.hypot(*one) * math.hypot(*other)
    return sum(a * b for a, b in zip(one, other, strict=True)) / size


class Vectors(VectorStore):
    """One that has all of the interface; `calls` are the searches it was asked."""

    def __init__(self):
        self.held = {}
        self.calls = []
        self.embedded = []

    @classmethod
    def from_texts(cls, texts, embedding, metadatas=None, **kwargs):
        raise NotImplementedError

    def add_texts(self, texts, metadatas=None, *, ids=None, **kwargs):
        texts = list(texts)
        ids = [key or str(uuid.uuid4()) for key in ids or [None] * len(texts)]
        for key, text, metadata in zip(
            ids, texts, metadatas or [{}] * len(texts), strict=True
        ):
            self.embedded.append(text)
            self.held[key] = Document(text, id=key, metadata=dict(metadata))
        return ids

    def get_by_ids(self, ids, /):
        return [self.held[key] for key in ids if key in self.held]

    def delete(self, ids=None, **kwargs):
        if ids is None:
            self.held.clear()
        for key in ids or ():
            self.held.pop(key, None)
        return True

    def similarity_search_with_score(self, query, k=4, **kwargs):
        self.calls.append({"k": k, **kwargs})
        (wanted,) = embed([query])
        scored = [
            (document, cosine(embed([document.page_content])[0], wanted))
            for document in self.held.values()
            if self.passes(document, kwargs.get("filter"))
        ]
        return sorted(scored, key=lambda pair: -pair[1])[:k]

    def passes(self, document, where):
        """Whether a filter finds it; this one ignores filters."""
        return True

    def similarity_search(self, query, k=4, **kwargs):
        found = self.similarity_search_with_score(query, k, **kwargs)
        return [document for document, _ in found]

    def _select_relevance_score_fn(self):
        return lambda score: score

    @property
    def texts(self):
        return [document.page_content for document in self.held.values()]


class PGVector(Vectors):
    """Takes `{field: value}` and `{"$and": […]}`, under the name of one that does."""

    def passes(self, document, where):
        if not where:
            return True
        if "$and" in where:
            return all(self.passes(document, part) for part in where["$and"])
        return all(
            document.metadata.get(name) == value for name, value in where.items()
        )


class NoFilters(Vectors):
    """Refuses any filter."""

    def similarity_search_with_score(self, query, k=4):
        return super().similarity_search_with_score(query, k)

    def similarity_search(self, query, k=4):
        return super().similarity_search(query, k)


class Chroma(NoFilters):
    """Has the name of one that takes filters, and refuses them all the same."""


class NoIds(Vectors):
    """Refuses ids, and cannot look anything up by one."""

    def add_texts(self, texts, metadatas=None):
        return super().add_texts(texts, metadatas)

    def get_by_ids(self, ids, /):
        raise NotImplementedError


class NoDeleting(Vectors):
    """Cannot delete."""

    def delete(self, ids=None, **kwargs):
        raise NotImplementedError


class Anonymous(Vectors):
    """Gives documents without their ids."""

    def get_by_ids(self, ids, /):
        raise NotImplementedError

    def similarity_search_with_score(self, query, k=4, **kwargs):
        found = super().similarity_search_with_score(query, k, **kwargs)
        return [
            (Document(one.page_content, metadata=one.metadata), score)
            for one, score in found
        ]


class Strict(Vectors):
    """Damaged by an id that it has already, as FAISS is; says no to an unknown one."""

    def add_texts(self, texts, metadatas=None, *, ids=None, **kwargs):
        assert not set(ids or ()) & set(self.held)
        return super().add_texts(texts, metadatas, ids=ids)

    def delete(self, ids=None, **kwargs):
        if missing := set(ids or ()) - set(self.held):
            raise ValueError(f"Some ids do not exist: {missing}")
        return super().delete(ids)


class Counting(Vectors):
    """Refuses to give more than it holds."""

    def similarity_search_with_score(self, query, k=4, **kwargs):
        if k > len(self.held):
            raise ValueError(f"There are {len(self.held)}, not {k}.")
        return super().similarity_search_with_score(query, k, **kwargs)


class Appending(NoDeleting):
    """Adds anything, whatever its id; cannot look up nor delete."""

    def add_texts(self, texts, metadatas=None, *, ids=None, **kwargs):
        return super().add_texts(texts, metadatas)

    def get_by_ids(self, ids, /):
        raise NotImplementedError


class Empty(Vectors):
    """Fails while it holds nothing."""

    def similarity_search_with_score(self, query, k=4, **kwargs):
        assert self.held
        return super().similarity_search_with_score(query, k, **kwargs)


#: What every vector store has to do with, whatever it lacks.
HABITS = (
    Vectors,
    PGVector,
    NoFilters,
    Chroma,
    NoIds,
    Anonymous,
    Strict,
    Counting,
    NoDeleting,
    Appending,
)
#: Those that can delete.
DELETING = tuple(kind for kind in HABITS if not issubclass(kind, NoDeleting))


class Wrapping(BaseRetriever):
    """A retriever around another one, as the compressing ones are."""

    base_retriever: BaseRetriever

    def _get_relevant_documents(self, query, *, run_manager):
        return self.base_retriever.invoke(query)


class Reading(BaseRetriever):
    """A retriever that can only read."""

    found: list[Document]

    def _get_relevant_documents(self, query, *, run_manager):
        return list(self.found)
