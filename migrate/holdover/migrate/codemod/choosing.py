"""Which rules a command line means."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from holdover.migrate.codemod.rule import Rule
from holdover.migrate.errors import UsageError


def choose(
    known: Collection[str], select: Iterable[str] = (), ignore: Iterable[str] = ()
) -> frozenset[str]:
    """The codes that are selected and not ignored; all of them by default.

    Args:
        known: All there are.
        select: Codes or how they begin, separated by commas.
        ignore: Likewise; it wins.

    Raises:
        UsageError: Nothing begins so, or nothing is left.
    """
    chosen = frozenset(known)
    if wanted := list(_words(select)):
        chosen = _meant(known, wanted, "--select")
    chosen -= _meant(known, _words(ignore), "--ignore")
    if not chosen:
        raise UsageError("--select and --ignore leave no rule.")
    return chosen


def rule_of(known: dict[str, Rule], code: str) -> Rule:
    """The rule of a code.

    Raises:
        UsageError: There is none.
    """
    rule = known.get(code.strip().upper())
    if rule is None:
        raise UsageError(f"--explain {code}: no such rule. {_HINT}")
    return rule


_HINT = "Those there are: holdover codemod --list"


def _words(lists: Iterable[str]) -> Iterable[str]:
    return (word.strip().upper() for text in lists for word in text.split(","))


def _meant(known: Collection[str], words: Iterable[str], option: str) -> frozenset[str]:
    found: set[str] = set()
    for word in words:
        codes = {code for code in known if word and code.startswith(word)}
        if not codes:
            raise UsageError(f"{option} {word or repr(word)}: no such rule. {_HINT}")
        found |= codes
    return frozenset(found)
