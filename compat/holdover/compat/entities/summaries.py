"""New summaries of entities: all asked for at the same time, none lost or spoilt."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.prompts import BasePromptTemplate
from langchain_core.runnables import Runnable

from holdover.compat import events
from holdover.compat.background import is_ending
from holdover.compat.both_ways import Operation, Together, visiting
from holdover.compat.entities.access import Entities
from holdover.compat.entities.filler import is_filler
from holdover.compat.entities.state import Home
from holdover.compat.prompting import ask

#: How often a summary is asked for again because another turn changed it meanwhile.
_ROUNDS = 4
_SENTENCE_END = re.compile(
    "[.!?\u2026]['\")\\]\u201d\u2019\u00bb]*(?=\\s)|[\u3002\uff01\uff1f]"
)
_NOWHERE = Home(None)
_MODEL_NAMES = ("model_name", "model", "model_id")


@dataclass(frozen=True, slots=True)
class Mention:
    """That a turn, or several, said something about an entity.

    Attributes:
        name: The name the entity is known by.
        text: What the human said.
        history: The conversation, as text.
        said: What else it was called.
        turns: The turns, for the record's source.
    """

    name: str
    text: str
    history: str
    said: Sequence[str] = ()
    turns: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Asking:
    """How summaries are asked for, and where."""

    llm: Runnable[Any, Any]
    prompt: BasePromptTemplate[Any]
    max_chars: int | None
    home: Home = _NOWHERE


Confirm = Callable[[], Operation[bool]]


class Overtaken(Exception):
    """Somebody else does this work by now, or it was cleared."""


def together(operations: Sequence[Operation[Any]]) -> Operation[list[Any]]:
    """Run operations at the same time, while threads can be started for that."""
    if not is_ending():
        try:
            found: list[Any] = yield Together(operations)
        except RuntimeError as error:
            if "cannot schedule new futures" not in str(error):
                raise
        else:
            return found
    results: list[Any] = []
    for operation in operations:
        try:
            results.append((yield from operation))
        except Exception as error:  # noqa: BLE001 - as `Together` gives it
            results.append(error)
    return results


def summarise(
    mentions: Sequence[Mention],
    asking: Asking,
    entities: Entities,
    confirm: Confirm | None = None,
) -> Operation[dict[str, Exception]]:
    """Ask for and keep the new summary of each entity; one mention for each.

    An answer that says nothing keeps what there is. Where another turn changed a
    summary while the model thought, it is asked again about the changed one.

    Args:
        mentions: What was said.
        asking: The model and its prompt.
        entities: Where the summaries are kept.
        confirm: Asked before every write.

    Returns:
        What went wrong, by the name of the entity; the others are kept.

    Raises:
        Overtaken: `confirm` said no.
    """
    failed: dict[str, Exception] = {}
    todo = {mention.name: mention for mention in mentions}
    before = (yield from entities.read(list(todo))) if todo else {}
    for attempt in range(_ROUNDS):
        if not todo:
            break
        asked = [_ask(mention, before, asking) for mention in todo.values()]
        answers = yield from together(asked)
        now = yield from entities.read(list(todo))
        written: dict[str, tuple[str, Mention]] = {}
        again: dict[str, Mention] = {}
        for (name, mention), answer in zip(todo.items(), answers, strict=True):
            if isinstance(answer, Exception):
                failed[name] = answer
                continue
            text = _useful(answer, asking.max_chars, entities)
            if not text:
                continue
            if now[name] != before[name] and attempt < _ROUNDS - 1:
                again[name] = mention
            elif text != now[name]:
                written[name] = text, mention
        if confirm is not None and written and not (yield from confirm()):
            raise Overtaken
        yield from _write(written, asking, entities)
        todo, before = again, now
    yield from _note_names(mentions, failed, entities)
    if done := len(mentions) - len(failed):
        events.emit("summarised", entities.root, done)
    return failed


def _ask(
    mention: Mention, before: Mapping[str, str | None], asking: Asking
) -> Operation[str]:
    question = ask(
        asking.llm,
        asking.prompt,
        summary=before[mention.name] or "",
        entity=mention.name,
        history=mention.history,
        input=mention.text,
    )
    return (yield from visiting(asking.home.loop, question))


def _useful(answer: str, max_chars: int | None, entities: Entities) -> str:
    text = answer.strip()
    if text and is_filler(text):
        events.emit("filler_ignored", entities.root)
        return ""
    return shortened(text, max_chars)


def _write(
    written: Mapping[str, tuple[str, Mention]], asking: Asking, entities: Entities
) -> Operation[None]:
    """Write together what comes from the same turns."""
    groups: dict[tuple[str, ...], dict[str, str]] = {}
    for name, (text, mention) in written.items():
        groups.setdefault(tuple(mention.turns), {})[name] = text
    for turns, summaries in groups.items():
        source = {"turn": list(turns), "model": model_name(asking.llm)}
        yield from entities.write(summaries, source)


def _note_names(
    mentions: Sequence[Mention], failed: Mapping[str, Exception], entities: Entities
) -> Operation[None]:
    for mention in mentions:
        if mention.said and mention.name not in failed:
            yield from entities.rename(mention.name, add=list(mention.said))


def shortened(text: str, limit: int | None) -> str:
    """Text of at most `limit` characters: whole sentences, or at least whole words."""
    if limit is None or len(text) <= limit:
        return text
    head = text[: limit + 1]
    ends = [match.end() for match in _SENTENCE_END.finditer(head)]
    ends = [end for end in ends if limit // 2 <= end <= limit]
    if ends:
        return head[: ends[-1]]
    words = head.rstrip()
    if len(words) > limit:
        at = max(words.rfind(space) for space in (" ", "\n", "\t"))
        words = words[:at] if at >= limit // 2 else words[:limit]
    return words.rstrip()


def model_name(llm: Any) -> str | None:
    """What a model calls itself, if it does."""
    for name in _MODEL_NAMES:
        value = getattr(llm, name, None)
        if isinstance(value, str) and value:
            return value
    return None
