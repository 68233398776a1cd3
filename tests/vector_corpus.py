"""The vector memory of the corpus, and of what `HOLDOVER_CORPUS` adds."""

from __future__ import annotations

import json
import os
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from holdover.migrate.sources import open_source
from holdover.migrate.sources.base import ReadOptions

FOLDERS = [
    Path(__file__).parent / "corpus",
    *map(Path, filter(None, os.environ.get("HOLDOVER_CORPUS", "").split(os.pathsep))),
]
#: How the corpus' own names say which file of a folder is to be opened.
_FOLDERS_OF = ("faiss/", "chroma/")


class Held(NamedTuple):
    """A place of the corpus and the documents that its manifest says are in it."""

    release: str
    name: str
    path: Path
    documents: list[str]

    def __repr__(self):
        return f"{self.release}/{self.name}"


def _held():
    for folder in FOLDERS:
        for manifest in sorted(folder.glob("*/vector_memory/MANIFEST.json")):
            said = json.loads(manifest.read_text("utf-8"))
            for name, entry in said.get("files", {}).items():
                path = manifest.parent / name
                if "not_run" in entry or path.suffix == ".sql":
                    continue
                if name.startswith(_FOLDERS_OF):
                    path = path.parent
                documents = entry.get("documents")
                if documents is None:  # a token buffer's, which have the time in them
                    raw = json.loads(path.read_text("utf-8"))
                    documents = [one["text"] for one in raw.values()]
                yield Held(manifest.parts[-3], name, path, documents)


#: Files and folders that a memory wrote.
HELD = list(_held())
#: Folders that chromadb wrote, with what it says of them.
CHROMA = [
    (folder / "chroma", json.loads((folder / "MANIFEST.json").read_text("utf-8")))
    for root in FOLDERS
    for folder in sorted(root.glob("companions-chroma-*/vector_memory"))
]
#: Dumps of PostgreSQL, with the collections in them.
POSTGRES = [
    (folder / name, entry["collections"])
    for root in FOLDERS
    for folder in sorted(root.glob("companions-pgvector-*/vector_memory"))
    for name, entry in json.loads((folder / "MANIFEST.json").read_text("utf-8"))[
        "files"
    ].items()
]


def one(release, name):
    """One place of the corpus."""
    (found,) = [one for one in HELD if (one.release, one.name) == (release, name)]
    return found


def load_dump(url, path):
    """Fill an empty database with a dump."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(path.read_text("utf-8"))


class Read(NamedTuple):
    """Everything a source gave."""

    items: list
    rejects: list
    skipped: dict
    inventory: object

    @property
    def texts(self):
        return [item.content["text"] for item in self.items]

    @property
    def reasons(self):
        return [reject.reason for reject in self.rejects]


def read(address, *, size=10_000, **options):
    """Read a source whole, and check that its inventory promised that."""
    with closing(open_source(str(address), ReadOptions(**options))) as source:
        inventory = source.inventory()
        items, rejects, skipped = [], [], {}
        for partition in source.partitions():
            for batch in source.read(partition, size=size):
                items += batch.items
                rejects += batch.rejects
                for reason, number in batch.skipped.items():
                    skipped[reason] = skipped.get(reason, 0) + number
        keys = [
            item
            for partition in source.partitions()
            for some in source.keys(partition, size=size)
            for item in some
        ]
    promised = sum(group.items for group in inventory.groups)
    assert promised == len(items)
    assert sum(inventory.rejects.values()) == len(rejects)
    turns = [item for item in items if item.kind == "turn"]
    assert [item._replace(vector=None) for item in turns] == [
        item for item in keys if item.kind == "turn"
    ]
    held = sum(sum(group.vectors.values()) for group in inventory.groups)
    assert held == sum(item.vector is not None for item in items)
    return Read(items, rejects, skipped, inventory)
