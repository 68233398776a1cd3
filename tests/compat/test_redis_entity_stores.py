"""The entity stores of Redis and Upstash: the classic contract, and lifetimes."""

import asyncio
import copy
import importlib.util
import inspect
import json
import multiprocessing
import os
import pickle
import re
import subprocess
import sys
import threading
import types
import warnings
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
import redis
import redis.asyncio
import servers
from backends import Driven
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langgraph.store.memory import InMemoryStore
from upstash import upstash

from holdover.compat import notices, records
from holdover.compat.configuration import configure
from holdover.compat.errors import AddressError, MissingDependency, StoreUnavailable
from holdover.compat.redis_clients import close_clients
from holdover.compat.redis_entity_stores import (
    RedisEntityStore,
    UpstashRedisEntityStore,
)
from holdover.compat.stores.opening import close_stores, open_store
from holdover.compat.stores.redis import PlainRedisStore

DAY = 86_400
HOUR = 3_600
NOW = datetime(2031, 5, 7, 11, 30, tzinfo=UTC)
# Named in an address, so that no test can print it unseen.
SECRET = "hunter2"


@pytest.fixture(autouse=True)
def _clean(monkeypatch):
    monkeypatch.setattr(notices, "_told", set())
    monkeypatch.delenv("UPSTASH_REDIS_REST_URL", raising=False)
    monkeypatch.delenv("UPSTASH_REDIS_REST_TOKEN", raising=False)
    yield
    close_stores()
    close_clients()


@pytest.fixture
def client(redis_url):
    with redis.Redis.from_url(redis_url, protocol=2, decode_responses=True) as client:
        yield client


@pytest.fixture
def clock(monkeypatch):
    """`clock(seconds)` lets time pass."""
    moment = [NOW]
    monkeypatch.setattr(records, "now", lambda: moment[0])

    def tick(seconds):
        moment[0] += timedelta(seconds=seconds)

    return tick


@pytest.fixture
def upstash_service(redis_url):
    with upstash(redis_url) as service:
        yield service


PLACES = {
    "by address": lambda url: {"url": url},
    "by client": lambda url: {"redis_client": redis.Redis.from_url(url)},
    "decoding": lambda url: {
        "redis_client": redis.Redis.from_url(url, decode_responses=True)
    },
    "RESP3": lambda url: {"redis_client": redis.Redis.from_url(url, protocol=3)},
    "decoding RESP3": lambda url: {
        "redis_client": redis.Redis.from_url(url, protocol=3, decode_responses=True)
    },
    "in another store": lambda url: {"url": url, "store": InMemoryStore()},
}


@pytest.fixture(params=[*PLACES, "upstash"])
def make(request, redis_url):
    """`make(session, …)` gives an entity store, in each way it can be had."""
    if request.param == "upstash":
        service = request.getfixturevalue("upstash_service")
        return lambda session="s", **more: UpstashRedisEntityStore(
            session, service.url, service.token, **more
        )
    place = PLACES[request.param](redis_url)
    return lambda session="s", **more: RedisEntityStore(session, **place, **more)


@pytest.fixture
def entities(make, way, loop):
    return Driven(make(), way, loop)


# --- the contract -------------------------------------------------------------


def test_the_five_methods(entities):
    assert entities.get("Alice") is None
    assert entities.get("Alice", "nobody") == "nobody"
    assert entities.exists("Alice") is False
    assert entities.set("Alice", "likes cheese") is None
    assert entities.get("Alice") == "likes cheese"
    assert entities.get("Alice", "nobody") == "likes cheese"
    assert entities.exists("Alice") is True
    entities.set("Alice", "likes cake")
    assert entities.get("Alice") == "likes cake"
    entities.set("Bob", "is tall")
    assert entities.delete("Alice") is None
    assert entities.exists("Alice") is False
    assert entities.delete("Alice") is None
    assert entities.clear() is None
    assert entities.get("Bob") is None
    entities.clear()


@pytest.mark.parametrize("nothing", ["", " \n", None])
def test_an_empty_summary_changes_nothing(entities, nothing):
    entities.set("Alice", "likes cheese")
    entities.set("Alice", nothing)
    assert entities.get("Alice") == "likes cheese"
    entities.set("Bob", nothing)
    assert entities.exists("Bob") is False


NAMES = [
    "", " ", "a.b", "a:b", ":", "*", "us?r[a-z]", "new\nline", "\ud800", "nul\x00",
    "~", "😀", "{0}", "x" * 2_000, "..", "\\", "Zoë", "Zoe\u0308",
]  # fmt: skip


def test_any_name_and_any_session(make, request):
    # Each call is an HTTP request of Upstash: there, some of the pairs.
    few = "upstash" in request.node.name
    sessions = [*NAMES[::6], "*"] if few else NAMES
    of_each = {session: make(session) for session in sessions}
    for session, entities in of_each.items():
        assert entities.session_id == session
        for name in NAMES:
            entities.set(name, f"{name!r} of {session!r}")
    for session, entities in of_each.items():
        for name in NAMES:
            assert entities.get(name) == f"{name!r} of {session!r}"
    of_each["*"].clear()
    left = {session: entities.exists("a.b") for session, entities in of_each.items()}
    assert [session for session, there in left.items() if not there] == ["*"]


@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    sessions=st.lists(st.text("a:*?[]\\~.\x00\ud800 é", max_size=4), max_size=3),
    names=st.lists(st.text("a:*?[]\\~.\x00\ud800 é", max_size=4), max_size=3),
)
def test_what_one_session_clears_is_its_own(redis_url, sessions, names):
    root = uuid4().hex
    sessions = list(dict.fromkeys(["a", *sessions]))
    names = list(dict.fromkeys(["n", *names]))
    of_each = [RedisEntityStore(s, redis_url, root, store=STORE) for s in sessions]
    for n, entities in enumerate(of_each):
        for name in names:
            entities.set(name, f"{n}")
    of_each[0].clear()
    for n, entities in enumerate(of_each):
        for name in names:
            assert entities.get(name) == (f"{n}" if n else None)


STORE = InMemoryStore()


def test_names_that_are_no_strings(make):
    entities = make()
    entities.set(5, 7)
    assert entities.get("5") == "7"
    for wrong in (None, b"x"):
        with pytest.raises(TypeError):
            entities.get(wrong)
    with pytest.raises(TypeError):
        entities.set("x", b"bytes")


# --- constructors -------------------------------------------------------------


def classic(name):
    module = pytest.importorskip("langchain_classic.memory.entity")
    return getattr(module, name)


@pytest.mark.parametrize("ours", [RedisEntityStore, UpstashRedisEntityStore])
def test_the_signature_is_the_classic_one(ours):
    theirs = inspect.signature(classic(ours.__name__)).parameters
    mine = inspect.signature(ours).parameters
    positional = [n for n, p in mine.items() if p.kind is p.POSITIONAL_OR_KEYWORD]
    assert positional == [
        n for n, p in theirs.items() if p.kind is p.POSITIONAL_OR_KEYWORD
    ]
    for name in positional:
        assert mine[name].default == theirs[name].default, name
    kinds = {p.kind for p in theirs.values()}
    assert kinds <= {p.kind for p in mine.values()}
    added = mine.keys() - theirs.keys() - {"unknown"}
    assert all(mine[name].kind is inspect.Parameter.KEYWORD_ONLY for name in added)


def test_the_classic_attributes(redis_url):
    entities = RedisEntityStore("session", redis_url, "prefix", 60, 120)
    assert entities.session_id == "session"
    assert entities.key_prefix == "prefix"
    assert entities.full_key_prefix == "prefix:session"
    assert (entities.ttl, entities.recall_ttl) == (60, 120)
    assert entities.scope == ("prefix", "session")
    assert entities.redis_client.ping() is True
    # It decodes, as the classic one did, and there is one of it.
    entities.redis_client.set("prefix:session:a", "Zoë")
    assert entities.redis_client.get("prefix:session:a") == "Zoë"
    assert RedisEntityStore("t", redis_url).redis_client is entities.redis_client
    with pytest.raises(TypeError):
        RedisEntityStore("s", redis_url, "p", 1, 1, "one too many")


def test_the_classic_defaults():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one, other = RedisEntityStore(), UpstashRedisEntityStore()
    for entities in (one, other):
        assert entities.session_id == "default"
        assert entities.key_prefix == "memory_store"
        assert (entities.ttl, entities.recall_ttl) == (DAY, 3 * DAY)
    assert one.url == "redis://localhost:6379/0"
    assert (other.url, other.token) == ("", "")


@pytest.mark.parametrize(
    ("ttl", "recall_ttl", "kept"),
    [
        (60, 120, (60, 120)),
        (60, 0, (60, 60)),
        (60, None, (60, 60)),
        (None, None, (None, None)),
        (None, 0, (None, None)),
        (timedelta(minutes=1), None, (timedelta(minutes=1), timedelta(minutes=1))),
    ],
)
@pytest.mark.parametrize("kind", [RedisEntityStore, UpstashRedisEntityStore])
def test_recall_ttl_or_ttl(kind, ttl, recall_ttl, kept):
    entities = kind("s", ttl=ttl, recall_ttl=recall_ttl)
    assert (entities.ttl, entities.recall_ttl) == kept


@pytest.mark.parametrize("kind", [RedisEntityStore, UpstashRedisEntityStore])
@pytest.mark.parametrize(
    "lifetimes",
    [{"ttl": 0}, {"ttl": -1}, {"recall_ttl": -1}, {"ttl": timedelta(0)}],
)
def test_a_lifetime_is_positive(kind, lifetimes):
    with pytest.raises(ValueError, match="seconds above 0"):
        kind("s", **lifetimes)


def test_a_lifetime_set_later_counts_and_is_checked(clock):
    entities = RedisEntityStore("s", store=InMemoryStore(), legacy="off")
    entities.ttl = entities.recall_ttl = 60
    entities.set("a", "x")
    clock(59)
    assert entities.exists("a")
    clock(1)
    assert not entities.exists("a")
    entities.ttl = 0
    with pytest.raises(ValueError, match="ttl=0"):
        entities.set("a", "x")


def test_constructing_opens_nothing(monkeypatch):
    opened = []
    monkeypatch.setattr("socket.socket.connect", lambda *a: opened.append(a))
    away = f"redis://nobody:{SECRET}@127.0.0.1:1/0"
    made = [RedisEntityStore(f"s{n}", away) for n in range(1_000)]
    made += [
        UpstashRedisEntityStore(f"s{n}", "https://none.upstash.io", SECRET)
        for n in range(1_000)
    ]
    assert (len(made), opened) == (2_000, [])


@pytest.mark.parametrize("kind", [RedisEntityStore, UpstashRedisEntityStore])
def test_the_default_session_warns_once(kind):
    with pytest.warns(UserWarning, match="session_id") as told:
        kind(store=InMemoryStore())
    assert told[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kind(store=InMemoryStore())
        kind("named")
        kind(scope=("a", "b"))


@pytest.mark.parametrize("kind", [RedisEntityStore, UpstashRedisEntityStore])
def test_unknown_arguments_warn_once(kind):
    with pytest.warns(UserWarning, match="does not know.*nonsense") as told:
        kind("s", nonsense=1)
    assert told[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kind("s", nonsense=2)


def test_keeping_for_ever_what_a_read_would_end_warns():
    with pytest.warns(UserWarning, match="recall_ttl=None") as told:
        RedisEntityStore("s", ttl=None)
    assert told[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        RedisEntityStore("t", ttl=None, recall_ttl=None)


def test_what_is_no_client_is_refused():
    for wrong in (redis.asyncio.Redis(), redis.asyncio.RedisCluster, "redis://x", 5):
        with pytest.raises(TypeError, match="redis_client"):
            RedisEntityStore("s", redis_client=wrong)
        with pytest.raises(TypeError, match="redis_client"):
            UpstashRedisEntityStore("s", redis_client=wrong)


def test_a_client_can_be_put_in_place_of_another(redis_url, client):
    entities = RedisEntityStore("s", f"redis://127.0.0.1:{servers.free_port()}/0")
    entities.redis_client = client
    entities.set("a", "x")
    assert entities.redis_client is client
    assert RedisEntityStore("s", redis_url).get("a") == "x"


@pytest.mark.parametrize(
    "url", ["http://x", "redis://h/notanumber", "", "redis+nonsense://x"]
)
def test_what_is_no_address(url):
    with pytest.raises(AddressError):
        RedisEntityStore("s", url).get("a")


def test_a_server_that_is_away_is_one_sentence():
    url = f"redis://user:{SECRET}@127.0.0.1:{servers.free_port()}/0"
    entities = RedisEntityStore("s", url)
    for action in (lambda: entities.get("a"), lambda: entities.redis_client):
        with pytest.raises(StoreUnavailable, match="cannot be reached") as told:
            action()
        assert SECRET not in str(told.value)


# --- which store --------------------------------------------------------------


def test_an_argument_is_before_the_configuration_is_before_the_own(redis_url):
    own = RedisEntityStore("s", redis_url)
    assert own.base_store is open_store(redis_url)
    assert isinstance(own.base_store, PlainRedisStore)
    given, default = InMemoryStore(), InMemoryStore()
    configure(store=default)
    assert RedisEntityStore("s", redis_url).base_store is default
    assert RedisEntityStore("s", redis_url, store=given).base_store is given
    assert UpstashRedisEntityStore("s").base_store is default


def test_an_agent_finds_entities_by_their_names(redis_url):
    RedisEntityStore("ana@example.com", redis_url).set("New York", "is a city")
    namespace = ("memory_store", "ana@example~2ecom", "entities")
    item = open_store(redis_url).get(namespace, "New York")
    assert item.value["content"] == {"name": "New York", "summary": "is a city"}


def test_the_class_of_upstash_needs_no_place_beside_another_store():
    entities = UpstashRedisEntityStore("s", store=InMemoryStore())
    entities.set("a", "x")
    assert entities.get("a") == "x"


# --- lifetimes, by a clock ----------------------------------------------------


@pytest.fixture
def timed(store, scope, way, loop, clock):
    """Entities in each kind of store, whose time passes when the test says so."""

    def make(*lifetimes):
        entities = RedisEntityStore(
            "s", "", "p", *lifetimes, store=store, scope=scope, legacy="off"
        )
        kind = "async" if "Async" in type(store).__name__ else way
        return Driven(entities, kind, loop)

    if way == "sync" and is_async(store):
        pytest.skip("this store only awaits")
    return make


def is_async(store):
    from holdover.compat.stores.choosing import backend_for

    return backend_for(store).is_async and not getattr(store, "_loop", None)


def test_set_gives_ttl_and_get_gives_recall_ttl(timed, clock):
    entities = timed(DAY, 3 * DAY)
    entities.set("unread", "x")
    entities.set("read", "x")
    clock(DAY - 1)
    assert entities.get("read") == "x"
    assert entities.exists("unread") is True
    # `exists` extended nothing, `get` did.
    clock(1)
    assert entities.exists("unread") is False
    assert entities.get("unread", "gone") == "gone"
    clock(3 * DAY - 2)
    assert entities.exists("read") is True
    clock(1)
    assert entities.get("read") is None


def test_every_get_begins_the_lifetime_anew(timed, clock):
    entities = timed(HOUR, HOUR)
    entities.set("a", "x")
    for _ in range(5):
        clock(HOUR - 1)
        assert entities.get("a") == "x"
    clock(HOUR)
    assert entities.get("a") is None


def test_a_get_may_also_bring_the_end_nearer(timed, clock):
    """As `GETEX` does."""
    entities = timed(30 * DAY, HOUR)
    entities.set("a", "x")
    entities.get("a")
    clock(HOUR)
    assert entities.get("a") is None


def test_an_unchanged_summary_begins_its_lifetime_anew(timed, clock):
    entities = timed(HOUR, HOUR)
    entities.set("a", "x")
    clock(HOUR - 1)
    entities.set("a", "x")
    clock(HOUR - 1)
    assert entities.exists("a")


def test_none_gives_none(timed, clock):
    entities = timed(None, None)
    entities.set("a", "x")
    entities.get("a")
    clock(10_000 * DAY)
    assert entities.get("a") == "x"
    (mine,) = [entities._target.repository]
    if not is_async(mine.store) and not getattr(mine.store, "_loop", None):
        assert "expires_at" not in mine.get("entity", "a").meta


@pytest.mark.filterwarnings("ignore:RedisEntityStore with ttl=None")
def test_a_read_ends_even_what_was_for_ever(timed, clock):
    """As in classic: −1 becomes recall_ttl. The constructor warns."""
    entities = timed(None, HOUR)
    entities.set("a", "x")
    clock(100 * DAY)
    assert entities.get("a") == "x"
    clock(HOUR)
    assert entities.get("a") is None


def test_what_ended_can_be_set_again(timed, clock):
    entities = timed(HOUR, HOUR)
    entities.set("a", "x")
    clock(HOUR)
    entities.set("a", "x")
    assert entities.get("a") == "x"


def test_a_recall_is_no_new_revision(redis_url):
    entities = RedisEntityStore("s", redis_url)
    entities.set("a", "x")
    before = entities.repository.get("entity", "a")
    entities.get("a")
    after = entities.repository.get("entity", "a")
    assert after.revision == before.revision
    assert after.meta["recorded_at"] == before.meta["recorded_at"]
    assert after.meta["expires_at"] > before.meta["expires_at"]
    assert len(entities.repository.history("entity", "a")) == 1


# --- lifetimes, on a real server ----------------------------------------------


def left(client, name="a", session="s"):
    """What the server says is left of an item, in seconds."""
    return client.pttl(f"holdover:{{0}}:item:memory_store.{session}.entities..{name}")


@pytest.mark.parametrize(
    ("ttl", "recall_ttl", "after_set", "after_get"),
    [
        (DAY, 3 * DAY, DAY, 3 * DAY),
        # A store keeps whole minutes; the record says the second.
        (90, 61, 120, 120),
        (1, 1, 60, 60),
        (3 * DAY, HOUR, 3 * DAY, HOUR),
        (HOUR, None, HOUR, HOUR),
        (None, None, None, None),
        (timedelta(days=7), timedelta(days=8), 7 * DAY, 8 * DAY),
    ],
)
def test_the_server_keeps_the_same_lifetime(
    redis_url, client, ttl, recall_ttl, after_set, after_get
):
    entities = RedisEntityStore("s", redis_url, ttl=ttl, recall_ttl=recall_ttl)
    entities.set("a", "x")
    near(left(client), after_set)
    assert entities.exists("a")
    near(left(client), after_set)
    assert entities.get("a") == "x"
    near(left(client), after_get)
    rest = records.remaining(entities.repository.get("entity", "a").meta)
    if entities._recall() is None:
        assert rest is None
    else:
        assert entities._recall() - timedelta(seconds=10) < rest <= entities._recall()


def near(milliseconds, seconds):
    if seconds is None:
        assert milliseconds == -1
    else:
        assert seconds * 1000 - 10_000 < milliseconds <= seconds * 1000


def test_what_ends_leaves_nothing_behind(redis_url, client):
    """Journal and item end; nothing of a name that was never old has no end."""
    entities = RedisEntityStore("s", redis_url, ttl=60, recall_ttl=60)
    for n in range(3):
        entities.set("a", str(n))
        entities.get("a")
    kept = [key for key in client.keys("holdover:*:item:*") if client.pttl(key) < 0]
    assert kept == []


def test_an_item_that_ended_on_the_server_is_a_miss(redis_url, client):
    entities = RedisEntityStore("s", redis_url)
    entities.set("a", "x")
    client.pexpire("holdover:{0}:item:memory_store.s.entities..a", 1)
    while left(client) != -2:
        pass
    assert entities.get("a") is None
    assert entities.exists("a") is False
    entities.set("a", "y")
    assert entities.get("a") == "y"


# --- beside classic -----------------------------------------------------------


def old_class(url, session="s", **options):
    """The classic class as released cannot be made without naming a client."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kind = classic("RedisEntityStore")
        return kind(session, url, redis_client=None, **options)


def outcome(action, entities):
    try:
        return action(entities)
    except Exception as error:
        return type(error)


SAME = {
    "set gives nothing": lambda e: e.set("a", "x"),
    "get what was set": lambda e: (e.set("a", "x"), e.get("a"))[1],
    "default of a miss": lambda e: e.get("a", "nobody"),
    "default of a hit": lambda e: (e.set("a", "x"), e.get("a", "nobody"))[1],
    "exists": lambda e: (e.exists("a"), e.set("a", "x"), e.exists("a"))[::2],
    "delete a miss": lambda e: e.delete("a"),
    "delete": lambda e: (e.set("a", "x"), e.delete("a"), e.exists("a"))[2],
    "clear nothing": lambda e: e.clear(),
    "clear": lambda e: (e.set("a", "x"), e.set("b", "y"), e.clear(), e.exists("b"))[3],
    "overwrite": lambda e: (e.set("a", "x"), e.set("a", "y"), e.get("a"))[2],
    "names keep their case": lambda e: (e.set("a", "x"), e.exists("A"))[1],
    "a name with colons": lambda e: (e.set("a:b", "x"), e.get("a:b"))[1],
    "a number": lambda e: (e.set("a", 5), e.get("a"))[1],
    "white space around": lambda e: (e.set("a", " x \n"), e.get("a"))[1],
    "full_key_prefix": lambda e: e.full_key_prefix,
    "ttl": lambda e: (e.ttl, e.recall_ttl),
    "recall_ttl is set": lambda e: setattr(e, "recall_ttl", 5),
}
#: (what, classic's outcome, ours, why)
DIFFERENT = {
    "a miss without a default": (
        lambda e: e.get("a"),
        "",
        None,
        "one contract for all entity stores: a missing key gives the default",
    ),
    "an empty summary": (
        lambda e: (e.set("a", "x"), e.set("a", ""), e.exists("a"))[2],
        False,
        True,
        "models answer with nothing; only delete deletes",
    ),
    "a blank summary": (
        lambda e: (e.set("a", "x"), e.set("a", " "), e.get("a"))[2],
        " ",
        "x",
        "as an empty one",
    ),
    "a summary of bytes": (
        lambda e: (e.set("a", b"x"), e.get("a"))[1],
        "x",
        TypeError,
        "in all entity stores",
    ),
    "a lone surrogate": (
        lambda e: (e.set("a", "\ud800"), e.get("a"))[1],
        UnicodeEncodeError,
        "\ud800",
        "any string can be kept",
    ),
}


@pytest.mark.parametrize("what", SAME)
def test_the_same_as_classic(what, redis_url, client):
    theirs = outcome(SAME[what], old_class(redis_url))
    client.flushall()
    assert outcome(SAME[what], RedisEntityStore("s", redis_url)) == theirs


@pytest.mark.parametrize("what", DIFFERENT)
def test_different_from_classic_on_purpose(what, redis_url, client):
    action, theirs, ours, _ = DIFFERENT[what]
    assert outcome(action, old_class(redis_url)) == theirs
    client.flushall()
    assert outcome(action, RedisEntityStore("s", redis_url)) == ours


def test_clearing_wipes_no_other_session_as_classic_did(redis_url, client):
    for kind, survives in ((old_class, False), (RedisEntityStore, True)):
        client.flushall()
        user, other = (
            [old_class(redis_url, s) for s in ("user", "user:42")]
            if kind is old_class
            else [RedisEntityStore(s, redis_url) for s in ("user", "user:42")]
        )
        user.set("a", "x")
        other.set("a", "y")
        user.clear()
        assert user.exists("a") is False
        assert other.exists("a") is survives


@pytest.mark.parametrize(
    ("ttl", "recall_ttl"),
    [(DAY, 3 * DAY), (HOUR, None), (30 * DAY, HOUR), (None, None), (None, HOUR)],
)
@pytest.mark.filterwarnings("ignore:RedisEntityStore with ttl=None")
def test_lifetimes_are_those_of_classic(redis_url, client, ttl, recall_ttl):
    lifetimes = {"ttl": ttl, "recall_ttl": recall_ttl}
    old, new = (
        old_class(redis_url, **lifetimes),
        RedisEntityStore("new", redis_url, **lifetimes),
    )
    for entities in (old, new):
        entities.set("a", "x")
    assert_alike(client.pttl("memory_store:s:a"), left(client, session="new"))
    for entities in (old, new):
        entities.get("a")
    assert_alike(client.pttl("memory_store:s:a"), left(client, session="new"))


def assert_alike(old, new):
    assert (old < 0, new < 0) in {(True, True), (False, False)}
    assert abs(old - new) < 10_000


# --- Upstash ------------------------------------------------------------------


def test_url_and_token_from_the_environment(upstash_service, monkeypatch):
    monkeypatch.setenv("UPSTASH_REDIS_REST_URL", upstash_service.url)
    monkeypatch.setenv("UPSTASH_REDIS_REST_TOKEN", upstash_service.token)
    entities = UpstashRedisEntityStore("s")
    entities.set("a", "x")
    assert entities.get("a") == "x"
    assert len(upstash_service.requests) > 0


@pytest.mark.parametrize(
    ("arguments", "missing"), [(("", ""), "a URL"), (("https://x.io", ""), "a token")]
)
def test_what_upstash_needs_is_said_at_the_first_use(arguments, missing):
    entities = UpstashRedisEntityStore("s", *arguments)
    with pytest.raises(AddressError, match=f"{missing}.*UPSTASH_REDIS_REST_TOKEN"):
        entities.get("a")


def test_old_keys_of_upstash_read_through(upstash_service, client):
    client.set("memory_store:s:Alice", "likes cheese", ex=100)
    client.set("memory_store:s:Bob", "is tall")
    client.hset("memory_store:s:Carol", "a", "b")
    before = {key: client.pexpiretime(key) for key in client.keys("memory_store:*")}
    entities = UpstashRedisEntityStore(
        "s", upstash_service.url, upstash_service.token, store=InMemoryStore()
    )
    assert entities.exists("Alice")
    assert entities.repository.get("entity", "Alice").meta["source"] == {
        "kind": "adoption",
        "locator": "redis:0:memory_store:s:Alice",
    }
    assert entities.get("Alice") == "likes cheese"
    assert entities.get("Bob") == "is tall"
    assert entities.get("Carol") is None
    entities.clear()
    assert entities.get("Alice") is None
    after = {key: client.pexpiretime(key) for key in client.keys("memory_store:*")}
    assert after == before


def test_the_lifetimes_of_upstash(upstash_service, client):
    entities = UpstashRedisEntityStore("s", *upstash_service)
    entities.set("a", "x")
    near(left(client), DAY)
    entities.get("a")
    near(left(client), 3 * DAY)


def test_a_refused_token_is_one_sentence(upstash_service):
    entities = UpstashRedisEntityStore("s", upstash_service.url, SECRET)
    with pytest.raises(StoreUnavailable, match="refuses the token") as told:
        entities.get("a")
    assert SECRET not in str(told.value)
    old = UpstashRedisEntityStore(
        "s", upstash_service.url, SECRET, store=InMemoryStore()
    )
    with pytest.raises(StoreUnavailable, match=r"old data.*legacy='off'"):
        old.get("a")


def upstash_client(url, token):
    """What upstash-redis 1.8 holds; its ratelimit package relies on the headers."""
    headers = {"Authorization": f"Bearer {token}"}
    return types.SimpleNamespace(_url=url, _headers=headers, close=lambda: None)


def test_a_ready_client_of_upstash(upstash_service):
    package = importlib.util.find_spec("upstash_redis")
    make_ready = importlib.import_module("upstash_redis").Redis if package else None
    ready = (make_ready or upstash_client)(upstash_service.url, upstash_service.token)
    entities = UpstashRedisEntityStore("s", redis_client=ready)
    assert entities.redis_client is ready
    entities.set("a", "x")
    assert UpstashRedisEntityStore("s", *upstash_service).get("a") == "x"
    other = UpstashRedisEntityStore("s", "https://none.upstash.io", "none")
    other.redis_client = ready
    assert other.get("a") == "x"


def test_the_client_of_upstash_is_optional(monkeypatch):
    entities = UpstashRedisEntityStore("s", "https://none.upstash.io", "t")
    monkeypatch.setitem(sys.modules, "upstash_redis", None)
    with pytest.raises(MissingDependency, match="pip install upstash-redis"):
        _ = entities.redis_client
    made = types.SimpleNamespace(Redis=upstash_client)
    monkeypatch.setitem(sys.modules, "upstash_redis", made)
    assert entities.redis_client._url == "https://none.upstash.io"
    assert entities.redis_client is entities.redis_client


# --- other kinds of Redis -----------------------------------------------------


def exercise(make, client):
    """One session after another, old keys included."""
    for n in range(20):
        client.set(f"memory_store:s{n}:old", f"old {n}", ex=100)
    for n in range(20):
        entities = make(f"s{n}")
        entities.set("a", f"new {n}")
        assert entities.get("a") == f"new {n}"
        assert entities.get("old") == f"old {n}"
        entities.delete("a")
        assert entities.get("a") is None
    make("s0").clear()
    assert make("s0").get("old") is None
    assert make("s1").get("old") == "old 1"
    assert all(0 < client.pttl(f"memory_store:s{n}:old") <= 100_000 for n in range(20))


def test_a_cluster(cluster_url):
    with redis.RedisCluster.from_url(cluster_url) as client:
        exercise(lambda session: RedisEntityStore(session, cluster_url), client)
        entities = RedisEntityStore("s1", cluster_url, store=InMemoryStore())
        entities.get("old")
        meta = entities.repository.get("entity", "old").meta
        assert meta["source"]["locator"] == "redis:0:memory_store:s1:old"
        assert entities.redis_client.get("memory_store:s1:old") == "old 1"


@pytest.mark.parametrize("decode", [True, False])
def test_a_client_of_a_cluster(cluster_url, decode):
    with redis.RedisCluster.from_url(cluster_url, decode_responses=decode) as client:
        exercise(lambda session: RedisEntityStore(session, redis_client=client), client)


def test_sentinel(sentinel_url):
    entities = RedisEntityStore("any", sentinel_url)
    exercise(
        lambda session: RedisEntityStore(session, sentinel_url), entities.redis_client
    )


def test_a_unix_socket(redis_url, client):
    folder = client.config_get("dir")["dir"]
    url = f"unix://{folder}/redis.sock?db=3"
    entities = RedisEntityStore("s", url)
    entities.redis_client.set("memory_store:s:old", "x")
    assert entities.get("old") == "x"
    meta = entities.repository.get("entity", "old").meta
    assert meta["source"]["locator"] == "redis:3:memory_store:s:old"


def test_a_redis_without_getex(old_redis_url):
    with redis.Redis.from_url(old_redis_url, protocol=2) as client:
        exercise(lambda session: RedisEntityStore(session, old_redis_url), client)


def test_an_address_from_the_environment(redis_url, monkeypatch):
    monkeypatch.setenv("MY_REDIS", redis_url)
    entities = RedisEntityStore("s", "env:MY_REDIS")
    entities.redis_client.set("memory_store:s:old", "x")
    assert entities.get("old") == "x"


# --- threads, tasks, processes ------------------------------------------------


def together(number, work):
    """Run in so many threads that begin at once."""
    barrier, failures = threading.Barrier(number), []

    def run(n):
        try:
            barrier.wait(30)
            work(n)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(n,)) for n in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_eight_threads_share_an_object(make):
    entities = make(history="all")

    def work(n):
        for i in range(10):
            entities.set(f"e{n}", f"{i}")
            assert entities.get(f"e{n}") == f"{i}"

    together(8, work)
    assert [entities.get(f"e{n}") for n in range(8)] == ["9"] * 8


def test_a_get_beside_writes_brings_nothing_back(redis_url):
    """Readers in seven threads, and one that writes and deletes: its word counts."""
    entities = RedisEntityStore("s", redis_url)
    for n in range(30):
        entities.set("a", f"old {n}")

        def work(which, n=n):
            if which:
                for _ in range(5):
                    entities.get("a")
            elif n % 2:
                entities.set("a", f"new {n}")
            else:
                entities.delete("a")

        together(8, work)
        assert entities.get("a") == (f"new {n}" if n % 2 else None)


def test_threads_that_come_first_together_all_find_old_data(redis_url, client):
    for n in range(10):
        client.set(f"memory_store:s{n}:Alice", "likes cheese")
        entities = RedisEntityStore(f"s{n}", redis_url)
        found = []
        together(8, lambda _, e=entities, f=found: f.append(e.get("Alice")))
        assert found == ["likes cheese"] * 8


def test_sixteen_tasks_share_an_object(make, loop):
    entities = make()

    async def work(n):
        for i in range(5):
            await entities.aset(f"e{n}", f"{i}")
            assert await entities.aget(f"e{n}") == f"{i}"

    async def all_of_them():
        await asyncio.gather(*(work(n) for n in range(16)))

    loop.run(all_of_them())
    assert [entities.get(f"e{n}") for n in range(16)] == ["4"] * 16


WRITER = """
import sys
from holdover.compat import RedisEntityStore
entities = RedisEntityStore("s", sys.argv[1], history="all")
for n in range(25):
    entities.set("shared", f"{sys.argv[2]}-{n}")
    entities.get("shared")
    entities.set(f"own {sys.argv[2]}", str(n))
    assert entities.get(f"own {sys.argv[2]}") == str(n)
"""


def test_four_processes_lose_no_revision(redis_url):
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, redis_url, str(n)], stderr=subprocess.PIPE
        )
        for n in range(4)
    ]
    for writer in writers:
        _, errors = writer.communicate(timeout=120)
        assert writer.returncode == 0, errors.decode()
    entities = RedisEntityStore("s", redis_url, history="all")
    texts = {s.text for s in entities.repository.history("entity", "shared")}
    assert texts == {f"{w}-{n}" for w in range(4) for n in range(25)}
    assert [entities.get(f"own {w}") for w in range(4)] == ["24"] * 4


def in_a_child(entities, answers):
    try:
        entities.set("child", "x")
        answers.put((entities.get("parent"), entities.get("old")))
    except BaseException as error:
        answers.put(repr(error))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_an_object_that_was_used_before_a_fork_works_in_the_child(make, client):
    entities = make()
    if isinstance(entities.base_store, InMemoryStore):
        pytest.skip("this store is of one process")
    client.set("memory_store:s:old", "old")
    entities.set("parent", "x")
    entities.get("nothing")  # also what reads old keys is connected
    context = multiprocessing.get_context("fork")
    answers = context.SimpleQueue()
    children = [
        context.Process(target=in_a_child, args=(entities, answers)) for _ in range(4)
    ]
    for child in children:
        child.start()
    for child in children:
        child.join(60)
    assert [answers.get() for _ in children] == [("x", "old")] * 4
    entities.set("parent", "y")
    assert entities.get("child") == "x"
    assert entities.get("parent") == "y"


# --- pydantic, and what is never printed --------------------------------------


def objects(redis_url):
    secret = redis_url.replace("redis://", f"redis://default:{SECRET}@")
    yield RedisEntityStore("s", secret, "t", 60, 120, history=7)
    yield UpstashRedisEntityStore(
        "s", "https://none.upstash.io", SECRET, "t", 60, 120, history=7
    )


def test_neither_password_nor_token_is_shown(redis_url, caplog):
    for entities in objects(redis_url):
        shown = [
            repr(entities),
            str(entities),
            f"{entities}",
            repr(entities.model_dump()),
            entities.model_dump_json(),
            repr([*entities.__rich_repr__()]),
            repr(copy.copy(entities)),
        ]
        for text in shown:
            assert SECRET not in text
        assert "session_id='s'" in repr(entities)
    assert SECRET not in caplog.text
    with pytest.raises(ValueError) as told:
        RedisEntityStore(5, f"redis://:{SECRET}@h/0")
    assert SECRET not in str(told.value)


@pytest.mark.parametrize(
    "duplicate",
    [
        copy.copy,
        copy.deepcopy,
        lambda e: e.model_copy(),
        lambda e: e.model_copy(deep=True),
        lambda e: pickle.loads(pickle.dumps(e)),
    ],
    ids=["copy", "deepcopy", "model_copy", "deep model_copy", "pickle"],
)
@pytest.mark.parametrize("used", [True, False])
def test_copies(redis_url, upstash_service, duplicate, used):
    for entities in (
        RedisEntityStore("s", redis_url, "t", 60, 120, history=7),
        UpstashRedisEntityStore("s", *upstash_service, "u", 60, 120, history=7),
    ):
        if used:
            entities.set("a", "x")
        other = duplicate(entities)
        other.set("b", "y")
        assert entities.get("b") == "y"
        assert other.get("a") == entities.get("a") == ("x" if used else None)
        assert other.scope == entities.scope
        assert (other.ttl, other.recall_ttl, other._place._history) == (60, 120, 7)


def test_a_ready_client_is_shared_by_copies_and_cannot_be_pickled(client):
    entities = RedisEntityStore("s", redis_client=client)
    entities.set("a", "x")
    for duplicate in (copy.copy, copy.deepcopy, lambda e: e.model_copy(deep=True)):
        assert duplicate(entities).redis_client is client
        assert duplicate(entities).get("a") == "x"
    with pytest.raises(TypeError, match="url="):
        pickle.dumps(entities)


def test_dumps(redis_url):
    entities = RedisEntityStore("s", redis_url, "t", 60, 120)
    fields = entities.model_dump()
    assert fields == {
        "session_id": "s",
        "url": redis_url,
        "key_prefix": "t",
        "ttl": 60,
        "recall_ttl": 120,
    }
    assert json.loads(entities.model_dump_json()) == fields
    assert RedisEntityStore(**fields).scope == entities.scope
    assert "token" not in UpstashRedisEntityStore("s", "u", SECRET).model_dump()


def test_an_old_chain_runs_on_it(redis_url):
    from holdover.compat import base

    if base.CLASSIC is None:
        pytest.skip("no classic classes in this environment")
    code = f"""
import sys, warnings; warnings.simplefilter("ignore")
from {base.CLASSIC}.memory import ConversationEntityMemory
from langchain_core.language_models import FakeListLLM
from holdover.compat import RedisEntityStore
entities = RedisEntityStore("session@example.com", sys.argv[1])
llm = FakeListLLM(responses=["Deven", "Deven", "Deven works on a hackathon."])
memory = ConversationEntityMemory(llm=llm, entity_store=entities)
memory.load_memory_variables({{"input": "I am Deven."}})
memory.save_context({{"input": "I am Deven."}}, {{"output": "Hello!"}})
print(entities.get("Deven"))
"""
    done = subprocess.run(
        [sys.executable, "-c", code, redis_url],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 0, done.stderr
    assert re.fullmatch("Deven( works on a hackathon.)?", done.stdout.strip())


def test_a_migrated_record_keeps_its_origin(redis_url, client):
    """A chain writes over it: a second migration still sees whose it was."""
    entities = RedisEntityStore("s", redis_url)
    entities.repository.put(
        "entity",
        {"name": "a", "summary": "x"},
        origin="migration",
        status="imported",
        source={"locator": "redis:0:memory_store:s:a"},
    )
    entities.set("a", "y")
    source = entities.repository.get("entity", "a").meta["source"]
    assert source == {"kind": "chain", "locator": "redis:0:memory_store:s:a"}
    near(left(client), DAY)


def test_one_class_by_every_path():
    import holdover.compat

    assert holdover.compat.RedisEntityStore is RedisEntityStore
    assert holdover.compat.UpstashRedisEntityStore is UpstashRedisEntityStore
    for kind in (RedisEntityStore, UpstashRedisEntityStore):
        assert issubclass(kind, holdover.compat.BaseEntityStore)
        assert kind.__name__ in holdover.compat.__all__


def test_importing_the_package_loads_no_driver():
    code = (
        "import sys; import holdover.compat; "
        "print([m for m in ('redis', 'upstash_redis') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
