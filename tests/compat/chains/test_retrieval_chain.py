"""`ConversationalRetrievalChain` with our memories."""

import kinds
import pytest
from fake_models import WordModel
from langchain_core.documents import Document
from langchain_core.prompts import PromptTemplate
from langchain_core.retrievers import BaseRetriever
from pydantic import Field

from holdover.compat import ConversationBufferMemory, RedisChatMessageHistory

REPHRASE = PromptTemplate.from_template("REPHRASE {chat_history}|{question}")
ANSWER = PromptTemplate.from_template("ANSWER {context}|{question}")


class Shelf(BaseRetriever):
    """Gives the same document for every question."""

    queries: list[str] = Field(default_factory=list)

    def _get_relevant_documents(self, query, *, run_manager):
        self.queries.append(query)
        return [Document("the handbook")]


@pytest.fixture
def retrieval(classic):
    chain = classic("chains").ConversationalRetrievalChain

    def make(memory, answers, **arguments):
        return chain.from_llm(
            WordModel(answers=answers),
            Shelf(),
            condense_question_prompt=REPHRASE,
            combine_docs_chain_kwargs={"prompt": ANSWER},
            memory=memory,
            **arguments,
        )

    return make


def prompts(chain):
    return chain.question_generator.llm.prompts


@pytest.mark.parametrize("kind", kinds.OVER_HISTORY)
@pytest.mark.parametrize("as_messages", [True, False])
def test_a_follow_up_question_is_rephrased_with_what_was_said(
    retrieval, call, kind, as_messages
):
    memory = kinds.KINDS[kind](memory_key="chat_history", return_messages=as_messages)
    # The chain itself makes text of messages, and refuses text.
    given = {} if as_messages else {"get_chat_history": lambda text: text}
    chain = retrieval(memory, ["a0", "q1 in full", "a1"], **given)

    call(chain, {"question": "q0"})
    answer = call(chain, {"question": "q1"})

    assert answer["answer"] == "a1"
    first, rephrased, second = prompts(chain)
    assert first == "ANSWER the handbook|q0"
    assert "q0" in rephrased
    assert "a0" in rephrased
    assert rephrased.endswith("|q1")
    assert second == "ANSWER the handbook|q1 in full"
    assert chain.retriever.queries == ["q0", "q1 in full"]
    # What the user said is kept, not what it was made into.
    assert kinds.said(memory) == ["q0", "a0", "q1", "a1"]


@pytest.mark.parametrize(
    "more", [{"return_source_documents": True}, {"return_generated_question": True}]
)
def test_further_outputs_need_no_output_key(retrieval, call, more):
    memory = ConversationBufferMemory(memory_key="chat_history", return_messages=True)
    chain = retrieval(memory, ["a0"], **more)

    call(chain, {"question": "q0"})

    assert kinds.said(memory) == ["q0", "a0"]


@pytest.mark.parametrize("failing", [1, 2])
def test_a_model_that_raises_in_either_call_saves_nothing(retrieval, call, failing):
    answers = ["a0", "q1 in full", "a1"]
    answers.insert(failing, RuntimeError("the model is down"))
    answers[failing + 1 :] = ["q1 in full", "a1"]
    memory = ConversationBufferMemory(memory_key="chat_history", return_messages=True)
    chain = retrieval(memory, answers)

    call(chain, {"question": "q0"})
    with pytest.raises(RuntimeError, match="is down"):
        call(chain, {"question": "q1"})
    assert kinds.said(memory) == ["q0", "a0"]
    call(chain, {"question": "q1"})

    assert kinds.said(memory) == ["q0", "a0", "q1", "a1"]


@pytest.mark.parametrize("kind", kinds.OVER_HISTORY)
def test_a_new_chain_goes_on(retrieval, call, restarted, kind):
    settings = {"memory_key": "chat_history", "return_messages": True}
    with restarted():
        memory = kinds.KINDS[kind](session_id="ana", **settings)
        call(retrieval(memory, ["a0"]), {"question": "q0"})
    with restarted():
        memory = kinds.KINDS[kind](session_id="ana", **settings)
        chain = retrieval(memory, ["q1 in full", "a1"])
        call(chain, {"question": "q1"})
        assert kinds.said(memory) == ["q0", "a0", "q1", "a1"]

    rephrased = prompts(chain)[0]
    assert rephrased.count("q0") == rephrased.count("a0") == 1


def test_over_a_redis_history(retrieval, call, redis_url):
    def memory():
        history = RedisChatMessageHistory("ana", url=redis_url)
        return ConversationBufferMemory(
            chat_memory=history, memory_key="chat_history", return_messages=True
        )

    call(retrieval(memory(), ["a0"]), {"question": "q0"})
    chain = retrieval(memory(), ["q1 in full", "a1"])
    call(chain, {"question": "q1"})

    assert "a0" in prompts(chain)[0]
    assert kinds.said(memory()) == ["q0", "a0", "q1", "a1"]
