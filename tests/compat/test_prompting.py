"""Which answers of a model a memory can use, and which models it accepts."""

from __future__ import annotations

import asyncio
import logging

import pytest
from langchain_core.language_models import FakeListChatModel, FakeListLLM
from langchain_core.messages import AIMessage
from langchain_core.prompts import (
    ChatPromptTemplate,
    MessagesPlaceholder,
    PromptTemplate,
)
from langchain_core.runnables import RunnableLambda
from pydantic import BaseModel, ValidationError

from holdover.compat import both_ways
from holdover.compat.prompting import (
    MAX_ANSWER,
    Model,
    Prompt,
    ask,
    language_model_of,
)

PROMPT = PromptTemplate.from_template("about {topic}")


@pytest.fixture
def answered(way, loop):
    """Ask by the sync or the async way."""

    def answered(llm, prompt=PROMPT, **values):
        operation = ask(llm, prompt, **(values or {"topic": "tea"}))
        if way == "sync":
            return both_ways.run(operation)
        return loop.run(both_ways.arun(operation))

    return answered


def saying(answer):
    return RunnableLambda(lambda _: answer)


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ("plain", "plain"),
        (AIMessage("message"), "message"),
        (AIMessage([{"type": "text", "text": "one "}, "two"]), "one two"),
        (
            AIMessage(
                [
                    {"type": "thinking", "thinking": "hm", "text": "hm"},
                    {"type": "reasoning", "reasoning": "hm"},
                    {"type": "text", "text": "said"},
                ]
            ),
            "said",
        ),
        ("<think>they like\n(a, b, c)</think>\n\nsaid", "said"),
        ("they like it</think>said", "said"),
        ("they like it</reasoning>\nsaid", "said"),
        ("[THINK]they like it[/THINK] said", "said"),
        ("<think>they</think>\n<thought>like it</thought>\nsaid", "said"),
        ("<think>they like it</think>the tag </think>", "the tag </think>"),
        ("the tag <think> is said", "the tag <think> is said"),
        ("  kept as it is\n", "  kept as it is\n"),
        ("x" * MAX_ANSWER, "x" * MAX_ANSWER),
    ],
)
def test_the_text_of_an_answer(answered, caplog, answer, text):
    assert answered(saying(answer)) == text
    assert not caplog.records


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (None, "None"),
        ("", "empty"),
        (" \n", "empty"),
        (AIMessage(""), "empty"),
        (AIMessage([{"type": "image_url", "image_url": "secret"}]), "empty"),
        ("<think>secret, without an end", "empty"),
        ({"text": "secret"}, "not text but dict"),
        (5, "not text but int"),
        ("secret" * MAX_ANSWER, f"{6 * MAX_ANSWER} characters"),
    ],
)
def test_an_answer_of_no_use_is_empty_and_logged_by_its_kind(
    answered, caplog, answer, kind
):
    assert answered(saying(answer)) == ""
    (line,) = caplog.records
    assert (line.name, line.levelno) == ("holdover.compat", logging.WARNING)
    assert kind in line.getMessage()
    assert "secret" not in line.getMessage()


@pytest.mark.parametrize(("answer", "lines"), [("", 0), (" ", 0), (None, 1), (5, 1)])
def test_an_empty_answer_may_be_one(answered, caplog, answer, lines):
    assert answered(saying(answer), needed=False, topic="tea") == ""
    assert len(caplog.records) == lines


def test_the_prompt_is_given_its_variables_and_no_others(answered):
    seen = []
    llm = RunnableLambda(lambda asked: seen.append(asked.to_string()) or "yes")
    assert answered(llm, topic="{tea}", other="x") == "yes"
    assert seen == ["about {tea}"]


def test_a_chat_prompt_is_asked_as_messages(answered):
    prompt = ChatPromptTemplate.from_messages(
        [
            ("system", "brief"),
            MessagesPlaceholder("before", optional=True),
            ("human", "{topic}"),
        ]
    )
    seen = []
    llm = RunnableLambda(lambda asked: seen.extend(asked.to_messages()) or "yes")
    answered(llm, prompt, topic="tea")
    assert [(one.type, one.content) for one in seen] == [
        ("system", "brief"),
        ("human", "tea"),
    ]


def test_variables_without_a_value_are_named(answered):
    prompt = PromptTemplate.from_template("{topic} {tone} {size}")
    with pytest.raises(ValueError, match=r"Missing some input keys: .*size.*tone"):
        answered(saying("yes"), prompt, topic="tea")


def test_what_a_model_raises_is_raised(answered):
    def fail(_):
        raise TimeoutError("too busy")

    with pytest.raises(TimeoutError, match="too busy"):
        answered(RunnableLambda(fail))


def test_async_code_asks_asynchronously():
    async def reply(_):
        await asyncio.sleep(0)
        return "async"

    llm = RunnableLambda(lambda _: "sync", afunc=reply)
    assert asyncio.run(both_ways.arun(ask(llm, PROMPT, topic="tea"))) == "async"


class Holder(BaseModel):
    llm: Model
    prompt: Prompt = PROMPT


FAKE = FakeListLLM(responses=["yes"])


@pytest.mark.parametrize(
    ("llm", "inner"),
    [
        (FAKE, FAKE),
        (FAKE.with_retry(), FAKE),
        (FAKE.bind(stop=["x"]), FAKE),
        (FAKE.with_fallbacks([FakeListLLM(responses=["no"])]), FAKE),
        (FAKE.bind(stop=["x"]).with_retry().with_fallbacks([FAKE]), FAKE),
        (PROMPT | FAKE, FAKE),
        (saying("yes"), None),
    ],
    ids=["model", "retry", "bind", "fallbacks", "all", "sequence", "function"],
)
def test_models_and_what_wraps_them(llm, inner):
    assert Holder(llm=llm).llm is llm
    assert language_model_of(llm) is inner


@pytest.mark.parametrize("llm", ["gpt", None, {}, print])
def test_what_is_no_model_is_refused(llm):
    with pytest.raises(ValidationError, match="llm"):
        Holder(llm=llm)


def test_json_names_the_class_of_a_model_and_nothing_it_holds():
    llm = FakeListChatModel(responses=["secret"])
    said = Holder(llm=llm).model_dump_json()
    assert '"llm":"FakeListChatModel"' in said
    assert "secret" not in said


def test_prompts_of_text_and_of_messages_are_accepted():
    chat = ChatPromptTemplate.from_messages([("human", "{topic}")])
    assert Holder(llm=FAKE, prompt=chat).prompt is chat
    with pytest.raises(ValidationError, match="prompt"):
        Holder(llm=FAKE, prompt="about {topic}")
