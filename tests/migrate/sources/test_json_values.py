"""A large JSON file, value by value: what `json.loads` gives, in a little memory."""

from __future__ import annotations

import io
import json
import math
import tracemalloc

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from holdover.migrate.sources import json_values
from holdover.migrate.sources.json_values import BadJson, JsonValues

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters()),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=10,
)


class Dripping(io.BytesIO):
    """A file that gives a few bytes at a time."""

    def __init__(self, raw, step):
        super().__init__(raw)
        self.step = step

    def read(self, size=-1):
        return super().read(self.step)


def members(raw, step):
    return list(JsonValues(Dripping(raw, step)).members())


@given(
    st.dictionaries(st.text(max_size=8), VALUES, max_size=6),
    st.integers(1, 40),
    st.sampled_from([None, 2]),
    st.booleans(),
)
@example({"a": -1.5e300, "b": 12, "c": "\ud800"}, 1, None, True)
def test_the_same_as_at_once(value, step, indent, ascii_only):
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    raw = text.encode("utf-8", "surrogatepass")
    try:
        raw.decode()
    except UnicodeDecodeError:
        with pytest.raises(BadJson):
            members(raw, step)
        return
    assert members(raw, step) == list(value.items())


@given(
    st.dictionaries(st.text(max_size=3), st.lists(VALUES, max_size=5), max_size=4),
    st.integers(1, 40),
)
def test_the_elements_of_each_member(value, step):
    raw = json.dumps({**value, "n": 1, "last": [7]}).encode()
    for name in value.keys() - {"n", "last"}:
        found = JsonValues(Dripping(raw, step)).elements(name)
        assert list(found) == value[name]
    assert list(JsonValues(Dripping(raw, step)).elements("last")) == [7]
    assert list(JsonValues(Dripping(raw, step)).elements("missing")) == []


def test_what_only_python_writes():
    raw = b'\xef\xbb\xbf{"a": [NaN, Infinity, -Infinity], "b": "\\ud83c"}'
    (_, numbers), (_, half) = members(raw, 3)
    assert math.isnan(numbers[0])
    assert numbers[1:] == [math.inf, -math.inf]
    assert half == "\ud83c"


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"  ",
        b"[]",
        b"12",
        b"{",
        b'{"a"',
        b'{"a":',
        b'{"a": 1',
        b'{"a": 1,',
        b'{"a": 1,}',
        b'{"a": 1} x',
        b'{"a": 1}{}',
        b"{1: 2}",
        b'{"a": nope}',
        b'{"a": "x',
        b'{"a": "\xff"}',
        b'{"a": [1, 2}',
        b'{"a": ' + b"[" * 200_000,
        b'{"a": ' + b"9" * 5_000 + b"}",
        b'{"a" 1}',
    ],
)
@pytest.mark.parametrize("step", [1 << 20, 7])
def test_broken(raw, step):
    if step == 7 and len(raw) > 1_000:
        step = 4096
    with pytest.raises(BadJson):
        members(raw, step)


@given(st.binary(max_size=60), st.integers(1, 20))
@settings(max_examples=200)
def test_any_bytes(raw, step):
    whole = b'{"a": ' + raw
    try:
        expected = json.loads(whole, strict=False)
    except (ValueError, RecursionError):
        with pytest.raises(BadJson):
            members(whole, step)
    else:
        assert members(whole, step)[-1] == list(expected.items())[-1]


def test_a_broken_value_is_given_up(monkeypatch):
    """Not read to its end, which a large file may never come to."""
    monkeypatch.setattr(json_values, "_MOST", 1 << 20)
    asked = []

    class Endless(io.RawIOBase):
        def read(self, size=-1):
            asked.append(size)
            return b'{"a": "' if len(asked) == 1 else b"x" * size

    with pytest.raises(BadJson, match="too long"):
        list(JsonValues(Endless()).members())
    assert sum(asked) < 8 << 20


def test_memory_is_that_of_one_value():
    class Generated(io.RawIOBase):
        def __init__(self):
            self.parts = self.made()

        def made(self):
            yield b"{"
            for at in range(50_000):
                yield b'"%d": {"text": "%s"},\n' % (at, b"x" * 400)
            yield b'"last": 1}'

        def read(self, size=-1):
            return next(self.parts, b"")

    tracemalloc.start()
    try:
        count = sum(1 for _ in JsonValues(Generated()).members())
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert count == 50_001
    assert peak < 4 << 20
