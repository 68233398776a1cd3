"""What was said and what was answered, found in the messages of any history."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    FunctionMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)

from holdover.compat.messages import content_text
from holdover.compat.transcript import Cursor, Entry

# Instructions and results of tools are neither said nor answered.
_BESIDE = (SystemMessage, ToolMessage, FunctionMessage)
_LIVE = "7"
_UUID_LENGTH = 36


class Exchange(NamedTuple):
    """What was said, what was answered, and the cursors around them.

    `whole` is false where an answer may still come.
    """

    said: str
    answered: str
    first: Cursor
    last: Cursor
    whole: bool


@dataclass(slots=True)
class _Open:
    entries: list[Entry]

    @property
    def answers(self) -> bool:
        return any(_is_answer(entry.message) for entry in self.entries)

    def closed(self, *, last: bool) -> Exchange:
        messages = [entry.message for entry in self.entries]
        answers = [m for m in messages if not isinstance(m, (HumanMessage, *_BESIDE))]
        return Exchange(
            _text([m for m in messages if isinstance(m, HumanMessage)]),
            _text(answers),
            self.entries[0].cursor,
            self.entries[-1].cursor,
            not last or _is_answer(messages[-1]),
        )


def exchanges(entries: Sequence[Entry]) -> list[Exchange]:
    """The messages in exchanges: each begins with who speaks after an answer.

    Several humans in a row say one thing together; an answer may take tool calls.
    """
    found: list[_Open] = []
    for entry in entries:
        said = isinstance(entry.message, HumanMessage)
        if not found or (said and found[-1].answers):
            found.append(_Open([]))
        found[-1].entries.append(entry)
    return [one.closed(last=one is found[-1]) for one in found]


def turns_of(
    exchange: Exchange, time: str, parts: Sequence[str]
) -> list[tuple[dict[str, str], dict[str, str]]]:
    """An exchange as turns: what was said, with each part of what was answered."""
    said = {"Human": f"<{time}/00> {exchange.said}"} if exchange.said else {}
    answered = [{"AI": f"<{time}/{at:02}> {part}"} for at, part in enumerate(parts)]
    return [(said, part) for part in answered or [{}]]


def moment_of(cursor: Cursor) -> datetime | None:
    """When a message was added, where its key tells: a UUIDv7 does."""
    key = cursor.key
    if len(key) != _UUID_LENGTH or key[14] != _LIVE:
        return None
    try:
        milliseconds = int(key[:8] + key[9:13], 16)
        return datetime.fromtimestamp(milliseconds / 1_000, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def _is_answer(message: BaseMessage) -> bool:
    """Whether nothing has to follow: a call of tools is no answer yet."""
    if isinstance(message, AIMessage):
        return not message.tool_calls and (
            "function_call" not in message.additional_kwargs
        )
    return not isinstance(message, (HumanMessage, *_BESIDE))


def _text(messages: Sequence[BaseMessage]) -> str:
    return "\n".join(filter(None, map(content_text, messages)))
