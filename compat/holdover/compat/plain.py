"""Values that JSON gives and every store keeps as they are, told quickly."""

from __future__ import annotations

import re
from typing import Any

_INT64 = range(-(2**63), 2**63)
_UNSTORABLE = re.compile(r"[\x00\ud800-\udfff]")
#: What is nested deeper takes the long way, which knows the limits.
_DEEP = 32


def is_plain(value: Any, deep: int = _DEEP) -> bool:
    """Whether it is of JSON's own types, with names and numbers that stay the same.

    Texts are not looked into. An integral float is not plain: a store may give an
    integer back.
    """
    kind = type(value)
    if kind is str or value is None or kind is bool:
        return True
    if kind is int:
        return value in _INT64
    if kind is float:
        # Neither infinite nor no number at all.
        return bool(value - value == 0 and not value.is_integer())
    if (kind is not dict and kind is not list) or not deep:
        return False
    if kind is dict:
        for name in value:
            # An identifier holds nothing that has to be escaped.
            if type(name) is not str or not (
                name.isidentifier() or not _UNSTORABLE.search(name)
            ):
                return False
        value = value.values()
    for inner in value:
        # Most are texts, or nothing: a call for each would be most of the time.
        if type(inner) is str or inner is None or inner is False:
            continue
        if not is_plain(inner, deep - 1):
            return False
    return True


def copied(value: Any) -> Any:
    """A copy of a plain value that shares nothing that could change."""
    if type(value) is dict:
        return {n: v if type(v) is str else copied(v) for n, v in value.items()}
    if type(value) is list:
        return [copied(inner) for inner in value]
    return value
