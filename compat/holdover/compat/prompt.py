"""The prompts of the classic memories, loaded when they are first used.

They are classic's own where it is installed. Elsewhere they are ours: other words
with the same variables, delimiters and meaning.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdover.compat.base import classic_module

if TYPE_CHECKING:
    from langchain_core.prompts import PromptTemplate

KG_TRIPLE_DELIMITER = "<|>"

_CONVERSATION = """\
You are a helpful assistant in a conversation with a human. Answer the last line \
truthfully and to the point; say so when you do not know something.

What you know about those the human mentions:
{entities}

The conversation so far:
{history}

The last line:
Human: {input}
You:"""

_SUMMARY = """\
Bring the summary of a conversation up to date. Keep every fact of the present \
summary that still holds, add what the new lines say, and answer with the new \
summary alone.

For example, with the present summary "Ada plans a trip to Rome." and the new lines
Human: It got too expensive, I am going to Turin.
AI: Turin is lovely in May.
the new summary is "Ada planned a trip to Rome, but goes to Turin because it costs \
less. The AI likes Turin in May."

The present summary:
{summary}

The new lines:
{new_lines}

The new summary:"""

_ENTITY_EXTRACTION = """\
List the names in the last line of a conversation: of people, places, organisations, \
products and other particular things. The lines before it serve only to tell whom a \
word such as "she" or "there" means; what is named in them alone does not belong in \
the list.

Answer with one line, the names separated by commas, or with NONE if there are none.

For example:
Human: Ada moved last week.
AI: Where does she live now?
The last line:
Human: She found a flat in Turin, near the Mole.
The answer: Ada, Turin, Mole

And:
The last line:
Human: thanks, that helps
The answer: NONE

The conversation so far:
{history}
The last line:
Human: {input}

The answer:"""

_ENTITY_SUMMARIZATION = """\
Keep a short note about {entity} up to date. Add only what the last line of the \
conversation says about {entity} itself and what is worth remembering for a long \
time. If it says nothing of that kind, answer with the present note as it is. The \
first note about somebody or something is one sentence. Answer with the note alone.

The conversation so far:
{history}

The note is about:
{entity}

The present note about {entity}:
{summary}

The last line:
Human: {input}
The new note:"""

_TRIPLES = f"""\
Write down what the last line of a conversation states, as triples of a subject, a \
predicate and an object. The subject is what the statement is about, the predicate \
is the relation, and the object is what it relates to. The lines before it serve \
only to tell whom a word such as "she" means.

Answer with one line, each triple in brackets and {KG_TRIPLE_DELIMITER} between two \
triples, or with NONE if nothing is stated.

For example:
Human: Do you remember Ada?
AI: Yes, she is a glazier.
The last line:
Human: She lives in Turin now and keeps two cats.
The answer: (Ada, lives in, Turin){KG_TRIPLE_DELIMITER}(Ada, keeps, two cats)

And:
The last line:
Human: good morning
The answer: NONE

The conversation so far:
{{history}}
The last line:
Human: {{input}}

The answer:"""

_TEMPLATES = {
    "_DEFAULT_ENTITY_EXTRACTION_TEMPLATE": _ENTITY_EXTRACTION,
    "_DEFAULT_ENTITY_MEMORY_CONVERSATION_TEMPLATE": _CONVERSATION,
    "_DEFAULT_ENTITY_SUMMARIZATION_TEMPLATE": _ENTITY_SUMMARIZATION,
    "_DEFAULT_KNOWLEDGE_TRIPLE_EXTRACTION_TEMPLATE": _TRIPLES,
    "_DEFAULT_SUMMARIZER_TEMPLATE": _SUMMARY,
}
_PROMPTS = {
    "ENTITY_EXTRACTION_PROMPT": _ENTITY_EXTRACTION,
    "ENTITY_MEMORY_CONVERSATION_TEMPLATE": _CONVERSATION,
    "ENTITY_SUMMARIZATION_PROMPT": _ENTITY_SUMMARIZATION,
    "KNOWLEDGE_TRIPLE_EXTRACTION_PROMPT": _TRIPLES,
    "SUMMARY_PROMPT": _SUMMARY,
}

__all__ = [
    "ENTITY_EXTRACTION_PROMPT",
    "ENTITY_MEMORY_CONVERSATION_TEMPLATE",
    "ENTITY_SUMMARIZATION_PROMPT",
    "KG_TRIPLE_DELIMITER",
    "KNOWLEDGE_TRIPLE_EXTRACTION_PROMPT",
    "SUMMARY_PROMPT",
]

if TYPE_CHECKING:
    ENTITY_EXTRACTION_PROMPT: PromptTemplate
    ENTITY_MEMORY_CONVERSATION_TEMPLATE: PromptTemplate
    ENTITY_SUMMARIZATION_PROMPT: PromptTemplate
    KNOWLEDGE_TRIPLE_EXTRACTION_PROMPT: PromptTemplate
    SUMMARY_PROMPT: PromptTemplate


def __getattr__(name: str) -> Any:
    if name not in _PROMPTS and name not in _TEMPLATES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        value = getattr(classic_module("memory.prompt"), name)
    except ImportError:
        value = _own(name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_TEMPLATES, *__all__})


def _own(name: str) -> Any:
    """Our own prompt or template of that name."""
    from langchain_core.prompts import PromptTemplate  # noqa: PLC0415 - slow to import

    if name in _TEMPLATES:
        return _TEMPLATES[name]
    return PromptTemplate.from_template(_PROMPTS[name])
