"""Real data of old releases, through each of the five classic histories."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing

import pytest
import redis
from histories import RELEASES, check, load_dump, manifest
from langgraph.store.memory import InMemoryStore
from redis_corpus import load
from upstash import upstash

from holdover.compat.chat_message_histories.file import FileChatMessageHistory
from holdover.compat.chat_message_histories.postgres import PostgresChatMessageHistory
from holdover.compat.chat_message_histories.redis import RedisChatMessageHistory
from holdover.compat.chat_message_histories.sql import SQLChatMessageHistory
from holdover.compat.chat_message_histories.upstash_redis import (
    UpstashRedisChatMessageHistory,
)

TABLES = RELEASES[1:]
SERVERS = ("langchain-0.0.150", "langchain-classic-1.0.8")


@pytest.mark.parametrize("release", RELEASES)
def test_files(corpus, tmp_path, release):
    source = corpus / release / "file_history"
    folder = tmp_path / "files"
    shutil.copytree(source, folder)
    for name, truth in manifest(source)["files"].items():
        if "messages" not in truth:
            continue
        for store in (None, InMemoryStore()):
            one = FileChatMessageHistory(
                folder / name, **truth["constructor"], store=store
            )
            check(one, truth["messages"])
        assert (folder / name).read_bytes() == (source / name).read_bytes()


@pytest.mark.parametrize("release", RELEASES[2:])
def test_an_encoding_is_found_out(corpus, tmp_path, release):
    files = manifest(corpus / release / "file_history")["files"]
    for name in ("utf8_raw.json", "utf16.json", "utf8sig.json"):
        shutil.copy(corpus / release / "file_history" / name, tmp_path)
        one = FileChatMessageHistory(tmp_path / name)
        check(one, files[name]["messages"])


@pytest.mark.parametrize("release", RELEASES)
def test_of_a_broken_file_what_can_be_read(corpus, tmp_path, release, caplog):
    source = corpus / release / "file_history"
    files = manifest(source)["files"]
    for name in ("truncated.json", "zero_byte.json"):
        shutil.copy(source / name, tmp_path)
    one = FileChatMessageHistory(tmp_path / "truncated.json")
    number = one.count()
    check(one, files["rich.json"]["messages"][:number])
    assert 0 < number < len(files["rich.json"]["messages"])
    assert len([m for m in caplog.messages if "cannot be read" in m]) == 1
    assert FileChatMessageHistory(tmp_path / "zero_byte.json").messages == []


def rows_of(path):
    with closing(sqlite3.connect(path)) as conn:
        tables = conn.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE "
            "'store%' AND name NOT LIKE 'vector%' ORDER BY name"
        ).fetchall()
        return {
            name: conn.execute(f'SELECT rowid, * FROM "{name}"').fetchall()
            for (name,) in tables
        }


@pytest.mark.parametrize("release", TABLES)
@pytest.mark.parametrize("own", [True, False], ids=["own store", "another store"])
def test_sqlite_tables(corpus, tmp_path, release, own):
    pytest.importorskip("sqlalchemy")
    source = corpus / release / "sql_history_sqlite"
    path = shutil.copy(source / "chat.db", tmp_path)
    before = rows_of(path)
    file = manifest(source)["files"]["chat.db"]
    for truth in file["sessions"]:
        one = SQLChatMessageHistory(
            truth["session_id"],
            connection=f"sqlite:///{path}",
            table_name=truth["table"],
            store=None if own else InMemoryStore(),
        )
        check(one, truth["messages"])
    assert rows_of(path) == before


@pytest.mark.parametrize("release", TABLES)
def test_a_table_with_junk_rows(corpus, tmp_path, release, caplog):
    pytest.importorskip("sqlalchemy")
    path = shutil.copy(corpus / release / "sql_history_sqlite" / "chat.db", tmp_path)
    one = SQLChatMessageHistory("junk", connection=f"sqlite:///{path}")
    with closing(sqlite3.connect(path)) as conn:
        (rows,) = conn.execute(
            "SELECT count(*) FROM message_store WHERE session_id = 'junk'"
        ).fetchone()
    (said,) = [m for m in caplog.messages if "cannot be read" in m] or [
        *(one.messages and ()), caplog.messages[-1],
    ]  # fmt: skip
    unreadable = int(said.partition(" ")[0])
    assert unreadable + one.count() == rows
    assert unreadable > 0


@pytest.mark.parametrize("release", RELEASES)
def test_redis_lists(corpus, redis_url, release):
    source = corpus / release / "redis_history"

    def client_of(db):
        return redis.Redis.from_url(f"{redis_url.rpartition('/')[0]}/{db}", protocol=2)

    load(source / "listing.jsonl", client_of)
    with client_of(0) as client:
        before = {k: client.dump(k) for k in client.scan_iter() if b"holdover" not in k}
    for truth in manifest(source)["sessions"]:
        url = f"{redis_url.rpartition('/')[0]}/{truth['db']}"
        one = RedisChatMessageHistory(
            truth["session_id"],
            url,
            truth["key_prefix"],
            # The prefixes `app1` and `app1:` are one root.
            store=InMemoryStore() if truth["key_prefix"] == "app1" else None,
        )
        if truth["messages"]:
            check(one, truth["messages"])
        else:
            assert one.messages == []
    for session in ("string", "hash", "jobs"):
        assert RedisChatMessageHistory(session, redis_url).messages == []
    with client_of(0) as client:
        assert {k: client.dump(k) for k in before} == before
        key = b"message_store:ttl"
        first = one_of(redis_url, "ttl").repository.page("message", limit=1)[0]
        assert "expires_at" in first.meta
        assert client.ttl(key) > 300_000_000


def one_of(url, session):
    return RedisChatMessageHistory(session, url)


@pytest.mark.parametrize("release", RELEASES[2:])
def test_upstash_lists(corpus, redis_url, release):
    source = corpus / release / "upstash_history"
    with redis.Redis.from_url(redis_url, protocol=2) as client:
        load(source / "listing.jsonl", lambda db: None if db else client)
        with upstash(redis_url) as service:
            for truth in manifest(source)["sessions"]:
                one = UpstashRedisChatMessageHistory(
                    truth["session_id"],
                    service.url,
                    service.token,
                    **truth["constructor"],
                )
                check(one, truth["messages"])


@pytest.mark.parametrize("release", SERVERS)
def test_postgres_tables(corpus, postgres_url, release):
    source = corpus / release / "postgres"
    load_dump(postgres_url, source / "dump.sql")
    for table in manifest(source)["tables"]:
        kind = table["store_class"].rpartition(".")[2]
        for truth in table["sessions"]:
            if "messages" not in truth or truth["session_id"] is None:
                continue
            if kind == "PostgresChatMessageHistory":
                one = PostgresChatMessageHistory(
                    truth["session_id"], postgres_url, truth["table"]
                )
            else:
                pytest.importorskip("sqlalchemy")
                one = SQLChatMessageHistory(
                    truth["session_id"],
                    connection=postgres_url,
                    table_name=truth["table"],
                    store=InMemoryStore(),
                )
            check(one, truth["messages"])
