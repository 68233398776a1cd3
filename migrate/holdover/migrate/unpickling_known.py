"""What our own code makes of a few calls that pickles of plain values consist of.

Each entry answers for a function of the standard library that only puts a value
together. What is called otherwise than that one would be raises, and is a placeholder
like anything else.
"""

from __future__ import annotations

import datetime as dt
import decimal
from collections.abc import Callable, Iterable
from typing import Any

from holdover.migrate.pickled import Name, Placeholder

__all__ = ["KNOWN", "key_of"]

# Larger ones can be made so that all of them meet in one slot of a mapping.
_EVEN = range(-(2**60), 2**60)
_MAX_DIGITS = 4_000


def key_of(value: Any) -> Any:
    """What a mapping or a set keeps a value by: of most kinds, the value.

    The hash of a tuple is that of all that is below it, as often as it is reached, and
    those of tuples and large numbers can be chosen; such a value is wrapped, and is a
    key of its own each time.
    """
    kind = type(value)
    if kind is str or kind is bytes or kind is float or kind is bool or value is None:
        return value
    if kind is int and value in _EVEN:
        return value
    if kind is Name or kind is Placeholder:
        return value
    return Placeholder("builtins", kind.__name__, (value,))


def _mapping(given: Any = ()) -> dict[Any, Any]:
    pairs: Iterable[Any] = given.items() if isinstance(given, dict) else given
    return {key_of(key): value for key, value in pairs}


def _default_mapping(_factory: Any = None, given: Any = ()) -> dict[Any, Any]:
    return _mapping(given)


def _listed(given: Any = (), _most: Any = None) -> list[Any]:
    return list(_flat(given))


def _tuple(given: Any = ()) -> tuple[Any, ...]:
    return tuple(_flat(given))


def _set(given: Any = ()) -> set[Any]:
    return set(map(key_of, _flat(given)))


def _frozenset(given: Any = ()) -> frozenset[Any]:
    return frozenset(map(key_of, _flat(given)))


def _flat(given: Any) -> Any:
    if not isinstance(given, list | tuple | set | frozenset):
        raise TypeError
    return given


def _encoded(text: str, encoding: str = "utf-8") -> bytes:
    if encoding not in ("latin1", "latin-1", "utf-8", "ascii"):
        raise ValueError
    return text.encode(encoding)


def _bytes(given: Any = b"", encoding: str = "latin-1") -> bytes:
    if isinstance(given, str):
        return _encoded(given, encoding)
    if not isinstance(given, bytes):
        raise TypeError  # a number would make so many of them
    return given


def _bytearray(given: Any = b"", encoding: str = "latin-1") -> bytearray:
    return bytearray(_bytes(given, encoding))


def _number(text: Any) -> decimal.Decimal:
    if not isinstance(text, str) or len(text) > _MAX_DIGITS:
        raise ValueError
    return decimal.Decimal(text)


def _plain(kind: Callable[..., Any]) -> Callable[..., Any]:
    """A type of `datetime`, given only what those are made of."""

    def made(*arguments: Any) -> Any:
        if not all(isinstance(one, _OF_A_TIME) for one in arguments):
            raise TypeError
        return kind(*arguments)

    return made


_OF_A_TIME = (bytes, int, dt.timedelta, dt.timezone)


def _offset(seconds: Any = 0) -> dt.timezone:
    return dt.timezone(dt.timedelta(seconds=seconds))


def _member(owner: Any, name: Any) -> Name:
    """What `getattr` finds in a class: another name."""
    if not isinstance(owner, Name) or not isinstance(name, str):
        raise TypeError
    return Name(owner.module, f"{owner.name}.{name}")


def _reconstructed(kind: Any, base: Any, state: Any) -> Placeholder:
    """As in `copyreg`, for protocols 0 and 1."""
    if not isinstance(kind, Name) or not isinstance(base, Name):
        raise TypeError
    bare = base.name == "object"
    made = Placeholder(kind.module, kind.name, () if bare else (state,))
    if isinstance(state, list):
        made.add_items(state)
    elif isinstance(state, dict):
        made.add_pairs(state.items())
    return made


def _new(kind: Any, *arguments: Any) -> Placeholder:
    return _new_ex(kind, arguments, {})


def _new_ex(kind: Any, arguments: Any, named: Any) -> Placeholder:
    if not isinstance(kind, Name) or not isinstance(arguments, tuple):
        raise TypeError
    return Placeholder(kind.module, kind.name, arguments, named)


_BUILTINS: dict[str, Callable[..., Any]] = {
    "bytearray": _bytearray,
    "bytes": _bytes,
    "dict": _mapping,
    "frozenset": _frozenset,
    "getattr": _member,
    "list": _listed,
    "set": _set,
    "tuple": _tuple,
}
_COPYREG: dict[str, Callable[..., Any]] = {
    "__newobj__": _new,
    "__newobj_ex__": _new_ex,
    "_reconstructor": _reconstructed,
}

#: By module and name; protocols 0 to 2 use the names that Python 2 had.
KNOWN: dict[tuple[str, str], Callable[..., Any]] = {
    **{(m, n): f for m in ("builtins", "__builtin__") for n, f in _BUILTINS.items()},
    **{(m, n): f for m in ("copyreg", "copy_reg") for n, f in _COPYREG.items()},
    ("_codecs", "encode"): _encoded,
    ("collections", "Counter"): _mapping,
    ("collections", "OrderedDict"): _mapping,
    ("collections", "defaultdict"): _default_mapping,
    ("collections", "deque"): _listed,
    ("datetime", "date"): _plain(dt.date),
    ("datetime", "datetime"): _plain(dt.datetime),
    ("datetime", "time"): _plain(dt.time),
    ("datetime", "timedelta"): _plain(dt.timedelta),
    ("datetime", "timezone"): _plain(dt.timezone),
    ("decimal", "Decimal"): _number,
    ("pydantic_core._pydantic_core", "TzInfo"): _offset,
}
