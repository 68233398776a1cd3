"""Status: the runs a target records."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from holdover.migrate.ends import opened_target
from holdover.migrate.ledger import Ledger


@dataclass
class RunStatus:
    """One run: `done` of `planned` records and threads, and what resumes it."""

    run: str
    shown: str
    source: str
    state: str
    started_at: str
    last_progress: str | None
    done: int
    planned: int
    partitions_done: int
    partitions: int
    counts: dict[str, int] = field(default_factory=dict)
    rejects: int = 0
    verified_at: str | None = None
    resume: str | None = None


def status(target: str, run_id: str | None = None) -> list[RunStatus]:
    """List the runs of a target, oldest first, or one; write nothing.

    Raises:
        RunNotFound: `run_id` names none of them.
    """
    with opened_target(target, writing=False) as opened:
        ledger = Ledger(opened)
        runs = list(ledger.runs()) if run_id is None else [ledger.find(run_id)]
        found = []
        for run in runs:
            progress = ledger.progress(run).values()
            counts: Counter[str] = Counter()
            for part in progress:
                counts.update(part.counts)
            rejects = sum(n for name, n in counts.items() if name.startswith("reject:"))
            rejects += counts.get("conflict", 0)
            decided = sum(
                number
                for name, number in counts.items()
                if ":" not in name
                or (name.startswith("thread:") and name != "thread:conflict")
            )
            found.append(
                RunStatus(
                    run=run.id,
                    shown=run.shown,
                    source=run.source,
                    state=run.state,
                    started_at=run.started_at,
                    last_progress=max((p.recorded_at for p in progress), default=None),
                    done=decided - counts.get("conflict", 0) - counts.get("expired", 0),
                    planned=run.planned,
                    partitions_done=sum(part.done for part in progress),
                    partitions=len(progress),
                    counts=dict(counts),
                    rejects=rejects,
                    verified_at=run.verified_at,
                    resume=run.command if run.state in ("copying", "copied") else None,
                )
            )
        return found
