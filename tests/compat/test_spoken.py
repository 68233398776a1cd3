"""What a buffer of text says, from before there were messages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdover.compat.messages import render
from holdover.compat.spoken import spoken


def said(buffer, human="Human", ai="AI"):
    texts = [buffer] if isinstance(buffer, str) else buffer
    return [(one.type, one.content) for one in spoken(texts, human, ai)]


def written(turns, human="Human", ai="AI"):
    """As `ConversationBufferMemory` wrote it before there were messages."""
    buffer = ""
    for asked, answered in turns:
        buffer += "\n" + "\n".join([f"{human}: {asked}", f"{ai}: {answered}"])
    return buffer


names = st.text(
    st.characters(exclude_characters="\n:", exclude_categories=["Cs"]), min_size=1
)


@given(st.lists(st.tuples(st.text(), st.text())), names, names)
def test_whatever_was_said_is_said_by_the_same_ones(turns, human, ai):
    imitated = any(
        f"\n{ai}: " in f"\n{asked}" or f"\n{human}: " in f"\n{answered}"
        for asked, answered in turns
    )
    # A message that has a line of the other one in it cannot be told from two.
    if imitated or human == ai:
        return

    kinds = [(("human", asked), ("ai", answered)) for asked, answered in turns]
    expected = [message for turn in kinds for message in turn]
    assert said(written(turns, human, ai), human, ai) == expected
    assert said([written([one], human, ai)[1:] for one in turns], human, ai) == expected


@given(st.lists(st.tuples(st.text(), st.text())))
def test_shown_as_text_again_it_is_the_same_text(turns):
    """Whoever said what: the model is shown what it was shown."""
    buffer = written(turns)

    assert render(spoken([buffer], "Human", "AI"), "Human", "AI") == buffer[1:]


@pytest.mark.parametrize(
    ("buffer", "expected"),
    [
        ("", []),
        ("\n", []),
        ([], []),
        ("Human: hi\nAI: hello", [("human", "hi"), ("ai", "hello")]),
        ("\nHuman: hi", [("human", "hi")]),
        ("\nAI: hello\nHuman: hi", [("ai", "hello"), ("human", "hi")]),
        # The same one twice: no turn of that class begins so, the line is in a message.
        ("\nHuman: a\nHuman: b\nAI: c", [("human", "a\nHuman: b"), ("ai", "c")]),
        ("\nHuman: a\nAI: b\nAI: c", [("human", "a"), ("ai", "b\nAI: c")]),
        # A prefix inside a line is none.
        ("\nHuman: say AI: x\nAI: y", [("human", "say AI: x"), ("ai", "y")]),
        ("\nHuman: say\nAI:\nAI: y", [("human", "say\nAI:"), ("ai", "y")]),
    ],
)
def test_lines_that_look_like_turns(buffer, expected):
    assert said(buffer) == expected


def test_a_text_that_nobody_is_known_to_have_said_is_kept_as_a_transcript():
    text = "They spoke of Lyon.\nHuman: hi\nAI: hello"
    (before, *turns) = spoken([text], "Human", "AI")

    assert before.content == "They spoke of Lyon."
    assert before.additional_kwargs == {"transcript": True}
    assert [(one.type, one.content) for one in turns] == [
        ("human", "hi"), ("ai", "hello"),
    ]  # fmt: skip
    assert [one.additional_kwargs for one in turns] == [{}, {}]


def test_two_with_one_prefix_take_turns():
    assert said("\nX: a\nX: b\nX: c\nX: d", "X", "X") == [
        ("human", "a"), ("ai", "b"), ("human", "c"), ("ai", "d"),
    ]  # fmt: skip
