"""Filters: equality and comparison on fields of the value.

Where the interface says nothing, `InMemoryStore` is taken as the model, unless it
contradicts itself or JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdover.compat.testing.outcomes import Severity
from holdover.compat.testing.registry import Group
from holdover.compat.testing.steps import Steps
from holdover.compat.testing.trial import Trial, expect, pairs_of, search

_group = Group("filter")
_SOME = 30


def _finds(
    trial: Trial,
    filter_: Mapping[str, Any],
    wanted: str,
    **values: Mapping[str, Any],
) -> Steps[None]:
    """Put the values under their names, and expect to find those named."""
    for name, value in values.items():
        yield trial.put(trial.at(), name, dict(value))
    found = yield search(trial.at(), filter=dict(filter_))
    names = sorted(key for _, key in pairs_of(found))
    expect(
        names == sorted(wanted.split()),
        f"{dict(filter_)!r} found {' '.join(names) or 'nothing'}, "
        f"not {wanted or 'nothing'}",
    )


@_group.holds(Severity.LEAK)
def text(trial: Trial) -> Steps[None]:
    """Equality of text is exact."""
    yield from _finds(
        trial,
        {"x": "a"},
        "same",
        same={"x": "a"},
        longer={"x": "ab"},
        other={"x": "b"},
        missing={"y": "a"},
        inside={"x": ["a"]},
    )


@_group.holds(Severity.LEAK)
def text_case(trial: Trial) -> Steps[None]:
    """Equality of text minds case, accents and space."""
    yield from _finds(
        trial,
        {"x": "Zoe"},
        "same",
        same={"x": "Zoe"},
        lower={"x": "zoe"},
        accent={"x": "Zoë"},
        space={"x": "Zoe "},
    )


@_group.holds(Severity.LEAK)
def wildcards(trial: Trial) -> Steps[None]:
    """Wildcards of other languages stand for themselves in text."""
    for wild in ("a%", "a_", "a*", "*"):
        yield from _finds(
            trial, {"x": wild}, "", plain={"x": "ab"}, longer={"x": "abc"}
        )


@_group.holds(Severity.LEAK)
def quotes(trial: Trial) -> Steps[None]:
    """Quotes and commands of other languages stand for themselves in text."""
    for hostile in ("' OR '1'='1", '" OR "1"="1', "}) OR 1=1 --", "\\", "'"):
        yield from _finds(
            trial,
            {"x": hostile},
            "same",
            same={"x": hostile},
            other={"x": "other"},
        )


@_group.holds(Severity.LEAK)
def hostile_name(trial: Trial) -> Steps[None]:
    """A field name with quotes and commands in it is refused or found exactly."""
    name = "x') OR '1'='1"
    yield trial.put(trial.at(), "same", {name: "v"})
    yield trial.put(trial.at(), "other", {"x": "v"})
    try:
        found = yield search(trial.at(), filter={name: "v"})
    except Exception:  # noqa: BLE001 - refused
        return
    keys = [key for _, key in pairs_of(found)]
    expect(keys == ["same"], f"it found {' '.join(keys) or 'nothing'}")


@_group.holds(Severity.SEMANTICS)
def any_name(trial: Trial) -> Steps[None]:
    """A field of any name can be filtered by."""
    for name in ("plain", "with-dash", "with space", "é", "$x", "quote's"):
        yield from _finds(
            trial, {name: "v"}, "same", same={name: "v"}, other={name: "w"}
        )


@_group.holds(Severity.SEMANTICS)
def dotted_name(trial: Trial) -> Steps[None]:
    """A period in a field's name is part of the name, not a path."""
    yield from _finds(
        trial, {"a.b": "v"}, "name", name={"a.b": "v"}, path={"a": {"b": "v"}}
    )


@_group.holds(Severity.SEMANTICS)
def number(trial: Trial) -> Steps[None]:
    """Equality of numbers is that of their values; text of digits is no number."""
    yield from _finds(
        trial,
        {"x": 5},
        "five float",
        five={"x": 5},
        float={"x": 5.0},
        text={"x": "5"},
        other={"x": 50},
    )


@_group.holds(Severity.SEMANTICS)
def large_number(trial: Trial) -> Steps[None]:
    """Equality of integers is exact beyond 53 bits."""
    yield from _finds(
        trial, {"x": 2**53 + 1}, "same", same={"x": 2**53 + 1}, near={"x": 2**53}
    )


@_group.holds(Severity.SEMANTICS)
def boolean(trial: Trial) -> Steps[None]:
    """True finds true; one, and text, are something else."""
    yield from _finds(
        trial, {"x": True}, "true", true={"x": True}, one={"x": 1}, text={"x": "true"}
    )


@_group.holds(Severity.SEMANTICS)
def null(trial: Trial) -> Steps[None]:
    """None finds an explicit null."""
    yield trial.put(trial.at(), "null", {"x": None})
    yield trial.put(trial.at(), "value", {"x": "a"})
    found = yield search(trial.at(), filter={"x": None})
    keys = [key for _, key in pairs_of(found)]
    expect(keys == ["null"], f"it found {' '.join(keys) or 'nothing'}")


@_group.holds(Severity.SEMANTICS)
def null_is_not_missing(trial: Trial) -> Steps[None]:
    """None does not find what lacks the field."""
    yield from _finds(trial, {"x": None}, "", missing={"y": 1})


@_group.holds(Severity.SEMANTICS)
def list_(trial: Trial) -> Steps[None]:
    """A list finds the equal list, not its elements."""
    yield from _finds(
        trial,
        {"x": ["a", "b"]},
        "same",
        same={"x": ["a", "b"]},
        element={"x": "a"},
        longer={"x": ["a", "b", "c"]},
        turned={"x": ["b", "a"]},
    )


@_group.holds(Severity.SEMANTICS)
def nested(trial: Trial) -> Steps[None]:
    """An object finds the equal object."""
    yield from _finds(
        trial, {"x": {"a": 1}}, "same", same={"x": {"a": 1}}, other={"x": {"a": 2}}
    )


@_group.holds(Severity.LEAK)
def several(trial: Trial) -> Steps[None]:
    """Several fields must all match."""
    yield from _finds(
        trial,
        {"x": "a", "y": "b"},
        "both",
        both={"x": "a", "y": "b"},
        first={"x": "a", "y": "c"},
        second={"x": "c", "y": "b"},
    )


@_group.holds(Severity.SEMANTICS)
def eq(trial: Trial) -> Steps[None]:
    """`$eq` is equality, of text and of numbers."""
    values: dict[str, dict[str, Any]] = {
        "text": {"x": "a"},
        "number": {"x": 5},
        "other": {"x": "b"},
    }
    yield from _finds(trial, {"x": {"$eq": "a"}}, "text", **values)
    yield from _finds(trial, {"x": {"$eq": 5}}, "number", **values)


@_group.holds(Severity.SEMANTICS)
def eq_list(trial: Trial) -> Steps[None]:
    """`$eq` is equality, of lists and objects too."""
    values: dict[str, dict[str, Any]] = {
        "list": {"x": [1]},
        "object": {"x": {"a": 1}},
        "other": {"x": 1},
    }
    yield from _finds(trial, {"x": {"$eq": [1]}}, "list", **values)
    yield from _finds(trial, {"x": {"$eq": {"a": 1}}}, "object", **values)


@_group.holds(Severity.SEMANTICS)
def ne(trial: Trial) -> Steps[None]:
    """`$ne` finds other values."""
    yield from _finds(
        trial, {"x": {"$ne": "a"}}, "other", same={"x": "a"}, other={"x": "b"}
    )


@_group.holds(Severity.SEMANTICS)
def ne_null(trial: Trial) -> Steps[None]:
    """`$ne` finds null, which is another value."""
    yield from _finds(
        trial, {"x": {"$ne": "a"}}, "null", same={"x": "a"}, null={"x": None}
    )


@_group.holds(Severity.SEMANTICS)
def ne_missing(trial: Trial) -> Steps[None]:
    """`$ne` finds what lacks the field: with `$eq`, it finds everything."""
    yield from _finds(
        trial, {"x": {"$ne": "a"}}, "missing", same={"x": "a"}, missing={"y": 1}
    )


@_group.holds(Severity.SEMANTICS)
def order_of_numbers(trial: Trial) -> Steps[None]:
    """`$gt`, `$gte`, `$lt` and `$lte` compare numbers as numbers."""
    values = {f"n{str(n).replace('.', '_')}": {"x": n} for n in (2, 5, 9.5, 10, 100)}
    for filter_, wanted in [
        ({"$gt": 5}, "n9_5 n10 n100"),
        ({"$gte": 5}, "n5 n9_5 n10 n100"),
        ({"$lt": 10}, "n2 n5 n9_5"),
        ({"$lte": 9.5}, "n2 n5 n9_5"),
        ({"$gt": 2, "$lt": 10}, "n5 n9_5"),
    ]:
        yield from _finds(trial, {"x": filter_}, wanted, **values)


@_group.holds(Severity.SEMANTICS)
def order_with_missing(trial: Trial) -> Steps[None]:
    """`$gt` passes over what lacks the field."""
    yield from _finds(trial, {"x": {"$gt": 5}}, "n7", n7={"x": 7}, missing={"y": 7})


@_group.holds(Severity.SEMANTICS)
def order_with_text(trial: Trial) -> Steps[None]:
    """`$gt` with a number passes over text."""
    yield from _finds(trial, {"x": {"$gt": 5}}, "n7", n7={"x": 7}, text={"x": "word"})


@_group.holds(Severity.SEMANTICS)
def unknown_operator(trial: Trial) -> Steps[None]:
    """An operator nobody knows is refused, not taken for no match."""
    yield trial.put(trial.at(), "k", {"x": 1})
    yield from trial.refuses(
        search(trial.at(), filter={"x": {"$nonsense": 1}}), "the operator $nonsense"
    )


@_group.holds(Severity.LOSS)
def before_limit(trial: Trial) -> Steps[None]:
    """The limit counts matches: a match behind others is found."""
    yield trial.put(trial.at(), "a-match", {"x": "yes"})
    for n in range(_SOME):
        yield trial.put(trial.at(), f"k{n}", {"x": "no"})
    yield trial.put(trial.at(), "z-match", {"x": "yes"})
    found = yield search(trial.at(), filter={"x": "yes"}, limit=2)
    expect(len(found) == 2, f"it found {len(found)} of 2")  # noqa: PLR2004
    found = yield search(trial.at(), filter={"x": "yes"}, limit=2, offset=1)
    expect(len(found) == 1, f"with an offset of 1 it found {len(found)} of 1")


@_group.holds(Severity.LEAK)
def inside_namespace(trial: Trial) -> Steps[None]:
    """A filter finds nothing outside the namespace searched."""
    yield trial.put(trial.at("user1"), "k", {"x": "yes"})
    yield trial.put(trial.at("user10"), "k", {"x": "yes"})
    yield trial.put(trial.at("user2"), "k", {"x": "yes"})
    found = yield search(trial.at("user1"), filter={"x": "yes"})
    expect(len(found) == 1, f"it found {len(found)} of 1")
