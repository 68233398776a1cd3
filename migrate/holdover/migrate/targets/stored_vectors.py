"""Vectors of a replaced item: kept in its journal, given back by a rollback."""

from __future__ import annotations

import array
import base64
import sys
from collections.abc import Mapping, Sequence
from typing import Any

#: A field's name in `store_vectors`, and its numbers.
Vector = tuple[str, Sequence[float]]


def packed(vectors: Sequence[Vector]) -> dict[str, str]:
    """Vectors as JSON: 32 bits a number, in base64."""
    return {
        name: base64.b64encode(_swapped(array.array("f", numbers)).tobytes()).decode()
        for name, numbers in vectors
    }


def unpacked(kept: Any) -> list[Vector]:
    """What `packed` gave; nothing where it is something else."""
    if not isinstance(kept, Mapping):
        return []
    return [(name, numbers_of(base64.b64decode(text))) for name, text in kept.items()]


def numbers_of(raw: bytes) -> array.array[float]:
    """Numbers of 32 bits, little-endian."""
    numbers = array.array("f")
    numbers.frombytes(raw[: len(raw) // 4 * 4])
    return _swapped(numbers)


def _swapped(numbers: array.array[float]) -> array.array[float]:
    if sys.byteorder != "little":
        numbers.byteswap()
    return numbers
