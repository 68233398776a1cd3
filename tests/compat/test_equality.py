"""Two objects are equal where classic's were: same class, settings and memories."""

from __future__ import annotations

import copy
import pickle

import pytest
from langgraph.store.memory import InMemoryStore

from holdover import compat


def _model():
    from langchain_core.language_models import FakeListLLM

    return FakeListLLM(responses=["NONE"] * 9)


MAKERS = {
    "ConversationBufferMemory": dict,
    "ConversationBufferWindowMemory": lambda: {"k": 3},
    "ConversationStringBufferMemory": dict,
    "ConversationSummaryMemory": lambda: {"llm": _model()},
    "ConversationSummaryBufferMemory": lambda: {"llm": _model(), "token_counter": len},
    "ConversationTokenBufferMemory": lambda: {"llm": _model()},
    "ConversationEntityMemory": lambda: {"llm": _model()},
    "SimpleMemory": lambda: {"memories": {"tea": "green"}},
    "InMemoryEntityStore": lambda: {"store": {"Ada": "a poet"}},
}


def make(name, **more):
    return getattr(compat, name)(**MAKERS[name](), **more)


@pytest.mark.parametrize("name", MAKERS)
def test_two_that_were_made_alike_are_equal(name):
    one, other = make(name), make(name)

    assert one == other
    assert copy.deepcopy(one) == one
    assert one != object()
    with pytest.raises(TypeError, match="unhashable"):
        hash(one)


@pytest.mark.parametrize("name", sorted(MAKERS.keys() - {"SimpleMemory"}))
def test_what_one_of_them_remembers_tells_them_apart(name):
    one, other = make(name), make(name)
    if name == "InMemoryEntityStore":
        one.set("Ada", "a mathematician")
    else:
        one.save_context({"input": "hi"}, {"output": "ho"})

    assert one != other


@pytest.mark.parametrize("name", ["ConversationBufferMemory", "SimpleMemory"])
def test_one_that_was_pickled_is_equal_to_itself(name):
    one = make(name)
    one.save_context({"input": "hi"}, {"output": "ho"})

    assert pickle.loads(pickle.dumps(one)) == one


def test_settings_tell_them_apart():
    assert make("SimpleMemory") != compat.SimpleMemory(memories={})
    assert compat.ConversationBufferMemory() != compat.ConversationBufferMemory(
        memory_key="chat"
    )
    assert compat.ConversationBufferMemory() != compat.ConversationBufferWindowMemory()


@pytest.mark.parametrize(
    "name", ["ConversationStringBufferMemory", "InMemoryEntityStore"]
)
def test_in_a_store_it_is_the_place_that_counts(name):
    store, another = InMemoryStore(), InMemoryStore()
    given = {} if name != "InMemoryEntityStore" else None
    kind = getattr(compat, name)
    of = lambda where, who: kind(store=where, session_id=who, **(given or {}))  # noqa: E731

    assert of(store, "ana") == of(store, "ana")
    assert of(store, "ana") != of(store, "ben")
    assert of(store, "ana") != of(another, "ana")
    assert of(store, "ana") != kind()


def test_entity_stores_of_files(tmp_path):
    one = compat.SQLiteEntityStore("ana", db_file=str(tmp_path / "a.db"))

    assert one == compat.SQLiteEntityStore("ana", db_file=str(tmp_path / "a.db"))
    assert one != compat.SQLiteEntityStore("ben", db_file=str(tmp_path / "a.db"))
    assert one != compat.SQLiteEntityStore("ana", db_file=str(tmp_path / "b.db"))
