"""The entity store classes: the classic contract, on any store."""

import asyncio
import copy
import json
import multiprocessing
import os
import pickle
import shutil
import sqlite3
import subprocess
import sys
import threading
import warnings
from contextlib import closing
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from backends import Driven
from langgraph.store.base import GetOp
from langgraph.store.memory import InMemoryStore

from holdover.compat import base, configuration, notices
from holdover.compat.configuration import configure, configured
from holdover.compat.entity_stores import InMemoryEntityStore, SQLiteEntityStore
from holdover.compat.errors import HoldoverError, StoreUnavailable, StoreUnsuitable
from holdover.compat.stores.opening import close_stores, open_store

pytestmark = pytest.mark.filterwarnings("ignore:SQLiteEntityStore without a session_id")

DDL = 'CREATE TABLE "{}" (key TEXT PRIMARY KEY, value TEXT)'


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(notices, "_told", set())
    yield
    close_stores()


def old_file(path, table="memory_store_s1", **entities):
    """Make or extend a classic file."""
    with closing(sqlite3.connect(path)) as conn, conn:
        if not conn.execute(
            "SELECT 1 FROM sqlite_master WHERE name = ?", (table,)
        ).fetchone():
            conn.execute(DDL.format(table.replace('"', '""')))
        quoted = table.replace('"', '""')
        conn.executemany(
            f'INSERT OR REPLACE INTO "{quoted}" VALUES (?, ?)', entities.items()
        )


def table_of(path, table="memory_store_s1"):
    with closing(sqlite3.connect(path)) as conn:
        return dict(conn.execute(f'SELECT key, value FROM "{table}"').fetchall())


# --- the contract -------------------------------------------------------------

MAKERS = {
    "private": lambda store, session: InMemoryEntityStore(),
    "memory": lambda store, session: InMemoryEntityStore(store, session_id=session),
    "sqlite": lambda store, session: SQLiteEntityStore(session, store=store),
    "file": lambda store, session: SQLiteEntityStore(session, "own.db"),
}


@pytest.fixture(params=MAKERS)
def entities(request, store, way, loop):
    session = uuid4().hex
    return Driven(MAKERS[request.param](store, session), way, loop)


def test_the_five_methods(entities):
    assert entities.get("Alice") is None
    assert entities.get("Alice", "nobody") == "nobody"
    assert entities.exists("Alice") is False
    assert entities.set("Alice", "likes cheese") is None
    assert entities.get("Alice") == "likes cheese"
    assert entities.get("Alice", "nobody") == "likes cheese"
    assert entities.exists("Alice") is True
    entities.set("Alice", "likes cake")
    assert entities.get("Alice") == "likes cake"
    entities.set("Bob", "is tall")
    assert entities.delete("Alice") is None
    assert entities.exists("Alice") is False
    # A missing key is quiet, in every class.
    assert entities.delete("Alice") is None
    assert entities.clear() is None
    assert entities.get("Bob") is None
    entities.clear()


@pytest.mark.parametrize("nothing", ["", " \n", None])
def test_an_empty_summary_changes_nothing(entities, nothing):
    entities.set("Alice", "likes cheese")
    entities.set("Alice", nothing)
    assert entities.get("Alice") == "likes cheese"
    entities.set("Bob", nothing)
    assert entities.exists("Bob") is False


@pytest.mark.parametrize(
    "name", ["", " ", "a.b", "new\nline", "\ud800", "nul\x00", "~"]
)
def test_any_name(entities, name):
    entities.set(name, f"is {name}")
    assert entities.get(name) == f"is {name}"
    entities.delete(name)
    assert entities.exists(name) is False


SESSIONS = [
    "",
    " ",
    "user-1",
    "alice@example.com",
    str(UUID(int=7)),
    "nul\x00",
    "\ud800",
    "../../etc/passwd",
    "quote \" and '",
    "x" * 1_000,
    "langgraph",
    "~",
    "a.b",
    "ALICE@example.com",
]


def test_any_string_is_a_session_id(store):
    root = uuid4().hex
    of_each = {s: SQLiteEntityStore(s, "x.db", root, store=store) for s in SESSIONS}
    for session, entities in of_each.items():
        assert entities.session_id == session
        entities.set("who", f"is {session!r}")
    for session, entities in of_each.items():
        assert entities.get("who") == f"is {session!r}"
    of_each[" "].clear()
    assert [e.exists("who") for e in of_each.values()].count(False) == 1


@pytest.mark.parametrize("session", SESSIONS)
def test_any_session_in_a_file_of_its_own(session):
    entities = SQLiteEntityStore(session, "own.db")
    entities.set("who", "me")
    assert SQLiteEntityStore(session, "own.db").get("who") == "me"
    assert SQLiteEntityStore(session + "2", "own.db").get("who") is None


@pytest.mark.parametrize("session", [None, 5, uuid4()])
def test_what_is_no_string_is_refused_as_in_classic(session):
    with pytest.raises(ValueError, match="session_id"):
        SQLiteEntityStore(session)


def test_names_that_are_no_strings(store):
    entities = SQLiteEntityStore("s", store=store)
    entities.set(5, 7)
    assert entities.get("5") == "7"
    for wrong in (None, b"x"):
        with pytest.raises(TypeError):
            entities.get(wrong)
    with pytest.raises(TypeError):
        entities.set("x", b"bytes")


# --- constructors -------------------------------------------------------------


def test_the_classic_constructor_by_position(tmp_path):
    entities = SQLiteEntityStore("session", str(tmp_path / "e.db"), "table")
    assert entities.session_id == "session"
    assert entities.db_file == str(tmp_path / "e.db")
    assert entities.table_name == "table"
    assert entities.full_table_name == "table_session"
    assert entities.scope == ("table", "session")
    with pytest.raises(TypeError):
        SQLiteEntityStore("session", "e.db", "table", "one too many")


def test_the_classic_defaults():
    entities = SQLiteEntityStore()
    assert (entities.session_id, entities.db_file, entities.table_name) == (
        "default",
        "entities.db",
        "memory_store",
    )


def test_a_path_is_accepted(tmp_path):
    entities = SQLiteEntityStore("s", tmp_path / "e.db")
    entities.set("a", "x")
    assert (tmp_path / "e.db").exists()


def test_scope_replaces_root_and_session(store):
    scope = (uuid4().hex, "tenant", "user@example.com")
    entities = SQLiteEntityStore("ignored", store=store, scope=scope)
    entities.set("a", "x")
    assert entities.scope == scope
    assert InMemoryEntityStore(store, scope=scope).get("a") == "x"
    namespace = (scope[0], "tenant", "user@example~2ecom", "entities")
    (item,) = store.batch([GetOp(namespace, "a", refresh_ttl=False)])
    assert item.value["content"] == {"name": "a", "summary": "x"}


def test_the_default_session_warns_once():
    with pytest.warns(UserWarning, match="session_id") as told:
        SQLiteEntityStore(store=InMemoryStore())
    assert told[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SQLiteEntityStore(store=InMemoryStore())
        SQLiteEntityStore("named")
        SQLiteEntityStore(scope=("a", "b"))


def test_unknown_arguments_warn_once():
    for make in (
        lambda **more: SQLiteEntityStore("s", **more),
        InMemoryEntityStore,
    ):
        with pytest.warns(UserWarning, match="does not know.*nonsense") as told:
            make(nonsense=1)
        assert told[0].filename == __file__
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            make(nonsense=2)
        with pytest.warns(UserWarning, match="other"):
            make(other=1)


def test_constructing_warns_of_no_deprecation():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SQLiteEntityStore("s", "e.db", "t")
        InMemoryEntityStore()


def test_constructing_opens_nothing(tmp_path):
    opened = []
    connect = sqlite3.connect

    def counting(*arguments, **options):
        opened.append(arguments)
        return connect(*arguments, **options)

    sqlite3.connect = counting
    try:
        made = [SQLiteEntityStore(f"s{n}", "e.db") for n in range(1_000)]
        made += [
            SQLiteEntityStore(f"s{n}", store="postgresql://nobody:x@127.0.0.1:1/none")
            for n in range(1_000)
        ]
    finally:
        sqlite3.connect = connect
    assert len(made) == 2_000
    assert opened == []
    assert list(tmp_path.iterdir()) == []


def test_objects_of_one_file_share_its_store():
    stores = {id(SQLiteEntityStore(f"s{n}", "e.db").base_store) for n in range(50)}
    assert len(stores) == 1


def test_private_places_are_private():
    for place in (":memory:", ""):
        one, other = SQLiteEntityStore("s", place), SQLiteEntityStore("s", place)
        one.set("a", "x")
        assert (one.get("a"), other.get("a")) == ("x", None)


# --- which store --------------------------------------------------------------


def test_an_argument_is_before_the_configuration_is_before_the_own_file(tmp_path):
    given, default = InMemoryStore(), InMemoryStore()
    assert SQLiteEntityStore("s", "e.db").base_store is open_store("e.db")
    configure(store=default)
    assert SQLiteEntityStore("s", "e.db").base_store is default
    assert SQLiteEntityStore("s", "e.db", store=given).base_store is given
    inner = InMemoryStore()
    with configured(store=inner):
        assert SQLiteEntityStore("s", "e.db").base_store is inner
        assert SQLiteEntityStore("s", "e.db", store=given).base_store is given
    configure(store=None)
    assert SQLiteEntityStore("s", "e.db").base_store is open_store("e.db")


def test_a_store_by_address(tmp_path):
    by_address = SQLiteEntityStore("s", store="sqlite:///memory.db")
    by_address.set("a", "x")
    assert by_address.base_store is open_store("memory.db")
    configure(store="sqlite:///memory.db")
    assert SQLiteEntityStore("s").get("a") == "x"
    assert InMemoryEntityStore(session_id="s").get("a") == "x"
    assert not (tmp_path / "entities.db").exists()


def test_a_configured_scope_stands_before_the_own():
    configure(store=InMemoryStore(), scope=("tenant",))
    entities = SQLiteEntityStore("s")
    assert entities.scope == ("tenant", "memory_store", "s")
    assert SQLiteEntityStore("s", scope=("a", "b")).scope == ("a", "b")


def test_a_block_counts_for_what_is_made_in_it():
    inner = InMemoryStore()
    with configured(store=inner):
        entities = SQLiteEntityStore("s", "e.db")
    # First used only afterwards.
    assert entities.base_store is inner


def test_a_default_counts_for_what_is_made_before_it_is_set():
    """Modules make their memories when they are imported."""
    early = SQLiteEntityStore("s", "e.db")
    default = InMemoryStore()
    configure(store=default)
    assert early.base_store is default


def test_a_lossy_store_is_refused_unless_insisted():
    from backends import PlainStore

    lossy = type("RedisStore", (PlainStore,), {"__module__": "langgraph.store.redis"})
    with pytest.raises(StoreUnsuitable):
        SQLiteEntityStore("s", store=lossy()).get("a")
    SQLiteEntityStore("s", store=lossy(), unsafe=True).set("a", "x")


# --- the in-memory class ------------------------------------------------------


def test_a_mapping_keeps_its_classic_meaning():
    given = {"Alice": "likes cheese", "Empty": None}
    entities = InMemoryEntityStore(store=given)
    assert entities.store == given
    assert entities.get("Alice") == "likes cheese"
    assert entities.exists("Empty")
    assert entities.get("Empty", "default") is None
    entities.set("Bob", "is tall")
    assert "Bob" not in given
    entities.store["Carol"] = "sings"
    assert entities.get("Carol") == "sings"
    entities.store = {"Dave": "runs"}
    assert (entities.get("Dave"), entities.get("Alice")) == ("runs", None)


def test_without_a_store_objects_are_private_as_in_classic():
    configure(store=InMemoryStore())
    one, other = InMemoryEntityStore(), InMemoryEntityStore()
    one.set("a", "x")
    assert (one.get("a"), other.get("a")) == ("x", None)
    # With a session they share what is configured.
    one, other = (InMemoryEntityStore(session_id="s") for _ in range(2))
    one.set("a", "x")
    assert other.get("a") == "x"


def test_the_view_of_a_store_is_a_mapping(store, scope):
    entities = InMemoryEntityStore(store, scope=scope)
    view = entities.store
    view["Alice"] = "likes cheese"
    view["Bob"] = "is tall"
    assert entities.get("Alice") == "likes cheese"
    assert dict(view) == {"Alice": "likes cheese", "Bob": "is tall"}
    assert (len(view), "Alice" in view, "Carol" in view) == (2, True, False)
    assert view.get("Carol", "x") == "x"
    with pytest.raises(KeyError):
        view["Carol"]
    with pytest.raises(KeyError):
        del view["Carol"]
    assert repr(view) == repr(dict(view))
    assert view.pop("Bob") == "is tall"
    view.update(Dave="runs")
    assert sorted(view.items()) == [("Alice", "likes cheese"), ("Dave", "runs")]
    view.clear()
    assert list(view) == []


def test_replacing_the_mapping_of_a_store_replaces_its_entities(scope):
    store = InMemoryStore()
    entities = InMemoryEntityStore(store, scope=scope)
    entities.set("Alice", "x")
    entities.store = {"Bob": "y"}
    assert dict(InMemoryEntityStore(store, scope=scope).store) == {"Bob": "y"}


# --- old data -----------------------------------------------------------------


def test_old_data_is_found_and_never_changed(store, way, loop):
    old_file("e.db", Alice="likes cheese", Bob="is tall", Carol="sings", Dave="runs")
    before = Path("e.db").read_bytes()
    scope_root = uuid4().hex
    Path("e.db").rename(f"{scope_root}.db")
    entities = Driven(
        SQLiteEntityStore(
            "s1", f"{scope_root}.db", store=store, scope=(scope_root, "s1")
        ),
        way,
        loop,
    )
    assert entities.get("Alice") == "likes cheese"
    assert entities.exists("Bob")
    entities.set("Carol", "dances")
    entities.delete("Dave")
    assert entities.get("Carol") == "dances"
    assert entities.get("Dave") is None
    entities.clear()
    for name in ("Alice", "Bob", "Carol", "Dave"):
        assert entities.get(name) is None
    assert Path(f"{scope_root}.db").read_bytes() == before


def test_old_data_in_the_own_file_is_found_and_its_table_not_changed():
    old_file("e.db", Alice="likes cheese", Bob="is tall")
    entities = SQLiteEntityStore("s1", "e.db")
    assert entities.get("Alice") == "likes cheese"
    entities.set("Alice", "likes cake")
    entities.delete("Bob")
    again = SQLiteEntityStore("s1", "e.db")
    assert (again.get("Alice"), again.get("Bob")) == ("likes cake", None)
    assert table_of("e.db") == {"Alice": "likes cheese", "Bob": "is tall"}


def test_the_default_session_keeps_its_old_data():
    old_file("entities.db", "memory_store_default", Alice="likes cheese")
    assert SQLiteEntityStore().get("Alice") == "likes cheese"


def test_a_table_that_appears_later_is_found(monkeypatch):
    from holdover.compat.legacy import sqlite as legacy_sqlite

    monkeypatch.setattr(legacy_sqlite, "_RECHECK_SECONDS", 0)
    entities = SQLiteEntityStore("s1", "e.db", store=InMemoryStore())
    assert entities.get("Alice") is None
    old_file("e.db", Alice="likes cheese")
    assert entities.get("Alice") == "likes cheese"


@pytest.mark.parametrize("how", ["argument", "environment"])
def test_old_data_can_be_left_alone(how, monkeypatch):
    old_file("e.db", Alice="likes cheese")
    more = {"legacy": "off"}
    if how == "environment":
        monkeypatch.setenv("HOLDOVER_LEGACY", "off")
        more = {}
    assert SQLiteEntityStore("s1", "e.db", **more).get("Alice") is None


def test_a_session_reads_no_table_but_its_own():
    old_file("e.db", "memory_store_alice", who="alice")
    old_file("e.db", "memory_store_a", who="a")
    old_file("e.db", "other_root_alice", who="other")
    for session, root, found in [
        ("alice", "memory_store", "alice"),
        ("a", "memory_store", "a"),
        ("alice", "other_root", "other"),
        # SQLite would take these for the table of somebody else.
        ("Alice", "memory_store", None),
        ("ALICE", "memory_store", None),
        ("b", "memory_store", None),
        ('alice" --', "memory_store", None),
    ]:
        assert SQLiteEntityStore(session, "e.db", root).get("who") == found


def corpus_tables():
    """Every table of every classic file: (file, table, session, entities)."""
    folder = Path(__file__).parent.parent / "corpus"
    for manifest in sorted(folder.glob("*/sqlite_entity/MANIFEST.json")):
        told = json.loads(manifest.read_text())
        for name, content in told["files"].items():
            for n, kept in enumerate(content.get("stores", ())):
                label = f"{manifest.parent.parent.name}/{name}/{n}"
                yield pytest.param(manifest.parent / name, kept, id=label)


def copy_of(file, folder):
    """A copy with its journal or log; the corpus is never opened in place."""
    for part in file.parent.glob(f"{file.name}*"):
        if part.name[len(file.name) :] in ("", "-wal", "-shm", "-journal"):
            shutil.copy(part, folder / part.name)
    return folder / file.name


def whole(summary):
    """A summary, also where the manifest only says how long it is."""
    if isinstance(summary, str):
        return summary
    if "$repeat" not in summary:
        return summary.get("$physical_text")
    text, times = summary["$repeat"]
    return text * times


@pytest.mark.parametrize(("file", "kept"), list(corpus_tables()))
def test_every_old_table_reads_through(file, kept, tmp_path):
    place = copy_of(file, tmp_path)
    before = dump(place)
    root, session = kept["table_name"], kept["session_id"]
    entities = SQLiteEntityStore(session, place, root, store=InMemoryStore())
    # Some old releases took a name apart, or gave it to a session of other case.
    own = kept["physical_table"] == f"{root}_{session}"
    own = own and "shares_physical_table_with_session" not in kept
    told = {name: whole(summary) for name, summary in kept["entities"]}
    for _ in range(2):
        for name, summary in told.items():
            assert entities.get(name) == (summary if own else None), name
    for name, summary in told.items():
        assert entities.exists(name) is (own and summary is not None)
        entities.delete(name)
        assert entities.get(name) is None
    assert entities.get("no such name") is None
    assert dump(place) == before


def test_the_corpus_is_there():
    assert len(list(corpus_tables())) > 50


def dump(path):
    """Every row of every table, opened as any program would."""
    with closing(sqlite3.connect(path)) as conn:
        conn.text_factory = bytes
        query = "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY 1"
        names = [name.decode() for (name,) in conn.execute(query).fetchall()]
        found = {}
        for name in names:
            quoted = name.replace('"', '""')
            rows = conn.execute(f'SELECT * FROM "{quoted}"').fetchall()
            found[name] = sorted(rows, key=repr)
        return found


def test_a_file_left_in_the_middle_of_a_transaction(corpus, tmp_path):
    """What was not committed is never read, from either kind of place."""
    folder = corpus / "langchain-classic-1.0.8" / "sqlite_entity"
    place = copy_of(folder / "hot_journal.db", tmp_path)
    beside = SQLiteEntityStore("hot", place, store=InMemoryStore())
    with pytest.raises(StoreUnavailable, match="cannot be read"):
        beside.get("E000")
    # Our tables in the same file: opening it for writing puts it in order.
    assert SQLiteEntityStore("hot", place).get("E000").startswith("committed")
    again = SQLiteEntityStore("hot", place, store=InMemoryStore())
    assert again.get("E000").startswith("committed")


def test_rows_that_are_no_text_do_not_count(corpus, tmp_path):
    for name in ("null_and_empty_values.db", "invalid_utf8.db", "utf16.db"):
        shutil.copy(corpus / "handmade" / name, tmp_path / name)

    def of(file):
        with closing(sqlite3.connect(file)) as conn:
            conn.text_factory = bytes
            query = "SELECT name FROM sqlite_master WHERE type = 'table'"
            table = conn.execute(query).fetchone()[0].decode()
        root, _, session = table.rpartition("_")
        return SQLiteEntityStore(session, file, root, store=InMemoryStore())

    nulls = of("null_and_empty_values.db")
    found = [nulls.get(name) for name in ("ok", "nul", "empty", "int")]
    assert found == ["fine", None, None, "5"]
    assert of("utf16.db").get("北京") == "首都"
    with closing(sqlite3.connect("invalid_utf8.db")) as conn:
        conn.text_factory = bytes
        (bad,) = conn.execute("SELECT name FROM sqlite_master").fetchone()
        rows = conn.execute(f'SELECT key, value FROM "{bad.decode()}"').fetchall()
    invalid = of("invalid_utf8.db")
    for key, value in rows:
        try:
            name, wanted = key.decode(), value.decode()
        except UnicodeDecodeError:
            try:
                name, wanted = key.decode(), None
            except UnicodeDecodeError:
                continue
        assert invalid.get(name) == wanted


def test_an_old_file_that_cannot_be_read_is_an_error_not_an_empty_one(tmp_path):
    (tmp_path / "e.db").write_bytes(b"this is no database " * 100)
    entities = SQLiteEntityStore("s1", "e.db", store=InMemoryStore())
    with pytest.raises(StoreUnavailable, match=r"e\.db.*legacy='off'"):
        entities.get("Alice")
    off = SQLiteEntityStore("s1", "e.db", store=InMemoryStore(), legacy="off")
    assert off.get("Alice") is None


@pytest.mark.parametrize("place", ["missing.db", ".", "empty.db"])
def test_no_old_file_is_no_error(place, tmp_path):
    (tmp_path / "empty.db").touch()
    entities = SQLiteEntityStore("s1", place, store=InMemoryStore())
    entities.set("a", "x")
    assert entities.get("a") == "x"
    assert not (tmp_path / "missing.db").exists()
    assert (tmp_path / "empty.db").stat().st_size == 0


def test_an_old_table_that_goes_away_is_no_error():
    old_file("e.db", Alice="likes cheese", Bob="is tall")
    entities = SQLiteEntityStore("s1", "e.db", store=InMemoryStore())
    assert entities.get("Alice") == "likes cheese"
    with closing(sqlite3.connect("e.db")) as conn:
        conn.execute("DROP TABLE memory_store_s1")
    assert entities.get("Bob") is None
    assert entities.get("Alice") == "likes cheese"


def test_the_old_application_may_write_while_we_read():
    """No statement on its table stays open: it would keep the writer out."""
    old_file("e.db", Alice="likes cheese", Bob="is tall")
    entities = SQLiteEntityStore("s1", "e.db")
    assert entities.get("Alice") == "likes cheese"
    with closing(sqlite3.connect("e.db", timeout=0)) as conn, conn:
        conn.execute("UPDATE memory_store_s1 SET value = 'changed'")
    assert entities.get("Bob") == "changed"
    entities.set("Carol", "sings")
    with closing(sqlite3.connect("e.db", timeout=0)) as conn, conn:
        conn.execute("DROP TABLE memory_store_s1")


@pytest.mark.parametrize("table", ["store", "vector_migrations"])
def test_a_file_with_such_tables_is_refused_with_the_way_out(table, tmp_path):
    old_file("e.db", table, a="x")
    with pytest.raises(StoreUnsuitable, match="another file"):
        SQLiteEntityStore("s", "e.db").get("a")
    elsewhere = SQLiteEntityStore("s", "e.db", store="sqlite:///memory.db")
    elsewhere.set("a", "x")
    assert elsewhere.get("a") == "x"


def test_it_says_where_its_tables_go(caplog):
    SQLiteEntityStore("s", "said.db").set("a", "x")
    SQLiteEntityStore("t", "said.db").set("a", "x")
    assert caplog.text.count("said.db") == 1


# --- threads, tasks, processes ------------------------------------------------


def test_sixteen_threads_share_an_object(store, scope):
    entities = SQLiteEntityStore("s", store=store, scope=scope)
    together(16, lambda n: [entities.set(f"e{n}", f"{i}") for i in range(10)])
    assert [entities.get(f"e{n}") for n in range(16)] == ["9"] * 16


def test_threads_that_come_first_together_get_one_store():
    for _ in range(20):
        entities = SQLiteEntityStore("s", ":memory:")
        together(16, lambda n, entities=entities: entities.set(f"e{n}", "x"))
        assert [entities.get(f"e{n}") for n in range(16)] == ["x"] * 16


def test_threads_that_come_first_together_all_find_old_data():
    old_file("e.db", Alice="likes cheese")
    for _ in range(10):
        entities = SQLiteEntityStore("s1", "e.db", store=InMemoryStore())
        found = []
        together(8, lambda n, e=entities, f=found: f.append(e.get("Alice")))
        assert found == ["likes cheese"] * 8


def together(number, work):
    """Run in so many threads that begin at once."""
    barrier, failures = threading.Barrier(number), []

    def run(n):
        try:
            barrier.wait(30)
            work(n)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(n,)) for n in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_sixteen_tasks_share_an_object(store, scope, loop):
    entities = SQLiteEntityStore("s", store=store, scope=scope)

    async def work(n):
        for i in range(10):
            await entities.aset(f"e{n}", f"{i}")
            assert await entities.aget(f"e{n}") == f"{i}"

    async def all_of_them():
        await asyncio.gather(*(work(n) for n in range(16)))

    loop.run(all_of_them())
    assert [entities.get(f"e{n}") for n in range(16)] == ["9"] * 16


def in_a_child(entities, answers):
    try:
        entities.set("child", "x")
        answers.put((entities.get("parent"), id(entities.base_store)))
    except BaseException as error:
        answers.put(repr(error))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.parametrize("how", ["own file", "address"])
def test_an_object_that_was_used_before_a_fork_works_in_the_child(how):
    entities = SQLiteEntityStore("s", "e.db")
    if how == "address":
        entities = SQLiteEntityStore("s", store="sqlite:///memory.db")
    entities.set("parent", "x")
    context = multiprocessing.get_context("fork")
    answers = context.SimpleQueue()
    children = [
        context.Process(target=in_a_child, args=(entities, answers)) for _ in range(4)
    ]
    for child in children:
        child.start()
    for child in children:
        child.join(60)
    for _ in children:
        found, opened = answers.get()
        assert found == "x"
        assert opened != id(entities.base_store)
    entities.set("parent", "y")
    assert entities.get("child") == "x"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_fork_keeps_what_an_object_holds_alone():
    entities = SQLiteEntityStore("s", ":memory:")
    entities.set("parent", "x")
    context = multiprocessing.get_context("fork")
    answers = context.SimpleQueue()
    child = context.Process(target=in_a_child, args=(entities, answers))
    child.start()
    child.join(60)
    assert answers.get()[0] == "x"


# --- pydantic -----------------------------------------------------------------


@pytest.fixture(params=["unused", "used"])
def any_object(request):
    entities = SQLiteEntityStore("s", "e.db", "t", history=7)
    if request.param == "used":
        entities.set("a", "x")
    return entities


def test_dumps(any_object):
    fields = {"session_id": "s", "table_name": "t", "db_file": "e.db"}
    assert any_object.model_dump() == fields
    assert json.loads(any_object.model_dump_json()) == fields
    assert "session_id='s'" in repr(any_object)
    InMemoryEntityStore(store={"a": "x"}).model_dump()
    assert SQLiteEntityStore(**fields).scope == any_object.scope


@pytest.mark.parametrize(
    "duplicate",
    [
        copy.copy,
        copy.deepcopy,
        lambda e: e.model_copy(),
        lambda e: e.model_copy(deep=True),
        lambda e: pickle.loads(pickle.dumps(e)),
    ],
    ids=["copy", "deepcopy", "model_copy", "deep model_copy", "pickle"],
)
def test_copies(any_object, duplicate):
    other = duplicate(any_object)
    other.set("b", "y")
    assert any_object.get("b") == "y"
    assert other.get("a") == any_object.get("a")
    assert other.scope == any_object.scope == ("t", "s")
    assert other._place._history == 7


@pytest.mark.parametrize(
    "duplicate",
    [copy.deepcopy, lambda e: pickle.loads(pickle.dumps(e))],
    ids=["deepcopy", "pickle"],
)
def test_a_deep_copy_of_private_entities_is_its_own(duplicate):
    entities = InMemoryEntityStore(store={"a": "x"})
    other = duplicate(entities)
    assert other.store == {"a": "x"}
    other.set("b", "y")
    assert entities.store == {"a": "x"}


def test_a_deep_copy_of_a_view_works_on_the_same_store(scope):
    store = InMemoryStore()
    entities = InMemoryEntityStore(store, scope=scope)
    other = copy.deepcopy(entities)
    other.store["a"] = "x"
    assert entities.get("a") == "x"


def test_equality_and_assignment(any_object):
    assert any_object.model_copy() == any_object
    any_object.session_id = "other"
    assert any_object.session_id == "other"


def test_validation_in_a_model_accepts_an_instance(any_object):
    from pydantic import BaseModel

    class Holder(BaseModel):
        entities: base.BaseEntityStore

    assert Holder(entities=any_object).entities is any_object


# --- beside classic -----------------------------------------------------------


def test_an_old_chain_runs_on_it(tmp_path):
    if base.CLASSIC is None:
        pytest.skip("no classic classes in this environment")
    code = f"""
import warnings; warnings.simplefilter("ignore")
from {base.CLASSIC}.chains import ConversationChain
from {base.CLASSIC}.memory import ConversationEntityMemory
from {base.CLASSIC}.memory.entity import BaseEntityStore
from {base.CLASSIC}.memory.prompt import ENTITY_MEMORY_CONVERSATION_TEMPLATE as TEMPLATE
from langchain_core.language_models import FakeListLLM
from holdover.compat import SQLiteEntityStore
entities = SQLiteEntityStore("session@example.com", "chain.db")
assert isinstance(entities, BaseEntityStore)
llm = FakeListLLM(responses=["Deven", "Hello Deven!", "Deven works on a hackathon."])
memory = ConversationEntityMemory(llm=llm, entity_store=entities)
assert memory.entity_store is entities
chain = ConversationChain(llm=llm, prompt=TEMPLATE, memory=memory)
print(chain.predict(input="I am Deven."))
print(entities.get("Deven"))
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["Hello Deven!", "Deven works on a hackathon."]
    store = open_store(str(tmp_path / "chain.db"))
    (item,) = store.search(("memory_store", "session@example~2ecom", "entities"))
    assert item.key == "Deven"


def test_old_and_new_application_share_a_file(tmp_path):
    """Old code writes its table, new code reads it, neither breaks the other."""
    if base.CLASSIC is None:
        pytest.skip("no classic classes in this environment")
    code = f"""
import sys, warnings; warnings.simplefilter("ignore")
from {base.CLASSIC}.memory.entity import SQLiteEntityStore
entities = SQLiteEntityStore("s1", "e.db")
entities.set("Alice", sys.argv[1])
print(entities.get("Alice"), entities.exists("Bob"))
"""

    def old(text):
        done = subprocess.run(
            [sys.executable, "-c", code, text],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    assert old("one") == "one False"
    entities = SQLiteEntityStore("s1", "e.db")
    assert entities.get("Alice") == "one"
    entities.set("Alice", "ours")
    entities.set("Bob", "ours")
    assert old("two") == "two False"
    assert entities.get("Alice") == "ours"


def test_one_class_by_every_path():
    import holdover.compat

    assert holdover.compat.SQLiteEntityStore is SQLiteEntityStore
    assert holdover.compat.InMemoryEntityStore is InMemoryEntityStore
    assert issubclass(SQLiteEntityStore, holdover.compat.BaseEntityStore)
    with pytest.raises(AttributeError):
        holdover.compat.NoSuchName  # noqa: B018
    assert "open_store" in dir(holdover.compat)
    assert issubclass(StoreUnsuitable, HoldoverError)


def test_the_configuration_is_clean_afterwards():
    assert configuration.configuration().store is None


def test_the_connection_that_classic_users_close(tmp_path):
    store = SQLiteEntityStore("s1", db_file=str(tmp_path / "e.db"))
    store.set("Ann", "a painter")
    assert "_conn" not in store.model_dump()
    assert store.conn.execute("SELECT count(*) FROM store").fetchone()[0] > 0
    assert store.conn is store.conn
    assert pickle.loads(pickle.dumps(store)).get("Ann") == "a painter"
    store.conn.close()
    assert store.get("Ann") == "a painter"


def test_a_copy_with_another_session_is_about_other_entities(tmp_path):
    store = SQLiteEntityStore("s1", db_file=str(tmp_path / "e.db"))
    store.set("Ann", "a painter")
    other = store.model_copy(update={"session_id": "s2"})
    assert other.get("Ann") is None
    other.set("Bob", "a cook")
    assert (store.exists("Bob"), other.exists("Bob")) == (False, True)
