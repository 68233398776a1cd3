"""The five classic histories: their constructors, places of their own, and errors."""

from __future__ import annotations

import asyncio
import copy
import json
import os
import pickle
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
import redis
from backends import PlainStore
from langchain_core.messages import AIMessage, HumanMessage, message_to_dict
from langgraph.store.memory import InMemoryStore
from upstash import TOKEN, upstash

from holdover.compat import notices, records
from holdover.compat.chat_message_histories.file import FileChatMessageHistory
from holdover.compat.chat_message_histories.postgres import PostgresChatMessageHistory
from holdover.compat.chat_message_histories.redis import RedisChatMessageHistory
from holdover.compat.chat_message_histories.sql import (
    DefaultMessageConverter,
    SQLChatMessageHistory,
    SyncUseOfAsyncEngine,
)
from holdover.compat.chat_message_histories.upstash_redis import (
    UpstashRedisChatMessageHistory,
)
from holdover.compat.configuration import configure
from holdover.compat.errors import AddressError, HoldoverError, StoreUnavailable
from holdover.compat.stores.opening import open_store
from holdover.compat.stores.redis import PlainRedisStore

SECRET = "hunter2"
HI = HumanMessage("hi")
KINDS = ("file", "redis", "upstash", "sql", "postgres")


@pytest.fixture(autouse=True)
def _clean(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(notices, "_told", set())
    monkeypatch.delenv("UPSTASH_REDIS_REST_URL", raising=False)
    monkeypatch.delenv("UPSTASH_REDIS_REST_TOKEN", raising=False)
    notices.log_once.cache_clear()


@pytest.fixture(params=KINDS)
def make(request, tmp_path):
    """`make(session, …)` gives a history of each class, in a place of its own."""
    if request.param == "file":
        return lambda session="s", **more: FileChatMessageHistory(
            f"{session}.json", **more
        )
    if request.param == "sql":
        pytest.importorskip("sqlalchemy")
        return lambda session="s", **more: SQLChatMessageHistory(
            session, connection="sqlite:///chat.db", **more
        )
    if request.param == "postgres":
        url = request.getfixturevalue("postgres_url")
        return lambda session="s", **more: PostgresChatMessageHistory(
            session, url, **more
        )
    url = request.getfixturevalue("redis_url")
    if request.param == "redis":
        return lambda session="s", **more: RedisChatMessageHistory(session, url, **more)
    service = request.getfixturevalue("_service")
    return lambda session="s", **more: UpstashRedisChatMessageHistory(
        session, service.url, service.token, **more
    )


@pytest.fixture
def _service(redis_url):
    with upstash(redis_url) as service:
        yield service


def test_messages_are_kept_in_a_place_of_its_own(make, both):
    one = both(make())
    one.add_messages([HI, AIMessage("hello")])
    one.add_message(HumanMessage("bye"))
    assert both(make()).texts() == ["hi", "hello", "bye"]
    assert both(make("other")).messages() == []
    one.clear()
    assert both(make()).messages() == []


def test_a_given_store_is_used_instead(make, both):
    store = InMemoryStore()
    both(make(store=store)).add_messages([HI])
    assert len(store.search(())) == 1
    assert both(make(store=store)).messages() == [HI]
    assert make().messages == []


def test_a_configured_store_is_used_instead(make):
    store = InMemoryStore()
    configure(store=store)
    make().add_user_message("hi")
    assert [item.namespace[-1] for item in store.search(())] == ["messages"]


def test_a_scope_is_used_instead_of_root_and_session(make):
    store = InMemoryStore()
    make(store=store, scope=("acme", "ann")).add_user_message("hi")
    assert len(store.search(("acme", "ann", "messages"))) == 1


def test_constructing_opens_nothing(tmp_path):
    FileChatMessageHistory("no/where.json")
    RedisChatMessageHistory("s", "redis://127.0.0.1:1")
    PostgresChatMessageHistory("s", "postgresql://127.0.0.1:1/x")
    UpstashRedisChatMessageHistory("s", "https://127.0.0.1:1", TOKEN)
    SQLChatMessageHistory("s", connection="sqlite:///chat.db")
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_argument_is_named_once(make):
    with pytest.warns(UserWarning, match=r"does not know the argument\(s\) colour"):
        make(colour="red")
    make(colour="red")


def test_a_copy_and_a_pickle_work_on_the_same_messages(make):
    one = make()
    one.add_user_message("hi")
    assert copy.deepcopy(one).messages == [HI]
    assert pickle.loads(pickle.dumps(one)).messages == [HI]


@pytest.mark.parametrize(
    "make_bad",
    [
        lambda: RedisChatMessageHistory("s", f"redis://u:{SECRET}@127.0.0.1:1/0"),
        lambda: PostgresChatMessageHistory("s", f"postgresql://u:{SECRET}@127.0.0.1:1/x"),
        lambda: PostgresChatMessageHistory(
            "s", f"host=127.0.0.1 port=1 user=u password={SECRET} dbname=x"
        ),
        lambda: PostgresChatMessageHistory("s", f"mysql://u:{SECRET}@h/x"),
        lambda: SQLChatMessageHistory("s", f"postgresql://u:{SECRET}@127.0.0.1:1/x"),
        lambda: SQLChatMessageHistory("s", f"mysql://u:{SECRET}@h:bad/x"),
        lambda: SQLChatMessageHistory(
            "s", f"postgresql://u:{SECRET}@127.0.0.1:1/x", store=InMemoryStore()
        ),
        lambda: SQLChatMessageHistory("s", f"nosuch://u:{SECRET}@h/x"),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:connection_string")
def test_a_bad_address_is_said_at_the_first_use_without_the_password(make_bad):
    if "SQLChat" in str(make_bad.__code__.co_names):
        pytest.importorskip("sqlalchemy")
    one = make_bad()
    with pytest.raises(HoldoverError) as caught:
        one.add_user_message("hi")
    assert isinstance(caught.value, StoreUnavailable | AddressError)
    seen, error = "", caught.value
    while error is not None:
        seen, error = (
            f"{seen}{error!r}",
            (
                None
                if error.__suppress_context__
                else error.__cause__ or error.__context__
            ),
        )
    assert SECRET not in seen + repr(one)


# Redis


@pytest.mark.parametrize(
    "client_of",
    [
        redis.Redis.from_url,
        lambda url: redis.Redis.from_url(url, decode_responses=True),
        lambda url: redis.Redis.from_url(url, protocol=3, decode_responses=True),
    ],
    ids=["bytes", "text", "RESP3"],
)
def test_a_ready_client_of_any_kind(redis_url, client_of):
    client = client_of(redis_url)
    client.lpush("message_store:s", json.dumps(message_to_dict(HI)))
    one = RedisChatMessageHistory("s", redis_client=client)
    one.add_ai_message("hello")
    assert one.messages == [HI, AIMessage("hello")]
    assert one.redis_client is client
    assert RedisChatMessageHistory("s", redis_url).messages == one.messages
    with pytest.raises(TypeError, match="url"):
        pickle.dumps(one)


def test_a_cluster(cluster_url):
    with redis.RedisCluster.from_url(cluster_url) as client:
        client.lpush("message_store:s", json.dumps(message_to_dict(HI)))
    one = RedisChatMessageHistory("s", cluster_url)
    one.add_ai_message("hello")
    assert RedisChatMessageHistory("s", cluster_url).messages == [
        HI,
        AIMessage("hello"),
    ]


def test_attributes_of_the_redis_classes(redis_url):
    one = RedisChatMessageHistory("s", redis_url, "app:", 60)
    assert (one.session_id, one.key_prefix, one.ttl, one.key) == (
        "s",
        "app:",
        60,
        "app:s",
    )
    assert one.redis_client.ping()
    assert tuple(one.place.scope) == ("app", "s")


def test_an_addition_renews_the_life_of_all_messages(redis_url, monkeypatch):
    start = records.now()
    now = [start]
    monkeypatch.setattr(records, "now", lambda: now[0])
    one = RedisChatMessageHistory("s", redis_url, ttl=600, store=InMemoryStore())
    for minute in range(0, 30, 5):
        now[0] = start + timedelta(minutes=minute)
        one.add_user_message(str(minute))
    assert [m.content for m in one.messages] == ["0", "5", "10", "15", "20", "25"]
    now[0] += timedelta(seconds=599)
    assert len(one.messages) == 6
    now[0] += timedelta(seconds=60)
    assert one.messages == []


def test_most_additions_renew_nothing():
    store = PlainStore()
    one = RedisChatMessageHistory("s", ttl=600, store=store, legacy="off")
    one.add_messages([HumanMessage(str(n)) for n in range(50)])
    before = [record.value for record in one.repository.page("message")]
    one.add_user_message("x")
    assert [record.value for record in one.repository.page("message")][:50] == before


@pytest.mark.parametrize("ttl", [None, 0])
def test_without_a_ttl_messages_live_for_ever(ttl):
    one = RedisChatMessageHistory("s", ttl=ttl, store=InMemoryStore(), legacy="off")
    one.add_user_message("x")
    assert "expires_at" not in one.repository.page("message")[0].meta


def test_old_messages_of_a_server_that_does_not_answer():
    one = RedisChatMessageHistory("s", "redis://127.0.0.1:1", store=InMemoryStore())
    with pytest.raises(StoreUnavailable, match="legacy='off'"):
        one.add_user_message("x")
    one = RedisChatMessageHistory(
        "s", "redis://127.0.0.1:1", store=InMemoryStore(), legacy="off"
    )
    one.add_user_message("x")
    assert len(one.messages) == 1


# Upstash


def test_upstash_needs_url_and_token(monkeypatch):
    with pytest.raises(ValueError, match="UPSTASH_REDIS_REST_URL"):
        UpstashRedisChatMessageHistory("s")
    with pytest.raises(ValueError, match="token"):
        UpstashRedisChatMessageHistory("s", "https://x")
    UpstashRedisChatMessageHistory("s", store=InMemoryStore()).add_user_message("hi")
    monkeypatch.setenv("UPSTASH_REDIS_REST_URL", "https://x")
    monkeypatch.setenv("UPSTASH_REDIS_REST_TOKEN", TOKEN)
    assert UpstashRedisChatMessageHistory("s").key == "message_store:s"


# File


def test_reading_a_file_that_is_not_there_makes_nothing(tmp_path, both):
    one = both(FileChatMessageHistory("no/chat.json"))
    assert one.messages() == []
    assert one.count() == 0
    assert not one.delete("x")
    one.clear()
    assert list(tmp_path.iterdir()) == []
    one.add_messages([HI])
    assert both(FileChatMessageHistory("no/chat.json")).messages() == [HI]
    assert (tmp_path / "no" / "holdover.db").exists()


def test_the_folder_may_move(tmp_path):
    FileChatMessageHistory("a/chat.json").add_user_message("hi")
    from holdover.compat.stores.opening import close_stores

    close_stores()
    Path("a").rename("b")
    assert FileChatMessageHistory("b/chat.json").messages == [HI]


def test_files_of_one_name_in_a_shared_store_are_apart():
    store = InMemoryStore()
    FileChatMessageHistory("a/chat.json", store=store).add_user_message("hi")
    assert FileChatMessageHistory("b/chat.json", store=store).messages == []
    assert FileChatMessageHistory("a/../a/chat.json", store=store).messages == [HI]


def test_the_choice_of_a_store_is_logged_once(caplog):
    for name in ("one", "two"):
        FileChatMessageHistory(f"{name}.json").add_user_message("hi")
    assert len([m for m in caplog.messages if "holdover.db" in m]) == 1


def test_a_file_that_is_being_written_is_read_again(tmp_path, monkeypatch):
    whole = json.dumps([message_to_dict(m) for m in (HI, AIMessage("hello"))])
    path = tmp_path / "chat.json"
    path.write_text(whole[: len(whole) // 2])
    from holdover.compat.legacy import files as legacy_files

    monkeypatch.setattr(legacy_files.time, "sleep", lambda _: path.write_text(whole))
    assert len(FileChatMessageHistory(path).messages) == 2


@pytest.mark.parametrize("text", ["not json", "{", '{"a": 1}', "[1, null]", "\x00\x01"])
def test_a_file_of_something_else_is_left_alone(tmp_path, text, caplog):
    (tmp_path / "chat.json").write_text(text)
    one = FileChatMessageHistory("chat.json")
    one.add_user_message("hi")
    assert one.messages == [HI]
    assert (tmp_path / "chat.json").read_text() == text
    assert any("cannot be read" in message for message in caplog.messages)


def test_attributes_of_a_file_history(tmp_path):
    one = FileChatMessageHistory("chat.json", encoding="utf-8", ensure_ascii=False)
    assert (str(one.file_path), one.encoding, one.ensure_ascii) == (
        "chat.json", "utf-8", False,
    )  # fmt: skip


# SQL


@pytest.fixture
def sqlalchemy():
    return pytest.importorskip("sqlalchemy")


def old_rows(*messages, path="chat.db", table="message_store", session="s"):
    with closing(sqlite3.connect(path)) as conn, conn:
        conn.execute(
            f'CREATE TABLE IF NOT EXISTS "{table}" (id INTEGER NOT NULL, '
            "session_id TEXT, message TEXT, PRIMARY KEY (id))"
        )
        conn.executemany(
            f'INSERT INTO "{table}" (session_id, message) VALUES (?, ?)',
            [(session, json.dumps(message_to_dict(m))) for m in messages],
        )


@pytest.mark.parametrize(
    "arguments",
    [
        lambda url: ((url,), {}),
        lambda url: ((url, "t"), {}),
        lambda url: ((None, "t"), {"connection": url}),
        lambda url: (("t",), {"connection": url}),
        lambda url: (("t", "session_id", None, url), {}),
        lambda url: ((), {"connection_string": url}),
        lambda url: ((), {"connection": url, "table_name": "t"}),
    ],
)
@pytest.mark.filterwarnings("ignore:connection_string")
def test_both_classic_constructors(sqlalchemy, arguments):
    positional, named = arguments("sqlite:///chat.db")
    table = "t" if "t" in (*positional, named.get("table_name")) else "message_store"
    old_rows(HI, table=table)
    one = SQLChatMessageHistory("s", *positional, **named)
    assert one.table_name == table
    assert one.messages == one.get_messages() == [HI]


def test_the_old_name_of_the_argument_warns_once():
    with pytest.warns(UserWarning, match="connection_string"):
        SQLChatMessageHistory("s", connection_string="sqlite:///chat.db")
    SQLChatMessageHistory("s", connection_string="sqlite:///chat.db")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "connection should be"),
        ({"connection": 3}, "connection should be"),
        ({"connection": "sqlite://", "connection_string": "sqlite://"}, "exclusive"),
        (
            {"connection": "sqlite://", "session_id_field_name": "no"},
            "session_id column",
        ),
    ],
)
def test_misuse_is_said_at_construction(arguments, message):
    with pytest.raises(ValueError, match=message):
        SQLChatMessageHistory("s", **arguments)


def test_too_many_or_double_arguments():
    with pytest.raises(TypeError, match="positional"):
        SQLChatMessageHistory("s", *["x"] * 9)
    with pytest.raises(TypeError, match="table_name"):
        SQLChatMessageHistory("s", "t", table_name="u", connection="sqlite://")


def test_a_ready_engine(sqlalchemy):
    old_rows(HI)
    engine = sqlalchemy.create_engine("sqlite:///chat.db")
    one = SQLChatMessageHistory("s", connection=engine)
    one.add_ai_message("hello")
    assert one.messages == [HI, AIMessage("hello")]
    assert one.engine is engine
    with one.session_maker() as session:
        rows = session.query(one.sql_model_class).all()
        assert [row.session_id for row in rows] == ["s"]
    with pytest.raises(TypeError, match="address"):
        pickle.dumps(one)
    engine.dispose()


def test_a_database_in_memory_is_private_to_its_engine(sqlalchemy):
    pool = sqlalchemy.pool.StaticPool
    engines = [sqlalchemy.create_engine("sqlite://", poolclass=pool) for _ in range(2)]
    SQLChatMessageHistory("s", connection=engines[0]).add_user_message("hi")
    assert SQLChatMessageHistory("s", connection=engines[0]).messages == [HI]
    assert SQLChatMessageHistory("s", connection=engines[1]).messages == []
    for engine in engines:
        engine.dispose()


@pytest.mark.parametrize(
    "address",
    ["sqlite://", "sqlite:///:memory:", "sqlite:///file::memory:?uri=true"],
)
def test_an_address_in_memory_is_private_to_its_object(sqlalchemy, both, address):
    one, other = (
        both(SQLChatMessageHistory("s", connection=address)) for _ in range(2)
    )
    one.add_messages([HI])
    assert (one.texts(), other.texts()) == (["hi"], [])
    assert one.engine is one.engine is not other.engine
    twin = pickle.loads(pickle.dumps(one._target))
    assert twin.messages == []
    one._target.session_id = "t"
    assert one.texts() == []
    one._target.session_id = "s"
    assert one.texts() == ["hi"]


def test_a_database_in_memory_with_a_name_is_shared(sqlalchemy):
    named = {
        "connection": "sqlite:///file:talks?mode=memory&cache=shared&uri=true",
        "engine_args": {"poolclass": sqlalchemy.pool.SingletonThreadPool},
    }
    SQLChatMessageHistory("s", **named).add_user_message("hi")
    assert SQLChatMessageHistory("s", **named).messages == [HI]


def test_no_statement_but_a_select_meets_the_old_table(sqlalchemy):
    old_rows(HI)
    engine = sqlalchemy.create_engine("sqlite:///chat.db")
    seen = []
    sqlalchemy.event.listen(
        engine, "before_cursor_execute", lambda *args: seen.append(args[2])
    )
    one = SQLChatMessageHistory("s", connection=engine, store=InMemoryStore())
    one.add_user_message("x")
    one.clear()
    assert seen
    assert all(s.lstrip().upper().startswith(("SELECT", "PRAGMA")) for s in seen)
    engine.dispose()


def test_looking_for_old_messages_makes_no_file(sqlalchemy, tmp_path):
    store = InMemoryStore()
    one = SQLChatMessageHistory("s", connection="sqlite:///no.db", store=store)
    one.add_user_message("hi")
    assert list(tmp_path.iterdir()) == []


def test_one_engine_for_an_address(sqlalchemy):
    made = [
        SQLChatMessageHistory(str(n), connection="sqlite:///chat.db") for n in range(99)
    ]
    assert len({id(one.engine) for one in made}) == 1
    other = SQLChatMessageHistory(
        "s", connection="sqlite:///chat.db", engine_args={"echo": False}
    )
    assert other.engine is not made[0].engine


def test_a_database_without_a_store_of_its_own(sqlalchemy):
    one = SQLChatMessageHistory("s", connection="mysql+pymysql://u@h/d")
    with pytest.raises(HoldoverError, match=r"store=|not installed"):
        one.add_user_message("x")
    from holdover.compat.sql_engines import own_store, url_of

    with pytest.raises(AddressError, match="store="):
        own_store(url_of("oracle://u@h/d"), None)


def test_a_converter_of_the_application(sqlalchemy, corpus, tmp_path):
    from sqlalchemy.orm import declarative_base

    class Thread(declarative_base()):
        __tablename__ = "talk"
        id = sqlalchemy.Column(sqlalchemy.Integer, primary_key=True)
        thread = sqlalchemy.Column(sqlalchemy.Text)
        said = sqlalchemy.Column(sqlalchemy.Text)

    class Converter:
        def from_sql_model(self, row):
            if row.said == "broken":
                raise RuntimeError("no")
            return HumanMessage(row.said)

        def get_sql_model_class(self):
            return Thread

    with closing(sqlite3.connect("chat.db")) as conn, conn:
        conn.execute(
            "CREATE TABLE talk (id INTEGER PRIMARY KEY, thread TEXT, said TEXT)"
        )
        conn.executemany(
            "INSERT INTO talk (thread, said) VALUES (?, ?)",
            [("s", "a"), ("t", "b"), ("s", "broken"), ("s", "c")],
        )
    one = SQLChatMessageHistory(
        "s", connection="sqlite:///chat.db", session_id_field_name="thread",
        custom_message_converter=Converter(),
    )  # fmt: skip
    assert [m.content for m in one.messages] == ["a", "c"]


def test_the_default_converter_reads_what_it_writes(sqlalchemy):
    converter = DefaultMessageConverter("t")
    row = converter.to_sql_model(HI, "s")
    assert converter.from_sql_model(row) == HI
    assert converter.get_sql_model_class().__tablename__ == "t"
    row.message = "junk"
    with pytest.raises(ValueError, match="no message"):
        converter.from_sql_model(row)


class FakeAsyncEngine:
    """What is seen of an asyncio engine where greenlet is not installed."""

    def __init__(self, engine):
        self.sync_engine, self.url = engine, engine.url

    def connect(self):
        return FakeAsyncConnection(self.sync_engine)


class FakeAsyncConnection:
    def __init__(self, engine):
        self.engine = engine

    async def __aenter__(self):
        self.connection = self.engine.connect()
        return self

    async def __aexit__(self, *_):
        self.connection.close()

    async def run_sync(self, function):
        return function(self.connection)


def test_an_asyncio_engine_is_used_by_async_methods_only(sqlalchemy):
    old_rows(HI)
    engine = sqlalchemy.create_engine("sqlite:///chat.db")
    one = SQLChatMessageHistory("s", connection=FakeAsyncEngine(engine))
    assert one.async_mode
    for call in (lambda: one.messages, lambda: one.add_user_message("x"), one.clear):
        with pytest.raises(SyncUseOfAsyncEngine, match="aget_messages") as caught:
            call()
        assert isinstance(caught.value, ValueError)

    async def use():
        await one.aadd_messages([AIMessage("hello")])
        assert await one.aget_messages() == [HI, AIMessage("hello")]
        await one.aclear()
        assert await one.aget_messages() == []

    asyncio.run(use())
    engine.dispose()


def test_a_real_asyncio_engine(sqlalchemy):
    pytest.importorskip("greenlet")
    pytest.importorskip("aiosqlite")
    from sqlalchemy.ext.asyncio import create_async_engine

    old_rows(HI)

    async def use():
        engine = create_async_engine("sqlite+aiosqlite:///chat.db")
        one = SQLChatMessageHistory("s", connection=engine)
        await one.aadd_messages([AIMessage("hello")])
        assert await one.aget_messages() == [HI, AIMessage("hello")]
        await engine.dispose()

    asyncio.run(use())


def test_an_address_for_asyncio_needs_no_asyncio_driver(sqlalchemy):
    old_rows(HI)
    one = SQLChatMessageHistory(
        "s", connection="sqlite+aiosqlite:///chat.db", async_mode=True
    )
    assert asyncio.run(one.aget_messages()) == [HI]


def test_sqlalchemy_is_not_loaded_before_it_is_needed():
    code = (
        "import sys\n"
        "from holdover.compat import chat_message_histories as histories\n"
        "histories.SQLChatMessageHistory('s', connection='sqlite:///x.db')\n"
        "assert not [m for m in sys.modules if m.startswith('sqlalchemy')]\n"
        "assert 'langchain_community' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env=os.environ)


# PostgreSQL


def test_old_rows_of_postgres_with_an_own_or_another_store(postgres_url):
    import psycopg

    with psycopg.connect(postgres_url) as conn:
        conn.execute(
            "CREATE TABLE Talk (id SERIAL PRIMARY KEY, session_id TEXT NOT NULL, "
            "message JSONB NOT NULL)"
        )
        for message in (HI, AIMessage("hello")):
            conn.execute(
                "INSERT INTO talk (session_id, message) VALUES ('s', %s)",
                [json.dumps(message_to_dict(message))],
            )
        conn.execute("INSERT INTO talk (session_id, message) VALUES ('s', '3')")
    for store in (None, InMemoryStore()):
        # The classic class wrote the name without quotes.
        one = PostgresChatMessageHistory("s", postgres_url, "Talk", store=store)
        assert one.messages == [HI, AIMessage("hello")]
        source = one.repository.page("message")[0].meta["source"]
        name = postgres_url.rpartition("/")[2]
        assert source["locator"] == f"postgresql:{name}#Talk#1"
    for session in ("no\x00pe", "\ud800"):
        assert PostgresChatMessageHistory(session, postgres_url, "Talk").messages == []


def test_a_keyword_address(postgres_url):
    from psycopg.conninfo import conninfo_to_dict, make_conninfo

    words = make_conninfo(**conninfo_to_dict(postgres_url))
    PostgresChatMessageHistory("s", words).add_user_message("hi")
    assert PostgresChatMessageHistory("s", postgres_url).messages == [HI]


def test_the_default_address_is_not_looked_at_behind_another_store():
    one = PostgresChatMessageHistory("s", store=InMemoryStore())
    one.add_user_message("hi")
    assert one.messages == [HI]


def test_stores_are_shared_with_those_that_are_opened(redis_url):
    one = RedisChatMessageHistory("s", redis_url)
    assert one.base_store is open_store(redis_url)
    assert isinstance(one.base_store, PlainRedisStore)
