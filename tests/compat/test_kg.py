"""`ConversationKGMemory`: what is known about the entities a line mentions."""

from __future__ import annotations

import asyncio
import threading
import warnings

import backends
import pytest
from langchain_core.language_models import FakeListLLM
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.prompts import PromptTemplate
from langchain_core.runnables import RunnableLambda
from pydantic import ValidationError

from holdover.compat.chat_message_histories.in_memory import ChatMessageHistory
from holdover.compat.graph import EntityGraph
from holdover.compat.kg import ConversationKGMemory, KnowledgeTriple
from holdover.compat.repository import Repository

ENTITIES = PromptTemplate.from_template("entities of {input} after {history}")
TRIPLES = PromptTemplate.from_template("triples of {input} after {history}")
PROMPTS = {
    "entity_extraction_prompt": ENTITIES,
    "knowledge_extraction_prompt": TRIPLES,
}


class Model:
    """Answers each prompt with the line it is about; what it was asked is `asked`."""

    def __init__(self, entities="Maya", triples="(Maya, studies, comets)"):
        self.answers = {"entities": entities, "triples": triples}
        self.asked = []
        self.llm = RunnableLambda(self._answer)

    def _answer(self, prompt):
        text = prompt.to_string()
        self.asked.append(text)
        answer = self.answers[text.split()[0]]
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.fixture
def driven(way, loop):
    return lambda memory: backends.Driven(memory, way, loop)


@pytest.fixture(params=[None, "memory", "sqlite", "plain"])
def make(request, shared_store, driven, scope):
    """Make a memory in itself alone, or on a store."""
    kept = {}
    if request.param:
        kept = {"store": shared_store(request.param), "scope": scope}

    def make(model=None, **fields):
        llm = (model or Model()).llm
        return driven(ConversationKGMemory(**{"llm": llm, **PROMPTS, **kept, **fields}))

    return make


HELLO = {"input": "hi"}, {"output": "hello"}


def test_it_gives_what_it_learnt_about_who_is_mentioned(make):
    model = Model(
        entities="Maya, Orbit, Nobody",
        triples="(Maya, studies, comets)<|>(Maya, works at, Orbit)<|>(Orbit, is, big)",
    )
    memory = make(model)
    assert memory.memory_variables == ["history"]
    assert memory.load_memory_variables({"input": "Maya?"}) == {"history": ""}
    memory.save_context({"input": "Maya studies comets"}, {"output": "ok"})
    assert memory.load_memory_variables({"input": "Maya?"}) == {
        "history": "On Maya: Maya studies comets. Maya works at Orbit.\n"
        "On Orbit: Orbit is big."
    }


def test_it_gives_messages_if_it_is_asked_to(make):
    memory = make(return_messages=True)
    assert memory.load_memory_variables(HELLO[0]) == {"history": []}
    memory.save_context(*HELLO)
    assert memory.load_memory_variables(HELLO[0]) == {
        "history": [SystemMessage("On Maya: Maya studies comets.")]
    }
    memory = make(return_messages=True, summary_message_cls=AIMessage, memory_key="kg")
    memory.save_context(*HELLO)
    assert memory.load_memory_variables(HELLO[0]) == {
        "kg": [AIMessage("On Maya: Maya studies comets.")]
    }


@pytest.mark.parametrize(
    ("k", "history"),
    [
        (0, ""),
        (1, "Human: three\nAI: ok"),
        (2, "Human: two\nAI: ok\nHuman: three\nAI: ok"),
    ],
)
def test_the_model_is_shown_the_last_turns_and_the_line(make, k, history):
    model = Model()
    memory = make(model, k=k)
    for line in ("one", "two", "three"):
        memory.save_context({"input": line}, {"output": "ok"})
    model.asked.clear()
    memory.load_memory_variables({"input": "four"})
    assert model.asked == [f"entities of four after {history}"]
    memory.get_knowledge_triplets("four")
    assert model.asked[1:] == [f"triples of four after {history}"]


def test_a_line_is_learnt_from_with_its_own_turn_as_history(make):
    model = Model()
    make(model, human_prefix="Me", ai_prefix="You").save_context(*HELLO)
    assert model.asked == ["triples of hi after Me: hi\nYou: hello"]


@pytest.mark.parametrize(
    "answer",
    [
        "NONE",
        "",
        " ",
        None,
        5,
        "x" * 200_000,
        "I found nothing. Sorry, I, really, did.",
    ],
)
def test_an_answer_of_no_use_teaches_nothing_and_keeps_what_is_known(make, answer):
    model = Model()
    memory = make(model)
    memory.save_context(*HELLO)
    model.answers["triples"] = answer
    memory.save_context(*HELLO)
    assert memory.load_memory_variables(HELLO[0]) == {
        "history": "On Maya: Maya studies comets."
    }
    assert len(memory.chat_memory.messages) == 4
    model.answers["entities"] = answer
    assert memory.load_memory_variables(HELLO[0]) == {"history": ""}


@pytest.mark.parametrize(("answer", "lines"), [("NONE", 0), ("", 0), (None, 2)])
def test_that_nothing_was_found_is_not_logged(make, caplog, answer, lines):
    memory = make(Model(entities=answer, triples=answer))
    memory.save_context(*HELLO)
    memory.load_memory_variables(HELLO[0])
    assert len(caplog.records) == lines


def test_a_model_that_fails_loses_no_turn(make):
    memory = make(Model(triples=TimeoutError("busy"), entities=TimeoutError("busy")))
    with pytest.raises(TimeoutError, match="busy"):
        memory.save_context(*HELLO)
    assert memory.chat_memory.messages == [HumanMessage("hi"), AIMessage("hello")]
    with pytest.raises(TimeoutError, match="busy"):
        memory.load_memory_variables(HELLO[0])


def test_what_is_said_need_not_be_text(make):
    model = Model()
    memory = make(model)
    memory.save_context({"input": [HumanMessage("hi")]}, {"output": AIMessage("a")})
    memory.load_memory_variables({"input": {"q": 1}})
    assert model.asked[0].startswith("triples of hi after")
    assert model.asked[1].startswith('entities of {"q": 1} after')


@pytest.mark.parametrize(
    ("fields", "inputs", "error"),
    [
        ({}, {"a": "1", "b": "2"}, ValueError),
        ({"input_key": "q"}, {"input": "1"}, KeyError),
    ],
)
def test_what_cannot_be_told_is_refused(make, fields, inputs, error):
    memory = make(**fields)
    with pytest.raises(error):
        memory.save_context(inputs, {"output": "x"})
    with pytest.raises(error):
        memory.load_memory_variables(inputs)
    assert memory.chat_memory.messages == []


def test_clear_forgets_messages_and_facts(make):
    memory = make()
    memory.save_context(*HELLO)
    memory.clear()
    assert memory.kg.get_triples() == []
    assert memory.chat_memory.messages == []
    assert memory.load_memory_variables(HELLO[0]) == {"history": ""}


class Interrupted(Model):
    """Answers when a thread, or a task, has done something else."""

    meanwhile = None

    def __init__(self):
        super().__init__()
        self.llm = RunnableLambda(self._later, afunc=self._alater)

    def _later(self, prompt):
        if self.meanwhile:
            thread = threading.Thread(target=self.meanwhile.clear)
            thread.start()
            thread.join()
        return self._answer(prompt)

    async def _alater(self, prompt):
        if self.meanwhile:
            await asyncio.create_task(self.meanwhile.aclear())
        return self._answer(prompt)


@pytest.mark.parametrize("who", ["memory", "graph", "another memory"])
def test_what_is_cleared_while_the_model_is_asked_stays_cleared(make, who):
    model = Interrupted()
    memory = make(model)
    memory.save_context(*HELLO)
    model.meanwhile = {"memory": memory, "graph": memory.kg}.get(who, make())
    if isinstance(model.meanwhile, backends.Driven):
        model.meanwhile = model.meanwhile._target
    if who == "another memory" and not model.meanwhile.kg.place:
        pytest.skip("without a store, another memory has nothing of this one")
    memory.save_context({"input": "I study comets"}, {"output": "ok"})
    assert memory.kg.get_triples() == []
    assert len(memory.chat_memory.messages) == (4 if who == "graph" else 0)
    model.meanwhile = None
    memory.save_context(*HELLO)
    assert memory.kg.get_triples() == [("Maya", "comets", "studies")]


def test_facts_go_to_the_session_they_were_said_in(shared_store, scope):
    from holdover.compat.chat_message_histories.store import StoreChatMessageHistory

    def answer(_):
        memory.chat_memory = ChatMessageHistory()
        return "(Maya, studies, comets)"

    history = StoreChatMessageHistory(store=shared_store("memory"), scope=scope)
    memory = ConversationKGMemory(
        llm=RunnableLambda(answer), chat_memory=history, **PROMPTS
    )
    memory.save_context(*HELLO)
    assert memory._graph().get_triples() == []
    memory.chat_memory = history
    assert memory._graph().get_triples() == [("Maya", "comets", "studies")]


def test_a_turn_saved_in_the_middle_of_a_clear_leaves_no_facts(make):
    memory = make()
    target = memory._target
    save = type(target).save_context

    class Late(ChatMessageHistory):
        def clear(self):
            super().clear()
            save(target, *HELLO)

    target.chat_memory = Late()
    target.clear()
    assert target.kg.get_triples() == []


def test_asking_is_public(make):
    memory = make(Model(entities="Maya, Orbit", triples="(a, b, c)<|>(a, b, d)"))
    assert memory.get_current_entities("x") == ["Maya", "Orbit"]
    assert memory.get_knowledge_triplets("x") == [
        KnowledgeTriple("a", "b", "c"),
        KnowledgeTriple("a", "b", "d"),
    ]
    assert memory.kg.get_triples() == []


def test_facts_added_by_hand_are_given(make):
    memory = make()
    memory.kg.add_triple(KnowledgeTriple("Maya", "likes", "tea"))
    assert memory.load_memory_variables(HELLO[0]) == {
        "history": "On Maya: Maya likes tea."
    }


def test_a_subclass_with_its_own_way_of_asking_is_heeded(driven):
    class Own(ConversationKGMemory):
        def get_current_entities(self, input_string):
            return input_string.split()

        def get_knowledge_triplets(self, input_string):
            return [("Maya", "said", input_string)]

    memory = driven(Own(llm=Model(entities="Bo").llm, **PROMPTS))
    memory.save_context({"input": "hello"}, {"output": "x"})
    assert memory.load_memory_variables({"input": "ask Maya"}) == {
        "history": "On Maya: Maya said hello."
    }


def test_async_code_asks_asynchronously():
    async def reply(_):
        await asyncio.sleep(0)
        return "(Maya, is, async)"

    llm = RunnableLambda(lambda _: "(Maya, is, sync)", afunc=reply)
    memory = ConversationKGMemory(llm=llm)
    asyncio.run(memory.asave_context(*HELLO))
    assert memory.kg.get_triples() == [("Maya", "async", "is")]


@pytest.mark.parametrize("kind", ["memory", "sqlite", "async-sqlite"])
def test_on_a_store_it_survives_the_object(kind, shared_store, driven, scope):
    kept = {"store": shared_store(kind), "scope": scope, **PROMPTS}
    first = driven(ConversationKGMemory(llm=Model().llm, **kept))
    first.save_context(*HELLO)
    other = driven(ConversationKGMemory(llm=Model(triples="(Maya, is, 9)").llm, **kept))
    other.save_context(*HELLO)
    assert first.load_memory_variables(HELLO[0]) == {
        "history": "On Maya: Maya studies comets. Maya is 9."
    }


def test_on_a_store_others_read_its_facts(shared_store, scope):
    store = shared_store("memory")
    llm = Model(triples="(Maya, lives in, Paris, France)").llm
    memory = ConversationKGMemory(llm=llm, store=store, scope=scope, **PROMPTS)
    memory.save_context(*HELLO)
    (item,) = store.search((*Repository(store, scope).namespace("triple"),))
    assert item.value["content"] == {
        "subject": "Maya",
        "predicate": "lives in",
        "object": "Paris, France",
        "text": "Maya lives in Paris, France",
    }
    assert memory.repository.count("triple") == 1


def test_a_history_on_a_store_says_where_the_facts_are(shared_store, scope):
    from holdover.compat.chat_message_histories.store import StoreChatMessageHistory

    history = StoreChatMessageHistory(store=shared_store("memory"), scope=scope)
    fields = {"llm": Model().llm, "chat_memory": history, **PROMPTS}
    ConversationKGMemory(**fields).save_context(*HELLO)
    again = ConversationKGMemory(**fields)
    assert again.kg.get_triples() == [("Maya", "comets", "studies")]


def test_the_facts_of_one_session_are_not_given_in_another(shared_store, scope):
    from holdover.compat.chat_message_histories.store import StoreChatMessageHistory

    def session(name):
        return StoreChatMessageHistory(
            store=shared_store("memory"), scope=(*scope, name)
        )

    memory = ConversationKGMemory(
        llm=Model().llm, chat_memory=session("one"), **PROMPTS
    )
    memory.save_context(*HELLO)
    for history in (session("two"), ChatMessageHistory()):
        memory.chat_memory = history
        assert memory.load_memory_variables(HELLO[0]) == {"history": ""}
    memory.chat_memory = session("one")
    assert memory.load_memory_variables(HELLO[0]) == {
        "history": "On Maya: Maya studies comets."
    }


def test_one_graph_can_serve_two_memories(shared_store, scope):
    graph = EntityGraph()
    fields = {"store": shared_store("memory"), "kg": graph, **PROMPTS}
    one = ConversationKGMemory(llm=Model().llm, scope=(*scope, "one"), **fields)
    two = ConversationKGMemory(llm=Model().llm, scope=(*scope, "two"), **fields)
    one.save_context(*HELLO)
    assert two.kg is graph
    assert "comets" in two.load_memory_variables(HELLO[0])["history"]


class OtherGraph:
    """A graph of another package, as `NetworkxEntityGraph` shows its triples."""

    reads = 0

    def get_triples(self):
        self.reads += 1
        return [("Maya", "tea", "likes")]


def test_the_facts_of_another_graph_are_taken_over_when_they_are_needed(make):
    graph = OtherGraph()
    memory = make(kg=graph)
    assert graph.reads == 0
    memory.save_context(*HELLO)
    assert memory.load_memory_variables(HELLO[0]) == {
        "history": "On Maya: Maya likes tea. Maya studies comets."
    }
    assert graph.reads == 1


def test_a_graph_can_be_assigned(make):
    memory = make()
    memory._target.kg = OtherGraph()
    assert "likes tea" in memory.load_memory_variables(HELLO[0])["history"]
    memory._target.kg = EntityGraph([("Maya", "likes", "ink")])
    assert "likes ink" in memory.load_memory_variables(HELLO[0])["history"]


def test_what_is_no_graph_or_no_model_is_refused():
    with pytest.raises(ValidationError, match="no graph"):
        ConversationKGMemory(llm=Model().llm, kg={"a": 1})
    with pytest.raises(ValidationError, match="llm"):
        ConversationKGMemory(llm="gpt")
    with pytest.raises(ValidationError, match="llm"):
        ConversationKGMemory()


def test_making_one_warns_of_nothing_and_shares_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        one = ConversationKGMemory(llm=FakeListLLM(responses=["(a, b, c)"]))
    one.save_context(*HELLO)
    other = ConversationKGMemory(llm=FakeListLLM(responses=["(a, b, c)"]))
    assert other.kg.get_triples() == []
    assert (other.k, other.human_prefix, other.ai_prefix) == (2, "Human", "AI")


def test_it_survives_json(make):
    memory = make(k=3)._target
    memory.save_context(*HELLO)
    said = memory.to_dict()
    assert "llm" in said["needs"]
    again = ConversationKGMemory.from_dict(said, llm=Model().llm)
    assert again.k == 3
    assert again.kg.get_triples() == [("Maya", "comets", "studies")]
    assert again.chat_memory.messages == [HumanMessage("hi"), AIMessage("hello")]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("triples", "entities"),
    [
        ("(Maya, studies, comets)<|>(Maya, works at, Orbit)", "Maya"),
        ("(Maya, studies, comets)<|>(Orbit, is, big)", "Orbit, Maya, Nobody"),
        ("(Maya, knows, Bo)<|>(Bo, knows, Maya)", "Maya, Bo"),
        ("(Maya, studies, comets)<|>junk<|>(Maya, studies, comets)", "Maya"),
        ("(Maya, loves, Maya)<|>(Maya, is, kind)", "Maya"),
        ("NONE", "NONE"),
    ],
)
@pytest.mark.parametrize("return_messages", [True, False])
def test_it_gives_what_classic_gives(triples, entities, return_messages):
    pytest.importorskip("networkx", reason="networkx is not installed")
    classic = pytest.importorskip("langchain_community.memory.kg")
    given = []
    for kind in (classic.ConversationKGMemory, ConversationKGMemory):
        llm = FakeListLLM(responses=[triples, entities])
        memory = kind(llm=llm, return_messages=return_messages)
        memory.save_context({"input": "Maya?"}, {"output": "ok"})
        given.append(
            (memory.load_memory_variables({"input": "x"}), memory.kg.get_triples())
        )
    assert given[0] == given[1]
