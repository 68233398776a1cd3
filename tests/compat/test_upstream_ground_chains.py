"""Old chains work with our memories as LangChain's own unit tests expected it."""

import asyncio
import warnings

import pytest
from langchain_core.language_models.fake import FakeListLLM
from langchain_core.prompts import PromptTemplate

from holdover import compat
from holdover.compat import base

pytestmark = [
    pytest.mark.skipif(base.CLASSIC is None, reason="no classic package, no chains"),
    pytest.mark.filterwarnings("ignore"),
]


class Recorded(FakeListLLM):
    """Answers in turn, keeps what it was asked."""

    responses: list[str] = ["reply"]  # noqa: RUF012 - a field
    asked: list[str] = []  # noqa: RUF012 - a field

    def _call(self, prompt, stop=None, run_manager=None, **kwargs):
        self.asked.append(prompt)
        return super()._call(prompt, stop, run_manager, **kwargs)

    async def _acall(self, prompt, stop=None, run_manager=None, **kwargs):
        return self._call(prompt)


def chains():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return base.classic_module("chains")


def model(*answers):
    return Recorded(responses=list(answers or ("reply",)), asked=[])


def conversation(memory, llm=None, template="{history}|{input}"):
    return chains().ConversationChain(
        llm=llm or model(),
        memory=memory,
        prompt=PromptTemplate.from_template(template),
    )


@pytest.fixture(params=["sync", "async"])
def ask(request):
    """Invoke a chain."""
    if request.param == "sync":
        return lambda chain, inputs: chain.invoke(inputs)
    return lambda chain, inputs: asyncio.run(chain.ainvoke(inputs))


def test_each_turn_sees_those_before_it(ask):
    memory = compat.ConversationBufferMemory(memory_key="talk")
    chain = chains().ConversationChain(
        llm=model(),
        memory=memory,
        prompt=PromptTemplate.from_template("{talk}|{said}"),
        input_key="said",
    )
    for text in ("one", "two", "three"):
        ask(chain, {"said": text})
    assert chain.llm.asked == [
        "|one",
        "Human: one\nAI: reply|two",
        "Human: one\nAI: reply\nHuman: two\nAI: reply|three",
    ]


def test_a_prompt_without_the_variable_is_refused():
    with pytest.raises(ValueError):
        conversation(compat.ConversationBufferMemory(), template="{input}")


def test_an_input_named_as_the_variable_is_refused():
    memory = compat.ConversationBufferMemory(memory_key="said")
    with pytest.raises(ValueError):
        chains().ConversationChain(
            llm=model(),
            memory=memory,
            prompt=PromptTemplate.from_template("{said}"),
            input_key="said",
        )


def test_a_chain_with_an_entity_memory(ask):
    llm = model("Maya", "answer", "Maya maps comets.", "Maya", "again", "Still.")
    memory = compat.ConversationEntityMemory(llm=llm)
    chain = conversation(memory, llm, "{entities}|{history}|{input}")
    ask(chain, {"input": "Maya maps comets"})
    assert memory.entity_store.get("Maya") == "Maya maps comets."
    ask(chain, {"input": "and Maya?"})
    assert "{'Maya': 'Maya maps comets.'}|Human: Maya maps comets" in llm.asked[-2]


def test_a_chain_with_a_summary_memory(ask):
    llm = model("reply", "They greet.", "reply", "They part.")
    memory = compat.ConversationSummaryMemory(llm=llm)
    chain = conversation(memory, llm)
    ask(chain, {"input": "hello"})
    ask(chain, {"input": "bye"})
    assert llm.asked[2] == "They greet.|bye"
    assert memory.buffer == "They part."


def test_an_answer_that_is_streamed_is_saved_once():
    memory = compat.ConversationBufferMemory()
    parts = list(conversation(memory).stream({"input": "hello"}))
    assert parts[-1]["response"] == "reply"
    assert memory.buffer == "Human: hello\nAI: reply"


def test_a_batch_loads_and_saves():
    memory = compat.ConversationBufferMemory()
    conversation(memory).batch([{"input": "hello"}])
    assert memory.buffer == "Human: hello\nAI: reply"


def test_what_was_saved_by_callbacks_is_not_needed_for_a_second_chain():
    memory = compat.ConversationBufferMemory()
    conversation(memory).invoke({"input": "hello"})
    other = conversation(compat.ReadOnlySharedMemory(memory=memory))
    other.invoke({"input": "more"})
    assert other.llm.asked == ["Human: hello\nAI: reply|more"]
    assert memory.buffer == "Human: hello\nAI: reply"


def test_a_chain_with_a_memory_inside_a_sequence():
    first = chains().LLMChain(
        llm=model("a"),
        prompt=PromptTemplate.from_template("{talk}|{said}"),
        output_key="a",
        memory=compat.ConversationBufferMemory(memory_key="talk"),
    )
    second = chains().LLMChain(
        llm=model("b"), prompt=PromptTemplate.from_template("{a}"), output_key="b"
    )
    sequence = chains().SequentialChain(
        chains=[first, second], input_variables=["said"]
    )
    assert sequence.invoke({"said": "hello"})["b"] == "b"
    assert first.memory.buffer == "Human: hello\nAI: a"


def test_a_combined_memory_in_a_chain(ask):
    memory = compat.CombinedMemory(
        memories=[
            compat.ConversationBufferMemory(memory_key="history", input_key="input"),
            compat.SimpleMemory(memories={"city": "Oslo"}),
        ]
    )
    chain = conversation(memory, template="{city}|{history}|{input}")
    ask(chain, {"input": "hello"})
    ask(chain, {"input": "more"})
    assert chain.llm.asked[-1] == "Oslo|Human: hello\nAI: reply|more"


def test_a_memory_of_a_user_on_our_base_is_accepted():
    class Mine(compat.BaseMemory):
        @property
        def memory_variables(self):
            return ["mine"]

        def load_memory_variables(self, inputs):
            return {"mine": "known"}

        def save_context(self, inputs, outputs):
            pass

        def clear(self):
            pass

    chain = chains().LLMChain(
        llm=model(), prompt=PromptTemplate.from_template("{mine}|{q}"), memory=Mine()
    )
    chain.invoke({"q": "hello"})
    assert chain.llm.asked == ["known|hello"]


def test_an_answer_with_its_sources_is_saved(ask):
    chain = chains().TransformChain(
        input_variables=["question"],
        output_variables=["answer", "source_documents"],
        transform=lambda inputs: {"answer": "yes", "source_documents": [1]},
        memory=compat.ConversationBufferMemory(memory_key="talk"),
    )
    ask(chain, {"question": "really?"})
    assert chain.memory.buffer == "Human: really?\nAI: yes"
