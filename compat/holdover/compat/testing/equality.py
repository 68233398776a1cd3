"""When a value that was read is the value that was written."""

from __future__ import annotations

import hashlib
import json
import math
from typing import Any


def digest(value: Any) -> str:
    """A hash of a JSON value that does not depend on the order of its keys.

    What is not JSON has one too: it is compared, not stored.
    """
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), default=repr)
    return hashlib.sha256(text.encode()).hexdigest()


def same(one: Any, other: Any) -> bool:
    """Whether two values are equal and of the same types, all the way down.

    A tuple counts as a list, as JSON has no tuples. NaN is itself, and zero has a
    sign.
    """
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(
            same(inner, other[name]) and type(name) in {type(key) for key in other}
            for name, inner in one.items()
        )
    if isinstance(one, float):
        if math.isnan(one):
            return math.isnan(other)
        return one == other and math.copysign(1, one) == math.copysign(1, other)
    return bool(one == other)
