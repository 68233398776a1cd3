"""What LangChain's own unit tests expected of the memories holds for ours."""

import asyncio

import pytest
from langchain_core.language_models.fake import FakeListLLM
from langchain_core.language_models.fake_chat_models import FakeMessagesListChatModel
from langchain_core.messages import (
    AIMessage,
    ChatMessage,
    HumanMessage,
    SystemMessage,
)

from holdover import compat

pytestmark = pytest.mark.filterwarnings("ignore:.*deprecated")


class Words(FakeListLLM):
    """Answers in turn, and counts words."""

    def get_num_tokens_from_messages(self, messages, tools=None):
        return sum(len(str(message.content).split()) for message in messages)


class Characters(FakeMessagesListChatModel):
    """Counts the characters of what was said."""

    responses: list = [AIMessage("unused")]  # noqa: RUF012 - a field

    def get_num_tokens_from_messages(self, messages, tools=None):
        return sum(len(message.content) for message in messages)


def words(*answers):
    return Words(responses=list(answers or ("a summary",)))


def buffer():
    return compat.ConversationBufferMemory(memory_key="talk")


def window():
    return compat.ConversationBufferWindowMemory(memory_key="talk")


def summary():
    return compat.ConversationSummaryMemory(llm=words(), memory_key="talk")


KINDS = pytest.mark.parametrize("make", [buffer, window, summary])


@pytest.fixture(params=["sync", "async"])
def call(request):
    """Call a method, or its async twin."""

    def sync(memory, method, *arguments):
        return getattr(memory, method)(*arguments)

    def twin(memory, method, *arguments):
        return asyncio.run(getattr(memory, f"a{method}")(*arguments))

    return sync if request.param == "sync" else twin


def save(call, memory, said="hello", answered="hi"):
    call(memory, "save_context", {"input": said}, {"output": answered})


def load(call, memory):
    return call(memory, "load_memory_variables", {})


@KINDS
def test_its_own_variable_is_no_input(make, call):
    memory = make()
    inputs = {"said": "hello", "talk": "what was loaded"}
    call(memory, "save_context", inputs, {"reply": "hi"})
    assert [message.content for message in memory.chat_memory.messages] == [
        "hello",
        "hi",
    ]


@KINDS
@pytest.mark.parametrize(
    ("inputs", "outputs"),
    [
        ({"said": "a", "also": "b"}, {"reply": "c"}),
        ({"talk": "a"}, {"reply": "c"}),
        ({"said": "a", "talk": "b"}, {}),
        ({"said": "a", "talk": "b"}, {"reply": "c", "also": "d"}),
    ],
    ids=["two inputs", "only its own", "no output", "two outputs"],
)
def test_what_cannot_be_told_apart_is_refused(make, call, inputs, outputs):
    memory = make()
    with pytest.raises(ValueError):
        call(memory, "save_context", inputs, outputs)
    assert memory.chat_memory.messages == []


@KINDS
def test_nothing_is_left_after_clearing(make, call):
    memory = make()
    save(call, memory)
    call(memory, "clear")
    assert load(call, memory) == {"talk": ""}


@KINDS
@pytest.mark.parametrize("answer", ["text", {"a": "b"}, ["a", "b"]], ids=type)
def test_an_answer_of_any_type_is_saved(make, call, answer):
    memory = make()
    save(call, memory, "hello", answer)
    first, second = memory.chat_memory.messages
    assert first == HumanMessage("hello")
    assert isinstance(second, AIMessage)


@KINDS
def test_a_read_only_memory_shows_the_one_inside(make, call):
    memory = make()
    shared = compat.ReadOnlySharedMemory(memory=memory)
    save(call, memory)
    save(call, shared, "not", "saved")
    assert load(call, shared) == load(call, memory)


@pytest.mark.parametrize(
    ("prefixes", "text"),
    [
        ({"ai_prefix": "Assistant"}, "Human: hello\nAssistant: hi"),
        ({"human_prefix": "Friend"}, "Friend: hello\nAI: hi"),
    ],
)
def test_prefixes(prefixes, text, call):
    memory = compat.ConversationBufferMemory(memory_key="talk", **prefixes)
    save(call, memory)
    assert load(call, memory) == {"talk": text}


def test_a_simple_memory_gives_what_it_has(call):
    memory = compat.SimpleMemory(memories={"city": "Oslo"})
    assert memory.memory_variables == ["city"]
    assert load(call, memory) == {"city": "Oslo"}


def test_combined_memories_do_everything_together(call):
    one = compat.ConversationBufferMemory(memory_key="one", input_key="input")
    two = compat.ConversationBufferMemory(memory_key="two", input_key="input")
    memory = compat.CombinedMemory(memories=[one, two])
    assert memory.memory_variables == ["one", "two"]
    assert load(call, memory) == {"one": "", "two": ""}
    save(call, memory)
    assert load(call, memory) == dict.fromkeys(("one", "two"), "Human: hello\nAI: hi")
    call(memory, "clear")
    assert load(call, memory) == {"one": "", "two": ""}


def test_combined_memories_have_different_variables():
    same = [compat.ConversationBufferMemory(input_key="input") for _ in range(2)]
    with pytest.raises(ValueError, match="history"):
        compat.CombinedMemory(memories=same)


def test_a_token_buffer_keeps_what_fits(call):
    memory = compat.ConversationTokenBufferMemory(
        llm=words(), memory_key="talk", max_token_limit=3
    )
    save(call, memory, "one", "two")
    assert load(call, memory) == {"talk": "Human: one\nAI: two"}
    save(call, memory, "three", "four")
    assert load(call, memory) == {"talk": "AI: two\nHuman: three\nAI: four"}


def test_a_summary_buffer_before_anything_is_said(call):
    memory = compat.ConversationSummaryBufferMemory(llm=words(), memory_key="talk")
    assert load(call, memory) == {"talk": ""}


def test_a_summary_buffer_within_its_limit(call):
    memory = compat.ConversationSummaryBufferMemory(llm=words(), memory_key="talk")
    save(call, memory)
    assert memory.buffer == "Human: hello\nAI: hi"
    assert load(call, memory) == {"talk": memory.buffer}


def test_a_summary_buffer_over_its_limit(call):
    memory = compat.ConversationSummaryBufferMemory(
        llm=words("They greet."), memory_key="talk", max_token_limit=2
    )
    save(call, memory)
    save(call, memory, "again", "yes")
    assert memory.buffer == "System: They greet.\nHuman: again\nAI: yes"
    assert load(call, memory) == {"talk": memory.buffer}


def agent_memory(*said):
    history = compat.ChatMessageHistory(messages=[AIMessage(text) for text in said])
    return compat.AgentTokenBufferMemory(
        llm=Characters(), chat_memory=history, max_token_limit=4
    )


def test_an_agent_sees_only_what_fits_of_an_old_history(call):
    memory = agent_memory("h1", "h2", "h3")
    shown = load(call, memory)["history"]
    assert [message.content for message in shown] == ["h2", "h3"]


def test_an_agent_sees_only_what_fits_after_each_turn(call):
    memory = agent_memory("h1", "h2", "h3")
    for n in (1, 2):
        outputs = {"output": f"o{n}", "intermediate_steps": []}
        call(memory, "save_context", {"input": f"i{n}"}, outputs)
    shown = load(call, memory)["history"]
    assert [message.content for message in shown] == ["i2", "o2"]


def test_a_memory_with_messages_of_every_kind_as_a_dict():
    said = [
        SystemMessage("of the system"),
        AIMessage("of the AI"),
        HumanMessage("of a human"),
        ChatMessage("of a guest", role="guest"),
    ]
    history = compat.ChatMessageHistory(messages=said)
    memory = compat.ConversationBufferMemory(chat_memory=history)
    twin = compat.ConversationBufferMemory.from_dict(memory.to_dict())
    assert [(message.type, message.content) for message in twin.buffer_as_messages] == [
        (message.type, message.content) for message in said
    ]
    assert twin.buffer == memory.buffer
