"""`open_store`: every form of address, opened once, without secrets in errors."""

import asyncio
import os
import sqlite3
import sys
import textwrap

import pytest
from langgraph.store.memory import InMemoryStore

from holdover.compat.errors import (
    AddressError,
    HoldoverError,
    StoreUnavailable,
    StoreUnsuitable,
)
from holdover.compat.repository import Repository
from holdover.compat.stores import opening
from holdover.compat.stores.opening import close_stores, open_store
from holdover.compat.stores.sqlite import HoldoverSqliteStore


@pytest.fixture(autouse=True)
def _closed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    yield
    close_stores()


def use(store):
    store.put(("a", "b"), "k", {"x": 1})
    assert store.get(("a", "b"), "k").value == {"x": 1}
    return store


@pytest.mark.parametrize(
    "form", ["a.db", "sqlite:///a.db", "{}/a.db", "sqlite:///{}/a.db"]
)
def test_sqlite_in_every_form_is_one_store(form, tmp_path):
    store = use(open_store(form.format(tmp_path)))
    assert isinstance(store, HoldoverSqliteStore)
    assert open_store("a.db") is store
    assert (tmp_path / "a.db").exists()
    assert store.conn.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_an_existing_file_keeps_its_journal_mode(tmp_path):
    conn = sqlite3.connect(tmp_path / "a.db")
    conn.execute("CREATE TABLE mine (x)")
    conn.close()
    store = use(open_store("a.db"))
    assert store.conn.execute("PRAGMA journal_mode").fetchone() == ("delete",)


def test_a_path_is_what_it_was_when_it_was_given(tmp_path, monkeypatch):
    here = use(open_store("a.db"))
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "sub")
    there = open_store("a.db")
    assert there is not here
    assert there.get(("a", "b"), "k") is None


def test_memory_is_one_store_of_the_process():
    store = use(open_store("memory://"))
    assert isinstance(store, InMemoryStore)
    assert open_store("memory://") is store


def test_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("STORE", "a.db")
    assert open_store("env:STORE") is open_store("a.db")


def test_postgresql(postgres_url):
    pytest.importorskip("langgraph.store.postgres")
    store = use(open_store(postgres_url))
    assert open_store(postgres_url) is store


def test_factory(tmp_path, monkeypatch):
    (tmp_path / "my_stores.py").write_text(
        textwrap.dedent(
            """
            from langgraph.store.memory import InMemoryStore
            calls = []
            def make():
                calls.append(1)
                return InMemoryStore()
            ready = InMemoryStore()
            def wrong():
                return {}
            def broken():
                raise OSError("the factory's own error")
            """
        )
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    store = use(open_store("my_stores:make"))
    assert open_store("my_stores:make") is store
    assert sys.modules["my_stores"].calls == [1]
    assert open_store("my_stores:ready") is sys.modules["my_stores"].ready
    with pytest.raises(AddressError, match="returned a dict"):
        open_store("my_stores:wrong")
    with pytest.raises(OSError, match="the factory's own"):
        open_store("my_stores:broken")
    for missing in ("my_stores:nothing", "no_such_module_at_all:make"):
        with pytest.raises(AddressError, match="cannot be imported"):
            open_store(missing)


@pytest.mark.parametrize(
    "address",
    [
        "ftp://h/x",
        "mysql://u:secret@h/db",
        "host=h user=u password=secret",
        "redis+x://h",
    ],
)
def test_other_addresses_are_refused(address, tmp_path):
    with pytest.raises(AddressError) as refused:
        open_store(address)
    assert "secret" not in str(refused.value)
    assert list(tmp_path.iterdir()) == []


def test_a_failed_opening_is_not_remembered(tmp_path):
    (tmp_path / "a.db").write_bytes(b"no database at all" * 100)
    with pytest.raises(StoreUnavailable, match=r"a\.db"):
        open_store("a.db")
    (tmp_path / "a.db").unlink()
    use(open_store("a.db"))


def test_folders_and_missing_folders(tmp_path):
    with pytest.raises(AddressError, match="folder"):
        open_store(str(tmp_path))
    with pytest.raises(StoreUnavailable):
        open_store(str(tmp_path / "no" / "such" / "folder.db"))


def test_without_setup_nothing_is_created(tmp_path):
    with pytest.raises(StoreUnavailable, match="does not exist"):
        open_store("a.db", setup=False)
    assert list(tmp_path.iterdir()) == []
    conn = sqlite3.connect(tmp_path / "a.db")
    conn.execute("CREATE TABLE mine (x)")
    conn.close()
    store = open_store("a.db", setup=False)
    with pytest.raises(ValueError, match="no such table"):
        store.get(("a",), "k")
    with pytest.raises(StoreUnavailable, match="no store yet"):
        Repository(store, "s").get("entity", "a")
    tables = store.conn.execute("SELECT name FROM sqlite_master").fetchall()
    assert tables == [("mine",)]
    # Who asks for the set-up later gets it.
    use(open_store("a.db"))


def test_postgresql_without_setup_creates_nothing(postgres_url):
    pytest.importorskip("langgraph.store.postgres")
    store = open_store(postgres_url, setup=False)
    with pytest.raises(StoreUnavailable, match="--setup-only"):
        Repository(store, "s").get("entity", "a")
    assert open_store(postgres_url) is not store
    assert Repository(store, "s").get("entity", "a") is None


@pytest.mark.parametrize("table", ["store", "store_migrations", "vector_migrations"])
def test_a_foreign_table_is_refused_and_left_alone(table, tmp_path):
    conn = sqlite3.connect(tmp_path / "a.db")
    conn.execute(f"CREATE TABLE {table} (key TEXT PRIMARY KEY, value TEXT)")
    conn.execute(f"INSERT INTO {table} VALUES ('k', 'v')")
    conn.commit()
    with pytest.raises(StoreUnsuitable, match="another file") as refused:
        open_store("a.db")
    assert refused.value.failed == (table,)
    tables = conn.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    assert tables.fetchall() == [(table,)]
    conn.close()


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://u:secret@127.0.0.1:1/db",
        "postgresql://u:sec%zzret@127.0.0.1/db",
        "postgresql://u:sec ret@127.0.0.1/db",
        "postgresql://u:sec/ret@127.0.0.1/db",
        "postgresql://u:sec@ret@127.0.0.1/db",
        "postgresql://u@127.0.0.1:1/db?password=secret",
        "postgresql://u@127.0.0.1:1/db?password=sec%zzret",
        "postgresql://u:secret@127.0.0.1:x/db",
        "postgresql://u:secret@127.0.0.1:1/db?nonsense=1",
    ],
)
def test_no_password_in_any_error(url):
    pytest.importorskip("langgraph.store.postgres")
    import traceback

    with pytest.raises(HoldoverError) as refused:
        open_store(url)
    told = "".join(traceback.format_exception(refused.value))
    shown = "\n".join(
        line
        for line in told.splitlines()
        if not line.lstrip().startswith(("File", "^"))
    )
    for part in ("secret", "sec%", "sec ", "ret@", "sec@"):
        assert part not in shown


def test_wrong_password_names_the_login_and_not_the_password(postgres_server):
    pytest.importorskip("langgraph.store.postgres")
    url = postgres_server.replace("postgres@", "nobody_here:secret@")
    with pytest.raises(StoreUnavailable, match="nobody_here") as refused:
        open_store(url)
    assert "secret" not in str(refused.value)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_fork_opens_its_own(tmp_path):
    store = use(open_store("a.db"))
    read, write = os.pipe()
    child = os.fork()
    if not child:
        # Not the parent's connection: that would break its locks.
        other = open_store("a.db")
        fine = other is not store and other.get(("a", "b"), "k") is not None
        os.write(write, b"y" if fine else b"n")
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(read, 1) == b"y"
    assert open_store("a.db") is store
    use(store)


@pytest.mark.parametrize(
    ("address", "form"),
    [
        ("postgres//u:s3cret@h/db", "postgresql://USER"),
        ("postgresql:/u:s3cret@h/db", "postgresql://USER"),
        ("postgresql;//u:s3cret@h", "postgresql://USER"),
        ("postgresql ://u:s3cret@h", "postgresql://USER"),
        ("postgresql+psycopg2:/u:s3cret@h/db", "postgresql://USER"),
        ("u:s3cret@h:5432/db", "postgresql://USER"),
        ("//u:s3cret@h:5432/db", "postgresql://USER"),
        ("u:s3/cr@t:s3cret@h:5432/db", "postgresql://USER"),
        ("sqlite://u:s3cret@h/db", "sqlite:///"),
        ("sqlite:u.s3cret.db", "sqlite:///"),
        ("redis:u:s3cret@h:6379", "redis://USER"),
        ("redis//s3cret@h:6379", "redis://USER"),
        ("upstash+https//s3cret@h", "upstash+https://HOST"),
        ("jdbc:postgresql://u:s3cret@h/db", "postgresql://USER"),
        ("DATABASE_URL=postgresql://u:s3cret@h/db", "postgresql://USER"),
        ("'postgresql://u:s3cret@h/db", "postgresql://USER"),
        ("postgresql+psycopg2://u:s3cret@h/db", "Leave it out: postgresql://"),
        (" 'postgresql+psycopg://u:s3cret@h/db' ", "Leave it out: postgresql://"),
        ("sqlite+aiosqlite:///s.db", "Leave it out: sqlite:///"),
    ],
)
def test_a_mistyped_address_is_refused_with_the_right_form(address, form, tmp_path):
    with pytest.raises(AddressError) as refused:
        open_store(address)
    assert form in str(refused.value)
    if "@" in address:
        assert "s3" not in str(refused.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("around", [" {}", "{}\n", "'{}'", '"{}"', " '{}' "])
def test_spaces_and_quotes_around_an_address_do_not_count(around, monkeypatch):
    store = open_store("sqlite:///a.db")
    for address in ("a.db", "sqlite:///a.db"):
        assert open_store(around.format(address)) is store
    monkeypatch.setenv("MY_STORE", around.format("sqlite:///a.db"))
    assert open_store("env:MY_STORE") is store
    assert open_store(around.format("env:MY_STORE")) is store


@pytest.mark.parametrize(
    "path", ["redis.db", "postgres/memory.db", "./a:b@c.db", "a@b.db", "sqlite"]
)
def test_paths_that_only_remind_of_a_url(path, tmp_path):
    (tmp_path / "postgres").mkdir()
    use(open_store(path))
    assert (tmp_path / path).exists()


def test_a_path_that_cannot_be_opened_is_shown_without_a_login(tmp_path):
    for address in ("/u:s3cret@h/db", "sqlite:///u:s3cret@h/db"):
        for setup in (True, False):
            with pytest.raises(StoreUnavailable) as refused:
                open_store(address, setup=setup)
            assert "s3cret" not in str(refused.value)


@pytest.mark.parametrize("address", ["", "  ", "''", '""'])
def test_an_empty_address_is_refused(address, monkeypatch):
    with pytest.raises(AddressError, match="is empty"):
        open_store(address)
    monkeypatch.setenv("MY_STORE", address)
    with pytest.raises(AddressError, match="MY_STORE is empty"):
        open_store("env:MY_STORE")


@pytest.mark.parametrize("address", [None, b"a.db", 7, {}])
def test_what_is_no_text_is_no_address(address):
    kind = type(address).__name__
    with pytest.raises(TypeError, match=f"takes an address, not a {kind}"):
        open_store(address)


def test_another_kind_of_file_is_called_so(tmp_path):
    (tmp_path / "a.db").write_bytes(b"no database at all" * 100)
    with pytest.raises(StoreUnavailable, match="another kind of file") as refused:
        open_store("a.db")
    assert "space" not in str(refused.value)


def test_a_factory_named_like_a_scheme_gets_the_right_form():
    with pytest.raises(AddressError, match="redis://USER"):
        open_store("redis:localhost")


def test_an_index_says_how_long_its_vectors_are(tmp_path):
    with pytest.raises(ValueError, match="'dims'"):
        open_store("a.db", index={"embed": lambda texts: [[1.0] for _ in texts]})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="an open file stays there")
@pytest.mark.parametrize("become", ["gone", "replaced"])
def test_a_file_that_is_not_the_same_any_more_is_opened_anew(become, tmp_path, caplog):
    store = use(open_store("a.db"))
    for file in tmp_path.iterdir():
        file.unlink()
    if become == "replaced":
        sqlite3.connect(tmp_path / "a.db").close()
    again = open_store("a.db")
    assert again is not store
    assert again.get(("a", "b"), "k") is None
    use(again)
    assert (tmp_path / "a.db").exists()
    assert "removed or replaced" in caplog.text
    assert open_store("a.db") is again
    # Who holds the old one is not cut off in the middle; closing closes it, too.
    assert store.get(("a", "b"), "k") is not None
    close_stores()
    with pytest.raises(sqlite3.ProgrammingError):
        store.get(("a",), "k")


def test_memory_in_sqlite_is_one_store():
    assert open_store("sqlite:///:memory:") is open_store("sqlite:///:memory:")


def test_closing_forgets(tmp_path):
    store = open_store("a.db")
    close_stores()
    assert open_store("a.db") is not store
    with pytest.raises(sqlite3.ProgrammingError):
        store.get(("a",), "k")


def test_two_threads_open_one_store(tmp_path):
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(16) as pool:
        stores = set(pool.map(lambda _: id(open_store("a.db")), range(64)))
    assert len(stores) == 1


def test_an_index_makes_another_store():
    index = {"dims": 3, "embed": lambda texts: [[float(len(t))] * 3 for t in texts]}
    pytest.importorskip("numpy")
    with_index = open_store("memory://", index=index)
    assert open_store("memory://") is not with_index
    assert open_store("memory://", index=dict(index)) is with_index
    assert with_index.index_config["dims"] == 3


def test_a_read_only_file_can_be_read(tmp_path):
    """Root may write everywhere, so another user tries."""
    use(open_store("a.db"))
    close_stores()
    conn = sqlite3.connect("a.db")
    conn.execute("PRAGMA journal_mode=DELETE")
    conn.close()
    (tmp_path / "a.db").chmod(0o444)
    tmp_path.chmod(0o555)
    if os.geteuid() == 0:
        for folder in (tmp_path, *tmp_path.parents):
            if folder.name.startswith(("pytest-", "popen-")):  # or of xdist
                folder.chmod(0o755)
    read, write = os.pipe()
    child = os.fork()
    if not child:
        try:
            if os.geteuid() == 0:
                os.setgid(65534)
                os.setuid(65534)
            answer = _read_and_try_to_write()
        except BaseException as error:
            answer = repr(error)
        os.write(write, answer.encode())
        os._exit(0)
    os.waitpid(child, 0)
    tmp_path.chmod(0o755)
    told = f"read; {tmp_path / 'a.db'} cannot be written."
    assert os.read(read, 10_000).decode() == told


def _read_and_try_to_write():
    store = open_store("a.db")
    assert store.get(("a", "b"), "k").value == {"x": 1}
    try:
        Repository(store, "s").put("entity", {"name": "a", "summary": "x"})
    except StoreUnavailable as error:
        return f"read; {Exception.__str__(error)}"
    return "written"


def test_nothing_is_shared_with_other_loops():
    """The store of a URL works from whichever loop asks."""

    async def use_it(n):
        store = open_store("a.db")
        await store.aput(("loops",), str(n), {"n": n})
        return len(await store.asearch(("loops",), limit=100))

    assert [asyncio.run(use_it(n)) for n in range(3)] == [1, 2, 3]


def test_module_state_is_not_replaced_by_a_fork_hook():
    assert opening._lock.acquire(timeout=1)
    opening._lock.release()
