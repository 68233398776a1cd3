"""Which known entity a name means; where that is not certain, none.

A miss leaves two records that anyone can see and join. A wrong merge mixes the facts
of two people, and is found late. So a rule is here only if two different things hardly
ever meet under it. Left out on purpose, though often right: a possessive (Wendy's is
not Wendy), a company's suffix, a lone word after an article or a title (The Hague,
Dr. Pepper), Junior and Senior, nicknames, initials for names. Case alone, as in Apple
and apple, is one name: `split` parts what it joins.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from holdover.compat.entities.spelling import Form, form_of

MAX_CANDIDATES = 20

How = Literal["exact", "normalised", "alias", "subset", "new", "ambiguous"]
_NOBODY: Mapping[str, None] = {}


@dataclass(frozen=True, slots=True)
class Known:
    """An entity there is a record of.

    `splits` are names somebody has parted from it: they never mean it again.
    """

    name: str
    aliases: frozenset[str] = frozenset()
    splits: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Resolution:
    """What a name means.

    Attributes:
        name: The known entity's name; the given name where it is new or ambiguous.
        how: The rule that found it.
        candidates: Where it is ambiguous, the first of those it may mean. It may as
            well be something else.
    """

    name: str
    how: How
    candidates: tuple[str, ...] = ()


class Index:
    """The known entities, filed so that a name is resolved without a walk over them.

    Not locked: whoever adds while others resolve keeps them apart.
    """

    def __init__(self, known: Iterable[Known] = ()) -> None:
        self._known: dict[str, Known] = {}
        # By "n" or "a" (a name, an alias) and what of it; "w": any word of either;
        # "p": a part of what is plainly a person's name.
        self._owners: dict[tuple[str, str], dict[str, None]] = {}
        for each in known:
            self.add(each)

    def add(self, known: Known) -> None:
        """Add an entity, or replace the one of the same name."""
        self.discard(known.name)
        self._known[known.name] = known
        for place in _places(known):
            self._owners.setdefault(place, {})[known.name] = None

    def discard(self, name: str) -> None:
        """Remove an entity, if it is there."""
        known = self._known.pop(name, None)
        for place in _places(known) if known else ():
            owners = self._owners[place]
            del owners[name]
            if not owners:
                del self._owners[place]

    def resolve(self, name: str) -> Resolution:
        """What `name` means among these."""
        if name in self._known:
            return Resolution(name, "exact")
        form = form_of(name)
        return (
            self._settled(self._called("n", form), name, form, "normalised")
            or self._by_alias(name, form)
            or self._by_part(name, form)
            or self._uncertain(name, form)
            or Resolution(name, "new")
        )

    def _of(self, what: str, text: str) -> Mapping[str, None]:
        return self._owners.get((what, text), _NOBODY)

    def _called(self, what: str, form: Form) -> Mapping[str, None]:
        same = self._of(what, form.plain)
        if form.acronym:
            same = {**same, **self._of(what, form.acronym)}
        if same:
            return same
        # One of the two has nothing that may be left out: José is Jose, Mr. Deven Smith
        # is Deven Smith; but António is not Antônio, nor Mr. Smith Dr. Smith.
        same = self._of(what, form.loose)
        if form.plain == form.loose:
            same = {**same, **self._of(f"{what} loose", form.loose)}
        return same

    def _by_alias(self, name: str, form: Form) -> Resolution | None:
        owners = self._of("a text", name) or self._called("a", form)
        if owners and " " not in form.loose:
            # Smith meant Deven Smith, until there was an Anna Smith.
            owners = {**owners, **self._of("w", form.loose)}
        return self._settled(owners, name, form, "alias")

    def _by_part(self, name: str, form: Form) -> Resolution | None:
        if not self._of("p", form.loose):
            return None
        return self._settled(self._of("w", form.loose), name, form, "subset")

    def _uncertain(self, name: str, form: Form) -> Resolution | None:
        """What looks like a known name and yet is not taken for it.

        Where Deven is known, Deven Smith may be said to tell him from another Deven,
        and Deven Jones may come next: one who is merged with both makes them one. The
        other way round, a short name after the full one takes it up again.
        """
        owners: dict[str, None] = {}
        if form.person:
            for part in form.person:
                owners |= self._of("n", part)
        elif form.plain.endswith("'s"):
            base = form_of(form.plain.removesuffix("'s"))
            owners |= self._called("n", base)
            if base.person:
                return self._settled(owners, name, form, "normalised")
        found = self._allowed(owners, form)
        return Resolution(name, "ambiguous", found) if found else None

    def _settled(
        self, owners: Mapping[str, None], name: str, form: Form, how: How
    ) -> Resolution | None:
        found = self._allowed(owners, form)
        if found and len(owners) == 1:
            return Resolution(found[0], how)
        return Resolution(name, "ambiguous", found) if found else None

    def _allowed(self, owners: Mapping[str, None], form: Form) -> tuple[str, ...]:
        allowed = (each for each in owners if not self._parted(each, form))
        return tuple(islice(allowed, MAX_CANDIDATES))

    def _parted(self, owner: str, form: Form) -> bool:
        said = form.ways
        return any(said & form_of(each).ways for each in self._known[owner].splits)


def resolve(name: str, known: Iterable[Known] | Index) -> Resolution:
    """What `name` means among the `known`; for many names, build an `Index` once."""
    index = known if isinstance(known, Index) else Index(known)
    return index.resolve(name)


def _places(known: Known) -> set[tuple[str, str]]:
    places = {("a text", alias) for alias in known.aliases}
    for what, text in [("n", known.name), *(("a", alias) for alias in known.aliases)]:
        form = form_of(text)
        places |= {(what, form.plain), (f"{what} loose", form.loose)}
        if form.acronym:
            places.add((what, form.acronym))
        places |= {("w", word) for word in form.loose.split()}
        places |= {("p", part) for part in form.person or ()}
    return places
