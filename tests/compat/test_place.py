"""Which store an object uses, and under which scope."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
import sys
import threading
from uuid import UUID

import pytest
from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite import SqliteStore
from langgraph.store.sqlite.aio import AsyncSqliteStore

from holdover.compat import notices
from holdover.compat.chat_message_histories.store import StoreChatMessageHistory
from holdover.compat.configuration import configure, configured
from holdover.compat.errors import AddressError, InvalidScope
from holdover.compat.place import Place, reads_legacy
from holdover.compat.stores.opening import close_stores, open_store


@pytest.fixture(autouse=True)
def _closed():
    yield
    close_stores()


@pytest.mark.parametrize(
    ("given", "configures", "session", "owns", "expected"),
    [
        ("given", "configured", "s", "own", "given"),
        (None, "configured", "s", "own", "configured"),
        (None, "configured", None, "own", "configured"),
        (None, "configured", "s", None, "configured"),
        (None, "configured", None, None, None),
        (None, None, "s", "own", "own"),
        (None, None, "s", None, None),
    ],
)
def test_which_store(given, configures, session, owns, expected):
    stores = {name: InMemoryStore() for name in ("given", "configured", "own")}
    configure(store=stores.get(configures))
    own = (lambda: stores["own"]) if owns else None
    place = Place(stores.get(given), session=session, own_store=own)
    assert place.is_shared == (expected is not None)
    assert place.is_own == (expected == "own")
    if expected is None:
        with pytest.raises(ValueError, match=r"store=.*session_id= or scope="):
            _ = place.repository
    else:
        assert place.repository.store is stores[expected]


@pytest.mark.parametrize(
    ("arguments", "scope"),
    [
        ({}, ("memory_store", "default")),
        ({"session": "s"}, ("memory_store", "s")),
        ({"session": ""}, ("memory_store", "")),
        ({"session": "s", "root": "r"}, ("r", "s")),
        ({"session": "s", "scope": ("a", "b")}, ("a", "b")),
        ({"scope": "a"}, ("a",)),
        ({"session": "s", "own_session": "o"}, ("memory_store", "s")),
    ],
)
def test_which_scope(arguments, scope):
    place = Place(InMemoryStore(), **arguments)
    assert tuple(place.scope) == scope
    assert place.is_named == bool({"session", "scope"} & arguments.keys())


def test_the_session_of_an_own_store_is_another_one():
    place = Place(session="/a/chat", own_session="chat", own_store=InMemoryStore)
    assert tuple(place.scope) == ("memory_store", "chat")
    configure(store=InMemoryStore(), scope="acme")
    assert tuple(place.scope) == ("acme", "memory_store", "/a/chat")


def test_a_block_counts_for_what_is_made_in_it():
    store = InMemoryStore()
    with configured(store=store, scope="acme"):
        place = Place(session="s")
    configure(store=InMemoryStore())
    assert place.repository.store is store
    assert tuple(place.scope) == ("acme", "memory_store", "s")


def test_another_session_of_the_same_store():
    store = InMemoryStore()
    place = Place(store, root="r", scope=("a", "b"))
    assert place.repository.scope == ("a", "b")
    other = place.for_session("t")
    assert (other.repository.store, tuple(other.scope)) == (store, ("r", "t"))


def test_it_is_opened_once_by_many_threads():
    opened = []

    def own():
        opened.append(InMemoryStore())
        return opened[-1]

    place, start = Place(own_store=own), threading.Barrier(8)

    def use():
        start.wait()
        _ = place.repository

    threads = [threading.Thread(target=use) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(opened) == 1


def test_copies_and_pickles(tmp_path):
    place = Place(f"sqlite:///{tmp_path / 's.db'}", session="s")
    assert not place.is_open
    assert copy.deepcopy(place) is place
    place.repository.put("entity", {"name": "A", "summary": "x"})
    assert place.is_open
    again = pickle.loads(pickle.dumps(place))
    assert not again.is_open
    assert again.repository.get("entity", "A").text == "x"


@pytest.mark.skipif(
    "fork" not in multiprocessing.get_all_start_methods(), reason="no fork here"
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_process_opens_a_connection_of_its_own(tmp_path):
    place = Place(f"sqlite:///{tmp_path / 's.db'}", session="s")
    before = place.repository.store
    context = multiprocessing.get_context("fork")
    answers = context.Queue()

    def work():
        place.repository.put("entity", {"name": "A", "summary": "x"})
        answers.put(place.repository.store is before)

    child = context.Process(target=work)
    child.start()
    assert answers.get(timeout=30) is False
    child.join(30)
    assert place.repository.store is before
    assert place.repository.get("entity", "A").text == "x"


@pytest.mark.parametrize(
    ("make", "error", "told"),
    [
        (lambda: "", AddressError, "is empty"),
        (dict, TypeError, "not a dict"),
        (lambda: True, TypeError, "not a bool"),
        (lambda: InMemoryStore, TypeError, "is the class InMemoryStore"),
        (lambda: lambda: 0, TypeError, "not a function"),
        (
            lambda: StoreChatMessageHistory("s", InMemoryStore()),
            TypeError,
            "not a StoreChatMessageHistory",
        ),
        (
            lambda: SqliteStore.from_conn_string("x.db"),
            TypeError,
            "use `with … as store:`",
        ),
        (
            lambda: AsyncSqliteStore.from_conn_string("x.db"),
            TypeError,
            "use `async with … as store:`",
        ),
    ],
)
def test_what_is_no_store_is_refused_when_it_is_given(make, error, told):
    with pytest.raises(error, match=told) as refused:
        Place(make(), session="s")
    assert len(str(refused.value).split("\n")) == 1


@pytest.mark.parametrize(
    ("session", "name"),
    [
        ("s", "s"),
        (42, "42"),
        (UUID("0193a1c4-1f2e-7000-8000-000000000000"), None),
        (b"s", InvalidScope),
        (4.2, InvalidScope),
        (True, InvalidScope),
        (("a",), InvalidScope),
    ],
)
def test_what_may_be_a_session(session, name):
    store = InMemoryStore()
    if name is InvalidScope:
        with pytest.raises(InvalidScope, match="must be a string"):
            Place(store, session=session)
        with pytest.raises(InvalidScope, match="must be a string"):
            StoreChatMessageHistory(session, store)
        return
    text = name or str(session)
    assert Place(store, session=session).repository.scope == ("memory_store", text)
    other = Place(store, session="x").for_session(session)
    assert other.repository.scope == ("memory_store", text)
    assert StoreChatMessageHistory(session, store).session_id == text


def test_a_store_without_a_session_is_warned_of_once(monkeypatch):
    monkeypatch.setattr(notices, "_told", set())
    place = Place(InMemoryStore())
    with pytest.warns(UserWarning, match="shares the session 'default'") as warned:
        _ = place.repository
    assert warned[0].filename == __file__
    _ = Place(InMemoryStore()).repository


@pytest.mark.parametrize(
    "arguments", [{"session": "default"}, {"session": ""}, {"scope": "a"}]
)
def test_whoever_names_a_session_or_scope_is_not_warned(monkeypatch, arguments):
    monkeypatch.setattr(notices, "_told", set())
    _ = Place(InMemoryStore(), **arguments).repository
    _ = Place(own_store=InMemoryStore).repository


@pytest.mark.parametrize("happens", ["closed", "gone"])
@pytest.mark.skipif(sys.platform == "win32", reason="an open file stays there")
def test_a_store_that_is_closed_or_gone_is_opened_again(happens, tmp_path):
    path = tmp_path / "s.db"
    for place in (
        Place(str(path), session="s"),
        Place(session="s", own_store=lambda: open_store(str(path))),
    ):
        before = place.repository.store
        place.repository.put("entity", {"name": "A", "summary": "x"})
        if happens == "closed":
            close_stores()
            assert place.repository.get("entity", "A").text == "x"
        else:
            for file in tmp_path.iterdir():
                file.unlink()
            assert Place(str(path), session="s").repository.get("entity", "A") is None
            place.repository.put("entity", {"name": "B", "summary": "y"})
            found = Place(str(path), session="s").repository.get("entity", "B")
            assert found.text == "y"
        assert place.repository.store is not before


@pytest.mark.parametrize(
    ("argument", "variable", "expected"),
    [
        ("", None, True),
        ("off", None, False),
        ("", "off", False),
        ("", " OFF ", False),
        ("on", "off", True),
        ("OFF", "", False),
    ],
)
def test_whether_old_places_are_read(monkeypatch, argument, variable, expected):
    if variable is not None:
        monkeypatch.setenv("HOLDOVER_LEGACY", variable)
    assert reads_legacy(argument) is expected
