"""What is read is what was written, or it was refused; never another value."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from holdover.compat.testing.equality import digest, same
from holdover.compat.testing.outcomes import Severity
from holdover.compat.testing.registry import Group
from holdover.compat.testing.steps import Attempt, Steps
from holdover.compat.testing.trial import Trial, expect, get, search, shown

_group = Group("value")
_DEEP = 90
_VERY_DEEP = 200
_MEGABYTE = 2**20
_PORTABLE: dict[str, Any] = {
    "text": "Zoë said: 'it''s \"fine\"'\\ \t\r\n\u2028 日本 \U0001f389 \x1b",
    "like": ["null", "true", "1", "1.0", "", " "],
    "numbers": [0, 1, -1, 2.5, -0.125, 1e-7, 123456789012],
    "others": [None, True, False, [], {}, [[]], {"a": {}}],
    "nested": {"b": [{"c": [1, {"d": None}]}], "ключ": {"": "empty name"}},
}


def _keeps(trial: Trial, *values: Any) -> Steps[None]:
    yield from trial.keeps(
        {
            (trial.at(), f"k{number}"): {"value": value}
            for number, value in enumerate(values)
        },
        exact=True,
    )


def _keeps_or_refuses(trial: Trial, *values: Any) -> Steps[None]:
    """Each is refused and not there, or there and the same."""
    for number, value in enumerate(values):
        place = (trial.at(), f"k{number}")
        error = yield Attempt(trial.put(*place, value))
        found = yield from trial.value(*place)
        if error is not None:
            expect(found is None, f"{shown(value)} was refused, and is there")
        else:
            expect(same(found, value), f"{shown(value)} came back as {shown(found)}")


@_group.holds(Severity.LOSS)
def roundtrip_hash(trial: Trial) -> Steps[None]:
    """The hash of a value read, by get and by search, is that of the value written."""
    yield trial.put(trial.at(), "k", _PORTABLE)
    item = yield get(trial.at(), "k")
    expect(item is not None, "nothing came back")
    expect(digest(item.value) == digest(_PORTABLE), "get gave another value")
    (item,) = yield search(trial.at())
    expect(digest(item.value) == digest(_PORTABLE), "search gave another value")


@_group.holds(Severity.LOSS)
def replaced_whole(trial: Trial) -> Steps[None]:
    """A second put replaces the value; fields of the first do not stay."""
    yield trial.put(trial.at(), "k", {"old": 1, "both": {"a": 1}})
    yield from trial.keeps({(trial.at(), "k"): {"both": {"b": 2}}})


@_group.holds(Severity.LOSS)
def text_like_other_types(trial: Trial) -> Steps[None]:
    """Text that looks like a number, a date or null stays text."""
    yield from _keeps(
        trial, "1", "1.0", "true", "null", "NaN", "2026-01-01T00:00:00Z", "{}", "[]"
    )


@_group.holds(Severity.LOSS)
def booleans(trial: Trial) -> Steps[None]:
    """True and false are not one and zero."""
    yield from _keeps(trial, True, False, 1, 0)  # noqa: FBT003


@_group.holds(Severity.LOSS)
def int64(trial: Trial) -> Steps[None]:
    """Integers of 64 bits keep every digit."""
    yield from _keeps(trial, 2**63 - 1, -(2**63), 2**53 + 1, 10**15 + 1)


@_group.holds(Severity.LOSS)
def beyond_int64(trial: Trial) -> Steps[None]:
    """Larger integers are refused or keep every digit."""
    yield from _keeps_or_refuses(trial, {"n": 2**64 + 1}, {"n": -(2**70) - 1})


@_group.holds(Severity.SEMANTICS)
def float_type(trial: Trial) -> Steps[None]:
    """Floating-point numbers come back as such, large and negative zero too."""
    yield from _keeps(trial, 1.0, -0.0, 1e22, 1.7e308, 5e-324, 0.1)


@_group.holds(Severity.LOSS)
def float_digits(trial: Trial) -> Steps[None]:
    """Floating-point numbers keep their value."""
    for number, value in enumerate([0.1, 1e22, 1.7e308, 5e-324, 2.5, 1 / 3]):
        yield trial.put(trial.at(), f"k{number}", {"value": value})
        found = yield from trial.value(trial.at(), f"k{number}")
        expect(
            found is not None and float(found["value"]) == value,
            f"{value!r} came back as {shown(found)}",
        )


@_group.holds(Severity.SEMANTICS)
def nul(trial: Trial) -> Steps[None]:
    """A NUL in text and in a field's name works."""
    yield from trial.keeps({(trial.at(), "k"): {"text": "a\x00b", "a\x00b": 1}})


@_group.holds(Severity.LOSS)
def lone_surrogate(trial: Trial) -> Steps[None]:
    """Text no encoding has is refused or kept."""
    yield from _keeps_or_refuses(trial, {"text": "a\ud800b"}, {"a\udc00": 1})


@_group.holds(Severity.LOSS)
def nan(trial: Trial) -> Steps[None]:
    """NaN and infinity are refused or kept, never another value."""
    yield from _keeps_or_refuses(
        trial, {"n": float("nan")}, {"n": float("inf")}, {"n": float("-inf")}
    )


@_group.holds(Severity.SEMANTICS)
def key_order(trial: Trial) -> Steps[None]:
    """The fields of a value keep their order."""
    value = {"zebra": 1, "b": {"y": 1, "x": 2}, "a": 3, "mouse": 4}
    yield trial.put(trial.at(), "k", value)
    found = yield from trial.value(trial.at(), "k")
    expect(found is not None, "nothing came back")
    expect(list(found) == list(value), f"the order is {shown(list(found))}")


@_group.holds(Severity.LOSS)
def deep(trial: Trial) -> Steps[None]:
    """A value nested ninety levels deep works."""
    value: Any = "bottom"
    for _ in range(_DEEP):
        value = {"a": value}
    yield from _keeps(trial, value)


@_group.holds(Severity.LOSS)
def very_deep(trial: Trial) -> Steps[None]:
    """A value nested two hundred levels deep is refused or kept."""
    value: Any = {"bottom": 1}
    for _ in range(_VERY_DEEP):
        value = {"a": value}
    yield from _keeps_or_refuses(trial, value)


@_group.holds(Severity.LOSS)
def large(trial: Trial) -> Steps[None]:
    """A value of a megabyte works."""
    yield from _keeps(trial, "0123456789abcdef" * (_MEGABYTE // 16))


@_group.holds(Severity.LOSS)
def empty(trial: Trial) -> Steps[None]:
    """The empty value is a value, not a deletion."""
    yield from trial.keeps({(trial.at(), "k"): {}})
    items = yield search(trial.at())
    expect(len(items) == 1, f"a search found {len(items)} of 1")


@_group.holds(Severity.LOSS)
def field_names(trial: Trial) -> Steps[None]:
    """A field may have any name: with dots, dollars, spaces, quotes, or none."""
    names = ["a.b", "$set", "$.a", "a b", "", "'", '"', "_id", "value", "é", "__type__"]
    yield from trial.keeps(
        {(trial.at(), "k"): {name: number for number, name in enumerate(names)}}
    )


@_group.holds(Severity.LOSS)
def other_keys(trial: Trial) -> Steps[None]:
    """Field names that are no text are refused or kept as they are."""
    yield from _keeps_or_refuses(trial, {1: "int"}, {"in": {2: "int"}}, {None: "none"})


@_group.holds(Severity.LOSS)
def tuples(trial: Trial) -> Steps[None]:
    """A tuple comes back with its elements, as tuple or list."""
    yield from _keeps(trial, (1, "two", (3,)))


@_group.holds(Severity.LOSS)
def sets(trial: Trial) -> Steps[None]:
    """A set is refused or kept."""
    yield from _keeps_or_refuses(trial, {"v": {1, 2}})


@_group.holds(Severity.LOSS)
def bytes_(trial: Trial) -> Steps[None]:
    """Bytes are refused or kept."""
    yield from _keeps_or_refuses(trial, {"v": b"\x00\xff"})


@_group.holds(Severity.SEMANTICS)
def dates(trial: Trial) -> Steps[None]:
    """A datetime or a UUID is refused or kept, never turned into text unasked."""
    moment = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
    yield from _keeps_or_refuses(trial, {"v": moment}, {"v": uuid.UUID(int=7)})


@_group.holds(Severity.LOSS)
def decimals(trial: Trial) -> Steps[None]:
    """A decimal is refused or kept."""
    yield from _keeps_or_refuses(trial, {"v": Decimal("1.10")})
