"""The token buffer of the old agents."""

from langchain_core.agents import AgentAction, AgentActionMessageLog
from langchain_core.messages import AIMessage, HumanMessage
from parity.comparing import scenario
from parity.library import base

AGENT = "AgentTokenBufferMemory"


def save(lib, memory, said, answered, steps=()):
    lib.save(memory, said, {"output": answered, "intermediate_steps": list(steps)})


def step():
    call = {"name": "find", "args": {"q": "x"}, "id": "c1"}
    action = AgentActionMessageLog(
        tool="find",
        tool_input={"q": "x"},
        log="",
        message_log=[AIMessage("", tool_calls=[call])],
    )
    return action, "seen"


@scenario(AGENT)
def texts(lib):
    memory = lib.make(AGENT)
    save(lib, memory, "hi", "ok")
    return lib.messages(memory.chat_memory)


@scenario(AGENT)
def messages(lib):
    memory = lib.make(AGENT)
    save(lib, memory, [HumanMessage("hello")], [AIMessage("hi")])
    return lib.messages(memory.chat_memory)


@scenario(AGENT)
def steps_of_functions(lib):
    memory = lib.make(AGENT)
    save(lib, memory, [HumanMessage("hello")], [AIMessage("hi")], [step()])
    return lib.messages(memory.chat_memory)


@scenario(AGENT)
def steps_as_tools(lib):
    memory = lib.make(AGENT, format_as_tools=True)
    tools = base.classic_module("agents.output_parsers.tools")
    action = tools.ToolAgentAction(
        tool="find",
        tool_input={"q": "x"},
        log="",
        message_log=step()[0].message_log,
        tool_call_id="c1",
    )
    save(lib, memory, [HumanMessage("hello")], [AIMessage("hi")], [(action, "seen")])
    return lib.messages(memory.chat_memory)


@scenario(AGENT)
def steps_of_plain_actions(lib):
    memory = lib.make(AGENT)
    action = AgentAction(tool="find", tool_input="x", log="I look.")
    save(lib, memory, [HumanMessage("hello")], [AIMessage("hi")], [(action, "seen")])
    return lib.messages(memory.chat_memory)


@scenario(AGENT)
def loaded_as_messages(lib):
    memory = lib.make(AGENT, memory_key="h")
    save(lib, memory, [HumanMessage("hello")], [AIMessage("hi")])
    return lib.load(memory, "x"), memory.buffer, memory.memory_variables


@scenario(AGENT)
def loaded_as_text(lib):
    memory = lib.make(AGENT, return_messages=False, human_prefix="H", ai_prefix="A")
    save(lib, memory, [HumanMessage("hello")], [AIMessage("hi")])
    return lib.load(memory, "x")


@scenario(AGENT)
def over_the_limit(lib):
    memory = lib.make(AGENT, max_token_limit=4)
    for n in range(3):
        save(lib, memory, [HumanMessage(f"question {n}")], [AIMessage(f"answer {n}")])
    return lib.load(memory, "x")


@scenario(AGENT)
def a_history_that_was_there_before(lib):
    history = lib.ChatMessageHistory()
    for n in range(5):
        history.add_user_message(f"old {n}")
    return lib.load(lib.make(AGENT, chat_memory=history, max_token_limit=4), "x")


@scenario(AGENT)
def keys_of_its_own(lib):
    memory = lib.make(AGENT, output_key="a", input_key="q", intermediate_steps_key="s")
    inputs = {"q": [HumanMessage("hello")], "z": 1}
    lib.save(memory, inputs, {"a": [AIMessage("hi")], "s": [], "z": 1})
    return lib.messages(memory.chat_memory)


@scenario(AGENT)
def without_steps(lib):
    memory = lib.make(AGENT)
    lib.save(memory, [HumanMessage("hello")], {"output": [AIMessage("hi")]})
    return lib.messages(memory.chat_memory)


@scenario(AGENT)
def without_an_output(lib):
    memory = lib.make(AGENT)
    lib.save(memory, [HumanMessage("hello")], {"intermediate_steps": []})


@scenario(AGENT)
def cleared(lib):
    memory = lib.make(AGENT)
    save(lib, memory, [HumanMessage("hello")], [AIMessage("hi")])
    lib.clear(memory)
    return memory.buffer


@scenario(AGENT)
def cleared_with_a_history_that_is_given(lib):
    history = lib.ChatMessageHistory(messages=[HumanMessage("hello")])
    memory = lib.AgentTokenBufferMemory(llm=lib.llm("ok"), chat_memory=history)
    lib.clear(memory)
    return memory.buffer, lib.messages(history)


@scenario(AGENT)
def an_unknown_argument_warns(lib):
    return lib.warned(lambda: lib.make(AGENT, memory_size=3))
