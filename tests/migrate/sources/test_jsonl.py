"""JSON lines: the form for every history that nothing else reads."""

from __future__ import annotations

import gzip
import json
import math
import os
import random
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from moving import read_plainly
from old_messages import check_messages, messages_in
from redis_corpus import folders

from holdover.compat.message_keys import MAX_POSITION, adopted_key
from holdover.migrate.errors import SourceNotFound
from holdover.migrate.options import Options
from holdover.migrate.run import migrate
from holdover.migrate.sources import open_source, places
from holdover.migrate.sources.base import ReadOptions

DOCUMENT = Path(__file__).parents[3] / "docs" / "sources" / "jsonl.md"
SAID = {"type": "human", "data": {"content": "hi"}}
LINE = {"session": "a", **SAID}


@pytest.fixture
def lines(tmp_path):
    """`lines([{…}, "text", b"bytes"])` writes a file and gives its path."""

    def write(content, name="export.jsonl"):
        path = tmp_path / name
        raw = b"".join(
            (
                one
                if isinstance(one, bytes)
                else (one if isinstance(one, str) else json.dumps(one)).encode()
            )
            + b"\n"
            for one in content
        )
        path.write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
        return path

    return write


def read(address, cursor=None, size=10_000, **named):
    source = open_source(str(address), ReadOptions(**named))
    (partition,) = source.partitions()
    batches = list(source.read(partition, cursor, size=size))
    source.close()
    return (
        [item for batch in batches for item in batch.items],
        [reject for batch in batches for reject in batch.rejects],
        sum(batch.expired for batch in batches),
    )


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz", "a.ndjson", "export"])
def test_every_field_arrives(lines, name, sqlite_target):
    said = {"type": "ai", "data": {"content": "yo", "id": "own", "tool_calls": []}}
    path = lines([
        {"session": "a", **SAID, "id": "x1", "created_at": "2024-01-02T03:04:05+01:00"},
        {"session": "b", "message": said, "id": "other", "position": 7, "root": "r"},
        "",
        {"session": "a", "message": {"type": "ai", "content": "flat", "id": None}},
        {"session": "a", **SAID, "ttl_seconds": 90, "created_at": 1_700_000_000.5},
    ], name)  # fmt: skip
    done = migrate(str(path), sqlite_target)
    assert done.exit_code == 0

    items = read_plainly(sqlite_target)
    a, b = items["message_store", "a", "messages"], items["r", "b", "messages"]
    assert sorted(a) == [adopted_key(n) for n in range(3)]
    assert list(b) == [adopted_key(7)]
    first, second, third = (a[key] for key in sorted(a))
    assert first["content"] == {"type": "human", "data": {"content": "hi", "id": "x1"}}
    assert first["meta"]["valid_from"].startswith("2024-01-02T02:04:05")
    assert second["content"] == {
        "type": "ai",
        "data": {"content": "flat", "type": "ai"},
    }
    assert third["meta"]["valid_from"].startswith("2023-11-14T22:13:20.5")
    left = datetime.fromisoformat(third["meta"]["expires_at"]) - datetime.now(UTC)
    assert timedelta(seconds=20) < left <= timedelta(seconds=90)
    assert b[adopted_key(7)]["content"]["data"]["id"] == "own"
    assert first["meta"]["source"]["locator"] == f"jsonl:{name}#1"


DEEP = "[" * 9000 + "]" * 9000
REJECTS = {
    "junk": ("{", "not-json"),
    "no object": ("[1]", "not-json"),
    "not UTF-8": (b'{"session": "\xff"}', "not-utf8"),
    "too deep": (f'{{"session": "a", "data": {DEEP}}}', "too-deep"),
    "no session": (SAID, "no-session"),
    "a session that is no text": ({**LINE, "session": 7}, "no-session"),
    "a root that is no text": ({**LINE, "root": 7}, "bad-root"),
    "no message": ({"session": "a"}, "not-a-message"),
    "no data": ({"session": "a", "type": "ai"}, "not-a-message"),
    "two messages": ({**LINE, "message": SAID}, "not-a-message"),
    "a message that is text": ({"session": "a", "message": "hi"}, "not-a-message"),
    "a message without a type": (
        {"session": "a", "message": {"content": "hi"}},
        "not-a-message",
    ),
    "an unknown field": ({**LINE, "user": "u"}, "unknown-field"),
    "a negative position": ({**LINE, "position": -1}, "bad-position"),
    "a position that is true": ({**LINE, "position": True}, "bad-position"),
    "a position too large": ({**LINE, "position": MAX_POSITION + 1}, "bad-position"),
    "an id that is no text": ({**LINE, "id": 7}, "bad-id"),
    "a time without an offset": ({**LINE, "created_at": "2024-01-01"}, "bad-time"),
    "a time that is none": ({**LINE, "created_at": "yesterday"}, "bad-time"),
    "a time out of range": ({**LINE, "created_at": 1e300}, "bad-time"),
    "an end that is none": ({**LINE, "expires_at": [1]}, "bad-time"),
    "a lifetime that is none": ({**LINE, "ttl_seconds": "1"}, "bad-ttl"),
    "a lifetime without end": ({**LINE, "ttl_seconds": math.inf}, "bad-ttl"),
}  # fmt: skip


@pytest.mark.parametrize("name", REJECTS)
def test_a_line_that_is_none_is_a_reject_with_its_number(lines, name):
    line, reason = REJECTS[name]
    path = lines([{"session": "x", **SAID}, line, {"session": "x", **SAID}])
    items, rejects, expired = read(path)
    assert [item.position for item in items] == [0, 1]
    assert [(one.reason, one.locator) for one in rejects] == [
        (reason, "jsonl:export.jsonl#2")
    ]
    assert rejects[0].detail.startswith("Line 2:")
    assert expired == 0


def test_a_rejected_line_keeps_its_place(lines):
    """So that the others stay where they are when it is repaired."""
    broken = {"session": "a", "type": "ai"}
    gone = {**LINE, "ttl_seconds": -1}
    items, rejects, expired = read(lines([LINE, broken, LINE, gone, LINE]))
    assert [item.position for item in items] == [0, 2, 4]
    assert (len(rejects), expired) == (1, 1)


def test_positions_are_given_or_counted_but_not_both(lines):
    path = lines([
        {**LINE, "position": 9}, {**LINE, "position": 2}, LINE, {**LINE, "position": 9},
        {**LINE, "session": "b"}, {**LINE, "session": "b", "position": 1},
        {**LINE, "session": "a", "root": "other"},
    ])  # fmt: skip
    items, rejects, _ = read(path)
    assert [(item.root, item.session, item.position) for item in items] == [
        ("message_store", "a", 9), ("message_store", "a", 2),
        ("message_store", "b", 0), ("other", "a", 0),
    ]  # fmt: skip
    assert [one.reason for one in rejects] == [
        "mixed-positions", "same-position", "mixed-positions",
    ]  # fmt: skip


def test_sessions_may_be_interleaved_and_a_run_goes_on_anywhere(lines, monkeypatch):
    """Also where the counts are on disk: memory holds a few sessions only."""
    monkeypatch.setattr(places, "_IN_MEMORY", 5)
    chance = random.Random(1)
    names = [f"s{n}" for n in range(40)]
    content, counts = [], dict.fromkeys(names, 0)
    for _ in range(500):
        name = chance.choice(names)
        said = {"content": f"{name} {counts[name]}"}
        content.append({"session": name, "type": "human", "data": said})
        counts[name] += 1
    path = lines(content)
    items, rejects, _ = read(path, size=37)
    assert not rejects
    for item in items:
        assert item.content["data"]["content"] == f"{item.session} {item.position}"
    for cursor in (0, 1, 250, 499, 500):
        assert read(path, cursor)[0] == items[cursor:]


def test_what_is_selected(lines):
    path = lines([LINE, {**LINE, "session": "b"}, {**LINE, "root": "r"}])
    items, _, _ = read(path, roots=("r",))
    # A line without a root has the one that is asked for.
    assert [(item.root, item.session) for item in items] == [
        ("r", "a"), ("r", "b"), ("r", "a"),
    ]  # fmt: skip
    assert [item.position for item in items] == [0, 0, 1]
    named = {"only_named": True, "sessions": frozenset({"b"})}
    assert [item.session for item in read(path, **named)[0]] == ["b"]
    source = open_source(str(path), ReadOptions(kinds=frozenset({"entities"})))
    assert source.partitions() == []


def test_a_damaged_archive_gives_what_stands_before(lines):
    chance = random.Random(2)
    content = [
        {**LINE, "data": {"content": chance.randbytes(500).hex()}} for _ in range(400)
    ]
    path = lines(content, "a.jsonl.gz")
    raw = path.read_bytes()
    path.write_bytes(raw[: len(raw) // 2])
    items, rejects, _ = read(path)
    assert 10 < len(items) < 400
    assert rejects[-1].reason == "truncated"
    assert len(rejects) == 1


def test_a_line_without_end_does_not_fill_the_memory(lines, monkeypatch):
    from holdover.migrate.sources import lines as module

    monkeypatch.setattr(module, "MOST", 1000)
    huge = {**LINE, "data": {"content": "x" * 50_000}}
    items, rejects, _ = read(lines([LINE, huge, LINE]))
    assert [item.position for item in items] == [0, 1]
    assert [(one.reason, one.locator) for one in rejects] == [
        ("too-large", "jsonl:export.jsonl#2")
    ]


def test_mutated_files_never_crash(lines):
    chance = random.Random(3)
    original = lines([{**LINE, "position": n, "created_at": n} for n in range(50)])
    raw = original.read_bytes()
    for _ in range(150):
        changed = bytearray(raw)
        for _ in range(chance.randint(1, 5)):
            changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
        original.write_bytes(changed)
        items, rejects, expired = read(original)
        number = len([line for line in bytes(changed).split(b"\n") if line.strip()])
        assert len(items) + len(rejects) + expired == number


def test_what_cannot_be_read_several_times(tmp_path):
    os.mkfifo(tmp_path / "a.jsonl")
    with pytest.raises(SourceNotFound):
        open_source(str(tmp_path / "a.jsonl"), ReadOptions()).inventory()
    with pytest.raises(SourceNotFound, match="several times"):
        open_source("-", ReadOptions())


def test_the_example_of_the_page_exports_any_history(
    tmp_path, sqlite_target, monkeypatch
):
    """The page's own lines, run as they are."""
    from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
    from langgraph.store.memory import InMemoryStore

    from holdover.compat.chat_message_histories import StoreChatMessageHistory

    (example,) = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    assert len(example.strip().splitlines()) <= 12
    call = {"name": "f", "args": {"x": 1}, "id": "c1", "type": "tool_call"}
    histories = {}
    for name in ("ann", "bob"):
        histories[name] = StoreChatMessageHistory(name, store=InMemoryStore())
        histories[name].add_messages([
            HumanMessage("hi", id=f"{name}-1"),
            AIMessage("", tool_calls=[call]),
            ToolMessage("1", tool_call_id="c1"),
            AIMessage([{"type": "text", "text": "é"}]),
        ])  # fmt: skip
    monkeypatch.chdir(tmp_path)
    space = {"sessions": list(histories), "history_of": histories.get}
    exec(example, space)
    done = migrate("export.jsonl", sqlite_target)
    assert done.exit_code == 0
    found = messages_in(sqlite_target)
    for name, history in histories.items():
        specs = [(type(m).__name__, m.model_dump()) for m in history.messages]
        check_messages(found["message_store", name], specs)


# The dumps of the corpus that have no reader of their own: a few lines for each.


def _cosmosdb(dump):
    for document in dump:
        for message in document["messages"]:
            yield {"session": document["id"], "message": message}


def _firestore(dump):
    for document in dump:
        for message in document["data"]["messages"]:
            yield {"session": document["document"], "message": message}


def _elasticsearch(dump):
    for document in dump["docs"]:
        source = document["_source"]
        yield {
            "session": source["session_id"],
            "message": json.loads(source["history"]),
            "created_at": source["created_at"] / 1000,
        }


def _cassandra(dump):
    for kind, statement, *values in dump:
        if kind == "EXECUTE" and statement.startswith("INSERT"):
            texts = [one for one in values[0] if isinstance(one, str)]
            (body,) = [one for one in texts if one.startswith("{")]
            session = next(one for one in texts if one != body and not _is_uuid(one))
            yield {"session": session, "message": json.loads(body)}


def _is_uuid(text):
    return re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", text) is not None


def _xata(dump):
    for _, record in dump["records"]:
        data = {
            "content": record["content"],
            "role": record.get("role"),
            "name": record.get("name"),
            "additional_kwargs": json.loads(record.get("additionalKwargs") or "{}"),
        }
        message = {"type": record["type"], "data": data}
        yield {"session": record["sessionId"], "message": message}


def _neo4j(dump):
    for _, parameters in dump:
        if parameters and "content" in parameters:
            data = {"content": parameters["content"]}
            message = {"type": parameters["type"], "data": data}
            yield {"session": str(parameters["session_id"]), "message": message}


CONVERTERS = {
    "cosmosdb.json": (_cosmosdb, None),
    "firestore.json": (_firestore, None),
    "elasticsearch.json": (_elasticsearch, None),
    "cassandra_cql.json": (_cassandra, None),
    "xata.json": (_xata, {"content", "role", "name", "additional_kwargs"}),
    "neo4j.json": (_neo4j, {"content"}),
}
DUMPS = [
    folder / name
    for folder in folders("nosql_histories")
    for name in CONVERTERS
    if (folder / name).exists()
]


@pytest.mark.parametrize(
    "dump", DUMPS, ids=[f"{one.parents[1].name}-{one.stem}" for one in DUMPS]
)
def test_the_dump_of_every_other_database_arrives(dump, lines, sqlite_target):
    convert, stored = CONVERTERS[dump.name]
    manifest = json.loads((dump.parent / "MANIFEST.json").read_text())
    sessions = {
        str(one["session_id"]): one.get("messages") or one.get("messages_sent")
        for one in manifest["files"][dump.name]["sessions"]
    }
    content = list(convert(json.loads(dump.read_text())))
    done = migrate(
        str(lines(content)), sqlite_target, Options(read=ReadOptions(roots=("chats",)))
    )
    found = {
        session: found for (_, session), found in messages_in(sqlite_target).items()
    }
    assert found.keys() == {
        session for session, messages in sessions.items() if messages
    }
    for session, messages in found.items():
        check_messages(messages, sessions[session], stored=stored)
    assert done.exit_code == 0
