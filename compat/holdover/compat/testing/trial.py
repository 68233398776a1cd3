"""What one property works with: namespaces of its own, calls, and what it wrote."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from langgraph.store.base import (
    GetOp,
    Item,
    ListNamespacesOp,
    Op,
    PutOp,
    SearchItem,
    SearchOp,
)

from holdover.compat.testing.equality import same
from holdover.compat.testing.steps import Attempt, Call, Steps

Namespace = tuple[str, ...]
Pair = tuple[Namespace, Any]
_AT_ONCE = 500
_SHOWN = 60
MANY = 1_001


class Broken(Exception):
    """A property does not hold; the text says what came instead."""


def expect(holds: bool, otherwise: str) -> None:  # noqa: FBT001 - reads like `assert`
    """Raise `Broken` unless it holds."""
    if not holds:
        raise Broken(otherwise)


def shown(what: Any) -> str:
    """Show a canary's key or value, shortened."""
    text = repr(what)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}… ({len(text)} characters)"


class Trial:
    """One property's own place in a store.

    All namespaces begin with a label that is random for each property. It is a single
    label, so that a store with trouble below the first level fails the properties
    about that and not all of them.
    """

    def __init__(self, label: str, *, seed: int, way: str) -> None:
        self.label = label
        self.seed = seed
        #: `sync` or `async`: how calls are made.
        self.way = way
        self.random = random.Random(seed)  # noqa: S311 - reproducible on purpose
        self._written: dict[Pair, None] = {}

    def at(self, *labels: str) -> Namespace:
        """A namespace of this trial."""
        return (self.label, *labels)

    def put(self, namespace: Any, key: Any, value: Any, **options: Any) -> Call:
        """Call `put`, and remember to remove the item."""
        self.remember(namespace, key)
        return Call("put", (namespace, key, value), options)

    def batch(self, ops: Iterable[Op]) -> Call:
        """Call `batch`, and remember its items."""
        ops = list(ops)
        for op in ops:
            if isinstance(op, PutOp) and op.value is not None:
                self.remember(op.namespace, op.key)
        return Call("batch", (ops,))

    def remember(self, namespace: Any, key: Any) -> None:
        """Note an item to be removed at the end."""
        try:
            self._written[tuple(namespace), key] = None
        except TypeError:
            return  # what has no hash was not written either

    @property
    def written(self) -> list[Pair]:
        """Every item that may have been written and was not yet removed."""
        return list(self._written)

    def remove(self) -> Steps[None]:
        """Remove what was written, whatever the store thinks of it."""
        pairs = self.written
        self._written.clear()
        for start in range(0, len(pairs), _AT_ONCE):
            chunk = [PutOp(*pair, None) for pair in pairs[start : start + _AT_ONCE]]
            if (yield Attempt(Call("batch", (chunk,)))) is None:
                continue
            for op in chunk:
                yield Attempt(Call("batch", ([op],)))

    def value(self, namespace: Namespace, key: str) -> Steps[Any]:
        """Read a value; `None` where there is no item."""
        item = yield get(namespace, key)
        if item is None:
            return None
        expect(isinstance(item, Item), f"get returned a {type(item).__name__}")
        return item.value

    def keeps(
        self, items: Mapping[Pair, Any], *, once: bool = False, exact: bool = False
    ) -> Steps[None]:
        """Write items, one by one or in one batch; read each, and compare its value."""
        if once:
            yield self.batch([PutOp(*pair, value) for pair, value in items.items()])
        else:
            for pair, value in items.items():
                yield self.put(*pair, value)
        yield from self.still(items, exact=exact)

    def still(self, items: Mapping[Pair, Any], *, exact: bool = False) -> Steps[None]:
        """Expect that items have the values given; `exact` minds their types too.

        Only properties of values are exact: a store that gives other numbers back
        fails those, and not all that write a number.
        """
        wrong = []
        for pair, value in items.items():
            found = yield from self.value(*pair)
            if not (same(found, value) if exact else found == value):
                wrong.append((pair, value, found))
        if wrong:
            (namespace, key), wanted, found = wrong[0]
            where = "/".join(namespace[1:])
            raise Broken(
                f"{len(wrong)} of {len(items)} wrong: {shown(key)}"
                f"{f' in {shown(where)}' if where else ''} gave "
                f"{'nothing' if found is None else shown(found)} for {shown(wanted)}"
            )

    def gone(self, *pairs: Pair) -> Steps[None]:
        """Expect that there are no such items."""
        for pair in pairs:
            found = yield from self.value(*pair)
            expect(found is None, f"{shown(pair[1])} is still there")

    def fill(
        self, count: int, namespace: Namespace | None = None
    ) -> Steps[dict[Pair, Any]]:
        """Write numbered items in batches."""
        namespace = namespace or self.at()
        items = {(namespace, f"k{n:05d}"): {"n": n} for n in range(count)}
        ops = [PutOp(*pair, value) for pair, value in items.items()]
        for start in range(0, len(ops), _AT_ONCE):
            yield self.batch(ops[start : start + _AT_ONCE])
        return dict(items)

    def refuses(self, call: Call, what: str) -> Steps[None]:
        """Expect an exception, from a store that accepts something else."""
        yield self.put(self.at("accepted"), "k", {"n": 1})
        error = yield Attempt(call)
        expect(error is not None, f"{what} was accepted")


def get(namespace: Any, key: Any, **options: Any) -> Call:
    """Call `get`."""
    return Call("get", (namespace, key), options)


def search(prefix: Any, **options: Any) -> Call:
    """Call `search`; everything is asked for unless a limit is given."""
    return Call("search", (prefix,), {"limit": 10 * MANY, **options})


def delete(namespace: Any, key: Any) -> Call:
    """Call `delete`."""
    return Call("delete", (namespace, key))


def list_namespaces(**options: Any) -> Call:
    """Call `list_namespaces`; all are asked for unless a limit is given."""
    return Call("list_namespaces", (), {"limit": 10 * MANY, **options})


def pairs_of(items: Sequence[SearchItem]) -> list[Pair]:
    """Where the items of a search stand."""
    return [(tuple(item.namespace), item.key) for item in items]


def expect_exactly(found: Sequence[Pair], wanted: Iterable[Pair]) -> None:
    """Expect each wanted item once, and no other; the text counts."""
    missing = set(wanted) - set(found)
    extra = set(found) - set(wanted)
    twice = len(found) - len(set(found))
    total = len(set(wanted))
    problems = [
        *([f"{len(missing)} of {total} missing"] if missing else []),
        *([f"{len(extra)} that should not come back"] if extra else []),
        *([f"{twice} twice"] if twice else []),
    ]
    if problems:
        example = min(missing or extra or set(found), key=repr)
        place = (*example[0][1:], example[1])
        raise Broken(f"{', '.join(problems)}, such as {shown(place)}")


__all__ = [
    "MANY",
    "Broken",
    "GetOp",
    "ListNamespacesOp",
    "Namespace",
    "Pair",
    "PutOp",
    "SearchOp",
    "Trial",
    "delete",
    "expect",
    "expect_exactly",
    "get",
    "list_namespaces",
    "pairs_of",
    "search",
    "shown",
]
