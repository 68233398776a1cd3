"""What `FAISS.save_local` wrote: `NAME.pkl`, a docstore, and `NAME.faiss`, the vectors.

The pickle is read without any class: what it holds is texts and mappings.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from holdover.migrate.errors import SourceNotFound
from holdover.migrate.sources.base import Skipped
from holdover.migrate.sources.vectors_documents import Document
from holdover.migrate.sources.vectors_faiss_index import FaissVectors
from holdover.migrate.sources.vectors_files import damaged, name_of, opened, shown
from holdover.migrate.sources.vectors_plain import plain
from holdover.migrate.sources.vectors_source import VectorForm, VectorSource
from holdover.migrate.unpickling import Placeholder, load

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from holdover.migrate.sources.base import ReadOptions
    from holdover.migrate.sources.vectors_source import Collection

_UNNAMED = "index"


def open_faiss(address: str, path: Path, options: ReadOptions) -> VectorSource:
    """Open a folder, or one of the two files of an index; nothing is read yet."""
    return VectorSource(address, Folder(path), options, one=True)


class Folder(VectorForm):
    """A folder with one index or several."""

    label = "FAISS index"

    def __init__(self, path: Path) -> None:
        self._path = path
        self._found: list[_Index] = []
        self._skipped: list[Skipped] = []

    def collections(self) -> list[Collection]:
        """The indexes, by name; their root is it, or that of the folder."""
        self.close()
        self._skipped = []
        if self._path.is_dir():
            pickles = sorted(
                one for one in self._path.iterdir() if one.suffix == ".pkl"
            )
            for one in pickles:
                if one.stem != _UNNAMED and not one.with_suffix(".faiss").exists():
                    self._skipped.append(
                        Skipped(one.name, "a pickle without an index beside it")
                    )
                    continue
                self._found.append(_Index(one))
            for one in sorted(self._path.glob("*.faiss")):
                if not one.with_suffix(".pkl").exists():
                    self._skipped.append(
                        Skipped(one.name, "vectors without the texts beside them")
                    )
        else:
            self._found.append(_Index(self._path.with_suffix(".pkl")))
        if not self._found:
            raise SourceNotFound(
                f"{shown(self._path)} holds no texts: the .pkl beside the .faiss is"
                " missing.",
                hint="Copy both files of the index.",
            )
        return list(self._found)

    def skipped(self) -> list[Skipped]:
        """Files beside them that are of no index."""
        return self._skipped

    def notes(self) -> list[str]:
        """Why vectors are missing, where they are."""
        return [
            f"The vectors of {index.root} cannot be read: {index.vectors.missing}."
            for index in self._found
            if index.vectors.missing
        ]

    def close(self) -> None:
        """Close the files of the vectors."""
        for index in self._found:
            index.close()
        self._found = []


class _Index:
    """One index; its texts are in memory, as a pickle cannot be read in part."""

    def __init__(self, path: Path) -> None:
        self._path = path
        folder = name_of(path.parent.absolute())
        named = path.stem != _UNNAMED
        self.root = path.stem if named else folder
        self.locator = f"file:{folder}/{path.name}"
        self._documents: list[tuple[int, Any]] | None = None
        self._vectors: FaissVectors | None = None

    @property
    def vectors(self) -> FaissVectors:
        if self._vectors is None:
            self._vectors = FaissVectors(self._path.with_suffix(".faiss"))
        return self._vectors

    def documents(self, after: Any, *, vectors: bool) -> Iterator[Document]:
        if self._documents is None:
            self._documents = self._load()
        held = self.vectors
        for place, (position, found) in enumerate(self._documents):
            known = after is not None and place <= after
            name = str(place)
            if found is None:
                yield Document(place, name, flaw="missing-document", known=known)
            elif not isinstance(found, Placeholder):
                yield Document(place, name, flaw="bad-entry", known=known)
            else:
                # One that no index takes is none.
                vector = None if known else held.at(position)
                yield Document(
                    place,
                    name,
                    found.get("page_content"),
                    plain(found.get("metadata")),
                    vector if vectors else None,
                    len(vector) if vector is not None else 0,
                    known=known,
                )

    def _load(self) -> list[tuple[int, Any]]:
        """The documents by position, then those that no position leads to."""
        with opened(self._path) as file:
            found = load(file)
        if not isinstance(found, tuple) or len(found) < 2:  # noqa: PLR2004
            raise damaged(self._path, "it holds no docstore and no positions")
        store, positions = found[0], found[1]
        held = store.get("_dict") if isinstance(store, Placeholder) else None
        if not isinstance(held, Mapping) or not isinstance(positions, Mapping):
            raise damaged(self._path, "it holds no docstore in memory")
        places = sorted(
            (position, name)
            for position, name in positions.items()
            if isinstance(position, int) and isinstance(name, str)
        )
        listed = [(position, held.get(name)) for position, name in places]
        listed += [(-1, _UNNAMED)] * (len(positions) - len(places))
        reached = {name for _, name in places}
        # They could not be found by a search, and are texts all the same.
        listed += [(-1, held[name]) for name in held if name not in reached]
        return listed

    def close(self) -> None:
        self._documents = None
        if self._vectors is not None:
            self._vectors.close()
            self._vectors = None
