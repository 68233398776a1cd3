"""The bulk paths write the rows the store's own `put` would write."""

from __future__ import annotations

import sqlite3
from contextlib import closing, contextmanager
from datetime import datetime

import pytest
from moving import (
    is_postgres,
    is_redis,
    many,
    path_of,
    plain_store,
    read_plainly,
    read_summaries,
    redis_items,
    rows_of,
    write_old_file,
)

from holdover.compat import records
from holdover.migrate.conflicts import Decision
from holdover.migrate.options import Options
from holdover.migrate.run import migrate
from holdover.migrate.targets import Row, open_target

RUN = "0193a1c4-0000-7000-8000-000000000000"
#: What a store's value may hold and a column may change.
SUMMARIES = [
    "plain",
    "quotes ' \" and a backslash \\ and \\u0000 as text, \\N too",
    "tabs\tand\nnewlines\r\n",
    "ünï¢ødé 北京 🎉 \u2028",
    "NUL \x00 inside",
    "percent % and ~ tilde and {brace}",
    "x" * 100_000,
]


def row_of(number, summary, ttl=None, namespace=("root", "s~2e1", "entities")):
    meta = {
        "revision": RUN,
        "status": "imported",
        "recorded_at": "2026-01-01T00:00:00.000000+00:00",
        "source": {"kind": "migration", "run": RUN, "locator": f"here#{number}\t\\"},
    }
    value = records.build("entity", {"name": f"n {number}", "summary": summary}, meta)
    return Row(namespace, f"n {number}", value, ttl)


def rows():
    return [
        row_of(number, summary, ttl)
        for number, (summary, ttl) in enumerate(
            (summary, ttl) for summary in SUMMARIES for ttl in (None, 1.0, 2.5, 1e5)
        )
    ]


def put_by_the_store(target, given):
    """The same rows, by LangGraph alone."""
    with plain_store(target) as store:
        store.setup()
        for row in given:
            store.put(row.namespace, row.key, dict(row.value), index=False, ttl=row.ttl)


def store_rows(target):
    """The rows of `store` with SQLite's types; PostgreSQL's as typed columns."""
    if is_postgres(target):
        import psycopg

        with psycopg.connect(target) as db:
            return db.execute(
                "SELECT prefix, key, value, ttl_minutes, "
                "round(extract(epoch FROM expires_at - created_at) / 60.0, 2), "
                "created_at = updated_at, created_at > now() - interval '1 hour' "
                "FROM store WHERE prefix NOT LIKE '~%' ORDER BY 1, 2"
            ).fetchall()
    if is_redis(target):
        return [
            (
                *place,
                json,
                int(ttl) / 60_000 if ttl else None,
                created == updated,
                round(left / 60_000, 1),
            )
            for place, (created, updated, ttl, json, left) in redis_items(
                target
            ).items()
            if not place[0].startswith("~")
        ]
    with closing(sqlite3.connect(path_of(target))) as db:
        return db.execute(
            "SELECT prefix, key, value, ttl_minutes, created_at = updated_at, "
            "typeof(prefix), typeof(key), typeof(value), typeof(created_at), "
            "typeof(updated_at), typeof(expires_at), typeof(ttl_minutes), "
            "length(created_at), length(updated_at), length(expires_at), "
            "round((julianday(expires_at) - julianday(created_at)) * 1440, 1) "
            "FROM store WHERE substr(prefix, 1, 1) <> '~' ORDER BY 1, 2"
        ).fetchall()


@pytest.fixture
def second(target, tmp_path, request):
    """Another target of the same kind, for the store's own rows."""
    if is_redis(target):
        yield f"{target}?prefix=own"
        return
    if not is_postgres(target):
        yield f"sqlite:///{tmp_path / 'own.db'}"
        return
    from uuid import uuid4

    import psycopg
    import servers

    postgres_server = request.getfixturevalue("postgres_server")
    name = f"own_{uuid4().hex}"
    with psycopg.connect(postgres_server, autocommit=True) as db:
        db.execute(f'CREATE DATABASE "{name}"')
    yield servers.with_database(postgres_server, name)
    with psycopg.connect(postgres_server, autocommit=True) as db:
        db.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


def apply(target, given, policy="fail", index=None):
    opened = (
        sqlite_with_vectors(target, index)
        if index and not is_postgres(target)
        else open_target(target, writing=True, index=index)
    )
    try:
        opened.prepare()
        return opened.apply(given, policy, lambda _: [])
    finally:
        opened.close()


def test_new_rows_equal_those_of_put(target, second):
    given = rows()
    put_by_the_store(second, given)
    applied = apply(target, given)
    assert applied.decisions == {Decision.COPY: len(given)}
    assert store_rows(target) == store_rows(second)


def test_rows_beside_others_equal_those_of_put(target, second):
    """A taken place sends the batch down the careful path."""
    given = rows()
    first = row_of(0, "")._replace(value={"content": "by an agent"})
    put_by_the_store(target, [first])
    put_by_the_store(second, [first, *given])
    applied = apply(target, given, "overwrite")
    assert applied.decisions == {Decision.COPY: len(given) - 1, Decision.OVERWRITE: 1}
    mine, own = store_rows(target), store_rows(second)
    # Only the overwritten head says that it has a parent.
    parent = dict(read_plainly(target)[first.namespace])[first.key]["meta"].pop(
        "parent"
    )
    assert parent
    assert [row[:2] for row in mine] == [row[:2] for row in own]
    different = [a for a, b in zip(mine, own, strict=True) if a != b]
    assert [row[1] for row in different] == [first.key]
    assert different[0][3:] == next(row[3:] for row in own if row[1] == first.key)


def test_the_tables_are_those_of_the_stores_own_set_up(target, second):
    without_tables(target)
    apply(target, [])
    with plain_store(second) as store:
        store.setup()
    assert schema_of(target) == schema_of(second)
    # And its set-up finds nothing left to do.
    before = rows_of(target)
    with plain_store(target) as store:
        store.setup()
    assert rows_of(target) == before


def schema_of(target):
    if not is_postgres(target):
        with closing(sqlite3.connect(path_of(target))) as db:
            return sorted(db.execute("SELECT type, name, sql FROM sqlite_master"))
    import psycopg

    with psycopg.connect(target) as db:
        columns = db.execute(
            "SELECT table_name, column_name, data_type, column_default, is_nullable "
            "FROM information_schema.columns WHERE table_schema = 'public' "
            "ORDER BY 1, 2"
        ).fetchall()
        indexes = db.execute(
            "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' "
            "ORDER BY 1"
        ).fetchall()
        steps = db.execute("SELECT v FROM store_migrations ORDER BY v").fetchall()
    return columns, indexes, steps


class FakeEmbeddings:
    """Numbers from the text alone, and a note of what was asked."""

    asked: list[str]

    def __init__(self):
        from langchain_core.embeddings import Embeddings

        class Fake(Embeddings):
            def embed_documents(inner, texts):  # noqa: N805
                self.asked += texts
                return [[float(len(text)), 0.1, -1e-7, 10.0] for text in texts]

            def embed_query(inner, text):  # noqa: N805
                return inner.embed_documents([text])[0]

        self.asked = []
        self.embeddings = Fake()
        self.index = {"dims": 4, "embed": self.embeddings, "fields": ["$"]}


def vector_rows(target):
    if is_postgres(target):
        import psycopg

        with psycopg.connect(target) as db:
            return db.execute(
                "SELECT prefix, key, field_name, embedding::text, "
                "created_at = updated_at FROM store_vectors ORDER BY 1, 2, 3"
            ).fetchall()
    with closing(sqlite3.connect(path_of(target))) as db:
        return db.execute(
            "SELECT prefix, key, field_name, embedding, typeof(embedding), "
            "typeof(created_at), length(created_at), typeof(updated_at) "
            "FROM store_vectors ORDER BY 1, 2, 3"
        ).fetchall()


def sqlite_store(target, index):
    """A store with its table of vectors; only searches need the extension."""
    from holdover.compat.stores import sqlite

    conn = sqlite.connect(path_of(target))
    sqlite.ensure_schema(conn, vectors=True)
    store = sqlite.HoldoverSqliteStore(conn, index=dict(index))
    store.is_setup = True
    return store


def sqlite_with_vectors(target, index):
    from holdover.migrate.targets.sqlite import SqliteTarget

    return SqliteTarget(sqlite_store(target, index), target, path_of(target))


def without_tables(target):
    if is_redis(target):
        pytest.skip("Redis has no tables and no vectors")


def needs_extensions(target):
    without_tables(target)
    if not is_postgres(target) and not hasattr(
        sqlite3.Connection, "enable_load_extension"
    ):
        pytest.skip("this Python's sqlite3 cannot load extensions")


@pytest.mark.parametrize("beside", [False, True])
def test_vectors_equal_those_of_put(target, second, beside):
    without_tables(target)
    given = [row_of(n, text) for n, text in enumerate(["one", "three", "one", "\x00"])]
    fake = FakeEmbeddings()
    with indexed_store(second, fake.index) as store:
        store.setup()
        for row in given:
            store.put(
                row.namespace, row.key, dict(row.value), index=["content.summary"]
            )
    if beside:
        apply(target, given[:1], index=fake.index)
    fake.asked.clear()
    apply(target, given, index=fake.index)
    assert vector_rows(target) == vector_rows(second)
    assert len(vector_rows(target)) == len(given)
    # Each text once, and none for what is there already.
    assert sorted(fake.asked) == sorted(["one", "three", "~00"])
    if is_postgres(target):  # searching in SQLite needs an extension
        with indexed_store(target, fake.index) as store:
            found = store.search(("root",), query="12345", limit=10)
        assert found[0].value["content"]["summary"] == "three"


@contextmanager
def indexed_store(target, index):
    without_tables(target)
    if is_postgres(target):
        from langgraph.store.postgres import PostgresStore

        with PostgresStore.from_conn_string(target, index=index) as store:
            store.setup()
            yield store
    else:
        store = sqlite_store(target, index)
        yield store
        store.conn.close()


def test_an_index_of_the_command_embeds_summaries(target, old_file, monkeypatch):
    import langgraph.store.base
    import langgraph.store.postgres.base
    import langgraph.store.sqlite.base

    needs_extensions(target)
    fake = FakeEmbeddings()
    for module in (
        langgraph.store.base,
        langgraph.store.postgres.base,
        langgraph.store.sqlite.base,
    ):
        monkeypatch.setattr(module, "ensure_embeddings", lambda _: fake.embeddings)
    source = write_old_file(old_file, {"s": {"A": "first", "B": "second"}})
    options = Options(index="openai:text-embedding-3-small", dims=4)
    planned = migrate(source, target, options, dry_run=True).plan
    assert planned.embedded_texts == 2
    assert fake.asked == []
    done = migrate(source, target, options)
    assert done.exit_code == 0
    assert sorted(fake.asked) == ["first", "second"]
    assert [row[:3] for row in vector_rows(target)] == [
        ("memory_store.s.entities", "A", "content.summary"),
        ("memory_store.s.entities", "B", "content.summary"),
    ]
    assert migrate(source, target, options).exit_code == 0
    assert sorted(fake.asked) == ["first", "second"]


def test_nothing_is_embedded_unless_asked(target, old_file):
    """A store that agents index gets no vectors, and so no bill, from a migration."""
    fake = FakeEmbeddings()
    with indexed_store(target, fake.index):
        pass
    migrate(write_old_file(old_file, many(20)), target)
    assert fake.asked == []
    assert vector_rows(target) == []


# Targets that are not SQL.

MADE = []


def memory_factory():
    """A store that keeps its items as long as this process."""
    from langgraph.store.memory import InMemoryStore

    if not MADE:
        MADE.append(InMemoryStore())
    return MADE[0]


def wrapper_factory():
    """Somebody's store: only `batch`, around another."""
    from langgraph.store.base import BaseStore
    from langgraph.store.memory import InMemoryStore

    class OnlyBatch(BaseStore):
        def __init__(self):
            self.inner = InMemoryStore()

        def batch(self, ops):
            return self.inner.batch(ops)

        async def abatch(self, ops):
            return await self.inner.abatch(ops)

    if not MADE:
        MADE.append(OnlyBatch())
    return MADE[0]


@pytest.fixture(params=["memory_factory", "wrapper_factory"])
def factory(request, monkeypatch):
    import sys

    from holdover.compat.stores import opening

    monkeypatch.setitem(sys.modules, "its_stores", sys.modules[__name__])
    monkeypatch.setattr(opening, "_opened", {})
    MADE.clear()
    yield f"its_stores:{request.param}"
    MADE.clear()


def summaries_in(store):
    from moving import items_of, summaries_of

    return summaries_of(items_of(store))


def test_a_store_from_a_factory(factory, old_file):
    from moving import items_of

    from holdover.migrate.rollback import rollback
    from holdover.migrate.status import status
    from holdover.migrate.verify import verify

    sessions = {"ana@example.com": {"New York": "a city", "~x\x00": "odd"}, **many(300)}
    source = write_old_file(old_file, sessions)
    assert migrate(source, factory, dry_run=True).plan.to_write == 302
    assert not MADE[0].list_namespaces()

    done = migrate(source, factory, Options(batch=50))
    assert done.exit_code == 0
    assert done.copy.written == 302
    store = MADE[0]
    assert summaries_in(store) == {
        ("memory_store", session): entities for session, entities in sessions.items()
    }
    namespace = ("memory_store", "ana@example~2ecom", "entities")
    assert store.get(namespace, "New York").value["content"]["summary"] == "a city"
    assert verify(source, factory).equal == 302
    assert [run.state for run in status(factory)] == ["done"]

    before = items_of(store), items_of(store, internal=True)
    assert migrate(source, factory).copy.written == 0
    assert (items_of(store), items_of(store, internal=True)) == before

    assert rollback(factory).removed == 302
    assert not any(items_of(store).values())
    assert not any(items_of(store, internal=True).values())


def test_a_rollback_from_a_factory_reaches_every_namespace(factory, old_file):
    """More than a page of namespaces, which empty while they are read."""
    from holdover.migrate.rollback import rollback

    source = write_old_file(old_file, {f"s{n}": {"E": "x"} for n in range(1_300)})
    assert migrate(source, factory).exit_code == 0
    assert rollback(factory).removed == 1_300
    assert summaries_in(MADE[0]) == {}


def test_a_store_that_mixes_items_up_is_refused(monkeypatch, old_file):
    import sys

    from langgraph.store.base import GetOp, PutOp
    from langgraph.store.memory import InMemoryStore

    from holdover.compat.stores import opening
    from holdover.migrate.errors import TargetError

    class Folds(InMemoryStore):
        """Keys that differ in case only are one."""

        def batch(self, ops):
            return super().batch(
                [
                    op._replace(key=op.key.lower())
                    if isinstance(op, GetOp | PutOp)
                    else op
                    for op in ops
                ]
            )

    module = type(sys)("folding")
    module.make = Folds
    monkeypatch.setitem(sys.modules, "folding", module)
    monkeypatch.setattr(opening, "_opened", {})
    source = write_old_file(old_file, {"s": {"Alice": "x", "alice": "y"}})
    with pytest.raises(TargetError, match="case"):
        migrate(source, "folding:make")


# Lifetimes.


def test_lifetimes_left_are_kept_or_dropped(target, redis, redis_url):
    redis.set("memory_store:s:For ever", "x")
    redis.set("memory_store:s:A day", "y", px=86_400_000)
    redis.set("memory_store:s:Seconds", "z", px=90_500)
    done = migrate(redis_url, target)
    assert done.exit_code == 0
    items = read_plainly(target)["memory_store", "s", "entities"]
    assert "expires_at" not in items["For ever"]["meta"]
    left = {
        name: (
            datetime.fromisoformat(value["meta"]["expires_at"])
            - datetime.fromisoformat(value["meta"]["recorded_at"])
        ).total_seconds()
        for name, value in items.items()
        if name != "For ever"
    }
    assert 86_300 < left["A day"] <= 86_400
    assert 60 < left["Seconds"] <= 90.5
    kept = {row[1]: row[3] for row in store_rows(target)}
    # Whole minutes, rounded up: the store must not drop it before its time.
    assert kept == {"For ever": None, "A day": 1440, "Seconds": 2}


def test_lifetimes_can_be_dropped(target, redis, redis_url):
    redis.set("memory_store:s:A day", "y", px=86_400_000)
    assert migrate(redis_url, target, Options(ttl="drop")).exit_code == 0
    (value,) = read_plainly(target)["memory_store", "s", "entities"].values()
    assert "expires_at" not in value["meta"]
    assert [row[3] for row in store_rows(target)] == [None]


def test_an_extended_lifetime_brings_an_expired_copy_back(target, redis, redis_url):
    """The old application goes on reading, which extends lifetimes there alone."""
    redis.set("memory_store:s:Read often", "summary", px=1_500)
    assert migrate(redis_url, target).exit_code == 0
    redis.pexpire("memory_store:s:Read often", 86_400_000)
    import time

    time.sleep(1.6)
    from holdover.migrate.verify import verify

    checked = verify(redis_url, target)
    assert (checked.expired, checked.equal, checked.clean) == (1, 0, True)
    again = migrate(redis_url, target)
    assert again.copy.decisions == {"updated": 1}
    assert again.verify.equal == 1
    assert read_summaries(target) == {("memory_store", "s"): {"Read often": "summary"}}
    assert migrate(redis_url, target).copy.written == 0
