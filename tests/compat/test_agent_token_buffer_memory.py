"""`AgentTokenBufferMemory`: what was said, and the steps an agent took in between."""

from __future__ import annotations

import warnings

import backends
import pytest
from langchain_core.agents import AgentAction, AgentActionMessageLog, AgentStep
from langchain_core.language_models import FakeListLLM
from langchain_core.messages import (
    AIMessage,
    FunctionMessage,
    HumanMessage,
    ToolMessage,
)

from holdover.compat import base, notices
from holdover.compat.agent_token_buffer_memory import (
    AgentTokenBufferMemory,
    step_messages,
)
from holdover.compat.chat_message_histories.in_memory import ChatMessageHistory


class Counting(FakeListLLM):
    """A token is a word."""

    def get_num_tokens(self, text):
        return len(text.split())


LLM = Counting(responses=["x"])


class ToolAgentAction(AgentActionMessageLog):
    """As classic's class of this name, which lane `bare` does not have."""

    tool_call_id: str | None


def called(tool, **args):
    call = {"name": tool, "arguments": str(args)}
    said = AIMessage("", additional_kwargs={"function_call": call})
    return AgentActionMessageLog(
        tool=tool, tool_input=args, log="calls", message_log=[said]
    )


def calls(*names):
    """The actions of one message that calls several tools."""
    said = AIMessage("", tool_calls=[{"name": n, "args": {}, "id": n} for n in names])
    return [
        ToolAgentAction(
            tool=n, tool_input={}, log="calls", message_log=[said], tool_call_id=n
        )
        for n in names
    ]


@pytest.fixture
def make(way, loop):
    def make(**fields):
        memory = AgentTokenBufferMemory(**{"llm": LLM, **fields})
        return backends.Driven(memory, way, loop)

    return make


def loaded(memory):
    return memory.load_memory_variables({})["history"]


def outputs(answer, *steps):
    return {"output": answer, "intermediate_steps": list(steps)}


def test_a_turn_is_kept_as_messages_with_the_steps_between(make):
    memory = make()
    step = (called("search", q="tea"), "found")
    memory.save_context({"input": "one two"}, outputs("three", step))
    assert memory.load_memory_variables({}) == {
        "history": [
            HumanMessage("one two"),
            step[0].message_log[0],
            FunctionMessage(name="search", content="found"),
            AIMessage("three"),
        ]
    }
    assert memory.memory_variables == ["history"]
    memory.clear()
    assert memory.load_memory_variables({}) == {"history": []}


def test_it_gives_text_if_it_is_asked_to(make):
    memory = make(return_messages=False, ai_prefix="Bot", memory_key="before")
    memory.save_context({"input": "hi"}, outputs("hello"))
    assert memory.load_memory_variables({}) == {"before": "Human: hi\nBot: hello"}
    assert memory._target.buffer == [HumanMessage("hi"), AIMessage("hello")]


def test_defaults_are_those_of_classic():
    memory = AgentTokenBufferMemory(llm=LLM)
    assert (memory.max_token_limit, memory.output_key) == (12000, "output")
    assert (memory.return_messages, memory.format_as_tools) == (True, False)
    assert (memory.human_prefix, memory.ai_prefix) == ("Human", "AI")
    assert memory.intermediate_steps_key == "intermediate_steps"


def test_the_limit_holds_and_the_history_keeps_everything(make):
    memory = make(max_token_limit=6)
    memory.save_context({"input": "one two"}, outputs("three"))
    memory.save_context({"input": "four"}, outputs("five"))
    # "Human: four" and "AI: five" take two each.
    recent = [AIMessage("three"), HumanMessage("four"), AIMessage("five")]
    assert loaded(memory) == recent
    assert len(memory.chat_memory.messages) == 4


def test_the_limit_holds_for_a_history_that_was_there_before(make):
    old = ChatMessageHistory(messages=[HumanMessage("a b c d e f")] * 9)
    memory = make(max_token_limit=7, chat_memory=old)
    assert loaded(memory) == [HumanMessage("a b c d e f")]


def test_a_result_is_not_given_without_its_call(make):
    memory = make(format_as_tools=True, token_counter=len)
    steps = [(action, "ok") for action in calls("search", "read")]
    memory.save_context({"input": "hi"}, outputs("done", *steps))
    kinds = {}
    for limit in range(6):
        memory._target.max_token_limit = limit
        kinds[limit] = [message.type for message in loaded(memory)]
    assert kinds == {
        0: [],
        1: ["ai"],
        2: ["ai"],
        3: ["ai"],
        4: ["ai", "tool", "tool", "ai"],
        5: ["human", "ai", "tool", "tool", "ai"],
    }


def test_an_agent_that_returned_no_steps_loses_no_turn(make, monkeypatch):
    monkeypatch.setattr(notices, "_told", set())
    memory = make()
    with pytest.warns(UserWarning, match="return_intermediate_steps=True"):
        memory.save_context({"input": "hi"}, {"output": "hello"})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        memory.save_context({"input": "and?"}, {"output": "so"})
    assert [one.content for one in loaded(memory)] == ["hi", "hello", "and?", "so"]


@pytest.mark.parametrize(
    ("inputs", "outputs", "error"),
    [
        ({"a": "1", "b": "2"}, {"output": "x", "intermediate_steps": []}, ValueError),
        ({"input": "1"}, {"text": "x", "intermediate_steps": []}, KeyError),
    ],
)
def test_what_cannot_be_told_is_refused(make, inputs, outputs, error):
    with pytest.raises(error):
        make().save_context(inputs, outputs)


def test_steps_and_answers_of_any_kind_are_kept(make):
    memory = make()
    steps = [
        (AgentAction(tool="t", tool_input="x", log="thought"), "seen"),
        [called("b"), {"größe": 1}],
        AgentStep(action=called("c"), observation=object),
        {"tool": "d"},
    ]
    memory.save_context(
        {"input": [HumanMessage("hi")]}, outputs(AIMessage("a"), *steps)
    )
    assert [(one.type, one.content) for one in loaded(memory)] == [
        ("human", "hi"),
        ("ai", "thought"),
        ("ai", ""),
        ("function", '{"größe": 1}'),
        ("ai", ""),
        ("function", str(object)),
        ("ai", '{"tool": "d"}'),
        ("ai", "a"),
    ]


def test_the_steps_of_tools_answer_the_call_of_one_message():
    first, second = calls("search", "read")
    assert step_messages([(first, "1"), (second, [2])], as_tools=True) == [
        first.message_log[0],
        ToolMessage("1", tool_call_id="search", additional_kwargs={"name": "search"}),
        ToolMessage("[2]", tool_call_id="read", additional_kwargs={"name": "read"}),
    ]


@pytest.mark.skipif(base.CLASSIC is None, reason="no classic package is installed")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("as_tools", [True, False])
def test_steps_become_what_classic_makes_of_them(as_tools):
    tools = base.classic_module("agents.output_parsers.tools")
    scratchpad = base.classic_module("agents.format_scratchpad")
    classic = (
        scratchpad.format_to_tool_messages
        if as_tools
        else scratchpad.format_to_openai_function_messages
    )
    one = [tools.ToolAgentAction(**dict(action)) for action in calls("a", "b")]
    steps = [
        (one[0], "x"),
        (one[1], {"y": [1, None, "é"]}),
        (called("f", q=1), 5),
        *[(AgentAction(tool="t", tool_input="x", log="thought"), "seen")] * 2,
    ]
    assert step_messages(steps, as_tools=as_tools) == classic(steps)


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_on_a_store_it_survives_the_object(make, kind, shared_store, scope):
    kept = {"store": shared_store(kind), "scope": scope}
    step = (called("search"), "found")
    make(**kept).save_context({"input": "hi"}, outputs("hello", step))
    assert [(one.type, one.content) for one in loaded(make(**kept))] == [
        ("human", "hi"),
        ("ai", ""),
        ("function", "found"),
        ("ai", "hello"),
    ]


def test_it_survives_json():
    memory = AgentTokenBufferMemory(llm=LLM, format_as_tools=True)
    steps = [(action, "ok") for action in calls("search")]
    memory.save_context({"input": "hi"}, outputs("done", *steps))
    said = memory.to_dict()
    assert said["needs"] == ["llm"]
    again = AgentTokenBufferMemory.from_dict(said, llm=LLM)
    assert again.buffer == memory.buffer
    assert again.format_as_tools
