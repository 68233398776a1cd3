"""`ConversationChain` and `LLMChain` with each of our memories."""

import kinds
import pytest
from fake_models import WordModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.prompts import PromptTemplate

from holdover.compat import ConversationBufferMemory, ConversationSummaryMemory

DOWN = RuntimeError("the model is down")


@pytest.fixture
def conversation(classic):
    return classic("chains").ConversationChain


@pytest.fixture
def llm_chain(classic):
    return classic("chains").LLMChain


@pytest.mark.parametrize("kind", kinds.KINDS)
def test_the_second_turn_sees_the_first(conversation, call, kind):
    llm = WordModel(answers=["a0", "a1"])
    chain = conversation(llm=llm, memory=kinds.KINDS[kind]())

    first = call(chain, {"input": "q0"})
    second = call(chain, {"input": "q1"})

    assert (first["response"], second["response"]) == ("a0", "a1")
    assert "q0" not in text_before(llm.prompts[0], "Human: q0")
    assert "Human: q0" in text_before(llm.prompts[1], "Human: q1")
    assert "AI: a0" in text_before(llm.prompts[1], "Human: q1")


def text_before(prompt, last):
    before, found, _ = prompt.rpartition(last)
    assert found
    return before


@pytest.mark.parametrize("kind", kinds.OVER_HISTORY)
def test_a_turn_is_saved_once(conversation, call, kind):
    memory = kinds.KINDS[kind]()
    chain = conversation(llm=WordModel(answers=["a0", "a1"]), memory=memory)

    call(chain, {"input": "q0"})
    call(chain, {"input": "q1"})

    assert kinds.said(memory) == ["q0", "a0", "q1", "a1"]


@pytest.mark.parametrize("kind", kinds.OVER_HISTORY)
def test_a_model_that_raises_leaves_nothing(conversation, call, kind):
    memory = kinds.KINDS[kind]()
    chain = conversation(llm=WordModel(answers=["a0", DOWN, "a1"]), memory=memory)

    call(chain, {"input": "q0"})
    with pytest.raises(RuntimeError, match="is down"):
        call(chain, {"input": "q1"})
    call(chain, {"input": "q1"})

    assert kinds.said(memory) == ["q0", "a0", "q1", "a1"]


@pytest.mark.parametrize(("kind", "failing"), [("summary", 2), ("summary buffer", 1)])
def test_a_summary_that_raises_keeps_the_turn_and_is_made_up_for(
    conversation, call, kind, failing
):
    memory = kinds.KINDS[kind](llm=WordModel(answers=Failing(failing)))
    chain = conversation(llm=WordModel(answers=["a0", "a1", "a2"]), memory=memory)

    call(chain, {"input": "q0"})
    with pytest.raises(RuntimeError, match="is down"):
        call(chain, {"input": "q1"})
    assert kinds.said(memory) == ["q0", "a0", "q1", "a1"]
    call(chain, {"input": "q2"})

    given = kinds.text(memory.load_memory_variables({})["history"])
    assert [given.count(word) for word in ("q0", "a0", "q1", "a1")] == [1, 1, 1, 1]


class Failing:
    """Answers with what it is asked, but for one call."""

    def __init__(self, number):
        self.number, self.calls = number, 0

    def __call__(self, prompt):
        self.calls += 1
        return DOWN if self.calls == self.number else " ".join(prompt.split())


@pytest.mark.parametrize("kind", kinds.KINDS)
def test_a_new_chain_goes_on_where_the_old_one_was(conversation, call, restarted, kind):
    with restarted():
        memory = kinds.KINDS[kind](session_id="ana")
        call(
            conversation(llm=WordModel(answers=["a0"]), memory=memory), {"input": "q0"}
        )

    with restarted():
        llm = WordModel(answers=["a1"])
        memory = kinds.KINDS[kind](session_id="ana")
        call(conversation(llm=llm, memory=memory), {"input": "q1"})
        stranger = kinds.KINDS[kind](session_id="bob")
        assert "q0" not in kinds.text(stranger.load_memory_variables({})["history"])

    seen = text_before(llm.prompts[0], "Human: q1")
    assert seen.count("Human: q0") == 1
    assert seen.count("AI: a0") == 1


def test_messages_reach_a_chat_prompt(conversation, call):
    from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
    from scripted import Chat

    prompt = ChatPromptTemplate.from_messages(
        [("system", "Be kind."), MessagesPlaceholder("history"), ("human", "{input}")]
    )
    llm = Chat(answers=["a0", "a1"])
    memory = ConversationBufferMemory(return_messages=True)
    chain = conversation(llm=llm, prompt=prompt, memory=memory)

    call(chain, {"input": "q0"})
    call(chain, {"input": "q1"})

    assert [(m.type, m.content) for m in llm.asked[1][1:]] == [
        ("human", "q0"),
        ("ai", "a0"),
        ("human", "q1"),
    ]


def test_predict_works_as_it_did(conversation):
    llm = WordModel(answers=["a0", "a1"])
    chain = conversation(llm=llm, memory=ConversationBufferMemory())

    assert chain.predict(input="q0") == "a0"
    assert chain.predict(input="q1") == "a1"
    assert "AI: a0" in llm.prompts[1]


PROMPT = PromptTemplate.from_template("{chat_history}|{context}|{question}")


def test_llm_chain_with_two_inputs_takes_the_conventional_one(llm_chain, call):
    llm = WordModel(answers=["a0", "a1"])
    memory = ConversationBufferMemory(memory_key="chat_history")
    chain = llm_chain(llm=llm, prompt=PROMPT, memory=memory)

    call(chain, {"question": "q0", "context": "c0"})
    call(chain, {"question": "q1", "context": "c1"})

    assert llm.prompts[1] == "Human: q0\nAI: a0|c1|q1"
    assert memory.chat_memory.messages == [
        HumanMessage("q0"),
        AIMessage("a0"),
        HumanMessage("q1"),
        AIMessage("a1"),
    ]


def test_llm_chain_without_a_conventional_input_wants_it_named(llm_chain, call):
    prompt = PromptTemplate.from_template("{history}{topic}{tone}")
    chain = llm_chain(llm=WordModel(), prompt=prompt, memory=ConversationBufferMemory())

    with pytest.raises(ValueError, match="input_key"):
        call(chain, {"topic": "t", "tone": "kind"})


def test_an_output_with_its_inputs_is_saved_once(llm_chain, call):
    """`return_all` and the chain's own copies of the inputs are no second turn."""
    prompt = PromptTemplate.from_template("{history}{input}")
    memory = ConversationBufferMemory()
    chain = llm_chain(llm=WordModel(), prompt=prompt, memory=memory, output_key="text")

    given = call(chain, {"input": "q0"})

    assert given == {"input": "q0", "history": "", "text": "fine"}
    assert kinds.said(memory) == ["q0", "fine"]


def test_one_summary_serves_chains_of_two_processes(conversation, call, restarted):
    for turn in range(3):
        with restarted():
            memory = kinds.summary(session_id="ana")
            llm = WordModel(answers=[f"a{turn}"])
            call(conversation(llm=llm, memory=memory), {"input": f"q{turn}"})
    with restarted():
        given = ConversationSummaryMemory(llm=WordModel(), session_id="ana").buffer
    assert [given.count(f"{who}{n}") for n in range(3) for who in "qa"] == [1] * 6
