"""An embedding whose answers are known: the index that `vectors.*` asks for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

_VOCABULARY = ("red", "blue", "green", "white", "black")
#: One direction a word, and one for all others together.
DIMENSIONS = len(_VOCABULARY) + 1


def embed(texts: Sequence[str]) -> list[list[float]]:
    """Count the words of each text that belong to the vocabulary."""
    return [_vector(text) for text in texts]


def _vector(text: str) -> list[float]:
    words = re.findall(r"[a-z]+", text.lower())
    counts = [float(words.count(word)) for word in _VOCABULARY]
    # Never all zero, which has no direction.
    others = len(words) - sum(counts)
    return [*counts, 0.1 + 0.01 * others]


def index_config() -> Any:
    """The index a store has to be opened with for `Capabilities(vectors=True)`."""
    return {"dims": DIMENSIONS, "embed": embed, "fields": ["text"]}
