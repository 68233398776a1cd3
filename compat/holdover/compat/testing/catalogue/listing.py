"""The list of namespaces: those that hold items, all of them, once."""

from __future__ import annotations

from typing import Any

from langgraph.store.base import PutOp

from holdover.compat.testing.outcomes import Severity
from holdover.compat.testing.registry import Group
from holdover.compat.testing.steps import Steps
from holdover.compat.testing.trial import (
    Namespace,
    Trial,
    delete,
    expect,
    get,
    list_namespaces,
    shown,
)

_group = Group("list")
_MANY = 150
_DEFAULT = 100
_PAGE = 40


def _lists(
    trial: Trial, wanted: list[Namespace], *, leaks: bool = False, **options: Any
) -> Steps[None]:
    """Expect these namespaces, in any order, and each once."""
    options.setdefault("prefix", trial.at())
    found = yield list_namespaces(**options)
    got = [tuple(one) for one in found]
    missing, extra = set(wanted) - set(got), set(got) - set(wanted)
    expect(
        not extra,
        f"{len(extra)} that should not come back, such as "
        f"{shown(min(extra)[1:]) if extra else ''}",
    )
    if not leaks:
        expect(
            not missing,
            f"{len(missing)} of {len(wanted)} missing, such as "
            f"{shown(min(missing)[1:]) if missing else ''}",
        )
    expect(len(got) == len(set(got)), "a namespace came twice")


def _put(trial: Trial, *paths: str) -> Steps[list[Namespace]]:
    """One item in each namespace, given as `a/b`."""
    namespaces = [trial.at(*path.split("/")) for path in paths]
    for namespace in namespaces:
        yield trial.put(namespace, "k", {"n": 1})
    return namespaces


def _many(trial: Trial) -> Steps[list[Namespace]]:
    namespaces = [trial.at(f"n{n:05d}") for n in range(_MANY)]
    yield trial.batch([PutOp(one, "k", {"n": 1}) for one in namespaces])
    return namespaces


@_group.holds(Severity.LOSS)
def complete(trial: Trial) -> Steps[None]:
    """All of 150 namespaces are listed where the limit allows, judged by count."""
    yield from _lists(trial, (yield from _many(trial)))


@_group.holds(Severity.SEMANTICS)
def default_limit(trial: Trial) -> Steps[None]:
    """Without a limit, a hundred namespaces are listed."""
    yield from _many(trial)
    call = list_namespaces(prefix=trial.at())
    call.kwargs.pop("limit")
    found = yield call
    expect(len(found) == _DEFAULT, f"it gave {len(found)} of {_MANY}")


@_group.holds(Severity.LOSS)
def paging(trial: Trial) -> Steps[None]:
    """Pages by limit and offset give each namespace once."""
    namespaces = yield from _many(trial)
    found: list[Namespace] = []
    for offset in range(0, _MANY + _PAGE, _PAGE):
        page = yield list_namespaces(prefix=trial.at(), limit=_PAGE, offset=offset)
        expect(len(page) <= _PAGE, f"a page of {_PAGE} has {len(page)}")
        found += [tuple(one) for one in page]
    missing = set(namespaces) - set(found)
    twice = len(found) - len(set(found))
    expect(
        not missing and not twice, f"{len(missing)} of {_MANY} missing, {twice} twice"
    )


@_group.holds(Severity.SEMANTICS)
def once(trial: Trial) -> Steps[None]:
    """A namespace with many items is listed once; below it is another."""
    yield from trial.fill(20, trial.at("a"))
    yield from trial.fill(20, trial.at("a", "b"))
    yield from _lists(trial, [trial.at("a"), trial.at("a", "b")])


@_group.holds(Severity.SEMANTICS)
def sorted_(trial: Trial) -> Steps[None]:
    """The list is in order."""
    yield from _put(trial, "c", "a", "b", "a/x")
    found = yield list_namespaces(prefix=trial.at())
    got = ["/".join(one[1:]) for one in found]
    expect(got == ["a", "a/x", "b", "c"], f"it is {' '.join(got)}")


@_group.holds(Severity.LEAK)
def siblings(trial: Trial) -> Steps[None]:
    """A prefix lists itself and what is below it, and no sibling."""
    yield from _put(trial, "user1", "user1/b", "user10", "user", "User1", "x/user1")
    yield from _lists(
        trial,
        [trial.at("user1"), trial.at("user1", "b")],
        prefix=trial.at("user1"),
        leaks=True,
    )


@_group.holds(Severity.SEMANTICS)
def prefix(trial: Trial) -> Steps[None]:
    """A prefix lists all below it."""
    yield from _put(trial, "a", "a/b", "a/b/c", "b/a")
    wanted = [trial.at("a"), trial.at("a", "b"), trial.at("a", "b", "c")]
    yield from _lists(trial, wanted, prefix=trial.at("a"))


@_group.holds(Severity.LEAK)
def wildcard_characters(trial: Trial) -> Steps[None]:
    """Wildcards of other languages stand for themselves in a prefix."""
    yield from _put(trial, "a_b", "aXb", "a%b", "a?b", "a[X]b", "a.b".replace(".", "+"))
    for label in ("a_b", "a%b", "a?b", "a[X]b"):
        yield from _lists(trial, [trial.at(label)], prefix=trial.at(label))


@_group.holds(Severity.SEMANTICS)
def wildcard_in_prefix(trial: Trial) -> Steps[None]:
    """In a prefix, `*` stands for exactly one label."""
    yield from _put(trial, "a/x", "b/x", "b/x/y", "a/z", "c", "a/q/x")
    wanted = [trial.at("a", "x"), trial.at("b", "x"), trial.at("b", "x", "y")]
    yield from _lists(trial, wanted, prefix=trial.at("*", "x"))


@_group.holds(Severity.SEMANTICS)
def suffix(trial: Trial) -> Steps[None]:
    """A suffix lists what ends so, whole labels only."""
    yield from _put(trial, "a/x", "b/x", "a/xx", "x/a", "x")
    wanted = [trial.at("a", "x"), trial.at("b", "x"), trial.at("x")]
    yield from _lists(trial, wanted, suffix=("x",))


@_group.holds(Severity.SEMANTICS)
def wildcard_in_suffix(trial: Trial) -> Steps[None]:
    """In a suffix, `*` stands for exactly one label."""
    yield from _put(trial, "a/x/1", "b/x/2", "b/y/2", "x")
    wanted = [trial.at("a", "x", "1"), trial.at("b", "x", "2")]
    yield from _lists(trial, wanted, suffix=("x", "*"))


@_group.holds(Severity.SEMANTICS)
def max_depth(trial: Trial) -> Steps[None]:
    """A depth shortens what is deeper, and lists it once."""
    yield from _put(trial, "a/b/c", "a/b/d", "a/e", "f")
    yield from _lists(trial, [trial.at("a"), trial.at("f")], max_depth=2)
    wanted = [trial.at("a", "b"), trial.at("a", "e"), trial.at("f")]
    yield from _lists(trial, wanted, max_depth=3)


@_group.holds(Severity.LOSS)
def max_depth_before_limit(trial: Trial) -> Steps[None]:
    """The limit counts what is listed, not what was shortened to it."""
    yield from _put(trial, *(f"a/n{n}" for n in range(20)), "b/n", "c/n")
    found = yield list_namespaces(prefix=trial.at(), max_depth=2, limit=3)
    got = [one[-1] for one in found]
    expect(sorted(got) == ["a", "b", "c"], f"it gave {' '.join(got)}")


@_group.holds(Severity.SEMANTICS)
def no_ghosts_of_reads(trial: Trial) -> Steps[None]:
    """Reading or deleting what is not there makes no namespace."""
    yield get(trial.at("read"), "none")
    yield delete(trial.at("deleted"), "none")
    yield from _lists(trial, [])


@_group.holds(Severity.SEMANTICS)
def no_ghosts_of_items(trial: Trial) -> Steps[None]:
    """A namespace whose last item was deleted is no longer listed."""
    yield from _put(trial, "a", "b")
    yield delete(trial.at("a"), "k")
    yield from _lists(trial, [trial.at("b")])
