"""A store and `InMemoryStore` answer alike, whatever is done to them.

Both walk the same seeded operations. The comparison stops at the first difference, so
that what is reported is the shortest beginning that shows it.
"""

from __future__ import annotations

from typing import Any

from langgraph.store.base import GetOp, Op, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore

from holdover.compat.testing.equality import digest
from holdover.compat.testing.outcomes import Severity
from holdover.compat.testing.registry import Group
from holdover.compat.testing.steps import Call, Steps
from holdover.compat.testing.trial import (
    Namespace,
    Trial,
    delete,
    expect,
    get,
    list_namespaces,
    search,
)

_group = Group("model")
_SINGLE = 150
_BATCHES = 40
_SHOWN = 6
_PATHS = ("a", "a/b", "a/b/c", "ab", "A", "b", "b/a")
_KEYS = ("k1", "k10", "K1", "k,1", "1")
_WORDS = ("x", "X", "xy", "")
_EVERYTHING = 10**6


class _Walk:
    """Random operations on a trial's namespaces, and what the model says to them."""

    def __init__(self, trial: Trial) -> None:
        self.trial = trial
        self.random = trial.random
        self.model = InMemoryStore()
        self.done: list[str] = []

    def namespace(self) -> Namespace:
        return self.trial.at(*self.random.choice(_PATHS).split("/"))

    def key(self) -> str:
        return self.random.choice(_KEYS)

    def value(self) -> dict[str, Any]:
        number = str(self.random.randrange(10**6))
        return {"word": self.random.choice(_WORDS), "n": number, "in": [{"n": number}]}

    def note(self, name: str, *what: Any) -> None:
        """Remember an operation in a form that fits a line."""
        shown = ("/".join(w[1:]) if isinstance(w, tuple) else repr(w) for w in what)
        self.done.append(f"{name} {' '.join(shown)}".strip())

    def expect(self, wanted: Any, found: Any) -> None:
        """Compare, and name the seed and the last operations where they differ."""
        if wanted == found:
            return
        last = "; ".join(self.done[-_SHOWN:])
        expect(
            holds=False,
            otherwise=f"seed {self.trial.seed}: operation {len(self.done)} differs "
            f"from InMemoryStore. The last ones: {last}",
        )

    def namespaces(self) -> set[Namespace]:
        items = self.model.search(self.trial.at(), limit=_EVERYTHING)
        return {tuple(item.namespace) for item in items}


def _facts(answer: Any) -> Any:
    """What two stores must agree in: where items are, and the hash of their values."""
    if isinstance(answer, list):
        facts = [_facts(one) for one in answer]
        return sorted(facts, key=repr)
    if answer is None:
        return None
    return tuple(answer.namespace), answer.key, digest(answer.value)


@_group.holds(Severity.LOSS)
def single_operations(trial: Trial) -> Steps[None]:
    """A hundred and fifty random operations, one by one, give what they should."""
    walk = _Walk(trial)
    for _ in range(_SINGLE):
        yield from walk.random.choice(_MOVES)(walk)


def _put(walk: _Walk) -> Steps[None]:
    namespace, key, value = walk.namespace(), walk.key(), walk.value()
    walk.note("put", namespace, key, value["n"])
    walk.model.put(namespace, key, value)
    yield walk.trial.put(namespace, key, value)


def _delete(walk: _Walk) -> Steps[None]:
    namespace, key = walk.namespace(), walk.key()
    walk.note("delete", namespace, key)
    walk.model.delete(namespace, key)
    yield delete(namespace, key)


def _compare(walk: _Walk, call: Call) -> Steps[None]:
    found = yield call
    walk.expect(_facts(call.now(walk.model)), _facts(found))


def _get(walk: _Walk) -> Steps[None]:
    namespace, key = walk.namespace(), walk.key()
    walk.note("get", namespace, key)
    yield from _compare(walk, get(namespace, key))


def _search(walk: _Walk) -> Steps[None]:
    namespace = walk.namespace()
    walk.note("search", namespace)
    yield from _compare(walk, search(namespace))


def _filter(walk: _Walk) -> Steps[None]:
    namespace, word = walk.namespace(), walk.random.choice(_WORDS)
    walk.note("search", namespace, {"word": word})
    yield from _compare(walk, search(namespace, filter={"word": word}))


def _list(walk: _Walk) -> Steps[None]:
    prefix = walk.random.choice([walk.trial.at(), walk.namespace()])
    depth = walk.random.choice([None, 2, 3])
    walk.note("list", prefix, depth)
    found = yield list_namespaces(prefix=prefix, max_depth=depth)
    got = {tuple(one) for one in found}
    # The model has ghosts (see `list.no-ghosts-of-items`): it is asked for its items.
    wanted = {one[:depth] for one in walk.namespaces() if one[: len(prefix)] == prefix}
    ghosts = {walk.trial.at(*path.split("/"))[:depth] for path in _PATHS} | {
        walk.trial.at()
    }
    below = {one for one in ghosts if one[: len(prefix)] == prefix}
    shortened = {one for one in ghosts if one == prefix[:depth]}
    walk.expect((set(), set()), (wanted - got, got - below - shortened))


_MOVES = (_put, _put, _put, _delete, _get, _get, _search, _filter, _list)


@_group.holds(Severity.LOSS)
def batches(trial: Trial) -> Steps[None]:
    """Forty batches of random reads and writes give what they should."""
    walk = _Walk(trial)
    for _ in range(_BATCHES):
        ops = [_operation(walk) for _ in range(walk.random.randint(1, 8))]
        found = yield trial.batch(ops)
        wanted = walk.model.batch(ops)
        walk.expect([_facts(one) for one in wanted], [_facts(one) for one in found])


def _operation(walk: _Walk) -> Op:
    namespace, key = walk.namespace(), walk.key()
    choice = walk.random.randrange(6)
    if choice in (0, 1):
        value = walk.value()
        walk.note("[put", namespace, key, value["n"])
        return PutOp(namespace, key, value)
    if choice == 2:  # noqa: PLR2004
        walk.note("[delete", namespace, key)
        return PutOp(namespace, key, None)
    if choice == 3:  # noqa: PLR2004
        walk.note("[search", namespace)
        return SearchOp(namespace, limit=_EVERYTHING)
    walk.note("[get", namespace, key)
    return GetOp(namespace, key)
