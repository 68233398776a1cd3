"""The ledger: runs, their progress and their lease, kept in the target itself."""

from __future__ import annotations

import hashlib
import json
import os
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from langgraph.store.base import PutOp

from holdover.compat import records
from holdover.compat.records import VERSION
from holdover.compat.scope import INTERNAL_ROOT
from holdover.migrate.conflicts import Decision
from holdover.migrate.errors import RunBusy, RunNotFound
from holdover.migrate.sources.base import Reject
from holdover.migrate.targets.base import Target

RUNS = (INTERNAL_ROOT, "runs")
LEASES = (*RUNS, "leases")
_RUN = "run"
_LEASE = "lease"
_PROGRESS = "progress"
_REJECTS = "rejects"
LEASE_SECONDS = 60
_BEAT_SECONDS = 10.0
#: As many leading digits of a run's id as are shown: the moment it was made.
SHOWN = 13
#: Leases that this process holds now, by target and key.
_HELD: set[tuple[str, str]] = set()


@dataclass
class Run:
    """One migration as the ledger knows it.

    `state` is `copying`, `copied`, `done` or `rolling back`.
    """

    id: str
    source: str
    fingerprint: str
    command: str
    state: str
    started_at: str
    planned: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    finished_at: str | None = None
    verified_at: str | None = None

    @property
    def shown(self) -> str:
        """The id as commands print it; any unambiguous beginning is accepted."""
        return self.id[:SHOWN]

    @property
    def lease(self) -> str:
        """The key of its lease: the same for the same command, even before it is."""
        of = f"{self.source}\x00{self.fingerprint}"
        return hashlib.sha256(of.encode("utf-8", "surrogatepass")).hexdigest()

    def value(self) -> dict[str, Any]:
        """The item that holds it."""
        content = {n: v for n, v in vars(self).items() if v is not None and n != "id"}
        return {"kind": _RUN, "content": content, "meta": {"v": VERSION}}

    @classmethod
    def of(cls, run_id: str, value: Mapping[str, Any]) -> Run:
        """Read the item; fields a newer version added are left alone."""
        known = cls.__dataclass_fields__
        content = {n: v for n, v in value["content"].items() if n in known}
        return cls(id=run_id, **content)


@dataclass
class Progress:
    """How far one partition is."""

    partition: str
    cursor: Any = None
    done: bool = False
    counts: Counter[str] = field(default_factory=Counter)
    recorded_at: str = ""

    @classmethod
    def of(cls, value: Mapping[str, Any]) -> Progress:
        """Read the item; fields a newer version added are left alone."""
        content = dict(value["content"])
        content["counts"] = Counter(content.get("counts", {}))
        content["recorded_at"] = value["meta"]["recorded_at"]
        known = cls.__dataclass_fields__
        return cls(**{n: v for n, v in content.items() if n in known})

    @property
    def goes_on(self) -> bool:
        """Whether a later run begins after it; without a cursor it begins anew."""
        return self.done or self.cursor is not None

    @property
    def rejects(self) -> int:
        """How many records could not be moved."""
        return sum(
            number
            for name, number in self.counts.items()
            if name == Decision.CONFLICT or name.startswith("reject:")
        )


class Ledger:
    """Reads and writes the ledger of one target."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._beat = float("-inf")

    def runs(self) -> Iterator[Run]:
        """Every run, oldest first."""
        for run_id, value in self._target.entries(RUNS):
            if value.get("kind") == _RUN:
                yield Run.of(run_id, value)

    def find(self, wanted: str) -> Run:
        """The run whose id begins so.

        Raises:
            RunNotFound: There is none, or more than one.
        """
        found = [run for run in self.runs() if run.id.startswith(wanted)]
        if len(found) == 1:
            return found[0]
        if found:
            ids = ", ".join(run.id for run in found)
            raise RunNotFound(
                f"{wanted!r} begins more than one run.", hint=f"Say which: {ids}."
            )
        raise RunNotFound(
            f"{self._target.address} records no run {wanted!r}.",
            hint=f"List them: holdover status {self._target.address}",
        )

    def matching(self, source: str, fingerprint: str) -> Run | None:
        """The newest run of the same source with the same choices."""
        found = None
        for run in self.runs():
            if (run.source, run.fingerprint) == (source, fingerprint):
                found = run
        return found

    def save_put(self, run: Run) -> PutOp:
        """The put that records a run's state."""
        return self._target.put(RUNS, run.id, run.value())

    def save(self, run: Run) -> None:
        """Record a run's state."""
        self._target.write([self.save_put(run)])

    # Progress.

    def progress(self, run: Run) -> dict[str, Progress]:
        """How far every partition of a run is."""
        return {
            key: Progress.of(value)
            for key, value in self._target.entries((*RUNS, run.id))
            if value.get("kind") == _PROGRESS
        }

    def progress_of(self, run: Run, partition: str) -> Progress | None:
        """How far one partition is, if anything can go on there."""
        (value,) = self._target.read([((*RUNS, run.id), partition)])
        found = None if value is None else Progress.of(value)
        return found if found and found.goes_on else None

    def begin(self, run: Run, stale: Iterable[str]) -> None:
        """Record a run's state; progress of an earlier pass goes in the same write."""
        gone = [self._target.put((*RUNS, run.id), key, None) for key in stale]
        self._target.write([*gone, self.save_put(run)])

    def progress_put(self, run: Run, progress: Progress) -> PutOp:
        """The put that records how far a partition is, for its data's transaction."""
        content = {
            "partition": progress.partition,
            "cursor": progress.cursor,
            "done": progress.done,
            "counts": dict(progress.counts),
        }
        meta = {"v": VERSION, "recorded_at": records.timestamp(records.now())}
        value = {"kind": _PROGRESS, "content": content, "meta": meta}
        return self._target.put((*RUNS, run.id), progress.partition, value)

    # Rejects that a worker of a cluster found: they are listed where the command runs.

    def rejects_put(self, run: Run, rejects: Sequence[Reject]) -> PutOp:
        """The put that keeps rejects, for their data's transaction."""
        meta = {"v": VERSION}
        # As one text: a name in it may hold what a field of an item may not.
        content = {"json": json.dumps(rejects)}
        value = {"kind": _REJECTS, "content": content, "meta": meta}
        return self._target.put((*RUNS, run.id), records.new_revision(), value)

    def take_rejects(
        self, run: Run, listed: Callable[[Iterable[Reject]], None]
    ) -> None:
        """List the rejects that were kept, and forget them after that."""
        namespace = (*RUNS, run.id)
        for key, value in self._target.entries(namespace):
            if value.get("kind") == _REJECTS:
                listed(Reject(*one) for one in json.loads(value["content"]["json"]))
                self._target.write([self._target.put(namespace, key, None)])

    # The lease.

    def holder(self, run: Run) -> dict[str, Any] | None:
        """Who holds the lease of a run."""
        (held,) = self._target.read([(LEASES, run.lease)])
        return None if held is None else dict(held["content"])

    @contextmanager
    def leased(self, run: Run) -> Iterator[None]:
        """Hold the lease of a run.

        Raises:
            RunBusy: A process that still lives holds it.
        """
        here = (self._target.address, run.lease)
        while True:
            (held,) = self._target.read([(LEASES, run.lease)])
            if held is not None and (here in _HELD or not _ended(held["content"])):
                raise RunBusy(_busy(held["content"]))
            # It fails where a holder came in between: perhaps one that was killed
            # meanwhile, whose last statement the server still carried out.
            if self._target.swap(LEASES, run.lease, held, _lease()):
                break
        self._beat = time.monotonic()
        _HELD.add(here)
        try:
            yield
        finally:
            if here in _HELD:
                # Where the target failed already, the lease ends with this process.
                with suppress(Exception):
                    self._target.write([self._lease_put(run, None)])
                _HELD.discard(here)

    def _lease_put(self, run: Run, lease: dict[str, Any] | None) -> PutOp:
        return self._target.put(LEASES, run.lease, lease)

    def finish(self, run: Run) -> None:
        """Record a run's last state and give its lease back, in one write."""
        self._target.write([self.save_put(run), self._lease_put(run, None)])
        _HELD.discard((self._target.address, run.lease))

    def heartbeat(self, run: Run) -> list[PutOp]:
        """The put that keeps the lease, when it is time for one."""
        if time.monotonic() - self._beat < _BEAT_SECONDS:
            return []
        self._beat = time.monotonic()
        return [self._lease_put(run, _lease())]

    def remove(self, run: Run) -> None:
        """Forget a run, its progress and its lease; the run itself last."""
        namespace = (*RUNS, run.id)
        keys = [key for key, _ in self._target.entries(namespace)]
        self._target.write([self._target.put(namespace, key, None) for key in keys])
        gone = self._target.put(RUNS, run.id, None)
        ended = self._lease_put(run, None)
        # Without transactions the run goes last: while it is there, it can be undone.
        atomic = self._target.backend.atomic
        for puts in [[ended, gone]] if atomic else [[ended], [gone]]:
            self._target.write(puts)
        _HELD.discard((self._target.address, run.lease))


def _busy(held: Mapping[str, Any]) -> str:
    return (
        "This run is already being carried out by process "
        f"{held.get('pid', '?')} on {held.get('host', '?')}; wait for it to end."
    )


def new_run(source: str, fingerprint: str, command: str, planned: int) -> Run:
    """A run that begins now; its id is also the revision of what it writes."""
    return Run(
        id=records.new_revision(),
        source=source,
        fingerprint=fingerprint,
        command=command,
        state="copying",
        started_at=records.timestamp(records.now()),
        planned=planned,
    )


def _lease() -> dict[str, Any]:
    ends = records.now() + timedelta(seconds=LEASE_SECONDS)
    return {
        "kind": _LEASE,
        "content": {
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "began": _process_began(os.getpid()),
            "ends_at": records.timestamp(ends),
        },
        "meta": {"v": VERSION},
    }


def _ended(held: Mapping[str, Any]) -> bool:
    """Whether the holder of a lease is gone: known on its own host, else by time."""
    if held.get("host") == socket.gethostname():
        if held.get("pid") == os.getpid():
            return True  # not among those held now: giving it back failed
        return _process_began(int(held.get("pid", 0))) != held.get("began")
    return str(held.get("ends_at", "")) < records.timestamp(records.now())


def _process_began(pid: int) -> str | None:
    """When a process of this host began, so that a reused number is not it."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stat:  # noqa: PTH123
            # The name, in parentheses, may hold spaces; field 22 is the start time.
            fields = stat.read().rpartition(")")[2].split()
        return None if fields[0] == "Z" else fields[19]
    except OSError:
        pass
    if os.path.isdir("/proc/self"):  # noqa: PTH112
        return None
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except PermissionError:
        pass
    return "running"
