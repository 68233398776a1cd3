"""Which methods of the classic classes the scenarios really call, and which fields
they name."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from parity.comparing import SCENARIOS

#: The packages whose classes make up the public face of a class.
_OURS = ("langchain_classic.", "langchain.", "langchain_community.")
_HISTORY = "langchain_core.chat_history"


def _public(kind: type) -> Iterator[tuple[type, str, Any]]:
    """Its methods and properties, with the class that defines each."""
    seen = set()
    for part in kind.__mro__:
        if not part.__module__.startswith((*_OURS, _HISTORY)):
            continue
        for name, value in vars(part).items():
            is_code = isinstance(
                value, types.FunctionType | property | classmethod | staticmethod
            )
            if is_code and not name.startswith(("_", "model_")) and name not in seen:
                seen.add(name)
                yield part, name, value


def names_of(kind: type) -> list[str]:
    """The methods and properties of a class that a user may call."""
    decorators = getattr(kind, "__pydantic_decorators__", None)
    validators = {
        *getattr(decorators, "field_validators", ()),
        *getattr(decorators, "root_validators", ()),
    }
    return sorted(
        name
        for _, name, value in _public(kind)
        if not getattr(value, "__isabstractmethod__", False) and name not in validators
    )


def fields_of(kind: type) -> list[str]:
    """Its fields, and the arguments of a constructor of its own."""
    fields = set(getattr(kind, "model_fields", {}))
    for part in kind.__mro__:
        if part.__module__.startswith(_OURS) and "__init__" in vars(part):
            named = inspect.signature(inspect.unwrap(part.__init__)).parameters.values()
            kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
            fields |= {one.name for one in named if one.kind not in kinds}
            break
    return sorted(fields - {"self"})


@contextmanager
def recorded(kinds: list[type]) -> Iterator[set[tuple[str, str]]]:
    """While it lasts, note each call as (name of the object's class, method)."""
    calls: set[tuple[str, str]] = set()
    undo = []

    def watch(function: Any, name: str) -> Any:
        @functools.wraps(function)
        def watched(first: Any, *arguments: Any, **named: Any) -> Any:
            kind = first if isinstance(first, type) else type(first)
            calls.update((part.__name__, name) for part in kind.__mro__)
            return function(first, *arguments, **named)

        return watched

    done = set()
    for kind in kinds:
        for part, name, value in _public(kind):
            if (part, name) in done:
                continue
            done.add((part, name))
            if isinstance(value, property):
                setter = value.fset and watch(value.fset, name)
                new: Any = property(watch(value.fget, name), setter)
            elif isinstance(value, classmethod):
                new = classmethod(watch(value.__func__, name))
            elif isinstance(value, types.FunctionType):
                new = watch(value, name)
            else:
                continue
            if getattr(value, "__isabstractmethod__", False):
                continue
            undo.append((part, name, value))
            type.__setattr__(part, name, new)
    try:
        yield calls
    finally:
        for part, name, value in undo:
            type.__setattr__(part, name, value)


def words_of(of: str) -> set[str]:
    """Every name that the scenarios of a class write: attributes and arguments."""
    found: set[str] = set()
    for one in SCENARIOS:
        if one.of == of:
            _walk(inspect.unwrap(one.run).__code__, found)
    return found


def _walk(code: types.CodeType, found: set[str]) -> None:
    found.update(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            _walk(constant, found)
        elif isinstance(constant, str):
            found.add(constant)
        elif isinstance(constant, tuple):
            found.update(one for one in constant if isinstance(one, str))
