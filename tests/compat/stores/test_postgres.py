"""PostgreSQL: the schema, made once and completed, and reads by SQL."""

import multiprocessing
from contextlib import closing

import pytest

pytest.importorskip("langgraph.store.postgres")

import psycopg
import servers
from langgraph.store.base import GetOp, PutOp
from langgraph.store.postgres import PostgresStore
from psycopg.rows import dict_row

from holdover.compat.errors import HoldoverError, StoreUnavailable
from holdover.compat.repository import Repository
from holdover.compat.stores import postgres
from holdover.compat.stores.opening import close_store, open_store

SCHEMA = """
SELECT 'column', c.relname || '.' || a.attname, format_type(a.atttypid, a.atttypmod)
       || ' ' || a.attnotnull || ' ' || coalesce(pg_get_expr(d.adbin, d.adrelid), '')
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
WHERE n.nspname = 'public' AND c.relkind = 'r'
UNION ALL SELECT 'index', indexname, indexdef FROM pg_indexes
          WHERE schemaname = 'public'
UNION ALL SELECT 'constraint', conname, pg_get_constraintdef(oid) FROM pg_constraint
          WHERE connamespace = 'public'::regnamespace
UNION ALL SELECT 'extension', extname, extversion FROM pg_extension
UNION ALL SELECT 'invalid', indexrelid::regclass::text, '' FROM pg_index
          WHERE NOT indisvalid
ORDER BY 1, 2, 3
"""


def embed(texts):
    return [[float(len(text)), 1.0, 0.0] for text in texts]


INDEX = {"dims": 3, "embed": embed}
INDEXES = {
    "none": None,
    "hnsw": INDEX,
    "flat": {**INDEX, "ann_index_config": {"kind": "flat"}},
    "ivfflat": {**INDEX, "ann_index_config": {"kind": "ivfflat", "nlist": 2}},
}


def connect(url):
    return psycopg.connect(url, autocommit=True, row_factory=dict_row)


def schema(url):
    with psycopg.connect(url) as conn:
        rows = conn.execute(SCHEMA).fetchall()
        steps = conn.execute("SELECT v FROM store_migrations ORDER BY v").fetchall()
        if conn.execute("SELECT to_regclass('vector_migrations')").fetchone()[0]:
            steps += conn.execute(
                "SELECT v FROM vector_migrations ORDER BY v"
            ).fetchall()
        return rows, steps


@pytest.fixture
def second_url(postgres_server):
    """Another empty database, for the stock store."""
    from uuid import uuid4

    name = f"stock_{uuid4().hex}"
    with psycopg.connect(postgres_server, autocommit=True) as conn:
        conn.execute(f'CREATE DATABASE "{name}"')
    yield servers.with_database(postgres_server, name)
    with psycopg.connect(postgres_server, autocommit=True) as conn:
        conn.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


def ours(url, index=None):
    """Set a database up as `open_store` does."""
    store = PostgresStore(postgres.connect(url), index=index)
    try:
        postgres.ensure_schema(store, url)
    finally:
        store.conn.close()


def stock(url, index=None):
    with connect(url) as conn:
        PostgresStore(conn, index=index).setup()


@pytest.mark.parametrize("index", INDEXES)
def test_the_schema_is_the_stock_stores(index, postgres_url, second_url):
    ours(postgres_url, INDEXES[index])
    stock(second_url, INDEXES[index])
    assert schema(postgres_url) == schema(second_url)


class Recording:
    """A connection that notes its statements, or fails at one of them."""

    def __init__(self, conn, stop_after=None):
        self.conn, self.statements, self.left = conn, [], stop_after

    def install(self, monkeypatch):
        execute = psycopg.Cursor.execute
        recording = self

        def noting(cursor, query, *arguments, **options):
            if cursor.connection is recording.conn:
                if recording.left is not None:
                    recording.left -= 1
                    if recording.left < 0:
                        raise Killed
                recording.statements.append(str(query))
            return execute(cursor, query, *arguments, **options)

        monkeypatch.setattr(psycopg.Cursor, "execute", noting)


class Killed(Exception):
    """A stand-in for a kill between two statements of an autocommit set-up."""


@pytest.mark.parametrize("index", ["none", "hnsw", "flat"])
def test_a_stock_set_up_afterwards_finds_nothing_to_do(
    index, postgres_url, monkeypatch
):
    ours(postgres_url, INDEXES[index])
    with connect(postgres_url) as conn:
        recording = Recording(conn)
        recording.install(monkeypatch)
        PostgresStore(conn, index=INDEXES[index]).setup()
    for statement in recording.statements:
        # What it asks each time; `IF NOT EXISTS` of tables that exist.
        assert statement.split()[0] in ("SELECT", "CREATE"), statement
        if statement.split()[0] == "CREATE":
            assert "_migrations" in statement


def test_a_second_set_up_of_ours_changes_nothing(postgres_url, monkeypatch):
    ours(postgres_url)
    conn = postgres.connect(postgres_url)
    recording = Recording(conn)
    recording.install(monkeypatch)
    monkeypatch.setattr(postgres, "connect", lambda url: conn)
    store = PostgresStore(conn)
    postgres.ensure_schema(store, postgres_url)
    assert {statement.split()[0] for statement in recording.statements} == {"SELECT"}


@pytest.mark.parametrize("index", ["none", "hnsw"])
def test_a_stock_set_up_killed_anywhere_is_completed(
    index, postgres_url, second_url, monkeypatch
):
    stock(second_url, INDEXES[index])
    wanted = schema(second_url)
    for done in range(40):
        with psycopg.connect(postgres_url, autocommit=True) as conn:
            conn.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
            conn.execute("DROP EXTENSION IF EXISTS vector CASCADE")
        with monkeypatch.context() as patch, connect(postgres_url) as conn:
            Recording(conn, done).install(patch)
            try:
                PostgresStore(conn, index=INDEXES[index]).setup()
            except Killed:
                finished = False
            else:
                finished = True
        ours(postgres_url, INDEXES[index])
        assert schema(postgres_url) == wanted, done
        if finished:
            break
    assert done > 8


@pytest.mark.parametrize(
    ("name", "index"),
    [("store_prefix_idx", "none"), ("store_vectors_embedding_idx", "hnsw")],
)
@pytest.mark.parametrize("recorded", [True, False])
def test_an_invalid_index_is_built_again(
    name, index, recorded, postgres_url, second_url
):
    """`CREATE INDEX CONCURRENTLY` that was killed leaves one that is never used."""
    stock(second_url, INDEXES[index])
    stock(postgres_url, INDEXES[index])
    with psycopg.connect(postgres_url, autocommit=True) as conn:
        conn.execute(
            "UPDATE pg_index SET indisvalid = false, indisready = false "
            f"WHERE indexrelid = '{name}'::regclass"
        )
        if not recorded:
            table = "store_migrations" if index == "none" else "vector_migrations"
            conn.execute(
                f"DELETE FROM {table} WHERE v >= {1 if index == 'none' else 2}"
            )
    assert ("invalid", name, "") in schema(postgres_url)[0]
    ours(postgres_url, INDEXES[index])
    assert schema(postgres_url) == schema(second_url)


def set_up(url, barrier, failures, index):
    try:
        barrier.wait(60)
        ours(url, INDEX if index else None)
        store = open_store(url)
        store.put(("first",), str(multiprocessing.current_process().pid), {"x": 1})
        close_store(store)
    except BaseException as error:
        failures.put(repr(error))


@pytest.mark.parametrize("index", [False, True])
def test_eight_processes_set_up_one_database_at_once(index, postgres_url, second_url):
    stock(second_url, INDEX if index else None)
    context = multiprocessing.get_context("fork")
    barrier, failures = context.Barrier(8), context.SimpleQueue()
    children = [
        context.Process(target=set_up, args=(postgres_url, barrier, failures, index))
        for _ in range(8)
    ]
    for child in children:
        child.start()
    for child in children:
        child.join(120)
    assert failures.empty(), failures.get()
    assert schema(postgres_url) == schema(second_url)
    with psycopg.connect(postgres_url) as conn:
        assert conn.execute("SELECT count(*) FROM store").fetchone() == (8,)


def test_a_set_up_that_was_killed_leaves_no_lock(postgres_url):
    with connect(postgres_url) as conn, conn.cursor() as cur:
        cur.execute("SELECT pg_try_advisory_lock(%s)", (postgres._SETUP_LOCK,))
    # The connection is gone, and with it the lock.
    ours(postgres_url)


def test_waiting_for_another_set_up_ends(postgres_url, monkeypatch):
    monkeypatch.setattr(postgres, "_SETUP_SECONDS", 0.2)
    with connect(postgres_url) as conn:
        conn.execute("SELECT pg_advisory_lock(%s)", (postgres._SETUP_LOCK,))
        with pytest.raises(StoreUnavailable, match="setting up"):
            ours(postgres_url)


@pytest.fixture
def reader(postgres_server, postgres_url):
    """A role that may only read the store's table."""
    store = open_store(postgres_url)
    Repository(store, "s").put("entity", {"name": "a", "summary": "x"})
    close_store(store)
    role = "reader_" + postgres_url.rpartition("_")[2][:12]
    with psycopg.connect(postgres_url, autocommit=True) as conn:
        conn.execute(f"CREATE ROLE {role} LOGIN; GRANT SELECT ON store TO {role}")
    yield postgres_url.replace("postgres@", f"{role}@")
    with psycopg.connect(postgres_url, autocommit=True) as conn:
        conn.execute(f"REVOKE ALL ON store FROM {role}; DROP ROLE {role}")


def test_a_role_that_may_only_read_reads(reader):
    store = PostgresStore(postgres.connect(reader))
    mine = Repository(store, "s")
    assert mine.get("entity", "a").text == "x"
    assert [r.text for r in mine.page("entity")] == ["x"]
    assert mine.count("entity") == 1
    assert [s.text for s in mine.history("entity", "a")] == ["x"]
    assert [r.text for r, _ in mine.search("entity")] == ["x"]
    with pytest.raises(StoreUnavailable, match=r"permission denied.*least rights"):
        mine.put("entity", {"name": "a", "summary": "y"})
    store.conn.close()


def test_errors_quote_no_row(postgres_url):
    store = open_store(postgres_url)
    mine = Repository(store, "s")
    with psycopg.connect(postgres_url, autocommit=True) as conn:
        conn.execute("ALTER TABLE store ADD CHECK (key <> 'SECRET')")
    with pytest.raises(HoldoverError) as refused:
        mine.put("entity", {"name": "SECRET", "summary": "SECRET"})
    assert "SECRET" not in str(refused.value)
    close_store(store)


def test_a_batch_is_one_transaction(postgres_url):
    store = open_store(postgres_url)
    mine = Repository(store, "s")
    with psycopg.connect(postgres_url, autocommit=True) as conn:
        conn.execute("ALTER TABLE store ADD CHECK (prefix <> 's.entities')")
    with pytest.raises(StoreUnavailable):
        mine.put("entity", {"name": "a", "summary": "x"})
    # Not even its journal entry.
    with psycopg.connect(postgres_url) as conn:
        assert conn.execute("SELECT count(*) FROM store").fetchone() == (0,)
    close_store(store)


def test_a_dead_connection_is_replaced(postgres_url):
    store = open_store(postgres_url)
    mine = Repository(store, "s")
    mine.put("entity", {"name": "a", "summary": "x"})
    with psycopg.connect(postgres_url, autocommit=True) as conn:
        conn.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    assert mine.get("entity", "a").text == "x"
    close_store(store)


def test_longest_names_fit_the_primary_index(postgres_url):
    """An index row has 2,704 bytes, and random text does not shrink."""
    import secrets

    store = open_store(postgres_url)
    scope = tuple(secrets.token_hex(99) for _ in range(4))
    mine = Repository(store, scope)
    name = secrets.token_hex(2_000)
    mine.put("entity", {"name": name, "summary": "x"})
    mine.put("entity", {"name": name, "summary": "y"})
    mine.delete("entity", name)
    assert mine.restore("entity", name).name == name
    close_store(store)


@pytest.mark.parametrize("pipeline", [False, True])
def test_the_users_own_store(postgres_url, pipeline):
    stock(postgres_url)
    with PostgresStore.from_conn_string(postgres_url, pipeline=pipeline) as store:
        mine = Repository(store, "s")
        mine.put("entity", {"name": "a", "summary": "x"})
        assert mine.get("entity", "a").text == "x"
        assert [r.text for r in mine.page("entity")] == ["x"]
        assert mine.count("entity") == 1


def test_a_store_with_a_deserializer_of_its_own_is_read_plainly(postgres_url):
    stock(postgres_url)
    with closing(connect(postgres_url)) as conn:
        from langgraph.store.base import Item  # noqa: F401

        from holdover.compat.stores.backend import PlainBackend
        from holdover.compat.stores.choosing import backend_for

        def read(value):
            return {**value, "seen": True}

        store = PostgresStore(conn, deserializer=read)
        assert isinstance(backend_for(store), PlainBackend)


def test_index_and_search_by_meaning(postgres_url):
    store = open_store(postgres_url, INDEX)
    mine = Repository(store, "s")
    contents = [{"name": n, "summary": "x" * len(n)} for n in ("a", "bbbb", "c" * 40)]
    mine.put_many("entity", contents)
    found = mine.search("entity", "yyyy", limit=1)
    assert [r.name for r, _ in found] == ["bbbb"]
    assert found[0][1] is not None
    with psycopg.connect(postgres_url) as conn:
        # Only heads are embedded, never their journal.
        query = "SELECT DISTINCT prefix, field_name FROM store_vectors"
        assert conn.execute(query).fetchall() == [("s.entities", "content.summary")]
    mine.forget("entity", "a")
    with psycopg.connect(postgres_url) as conn:
        assert conn.execute("SELECT count(*) FROM store_vectors").fetchone() == (2,)
    close_store(store)


def test_plain_values_read_by_sql_are_those_of_the_store(postgres_url):
    store = open_store(postgres_url)
    values = [{"a": [1, 2.5, None, True, "é"]}, {}, {"b": {"c": 10**15}}, {"f": 1e-7}]
    ops = [PutOp(("n",), str(n), value) for n, value in enumerate(values)]
    store.batch(ops)
    backend = postgres.PostgresBackend(store)
    pairs = [(("n",), str(n)) for n in range(5)]
    by_sql = backend.read(pairs)
    by_store = store.batch([GetOp(*pair, refresh_ttl=False) for pair in pairs])
    assert by_sql == [item and item.value for item in by_store]
    assert [value for _, value in backend.page(("n",), None, 10, False)] == by_sql[:4]
    close_store(store)
