"""Serialized memories in a file, or in a folder with any other histories."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdover.migrate.sources.base import Inventory, Partition, Reject, Skipped
from holdover.migrate.sources.batching import Rows
from holdover.migrate.sources.files import (
    NEVER_STORED,
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
from holdover.migrate.sources.serialized_memories import (
    is_expected,
    is_ours,
    memories_in,
)
from holdover.migrate.sources.serialized_reading import roots_of_json, roots_of_pickle
from holdover.migrate.sources.sniffing import (
    Kind,
    kind_by_name,
    kind_of_bytes,
    may_be_memory,
)
from holdover.migrate.sources.whole import take_inventory

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
_UNCLEAR = "its JSON is not clearly a memory; given by its own path, it is read"
_OF_MEMORIES = (
    "A serialized memory keeps no time, no lifetime, and no name of the session but "
    "the file's."
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
        # What an inventory tells of what was read.
        self._never_stored: dict[str, None] = {}
        # Eight bytes of each file, and whether it is ours.
        self._ours: dict[int, bool] = {}
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
        self._never_stored.clear()
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
        found.never_stored += self._never_stored
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
                if isinstance(one, Skip):
                    rows.skipped[one.reason] += one.number
                elif isinstance(one, Skipped):
                    rows.skipped[_NO_HISTORY] += 1
                else:
                    rows.add(one)
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
        kind = self._kind(entry)
        if kind not in _READ:
            return super()._no_history(entry)
        if not self._many or kind is not Kind.SERIALIZED:
            return None
        try:
            ours = self._is_ours(entry)
        except OSError as error:
            return not_read(entry, error)
        return None if ours else Skipped(text_of(entry.place), _UNCLEAR)

    def _is_ours(self, entry: Entry) -> bool:
        """Whether JSON in a folder is to be read: of others, it is left alone."""
        path = Path(entry.path)
        status = path.stat()
        known = hash((entry.path, status.st_size, status.st_mtime_ns))
        if known not in self._ours:
            (root,) = roots_of_json(path, self._encoding)
            if isinstance(root, Unreadable):
                with path.open("rb") as file:
                    self._ours[known] = may_be_memory(file.read(_HEAD))
            else:
                found = is_ours(root) and next(memories_in(root), None)
                self._ours[known] = bool(found)
        return self._ours[known]

    def _kind(self, entry: Entry) -> Kind | None:
        """What a file is, by its beginning; `None` if it cannot be read."""
        if self._told is None or self._told[0] != entry.path:
            try:
                with Path(entry.path).open("rb") as file:
                    head = file.read(_HEAD)
            except OSError:
                return None
            kind = kind_by_name(Path(entry.path)) if self._many else None
            kind = kind or kind_of_bytes(head, entry.path.lower())
            self._told = (entry.path, kind)
        return self._told[1]

    def _held(self, entry: Entry) -> Iterator[SourceItem | Reject | Skip]:
        """What a file holds, of the kinds and sessions that are asked for."""
        kind = self._kind(entry)
        self._never_stored[_OF_MEMORIES if kind in _READ else NEVER_STORED] = None
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
        if not all(map(is_ours, whole)):
            # An empty object is a loss where a memory has to be, and nothing elsewhere.
            memories = [
                one
                for one in memories
                if one.empty != ["empty-object"] or is_expected(one)
            ]
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
