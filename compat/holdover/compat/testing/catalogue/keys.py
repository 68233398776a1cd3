"""Keys are exact: whatever text they are, and no two of them are one."""

from __future__ import annotations

import unicodedata

from holdover.compat.testing.outcomes import Severity
from holdover.compat.testing.registry import Group
from holdover.compat.testing.steps import Attempt, Steps
from holdover.compat.testing.trial import Trial, delete, expect, get

_group = Group("key")
_LONG = 2_000


def _apart(trial: Trial, *keys: str) -> Steps[None]:
    yield from trial.keeps(
        {(trial.at(), key): {"n": number} for number, key in enumerate(keys)}
    )


@_group.holds(Severity.LOSS)
def case(trial: Trial) -> Steps[None]:
    """Keys that differ only in case are different."""
    yield from _apart(trial, "Alice", "alice", "ALICE")


@_group.holds(Severity.LOSS)
def accents(trial: Trial) -> Steps[None]:
    """Keys that differ only in an accent are different."""
    yield from _apart(trial, "resume", "résumé", "strasse", "straße")


@_group.holds(Severity.LOSS)
def word_forms(trial: Trial) -> Steps[None]:
    """Keys that are forms of one word are different, stop words too."""
    yield from _apart(trial, "user", "users", "run", "running", "a", "the")


@_group.holds(Severity.LOSS)
def separators(trial: Trial) -> Steps[None]:
    """In a key, characters that separate things elsewhere stand for themselves."""
    keys = ["a,b", "a:b", "a/b", "a.b", "a|b", "a;b", "a\\b", "a b", "a-b", "a@b.com"]
    yield from _apart(trial, *keys, "a", "b", "ab", "'", '"', "--", "{a}", "/a.md", "~")


@_group.holds(Severity.LOSS)
def separators_when_deleted(trial: Trial) -> Steps[None]:
    """Deleting or writing a part of a key leaves the key alone."""
    for key in ("a,b", "c d", "e:f", "g.h"):
        yield trial.put(trial.at(), key, {"key": key})
    for key in ("b", "d", "f", "h"):
        yield delete(trial.at(), key)
        yield trial.put(trial.at(), key, {"key": key})
    yield from trial.still(
        {(trial.at(), key): {"key": key} for key in ("a,b", "c d", "e:f", "g.h")}
    )


@_group.holds(Severity.LOSS)
def wildcards(trial: Trial) -> Steps[None]:
    """In a key, characters that are wildcards elsewhere stand for themselves."""
    yield from _apart(trial, "a_b", "aXb", "a%b", "a*b", "a?b", "*", "%", "_", "a*")


@_group.holds(Severity.LOSS)
def spaces(trial: Trial) -> Steps[None]:
    """Space at the edge of a key counts, and a key may be nothing else."""
    yield from _apart(trial, "x", "x ", " x", "x\n", " ", "\n", "\t")


@_group.holds(Severity.LOSS)
def empty(trial: Trial) -> Steps[None]:
    """The empty key is a key."""
    yield from _apart(trial, "", "x")


@_group.holds(Severity.SEMANTICS)
def nul(trial: Trial) -> Steps[None]:
    """A NUL in a key works."""
    yield from _apart(trial, "a\x00b", "a", "ab")


@_group.holds(Severity.LOSS)
def unicode_forms(trial: Trial) -> Steps[None]:
    """Composed and decomposed letters are different keys; all of Unicode works."""
    composed, decomposed = (unicodedata.normalize(form, "é") for form in ("NFC", "NFD"))
    yield from _apart(trial, composed, decomposed, "日本", "\U0001f389", "\U0001f38a")


@_group.holds(Severity.LOSS)
def lone_surrogate(trial: Trial) -> Steps[None]:
    """A key no encoding has is refused or kept, never another key."""
    error = yield Attempt(trial.put(trial.at(), "a\ud800", {"n": 1}))
    if error is None:
        yield from trial.still({(trial.at(), "a\ud800"): {"n": 1}})
    yield from trial.gone(
        (trial.at(), "a"), (trial.at(), "a?"), (trial.at(), "a\ufffd")
    )


@_group.holds(Severity.LOSS)
def long(trial: Trial) -> Steps[None]:
    """A key of 2,000 characters works, and is compared to its end."""
    # Random, as an index may hold what it can compress and refuse the rest.
    key = "".join(trial.random.choices("0123456789abcdef", k=_LONG))
    yield from _apart(trial, f"{key}x", f"{key}y", key)


@_group.holds(Severity.SEMANTICS)
def number_as_text(trial: Trial) -> Steps[None]:
    """A number as a key is the key of its digits, written and read."""
    trial.remember(trial.at(), "5")
    yield trial.put(trial.at(), 5, {"n": 5})
    found = yield from trial.value(trial.at(), "5")
    expect(found == {"n": 5}, "put with the key 5 did not write the key '5'")
    item = yield get(trial.at(), 5)
    expect(item is not None, "get with the key 5 did not read the key '5'")
