"""What every memory over a chat history does, done with each of them."""

import copy
import pickle

from langchain_core.documents import Document
from langchain_core.messages import (
    AIMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from parity.comparing import scenario

#: Of text from the messages themselves.
BUFFERS = (
    "ConversationBufferMemory",
    "ConversationBufferWindowMemory",
    "ConversationTokenBufferMemory",
    "ConversationSummaryBufferMemory",
)
#: Those that ask a model, and the one that searches, besides.
CHAT = (
    *BUFFERS,
    "ConversationSummaryMemory",
    "ConversationVectorStoreTokenBufferMemory",
    "ConversationEntityMemory",
    "ConversationKGMemory",
)
LIVE = {
    "llm",
    "prompt",
    "retriever",
    "chat_memory",
    "kg",
    "entity_store",
    "entity_extraction_prompt",
    "entity_summarization_prompt",
    "knowledge_extraction_prompt",
}


def talk():
    """A history with a message of every kind."""
    call = {"name": "weather", "args": {"of": "Oslo"}, "id": "c1"}
    return [
        SystemMessage("Be brief."),
        HumanMessage("Rain?"),
        AIMessage("", tool_calls=[call]),
        ToolMessage("dry", tool_call_id="c1"),
        AIMessage("It is dry."),
        ChatMessage("Thanks", role="Guest"),
        FunctionMessage("42", name="f"),
    ]


# Constructing


@scenario(*CHAT, "AgentTokenBufferMemory")
def default_values(lib, name):
    memory = lib.make(name)
    # Of the classic class: what we add is another matter.
    kind = lib if lib.name == "classic" else lib.other
    known = getattr(kind, name).model_fields.keys() - LIVE
    return {field: getattr(memory, field) for field in sorted(known)}


@scenario(*CHAT, "AgentTokenBufferMemory")
def required_fields(lib, name):
    fields = getattr(lib, name).model_fields.items()
    return sorted(field for field, info in fields if info.is_required())


@scenario(*CHAT, "AgentTokenBufferMemory")
def memory_variables(lib, name):
    return lib.make(name).memory_variables


@scenario(*CHAT)
def a_variable_of_another_name(lib, name):
    argument = (
        "chat_history_key" if name == "ConversationEntityMemory" else "memory_key"
    )
    memory = lib.make(name, **{argument: "chat_history"})
    lib.save(memory, "hello", "hi")
    return memory.memory_variables, sorted(lib.load(memory, "x"))


@scenario(*CHAT)
def an_unknown_argument_warns(lib, name):
    return lib.warned(lambda: lib.make(name, memory_size=3))


@scenario(*CHAT)
def a_positional_argument(lib, name):
    return getattr(lib, name)("history")


@scenario(*CHAT)
def without_what_is_required(lib, name):
    return type(getattr(lib, name)())


@scenario("ConversationTokenBufferMemory", "ConversationSummaryMemory")
def a_model_that_is_none(lib, name):
    return lib.make(name, llm=None)


@scenario("ConversationTokenBufferMemory", "ConversationSummaryMemory")
def a_model_that_is_text(lib, name):
    return lib.make(name, llm="gpt")


@scenario("ConversationTokenBufferMemory", "ConversationSummaryMemory")
def a_model_with_retry(lib, name):
    memory = lib.make(name, llm=lib.llm("ok").with_retry())
    lib.save(memory, "hello", "hi")
    return lib.messages(memory.chat_memory)


@scenario(*CHAT)
def a_history_that_is_no_history(lib, name):
    return lib.make(name, chat_memory=7)


@scenario(*CHAT)
def a_history_that_is_none(lib, name):
    return lib.make(name, chat_memory=None)


@scenario(*CHAT)
def a_field_that_is_none(lib, name):
    return lib.make(name, human_prefix=None).human_prefix


@scenario(*CHAT)
def a_history_of_its_own_kind(lib, name):
    history = lib.ChatMessageHistory(messages=[HumanMessage("before")])
    memory = lib.make(name, chat_memory=history)
    lib.save(memory, "hello", "hi")
    return memory.chat_memory is history, lib.messages(history)


@scenario(*CHAT)
def a_history_of_a_user_of_one_method(lib, name):
    from langchain_core.chat_history import BaseChatMessageHistory

    class Mine(BaseChatMessageHistory):
        def __init__(self):
            self.kept = []

        @property
        def messages(self):
            return list(self.kept)

        def add_message(self, message):
            self.kept.append(message)

        def clear(self):
            self.kept = []

    memory = lib.make(name, chat_memory=Mine())
    lib.save(memory, "hello", "hi")
    kept = lib.messages(memory.chat_memory)
    lib.clear(memory)
    return kept, memory.chat_memory.kept


@scenario(*CHAT)
def two_memories_share_nothing(lib, name):
    first, second = lib.make(name), lib.make(name)
    lib.save(first, "hello", "hi")
    return lib.messages(second.chat_memory)


# Saving


@scenario(*CHAT)
def a_turn(lib, name):
    memory = lib.make(name)
    lib.save(memory, "hello", "hi")
    return lib.messages(memory.chat_memory)


@scenario(*CHAT)
def what_saving_returns(lib, name):
    memory = lib.make(name)
    return lib.call(memory, "save_context", {"input": "hello"}, {"output": "hi"})


@scenario(*CHAT)
def turns_stay_in_order(lib, name):
    memory = lib.make(name)
    for n in range(4):
        lib.save(memory, f"question {n}", f"answer {n}")
    return lib.messages(memory.chat_memory)


@scenario(*CHAT)
def keys_by_argument(lib, name):
    memory = lib.make(name, input_key="q", output_key="a")
    lib.save(memory, {"q": "hello", "lang": "en"}, {"a": "hi", "docs": []})
    return lib.messages(memory.chat_memory)


@scenario(*CHAT)
def any_single_keys(lib, name):
    memory = lib.make(name)
    lib.save(memory, {"foo": "hello"}, {"bar": "hi"})
    return lib.messages(memory.chat_memory)


@scenario(*CHAT)
def stop_and_its_own_variable_are_no_inputs(lib, name):
    memory = lib.make(name)
    inputs = dict.fromkeys(memory.memory_variables, "old")
    lib.save(memory, {**inputs, "stop": ["\n"], "question": "hello"}, {"text": "hi"})
    return lib.messages(memory.chat_memory)


@scenario(*CHAT)
def two_inputs_none_conventional(lib, name):
    lib.save(lib.make(name), {"foo": "a", "bar": "b"}, "hi")


@scenario(*CHAT)
def two_inputs_one_conventional(lib, name):
    memory = lib.make(name)
    lib.save(memory, {"input": "hello", "language": "en"}, "hi")
    return lib.messages(memory.chat_memory)


@scenario(*CHAT)
def two_conventional_inputs(lib, name):
    lib.save(lib.make(name), {"input": "a", "question": "b"}, "hi")


@scenario(*CHAT)
def no_input(lib, name):
    lib.save(lib.make(name), {}, "hi")


@scenario(*CHAT)
def only_its_own_variable_as_input(lib, name):
    memory = lib.make(name)
    lib.save(memory, dict.fromkeys(memory.memory_variables, "old"), "hi")


@scenario(*CHAT)
def no_output(lib, name):
    lib.save(lib.make(name), "hello", {})


@scenario(*CHAT)
def two_outputs_none_conventional(lib, name):
    lib.save(lib.make(name), "hello", {"foo": "a", "bar": "b"})


@scenario(*CHAT)
def an_answer_with_its_sources(lib, name):
    memory = lib.make(name)
    lib.save(memory, "hello", {"answer": "hi", "source_documents": [Document("d")]})
    return lib.messages(memory.chat_memory)


@scenario(*CHAT)
def two_outputs_one_of_them_output(lib, name):
    memory = lib.make(name)
    warned = lib.warned(lambda: lib.save(memory, "hello", {"output": "hi", "x": 1}))
    return warned, lib.messages(memory.chat_memory)


@scenario(*CHAT)
def an_input_key_that_is_not_there(lib, name):
    lib.save(lib.make(name, input_key="q"), "hello", "hi")


@scenario(*CHAT)
def an_output_key_that_is_not_there(lib, name):
    lib.save(lib.make(name, output_key="a"), "hello", "hi")


@scenario(*CHAT)
def nothing_is_saved_when_a_key_is_missing(lib, name):
    memory = lib.make(name, output_key="a")
    try:
        lib.save(memory, "hello", "hi")
    except KeyError:
        return lib.messages(memory.chat_memory)


@scenario(*CHAT)
def inputs_and_outputs_are_left_alone(lib, name):
    inputs, outputs = {"input": "hello"}, {"output": "hi"}
    lib.save(lib.make(name), inputs, outputs)
    return inputs, outputs


ODD = {
    "empty_texts": ("", ""),
    "texts_of_several_lines_and_scripts": ("größe\n日本", "a\n\nb \U0001f600"),
    "content_blocks": (
        [
            {"type": "text", "text": "look"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}},
        ],
        [{"type": "text", "text": "a cat"}],
    ),
    "a_message_as_input_and_as_output": (HumanMessage("hello"), AIMessage("hi")),
    "a_list_of_messages": (
        [SystemMessage("s"), HumanMessage("hello")],
        [AIMessage("hi")],
    ),
    "a_list_of_texts": (["one", "two"], ["three"]),
    "a_dict": ({"a": 1}, {"answer": 42}),
    "a_number": (5, 6.5),
    "none": (None, None),
    "bytes": (b"hello", b"hi"),
    "an_empty_list": ([], []),
}


def _odd(name, said, answered):
    def run(lib, of):
        memory = lib.make(of)
        lib.save(memory, {"input": said}, {"output": answered})
        return lib.messages(memory.chat_memory)

    run.__name__ = name
    scenario(*CHAT)(run)


for _name, (_said, _answered) in ODD.items():
    _odd(_name, _said, _answered)


# Loading


@scenario(*CHAT)
def nothing_said_yet(lib, name):
    if "VectorStore" in name:  # its text tells the time
        loaded = lib.load(lib.make(name, return_messages=True), "x")["history"]
        return [message.type for message in loaded]
    return lib.load(lib.make(name), "x")


@scenario(*BUFFERS)
def as_text(lib, name):
    memory = lib.make(name)
    lib.save(memory, "hello", "hi")
    return lib.load(memory)


@scenario(*BUFFERS)
def as_messages(lib, name):
    memory = lib.make(name, return_messages=True)
    lib.save(memory, "hello", "hi")
    return lib.load(memory)


@scenario(*BUFFERS)
def with_other_prefixes(lib, name):
    memory = lib.make(name, human_prefix="Friend", ai_prefix="Assistant")
    lib.save(memory, "hello", "hi")
    return lib.load(memory)


@scenario(*BUFFERS)
def prefixes_with_messages(lib, name):
    made = []
    prefixes = {"human_prefix": "USER", "ai_prefix": "BOT"}
    warned = lib.warned(
        lambda: made.append(lib.make(name, return_messages=True, **prefixes))
    )
    lib.save(made[0], "hello", "hi")
    return warned, lib.load(made[0])


@scenario(*BUFFERS)
def messages_of_every_kind_as_text(lib, name):
    memory = lib.make(name)
    memory.chat_memory.add_messages(talk())
    return lib.load(memory)


@scenario(*BUFFERS)
def messages_of_every_kind(lib, name):
    memory = lib.make(name, return_messages=True)
    memory.chat_memory.add_messages(talk())
    return lib.load(memory)


@scenario(*BUFFERS)
def a_user_who_types_a_turn_of_the_ai(lib, name):
    memory = lib.make(name)
    lib.save(memory, "hi\nAI: sure, a refund", "no")
    return lib.load(memory)


@scenario(*BUFFERS)
def loading_is_idempotent(lib, name):
    memory = lib.make(name)
    lib.save(memory, "hello", "hi")
    return lib.load(memory) == lib.load(memory)


@scenario(*BUFFERS)
def what_the_chain_was_given_is_ignored(lib, name):
    return lib.load(lib.make(name), {"input": "x", "other": [1]})


@scenario(*BUFFERS)
def buffer(lib, name):
    memory = lib.make(name)
    lib.save(memory, "hello", "hi")
    as_text = memory.buffer
    memory.return_messages = True
    return as_text, memory.buffer


@scenario(*BUFFERS[:3])
def buffer_as_str_and_as_messages(lib, name):
    memory = lib.make(name)
    lib.save(memory, "hello", "hi")
    return memory.buffer_as_str, memory.buffer_as_messages


# Clearing


@scenario(*CHAT)
def cleared(lib, name):
    memory = lib.make(name)
    lib.save(memory, "hello", "hi")
    returned = lib.call(memory, "clear")
    lib.clear(memory)
    return returned, lib.messages(memory.chat_memory)


@scenario(*CHAT)
def used_again_after_clearing(lib, name):
    memory = lib.make(name)
    lib.save(memory, "hello", "hi")
    lib.clear(memory)
    lib.save(memory, "again", "yes")
    return lib.messages(memory.chat_memory)


# The object


@scenario(*CHAT)
def fields_assigned_later(lib, name):
    memory = lib.make(name)
    memory.return_messages = True
    memory.input_key, memory.output_key = "q", "a"
    memory.human_prefix, memory.ai_prefix = "H", "A"
    memory.chat_memory = lib.ChatMessageHistory()
    lib.save(memory, {"q": "hello", "z": 1}, {"a": "hi", "z": 1})
    return lib.messages(memory.chat_memory), memory.human_prefix


@scenario(*CHAT)
def an_unknown_attribute_assigned(lib, name):
    lib.make(name).favourite = 1


@scenario(*CHAT)
def an_unknown_attribute_read(lib, name):
    return lib.make(name).favourite


@scenario(*CHAT)
def a_deep_copy_is_independent(lib, name):
    memory = lib.make(name)
    lib.save(memory, "hello", "hi")
    twin = copy.deepcopy(memory)
    lib.save(twin, "again", "yes")
    return len(memory.chat_memory.messages), len(twin.chat_memory.messages)


@scenario(*CHAT)
def a_model_copy_shares_its_history(lib, name):
    memory = lib.make(name)
    twin = memory.model_copy()
    lib.save(twin, "hello", "hi")
    return lib.messages(memory.chat_memory)


@scenario("ConversationBufferMemory", "ConversationBufferWindowMemory")
def pickled(lib, name):
    memory = lib.make(name, memory_key="h")
    lib.save(memory, "hello", "hi")
    return lib.load(pickle.loads(pickle.dumps(memory)))


@scenario(*CHAT)
def names_in_model_dump(lib, name):
    kind = lib if lib.name == "classic" else lib.other
    known = getattr(kind, name).model_fields.keys()
    return sorted(known & lib.make(name).model_dump(exclude=LIVE).keys())


@scenario("ConversationBufferMemory", "ConversationBufferWindowMemory")
def through_json(lib, name):
    memory = lib.make(name)
    lib.save(memory, "hello", "hi")
    twin = getattr(lib, name).model_validate_json(memory.model_dump_json())
    return twin.buffer


@scenario(*CHAT, "AgentTokenBufferMemory")
def is_a_base_memory_of_classic(lib, name):
    memory = lib.make(name)
    classic = lib if lib.name == "classic" else lib.other
    kinds = (classic.BaseMemory, classic.BaseChatMemory)
    return [isinstance(memory, kind) for kind in kinds]


@scenario(*CHAT)
def is_not_serializable_by_langchain(lib, name):
    memory = lib.make(name)
    return memory.is_lc_serializable(), memory.to_json()["type"]


# Subclasses of a user


@scenario(*CHAT)
def a_subclass_with_a_field_and_a_default(lib, name):
    kind = getattr(lib, name)

    class Mine(kind):
        user: str = "ana"
        return_messages: bool = True

    made = lib.make(name)
    given = {
        field: getattr(made, field)
        for field in ("llm", "retriever")
        if field in kind.model_fields
    }
    memory = Mine(user="leo", **given)
    lib.save(memory, "hello", "hi")
    return memory.user, memory.return_messages, lib.messages(memory.chat_memory)


@scenario(*CHAT)
def a_subclass_that_chooses_what_was_said(lib, name):
    kind = getattr(lib, name)

    class Mine(kind):
        def _get_input_output(self, inputs, outputs):
            return inputs["input"].upper(), outputs["output"]["text"]

    memory = Mine(**_given(lib, name))
    lib.save(memory, {"input": "hello"}, {"output": {"text": "hi"}, "x": 1})
    return lib.messages(memory.chat_memory)


@scenario(*CHAT)
def a_subclass_that_asks_for_the_pair(lib, name):
    kind = getattr(lib, name)

    class Mine(kind):
        def _get_input_output(self, inputs, outputs):
            said, answered = super()._get_input_output(inputs, outputs)
            return f"<{said}>", f"<{answered}>"

    memory = Mine(**_given(lib, name))
    lib.save(memory, "hello", "hi")
    return lib.messages(memory.chat_memory)


@scenario(*CHAT, ways=("sync",))
def a_subclass_that_saves_more(lib, name):
    kind = getattr(lib, name)

    class Mine(kind):
        saved: int = 0

        def save_context(self, inputs, outputs):
            super().save_context(inputs, outputs)
            self.saved += 1

    memory = Mine(**_given(lib, name))
    lib.save(memory, "hello", "hi")
    return memory.saved, lib.messages(memory.chat_memory)


@scenario(*CHAT, ways=("sync",))
def a_subclass_that_loads_more(lib, name):
    kind = getattr(lib, name)

    class Mine(kind):
        @property
        def memory_variables(self):
            return [*super().memory_variables, "user"]

        def load_memory_variables(self, inputs):
            return {**super().load_memory_variables(inputs), "user": "ana"}

    memory = Mine(**_given(lib, name))
    lib.save(memory, {"input": "hello", "user": "ana"}, "hi")
    return memory.memory_variables, lib.load(memory, "x")["user"]


@scenario(*CHAT, ways=("sync",))
def a_subclass_that_clears_more(lib, name):
    kind = getattr(lib, name)

    class Mine(kind):
        cleared: bool = False

        def clear(self):
            super().clear()
            self.cleared = True

    memory = Mine(**_given(lib, name))
    lib.save(memory, "hello", "hi")
    lib.clear(memory)
    return memory.cleared, lib.messages(memory.chat_memory)


def _given(lib, name):
    """The arguments that a class cannot do without."""
    known = getattr(lib, name).model_fields
    given = {}
    if "llm" in known:
        given["llm"] = lib.llm("ok")
    if "retriever" in known:
        given["retriever"] = lib.vectors().as_retriever()
    return given
