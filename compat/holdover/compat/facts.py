"""Triples as records of a store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from holdover.compat import marks, records
from holdover.compat.both_ways import Do, Operation
from holdover.compat.repository import Repository
from holdover.compat.stores.backend import Read, Steps, arun, revision_in, run
from holdover.compat.triples import KnowledgeTriple

_KIND = "triple"
#: Facts are added whatever was cleared before.
ANY_TIME = object()


def read(stored: Repository) -> Operation[list[KnowledgeTriple]]:
    """All of them, in the order in which they came in."""
    found: list[tuple[str, KnowledgeTriple]] = []
    after: str | None = None
    while page := (yield _page(stored, after)):
        for record in page:
            triple = _triple_of(record)
            if triple is not None:
                found.append((record.revision or "", triple))
        after = page[-1].key
    # Items are in the order of their hashes, revisions in that of their making.
    return [triple for _, triple in sorted(found, key=lambda one: one[0])]


def add(
    stored: Repository, triples: Sequence[KnowledgeTriple], clearing: Any = ANY_TIME
) -> Operation[None]:
    """Add some; none where `last_clearing` was another one."""
    if not triples or (yield from _is_over(stored, clearing)):
        return
    contents = list(map(_content, triples))
    outcomes = yield Do(
        lambda: stored.put_many(_KIND, contents),
        lambda: stored.aput_many(_KIND, contents),
    )
    if (yield from _is_over(stored, clearing)):
        # Cleared in between: what this has added goes again.
        added = zip(triples, outcomes, strict=True)
        yield from remove(stored, [one for one, what in added if what == "written"])


def remove(stored: Repository, triples: Sequence[KnowledgeTriple]) -> Operation[None]:
    """Remove some, and no others."""
    keys = [records.key_of(_KIND, _content(triple)) for triple in triples]
    if keys:
        yield Do(
            lambda: stored.delete_many(_KIND, keys),
            lambda: stored.adelete_many(_KIND, keys),
        )


def clear(stored: Repository) -> Do:
    """Remove all of them."""
    return Do(lambda: stored.clear(_KIND), lambda: stored.aclear(_KIND))


def last_clearing(stored: Repository) -> Do:
    """What tells the last time they were cleared, by whomever, from any other."""
    label = records.KINDS[_KIND].label
    into = marks.deleted_namespace(stored.scope.encoded(), label)

    def revision() -> Steps[Any]:
        (note,) = yield Read([(into, marks.SESSION)])
        return revision_in(note)

    backend = stored._backend  # noqa: SLF001 - our own class
    return Do(lambda: run(backend, revision()), lambda: arun(backend, revision()))


def _is_over(stored: Repository, clearing: Any) -> Operation[bool]:
    if clearing is ANY_TIME:
        return False
    last = yield last_clearing(stored)
    return bool(last != clearing)


def _page(stored: Repository, after: str | None) -> Do:
    return Do(
        lambda: stored.page(_KIND, after=after),
        lambda: stored.apage(_KIND, after=after),
    )


def _content(triple: KnowledgeTriple) -> dict[str, str]:
    subject, predicate, object_ = triple
    text = f"{subject} {predicate} {object_}"
    return {
        "subject": subject,
        "predicate": predicate,
        "object": object_,
        "text": text,
    }


def _triple_of(record: records.Record) -> KnowledgeTriple | None:
    parts = [record.content.get(name) for name in ("subject", "predicate", "object")]
    if not all(isinstance(part, str) for part in parts):
        return None
    return KnowledgeTriple(*parts)  # type: ignore[arg-type]
