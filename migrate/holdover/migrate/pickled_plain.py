"""Plain values of what an unpickler found, for records.

A small pickle can say one thing many times inside another (`t = [t, t]`, thirty
times), and whoever goes through it meets a billion things: what is copied is counted.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any
from uuid import UUID

from holdover.migrate.pickled import Name, Placeholder, parts_of

__all__ = ["Allowance", "TooLarge", "plain"]

_DEEPEST = 75  # below what a record may be nested, with what stands around it
_PATHS = frozenset({"PosixPath", "PurePosixPath", "PureWindowsPath", "WindowsPath"})
_SCALARS = (str, int, float, bytes, bytearray)


class TooLarge(Exception):
    """A value is nested too deeply, or too much of it would have to be copied."""


class Allowance:
    """How much may still be copied: characters, and 64 of them for each value."""

    def __init__(self, size: int) -> None:
        self._left = size

    def take(self, size: int) -> None:
        """Use some up; raises `TooLarge` where there is no more."""
        self._left -= size
        if self._left < 0:
            raise TooLarge


def plain(value: Any, allowance: Allowance, depth: int = 0) -> Any:
    """A copy in lists, mappings with texts as names, texts, numbers and moments.

    An object is a mapping of its attributes, or what it was made of where that is one
    plain value (a member of an enum); a class is its name.

    Raises:
        TooLarge: It is deeper or larger than a record can be.
    """
    if depth > _DEEPEST:
        raise TooLarge
    allowance.take(64)
    if isinstance(value, str | bytes | bytearray):
        allowance.take(len(value))
        return value
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(one, allowance, depth + 1) for one in value]
    if isinstance(value, dict):
        return {
            _text_of(name): plain(one, allowance, depth + 1)
            for name, one in value.items()
        }
    if isinstance(value, Placeholder):
        return _object(value, allowance, depth)
    if isinstance(value, Name):
        allowance.take(len(value.name))
        return f"{value.module}.{value.name}"
    if isinstance(value, Decimal):
        return str(value)
    return value


def _object(made: Placeholder, allowance: Allowance, depth: int) -> Any:
    if (made.module, made.name) == ("uuid", "UUID"):
        number = made.get("int")
        if isinstance(number, int) and 0 <= number < 1 << 128:
            return str(UUID(int=number))
    if made.name in _PATHS:
        return path_text(made)
    if (made.module, made.name) == ("builtins", "tuple"):
        return plain(made.args[0], allowance, depth + 1)  # a key; see `key_of`
    if made.state is not None:
        fields: dict[str, Any] = {}
        for part in parts_of(made.state):
            for name, one in part.items():
                if isinstance(name, str) and name not in fields:
                    fields[name] = plain(one, allowance, depth + 1)
        return fields
    if made.pairs:
        return {
            _text_of(name): plain(one, allowance, depth + 1) for name, one in made.pairs
        }
    if made.items:
        return [plain(one, allowance, depth + 1) for one in made.items]
    if len(made.args) == 1 and isinstance(made.args[0], _SCALARS):
        return plain(made.args[0], allowance, depth + 1)
    return f"{made.module}.{made.name}"


def path_text(made: Placeholder) -> str:
    """The text of a pickled path."""
    parts = [part for part in made.args if isinstance(part, str)]
    joined = "/".join(parts)
    return joined.removeprefix("/") if joined.startswith("//") else joined


def _text_of(name: Any) -> str:
    """The name in a mapping: text, or what a text says of a plain value."""
    if isinstance(name, str):
        return name
    if isinstance(name, Placeholder):
        return f"{name.module}.{name.name}"
    return str(name) if isinstance(name, int | float | bytes) else type(name).__name__
