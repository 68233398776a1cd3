"""Tombstones: what was forgotten does not come back, and is not written down."""

import re

import pytest
from backends import Driven, OldPlace
from langgraph.store.base import SearchOp

from holdover.compat import tombstones
from holdover.compat.repository import Repository
from holdover.compat.stores.backend import run
from holdover.compat.tombstones import Keyring


def entity(name, summary):
    return {"name": name, "summary": summary}


@pytest.fixture
def forgotten(repository):
    mine = repository()
    mine.put("entity", entity("Alice Smith", "likes blue cheese"))
    mine.forget("entity", "Alice Smith")
    return mine


@pytest.mark.parametrize(
    "name",
    [
        "Alice Smith",
        "alice smith",
        " ALICE  SMITH\n",
        "\uff21lice Smith",
        "alice\u00a0smith",
    ],
)
def test_the_name_in_any_spelling_stays_away(forgotten, name, seen):
    assert forgotten.put("entity", entity(name, "something new")) == "tombstoned"
    assert forgotten.get("entity", name) is None
    assert [(e.name, e.count) for e in seen] == [("tombstoned", 1)]


@pytest.mark.parametrize("text", ["likes blue cheese", "LIKES  blue\tcheese "])
def test_the_value_stays_away_under_any_name(forgotten, text):
    assert forgotten.put("entity", entity("Somebody", text)) == "tombstoned"
    assert forgotten.put("entity", entity("Somebody", "else")) == "written"


def test_names_that_are_not_the_forgotten_one_are_learnt(forgotten):
    for name in ("Alice", "Alice Smithson", "AliceSmith", "Alice-Smith"):
        assert forgotten.put("entity", entity(name, f"is {name}")) == "written"


def test_other_scopes_and_kinds_are_not_concerned(forgotten, repository, scope):
    other = repository(scope=(scope[0], "other"))
    theirs = entity("Alice Smith", "likes blue cheese")
    assert other.put("entity", theirs) == "written"
    assert forgotten.put("turn", {"text": "likes blue cheese"}) == "written"


def test_every_earlier_value_stays_away(repository):
    mine = repository()
    for text in ("first", "second", "third"):
        mine.put("entity", entity("a", text))
    mine.delete("entity", "a")
    mine.forget("entity", "a")
    for text in ("first", "second", "third"):
        assert mine.put("entity", entity("b", text)) == "tombstoned"


def test_a_closed_scope_learns_nothing(repository):
    mine = repository()
    mine.put("entity", entity("a", "x"))
    assert mine.forget().whole_scope
    assert mine.put("entity", entity("new", "new")) == "tombstoned"
    assert mine.put("turn", {"text": "new"}) == "tombstoned"
    assert mine.put("message", {"data": {"x": 1}}, keys=["k"]) == "tombstoned"
    assert mine.count("entity") == mine.count("turn") == mine.count("message") == 0


def test_only_some_of_many_are_stopped(forgotten):
    contents = [
        entity("a", "x"),
        entity("alice smith", "y"),
        entity("b", ""),
        entity("c", "Likes Blue Cheese"),
    ]
    outcomes = forgotten.put_many("entity", contents)
    assert outcomes == ["written", "tombstoned", "empty", "tombstoned"]


def test_a_proposal_of_it_is_not_approved(forgotten):
    proposal = forgotten.propose("entity", entity("alice smith", "z"), "heard it")
    assert forgotten.approve("entity", proposal) == "tombstoned"
    assert forgotten.get("entity", "alice smith") is None
    assert forgotten.proposed("entity") == {}


def test_it_is_not_adopted_from_an_old_place(repository, seen):
    place = OldPlace(Alice="old", alice="older", Bob="likes blue cheese")
    mine = repository(legacy=place)
    mine.put("entity", entity("x", "likes blue cheese"))
    mine.forget("entity", "Alice")
    mine.forget("entity", "x")
    for name in ("Alice", "alice", "Bob"):
        assert mine.get("entity", name) is None
    assert "adopted" not in [event.name for event in seen]


def test_tombstones_hold_nothing_to_read(fresh, loop, way):
    mine = Driven(Repository(fresh("sqlite"), ("root", "the-session")), way, loop)
    mine.put("entity", entity("Alice", "likes cheese"))
    mine.forget("entity", "Alice")
    (items,) = mine.store.batch([SearchOp(tombstones.NAMESPACE, limit=100)])
    # Any, the name, the value.
    assert len(items) == 3
    for item in items:
        assert item.key == tombstones.ANY or re.fullmatch("[0-9a-f]{64}", item.key)
        assert item.value.keys() == {"kind", "meta"}
        assert item.value["meta"].keys() == {"v", "recorded_at"}


def test_the_key_is_made_once(repository, fresh):
    mine = repository(store=fresh("memory"))
    mine.forget("entity", "a")
    mine.forget("entity", "b")
    (keys,) = mine.store.batch([SearchOp(tombstones.KEYS, limit=10)])
    assert len(keys) == 1


def test_two_keys_made_at_once_both_count(fresh):
    store = fresh("memory")
    first, second = Repository(store, "s"), Repository(store, "s")
    one = tombstones.make_keyring(first._backend.put_op)
    other = tombstones.make_keyring(second._backend.put_op)
    backend = first._backend

    # Both look before either writes.
    step_one, step_other = one.send(None), other.send(None)
    answers = step_one.perform(backend), step_other.perform(backend)
    write_one, write_other = one.send(answers[0]), other.send(answers[1])
    write_one.perform(backend)
    write_other.perform(backend)
    assert len(run(backend, tombstones.read_keyring()).keys) == 2
    first.forget("entity", "a")
    assert second.put("entity", entity("a", "x")) == "tombstoned"


def test_the_environments_key(fresh, monkeypatch):
    monkeypatch.setenv(tombstones.ENVIRONMENT_KEY, "from the outside")
    store = fresh("memory")
    mine = Repository(store, "s")
    mine.forget("entity", "a")
    (keys,) = store.batch([SearchOp(tombstones.KEYS, limit=10)])
    assert keys == []
    digest = Keyring([b"from the outside"]).of_name(("s",), "entity", "a")[0]
    (items,) = store.batch([SearchOp(tombstones.NAMESPACE, limit=10)])
    assert digest in {item.key for item in items}
    assert mine.put("entity", entity("A", "x")) == "tombstoned"
    monkeypatch.setenv(tombstones.ENVIRONMENT_KEY, "another")
    assert mine.put("entity", entity("A", "x")) == "written"


def test_a_key_given_later_does_not_revive_what_was_forgotten(fresh, monkeypatch):
    mine = Repository(fresh("memory"), "s")
    mine.forget("entity", "a")
    monkeypatch.setenv(tombstones.ENVIRONMENT_KEY, "given later")
    assert mine.put("entity", entity("a", "x")) == "tombstoned"
    mine.forget("entity", "b")
    assert mine.put("entity", entity("b", "x")) == "tombstoned"


def test_digests_tell_apart_what_differs():
    ring = Keyring([b"k"])
    digests = [
        *ring.digests(("a", "b"), "name", "entity", "x"),
        *ring.digests(("a",), "b", "name", "entity", "x"),
        *ring.digests(("a", "b"), "value", "entity", "x"),
        *ring.digests(("a", "b"), "name", "turn", "x"),
        *ring.digests(("a", "b", "name"), "entity", "x"),
        *ring.of_scope(("a", "b")),
        *ring.of_scope(("a",)),
    ]
    assert len(set(digests)) == len(digests)
    assert Keyring([b"l"]).of_scope(("a",)) != ring.of_scope(("a",))


def test_writes_cost_no_tombstone_reads_where_there_are_none(fresh):
    mine = Repository(fresh("memory"), "s")
    read, asked = mine._backend.read, []
    mine._backend.read = lambda pairs: asked.append(pairs) or read(pairs)
    mine.put("entity", entity("a", "x"))
    assert len(asked) == 1
