"""Vector memory as a source: whatever a form is, it has collections of documents."""

from __future__ import annotations

import hashlib
from collections import Counter
from contextlib import closing
from typing import TYPE_CHECKING, Any, Protocol

from holdover.compat.stores.address import redact_url
from holdover.migrate.errors import SourceNotFound
from holdover.migrate.sources.base import (
    SAMPLES,
    Batch,
    Blocker,
    Group,
    Inventory,
    Partition,
    Skipped,
)
from holdover.migrate.sources.batching import Rows
from holdover.migrate.sources.vectors_documents import DUPLICATES, Document, Turns

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from holdover.migrate.sources.base import ReadOptions, SourceItem

_NEVER_STORED = (
    "Vector memory holds texts and their vectors: it never kept whose they are, mostly"
    " not when they were said, and a turn that a token buffer still held in memory was"
    " never stored."
)


class Collection(Protocol):
    """The documents that were searched together.

    Attributes:
        root: The root its turns get.
        locator: What the locators of its documents begin with.
    """

    root: str
    locator: str

    def documents(self, after: Any, *, vectors: bool) -> Iterator[Document]:
        """All of them, in an order that is the same every time.

        Args:
            after: A place, or `None`: what stands up to it is `known`, and needs no
                vectors.
            vectors: Whether the others need theirs.
        """
        ...


class VectorForm:
    """One way to keep vector memory; what it says is asked for after all was read."""

    label = ""

    def collections(self) -> list[Collection]:
        """What is there; raises a `SourceError`."""
        raise NotImplementedError

    def skipped(self) -> list[Skipped]:
        """What is there and is not read, and why."""
        return []

    def blockers(self) -> list[Blocker]:
        """What is there and has to be decided about."""
        return []

    def notes(self) -> list[str]:
        """What a reader of any result has to know."""
        return []

    def close(self) -> None:
        """Give back files and connections."""


class VectorSource:
    """Reads one form of vector memory.

    Of several collections `--root` chooses.

    Args:
        address: The address without its password.
        form: What knows the form.
        options: How names are read.
        one: Whether a place mostly holds one, named like its file: `--root` is then
            the name it gets.
    """

    def __init__(
        self, address: str, form: VectorForm, options: ReadOptions, *, one: bool
    ) -> None:
        self.address = redact_url(address)
        if "turns" not in options.kinds:
            raise SourceNotFound(
                f"{self.address} holds vector memory, which is turns: none of"
                f" {', '.join(sorted(options.kinds))} can be read from it.",
                hint="Ask for --kind turns.",
            )
        self.label = form.label
        self._form, self._options, self._one = form, options, one
        self._found: list[Collection] | None = None
        self._left_out: list[Skipped] = []

    def inventory(
        self,
        *,
        others: bool = False,  # noqa: ARG002 - there is nothing else to look at
    ) -> Inventory:
        """Read every text once: only that tells duplicates, sessions and lengths."""
        inventory = Inventory(self.address)
        self._found = None
        skipped: Counter[str] = Counter()
        rejects: Counter[str] = Counter()
        unselected = 0
        for collection in self._collections():
            groups: dict[str, Group] = {}
            turns = Turns(collection.root, collection.locator, self._options)
            with closing(turns):
                for document in collection.documents(None, vectors=False):
                    rows = Rows()
                    turns.add(document, rows)
                    for item in rows.items:
                        group = groups.setdefault(item.root, Group(item.root, "turn"))
                        group.items += 1
                        group.bytes += len(item.content["text"])
                        if document.dims:
                            group.vectors[document.dims] = (
                                group.vectors.get(document.dims, 0) + 1
                            )
                    rejects.update(reject.reason for reject in rows.rejects)
                    skipped.update(rows.skipped)
                unselected += turns.unselected
                for root, group in groups.items():
                    group.sessions = turns.sessions(root)
            inventory.groups += [groups[root] for root in sorted(groups)]
        inventory.rejects = dict(rejects)
        inventory.skipped = [*self._form.skipped(), *self._left_out]
        inventory.skipped_count = len(inventory.skipped)
        inventory.skipped = inventory.skipped[:SAMPLES]
        inventory.blockers = self._form.blockers()
        inventory.notes = [*self._notes(skipped, unselected), *self._form.notes()]
        if inventory.groups:
            inventory.never_stored.append(_NEVER_STORED)
        return inventory

    def partitions(self) -> list[Partition]:
        """One for each collection: only the whole tells what is there twice."""
        return [
            Partition(_partition_id(collection), {"collection": collection.locator})
            for collection in self._collections()
        ]

    def read(
        self, partition: Partition, cursor: Any = None, *, size: int = 10_000
    ) -> Iterator[Batch]:
        """Read a collection; what stands before the cursor only as far as needed."""
        return self._batches(partition, cursor, size, vectors=True)

    def keys(
        self, partition: Partition, *, size: int = 10_000
    ) -> Iterator[list[SourceItem]]:
        """Whole items without vectors: a turn's key is made of its text."""
        for batch in self._batches(partition, None, size, vectors=False):
            yield batch.items

    def fetch(
        self,
        partition: Partition,  # noqa: ARG002 - `keys` gave whole items
        items: Sequence[SourceItem],
    ) -> Batch:
        """Give back what `keys` gave."""
        return Batch(list(items), [], None)

    def close(self) -> None:
        """Close what the form has open."""
        self._found = None
        self._form.close()

    def _batches(
        self, partition: Partition, cursor: Any, size: int, *, vectors: bool
    ) -> Iterator[Batch]:
        wanted = partition.spec["collection"]
        for collection in self._collections():
            if collection.locator != wanted:
                continue
            turns = Turns(collection.root, collection.locator, self._options)
            with closing(turns):
                rows, last = Rows(), cursor
                for document in collection.documents(cursor, vectors=vectors):
                    turns.add(document, rows)
                    if document.known:
                        # Read again, because a later one may be its double.
                        rows = Rows()
                        continue
                    last = document.place
                    if rows.count >= size or rows.full:
                        yield rows.batch(last)
                        rows = Rows()
                if rows.count:
                    yield rows.batch(last)

    def _collections(self) -> list[Collection]:
        if self._found is not None:
            return self._found
        found = self._form.collections()
        roots, left_out = self._options.roots, self._options.skip
        self._left_out = [
            Skipped(one.root, "left out by --skip")
            for one in found
            if one.root in left_out
        ]
        if self._one and roots and len(found) == 1:
            found[0].root = roots[0]
        elif roots:
            self._left_out += [
                Skipped(one.root, "a collection under none of the roots")
                for one in found
                if one.root not in roots and one.root not in left_out
            ]
            found = [one for one in found if one.root in roots]
        found = [one for one in found if one.root not in left_out]
        self._found = sorted(found, key=lambda one: one.locator)
        return self._found

    def _notes(self, skipped: Counter[str], unselected: int) -> list[str]:
        notes = [
            f"{number:,} document{'s' if number > 1 else ''} left out:"
            f" {DUPLICATES[reason]}."
            for reason, number in sorted(skipped.items())
        ]
        if skipped["duplicate-metadata"] and not self._options.field("session", ""):
            notes.append(
                "--field session=KEY takes the session from a metadata key, and keeps"
                " the texts of two sessions apart."
            )
        if unselected:
            notes.append(
                f"{unselected:,} documents are outside the named sessions or the"
                " sample."
            )
        return notes


def _partition_id(collection: Collection) -> str:
    digest = hashlib.sha256(collection.locator.encode("utf-8", "surrogatepass"))
    return f"turns-{digest.hexdigest()[:16]}"
