"""Several sources at one address: what each finds there, as one."""

from __future__ import annotations

import shlex
from collections import Counter
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from holdover.migrate.sources.base import SAMPLES, Inventory, Skipped

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from holdover.migrate.sources.base import (
        Batch,
        Blocker,
        Group,
        Partition,
        ReadOptions,
        Source,
        SourceItem,
    )

_PART = "part of the place"


#: What a part says of an object that looks like nothing it knows.
_UNKNOWN = {"not an entity table", "no chat history"}


class CombinedSource:
    """The parts of a place, each of which reads one layout.

    A part that has `lists_objects` names in `skipped` every object of the place (a
    table) that is not its own; what one of the others moves is not skipped.

    Args:
        address: The address without its password.
        label: What the place is, for a person.
        parts: What reads it; no two have a partition of the same id.
        options: How its names are read.
    """

    def __init__(
        self, address: str, label: str, parts: Sequence[Source], options: ReadOptions
    ) -> None:
        self.address = address
        self.label = label
        self.parts = parts
        self._options = options

    def inventory(self, *, others: bool = False) -> Inventory:
        """Put together what the parts find."""
        found = [part.inventory(others=others) for part in self.parts]
        whole = Inventory(self.address)
        rejects: Counter[str] = Counter()
        for one in found:
            rejects.update(one.rejects)
            whole.groups += one.groups
            whole.ambiguous += one.ambiguous
            whole.ambiguous_count += one.ambiguous_count
            whole.blockers += one.blockers
            whole.others += one.others
            whole.notes += [note for note in one.notes if note not in whole.notes]
            told = whole.never_stored
            told += [fact for fact in one.never_stored if fact not in told]
        whole.blockers = [self._fixed(one, whole.groups) for one in whole.blockers]
        whole.rejects = dict(rejects)
        whole.ambiguous = whole.ambiguous[:SAMPLES]
        skipped, number = self._skipped(found)
        whole.skipped, whole.skipped_count = skipped[:SAMPLES], number
        return whole

    def _fixed(self, blocker: Blocker, groups: Sequence[Group]) -> Blocker:
        """Advice to name a root, with those that are read while none is named."""
        if self._options.roots or not blocker.fix.startswith("--root "):
            return blocker
        read = dict.fromkeys(group.root for group in groups if group.items)
        fix = " ".join(f"--root {shlex.quote(root)}" for root in read)
        return blocker._replace(fix=f"{fix} {blocker.fix}".strip())

    def _skipped(self, found: Sequence[Inventory]) -> tuple[list[Skipped], int]:
        """What nobody moves; of several reasons the one that says most."""
        shared: list[dict[str, str]] = []
        skipped: list[Skipped] = []
        number = 0
        for part, one in zip(self.parts, found, strict=True):
            if getattr(part, "lists_objects", False):
                shared.append(dict(one.skipped))
            else:
                skipped += one.skipped
                number += one.skipped_count
        if shared:
            names = [
                name for name in shared[0] if all(name in other for other in shared[1:])
            ]
            skipped += [
                Skipped(name, _why([whys[name] for whys in shared])) for name in names
            ]
            number += len(names)
        return skipped, number

    def partitions(self) -> list[Partition]:
        """Those of all parts; each says whose it is, also in another process."""
        return [
            replace(partition, spec={**partition.spec, _PART: at})
            for at, part in enumerate(self.parts)
            for partition in part.partitions()
        ]

    def read(
        self, partition: Partition, cursor: Any = None, *, size: int = 10_000
    ) -> Iterator[Batch]:
        """Read by the part whose partition it is."""
        return self._owner(partition).read(partition, cursor, size=size)

    def keys(
        self, partition: Partition, *, size: int = 10_000
    ) -> Iterator[list[SourceItem]]:
        """Read names by the part whose partition it is."""
        return self._owner(partition).keys(partition, size=size)

    def fetch(self, partition: Partition, items: Sequence[SourceItem]) -> Batch:
        """Read values by the part whose partition it is."""
        return self._owner(partition).fetch(partition, items)

    def begin(self) -> None:
        """Have the parts find what is read, where they have to look for it."""
        for part in self.parts:
            if (begin := getattr(part, "begin", None)) is not None:
                begin()

    def close(self) -> None:
        """Close every part, whatever one of them raises."""
        with ExitStack() as stack:
            for part in self.parts:
                stack.callback(part.close)

    def _owner(self, partition: Partition) -> Source:
        at = partition.spec.get(_PART)
        if at is None:  # made by hand
            known = {one.id: one.spec[_PART] for one in self.partitions()}
            at = known[partition.id]
        owner: Source = self.parts[at]
        return owner


def _why(reasons: Sequence[str]) -> str:
    """One reason of several parts: what one of them knows, if one does."""
    known = [reason for reason in reasons if reason not in _UNKNOWN]
    if known or len(reasons) == 1:
        return max(known or reasons, key=len)
    return "neither an entity table nor a chat history"
