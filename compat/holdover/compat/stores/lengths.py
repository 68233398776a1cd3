"""The length of vectors: an index of one length, and an embedding of another.

LangGraph's SQLite store writes vectors of any length, and compares them only when it
is searched.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

from langchain_core.embeddings import Embeddings

from holdover.compat.errors import StoreUnsuitable

_BYTES = 4  # of one number, as it is stored
_FAILED = ("dims",)
#: What our functions and those of sqlite-vec say of two vectors of other lengths.
_SIGNS = ("user-defined function raised", "imension")


class Measuring(Embeddings):
    """An embedding whose vectors have to be as long as the index says.

    Raises:
        StoreUnsuitable: One is not.
    """

    def __init__(self, embedding: Embeddings, dims: int | None) -> None:
        self.embedding, self.dims = embedding, dims

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Embed texts."""
        return self._measured(self.embedding.embed_documents(texts))

    def embed_query(self, text: str) -> list[float]:
        """Embed what is searched."""
        return self._measured([self.embedding.embed_query(text)])[0]

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """See `embed_documents`."""
        return self._measured(await self.embedding.aembed_documents(texts))

    async def aembed_query(self, text: str) -> list[float]:
        """See `embed_query`."""
        return self._measured([await self.embedding.aembed_query(text)])[0]

    def __getattr__(self, name: str) -> Any:
        """Give what else the embedding has."""
        if name == "embedding":
            raise AttributeError(name)
        return getattr(self.embedding, name)

    def _measured(self, vectors: list[list[float]]) -> list[list[float]]:
        for vector in vectors:
            if self.dims and len(vector) != self.dims:
                raise StoreUnsuitable(
                    f"The embedding gives vectors of {len(vector)} numbers, and the "
                    f"index says {self.dims}.",
                    failed=_FAILED,
                    hint=f"Open the store with dims={len(vector)}, or with the "
                    "embedding that the index was made with.",
                )
        return vectors


def lengths_differ(error: BaseException, store: Any) -> bool:
    """Whether a search failed on stored vectors of another length."""
    while error.__cause__ is not None and not isinstance(error, sqlite3.Error):
        error = error.__cause__
    return (
        isinstance(error, sqlite3.OperationalError)
        and bool(getattr(store, "index_config", None))
        and any(sign in str(error) for sign in _SIGNS)
        and bool(_stored(store))
    )


def differing_lengths(
    store: Any, cause: BaseException | None = None
) -> StoreUnsuitable:
    """What to say of it."""
    dims = store.index_config.get("dims")
    lengths = " and ".join(map(str, _stored(store)))
    error = StoreUnsuitable(
        f"The store holds vectors of {lengths} numbers, which a search with vectors "
        f"of {dims} numbers cannot be compared with.",
        failed=_FAILED,
        hint="Open it with the embedding they were made with, or embed the items "
        "again: put each of them once more.",
    )
    error.__cause__ = cause
    return error


def _stored(store: Any) -> Sequence[int]:
    """The lengths that are stored beside the one the index says."""
    try:
        rows = store.conn.execute(
            "SELECT DISTINCT length(embedding) FROM store_vectors ORDER BY 1"
        ).fetchall()
    except (sqlite3.Error, AttributeError):
        return []
    dims = store.index_config.get("dims")
    return [row[0] // _BYTES for row in rows if row[0] and row[0] // _BYTES != dims]
