"""The messages in the text that the first memories kept instead of messages.

Before chat histories (in 2023), a buffer was one text, to which each turn added a line
`"Human: …"` and a line `"AI: …"`, or a list of such turns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

__all__ = ["spoken"]


def spoken(texts: Iterable[str], human: str, ai: str) -> list[BaseMessage]:
    """What was said, according to texts.

    The class wrote both lines of a turn, so the two take turns: what begins with the
    prefix of the one whose turn it is begins a message, and the same prefix again is
    part of what that one said. Who says a text that begins with neither is not known:
    it comes first, whole, marked as a transcript and not as what somebody said.

    Args:
        texts: The one text, or the texts of the turns.
        human: The prefix of the human, such as `"Human"`.
        ai: The prefix of the AI.
    """
    return [message for text in texts for message in _messages(text, human, ai)]


def _messages(text: str, human: str, ai: str) -> Iterator[BaseMessage]:
    kinds = (HumanMessage, AIMessage)
    marks = (f"\n{human}: ", f"\n{ai}: ")
    text = text if text.startswith("\n") else f"\n{text}"
    at, turn = min((_find(text, mark, 0), turn) for turn, mark in enumerate(marks))
    if before := text[1:at]:
        yield HumanMessage(before, additional_kwargs={"transcript": True})
    while at < len(text):
        begin = at + len(marks[turn])
        end = _find(text, marks[1 - turn], begin)
        yield kinds[turn](text[begin:end])
        at, turn = end, 1 - turn


def _find(text: str, mark: str, start: int) -> int:
    """Where a mark stands; the end of the text if it does not."""
    at = text.find(mark, start)
    return len(text) if at < 0 else at
