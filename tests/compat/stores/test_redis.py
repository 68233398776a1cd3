"""A LangGraph store in plain Redis: what every operation gives, wherever it lies."""

import asyncio
import gc
import math
import time
import warnings
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from uuid import uuid4

import pytest
import redis
import redis.asyncio
import servers
from backends import Driven
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langgraph.store.base import (
    GetOp,
    InvalidNamespaceError,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchOp,
)
from plain_redis import connect, disagreements, raw_items, raw_keys, raw_lists

from holdover.compat.errors import SyncUseOfAsyncStore, UnportableValue
from holdover.compat.stores.choosing import backend_for
from holdover.compat.stores.redis import PlainRedisStore

NS = ("users", "u1")
FAST = settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def unix_url(url):
    with redis.Redis.from_url(url, protocol=2) as client:
        folder = client.config_get("dir")["dir"]
    return f"unix://{Path(folder) / 'redis.sock'}"


@pytest.fixture(params=["redis", "cluster", "sentinel", "old_redis", "tls", "unix"])
def place(request):
    """The address of an empty place of each kind."""
    if request.param == "unix":
        return unix_url(request.getfixturevalue("redis_url"))
    return request.getfixturevalue(f"{request.param}_url")


@pytest.fixture
def make(loop):
    """Open stores by address, closed in the end."""
    made = []

    def make(url, **options):
        made.append(PlainRedisStore.from_url(url, **options))
        return made[-1]

    yield make
    for store in made:
        loop.run(store.aclose())
        store.close()


@pytest.fixture
def store(make, redis_url):
    return make(redis_url)


@pytest.fixture
def raw(redis_url):
    with connect(redis_url) as client:
        yield client


def pairs(found):
    return [(item.namespace, item.key) for item in found]


def exercise(store):
    """Call every method, and check what it gives."""
    before = datetime.now(UTC) - timedelta(seconds=5)
    store.setup()
    assert store.get(NS, "k") is None
    assert store.search(()) == []
    assert store.list_namespaces() == []
    store.put(NS, "k", {"n": 1, "text": "é\0😀", "deep": {"list": [1.5, None, True]}})
    item = store.get(NS, "k")
    assert (item.namespace, item.key) == (NS, "k")
    assert item.value == {
        "n": 1,
        "text": "é\0😀",
        "deep": {"list": [1.5, None, True]},
    }
    assert before < item.created_at == item.updated_at
    store.put(NS, "k", {"n": 2})
    again = store.get(NS, "k")
    assert again.value == {"n": 2}
    assert again.created_at == item.created_at < again.updated_at
    store.put(("users", "u10"), "other", {"n": 3})
    store.put(("users",), "above", {"n": 4})
    store.put(("users", "u1", "sub"), "below", {"n": 5})
    store.put(("else",), "e", {"n": 6})
    assert pairs(store.search(("users",))) == [
        (("users", "u1", "sub"), "below"),
        (("users",), "above"),
        (("users", "u10"), "other"),
        (NS, "k"),
    ]
    assert pairs(store.search(NS)) == [(("users", "u1", "sub"), "below"), (NS, "k")]
    assert [i.key for i in store.search((), filter={"n": {"$gte": 4}})] == [
        "e", "below", "above",
    ]  # fmt: skip
    assert [i.key for i in store.search((), limit=2, offset=1)] == ["below", "above"]
    assert store.list_namespaces() == [
        ("else",), ("users",), NS, ("users", "u1", "sub"), ("users", "u10"),
    ]  # fmt: skip
    assert store.list_namespaces(prefix=("users",), max_depth=1) == [("users",)]
    assert store.list_namespaces(suffix=("sub",)) == [("users", "u1", "sub")]
    results = store.batch(
        [
            PutOp(NS, "k", {"n": 7}),
            GetOp(NS, "k"),
            PutOp(("else",), "e", None),
            SearchOp(("else",)),
            ListNamespacesOp((MatchCondition("prefix", ("else",)),)),
            GetOp(("no",), "such"),
            *[PutOp(("many",), f"{n:03}", {"n": n}) for n in range(250)],
        ]
    )
    assert results[0] is None
    assert results[1].value == {"n": 2}
    assert pairs(results[3]) == [(("else",), "e")]
    assert results[4] == [("else",)]
    assert results[5:] == [None] * 251
    assert store.get(NS, "k").value == {"n": 7}
    assert store.get(("else",), "e") is None
    assert store.list_namespaces(prefix=("else",)) == []
    many = store.search(("many",), limit=1000)
    assert [i.key for i in many] == [f"{n:03}" for n in reversed(range(250))]
    store.delete(("many",), "007")
    assert len(store.search(("many",), limit=1000)) == 249
    store.put(NS, "short", {"n": 8}, ttl=0.0005)
    time.sleep(0.06)
    assert store.get(NS, "short") is None
    assert "short" not in [i.key for i in store.search(NS)]
    store.put(("short",), "only", {}, ttl=0.0005)
    time.sleep(0.06)
    assert ("short",) not in store.list_namespaces()
    # The second put took the first one off its lists, where they share a shard.
    assert store.sweep_ttl() in (1, 2)
    assert store.sweep_ttl() == 0
    assert store.repair() == 0


def test_every_operation_everywhere(place, way, make, loop):
    store = make(place)
    exercise(Driven(store, way, loop))
    raw = servers.sentinel_master(place) if "sentinel" in place else place
    with connect(raw) as client:
        assert disagreements(client) == []
        assert raw_items(client)


@pytest.mark.parametrize("decode", [False, True])
@pytest.mark.parametrize("protocol", [2, 3])
@pytest.mark.parametrize("kind", ["one", "cluster"])
def test_a_ready_client(request, kind, protocol, decode, way, loop):
    url = request.getfixturevalue("cluster_url" if kind == "cluster" else "redis_url")
    classes = (redis, redis.asyncio)[way == "async"]
    make = classes.RedisCluster if kind == "cluster" else classes.Redis
    url = url.removesuffix("/0") if kind == "cluster" else url

    async def made():
        return make.from_url(url, decode_responses=decode, protocol=protocol)

    store = PlainRedisStore(loop.run(made()))
    driven = Driven(store, way, loop)
    exercise(driven)
    odd = "lone \ud800 😀"
    driven.put(("odd", odd), odd, {"n": 1})
    assert driven.get(("odd", odd), odd).value == {"n": 1}
    assert pairs(driven.search(("odd",))) == [(("odd", odd), odd)]
    assert driven.list_namespaces(prefix=("odd",)) == [("odd", odd)]
    assert driven.repair() == 0
    if way == "async":
        # Its loop runs in another thread, which can wait for it; it itself cannot.
        assert store.get(NS, "k").value == {"n": 7}

        async def within():
            store.get(NS, "k")

        with pytest.raises(SyncUseOfAsyncStore):
            loop.run(within())
        loop.run(store.aclose())
    store.close()


def test_a_sync_client_serves_async_methods_from_a_thread(redis_url, loop):
    with redis.Redis.from_url(redis_url) as client:
        exercise(Driven(PlainRedisStore(client), "async", loop))


def test_event_loops_one_after_another(place, make):
    store = make(place)

    async def turn(number):
        await store.aput(NS, f"k{number}", {"n": number})
        held = [item.value["n"] for item in await store.asearch(NS, limit=100)]
        await store.aclose()
        return held

    for number in range(4):
        assert asyncio.run(turn(number)) == list(reversed(range(number + 1)))


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.skipif(
    redis.__version__.startswith("5."),
    reason="redis-py 5 cannot close a connection whose loop has ended",
)
def test_a_loop_that_ended_without_closing_leaves_no_connection(store, raw):
    async def turn():
        await store.aput(NS, "k", {})

    asyncio.run(turn())
    few = len(raw.client_list())
    for _ in range(10):
        asyncio.run(turn())
    gc.collect()
    # One for each of the ten would be a leak.
    assert len(raw.client_list()) <= few + 5


def test_a_failover(loop):
    with servers.redis_sentinel() as url:
        store = PlainRedisStore.from_url(url)
        store.put(NS, "before", {"n": 1})
        loop.run(store.aput(NS, "also", {"n": 2}))
        old = servers.sentinel_master(url)
        with redis.Redis.from_url(old, protocol=2) as master:
            assert master.wait(1, 5_000) == 1
            master.shutdown(nosave=True)
        servers.wait_for(lambda: servers.sentinel_master(url) != old, "a promotion")

        def writes():
            try:
                store.put(NS, "after", {"n": 3})
            except redis.RedisError:
                return False
            return True

        servers.wait_for(writes, "a write to the new master")
        assert {i.key: i.value["n"] for i in store.search(NS)} == {
            "before": 1, "also": 2, "after": 3,
        }  # fmt: skip
        assert loop.run(store.aget(NS, "after")).value == {"n": 3}
        loop.run(store.aput(NS, "after", {"n": 4}))
        assert store.get(NS, "after").value == {"n": 4}
        with connect(servers.sentinel_master(url)) as client:
            assert disagreements(client) == []
        loop.run(store.aclose())
        store.close()


@pytest.mark.parametrize("kind", ["redis", "cluster"])
def test_the_script_is_forgotten(request, kind, way, make, loop):
    url = request.getfixturevalue(f"{kind}_url")
    store = make(url)
    driven = Driven(store, way, loop)
    with connect(url) as client:
        for number in range(3):
            client.script_flush()
            driven.batch([PutOp(("n", f"{n}"), "k", {"n": number}) for n in range(300)])
        found = driven.search((), limit=1000)
        assert [item.value["n"] for item in found] == [2] * 300
        assert disagreements(client) == []


@pytest.mark.parametrize("kind", ["redis", "cluster"])
def test_flushed_while_running(request, kind, make):
    url = request.getfixturevalue(f"{kind}_url")
    store = make(url)
    store.put(NS, "k", {})
    (servers.flush_cluster if kind == "cluster" else flush)(url)
    assert store.get(NS, "k") is None
    assert store.search(()) == []
    store.put(NS, "new", {"n": 1})
    # Another process finds what is written now, by the same layout.
    assert [item.key for item in make(url).search(())] == ["new"]
    with connect(url) as client:
        assert disagreements(client) == []


def flush(url):
    with redis.Redis.from_url(url) as client:
        client.flushall()


@pytest.mark.parametrize(
    ("one", "other"),
    [("a", "ab"), ("a", "a:b"), ("a*", "ab"), ("a?", "ab"), ("[a]", "a"),
     ("a\\", "a"), ("a\n", "a"), ("é", "e"), ("^", "a")],
)  # fmt: skip
def test_two_prefixes_do_not_see_each_other(make, redis_url, one, other):
    first, second = make(redis_url, prefix=one), make(redis_url, prefix=other)
    first.put(NS, "k", {"of": 1})
    second.put(NS, "k", {"of": 2})
    second.put(("second",), "only", {})
    assert first.get(NS, "k").value == {"of": 1}
    assert pairs(first.search(())) == [(NS, "k")]
    assert first.list_namespaces() == [NS]
    first.delete(NS, "k")
    with connect(redis_url) as client:
        for place, key in raw_keys(client, other).items():
            if b"keys:" in place[1]:
                client.delete(key)
    assert first.repair() == 0  # it mends nothing of the other's
    assert second.repair() == 2
    assert second.get(NS, "k").value == {"of": 2}


# --- against a model ----------------------------------------------------------

LABELS = st.sampled_from(["a", "b", "a1", "*", "a\n", "é", "😀"])
NAMESPACES = st.lists(LABELS, min_size=1, max_size=3).map(tuple)
KEYS = st.sampled_from(["", "k", "k.", ".k", "..", "😀", "z"])
PUTS = st.tuples(st.just("put"), NAMESPACES, KEYS, st.integers(0, 3))
DELETES = st.tuples(st.just("delete"), NAMESPACES, KEYS, st.none())
CHANGES = st.lists(st.one_of(PUTS, PUTS, DELETES), max_size=25)
BOUNDS = st.tuples(st.integers(0, 6), st.integers(0, 4))
PATHS = st.lists(LABELS, max_size=2).map(tuple)


def changed(store, changes):
    """Carry changes out; give what is there, the last put last."""
    model = {}
    for what, namespace, key, n in changes:
        model.pop((namespace, key), None)
        if what == "put":
            store.put(namespace, key, {"n": n})
            model[namespace, key] = {"n": n}
        else:
            store.delete(namespace, key)
    return model


def fits(pattern, part):
    return len(pattern) == len(part) and all(
        p in ("*", label) for p, label in zip(pattern, part, strict=True)
    )


@pytest.mark.parametrize("shards", [1, 7])
@FAST
@given(changes=CHANGES, prefix=PATHS, suffix=PATHS, bounds=BOUNDS, n=st.integers(0, 3),
       depth=st.none() | st.integers(1, 3), size=st.integers(1, 3))  # fmt: skip
def test_it_does_what_a_dict_does(
    store_redis, shards, changes, prefix, suffix, bounds, n, depth, size
):
    store = PlainRedisStore.from_url(store_redis, prefix=uuid4().hex, shards=shards)
    model = changed(store, changes)
    limit, offset = bounds
    newest = list(reversed(model.items()))
    below = [(place, v) for place, v in newest if place[0][: len(prefix)] == prefix]

    def found(**options):
        hits = store.search(prefix, **options)
        return [((item.namespace, item.key), item.value) for item in hits]

    assert found(limit=100) == below
    assert found(limit=limit, offset=offset) == below[offset : offset + limit]
    chosen = [one for one in below if one[1] == {"n": n}]
    filtered = found(filter={"n": n}, limit=limit, offset=offset)
    assert filtered == chosen[offset : offset + limit]
    for place, value in model.items():
        assert store.get(*place).value == value

    namespaces = sorted({place[0] for place in model})
    assert store.list_namespaces(limit=100) == namespaces
    listed = sorted(
        {
            ns[:depth]
            for ns in namespaces
            if fits(prefix, ns[: len(prefix)])
            and fits(suffix, ns[len(ns) - len(suffix) :] if suffix else ())
            and len(ns) >= len(suffix)
        }
    )
    options = {"prefix": prefix or None, "suffix": suffix or None, "max_depth": depth}
    assert store.list_namespaces(**options, limit=100) == listed
    some = store.list_namespaces(**options, limit=limit, offset=offset)
    assert some == listed[offset : offset + limit]

    check_backend(store, model, prefix, size)
    with connect(store_redis) as client:
        assert disagreements(client, store.prefix) == []
    store.close()


def check_backend(store, model, prefix, size):
    backend = backend_for(store)
    beneath = {ns for ns, _ in model if ns[: len(prefix)] == prefix}
    assert set(map(tuple, backend.namespaces(prefix))) == beneath
    for namespace in {*beneath, ("none",)}:
        own = sorted((k, v) for (ns, k), v in model.items() if ns == namespace)
        assert backend.count(namespace) == len(own)
        for reverse in (False, True):
            ordered = own[::-1] if reverse else own
            read, after = [], None
            while part := backend.page(namespace, after, size, reverse):
                assert len(part) <= size
                read += part
                after = part[-1][0]
            assert read == ordered
        keys = [key for key, _ in own[::-1]]
        assert sorted(backend.older(namespace, size)) == sorted(keys[size:])
        assert sorted(backend.older(namespace, 0)) == sorted(keys)


# --- names --------------------------------------------------------------------

ODD = [
    " ", "a b", "{}", "{0}", "}:item:", "*", "?", "[a]", "\\", "\n", "\r\n", "\t", ":",
    "é", "e\u0301", "😀", "\ud800", "\udfff", "\x01", "\x7f", "%", "_", "'", '"', "-",
    "A", "a", "1", "null", "ns;1", "x" * 5000,
]  # fmt: skip
ODD_KEYS = [*ODD, "", ".", "..", "...", "..a", "a..", "\0", "a\0b", "k" * 1_000_000]


@pytest.mark.parametrize("kind", ["redis", "cluster"])
def test_hostile_labels(request, kind, make):
    url = request.getfixturevalue(f"{kind}_url")
    store = make(url)
    namespaces = [
        *[(label,) for label in ODD],
        *[("below", label) for label in ODD],
        *[(label, "above") for label in ODD],
        ("hundred",) * 100,
    ]
    store.batch([PutOp(ns, "k", {"n": n}) for n, ns in enumerate(namespaces)])
    for n, namespace in enumerate(namespaces):
        assert store.get(namespace, "k").value == {"n": n}
        below = {ns for ns in namespaces if ns[: len(namespace)] == namespace}
        assert {i.namespace for i in store.search(namespace, limit=99)} == below
    assert store.list_namespaces(limit=1000) == sorted(namespaces)
    with connect(url) as client:
        assert disagreements(client) == []
    assert store.repair() == 0


def test_hostile_keys(store, raw):
    store.batch([PutOp(NS, key, {"n": n}) for n, key in enumerate(ODD_KEYS)])
    for n, key in enumerate(ODD_KEYS):
        assert store.get(NS, key).value == {"n": n}
    assert {i.key for i in store.search(NS, limit=99)} == set(ODD_KEYS)
    backend = backend_for(store)
    assert [key for key, _ in backend.page(NS, None, 99, False)] == sorted(ODD_KEYS)
    assert disagreements(raw) == []
    assert store.repair() == 0
    for key in ODD_KEYS:
        store.delete(NS, key)
    assert {rest for _, rest in raw_keys(raw)} == {b"layout"}


@FAST
@given(
    labels=st.lists(
        st.text(st.characters(codec=None, exclude_characters=".\0"), min_size=1),
        min_size=1,
        max_size=4,
    ).map(tuple),
    key=st.text(st.characters(codec=None)),
)
def test_any_name_is_itself(store_redis, labels, key):
    store = PlainRedisStore.from_url(store_redis, prefix=uuid4().hex)
    if labels[0] == "langgraph":
        labels = ("x", *labels)
    store.put(labels, key, {"n": 1})
    assert pairs(store.search(labels)) == [(labels, key)]
    assert store.list_namespaces() == [labels]
    assert store.get(labels, key).value == {"n": 1}
    assert store.get(labels, key + "x") is None
    assert store.repair() == 0
    store.delete(labels, key)
    assert store.search(()) == []
    store.close()


def test_siblings_do_not_leak(store):
    labels = ["user1", "user10", "user1-x", "user", "USER1", "user1 ", "user1\x01"]
    for label in labels:
        store.put(("root", label), "k", {"of": label})
        store.put(("root", label, "below"), "k", {"of": label})
    for label in labels:
        prefix = ("root", label)
        assert {i.value["of"] for i in store.search(prefix)} == {label}
        listed = store.list_namespaces(prefix=prefix)
        assert listed == [prefix, (*prefix, "below")]


# --- lifetimes ----------------------------------------------------------------


def lifetime(raw, key="k", namespace=NS):
    """Milliseconds in the header, and those left."""
    item = raw_items(raw)[namespace, key]
    left = raw.pttl(f"holdover:{{0}}:item:{'.'.join(namespace)}..{key}")
    return item[2], left


@pytest.mark.parametrize(
    ("minutes", "milliseconds"),
    [(1, 60_000), (0.5, 30_000), (1 / 600, 100), (0.00251, 151), (60.0, 3_600_000),
     (1e15, 9 * 10**15), (1e308, 9 * 10**15)],
)  # fmt: skip
def test_a_lifetime_is_redis_s_own(store, raw, minutes, milliseconds):
    store.put(NS, "k", {"n": 1}, ttl=minutes)
    header, left = lifetime(raw)
    assert header == milliseconds
    # A busy machine takes its time between the put and the look.
    assert milliseconds * 0.97 - 60 < left <= milliseconds
    assert disagreements(raw) == []


@pytest.mark.parametrize("minutes", [None, math.inf])
def test_for_ever(store, raw, minutes):
    store.put(NS, "k", {}, ttl=1)
    store.put(NS, "k", {}, ttl=minutes)
    assert lifetime(raw) == (None, -1)
    assert disagreements(raw) == []


@pytest.mark.parametrize("minutes", [0, -1, -0.0, -1e308, -math.inf])
def test_no_time_to_live(store, raw, minutes):
    store.put(NS, "k", {})
    store.put(NS, "k", {}, ttl=minutes)
    assert store.get(NS, "k") is None
    assert {rest for _, rest in raw_keys(raw)} == {b"layout"}


@pytest.mark.parametrize(
    ("minutes", "error"), [(math.nan, ValueError), ("1", TypeError)]
)
def test_no_lifetime_at_all(store, raw, minutes, error):
    with pytest.raises(error):
        store.batch([PutOp(NS, "a", {}), PutOp(NS, "k", {}, ttl=minutes)])
    assert raw_keys(raw) == {}


@pytest.mark.parametrize("read", ["get", "search"])
@pytest.mark.parametrize(
    ("config", "asked", "anew"),
    [
        (None, None, True),
        (None, True, True),
        (None, False, False),
        ({"refresh_on_read": False}, None, False),
        ({"refresh_on_read": False}, True, True),
        ({"refresh_on_read": True}, False, False),
        ({"refresh_on_read": True}, None, True),
    ],
)
def test_reading_begins_a_lifetime_anew(
    make, redis_url, raw, way, loop, read, config, asked, anew
):
    store = Driven(make(redis_url, ttl=config), way, loop)
    store.put(NS, "k", {}, ttl=10)
    store.put(NS, "ever", {})
    raw.pexpire("holdover:{0}:item:users.u1..k", 5_000)
    updated = store.get(NS, "k", refresh_ttl=False).updated_at
    assert lifetime(raw)[1] <= 5_000
    if read == "get":
        store.get(NS, "k", refresh_ttl=asked)
        store.get(NS, "ever", refresh_ttl=asked)
    else:
        assert len(store.search(NS, refresh_ttl=asked)) == 2
    header, left = lifetime(raw)
    assert header == 600_000
    assert (left > 599_000) is anew
    assert lifetime(raw, "ever") == (None, -1)
    assert store.get(NS, "k", refresh_ttl=False).updated_at == updated
    if anew:
        assert disagreements(raw) == []


def test_a_default_lifetime(make, redis_url, raw):
    store = make(redis_url, ttl={"default_ttl": 2})
    store.put(NS, "k", {})
    store.put(NS, "ever", {}, ttl=None)
    assert lifetime(raw)[0] == 120_000
    assert lifetime(raw, "ever") == (None, -1)


def test_what_expired_is_hidden_at_once(store, raw):
    store.put(("live",), "k", {"n": 1}, ttl=10)
    store.put(("mixed",), "stays", {})
    for n in range(5):
        store.put(("mixed",), f"z{n}", {}, ttl=0.001)
        store.put(("gone",), f"z{n}", {}, ttl=0.001)
    time.sleep(0.08)
    # They are still listed by Redis itself; this is what there is to hide.
    assert len(disagreements(raw)) == 31
    backend = backend_for(store)
    search = partial(store.search, refresh_ttl=False)
    assert {(i.namespace, i.key) for i in search(())} == {
        (("live",), "k"),
        (("mixed",), "stays"),
    }
    # Page by page, too: they fill no page.
    assert [i.key for i in search(("mixed",), limit=1)] == ["stays"]
    assert search(("mixed",), limit=1, offset=1) == []
    assert store.list_namespaces() == [("live",), ("mixed",)]
    assert backend.namespaces(()) == [("live",), ("mixed",)]
    assert backend.count(("mixed",)) == 1
    assert backend.count(("gone",)) == 0
    assert backend.page(("mixed",), None, 1, True) == [("stays", {})]
    assert backend.read([(("gone",), "z1"), (("mixed",), "stays")]) == [None, {}]
    assert store.sweep_ttl() == 10
    assert disagreements(raw) == []
    assert store.sweep_ttl() == 0


def test_writes_take_expired_items_off_the_lists(store, raw):
    store.batch([PutOp(("gone",), f"{n}", {}, ttl=0.001) for n in range(50)])
    time.sleep(0.08)
    listed = []
    for n in range(4):
        store.put(("other",), f"{n}", {})
        listed.append(raw.zcard("holdover:{0}:expires"))
    # A few with each write, so that no write is slow, until there are none.
    assert listed == [30, 10, 0, 0]
    assert disagreements(raw) == []
    assert store.list_namespaces() == [("other",)]


def test_put_again_after_it_expired(store):
    store.put(NS, "k", {}, ttl=0.001)
    first = store.get(NS, "k", refresh_ttl=False).created_at
    time.sleep(0.08)
    store.put(NS, "k", {})
    item = store.get(NS, "k")
    assert first < item.created_at == item.updated_at


# --- what is refused ----------------------------------------------------------

DEEP: dict = {}
for _ in range(2_000):
    DEEP = {"d": DEEP}
BAD_OPS = [
    (PutOp(NS, "k", {"d": datetime.now(UTC)}), TypeError),
    (PutOp(NS, "k", {"d": {1, 2}}), TypeError),
    (PutOp(NS, "k", {"d": b"bytes"}), TypeError),
    (PutOp(NS, "k", {1: "x"}), TypeError),
    (PutOp(NS, "k", {"d": "\ud800"}), TypeError),
    (PutOp(NS, "k", {"d": 2**64}), TypeError),
    (PutOp(NS, "k", {"d": -(2**63) - 1}), TypeError),
    (PutOp(NS, "k", DEEP), TypeError),
    (PutOp(NS, "k", {"d": math.nan}), UnportableValue),
    (PutOp(NS, "k", {"d": [{"e": (math.inf,)}]}), UnportableValue),
    (PutOp(NS, "k", [1]), TypeError),
    (PutOp(NS, "k", "text"), TypeError),
    (PutOp(NS, 5, {}), TypeError),
    (PutOp(NS, None, {}), TypeError),
    (PutOp((), "k", {}), InvalidNamespaceError),
    (PutOp(("langgraph", "x"), "k", {}), InvalidNamespaceError),
    (PutOp(("a.b",), "k", {}), InvalidNamespaceError),
    (PutOp(("a", ""), "k", {}), InvalidNamespaceError),
    (PutOp(("a\0",), "k", {}), InvalidNamespaceError),
    (PutOp(("a", 1), "k", {}), TypeError),
    (PutOp("abc", "k", {}), TypeError),
    (PutOp(("a.b",), "k", None), InvalidNamespaceError),
    (GetOp("abc", "k"), TypeError),
    (GetOp(("a.b",), "k"), InvalidNamespaceError),
    (GetOp(NS, 1), TypeError),
    (SearchOp("abc"), TypeError),
    (SearchOp(NS, limit=-1), ValueError),
    (SearchOp(NS, offset=-1), ValueError),
    (SearchOp(NS, limit=None), TypeError),
    (SearchOp(NS, limit=1.5), TypeError),
    (SearchOp(NS, filter={"n": {"$in": [1]}}), ValueError),
    (ListNamespacesOp(max_depth=0), ValueError),
    (ListNamespacesOp(limit=-1), ValueError),
    (ListNamespacesOp((MatchCondition("middle", ("a",)),)), ValueError),
    (ListNamespacesOp((MatchCondition("prefix", ("a.b",)),)), InvalidNamespaceError),
    ("not an operation", ValueError),
]


@pytest.mark.parametrize(("op", "error"), BAD_OPS)
def test_a_bad_operation_leaves_nothing_written(store, raw, way, loop, op, error):
    with pytest.raises(error):
        Driven(store, way, loop).batch([PutOp(NS, "good", {"n": 1}), op])
    assert raw_keys(raw) == {}


@pytest.mark.parametrize(
    "value",
    [{"n": 2**64 - 1}, {"n": -(2**63)}, {"f": 1.7e308}, {"f": -0.0}, {"f": 5e-324},
     {"": {"": ""}}, {"b": 1, "a": 2}, {"null": None, "t": "null"}, {}, {"s": "\0\n"},
     {"t": "x" * 3_000_000}],
    ids=lambda value: repr(value)[:20],
)  # fmt: skip
def test_a_value_comes_back_as_it_was(store, value):
    store.put(NS, "k", value)
    held = store.get(NS, "k").value
    assert repr(held) == repr(value)  # the order of keys and the sign of zero, too


def test_what_is_given_out_is_a_copy(store):
    value = {"list": [1]}
    store.put(NS, "k", value)
    value["list"].append(2)
    held = store.get(NS, "k").value
    held["list"].append(3)
    assert store.get(NS, "k").value == {"list": [1]}


def test_the_last_of_several_puts_of_one_key_counts(store):
    store.batch([PutOp(NS, "a", {"n": 1}), PutOp(NS, "a", None)])
    store.batch([PutOp(NS, "b", None), PutOp(NS, "b", {"n": 2})])
    store.batch([PutOp(NS, "c", {"n": 3}), PutOp(NS, "c", {"n": 4})])
    assert {i.key: i.value["n"] for i in store.search(NS)} == {"b": 2, "c": 4}


# --- large --------------------------------------------------------------------


@pytest.mark.parametrize("shards", [1, 7])
def test_paging_misses_and_repeats_nothing(make, redis_url, shards):
    store = make(redis_url, shards=shards)
    places = {((f"ns{n % 5}",), f"{n}") for n in range(2_300)}
    store.batch([PutOp(namespace, key, {}) for namespace, key in places])
    with connect(redis_url) as raw:
        # Rows with the same time, as two servers of a cluster may write them.
        for (_, rest), key in raw_keys(raw).items():
            if rest.startswith(b"recent:"):
                raw.zadd(key, dict.fromkeys(raw.zrange(key, 0, -1), 17 * 10**14))
    read = []
    while part := store.search((), limit=170, offset=len(read)):
        read += pairs(part)
    assert len(read) == len(places)
    assert set(read) == places
    assert pairs(store.search((), limit=5_000)) == read
    few = store.search((), filter={"none": 1}, limit=10)
    assert few == []


def test_more_than_a_thousand_items_and_namespaces(store, raw):
    store.batch([PutOp(("big",), f"{n:05}", {"n": n}) for n in range(1_300)])
    store.batch([PutOp(("ns", f"{n:05}"), "k", {"n": n}) for n in range(1_300)])
    backend = backend_for(store)
    assert backend.count(("big",)) == 1_300
    assert backend.older(("big",), 3) == [f"{n:05}" for n in reversed(range(1_297))]
    for reverse in (False, True):
        keys = [key for key, _ in backend.page(("big",), None, 9_999, reverse)]
        assert keys == sorted((f"{n:05}" for n in range(1_300)), reverse=reverse)
    found = store.search(("big",), limit=9_999)
    assert [item.value["n"] for item in found] == list(reversed(range(1_300)))
    rare = store.search(("big",), filter={"n": {"$lt": 2}}, limit=9)
    assert [item.value["n"] for item in rare] == [1, 0]
    assert len(store.search(("ns",), limit=9_999)) == 1_300
    listed = store.list_namespaces(limit=9_999)
    assert listed == [("big",), *(("ns", f"{n:05}") for n in range(1_300))]
    assert store.list_namespaces(max_depth=1) == [("big",), ("ns",)]
    assert store.list_namespaces(limit=2, offset=1_100) == listed[1_100:1_102]
    assert store.list_namespaces(suffix=("01200",)) == [("ns", "01200")]
    assert store.repair() == 0
    assert disagreements(raw) == []


def test_more_than_a_thousand_expired(store, raw):
    places = [PutOp((f"n{n % 3}",), f"{n}", {}, ttl=0.02) for n in range(2_500)]
    store.batch([*places, PutOp(("n0",), "stays", {})])
    time.sleep(1.3)
    assert raw.zcard("holdover:{0}:expires") == 2_500
    assert store.list_namespaces() == [("n0",)]
    assert backend_for(store).count(("n0",)) == 1
    assert [item.key for item in store.search(())] == ["stays"]
    assert store.sweep_ttl() == 2_500
    assert disagreements(raw) == []


# --- warnings -----------------------------------------------------------------


@pytest.mark.parametrize("policy", ["allkeys-lru", "volatile-ttl", "allkeys-random"])
def test_a_server_that_evicts_is_warned_of(store, raw, way, loop, policy):
    driven = Driven(store, way, loop)
    raw.config_set("maxmemory-policy", policy)
    try:
        with pytest.warns(UserWarning, match=f"{policy}.*noeviction"):
            driven.setup()
    finally:
        raw.config_set("maxmemory-policy", "noeviction")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        driven.setup()


def test_the_layout_is_written_down_by_setup_alone(store, raw):
    assert store.get(NS, "k") is None
    store.search(())
    store.list_namespaces()
    store.repair()
    store.sweep_ttl()
    assert raw_keys(raw) == {}
    store.setup()
    assert raw_keys(raw) == {(0, b"layout"): b"holdover:{0}:layout"}
    assert raw_lists(raw) == {}
