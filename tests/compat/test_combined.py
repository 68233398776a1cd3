"""`CombinedMemory`: several memories as one."""

from __future__ import annotations

import backends
import pytest
from langchain_core.language_models import FakeListLLM
from langgraph.store.memory import InMemoryStore
from pydantic import Field, ValidationError

from holdover.compat import base, notices
from holdover.compat.base import BaseMemory
from holdover.compat.buffer import ConversationBufferMemory
from holdover.compat.combined import CombinedMemory
from holdover.compat.simple import SimpleMemory
from holdover.compat.token_buffer import ConversationTokenBufferMemory


class Recorder(BaseMemory):
    """A memory of another package that notes what it is called with."""

    name: str = "noted"
    input_key: str | None = None
    calls: list = Field(default_factory=list)
    failure: str = ""
    gives: dict | None = None

    @property
    def memory_variables(self):
        return [self.name]

    def _note(self, *call):
        self.calls.append(call)
        if self.failure:
            raise RuntimeError(self.failure)

    def load_memory_variables(self, inputs):
        self._note("load", "sync", inputs)
        return self.gives or {self.name: "value"}

    async def aload_memory_variables(self, inputs):
        self._note("load", "async", inputs)
        return self.gives or {self.name: "value"}

    def save_context(self, inputs, outputs):
        self._note("save", "sync", inputs, outputs)

    async def asave_context(self, inputs, outputs):
        self._note("save", "async", inputs, outputs)

    def clear(self):
        self._note("clear", "sync")

    async def aclear(self):
        self._note("clear", "async")


class Counting(FakeListLLM):
    def get_num_tokens(self, text):
        return len(text.split())


@pytest.fixture
def driven(way, loop):
    return lambda memory: backends.Driven(memory, way, loop)


def test_it_gives_and_saves_what_all_of_them_do(driven):
    memory = driven(
        CombinedMemory(
            memories=[
                ConversationBufferMemory(input_key="input"),
                SimpleMemory(memories={"city": "Oslo"}),
                Recorder(),
            ]
        )
    )
    assert memory.memory_variables == ["history", "city", "noted"]
    memory.save_context({"input": "hi"}, {"output": "hello"})
    assert memory.load_memory_variables({"input": "and?"}) == {
        "history": "Human: hi\nAI: hello",
        "city": "Oslo",
        "noted": "value",
    }
    memory.clear()
    assert memory.load_memory_variables({})["history"] == ""


def test_each_twin_calls_the_same_twin_of_any_memory(driven, way):
    noted = Recorder()
    memory = driven(CombinedMemory(memories=[noted]))
    memory.load_memory_variables({"input": "hi"})
    memory.save_context({"input": "hi"}, {"output": "hello"})
    memory.clear()
    assert noted.calls == [
        ("load", way, {"input": "hi"}),
        ("save", way, {"input": "hi"}, {"output": "hello"}),
        ("clear", way),
    ]


def test_no_memory_sees_what_the_others_gave(driven):
    vector, entities = Recorder(name="facts"), Recorder(name="entities")
    memory = driven(CombinedMemory(memories=[entities, vector]))
    inputs = {"input": "hi", "entities": {"Maya": "old"}, "facts": "old", "lang": "en"}
    memory.save_context(inputs, {"output": "hello"})
    memory.load_memory_variables(inputs)
    mine = {"input": "hi", "lang": "en", "facts": "old"}
    assert [call[2] for call in vector.calls] == [mine, mine]
    assert inputs["entities"] == {"Maya": "old"}


def test_an_input_that_is_named_is_given_whoever_else_gives_it(driven):
    named = Recorder(name="facts", input_key="entities")
    memory = driven(CombinedMemory(memories=[Recorder(name="entities"), named]))
    memory.save_context({"input": "hi", "entities": "x"}, {"output": "hello"})
    assert named.calls[0][2] == {"input": "hi", "entities": "x"}


def test_a_memory_without_an_input_key_knows_what_was_said(driven):
    with pytest.warns(UserWarning, match="input keys should be"):
        combined = CombinedMemory(
            memories=[Recorder(name="facts"), ConversationBufferMemory()]
        )
    memory = driven(combined)
    memory.save_context({"input": "hi", "facts": "x"}, {"output": "hello"})
    assert memory.load_memory_variables({})["history"] == "Human: hi\nAI: hello"


@pytest.mark.parametrize("what", ["save_context", "clear"])
def test_one_that_fails_keeps_no_other_from_its_turn(driven, what):
    first, last = Recorder(name="a"), Recorder(name="d")
    broken = [Recorder(name="b", failure="disk"), Recorder(name="c", failure="net")]
    memory = driven(CombinedMemory(memories=[first, *broken, last]))
    arguments = [{"input": "hi"}, {"output": "hello"}] if what == "save_context" else []
    with pytest.raises(RuntimeError, match="disk") as error:
        getattr(memory, what)(*arguments)
    assert [len(one.calls) for one in (first, last)] == [1, 1]
    (note,) = error.value.__notes__
    # What an exception says may be what was said.
    assert "RuntimeError" in note
    assert "net" not in note


def test_what_loading_raises_is_raised(driven):
    memory = driven(CombinedMemory(memories=[Recorder(failure="net")]))
    with pytest.raises(RuntimeError, match="net"):
        memory.load_memory_variables({})


def test_two_memories_may_not_give_the_same_variable(driven):
    with pytest.raises(ValidationError, match="found in multiple"):
        CombinedMemory(memories=[Recorder(), Recorder()])
    late = Recorder(name="b", gives={"noted": "twice"})
    memory = driven(CombinedMemory(memories=[Recorder(), late]))
    with pytest.raises(ValueError, match="noted is repeated"):
        memory.load_memory_variables({})


def test_the_warning_of_a_missing_input_key_shows_no_content():
    buffer = ConversationBufferMemory()
    buffer.save_context({"input": "secret"}, {"output": "secret"})
    with pytest.warns(UserWarning, match="Was not set on") as caught:
        CombinedMemory(memories=[buffer])
    assert "secret" not in str(caught[0].message)


def test_a_store_given_to_the_wrong_object_is_not_ignored_silently(monkeypatch):
    monkeypatch.setattr(notices, "_told", set())
    with pytest.warns(UserWarning, match="keeps nothing itself"):
        CombinedMemory(memories=[], store=InMemoryStore())


@pytest.mark.skipif(base.CLASSIC is None, reason="no classic package is installed")
@pytest.mark.filterwarnings("ignore")
def test_classic_memories_can_be_in_it(driven):
    old = base.classic_module("memory.buffer").ConversationBufferMemory(
        input_key="input"
    )
    memory = driven(CombinedMemory(memories=[old, Recorder()]))
    memory.save_context({"input": "hi", "noted": "x"}, {"output": "hello"})
    assert memory.load_memory_variables({})["history"] == "Human: hi\nAI: hello"


@pytest.mark.skipif(base.CLASSIC is None, reason="no classic package is installed")
@pytest.mark.filterwarnings("ignore")
def test_an_old_chain_accepts_it():
    chain = base.classic_module("chains.conversation.base").ConversationChain(
        llm=FakeListLLM(responses=["hello"]),
        memory=CombinedMemory(memories=[ConversationBufferMemory(input_key="input")]),
    )
    assert chain.invoke({"input": "hi"})["response"] == "hello"
    assert chain.memory.load_memory_variables({}) == {"history": "Human: hi\nAI: hello"}


def test_it_survives_json_with_what_is_in_it(monkeypatch):
    monkeypatch.setattr(notices, "_told", set())
    llm = Counting(responses=["x"])
    store = InMemoryStore()
    memory = CombinedMemory(
        memories=[
            ConversationBufferMemory(input_key="input", store=store, session_id="s"),
            ConversationTokenBufferMemory(
                llm=llm,
                input_key="input",
                memory_key="recent",
                max_token_limit=500,
                session_id="t",
            ),
            SimpleMemory(memories={"city": "Oslo"}),
        ]
    )
    memory.save_context({"input": "hi"}, {"output": "hello"})
    said = memory.to_dict()
    assert said["needs"] == ["llm"]
    other = InMemoryStore()
    again = CombinedMemory.from_dict(said, llm=llm, store=other)
    assert again.load_memory_variables({}) == memory.load_memory_variables({})
    assert again.memories[0].base_store is other
    assert again.memories[1].llm is llm


def test_memories_of_other_packages_have_to_be_given_again():
    said = CombinedMemory(memories=[Recorder(), SimpleMemory()]).to_dict()
    assert said["needs"] == ["memories"]
    again = CombinedMemory.from_dict(said, memories=[Recorder(name="new")])
    assert again.memory_variables == ["new"]
