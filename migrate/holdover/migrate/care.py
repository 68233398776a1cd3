"""Care for a store: sweep what expired, forget a session or an entity, probe."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from holdover.compat import records
from holdover.compat.repository import Repository
from holdover.compat.stores.probing import ProbeReport
from holdover.compat.stores.probing import probe as probe_store
from holdover.compat.testing import Report, check, known_differences
from holdover.migrate.ends import opened_target
from holdover.migrate.errors import UsageError
from holdover.migrate.mapping import DEFAULT_TEMPLATE, Mapper
from holdover.migrate.targets import Target

_UNREACHED = (
    "the old data itself: delete it there, or it can be moved again elsewhere",
    "backups of the target and of the old data",
    "rejects files and reports of earlier runs",
    "checkpoints and traces of the application",
)


@dataclass
class SweepReport:
    """How many expired items were removed, and list entries made right.

    Only a Redis has lists that can disagree with the items: after an eviction.
    """

    target: str
    removed: int
    mended: int = 0


@dataclass
class ForgetReport:
    """What was erased, and what cannot be reached from here."""

    target: str
    items: int
    revisions: int
    whole_session: bool
    not_reached: list[str] = field(default_factory=lambda: list(_UNREACHED))


@contextmanager
def _existing(target: str) -> Iterator[Target]:
    """Open a store for writing that is there already: a wrong name creates nothing."""
    with opened_target(target, writing=False) as looking:
        if looking.missing:
            raise UsageError(
                f"{looking.address} holds no store.", hint="Check the address."
            )
    with opened_target(target, writing=True) as opened:
        yield opened


def probe(target: str) -> ProbeReport:
    """Test whether a store keeps items exact and apart; its canaries are removed."""
    with opened_target(target, writing=True) as opened:
        opened.prepare()
        return probe_store(opened.store)


def probe_fully(target: str) -> Report:
    """Run the conformance suite; what is known of stores we open is not a failure."""
    with opened_target(target, writing=True) as opened:
        opened.prepare()
        return check(opened.store, differences=known_differences(opened.store))


def sweep(target: str) -> SweepReport:
    """Remove expired items, also from stores that keep no lifetimes themselves."""
    with _existing(target) as opened:
        removed = 0
        own = getattr(opened.store, "sweep_ttl", None)
        if own is not None:
            removed += own()
        at = records.timestamp(records.now())
        for namespace in opened.namespaces():
            for key, value in opened.entries(namespace):
                meta = value.get("meta")
                if isinstance(meta, dict) and records.is_expired(meta, at):
                    removed += opened.swap(namespace, key, value, None)
        repair = getattr(opened.store, "repair", None)
        return SweepReport(opened.address, removed, repair() if repair else 0)


def forget(
    target: str,
    session: str,
    *,
    entity: str | None = None,
    root: str = "memory_store",
    template: str = DEFAULT_TEMPLATE,
) -> ForgetReport:
    """Erase a session, or one entity of it, and stop it from coming back."""
    scope = Mapper(template).scope("entity", root, session)
    with _existing(target) as opened:
        repository = Repository(opened.store, scope)
        done = (
            repository.forget()
            if entity is None
            else repository.forget("entity", entity)
        )
        return ForgetReport(
            opened.address, done.items, done.revisions, done.whole_scope
        )
