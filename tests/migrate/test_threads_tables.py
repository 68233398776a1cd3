"""Rows and tables are those that LangGraph's savers make themselves."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing
from datetime import UTC, datetime

import psycopg
import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from threads import checkpointer

from holdover.compat.stores.sqlite import connect
from holdover.migrate.threads.checkpoint import Origin, Thread, hash_of
from holdover.migrate.threads.opening import open_threads
from holdover.migrate.threads.sqlite import SqliteThreads
from holdover.migrate.threads.table import Change

MESSAGES = [HumanMessage("hi ☃", id="1"), AIMessage("hello", id="2")]
ORIGIN = Origin("sqlite:x#t", "t", "s", "run", hash_of(MESSAGES))
THREAD = Thread("s'é", MESSAGES, ORIGIN, datetime(2024, 5, 4, 3, 2, 1, tzinfo=UTC))


@pytest.fixture(params=["sqlite", "postgres"])
def target(request, tmp_path):
    if request.param == "postgres":
        return request.getfixturevalue("postgres_url")
    return str(tmp_path / "memory.db")


@pytest.fixture
def table(target):
    table = open_threads(target, writing=True)
    yield table
    table.close()


def put(saver, thread):
    place = {"configurable": {"thread_id": thread.id, "checkpoint_ns": ""}}
    checkpoint = thread.checkpoint
    saver.put(place, checkpoint, thread.metadata, checkpoint["channel_versions"])


def test_rows_are_those_of_the_sqlite_saver(tmp_path):
    ours, theirs = tmp_path / "ours.db", tmp_path / "theirs.db"
    with closing(connect(str(ours))) as conn:
        table = SqliteThreads(conn)
        table.prepare()
        table.write([Change(THREAD)])
    with SqliteSaver.from_conn_string(str(theirs)) as saver:
        put(saver, THREAD)

    assert _dump(ours) == _dump(theirs)


def _dump(path):
    with closing(sqlite3.connect(path)) as db:
        schema = db.execute("SELECT name, sql FROM sqlite_master ORDER BY 1").fetchall()
        return schema, db.execute("SELECT * FROM checkpoints").fetchall()


def test_rows_are_those_of_the_postgres_saver(postgres_url):
    table = open_threads(postgres_url, writing=True)
    table.write([Change(THREAD)])
    with psycopg.connect(postgres_url, autocommit=True) as db:
        ours = _rows(db)
        for name in ("checkpoints", "checkpoint_blobs", "checkpoint_writes"):
            db.execute(f"DELETE FROM {name}")
        with PostgresSaver.from_conn_string(postgres_url) as saver:
            saver.setup()  # finds nothing to do
            put(saver, THREAD)
        theirs = _rows(db)
    table.close()

    assert ours == theirs
    assert len(ours[1]) == 1


def _rows(db):
    names = ("checkpoints", "checkpoint_blobs", "checkpoint_writes")
    return [db.execute(f"SELECT t.* FROM {name} t").fetchall() for name in names]


def test_a_file_keeps_its_journal_mode(tmp_path):
    path = tmp_path / "plain.db"
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE mine (x)")

    open_threads(str(path), writing=True).close()

    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA journal_mode").fetchone() == ("delete",)


def test_a_half_made_set_up_is_completed(target):
    if target.startswith("postgres"):
        with psycopg.connect(target, autocommit=True) as db:
            for step in PostgresSaver.MIGRATIONS[:4]:
                db.execute(step)
            db.execute("INSERT INTO checkpoint_migrations VALUES (0), (1)")
    else:
        with closing(sqlite3.connect(target)) as db, db:
            SqliteSaver(db).setup()
            db.execute("DROP TABLE writes")

    table = open_threads(target, writing=True)
    assert table.write([Change(THREAD)]) == set()
    assert table.at(THREAD.id, THREAD.checkpoint_id) == MESSAGES
    table.close()
    with checkpointer(target) as saver:
        assert saver.get_tuple(_config(THREAD.id)).checkpoint == THREAD.checkpoint


def _config(thread):
    return {"configurable": {"thread_id": thread}}


def test_many_set_ups_at_once(target):
    failed = []

    def set_up():
        try:
            open_threads(target, writing=True).close()
        except Exception as error:
            failed.append(error)

    workers = [threading.Thread(target=set_up) for _ in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()

    assert failed == []
    made = open_threads(target, writing=False)
    assert made.ready
    made.close()


def test_looking_creates_nothing(target, tmp_path):
    assert open_threads(target, writing=False) is None
    assert not (tmp_path / "memory.db").exists()


def test_a_write_gives_way_to_whoever_came_first(table):
    other = Thread("other", MESSAGES, ORIGIN, THREAD.ended_at)
    put(table.saver(), THREAD)

    assert table.write([Change(THREAD), Change(other)]) == {THREAD.id}
    assert table.look(["other", "nothing"]).keys() == {"other"}


def test_a_replacement_gives_way_to_whoever_went_on(table):
    table.write([Change(THREAD)])
    newer = [*MESSAGES, HumanMessage("more", id="3")]
    origin = Origin("sqlite:x#t", "t", "s", "run", hash_of(newer))
    grown = Thread(THREAD.id, newer, origin, THREAD.ended_at)
    pending = {"configurable": {"thread_id": THREAD.id, "checkpoint_ns": ""}}
    pending["configurable"]["checkpoint_id"] = THREAD.checkpoint_id
    table.saver().put_writes(pending, [("messages", [newer[-1]])], "task")

    # A turn that has begun and saved no checkpoint yet.
    assert not table.look([THREAD.id])[THREAD.id].alone
    assert table.write([Change(grown, instead_of=THREAD.checkpoint_id)]) == {THREAD.id}
    assert not table.remove(THREAD.id, THREAD.checkpoint_id)
    assert table.newest(THREAD.id) == MESSAGES


def test_a_replacement_leaves_nothing_of_what_it_replaced(table):
    table.write([Change(THREAD)])
    newer = [*MESSAGES, HumanMessage("more", id="3")]
    origin = Origin("sqlite:x#t", "t", "s", "run", hash_of(newer))
    grown = Thread(THREAD.id, newer, origin, THREAD.ended_at)

    assert table.write([Change(grown, instead_of=THREAD.checkpoint_id)]) == set()

    assert table.newest(THREAD.id) == newer
    assert table.at(THREAD.id, THREAD.checkpoint_id) is None
    assert list(table.of_run("run")) == [(THREAD.id, grown.checkpoint_id)]
    assert table.remove(THREAD.id, grown.checkpoint_id)
    assert table.look([THREAD.id]) == {}
    if hasattr(table, "_rows"):
        assert table._rows("SELECT count(*) FROM checkpoint_blobs") == [(0,)]


def test_a_copy_under_another_id_is_not_ours(table):
    """Applications copy threads; what they copy is theirs."""
    table.write([Change(THREAD)])
    found = table.saver().get_tuple(_config(THREAD.id))
    copied = {"configurable": {"thread_id": "copy", "checkpoint_ns": ""}}
    versions = found.checkpoint["channel_versions"]
    table.saver().put(copied, found.checkpoint, found.metadata, versions)

    assert table.look(["copy"])["copy"].origin is None
    assert [thread for thread, _ in table.of_run("run")] == [THREAD.id]
