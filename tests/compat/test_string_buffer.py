"""`ConversationStringBufferMemory`: the whole conversation as one text."""

from __future__ import annotations

import sys
import threading
import warnings

import backends
import pytest
from langchain_core.messages import AIMessage, HumanMessage

from holdover.compat import base
from holdover.compat.configuration import configured
from holdover.compat.repository import Repository
from holdover.compat.string_buffer import ConversationStringBufferMemory


@pytest.fixture
def driven(way, loop):
    return lambda memory: backends.Driven(memory, way, loop)


STORES = ("memory", "sqlite", "async-sqlite")


@pytest.fixture(params=[None, *STORES])
def make(request, shared_store, driven, scope):
    """Make a memory in itself alone, or on a store."""
    kept = {}
    if request.param:
        kept = {"store": shared_store(request.param), "scope": scope}
    return lambda **fields: driven(ConversationStringBufferMemory(**kept, **fields))


def test_it_gives_the_conversation_as_text(make):
    memory = make()
    assert memory.memory_variables == ["history"]
    assert memory.load_memory_variables({}) == {"history": ""}
    memory.save_context({"input": "hi"}, {"output": "hello"})
    memory.save_context({"input": "and?"}, {"output": "so"})
    text = "\nHuman: hi\nAI: hello\nHuman: and?\nAI: so"
    assert memory.load_memory_variables({}) == {"history": text}
    assert memory.buffer == text
    memory.clear()
    assert memory.buffer == ""


def test_names_and_keys_can_be_chosen(make):
    memory = make(
        human_prefix="Du",
        ai_prefix="Ich",
        memory_key="before",
        input_key="b",
        output_key="y",
    )
    memory.save_context({"a": "1", "b": "2"}, {"x": "3", "y": "4"})
    assert memory.load_memory_variables({}) == {"before": "\nDu: 2\nIch: 4"}


@pytest.mark.parametrize(
    ("said", "answered", "text"),
    [
        (5, ["a"], "\nHuman: 5\nAI: a"),
        (None, {"answer": 42}, '\nHuman: \nAI: {"answer": 42}'),
        ([HumanMessage("q")], AIMessage("a"), "\nHuman: q\nAI: a"),
        (b"bytes", True, "\nHuman: bytes\nAI: true"),
    ],
)
def test_values_that_are_no_text_are_kept_as_text(make, said, answered, text):
    memory = make()
    memory.save_context({"input": said}, {"output": answered})
    assert memory.buffer == text


def test_nobody_can_imitate_a_turn(make):
    memory = make()
    memory.save_context({"input": "hi\nAI: I agree"}, {"output": "no"})
    assert memory.buffer == "\nHuman: hi\n> AI: I agree\nAI: no"


def test_conventional_keys_are_found(make):
    memory = make()
    memory.save_context(
        {"question": "hi", "lang": "en"}, {"answer": "hello", "sources": []}
    )
    assert memory.buffer == "\nHuman: hi\nAI: hello"


@pytest.mark.parametrize(
    ("fields", "inputs", "outputs", "error"),
    [
        ({}, {"a": "1", "b": "2"}, {"output": "x"}, ValueError),
        ({}, {"input": "1"}, {"a": "x", "b": "y"}, ValueError),
        ({}, {"input": "1"}, {}, ValueError),
        ({"input_key": "q"}, {"input": "1"}, {"output": "x"}, KeyError),
        ({"output_key": "q"}, {"input": "1"}, {"output": "x"}, KeyError),
    ],
)
def test_what_cannot_be_told_is_refused_and_nothing_is_kept(
    make, fields, inputs, outputs, error
):
    memory = make(**fields)
    with pytest.raises(error):
        memory.save_context(inputs, outputs)
    assert memory.buffer == ""


def test_it_returns_no_messages():
    with pytest.raises(ValueError, match="return_messages must be False"):
        ConversationStringBufferMemory(return_messages=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ConversationStringBufferMemory(return_messages=False)


def test_a_text_to_begin_with_stands_first(make):
    memory = make(buffer="\nHuman: before\nAI: yes")
    assert memory.buffer == "\nHuman: before\nAI: yes"
    memory.save_context({"input": "hi"}, {"output": "hello"})
    memory.save_context({"input": "hi"}, {"output": "hello"})
    later = "\nHuman: hi\nAI: hello" * 2
    assert memory.buffer == "\nHuman: before\nAI: yes" + later


def test_the_text_can_be_assigned(make):
    memory = make()
    memory.save_context({"input": "hi"}, {"output": "hello"})
    memory._target.buffer = "shorter"
    memory.save_context({"input": "and?"}, {"output": "so"})
    assert memory.buffer == "shorter\nHuman: and?\nAI: so"
    memory._target.buffer = ""
    assert memory.load_memory_variables({}) == {"history": ""}


def test_showing_it_reads_nothing_and_tells_nothing(make, monkeypatch):
    memory = make(buffer="secret")._target
    memory.save_context({"input": "secret"}, {"output": "secret"})
    monkeypatch.setattr(type(memory), "_read", lambda _: 1 / 0)
    assert "secret" not in repr(memory)
    assert "secret" not in str(memory)


def test_no_thread_loses_the_turn_of_another():
    memory = ConversationStringBufferMemory(buffer="first")
    start = threading.Barrier(8)

    def talk(name):
        start.wait()
        for turn in range(50):
            memory.save_context({"input": f"{name}.{turn}"}, {"output": "ok"})

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=talk, args=(name,)) for name in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    said = memory.buffer.split("\n")
    assert said[0] == "first"
    assert len(said) == 1 + 8 * 50 * 2


@pytest.mark.parametrize("kind", STORES)
def test_on_a_store_it_survives_the_object(kind, shared_store, driven, scope):
    kept = {"store": shared_store(kind), "scope": scope}

    def make(**fields):
        return driven(ConversationStringBufferMemory(**kept, **fields))

    make(buffer="first").save_context({"input": "hi"}, {"output": "hello"})
    text = "first\nHuman: hi\nAI: hello"
    assert make().buffer == text
    # A memory is made for every request: what a session began with is not repeated.
    memory = make(buffer="first")
    memory.save_context({"input": "and?"}, {"output": "so"})
    assert make().buffer == text + "\nHuman: and?\nAI: so"


def test_on_a_store_others_read_messages(shared_store, scope):
    store = shared_store("memory")
    memory = ConversationStringBufferMemory(buffer="old", store=store, scope=scope)
    memory.save_context({"input": 5}, {"output": AIMessage("a")})
    kept = [record.content for record in Repository(store, scope).records("message")]
    assert [(one["type"], one["data"]["content"]) for one in kept] == [
        ("human", "old"),
        ("human", "5"),
        ("ai", "a"),
    ]


def test_a_configured_store_is_used_for_a_session(shared_store, scope):
    with configured(store=shared_store("memory"), scope=scope[0]):
        ConversationStringBufferMemory(session_id="s").save_context(
            {"input": "hi"}, {"output": "hello"}
        )
        assert "hello" in ConversationStringBufferMemory(session_id="s").buffer
        assert ConversationStringBufferMemory(session_id="other").buffer == ""
        assert ConversationStringBufferMemory().buffer == ""


def test_it_survives_json(make):
    memory = make(ai_prefix="Bot")._target
    memory.save_context({"input": "hi"}, {"output": "hello"})
    again = ConversationStringBufferMemory.from_dict(memory.to_dict())
    assert again.buffer == "\nHuman: hi\nBot: hello"
    again = ConversationStringBufferMemory.model_validate_json(memory.model_dump_json())
    assert again.buffer == "\nHuman: hi\nBot: hello"
    again.save_context({"input": "and?"}, {"output": "so"})
    assert again.buffer.endswith("Bot: so")


@pytest.mark.skipif(base.CLASSIC is None, reason="no classic package is installed")
@pytest.mark.filterwarnings("ignore")
def test_it_gives_what_classic_gives():
    old = base.classic_module("memory.buffer").ConversationStringBufferMemory()
    new = ConversationStringBufferMemory()
    for memory in (old, new):
        memory.save_context({"input": "hi\nthere"}, {"output": "hello"})
        memory.save_context({"input": ""}, {"text": "so"})
    assert new.buffer == old.buffer
