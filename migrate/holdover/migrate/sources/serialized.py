"""Serialized memories in a file, or in a folder with any other histories."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdover.migrate.sources.base import Inventory, Partition, Reject, Skipped
from holdover.migrate.sources.batching import Rows
from holdover.migrate.sources.files import (
    PARTITIONS,
    Entry,
    FileHistories,
    locator_of,
    not_read,
    order_of,
    text_of,
)
from holdover.migrate.sources.gml import Damage, edges_of
from holdover.migrate.sources.messages import Unreadable
from holdover.migrate.sources.naming import Names
from holdover.migrate.sources.serialized_items import Roots, Skip, items_of, triple
from holdover.migrate.sources.serialized_losses import LOSSES
from holdover.migrate.sources.serialized_memories import memories_in
from holdover.migrate.sources.serialized_reading import roots_of_json, roots_of_pickle
from holdover.migrate.sources.sniffing import Kind, kind_of_bytes
from holdover.migrate.sources.whole import size_of, take_inventory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdover.migrate.sources.base import Batch, ReadOptions, SourceItem

__all__ = ["MemoryFiles"]

_READ = (Kind.SERIALIZED, Kind.PICKLE, Kind.GML)
_LABELS = frozenset({"messages", "entities", "summary", "triples", "turns"})
_ENDINGS = (".json", ".pkl", ".pickle", ".gml")
_NO_MEMORY = Unreadable("no-memory", "There is no memory in what was serialized here.")
_NO_HISTORY = "not-a-history"
_MOST_POINTERS = 20
_HEAD = 64 << 10
_NEVER_STORED = (
    "A serialized memory keeps no time, no lifetime, and no name of the session but "
    "the file's"
)


class MemoryFiles(FileHistories):
    """A file with a serialized memory, or a folder of those and of file histories.

    Args:
        address: The path.
        path: The file or folder.
        options: As for `FileHistories`; `roles` says what becomes of messages that
            lost their type.
    """

    def __init__(self, address: str, path: Path, options: ReadOptions) -> None:
        super().__init__(address, path, options)
        named = options.roots[:1]
        self._roots = Roots(*(named * 2 or ("memory_store", "message_store")))
        self._inner = Names(
            replace(options, session_pattern=None, only_named=False)
            if self._pattern
            else options
        )
        self._losses: Counter[str] = Counter()
        self._pointers: dict[str, None] = {}
        self._told: tuple[str, Kind] | None = None
        self.label = "Folder of memories" if self._many else "Serialized memory"

    def inventory(self, *, others: bool = False) -> Inventory:  # noqa: ARG002 - likewise
        """Read every file once; raises a `SourceError` if the path cannot be read."""
        found = Inventory(self.address)
        self._check_there()
        if not self.partitions():
            return found
        self._look_at_names(found)
        self._losses.clear()
        self._pointers.clear()
        batches = (
            _without_names(batch)
            for partition in self.partitions()
            for batch in self.read(partition)
        )
        take_inventory(found, batches)
        for group in found.groups:
            group.root = group.root or self._root
        found.notes += [
            f"{LOSSES[code]} ({number:,} found)."
            for code, number in self._losses.items()
            if number
        ]
        found.notes += [f"Not in the files: {where}." for where in self._pointers]
        if found.groups:
            found.never_stored.append(f"{_NEVER_STORED}.")
        return found

    def partitions(self) -> list[Partition]:
        """Shares of a folder's sessions, by hash; or the one file."""
        if not self._options.kinds & _LABELS:
            return []
        if not self._many:
            return [Partition("memories-file", aligned=True)]
        return [
            Partition(f"memories-files-{share}", {"share": share}, aligned=True)
            for share in range(PARTITIONS)
        ]

    def read(
        self, partition: Partition, cursor: Any = None, *, size: int = 10_000
    ) -> Iterator[Batch]:
        """Read files by name from behind the one that the cursor names."""
        rows = Rows()
        done = cursor
        for entry, problem in self._share(partition):
            if cursor is not None and order_of(entry.place) <= order_of(cursor):
                continue
            for one in [problem] if problem else self._held(entry):
                if isinstance(one, Reject):
                    rows.rejects.append(one)
                elif isinstance(one, Skip):
                    rows.skipped[one.reason] += one.number
                elif isinstance(one, Skipped):
                    rows.skipped[_NO_HISTORY] += 1
                else:
                    rows.items.append(one)
                    rows.size += size_of(one.content)
                if rows.count >= size or rows.full:
                    yield rows.batch(done)
                    rows = Rows()
            done = text_of(entry.place)
        if rows.count:
            yield rows.batch(done)

    def files(self) -> Iterator[tuple[str, str, str]]:
        """The file histories: what else was serialized may hold more than a memory."""
        for session, path, locator in super().files():
            if self._kind(Entry("", path, "")) not in _READ:
                yield session, path, locator

    def _selected(self, entry: Entry) -> Iterator[Entry]:
        """The entry with its session; a file of several sessions is read to see."""
        if self._kind(entry) not in _READ:
            if "messages" in self._options.kinds:
                yield from super()._selected(entry)
            return
        if self._pattern:
            yield from super()._selected(entry)
            return
        name = entry.place.rpartition("/")[2]
        for ending in _ENDINGS:
            name = name.removesuffix(ending)
        yield entry._replace(session=name)

    def _no_history(self, entry: Entry) -> Reject | Skipped | None:
        return None if self._kind(entry) in _READ else super()._no_history(entry)

    def _kind(self, entry: Entry) -> Kind | None:
        """What a file is, by its beginning; `None` if it cannot be read."""
        if self._told is None or self._told[0] != entry.path:
            try:
                with Path(entry.path).open("rb") as file:
                    head = file.read(_HEAD)
            except OSError:
                return None
            self._told = (entry.path, kind_of_bytes(head, entry.path.lower()))
        return self._told[1]

    def _held(self, entry: Entry) -> Iterator[SourceItem | Reject | Skip]:
        """What a file holds, of the kinds and sessions that are asked for."""
        kind = self._kind(entry)
        if kind not in _READ:
            yield from self._messages(entry)
            return
        found: Iterator[SourceItem | Reject | Skip]
        if kind is Kind.GML:
            found = self._graph(entry) if "triples" in self._options.kinds else iter(())
        else:
            found = self._memories(entry, kind)
        try:
            for one in found:
                if isinstance(one, Reject | Skip) or self._inner.selects(one.session):
                    yield one
        except OSError as error:
            if not self._many:
                raise self._unreadable(error) from None
            yield not_read(entry, error)

    def _memories(
        self, entry: Entry, kind: Kind
    ) -> Iterator[SourceItem | Reject | Skip]:
        place = locator_of(entry)
        name = f"file:{text_of(Path(entry.path).name)}"
        path = Path(entry.path)
        if kind is Kind.PICKLE:
            roots = roots_of_pickle(path)
        else:
            roots = roots_of_json(path, self._encoding)
        there = False
        whole: list[Any] = []
        for root in roots:
            if isinstance(root, Unreadable):
                yield Reject(root.reason, place, root.detail)
                there = True
            else:
                whole.append(root)
        # Of a file with several pickles, each is one of a list.
        memories = list(memories_in(whole[0] if len(whole) == 1 else whole))
        for memory in memories:
            there = True
            for pointer in memory.pointers:
                if len(self._pointers) < _MOST_POINTERS:
                    self._pointers[pointer] = None
        yield from items_of(
            memories,
            entry.session,
            name,
            roots=self._roots,
            kinds=self._options.kinds,
            roles=self._options.roles,
            losses=self._losses,
        )
        if not there and self._many:
            yield Skip(_NO_MEMORY.reason)
        elif not there:
            yield Reject(_NO_MEMORY.reason, place, _NO_MEMORY.detail)

    def _graph(self, entry: Entry) -> Iterator[SourceItem | Reject]:
        name = f"file:{text_of(Path(entry.path).name)}"
        with Path(entry.path).open("rb") as file:
            for at, edge in enumerate(edges_of(file)):
                locator = f"{name}#{at}"
                if isinstance(edge, Damage):
                    detail = f"The graph cannot be read on: {edge.detail}."
                    yield Reject("damaged-gml", locator_of(entry), detail)
                elif edge.source is None or edge.target is None:
                    yield Reject(
                        "no-such-node", locator, "One of its nodes is missing."
                    )
                else:
                    yield triple(edge, self._roots, entry.session, locator)


def _without_names(batch: Batch) -> Batch:
    """The batch without what an inventory names one by one."""
    skipped = {why: n for why, n in batch.skipped.items() if why != _NO_HISTORY}
    return batch._replace(skipped=skipped)
