"""Partitions copied by others: processes of this machine, or a cluster's workers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from holdover.migrate.errand import Errand
from holdover.migrate.ledger import Ledger, Progress, Run
from holdover.migrate.options import Prepared
from holdover.migrate.sources.base import Partition, Reject
from holdover.migrate.targets import Target


def copy_by_others(
    addresses: tuple[str, str],
    prepared: Prepared,
    run: Run,
    target: Target,
    parts: Sequence[Partition],
    *,
    rejected: Callable[[Iterable[Reject]], None],
    moved: Callable[[int], None],
) -> dict[str, Progress]:
    """Copy partitions; how far each is, by its id.

    Args:
        addresses: The source's and the target's, as they were given.
        prepared: What was asked for.
        run: The run that is carried out.
        target: The target, opened here: the run's lease is kept from here.
        parts: What is to be copied.
        rejected: Told of what cannot be moved.
        moved: Told how many records were read.
    """
    errand = Errand.of(*addresses, prepared, run)
    ledger = Ledger(target)

    def beat() -> None:
        if puts := ledger.heartbeat(run):
            target.write(puts)

    if prepared.options.scheduler:
        from holdover.migrate.cluster import copy_on  # noqa: PLC0415 - an extra

        return copy_on(errand, ledger, parts, rejected, moved, beat)
    from holdover.migrate.workers import Workers  # noqa: PLC0415 - not for a cluster

    number = min(prepared.options.workers, len(parts))
    with Workers(errand, number, rejected, moved, beat) as workers:
        return workers.copy(parts)
