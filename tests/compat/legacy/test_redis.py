"""Old Redis keys are read where they are, and nothing about them changes."""

import json
import os
import warnings
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest
import redis
import servers
from backends import Driven
from langgraph.store.base import GetOp
from langgraph.store.memory import InMemoryStore

from holdover.compat import marks, notices, records
from holdover.compat.errors import StoreUnavailable
from holdover.compat.legacy import redis as legacy_redis
from holdover.compat.legacy.redis import LegacyRedisKeys
from holdover.compat.reading import OldValue
from holdover.compat.redis_clients import close_clients
from holdover.compat.redis_entity_stores import RedisEntityStore
from holdover.compat.stores.opening import close_stores
from holdover.compat.stores.redis_transport import RedisTransport

DAY = 86_400
CORPUS = Path(__file__).parents[2] / "corpus"
FOLDERS = [
    folder
    for corpus in [
        CORPUS,
        *filter(None, os.environ.get("HOLDOVER_CORPUS", "").split(os.pathsep)),
    ]
    for folder in sorted(Path(corpus).glob("*/redis_entity"))
]


@pytest.fixture
def client(redis_url):
    with redis.Redis.from_url(redis_url, protocol=2) as client:
        yield client


@pytest.fixture(autouse=True)
def _told_nothing(monkeypatch):
    monkeypatch.setattr(notices, "_told", set())
    legacy_redis._log_once.cache_clear()
    yield
    close_stores()
    close_clients()


@pytest.fixture
def keys(client):
    """`keys(session)` reads the old keys of a session."""

    def make(session="s", root="memory_store", **options):
        return LegacyRedisKeys(lambda: RedisTransport(client), root, session, **options)

    return make


def state(client):
    """All that reading must leave alone."""
    return {
        key: (client.dump(key), client.pexpiretime(key))
        for key in client.scan_iter()
        if not key.startswith(b"holdover:")
    }


def old_class(session, url, **options):
    """The classic class as released cannot be made without a client of its own."""
    classic = pytest.importorskip("langchain_classic.memory.entity")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return classic.RedisEntityStore(session, url, redis_client=None, **options)


# --- the keys -----------------------------------------------------------------


def test_a_value_and_what_is_left_of_its_lifetime(client, keys):
    client.set("memory_store:s:Alice", "likes cheese", px=50_000)
    client.set("memory_store:s:Bob", "is tall")
    before = state(client)
    assert keys().read("Bob") == OldValue("is tall", None)
    text, left = keys().read("Alice")
    assert text == "likes cheese"
    assert timedelta(seconds=40) < left <= timedelta(seconds=50)
    assert keys().read("Carol") is None
    assert keys().holds(["Alice", "Carol", "Bob"]) == {"Alice", "Bob"}
    assert state(client) == before


def test_only_commands_that_read_are_sent(client, keys):
    client.set("memory_store:s:a", "x", ex=100)
    client.config_resetstat()
    keys().read("a")
    keys().read("b")
    keys().holds(["a", "b"])
    sent = {name for name in client.info("commandstats") if "config" not in name}
    assert sent == {"cmdstat_get", "cmdstat_pttl", "cmdstat_exists"}


@pytest.mark.parametrize("decode", [True, False])
@pytest.mark.parametrize("protocol", [2, 3])
def test_any_client(redis_url, decode, protocol):
    with redis.Redis.from_url(
        redis_url, decode_responses=decode, protocol=protocol
    ) as client:
        client.set("memory_store:s:Zoë", "北京", ex=100)
        client.set("memory_store:s:bad", b"\xff\xfe")
        place = LegacyRedisKeys(lambda: RedisTransport(client), "memory_store", "s")
        assert place.read("Zoë").text == "北京"
        assert place.read("bad") is None


def test_an_expired_key_is_not_there(client, keys):
    client.set("memory_store:s:a", "x", px=1)
    while client.exists("memory_store:s:a"):
        pass
    assert keys().read("a") is None


def test_a_key_between_value_and_lifetime(keys):
    """It expires, or is deleted, behind the `GET` of the pipeline."""

    class Vanishing:
        def send(self, commands):
            return [b"x", -2]

    place = LegacyRedisKeys(Vanishing, "memory_store", "s")
    assert place.read("a") is None


OTHERS = {
    "hash": lambda c, key: c.hset(key, "a", "b"),
    "list": lambda c, key: c.rpush(key, "a"),
    "set": lambda c, key: c.sadd(key, "a"),
    "zset": lambda c, key: c.zadd(key, {"a": 1}),
    "stream": lambda c, key: c.xadd(key, {"a": "b"}),
    "no UTF-8": lambda c, key: c.set(key, b"\xff\xfe\x00"),
    "half a surrogate": lambda c, key: c.set(key, b"\xed\xa0\x80"),
}


@pytest.mark.parametrize("what", OTHERS)
def test_what_is_no_entity_is_skipped_with_an_event(client, what, seen, caplog, way):
    OTHERS[what](client, "memory_store:private@example.com:Alice")
    before = state(client)
    entities = RedisEntityStore("private@example.com", redis_client=client)
    assert entities.get("Alice", "nobody") == "nobody"
    assert entities.exists("Alice") is False
    assert [event.name for event in seen] == ["legacy_skipped"] * 2
    # It is told once, and names nobody.
    assert caplog.text.count("skipped") == 1
    assert "private" not in caplog.text
    assert "Alice" not in caplog.text
    entities.set("Alice", "likes cheese")
    assert entities.get("Alice") == "likes cheese"
    assert state(client) == before


@pytest.mark.parametrize("name", ["\ud800", "a\udfffb"])
def test_names_that_the_classic_class_could_not_write(client, keys, name):
    assert keys().read(name) is None
    assert keys(name).read("a") is None
    assert keys().holds([name]) == set()


@pytest.mark.parametrize(
    ("session", "root", "name"),
    [
        ("s", "memory_store", "Alice"),
        ("a:b", "app:mem", "x:y"),
        ("", "", ""),
        ("user*", "memory_store", "[a]?\\"),
        ("new\nline", "memory_store", "tab\t"),
        ("😀", "用户", "Zoë"),
    ],
)
@pytest.mark.parametrize("db", [0, 5])
def test_locators_are_those_of_a_migration(redis_url, session, root, name, db):
    from holdover.migrate.sources import open_source
    from holdover.migrate.sources.base import Partition, ReadOptions

    url = f"{redis_url.rpartition('/')[0]}/{db}"
    with redis.Redis.from_url(url, protocol=2) as client:
        client.set(f"{root}:{session}:{name}", "old")
    options = ReadOptions(
        roots=(root,), sessions=frozenset([session]), ambiguous="first"
    )
    source = open_source(url, options)
    (batch,) = source.read(Partition("entities"))
    source.close()
    (item,) = batch.items
    entities = RedisEntityStore(session, url, root, store=InMemoryStore())
    assert entities.get(name) == "old"
    meta = entities.repository.get("entity", name).meta
    assert meta["source"] == {"kind": "adoption", "locator": item.locator}
    assert meta["status"] == "imported"


# --- behind an entity store ---------------------------------------------------


def test_old_data_is_found_and_never_changed(store, scope, client, way, loop):
    for name in ("Alice", "Bob", "Carol", "Dave", "Erin"):
        client.set(f"memory_store:s:{name}", f"{name} is old", ex=DAY)
    before = state(client)
    entities = Driven(
        RedisEntityStore("s", store=store, scope=scope, redis_client=client),
        way if not store_is_async(store) else "async",
        loop,
    )
    assert entities.get("Alice") == "Alice is old"
    assert entities.exists("Bob")
    entities.set("Carol", "dances")
    entities.delete("Dave")
    assert entities.get("Carol") == "dances"
    assert entities.get("Dave") is None
    assert entities.get("Erin") == "Erin is old"
    entities.clear()
    for name in ("Alice", "Bob", "Carol", "Dave", "Erin"):
        assert entities.get(name) is None
    assert state(client) == before


def store_is_async(store):
    from holdover.compat.stores.choosing import backend_for

    return backend_for(store).is_async


def test_a_name_is_looked_up_once(client):
    client.set("memory_store:s:Alice", "likes cheese")
    entities = RedisEntityStore("s", redis_client=client)
    assert entities.get("Alice") == "likes cheese"
    client.set("memory_store:s:Alice", "changed since")
    client.config_resetstat()
    assert entities.get("Alice") == "likes cheese"
    entities.delete("Alice")
    assert entities.get("Alice") is None
    assert client.info("commandstats").get("cmdstat_pttl") is None


def test_what_was_adopted_and_ended_does_not_come_back(client, monkeypatch):
    """Its old key has no end; it was taken over, and it is over."""
    client.set("memory_store:s:Alice", "likes cheese")
    entities = RedisEntityStore("s", store=InMemoryStore(), redis_client=client)
    assert entities.get("Alice") == "likes cheese"
    later = records.now() + timedelta(days=4)
    monkeypatch.setattr(records, "now", lambda: later)
    assert entities.get("Alice") is None
    assert entities.exists("Alice") is False


@pytest.mark.parametrize("how", ["natively", "by its record"])
def test_what_was_set_over_an_old_key_and_ended_does_not_come_back(
    client, how, monkeypatch
):
    client.set("memory_store:s:Alice", "likes cheese")
    more = {} if how == "natively" else {"store": InMemoryStore()}
    entities = RedisEntityStore("s", redis_client=client, **more)
    entities.set("Alice", "likes cake")
    if how == "natively":
        for key in client.keys("holdover:*item:memory_store*"):
            client.delete(key)
    else:
        later = records.now() + timedelta(days=4)
        monkeypatch.setattr(records, "now", lambda: later)
    assert entities.get("Alice") is None


def test_a_name_that_was_never_old_leaves_no_mark(client):
    """Marks have no end: one for every name ever set would fill the server."""
    client.set("memory_store:s:old", "x")
    entities = RedisEntityStore("s", redis_client=client)
    for name in ("old", "new"):
        entities.set(name, "y")
        entities.set(name, "z")
    namespace = marks.touched_namespace(tuple(entities.scope), "entities")
    found = entities.base_store.batch(
        [GetOp(namespace, name, refresh_ttl=False) for name in ("old", "new")]
    )
    assert [item and item.value["content"]["what"] for item in found] == ["set", None]
    without_end = [
        key for key in client.keys("holdover:*:item:*") if client.pttl(key) < 0
    ]
    assert [key.rpartition(b"..")[2] for key in without_end] == [b"old"]


def test_adoption_carries_over_what_is_left_and_a_get_is_a_recall(client):
    client.set("memory_store:s:ends", "x", ex=100)
    client.set("memory_store:s:stays", "x")
    before = state(client)
    entities = RedisEntityStore("s", redis_client=client)
    assert entities.exists("ends")
    assert entities.exists("stays")
    left = client.pttl(item_key("s", "ends"))
    # Rounded up to the minutes that a store keeps.
    assert 100_000 < left <= 120_000
    assert client.pttl(item_key("s", "stays")) == -1
    meta = entities.repository.get("entity", "ends").meta
    assert timedelta(seconds=90) < records.remaining(meta) <= timedelta(seconds=100)
    for name in ("ends", "stays"):
        assert entities.get(name) == "x"
        left = client.pttl(item_key("s", name))
        assert 3 * DAY * 1000 - 10_000 < left <= 3 * DAY * 1000
    assert state(client) == before


def item_key(session, name):
    return f"holdover:{{0}}:item:memory_store.{session}.entities..{name}"


@pytest.mark.parametrize("how", ["argument", "environment"])
def test_old_keys_can_be_left_alone(client, how, monkeypatch):
    client.set("memory_store:s:Alice", "likes cheese")
    more = {"legacy": "off"}
    if how == "environment":
        monkeypatch.setenv("HOLDOVER_LEGACY", "off")
        more = {}
    entities = RedisEntityStore("s", redis_client=client, **more)
    assert entities.get("Alice") is None


def test_a_session_reads_no_keys_but_its_own(client):
    client.set("memory_store:user:who", "user")
    client.set("memory_store:user:42:who", "user:42")
    client.set("other:user:who", "other")
    client.set("memory_store:use*:who", "glob")
    for session, root, found in [
        ("user", "memory_store", "user"),
        ("user:42", "memory_store", "user:42"),
        ("user", "other", "other"),
        ("use*", "memory_store", "glob"),
        ("use?", "memory_store", None),
        ("User", "memory_store", None),
        ("user*", "memory_store", None),
    ]:
        entities = RedisEntityStore(session, key_prefix=root, redis_client=client)
        assert entities.get("who") == found


# --- Redis is away ------------------------------------------------------------


def test_an_old_place_that_is_away_is_an_error_and_leaves_no_mark(redis_url, client):
    store = InMemoryStore()
    port = servers.free_port()
    away = f"redis://user:hunter2@127.0.0.1:{port}/0"
    entities = RedisEntityStore("s", away, store=store)
    for action in (
        lambda: entities.get("Alice"),
        lambda: entities.exists("Alice"),
        lambda: entities.set("Alice", "likes cake"),
    ):
        with pytest.raises(StoreUnavailable, match=r"old data.*legacy='off'") as told:
            action()
        assert "hunter2" not in str(told.value)
        assert f"127.0.0.1:{port}" in str(told.value)
    assert store.search(()) == []
    # Nothing was noted: it is found when Redis is there again.
    client.set("memory_store:s:Alice", "likes cheese")
    again = RedisEntityStore("s", redis_url, store=store)
    assert again.get("Alice") == "likes cheese"
    off = RedisEntityStore("s", away, store=InMemoryStore(), legacy="off")
    assert off.get("Alice") is None


@pytest.mark.parametrize("allowed", ["+ping +info +get", "+ping +info +pttl"])
def test_rights_that_are_missing_are_an_error(client, redis_url, allowed):
    client.set("memory_store:s:Alice", "likes cheese")
    name = f"u{uuid4().hex}"
    client.execute_command(
        "ACL", "SETUSER", name, "on", ">secret", "~*", *allowed.split()
    )
    host = redis_url.removeprefix("redis://")
    try:
        entities = RedisEntityStore(
            "s", f"redis://{name}:secret@{host}", store=InMemoryStore()
        )
        with pytest.raises(StoreUnavailable, match="may not run"):
            entities.get("Alice")
    finally:
        client.execute_command("ACL", "DELUSER", name)


def test_the_old_application_may_go_on(redis_url, client):
    """Old code writes its keys, new code reads them, neither breaks the other."""
    old = old_class("s", redis_url)
    old.set("Alice", "one")
    entities = RedisEntityStore("s", redis_url)
    assert entities.get("Alice") == "one"
    entities.set("Alice", "ours")
    entities.clear()
    entities.set("Bob", "ours")
    assert old.get("Alice") == "one"
    assert old.exists("Bob") is False
    old.clear()
    assert entities.get("Bob") == "ours"


# --- the corpus ---------------------------------------------------------------


def numbered(url, db):
    return f"{url.rpartition('/')[0]}/{db}"


def load(listing, url):
    """Restore a listing of the corpus."""
    for line in listing.read_text().splitlines():
        entry = json.loads(line)
        key = bytes.fromhex(entry["key_hex"])
        with redis.Redis.from_url(numbered(url, entry["db"]), protocol=2) as client:
            if "value_hex" in entry:
                client.set(key, bytes.fromhex(entry["value_hex"]))
            elif "value_repeat_hex" in entry:
                unit, times = entry["value_repeat_hex"]
                client.set(key, bytes.fromhex(unit) * times)
            elif "values_hex" in entry:
                client.rpush(key, *map(bytes.fromhex, entry["values_hex"]))
            elif "fields_hex" in entry:
                pairs = [map(bytes.fromhex, pair) for pair in entry["fields_hex"]]
                client.hset(key, mapping=dict(pairs))
            else:
                members = [(bytes.fromhex(m), s) for m, s in entry["members_hex"]]
                client.zadd(key, dict(members))
            if entry["pttl"] > 0:
                client.pexpire(key, entry["pttl"])


def text(written):
    if isinstance(written, dict):
        unit, times = written["$repeat"]
        return unit * times
    return written


@pytest.mark.filterwarnings("ignore:RedisEntityStore")
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.parent.name)
@pytest.mark.parametrize("place", ["same Redis", "another store"])
def test_the_corpus_reads_through_as_its_manifest_says(folder, place, redis_url):
    told = json.loads((folder / "MANIFEST.json").read_text())
    load(folder / "listing.jsonl", redis_url)
    read = 0
    for kept in told["stores"]:
        url = numbered(redis_url, kept["db"])
        more = {} if place == "same Redis" else {"store": InMemoryStore()}
        with redis.Redis.from_url(url, protocol=2) as client:
            before = state(client)
            entities = RedisEntityStore(
                kept["session_id"], url, kept["key_prefix"], None, None, **more
            )
            for one in kept["entities"]:
                prefix = f"{kept['key_prefix']}:{kept['session_id']}:"
                name = one["physical_key"].removeprefix(prefix)
                for _ in range(2):
                    assert entities.get(name) == text(one["summary"]), name
                meta = entities.repository.get("entity", name).meta
                left, ttl = records.remaining(meta), one["ttl_seconds_at_write"]
                if ttl is None:
                    assert left is None
                else:
                    assert ttl - 300 < left.total_seconds() <= ttl
                read += 1
            assert state(client) == before
    assert read > 100


def test_the_corpus_is_there():
    assert len(FOLDERS) >= 5
