"""Memories that learn: of entities, facts and earlier turns, in a chain and without."""

from operator import itemgetter

import pytest
from fake_models import WordModel
from langchain_core.embeddings import Embeddings
from langchain_core.prompts import PromptTemplate
from langchain_core.runnables import RunnableLambda, RunnablePassthrough
from langgraph.store.memory import InMemoryStore

from holdover.compat import (
    CombinedMemory,
    ConversationBufferMemory,
    ConversationEntityMemory,
    ConversationKGMemory,
    ReadOnlySharedMemory,
    SimpleMemory,
    SQLiteEntityStore,
    StoreChatMessageHistory,
    VectorStoreRetrieverMemory,
    open_store,
)
from holdover.compat.prompt import ENTITY_MEMORY_CONVERSATION_TEMPLATE

DOWN = RuntimeError("the model is down")
NAMES = PromptTemplate.from_template("NAMES {history}|{input}")
SUMMARY = PromptTemplate.from_template("SUMMARY {entity}|{summary}|{input}")
FACTS = PromptTemplate.from_template("FACTS {history}|{input}")
PLAIN = PromptTemplate.from_template("{entities}|{history}|{input}")


class Clerk(WordModel):
    """Finds what is written with a capital letter, and keeps every word of it."""

    failing: str = ""

    def _call(self, prompt, stop=None, run_manager=None, **kwargs):
        self.prompts.append(prompt)
        if self.failing and self.failing in prompt:
            raise DOWN
        kind, _, rest = prompt.partition(" ")
        said = rest.rpartition("|")[2]
        names = [word.strip(".,?") for word in said.split() if word[0] in "AO"]
        if kind == "NAMES":
            return ", ".join(names) or "NONE"
        if kind == "SUMMARY":
            name, before, _ = rest.split("|", 2)
            return f"{before} {name}: {said}".strip()
        return f"({names[0]}, met, {names[1]})" if len(names) > 1 else "NONE"


def entity_memory(**arguments):
    prompts = {
        "entity_extraction_prompt": NAMES,
        "entity_summarization_prompt": SUMMARY,
    }
    return ConversationEntityMemory(**{"llm": Clerk(), **prompts, **arguments})


def kg_memory(**arguments):
    prompts = {"entity_extraction_prompt": NAMES, "knowledge_extraction_prompt": FACTS}
    return ConversationKGMemory(**{"llm": Clerk(), **prompts, **arguments})


@pytest.fixture
def conversation(classic):
    return classic("chains").ConversationChain


@pytest.fixture
def lcel():
    """A chain of runnables that loads, asks and saves."""

    def make(llm, memory, prompt):
        async def asave(said):
            given = {"output": said["response"]}
            await memory.asave_context({"input": said["input"]}, given)
            return said

        def save(said):
            given = {"output": said["response"]}
            memory.save_context({"input": said["input"]}, given)
            return said

        load = RunnableLambda(
            memory.load_memory_variables, memory.aload_memory_variables
        )
        known = {
            name: itemgetter("loaded") | RunnableLambda(itemgetter(name))
            for name in memory.memory_variables
        }
        return (
            RunnablePassthrough.assign(loaded=load)
            | RunnablePassthrough.assign(**known)
            | RunnablePassthrough.assign(response=prompt | llm)
            | RunnableLambda(save, asave)
        )

    return make


@pytest.fixture(params=["chain", "lcel"])
def chain_of(request, lcel):
    """Make a chain of a model, a memory and a prompt."""
    if request.param == "lcel":
        return lcel
    classic = request.getfixturevalue("conversation")
    return lambda llm, memory, prompt: classic(llm=llm, memory=memory, prompt=prompt)


def test_what_is_known_of_an_entity_reaches_the_prompt(chain_of, call):
    llm = WordModel(answers=["a0", "a1"])
    chain = chain_of(llm, entity_memory(), PLAIN)

    call(chain, {"input": "I met Ana."})
    call(chain, {"input": "Who is Ana?"})

    assert llm.prompts[0] == "{'Ana': ''}||I met Ana."
    known, history, said = llm.prompts[1].split("|")
    assert "I met Ana." in known
    assert history == "Human: I met Ana.\nAI: a0"
    assert said == "Who is Ana?"


def test_the_old_template_still_fits(conversation, call):
    llm = WordModel(answers=["a0", "a1"])
    chain = conversation(
        llm=llm, memory=entity_memory(), prompt=ENTITY_MEMORY_CONVERSATION_TEMPLATE
    )

    call(chain, {"input": "I met Ana."})
    call(chain, {"input": "Who is Ana?"})

    assert "'Ana': " in llm.prompts[1]
    assert "AI: a0" in llm.prompts[1]


def test_entities_survive_a_restart(chain_of, call, restarted):
    with restarted():
        memory = entity_memory(session_id="s")
        call(
            chain_of(WordModel(answers=["a0"]), memory, PLAIN), {"input": "I met Ana."}
        )
    with restarted():
        llm = WordModel(answers=["a1"])
        memory = entity_memory(session_id="s")
        call(chain_of(llm, memory, PLAIN), {"input": "Who is Ana?"})
        assert len(memory.chat_memory.messages) == 4
        other = entity_memory(session_id="t").load_memory_variables({"input": "Ana"})

    assert "I met Ana." in llm.prompts[0].split("|")[0]
    assert llm.prompts[0].split("|")[1] == "Human: I met Ana.\nAI: a0"
    assert other == {"history": "", "entities": {"Ana": ""}}


def test_entities_in_the_file_of_the_old_class(chain_of, call, tmp_path):
    def memory():
        path = str(tmp_path / "entities.db")
        return entity_memory(entity_store=SQLiteEntityStore("s", path))

    call(chain_of(WordModel(), memory(), PLAIN), {"input": "I met Ana."})
    llm = WordModel()
    call(chain_of(llm, memory(), PLAIN), {"input": "Who is Ana?"})

    assert "I met Ana." in llm.prompts[0].split("|")[0]


def test_a_model_that_raises_teaches_nothing(chain_of, call):
    memory = entity_memory()
    chain = chain_of(WordModel(answers=[DOWN, "a0"]), memory, PLAIN)

    with pytest.raises(RuntimeError, match="is down"):
        call(chain, {"input": "I met Ana."})
    assert memory.chat_memory.messages == []
    assert not memory.entity_store.exists("Ana")
    call(chain, {"input": "I met Ana."})

    assert len(memory.chat_memory.messages) == 2
    assert memory.entity_store.get("Ana").count("I met Ana.") == 1


def test_a_summary_that_raises_keeps_the_turn_and_the_others(chain_of, call):
    memory = entity_memory(llm=Clerk(failing="SUMMARY Oslo"))
    chain = chain_of(WordModel(answers=["a0", "a1"]), memory, PLAIN)

    with pytest.raises(RuntimeError, match="is down"):
        call(chain, {"input": "I met Ana in Oslo."})

    assert [m.content for m in memory.chat_memory.messages] == [
        "I met Ana in Oslo.",
        "a0",
    ]
    assert "I met Ana" in memory.entity_store.get("Ana")
    assert not memory.entity_store.exists("Oslo")


def test_learning_behind_the_reply(chain_of, call, restarted):
    with restarted():
        memory = entity_memory(session_id="s", background=True)
        chain = chain_of(WordModel(), memory, PLAIN)
        call(chain, {"input": "I met Ana."})
        memory.flush()
    with restarted():
        llm = WordModel()
        memory = entity_memory(session_id="s", background=True)
        call(chain_of(llm, memory, PLAIN), {"input": "Who is Ana?"})
        memory.flush()

    assert llm.prompts[0].split("|")[0].count("I met Ana.") == 1


HISTORY = PromptTemplate.from_template("{history}|{input}")


def test_facts_reach_the_prompt_also_after_a_restart(chain_of, call, restarted):
    with restarted():
        memory = kg_memory(session_id="s")
        call(chain_of(WordModel(), memory, HISTORY), {"input": "Ana visited Oslo."})
    with restarted():
        llm = WordModel()
        memory = kg_memory(session_id="s")
        call(chain_of(llm, memory, HISTORY), {"input": "Who is Ana?"})
        assert len(memory.chat_memory.messages) == 4

    assert llm.prompts == ["On Ana: Ana met Oslo.|Who is Ana?"]


def test_a_fact_is_kept_once(chain_of, call):
    memory = kg_memory()
    chain = chain_of(WordModel(answers=["a0", DOWN, "a1"]), memory, HISTORY)

    call(chain, {"input": "Ana visited Oslo."})
    with pytest.raises(RuntimeError, match="is down"):
        call(chain, {"input": "Ana visited Oslo."})
    call(chain, {"input": "Ana visited Oslo."})

    triples = [tuple(triple) for triple in memory.kg.get_triples()]
    assert len(triples) == 1
    assert set(triples[0]) == {"Ana", "met", "Oslo"}
    assert len(memory.chat_memory.messages) == 4


class Letters(Embeddings):
    """How often each of the first letters occurs."""

    def embed_documents(self, texts):
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text):
        return [1.0 + text.lower().count(letter) for letter in "abcdefgh"]


def indexed(path=None):
    index = {"dims": 8, "embed": Letters()}
    if path is None:
        return InMemoryStore(index=index)
    return open_store(f"sqlite:///{path}", index=index)


@pytest.mark.parametrize("kind", ["memory", "file"])
def test_earlier_turns_reach_the_prompt(chain_of, call, tmp_path, kind):
    store = indexed(tmp_path / "memory.db" if kind == "file" else None)

    def memory(session):
        return VectorStoreRetrieverMemory(store=store, session_id=session)

    call(chain_of(WordModel(answers=["a0"]), memory("s"), HISTORY), {"input": "q0"})
    call(chain_of(WordModel(answers=["b0"]), memory("t"), HISTORY), {"input": "p0"})
    llm = WordModel(answers=["a1"])
    call(chain_of(llm, memory("s"), HISTORY), {"input": "q1"})

    history, _, said = llm.prompts[0].rpartition("|")
    assert said == "q1"
    assert "q0" in history
    assert "a0" in history
    assert "p0" not in history
    assert len(store.search(("memory_store", "s", "turns"))) == 2


def test_a_failure_is_no_earlier_turn(chain_of, call):
    store = indexed()
    memory = VectorStoreRetrieverMemory(store=store, session_id="s")
    chain = chain_of(WordModel(answers=[DOWN, "a0"]), memory, HISTORY)

    with pytest.raises(RuntimeError, match="is down"):
        call(chain, {"input": "q0"})
    call(chain, {"input": "q0"})

    assert len(store.search(("memory_store", "s", "turns"))) == 1


def test_several_memories_at_once(chain_of, call, restarted):
    prompt = PromptTemplate.from_template("{tone}|{history}|{chat}|{input}")

    def combined():
        return CombinedMemory(
            memories=[
                SimpleMemory(memories={"tone": "kind"}),
                kg_memory(session_id="s", input_key="input"),
                ReadOnlySharedMemory(
                    memory=ConversationBufferMemory(
                        session_id="s", memory_key="chat", input_key="input"
                    )
                ),
            ]
        )

    with restarted():
        call(chain_of(WordModel(), combined(), prompt), {"input": "Ana visited Oslo."})
    with restarted():
        llm = WordModel()
        call(chain_of(llm, combined(), prompt), {"input": "Who is Ana?"})
        assert len(StoreChatMessageHistory("s").messages) == 4

    assert llm.prompts == [
        "kind|On Ana: Ana met Oslo.|Human: Ana visited Oslo.\nAI: fine|Who is Ana?"
    ]
