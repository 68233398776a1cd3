"""LangGraph's filters, looked at by ourselves: a table, and its own memory store."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langgraph.store.memory import InMemoryStore

from holdover.compat.stores.filtering import matcher

VALUE = {
    "n": 5, "f": 5.5, "t": "text", "b": True, "none": None, "list": [1, {"a": 2}],
    "deep": {"a": 1, "b": {"c": 2}}, "a.b": "dotted", "$x": 1, "empty": {},
}  # fmt: skip


@pytest.mark.parametrize(
    ("wanted", "matches"),
    [
        ({"n": 5}, True),
        ({"n": 5.0}, True),
        ({"n": 6}, False),
        ({"n": "5"}, False),
        ({"n": 5, "t": "text"}, True),
        ({"n": 5, "t": "other"}, False),
        ({"t": "TEXT"}, False),
        ({"b": True}, True),
        ({"b": False}, False),
        ({"none": None}, True),
        ({"missing": None}, True),
        ({"missing": 0}, False),
        ({"n": None}, False),
        ({"a.b": "dotted"}, True),
        ({"deep.a": 1}, False),
        # What is named in a mapping has to match, the rest may be anything.
        ({"deep": {"a": 1}}, True),
        ({"deep": {"b": {"c": 2}}}, True),
        ({"deep": {"b": {"c": 3}}}, False),
        ({"deep": {"z": None}}, True),
        ({"deep": {}}, True),
        ({"n": {}}, False),
        ({"empty": {}}, True),
        ({"list": [1, {"a": 2}]}, True),
        ({"list": (1, {"a": 2})}, True),
        ({"list": [1]}, False),
        ({"list": [{"a": 2}, 1]}, False),
        ({"list": 1}, False),
        ({"n": {"$eq": 5}}, True),
        ({"deep": {"$eq": {"a": 1}}}, True),
        ({"n": {"$ne": 5}}, False),
        ({"n": {"$ne": 6}}, True),
        ({"missing": {"$ne": 6}}, True),
        ({"missing": {"$ne": None}}, False),
        ({"n": {"$gt": 4}}, True),
        ({"n": {"$gt": 5}}, False),
        ({"n": {"$gte": 5}}, True),
        ({"n": {"$lt": 10}}, True),  # as numbers: as text, 5 is beyond 10
        ({"n": {"$lte": 4.9}}, False),
        ({"n": {"$gt": 4, "$lt": 6}}, True),
        ({"n": {"$gt": 4, "$lt": 5}}, False),
        ({"f": {"$gt": 5}}, True),
        ({"t": {"$gt": "tex"}}, True),
        ({"t": {"$lt": "tex"}}, False),
        # What cannot be compared is neither greater nor less.
        ({"t": {"$gt": 1}}, False),
        ({"t": {"$lt": 1}}, False),
        ({"n": {"$gt": "4"}}, False),
        ({"missing": {"$lt": 1}}, False),
        ({"missing": {"$gte": None}}, False),
        ({"none": {"$lt": 1}}, False),
        ({"list": {"$gt": [0]}}, False),
        ({"deep": {"$gt": {}}}, False),
    ],
)
def test_what_matches(wanted, matches):
    assert matcher(wanted)(VALUE) is matches


@pytest.mark.parametrize("wanted", [None, {}])
def test_no_filter_is_none(wanted):
    assert matcher(wanted) is None


@pytest.mark.parametrize(
    "wanted",
    [{"n": {"$in": [5]}}, {"n": {"$gt": 1, "other": 2}}, {"n": {"$": 1}},
     {"n": 5, "t": {"$regex": "x"}}],
)  # fmt: skip
def test_an_unknown_operator_is_named_before_anything_is_read(wanted):
    with pytest.raises(ValueError, match="Unsupported operator"):
        matcher(wanted)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "a", "1"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from("ab"), inner, max_size=2)
    ),
    max_leaves=5,
)
FIELDS = st.dictionaries(st.sampled_from("xyz"), JSON, max_size=3)


@settings(max_examples=300, deadline=None)
@given(value=FIELDS, wanted=FIELDS)
def test_equality_is_that_of_the_memory_store(value, wanted):
    store = InMemoryStore()
    store.put(("n",), "k", value)
    test = matcher(wanted)
    held = test is None or test(value)
    assert held == bool(store.search(("n",), filter=wanted))


NUMBERS = st.integers(-5, 5) | st.floats(-5, 5)


@settings(max_examples=300, deadline=None)
@given(
    held=NUMBERS,
    operand=NUMBERS,
    operator=st.sampled_from(["$eq", "$ne", "$gt", "$gte", "$lt", "$lte"]),
)
def test_numbers_compare_as_in_the_memory_store(held, operand, operator):
    store = InMemoryStore()
    store.put(("n",), "k", {"x": held})
    wanted = {"x": {operator: operand}}
    assert matcher(wanted)({"x": held}) == bool(store.search(("n",), filter=wanted))
