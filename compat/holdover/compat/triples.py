"""What a model says about facts, read as triples of subject, predicate and object."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple, Self

from holdover.compat.prompt import KG_TRIPLE_DELIMITER

__all__ = ["KG_TRIPLE_DELIMITER", "KnowledgeTriple", "parse_triples"]

#: One line of a conversation states no more; what is longer is an essay.
MAX_TRIPLES = 50
MAX_NAME = 200
MAX_OBJECT = 1_000
_MAX_CANDIDATE = 2 * MAX_NAME + MAX_OBJECT + 100
# One part a line, and the brackets on lines of their own.
_MAX_LINES = 6

# The wide ones are what Chinese and Japanese keyboards give.
_PAIRS = {"(": ")", "[": "]", "\uff08": "\uff09"}
_OPEN = r"(\[\uff08"
_COMMA = r",\uff0c"
_QUOTES = (('"', '"'), ("“", "”"), ("„", "“"), ("'", "'"), ("`", "`"), ("**", "**"))
_PART = rf"\"[^\"]*\"|“[^”]*”|[^{_COMMA}]*"
# Of a text without runs of spaces: over those, it takes cubic time.
_THREE = re.compile(rf"({_PART}) ?[{_COMMA}] ?({_PART}) ?[{_COMMA}] ?(.*)")
# What stands before the first triple of a line: a bullet, a number, "Output:".
_BULLET = re.compile(r"\s*(?:[-*•–]+\s|\d{1,3}[.)]\s)?\s*")
_LABEL = re.compile(
    rf"[^{_COMMA}{_OPEN}\n]{{0,60}}[:\uff1a]\s*(?=[{_OPEN}])|(?:output|answer|triples?):",
    re.IGNORECASE,
)
_BETWEEN = re.compile(rf"[\s{_COMMA};.]*(?=[{_OPEN}])")
# Prose has commas, too.
_SENTENCE = re.compile(r"[.!?。](?:\s|$)")
_CLAUSE = re.compile(
    r"(?:and|as|because|but|however|or|since|so|there|which|who)\b", re.IGNORECASE
)
_MAX_WORDS, _MAX_WORDS_OF_SENTENCE = 12, 6
# A model that repeats the form it was asked for has found nothing.
_PLACEHOLDERS = frozenset({("subject", "predicate", "object"), ("none",) * 3})


class KnowledgeTriple(NamedTuple):
    """One fact."""

    subject: str
    predicate: str
    object_: str

    @classmethod
    def from_string(cls, triple_string: str) -> Self:
        """Read one triple, with or without brackets.

        Raises:
            ValueError: It is none.
        """
        text = triple_string.strip()
        if text[:1] in _PAIRS:
            text = text[1:].removesuffix(_PAIRS[text[0]])
        parts = _three(text)
        if parts is None:
            raise ValueError(f"Not a triple: {triple_string[:MAX_NAME]!r}")
        return cls(*parts)


def parse_triples(knowledge_str: str) -> list[KnowledgeTriple]:
    """The triples in an answer, each once; prose and anything else is left out."""
    bracketed: dict[KnowledgeTriple, None] = {}
    plain: dict[KnowledgeTriple, None] = {}
    for part in knowledge_str.split(KG_TRIPLE_DELIMITER):
        for text, in_brackets in _candidates(part):
            parts = _three(text) if in_brackets or _is_terse(text) else None
            if parts is not None:
                found = bracketed if in_brackets else plain
                found[KnowledgeTriple(*parts)] = None
            if len(bracketed) == MAX_TRIPLES:
                return list(bracketed)
    # Where some are in brackets, what stands beside them is talk.
    return list(bracketed or plain)[:MAX_TRIPLES]


def _three(text: str) -> tuple[str, str, str] | None:
    """The parts before the first comma, the second, and the rest."""
    if len(text) > _MAX_CANDIDATE:
        return None
    match = _THREE.fullmatch(" ".join(text.split()))
    if match is None:
        return None
    subject, predicate, object_ = map(_bare, match.groups())
    if not (subject and predicate and object_):
        return None
    if max(len(subject), len(predicate)) > MAX_NAME or len(object_) > MAX_OBJECT:
        return None
    folded = (subject.casefold(), predicate.casefold(), object_.casefold())
    return None if folded in _PLACEHOLDERS else (subject, predicate, object_)


def _bare(part: str) -> str:
    """A part without the quotes around all of it."""
    text = part.strip()
    for opening, closing in _QUOTES:
        inner = text.removeprefix(opening).removesuffix(closing)
        if len(inner) == len(text) - len(opening + closing) and closing not in inner:
            return inner.strip()
    return text


def _is_terse(text: str) -> bool:
    """Whether a line without brackets reads like a triple, not like a sentence."""
    words = len(text.split())
    _, _, after = text.partition(",")
    if _CLAUSE.match(after.strip()):
        return False
    return words <= (_MAX_WORDS_OF_SENTENCE if _SENTENCE.search(text) else _MAX_WORDS)


def _candidates(text: str, *, nested: bool = True) -> Iterator[tuple[str, bool]]:
    """What may be a triple, without its brackets, and whether it had some."""
    at, end = 0, len(text)
    while at < end:
        at = _skip(_LABEL, text, _skip(_BULLET, text, at))
        stop = _line_end(text, at)
        if text[at : at + 1] not in _PAIRS:
            yield text[at:stop].strip().removesuffix("."), False
        while text[at : at + 1] in _PAIRS:
            close = _closing(text, at)
            inner = text[at + 1 : close].strip()
            if nested and inner[:1] in _PAIRS:
                yield from _candidates(inner, nested=False)
            else:
                yield inner, True
            at = _skip(_BETWEEN, text, close + 1)
            # What else follows on the same line is a remark.
            stop = _line_end(text, at)
        at = stop + 1


def _skip(pattern: re.Pattern[str], text: str, at: int) -> int:
    match = pattern.match(text, at)
    return match.end() if match else at


def _line_end(text: str, at: int) -> int:
    found = text.find("\n", at)
    return len(text) if found < 0 else found


def _closing(text: str, at: int) -> int:
    """Where the bracket that opens at `at` is closed; else the end of its line."""
    opening, closing = text[at], _PAIRS[text[at]]
    depth = lines = 0
    for position in range(at, min(len(text), at + _MAX_CANDIDATE)):
        if text[position] == opening:
            depth += 1
        elif text[position] == closing:
            depth -= 1
            if not depth:
                return position
        elif text[position] == "\n":
            lines += 1
            if lines == _MAX_LINES:
                break
    return _line_end(text, at)
