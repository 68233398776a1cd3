"""`--scheduler tcp://…`: partitions copied by the workers of a Dask cluster.

A worker opens both ends itself, goes on where the target's ledger says, and keeps the
rejects it finds beside its progress, in the same write; the command lists them. So a
worker, the scheduler or the command may die at any moment, and the same command again
completes the run. What a worker still copies for a command that is gone ends with its
batch: the command's lease is read in every transaction.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from langgraph.store.base import PutOp

from holdover.compat.errors import HoldoverError
from holdover.compat.stores.address import redact_url, resolve_env, scheme_of, tidy
from holdover.migrate.copying import Copier
from holdover.migrate.errand import Ends, Errand, Failure, opened
from holdover.migrate.errors import MigrateError, TargetError, UsageError
from holdover.migrate.ledger import LEASE_SECONDS, Ledger, Progress, Run
from holdover.migrate.sources.base import Partition, Reject

#: What every machine reaches by the same address.
_REACHED = (
    "redis", "rediss", "redis+sentinel", "rediss+sentinel", "upstash+https", "https",
    "postgresql", "postgres", "mysql", "mariadb", "singlestoredb", "mongodb",
    "mongodb+srv", "dynamodb", "factory",
)  # fmt: skip
_TICK = 0.5
_LOOK_SECONDS = 2.0
_WAIT_SECONDS = 20
_LEAVE_SECONDS = 3
#: Groups of partitions for each thread of the cluster: one that is slow is not last.
_GROUPS = 2


class SchedulerUnavailable(MigrateError):
    """The scheduler does not answer, or has no workers."""

    code = "scheduler-unavailable"


class LeaseLost(TargetError):
    """A worker copies for a command that no longer carries out the run."""

    code = "lease-lost"


def check_reachable(source: str, target: str, scheduler: str) -> None:
    """Refuse what workers on other machines cannot open, and what they may not be sent.

    Raises:
        UsageError: An end is a file, or its address holds a password.
    """
    for name, address in (("source", source), ("target", target)):
        base = scheme_of(resolve_env(address)).partition("+")[0]
        if scheme_of(resolve_env(address)) not in _REACHED and base not in _REACHED:
            raise UsageError(
                f"The {name} {redact_url(address)} is on this machine alone, where the "
                "workers of a cluster do not reach it.",
                hint="Leave --scheduler out; --workers N uses this machine.",
            )
        if redact_url(address) != tidy(address):
            raise UsageError(
                f"The {name}'s address holds a password, which would be sent to the "
                "scheduler.",
                hint="Set a variable for every worker and for this command, and give "
                "env:NAME instead.",
            )
    if redact_url(scheduler) != tidy(scheduler):
        raise UsageError(
            "The scheduler's address holds a password.", hint="Use tls:// with Dask's "
            "own configuration."
        )  # fmt: skip


def copy_on(
    errand: Errand,
    ledger: Ledger,
    parts: Sequence[Partition],
    rejected: Callable[[Iterable[Reject]], None],
    moved: Callable[[int], None],
    beat: Callable[[], None],
) -> dict[str, Progress]:
    """Copy partitions on the cluster; how far each is, by its id.

    Raises:
        HoldoverError: What stopped a worker.
        SchedulerUnavailable: The cluster cannot be used, or not any more.
    """
    address = str(errand.options.scheduler)
    watch = _Watch(errand.run, ledger, rejected, moved, beat)
    client = _connected(address)
    futures: list[Any] = []
    try:
        groups = _groups(parts, _threads(client, address), errand.options.workers)
        paced = _shared(errand, len(groups))
        holder = ledger.holder(errand.run)
        futures += [
            client.submit(copy_group, paced, holder, group, pure=False)
            for group in groups
        ]
        return _gathered(client, futures, watch)
    finally:
        _leave(client, futures)
        watch.look()


def _leave(client: Any, futures: list[Any]) -> None:
    """Have nothing more done; a scheduler that is gone does nothing more."""
    with suppress(TimeoutError, OSError):
        if client.status == "running":
            client.cancel(futures, force=True)
    with suppress(TimeoutError, OSError):
        client.close(timeout=_LEAVE_SECONDS)


def _connected(address: str) -> Any:
    try:
        import distributed  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise UsageError(
            "--scheduler needs packages that are not installed.",
            hint="Run: pip install 'holdover[dask]'",
        ) from error
    client: Any = distributed.Client
    try:
        return client(address, timeout=_WAIT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise SchedulerUnavailable(
            f"The scheduler {address} does not answer.", hint="Check the address."
        ) from error


def _threads(client: Any, address: str) -> int:
    try:
        client.wait_for_workers(1, timeout=_WAIT_SECONDS)
    except TimeoutError as error:
        raise SchedulerUnavailable(
            f"The scheduler {address} has no workers.", hint="Start some."
        ) from error
    threads: int = sum(client.nthreads().values())
    return max(1, threads)


def _groups(
    parts: Sequence[Partition], threads: int, limit: int
) -> list[list[Partition]]:
    number = min(len(parts), _GROUPS * threads)
    if limit > 1:
        number = min(number, limit)
    return [list(parts[at::number]) for at in range(number)]


def _shared(errand: Errand, groups: int) -> Errand:
    """Give each group its share of the rate: all may run at once."""
    rate = errand.options.rate
    if not rate:
        return errand
    return replace(errand, options=replace(errand.options, rate=rate / groups))


class _Watch:
    """What the command learns from the ledger while others copy."""

    def __init__(
        self,
        run: Run,
        ledger: Ledger,
        rejected: Callable[[Iterable[Reject]], None],
        moved: Callable[[int], None],
        beat: Callable[[], None],
    ) -> None:
        self._run, self._ledger = run, ledger
        self._rejected, self._moved, self.beat = rejected, moved, beat
        self._seen = self._counted()
        self._looked = time.monotonic()

    def look_now_and_then(self) -> None:
        """Keep the lease; look whether it is time to."""
        self.beat()
        if time.monotonic() - self._looked >= _LOOK_SECONDS:
            self.look()

    def look(self) -> None:
        """List what was rejected meanwhile, and count."""
        self._looked = time.monotonic()
        self._ledger.take_rejects(self._run, self._rejected)
        seen = self._counted()
        self._moved(max(0, seen - self._seen))
        self._seen = max(seen, self._seen)

    def _counted(self) -> int:
        known = self._ledger.progress(self._run).values()
        return sum(one.counts.total() for one in known)


def _gathered(client: Any, futures: list[Any], watch: _Watch) -> dict[str, Progress]:
    """Wait for all groups; the first that failed stops the rest."""
    from distributed import KilledWorker  # noqa: PLC0415 - an extra

    left = list(futures)
    done: dict[str, Progress] = {}
    while left:
        if client.status != "running" or any(one.cancelled() for one in left):
            raise SchedulerUnavailable(
                "The scheduler does not answer any more.",
                hint="Nothing is lost: run the same command again to resume.",
            )
        finished = [one for one in left if one.done()]
        left = [one for one in left if one not in finished]
        for future in finished:
            try:
                result = future.result(timeout=_WAIT_SECONDS)
            except KilledWorker as error:
                raise TargetError(
                    f"Several workers ended while they copied: {error.last_worker}"
                    " was the last.",
                    hint="Have they enough memory? Run the same command again.",
                ) from None
            if isinstance(result, Failure):
                raise result.error()
            done |= {progress.partition: progress for progress in result}
        watch.look_now_and_then()
        if not finished:
            time.sleep(_TICK)
    return done


def copy_group(
    errand: Errand, holder: dict[str, Any] | None, parts: Sequence[Partition]
) -> list[Progress] | Failure:
    """Copy partitions, one after the other: what a worker of the cluster runs."""
    try:
        with opened(errand) as ends:
            return _copied(errand, holder, parts, ends)
    except HoldoverError as error:
        return Failure.of(error)


def _copied(
    errand: Errand,
    holder: dict[str, Any] | None,
    parts: Sequence[Partition],
    ends: Ends,
) -> list[Progress]:
    keeping = _Keeping(Ledger(ends.target), errand.run, holder)
    copier = Copier(
        ends.source,
        ends.target,
        ends.prepared,
        errand.run,
        rejected=keeping.rejected,
        moved=keeping.written,
        also=keeping.puts,
    )
    return [copier.copy(part, copier.known(part)) for part in parts]


class _Keeping:
    """What a worker writes with each batch, if the run is still its command's."""

    def __init__(self, ledger: Ledger, run: Run, holder: dict[str, Any] | None) -> None:
        self._ledger, self._run = ledger, run
        self._holder = _who(holder)
        self._ends_at, self._since = "", time.monotonic()
        self._rejects: dict[Reject, None] = {}

    def rejected(self, rejects: Iterable[Reject]) -> None:
        """Keep them for the next write; one that is tried again has them again."""
        self._rejects |= dict.fromkeys(rejects)

    def written(self, _: int) -> None:
        """They are in the ledger now."""
        self._rejects.clear()

    def puts(self) -> list[PutOp]:
        """The rejects' put; in the transaction, the lease is looked at.

        Raises:
            LeaseLost: Another process has it, or nobody keeps it any more.
        """
        held = self._ledger.holder(self._run)
        if held is None or _who(held) != self._holder or self._left_alone(held):
            raise LeaseLost("The command that this worker copies for has ended.")
        if not self._rejects:
            return []
        return [self._ledger.rejects_put(self._run, list(self._rejects))]

    def _left_alone(self, held: dict[str, Any]) -> bool:
        """By our clock alone, since the other machine's may differ."""
        ends_at = str(held.get("ends_at"))
        if ends_at != self._ends_at:
            self._ends_at, self._since = ends_at, time.monotonic()
        return time.monotonic() - self._since > LEASE_SECONDS


def _who(held: dict[str, Any] | None) -> tuple[Any, ...]:
    held = held or {}
    return (held.get("host"), held.get("pid"), held.get("began"))
