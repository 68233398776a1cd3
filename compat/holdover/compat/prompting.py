"""Asking a language model, and which of its answers a memory can use."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

from langchain_core.language_models import BaseLanguageModel
from langchain_core.messages import BaseMessage
from langchain_core.prompts import BasePromptTemplate
from langchain_core.runnables import Runnable
from pydantic import InstanceOf, PlainSerializer

from holdover.compat.both_ways import Do, Operation

logger = logging.getLogger("holdover.compat")

#: No summary and no list is longer: such an answer is a mistake, and would be sent
#: to the model again with every turn.
MAX_ANSWER = 100_000
_TAGS = "think|thinking|thoughts?|reasoning"
_THOUGHTS = re.compile(
    rf"\s*(?:<({_TAGS})>.*?(?:</\1>|\Z)|\[THINK\].*?(?:\[/THINK\]|\Z))",
    re.DOTALL | re.IGNORECASE,
)
_THOUGHTS_END = re.compile(rf"</(?:{_TAGS})>|\[/THINK\]", re.IGNORECASE)


def _class_name(llm: object) -> str:
    """What JSON says of a model: its settings may hold keys."""
    return type(llm).__name__


#: The type of an `llm` field: any language model, also one with retries, fallbacks or
#: bound arguments, or a function made a `Runnable`.
Model = Annotated[
    InstanceOf[Runnable[Any, Any]], PlainSerializer(_class_name, when_used="json")
]

#: The type of a field that holds a prompt, of text or of chat messages.
if TYPE_CHECKING:
    Prompt = BasePromptTemplate[Any]
else:  # pydantic makes another class of it with `[Any]`, which no prompt is
    Prompt = InstanceOf[BasePromptTemplate]


def ask(
    llm: Runnable[Any, Any],
    prompt: Prompt,
    /,
    *,
    needed: bool = True,
    **values: Any,
) -> Operation[str]:
    """Give what a model answers, or `""` where the answer is of no use.

    Args:
        llm: The model.
        prompt: What to ask it, as text or as chat messages.
        needed: Whether an empty answer is worth a line in the log.
        values: The prompt's variables; those it does not have are left out.

    Raises:
        ValueError: The prompt has variables that nothing gives a value.
    """
    missing = set(prompt.input_variables).difference(values)
    if missing:
        raise ValueError(f"Missing some input keys: {sorted(missing)}")
    question = prompt.format_prompt(
        **{name: values[name] for name in prompt.input_variables}
    )
    answer = yield Do(lambda: llm.invoke(question), lambda: llm.ainvoke(question))
    text = _text_of(answer)
    if text is None:
        kind = "None" if answer is None else f"not text but {type(answer).__name__}"
    elif not text.strip():
        kind = "empty" if needed else ""
    elif len(text) > MAX_ANSWER:
        kind = f"{len(text)} characters long"
    else:
        return text
    if kind:
        # Never what it said: that may be anything the user told the model.
        logger.warning("The model's answer is %s; ignored.", kind)
    return ""


def without_thoughts(answer: str) -> str:
    """An answer without what the model thought before it.

    Some servers give it as part of the answer, some without where it begins.
    """
    at = 0
    while thoughts := _THOUGHTS.match(answer, at):
        at = thoughts.end()
    if not at:
        at = max((end.end() for end in _THOUGHTS_END.finditer(answer)), default=0)
    return answer[at:].lstrip() if at else str(answer)


def language_model_of(llm: object) -> BaseLanguageModel[Any] | None:
    """The language model itself, below retries, fallbacks and bound arguments."""
    if isinstance(llm, BaseLanguageModel):
        return llm
    return next(filter(None, map(language_model_of, _parts(llm))), None)


def _parts(llm: object) -> Iterator[object]:
    if isinstance(llm, Runnable):
        for name in ("bound", "runnable", "default"):
            part = getattr(llm, name, None)
            if isinstance(part, Runnable):
                yield part
        steps = getattr(llm, "steps", None)
        if isinstance(steps, list):
            yield from steps


def _text_of(answer: Any) -> str | None:
    """The text of an answer."""
    if isinstance(answer, BaseMessage):
        answer = answer.content
        if isinstance(answer, list):
            answer = "".join(filter(None, map(_block_text, answer)))
    return without_thoughts(answer) if isinstance(answer, str) else None


def _block_text(block: Any) -> str | None:
    if isinstance(block, str):
        return block
    text = block.get("text") if block.get("type", "text") == "text" else None
    return text if isinstance(text, str) else None
