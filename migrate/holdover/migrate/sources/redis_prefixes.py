"""What keys of chat histories begin with, and the patterns that find them.

A history's key is its `key_prefix` and then the session, with nothing in between. Most
prefixes end with a colon, which a root leaves out; some do not.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from holdover.migrate.errors import UsageError
from holdover.migrate.sources.naming import Foreign

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

#: Prefixes that begin with so many letters alike are looked for together.
_ALIKE = 2
_GLOB = str.maketrans({letter: f"\\{letter}" for letter in "\\*?[]"})


class Session(NamedTuple):
    """A key whose parts are known; put together they are the key again."""

    prefix: str
    session: str

    @property
    def root(self) -> str:
        """The first label of the scope: the prefix without a last colon."""
        return self.prefix.removesuffix(":")


class Prefixes:
    """The prefixes that the named roots stand for.

    `NAME:` is exactly that prefix. `NAME` is the prefix `NAME:`; only where no key
    begins with that (or those that do are named by themselves) it is the whole prefix.

    Args:
        roots: As they were named; none is the layout's own prefix.
        default: That prefix.

    Raises:
        UsageError: A root is no text.
    """

    def __init__(self, roots: Sequence[str], default: str) -> None:
        if not all(map(is_text, roots)):
            raise UsageError("The name of a root has to be UTF-8.")
        exact = {root for root in roots or [default] if root.endswith(":")}
        open_ = set(roots) - exact
        colons = {f"{root}:" for root in open_}
        #: Whether a prefix is whole, or the beginning of one that ends with a colon.
        self._whole = dict.fromkeys(exact | colons, True) | dict.fromkeys(open_, False)
        self._order = sorted(self._whole, key=len, reverse=True)
        self._unseen = {
            f"{root}:".encode(): tuple(
                other.encode()
                for other in exact | colons
                if other.startswith(f"{root}:")
                and (other != f"{root}:" or other in exact)
            )
            for root in open_
        }

    @property
    def beginnings(self) -> list[str]:
        """What the keys begin with, those that may turn out to be others' included."""
        return list(self._whole)

    def note(self, keys: Sequence[bytes]) -> None:
        """Learn which roots have keys with a colon behind them, from all keys."""
        for colon, longer in list(self._unseen.items()):
            if any(
                key.startswith(colon) and not key.startswith(longer) for key in keys
            ):
                del self._unseen[colon]

    def split(self, key: str) -> Session | Foreign:
        """Split a key, by the longest prefix that fits."""
        why = "under none of the roots"
        for prefix in self._order:
            if key.startswith(prefix):
                if self._whole[prefix] or self._is_whole(prefix):
                    return Session(prefix, key[len(prefix) :])
                why = "with no colon behind the root"
        return Foreign(why)

    def split_known(self, key: str, session: str, tail: str) -> Session | Foreign:
        """Split a key that ends with a known session, a colon and `tail`."""
        prefix = key.removesuffix(f"{session}:{tail}")
        for known in self._order:
            if not key.startswith(known):
                continue
            if len(prefix) == len(key):  # not named as the library names it
                found = self.split(key)
                return (
                    found if isinstance(found, Foreign) else Session(found[0], session)
                )
            if prefix.startswith(known) if self._whole[known] else prefix == known:
                return Session(prefix, session)
        return Foreign("under none of the roots")

    def twin(self, one: Session) -> Session | None:
        """The other key whose messages would come to the same place."""
        if one.prefix.endswith(":") or f"{one.prefix}:" not in self._whole:
            return None
        return Session(f"{one.prefix}:", one.session)

    def _is_whole(self, root: str) -> bool:
        return f"{root}:".encode() in self._unseen


def patterns(beginnings: Iterable[str]) -> list[str]:
    """As few patterns for SCAN as find all keys that begin so, and few others."""
    known = set(beginnings)
    outermost = sorted(
        one for one in known if not any(one != o and one.startswith(o) for o in known)
    )
    found = []
    for _, group in groupby(outermost, lambda one: one[:_ALIKE]):
        alike = list(group)
        shared = _shared(alike[0], alike[-1])  # sorted: that of all
        letters = "".join(sorted({one[len(shared) : len(shared) + 1] for one in alike}))
        choice = f"[{letters}]" if letters.isalnum() and letters.isascii() else ""
        found.append(f"{shared.translate(_GLOB)}{choice if len(alike) > 1 else ''}*")
    return found


def _shared(one: str, other: str) -> str:
    """What both begin with."""
    for at, (letter, its) in enumerate(zip(one, other, strict=False)):
        if letter != its:
            return one[:at]
    return one


def is_text(root: str) -> bool:
    """Whether it can be the beginning of a key."""
    try:
        root.encode()
    except UnicodeEncodeError:  # bytes of the command line that are none
        return False
    return True
