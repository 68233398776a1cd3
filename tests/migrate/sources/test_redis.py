"""A Redis source reads what the library left, and changes nothing."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import closing

import pytest
import redis
import servers
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from redis_corpus import (
    check,
    folders,
    load,
    numbered,
    options,
    server,
    state,
    stores,
)

from holdover.compat.rollout import in_share
from holdover.migrate.errors import SourceNotFound, SourceUnavailable
from holdover.migrate.sources import batching, open_source, redis_census
from holdover.migrate.sources.base import SAMPLES, Partition, ReadOptions
from holdover.migrate.sources.redis import RedisSource
from holdover.migrate.sources.redis_spool import Spool

WHOLE = Partition("entities")
READS = {"SCAN", "MGET", "PTTL", "STRLEN", "TYPE", "INFO"}
DAY = 86_400_000


@pytest.fixture
def client(redis_url):
    with redis.Redis.from_url(redis_url, protocol=2) as client:
        yield client


@pytest.fixture(scope="module")
def locked_url():
    """A Redis that wants the password `hunter2`."""
    try:
        with servers.redis("--requirepass", "hunter2") as url:
            yield url
    except servers.Unavailable as why:
        pytest.skip(str(why))


def read(source, size=10_000):
    items, rejects, expired = [], [], 0
    for batch in source.read(WHOLE, size=size):
        items += batch.items
        rejects += batch.rejects
        expired += batch.expired
    return items, rejects, expired


@pytest.mark.parametrize(
    "folder", folders("redis_entity"), ids=lambda folder: folder.parent.name
)
def test_the_corpus_is_read_as_its_manifest_says(folder, redis_url, client, source):
    load(folder / "listing.jsonl", server(redis_url))
    before = state(client)
    for db in {store["db"] for store in stores(folder)}:
        opened = source(numbered(redis_url, db), **options(folder, db))
        inventory = opened.inventory()
        items, rejects, expired = read(opened, size=50)
        check(items, folder, db)
        assert expired == 0
        groups = inventory.groups
        # The value that is not UTF-8 is only found by reading it.
        unread = sum("value is not" in reject.detail for reject in rejects)
        assert sum(group.items for group in groups) == len(items) + unread
        for group in groups:
            assert list(group.lifetimes) == [
                "no expiry",
                "under 1 hour",
                "under 1 day",
                "under 3 days",
                "under 30 days",
                "longer",
            ]
            assert sum(group.lifetimes.values()) == group.items
        assert inventory.blockers == []
    assert state(client) == before


def test_foreign_keys_are_skipped_or_rejected(corpus, redis_url, client, source):
    listing = corpus / "langchain-classic-1.0.8/redis_entity/listing.jsonl"
    load(listing, server(redis_url))
    opened = source(redis_url, ambiguous="first")
    inventory = opened.inventory()
    assert {one.name: one.why for one in inventory.skipped} == {
        "memory_store": "no session and no entity part",
        "memory_store:orphan": "no entity part",
        "memory_store:alice:profile": "a hash, not a string",
        "memory_store:alice:queue": "a list, not a string",
        "memory_store:alice:board": "a zset, not a string",
    }
    assert inventory.skipped_count == 5
    assert inventory.rejects == {"not-utf8": 1, "empty-value": 1}
    rejects = {(one.reason, one.locator) for one in read(opened)[1]}
    assert rejects == {
        ("not-utf8", "redis:0:memory_store:alice:\\xff\\xfe"),
        ("not-utf8", "redis:0:memory_store:alice:binary"),
        ("empty-value", "redis:0:memory_store:alice:emptyvalue"),
    }
    # Not seen before, so they cannot have been listed.
    fresh = set(read(source(redis_url, ambiguous="first"))[1])
    assert {one.locator for one in fresh if one.reason == "wrong-type"} == {
        f"redis:0:memory_store:alice:{name}" for name in ("profile", "queue", "board")
    }
    assert len(fresh) == 6


class TestAmbiguousKeys:
    @pytest.fixture(autouse=True)
    def keys(self, client):
        client.mset(
            {
                "memory_store:a:b:c": "ambiguous",
                "memory_store:a:e": "clear",
                "memory_store:org:7:e": "matching",
            }
        )

    def test_they_block_with_both_readings(self, redis_url, source):
        inventory = source(redis_url, session_pattern=r"org:\d").inventory()
        assert inventory.ambiguous_count == 1
        (key,) = inventory.ambiguous
        assert key == (
            "redis:0:memory_store:a:b:c",
            "memory_store",
            ("a", "b:c"),
            ("a:b", "c"),
        )
        (blocker,) = inventory.blockers
        assert blocker.code == "ambiguous-keys"
        assert "--ambiguous first|last|reject" in blocker.fix
        assert inventory.groups[0].items == 2
        assert inventory.rejects == {}

    @pytest.mark.parametrize(
        ("choice", "expected"),
        [
            ("first", ("a", "b:c")),
            ("last", ("a:b", "c")),
            ("reject", None),
            ("fail", None),
        ],
    )
    def test_the_choice_decides(self, redis_url, source, choice, expected):
        opened = source(redis_url, session_pattern=r"org:\d", ambiguous=choice)
        items, rejects, _ = read(opened)
        found = {(i.session, i.key): i.content["summary"] for i in items}
        assert found.get(expected) == (None if expected is None else "ambiguous")
        assert found["a", "e"] == "clear"
        assert found["org:7", "e"] == "matching"
        assert [(r.reason, r.locator) for r in rejects] == (
            [] if expected else [("ambiguous", "redis:0:memory_store:a:b:c")]
        )
        inventory = opened.inventory()
        assert inventory.ambiguous_count == 1
        assert bool(inventory.blockers) == (choice == "fail")
        assert inventory.rejects == ({"ambiguous": 1} if choice == "reject" else {})

    def test_named_sessions_leave_no_doubt(self, redis_url, source):
        opened = source(redis_url, sessions=frozenset({"org:7"}), only_named=True)
        inventory = opened.inventory()
        assert (inventory.ambiguous_count, inventory.blockers) == (0, [])
        assert [i.key for i in read(opened)[0]] == ["e"]
        assert any("2 keys are outside" in note for note in inventory.notes)


def test_only_reads_are_sent(redis_url, client, source):
    client.mset({"memory_store:s:e": "v", "memory_store:s:empty": ""})
    client.hset("memory_store:s:hash", "a", "b")
    sent = []
    with client.monitor() as monitor:
        opened = source(redis_url)
        for use in (
            opened.inventory,
            lambda: read(opened),
            lambda: opened.fetch(WHOLE, [i for b in opened.keys(WHOLE) for i in b]),
        ):
            use()
        client.set("end", "of the test")
        while (command := monitor.next_command()["command"]) != "SET end of the test":
            sent.append(command)
    names = {command.split()[0].upper() for command in sent}
    others = {
        " ".join(c.split()[:2]) for c in sent if c.split()[0].upper() not in READS
    }
    assert names >= {"SCAN", "MGET", "PTTL", "STRLEN", "TYPE"}
    assert others <= {"CLIENT NO-TOUCH", "CLIENT SETINFO", "CLUSTER SLOTS"}
    assert "CLIENT NO-TOUCH" in others


def test_reading_leaves_idle_times_alone(redis_url, client, source):
    client.set("memory_store:s:e", "v")
    client.execute_command("CLIENT", "NO-TOUCH", "ON")
    time.sleep(1.1)
    read(source(redis_url))
    assert client.object("idletime", "memory_store:s:e") >= 1


def test_lifetimes_are_sorted_into_the_histogram(redis_url, client, source):
    lifetimes = {
        "a": None,
        "b": 60_000,
        "c": DAY - 5_000,
        "d": DAY * 3 - 5_000,
        "e": DAY * 29,
        "f": DAY * 400,
        "g": DAY + 60_000,
    }
    for name, ttl in lifetimes.items():
        client.set(f"memory_store:s:{name}", "four", px=ttl)
    (group,) = source(redis_url).inventory().groups
    assert group.lifetimes == {
        "no expiry": 1,
        "under 1 hour": 1,
        "under 1 day": 1,
        "under 3 days": 2,
        "under 30 days": 1,
        "longer": 1,
    }
    assert (group.sessions, group.items, group.bytes) == (1, 7, 7 * 5)


def test_many_keys_are_estimated_from_some(redis_url, client, source, monkeypatch):
    monkeypatch.setattr(redis_census, "MEASURED", 1_000)
    pipeline = client.pipeline(transaction=False)
    for i in range(4_000):
        # Every second key lives for ever, and keys come sorted.
        name = f"memory_store:s{i // 20:03}:{i % 20:02}"
        pipeline.set(name, "x" * 98, px=None if i % 2 else DAY - 60_000)
    pipeline.hset("memory_store:s:hash", "a", "b")
    pipeline.execute()
    opened = source(redis_url)
    inventory = opened.inventory()
    (group,) = inventory.groups
    assert (group.sessions, group.items) == (201, 4_001)
    assert sum(group.lifetimes.values()) == 4_001
    assert 1_600 < group.lifetimes["no expiry"] < 2_400
    assert group.lifetimes["no expiry"] + group.lifetimes["under 1 day"] == 4_001
    assert 399_000 < group.bytes < 402_000
    assert "estimates, from about 1,000 of 4,001 keys" in inventory.notes[0]
    assert [r.reason for r in read(opened)[1]] == ["wrong-type"]


def test_keys_are_found_once_however_often_scan_gives_them():
    spool = Spool()
    keys = [b"b:%d" % i for i in range(2_500)]
    spool.add(keys)
    spool.add(reversed(keys))
    spool.add([b"\xff\x00", b""])
    spool.seal()
    pages = list(spool.pages())
    assert [len(page) for page in pages] == [1000, 1000, 502]
    assert [key for page in pages for key in page] == sorted([*keys, b"\xff\x00", b""])
    assert spool.count == 2_502
    spool.remove([b"", b"not there"])
    assert next(iter(spool.pages()))[0] == b"b:0"
    spool.close()


def test_vanished_keys_are_counted_as_expired(redis_url, client, source):
    client.mset({f"memory_store:s:{i}": "v" for i in range(10)})
    opened = source(redis_url)
    assert opened.inventory().groups[0].items == 10
    client.delete("memory_store:s:3")
    client.pexpire("memory_store:s:4", 1)
    time.sleep(0.01)
    items, rejects, expired = read(opened)
    assert ([i.key for i in items], rejects, expired) == (list("01256789"), [], 2)


@pytest.mark.parametrize(
    ("value", "ttl", "kind", "kept"),
    [
        (b"v", -1, None, True),
        (b"v", 5, None, True),
        (b"v", -2, None, False),  # expired between the value and the lifetime
        (b"v", 0, None, False),
        (None, -2, None, False),
        (None, 5, b"none", False),  # expired behind the lifetime
    ],
)
def test_what_expires_while_it_is_read_is_counted(
    redis_url, client, source, monkeypatch, value, ttl, kind, kept
):
    client.set("memory_store:s:e", "v")
    opened = source(redis_url)
    opened.inventory()
    monkeypatch.setattr(opened._wire, "read", lambda _: ([value], [ttl]))
    monkeypatch.setattr(opened._wire, "each", lambda *_: [[kind]])
    items, rejects, expired = read(opened)
    assert (len(items), rejects, expired) == (int(kept), [], int(not kept))
    assert all(item.ttl_ms == (None if ttl < 0 else ttl) for item in items)


def test_a_key_made_while_it_is_read_is_read_again(
    redis_url, client, source, monkeypatch
):
    client.set("memory_store:s:e", "v")
    opened = source(redis_url)
    opened.inventory()
    ask, answers = opened._wire.read, iter([([None], [5])])
    monkeypatch.setattr(
        opened._wire, "read", lambda keys: next(answers, None) or ask(keys)
    )
    items, rejects, expired = read(opened)
    assert ([i.content["summary"] for i in items], rejects, expired) == (["v"], [], 0)


def test_a_key_that_becomes_another_type_is_a_reject(redis_url, client, source):
    client.mset({"memory_store:s:a": "v", "memory_store:s:b": "v"})
    opened = source(redis_url)
    opened.inventory()
    client.delete("memory_store:s:a")
    client.sadd("memory_store:s:a", "member")
    items, rejects, expired = read(opened)
    assert ([i.key for i in items], expired) == (["b"], 0)
    assert [(r.reason, r.detail) for r in rejects] == [
        ("wrong-type", "The key holds a set, not a string.")
    ]


@pytest.mark.parametrize("size", [1, 3, 64, 1_000])
def test_batches_have_the_size_asked_for(redis_url, client, source, size):
    client.mset({f"memory_store:s{i % 7}:{i:03}": f"v{i}" for i in range(200)})
    opened = source(redis_url)
    batches = list(opened.read(WHOLE, size=size))
    assert [len(b.items) for b in batches[:-1]] == [size] * (len(batches) - 1)
    items = [i for b in batches for i in b.items]
    assert sorted(i.content["summary"] for i in items) == sorted(
        f"v{i}" for i in range(200)
    )
    assert {b.cursor for b in batches} == {None}
    # Sorted by key: a session's entities come together.
    assert [i.locator for i in items] == sorted(i.locator for i in items)
    names = [i for b in opened.keys(WHOLE, size=size) for i in b]
    assert names == [i._replace(content={}) for i in items]


def test_large_values_make_smaller_requests(redis_url, client, source, monkeypatch):
    monkeypatch.setattr(batching, "_PER_BATCH", 50_000)
    monkeypatch.setattr(batching, "_AT_ONCE", 20_000)
    client.mset({f"memory_store:s:{i:03}": "x" * 5_000 for i in range(200)})
    batches = list(source(redis_url).read(WHOLE))
    assert sum(len(b.items) for b in batches) == 200
    assert all(len(b.items) <= 12 for b in batches[1:])


def test_fetch_reads_values_and_lifetimes_again(redis_url, client, source):
    client.mset({f"memory_store:s:{i}": "old" for i in range(5)})
    opened = source(redis_url)
    names = [i for b in opened.keys(WHOLE) for i in b]
    client.set("memory_store:s:1", "new", px=DAY)
    client.delete("memory_store:s:2")
    client.set("memory_store:s:3", b"\xff")
    found = opened.fetch(WHOLE, names)
    assert [(i.key, i.content["summary"]) for i in found.items] == [
        ("0", "old"),
        ("1", "new"),
        ("4", "old"),
    ]
    assert DAY - 60_000 < found.items[1].ttl_ms <= DAY
    assert found.items[0].ttl_ms is None
    assert found.expired == 1
    assert [r.reason for r in found.rejects] == ["not-utf8"]


def test_a_sample_takes_whole_sessions(redis_url, client, source):
    client.mset({f"memory_store:s{i}:{j}": "v" for i in range(200) for j in (0, 1)})
    opened = source(redis_url, sample=0.2)
    chosen = {f"s{i}" for i in range(200) if in_share(f"s{i}", 0.2)}
    assert opened.inventory().groups[0].sessions == len(chosen)
    items, _, _ = read(opened)
    assert {i.session for i in items} == chosen
    assert len(items) == 2 * len(chosen)


def test_roots_are_matched_literally(redis_url, client, source):
    keys = ["a*:s:e", "ax:s:e", "[x]:s:e", "x:s:e", "q?:s:e", "qq:s:e", "\\:s:e"]
    client.mset(dict.fromkeys(keys, "v"))
    opened = source(redis_url, roots=("a*", "[x]", "q?", "\\"))
    assert {i.root for i in read(opened)[0]} == {"a*", "[x]", "q?", "\\"}
    opened = source(redis_url, roots=("a", "a:b", "a"))
    client.mset({"a:s:e": "v", "a:b:s:e": "v"})
    assert [(i.root, i.session) for i in read(opened)[0]] == [("a:b", "s"), ("a", "s")]


def test_other_kinds(redis_url, client, source):
    client.set("memory_store:s:e", "v")
    options = ReadOptions(kinds=frozenset({"messages"}))
    with closing(open_source(redis_url, options)) as opened:
        assert "entities" not in {part.id for part in opened.partitions()}
        assert opened.inventory().groups == []
    with pytest.raises(SourceNotFound, match="No triples can be read"):
        open_source(redis_url, ReadOptions(kinds=frozenset({"triples"})))


def test_skipped_keys_are_counted_beyond_the_examples(redis_url, client, source):
    client.mset({f"memory_store:orphan{i}": "v" for i in range(30)})
    inventory = source(redis_url).inventory()
    assert (len(inventory.skipped), inventory.skipped_count) == (SAMPLES, 30)


class TestConnections:
    def test_a_ready_client_lends_its_settings(self, redis_url):
        with redis.Redis.from_url(
            numbered(redis_url, 3), decode_responses=True
        ) as client:
            client.set("memory_store:s:e", "v")
            opened = RedisSource(client, ReadOptions())
            items, _, _ = read(opened)
            opened.close()
            assert client.get("memory_store:s:e") == "v"
        assert [i.locator for i in items] == ["redis:3:memory_store:s:e"]
        assert opened.address == numbered(redis_url, 3)

    def test_a_unix_socket(self, redis_url, client):
        client.set("memory_store:s:e", "v")
        path = client.config_get("dir")["dir"] + "/redis.sock"
        opened = open_source(f"unix://{path}?db=0", ReadOptions())
        assert len(read(opened)[0]) == 1
        opened.close()

    def test_settings_in_the_address_do_not_break_reading(self, redis_url, client):
        client.set("memory_store:s:e", "v")
        url = f"{redis_url}?protocol=3&decode_responses=true"
        opened = open_source(url, ReadOptions())
        assert read(opened)[0][0].content["summary"] == "v"
        opened.close()

    def test_a_lost_connection_is_opened_again(self, redis_url, client, source):
        client.mset({f"memory_store:s:{i:03}": "v" for i in range(500)})
        opened = source(redis_url)
        batches = opened.read(WHOLE, size=100)
        found = len(next(batches).items)
        me = client.client_id()
        for one in client.client_list():
            if int(one["id"]) != me:
                client.client_kill_filter(_id=one["id"])
        found += sum(len(b.items) for b in batches)
        assert found == 500

    def test_passwords_come_from_the_address_or_the_environment(
        self, locked_url, monkeypatch, source
    ):
        with_password = locked_url.replace("//", "//:hunter2@")
        monkeypatch.delenv("REDISCLI_AUTH", raising=False)
        opened = source(with_password)
        assert opened.inventory().groups == []
        assert "hunter2" not in opened.address
        assert "hunter2" not in opened.inventory().source
        monkeypatch.setenv("REDISCLI_AUTH", "hunter2")
        assert source(locked_url).inventory().groups == []
        monkeypatch.setenv("REDISCLI_AUTH", "wrong")
        assert source(with_password).inventory().groups == []

    def test_a_refused_login_says_so_without_the_password(
        self, locked_url, monkeypatch, source
    ):
        monkeypatch.delenv("REDISCLI_AUTH", raising=False)
        for url in (locked_url, locked_url.replace("//", "//someone:hunter3@")):
            with pytest.raises(SourceUnavailable, match="refuses the login") as caught:
                source(url).inventory()
            assert "hunter3" not in str(caught.value)
            assert caught.value.__cause__ is None
            assert caught.value.__suppress_context__

    def test_least_rights_are_enough(self, locked_url, source):
        with redis.Redis.from_url(
            locked_url.replace("//", "//:hunter2@"), protocol=2
        ) as client:
            client.set("memory_store:s:e", "v")
            rights = ["+scan", "+mget", "+pttl", "+strlen", "+type"]
            common = ["reset", "on", ">pw", "~memory_store*"]
            client.execute_command("ACL", "SETUSER", "reader", *common, *rights)
            client.execute_command("ACL", "SETUSER", "blind", *common, "+scan")
        opened = source(locked_url.replace("//", "//reader:pw@"))
        assert opened.inventory().groups[0].items == 1
        assert len(read(opened)[0]) == 1
        opened = source(locked_url.replace("//", "//blind:pw@"))
        with pytest.raises(SourceUnavailable, match="may not run a command"):
            opened.inventory()
        with pytest.raises(SourceUnavailable, match="may not run a command"):
            read(opened)

    def test_nobody_answers(self, source):
        port = servers.free_port()
        with pytest.raises(SourceUnavailable, match="cannot be reached") as caught:
            source(f"redis://:hunter2@127.0.0.1:{port}/0").inventory()
        assert "hunter2" not in str(caught.value)

    def test_what_answers_is_not_redis(self, source):
        with socket.create_server(("127.0.0.1", 0)) as server:

            def answer():
                for _ in range(3):
                    try:
                        connection, _ = server.accept()
                    except OSError:
                        return
                    with connection:
                        connection.recv(100)
                        connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

            thread = threading.Thread(target=answer)
            thread.start()
            port = server.getsockname()[1]
            with pytest.raises(SourceUnavailable):
                source(f"redis://127.0.0.1:{port}/0").inventory()
            socket.create_connection(("127.0.0.1", port)).close()
            socket.create_connection(("127.0.0.1", port)).close()
            thread.join(5)

    def test_a_database_that_is_not_there(self, redis_url, source):
        with pytest.raises(SourceUnavailable, match="does not have"):
            source(numbered(redis_url, 999)).inventory()

    def test_addresses_that_are_none(self):
        for address in ("redis://h:port/0", "redis://h:1/0?socket_timeout=x"):
            with pytest.raises(SourceNotFound, match="is not an address of Redis"):
                open_source(address, ReadOptions())


names = st.text(alphabet=st.sampled_from("ab:*é\0"), max_size=5)


@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    st.dictionaries(
        st.tuples(st.sampled_from(["memory_store", "m*", ""]), names, names),
        st.tuples(st.text(max_size=3), st.none() | st.integers(DAY, DAY * 9)),
        max_size=30,
    )
)
def test_what_was_written_is_read(redis_server, written):
    with redis.Redis.from_url(redis_server, protocol=2) as client:
        client.flushall()
        expected = {}
        for (root, session, entity), (value, ttl) in written.items():
            key = f"{root}:{session}:{entity}"
            client.set(key, value, px=ttl)
            expected[key] = (value, ttl)
    opened = RedisSource(
        redis_server,
        ReadOptions(roots=("memory_store", "m*", ""), ambiguous="last"),
    )
    inventory = opened.inventory()
    items, rejects, expired = read(opened, size=7)
    opened.close()
    found = {f"{i.root}:{i.session}:{i.key}": i for i in items}
    assert {key: i.content["summary"] for key, i in found.items()} == {
        key: value for key, (value, _) in expected.items() if value
    }
    for key, item in found.items():
        ttl = expected[key][1]
        assert (item.ttl_ms is None) == (ttl is None)
        assert ttl is None or ttl - 60_000 < item.ttl_ms <= ttl
    assert len(items) + len(rejects) == len(expected)
    assert expired == 0
    assert sum(group.items for group in inventory.groups) == len(items)
    assert inventory.rejects.get("empty-value", 0) == len(rejects)
