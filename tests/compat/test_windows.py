"""Which messages are kept: whole turns, whole tool exchanges, within a limit."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import (
    AIMessage,
    FunctionMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)

from holdover.compat.windows import fit, last_turns, pruned_count, without_orphans


def human(text="h"):
    return HumanMessage(text)


def call(name="c1"):
    return AIMessage("", tool_calls=[{"name": "w", "args": {}, "id": name}])


def result(name="c1"):
    return ToolMessage("dry", tool_call_id=name)


def shape(messages):
    return [f"{m.type}:{m.content}" if m.content else m.type for m in messages]


EXCHANGE = [human("rain?"), call(), result(), AIMessage("dry")]
THANKS = [human("thanks"), AIMessage("welcome")]
PAIRS = [m for n in range(6) for m in (human(f"q{n}"), AIMessage(f"a{n}"))]


@pytest.mark.parametrize(
    ("messages", "k", "expected"),
    [
        (PAIRS, 2, PAIRS[-4:]),
        (PAIRS, 6, PAIRS),
        (PAIRS, 99, PAIRS),
        (PAIRS, 0, []),
        (PAIRS, -1, []),
        ([], 3, []),
        (EXCHANGE + THANKS, 1, THANKS),
        (EXCHANGE + THANKS, 2, EXCHANGE + THANKS),
        ([SystemMessage("brief"), *PAIRS], 1, [SystemMessage("brief"), *PAIRS[-2:]]),
        ([AIMessage("hello"), *PAIRS], 1, PAIRS[-2:]),
        (
            [AIMessage("1"), AIMessage("2"), AIMessage("3")],
            1,
            [AIMessage("2"), AIMessage("3")],
        ),
        ([human("1"), human("2"), human("3")], 2, [human("2"), human("3")]),
    ],
)
def test_a_window_is_whole_turns(messages, k, expected):
    assert shape(last_turns(messages, k)) == shape(expected)


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([result(), AIMessage("dry")], ["ai:dry"]),
        ([call(), result()], ["ai", "tool:dry"]),
        ([call("a"), result("b"), result("a")], ["ai", "tool:dry"]),
        ([FunctionMessage("r", name="f"), human()], ["human:h"]),
        (
            [
                AIMessage("", additional_kwargs={"function_call": {"name": "f"}}),
                FunctionMessage("r", name="f"),
            ],
            ["ai", "function:r"],
        ),
    ],
)
def test_a_result_goes_with_its_call(messages, expected):
    assert shape(without_orphans(messages)) == expected


def words(messages):
    return sum(len(str(m.content).split()) for m in messages)


@settings(deadline=None)
@given(st.lists(st.integers(0, 8), max_size=40), st.integers(-1, 60))
def test_as_few_as_possible_are_dropped(sizes, limit):
    messages = [human(" ".join("w" * size)) for size in sizes]

    gone = pruned_count(messages, limit, words)

    assert words(messages[gone:]) <= limit or gone == len(messages)
    assert gone == 0 or words(messages[gone - 1 :]) > limit


def test_it_takes_few_counts_of_a_long_history():
    counted = []

    def count(messages):
        counted.append(len(messages))
        return words(messages)

    assert len(fit([human("a b c")] * 10_000, 30, count)) == 10
    assert len(counted) < 20


def test_what_is_left_does_not_begin_with_a_result():
    looked = AIMessage("let me look", tool_calls=call().tool_calls)
    messages = [human("rain?"), looked, result(), AIMessage("dry")]

    assert shape(fit(messages, 2, words)) == ["ai:dry"]


@settings(deadline=None)
@given(st.data())
def test_no_window_and_no_limit_leaves_a_result_without_its_call(data):
    messages = []
    for number in range(data.draw(st.integers(0, 6))):
        messages.append(human(f"q{number}"))
        for step in range(data.draw(st.integers(0, 3))):
            messages += [call(f"{number}.{step}"), result(f"{number}.{step}")]
        messages.append(AIMessage(f"a{number}"))
    k, limit = data.draw(st.integers(0, 5)), data.draw(st.integers(0, 12))

    for kept in (last_turns(messages, k), fit(messages, limit, words)):
        calls = set()
        for message in kept:
            calls |= {c["id"] for c in getattr(message, "tool_calls", ())}
            assert not isinstance(message, ToolMessage) or message.tool_call_id in calls
