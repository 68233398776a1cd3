"""A message as an old history wrote it: read fast, and as it would be read slowly."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdover.compat.message_records import content_of
from holdover.migrate.sources.messages import Unreadable, read_message

NAMES = st.sampled_from(["content", "example", "name", "id", "tool_calls", "a\0b", "x"])
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False)
    | st.text(st.characters(), max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(NAMES | st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(
    st.text(max_size=5),
    st.dictionaries(NAMES, JSON, max_size=6),
    st.booleans(),
    st.sampled_from([str, str.encode, lambda text: bytearray(text.encode())]),
)
def test_it_is_what_the_compatible_classes_store(kind, data, ascii_only, form):
    text = json.dumps({"type": kind, "data": data}, ensure_ascii=ascii_only)
    try:
        raw = form(text)
    except UnicodeEncodeError:  # a lone surrogate has no bytes
        raw = text
    found = read_message(raw)
    assert found == content_of(kind, json.loads(text)["data"])
    # As JSON, so that 1, 1.0 and True are told apart.
    again = content_of(kind, json.loads(text)["data"])
    assert json.dumps(found) == json.dumps(again)


@pytest.mark.parametrize("depth", [10, 29, 61, 79, 90, 300, 5_000])
def test_however_deep(depth):
    inner = "[" * depth + "1" + "]" * depth
    text = f'{{"type": "human", "data": {{"content": "", "x": {inner}}}}}'
    found = read_message(text)
    try:
        data = json.loads(text)["data"]
    except RecursionError:
        assert isinstance(found, Unreadable)
        assert found.reason in ("too-deep", "not-json")
    else:
        assert found == content_of("human", data)


REFUSED = [
    (None, "null-message"),
    ("", "not-json"),
    (b"\xff", "not-utf8"),
    ("{", "not-json"),
    ("[]", "not-a-message"),
    ("5", "not-a-message"),
    ('{"data": {}}', "not-a-message"),
    ('{"type": null, "data": {}}', "not-a-message"),
    ('{"type": "human"}', "not-a-message"),
    ('{"type": "human", "data": []}', "not-a-message"),
    (["human"], "not-a-message"),
]


@pytest.mark.parametrize(("raw", "reason"), REFUSED)
def test_what_is_no_message(raw, reason):
    found = read_message(raw)
    assert isinstance(found, Unreadable)
    assert found.reason == reason


def test_what_a_database_made_of_json_is_read_alike():
    data = {"content": "x", "big": 2**70, "none": None, "empty": []}
    found = read_message({"type": "ai", "data": data})
    assert found == {"type": "ai", "data": {"content": "x", "big": str(2**70)}}
