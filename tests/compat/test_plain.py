"""The short way of plain values gives what the long way gives, for every value."""

from __future__ import annotations

import math
import uuid
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdover.compat import message_records, records
from holdover.compat.errors import UnportableValue
from holdover.compat.message_keys import MAX_POSITION, _uuid, adopted_key
from holdover.compat.plain import copied, is_plain

NUMBERS = st.one_of(
    st.integers(),
    st.sampled_from([2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 2**64]),
    st.floats(),
    st.sampled_from([0.0, -0.0, 1.0, 1e22, 1e-7, math.inf, -math.inf, math.nan]),
)
TEXTS = st.one_of(
    st.text(max_size=5),
    st.sampled_from(["", "a\x00b", "\ud800", "\\u0000", "~00", "content", "example"]),
)
ANYTHING = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS, st.binary(max_size=3)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.tuples(inner),
        st.dictionaries(st.one_of(TEXTS, st.integers()), inner, max_size=3),
    ),
    max_leaves=12,
)
FIELDS = st.dictionaries(
    st.one_of(st.sampled_from(["content", "example", "id", "name"]), TEXTS), ANYTHING
)


def the_long_way(function, *arguments):
    """Whatever it is asked about is not plain."""
    with (
        patch.object(records, "is_plain", lambda _: False),
        patch.object(message_records, "is_plain", lambda _: False),
    ):
        return outcome(function, *arguments)


def outcome(function, *arguments):
    try:
        return repr(function(*arguments))
    except UnportableValue as error:
        return type(error), str(error), error.path


@given(FIELDS)
def test_the_content_of_a_message(fields):
    short = outcome(message_records.content_of, "ai", fields)
    assert short == the_long_way(message_records.content_of, "ai", fields)


META = {"revision": "r", "source": {"kind": "migration", "locator": "x"}}


@given(st.dictionaries(TEXTS, ANYTHING, max_size=3))
def test_a_record_and_its_hash(content):
    short = outcome(records.build, "message", content, META)
    assert short == the_long_way(records.build, "message", content, META)
    try:
        value = records.build("message", content, META)
    except UnportableValue:
        return
    assert records.content_hash(value) == value["meta"]["hash"]
    assert records.has_content(value, value["meta"]["hash"])
    assert the_long_way(records.content_hash, value) == repr(value["meta"]["hash"])


@pytest.mark.parametrize("meta", [{}, {"escaped": []}, None])
def test_no_hash_is_no_contents(meta):
    value = {"kind": "message", "content": {"a": 2**70}, "meta": meta}
    assert not records.has_content(value, None)


@given(ANYTHING, ANYTHING)
def test_a_value_has_the_content_of_its_hash_and_of_no_other(one, other):
    values = [{"kind": "message", "content": held, "meta": {}} for held in (one, other)]
    try:
        first, second = map(records.content_hash, values)
    except (TypeError, ValueError):
        return
    assert records.has_content(values[0], first)
    assert records.has_content(values[1], first) == (first == second)


@given(ANYTHING)
def test_what_is_plain_is_kept_as_it_is(value):
    if is_plain(value):
        assert repr(message_records._plain(value, ())) == repr(value)
        assert repr(records._canonical(value)) == repr(value)
        assert repr(copied(value)) == repr(value)


@pytest.mark.parametrize("deep", [31, 32, 33, 85, 91])
def test_however_deep(deep):
    value = "x"
    for _ in range(deep):
        value = {"a": value}
    short = outcome(records.build, "message", {"data": value}, META)
    assert short == the_long_way(records.build, "message", {"data": value}, META)
    assert is_plain(value) == (deep <= 32)


def test_a_cycle_is_not_plain():
    value = {}
    value["a"] = value
    assert not is_plain(value)


def test_a_record_shares_nothing_with_what_it_was_made_of():
    inner = {"list": [1]}
    value = records.build("message", {"data": inner}, META)
    inner["list"].append(2)
    assert value["content"] == {"data": {"list": [1]}}


class Text(str):
    """No text of JSON's own."""

    __slots__ = ()


@pytest.mark.parametrize("value", [Text("x"), uuid.UUID(int=1), (1,), {1}, b"x", 1j])
def test_other_types_are_not_plain(value):
    assert not is_plain(value)
    assert not is_plain({"a": [value]})
    assert not is_plain({"a": value})


@given(st.integers(0, 2**60 - 1), st.integers(0, 2**64), st.sampled_from([7, 8]))
def test_a_key_is_a_uuid_as_python_writes_it(ticks, tail, version):
    key = _uuid(ticks, tail, version)
    assert str(uuid.UUID(key)) == key
    assert uuid.UUID(key).variant == uuid.RFC_4122


@given(st.lists(st.integers(0, MAX_POSITION), min_size=2, unique=True))
def test_keys_are_in_the_order_of_positions(positions):
    assert sorted(map(adopted_key, positions)) == [
        adopted_key(one) for one in sorted(positions)
    ]
