"""What else lies in a Redis is named and counted, and its contents stay unread."""

from __future__ import annotations

import json
from contextlib import closing

import pytest
import redis
import servers
from redis_corpus import CORPUS, entries, load, server

from holdover.migrate.options import Options
from holdover.migrate.scan import scan
from holdover.migrate.sources import redis_others
from holdover.migrate.sources.base import ReadOptions
from holdover.migrate.sources.redis_others import Others

TODAY = "langchain-redis-0.2.6"
BEFORE = "langchain-redis-0.1.2"


@pytest.fixture
def client(redis_url):
    with redis.Redis.from_url(redis_url, protocol=2) as client:
        yield client


def told(inventory):
    """Whatever there is has to be named as not moved."""
    assert not any(other.moved for other in inventory.others)
    return {other.name: other.count for other in inventory.others}


CHATS = "chat histories (RedisChatMessageHistory)"
MESSAGES = "chat messages (langchain-redis)"


ENTITIES = Options(read=ReadOptions(kinds=frozenset({"entities"})))


def test_chat_histories_beside_entities(corpus, redis_url):
    folder = corpus / "langchain-0.3.27/redis_history"
    load(folder / "listing.jsonl", server(redis_url))
    manifest = json.loads((folder / "MANIFEST.json").read_text())
    named = [
        session
        for session in manifest["sessions"]
        if session["db"] == 0
        and session["physical_key"].startswith("message_store:")
        and session["messages"]
    ]
    inventory = scan(redis_url, ENTITIES)
    assert inventory.groups[0].items == 1
    found = told(inventory)
    # One more list is named like a history; two sessions were cleared or are over.
    live = {
        bytes.fromhex(entry["key_hex"]).decode()
        for entry in entries(folder / "listing.jsonl")
        if entry["db"] == 0 and entry["type"] == "list"
    }
    histories = {session["physical_key"] for session in named} & live
    assert found[CHATS] == len(histories) + 1
    assert found["other keys (hash)"] == found["other keys (string)"] == 1
    assert found["other keys (list)"] == 3
    assert not any(other.estimated for other in inventory.others)
    assert inventory.others[0].kind == "chat-history"


def test_upstash_holds_both(corpus, redis_url):
    listing = corpus / "langchain-0.2.17/upstash_history/listing.jsonl"
    load(listing, server(redis_url))
    assert told(scan(redis_url, ENTITIES)) == {CHATS: 4, "other keys (list)": 1}
    assert told(scan(redis_url)) == {
        "chat histories (RedisChatMessageHistory; add --root up)": 1
    }


class Typed:
    """A wire that knows types, also those of modules our server lacks."""

    def __init__(self, types):
        self.types, self.asked = types, 0

    def each(self, commands, keys):
        assert list(commands) == [b"TYPE"]
        self.asked += len(keys)
        return [[self.types(key) for key in keys]]


def count(keys, types, names=frozenset()):
    with closing(Others(names)) as others:
        others.take(list(keys))
        found, notes = others.count(Typed(types))
    return {other.name: other.count for other in found}, notes


@pytest.mark.parametrize("release", [TODAY, BEFORE])
def test_messages_of_langchain_redis(release):
    listing = CORPUS / release / "langchain_redis_history/listing.jsonl"
    types = {
        bytes.fromhex(entry["key_hex"]): entry["type"].encode()
        for entry in entries(listing)
    }
    assert set(types.values()) == {b"ReJSON-RL"}
    # The index of a search module is no key, so these are all there is.
    found, notes = count(types, types.get)
    assert (found, notes) == ({MESSAGES: len(types)}, [])
    assert len(types) > 30


@pytest.mark.parametrize(
    ("key", "kind", "name"),
    [
        ("message_store:a", b"list", CHATS),
        ("message_store:a", b"string", "other keys (string)"),
        ("chat:a:01M8MY914FHAXEZ2068QSQMYT7", b"hash", MESSAGES),
        ("chat:a:b:1795999171.727095", b"ReJSON-RL", MESSAGES),
        ("chat:a:b", b"ReJSON-RL", "other keys (JSON)"),
        ("chat:room:7", b"hash", "other keys (hash)"),
        (
            "store:01M8MY914FHAXEZ2068QSQMYT7",
            b"ReJSON-RL",
            "items of a LangGraph RedisStore",
        ),
        ("store:42", b"hash", "other keys (hash)"),
        (
            "checkpoint:t:__empty__:1f0",
            b"ReJSON-RL",
            "keys of a LangGraph Redis checkpointer",
        ),
        (
            "write_keys_zset:t:n:1",
            b"zset",
            "keys of a LangGraph Redis checkpointer",
        ),
        ("checkpoints", b"string", "other keys (string)"),
        ("holdover:{3}:item:a.b..key", b"string", "items of a Holdover store"),
        ("x:y:{0}:item:a..k\nl", b"string", "items of a Holdover store"),
        ("holdover:{3}:items", b"set", "other keys (set)"),
        ("session:1", b"string", "other keys (string)"),
        ("memory_storex:a:b", b"string", "other keys (string)"),
        ("gone", b"none", None),
        ("holdover:{3}:keys:a.b", b"zset", None),
        ("holdover:{3}:namespaces", b"zset", None),
        ("holdover:layout", b"string", None),
    ],
)
def test_kinds_are_told_by_name_and_type(key, kind, name):
    found, _ = count([key.encode()], lambda _: kind)
    assert found == ({name: 1} if name else {})


def test_names_that_somebody_else_tells_of_are_no_others():
    found, _ = count([b"memory_store", b"x"], lambda _: b"string", {b"memory_store"})
    assert found == {"other keys (string)": 1}


def test_keys_under_a_root_are_no_others(client, redis_url):
    keys = ["memory_store:a:b", "memory_store", "own:a:b", "memory_store:", "x"]
    client.mset(dict.fromkeys(keys, "v"))
    read = ReadOptions(roots=("memory_store", "own"))
    inventory = scan(redis_url, Options(read=read))
    assert told(inventory) == {"other keys (string)": 1}
    assert {one.name for one in inventory.skipped} == {"memory_store", "memory_store:"}


def test_our_own_store_is_recognised(redis_url):
    """By what it writes today: the pattern is not kept in two places by hand."""
    from holdover.compat import open_store

    with closing(open_store(redis_url)) as store:
        for number in range(20):
            store.put(("a", str(number)), "key", {"n": number}, ttl=60)
    assert told(scan(redis_url)) == {"items of a Holdover store": 20}


def test_many_are_counted_whole_and_typed_in_part(monkeypatch):
    monkeypatch.setattr(redis_others, "SAMPLED", 400)
    wire = Typed(lambda key: b"list" if key.endswith(b"0") else b"set")
    with closing(Others()) as others:
        for page in range(20):
            names = [
                b"message_store:%d" % n for n in range(page * 500, page * 500 + 600)
            ]
            others.take(names)  # some of them twice
        found, _ = others.count(wire)
    assert sum(other.count for other in found) == pytest.approx(10_100, abs=2)
    assert all(other.estimated for other in found)
    histories, others = found
    assert histories.name == CHATS
    assert 500 < histories.count < 1_700
    assert others.name == "other keys (set)"
    assert wire.asked < 600


def test_more_than_is_remembered_is_an_estimate(monkeypatch):
    monkeypatch.setattr(redis_others, "REMEMBERED", 1_000)
    with closing(Others()) as others:
        for page in range(5):
            others.take([b"cache:%d:%d" % (page, n) for n in range(500)])
        (found,), _ = others.count(Typed(lambda _: b"string"))
    assert (found.count, found.estimated) == (2_500, True)


def test_keys_that_are_not_text_are_counted():
    found, _ = count([b"\xff\xfe", b"\xff\xff"], lambda _: b"string")
    assert found == {"other keys": 2}


def test_a_user_who_may_not_ask_for_types_learns_what_names_tell(client, redis_url):
    client.rpush("message_store:a", "secret")
    client.set("cache:1", "secret")
    client.set("memory_store:s:e", "v")
    rights = ["+scan", "+mget", "+pttl", "+strlen", "+type", "~memory_store*"]
    inventory = scan(servers.redis_user(redis_url, "narrow", *rights), ENTITIES)
    client.acl_deluser("narrow")
    assert inventory.groups[0].items == 1
    assert told(inventory) == {CHATS: 1, "other keys": 1}
    assert any("by their names alone" in note for note in inventory.notes)


def test_a_cluster_and_upstash_tell_the_same(cluster_url, redis_url):
    from upstash import upstash

    keys = ["message_store:a", "message_store:b", "checkpoint:a:b:c", "cache"]
    with redis.RedisCluster.from_url(cluster_url) as cluster:
        for client in (cluster, redis.Redis.from_url(redis_url, protocol=2)):
            for key in keys[:2]:
                client.rpush(key, "secret")
            for key in keys[2:]:
                client.hset(key, "a", "secret")
    moved = [("message_store", 2)]
    expected = {
        "keys of a LangGraph Redis checkpointer": 1,
        "other keys (hash)": 1,
    }
    with upstash(redis_url) as service:
        for address in (cluster_url, service.address):
            inventory = scan(address)
            assert told(inventory) == expected
            assert [(group.root, group.items) for group in inventory.groups] == moved


class TestReports:
    @pytest.fixture(autouse=True)
    def _keys(self, client):
        client.set("memory_store:s:e", "v")
        message = {"type": "human", "data": {"content": "secret"}}
        client.rpush("app:a", json.dumps(message))
        client.set("cache:1", "secret")

    def test_scan_says_what_stays(self, command, redis_url):
        shown = command("scan", redis_url)
        assert shown.exit_code == 0
        lines = shown.stdout.splitlines()
        at = lines.index("also here not moved by this command:")
        assert lines[at + 1 : at + 3] == [
            "            chat histories (RedisChatMessageHistory; add --root app): 1",
            "            other keys (string): 1",
        ]
        assert "secret" not in shown.stdout

    def test_scan_as_json(self, command, redis_url):
        report = json.loads(command("scan", redis_url, "--json").stdout)
        assert report["schema"] == 1
        assert report["others"][0] == {
            "kind": "chat-history",
            "name": "chat histories (RedisChatMessageHistory; add --root app)",
            "count": 1,
            "estimated": False,
            "moved": False,
        }

    def test_migrate_does_not_look(self, command, redis_url, sqlite_target):
        """It would have to be told the names of all keys."""
        shown = command("migrate", redis_url, sqlite_target)
        assert shown.exit_code == 0, shown.output
        assert "also here" not in shown.stdout

    def test_a_file_has_no_others(self, command, make_db):
        path = make_db({"memory_store_s": [("e", "v")], "other": [("a", "b")]})
        report = json.loads(command("scan", path, "--json").stdout)
        assert report["others"] == []
        assert "also here" not in command("scan", path).stdout


def test_other_databases_are_left_alone(redis_url, client):
    with redis.Redis.from_url(f"{redis_url.rpartition('/')[0]}/3") as third:
        third.rpush("message_store:a", "x")
    assert told(scan(redis_url)) == {}
