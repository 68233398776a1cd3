"""Copies one partition after the other: the loop that can run in any process."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from langgraph.store.base import PutOp

from holdover.compat import records
from holdover.compat.reading import LABELS
from holdover.migrate.aligning import Aligned
from holdover.migrate.building import RowBuilder
from holdover.migrate.layouts.applying import ShapedTarget
from holdover.migrate.layouts.shape import named
from holdover.migrate.ledger import Ledger, Progress, Run
from holdover.migrate.options import Prepared
from holdover.migrate.pacing import Pace
from holdover.migrate.sources.base import Batch, Partition, Reject, Source
from holdover.migrate.targets import Applied, Note, Row, Target
from holdover.migrate.targets.vectors import EMBEDDED_AT_ONCE, ModelCheck, index_dims

_ATTEMPTS = 6
_PAUSE = 0.05


class Copier:
    """Copies partitions of a source into a target, and their progress with them.

    Args:
        source: The source, opened in this process.
        target: The target, opened for writing in this process.
        prepared: What was asked for.
        run: The run that is carried out.
        rejected: Told of what cannot be moved, before the progress that passes over
            it: a kill in between may list it twice, but never drops it.
        moved: Told how many records were read with each batch.
        wait: Called with as many, to hold back; by default for `--rate`.
        also: What is written with each batch's progress; by default the lease.
    """

    def __init__(
        self,
        source: Source,
        target: Target,
        prepared: Prepared,
        run: Run,
        *,
        rejected: Callable[[Iterable[Reject]], None],
        moved: Callable[[int], None] = lambda _: None,
        wait: Callable[[int], None] | None = None,
        also: Callable[[], Iterable[PutOp]] | None = None,
    ) -> None:
        self._target, self._run = target, run
        self._ledger = Ledger(target)
        self._options = prepared.options
        self._mapper = prepared.mapper
        self._builder = RowBuilder.of(prepared, run.id)
        self._source = Aligned(source, target, self._builder)
        self._rejected, self._moved = rejected, moved
        self._wait = wait or Pace(prepared.options.rate).wait
        self._also = also or partial(self._ledger.heartbeat, run)
        self._labelled: set[str] = set()
        rate = self._options.rate
        self._batch = max(1, min(self._options.batch, int(rate) if rate else 10**9))
        if index_dims(target):
            self._batch = min(self._batch, EMBEDDED_AT_ONCE)
        shape = named(prepared.options.layout)
        shaped = ShapedTarget(target, shape, run.id) if shape else None
        self._apply_rows: Any = shaped.apply if shaped else target.apply
        self._model = ModelCheck(target, self._options.vectors)

    def known(self, part: Partition) -> Progress:
        """Where a partition goes on, by the ledger.

        What has no cursor is read again from its beginning, and counted again.
        """
        return self._ledger.progress_of(self._run, part.id) or Progress(part.id)

    def copy(self, part: Partition, progress: Progress) -> Progress:
        """Copy what is left of a partition; record how far that is with every batch."""
        if progress.done:
            return progress
        for batch in self._source.read(part, progress.cursor, size=self._batch):
            progress = self._apply(batch, progress)
            self._moved(len(batch.items))
            self._wait(len(batch.items))
        progress = Progress(part.id, progress.cursor, done=True, counts=progress.counts)
        put = self._ledger.progress_put(self._run, progress)
        self._target.write([put, *self._also()])
        return progress

    def _apply(self, batch: Batch, progress: Progress) -> Progress:
        rows, refused = self._builder.rows(batch.items)
        labels = self._label_puts()
        following = progress
        self._model.check(rows)
        rejects = [*batch.rejects, *refused]
        self._rejected(rejects)

        def note(applied: Applied) -> list[PutOp]:
            nonlocal following
            counts: Counter[str] = Counter(progress.counts)
            counts.update({str(d): n for d, n in applied.decisions.items()})
            counts.update(f"reject:{reject.reason}" for reject in rejects)
            counts.update({f"skip:{why}": n for why, n in batch.skipped.items()})
            counts["expired"] += batch.expired
            self._rejected(applied.rejects)
            following = Progress(progress.partition, batch.cursor, counts=counts)
            return [
                self._ledger.progress_put(self._run, following),
                *self._also(),
                *labels,
            ]

        self._applied(rows, note)
        return following

    def _applied(self, rows: Sequence[Row], note: Note) -> Applied:
        """Apply a batch, again where other writers were in the way."""
        policy = self._options.on_conflict
        applied: Applied
        for attempt in range(_ATTEMPTS):
            try:
                applied = self._apply_rows(rows, policy, note)
            except Exception as error:
                if not self._target.backend.transient(error):
                    raise
                time.sleep(_PAUSE * 2**attempt)
            else:
                return applied
        applied = self._apply_rows(rows, policy, note)
        return applied

    def _label_puts(self) -> list[PutOp]:
        """Keep the whole of labels that had to be shortened."""
        new = {
            encoded: raw
            for encoded, raw in self._mapper.cut_labels.items()
            if encoded not in self._labelled
        }
        self._labelled |= new.keys()
        meta = {"recorded_at": records.timestamp(records.now()), "source": {}}
        return [
            self._target.put(
                LABELS, encoded, records.build("label", {"label": raw}, meta)
            )
            for encoded, raw in new.items()
        ]
