"""The way back: what the old classes themselves read of it."""

from __future__ import annotations

import importlib
import json
import os
import signal
import sqlite3
import time
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest
import redis as redis_client
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from moving import database, plain_store, rows_of

from holdover.compat.chat_message_histories import StoreChatMessageHistory
from holdover.compat.message_keys import adopted_key
from holdover.compat.repository import Repository
from holdover.compat.scope import Scope
from holdover.migrate.classic.messages import classic_message
from holdover.migrate.classic.way_back import way_back
from holdover.migrate.errors import SourceNotFound, UsageError
from holdover.migrate.options import Options
from holdover.migrate.run import set_up
from holdover.migrate.sources.base import ReadOptions

MESSAGES = [
    HumanMessage("Hello", id="h1", name="Ana", additional_kwargs={"deep": {"n": [1]}}),
    AIMessage(
        "",
        tool_calls=[{"name": "look", "args": {"at": 1.5}, "id": "c1"}],
        usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
        response_metadata={"model": "m"},
    ),
    ToolMessage("found", tool_call_id="c1", artifact={"rows": [1]}, status="error"),
    ToolMessage("no id", tool_call_id=""),
    SystemMessage([{"type": "text", "text": "blocks"}, "and text"]),
    ChatMessage("of a role", role="critic"),
    FunctionMessage("result", name="f"),
    AIMessageChunk("a chunk"),
    RemoveMessage(id="h1"),
    HumanMessage("NUL \x00, a surrogate \ud800, ~ and 🎉"),
    AIMessage(""),
]
ENTITIES = {"Ana": "a friend", "New York": "a city\nof 8 million", "Z\x00~": "odd"}


@contextmanager
def writable(target):
    set_up(target)
    with plain_store(target) as store:
        yield store


@pytest.fixture
def history():
    """Adds messages to a session of a store, as an application does."""

    def add(target, session, messages, root="message_store"):
        with writable(target) as store:
            scope = (root, session)
            StoreChatMessageHistory(session, store=store, scope=scope).add_messages(
                messages
            )

    return add


def put_entities(target, session, entities, root="memory_store", ttl=None):
    with writable(target) as store:
        Repository(store, Scope(root, session)).put_many(
            "entity",
            [{"name": name, "summary": text} for name, text in entities.items()],
            ttl=ttl,
        )


def plainly(messages):
    """What of a message a reader sees, without what differs between releases."""
    return [
        (one.type, one.content, {**one.additional_kwargs}, one.id, one.name)
        for one in messages
    ]


def read_sqlite(path, session):
    from langchain_community.chat_message_histories import SQLChatMessageHistory

    return SQLChatMessageHistory(session, connection=f"sqlite:///{path}").messages


def read_entities(path, session, names):
    from langchain_classic.memory import SQLiteEntityStore

    store = SQLiteEntityStore(session_id=session, db_file=str(path))
    found = {name: store.get(name) for name in names}
    store.conn.close()
    return found


pytestmark = pytest.mark.filterwarnings("ignore")  # of the classic classes


def test_a_file_is_what_the_classic_classes_read(target, history, tmp_path):
    put_entities(target, "ana", ENTITIES)
    put_entities(target, "not an identifier", ENTITIES)
    history(target, "ana", MESSAGES)
    history(target, "ana@example.com", MESSAGES[:2])
    before = rows_of(target)
    path = tmp_path / "back.db"
    done = way_back(target, f"sqlite:///{path}")
    assert rows_of(target) == before
    assert done.rejects == {"session-name": 3}
    assert (done.exit_code, done.clean) == (1, True)
    assert (done.written, done.equal) == (16, 16)
    assert read_entities(path, "ana", ENTITIES) == ENTITIES
    assert plainly(read_sqlite(path, "ana")) == plainly(MESSAGES)
    assert plainly(read_sqlite(path, "ana@example.com")) == plainly(MESSAGES[:2])
    tool_call = read_sqlite(path, "ana")[1]
    assert tool_call.tool_calls == MESSAGES[1].tool_calls
    assert tool_call.usage_metadata == MESSAGES[1].usage_metadata
    assert read_sqlite(path, "ana")[2].artifact == {"rows": [1]}
    with closing(sqlite3.connect(path)) as db:
        names = [row[0] for row in db.execute("SELECT name FROM sqlite_master")]
    assert sorted(n for n in names if not n.startswith("sqlite_")) == [
        "memory_store_ana",
        "message_store",
    ]
    assert path.stat().st_mode & 0o077 == 0


def test_the_tables_are_those_of_the_classes(sqlite_target, history, tmp_path):
    """Byte for byte: so they are told from others, on the next way there."""
    from langchain_classic.memory import SQLiteEntityStore
    from langchain_community.chat_message_histories import SQLChatMessageHistory

    put_entities(sqlite_target, "ana", {"A": "a"})
    history(sqlite_target, "ana", MESSAGES[:1])
    theirs, ours = tmp_path / "theirs.db", tmp_path / "ours.db"
    SQLiteEntityStore(session_id="ana", db_file=str(theirs)).conn.close()
    SQLChatMessageHistory("ana", connection=f"sqlite:///{theirs}").add_message(
        MESSAGES[0]
    )
    way_back(sqlite_target, str(ours))

    def tables(path):
        with closing(sqlite3.connect(path)) as db:
            return db.execute(
                "SELECT name, sql FROM sqlite_master WHERE type = 'table' ORDER BY 1"
            ).fetchall()

    assert tables(ours) == tables(theirs)


def test_redis(target, history, redis_url):
    from langchain_community.chat_message_histories import RedisChatMessageHistory

    put_entities(
        target, "a:b", {"Ana": "a friend", "Timed": "x"}, ttl=timedelta(minutes=90)
    )
    put_entities(target, "s", {"": "empty name", "x y": "z", "Z\x00~": "odd"})
    put_entities(target, "a", {"b:Ana": "the same key"})
    history(target, "a:b", MESSAGES)
    place = database(redis_url, 5)
    done = way_back(target, place)
    assert done.rejects == {"key-shared": 1}
    assert (done.clean, done.equal) == (True, 16)
    read = RedisChatMessageHistory("a:b", url=place)
    assert plainly(read.messages) == plainly(MESSAGES)
    with redis_client.Redis.from_url(place) as there:
        assert 5_390_000 < there.pttl("memory_store:a:b:Timed") <= 5_400_000
        assert there.pttl("message_store:a:b") == -1
        found = {key: there.get(key) for key in there.keys("memory_store:*")}
        assert found == {
            b"memory_store:s:": b"empty name",
            b"memory_store:s:x y": b"z",
            b"memory_store:s:Z\x00~": b"odd",
            b"memory_store:a:b:Timed": b"x",
            # Two entities of the store had this key; the first has it now.
            b"memory_store:a:b:Ana": b"the same key",
        }
        assert len(there.keys("*")) == 6


@pytest.mark.parametrize("jsonb", [False, True])
def test_postgres(sqlite_target, history, postgres_url, jsonb):
    from langchain_community.chat_message_histories import (
        PostgresChatMessageHistory,
        SQLChatMessageHistory,
    )

    history(sqlite_target, "ana", MESSAGES)
    history(sqlite_target, "b\x00", MESSAGES[:1])
    history(sqlite_target, "ana", MESSAGES[:3], root="other_table")
    put_entities(sqlite_target, "ana", ENTITIES)
    done = way_back(sqlite_target, postgres_url, jsonb=jsonb)
    assert done.skipped == {"entities": 3}
    kept = [one for one in MESSAGES if not jsonb or "\x00" not in one.content]
    lost = len(MESSAGES) - len(kept)
    assert done.rejects.get("not-utf8", 0) == lost
    assert done.rejects["nul"] == 1
    assert (done.clean, done.written) == (True, len(kept) + 3)
    if jsonb:
        read = PostgresChatMessageHistory("ana", postgres_url)
        more = PostgresChatMessageHistory("ana", postgres_url, "other_table")
    else:
        url = postgres_url.replace("postgresql", "postgresql+psycopg", 1)
        read = SQLChatMessageHistory("ana", connection=url)
        more = SQLChatMessageHistory("ana", "other_table", connection=url)
    assert plainly(read.messages) == plainly(kept)
    assert plainly(more.messages) == plainly(MESSAGES[:3])
    # The old application goes on writing: the sequence came along.
    read.add_message(HumanMessage("and on"))
    assert read.messages[-1].content == "and on"
    again = way_back(sqlite_target, postgres_url, jsonb=jsonb)
    assert again.exit_code == 3
    assert "message_store" in again.blockers[0].message


def test_files(sqlite_target, history, tmp_path):
    from langchain_community.chat_message_histories import FileChatMessageHistory

    history(sqlite_target, "ana", MESSAGES)
    history(sqlite_target, "/app/old/bob.json", MESSAGES[:2])
    history(sqlite_target, "..", MESSAGES[:1])
    history(sqlite_target, "x" * 300, MESSAGES[:1])
    history(sqlite_target, "ANA", MESSAGES[:1])
    folder = tmp_path / "histories"
    done = way_back(sqlite_target, f"{folder}/")
    assert done.clean
    assert done.rejects == {"file-name": 1, "file-shared": done.rejects["file-shared"]}
    names = {path.name for path in folder.iterdir()}
    assert names in (
        {"ana.json", "bob.json", "...json"},
        {"ANA.json", "bob.json", "...json"},
    )
    read = FileChatMessageHistory(str(folder / "bob.json")).messages
    assert plainly(read) == plainly(MESSAGES[:2])
    assert {path.stat().st_mode & 0o077 for path in folder.iterdir()} == {0}


# What every release reads.


REQUIRED = {
    "human": {"content", "additional_kwargs", "example"},
    "ai": {"content", "additional_kwargs", "example", "tool_calls"},
    "system": {"content", "additional_kwargs"},
    "chat": {"content", "additional_kwargs", "role"},
    "function": {"content", "additional_kwargs", "name"},
    "tool": {"content", "additional_kwargs", "tool_call_id", "status"},
}


def test_every_key_that_an_old_class_needs_is_there(sqlite_target, history):
    history(sqlite_target, "s", MESSAGES)
    with writable(sqlite_target) as store:
        records = list(Repository(store, ("message_store", "s")).records("message"))
    for record in records:
        found = classic_message(record)
        assert REQUIRED.get(found["type"], {"content"}) <= found["data"].keys()
        assert found["data"]["type"] == found["type"]


def test_what_no_old_class_knows_becomes_a_chat_message(sqlite_target, tmp_path):
    namespace = ("message_store", "s", "messages")
    odd = {
        adopted_key(1): {
            "kind": "message",
            "content": {"type": "developer", "data": {"content": "be brief"}},
            "meta": {},
        },
        adopted_key(2): {
            "kind": "message",
            "content": {"type": "ai", "data": {"content": 7}},
            "meta": {},
        },
        adopted_key(3): {"role": "user", "content": "of another program"},
        adopted_key(4): {
            "kind": "message",
            "content": {"type": "tool", "data": "text"},
            "meta": {},
        },
        adopted_key(5): {"nothing": ["here"]},
    }
    with writable(sqlite_target) as store:
        for key, value in odd.items():
            store.put(namespace, key, value, index=False)
    path = tmp_path / "back.db"
    done = way_back(sqlite_target, str(path))
    assert done.rejects == {"no-record": 1}
    assert done.clean
    found = read_sqlite(path, "s")
    assert [(one.type, str(one.content)) for one in found] == [
        ("chat", "be brief"),
        ("ai", "7"),
        ("human", "of another program"),
        ("tool", "text"),
    ] or [one.content for one in found] == [
        "be brief",
        "7",
        "of another program",
        "text",
    ]


# Where it may write, and how it goes on.


def test_a_place_that_is_not_empty_is_refused(
    sqlite_target, history, tmp_path, redis_url
):
    history(sqlite_target, "s", MESSAGES[:1])
    put_entities(sqlite_target, "s", {"A": "a"})
    file, folder = tmp_path / "used.db", tmp_path / "used"
    with closing(sqlite3.connect(file)) as db, db:
        db.execute("CREATE TABLE accounts (id)")
    folder.mkdir()
    (folder / "old.json").write_text("[]")
    place = database(redis_url, 5)
    with redis_client.Redis.from_url(place) as there:
        there.set("memory_store:s:Other", "x")
    before = file.read_bytes()
    for address, there in (
        (str(file), "accounts"),
        (str(folder), "old.json"),
        (place, "memory_store:s:Other"),
    ):
        done = way_back(sqlite_target, address)
        assert done.exit_code == 3
        assert there in done.blockers[0].message
    assert file.read_bytes() == before
    assert [path.name for path in folder.iterdir()] == ["old.json"]


def test_a_dry_run_writes_nothing(sqlite_target, history, tmp_path):
    history(sqlite_target, "s", MESSAGES)
    done = way_back(sqlite_target, str(tmp_path / "back.db"), dry_run=True)
    assert (done.exit_code, done.items) == (0, {"messages": len(MESSAGES)})
    assert not (tmp_path / "back.db").exists()
    assert not list(tmp_path.glob("*holdover*"))


def test_no_store_is_an_error(tmp_path):
    with pytest.raises(SourceNotFound):
        way_back(str(tmp_path / "none.db"), str(tmp_path / "back.db"))
    assert list(tmp_path.glob("*.db*")) == []


def test_a_selection_and_another_template(sqlite_target, tmp_path):
    for tenant, session in (("a", "s1"), ("b", "s2")):
        with writable(sqlite_target) as store:
            Repository(store, (f"tenant-{tenant}", "memory_store", session)).put(
                "entity", {"name": "N", "summary": f"of {session}"}
            )
    put_entities(sqlite_target, "s1", {"N": "of another scope"})
    options = Options(
        template="tenant-{tenant}/{root}/{session}",
        read=ReadOptions(
            session_pattern="(?P<tenant>.*)-.*", kinds=frozenset({"entities"})
        ),
    )
    done = way_back(sqlite_target, str(tmp_path / "back.db"), options)
    assert (done.written, done.left) == (2, {"another scope": 1})
    assert read_entities(tmp_path / "back.db", "s2", ["N"]) == {"N": "of s2"}
    one = Options(read=ReadOptions(sessions=frozenset({"s1"}), only_named=True))
    done = way_back(sqlite_target, str(tmp_path / "one.db"), one)
    assert done.written == 1


def test_a_session_with_a_very_long_id(sqlite_target, tmp_path, history):
    """Its label was cut; the store knows the whole of it."""
    session = "long" * 100
    history(sqlite_target, session, MESSAGES[:1])
    way_back(sqlite_target, str(tmp_path / "back.db"))
    assert plainly(read_sqlite(tmp_path / "back.db", session)) == plainly(MESSAGES[:1])


def test_expired_records_stay(sqlite_target, tmp_path):
    put_entities(sqlite_target, "s", {"Gone": "x"}, ttl=timedelta(seconds=0.05))
    put_entities(sqlite_target, "s", {"Stays": "x"}, ttl=timedelta(hours=1))
    time.sleep(0.1)
    done = way_back(sqlite_target, str(tmp_path / "back.db"))
    assert (done.written, done.expired, done.exit_code) == (1, 1, 0)


def killed(survive, source, place, form):
    """A way back in a process of its own, killed within its n-th session."""
    pid = os.fork()
    if not pid:
        real, left = form.write, survive

        def write(self, space, entries):
            nonlocal left
            left -= 1
            if left < 0:
                next(iter(entries))
                os.kill(os.getpid(), signal.SIGKILL)
            return real(self, space, entries)

        form.write = write
        try:
            way_back(source, place)
        finally:
            os._exit(70)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@pytest.mark.parametrize("kind", ["sqlite", "postgres", "redis", "files"])
def test_killed_and_repeated(sqlite_target, kind, tmp_path, request, monkeypatch):
    """At any moment: exactly once, and nothing is shown that is not whole."""
    number = 40
    with writable(sqlite_target) as store:
        for n in range(number):
            own = StoreChatMessageHistory(store=store, scope=("message_store", f"s{n}"))
            own.add_messages([HumanMessage(f"{n} {m}") for m in range(10)])
    place = {
        "sqlite": lambda: str(tmp_path / "back.db"),
        "postgres": lambda: request.getfixturevalue("postgres_url"),
        "redis": lambda: database(request.getfixturevalue("redis_url"), 5),
        "files": lambda: f"{tmp_path / 'histories'}/",
    }[kind]()
    # Every few sessions, so that some are kept and some are made again.
    module = importlib.import_module(f"holdover.migrate.classic.{kind}")
    monkeypatch.setattr(module, "_ROWS_PER_COMMIT", 50, raising=False)
    form = getattr(module, f"{kind.capitalize()}Form")
    for survive in (0, 7, 3, 22):
        assert killed(survive, sqlite_target, place, form) == -signal.SIGKILL
        if kind == "sqlite":
            assert not (tmp_path / "back.db").exists()
        if kind == "postgres":
            with psycopg.connect(place) as db:
                shown = db.execute("SELECT to_regclass('message_store')").fetchone()
            assert shown == (None,)
    done = way_back(sqlite_target, place)
    assert done.resumed
    assert (done.equal, done.extra, done.missing) == (10 * number, 0, 0)
    assert done.exit_code == 0
    if kind != "redis":
        assert 0 < done.written < 10 * number
    if kind == "files":
        assert len(list(Path(place).iterdir())) == number
    if kind == "redis":
        with redis_client.Redis.from_url(place) as client:
            assert len(client.keys("*")) == number
    if kind == "postgres":
        with psycopg.connect(place) as db:
            left = "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'holdover%'"
            assert db.execute(left).fetchall() == []
    assert way_back(sqlite_target, place).exit_code == 3


def test_the_command(sqlite_target, history, tmp_path, command):
    history(sqlite_target, "s", MESSAGES)
    put_entities(sqlite_target, "s", ENTITIES)
    place = tmp_path / "back.db"
    line = ("migrate", sqlite_target, place, "--layout", "classic")
    planned = command(*line, "--dry-run")
    assert planned.exit_code == 0, planned.output
    assert not place.exists()
    done = command(*line, "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["equal"] == 14
    again = command(*line)
    assert again.exit_code == 3
    assert "table memory_store_s" in again.stdout
    files = command("migrate", sqlite_target, f"{tmp_path}/f/", "--layout", "classic")
    assert files.exit_code == 0
    assert "3 entities: no classic form" in files.stdout


def test_another_way_back_in_the_same_place_is_refused(
    sqlite_target, history, tmp_path
):
    history(sqlite_target, "s", MESSAGES)
    place = tmp_path / "histories"
    place.mkdir()
    (place / ".holdover-way-back").write_text("another 2026-01-01")
    with pytest.raises(UsageError, match="Another way back"):
        way_back(sqlite_target, str(place))
