"""`SimpleMemory`: variables that never change."""

from __future__ import annotations

from pathlib import Path

import backends
import pytest
from langchain_core.messages import HumanMessage
from langgraph.store.memory import InMemoryStore

from holdover.compat import notices
from holdover.compat.simple import SimpleMemory


@pytest.fixture
def driven(way, loop):
    return lambda memory: backends.Driven(memory, way, loop)


def test_it_gives_its_variables(driven):
    memory = driven(SimpleMemory(memories={"city": "Oslo", "size": 3}))
    assert memory.memory_variables == ["city", "size"]
    assert memory.load_memory_variables({}) == {"city": "Oslo", "size": 3}
    memory.save_context({"input": "hi"}, {"output": "hello"})
    memory.clear()
    assert memory.load_memory_variables({"x": 1}) == {"city": "Oslo", "size": 3}


def test_it_is_empty_by_default():
    assert SimpleMemory().load_memory_variables({}) == {}


def test_what_it_gave_can_be_changed_without_changing_it(driven):
    held = {"city": "Oslo", "few": [{"q": [1]}], "said": [HumanMessage("hi")]}
    memory = driven(SimpleMemory(memories=held))
    loaded = memory.load_memory_variables({})
    loaded["city"] = "Rome"
    loaded["few"][0]["q"].append(2)
    loaded["said"][0].content = "changed"
    assert memory.load_memory_variables({}) == {
        "city": "Oslo",
        "few": [{"q": [1]}],
        "said": [HumanMessage("hi")],
    }


def test_what_is_no_container_is_given_as_it_is():
    with Path(__file__).open() as file:
        memory = SimpleMemory(memories={"file": file, "f": print})
        assert memory.load_memory_variables({}) == {"file": file, "f": print}


def test_it_is_changed_by_its_owner():
    memory = SimpleMemory(memories={"city": "Oslo"})
    memory.memories["city"] = "Rome"
    assert memory.load_memory_variables({}) == {"city": "Rome"}


def test_messages_survive_json():
    held = {"few": [HumanMessage("hi")], "city": "Oslo", "map": {"a": [1, None]}}
    memory = SimpleMemory(memories=held)
    again = SimpleMemory.from_dict(memory.to_dict())
    assert again.load_memory_variables({}) == held
    again = SimpleMemory.model_validate_json(memory.model_dump_json())
    assert again.load_memory_variables({}) == held


def test_a_store_it_does_not_use_is_not_ignored_silently(monkeypatch):
    monkeypatch.setattr(notices, "_told", set())
    with pytest.warns(UserWarning, match="SimpleMemory keeps nothing itself"):
        SimpleMemory(store=InMemoryStore())
