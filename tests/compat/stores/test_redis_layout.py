"""How a store lies in plain Redis, by raw commands: keys, script, repair, rights."""

import time
from uuid import uuid4
from zlib import crc32

import pytest
import redis
import servers
from backends import Driven
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langgraph.store.base import GetOp, PutOp, SearchOp
from plain_redis import connect, disagreements, raw_items, raw_keys, raw_lists

from holdover.compat.errors import StoreUnavailable, StoreUnsuitable
from holdover.compat.stores import redis_operations as operations
from holdover.compat.stores.choosing import backend_for
from holdover.compat.stores.redis import PlainRedisStore
from holdover.compat.stores.redis_operations import Change
from holdover.compat.stores.redis_transport import RedisTransport

NS = ("users", "u1")
FAST = settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@pytest.fixture
def store(redis_url):
    store = PlainRedisStore.from_url(redis_url)
    yield store
    store.close()


@pytest.fixture
def raw(redis_url):
    with connect(redis_url) as client:
        yield client


def kinds(raw):
    return {key: raw.type(key) for key in raw.scan_iter()}


def test_every_key_is_as_documented(store, raw):
    before = time.time_ns() // 1000 - 1_000_000
    store.put(NS, "k", {"b": 1, "a": [2]})
    store.put(NS, "short", {}, ttl=1)
    after = time.time_ns() // 1000 + 1_000_000
    assert kinds(raw) == {
        b"holdover:{0}:layout": b"string",
        b"holdover:{0}:item:users.u1..k": b"string",
        b"holdover:{0}:item:users.u1..short": b"string",
        b"holdover:{0}:keys:users.u1": b"zset",
        b"holdover:{0}:recent:users.u1": b"zset",
        b"holdover:{0}:namespaces": b"zset",
        b"holdover:{0}:expires": b"zset",
    }
    assert raw.get("holdover:{0}:layout") == b"1;shards=1"
    head, json = raw.get("holdover:{0}:item:users.u1..k").split(b"\n")
    version, created, updated, ttl = head.split(b";")
    assert (version, ttl, json) == (b"1", b"", b'{"b":1,"a":[2]}')
    assert before < int(created) == int(updated) < after
    assert raw.zrange("holdover:{0}:namespaces", 0, -1) == [b"users\0u1\0"]
    assert raw.zrange("holdover:{0}:keys:users.u1", 0, -1) == [b"k", b"short"]
    ends = raw.pexpiretime("holdover:{0}:item:users.u1..short")
    expires = raw.zrange("holdover:{0}:expires", 0, -1, withscores=True)
    assert expires == [(b"users.u1..short", ends)]
    assert disagreements(raw) == []
    store.delete(NS, "k")
    store.delete(NS, "short")
    assert kinds(raw) == {b"holdover:{0}:layout": b"string"}


def test_a_cluster_keeps_a_shard_in_a_slot(cluster_url):
    store = PlainRedisStore.from_url(cluster_url)
    store.batch([PutOp((f"n{n}",), "k", {}, ttl=n % 2 or None) for n in range(300)])
    client = connect(cluster_url)
    assert client.get("holdover:{0}:layout") == b"1;shards=64"
    slots = {}
    for (shard, _), key in raw_keys(client).items():
        slot = client.execute_command("CLUSTER KEYSLOT", key, target_nodes="random")
        slots.setdefault(shard, set()).add(slot)
    assert set(slots) == {crc32(b"n%d" % n) % 64 for n in range(300)} | {0}
    assert all(len(some) == 1 for some in slots.values())
    assert len({client.get_node_from_key(f"{{{shard}}}").port for shard in slots}) == 3
    assert disagreements(client) == []
    client.close()
    store.close()


def test_a_store_keeps_its_number_of_shards(store, redis_url, raw):
    first = PlainRedisStore.from_url(f"{redis_url}?shards=7")
    first.put(NS, "k", {"n": 1})
    assert raw.get("holdover:{0}:layout") == b"1;shards=7"
    for options in ({}, {"shards": 3}):
        later = PlainRedisStore.from_url(redis_url, **options)
        assert later.get(NS, "k").value == {"n": 1}
        later.put(NS, "k2", {})
        later.close()
    assert disagreements(raw) == []
    assert len(raw_items(raw)) == 2
    first.close()


@pytest.mark.parametrize("text", ["2;shards=1", "1;slots=1", "1;shards=x", "", "1"])
def test_a_layout_of_another_kind_is_refused(store, raw, text):
    raw.set("holdover:{0}:layout", text)
    for call in (lambda: store.get(NS, "k"), lambda: store.put(NS, "k", {})):
        with pytest.raises(StoreUnsuitable, match="layout"):
            call()
    assert set(raw.scan_iter()) == {b"holdover:{0}:layout"}


def test_an_item_of_a_newer_version_is_refused_and_kept(store, raw):
    store.put(NS, "k", {})
    raw.set("holdover:{0}:item:users.u1..k", b"2;new;words\n{}")
    with pytest.raises(StoreUnsuitable, match="newer"):
        store.get(NS, "k")
    assert store.repair() == 0
    assert raw.get("holdover:{0}:item:users.u1..k") == b"2;new;words\n{}"


# --- the script ---------------------------------------------------------------


def carry_out(store, *changes):
    layout = store.run(store.known_layout(create=True))

    def change(n, what, key, json=b"", condition=b"", group=None):
        place = layout.space(NS)
        return Change(place, key, what, json, condition, n if group is None else group)

    made = [change(n, *arguments) for n, arguments in enumerate(changes)]
    return store.run(operations.apply(layout, made)).refused


HELD, NEW = b'{"n":1}', b'{"n":2}'


@pytest.mark.parametrize(
    ("held", "what", "condition", "happens"),
    [
        (None, "put", b"new", True),
        (None, "put", b"free", True),
        (None, "put", b"=" + HELD, False),
        (HELD, "put", b"new", False),
        (HELD, "put", b"free", False),
        (HELD, "put", b"=" + HELD, True),
        (HELD, "put", b"=" + NEW, False),
        (HELD, "put", b"", True),
        # The answer to the same call was lost, and it is sent again.
        (NEW, "put", b"new", False),
        (NEW, "put", b"free", True),
        (NEW, "put", b"=" + HELD, True),
        (None, "delete", b"=" + HELD, True),
        (HELD, "delete", b"=" + HELD, True),
        (HELD, "delete", b"=" + NEW, False),
        (HELD, "delete", b"", True),
    ],
)
def test_conditions(store, raw, held, what, condition, happens):
    if held:
        carry_out(store, ("put", "k", held))
    json = NEW if what == "put" else b""
    refused = carry_out(store, (what, "k", json, condition))
    assert refused == (set() if happens else {0})
    wanted = (json if what == "put" else None) if happens else held
    items = raw_items(raw)
    assert (items[NS, "k"][3] if items else None) == wanted
    assert disagreements(raw) == []


def test_a_group_happens_whole_or_not_at_all(store, raw):
    carry_out(store, ("put", "held", HELD), ("put", "gone", HELD))
    refused = carry_out(
        store,
        ("put", "a", NEW, b"new", 1),
        ("delete", "gone", b"", b"", 1),
        ("put", "held", NEW, b"new", 1),
        ("put", "b", NEW, b"new", 2),
    )
    assert refused == {1}
    found = {key: item[3] for (_, key), item in raw_items(raw).items()}
    assert found == {"held": HELD, "gone": HELD, "b": NEW}
    # Nor is one cut in two by the size of a call.
    refused = carry_out(
        store,
        *[("put", f"n{n}", NEW, b"new", 3) for n in range(250)],
        ("put", "held", NEW, b"new", 3),
    )
    assert refused == {3}
    assert len(raw_items(raw)) == 3
    assert disagreements(raw) == []


WAYS = ["keys:users.u1", "recent:users.u1", "namespaces", "expires", "item:users.u1..k"]


@pytest.mark.parametrize("rest", WAYS)
@pytest.mark.parametrize("what", ["put", "put with a lifetime", "delete", "several"])
def test_something_else_in_the_way_leaves_no_half(store, raw, rest, what):
    store.setup()
    key = "holdover:{0}:" + rest
    raw.rpush(key, "a list of somebody else")
    before = {name: raw.dump(name) for name in raw.scan_iter()}
    calls = {
        "put": lambda: store.put(NS, "k", {}),
        "put with a lifetime": lambda: store.put(NS, "k", {}, ttl=1),
        "delete": lambda: store.delete(NS, "k"),
        "several": lambda: store.batch(
            [PutOp(("first",), "k", {}), PutOp(NS, "a", {}), PutOp(NS, "k", {})]
        ),
    }
    if (rest, what) == ("item:users.u1..k", "delete"):
        calls[what]()  # it is the item's key: whatever it holds, it is to go
        assert not raw.exists(key)
        return
    with pytest.raises(redis.ResponseError, match="WRONGTYPE"):
        calls[what]()
    assert {name: raw.dump(name) for name in raw.scan_iter()} == before


class Recorded(RedisTransport):
    """A real client that writes down what it sent."""

    def __init__(self, client):
        super().__init__(client)
        self.sent = []

    def send(self, commands):
        self.sent += commands
        return super().send(commands)


def workload(store):
    """Use all there is."""
    store.setup()
    names = [(f"n{n % 7}", f"m{n % 3}") for n in range(21)]
    puts = [PutOp(names[n % 21], f"{n}", {"n": n}) for n in range(1_500)]
    store.batch(puts)
    store.batch([PutOp(NS, f"t{n}", {}, ttl=10) for n in range(150)])
    store.batch([PutOp(NS, f"e{n}", {}, ttl=0.0002) for n in range(150)])
    time.sleep(0.02)
    store.batch([GetOp(NS, f"t{n}") for n in range(150)])
    store.get(NS, "t1")
    store.search(("n1",), limit=500)
    store.search(NS, filter={"n": 1})
    store.search(())
    store.batch([SearchOp(NS, limit=200), GetOp(NS, "t1"), PutOp(NS, "t1", None)])
    store.list_namespaces()
    store.list_namespaces(prefix=("n1",), suffix=("m1",), max_depth=2)
    backend = backend_for(store)
    backend.page(("n1", "m1"), None, 9, True)
    backend.page(("n1", "m1"), "1", 9, False)
    backend.older(("n1", "m1"), 3)
    backend.older(("n1", "m1"), 0)
    backend.count(NS)
    backend.namespaces(())
    backend.write([[PutOp(NS, "g", {"n": 1}), PutOp(NS, "h", None)]])
    backend.read([(NS, "g"), (NS, "t2")])
    store.delete(NS, "t2")
    store.sweep_ttl()
    store.repair()


READ = {
    "get", "mget", "exists", "zcard",
    "zrangebylex", "zrevrangebylex", "zrangebyscore", "zrevrangebyscore",
}  # fmt: skip
WRITE = {
    "eval", "evalsha", "set", "setnx", "getrange", "time", "del", "pexpireat", "pttl",
    "zadd", "zrem",
}  # fmt: skip
REPAIR = {"scan", "zscan"}
#: What redis-py and finding out what answers need; each may be refused.
CONNECTING = {"info", "ping", "client|setinfo", "select"}
OURS = {"config|resetstat", "script|flush"}


def used(client):
    return {name.removeprefix("cmdstat_") for name in client.info("commandstats")}


def test_only_these_commands_are_used(redis_url, raw):
    raw.script_flush()
    raw.config_resetstat()
    store = PlainRedisStore.from_url(redis_url)
    workload(store)
    store.close()
    # All of them are used, or the list would be too long.
    assert used(raw) - CONNECTING - OURS == READ | WRITE | REPAIR


def test_no_call_is_large(redis_url):
    with redis.Redis.from_url(redis_url) as client:
        transport = Recorded(client)
        workload(PlainRedisStore(transport))
    sizes = []
    for name, *arguments in transport.sent:
        if name in ("EVAL", "EVALSHA"):
            keys = int(arguments[1])
            spaces = arguments[2 + keys + 1]
            sizes.append((len(arguments) - 2 - keys - 3 - spaces) // 5)
        elif name == "MGET":
            assert len(arguments) <= 500
        elif name.startswith(("ZRANGE", "ZREVRANGE")):
            at = arguments.index("LIMIT")
            assert arguments[at + 2] <= 1_000
    assert max(sizes) == 100
    assert sum(sizes) > 1_800
    # Bytes count, too: two values of 200 kB each do not wait for each other.
    with redis.Redis.from_url(redis_url) as client:
        transport = Recorded(client)
        store = PlainRedisStore(transport)
        store.batch([PutOp(NS, f"{n}", {"t": "x" * 200_000}) for n in range(6)])
        calls = [one for one in transport.sent if one[0] == "EVALSHA"]
        assert len(calls) == 3


# --- rights -------------------------------------------------------------------


def rights(names):
    return [f"+{name}" for name in sorted(names)]


def use_as_reader(store):
    assert store.get(NS, "k", refresh_ttl=False).value == {"n": 1}
    assert store.batch([GetOp(NS, "k", False), GetOp(NS, "no", False)])[1] is None
    assert len(store.search((), refresh_ttl=False)) == 2
    # One has expired and is still listed.
    assert store.list_namespaces() == [NS]
    backend = backend_for(store)
    assert backend.count(NS) == 2
    assert backend.page(NS, None, 1, False) == [("k", {"n": 1})]
    assert backend.older(NS, 2) == ["k"]  # `z` counts: it is still listed


def prepare_for_reader(url):
    writer = PlainRedisStore.from_url(url)
    writer.put(NS, "k", {"n": 1})
    writer.put(NS, "long", {}, ttl=10)
    writer.put(NS, "z", {}, ttl=0.0002)
    writer.close()
    time.sleep(0.03)


def test_a_reader_needs_exactly_these_rights(redis_url):
    prepare_for_reader(redis_url)
    for lacking in [None, *sorted(READ)]:
        some = rights(READ - {lacking})
        url = servers.redis_user(redis_url, "reader", "%R~holdover:*", *some)
        store = PlainRedisStore.from_url(url)
        if lacking is None:
            use_as_reader(store)
            with pytest.raises(redis.exceptions.NoPermissionError):
                store.put(NS, "new", {})
            # It may not begin a lifetime anew, either.
            with pytest.raises(redis.exceptions.NoPermissionError):
                store.get(NS, "long")
            assert store.get(NS, "k").value == {"n": 1}
        else:
            with pytest.raises(redis.exceptions.NoPermissionError):
                use_as_reader(store)
        store.close()


def use_as_writer(url, raw):
    # It is the writer who makes the store.
    raw.flushdb()
    raw.script_flush()
    store = PlainRedisStore.from_url(url)
    try:
        workload(store)
    finally:
        store.close()


@pytest.mark.parametrize("lacking", [None, *sorted(WRITE | REPAIR)])
def test_a_writer_needs_exactly_these_rights(redis_url, raw, lacking):
    some = rights((READ | WRITE | REPAIR) - {lacking})
    url = servers.redis_user(redis_url, "writer", "~holdover:*", *some)
    if lacking is None:
        use_as_writer(url, raw)
        assert disagreements(raw) == []
        return
    with pytest.raises(redis.ResponseError, match=r"NOPERM|[Pp]ermission|can't run"):
        use_as_writer(url, raw)
    # Redis takes back nothing of a script that it stops at a command not allowed.
    admin = PlainRedisStore.from_url(redis_url)
    admin.repair()
    admin.close()
    assert disagreements(raw, milliseconds=5) == []


@pytest.mark.parametrize("way", ["sync", "async"])
@pytest.mark.parametrize("lacking", [None, "cluster|slots", "command"])
def test_in_a_cluster_two_more_rights_are_needed(cluster_url, loop, way, lacking):
    names = {*READ, *WRITE, *REPAIR, "cluster|slots", "command"} - {lacking, "ping"}
    rules = ["reset", "on", ">password", "~holdover:*", *rights(names)]
    client = connect(cluster_url)
    client.execute_command("ACL SETUSER", "writer", *rules, target_nodes="primaries")
    url = cluster_url.replace("redis://", "redis://writer:password@")

    def use():
        store = PlainRedisStore.from_url(url)
        driven = Driven(store, way, loop)
        try:
            driven.batch([PutOp((f"n{n}",), "k", {}, ttl=9) for n in range(40)])
            assert len(driven.search((), limit=99)) == 40
            assert driven.repair() == 0
        finally:
            loop.run(store.aclose())
            store.close()

    if lacking is None:
        use()
        assert disagreements(client) == []
    elif lacking == "command":
        with pytest.raises(StoreUnavailable, match="may not run a command"):
            use()
    else:
        # It is taken for a single server then, until a key lies elsewhere.
        with pytest.raises((StoreUnavailable, redis.RedisError)):
            use()
        client.execute_command(
            "ACL SETUSER", "writer", "+info", target_nodes="primaries"
        )
        with pytest.raises(StoreUnavailable, match="may not run a command"):
            use()
    client.close()


# --- repair -------------------------------------------------------------------

PLACES = st.tuples(st.sampled_from([("a",), ("a", "b"), ("c",)]), st.sampled_from("kl"))
LOSSES = st.lists(
    st.tuples(st.sampled_from(["key", "member", "ghost"]), st.integers(0, 99)),
    max_size=8,
)


def lose(client, prefix, shards, losses):
    """Remove keys and members at random, and list what is not there."""
    for what, number in losses:
        keys = raw_keys(client, prefix)
        keys.pop((0, b"layout"), None)
        keys = [keys[place] for place in sorted(keys)]
        lists = [key for key in keys if client.type(key) == b"zset"]
        if what == "key" and keys:
            client.delete(keys[number % len(keys)])
        elif lists:
            chosen = lists[number % len(lists)]
            members = client.zrange(chosen, 0, -1)
            own = chosen.startswith(f"{prefix}:{{{crc32(b'a.b') % shards}}}:".encode())
            if what == "member":
                client.zrem(chosen, members[number % len(members)])
            elif chosen.endswith((b"namespaces", b"expires")):
                ghost = b"a.b..ghost" if chosen.endswith(b"expires") else b"a\0b\0"
                if own:
                    client.zadd(chosen, {ghost: 9e12 if b".." in ghost else 0})
            else:
                client.zadd(chosen, {b"ghost": 5})


@pytest.mark.parametrize("shards", [1, 7])
@FAST
@given(puts=st.dictionaries(PLACES, st.sampled_from([None, 10])), losses=LOSSES)
def test_repair_makes_lists_and_items_agree(store_redis, shards, puts, losses):
    store = PlainRedisStore.from_url(store_redis, prefix=uuid4().hex, shards=shards)
    store.setup()
    for place, ttl in puts.items():
        store.put(*place, {"at": str(place)}, ttl=ttl)
    with connect(store_redis) as client:
        lose(client, store.prefix, shards, losses)
        left = raw_items(client, store.prefix)
        wrong = disagreements(client, store.prefix)
        mended = store.repair()
        # A score is no entry; a namespace may be taken off and put on again.
        entries = sum(1 for *_, is_, should in wrong if None in (is_, should))
        assert mended >= entries
        assert mended == 0 or entries > 0
        assert disagreements(client, store.prefix, milliseconds=5) == []
        assert raw_items(client, store.prefix) == left
    assert store.repair() == 0
    found = {(i.namespace, i.key): i.value for i in store.search((), limit=99)}
    assert found == {place: {"at": str(place)} for place in left}
    assert store.list_namespaces() == sorted({namespace for namespace, _ in left})
    store.close()


def test_repair_of_a_cluster_by_each_twin(cluster_url, loop, way):
    store = PlainRedisStore.from_url(cluster_url)
    places = [(f"n{n}",) for n in range(200)]
    store.batch([PutOp(place, "k", {}) for place in places])
    client = connect(cluster_url)
    for (_, rest), key in raw_keys(client).items():
        if rest.startswith(b"recent:n1"):
            client.delete(key)
        if rest.startswith((b"item:n2", b"keys:n2")):
            client.delete(key)
    wrong = len(disagreements(client))
    assert wrong == 111 + 2 * 11
    assert (store.repair() if way == "sync" else loop.run(store.arepair())) == wrong
    assert disagreements(client) == []
    assert raw_lists(client)
    client.close()
    loop.run(store.aclose())
    store.close()
