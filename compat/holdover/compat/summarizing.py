"""How a conversation is summarised: a step at a time, each message once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, Self

from langchain_core.messages import (
    BaseMessage,
    FunctionMessage,
    SystemMessage,
    ToolMessage,
)
from pydantic import BaseModel, Field, model_validator

from holdover.compat import prompt as prompts
from holdover.compat.both_ways import Operation, arun, run, twins
from holdover.compat.messages import render
from holdover.compat.place import Place
from holdover.compat.prompting import Model, Prompt, ask
from holdover.compat.running_summary import RunningSummary, Summary
from holdover.compat.transcript import START, Entry, is_there, moved

#: What a session does about messages that were there before it had a summary:
#: summarise one step of them a turn, all of them behind the replies, or never.
Backlog = Literal["step", "background", "skip"]

# One call of a model reads no more than this.
STEP_MESSAGES = 100
STEP_CHARACTERS = 40_000
_CUT = " […] "
_VARIABLES = {"summary", "new_lines"}


class SummarizerMixin(BaseModel):
    """What asks the model for a new summary."""

    human_prefix: str = "Human"
    ai_prefix: str = "AI"
    llm: Model
    prompt: Prompt = Field(default_factory=lambda: prompts.SUMMARY_PROMPT)
    summary_message_cls: type[BaseMessage] = SystemMessage

    @model_validator(mode="after")
    def _check_prompt(self) -> Self:
        variables = self.prompt.input_variables
        if set(variables) != _VARIABLES:
            raise ValueError(
                "Got unexpected prompt input variables. The prompt expects "
                f"{variables}, but it should have {sorted(_VARIABLES)}."
            )
        return self

    def predict_new_summary(
        self, messages: list[BaseMessage], existing_summary: str
    ) -> str:
        """Ask for a summary of `existing_summary` and these messages."""
        return run(self._predict(messages, existing_summary))

    async def apredict_new_summary(
        self, messages: list[BaseMessage], existing_summary: str
    ) -> str:
        """See `predict_new_summary`."""
        return await arun(self._predict(messages, existing_summary))

    def _predict(
        self, messages: Sequence[BaseMessage], existing_summary: str
    ) -> Operation[str]:
        lines = bounded(render(messages, self.human_prefix, self.ai_prefix))
        return (
            yield from ask(
                self.llm, self.prompt, summary=existing_summary, new_lines=lines
            )
        )


def bounded(text: str) -> str:
    """A text that one call can read; the middle of a longer one is left out."""
    if len(text) <= STEP_CHARACTERS:
        return text
    half = (STEP_CHARACTERS - len(_CUT)) // 2
    return f"{text[:half]}{_CUT}{text[-half:]}"


def one_step(entries: Sequence[Entry]) -> Sequence[Entry]:
    """The first entries that one call summarises, with tool exchanges whole."""
    size = number = 0
    for number, entry in enumerate(entries[:STEP_MESSAGES]):
        size += len(str(entry.message.content))
        if size > STEP_CHARACTERS and number:
            break
    else:
        number = min(len(entries), STEP_MESSAGES)
    while number < len(entries) and isinstance(
        entries[number].message, ToolMessage | FunctionMessage
    ):
        number += 1
    return entries[:number]


def extend(
    memory: Any,
    running: RunningSummary,
    place: Place,
    before: Summary,
    entries: Sequence[Entry],
    *,
    skipped: Sequence[Entry] = (),
) -> Operation[Summary]:
    """Summarise these entries onto a summary; an unusable answer changes nothing.

    Args:
        memory: Asks the model, in its own way.
        running: Keeps the summary.
        place: Where.
        before: The summary as it was read.
        entries: What to summarise.
        skipped: What is covered with it, unsummarised.

    Returns:
        The summary as it stands then.
    """
    if not entries:
        return before
    said = [entry.message for entry in entries]
    text = yield twins(
        memory, "predict_new_summary", "apredict_new_summary", said, before.text
    )
    if not isinstance(text, str) or not text.strip():
        return before
    if before.cursor == START and not (
        yield from is_there(memory.chat_memory, entries[-1])
    ):
        return before  # the session was cleared meanwhile
    cursor = moved(moved(before.cursor, skipped), entries)
    after = replace(before, text=text, cursor=cursor)
    if (yield from running.advance(place, before, after)):
        return after
    return (yield from running.read(place))
