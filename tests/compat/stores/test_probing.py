"""`probe`: passes what keeps items exact and apart, names what is wrong elsewhere."""

import asyncio

import pytest
from backends import PlainStore
from langgraph.store.base import GetOp, Item, PutOp, SearchOp

from holdover.compat.errors import StoreUnsuitable
from holdover.compat.stores.probing import aprobe, probe


def test_every_store_of_ours_passes_and_is_left_clean(store, way, loop):
    report = loop.run(aprobe(store)) if way == "async" else probe(store)
    assert report.failed == ()
    assert report.store == type(store).__name__
    report.require()
    left = store.batch([SearchOp(("~holdover", "probe"), limit=10, refresh_ttl=False)])
    assert left == [[]]


def test_what_it_asks():
    names = {found.name for found in probe(PlainStore()).properties}
    assert names == {
        "case of keys",
        "case of labels",
        "stemming",
        "separators",
        "unicode forms",
        "empty key",
        "long keys",
        "NUL",
        "64-bit integers",
        "nested values",
        "read-after-write of a batch",
        "exact namespace",
        "1,001 items in one scope",
        "TTL",
    }


class Changing(PlainStore):
    """A store that changes operations before it carries them out."""

    def batch(self, ops):
        return super().batch([self.changed(op) for op in ops])

    async def abatch(self, ops):
        return self.batch(ops)

    def changed(self, op):
        return op


class CaseFolding(Changing):
    def changed(self, op):
        if isinstance(op, GetOp | PutOp):
            namespace = tuple(label.lower() for label in op.namespace)
            return op._replace(namespace=namespace, key=op.key.lower())
        return op


class Stemming(Changing):
    def changed(self, op):
        if isinstance(op, GetOp | PutOp):
            namespace = tuple(label.rstrip("s") for label in op.namespace)
            return op._replace(namespace=namespace)
        return op


class Splitting(Changing):
    def changed(self, op):
        if isinstance(op, GetOp | PutOp):
            return op._replace(key=op.key.rpartition(",")[2] or op.key)
        return op


class Normalising(Changing):
    def changed(self, op):
        import unicodedata

        if isinstance(op, GetOp | PutOp):
            return op._replace(key=unicodedata.normalize("NFC", op.key))
        return op


class Cutting(Changing):
    def changed(self, op):
        if isinstance(op, GetOp | PutOp):
            return op._replace(key=op.key[:255])
        return op


class Doubles(Changing):
    """Numbers become floating point, as in JavaScript."""

    def changed(self, op):
        if isinstance(op, PutOp) and op.value is not None:
            return op._replace(value={n: self._double(v) for n, v in op.value.items()})
        return op

    def _double(self, value):
        return int(float(value)) if type(value) is int else value


class Dropping(PlainStore):
    """Loses every hundredth put."""

    puts = 0

    def batch(self, ops):
        kept = []
        for op in ops:
            if isinstance(op, PutOp) and op.value is not None:
                self.puts += 1
                if self.puts % 100 == 0:
                    kept.append(GetOp(("nowhere",), "k"))
                    continue
            kept.append(op)
        return super().batch(kept)


class TenGets(PlainStore):
    """Answers only ten reads of a batch, as LangGraph's RedisStore does."""

    def batch(self, ops):
        answered, found = 0, []
        for result in super().batch(ops):
            answered += isinstance(result, Item)
            found.append(None if isinstance(result, Item) and answered > 10 else result)
        return found


class ShortSearch(PlainStore):
    """Never finds more than 200 items."""

    def batch(self, ops):
        return [r[:200] if isinstance(r, list) else r for r in super().batch(ops)]


class Late(PlainStore):
    """Shows what was written only after the next read."""

    def __init__(self):
        super().__init__()
        self.waiting = []

    def batch(self, ops):
        ops = list(ops)
        if any(isinstance(op, PutOp) for op in ops):
            self.waiting.append(ops)
            return [None] * len(ops)
        found = super().batch(ops)
        for waiting in self.waiting:
            super().batch(waiting)
        self.waiting.clear()
        return found


class Refusing(PlainStore):
    """Refuses long keys, with words of its own."""

    def batch(self, ops):
        ops = list(ops)
        if any(isinstance(op, PutOp) and len(op.key) > 300 for op in ops):
            raise OverflowError("index row size exceeds btree maximum")
        return super().batch(ops)


class Missing(PlainStore):
    """A filtered search that misses items under neighbours."""

    def batch(self, ops):
        return [
            [i for i in r if not i.key.startswith("own4")] if isinstance(r, list) else r
            for r in super().batch(ops)
        ]


@pytest.mark.parametrize(
    ("store", "failed"),
    [
        (CaseFolding, {"case of keys", "case of labels", "exact namespace"}),
        (Stemming, {"stemming"}),
        (Splitting, {"separators"}),
        (Normalising, {"unicode forms"}),
        (Cutting, {"long keys"}),
        (Doubles, {"64-bit integers"}),
        (Dropping, {"1,001 items in one scope"}),
        (TenGets, {"read-after-write of a batch"}),
        (ShortSearch, {"1,001 items in one scope"}),
        (Late, {"case of keys"}),
        (Refusing, {"long keys"}),
        (Missing, {"exact namespace"}),
    ],
)
def test_what_a_bad_store_gets_wrong_is_named(store, failed):
    report = probe(store())
    assert failed <= set(report.failed)
    for found in report.properties:
        assert bool(found.detail) is not found.holds
    with pytest.raises(StoreUnsuitable) as refused:
        report.require()
    assert refused.value.failed == report.failed
    assert store.__name__ in str(refused.value)
    assert asyncio.run(aprobe(store())).failed


@pytest.mark.parametrize("store", [Stemming, Splitting, Normalising, Cutting, Refusing])
def test_only_what_is_wrong_is_named(store):
    assert len(probe(store()).failed) == 1


def test_a_store_that_leaks_neighbours_passes_as_every_read_is_filtered():
    class Leaky(PlainStore):
        def batch(self, ops):
            found = []
            for op in ops:
                asked = op
                if isinstance(op, SearchOp) and op.namespace_prefix:
                    first = op.namespace_prefix[:-1]
                    asked = op._replace(namespace_prefix=first, limit=10**6)
                found += self.inner.batch([asked])
            return found

    assert probe(Leaky()).failed == ()


def test_a_store_that_is_down_fails_every_property_and_raises_nothing():
    class Down(PlainStore):
        def batch(self, ops):
            raise ConnectionError("refused")

    report = probe(Down())
    assert all(not found.holds for found in report.properties)
    assert "ConnectionError: refused" in report.properties[0].detail
