"""Every memory that gives one text or list of what was said, ready for a chain."""

from __future__ import annotations

from fake_models import WordModel
from langchain_core.prompts import PromptTemplate

from holdover.compat import (
    ConversationBufferMemory,
    ConversationBufferWindowMemory,
    ConversationStringBufferMemory,
    ConversationSummaryBufferMemory,
    ConversationSummaryMemory,
    ConversationTokenBufferMemory,
)

#: A "summary" that holds every word, so that each can be found in it.
EVERY_WORD = PromptTemplate.from_template("{summary} {new_lines}")


def echo():
    return WordModel(answers=lambda prompt: " ".join(prompt.split()))


def summary(**arguments):
    defaults = {"llm": echo(), "prompt": EVERY_WORD}
    return ConversationSummaryMemory(**{**defaults, **arguments})


def summary_buffer(**arguments):
    defaults = {"llm": echo(), "prompt": EVERY_WORD, "max_token_limit": 3}
    return ConversationSummaryBufferMemory(**{**defaults, **arguments})


def token_buffer(**arguments):
    return ConversationTokenBufferMemory(llm=WordModel(), **arguments)


OVER_HISTORY = {
    "buffer": ConversationBufferMemory,
    "window": ConversationBufferWindowMemory,
    "tokens": token_buffer,
    "summary": summary,
    "summary buffer": summary_buffer,
}
KINDS = {**OVER_HISTORY, "string": ConversationStringBufferMemory}


def said(memory):
    """The texts of the messages it keeps, in order."""
    return [message.content for message in memory.chat_memory.messages]


def text(value):
    """A memory variable as one text, whichever form it has."""
    if isinstance(value, str):
        return value
    return " ".join(message.text for message in value)
