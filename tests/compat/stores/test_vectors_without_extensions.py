"""An index in SQLite on a Python whose `sqlite3` cannot load extensions."""

import asyncio
import builtins
import functools
import math
import sqlite3
import sys

import pytest
import sqlite_vec
from langgraph.store.base import PutOp, SearchOp
from langgraph.store.sqlite import SqliteStore

from holdover.compat.errors import StoreUnsuitable
from holdover.compat.repository import Repository
from holdover.compat.stores import distances, sqlite
from holdover.compat.stores.opening import close_store, open_sqlite, open_store
from holdover.compat.testing.embedding import DIMENSIONS, embed, index_config

FUNCTIONS = ("vec_distance_cosine", "vec_distance_L2", "vec_distance_L1")


class WithoutExtensions(sqlite3.Connection):
    """A connection as a Python built without them has it."""

    @property
    def enable_load_extension(self):
        raise AttributeError("enable_load_extension")


class WithoutALibrary(sqlite3.Connection):
    """A connection that may load extensions, on a machine there is none for."""

    def enable_load_extension(self, _):
        pass

    def load_extension(self, path):
        raise sqlite3.OperationalError(f"{path}: cannot open shared object file")


@pytest.fixture(params=[WithoutExtensions, WithoutALibrary])
def unable(request, monkeypatch):
    """Let every connection be one of such a Python."""
    connect = functools.partial(sqlite3.connect, factory=request.param)
    monkeypatch.setattr(sqlite3, "connect", connect)


@pytest.fixture(params=["numpy", "plain"])
def functions(request, monkeypatch):
    """The functions by each way of counting."""
    if request.param == "numpy":
        pytest.importorskip("numpy")
    else:
        monkeypatch.setitem(sys.modules, "numpy", None)
    return distances._functions()


@pytest.fixture
def store(unable, tmp_path):
    store = open_sqlite(str(tmp_path / "a.db"), index_config())
    yield store
    close_store(store)


def blob(*numbers):
    return sqlite_vec.serialize_float32(list(numbers))


def keys(items):
    return [item.key for item in items]


@pytest.mark.parametrize(
    ("name", "one", "other", "wanted"),
    [
        ("vec_distance_cosine", (1, 0), (1, 0), 0.0),
        ("vec_distance_cosine", (1, 0), (0, 3), 1.0),
        ("vec_distance_cosine", (1, 0), (-2, 0), 2.0),
        ("vec_distance_cosine", (1, 0), (1, 1), 1 - math.sqrt(0.5)),
        ("vec_distance_cosine", (0, 0), (1, 1), None),
        ("vec_distance_L2", (1, 2), (4, 6), 5.0),
        ("vec_distance_L1", (1, 2), (4, -6), 11.0),
    ],
)
def test_distances(functions, name, one, other, wanted):
    got = functions[name](blob(*one), blob(*other))
    assert got == (wanted if wanted is None else pytest.approx(wanted, abs=1e-6))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_vectors_of_other_dimensions_are_refused(functions, name):
    with pytest.raises(ValueError, match="2 and of 3"):
        functions[name](blob(1, 2), blob(1, 2, 3))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_they_give_what_sqlite_vec_gives(functions, name):
    """With a SQLite that can load it, where one is installed."""
    module = sqlite3
    if not hasattr(sqlite3.Connection, "enable_load_extension"):
        module = pytest.importorskip("pysqlite3")
    conn = module.connect(":memory:")
    conn.enable_load_extension(True)
    sqlite_vec.load(conn)
    vectors = [blob(*(math.sin(row * 7 + at) for at in range(96))) for row in range(20)]
    vectors.append(blob(*[0.0] * 96))
    for one in vectors:
        for other in vectors[:3]:
            (theirs,) = conn.execute(f"SELECT {name}(?, ?)", (one, other)).fetchone()
            ours = functions[name](one, other)
            assert ours == (
                theirs if theirs is None else pytest.approx(theirs, abs=1e-4)
            )
    conn.close()


def test_numpy_is_not_needed(monkeypatch):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name == "numpy":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    assert distances._functions()["vec_distance_cosine"] is distances.cosine


def test_a_search_ranks_by_meaning(store):
    for key, text in {"far": "blue", "near": "red", "mid": "red blue"}.items():
        store.put(("a",), key, {"text": text})
    found = store.search(("a",), query="red")
    assert keys(found) == ["near", "mid", "far"]
    assert found[0].score == pytest.approx(1.0, abs=1e-3)


def test_async_searches_too(store):
    async def search():
        await store.aput(("a",), "k", {"text": "red"})
        return await store.asearch(("a",), query="red")

    assert keys(asyncio.run(search())) == ["k"]


def test_a_repository_searches(store):
    repository = Repository(store, ("root", "session"))
    repository.put("turn", {"text": "red"})
    repository.put("turn", {"text": "blue"})
    found = repository.search("turn", "blue", limit=1)
    assert [record.text for record, _ in found] == ["blue"]


def test_a_deleted_item_is_not_found(store):
    store.put(("a",), "k", {"text": "red"})
    store.delete(("a",), "k")
    assert store.search(("a",), query="red") == []


def test_search_and_writes_are_one_batch(store):
    put = PutOp(("a",), "k", {"text": "red"})
    assert store.batch([put, SearchOp(("a",), query="red")])[0] is None
    assert keys(store.search(("a",), query="red")) == ["k"]


def test_open_store_takes_an_index(unable, tmp_path):
    store = open_store(f"sqlite:///{tmp_path}/b.db", index=index_config())
    store.put(("a",), "k", {"text": "red"})
    assert keys(store.search(("a",), query="red")) == ["k"]


def test_a_file_keeps_its_vectors(unable, tmp_path):
    path = str(tmp_path / "a.db")
    first = open_sqlite(path, index_config())
    first.put(("a",), "k", {"text": "red"})
    close_store(first)
    again = open_sqlite(path, index_config())
    assert keys(again.search(("a",), query="red")) == ["k"]
    close_store(again)


def test_without_set_up_nothing_is_created(unable, tmp_path):
    path = tmp_path / "a.db"
    close_store(open_sqlite(str(path)))
    before = path.read_bytes()
    close_store(open_sqlite(str(path), index_config(), setup=False))
    assert path.read_bytes() == before


def test_a_store_of_ones_own_sets_itself_up(unable, tmp_path):
    conn = sqlite.connect(str(tmp_path / "a.db"))
    store = sqlite.HoldoverSqliteStore(conn, index=index_config())
    store.put(("a",), "k", {"text": "red"})
    assert keys(store.search(("a",), query="red")) == ["k"]
    assert store.get(("a",), "k").value == {"text": "red"}
    conn.close()


def test_a_store_that_can_load_it_uses_sqlite_vec(tmp_path):
    if not hasattr(sqlite3.Connection, "enable_load_extension"):
        pytest.skip("this Python's sqlite3 cannot load extensions")
    store = open_sqlite(str(tmp_path / "a.db"), index_config())
    assert store.conn.execute("SELECT vec_version()").fetchone()
    close_store(store)


def wrong(texts):
    return [[1.0, 0.0, 0.0] for _ in texts]


@pytest.mark.parametrize(
    "put",
    [
        lambda store: store.put(("a",), "k", {"text": "red"}),
        lambda store: Repository(store, "s").put("turn", {"text": "red"}),
    ],
)
def test_an_embedding_of_another_length_writes_nothing(put, tmp_path):
    store = open_sqlite(str(tmp_path / "b.db"), {**index_config(), "embed": wrong})
    told = f"vectors of 3 numbers, and the index says {DIMENSIONS}.*dims=3"
    with pytest.raises(StoreUnsuitable, match=told) as refused:
        put(store)
    assert refused.value.failed == ("dims",)
    for table in ("store", "store_vectors"):
        rows = store.conn.execute(f"SELECT count(*) FROM {table}").fetchone()
        assert rows == (0,)
    store.put(("a",), "k", {"text": "red"}, index=False)
    with pytest.raises(StoreUnsuitable, match=told):
        store.search(("a",), query="red")
    close_store(store)


@pytest.mark.parametrize("kind", [SqliteStore, sqlite.HoldoverSqliteStore])
def test_a_search_among_vectors_of_another_length_names_both(kind, tmp_path):
    path = str(tmp_path / "b.db")
    with_index = open_sqlite(path, index_config())
    Repository(with_index, "s").put("turn", {"text": "red"})
    close_store(with_index)
    conn = sqlite.connect(path)
    sqlite.load_vectors(conn)
    store = kind(conn, index={"dims": 3, "embed": wrong, "fields": ["text"]})
    store.is_setup = True  # the stock set-up wants to load an extension
    told = f"vectors of {DIMENSIONS} numbers, .* vectors of 3 numbers.*again"
    with pytest.raises(StoreUnsuitable, match=told):
        Repository(store, "s").search("turn", "red")
    conn.close()


def test_wrong_dimensions_are_an_error(store, tmp_path):
    store.put(("a",), "k", {"text": "red"})
    index = {"dims": 2, "embed": lambda texts: [[1.0, 0.0] for _ in texts]}
    other = open_sqlite(str(tmp_path / "a.db"), index)
    told = f"vectors of {DIMENSIONS} numbers, .* vectors of 2 numbers.*again"
    with pytest.raises(StoreUnsuitable, match=told) as refused:
        other.search(("a",), query="red")
    assert refused.value.failed == ("dims",)
    close_store(other)
    assert len(embed(["red"])[0]) == DIMENSIONS
