"""The SQLite store: its schema, its locks, and rows as the stock store's own."""

import asyncio
import multiprocessing
import sqlite3
import threading
from contextlib import closing

import pytest
from backends import opened
from langgraph.store.base import GetOp, PutOp, SearchOp
from langgraph.store.sqlite import SqliteStore

from holdover.compat.errors import StoreUnavailable
from holdover.compat.repository import Repository
from holdover.compat.stores import sqlite
from holdover.compat.stores.opening import close_store, open_sqlite
from holdover.compat.stores.sqlite import HoldoverSqliteStore, ensure_schema


def stock(path, **options):
    conn = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
    return SqliteStore(conn, **options)


def schema(path):
    with closing(sqlite3.connect(path)) as conn:
        rows = conn.execute("SELECT type, name, tbl_name, sql FROM sqlite_master")
        steps = conn.execute("SELECT v FROM store_migrations ORDER BY v").fetchall()
        return sorted(rows.fetchall(), key=repr), steps


@pytest.fixture
def path(tmp_path):
    return tmp_path / "memory.db"


@pytest.fixture
def stock_schema(tmp_path):
    store = stock(tmp_path / "stock.db")
    store.setup()
    store.conn.close()
    return schema(tmp_path / "stock.db")


@pytest.fixture
def patient(monkeypatch):
    """Wait for a lock only a moment, and try only so often."""
    monkeypatch.setattr(sqlite, "BUSY_SECONDS", 0.05)
    monkeypatch.setattr("holdover.compat.stores.backend._ATTEMPTS", 3)


# --- the schema ---------------------------------------------------------------


def test_the_schema_is_the_stock_stores_to_the_byte(path, stock_schema):
    close_store(open_sqlite(str(path)))
    assert schema(path) == stock_schema


def test_the_vector_schema_is_the_stock_stores_to_the_byte(path, tmp_path):
    """The set-up of vectors in stock, without the extension it loads first."""
    with closing(sqlite3.connect(tmp_path / "stock.db")) as conn:
        store = stock(tmp_path / "stock.db")
        store.setup()
        store.conn.close()
        conn.executescript(
            """
                    CREATE TABLE IF NOT EXISTS vector_migrations (
                        v INTEGER PRIMARY KEY
                    )
                    """
        )
        for v, sql in enumerate(SqliteStore.VECTOR_MIGRATIONS):
            conn.executescript(sql)
            conn.execute("INSERT INTO vector_migrations (v) VALUES (?)", (v,))
        conn.commit()
    with closing(sqlite.connect(str(path))) as conn:
        ensure_schema(conn, vectors=True)

    def squeezed(found):
        return [(*row[:3], " ".join((row[3] or "").split())) for row in found[0]]

    assert squeezed(schema(path)) == squeezed(schema(tmp_path / "stock.db"))


def test_a_stock_set_up_afterwards_finds_nothing_to_do(path):
    close_store(open_sqlite(str(path)))
    before = path.read_bytes()
    store = stock(path)
    statements = []
    store.conn.set_trace_callback(statements.append)
    store.setup()
    store.conn.close()
    assert not [s for s in statements if s.lstrip().startswith(("ALTER", "INSERT"))]
    assert path.read_bytes() == before


def test_our_set_up_after_the_stock_one_writes_nothing(path):
    store = stock(path)
    store.setup()
    store.conn.close()
    before = path.read_bytes()
    close_store(open_sqlite(str(path)))
    assert path.read_bytes() == before


class Killed(Exception):
    """A stand-in for SIGKILL between two statements of an autocommit set-up."""


class StoppingConnection(sqlite3.Connection):
    """Runs so many statements and no more."""

    left = None

    def _one(self):
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                raise Killed

    def executescript(self, sql):
        self._one()
        return super().executescript(sql)

    def execute(self, sql, *arguments):
        if not sql.lstrip().startswith("SELECT"):
            self._one()
        return super().execute(sql, *arguments)


STATEMENTS = 1 + 2 * len(SqliteStore.MIGRATIONS)


@pytest.mark.parametrize("done", range(STATEMENTS + 1))
def test_a_stock_set_up_killed_anywhere_is_completed(done, path, stock_schema):
    conn = sqlite3.connect(path, isolation_level=None, factory=StoppingConnection)
    conn.left = done
    if done < STATEMENTS:
        with pytest.raises(Killed):
            SqliteStore(conn).setup()
    else:
        SqliteStore(conn).setup()
    conn.close()
    store = open_sqlite(str(path))
    store.put(("a",), "k", {"x": 1})
    assert store.get(("a",), "k").value == {"x": 1}
    close_store(store)
    assert schema(path) == stock_schema
    # And the stock store is content again.
    store = stock(path)
    assert store.get(("a",), "k").value == {"x": 1}
    store.conn.close()


def test_our_set_up_is_whole_or_not_at_all(path, monkeypatch):
    conn = sqlite3.connect(path, isolation_level=None, factory=StoppingConnection)
    for done in range(20):
        conn.left = done
        try:
            ensure_schema(conn, vectors=True)
        except Killed:
            conn.left = None
            if conn.in_transaction:
                conn.rollback()
            assert conn.execute("SELECT name FROM sqlite_master").fetchall() == []
        else:
            break
    else:
        pytest.fail("it never ended")
    assert done > 8
    conn.left = None
    assert sqlite.has_schema(conn)
    conn.close()


def open_and_put(path, n, barrier, failures):
    try:
        barrier.wait(60)
        store = open_sqlite(path)
        store.put(("first",), str(n), {"n": n})
        close_store(store)
    except BaseException as error:
        failures.put(repr(error))


@pytest.mark.parametrize("round_", range(3))
def test_eight_processes_set_up_one_file_at_once(path, round_, stock_schema):
    context = multiprocessing.get_context("fork")
    barrier, failures = context.Barrier(8), context.SimpleQueue()
    children = [
        context.Process(target=open_and_put, args=(str(path), n, barrier, failures))
        for n in range(8)
    ]
    for child in children:
        child.start()
    for child in children:
        child.join(120)
    assert failures.empty(), failures.get()
    assert schema(path) == stock_schema
    store = open_sqlite(str(path))
    assert len(store.search(("first",), limit=100)) == 8
    close_store(store)


def test_has_schema(path):
    with closing(sqlite.connect(str(path))) as conn:
        assert not sqlite.has_schema(conn)
        ensure_schema(conn, vectors=False)
        assert sqlite.has_schema(conn)


def test_a_read_only_connection_writes_nothing(path):
    close_store(open_sqlite(str(path)))
    with (
        closing(sqlite.connect(str(path), read_only=True)) as conn,
        pytest.raises(sqlite3.OperationalError, match="readonly"),
    ):
        conn.execute("DELETE FROM store")


# --- locks --------------------------------------------------------------------


@pytest.fixture(params=["sqlite", "stock-sqlite", "async-sqlite"])
def beside_a_reader(request, path, patient, loop):
    """A store, of ours and of the user's, on a file in rollback-journal mode."""
    with closing(sqlite3.connect(path)) as conn:
        conn.execute("CREATE TABLE mine (x)")
        conn.execute("INSERT INTO mine VALUES (1)")
        conn.commit()

    with opened(request.param, loop, path=path, url=None) as store:
        if request.param == "stock-sqlite":
            store.conn.execute("PRAGMA busy_timeout=50")
        elif request.param == "async-sqlite":
            loop.run(quick(store))
        yield store


async def quick(store):
    await store.conn.execute("PRAGMA busy_timeout=50")


def test_a_reader_during_our_commit_does_not_wedge_the_store(beside_a_reader, path):
    mine = Repository(beside_a_reader, ("root", "s"))
    mine.put("entity", {"name": "a", "summary": "before"})
    reader = sqlite3.connect(path, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM mine").fetchall()
    with pytest.raises(StoreUnavailable, match="lock"):
        mine.put("entity", {"name": "a", "summary": "during"})
    # The store works for readers meanwhile, and for everybody afterwards.
    assert mine.get("entity", "a").text == "before"
    reader.execute("COMMIT")
    reader.close()
    assert mine.put("entity", {"name": "a", "summary": "after"}) == "written"
    assert mine.get("entity", "a").text == "after"
    assert [s.text for s in mine.history("entity", "a")] == ["after", "before"]
    # Plain use of the same store, too.
    op = GetOp(mine.namespace("entity"), "a", refresh_ttl=False)
    assert beside_a_reader.batch([op])[0].value["content"]["summary"] == "after"


def test_a_lock_that_goes_away_in_time_is_waited_for(path, monkeypatch):
    monkeypatch.setattr(sqlite, "BUSY_SECONDS", 0.02)
    store = open_sqlite(str(path))
    mine = Repository(store, "s")
    writer = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    writer.execute("BEGIN IMMEDIATE")
    timer = threading.Timer(0.2, writer.execute, ["COMMIT"])
    timer.start()
    assert mine.put("entity", {"name": "a", "summary": "x"}) == "written"
    timer.join()
    writer.close()
    close_store(store)


def test_plain_use_of_our_store_survives_a_lock_timeout(path, patient):
    close_store(open_sqlite(str(path)))
    with closing(sqlite3.connect(path)) as conn:
        conn.execute("PRAGMA journal_mode=DELETE")
    store = open_sqlite(str(path))
    reader = sqlite3.connect(path, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM store").fetchall()
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        store.put(("a",), "k", {"x": 1})
    reader.execute("COMMIT")
    reader.close()
    assert store.get(("a",), "k") is None
    store.put(("a",), "k", {"x": 2})
    assert store.get(("a",), "k").value == {"x": 2}
    close_store(store)


def test_reading_and_writing_in_one_batch_waits_instead_of_failing(path):
    """An upgrade from reading to writing fails at once where another one writes."""
    stores = [open_sqlite(str(path)) for _ in range(2)]
    failures = []

    def work(store):
        for n in range(150):
            ops = [GetOp(("a",), "k"), PutOp(("a",), "k", {"n": n})]
            try:
                store.batch(ops)
            except sqlite3.Error as error:
                failures.append(error)

    threads = [threading.Thread(target=work, args=(store,)) for store in stores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    for store in stores:
        close_store(store)


# --- batches ------------------------------------------------------------------


def test_a_batch_happens_whole_or_not_at_all(path):
    store = open_sqlite(str(path))
    ops = [
        PutOp(("a",), "good", {"x": 1}),
        PutOp(("b",), "bad", {"x": {1, 2}}),
        PutOp(("c",), "good", {"x": 1}),
    ]
    with pytest.raises(TypeError):
        store.batch(ops)
    assert store.search((), limit=10) == []
    # Also where only SQLite finds out, half-way.
    store.conn.execute(
        "CREATE TRIGGER no BEFORE INSERT ON store WHEN NEW.prefix = 'b' "
        "BEGIN SELECT RAISE(ABORT, 'no'); END"
    )
    store.put(("a",), "old", {"x": 0})
    with pytest.raises((ValueError, sqlite3.Error), match="no"):
        store.batch([PutOp(("a",), "old", None), PutOp(("b",), "k", {"x": 1})])
    assert store.get(("a",), "old").value == {"x": 0}
    with pytest.raises(sqlite3.IntegrityError):
        Repository(store, "b").store.batch([PutOp(("b",), "k", {"x": 1})])
    store.put(("c",), "k", {"x": 1})
    close_store(store)


def test_a_journal_and_its_head_are_written_together_or_not(path):
    store = open_sqlite(str(path))
    mine = Repository(store, ("root", "s"))
    prefix = ".".join(mine.namespace("entity"))
    store.conn.execute(
        f"CREATE TRIGGER no BEFORE INSERT ON store WHEN NEW.prefix = '{prefix}' "
        "BEGIN SELECT RAISE(ABORT, 'no'); END"
    )
    with pytest.raises(sqlite3.IntegrityError):
        mine.put("entity", {"name": "a", "summary": "x"})
    assert store.conn.execute("SELECT count(*) FROM store").fetchone() == (0,)
    close_store(store)


def rows(path):
    columns = (
        "prefix, key, typeof(value), value, created_at, updated_at, "
        "typeof(expires_at), typeof(ttl_minutes), ttl_minutes"
    )
    with closing(sqlite3.connect(path)) as conn:
        found = conn.execute(f"SELECT {columns} FROM store ORDER BY prefix, key")
        return [
            (*row[:4], len(row[4]), len(row[5]), *row[6:]) for row in found.fetchall()
        ]


def test_direct_writes_make_the_rows_the_stock_store_makes(path, tmp_path):
    values = {
        "plain": {"x": 1, "é": "北京", "f": 1.5, "n": None},
        "nested": {"a": [{"b": [1, 2]}]},
    }
    ops = [PutOp(("a", "b"), key, value, index=False) for key, value in values.items()]
    ops.append(PutOp(("a", "ttl"), "k", {"x": 1}, index=False, ttl=90.0))
    ours, theirs = open_sqlite(str(path)), stock(tmp_path / "stock.db")
    sqlite.SqliteBackend(ours).write([ops])
    theirs.batch(ops)
    assert rows(path) == rows(tmp_path / "stock.db")
    (mine,), (their,) = (
        store.batch([GetOp(("a", "ttl"), "k")]) for store in (ours, theirs)
    )
    assert mine.value == their.value
    expiries = []
    for place in (path, tmp_path / "stock.db"):
        with closing(sqlite3.connect(place)) as conn:
            query = "SELECT expires_at FROM store WHERE ttl_minutes IS NOT NULL"
            expiries.append(conn.execute(query).fetchone()[0])
    assert [len(expiry) for expiry in expiries] == [len(expiries[1])] * 2
    assert expiries[0][10] == expiries[1][10]
    # The stock store's own sweep understands them.
    assert ours.sweep_ttl() == theirs.sweep_ttl() == 0
    theirs.conn.close()
    close_store(ours)


def test_swept_when_the_time_has_come(path):
    store = open_sqlite(str(path))
    ops = [PutOp(("a",), "gone", {"x": 1}, index=False, ttl=-1.0)]
    ops.append(PutOp(("a",), "stays", {"x": 1}, index=False, ttl=5.0))
    sqlite.SqliteBackend(store).write([ops])
    assert store.sweep_ttl() == 1
    assert [item.key for item in store.search(("a",))] == ["stays"]
    close_store(store)


def test_the_last_of_two_puts_of_a_key_wins(path):
    store = open_sqlite(str(path))
    backend = sqlite.SqliteBackend(store)

    def op(value):
        return PutOp(("a",), "k", value, index=False)

    for ops, left in [
        ([op({"n": 1}), op({"n": 2})], {"n": 2}),
        ([op({"n": 1}), op(None)], None),
        ([op(None), op({"n": 3})], {"n": 3}),
    ]:
        backend.write([ops])
        assert backend.read([(("a",), "k")]) == [left]
        assert backend.value("a", "k") == left
    close_store(store)


@pytest.mark.parametrize("encoding", ["UTF-8", "UTF-16le", "UTF-16be"])
def test_reads_of_many_keys_in_any_encoding(path, encoding):
    """SQLite sorts a UTF-16 file by other bytes than Python sorts text."""
    with closing(sqlite3.connect(path)) as conn:
        conn.execute(f"PRAGMA encoding='{encoding}'")
        conn.execute("CREATE TABLE mine (x)")
    store = open_sqlite(str(path))
    mine = Repository(store, "s")
    names = [chr(0x20 + 0x101 * n) + str(n) for n in range(60)]
    names += ["\U0001f389", "\ue000", "a", "b"]
    mine.put_many("entity", [{"name": n, "summary": f"is {n}"} for n in names])
    found = mine.get_many("entity", names)
    assert [record and record.text for record in found] == [f"is {n}" for n in names]
    assert sorted(r.name for r in mine.records("entity")) == sorted(names)
    close_store(store)


def test_reads_of_many_keys_among_very_many(path):
    store = open_sqlite(str(path))
    mine = Repository(store, "s", history=0)
    names = [f"{n:05}" for n in range(3_000)]
    mine.put_many("entity", [{"name": n, "summary": n} for n in names])
    wanted = [*names[::60], "missing", names[-1], names[0], "\U0001f389"]
    found = mine.get_many("entity", wanted)
    assert [record and record.text for record in found] == [
        name if name in names else None for name in wanted
    ]
    close_store(store)


def test_async_methods_of_our_store(path):
    store = open_sqlite(str(path))

    async def use():
        await asyncio.gather(*(store.aput(("a",), str(n), {"n": n}) for n in range(50)))
        items = await store.asearch(("a",), limit=100)
        await store.adelete(("a",), "0")
        return len(items), await store.aget(("a",), "0")

    assert asyncio.run(use()) == (50, None)
    close_store(store)


def test_threads_share_our_store(path):
    store = open_sqlite(str(path))
    failures = []

    def work(worker):
        try:
            for n in range(100):
                store.put(("t",), f"{worker}/{n}", {"n": n})
                assert store.get(("t",), f"{worker}/{n}").value == {"n": n}
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(store.search(("t",), limit=1000)) == 800
    close_store(store)


def test_a_user_made_store_with_default_connection_settings(path):
    """The README of LangGraph once showed `SqliteStore(sqlite3.connect(path))`."""
    conn = sqlite3.connect(path, check_same_thread=False)
    store = SqliteStore(conn)
    store.setup()
    conn.commit()
    mine = Repository(store, "s")
    mine.put("entity", {"name": "a", "summary": "x"})
    assert mine.get("entity", "a").text == "x"
    conn.close()


def test_the_user_may_read_inside_a_transaction(path):
    store = open_sqlite(str(path))
    mine = Repository(store, "s")
    mine.put("entity", {"name": "a", "summary": "x"})
    with store.lock, sqlite.atomically(store.conn, "DEFERRED"):
        assert mine.get("entity", "a").text == "x"
    close_store(store)


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("attempt to write a readonly database", "cannot be written"),
        ("database or disk is full", "disk is full"),
        ("database disk image is malformed", "damaged"),
        ("file is not a database", "not a SQLite database"),
        ("database is locked", "lock"),
        ("unable to open database file", "cannot be opened"),
    ],
)
def test_errors_are_sentences(message, told):
    error = sqlite3.OperationalError(message)
    translated = sqlite.translated(error)
    assert isinstance(translated, StoreUnavailable)
    assert told in str(translated)
    assert translated.hint
    assert translated.__cause__ is error
    wrapped = ValueError("as the stock store wraps it")
    wrapped.__cause__ = error
    assert told in str(sqlite.translated(wrapped))
    other = ValueError("something else")
    assert sqlite.translated(other) is other


@pytest.mark.parametrize("kind", [stock, lambda path: open_sqlite(str(path))])
def test_a_lock_held_for_long_names_the_file_and_what_was_written(kind, path, patient):
    store = kind(path)
    store.setup()
    store.conn.execute("PRAGMA busy_timeout=50")
    told = f"{path} was locked by another program .*nothing was written"
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnavailable, match=told):
            Repository(store, "s").put("entity", {"name": "a", "summary": "x"})
    assert Repository(store, "s").get("entity", "a") is None
    store.conn.close()


def test_it_is_a_stock_store_for_everybody_else(path):
    store = open_sqlite(str(path))
    assert isinstance(store, SqliteStore)
    assert isinstance(store, HoldoverSqliteStore)
    store.put(("a", "b"), "k", {"x": 1}, ttl=5)
    (found,) = store.batch([SearchOp(("a",), filter={"x": 1})])
    assert found[0].namespace == ("a", "b")
    assert store.list_namespaces(prefix=("a",)) == [("a", "b")]
    store.delete(("a", "b"), "k")
    assert store.get(("a", "b"), "k") is None
    close_store(store)
