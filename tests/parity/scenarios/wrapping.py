"""The memories of other memories, and the one that never changes."""

import copy
import pickle

from parity.comparing import scenario
from pydantic import Field

COMBINED = "CombinedMemory"
READ_ONLY = "ReadOnlySharedMemory"
SIMPLE = "SimpleMemory"


def two(lib, **fields):
    keys = {"input_key": "input", **fields}
    return [
        lib.make("ConversationBufferMemory", memory_key="foo", **keys),
        lib.make("ConversationBufferWindowMemory", memory_key="bar", k=1, **keys),
    ]


@scenario(COMBINED)
def two_memories(lib):
    memory = lib.CombinedMemory(memories=two(lib))
    empty = lib.load(memory)
    for n in range(2):
        lib.save(memory, f"question {n}", f"answer {n}")
    return memory.memory_variables, empty, lib.load(memory)


@scenario(COMBINED)
def all_are_cleared(lib):
    memory = lib.CombinedMemory(memories=two(lib))
    lib.save(memory, "hello", "hi")
    lib.clear(memory)
    return lib.load(memory)


@scenario(COMBINED)
def none_at_all(lib):
    memory = lib.CombinedMemory(memories=[])
    return memory.memory_variables, lib.load(memory)


@scenario(COMBINED)
def without_memories(lib):
    return type(lib.CombinedMemory())


@scenario(COMBINED)
def the_same_variable_twice(lib):
    memories = [lib.make("ConversationBufferMemory", input_key="input")] * 2
    return lib.CombinedMemory(memories=memories)


@scenario(COMBINED)
def a_variable_that_turns_out_twice(lib):
    memories = two(lib)
    memory = lib.CombinedMemory(memories=memories)
    memories[1].memory_key = "foo"
    return lib.load(memory)


@scenario(COMBINED)
def a_memory_without_an_input_key_warns(lib):
    return lib.warned(lambda: lib.CombinedMemory(memories=two(lib, input_key=None)))


@scenario(COMBINED)
def no_memory_at_all(lib):
    return lib.CombinedMemory(memories=["text"])


@scenario(COMBINED)
def with_memories_of_the_other_library(lib):
    memory = lib.CombinedMemory(memories=two(lib.other))
    lib.save(memory, "hello", "hi")
    return lib.load(memory)


@scenario(COMBINED)
def with_memories_of_both_libraries(lib):
    mixed = [two(lib)[0], two(lib.other)[1]]
    memory = lib.CombinedMemory(memories=mixed)
    lib.save(memory, "hello", "hi")
    loaded = lib.load(memory)
    lib.clear(memory)
    return loaded, lib.load(memory)


@scenario(COMBINED)
def an_entity_and_a_vector_memory(lib):
    vectors = lib.vectors()
    memory = lib.CombinedMemory(
        memories=[
            lib.make(
                "ConversationEntityMemory", llm=lib.entity_llm(), input_key="input"
            ),
            lib.make(
                "VectorStoreRetrieverMemory",
                retriever=vectors.as_retriever(),
                memory_key="facts",
                input_key="input",
            ),
        ]
    )
    inputs = {"input": "Maya maps comets"}
    lib.save(memory, {**inputs, **lib.load(memory, inputs)}, "nice")
    return [entry["text"] for entry in vectors.store.values()]


@scenario(COMBINED)
def a_memory_of_its_own_inside(lib):
    class Mine(lib.BaseMemory):
        saved: list = Field(default_factory=list)

        @property
        def memory_variables(self):
            return ["mine"]

        def load_memory_variables(self, inputs):
            return {"mine": len(self.saved)}

        def save_context(self, inputs, outputs):
            self.saved.append(outputs["output"])

        def clear(self):
            self.saved.clear()

    memory = lib.CombinedMemory(memories=[Mine(), *two(lib)])
    lib.save(memory, "hello", "hi")
    loaded = lib.load(memory)
    lib.clear(memory)
    return loaded, lib.load(memory)["mine"]


@scenario(COMBINED)
def one_of_them_raises_when_it_saves(lib):
    memories = two(lib)
    memories[0].output_key = "missing"
    memory = lib.CombinedMemory(memories=memories)
    try:
        lib.save(memory, "hello", "hi")
    except KeyError as error:
        return error, lib.load(memories[1])


@scenario(COMBINED)
def memories_assigned_later(lib):
    memory = lib.CombinedMemory(memories=[])
    memory.memories = two(lib)
    return memory.memory_variables


@scenario(COMBINED)
def copied_and_pickled(lib):
    memory = lib.CombinedMemory(memories=two(lib))
    lib.save(memory, "hello", "hi")
    twins = copy.deepcopy(memory), pickle.loads(pickle.dumps(memory))
    lib.clear(memory)
    return [lib.load(twin) for twin in twins]


@scenario(COMBINED)
def an_unknown_argument_warns__combined(lib):
    return lib.warned(lambda: lib.CombinedMemory(memories=[], size=3))


@scenario(READ_ONLY)
def reads_what_the_other_wrote(lib):
    inner = lib.make("ConversationBufferMemory", memory_key="foo")
    memory = lib.ReadOnlySharedMemory(memory=inner)
    lib.save(inner, "hello", "hi")
    return memory.memory_variables, lib.load(memory)


@scenario(READ_ONLY)
def saves_and_clears_nothing(lib):
    inner = lib.make("ConversationBufferMemory")
    memory = lib.ReadOnlySharedMemory(memory=inner)
    lib.save(inner, "hello", "hi")
    saved = lib.call(memory, "save_context", {"a": 1, "b": 2}, {})
    cleared = lib.call(memory, "clear")
    return saved, cleared, lib.load(memory)


@scenario(READ_ONLY)
def a_summary_memory_inside(lib):
    inner = lib.make("ConversationSummaryMemory", llm=lib.llm("s"))
    memory = lib.ReadOnlySharedMemory(memory=inner)
    lib.save(inner, "hello", "hi")
    return lib.load(memory)


@scenario(READ_ONLY)
def a_memory_of_the_other_library_inside(lib):
    inner = lib.other.make("ConversationBufferMemory")
    memory = lib.ReadOnlySharedMemory(memory=inner)
    lib.save(inner, "hello", "hi")
    return lib.load(memory)


@scenario(READ_ONLY)
def without_a_memory(lib):
    return type(lib.ReadOnlySharedMemory())


@scenario(READ_ONLY)
def a_memory_that_is_text(lib):
    return lib.ReadOnlySharedMemory(memory="text")


@scenario(READ_ONLY)
def an_agent_that_saves_is_not_read_only(lib):
    inner = lib.make("ConversationBufferMemory")
    lib.save(lib.ReadOnlySharedMemory(memory=inner), "hello", "hi")
    return lib.load(inner)


@scenario(READ_ONLY)
def an_unknown_argument_warns(lib):
    inner = lib.make("ConversationBufferMemory")
    return lib.warned(lambda: lib.ReadOnlySharedMemory(memory=inner, size=3))


@scenario(SIMPLE)
def fixed_values(lib):
    memory = lib.SimpleMemory(memories={"city": "Oslo", "n": 3})
    return memory.memory_variables, lib.load(memory, "x")


@scenario(SIMPLE)
def no_values(lib):
    memory = lib.SimpleMemory()
    return memory.memories, memory.memory_variables, lib.load(memory)


@scenario(SIMPLE)
def saving_and_clearing_change_nothing(lib):
    memory = lib.SimpleMemory(memories={"city": "Oslo"})
    saved = lib.call(memory, "save_context", {"city": "Rome"}, {"output": "x"})
    cleared = lib.call(memory, "clear")
    return saved, cleared, lib.load(memory)


@scenario(SIMPLE)
def a_result_that_is_changed(lib):
    memory = lib.SimpleMemory(memories={"city": "Oslo"})
    lib.load(memory)["city"] = "Rome"
    return lib.load(memory)


@scenario(SIMPLE)
def values_that_are_no_dict(lib):
    return lib.SimpleMemory(memories=["city"])


@scenario(SIMPLE)
def values_assigned_later(lib):
    memory = lib.SimpleMemory()
    memory.memories["city"] = "Oslo"
    first = lib.load(memory)
    memory.memories = {"city": "Rome"}
    return dict(first), lib.load(memory), lib.SimpleMemory().memories


@scenario(SIMPLE)
def an_unknown_argument_warns__simple(lib):
    return lib.warned(lambda: lib.SimpleMemory(size=3))


@scenario(SIMPLE)
def copied_pickled_and_dumped(lib):
    memory = lib.SimpleMemory(memories={"city": "Oslo"})
    twins = copy.deepcopy(memory), pickle.loads(pickle.dumps(memory))
    return [twin.memories for twin in twins], memory.model_dump()
