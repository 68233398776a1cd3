"""Whatever a model does instead of answering, in every class that asks one.

The turn is saved, what was known stays, and the fault shows once: raised where the
classic class raised, else one line in the log.
"""

import backends
import fake_models
import pytest
from langchain_core.prompts import PromptTemplate
from langchain_core.runnables import RunnableLambda

from holdover.compat import (
    AgentTokenBufferMemory,
    ConversationEntityMemory,
    ConversationKGMemory,
    ConversationSummaryBufferMemory,
    ConversationSummaryMemory,
    ConversationTokenBufferMemory,
)

KNOWN = "Maya is an astronomer."
RAISED = ("raises", "times out")


class Model:
    """A model that answers well until it is told to misbehave at one point."""

    def __init__(self, **answers):
        self.answers = answers
        self.bad_at, self.bad = None, None

    def runnable(self):
        return RunnableLambda(self.answer)

    def answer(self, prompt):
        point = next(name for name in self.answers if name in prompt.to_string())
        answer = self.bad if point == self.bad_at else self.answers[point]
        if isinstance(answer, BaseException):
            raise answer
        return answer


def prompt_of(point, *variables):
    return PromptTemplate.from_template(point + "".join(f" {{{v}}}" for v in variables))


def summary(model):
    return ConversationSummaryMemory(
        llm=model.runnable(), prompt=prompt_of("SUMMARY", "summary", "new_lines")
    )


def summary_buffer(model):
    return ConversationSummaryBufferMemory(
        llm=model.runnable(),
        prompt=prompt_of("SUMMARY", "summary", "new_lines"),
        max_token_limit=0,
        token_counter=len,
    )


def entity(model):
    return ConversationEntityMemory(
        llm=model.runnable(),
        entity_extraction_prompt=prompt_of("EXTRACT", "history", "input"),
        entity_summarization_prompt=prompt_of(
            "ENTITY", "entity", "summary", "history", "input"
        ),
    )


def graph(model):
    return ConversationKGMemory(
        llm=model.runnable(),
        entity_extraction_prompt=prompt_of("EXTRACT", "history", "input"),
        knowledge_extraction_prompt=prompt_of("TRIPLES", "history", "input"),
    )


def entities_of(memory):
    return dict(memory.entity_store.store)


def triples_of(memory):
    return sorted(memory.kg.get_triples())


#: For each point: how to make the memory, and what it knows.
POINTS = {
    "summary: SUMMARY": (summary, lambda memory: memory.buffer),
    "summary buffer: SUMMARY": (
        summary_buffer,
        lambda memory: memory.moving_summary_buffer,
    ),
    "entity: EXTRACT": (entity, entities_of),
    "entity: ENTITY": (entity, entities_of),
    "graph: TRIPLES": (graph, triples_of),
}
ANSWERS = {
    "SUMMARY": KNOWN,
    "EXTRACT": "Maya",
    "ENTITY": KNOWN,
    "TRIPLES": "(Maya, is, an astronomer)",
}


@pytest.fixture(params=["sync", "async"])
def driven(request, loop):
    return lambda memory: backends.Driven(memory, request.param, loop)


def told(caplog):
    return [record for record in caplog.records if record.name == "holdover.compat"]


@pytest.mark.parametrize("behaviour", fake_models.MISBEHAVING)
@pytest.mark.parametrize("point", POINTS)
def test_a_turn_is_saved_and_what_was_known_stays(driven, caplog, point, behaviour):
    make, known = POINTS[point]
    model = Model(**ANSWERS)
    memory = make(model)
    driven(memory).save_context({"input": "Maya looks up"}, {"output": "ok"})
    before = known(memory)
    assert "astronomer" in str(before)
    model.bad_at = point.split(": ")[1]
    model.bad = fake_models.MISBEHAVING[behaviour]
    caplog.clear()

    raised = None
    try:
        driven(memory).save_context({"input": "Maya maps comets"}, {"output": "good"})
    except (RuntimeError, TimeoutError) as error:
        raised = error

    assert [m.content for m in memory.chat_memory.messages][-2:] == [
        "Maya maps comets",
        "good",
    ]
    assert known(memory) == before
    if behaviour in RAISED:
        assert (type(raised), raised.args) == (type(model.bad), model.bad.args)
        assert told(caplog) == []
    else:
        assert raised is None
        # A list may well be empty; a summary may not.
        quiet = behaviour in ("empty", "blank") and "SUMMARY" not in point
        quiet = quiet and point != "entity: ENTITY"
        assert len(told(caplog)) == (0 if quiet else 1)
        assert "comets" not in caplog.text
    # And the next turn is as good as ever.
    model.bad_at = None
    driven(memory).save_context({"input": "Maya again"}, {"output": "ok"})
    assert "astronomer" in str(known(memory))


@pytest.mark.parametrize("behaviour", fake_models.MISBEHAVING)
@pytest.mark.parametrize("make", [entity, graph])
def test_a_load_survives_or_raises_what_the_model_raised(
    driven, caplog, make, behaviour
):
    model = Model(**ANSWERS)
    memory = make(model)
    driven(memory).save_context({"input": "Maya looks up"}, {"output": "ok"})
    model.bad_at, model.bad = "EXTRACT", fake_models.MISBEHAVING[behaviour]
    caplog.clear()

    if behaviour in RAISED:
        with pytest.raises(type(model.bad)):
            driven(memory).load_memory_variables({"input": "Maya"})
        return
    found = driven(memory).load_memory_variables({"input": "Maya"})
    assert "word word" not in str(found)
    assert len(memory.chat_memory.messages) == 2


class Uncounting(fake_models.WordModel):
    """Cannot count, in one way or another."""

    bad: object = None

    def get_num_tokens_from_messages(self, messages, tools=None):
        if isinstance(self.bad, BaseException):
            raise self.bad
        return self.bad


@pytest.mark.filterwarnings("ignore:.*cannot count tokens")
@pytest.mark.parametrize("behaviour", ["raises", "times out", "none", "a dict"])
@pytest.mark.parametrize(
    "make",
    [
        ConversationTokenBufferMemory,
        ConversationSummaryBufferMemory,
        AgentTokenBufferMemory,
    ],
)
def test_a_model_that_cannot_count_loses_no_turn(driven, make, behaviour):
    model = Uncounting(bad=fake_models.MISBEHAVING[behaviour])
    memory = driven(make(llm=model, output_key="output"))
    memory.save_context({"input": "hi"}, {"output": "yo", "intermediate_steps": []})

    assert "yo" in str(memory.load_memory_variables({})["history"])
