"""LangGraph's search filters, for stores that look at values themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Value = Mapping[str, Any]
_ABSENT = object()


def matcher(wanted: Mapping[str, Any] | None) -> Callable[[Value], bool] | None:
    """A test of a value for `{field: value}` and `{field: {"$gt": value}}`.

    Only fields at the top are looked at. A field that is missing equals `None`, and is
    neither greater nor less than anything; nor is what cannot be compared.

    Raises:
        ValueError: An operator is not one of `$eq $ne $gt $gte $lt $lte`.
    """
    if not wanted:
        return None
    tests = [(name, _test(condition)) for name, condition in wanted.items()]
    return lambda value: all(test(value.get(name, _ABSENT)) for name, test in tests)


def _test(condition: Any) -> Callable[[Any], bool]:
    is_operators = isinstance(condition, Mapping) and any(
        isinstance(key, str) and key.startswith("$") for key in condition
    )
    if not is_operators:
        return lambda held: _equal(held, condition)
    unknown = [key for key in condition if key not in _OPERATORS]
    if unknown:
        raise ValueError(
            f"Unsupported operator: {unknown[0]}. Known are {', '.join(_OPERATORS)}."
        )
    tests = [(_OPERATORS[key], operand) for key, operand in condition.items()]
    return lambda held: all(test(held, operand) for test, operand in tests)


def _equal(held: Any, wanted: Any) -> bool:
    held = None if held is _ABSENT else held
    if isinstance(wanted, Mapping):
        # As in `InMemoryStore`: what is named has to match, the rest may be anything.
        return isinstance(held, Mapping) and all(
            _equal(held.get(name, _ABSENT), part) for name, part in wanted.items()
        )
    if isinstance(wanted, list | tuple):
        return (
            isinstance(held, list | tuple)
            and len(held) == len(wanted)
            and all(map(_equal, held, wanted))
        )
    return bool(held == wanted)


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def test(held: Any, operand: Any) -> bool:
        numbers = isinstance(held, int | float) and isinstance(operand, int | float)
        texts = isinstance(held, str) and isinstance(operand, str)
        return (numbers or texts) and compare(held, operand)

    return test


_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "$eq": _equal,
    "$ne": lambda held, operand: not _equal(held, operand),
    "$gt": _ordered(lambda held, operand: held > operand),
    "$gte": _ordered(lambda held, operand: held >= operand),
    "$lt": _ordered(lambda held, operand: held < operand),
    "$lte": _ordered(lambda held, operand: held <= operand),
}
