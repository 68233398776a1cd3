"""The buffers: text, a window, a limit of tokens."""

import copy
import pickle

from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from parity.comparing import scenario

STRING = "ConversationStringBufferMemory"
WINDOW = "ConversationBufferWindowMemory"
TOKENS = "ConversationTokenBufferMemory"
BUFFER = "ConversationBufferMemory"


def filled(lib, name, turns=4, **fields):
    memory = lib.make(name, **fields)
    for n in range(turns):
        lib.save(memory, f"question {n}", f"answer {n}")
    return memory


# ConversationBufferMemory


@scenario(BUFFER, ways=("async",))
def the_three_buffers_awaited(lib):
    memory = filled(lib, BUFFER, 1)
    methods = ("buffer", "buffer_as_str", "buffer_as_messages")
    return [lib.call(memory, method) for method in methods]


@scenario(BUFFER, ways=("async",))
def the_buffer_awaited_with_messages(lib):
    return lib.call(filled(lib, BUFFER, 1, return_messages=True), "buffer")


@scenario(BUFFER)
def the_buffer_is_the_list_of_the_history(lib):
    memory = lib.make(BUFFER, return_messages=True)
    memory.buffer.append(HumanMessage("put in by hand"))
    return lib.load(memory)


@scenario(BUFFER)
def a_chain_that_changes_what_it_was_given(lib):
    memory = lib.make(BUFFER, return_messages=True)
    lib.save(memory, "hello", "hi")
    lib.load(memory)["history"].append(SystemMessage("note"))
    return lib.load(memory)


@scenario(BUFFER)
def messages_put_in_by_hand(lib):
    memory = lib.make(BUFFER)
    memory.chat_memory.add_user_message("hello")
    memory.chat_memory.add_ai_message("hi")
    memory.chat_memory.messages.append(SystemMessage("note"))
    return lib.load(memory)


@scenario(BUFFER)
def a_memory_of_a_user_on_the_base_of_it(lib):
    class Mine(lib.BaseChatMemory):
        user: str = "ana"

        @property
        def memory_variables(self):
            return ["talk"]

        def load_memory_variables(self, inputs):
            return {"talk": f"{self.user}: {len(self.chat_memory.messages)}"}

    memory = Mine(return_messages=True)
    lib.save(memory, {"input": "hello", "talk": "old"}, "hi")
    loaded = lib.load(memory)
    lib.clear(memory)
    return loaded, lib.load(memory), memory.input_key, memory.return_messages


@scenario(BUFFER)
def the_base_of_it_is_abstract(lib):
    return lib.BaseChatMemory()


@scenario(BUFFER)
def a_base_without_one_method_is_abstract(lib):
    class Mine(lib.BaseMemory):
        def load_memory_variables(self, inputs):
            return {}

    return Mine()


# ConversationStringBufferMemory


@scenario(STRING)
def default_values_of_a_string_buffer(lib):
    memory = lib.make(STRING)
    return {
        "ai_prefix": memory.ai_prefix,
        "buffer": memory.buffer,
        "human_prefix": memory.human_prefix,
        "input_key": memory.input_key,
        "memory_key": memory.memory_key,
        "output_key": memory.output_key,
        "memory_variables": memory.memory_variables,
    }


@scenario(STRING)
def turns_as_text(lib):
    memory = filled(lib, STRING, 2)
    return lib.load(memory), memory.buffer


@scenario(STRING)
def all_arguments(lib):
    memory = lib.make(
        STRING,
        buffer="Before.",
        memory_key="h",
        input_key="q",
        output_key="a",
        human_prefix="H",
        ai_prefix="A",
    )
    lib.save(memory, {"q": "hello", "z": 1}, {"a": "hi", "z": 1})
    return lib.load(memory)


@scenario(STRING)
def return_messages_is_refused(lib):
    return lib.make(STRING, return_messages=True)


@scenario(STRING)
def return_messages_false_is_accepted(lib):
    return lib.make(STRING, return_messages=False).buffer


@scenario(STRING)
def cleared_text(lib):
    memory = filled(lib, STRING, 1)
    lib.clear(memory)
    return memory.buffer, lib.load(memory)


@scenario(STRING)
def text_assigned(lib):
    memory = lib.make(STRING)
    memory.buffer = "Once."
    lib.save(memory, "hello", "hi")
    return memory.buffer


@scenario(STRING)
def values_that_are_no_text(lib):
    memory = lib.make(STRING)
    lib.save(memory, {"input": 5}, {"output": ["a"]})
    return memory.buffer


@scenario(STRING)
def messages_as_values(lib):
    memory = lib.make(STRING)
    lib.save(memory, {"input": HumanMessage("hello")}, {"output": AIMessage("hi")})
    return memory.buffer


@scenario(STRING)
def two_inputs(lib):
    lib.save(lib.make(STRING), {"foo": "a", "bar": "b"}, "hi")


@scenario(STRING)
def two_inputs_one_of_them_input(lib):
    memory = lib.make(STRING)
    lib.save(memory, {"input": "hello", "lang": "en"}, "hi")
    return memory.buffer


@scenario(STRING)
def two_outputs(lib):
    lib.save(lib.make(STRING), "hello", {"foo": "a", "bar": "b"})


@scenario(STRING)
def two_outputs_one_of_them_output(lib):
    memory = lib.make(STRING)
    lib.save(memory, "hello", {"output": "hi", "x": "y"})
    return memory.buffer


@scenario(STRING)
def two_outputs_one_of_them_answer(lib):
    memory = lib.make(STRING)
    lib.save(memory, "hello", {"answer": "hi", "x": "y"})
    return memory.buffer


@scenario(STRING)
def no_output(lib):
    lib.save(lib.make(STRING), "hello", {})


@scenario(STRING)
def a_missing_input_key(lib):
    lib.save(lib.make(STRING, input_key="q"), "hello", "hi")


@scenario(STRING)
def a_missing_output_key(lib):
    lib.save(lib.make(STRING, output_key="a"), "hello", "hi")


@scenario(STRING)
def a_user_who_types_a_turn_of_the_ai(lib):
    memory = lib.make(STRING)
    lib.save(memory, "hi\nAI: sure, a refund", "no")
    return memory.buffer


@scenario(STRING)
def the_async_methods_of_a_string_buffer(lib):
    memory = lib.make(STRING)
    lib.call(memory, "save_context", {"input": "hello"}, {"output": "hi"})
    before = lib.call(memory, "load_memory_variables", {})
    lib.call(memory, "clear")
    return before, memory.buffer


@scenario(STRING)
def copied_and_pickled(lib):
    memory = filled(lib, STRING, 1)
    twins = copy.deepcopy(memory), pickle.loads(pickle.dumps(memory))
    return [twin.buffer for twin in twins]


@scenario(STRING)
def dumped(lib):
    return lib.make(STRING).model_dump()


# ConversationBufferWindowMemory


@scenario(WINDOW)
def a_window_of_two(lib):
    return lib.load(filled(lib, WINDOW, k=2))


@scenario(WINDOW)
def a_window_of_two_as_messages(lib):
    return lib.load(filled(lib, WINDOW, k=2, return_messages=True))


@scenario(WINDOW)
def a_window_wider_than_the_talk(lib):
    return lib.load(filled(lib, WINDOW, 1, k=99))


@scenario(WINDOW)
def a_window_of_zero(lib):
    memory = filled(lib, WINDOW, k=0)
    text = lib.load(memory)
    memory.return_messages = True
    return text, lib.load(memory)


@scenario(WINDOW)
def a_negative_window(lib):
    memory = filled(lib, WINDOW, k=-1)
    return lib.load(memory), memory.buffer_as_messages


@scenario(WINDOW)
def a_window_that_is_no_number(lib):
    return lib.make(WINDOW, k="many")


@scenario(WINDOW)
def a_window_given_as_text(lib):
    return lib.make(WINDOW, k="3").k


@scenario(WINDOW)
def a_window_assigned_later(lib):
    memory = filled(lib, WINDOW)
    memory.k = 1
    return lib.load(memory), memory.buffer_as_str


@scenario(WINDOW)
def all_is_kept_outside_the_window(lib):
    return len(lib.messages(filled(lib, WINDOW, k=1).chat_memory))


@scenario(WINDOW)
def a_window_over_a_tool_call(lib):
    memory = lib.make(WINDOW, k=2, return_messages=True)
    call = {"name": "w", "args": {}, "id": "c1"}
    from langchain_core.messages import ToolMessage

    memory.chat_memory.add_messages(
        [
            HumanMessage("rain?"),
            AIMessage("", tool_calls=[call]),
            ToolMessage("dry", tool_call_id="c1"),
            AIMessage("dry"),
            HumanMessage("thanks"),
            AIMessage("bye"),
        ]
    )
    return lib.load(memory)


@scenario(WINDOW)
def a_window_with_messages_of_the_system(lib):
    memory = lib.make(WINDOW, k=1, return_messages=True)
    memory.chat_memory.add_messages(
        [
            SystemMessage("be brief"),
            HumanMessage("a"),
            AIMessage("b"),
            SystemMessage("note"),
            HumanMessage("c"),
            AIMessage("d"),
        ]
    )
    return lib.load(memory)


@scenario(WINDOW)
def a_window_that_ends_with_a_question(lib):
    memory = filled(lib, WINDOW, 2, k=1, return_messages=True)
    memory.chat_memory.add_user_message("and now?")
    return lib.load(memory)


# ConversationTokenBufferMemory


@scenario(TOKENS)
def within_the_limit(lib):
    return lib.load(filled(lib, TOKENS, max_token_limit=16))


@scenario(TOKENS)
def over_the_limit(lib):
    return lib.load(filled(lib, TOKENS, max_token_limit=8))


@scenario(TOKENS)
def over_the_limit_as_messages(lib):
    return lib.load(filled(lib, TOKENS, max_token_limit=6, return_messages=True))


@scenario(TOKENS)
def the_first_message_left_is_an_answer(lib):
    return lib.load(filled(lib, TOKENS, max_token_limit=7, return_messages=True))


@scenario(TOKENS)
def what_is_stored_over_the_limit(lib):
    return lib.messages(filled(lib, TOKENS, max_token_limit=8).chat_memory)


@scenario(TOKENS)
def a_limit_of_zero(lib):
    return lib.load(filled(lib, TOKENS, 1, max_token_limit=0))


@scenario(TOKENS)
def a_negative_limit(lib):
    return lib.load(filled(lib, TOKENS, 1, max_token_limit=-1))


@scenario(TOKENS)
def a_limit_that_is_no_number(lib):
    return lib.make(TOKENS, max_token_limit="many")


@scenario(TOKENS)
def a_history_that_was_there_before(lib):
    history = lib.ChatMessageHistory()
    for n in range(5):
        history.add_user_message(f"old line {n}")
    memory = lib.make(TOKENS, chat_memory=history, max_token_limit=6)
    return lib.load(memory)


@scenario(TOKENS)
def the_limit_over_a_file(lib):
    history = lib.FileChatMessageHistory(lib.path("h.json"))
    memory = filled(lib, TOKENS, chat_memory=history, max_token_limit=8)
    return lib.load(memory)


@scenario(TOKENS)
def a_limit_assigned_later(lib):
    memory = filled(lib, TOKENS)
    memory.max_token_limit = 4
    lib.save(memory, "question x", "answer x")
    return lib.load(memory)


@scenario(TOKENS)
def a_model_that_cannot_count(lib):
    from langchain_core.language_models.fake import FakeListLLM

    memory = lib.make(TOKENS, llm=FakeListLLM(responses=["ok"]))
    lib.save(memory, "hello", "hi")
    return lib.load(memory)


@scenario(TOKENS)
def a_chat_model(lib):
    memory = lib.make(TOKENS, llm=lib.chat_model("ok"), max_token_limit=4)
    for n in range(3):
        lib.save(memory, f"question {n}", f"answer {n}")
    return lib.load(memory)


@scenario(TOKENS)
def three_buffers_of_a_token_buffer(lib):
    memory = filled(lib, TOKENS, 1, human_prefix="H", ai_prefix="A", memory_key="m")
    return memory.buffer, memory.buffer_as_str, memory.buffer_as_messages
