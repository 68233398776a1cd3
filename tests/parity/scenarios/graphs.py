"""The memory of triples."""

from langchain_core.messages import HumanMessage
from langchain_core.prompts import PromptTemplate
from parity.comparing import scenario
from parity.library import words

KG = "ConversationKGMemory"


def kg_llm(lib, triples="(Maya, studies, comets)", entities="Maya"):
    """A model that answers both prompts."""

    def answer(prompt):
        return triples if "knowledge triple" in prompt else entities

    return lib.llm(answer)


def triples(memory):
    return sorted(memory.kg.get_triples())


@scenario(KG)
def default_values_of_a_kg_memory(lib):
    memory = lib.make(KG)
    return {
        "k": memory.k,
        "summary_message_cls": memory.summary_message_cls,
        "memory_key": memory.memory_key,
        "prefixes": (memory.human_prefix, memory.ai_prefix),
        "knowledge": sorted(memory.knowledge_extraction_prompt.input_variables),
        "extraction": sorted(memory.entity_extraction_prompt.input_variables),
        "triples": triples(memory),
    }


@scenario(KG)
def a_triple_is_learnt(lib):
    memory = lib.make(KG, llm=kg_llm(lib))
    lib.save(memory, "Maya studies comets", "nice")
    return triples(memory), lib.load(memory, "Maya?")


@scenario(KG)
def several_triples_and_entities(lib):
    llm = kg_llm(lib, "(Maya, studies, comets)<|>(Leo, sails, Juno)", "Maya, Leo")
    memory = lib.make(KG, llm=llm)
    lib.save(memory, "Maya and Leo", "nice")
    return triples(memory), lib.load(memory, "both?")


@scenario(KG)
def knowledge_as_messages(lib):
    memory = lib.make(KG, llm=kg_llm(lib), return_messages=True)
    empty = lib.load(memory, "Maya?")
    lib.save(memory, "Maya studies comets", "nice")
    memory.summary_message_cls = HumanMessage
    return empty, lib.load(memory, "Maya?")


@scenario(KG)
def several_facts_of_one_entity(lib):
    llm = kg_llm(lib, "(Maya, studies, comets)<|>(Maya, likes, tea)")
    memory = lib.make(KG, llm=llm)
    lib.save(memory, "Maya", "nice")
    return lib.load(memory, "Maya?")


@scenario(KG)
def two_facts_of_one_pair(lib):
    llm = kg_llm(lib, "(Maya, works at, Orbit)<|>(Maya, founded, Orbit)")
    memory = lib.make(KG, llm=llm)
    lib.save(memory, "Maya", "nice")
    return triples(memory), lib.load(memory, "Maya?")


@scenario(KG)
def an_object_with_a_comma(lib):
    memory = lib.make(KG, llm=kg_llm(lib, "(Maya, lives in, Paris, France)"))
    lib.save(memory, "Maya", "nice")
    return triples(memory)


@scenario(KG)
def a_triple_without_brackets(lib):
    memory = lib.make(KG, llm=kg_llm(lib, "Maya, likes, tea"))
    lib.save(memory, "Maya", "nice")
    return triples(memory)


@scenario(KG)
def a_triple_twice(lib):
    memory = lib.make(KG, llm=kg_llm(lib))
    for _ in range(2):
        lib.save(memory, "Maya", "nice")
    return triples(memory)


@scenario(KG)
def answers_that_are_no_triple(lib):
    found = {}
    for answer in ("NONE", "", "nothing to see", "(a, b)"):
        memory = lib.make(KG, llm=kg_llm(lib, answer))
        lib.save(memory, "hello", "hi")
        found[answer] = triples(memory)
    return found


@scenario(KG)
def no_entity_to_look_up(lib):
    memory = lib.make(KG, llm=kg_llm(lib, entities="NONE"))
    lib.save(memory, "Maya", "nice")
    return lib.load(memory, "hello")


@scenario(KG)
def an_entity_nobody_knows(lib):
    return lib.load(lib.make(KG, llm=kg_llm(lib, entities="Nobody")), "hello")


@scenario(KG)
def get_current_entities(lib):
    memory = lib.make(KG, llm=kg_llm(lib, entities="Maya, Leo"))
    return memory.get_current_entities("Maya and Leo")


@scenario(KG)
def get_knowledge_triplets(lib):
    memory = lib.make(KG, llm=kg_llm(lib))
    found = memory.get_knowledge_triplets("Maya")
    return [(one.subject, one.predicate, one.object_) for one in found]


@scenario(KG)
def what_the_model_is_shown(lib):
    memory = lib.make(KG, llm=kg_llm(lib), k=1, human_prefix="H", ai_prefix="A")
    for n in range(3):
        lib.save(memory, f"question {n}", f"answer {n}")
    return words(memory.llm.prompts[-1]).split("END OF EXAMPLE")[-1]


@scenario(KG)
def prompts_of_its_own(lib):
    memory = lib.make(
        KG,
        llm=lib.llm("(a, b, c)"),
        knowledge_extraction_prompt=PromptTemplate.from_template("T {history} {input}"),
        entity_extraction_prompt=PromptTemplate.from_template("E {history} {input}"),
    )
    lib.save(memory, "hello", "hi")
    lib.load(memory, "x")
    return memory.llm.prompts


@scenario(KG)
def a_cleared_graph(lib):
    memory = lib.make(KG, llm=kg_llm(lib))
    lib.save(memory, "Maya", "nice")
    lib.clear(memory)
    return triples(memory), lib.messages(memory.chat_memory), lib.load(memory, "Maya?")


@scenario(KG)
def the_methods_of_its_graph(lib):
    memory = lib.make(KG, llm=kg_llm(lib))
    lib.save(memory, "Maya", "nice")
    graph = memory.kg
    return (
        graph.get_entity_knowledge("Maya"),
        graph.get_entity_knowledge("Nobody"),
        graph.has_node("Maya"),
        graph.has_edge("Maya", "comets"),
        graph.get_number_of_nodes(),
        sorted(graph.get_neighbors("Maya")),
        graph.get_topological_sort(),
    )


@scenario(KG, needs="networkx")
def a_graph_of_networkx_that_is_given(lib):
    from langchain_community.graphs import NetworkxEntityGraph
    from langchain_community.graphs.networkx_graph import KnowledgeTriple

    graph = NetworkxEntityGraph()
    graph.add_triple(KnowledgeTriple("Leo", "sails", "Juno"))
    memory = lib.make(KG, llm=kg_llm(lib, entities="Leo"), kg=graph)
    return lib.load(memory, "Leo?")


@scenario(KG)
def the_graph_changed_by_hand(lib):
    memory = lib.make(KG, llm=kg_llm(lib))
    found = memory.get_knowledge_triplets("Maya")
    memory.kg.add_triple(found[0])
    before = triples(memory)
    memory.kg.delete_triple(found[0])
    return before, triples(memory)


@scenario(KG)
def knowledge_at_depth_two(lib):
    llm = kg_llm(lib, "(Maya, knows, Leo)<|>(Leo, sails, Juno)")
    memory = lib.make(KG, llm=llm)
    lib.save(memory, "Maya", "nice")
    return memory.kg.get_entity_knowledge("Maya", depth=2)


@scenario(KG)
def the_model_raises(lib):
    memory = lib.make(KG, llm=lib.failing_llm())
    lib.save(memory, "Maya", "nice")


@scenario(KG)
def two_inputs_to_load(lib):
    return lib.load(lib.make(KG), {"foo": "a", "bar": "b"})


@scenario(KG)
def an_input_key_that_is_not_there_to_load(lib):
    return lib.load(lib.make(KG, input_key="q"), "hi")
