"""MongoDB: both packages' documents, read over the wire by the real driver."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from itertools import pairwise

import mongo_server as mongo_wire
import pytest
from bson import ObjectId
from mongo_server import READS, mongo_server
from moving import read_plainly
from old_messages import check_messages, messages_in
from redis_corpus import folders
from sampling import sampled

from holdover.migrate.errors import SourceNotFound, SourceUnavailable, UsageError
from holdover.migrate.options import Options
from holdover.migrate.run import migrate
from holdover.migrate.sources import open_source
from holdover.migrate.sources.base import ReadOptions
from holdover.migrate.sources.mongodb_documents import place_of

NAMES = ("mongodb.json", "langchain_mongodb.json")
DUMPS = [
    folder / name
    for folder in folders("nosql_histories")
    for name in NAMES
    if (folder / name).exists()
]
IDS = [one.parents[1].name for one in DUMPS]


@pytest.fixture
def mongo():
    with mongo_server() as server:
        yield server
        assert server.names() <= READS, "something was written"
        assert not server.cursors, "a cursor was left open"
        assert not server.sessions, "a session was left open"


@pytest.fixture
def read(mongo):
    def all_of(path="", **named):
        source = open_source(mongo.address + path, ReadOptions(**named))
        items, rejects = [], []
        for partition in source.partitions():
            for batch in source.read(partition):
                items += batch.items
                rejects += batch.rejects
        source.close()
        return items, rejects

    return all_of


def truth_of(dump):
    manifest = json.loads((dump.parent / "MANIFEST.json").read_text())
    sessions = manifest["files"][dump.name]["sessions"]
    return {one["session_id"]: one["messages"] for one in sessions}


def load(mongo, dump):
    documents = json.loads(dump.read_text())
    for one in documents:
        one["_id"] = ObjectId(one["_id"])
    mongo["chat_history"]["message_store"].insert_many(documents)
    return documents


def said(text="hi"):
    return json.dumps({"type": "human", "data": {"content": text}})


def fill(mongo, number, session="a", text="hi", seconds=1_700_000_000, step=1):
    ids = [
        ObjectId(f"{seconds + at * step:08x}{'ab' * 5}{at:06x}") for at in range(number)
    ]
    mongo["chat_history"]["message_store"].insert_many(
        {"_id": own, "SessionId": session, "History": said(f"{text} {at}")}
        for at, own in enumerate(ids)
    )
    return ids


@pytest.mark.parametrize("dump", DUMPS, ids=IDS)
def test_a_dump_arrives_as_its_manifest_says(dump, mongo, sqlite_target):
    documents = load(mongo, dump)
    truth = truth_of(dump)
    done = migrate(mongo.address, sqlite_target)
    assert done.exit_code == 0
    found = messages_in(sqlite_target)
    assert {session for _, session in found} == truth.keys()
    for (root, session), contents in found.items():
        assert root == "message_store"
        check_messages(contents, truth[session])
    assert done.verify.equal == len(documents)
    (group,) = done.plan.inventory.groups
    assert (group.items, group.sessions) == (len(documents), len(truth))
    assert group.bytes > 1000
    for values in read_plainly(sqlite_target).values():
        for value in values.values():
            own = value["meta"]["source"]["locator"].rpartition("#")[2]
            made = ObjectId(own).generation_time
            assert datetime.fromisoformat(value["meta"]["valid_from"]) == made


@pytest.mark.parametrize("target", sampled(["postgres"], ["redis"]), indirect=True)
def test_it_arrives_in_every_target_and_a_second_run_writes_nothing(mongo, target):
    load(mongo, DUMPS[-1])
    migrate(mongo.address, target)
    for (_, session), contents in messages_in(target).items():
        check_messages(contents, truth_of(DUMPS[-1])[session])
    again = migrate(mongo.address, target)
    assert again.copy.written == 0
    assert again.verify.clean


@pytest.mark.parametrize("dump", DUMPS, ids=IDS)
@pytest.mark.parametrize("form", ["as it is", "lines", "array"])
def test_an_export_arrives_as_the_server_itself(dump, form, tmp_path, sqlite_target):
    documents = json.loads(dump.read_text())
    path = tmp_path / "export.json"
    if form != "as it is":
        documents = [{**one, "_id": {"$oid": one["_id"]}} for one in documents]
    if form == "lines":
        path.write_text("\n".join(map(json.dumps, documents)))
    else:
        path.write_text(json.dumps(documents))
    done = migrate(str(path), sqlite_target)
    assert done.exit_code == 0
    found = messages_in(sqlite_target)
    assert {session for _, session in found} == truth_of(dump).keys()
    for (_, session), contents in found.items():
        check_messages(contents, truth_of(dump)[session])


def test_collections_databases_and_fields_of_a_custom_layout(mongo, read):
    documents = [{"chat": "a", "body": said()}, {"chat": "b", "body": said()}]
    mongo["other"]["talks"].insert_many(documents)
    mongo["other"]["more"].insert_one({"chat": "c", "body": said()})
    fields = (("session", "chat"), ("message", "body"))
    items, rejects = read("/other", roots=("talks", "more", "none"), fields=fields)
    assert not rejects
    assert [(item.root, item.session) for item in items] == [
        ("talks", "a"), ("talks", "b"), ("more", "c"),
    ]  # fmt: skip
    asked = [one for one in mongo.commands if "find" in one and one.get("limit", 0) > 1]
    assert {tuple(sorted(one["projection"])) for one in asked} == {
        ("_id", "body", "chat")
    }

    source = open_source(f"{mongo.address}/other", ReadOptions(fields=fields))
    inventory = source.inventory()
    source.close()
    assert not inventory.groups
    assert "more also holds chat histories: --root more." in inventory.notes


JUNK = {
    "no session": ({"History": said()}, "no-session"),
    "a session that is a number": ({"SessionId": 7, "History": said()}, "no-session"),
    "no message": ({"SessionId": "a"}, "null-message"),
    "no JSON": ({"SessionId": "a", "History": "{"}, "not-json"),
    "another type": ({"SessionId": "a", "History": 7}, "not-a-message"),
    "another id": ({"_id": "u-1", "SessionId": "a", "History": said()}, "no-order"),
    "a negative id": ({"_id": -1, "SessionId": "a", "History": said()}, "no-order"),
    "an id that is a fraction": (
        {"_id": 1.5, "SessionId": "a", "History": said()},
        "no-order",
    ),
}


@pytest.mark.parametrize("name", JUNK)
def test_junk_is_a_reject_and_the_session_goes_on(name, mongo, read):
    junk, reason = JUNK[name]
    ids = fill(mongo, 3)
    mongo["chat_history"]["message_store"].insert_one(junk)
    items, rejects = read()
    assert [item.locator.rpartition("#")[2] for item in items] == list(map(str, ids))
    assert [one.reason for one in rejects] == [reason]


def test_documents_that_are_messages_and_other_ids(mongo, read):
    """A forked class may store the object itself, and number its documents."""
    mongo["chat_history"]["message_store"].insert_many([
        {"_id": at, "SessionId": "a", "History": json.loads(said(str(at)))}
        for at in (5, 3, 2**40)
    ])  # fmt: skip
    text = "6b0cc5466f41626eb977e6af"
    mongo["chat_history"]["message_store"].insert_one(
        {"_id": text, "SessionId": "b", "History": said()}
    )
    items, rejects = read()
    assert not rejects
    assert [item.position for item in items if item.session == "a"] == [3, 5, 2**40]
    (other,) = [item for item in items if item.session == "b"]
    assert other.position == place_of(ObjectId(text))[0]


def test_bytes_that_are_no_utf8_are_a_reject(mongo, read, monkeypatch):
    fill(mongo, 2)
    real = mongo_wire._encoded
    monkeypatch.setattr(
        mongo_wire, "_encoded", lambda answer: real(answer).replace(b"hi 1", b"h\xff 1")
    )
    items, rejects = read()
    assert len(items) == 1
    assert [one.reason for one in rejects] == ["not-utf8"]


def test_positions_are_in_the_order_of_one_process(mongo):
    """Also where its counter is the same in another second, and over months."""
    ids = [
        ObjectId(f"{1_700_000_000 + second:08x}{'ab' * 5}{counter:06x}")
        for second in (0, 1, 1, 5_000_000)
        for counter in (0, 1, 2**24 - 1)
    ]
    places = [place_of(own)[0] for own in sorted(set(ids))]
    assert all(one < other for one, other in pairwise(places))
    assert max(places) < 2**63
    others = {place_of(ObjectId(f"{1:08x}{n:010x}{7:06x}"))[0] for n in range(1000)}
    assert len(others) == 128  # processes are told apart by a hash of seven bits


def test_a_run_goes_on_at_an_id_and_months_are_its_parts(mongo, monkeypatch):
    from holdover.migrate.sources import batching

    monkeypatch.setattr(batching, "_START", 7)
    month = 31 * 24 * 3600
    fill(mongo, 40, step=month // 10)
    source = open_source(mongo.address, ReadOptions())
    parts = source.partitions()
    assert [part.id for part in parts] == [
        f"messages-mongodb-message_store-{name}"
        for name in ("2023-11", "2023-12", "2024-01", "2024-02", "2024-03")
    ]
    seen = []
    for part in parts:
        everything = [item for one in source.read(part) for item in one.items]
        seen += everything
        for batch in source.read(part, size=3):
            rest = source.read(part, json.loads(json.dumps(batch.cursor)))
            at = everything.index(batch.items[-1])
            assert [item for one in rest for item in one.items] == everything[at + 1 :]
        names = [item for page in source.keys(part) for item in page]
        assert [item._replace(content={}) for item in everything] == names
        again = source.fetch(part, names[::2]).items
        assert sorted(again, key=lambda one: one.position) == everything[::2]
    assert [item.content["data"]["content"] for item in seen] == [
        f"hi {n}" for n in range(40)
    ]
    source.close()


def test_sessions_are_chosen_by_the_server_where_it_can(mongo, read):
    fill(mongo, 3, "a")
    fill(mongo, 3, "b", seconds=1_700_000_100)
    mongo.commands.clear()
    items, _ = read(only_named=True, sessions=frozenset({"b", "x"}))
    assert {item.session for item in items} == {"b"}
    assert any(
        one.get("filter", {}).get("SessionId") == {"$in": ["b", "x"]}
        for one in mongo.commands
    )
    items, _ = read(only_named=True, session_pattern="a|x")
    assert {item.session for item in items} == {"a"}
    assert read(kinds=frozenset({"entities"})) == ([], [])


def test_a_connection_that_is_lost_is_made_again(mongo, read):
    fill(mongo, 5)
    mongo.lost = 1
    items, _ = read()
    assert len(items) == 5
    mongo.sessions.clear()  # one whose connection is lost is not ended any more


@pytest.mark.parametrize("code", [13, 18, 59])
def test_what_the_server_refuses_is_one_sentence(code, mongo):
    fill(mongo, 1)
    mongo.failing = code
    source = open_source(mongo.address, ReadOptions())
    with pytest.raises(SourceUnavailable) as caught:
        source.inventory()
    source.close()
    assert "secret" not in str(caught.value)
    assert str(caught.value).count("\n") == 0
    mongo.failing = None


def test_what_does_not_answer_or_is_no_address(monkeypatch):
    from holdover.migrate.sources import mongodb

    monkeypatch.setattr(mongodb, "_PATIENCE_MS", 50)
    source = open_source("mongodb://user:hunter2@127.0.0.1:9/db", ReadOptions())
    assert "hunter2" not in source.address
    with pytest.raises(SourceUnavailable) as caught:
        source.inventory()
    assert "hunter2" not in str(caught.value)
    source.close()
    for address in ("mongodb://", "mongodb://u:hunter2@h:port/db"):
        source = open_source(address, ReadOptions())
        with pytest.raises(SourceNotFound) as caught:
            source.inventory()
        assert "hunter2" not in str(caught.value)


def test_without_the_driver_the_sentence_names_the_extra(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "pymongo", None)
    with pytest.raises(UsageError, match=r"holdover\[mongodb\]"):
        open_source("mongodb://h/db", ReadOptions())


def test_the_months_of_the_first_and_of_the_last_id(mongo):
    documents = [
        {"_id": ObjectId(own), "SessionId": "a", "History": said()}
        for own in ("0" * 24, "f" * 23 + "e")
    ]
    mongo["chat_history"]["message_store"].insert_many(documents)
    source = open_source(mongo.address, ReadOptions())
    parts = source.partitions()
    assert parts[0].id.endswith("1970-01")
    assert parts[-1].id.endswith("2106-02")
    assert [i.created_at for b in source.read(parts[0]) for i in b.items] == [
        datetime(1970, 1, 1, tzinfo=UTC)
    ]
    assert sum(len(b.items) for b in source.read(parts[-1])) == 1
    source.close()


def test_options_reach_the_read(mongo, sqlite_target):
    fill(mongo, 3)
    done = migrate(
        f"{mongo.address}/?readPreference=secondaryPreferred",
        sqlite_target,
        Options(read=ReadOptions(sample=1.0)),
    )
    assert done.verify.equal == 3
