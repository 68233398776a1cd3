"""`probe`: does a store keep items exact and apart? Asked before data goes there."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from langgraph.store.base import BaseStore, SearchOp

from holdover.compat import records
from holdover.compat.errors import StoreUnsuitable
from holdover.compat.scope import INTERNAL_ROOT, MAX_KEY_BYTES, MAX_LABEL_BYTES
from holdover.compat.stores.backend import (
    Backend,
    Namespace,
    Page,
    Read,
    Search,
    Steps,
    Write,
    arun,
    run,
)
from holdover.compat.stores.choosing import backend_for

_MANY = 1_001
_TTL_MINUTES = 60.0
_SCOPE_LABELS = 4
Canaries = Mapping[tuple[Namespace, str], Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Property:
    """One property of a store, whether it holds, and what came back if not."""

    name: str
    holds: bool
    detail: str = ""


@dataclass(frozen=True, slots=True)
class ProbeReport:
    """What a probe found; `failed` names the properties that do not hold."""

    store: str
    properties: tuple[Property, ...]

    @property
    def failed(self) -> tuple[str, ...]:
        """The names of the properties that do not hold."""
        return tuple(p.name for p in self.properties if not p.holds)

    def require(self) -> None:
        """Raise `StoreUnsuitable` unless every property holds."""
        if self.failed:
            raise StoreUnsuitable(
                f"{self.store} does not keep items exact and apart: "
                f"{', '.join(self.failed)}.",
                failed=self.failed,
                hint="Use another store; `holdover probe` shows the details.",
            )


def probe(store: BaseStore, *, unsafe: bool = True) -> ProbeReport:
    """Write canaries below `("~holdover", "probe")`, read them, remove them."""
    backend = backend_for(store, unsafe=unsafe)
    return run(backend, _probe(backend))


async def aprobe(store: BaseStore, *, unsafe: bool = True) -> ProbeReport:
    """See `probe`."""
    backend = backend_for(store, unsafe=unsafe)
    return await arun(backend, _probe(backend))


def _probe(backend: Backend) -> Steps[ProbeReport]:
    base = (INTERNAL_ROOT, "probe", secrets.token_hex(8))
    found = []
    for name, canaries in _PROPERTIES.items():
        found.append((yield from _check(backend, name, canaries(base))))
    found.append((yield from _exact_namespace(backend, base)))
    found.append((yield from _many_items(backend, base)))
    found.append((yield from _ttl(backend, base)))
    return ProbeReport(type(backend.store).__name__, tuple(found))


def _check(backend: Backend, name: str, canaries: Canaries) -> Steps[Property]:
    """Write all canaries in one batch and read each back at once."""
    put = backend.put_op
    try:
        yield Write([[put(*pair, value)] for pair, value in canaries.items()])
        values = yield Read(list(canaries))
        wrong = [
            (pair, value)
            for (pair, wanted), value in zip(canaries.items(), values, strict=True)
            if value is None or _hash(value) != _hash(wanted)
        ]
        detail = ""
        if wrong:
            pair, value = wrong[0]
            lost = "nothing" if value is None else "another value"
            detail = f"{len(wrong)} of {len(canaries)} wrong; {pair[1]!r} gave {lost}"
    except Exception as error:  # noqa: BLE001 - whatever a store raises is its answer
        detail = f"{type(error).__name__}: {error}"[:200]
    yield from _remove(backend, canaries)
    return Property(name, not detail, detail)


def _remove(backend: Backend, canaries: Canaries) -> Steps[None]:
    # What could not be put cannot be removed either.
    with contextlib.suppress(Exception):
        yield Write([[backend.put_op(*pair, None)] for pair in canaries])


def _hash(value: Mapping[str, Any]) -> str:
    return records.content_hash({"content": value, "kind": "probe"})


def _exact_namespace(backend: Backend, base: Namespace) -> Steps[Property]:
    """Whether a filtered search finds all of a namespace among its neighbours."""
    inner = (*base, "scope1")
    neighbours = [
        (*base, "scope10"),
        (*base, "scope"),
        (*inner, "below"),
        (*base, "Scope1"),
    ]
    canaries = {(inner, f"own{n}"): {"n": n} for n in range(5)}
    others = {(ns, f"k{n}"): {"n": n} for ns in neighbours for n in range(5)}
    detail = ""
    try:
        yield Write(
            [[backend.put_op(*p, v)] for p, v in {**canaries, **others}.items()]
        )
        op = SearchOp(inner, limit=_MANY, refresh_ttl=False)
        items = yield Search(op)
        mine = {item.key for item in items if tuple(item.namespace) == inner}
        if mine != {key for _, key in canaries}:
            detail = f"a search found {len(mine)} of {len(canaries)} items"
    except Exception as error:  # noqa: BLE001
        detail = f"{type(error).__name__}: {error}"[:200]
    yield from _remove(backend, {**canaries, **others})
    return Property("exact namespace", not detail, detail)


def _many_items(backend: Backend, base: Namespace) -> Steps[Property]:
    namespace = (*base, "many")
    canaries = {(namespace, f"{n:05d}"): {"n": n} for n in range(_MANY)}
    detail = ""
    try:
        yield Write([[backend.put_op(*p, v)] for p, v in canaries.items()])
        items = yield Search(SearchOp(namespace, limit=2 * _MANY, refresh_ttl=False))
        keys = {item.key for item in items if tuple(item.namespace) == namespace}
        page = yield Page(namespace, None, 2 * _MANY)
        if len(keys) != _MANY or len(page) != _MANY:
            detail = f"a search found {len(keys)}, a page {len(page)} of {_MANY} items"
    except Exception as error:  # noqa: BLE001
        detail = f"{type(error).__name__}: {error}"[:200]
    yield from _remove(backend, canaries)
    return Property(f"{_MANY:,} items in one scope", not detail, detail)


def _ttl(backend: Backend, base: Namespace) -> Steps[Property]:
    """Whether a lifetime is accepted, or declared as not supported."""
    pair = ((*base, "ttl"), "k")
    detail = ""
    try:
        yield Write([[backend.put_op(*pair, {"n": 1}, ttl=_TTL_MINUTES)]])
        (value,) = yield Read([pair])
        if value is None:
            detail = f"an item with {_TTL_MINUTES:.0f} minutes to live is gone"
    except Exception as error:  # noqa: BLE001
        detail = f"{type(error).__name__}: {error}"[:200]
    yield from _remove(backend, {pair: {}})
    return Property("TTL", not detail, detail)


def _keys(*keys: str) -> Callable[[Namespace], Canaries]:
    return lambda base: {((*base, "keys"), key): {"n": n} for n, key in enumerate(keys)}


def _labels(*labels: str) -> Callable[[Namespace], Canaries]:
    return lambda base: {
        ((*base, label), "key"): {"n": n} for n, label in enumerate(labels)
    }


def _values(*values: Any) -> Callable[[Namespace], Canaries]:
    return lambda base: {
        ((*base, "values"), f"k{n}"): {"value": value} for n, value in enumerate(values)
    }


def _long(base: Namespace) -> Canaries:
    # Incompressible, as an index may refuse what it cannot compress.
    label = secrets.token_hex(MAX_LABEL_BYTES // 2)
    key = secrets.token_hex(MAX_KEY_BYTES // 2)
    namespace = (*base, *[label] * _SCOPE_LABELS)
    return {(namespace, key): {"n": 1}, (namespace, key[:-1]): {"n": 2}}


_PROPERTIES: dict[str, Callable[[Namespace], Canaries]] = {
    "case of keys": _keys("Alice", "alice", "ALICE"),
    "case of labels": _labels("Alice", "alice", "ALICE"),
    "stemming": _labels("user", "users", "run", "running", "a", "the"),
    "separators": _keys("a,b", "b", "a:b", "a b", "a/b", "a.b", "a|b", "*", "%", "_"),
    "unicode forms": _keys(
        "Zo\u00eb", "Zoe\u0308", "stra\u00dfe", "strasse", "\U0001f389"
    ),
    "empty key": _keys("~", "~20", "~~"),
    "long keys": _long,
    "NUL": _values("~00", "a~00b"),
    "64-bit integers": _values(2**63 - 1, -(2**63), 2**53 + 1),
    "nested values": _values(
        {"b": [1, 2.5, None, True], "a": {"\u00e9": "x"}}, [], {}, ""
    ),
    "read-after-write of a batch": _keys(*(f"k{n}" for n in range(50))),
}
