"""Buffer, window and token buffer: which messages come back, and as what."""

import warnings
from datetime import timedelta

import backends
import fake_models
import kinds_of_history
import pytest
from langchain_core.messages import (
    AIMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langgraph.store.memory import InMemoryStore

from holdover.compat import (
    ConversationBufferMemory,
    ConversationBufferWindowMemory,
    ConversationTokenBufferMemory,
    StoreChatMessageHistory,
    configured,
)


@pytest.fixture(params=["sync", "async"])
def driven(request, loop):
    return lambda memory: backends.Driven(memory, request.param, loop)


@pytest.fixture(params=kinds_of_history.KINDS)
def history(request):
    return kinds_of_history.KINDS[request.param]()


def talk(memory, turns, start=0):
    for number in range(start, start + turns):
        memory.save_context({"input": f"q{number}"}, {"output": f"a{number}"})


def load(memory, key="history"):
    return memory.load_memory_variables({"input": "x"})[key]


def token_buffer(**arguments):
    return ConversationTokenBufferMemory(
        **{"llm": fake_models.WordModel(), "max_token_limit": 4, **arguments}
    )


def test_a_buffer_gives_the_whole_conversation(driven, history):
    memory = driven(ConversationBufferMemory(chat_memory=history))
    talk(memory, 2)

    assert load(memory) == "Human: q0\nAI: a0\nHuman: q1\nAI: a1"


def test_as_messages_it_gives_messages(driven, history):
    memory = driven(ConversationBufferMemory(chat_memory=history, return_messages=True))
    talk(memory, 1)

    assert [(m.type, m.content) for m in load(memory)] == [
        ("human", "q0"),
        ("ai", "a0"),
    ]


def test_both_forms_are_there_whatever_is_returned():
    for returned in (False, True):
        memory = ConversationBufferMemory(return_messages=returned)
        talk(memory, 1)
        assert memory.buffer_as_str == "Human: q0\nAI: a0"
        assert len(memory.buffer_as_messages) == 2


async def test_the_async_forms_are_the_same():
    memory = ConversationBufferMemory()
    await memory.asave_context({"input": "q"}, {"output": "a"})

    assert await memory.abuffer() == memory.buffer == await memory.abuffer_as_str()
    assert await memory.abuffer_as_messages() == memory.buffer_as_messages


def test_prefixes_and_the_name_are_ones_own():
    memory = ConversationBufferMemory(
        human_prefix="User", ai_prefix="Bot", memory_key="chat", input_key="q"
    )
    memory.save_context({"q": "hi", "language": "en"}, {"text": "yo"})

    assert memory.memory_variables == ["chat"]
    assert load(memory, "chat") == "User: hi\nBot: yo"


def test_prefixes_with_messages_are_warned_of_once():
    with pytest.warns(UserWarning, match="return_messages=True they do nothing"):
        ConversationBufferMemory(return_messages=True, human_prefix="U")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ConversationBufferMemory(return_messages=True, human_prefix="U")


def test_clear_leaves_nothing(driven, history):
    memory = driven(ConversationBufferMemory(chat_memory=history))
    talk(memory, 1)
    memory.clear()

    assert load(memory) == ""


def test_what_was_loaded_is_not_the_memory_itself():
    memory = ConversationBufferMemory(return_messages=True)
    talk(memory, 1)
    load(memory).clear()
    assert len(load(memory)) == 2

    memory.buffer.append(HumanMessage("of the application's own"))
    assert len(load(memory)) == 3


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        (AIMessage("hi"), AIMessage("hi")),
        ({"answer": 42}, AIMessage('{"answer": 42}')),
        (None, AIMessage("")),
        ([AIMessage("a"), AIMessage("b")], AIMessage("b")),
    ],
)
def test_an_answer_that_is_no_text_is_kept(driven, history, output, expected):
    memory = driven(ConversationBufferMemory(chat_memory=history, return_messages=True))
    memory.save_context({"input": "q"}, {"output": output})

    assert load(memory)[-1].content == expected.content


def test_a_session_in_a_store_survives_the_object(driven):
    store = InMemoryStore()
    talk(driven(ConversationBufferMemory(store=store, session_id="ana@x.org/1")), 2)

    again = driven(ConversationBufferMemory(store=store, session_id="ana@x.org/1"))
    other = driven(ConversationBufferMemory(store=store, session_id="ana@x.org"))

    assert load(again).startswith("Human: q0\nAI: a0")
    assert load(other) == ""


def test_a_configured_store_is_used_under_a_session_and_without_one_is_not():
    store = InMemoryStore()
    with configured(store=store, scope=("acme",)):
        named = ConversationBufferMemory(session_id="s")
        nameless = ConversationBufferMemory()
    talk(named, 1)
    talk(nameless, 1)

    assert {item.namespace for item in store.search(())} == {
        ("acme", "memory_store", "s", "messages")
    }
    assert isinstance(named.chat_memory, StoreChatMessageHistory)


def test_a_window_counts_turns(driven, history):
    memory = driven(ConversationBufferWindowMemory(chat_memory=history, k=2))
    talk(memory, 5)

    assert load(memory) == "Human: q3\nAI: a3\nHuman: q4\nAI: a4"


def test_a_window_keeps_tool_exchanges_and_the_opening(driven, history):
    call = AIMessage("", tool_calls=[{"name": "w", "args": {}, "id": "c"}])
    history.add_messages(
        [
            SystemMessage("be brief"),
            *(HumanMessage("1"), AIMessage("one")),
            *(HumanMessage("2"), call, ToolMessage("dry", tool_call_id="c")),
            AIMessage("two"),
            HumanMessage("3"),
        ]
    )
    memory = driven(
        ConversationBufferWindowMemory(chat_memory=history, k=2, return_messages=True)
    )

    kept = [message.type for message in load(memory)]
    assert kept == ["system", "human", "ai", "tool", "ai", "human"]


@pytest.mark.parametrize("k", [0, -1])
def test_a_window_of_nothing_is_nothing(driven, history, k):
    memory = driven(ConversationBufferWindowMemory(chat_memory=history, k=k))
    talk(memory, 1)

    assert load(memory) == ""


def test_a_long_history_has_the_same_window():
    history = kinds_of_history.stored()
    history.add_messages(
        [m for n in range(600) for m in (HumanMessage(f"q{n}"), AIMessage(f"a{n}"))]
    )
    memory = ConversationBufferWindowMemory(chat_memory=history, k=3)

    assert load(memory).splitlines()[0] == "Human: q597"
    assert len(load(memory).splitlines()) == 6


def test_a_token_limit_holds_whenever_it_is_loaded(driven, history):
    history.add_messages([HumanMessage(f"old line {n}") for n in range(50)])
    memory = driven(token_buffer(chat_memory=history, max_token_limit=9))

    assert load(memory).splitlines() == [f"Human: old line {n}" for n in (47, 48, 49)]


def test_a_token_limit_removes_nothing_from_the_history(driven, history):
    memory = driven(token_buffer(chat_memory=history))
    talk(memory, 5)

    assert load(memory) == "Human: q3\nAI: a3\nHuman: q4\nAI: a4"
    assert len(history.messages) == 10


def test_a_message_over_the_limit_gives_nothing(driven, history):
    memory = driven(token_buffer(chat_memory=history, max_token_limit=3))
    memory.save_context({"input": "a b c d"}, {"output": "e f g h"})

    assert load(memory) == ""


def test_a_counter_can_be_given():
    memory = token_buffer(max_token_limit=2, token_counter=len)
    talk(memory, 3)

    assert load(memory) == "Human: q2\nAI: a2"


def test_a_model_that_cannot_count_is_estimated_with_one_warning():
    memory = token_buffer(llm=fake_models.Uncounted(), max_token_limit=30)
    talk(memory, 20)

    with pytest.warns(
        UserWarning, match="Uncounted cannot count tokens.*token_counter="
    ):
        kept = load(memory)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert load(memory) == kept
    assert 0 < len(kept.splitlines()) < 40
    assert kept.endswith("AI: a19")


def test_a_model_with_retries_counts_too():
    memory = token_buffer(llm=fake_models.WordModel().with_retry())
    talk(memory, 5)

    assert load(memory) == "Human: q3\nAI: a3\nHuman: q4\nAI: a4"


def test_a_limit_over_a_long_stored_history_reads_its_end():
    history = kinds_of_history.stored()
    history.add_messages([HumanMessage(f"line {n}") for n in range(3_000)])
    page, read = history.page, []

    def counted(**options):
        found = page(**options)
        read.append(len(found))
        return found

    history.page = counted

    assert load(token_buffer(chat_memory=history)).splitlines() == [
        "Human: line 2998",
        "Human: line 2999",
    ]
    assert sum(read) < 100


async def test_a_history_that_works_from_async_code_alone_serves_every_class():
    for make in (
        ConversationBufferMemory,
        ConversationBufferWindowMemory,
        token_buffer,
    ):
        memory = make(chat_memory=kinds_of_history.AsyncOnlyHistory())
        await memory.asave_context({"input": "q"}, {"output": "a"})
        assert await memory.aload_memory_variables({}) == {"history": "Human: q\nAI: a"}
        await memory.aclear()
        assert await memory.aload_memory_variables({}) == {"history": ""}


def test_messages_in_a_store_can_end():
    history = StoreChatMessageHistory(
        "s", store=InMemoryStore(), ttl=timedelta(microseconds=1)
    )
    memory = ConversationBufferMemory(chat_memory=history)
    talk(memory, 1)

    assert load(memory) == ""


@pytest.mark.parametrize("name", ["buffer", "buffer_as_str", "buffer_as_messages"])
def test_what_a_subclass_replaced_is_loaded(driven, name):
    for base in (ConversationBufferMemory, ConversationBufferWindowMemory):
        kind = type("Mine", (base,), {name: property(lambda self: ["mine"])})
        memory = driven(kind(return_messages=name != "buffer_as_str"))
        talk(memory, 1)

        assert load(memory) == ["mine"]
