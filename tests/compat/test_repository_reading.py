"""Reading: exactly this scope's records, in key order, whatever the store answers."""

import warnings
from uuid import uuid4

import pytest
from backends import Driven, PlainStore, put_plainly
from langgraph.store.base import SearchOp
from langgraph.store.memory import InMemoryStore

from holdover.compat.repository import Repository


def entity(name, summary):
    return {"name": name, "summary": summary}


class LeakyStore(PlainStore):
    """Answers a search by the text of the prefix, and only so many at a time.

    So do the stores before the fix of CVE-2026-71433, and LangGraph's RedisStore.
    """

    def batch(self, ops):
        return [self._leak(op) for op in ops]

    async def abatch(self, ops):
        return self.batch(ops)

    def _leak(self, op):
        if not isinstance(op, SearchOp):
            return self.inner.batch([op])[0]
        text = ".".join(op.namespace_prefix).lower()
        everything = self.inner.batch([SearchOp((), limit=10**6)])[0]
        found = [
            i for i in everything if ".".join(i.namespace).lower().startswith(text)
        ]
        return found[op.offset : op.offset + op.limit]


@pytest.fixture
def leaky(scope):
    """A store where 60 items of neighbours come before ours."""
    store = LeakyStore()
    root = scope[0]
    neighbours = [
        (root, "session1"),
        (root, "SESSION"),
        (root, "session", "entities"),
        (root, "session-too"),
    ]
    for neighbour in neighbours:
        theirs = Repository(store, neighbour)
        theirs.put_many("entity", [entity(f"n{n}", "theirs") for n in range(15)])
    mine = Repository(store, scope)
    mine.put_many("entity", [entity(f"own{n}", "mine") for n in range(12)])
    return store


def test_a_leaking_search_is_filtered_and_refilled(leaky, scope, way, loop):
    mine = Driven(Repository(leaky, scope), way, loop)
    for limit in (1, 5, 12, 100):
        found = mine.search("entity", limit=limit)
        assert len(found) == min(limit, 12)
        assert {record.text for record, _ in found} == {"mine"}


def test_a_leaking_store_does_not_leak_pages_counts_or_clears(leaky, scope, way, loop):
    mine = Driven(Repository(leaky, scope), way, loop)
    assert mine.count("entity") == 12
    assert {r.text for r in mine.page("entity")} == {"mine"}
    assert mine.clear("entity") == 12
    assert mine.count("entity") == 0
    theirs = Driven(Repository(leaky, (scope[0], "session1")), way, loop)
    assert theirs.count("entity") == 15


def test_a_search_ends_on_a_store_that_answers_no_more(scope):
    class Capped(LeakyStore):
        def _leak(self, op):
            found = super()._leak(op)
            return found[:7] if isinstance(op, SearchOp) else found

    mine = Repository(Capped(), scope)
    mine.put_many("entity", [entity(f"{n}", "mine") for n in range(20)])
    assert len(mine.search("entity", limit=10)) == 7


def test_scopes_and_kinds_are_apart(repository, scope):
    root = scope[0]
    scopes = [
        (root, "user1"),
        (root, "user10"),
        (root, "user"),
        (root, "User1"),
        (root, "user1", "entities"),
        (root, "users"),
        (root, "a_b"),
        (root, "aXb"),
        (root, "a%b"),
        (root, "a*b"),
        (root, "a.b"),
        (root, "a", "b"),
        (root, ""),
        (root, "~"),
        (root, "journal"),
        (root,),
    ]
    all_of_them = [repository(scope=one) for one in scopes]
    for n, mine in enumerate(all_of_them):
        mine.put("entity", entity("name", f"of {n}"))
        mine.put("summary", {"text": f"summary of {n}"})
    for n, mine in enumerate(all_of_them):
        assert mine.get("entity", "name").text == f"of {n}"
        assert [r.text for r in mine.page("entity")] == [f"of {n}"]
        assert [r.text for r, _ in mine.search("entity")] == [f"of {n}"]
        assert [s.text for s in mine.history("entity", "name")] == [f"of {n}"]
        assert mine.count("entity") == 1
        assert mine.get("summary", "current").text == f"summary of {n}"
    all_of_them[0].clear("entity")
    assert [mine.count("entity") for mine in all_of_them] == [0] + [1] * 15
    assert all_of_them[0].count("summary") == 1


def test_internal_items_are_below_no_scope(repository, scope):
    mine = repository(history="all")
    for text in ("one", "two"):
        mine.put("entity", entity("a", text))
    mine.propose("entity", entity("b", "pending"), "why")
    mine.delete("entity", "x")
    mine.forget("entity", "y")
    op = SearchOp((scope[0],), limit=100, refresh_ttl=False)
    (found,) = mine.store.batch([op])
    assert [(item.namespace, item.key) for item in found] == [
        ((*scope, "entities"), "a")
    ]


def test_pages_both_ways(repository):
    mine = repository()
    names = ["", " a", "B", "a", "a b", "b", "é", "\U0001f389", *map(str, range(20))]
    mine.put_many("entity", [entity(name, f"is {name}") for name in names])
    assert mine.count("entity") == len(names)
    forward, after = [], None
    while page := mine.page("entity", after=after, limit=7):
        assert len(page) <= 7
        forward += page
        after = page[-1].key
    assert sorted(r.name for r in forward) == sorted(names)
    keys = [r.key for r in forward]
    assert keys == sorted(keys)
    assert [r.name for r in mine.records("entity")] == [r.name for r in forward]
    backward, after = [], None
    while page := mine.page("entity", after=after, limit=7, reverse=True):
        backward += page
        after = page[-1].key
    assert [r.key for r in backward] == keys[::-1]


def test_pages_skip_what_is_not_shown(repository):
    mine = repository()
    mine.put_many("entity", [entity(f"{n:02}", "x") for n in range(30)])
    for n in range(0, 30, 2):
        put_plainly(mine.store, mine.namespace("entity"), f"{n:02}", {"no": "text"})
    assert [r.name for r in mine.page("entity", limit=10)] == [
        f"{n:02}" for n in range(1, 21, 2)
    ]
    assert len(list(mine.records("entity"))) == 15


def test_many_keys_in_order(repository):
    mine = repository()
    mine.put_many("entity", [entity(n, f"is {n}") for n in "abc"])
    found = mine.get_many("entity", ["c", "missing", "a", "c"])
    assert [record and record.text for record in found] == [
        "is c",
        None,
        "is a",
        "is c",
    ]


def test_foreign_items_are_shown_or_skipped_and_counted(repository, seen):
    mine = repository()
    namespace = mine.namespace("entity")
    put_plainly(mine.store, namespace, "note", {"text": "an agent's note"})
    put_plainly(mine.store, namespace, "other", {"n": 1})
    note = mine.get("entity", "note")
    assert (note.text, note.foreign) == ("an agent's note", True)
    assert mine.get("entity", "other") is None
    assert [r.key for r in mine.page("entity")] == ["note"]
    assert [r.key for r, _ in mine.search("entity")] == ["note"]
    assert {event.name for event in seen} == {"foreign_item"}


def test_reading_changes_nothing(fresh, loop, way):
    for kind in ("sqlite", "postgres"):
        store = fresh(kind)
        mine = Driven(Repository(store, ("root", "s")), way, loop)
        mine.put("entity", entity("a", "x"))
        before = fresh.rows(kind)
        mine.get("entity", "a")
        mine.get("entity", "missing")
        mine.get_many("entity", ["a", "b"])
        mine.exists("entity", "b")
        mine.page("entity")
        mine.search("entity")
        mine.history("entity", "a")
        mine.count("entity")
        mine.proposed("entity")
        assert fresh.rows(kind) == before


def test_one_warning_where_a_large_scope_must_be_read_whole(scope):
    class SlowStore(PlainStore):
        pass

    store = SlowStore()
    namespace = (*scope, "entities")
    for n in range(10_001):
        put_plainly(store, namespace, f"{n:05}", {"text": "x"})
    mine = Repository(store, scope)
    with pytest.warns(UserWarning, match="SlowStore cannot be read by key"):
        assert mine.count("entity") == 10_001
    newest = mine.page("entity", reverse=True, limit=2)
    assert [record.key for record in newest] == ["10000", "09999"]


def test_a_known_store_is_read_by_key_whoever_made_it(shared_store):
    from holdover.compat.stores.choosing import backend_for

    keyed = {
        kind: backend_for(shared_store(kind)).keyed
        for kind in ("memory", "sqlite", "stock-sqlite", "plain", "async-sqlite")
    }
    assert keyed.pop("plain") is False
    assert set(keyed.values()) == {True}


def test_a_record_is_not_the_stored_object(scope):
    """`InMemoryStore` gives its own objects away; a caller's change must not stay."""
    mine = Repository(InMemoryStore(), scope)
    content = {"name": "a", "summary": "x", "list": [1]}
    mine.put("entity", content)
    content["list"].append(2)
    content["summary"] = "changed"
    assert mine.get("entity", "a").content == {"name": "a", "summary": "x", "list": [1]}


def test_hostile_names_many(repository):
    """A table's worth of names that fold, sort or split badly, all at once."""
    mine = repository()
    names = ["Alice", "alice", "ALICE", "Zoë", "Zoe\u0308", "ß", "ss", "ﬁ", "fi"]
    names += ["a,b", "b", "a:b", "a/b", "a.b", "*", "%", "_", "'", '"', "\\", "a\\b"]
    names += [
        "null",
        "None",
        "0",
        "-1",
        "1e3",
        "true",
        uuid4().hex,
        "x" * 512,
        "x" * 513,
    ]
    mine.put_many("entity", [entity(name, f"is {name}") for name in names])
    found = mine.get_many("entity", names)
    assert [record.name for record in found] == names
    assert [record.text for record in found] == [f"is {name}" for name in names]
    assert sorted(r.name for r in mine.records("entity")) == sorted(names)


def test_no_warning_for_small_scopes(shared_store, scope):
    mine = Repository(shared_store("plain"), scope)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mine.put("entity", entity("a", "x"))
        assert mine.count("entity") == 1
