"""Messages of langchain-redis are read as they were written, by a real RedisJSON."""

from __future__ import annotations

import json
from contextlib import closing
from datetime import UTC, datetime
from itertools import pairwise

import pytest
import redis
import servers
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from redis_corpus import entries, load, server, state
from redis_histories import (
    DOCUMENTS,
    STORED,
    STORED_OF_TOOLS,
    by_locator,
    by_scope,
    check_lifetime,
    check_messages,
    name,
    root_of,
    sessions,
)
from sampling import EVERYTHING
from upstash import upstash

from holdover.compat.message_keys import adopted_key
from holdover.migrate.errors import SourceUnavailable
from holdover.migrate.scan import scan
from holdover.migrate.sources import open_source, redis_documents
from holdover.migrate.sources.base import ReadOptions

BEFORE = "langchain-redis-0.1.2"
DAY = 86_400_000


@pytest.fixture
def client(json_url):
    with redis.Redis.from_url(json_url, protocol=2) as client:
        yield client


@pytest.fixture
def opened(json_url):
    """`opened(roots=…)` opens the source of messages."""
    made = []

    def make(address=json_url, **options):
        options.setdefault("kinds", frozenset({"messages"}))
        made.append(open_source(address, ReadOptions(**options)))
        return made[-1]

    yield make
    for one in made:
        one.close()


def put(client, key, session, text="x", kind="human", ttl=None, **more):
    document = {"type": kind, "data": {"content": text}, "session_id": session, **more}
    client.execute_command("JSON.SET", key, "$", json.dumps(document))
    if ttl:
        client.pexpire(key, ttl)


@pytest.mark.parametrize("way", ["server", "rest"])
@pytest.mark.parametrize("folder", DOCUMENTS, ids=name)
def test_the_corpus_is_read_as_its_manifest_says(
    folder, way, json_url, client, opened, read_all
):
    load(folder / "listing.jsonl", server(json_url))
    before = state(client)
    roots = ("chat", "app1:chat", "chat:foo")
    with upstash(json_url) as service:
        address = service.address if way == "rest" else json_url
        source = opened(address, roots=roots)
        inventory = source.inventory()
        items, rejects, expired = read_all(source, size=7)
        names = [i for p in source.partitions() for b in source.keys(p) for i in b]
        fetched = source.fetch(source.partitions()[-1], names)
        source.close()
    assert (rejects, expired) == ([], 0)
    found = by_scope(items)
    truth = {(root_of(s["key_prefix"]), s["session_id"]): s for s in sessions(folder)}
    assert found.keys() == truth.keys()
    kept = STORED if folder.parent.name == BEFORE else STORED | STORED_OF_TOOLS
    for scope, session in truth.items():
        check_messages(found[scope], session["messages_sent"], kept=kept)
        check_lifetime(found[scope], session["ttl_seconds_at_write"])
    listed = {
        f"redis:0:{entry['key']}": entry["json"]["timestamp"]
        for entry in entries(folder / "listing.jsonl")
    }
    assert {
        item.locator: pytest.approx(item.created_at.timestamp(), abs=1e-5)
        for item in items
    } == listed
    assert sum(group.items for group in inventory.groups) == len(items)
    assert {g.root: g.sessions for g in inventory.groups} == {
        "chat": 7,
        "app1:chat": 1,
        "chat:foo": 1,
    }
    assert all(group.bytes > 50 * group.items for group in inventory.groups)
    assert [i._replace(ttl_ms=None) for i in fetched.items] == [
        i._replace(ttl_ms=None) for i in items
    ]
    assert [i._replace(ttl_ms=None) for i in names] == [
        i._replace(ttl_ms=None, content={}) for i in items
    ]
    assert any("never stored" in fact for fact in inventory.never_stored)
    assert state(client) == before


def test_the_session_is_what_the_document_says(client, opened, read_all):
    """However a key might be split, and whichever root was named."""
    put(client, "chat:foo:bar:1795999171.5", "foo:bar", timestamp=1795999171.5)
    put(client, "chat:foo:1795999171.5", "foo", timestamp=1795999171.5)
    put(client, "chat:foo:x:1795999171.5", "x", timestamp=1795999171.5)
    put(client, "chat::1795999171.5", "", timestamp=1795999171.5)
    put(client, "chat:odd", "named otherwise", timestamp=1795999171.5)
    items, rejects, _ = read_all(opened())
    assert rejects == []
    assert set(by_scope(items)) == {
        ("chat", "foo:bar"),
        ("chat", "foo"),
        ("chat:foo", "x"),
        ("chat", ""),
        ("chat", "named otherwise"),
    }


def test_a_prefix_without_a_colon(client, opened, read_all):
    put(client, "hist_s1:1795999171.5", "s1", timestamp=1795999171.5)
    put(client, "hist_x:s1:1795999171.5", "s1", timestamp=1795999171.5)
    source = opened(roots=("hist_",))
    items, _, _ = read_all(source)
    assert set(by_scope(items)) == {("hist_", "s1")}
    assert source.inventory().skipped_count == 1


def test_order_is_by_time_then_key(client, opened, read_all):
    times = [5.25, 1795999171.7, 1795999171.7, 1795999171.700001, 8_000_000_000]
    for number, at in reversed(list(enumerate(times))):
        put(client, f"chat:s:k{number}", "s", str(number), timestamp=at)
    items, _, _ = read_all(opened())
    assert [i.content["data"]["content"] for i in items] == list("01234")
    assert all(one.position < other.position for one, other in pairwise(items))
    assert [i.created_at.timestamp() for i in items] == pytest.approx(times)


def test_sessions_are_divided_and_stay_whole(client, opened, read_all, monkeypatch):
    for session in range(60):
        for number in range(5):
            at = 100.5 + number
            put(client, f"chat:{session}:{at}", str(session), f"{number}", timestamp=at)
    client.execute_command("JSON.SET", b"chat:\xff", "$", "{}")
    client.execute_command("JSON.SET", "chat:x:1", "$", '{"session_id": "x"}')
    whole = read_all(opened(), size=7)
    monkeypatch.setattr(redis_documents, "_WORTH_DIVIDING", 10)
    source = opened()
    source.begin()
    parts = [part for part in source.partitions() if "documents" in part.id]
    assert len(parts) == 16
    read = [list(source.read(part, size=7)) for part in parts]
    per_part = [[i for batch in batches for i in batch.items] for batches in read]
    assert by_locator(i for items in per_part for i in items) == by_locator(whole[0])
    assert len([r for bs in read for b in bs for r in b.rejects]) == len(whole[1]) == 2
    sessions_of = [{i.session for i in items} for items in per_part]
    assert sum(map(len, sessions_of)) == len(set().union(*sessions_of)) == 60
    for part, items in zip(parts, per_part, strict=True):
        names = [i for page in source.keys(part) for i in page]
        assert [(i.session, i.position) for i in names[: len(items)]]
        assert {i.locator for i in items} <= {i.locator for i in names}


def test_positions_stay_when_older_messages_end(client, opened, read_all):
    for number in range(20):
        put(client, f"chat:s:{number:02}", "s", str(number), timestamp=100.5 + number)
    source = opened()
    before = {i.locator: i.position for i in read_all(source)[0]}
    client.delete(*[f"chat:s:{number:02}" for number in (0, 1, 2, 7)])
    source.inventory()
    source.inventory()
    after = {i.locator: i.position for i in read_all(source)[0]}
    assert len(after) == 16
    assert after.items() <= before.items()


@pytest.mark.parametrize(
    ("time", "key", "said"),
    [
        (None, "01M8MY914FHAXEZ2068QSQMYT7", 1795999171.727),
        ("yesterday", "1795999171.727095", 1795999171.727095),
        (-1, "1795999171", 1795999171),
        (1e300, "01M8MY914FHAXEZ2068QSQMYT7", 1795999171.727),
        (True, "9999999999.5", None),
        (None, "7ZZZZZZZZZZZZZZZZZZZZZZZZZ", None),
        ([], "tail", None),
    ],
)
def test_times_that_are_none_come_from_the_key(
    client, opened, read_all, time, key, said
):
    put(client, f"chat:s:{key}", "s", timestamp=time)
    ((item,), rejects, _) = read_all(opened())
    expected = None if said is None else datetime.fromtimestamp(said, UTC)
    assert (item.created_at, rejects) == (expected, [])
    assert item.position >= 0


def test_what_is_no_message_is_told(client, opened, read_all):
    put(client, "chat:s:1", "s", timestamp=1.5)
    for key, document in {
        "chat:config": {"theme": "dark"},
        "chat:list": [1, 2],
        "chat:number": 7,
        "chat:s:2": {"session_id": "s", "timestamp": 2},
        "chat:s:3": {"session_id": "s", "type": "human", "data": "secret"},
        "chat:s:4": {"session_id": 7, "type": "human", "data": {}},
    }.items():
        client.execute_command("JSON.SET", key, "$", json.dumps(document))
    client.hset("chat:room", "a", "b")
    client.set("chat:s", "v")
    client.execute_command("JSON.SET", b"chat:\xff", "$", "{}")
    source = opened()
    inventory = source.inventory()
    assert inventory.groups[0].items == 3
    assert {one.name: one.why for one in inventory.skipped} == {
        "chat:config": "a JSON document without a session_id",
        "chat:list": "a JSON document without a session_id",
        "chat:number": "a JSON document without a session_id",
        "chat:s:4": "a JSON document without a session_id",
        "chat:room": "a hash, not a JSON document",
        "chat:s": "a string, not a JSON document",
    }
    assert inventory.rejects == {"not-utf8": 1}
    for size in (1, 2, 100):
        items, rejects, expired = read_all(source, size=size)
        assert (len(items), expired) == (1, 0)
        assert {(r.reason, r.locator) for r in rejects} == {
            ("not-utf8", "redis:0:chat:\\xff"),
            ("not-a-message", "redis:0:chat:s:2"),
            ("not-a-message", "redis:0:chat:s:3"),
        }
        assert not any("secret" in r.detail for r in rejects)


def test_lifetimes_are_each_message_s_own(client, opened, read_all):
    put(client, "chat:s:1", "s", timestamp=1.5, ttl=DAY)
    put(client, "chat:s:2", "s", timestamp=2.5, ttl=3 * DAY)
    put(client, "chat:s:3", "s", timestamp=3.5)
    source = opened()
    lifetimes = source.inventory().groups[0].lifetimes
    assert lifetimes["no expiry"] == lifetimes["under 1 day"] == 1
    assert lifetimes["under 3 days"] == 1
    first, second, third = read_all(source)[0]
    assert DAY - 60_000 < first.ttl_ms <= DAY
    assert 3 * DAY - 60_000 < second.ttl_ms <= 3 * DAY
    assert third.ttl_ms is None


def test_what_vanishes_or_turns_while_it_is_read(client, opened, read_all):
    for number in range(6):
        put(client, f"chat:s:{number}", "s", str(number), timestamp=1.5 + number)
    source = opened()
    source.inventory()
    client.delete("chat:s:0", "chat:s:1")
    client.set("chat:s:1", "v")
    client.execute_command("JSON.SET", "chat:s:2", "$", "[]")
    items, rejects, expired = read_all(source)
    assert [i.content["data"]["content"] for i in items] == list("345")
    assert {(r.reason, r.locator[-1]) for r in rejects} == {
        ("wrong-type", "1"),
        ("not-a-message", "2"),
    }
    assert expired == 1


def test_a_look_that_broke_off_leaves_nothing_half_known(client, opened, read_all):
    for number in range(5):
        put(client, f"chat:s:{number}", "s", timestamp=1.5 + number)
    source = opened()
    documents = source.parts[1]
    look = documents._look_up

    def breaks(page, total, known):
        look(page[:2], total, known)
        raise SourceUnavailable("gone")

    documents._look_up = breaks
    with pytest.raises(SourceUnavailable):
        source.inventory()
    documents._look_up = look
    assert len(read_all(source)[0]) == 5


def test_sessions_are_selected(client, opened, read_all):
    for session in ("a", "b", "c:d"):
        put(client, f"chat:{session}:1", session, timestamp=1.5)
    source = opened(sessions=frozenset({"a", "c:d"}), only_named=True)
    assert source.inventory().groups[0].items == 2
    assert {i.session for i in read_all(source)[0]} == {"a", "c:d"}
    assert any("1 chat messages are outside" in n for n in source.inventory().notes)


def test_a_server_without_the_module_is_asked_for_no_document(redis_url, opened):
    with redis.Redis.from_url(redis_url, protocol=2) as client:
        client.hset("chat:room", "a", "b")
    inventory = opened(redis_url).inventory()
    assert inventory.groups == []
    assert inventory.skipped_count == 1


def test_only_reads_are_sent(json_url, client, opened, read_all):
    put(client, "chat:s:1", "s", timestamp=1.5)
    sent = []
    with client.monitor() as monitor:
        source = opened()
        source.inventory()
        names = [i for p in source.partitions() for b in source.keys(p) for i in b]
        read_all(source)
        source.fetch(source.partitions()[-1], names)
        client.set("end", "of the test")
        while "end of the test" not in (said := monitor.next_command()["command"]):
            sent.append(said.upper().split()[0])
    assert set(sent) == {"SCAN", "TYPE", "JSON.GET", "PTTL", "CLIENT", "CLUSTER"}


def test_least_rights_are_enough(json_url, client, opened, read_all):
    put(client, "chat:s:1", "s", timestamp=1.5)
    rights = ["~chat:*", "+scan", "+type", "+pttl"]
    try:
        reader = servers.redis_user(json_url, "reader", *rights, "+json.get")
        assert len(read_all(opened(reader))[0]) == 1
        blind = servers.redis_user(json_url, "blind", *rights)
        with pytest.raises(SourceUnavailable, match="may not run a command"):
            opened(blind).inventory()
        rights[0] = "~other:*"
        blind = opened(servers.redis_user(json_url, "blind", *rights, "+json.get"))
        inventory = blind.inventory()
        assert [one.code for one in inventory.blockers] == ["no-rights"]
        assert "redis:0:chat:s:1" in inventory.blockers[0].message
        assert inventory.rejects == {"no-rights": 1}
        assert [one.reason for one in read_all(blind)[1]] == ["no-rights"]
    finally:
        client.acl_deluser("reader", "blind")


def test_scan_names_the_root_that_is_missing(json_url, client):
    for prefix in ("chat:", "app:chat:", "history:"):
        for session in ("a", "b:c"):
            key = f"{prefix}{session}:01M8MY914FHAXEZ2068QSQMYT7"
            put(client, key, session, timestamp=1.5)
    inventory = scan(json_url)
    assert [(g.root, g.items) for g in inventory.groups] == [("chat", 2)]
    assert {other.name: other.count for other in inventory.others} == {
        "chat messages (langchain-redis; add --root app:chat)": 2,
        "chat messages (langchain-redis; add --root history)": 2,
    }


def test_roots_for_both_layouts_tell_them_apart_by_type(json_url, client):
    put(client, "chat:s:1", "s", "document", timestamp=1.5)
    client.lpush("chat:s", json.dumps({"type": "ai", "data": {"content": "list"}}))
    client.set("chat:s:e", "entity")
    options = ReadOptions(roots=("chat",))
    with closing(open_source(json_url, options)) as source:
        groups = {(g.kind, g.items) for g in source.inventory().groups}
        found = [
            item
            for part in source.partitions()
            for batch in source.read(part)
            for item in batch.items
        ]
    assert groups == {("entity", 1), ("message", 1)}
    assert {i.locator for i in found} == {
        "redis:0:chat:s:e",
        "redis:0:chat:s#0",
        "redis:0:chat:s:1",
    }
    assert {(i.root, i.session) for i in found} == {("chat", "s")}


plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)
documents = plain | st.fixed_dictionaries(
    {},
    optional={
        "session_id": st.sampled_from(["s", "", "a:b", "é"]) | plain,
        "timestamp": st.floats(-1e10, 1e11) | plain,
        "type": st.sampled_from(["human", "ai", "weird"]) | plain,
        "data": st.dictionaries(st.text(max_size=5), plain, max_size=3) | plain,
    },
)
keys = st.text(st.sampled_from("sab:é1."), max_size=6).map(lambda end: f"chat:{end}")


@settings(
    max_examples=400 if EVERYTHING else 40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.dictionaries(keys, documents, max_size=6))
def test_whatever_is_there_everything_is_told(json_server, read_all, written):
    with redis.Redis.from_url(json_server, protocol=2) as client:
        client.flushall()
        for key, document in written.items():
            client.execute_command("JSON.SET", key, "$", json.dumps(document))
    options = ReadOptions(kinds=frozenset({"messages"}))
    with closing(open_source(json_server, options)) as source:
        inventory = source.inventory()
        items, rejects, expired = read_all(source, size=3)
    assert len(items) + len(rejects) + inventory.skipped_count == len(written)
    assert expired == 0
    places = {(i.root, i.session, i.position) for i in items}
    assert len(places) == len(items)
    for item in items:
        document = written[item.locator.removeprefix("redis:0:")]
        assert item.session == document["session_id"]
        assert item.content["type"] == document["type"]
        assert adopted_key(item.position)


def test_documents_that_are_huge_or_deep(client, opened, read_all):
    put(client, "chat:s:1", "s", "x" * 30_000_000, timestamp=1.5)
    deep = "[" * 100 + "]" * 100
    raw = f'{{"type":"ai","data":{{"content":{deep}}},"session_id":"s","timestamp":2}}'
    client.execute_command("JSON.SET", "chat:s:2", "$", raw)
    items, rejects, _ = read_all(opened())
    assert rejects == []
    assert len(items[0].content["data"]["content"]) == 30_000_000
    assert items[1].content["type"] == "ai"


@pytest.mark.skipif(not EVERYTHING, reason="as lists, with HOLDOVER_EVERYTHING=1")
def test_documents_in_a_cluster(read_all):
    with servers.redis_cluster(3, "--loadmodule", servers.redis_json_module()) as url:
        with redis.RedisCluster.from_url(url) as client:
            for number in range(200):
                at = 1.5 + number
                put(client, f"chat:s{number % 7}:{at}", f"s{number % 7}", timestamp=at)
        options = ReadOptions(kinds=frozenset({"messages"}))
        with closing(open_source(url, options)) as source:
            assert source.inventory().groups[0].items == 200
            items, rejects, expired = read_all(source)
    assert (len(items), rejects, expired) == (200, [], 0)
    assert len(by_scope(items)) == 7
