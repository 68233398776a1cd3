"""Makes JSON of the metadata that a pickle holds."""

from __future__ import annotations

import datetime as dt
import decimal
from collections.abc import Mapping
from typing import Any

_MOST = 100_000
_DEEPEST = 80


class _TooMuch(Exception):
    """It is nested without end, or refers to itself."""


def plain(value: Any) -> Any:
    """The same in the types of JSON, as far as they can say it.

    Times are ISO 8601, decimals their text, tuples and sets lists; what a class of
    somebody's was stays what it is, and is rejected where it is to be stored. What
    unfolds into too much becomes text that is no metadata.
    """
    if not value:
        return None
    budget = [_MOST]
    try:
        return _plain(value, budget, 0)
    except _TooMuch:
        return "too much"


def _plain(value: Any, budget: list[int], depth: int) -> Any:
    budget[0] -= 1
    if budget[0] < 0 or depth > _DEEPEST:
        raise _TooMuch
    if isinstance(value, Mapping):
        return {name: _plain(one, budget, depth + 1) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one, budget, depth + 1) for one in value]
    if isinstance(value, set | frozenset):
        return sorted((_plain(one, budget, depth + 1) for one in value), key=repr)
    if isinstance(value, dt.datetime | dt.date | dt.time):
        return value.isoformat()
    if isinstance(value, decimal.Decimal):
        return str(value)
    return value
