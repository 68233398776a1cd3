"""Distances of vectors, for a Python whose SQLite cannot load sqlite-vec.

LangGraph's store keeps vectors in an ordinary table and compares them by three scalar
functions of sqlite-vec, nothing else of it. Here are the same three, so that a search
by meaning works on any Python, on the same file. A second SQLite library that can
load extensions (`pysqlite3` and its like) would be faster, but two of them in one
process break each other's file locks: closing a file in one drops the locks of the
other.
"""

from __future__ import annotations

import functools
import math
import sys
from array import array
from operator import mul
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import sqlite3


def register(conn: sqlite3.Connection) -> None:
    """Give a connection the functions the store calls."""
    for name, function in _functions().items():
        conn.create_function(name, 2, function, deterministic=True)


def _functions() -> dict[str, Any]:
    try:
        import numpy as np  # noqa: PLC0415 - used where it is, never needed
    except ImportError:
        return {
            "vec_distance_cosine": cosine,
            "vec_distance_L2": euclidean,
            "vec_distance_L1": manhattan,
        }

    def read(blob: bytes) -> Any:
        return np.frombuffer(blob, dtype="<f4")

    # A search compares one vector with all others.
    wanted = functools.lru_cache(maxsize=8)(read)

    def by_cosine(stored: bytes, query: bytes) -> float | None:
        one, other = _alike(read(stored), wanted(query))
        size = math.sqrt(float(one @ one) * float(other @ other))
        return 1.0 - float(one @ other) / size if size else None

    def by_l2(stored: bytes, query: bytes) -> float:
        one, other = _alike(read(stored), wanted(query))
        return float(np.linalg.norm(one - other))

    def by_l1(stored: bytes, query: bytes) -> float:
        one, other = _alike(read(stored), wanted(query))
        return float(np.abs(one - other).sum())

    return {
        "vec_distance_cosine": by_cosine,
        "vec_distance_L2": by_l2,
        "vec_distance_L1": by_l1,
    }


def cosine(stored: bytes, query: bytes) -> float | None:
    """One minus the cosine; `None` where a vector has no direction."""
    one, other = _alike(_read(stored), _wanted(query))
    size = math.sqrt(_product(one, one) * _product(other, other))
    return 1.0 - _product(one, other) / size if size else None


def euclidean(stored: bytes, query: bytes) -> float:
    """The straight way."""
    return math.dist(*_alike(_read(stored), _wanted(query)))


def manhattan(stored: bytes, query: bytes) -> float:
    """The way along the axes."""
    one, other = _alike(_read(stored), _wanted(query))
    return math.fsum(abs(a - b) for a, b in zip(one, other, strict=True))


if sys.version_info >= (3, 12):
    _product = math.sumprod
else:

    def _product(one: list[float], other: list[float]) -> float:
        return float(sum(map(mul, one, other)))


def _read(blob: bytes) -> list[float]:
    floats = array("f", blob)
    if sys.byteorder == "big":
        floats.byteswap()
    return floats.tolist()


_wanted = functools.lru_cache(maxsize=8)(_read)


def _alike(one: Any, other: Any) -> tuple[Any, Any]:
    if len(one) != len(other):
        raise ValueError(f"Vectors of {len(one)} and of {len(other)} numbers.")
    return one, other
