"""What the names in one turn mean: each the entity it is known as, or a new one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from holdover.compat import events
from holdover.compat.both_ways import Operation
from holdover.compat.entities.access import Entities
from holdover.compat.resolve import Index, Known


@dataclass(slots=True)
class Meaning:
    """The entities that were named.

    Attributes:
        summaries: By the name each is known by, in the order they were named; `""`
            for new ones.
        said: What each was called instead, if anything.
    """

    summaries: dict[str, str] = field(default_factory=dict)
    said: dict[str, list[str]] = field(default_factory=dict)


def meaning_of(
    names: Sequence[str], entities: Entities, *, tell: bool = True
) -> Operation[Meaning]:
    """Find out which entities are meant: never by a guess.

    Args:
        names: As they were said.
        entities: Where they are looked up.
        tell: Whether to count what was resolved, as events.
    """
    meaning = Meaning()
    if not names:
        return meaning
    exact = yield from entities.read(names)
    known: Sequence[Known] | None = []
    if None in exact.values():
        known = yield from entities.known()
    index = None if known is None else Index(known)
    resolved = ambiguous = 0
    for said in names:
        name = said
        if index is not None and exact[said] is None:
            found = index.resolve(said)
            name = found.name
            resolved += name != said
            ambiguous += found.how == "ambiguous"
            if name == said:
                # Whoever is named twice in one turn is one and the same.
                index.add(Known(said))
        meaning.summaries.setdefault(name, exact.get(name) or "")
        if name != said:
            meaning.said.setdefault(name, []).append(said)
    others = [name for name in meaning.summaries if name not in exact]
    if others:
        found_there = yield from entities.read(others)
        meaning.summaries |= {name: found_there[name] or "" for name in others}
    if tell:
        for event, count in (
            ("name_resolved", resolved),
            ("name_ambiguous", ambiguous),
        ):
            if count:
                events.emit(event, entities.root, count)
    return meaning
