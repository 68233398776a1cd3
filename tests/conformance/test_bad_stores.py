"""Each defect is caught, by the properties that are about it and by few others."""

import copy
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest
from langgraph.store.base import GetOp, Item, ListNamespacesOp, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore

from holdover.compat.testing import (
    Capabilities,
    ConformanceFailed,
    Difference,
    Outcome,
    check,
    known_differences,
    properties,
)

#: What `InMemoryStore` lacks, and so do the stores made from it here.
KNOWN = known_differences(InMemoryStore())


class Wrapped(InMemoryStore):
    """`InMemoryStore` with one thing wrong: operations or results are changed."""

    def batch(self, ops):
        ops = [self.op(op) for op in ops]
        results = super().batch(ops)
        return [self.result(*one) for one in zip(ops, results, strict=True)]

    async def abatch(self, ops):
        return self.batch(ops)

    def op(self, op):
        return op

    def result(self, op, result):
        return result


def on_items(op, change):
    """Change namespace and key of an operation on one item."""
    if isinstance(op, GetOp | PutOp):
        namespace, key = change(op.namespace, op.key)
        return op._replace(namespace=namespace, key=key)
    return op


class LeaksSiblings(Wrapped):
    """Compares namespaces as text, without the end of a label."""

    def batch(self, ops):
        found = []
        for op in list(ops):
            if isinstance(op, SearchOp) and op.namespace_prefix:
                prefix = ".".join(op.namespace_prefix)
                items = super().batch([op._replace(namespace_prefix=(), limit=10**6)])
                inside = [
                    item
                    for item in items[0]
                    if ".".join(item.namespace).startswith(prefix)
                ]
                found.append(inside[op.offset : op.offset + op.limit])
            else:
                found += super().batch([op])
        return found


class LikeWildcards(LeaksSiblings):
    """Compares labels by LIKE: `_` is any character."""

    def batch(self, ops):
        found = []
        for op in list(ops):
            if isinstance(op, SearchOp) and any("_" in x for x in op.namespace_prefix):
                items = InMemoryStore.batch(
                    self, [op._replace(namespace_prefix=op.namespace_prefix[:1])]
                )
                found.append(
                    [
                        item
                        for item in items[0]
                        if like(op.namespace_prefix[1], item.namespace[1])
                    ]
                )
            else:
                found += InMemoryStore.batch(self, [op])
        return found


def like(pattern, text):
    return len(pattern) == len(text) and all(
        p in ("_", t) for p, t in zip(pattern, text, strict=True)
    )


class FoldsKeys(Wrapped):
    def op(self, op):
        return on_items(op, lambda namespace, key: (namespace, str(key).lower()))


class FoldsLabels(Wrapped):
    def op(self, op):
        return on_items(
            op,
            lambda namespace, key: (
                tuple(str(x).lower() for x in namespace),
                key,
            ),
        )


class TrimsKeys(Wrapped):
    def op(self, op):
        return on_items(op, lambda namespace, key: (namespace, str(key).rstrip()))


class DropsEveryHundredthPut(Wrapped):
    puts = 0

    def op(self, op):
        if isinstance(op, PutOp) and op.value is not None:
            self.puts += 1
            if self.puts % 100 == 0:
                return GetOp(("nowhere",), "k")
        return op

    def result(self, op, result):
        return (
            None if isinstance(op, GetOp) and op.namespace == ("nowhere",) else result
        )


class TenGets(Wrapped):
    """Answers ten reads of a batch, as a search with its default limit does."""

    def batch(self, ops):
        seen, found = 0, []
        for result in super().batch(ops):
            seen += isinstance(result, Item)
            found.append(None if isinstance(result, Item) and seen > 10 else result)
        return found


class Stale(Wrapped):
    """Reads from a copy that is one write behind."""

    def __init__(self):
        super().__init__()
        self.behind = {}

    def batch(self, ops):
        ops = list(ops)
        before = {
            (op.namespace, str(op.key)): InMemoryStore.batch(
                self, [GetOp(op.namespace, op.key)]
            )[0]
            for op in ops
            if isinstance(op, PutOp)
        }
        found = super().batch(ops)
        for pair, item in before.items():
            if item is not None:
                self.behind[pair] = item
        return found

    def result(self, op, result):
        if isinstance(op, GetOp):
            return self.behind.pop((op.namespace, str(op.key)), result)
        return result


class ForgetsDeletes(Wrapped):
    """Keeps what is deleted by `delete` in search."""

    def batch(self, ops):
        ops = list(ops)
        kept = [op for op in ops if not (isinstance(op, PutOp) and op.value is None)]
        if len(kept) == len(ops) or len(ops) > 1:
            return super().batch(ops)
        return [None]


class Ghosts(Wrapped):
    """Lists a namespace nobody wrote to beside each one."""

    def result(self, op, result):
        if isinstance(op, ListNamespacesOp):
            return [*result, *(() if not result else ((*result[0], "ghost"),))]
        return result


class HundredNamespaces(Wrapped):
    def op(self, op):
        if isinstance(op, ListNamespacesOp):
            return op._replace(limit=min(op.limit, 100))
        return op


class Doubles(Wrapped):
    """Numbers are floating point, as in JavaScript."""

    def op(self, op):
        if isinstance(op, PutOp) and isinstance(op.value, dict):
            return op._replace(
                value={
                    n: int(float(v)) if type(v) is int and abs(v) < 2**63 else v
                    for n, v in op.value.items()
                }
            )
        return op


class Sorts(Wrapped):
    def result(self, op, result):
        if isinstance(op, GetOp) and result is not None:
            result = copy.copy(result)
            result.value = dict(sorted(result.value.items(), key=lambda x: str(x[0])))
        return result


class FiltersAfterTheLimit(Wrapped):
    def batch(self, ops):
        ops = list(ops)
        op = ops[0] if len(ops) == 1 else None
        if not isinstance(op, SearchOp) or not op.filter:
            return super().batch(ops)
        page = super().batch([op._replace(filter=None)])[0]
        good = super().batch([op._replace(limit=10**6, offset=0)])[0]
        keys = {(item.namespace, item.key) for item in good}
        return [[i for i in page if (i.namespace, i.key) in keys]]


class ShufflesPages(Wrapped):
    """Gives pages in an order that moves, as one without a tie-break may."""

    asked = 0

    def batch(self, ops):
        ops = list(ops)
        op = ops[0] if len(ops) == 1 else None
        if not isinstance(op, SearchOp) or op.limit != 100:
            return super().batch(ops)
        self.asked += 1
        items = super().batch([op._replace(limit=10**6, offset=0)])[0]
        items = items[self.asked :] + items[: self.asked]
        return [items[op.offset : op.offset + op.limit]]


class LosesConcurrentWrites(Wrapped):
    """Reads a namespace, waits, and writes it back as a whole."""

    def put(self, namespace, key, value, index=None, **options):
        if not namespace or not isinstance(value, dict):
            return super().put(namespace, key, value, index, **options)
        before = dict(self._data.get(namespace, {}))
        super().put(namespace, key, value, index, **options)
        if "writer" in value:
            mine = self._data[namespace][key]
            # Whoever waits longest writes back what is oldest.
            time.sleep(0.001 * (1 + value["writer"] % 3))
            self._data[namespace] = {**before, key: mine}
        return None


class AppliesWritesFirst(Wrapped):
    def batch(self, ops):
        ops = list(ops)
        writes = [op for op in ops if isinstance(op, PutOp)]
        super().batch(writes)
        return super().batch(ops)


class NaiveTimes(Wrapped):
    def result(self, op, result):
        if isinstance(op, GetOp) and result is not None:
            result = copy.copy(result)
            result.created_at = result.created_at.replace(tzinfo=None)
        return result


class MergesValues(Wrapped):
    def op(self, op):
        if isinstance(op, PutOp) and isinstance(op.value, dict):
            item = InMemoryStore.batch(self, [GetOp(op.namespace, op.key)])[0]
            if item is not None:
                return op._replace(value={**item.value, **op.value})
        return op


#: Waiting is the business of the lifetimes below, and would make this slow.
AT_ONCE = [one.name for one in properties() if not one.sleeps]
KNOWN_AT_ONCE = [one for one in KNOWN if one.name in AT_ONCE]


@pytest.mark.parametrize(
    ("store", "caught"),
    [
        (
            LeaksSiblings,
            (
                "batch.reads-see-state-before filter.before-limit "
                "filter.inside-namespace model.single-operations model.batches "
                "namespace.star-in-search search.paging-complete search.leak "
                "search.offset"
            ),
        ),
        (
            LikeWildcards,
            "batch.reads-see-state-before model.batches namespace.wildcards-in-search",
        ),
        (FoldsKeys, "delete.others key.case model.single-operations model.batches"),
        (
            FoldsLabels,
            (
                "delete.others list.wildcard-characters model.single-operations "
                "model.batches namespace.case namespace.case-in-search "
                "namespace.wildcards-in-search"
            ),
        ),
        (TrimsKeys, "key.spaces"),
        (TenGets, "batch.get-many batch.many-puts"),
        (
            Stale,
            (
                "batch.reads-see-state-before batch.delete-then-put "
                "batch.all-or-nothing delete.removes delete.by-none delete.others "
                "delete.again model.single-operations model.batches twins.delete "
                "value.replaced-whole"
            ),
        ),
        (
            ForgetsDeletes,
            (
                "delete.removes delete.by-none delete.others "
                "model.single-operations twins.delete"
            ),
        ),
        (
            Ghosts,
            (
                "list.complete list.default-limit list.paging list.once "
                "list.sorted list.siblings list.prefix list.wildcard-characters "
                "list.wildcard-in-prefix list.suffix list.wildcard-in-suffix "
                "list.max-depth list.max-depth-before-limit "
                "model.single-operations twins.list"
            ),
        ),
        (HundredNamespaces, "list.complete"),
        (Doubles, "filter.large-number value.int64"),
        (Sorts, "value.key-order"),
        (FiltersAfterTheLimit, "filter.before-limit"),
        (ShufflesPages, "search.paging-complete"),
        (AppliesWritesFirst, "batch.reads-see-state-before model.batches"),
        (NaiveTimes, "timestamps.aware timestamps.same-in-search"),
        (MergesValues, "value.replaced-whole"),
    ],
)
def test_a_defect_is_caught_by_these_and_no_others(store, caught):
    report = check(store(), differences=KNOWN_AT_ONCE, only=AT_ONCE)
    assert set(report.failed) == set(caught.split()), report.text()
    with pytest.raises(ConformanceFailed, match="is not as it should be") as refused:
        report.require()
    assert refused.value.failed == report.failed


@pytest.mark.parametrize(
    ("store", "caught"),
    [
        # Which put is the hundredth depends on what ran before.
        (DropsEveryHundredthPut, "batch.many-puts search.complete list.complete"),
        (LosesConcurrentWrites, "concurrency.threads"),
    ],
)
def test_a_defect_that_moves_is_caught(store, caught):
    report = check(store(), differences=KNOWN_AT_ONCE, only=AT_ONCE)
    assert set(caught.split()) <= set(report.failed), report.text()
    assert "missing" in report[caught.split()[0]].detail


class Expiring(Wrapped):
    """Keeps lifetimes in memory: what each of the defects below is a change of."""

    supports_ttl = True

    def __init__(self):
        super().__init__()
        self.ends = {}

    def life(self, op):
        return op.ttl

    def batch(self, ops):
        ops = list(ops)
        now = time.monotonic()
        for pair, (end, _) in list(self.ends.items()):
            if end <= now:
                self.drop(pair)
        for op in ops:
            if isinstance(op, GetOp) and op.refresh_ttl:
                self.refresh((op.namespace, op.key), now)
            if isinstance(op, SearchOp) and op.refresh_ttl:
                for pair in list(self.ends):
                    if pair[0][: len(op.namespace_prefix)] == op.namespace_prefix:
                        self.refresh(pair, now)
        found = super().batch(ops)
        for op in ops:
            if isinstance(op, PutOp):
                self.put_life(op, now)
        return found

    def drop(self, pair):
        del self.ends[pair]
        self._data[pair[0]].pop(pair[1], None)
        if not self._data[pair[0]]:
            del self._data[pair[0]]

    def refresh(self, pair, now):
        if pair in self.ends:
            life = self.ends[pair][1]
            self.ends[pair] = (now + life, life)

    def put_life(self, op, now):
        pair = (op.namespace, op.key)
        life = self.life(op)
        if op.value is None or life is None:
            self.ends.pop(pair, None)
        else:
            self.ends[pair] = (now + life * 60, life * 60)


class StripsLifetimes(Expiring):
    def life(self, op):
        return None


class WholeMinutes(Expiring):
    def life(self, op):
        return None if op.ttl is None else max(1, round(op.ttl))


class AlwaysRefreshes(Expiring):
    def op(self, op):
        return op

    def batch(self, ops):
        return super().batch(
            [
                op._replace(refresh_ttl=True)
                if isinstance(op, GetOp | SearchOp)
                else op
                for op in ops
            ]
        )


class NeverRefreshes(Expiring):
    def refresh(self, pair, now):
        pass


class KeepsTheOldLifetime(Expiring):
    def put_life(self, op, now):
        if op.value is not None and (op.namespace, op.key) in self.ends:
            return
        super().put_life(op, now)


LIFETIMES = [
    (Expiring, ""),
    (
        StripsLifetimes,
        (
            "ttl.below-a-minute ttl.in-batch ttl.hidden-at-once "
            "ttl.hidden-from-list ttl.others-stay ttl.put-again-shorter "
            "ttl.get-without-refresh ttl.search-without-refresh "
            "ttl.refresh-is-not-longer ttl.reading-does-not-revive ttl.zero"
        ),
    ),
    (
        WholeMinutes,
        (
            "ttl.below-a-minute ttl.in-batch ttl.hidden-at-once "
            "ttl.hidden-from-list ttl.others-stay ttl.put-again-shorter "
            "ttl.get-without-refresh ttl.search-without-refresh "
            "ttl.refresh-is-not-longer ttl.reading-does-not-revive ttl.zero"
        ),
    ),
    (
        # Two of these look, without refreshing, whether an item is still there.
        AlwaysRefreshes,
        (
            "ttl.below-a-minute ttl.in-batch ttl.get-without-refresh "
            "ttl.search-without-refresh"
        ),
    ),
    (NeverRefreshes, "ttl.get-refreshes ttl.search-refreshes"),
    (
        KeepsTheOldLifetime,
        "ttl.put-again-without ttl.put-again-longer ttl.put-again-shorter",
    ),
]


@pytest.fixture(scope="module")
def lifetimes():
    """All of them at once, as they wait most of the time."""
    with ThreadPoolExecutor(len(LIFETIMES)) as pool:
        yield {
            store: pool.submit(check, store(), only=["ttl.*"]) for store, _ in LIFETIMES
        }


@pytest.mark.parametrize(("store", "caught"), LIFETIMES)
def test_lifetimes(store, caught, lifetimes):
    report = lifetimes[store].result()
    assert set(report.failed) == set(caught.split()), report.text()


class StaleVectors(InMemoryStore):
    """Ranks by what an item was first put with."""

    def _insertinmem_store(self, to_embed, embeddings):
        for text, places in to_embed.items():
            to_embed[text] = places
        for places, vector in zip(to_embed.values(), embeddings, strict=True):
            for namespace, key, path in places:
                self._vectors[namespace][key].setdefault(path, vector)


def test_vectors():
    from holdover.compat.testing import index_config

    report = check(
        StaleVectors(index=index_config()),
        capabilities=Capabilities(vectors=True),
        differences=[
            one
            for one in KNOWN
            if one.name in ("vectors.stale-after-index-false", "vectors.stale-field")
        ],
        only=["vectors.*"],
    )
    assert report.failed == ("vectors.update",)


def test_a_difference_that_vanished_fails():
    report = check(
        InMemoryStore(), differences=[*KNOWN, Difference("key.case", "never true")]
    )
    assert report.failed == ("key.case",)
    assert report["key.case"].outcome is Outcome.VANISHED
    assert "remove the declaration" in report["key.case"].detail


def test_a_store_that_is_down_has_no_property_but_where_it_may_refuse():
    class Down(InMemoryStore):
        supports_ttl = True

        def batch(self, ops):
            raise ConnectionError("refused")

        async def abatch(self, ops):
            raise ConnectionError("refused")

    report = check(Down())
    passed = {one.name for one in report.results if one.outcome is Outcome.PASS}
    assert passed == {"ttl.zero", "twins.refusals"}
    assert len(report.failed) > 150


def test_a_clock_that_is_wrong():
    class Yesterday(Wrapped):
        def result(self, op, result):
            if isinstance(op, GetOp) and result is not None:
                result = copy.copy(result)
                result.updated_at = datetime(2020, 1, 1, tzinfo=UTC)
            return result

    assert "timestamps.now" in check(Yesterday(), only=["timestamps.now"]).failed


def test_there_are_defects_of_every_group():
    groups = {one.group for one in properties()}
    assert groups == {
        "aliasing", "batch", "concurrency", "delete", "filter", "key", "list",
        "model", "namespace", "search", "timestamps", "ttl", "twins", "validation",
        "value", "vectors",
    }  # fmt: skip
