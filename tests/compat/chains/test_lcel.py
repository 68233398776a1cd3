"""Chains without a chain class: LCEL, and `RunnableWithMessageHistory`."""

from operator import itemgetter

import kinds
import pytest
from fake_models import WordModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import (
    ChatPromptTemplate,
    MessagesPlaceholder,
    PromptTemplate,
)
from langchain_core.runnables import RunnableLambda, RunnablePassthrough
from scripted import Chat

from holdover.compat import (
    ConversationBufferMemory,
    ConversationBufferWindowMemory,
    StoreChatMessageHistory,
    open_store,
)

PROMPT = PromptTemplate.from_template("{history}|{input}")
DOWN = RuntimeError("the model is down")


def with_memory(memory, llm):
    """Load, ask, save: as documentation shows it."""

    def save(said):
        memory.save_context({"input": said["input"]}, {"output": said["answer"]})
        return said["answer"]

    async def asave(said):
        await memory.asave_context({"input": said["input"]}, {"output": said["answer"]})
        return said["answer"]

    load = RunnableLambda(memory.load_memory_variables, memory.aload_memory_variables)
    return (
        RunnablePassthrough.assign(history=load | itemgetter("history"))
        | RunnablePassthrough.assign(answer=PROMPT | llm | StrOutputParser())
        | RunnableLambda(save, asave)
    )


@pytest.mark.parametrize("kind", kinds.KINDS)
def test_the_second_turn_sees_the_first(call, kind):
    llm = WordModel(answers=["a0", "a1"])
    chain = with_memory(kinds.KINDS[kind](), llm)

    assert call(chain, {"input": "q0"}) == "a0"
    assert call(chain, {"input": "q1"}) == "a1"

    assert llm.prompts[0] == "|q0"
    assert llm.prompts[1].strip() in (
        "Human: q0\nAI: a0|q1",
        "Human: q0 AI: a0|q1",
        "System: Human: q0 AI: a0|q1",
    )


@pytest.mark.parametrize("kind", kinds.OVER_HISTORY)
def test_a_failure_saves_nothing_twice(call, kind):
    memory = kinds.KINDS[kind]()
    chain = with_memory(memory, WordModel(answers=["a0", DOWN, "a1"]))

    call(chain, {"input": "q0"})
    with pytest.raises(RuntimeError, match="is down"):
        call(chain, {"input": "q1"})
    call(chain, {"input": "q1"})

    assert kinds.said(memory) == ["q0", "a0", "q1", "a1"]


def test_retries_of_the_model_save_one_turn(call):
    memory = ConversationBufferMemory()
    llm = WordModel(answers=[DOWN, "a0"]).with_retry(wait_exponential_jitter=False)

    call(with_memory(memory, llm), {"input": "q0"})

    assert kinds.said(memory) == ["q0", "a0"]


@pytest.mark.parametrize("kind", kinds.KINDS)
def test_a_new_chain_goes_on(call, restarted, kind):
    with restarted():
        memory = kinds.KINDS[kind](session_id="ana")
        call(with_memory(memory, WordModel(answers=["a0"])), {"input": "q0"})
    with restarted():
        memory = kinds.KINDS[kind](session_id="ana")
        llm = WordModel(answers=["a1"])
        call(with_memory(memory, llm), {"input": "q1"})

    assert llm.prompts[0].count("q0") == llm.prompts[0].count("a0") == 1


def test_a_batch_of_sessions_keeps_them_apart(way, loop, tmp_path):
    store = open_store(f"sqlite:///{tmp_path / 'memory.db'}")
    llm = WordModel(answers=lambda prompt: f"re {prompt[-1]}")

    def turn(session, question):
        memory = ConversationBufferMemory(store=store, session_id=session)
        return with_memory(memory, llm), {"input": question}

    chain = RunnableLambda(lambda said: turn(*said)[0].invoke(turn(*said)[1]))
    asked = [(f"s{n}", f"q{n}") for n in range(8)]
    given = chain.batch(asked) if way == "sync" else loop.run(chain.abatch(asked))

    assert given == [f"re {n}" for n in range(8)]
    for n in range(8):
        history = StoreChatMessageHistory(f"s{n}", store=store)
        assert history.messages == [HumanMessage(f"q{n}"), AIMessage(f"re {n}")]


@pytest.fixture
def with_history():
    history = pytest.importorskip("langchain_core.runnables.history")
    prompt = ChatPromptTemplate.from_messages(
        [MessagesPlaceholder("history"), ("human", "{input}")]
    )

    def make(llm, get_session_history):
        return history.RunnableWithMessageHistory(
            prompt | llm,
            get_session_history,
            input_messages_key="input",
            history_messages_key="history",
        )

    return make


def session(name):
    return {"configurable": {"session_id": name}}


@pytest.mark.parametrize("kind", ["a history", "a memory's history"])
def test_with_message_history(with_history, call, restarted, kind):
    def history(session_id):
        if kind == "a history":
            return StoreChatMessageHistory(session_id)
        return ConversationBufferWindowMemory(session_id=session_id).chat_memory

    with restarted():
        llm = Chat(answers=["a0", "b0"])
        chain = with_history(llm, history)
        call(chain, {"input": "q0"}, session("ana"))
        call(chain, {"input": "q0"}, session("bob"))
    with restarted():
        llm = Chat(answers=["a1"])
        call(with_history(llm, history), {"input": "q1"}, session("ana"))
        messages = history("ana").messages

    assert [(m.type, m.content) for m in llm.asked[0]] == [
        ("human", "q0"),
        ("ai", "a0"),
        ("human", "q1"),
    ]
    assert [message.content for message in messages] == ["q0", "a0", "q1", "a1"]


def test_with_message_history_a_failure_saves_no_turn(with_history, call, tmp_path):
    store = open_store(f"sqlite:///{tmp_path / 'memory.db'}")
    chain = with_history(
        Chat(answers=["a0", DOWN, "a1"]),
        lambda session_id: StoreChatMessageHistory(session_id, store=store),
    )

    call(chain, {"input": "q0"}, session("ana"))
    with pytest.raises(RuntimeError, match="is down"):
        call(chain, {"input": "q1"}, session("ana"))
    call(chain, {"input": "q1"}, session("ana"))

    history = StoreChatMessageHistory("ana", store=store)
    assert [message.content for message in history.messages] == ["q0", "a0", "q1", "a1"]


def test_a_stream_is_saved_as_one_message(with_history, way, loop, tmp_path):
    store = open_store(f"sqlite:///{tmp_path / 'memory.db'}")
    chain = with_history(
        Chat(answers=["a zero"]),
        lambda session_id: StoreChatMessageHistory(session_id, store=store),
    )

    async def everything():
        return [one async for one in chain.astream({"input": "q0"}, session("ana"))]

    if way == "sync":
        list(chain.stream({"input": "q0"}, session("ana")))
    else:
        loop.run(everything())

    history = StoreChatMessageHistory("ana", store=store)
    assert [(m.type, m.content) for m in history.messages] == [
        ("human", "q0"),
        ("ai", "a zero"),
    ]
