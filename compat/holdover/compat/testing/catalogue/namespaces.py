"""Namespaces are exact: no two of them share an item."""

from __future__ import annotations

import unicodedata

from holdover.compat.testing.outcomes import Severity
from holdover.compat.testing.registry import Group
from holdover.compat.testing.steps import Steps
from holdover.compat.testing.trial import Trial, expect_exactly, pairs_of, search

_group = Group("namespace")
_DEEP = 30
_LONG = 250


def _apart(trial: Trial, *labels: str) -> Steps[None]:
    """The same key in namespaces that differ in the last label."""
    items = {
        (trial.at(label), "key"): {"n": number} for number, label in enumerate(labels)
    }
    yield from trial.keeps(items)


@_group.holds(Severity.LOSS)
def exact(trial: Trial) -> Steps[None]:
    """The same key in two namespaces is two items."""
    yield from _apart(trial, "first", "second", "third")


@_group.holds(Severity.LOSS)
def nested(trial: Trial) -> Steps[None]:
    """A namespace and those below it hold items of their own."""
    yield from trial.keeps(
        {(trial.at(*["level"] * depth), "key"): {"depth": depth} for depth in range(4)}
    )


@_group.holds(Severity.LOSS)
def siblings(trial: Trial) -> Steps[None]:
    """A namespace whose name begins another's is separate from it."""
    yield from _apart(trial, "user1", "user10", "user", "user1x", "xuser1")


@_group.holds(Severity.LOSS)
def case(trial: Trial) -> Steps[None]:
    """Labels that differ only in case are different."""
    yield from _apart(trial, "Alice", "alice", "ALICE")


@_group.holds(Severity.LOSS)
def accents(trial: Trial) -> Steps[None]:
    """Labels that differ only in an accent are different."""
    yield from _apart(trial, "resume", "résumé", "strasse", "straße")


@_group.holds(Severity.LOSS)
def word_forms(trial: Trial) -> Steps[None]:
    """Labels that are forms of one word are different."""
    yield from _apart(trial, "user", "users", "run", "running", "memory", "memories")


@_group.holds(Severity.LOSS)
def stop_words(trial: Trial) -> Steps[None]:
    """Words that text search drops are labels as any other."""
    yield from _apart(trial, "a", "the", "of", "is", "x")


@_group.holds(Severity.LOSS)
def wildcards(trial: Trial) -> Steps[None]:
    """In a label, characters that are wildcards elsewhere stand for themselves."""
    yield from _apart(
        trial, "a_b", "aXb", "a%b", "aYYb", "a*b", "a?b", "a[X]b", "*", "%", "_"
    )


@_group.holds(Severity.LOSS)
def separators(trial: Trial) -> Steps[None]:
    """In a label, characters that separate things elsewhere stand for themselves."""
    labels = ["a,b", "a:b", "a/b", "a|b", "a;b", "a\\b", "a-b", "a b", "a\nb", "a@b"]
    yield from _apart(trial, *labels, "a", "b", "ab", "'", '"', "--", "{a}", "$a", "~")


@_group.holds(Severity.LOSS)
def joined(trial: Trial) -> Steps[None]:
    """Labels are not run together: `("ab",)` is not `("a", "b")`."""
    yield from trial.keeps(
        {
            (trial.at(*labels), "key"): {"n": number}
            for number, labels in enumerate(
                [("a", "b"), ("ab",), ("a:b",), ("a/b",), ("a b",), ("a,b",), ("a|b",)]
            )
        }
    )


@_group.holds(Severity.LOSS)
def spaces(trial: Trial) -> Steps[None]:
    """Space at the edge of a label counts."""
    yield from _apart(trial, "x", "x ", " x", "x\n", " ")


@_group.holds(Severity.LOSS)
def unicode_forms(trial: Trial) -> Steps[None]:
    """Composed and decomposed letters are different labels; all of Unicode works."""
    composed, decomposed = (unicodedata.normalize(form, "é") for form in ("NFC", "NFD"))
    yield from _apart(trial, composed, decomposed, "日本", "\U0001f389", "\U0001f38a")


@_group.holds(Severity.LOSS)
def deep(trial: Trial) -> Steps[None]:
    """Thirty levels work."""
    path = [f"l{level}" for level in range(_DEEP)]
    yield from trial.keeps(
        {(trial.at(*path), "key"): {"n": 1}, (trial.at(*path[:-1]), "key"): {"n": 2}}
    )


@_group.holds(Severity.LOSS)
def long(trial: Trial) -> Steps[None]:
    """A label of 250 characters works, and is compared to its end."""
    label = "".join(trial.random.choices("0123456789abcdef", k=_LONG))
    yield from _apart(trial, f"{label}x", f"{label}y", label)


@_group.holds(Severity.LEAK)
def case_in_search(trial: Trial) -> Steps[None]:
    """A search finds a namespace's items and not those of its name in other case."""
    yield from _found_alone(trial, "Alice", ["alice", "ALICE", "ALICE/x"])


@_group.holds(Severity.LEAK)
def wildcards_in_search(trial: Trial) -> Steps[None]:
    """A search takes no label for a pattern."""
    labels = ["a_b", "aXb", "a%b", "aYYb", "a*b", "a?b", "a[X]b"]
    for label in labels:
        yield trial.put(trial.at(label), "key", {"label": label})
    for label in labels:
        items = yield search(trial.at(label))
        expect_exactly(pairs_of(items), [(trial.at(label), "key")])


@_group.holds(Severity.LEAK)
def star_in_search(trial: Trial) -> Steps[None]:
    """A search below the label `*` finds that label only."""
    yield from _found_alone(trial, "*", ["other", "*x"])


def _found_alone(trial: Trial, label: str, others: list[str]) -> Steps[None]:
    for one in (label, *others):
        yield trial.put(trial.at(*one.split("/")), "key", {"n": 1})
    items = yield search(trial.at(label))
    expect_exactly(pairs_of(items), [(trial.at(label), "key")])
