"""`ReadOnlySharedMemory`: a memory that others write."""

from __future__ import annotations

import warnings

import backends
import pytest
from langgraph.store.memory import InMemoryStore
from pydantic import ValidationError

from holdover.compat import notices
from holdover.compat.base import BaseMemory
from holdover.compat.buffer import ConversationBufferMemory
from holdover.compat.readonly import ReadOnlySharedMemory


class Foreign(BaseMemory):
    """A memory of another package, with an async twin that can be told apart."""

    @property
    def memory_variables(self):
        return ["history"]

    def load_memory_variables(self, inputs):
        return {"history": "sync"}

    async def aload_memory_variables(self, inputs):
        return {"history": "async"}

    def save_context(self, inputs, outputs):
        raise AssertionError("written")

    def clear(self):
        raise AssertionError("cleared")


def test_it_gives_what_the_other_memory_gives_and_changes_nothing(way, loop):
    shared = ConversationBufferMemory()
    shared.save_context({"input": "hi"}, {"output": "hello"})
    memory = backends.Driven(ReadOnlySharedMemory(memory=shared), way, loop)
    memory.save_context({"input": "not"}, {"output": "kept"})
    memory.clear()
    assert memory.memory_variables == ["history"]
    assert memory.load_memory_variables({}) == {"history": "Human: hi\nAI: hello"}
    shared.save_context({"input": "and"}, {"output": "now"})
    assert memory.load_memory_variables({})["history"].endswith("AI: now")


def test_each_twin_calls_the_same_twin_of_any_memory(way, loop):
    memory = backends.Driven(ReadOnlySharedMemory(memory=Foreign()), way, loop)
    assert memory.load_memory_variables({}) == {"history": way}
    memory.save_context({"input": "a"}, {"output": "b"})
    memory.clear()


def test_what_is_no_memory_is_refused():
    with pytest.raises(ValidationError):
        ReadOnlySharedMemory(memory="history")


def test_its_records_are_those_of_the_other_memory():
    store = InMemoryStore()
    shared = ConversationBufferMemory(store=store, session_id="s")
    assert ReadOnlySharedMemory(memory=shared).base_store is store
    with pytest.raises(ValueError, match="store="):
        _ = ReadOnlySharedMemory(memory=Foreign()).base_store


def test_a_store_given_to_the_wrong_object_is_not_ignored_silently(monkeypatch):
    monkeypatch.setattr(notices, "_told", set())
    with pytest.warns(UserWarning, match="keeps nothing itself"):
        ReadOnlySharedMemory(memory=Foreign(), store=InMemoryStore())


def test_making_one_warns_of_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ReadOnlySharedMemory(memory=ConversationBufferMemory())


def test_it_survives_json_with_the_memory_it_reads():
    shared = ConversationBufferMemory(memory_key="before")
    shared.save_context({"input": "hi"}, {"output": "hello"})
    said = ReadOnlySharedMemory(memory=shared).to_dict()
    assert said["needs"] == []
    again = ReadOnlySharedMemory.from_dict(said)
    assert again.load_memory_variables({}) == {"before": "Human: hi\nAI: hello"}


def test_a_memory_of_another_package_has_to_be_given_again():
    said = ReadOnlySharedMemory(memory=Foreign()).to_dict()
    assert said["needs"] == ["memory"]
    again = ReadOnlySharedMemory.from_dict(said, memory=Foreign())
    assert again.load_memory_variables({}) == {"history": "sync"}


def test_json_names_none_but_our_memories():
    said = ReadOnlySharedMemory(memory=ConversationBufferMemory()).to_dict()
    said["state"]["memory"]["class"] = "Repository"
    with pytest.raises(ValueError, match="no memory"):
        ReadOnlySharedMemory.from_dict(said)
