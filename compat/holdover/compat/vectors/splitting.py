"""Splitting a long answer into parts that are embedded one by one."""

from __future__ import annotations

_OVERLAP = 200
# Where a text is cut, the best place first.
_BREAKS = ("\n\n", "\n", " ")


def split_text(text: str, size: int) -> list[str]:
    """Parts of at most `size` characters that overlap a little; none of no text.

    By LangChain's splitter where it is installed, as the classic class does.
    """
    if len(text) <= size:
        return [text.strip()] if text.strip() else []
    # Its own default, but for sizes it would refuse with it.
    overlap = _OVERLAP if size >= _OVERLAP else size // 5
    try:
        from langchain_text_splitters import (  # noqa: PLC0415 - seldom needed
            RecursiveCharacterTextSplitter,
        )
    except ImportError:
        return _parts(text, size, min(overlap, size // 2))
    splitter = RecursiveCharacterTextSplitter(chunk_size=size, chunk_overlap=overlap)
    return splitter.split_text(text)


def _parts(text: str, size: int, overlap: int) -> list[str]:
    parts, start = [], 0
    while len(text) - start > size:
        end = _cut(text, start + overlap + 1, start + size)
        parts.append(text[start:end].strip())
        # Go on a little before, at a word.
        space = text.find(" ", max(start + 1, end - overlap), end)
        start = space if space != -1 else end
    parts.append(text[start:].strip())
    return [part for part in parts if part]


def _cut(text: str, least: int, most: int) -> int:
    """Where a part ends: at the best break there is between these."""
    for mark in _BREAKS:
        at = text.rfind(mark, least, most)
        if at != -1:
            return at
    return most
