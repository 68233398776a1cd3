"""What `SKLearnVectorStore` persists as JSON: four lists side by side."""

from __future__ import annotations

from contextlib import ExitStack
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from holdover.migrate.errors import SourceNotFound
from holdover.migrate.sources.json_values import JsonValues
from holdover.migrate.sources.vectors_documents import Document, numbers_of
from holdover.migrate.sources.vectors_files import damaged, name_of, opened, shown
from holdover.migrate.sources.vectors_source import VectorForm, VectorSource

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from holdover.migrate.sources.base import ReadOptions
    from holdover.migrate.sources.vectors_source import Collection

_COLUMNS = ("ids", "texts", "metadatas", "embeddings")
_END = object()


def open_sklearn(address: str, path: Path, options: ReadOptions) -> VectorSource:
    """Open a persisted store; of it, only the beginning is read.

    Raises:
        SourceNotFound: Another serializer wrote it.
    """
    with opened(path) as file:
        head = file.read(16)
    if head.startswith(b"PAR1") or head[4:9] == b"\x04ids\x00":
        raise refuse_serializer(path)
    return VectorSource(address, Persisted(path), options, one=True)


def refuse_serializer(path: Path) -> SourceNotFound:
    """Say how to read what the other two serializers wrote."""
    return SourceNotFound(
        f"{shown(path)} was written by the bson or parquet serializer of"
        " SKLearnVectorStore, which is not read.",
        hint="Load it with that serializer, and persist it with serializer='json'.",
    )


class Persisted(VectorForm):
    """A persisted store: one collection, which has the name of the file."""

    label = "SKLearnVectorStore file"

    def __init__(self, path: Path) -> None:
        self._path = path

    def collections(self) -> list[Collection]:
        """The one there is."""
        return [_Columns(self._path)]


class _Columns:
    def __init__(self, path: Path) -> None:
        self._path = path
        self.root = path.stem
        self.locator = f"file:{name_of(path)}"

    def documents(self, after: Any, *, vectors: bool) -> Iterator[Document]:
        # Each column is read through a handle of its own: together they would fill
        # the memory.
        with ExitStack() as stack:
            columns = [
                JsonValues(stack.enter_context(opened(self._path))).elements(column)
                for column in _COLUMNS
            ]
            for position, row in enumerate(zip_longest(*columns, fillvalue=_END)):
                if _END in row:
                    raise damaged(self._path, "its lists are not of one length")
                known = after is not None and position <= after
                _, text, metadata, embedding = row
                vector = numbers_of(embedding)
                yield Document(
                    position,
                    str(position),
                    text,
                    metadata,
                    vector if vectors and not known else None,
                    len(vector) if vector is not None else 0,
                    known=known,
                )
