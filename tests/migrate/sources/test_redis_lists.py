"""Chat histories in lists are read as the library left them, and nothing is changed."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
import time
from contextlib import ExitStack
from itertools import pairwise

import pytest
import redis
import servers
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from redis_corpus import load, server, state
from redis_histories import (
    LISTS,
    UPSTASH,
    by_locator,
    by_scope,
    check_lifetime,
    check_messages,
    messages_of,
    name,
    prefix_of,
    root_of,
    sessions,
)
from sampling import sampled

from holdover.migrate.errors import SourceUnavailable, UsageError
from holdover.migrate.scan import scan
from holdover.migrate.sources import batching, open_source, redis_lists
from holdover.migrate.sources.base import SAMPLES, ReadOptions

DAY = 86_400_000
MESSAGES = frozenset({"messages"})
READS = {"SCAN", "TYPE", "LLEN", "LRANGE", "PTTL"}
OTHERS = {"CLIENT NO-TOUCH", "CLIENT SETINFO", "CLUSTER SLOTS", "CLUSTER NODES"}


def entry(text, kind="human", **data):
    return json.dumps({"type": kind, "data": {"content": text, **data}})


def push(client, key, texts, ttl=None):
    """Write a session as the library does, a message after the other."""
    for start in range(0, len(texts), 1000):
        client.lpush(key, *map(entry, texts[start : start + 1000]))
    if ttl:
        client.pexpire(key, ttl)


def texts_of(items):
    return [item.content["data"]["content"] for item in items]


@pytest.fixture
def client(redis_url):
    with redis.Redis.from_url(redis_url, protocol=2) as client:
        yield client


@pytest.fixture
def opened(request):
    """`opened(roots=…)` opens the part that reads lists."""
    made = []

    def make(address=None, **options):
        options.setdefault("kinds", MESSAGES)
        address = address or request.getfixturevalue("redis_url")
        made.append(open_source(address, ReadOptions(**options)))
        return made[-1].parts[0]

    yield make
    for one in made:
        one.close()


#: Every release by a server; every way with the last one, which wrote the most.
RELEASES = [(folder, "server") for folder in LISTS]
EVERYWHERE = [
    (folder, way)
    for folder in LISTS
    for way in ("cluster", "hosts", "sentinel", "rest", "tls", "unix", "old")
]
LAST = [(LISTS[-1], way) for way in ("cluster", "rest", "unix")]


@pytest.mark.parametrize(
    ("folder", "place"),
    sampled([*RELEASES, *LAST], [one for one in EVERYWHERE if one not in LAST]),
    ids=lambda one: one if isinstance(one, str) else name(one),
    indirect=["place"],
)
def test_the_corpus_is_read_as_its_manifest_says(folder, place, opened, read_all):
    load(folder / "listing.jsonl", place.client_of)
    client = place.client()
    before = state(client)
    # `app1` and `app1:` are one root, and both have a session `p1`.
    groups = {
        ("message_store:", "app1:"): {"message_store:", "message_store:foo", "app1:"},
        ("",): {"", "app1"},
    }
    read = {}
    for roots, prefixes in groups.items():
        source = opened(place.address, roots=roots)
        inventory = source.inventory()
        items, rejects, expired = read_all(source, size=13)
        assert expired == 0
        held = sum(group.items for group in inventory.groups)
        assert held == len(items) + len(rejects)
        found = by_scope(items)
        assert sum(group.sessions for group in inventory.groups) >= len(found)
        for session in sessions(folder):
            prefix = prefix_of(session)
            if prefix not in prefixes:
                continue
            key = session["physical_key"]
            read[key] = session
            (mine,) = [
                one for one in found.values() if one[0].locator == f"redis:0:{key}#0"
            ]
            check_messages(mine, messages_of(session))
            check_lifetime(mine, session["ttl_seconds_at_write"])
            assert [i.locator for i in mine] == [
                f"redis:0:{key}#{n}" for n in range(len(mine))
            ]
            scope = mine[0].root, mine[0].session
            if prefix in roots:
                assert scope == (root_of(prefix), session["session_id"])
            else:  # told by its letters alone, the key is of the shorter prefix
                assert key == f"{prefix}{session['session_id']}"
        if roots == ("message_store:", "app1:"):
            assert {reject.locator for reject in rejects} == {
                "redis:0:message_store:jobs#0",
                "redis:0:message_store:jobs#1",
            }
            assert {one.name for one in inventory.skipped} == {
                "message_store:hash",
                "message_store:string",
            }
    assert read.keys() == {one["physical_key"] for one in sessions(folder)}
    assert state(client) == before
    client.close()


@pytest.mark.parametrize("place", ["server", "rest"], indirect=True)
@pytest.mark.parametrize("folder", UPSTASH, ids=name)
def test_upstash_is_read_as_its_manifest_says(folder, place, opened, read_all):
    load(folder / "listing.jsonl", place.client_of)
    client = place.client()
    before = state(client)
    items, rejects, _ = read_all(opened(place.address, roots=("message_store", "up")))
    assert rejects == []
    found = by_scope(items)
    truth = {(root_of(prefix_of(s)), s["session_id"]): s for s in sessions(folder)}
    assert found.keys() == truth.keys()
    assert len(truth) == 5
    for scope, session in truth.items():
        check_messages(found[scope], messages_of(session))
        check_lifetime(found[scope], session["ttl_seconds_at_write"])
    assert state(client) == before
    client.close()


def test_another_database(corpus, redis_url, opened, read_all):
    listing = corpus / "langchain-0.3.27/redis_history/listing.jsonl"
    load(listing, server(redis_url))
    items, _, _ = read_all(opened(f"{redis_url.rpartition('/')[0]}/2"))
    assert {i.locator for i in items} == {
        "redis:2:message_store:foo#0",
        "redis:2:message_store:foo#1",
    }


def test_positions_and_locators_are_those_of_compat(client, redis_url, opened):
    from langgraph.store.memory import InMemoryStore

    from holdover.compat import RedisChatMessageHistory
    from holdover.compat.message_keys import adopted_key

    push(client, "message_store:s", [str(n) for n in range(25)])
    client.rpush("message_store:s", "junk")
    history = RedisChatMessageHistory("s", redis_url, store=InMemoryStore())
    assert len(history.messages) == 25
    adopted = {
        record.key: record.meta["source"]["locator"]
        for record in history.repository.records("message")
    }
    source = opened()
    items = [i for p in source.partitions() for b in source.read(p) for i in b.items]
    assert {adopted_key(i.position): i.locator for i in items} == adopted


def test_only_reads_are_sent(redis_url, client, opened, read_all):
    push(client, "message_store:s", [str(n) for n in range(5_000)], ttl=DAY)
    push(client, "app1s", ["a"])
    client.hset("message_store:hash", "a", "b")
    sent = []
    with client.monitor() as monitor:
        for roots in ((), ("app1",)):
            source = opened(roots=roots)
            source.inventory()
            read_all(source)
            (part,) = source.partitions()
            names = [i for b in source.keys(part) for i in b]
            assert source.fetch(part, names).items == names
        client.set("end", "of the test")
        while "end of the test" not in (said := monitor.next_command()["command"]):
            words = said.upper().split()
            sent.append(words[0] if words[0] in READS else " ".join(words[:2]))
            if words[0] == "LRANGE":
                assert abs(int(words[3]) - int(words[2])) < 2_000, "a list at once"
    assert set(sent) - OTHERS == READS
    assert state(client)[b"message_store:s"][1] > 0


def test_reading_leaves_idle_times_alone(client, opened, read_all):
    push(client, "message_store:s", ["a", "b"])
    client.execute_command("CLIENT", "NO-TOUCH", "ON")
    time.sleep(1.1)
    source = opened()
    source.inventory()
    read_all(source)
    assert client.object("idletime", "message_store:s") >= 1


class TestInventory:
    def test_counts_and_lifetimes_are_of_messages(self, client, opened):
        push(client, "message_store:a", ["four"] * 3)
        push(client, "message_store:b", ["four"] * 5, ttl=3_600_000 - 1)
        push(client, "message_store:c", ["four"], ttl=2 * DAY)
        (group,) = opened().inventory().groups
        assert (group.root, group.kind) == ("message_store", "message")
        assert (group.sessions, group.items) == (3, 9)
        assert group.bytes == 9 * len(entry("four"))
        assert group.lifetimes == {
            "no expiry": 3,
            "under 1 hour": 5,
            "under 1 day": 0,
            "under 3 days": 1,
            "under 30 days": 0,
            "longer": 0,
        }

    def test_sizes_of_many_are_estimated(self, client, opened, monkeypatch):
        from holdover.migrate.sources import redis_list_census

        monkeypatch.setattr(redis_list_census, "WEIGHED", 100)
        for number in range(1_200):
            push(client, f"message_store:{number}", ["x" * 50, "x" * 50])
        inventory = opened().inventory()
        (group,) = inventory.groups
        assert (group.sessions, group.items) == (1_200, 2_400)
        assert group.bytes == 2_400 * len(entry("x" * 50))
        assert any("some lists" in note for note in inventory.notes)

    def test_keys_of_other_types_are_skipped(self, client, opened, read_all):
        push(client, "message_store:s", ["a"])
        for number in range(30):
            client.set(f"message_store:string{number}", "v")
        client.zadd("message_store:zset", {"a": 1})
        source = opened()
        for _ in range(2):  # counted once each time
            inventory = source.inventory()
            assert (len(inventory.skipped), inventory.skipped_count) == (SAMPLES, 31)
            assert inventory.skipped[0].why == "a string, not a list"
        assert len(read_all(source)[0]) == 1

    def test_each_look_is_a_new_one(self, client, opened, read_all):
        push(client, "message_store:a", ["a"])
        source = opened()
        assert source.inventory().groups[0].sessions == 1
        push(client, "message_store:b", ["b"])
        assert len(read_all(source)[0]) == 1
        assert source.inventory().groups[0].sessions == 2
        assert len(read_all(source)[0]) == 2

    def test_parts_share_a_scan_and_a_connection(self, redis_url, client):
        client.set("memory_store:s:e", "v")
        push(client, "message_store:s", ["a"])
        with client.monitor() as monitor, ExitStack() as stack:
            source = open_source(redis_url, ReadOptions())
            stack.callback(source.close)
            source.inventory()
            for part in source.partitions():
                list(source.read(part))
            client.set("end", "of the test")
            scans, ports = [], set()
            while "end of" not in (said := monitor.next_command())["command"]:
                if said["command"].split()[0] in {*READS, "MGET", "STRLEN"}:
                    ports.add(said["client_port"])
                if said["command"].startswith("SCAN"):
                    scans.append(said["command"].split()[3])
        assert scans == ["chat:*", "me[ms]*"]
        assert len(ports) == 1


JUNK = {
    "plain text": "not-json",
    "": "not-json",
    '"text"': "not-a-message",
    "[1, 2]": "not-a-message",
    "{}": "not-a-message",
    '{"type": "human"}': "not-a-message",
    '{"type": 1, "data": {}}': "not-a-message",
    '{"data": {"content": "secret"}}': "not-a-message",
    b'{"type": "\xff"}': "not-utf8",
    '{"type": "human", "data": {"content": "sec': "not-json",
    "[" * 100_000: "too-deep",
}


class TestWhatIsNoMessage:
    def test_junk_is_a_reject_and_the_session_goes_on(self, client, opened, read_all):
        push(client, "message_store:s", ["first"])
        client.lpush("message_store:s", *JUNK)
        push(client, "message_store:s", ["last"])
        for size in (1, 2, 1000):
            items, rejects, expired = read_all(opened(), size=size)
            assert texts_of(items) == ["first", "last"]
            assert [i.position for i in items] == [0, len(JUNK) + 1]
            found = {r.locator: r.reason for r in rejects}
            for at, reason in enumerate(JUNK.values(), start=1):
                allowed = {reason, "not-json"} if reason == "too-deep" else {reason}
                assert found[f"redis:0:message_store:s#{at}"] in allowed
            assert len(rejects) == len(JUNK)
            assert expired == 0
            assert not any("secret" in r.detail for r in rejects)

    def test_keys_that_are_not_text(self, client, opened, read_all):
        push(client, b"message_store:\xff", ["a"])
        push(client, "message_store:s", ["b"])
        source = opened()
        assert source.inventory().rejects == {"not-utf8": 1}
        items, rejects, _ = read_all(source)
        assert texts_of(items) == ["b"]
        assert [(r.reason, r.locator) for r in rejects] == [
            ("not-utf8", "redis:0:message_store:\\xff")
        ]

    def test_a_key_that_becomes_something_else(self, client, opened, read_all):
        for session in "abc":
            push(client, f"message_store:{session}", ["x", "y"])
        source = opened()
        source.inventory()
        client.delete("message_store:a", "message_store:b")
        client.set("message_store:b", "v")
        items, rejects, expired = read_all(source)
        assert {i.session for i in items} == {"c"}
        assert [r.reason for r in rejects] == ["wrong-type"]
        assert expired == 1

    def test_every_type_is_kept(self, client, opened, read_all):
        kinds = ["function", "chat", "AIMessageChunk", "remove", "nobody knows", ""]
        for kind in kinds:
            client.lpush("message_store:s", entry("t", kind, role="r", x=[1, None]))
        items, rejects, _ = read_all(opened())
        assert rejects == []
        assert [i.content["type"] for i in items] == kinds
        assert items[0].content["data"] == {"content": "t", "role": "r", "x": [1, None]}


class TestRoots:
    def test_two_prefixes_with_one_root(self, client, opened, read_all):
        push(client, "app:a", ["with"])
        push(client, "appa", ["without"])
        push(client, "appb", ["alone"])
        items, rejects, _ = read_all(opened(roots=("app", "app:")))
        assert {(i.root, i.session): texts_of([i]) for i in items} == {
            ("app", "a"): ["with"],
            ("app", "b"): ["alone"],
        }
        assert [(r.reason, r.locator) for r in rejects] == [
            ("two-histories", "redis:0:appa")
        ]

    def test_a_root_does_not_take_what_begins_alike(self, client, opened, read_all):
        client.set("app:s:entity", "v")
        push(client, "app_backup:s", ["another program's"])
        push(client, "application", ["another program's"])
        source = opened(roots=("app",))
        inventory = source.inventory()
        assert (read_all(source)[0], inventory.groups) == ([], [])
        assert {one.name: one.why for one in inventory.skipped} == {
            "app_backup:s": "a list with no colon behind the root",
            "application": "a list with no colon behind the root",
            "app:s:entity": "a string, not a list",
        }

    def test_lists_of_others_below_a_whole_prefix(self, client, opened, read_all):
        push(client, "hist_a", ["a"])
        client.lpush("hist_a", "junk at the end")
        client.lpush("hist_jobs", "job 1", "job 2")
        source = opened(roots=("hist_",))
        inventory = source.inventory()
        items, rejects, _ = read_all(source)
        assert texts_of(items) == ["a"]
        assert [r.locator for r in rejects] == ["redis:0:hist_a#1"]
        assert [one.name for one in inventory.skipped] == ["hist_jobs"]
        assert any("'hist_' is taken for the whole" in note for note in inventory.notes)

    def test_scan_names_the_root_that_is_missing(self, client, redis_url):
        for key in ("app1:a", "app1:b", "a b:c:d", "app1p", "message_store:s"):
            push(client, key, ["a"])
        client.lpush("jobs:1", "job")
        inventory = scan(redis_url)
        assert [(g.root, g.items) for g in inventory.groups] == [("message_store", 1)]
        chats = "chat histories (RedisChatMessageHistory; add --root"
        assert {other.name: other.count for other in inventory.others} == {
            f"{chats} app1)": 2,
            f"{chats} 'a b:c')": 1,
            f"{chats} PREFIX)": 1,
            "other keys (list)": 1,
        }

    def test_both_layouts_below_one_root_are_told_apart(self, client, redis_url):
        push(client, "app:s", ["message"])
        push(client, "app:s:x", ["message"])
        client.set("app:s:entity", "v")
        client.set("app:orphan", "v")
        source = open_source(redis_url, ReadOptions(roots=("app",)))
        inventory = source.inventory()
        assert {(g.kind, g.root, g.items) for g in inventory.groups} == {
            ("entity", "app", 1),
            ("message", "app", 2),
        }
        assert [one.name for one in inventory.skipped] == ["app:orphan"]
        assert inventory.ambiguous_count == 0
        found = [
            (item.kind, item.session, item.key)
            for part in source.partitions()
            for batch in source.read(part)
            for item in batch.items
        ]
        source.close()
        assert sorted(found) == [
            ("entity", "s", "entity"),
            ("message", "s", ""),
            ("message", "s:x", ""),
        ]

    def test_a_root_has_to_be_text(self):
        with pytest.raises(UsageError, match="UTF-8"):
            open_source("redis://h", ReadOptions(roots=("\udcff",), kinds=MESSAGES))


def test_sessions_are_selected(client, opened, read_all):
    for session in ("a", "b:c", "d"):
        push(client, f"message_store:{session}", ["x"])
    source = opened(sessions=frozenset({"b:c"}), session_pattern="[d]", only_named=True)
    inventory = source.inventory()
    assert inventory.groups[0].items == 2
    assert any("1 chat histories are outside" in note for note in inventory.notes)
    assert {i.session for i in read_all(source)[0]} == {"b:c", "d"}


@pytest.mark.parametrize("size", [1, 7, 64, 1_000])
def test_batches_have_the_size_asked_for(client, opened, size):
    for session in range(40):
        push(client, f"message_store:{session:02}", [str(n) for n in range(session)])
    source = opened()
    (part,) = source.partitions()
    assert part.aligned
    batches = list(source.read(part, size=size))
    assert [len(b.items) for b in batches[:-1]] == [size] * (len(batches) - 1)
    items = [i for b in batches for i in b.items]
    assert [i.locator for i in items] == [
        f"redis:0:message_store:{s:02}#{n}" for s in range(40) for n in range(s)
    ]
    assert {b.cursor for b in batches} == {None}
    names = [i for b in source.keys(part, size=size) for i in b]
    assert names == items


def test_lists_are_divided_and_stay_whole(client, opened, read_all, monkeypatch):
    for session in range(60):
        push(client, f"message_store:{session}", [str(n) for n in range(5)])
    push(client, b"message_store:\xff", ["x"])
    whole = read_all(opened(), size=7)
    monkeypatch.setattr(redis_lists, "_WORTH_DIVIDING", 10)
    source = opened()
    source.begin()
    parts = source.partitions()
    assert len(parts) == 16
    assert all(part.aligned for part in parts)
    items, rejects, _ = read_all(source, size=7)
    assert by_locator(items) == by_locator(whole[0])
    assert len(rejects) == len(whole[1]) == 1
    for item, following in pairwise(items):
        if item.session == following.session:
            assert following.position == item.position + 1
    assert sum(item.position == 0 for item in items) == 60


def test_large_entries_make_smaller_requests(client, opened, monkeypatch):
    monkeypatch.setattr(batching, "_PER_BATCH", 50_000)
    monkeypatch.setattr(batching, "_AT_ONCE", 20_000)
    push(client, "message_store:a", ["x" * 5_000] * 100)
    push(client, "message_store:b", ["x" * 5_000] * 3)
    source = opened()
    batches = list(source.read(source.partitions()[0]))
    assert sum(len(b.items) for b in batches) == 103
    assert all(len(b.items) <= 64 + 10 for b in batches)
    assert all(len(b.items) <= 14 for b in batches[2:])


def test_lists_that_expire_while_they_are_read(client, opened, read_all):
    push(client, "message_store:a", ["x"] * 10)
    push(client, "message_store:b", ["y"] * 200)
    source = opened()
    source.inventory()
    ask = source._keys.wire.ask

    def answers(commands):
        found = ask(commands)
        return [
            -2 if command[0] == b"PTTL" else answer
            for command, answer in zip(commands, found, strict=True)
        ]

    source._keys.wire.ask = answers
    assert read_all(source) == ([], [], 210)


RIGHTS = ["+scan", "+type", "+llen", "+lrange", "+pttl"]


class TestRights:
    def test_the_least_are_enough(self, client, redis_url, opened, read_all):
        push(client, "message_store:s", ["a"], ttl=DAY)
        try:
            reader = servers.redis_user(
                redis_url, "reader", "~message_store:*", *RIGHTS
            )
            source = opened(reader)
            assert source.inventory().groups[0].items == 1
            assert len(read_all(source)[0]) == 1
            for missing in RIGHTS[2:]:
                rights = [right for right in RIGHTS if right != missing]
                blind = opened(
                    servers.redis_user(redis_url, "blind", "~message_store:*", *rights)
                )
                with pytest.raises(SourceUnavailable, match="may not run") as caught:
                    blind.inventory()
                assert "blind-password" not in str(caught.value)
        finally:
            client.acl_deluser("reader", "blind")

    def test_keys_that_may_not_be_read_block(self, client, redis_url):
        push(client, "message_store:s", ["a"])
        client.set("memory_store:s:e", "v")
        try:
            rights = ["~memory_store*", "+mget", "+strlen", *RIGHTS]
            user = servers.redis_user(redis_url, "narrow", *rights)
            source = open_source(user, ReadOptions())
            inventory = source.inventory()
            (blocker,) = inventory.blockers
            assert blocker.code == "no-rights"
            assert "redis:0:message_store:s" in blocker.message
            assert "--kind entities" in blocker.fix
            assert inventory.rejects == {"no-rights": 1}
            found = [b for p in source.partitions() for b in source.read(p)]
            source.close()
            assert [i.kind for b in found for i in b.items] == ["entity"]
            assert [r.reason for b in found for r in b.rejects] == ["no-rights"]
            source = open_source(user, ReadOptions(kinds=frozenset({"entities"})))
            assert source.inventory().blockers == []
            source.close()
        finally:
            client.acl_deluser("narrow")


def test_a_long_list_is_read_in_little_memory(client, redis_url):
    """In a process of its own: the peak is of a process."""
    count = 100_000
    line = entry("x" * 500)
    for _ in range(count // 1000):
        client.lpush("message_store:s", *[line] * 1000)
    code = f"""
        import resource
        from holdover.migrate.sources import open_source
        from holdover.migrate.sources.base import ReadOptions
        options = ReadOptions(kinds=frozenset({{"messages"}}))
        source = open_source({redis_url!r}, options)
        def peak():
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        before, number, last = peak(), 0, -1
        for part in source.partitions():
            for batch in source.read(part):
                for item in batch.items:
                    assert item.position == last + 1
                    last = item.position
                number += len(batch.items)
        source.close()
        print(number, peak() - before)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        check=True,
        capture_output=True,
        text=True,
    )
    number, grown = map(int, done.stdout.split())
    assert number == count
    assert grown < 60, f"{grown} MB for a list of 60 MB"


values = st.one_of(
    st.binary(max_size=40),
    st.text(max_size=20).map(str.encode),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(["type", "data", "content", "x"]), inner)
        ),
        max_leaves=10,
    ).map(lambda value: json.dumps(value).encode()),
    st.builds(
        lambda kind, data: json.dumps({"type": kind, "data": data}).encode(),
        st.sampled_from(["human", "ai", "chat", "", "weird"]),
        st.dictionaries(st.text(max_size=4), st.text(max_size=4) | st.integers()),
    ),
)


@settings(
    max_examples=sampled([40], [400])[-1],
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    st.dictionaries(
        st.binary(max_size=4), st.lists(values, min_size=1, max_size=12), max_size=4
    )
)
def test_whatever_is_there_everything_is_told(redis_server, read_all, written):
    with redis.Redis.from_url(redis_server, protocol=2) as client:
        client.flushall()
        for session, entries in written.items():
            client.lpush(b"message_store:" + session, *entries)
    source = open_source(redis_server, ReadOptions(kinds=MESSAGES))
    inventory = source.inventory()
    items, rejects, expired = read_all(source, size=5)
    source.close()
    unreadable = [r for r in rejects if r.detail == "The key is not UTF-8."]
    lists = len(written) - len(unreadable)
    assert len({(i.session) for i in items}) <= lists
    readable = sum(
        len(entries) for session, entries in written.items() if _is_text(session)
    )
    assert len(items) + len(rejects) - len(unreadable) == readable
    assert sum(group.items for group in inventory.groups) == readable
    assert expired == 0
    for item in items:
        raw = written[item.session.encode()][item.position]
        assert json.loads(raw)["type"] == item.content["type"]


def _is_text(raw):
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True
