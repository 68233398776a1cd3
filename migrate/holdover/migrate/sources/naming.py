"""What a physical name says: root, session and entity. Pure logic, no I/O.

A Redis key is `{root}:{session}:{entity}` and a SQLite table `{root}_{session}`. All
three parts may be empty and may hold the separator, so a name alone does not always
tell them apart; what decides is in `ReadOptions`, and nothing is guessed.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from holdover.compat.rollout import in_share
from holdover.migrate.errors import UsageError
from holdover.migrate.sources.base import AmbiguousKey

if TYPE_CHECKING:
    from holdover.migrate.sources.base import ReadOptions

#: Where the entity stores kept theirs unless they were told otherwise.
ENTITY_ROOTS = ("memory_store",)
_ASCII_LOWER = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}
_SAMPLED = 4096  # sessions whose sampling is remembered


class Split(NamedTuple):
    """A key whose parts are known; joined with colons they are the key again."""

    root: str
    session: str
    entity: str


class TableSplit(NamedTuple):
    """A table whose parts are known; `session` is spelt as in the table's name."""

    root: str
    session: str


class Foreign(NamedTuple):
    """A name that none of the roots made, and why."""

    why: str


def fold(name: str) -> str:
    """Fold a table name as SQLite does: ASCII letters only."""
    return name.lower() if name.isascii() else name.translate(_ASCII_LOWER)


class Names:
    """The naming rules of one `ReadOptions`, prepared for many names."""

    def __init__(self, options: ReadOptions) -> None:
        self._ambiguous = options.ambiguous
        roots = set(options.roots_or(*ENTITY_ROOTS))
        self._roots = sorted(roots, key=len, reverse=True)
        self._prefixes = [(root, f"{root}:") for root in self._roots]
        self._sessions = options.sessions
        self._longest = max(map(len, options.sessions), default=-1)
        self._lengths = frozenset(map(len, options.sessions))
        self._pattern = _pattern(options.session_pattern)
        self._tables = [(root, fold(f"{root}_")) for root in self._roots]
        self._folded = frozenset(map(fold, options.sessions))
        self._only_named = options.only_named
        self._fraction = options.sample
        self.selects_all = not options.only_named and options.sample >= 1
        self._sampled = lru_cache(_SAMPLED)(in_share)

    def split(self, key: str) -> Split | AmbiguousKey | Foreign:
        """Split a Redis key; `--ambiguous first|last` has settled what it settles."""
        split = self.parse(key)
        if type(split) is AmbiguousKey:
            return self.settle(split)
        return split

    def settle(self, key: AmbiguousKey) -> Split | AmbiguousKey:
        """Choose the reading that the options ask for, if they ask for one."""
        if self._ambiguous == "first":
            return Split(key.root, *key.first)
        if self._ambiguous == "last":
            return Split(key.root, *key.last)
        return key

    def parse(self, key: str) -> Split | AmbiguousKey | Foreign:
        """Split a Redis key as far as its text and the named sessions tell."""
        if len(self._prefixes) == 1:  # the common case, at a quarter less
            root, prefix = self._prefixes[0]
            if key.startswith(prefix):
                session, colon, entity = key[len(prefix) :].partition(":")
                if colon and ":" not in entity:
                    return Split(root, session, entity)
        return self._parse_among(key)

    def _parse_among(self, key: str) -> Split | AmbiguousKey | Foreign:
        """Split a key that is not clear, or that several roots may fit."""
        fitting = []
        why = "under none of the roots"
        for root, prefix in self._prefixes:
            if key.startswith(prefix):
                rest = key[len(prefix) :]
                if ":" in rest:
                    fitting.append((root, rest))
                else:
                    why = "no entity part"
        if not fitting:
            return Foreign(why)
        root, rest = fitting[0]  # the longest root
        session, _, entity = rest.partition(":")
        clear = ":" not in entity
        if self._sessions and not (clear and len(fitting) == 1):
            listed = max(
                ((root, rest, self._listed_end(rest)) for root, rest in fitting),
                key=lambda found: found[2],  # max keeps the longest root of equals
            )
            if listed[2] >= 0:
                return _cut(*listed)
        if clear:
            return Split(root, session, entity)
        if (end := self._pattern_end(rest)) >= 0:
            return _cut(root, rest, end)
        before, _, after = rest.rpartition(":")
        return AmbiguousKey(key, root, (session, entity), (before, after))

    def table(self, name: str) -> TableSplit | Foreign:
        """Split a SQLite table's name."""
        folded = fold(name)
        fitting = [
            TableSplit(root, name[len(prefix) :])
            for root, prefix in self._tables
            if folded.startswith(prefix)
        ]
        if not fitting:
            return Foreign("under none of the roots")
        # The shortest root leaves the longest session.
        for split in reversed(fitting):
            if self.lists(split.session):
                return split
        return fitting[0]

    def lists(self, session: str) -> bool:
        """Tell whether a table's session is one of `--session`, letter case aside."""
        return fold(session) in self._folded

    def selects(self, session: str, *, table: bool = False) -> bool:
        """Tell whether a session is to be read: `only_named` and `sample`."""
        if self._only_named and not (
            self.lists(session) if table else session in self._sessions
        ):
            pattern = self._pattern
            if pattern is None or pattern.fullmatch(session) is None:
                return False
        return self._fraction >= 1 or self._sampled(session, self._fraction)

    def selects_key(self, key: AmbiguousKey) -> bool:
        """Tell whether an ambiguous key could belong to a session to be read."""
        # A named session would have settled it, so among named ones it is not.
        return not self._only_named and (
            self._fraction >= 1
            or any(
                self._sampled(session, self._fraction)
                for session, _ in (key.first, key.last)
            )
        )

    def _listed_end(self, rest: str) -> int:
        """Length of the longest listed session that begins `rest`, or -1."""
        end = rest.rfind(":", 0, self._longest + 1)
        while end >= 0:
            if end in self._lengths and rest[:end] in self._sessions:
                return end
            end = rest.rfind(":", 0, end)
        return -1

    def _pattern_end(self, rest: str) -> int:
        if self._pattern is None:
            return -1
        end = rest.rfind(":")
        while end >= 0:
            if self._pattern.fullmatch(rest, 0, end):
                return end
            end = rest.rfind(":", 0, end)
        return -1


def _pattern(regex: str | None) -> re.Pattern[str] | None:
    if regex is None:
        return None
    try:
        return re.compile(regex)
    except re.error as error:
        raise UsageError(
            f"--session-pattern is not a regular expression: {error}."
        ) from error


def _cut(root: str, rest: str, end: int) -> Split:
    return Split(root, rest[:end], rest[end + 1 :])


@lru_cache(maxsize=16)
def names(options: ReadOptions) -> Names:
    """Prepare the rules of `options`, once."""
    return Names(options)


def split_key(text: str, options: ReadOptions) -> Split | AmbiguousKey | Foreign:
    """Split one Redis key; many are faster through `Names`."""
    return names(options).split(text)


def split_table(name: str, options: ReadOptions) -> TableSplit | Foreign:
    """Split the name of one SQLite table; many are faster through `Names`."""
    return names(options).table(name)
