"""Chat histories in Redis arrive, once and in order, and the old keys stay."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime

import pytest
import redis
from histories import check
from moving import (
    has_store,
    is_redis,
    plain_store,
    read_plainly,
    redis_state,
    run_cli,
    start_cli,
    unescape,
)
from redis_corpus import load, server
from redis_histories import (
    DOCUMENTS,
    LISTS,
    STORED,
    STORED_OF_TOOLS,
    TYPES,
    UPSTASH,
    messages_of,
    name,
    prefix_of,
    sessions,
)
from sampling import EVERYTHING, sampled, without_cluster
from servers import wait_for
from upstash import upstash

from holdover.compat import RedisChatMessageHistory
from holdover.compat.message_records import content_of
from holdover.migrate.options import Options
from holdover.migrate.run import migrate, set_up
from holdover.migrate.sources.base import ReadOptions

DAY = 86_400_000


def reading(*roots, **more):
    return Options(read=ReadOptions(roots=roots, **more))


def history(session, store, prefix="message_store:"):
    """As the new application finds it: by the old constructor, on the new store."""
    return RedisChatMessageHistory(
        session, "redis://nowhere", prefix, store=store, legacy="off"
    )


def texts(target, session="s", prefix="message_store:"):
    with plain_store(target) as store:
        return [one.content for one in history(session, store, prefix).messages]


def lifetimes(target, locator):
    """When the messages of a list end."""
    ends = set()
    for values in read_plainly(target).values():
        for value in values.values():
            meta = value["meta"]
            place = meta["source"]["locator"]
            if "meta.source.locator" in meta.get("escaped", ()):
                place = unescape(place)
            if place.startswith(f"{locator}#"):
                ends.add(meta.get("expires_at"))
    return ends


def push(client, key, words, ttl=None):
    for word in words:
        message = {"type": "human", "data": {"content": word}}
        client.lpush(key, json.dumps(message))
    if ttl:
        client.pexpire(key, ttl)


@pytest.fixture
def client(redis_url):
    with redis.Redis.from_url(redis_url, protocol=2) as client:
        yield client


@without_cluster
@pytest.mark.parametrize("folder", sampled(LISTS[-1:], LISTS[:-1]), ids=name)
def test_every_message_arrives(folder, target, redis_url):
    load(folder / "listing.jsonl", server(redis_url))
    before = redis_state(redis_url)
    done = migrate(
        redis_url, target, reading("message_store:", "app1:", "memory_store")
    )
    # Two entries of a list of jobs are no messages.
    assert sum(done.copy.rejects.values()) == 2
    assert done.verify.clean
    assert done.exit_code == 1
    moved = [one for one in sessions(folder) if prefix_of(one).endswith(":")]
    assert len(moved) >= 16
    with plain_store(target) as store:
        for session in moved:
            one = history(session["session_id"], store, prefix_of(session))
            check(one, messages_of(session))
    for session in moved:
        ends = lifetimes(target, f"redis:0:{session['physical_key']}")
        ttl = session["ttl_seconds_at_write"]
        if ttl is None:
            assert ends == {None}
        else:
            now = datetime.now(UTC)
            assert ends
            for end in ends:
                left = (datetime.fromisoformat(end) - now).total_seconds()
                assert math.isclose(left, ttl, abs_tol=120)
    again = migrate(
        redis_url, target, reading("message_store:", "app1:", "memory_store")
    )
    assert (again.copy.written, again.verify.clean) == (0, True)
    assert redis_state(redis_url) == before


@pytest.mark.parametrize("folder", UPSTASH, ids=name)
def test_upstash_arrives(folder, sqlite_target, client, redis_url):
    load(folder / "listing.jsonl", server(redis_url))
    before = redis_state(redis_url)
    with upstash(redis_url) as service:
        done = migrate(
            service.address,
            sqlite_target,
            reading("message_store", "up", kinds=frozenset({"messages"})),
        )
    assert (done.exit_code, done.copy.rejects) == (0, {})
    with plain_store(sqlite_target) as store:
        for session in sessions(folder):
            one = history(session["session_id"], store, prefix_of(session))
            check(one, messages_of(session))
    assert redis_state(redis_url) == before


@without_cluster
@pytest.mark.parametrize("folder", sampled(DOCUMENTS[-1:], DOCUMENTS[:-1]), ids=name)
def test_documents_arrive(folder, target, json_url, request):
    load(folder / "listing.jsonl", server(json_url))
    before = redis_state(json_url)
    options = reading("chat", "app1:chat", "chat:foo")
    done = migrate(json_url, target, options)
    assert (done.exit_code, done.copy.rejects) == (0, {})
    kept = STORED if folder.parent.name.endswith("0.1.2") else STORED | STORED_OF_TOOLS
    with plain_store(target) as store:
        for session in sessions(folder):
            one = history(session["session_id"], store, prefix_of(session))
            stored = [dict(r.content) for r in one.repository.records("message")]
            written = messages_of(session)
            assert len(stored) == len(one.messages) == len(written)
            for content, (kind, fields, *_) in zip(stored, written, strict=True):
                assert content["type"] in TYPES[kind]
                whole = content_of(content["type"], fields)["data"]
                expected = {key: v for key, v in whole.items() if key in kept}
                assert expected.items() <= {**content["data"]}.items()
    again = migrate(json_url, target, options)
    assert (again.copy.written, again.verify.clean) == (0, True)
    assert redis_state(json_url) == before


@without_cluster
def test_a_trimmed_list_is_moved_again(target, client, redis_url):
    words = [f"word {n}" for n in range(60)]
    push(client, "message_store:s", words[:40])
    push(client, "message_store:other", ["hi", "hi", "ho"])
    assert migrate(redis_url, target).copy.written == 43
    push(client, "message_store:s", words[40:50])
    client.ltrim("message_store:s", 0, 24)
    done = migrate(redis_url, target)
    assert (done.copy.written, done.verify.clean, done.exit_code) == (10, True, 0)
    assert texts(target) == words[:50]
    push(client, "message_store:s", words[50:])
    client.ltrim("message_store:s", 0, 14)
    assert migrate(redis_url, target).copy.written == 10
    assert texts(target) == words
    assert texts(target, "other") == ["hi", "hi", "ho"]
    assert migrate(redis_url, target).copy.written == 0


@without_cluster
def test_what_the_application_took_over_is_there_already(target, client, redis_url):
    """Some sessions were read through by the new application before."""
    for session in "ab":
        push(client, f"message_store:{session}", ["one", "two", "three"])
    set_up(target)
    with plain_store(target) as store:
        adopting = RedisChatMessageHistory("a", redis_url, store=store)
        assert len(adopting.messages) == 3
        adopting.add_user_message("four")
    done = migrate(redis_url, target)
    assert (done.copy.written, done.verify.equal, done.exit_code) == (3, 6, 0)
    assert texts(target, "a") == ["one", "two", "three", "four"]
    assert texts(target, "b") == ["one", "two", "three"]


def test_documents_that_ended_shift_nothing(sqlite_target, json_url):
    with redis.Redis.from_url(json_url, protocol=2) as client:

        def put(numbers):
            for number in numbers:
                document = {
                    "type": "human",
                    "data": {"content": f"word {number}"},
                    "session_id": "s",
                    "timestamp": 1795999171.25 + number,
                }
                key = f"chat:s:{document['timestamp']}"
                client.execute_command("JSON.SET", key, "$", json.dumps(document))

        put(range(20))
        assert migrate(json_url, sqlite_target).copy.written == 20
        for number in (0, 1, 2, 7):
            client.delete(f"chat:s:{1795999171.25 + number}")
        put(range(20, 25))
        done = migrate(json_url, sqlite_target)
    assert (done.copy.written, done.verify.clean) == (5, True)
    found = texts(sqlite_target, prefix="chat:")
    assert found == [f"word {number}" for number in range(25)]


@pytest.mark.parametrize(
    "target", sampled(["sqlite", "redis"], ["postgres", "cluster"]), indirect=True
)
def test_killed_and_started_again(target, client, redis_url, folder):
    for session in range(20):
        words = [f"{session} {n}" for n in range(200)]
        push(client, f"message_store:{session}", words, ttl=DAY)
    before = redis_state(redis_url)
    arguments = ["migrate", redis_url, target, "--yes", "--batch", "150"]
    for _ in range(3 if EVERYTHING else 1):
        running = start_cli(*arguments, "--rate", "3000", cwd=folder)
        wait_for(lambda: has_store(target) and bool(read_plainly(target)), "a row")
        running.kill()
        running.communicate()
    assert len(read_plainly(target)) < 20
    done = run_cli(*arguments, cwd=folder)
    assert done.returncode == 0, done.stderr
    for session in range(20):
        assert texts(target, str(session)) == [f"{session} {n}" for n in range(200)]
    assert redis_state(redis_url) == before
    if not is_redis(target):
        assert sum(map(len, read_plainly(target).values())) == 4_000


def test_a_key_that_expired_in_between_is_no_difference(
    sqlite_target, client, redis_url
):
    push(client, "message_store:s", ["a", "b"], ttl=DAY)
    push(client, "message_store:t", ["c"])
    assert migrate(redis_url, sqlite_target).copy.written == 3
    client.pexpire("message_store:s", 1)
    wait_for(lambda: not client.exists("message_store:s"), "the end")
    done = migrate(redis_url, sqlite_target)
    assert (done.copy.written, done.verify.clean, done.exit_code) == (0, True, 0)


def test_junk_is_listed_and_nothing_of_it_is_told(
    command, sqlite_target, client, redis_url, folder
):
    push(client, "message_store:s", ["secret one", "two"])
    client.lpush("message_store:s", "secret junk", b"\xff\xfe")
    shown = command("migrate", redis_url, sqlite_target, "--yes")
    assert shown.exit_code == 1
    assert "secret" not in shown.output
    listed = "".join(one.read_text() for one in folder.glob("*.rejects.jsonl"))
    assert "redis:0:message_store:s#2" in listed
    assert "secret" not in listed
    assert texts(sqlite_target) == ["secret one", "two"]
