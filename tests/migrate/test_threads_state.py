"""Any old history becomes a state that every model accepts, and loses nothing."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import (
    AIMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)

from holdover.compat.message_records import content_of, message_content
from holdover.migrate.threads.checkpoint import hash_of
from holdover.migrate.threads.joining import extended, joined
from holdover.migrate.threads.state import (
    NOT_RECORDED,
    is_made_up,
    is_removal,
    state_of,
)


def built(*messages, start=0, session="s"):
    """The state of messages given as pairs of type and fields, or as texts."""
    return state_of(contents(*messages, start=start), session)


def contents(*messages, start=0):
    pairs = [("human", {"content": m}) if isinstance(m, str) else m for m in messages]
    return [(at, content_of(*pair)) for at, pair in enumerate(pairs, start=start)]


def ai(text, *calls, **more):
    calls = [
        {"name": n, "args": {}, "id": i, "type": "tool_call"}
        for n, i in (call.split(":") for call in calls)
    ]
    return ("ai", {"content": text, "tool_calls": calls, **more})


def result(text, identity):
    return ("tool", {"content": text, "tool_call_id": identity})


def shown(state):
    return [(message.type, message.content) for message in state.messages]


def check_valid(messages):
    """What providers insist on: OpenAI's, Anthropic's and Gemini's rules together."""
    ids = [message.id for message in messages]
    assert all(ids)
    assert len(set(ids)) == len(ids)
    assert {type(m).__name__ for m in messages} <= {
        "HumanMessage",
        "AIMessage",
        "SystemMessage",
        "ToolMessage",
    }
    open_calls: list[str] = []
    for at, message in enumerate(messages):
        if isinstance(message, ToolMessage):
            assert message.tool_call_id in open_calls
            open_calls.remove(message.tool_call_id)
            continue
        assert open_calls == [], "a call is not answered before the next message"
        if isinstance(message, SystemMessage):
            assert all(isinstance(m, SystemMessage) for m in messages[:at])
        if isinstance(message, AIMessage):
            assert message.invalid_tool_calls == []
            assert "function_call" not in message.additional_kwargs
            open_calls = [call["id"] for call in message.tool_calls]
            assert len(set(open_calls)) == len(open_calls)
    assert open_calls == []


def test_a_valid_history_stays_as_it_is():
    messages = [
        SystemMessage("be kind", id="1"),
        HumanMessage("hi", id="2", name="Ann"),
        AIMessage(
            [{"type": "text", "text": "let me see"}],
            id="3",
            tool_calls=[{"name": "clock", "args": {"zone": "UTC"}, "id": "c1"}],
            usage_metadata={"input_tokens": 3, "output_tokens": 4, "total_tokens": 7},
            response_metadata={"model_name": "m"},
        ),
        ToolMessage("12:00", tool_call_id="c1", id="4", artifact={"raw": 12}),
        AIMessage("noon", id="5"),
    ]
    pairs = [(m.type, m.model_dump()) for m in messages]

    state = built(*pairs)

    assert state.messages == messages
    assert state.changes == {}


@pytest.mark.parametrize(
    ("history", "expected", "change"),
    [
        pytest.param(
            ["q", ai("", "f:1"), "next"],
            [("human", "q"), ("ai", ""), ("tool", NOT_RECORDED), ("human", "next")],
            "result made up",
            id="crashed in a tool",
        ),
        pytest.param(
            [ai("", "f:1")],
            [("ai", ""), ("tool", NOT_RECORDED)],
            "result made up",
            id="ends with a call",
        ),
        pytest.param(
            [result("12", "1"), ai("noon")],
            [("ai", ""), ("tool", "12"), ("ai", "noon")],
            "call made up",
            id="trimmed before a result",
        ),
        pytest.param(
            [ai("", "f:1"), "hurry", result("12", "1")],
            [("ai", ""), ("tool", "12"), ("human", "hurry")],
            "result moved to its call",
            id="a result too late",
        ),
        pytest.param(
            ["q", ("system", {"content": "be brief"}), "r"],
            [("system", "be brief"), ("human", "q"), ("human", "r")],
            "system message moved to the front",
            id="system in the middle",
        ),
        pytest.param(
            ["q", ("remove", {"content": "", "id": "x"})],
            [("human", "q")],
            "removal left out",
            id="a removal",
        ),
        pytest.param(
            [("AIMessageChunk", {"content": "half"})],
            [("ai", "half")],
            "chunk made a message",
            id="a chunk",
        ),
        pytest.param(
            [("chat", {"content": "hm", "role": "Old Bob"})],
            [("human", "hm")],
            "role translated",
            id="a role of its own",
        ),
        pytest.param(
            [("chat", {"content": "yes", "role": "assistant"})],
            [("ai", "yes")],
            "role translated",
            id="a role by its other name",
        ),
    ],
)
def test_what_no_model_accepts_is_made_valid(history, expected, change):
    state = built(*history)

    assert shown(state) == expected
    assert state.changes[change] == 1
    check_valid(state.messages)


def test_functions_of_the_first_releases_become_tools():
    state = built(
        "weather?",
        (
            "ai",
            {
                "content": "",
                "additional_kwargs": {
                    "function_call": {"name": "get", "arguments": '{"city": "Rome"}'}
                },
            },
        ),
        ("function", {"content": "sunny", "name": "get"}),
        ("ai", {"content": "It is sunny."}),
    )

    _, call, answer, _ = state.messages
    assert call.tool_calls[0]["name"] == "get"
    assert call.tool_calls[0]["args"] == {"city": "Rome"}
    assert (answer.content, answer.name) == ("sunny", "get")
    assert answer.tool_call_id == call.tool_calls[0]["id"]
    assert call.response_metadata["holdover"]["function_call"]["name"] == "get"
    check_valid(state.messages)


def test_arguments_that_are_no_json_are_kept_as_text():
    broken = {"name": "get", "args": '{"city": ', "id": "b", "error": None}
    state = built(("ai", {"content": "", "invalid_tool_calls": [broken]}))

    (call, _) = state.messages
    assert call.tool_calls == [
        {"name": "get", "args": {"__arg1": '{"city": '}, "id": "b", "type": "tool_call"}
    ]
    kept = call.response_metadata["holdover"]["invalid_tool_calls"]
    assert kept[0]["args"] == '{"city": '
    check_valid(state.messages)


def test_an_id_given_twice_overwrites_nothing():
    twice = [("human", {"content": text, "id": "same"}) for text in ("one", "two")]

    state = built(*twice)

    assert [m.content for m in state.messages] == ["one", "two"]
    assert state.messages[0].id == "same"
    assert state.messages[1].response_metadata["holdover"]["id"] == "same"
    check_valid(state.messages)


def test_ids_are_the_same_in_every_run_and_differ_between_sessions():
    first, again = built("a", "a", ai("", "f:1")), built("a", "a", ai("", "f:1"))
    other = built("a", "a", ai("", "f:1"), session="t")

    assert [m.id for m in first.messages] == [m.id for m in again.messages]
    assert not {m.id for m in first.messages} & {m.id for m in other.messages}


def test_a_grown_session_keeps_the_ids_it_had():
    before, after = built("a", ai("b")), built("a", ai("b"), "c")

    assert [m.id for m in after.messages][:2] == [m.id for m in before.messages]


def test_parallel_calls_and_calls_with_one_id_are_each_answered():
    state = built(ai("", "f:1", "g:1", "h:2"), result("two", "2"), result("one", "1"))

    check_valid(state.messages)
    answers = {m.name or m.content: m.content for m in state.messages[1:]}
    assert {"two", "one", NOT_RECORDED} == set(answers.values())


# Any history.

texts = st.text(max_size=6)
identities = st.sampled_from(["1", "2", "3", ""])
names = st.sampled_from(["f", "g"])
calls = st.fixed_dictionaries(
    {"name": names, "args": st.just({}), "id": st.one_of(identities, st.none())}
)
arguments = st.one_of(st.just("{}"), st.just('{"a": 1}'), texts)
messages = st.one_of(
    st.tuples(
        st.sampled_from(["human", "system", "HumanMessageChunk", "SystemMessageChunk"]),
        st.fixed_dictionaries({"content": texts}, optional={"id": identities}),
    ),
    st.tuples(
        st.sampled_from(["ai", "AIMessageChunk"]),
        st.fixed_dictionaries(
            {"content": texts},
            optional={
                "id": identities,
                "tool_calls": st.lists(calls, max_size=3),
                "invalid_tool_calls": st.lists(
                    st.fixed_dictionaries(
                        {
                            "name": st.one_of(names, st.none()),
                            "args": st.one_of(texts, st.none()),
                            "id": st.one_of(identities, st.none()),
                            "error": st.none(),
                        }
                    ),
                    max_size=2,
                ),
                "additional_kwargs": st.fixed_dictionaries(
                    {
                        "function_call": st.fixed_dictionaries(
                            {"name": names, "arguments": arguments}
                        )
                    }
                ),
            },
        ),
    ),
    st.tuples(
        st.sampled_from(["tool", "ToolMessageChunk"]),
        st.fixed_dictionaries({"content": texts, "tool_call_id": identities}),
    ),
    st.tuples(
        st.sampled_from(["function", "FunctionMessageChunk"]),
        st.fixed_dictionaries({"content": texts, "name": names}),
    ),
    st.tuples(
        st.sampled_from(["chat", "ChatMessageChunk"]),
        st.fixed_dictionaries(
            {"content": texts, "role": st.one_of(texts, st.just("tool"))}
        ),
    ),
    st.tuples(st.just("remove"), st.fixed_dictionaries({"id": identities})),
    st.tuples(texts, st.fixed_dictionaries({"content": texts})),
    st.tuples(st.sampled_from(["tool", "function", "ai"]), st.just({"content": "x"})),
)
histories = st.lists(messages, max_size=8)


@settings(max_examples=150, deadline=None)
@given(histories)
def test_any_history_becomes_valid_with_every_text_in_it(history):
    given_ = contents(*history)

    state = state_of(given_, "s")

    check_valid(state.messages)
    told = [m.content for m in state.messages if not is_made_up(m)]
    texts_ = [c["data"]["content"] for _, c in given_ if not is_removal(c)]
    assert sorted(map(str, told)) == sorted(map(str, texts_))


@settings(max_examples=75, deadline=None)
@given(histories)
def test_a_state_is_valid_already(history):
    state = built(*history)
    whole = [(at, message_content(m)) for at, m in enumerate(state.messages)]

    again = state_of(whole, "s")

    assert hash_of(again.messages) == hash_of(state.messages)


# Sessions that lost their old end.


def test_a_list_that_was_trimmed_is_put_behind_what_was_moved():
    moved = built("a", "b", "c", ai("d")).messages

    # Two went, two came: places begin at 0 again.
    state = joined(moved, contents("c", ai("d"), "e", "f"), "s")

    assert [m.content for m in state.messages] == ["a", "b", "c", "d", "e", "f"]
    assert state.messages[:4] == moved
    check_valid(state.messages)


def test_a_list_trimmed_inside_of_a_call_gets_its_call_back():
    moved = built("a", ai("", "f:1"), result("12", "1"), ai("noon")).messages

    state = joined(moved, contents(result("12", "1"), ai("noon"), "thanks"), "s")

    assert shown(state) == [
        ("human", "a"),
        ("ai", ""),
        ("tool", "12"),
        ("ai", "noon"),
        ("human", "thanks"),
    ]


def test_a_result_that_came_later_takes_the_place_of_the_made_up_one():
    moved = built("a", ai("", "f:1")).messages
    assert moved[-1].content == NOT_RECORDED

    grown = contents("a", ai("", "f:1"), result("12", "1"))
    for state in (joined(moved, grown, "s"), extended(moved, grown, "s")):
        assert [m.content for m in state.messages] == ["a", "", "12"]


def test_a_list_that_began_anew_goes_on_behind():
    moved = built("a", "b").messages

    state = joined(moved, contents("x", "y"), "s")

    assert [m.content for m in state.messages] == ["a", "b", "x", "y"]
    check_valid(state.messages)


def test_rows_that_were_deleted_at_the_old_end_stay():
    moved = built("a", "b", "c").messages

    state = extended(moved, contents("c", "d", start=2), "s")

    assert [m.content for m in state.messages] == ["a", "b", "c", "d"]
    assert state.messages[:3] == moved


@settings(max_examples=75, deadline=None)
@given(histories)
def test_joining_the_same_again_changes_nothing(history):
    given_ = contents(*history)
    moved = state_of(given_, "s").messages

    for join in (joined, extended):
        assert hash_of(join(moved, given_, "s").messages) == hash_of(moved)


def test_no_content_is_in_what_is_counted():
    state = built(ai("secret", "f:1"), ("chat", {"content": "secret", "role": "x"}))

    assert "secret" not in json.dumps(state.changes)
