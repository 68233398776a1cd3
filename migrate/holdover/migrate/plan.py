"""The plan: what a migration would do, found out without writing anything."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from holdover.compat import tombstones
from holdover.compat.errors import InvalidScope, UnportableValue
from holdover.compat.stores.backend import run as run_steps
from holdover.migrate.aligning import Aligned
from holdover.migrate.building import RowBuilder
from holdover.migrate.conflicts import WRITES, Decision
from holdover.migrate.layouts.applying import ShapedTarget
from holdover.migrate.layouts.shape import named
from holdover.migrate.options import Prepared
from holdover.migrate.sources.base import (
    SAMPLES,
    Blocker,
    Inventory,
    Partition,
    Reject,
    Source,
    SourceItem,
)
from holdover.migrate.targets.base import Target
from holdover.migrate.targets.resolving import Resolver
from holdover.migrate.weighing import weigh_vectors

if TYPE_CHECKING:
    from holdover.migrate.threads.moving import ThreadsPlan

# Measured on two cores (docs/performance.md); only an order of magnitude.
_ITEMS_PER_SECOND = {"SQLite store": 50_000, "PostgreSQL store": 20_000}
_OTHER_PER_SECOND = 2_000
_ROW_OVERHEAD = 500


@dataclass
class Plan:
    """What would happen.

    Attributes:
        inventory: What the source holds.
        decisions: How many records meet which fate, by `Decision` value.
        examples: Locators of some conflicts and collisions.
        blockers: Why nothing may be written yet.
        facts: What an operator should know before writing to the target.
        seconds: About how long the copy takes.
        embedded_texts: How many texts `--index` would embed.
        embedded_tokens: About how many tokens those have.
        vectors_kept: How many vectors of the source are written as they are.
        vector_facts: What becomes of the source's vectors, in sentences.
        threads: What would become of the sessions, where threads are asked for.
    """

    source: str
    target: str
    target_label: str
    inventory: Inventory
    run: str | None = None
    decisions: dict[str, int] = field(default_factory=dict)
    collisions: int = 0
    rejects: dict[str, int] = field(default_factory=dict)
    examples: dict[str, list[str]] = field(default_factory=dict)
    blockers: list[Blocker] = field(default_factory=list)
    facts: list[str] = field(default_factory=list)
    seconds: float = 0.0
    embedded_texts: int = 0
    embedded_tokens: int = 0
    vectors_kept: int = 0
    vector_facts: list[str] = field(default_factory=list)
    threads: ThreadsPlan | None = None

    @property
    def items(self) -> int:
        """How many records the source holds that can be read."""
        return sum(self.decisions.values())

    @property
    def items_to_write(self) -> int:
        """How many records would be written."""
        return sum(self.decisions.get(str(decision), 0) for decision in WRITES)

    @property
    def to_write(self) -> int:
        """How many records and threads would be written."""
        return self.items_to_write + (self.threads.to_write if self.threads else 0)


def make_plan(
    source: Source,
    target: Target,
    prepared: Prepared,
    run_id: str,
    *,
    again: bool = False,
) -> Plan:
    """Look at both ends; `run_id` is the run that would be, or is, carried out.

    With `again` that run read everything once: what is absent is new or unreadable.
    """
    inventory = source.inventory()
    plan = Plan(source.address, target.address, target.label, inventory)
    plan.blockers += inventory.blockers
    plan.rejects = dict(inventory.rejects)
    plan.facts += target.facts()
    mapper = prepared.mapper
    if "threads" in prepared.options.into:
        from holdover.migrate.threads import steps  # noqa: PLC0415 - rare

        steps.plan(plan, source, target, prepared, run_id)
    if "items" not in prepared.options.into:
        pass
    elif target.holds_anything() or not mapper.injective:
        builder = RowBuilder.of(prepared, run_id)
        source = Aligned(source, target, builder)
        with closing(
            _Examiner(source, target, builder, prepared, plan, run_id, again=again)
        ) as examiner:
            examiner.examine()
    else:
        items = sum(group.items for group in inventory.groups)
        plan.decisions = {str(Decision.COPY): items}
    _weigh(plan, target, prepared)
    return plan


class _Examiner:
    """Compares names with the target, and values only where a name is taken."""

    def __init__(
        self,
        source: Source,
        target: Target,
        builder: RowBuilder,
        prepared: Prepared,
        plan: Plan,
        run_id: str,
        *,
        again: bool,
    ) -> None:
        self._source, self._target = source, target
        self._builder, self._plan = builder, plan
        self._policy = prepared.options.on_conflict
        shape = named(prepared.options.layout)
        self._shaped: Any = ShapedTarget(target, shape, run_id) if shape else None
        self._decisions: Counter[str] = Counter()
        self._rejects: Counter[str] = Counter()
        self._spool = None if prepared.mapper.injective else _Spool()
        # Where anything was deleted or forgotten, an absent name says nothing; and
        # where all that can be read was copied, mostly that it cannot be.
        self._look_at_all = (
            again
            or target.holds_marks()
            or run_steps(target.backend, tombstones.any_there())
        )

    def examine(self) -> None:
        """Fill in the plan's decisions, collisions and rejects."""
        for partition in self._source.partitions():
            for items in self._source.keys(partition):
                self._compare(partition, items)
        plan = self._plan
        plan.decisions = dict(self._decisions)
        for reason, number in self._rejects.items():
            plan.rejects[reason] = max(plan.rejects.get(reason, 0), number)
        conflicts = plan.decisions.get(str(Decision.CONFLICT), 0)
        # What has no revisions stays a conflict where they are asked for.
        lasting = ("fail", "version") if self._shaped else ("fail",)
        if conflicts and self._policy in lasting:
            plan.blockers.append(
                Blocker(
                    "conflicts",
                    f"{conflicts:,} places in the target hold other values",
                    "--on-conflict skip|overwrite"
                    if self._shaped
                    else "--on-conflict skip|version|overwrite",
                )
            )
        if plan.collisions:
            plan.blockers.append(
                Blocker(
                    "collisions",
                    f"{plan.collisions:,} records would share a place with another",
                    "a --template or --session-map that keeps them apart",
                )
            )

    def _compare(self, partition: Partition, items: list[SourceItem]) -> None:
        placed = []
        for item in items:
            try:
                placed.append((item, self._builder.place(item)))
            except (InvalidScope, UnportableValue) as error:
                self._reject([Reject("scope", item.locator, str(error))])
        if self._spool:
            taken = self._spool.add(pair for _, pair in placed)
            self._plan.collisions += len(taken)
            self._sample("collision", (placed[at][0].locator for at in taken))
        values = self._target.read([pair for _, pair in placed])
        known = [
            item
            for (item, _), value in zip(placed, values, strict=True)
            if value is not None or self._look_at_all
        ]
        self._decisions[str(Decision.COPY)] += len(placed) - len(known)
        if not known:
            return
        # What has its content was read whole.
        complete = [item for item in known if item.content]
        names = [item for item in known if not item.content]
        if names:
            fetched = self._source.fetch(partition, names)
            complete += fetched.items
            self._reject(fetched.rejects)
        rows, rejects = self._builder.rows(complete)
        self._reject(rejects)
        resolver = self._shaped or Resolver(self._target)
        for one in resolver.resolve(rows, self._policy):
            self._decisions[str(one.decision)] += 1
            if one.decision is Decision.CONFLICT:
                self._sample("conflict", [one.row.locator])

    def _reject(self, rejects: Iterable[Reject]) -> None:
        self._rejects.update(reject.reason for reject in rejects)

    def _sample(self, what: str, locators: Iterable[str]) -> None:
        kept = self._plan.examples.setdefault(what, [])
        for locator in locators:
            if len(kept) < SAMPLES:
                kept.append(locator)

    def close(self) -> None:
        if self._spool:
            self._spool.close()


class _Spool:
    """The places seen so far, on local disk: memory stays flat."""

    def __init__(self) -> None:
        self._conn = sqlite3.connect("", isolation_level=None)
        self._conn.execute(
            "CREATE TABLE place (namespace TEXT, key TEXT, "
            "PRIMARY KEY (namespace, key)) WITHOUT ROWID"
        )

    def add(self, pairs: Iterable[tuple[tuple[str, ...], str]]) -> list[int]:
        """Remember places; return which of them were taken before."""
        taken = []
        self._conn.execute("BEGIN")
        for at, (namespace, key) in enumerate(pairs):
            place = (".".join(namespace), key)
            cursor = self._conn.execute(
                "INSERT OR IGNORE INTO place VALUES (?, ?)", place
            )
            if not cursor.rowcount:
                taken.append(at)
        self._conn.execute("COMMIT")
        return taken

    def close(self) -> None:
        self._conn.close()


def _weigh(plan: Plan, target: Target, prepared: Prepared) -> None:
    """Size, time and embeddings, as far as they can be known beforehand."""
    write = plan.items_to_write
    total = sum(group.items for group in plan.inventory.groups) or 1
    size = sum(group.bytes for group in plan.inventory.groups) * write // total
    rate = _ITEMS_PER_SECOND.get(target.label, _OTHER_PER_SECOND)
    if prepared.options.rate:
        rate = min(rate, prepared.options.rate)  # type: ignore[assignment]
    plan.seconds = write / rate
    needed = size + write * _ROW_OVERHEAD
    if plan.threads:
        plan.seconds += plan.threads.seconds
        needed += plan.threads.bytes
    free = target.free_bytes()
    if free is not None and plan.to_write and free < needed:
        plan.blockers.append(
            Blocker(
                "space",
                f"the target needs about {needed:,} bytes and its disk has {free:,}",
                "more space",
            )
        )
    weigh_vectors(plan, target, prepared.options)
