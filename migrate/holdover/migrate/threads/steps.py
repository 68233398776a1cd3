"""What the commands do about threads, each on tables of its own.

A target's store and its threads are in one database, but not in one transaction: what
a thread's checkpoint says of itself is enough to find it again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from holdover.migrate.layouts.narrowing import Narrowed
from holdover.migrate.ledger import Run
from holdover.migrate.options import Prepared
from holdover.migrate.sources.base import Batch, Reject, Source
from holdover.migrate.targets.base import Target
from holdover.migrate.threads.moving import (
    PARTITION,
    ThreadsCopied,
    ThreadsTakenBack,
    ThreadsVerified,
    blockers_of,
    compare_threads,
    copy_threads,
    facts_of,
    plan_threads,
    take_back_threads,
)
from holdover.migrate.threads.opening import (
    open_threads,
    refuse_without_checkpointer,
)
from holdover.migrate.threads.table import ThreadTable

if TYPE_CHECKING:
    from holdover.migrate.plan import Plan


__all__ = ["PARTITION", "compare", "copy", "plan", "take_back"]


@contextmanager
def opened_threads(target: Target, *, writing: bool) -> Iterator[ThreadTable | None]:
    """The tables of a target, closed in the end."""
    table = open_threads(target.given, writing=writing)
    try:
        yield table
    finally:
        if table:
            table.close()


def plan(
    into: Plan, source: Source, target: Target, prepared: Prepared, run_id: str
) -> None:
    """Add to a plan what would become of the sessions."""
    refuse_without_checkpointer(target.given)
    whole, inventory = _whole(source), into.inventory
    if whole is not source:
        inventory = whole.inventory()
    with opened_threads(target, writing=False) as table:
        made = plan_threads(whole, table, prepared, run_id, inventory)
    made.weigh(inventory.groups)
    into.threads = made
    into.blockers += blockers_of(made, prepared)
    into.facts += facts_of(inventory)
    for what, locators in made.examples.items():
        into.examples[what] = into.examples.get(what, []) + locators
    for reason, number in made.rejects.items():
        into.rejects[reason] = max(into.rejects.get(reason, 0), number)


def copy(
    source: Source,
    target: Target,
    prepared: Prepared,
    run: Run,
    *,
    rejected: Callable[[Iterable[Reject]], None],
    moved: Callable[[int], None],
) -> tuple[ThreadsCopied, Counter[str]]:
    """Write the threads; also count what was read, where no items are moved.

    The counts are named as the ledger names those of a partition.
    """
    counts: Counter[str] = Counter()
    alone = "items" not in prepared.options.into

    def seen(batch: Batch) -> None:
        if alone:
            rejected(batch.rejects)
            _count(counts, batch)
            moved(len(batch.items))

    with opened_threads(target, writing=True) as table:
        assert table is not None  # noqa: S101 - the plan refused other targets
        done = copy_threads(
            _whole(source), table, target, prepared, run, rejected=rejected, seen=seen
        )
    return done, counts


def compare(
    source: Source,
    target: Target,
    prepared: Prepared,
    run: Run | None,
    *,
    tick: Callable[[int], None],
) -> tuple[ThreadsVerified, Counter[str]]:
    """Compare the threads; also count what was read, as `copy` does."""
    counts: Counter[str] = Counter()
    alone = "items" not in prepared.options.into

    def seen(batch: Batch) -> None:
        if alone:
            _count(counts, batch)
            tick(len(batch.items) + len(batch.rejects))

    with opened_threads(target, writing=False) as table:
        return compare_threads(_whole(source), table, prepared, run, seen=seen), counts


def take_back(target: Target, run_id: str) -> ThreadsTakenBack | None:
    """Undo what a run did to threads; `None` where there are none."""
    with opened_threads(target, writing=False) as looking:
        if looking is None:
            return None
    with opened_threads(target, writing=True) as table:
        return take_back_threads(table, run_id) if table else None


def _whole(source: Source) -> Source:
    """A source with its conversations, of which another layout has none."""
    return source.whole if isinstance(source, Narrowed) else source


def _count(counts: Counter[Any], batch: Batch) -> None:
    counts.update(f"reject:{reject.reason}" for reject in batch.rejects)
    counts.update({f"skip:{why}": n for why, n in batch.skipped.items()})
    counts["expired"] += batch.expired
