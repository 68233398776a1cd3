"""`AgentExecutor` with our memories: text agents, and agents that call tools."""

import kinds
import pytest
from fake_models import WordModel
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.prompts import (
    ChatPromptTemplate,
    MessagesPlaceholder,
    PromptTemplate,
)
from langchain_core.tools import tool
from scripted import Chat, tool_call

from holdover.compat import AgentTokenBufferMemory, ConversationBufferMemory

REACT = PromptTemplate.from_template(
    "{tools}|{tool_names}|SO FAR {chat_history}|NOW {input}|{agent_scratchpad}"
)
LOOK = "Thought: look\nAction: weight\nAction Input: parcel"
STRUCTURED_LOOK = 'Action:\n```{"action": "weight", "action_input": "parcel"}```'
STRUCTURED_END = 'Action:\n```{"action": "Final Answer", "action_input": "%s"}```'


@tool
def weight(thing: str) -> str:
    """Weigh a thing."""
    return f"the {thing} has 4 kg"


@pytest.fixture
def react(classic):
    agents = classic("agents")

    def make(memory, answers):
        llm = WordModel(answers=answers)
        agent = agents.create_react_agent(llm, [weight], REACT)
        executor = agents.AgentExecutor(agent=agent, tools=[weight], memory=memory)
        return executor, llm

    return make


def final(answer):
    return f"Thought: done\nFinal Answer: {answer}"


@pytest.mark.parametrize("kind", kinds.KINDS)
def test_a_react_agent_sees_the_turn_before(react, call, kind):
    memory = kinds.KINDS[kind](memory_key="chat_history")
    executor, llm = react(memory, [LOOK, final("a0"), final("a1")])

    assert call(executor, {"input": "q0"})["output"] == "a0"
    assert call(executor, {"input": "q1"})["output"] == "a1"

    assert "the parcel has 4 kg" in llm.prompts[1]
    so_far = llm.prompts[2].partition("SO FAR")[2].partition("|NOW q1")[0]
    assert so_far.count("Human: q0") == so_far.count("AI: a0") == 1


@pytest.mark.parametrize("kind", kinds.OVER_HISTORY)
def test_the_answer_is_saved_once_and_no_step(react, call, kind):
    memory = kinds.KINDS[kind](memory_key="chat_history")
    executor, _ = react(memory, [LOOK, LOOK, final("a0")])

    call(executor, {"input": "q0"})

    assert kinds.said(memory) == ["q0", "a0"]


def test_a_failure_in_the_middle_saves_nothing(react, call):
    memory = ConversationBufferMemory(memory_key="chat_history")
    down = RuntimeError("the model is down")
    executor, _ = react(memory, [LOOK, down, LOOK, final("a0")])

    with pytest.raises(RuntimeError, match="is down"):
        call(executor, {"input": "q0"})
    assert kinds.said(memory) == []
    call(executor, {"input": "q0"})

    assert kinds.said(memory) == ["q0", "a0"]


def test_steps_beside_the_answer_need_no_output_key(react, call):
    memory = ConversationBufferMemory(memory_key="chat_history")
    executor, _ = react(memory, [LOOK, final("a0")])
    executor.return_intermediate_steps = True

    with pytest.warns(UserWarning, match="multiple output keys"):  # as it always did
        given = call(executor, {"input": "q0"})

    assert len(given["intermediate_steps"]) == 1
    assert kinds.said(memory) == ["q0", "a0"]


@pytest.mark.parametrize("kind", kinds.KINDS)
def test_a_new_executor_goes_on(react, call, restarted, kind):
    settings = {"memory_key": "chat_history", "session_id": "ana"}
    with restarted():
        executor, _ = react(kinds.KINDS[kind](**settings), [LOOK, final("a0")])
        call(executor, {"input": "q0"})
    with restarted():
        executor, llm = react(kinds.KINDS[kind](**settings), [final("a1")])
        call(executor, {"input": "q1"})

    assert llm.prompts[0].count("q0") == llm.prompts[0].count("a0") == 1


def test_a_structured_chat_agent_takes_messages(classic, call):
    agents = classic("agents")
    prompt = ChatPromptTemplate.from_messages(
        [
            ("system", "{tools}|{tool_names}"),
            MessagesPlaceholder("chat_history", optional=True),
            ("human", "{input} {agent_scratchpad}"),
        ]
    )
    llm = Chat(answers=[STRUCTURED_LOOK, STRUCTURED_END % "a0", STRUCTURED_END % "a1"])
    memory = ConversationBufferMemory(memory_key="chat_history", return_messages=True)
    agent = agents.create_structured_chat_agent(llm, [weight], prompt)
    executor = agents.AgentExecutor(agent=agent, tools=[weight], memory=memory)

    call(executor, {"input": "q0"})
    assert call(executor, {"input": "q1"})["output"] == "a1"

    assert llm.asked[2][1:3] == [HumanMessage("q0"), AIMessage("a0")]
    assert kinds.said(memory) == ["q0", "a0", "q1", "a1"]


TOOLS_PROMPT = ChatPromptTemplate.from_messages(
    [
        ("system", "Weigh things."),
        MessagesPlaceholder("history"),
        ("human", "{input}"),
        MessagesPlaceholder("agent_scratchpad"),
    ]
)


@pytest.fixture
def tools_agent(classic):
    agents = classic("agents")

    def make(memory, answers):
        llm = Chat(answers=answers)
        agent = agents.create_tool_calling_agent(llm, [weight], TOOLS_PROMPT)
        executor = agents.AgentExecutor(
            agent=agent,
            tools=[weight],
            memory=memory,
            return_intermediate_steps=True,
        )
        return executor, llm

    return make


def shape(messages):
    return [(message.type, message.content) for message in messages]


STEPS = [
    ("human", "q0"),
    ("ai", ""),
    ("tool", "the parcel has 4 kg"),
    ("ai", "a0"),
]


def test_an_agent_memory_keeps_calls_and_results(tools_agent, call):
    memory = AgentTokenBufferMemory(llm=Chat(answers=[]), format_as_tools=True)
    executor, llm = tools_agent(
        memory, [tool_call("weight", thing="parcel"), "a0", "a1"]
    )

    call(executor, {"input": "q0"})
    call(executor, {"input": "q1"})

    seen = llm.asked[2][1:]
    assert shape(seen) == [*STEPS, ("human", "q1")]
    assert [call["name"] for call in seen[1].tool_calls] == ["weight"]
    assert isinstance(seen[2], ToolMessage)
    assert seen[2].tool_call_id == seen[1].tool_calls[0]["id"]
    assert shape(memory.chat_memory.messages)[4:] == [("human", "q1"), ("ai", "a1")]


def test_an_agent_memory_goes_on_in_a_new_executor(tools_agent, call, restarted):
    settings = {
        "llm": Chat(answers=[]),
        "format_as_tools": True,
        "session_id": "ana",
    }
    with restarted():
        memory = AgentTokenBufferMemory(**settings)
        executor, _ = tools_agent(memory, [tool_call("weight", thing="parcel"), "a0"])
        call(executor, {"input": "q0"})
    with restarted():
        executor, llm = tools_agent(AgentTokenBufferMemory(**settings), ["a1"])
        call(executor, {"input": "q1"})

    assert shape(llm.asked[0][1:]) == [*STEPS, ("human", "q1")]
    assert llm.asked[0][2].tool_calls[0]["args"] == {"thing": "parcel"}


def test_a_functions_agent_gets_function_messages(classic, call):
    agents = classic("agents")
    asked = AIMessage(
        "",
        additional_kwargs={
            "function_call": {"name": "weight", "arguments": '{"thing": "parcel"}'}
        },
    )
    llm = Chat(answers=[asked, "a0", "a1"])
    memory = AgentTokenBufferMemory(llm=Chat(answers=[]))
    agent = agents.create_openai_functions_agent(llm, [weight], TOOLS_PROMPT)
    executor = agents.AgentExecutor(
        agent=agent, tools=[weight], memory=memory, return_intermediate_steps=True
    )

    call(executor, {"input": "q0"})
    call(executor, {"input": "q1"})

    seen = llm.asked[2][1:]
    assert [message.type for message in seen] == [
        "human",
        "ai",
        "function",
        "ai",
        "human",
    ]
    assert seen[2].content == "the parcel has 4 kg"
    assert seen[1].additional_kwargs == asked.additional_kwargs


def test_a_limit_drops_whole_exchanges(tools_agent, call):
    memory = AgentTokenBufferMemory(
        llm=Chat(answers=[]), format_as_tools=True, max_token_limit=6
    )
    executor, llm = tools_agent(
        memory, [tool_call("weight", thing="parcel"), "a0", "a1"]
    )

    call(executor, {"input": "q0"})
    call(executor, {"input": "q1"})

    # The result alone would fit, but not with the question it belongs to.
    seen = llm.asked[2][1:]
    assert not any(
        isinstance(message, ToolMessage) and not (at and seen[at - 1].tool_calls)
        for at, message in enumerate(seen)
    )
    assert shape(seen)[-2:] == [("ai", "a0"), ("human", "q1")]
    assert len(memory.chat_memory.messages) == 6
