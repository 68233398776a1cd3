"""The embedding with which the vector memory of the corpus was written."""

from __future__ import annotations

import hashlib
import struct

DIMS = 8
#: Texts that were embedded by `embed` in this process.
asked: list[str] = []


def vector(text):
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    return [byte / 255.0 for byte in digest[:DIMS]]


def packed(text):
    """As every index keeps it: in 32 bits."""
    return struct.pack(f"<{DIMS}f", *vector(text))


def embed(texts):
    asked.extend(texts)
    return [vector(text) for text in texts]


def another(texts):
    """Another model of the same dimensions."""
    return embed([text[::-1] + "!" for text in texts])
