"""What a run moved and the source no longer holds: expired there, or deleted.

The places the source holds now are kept on local disk, as digests, so that memory
stays flat. A list that was trimmed lost its oldest messages to a limit, not because
anybody wanted them gone: of aligned partitions only a session that vanished as a
whole counts. And what lay in something that cannot be read now (a file half written, a
history whose server does not answer) is not known to be gone.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Generator, Iterable
from contextlib import closing, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Literal

from holdover.compat import journal, records
from holdover.compat.errors import InvalidScope, UnportableValue
from holdover.compat.scope import INTERNAL_ROOT, unescape
from holdover.migrate.building import RowBuilder
from holdover.migrate.sources.base import SAMPLES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from langgraph.store.base import PutOp

    from holdover.compat.stores.backend import Namespace
    from holdover.migrate.ledger import Run
    from holdover.migrate.options import Prepared
    from holdover.migrate.sources.base import Partition, Reject, Source, SourceItem
    from holdover.migrate.targets.base import StoredRow, Target

OnSourceDelete = Literal["keep", "delete"]

# A key that ends within this time is not worth the question whether it was deleted.
_SLACK = timedelta(seconds=1)
_DIGEST_BYTES = 16
_CACHE_KIB = 16_384


@dataclass
class Deletions:
    """What the source no longer holds, of what the run moved.

    Attributes:
        deleted: It was deleted there.
        expired: Its lifetime had ended.
        removed: It was deleted in the target, too, and journaled.
        changed: It would have been, but the application changed it here.
        unknown: What held it cannot be read now; it is kept.
        examples: Locators of some that were deleted.
    """

    deleted: int = 0
    expired: int = 0
    removed: int = 0
    changed: int = 0
    unknown: int = 0
    examples: list[str] = field(default_factory=list)


def look_for_deletions(
    source: Source,
    target: Target,
    prepared: Prepared,
    run: Run,
    policy: OnSourceDelete,
    *,
    tick: Callable[[int], None] = lambda _: None,
    beat: Callable[[], None] = lambda: None,
) -> Deletions:
    """Compare the names in a source with what a run wrote; `delete` follows."""
    builder = RowBuilder.of(prepared, run.id)
    with closing(_Places()) as places:
        for partition in source.partitions():
            for items, rejects in _pages(source, partition):
                places.refuse(rejects)
                found = []
                for item in items:
                    try:
                        namespace, key = builder.place(item)
                    except (InvalidScope, UnportableValue):
                        continue
                    found.append((namespace, None if partition.aligned else key))
                places.add(found)
                tick(len(items))
                beat()
        deletions = Deletions()
        for rows in target.rows_of_run(run.id):
            at = records.timestamp(records.now() + _SLACK)
            for row in rows:
                if row.namespace[0] == INTERNAL_ROOT or row in places:
                    continue
                if places.may_hold(_locator(row.value)):
                    deletions.unknown += 1
                else:
                    _note(deletions, target, row, run, policy, at)
            beat()
        return deletions


def _pages(
    source: Source, partition: Partition
) -> Iterator[tuple[Sequence[SourceItem], Sequence[Reject]]]:
    """The names in a partition; where only reading finds them, with the rejects.

    Where names are read alone, those of what is unreadable are among them.
    """
    names = source.keys(partition)
    first = next(names, None)
    if first and not first[0].content:
        yield first, ()
        for items in names:
            yield items, ()
        return
    if isinstance(names, Generator):
        names.close()
    for batch in source.read(partition):
        yield batch.items, batch.rejects


def _note(
    deletions: Deletions,
    target: Target,
    row: StoredRow,
    run: Run,
    policy: OnSourceDelete,
    at: str,
) -> None:
    meta = row.value["meta"]
    if records.is_expired(meta, at):
        deletions.expired += 1
        return
    deletions.deleted += 1
    if len(deletions.examples) < SAMPLES:
        deletions.examples.append(str(meta["source"].get("locator", "")))
    if policy != "delete":
        return
    if records.intact(row.value) and _delete(target, row, run):
        deletions.removed += 1
    else:
        deletions.changed += 1


def _delete(target: Target, row: StoredRow, run: Run) -> bool:
    """Remove an item that still is as the run wrote it; its journal can restore it.

    There is no mark: what comes back in the source comes back here.
    """
    moment = records.now()
    meta = row.value["meta"]
    into = journal.namespace(row.namespace[:-1], row.namespace[-1], row.key)
    parent = records.revision_of(row.value, row.value["kind"])
    record = records.read(row.value["kind"], row.key, row.value)
    left = records.remaining(meta)
    ttl = None if left is None else max(0.0, left.total_seconds() / 60)

    def entry(revision: str, value: Any) -> PutOp:
        return target.put(into, revision, value, ttl)

    revision = records.new_revision()
    event = journal.deletion(
        record.name if record else row.key,
        revision=revision,
        parent=parent,
        at=records.timestamp(moment),
    )
    # A rollback takes it away with the rest of the run.
    event["meta"]["source"] = {"kind": "migration", "run": run.id}
    also = [entry(revision, event)]
    if parent:
        also.insert(0, entry(parent, row.value))
    if target.backend.atomic:
        return target.swap(row.namespace, row.key, row.value, None, also=also)
    # The journal first: a kill in between loses nothing.
    target.write(also)
    if target.swap(row.namespace, row.key, row.value, None):
        return True
    target.write([target.put(op.namespace, op.key, None) for op in also])
    return False


def _locator(value: Mapping[str, Any]) -> str:
    meta = value["meta"]
    locator = str(meta["source"].get("locator", ""))
    if "meta.source.locator" in meta.get("escaped", ()):
        with suppress(InvalidScope):
            return unescape(locator)
    return locator


def _holders(locator: str) -> list[bytes]:
    """A record, and what it lies in: a file by its name, a list, a history."""
    if locator.startswith("file:"):
        locator = f"file:{locator.rpartition('/')[2].removeprefix('file:')}"
    return [_digest_of(one) for one in (locator, locator.rpartition("#")[0]) if one]


class _Places:
    """Places, on local disk; a key of `None` stands for a whole namespace."""

    def __init__(self) -> None:
        self._conn = sqlite3.connect("", isolation_level=None)
        self._conn.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        for name in ("place", "refused"):
            self._conn.execute(
                f"CREATE TABLE {name} (digest BLOB PRIMARY KEY) WITHOUT ROWID"
            )

    def add(self, pairs: Iterable[tuple[Namespace, str | None]]) -> None:
        digests = dict.fromkeys(_digest(*pair) for pair in pairs)
        self._conn.execute("BEGIN")
        self._conn.executemany(
            "INSERT OR IGNORE INTO place VALUES (?)", [(one,) for one in digests]
        )
        self._conn.execute("COMMIT")

    def __contains__(self, row: StoredRow) -> bool:
        digests = (_digest(row.namespace, row.key), _digest(row.namespace, None))
        query = "SELECT 1 FROM place WHERE digest IN (?, ?)"
        return self._conn.execute(query, digests).fetchone() is not None

    def refuse(self, rejects: Iterable[Reject]) -> None:
        """Note what could not be read, and what that lies in."""
        self._conn.executemany(
            "INSERT OR IGNORE INTO refused VALUES (?)",
            [(one,) for reject in rejects for one in _holders(reject.locator)],
        )

    def may_hold(self, locator: str) -> bool:
        """Whether a record may still be there, in what could not be read."""
        query = "SELECT 1 FROM refused WHERE digest = ?"
        return any(
            self._conn.execute(query, (one,)).fetchone() for one in _holders(locator)
        )

    def close(self) -> None:
        self._conn.close()


def _digest(namespace: Namespace, key: str | None) -> bytes:
    # No label holds a dot, and no key a NUL.
    return _digest_of(".".join(namespace) + ("" if key is None else f"\x00{key}"))


def _digest_of(text: str) -> bytes:
    raw = text.encode("utf-8", "backslashreplace")
    return blake2b(raw, digest_size=_DIGEST_BYTES).digest()
