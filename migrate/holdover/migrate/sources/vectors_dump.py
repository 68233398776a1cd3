"""What `InMemoryVectorStore.dump` wrote: `{id: {id, vector, text, metadata}}`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdover.migrate.sources.json_values import BadJson, JsonValues
from holdover.migrate.sources.vectors_documents import Document, numbers_of
from holdover.migrate.sources.vectors_files import name_of, opened
from holdover.migrate.sources.vectors_source import VectorForm, VectorSource

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from holdover.migrate.sources.base import ReadOptions
    from holdover.migrate.sources.vectors_source import Collection


def open_dump(address: str, path: Path, options: ReadOptions) -> VectorSource:
    """Open a dump; nothing is read yet."""
    return VectorSource(address, Dump(path), options, one=True)


class Dump(VectorForm):
    """A dump: one collection, which has the name of the file."""

    label = "InMemoryVectorStore dump"

    def __init__(self, path: Path) -> None:
        self._path = path

    def collections(self) -> list[Collection]:
        """The one there is."""
        return [_Entries(self._path)]


class _Entries:
    def __init__(self, path: Path) -> None:
        self._path = path
        self.root = path.stem
        self.locator = f"file:{name_of(path)}"

    def documents(self, after: Any, *, vectors: bool) -> Iterator[Document]:
        position = -1
        with opened(self._path) as file:
            try:
                for position, (_, entry) in enumerate(JsonValues(file).members()):
                    known = after is not None and position <= after
                    yield _document(position, entry, known=known, vectors=vectors)
            except BadJson:
                if position < 0:
                    raise
                # What stands before the damage is whole.
                position += 1
                known = after is not None and position <= after
                yield Document(position, str(position), flaw="damaged", known=known)


def _document(position: int, entry: Any, *, known: bool, vectors: bool) -> Document:
    name = str(position)
    if not isinstance(entry, dict) or "text" not in entry:
        return Document(position, name, flaw="bad-entry", known=known)
    vector = numbers_of(entry.get("vector"))
    return Document(
        position,
        name,
        entry["text"],
        entry.get("metadata"),
        vector if vectors and not known else None,
        len(vector) if vector is not None else 0,
        known=known,
    )
