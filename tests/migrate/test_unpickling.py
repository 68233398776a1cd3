"""Pickles are read without a class, and without running anything."""

from __future__ import annotations

import builtins
import collections
import copyreg
import datetime as dt
import decimal
import enum
import io
import os
import pathlib
import pickle
import pickletools
import struct
import subprocess
import sys
import tracemalloc
import uuid
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from old_pickles import PICKLES
from sampling import EVERYTHING

from holdover.migrate.errors import MigrateError, PickleTooLarge, UnreadablePickle
from holdover.migrate.pickled import Name, Placeholder
from holdover.migrate.pickled_plain import Allowance, TooLarge, plain
from holdover.migrate.unpickling import Limits, load, load_all

PROTOCOLS = range(pickle.HIGHEST_PROTOCOL + 1)
SMALL = Limits(size=1 << 20, memory=2 << 20)


class Colour(enum.Enum):
    RED = "red"


class Made:
    """An object of the usual kind."""


class Slotted:
    __slots__ = ("__dict__", "a")


class Listed(list):
    pass


class Mapped(dict):
    pass


def copied(value):
    return plain(value, Allowance(1 << 30))


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_plain_values_are_what_they_were(protocol):
    shared = ["shared"]
    value = [
        None, True, False, 0, -1, 255, 256, 65_536, 2**31, -(2**31), 2**70, -(2**2_000),
        1.5, float("inf"), "", "text", "é🎉\n'\"\\", "\ud800", "x" * 300, "y" * 70_000,
        b"", b"bytes\xff", b"z" * 70_000, bytearray(b"array"), (), (1,), (1, 2),
        (1, 2, 3), (1, 2, 3, 4), [], [[]], {}, {"a": {"b": [1]}}, {1, "one"}, set(),
        frozenset({1, "one"}), frozenset(), shared, shared,
        {None: 1, True: 2, 2.5: 3, b"k": 4, -7: 5},
    ]  # fmt: skip
    found = load(pickle.dumps(value, protocol))
    assert found == value
    assert list(map(type, found)) == list(map(type, value))
    assert found[-3] is found[-2]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_common_values_of_the_standard_library_are_read(protocol):
    zone = dt.timezone(dt.timedelta(hours=2))
    value = {
        "ordered": collections.OrderedDict(a=1, b=2),
        "default": collections.defaultdict(list, a=[1]),
        "counter": collections.Counter("aab"),
        "queue": collections.deque([1, 2], maxlen=5),
        "moment": dt.datetime(2024, 2, 29, 12, 30, 1, 5, zone),
        "naive": dt.datetime(2024, 2, 29),
        "day": dt.date(2024, 2, 29),
        "hour": dt.time(12, 30),
        "span": dt.timedelta(1, 2, 3),
        "price": decimal.Decimal("1.50"),
    }
    found = load(pickle.dumps(value, protocol))
    expected = {**value, "queue": [1, 2]}
    assert found == expected
    assert list(found["ordered"]) == ["a", "b"]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_objects_are_placeholders_with_all_that_was_pickled(protocol):
    slotted = Slotted() if protocol > 1 else Made()
    slotted.a, slotted.b = 1, 2
    listed, mapped = Listed([1, 2]), Mapped(a=1)
    listed.name = mapped.name = "x"
    value = [Colour.RED, slotted, listed, mapped, Colour, os.path.join]
    colour, made, items, pairs, kind, function = load(pickle.dumps(value, protocol))

    assert (colour.module, colour.name, colour.args) == (__name__, "Colour", ("red",))
    assert made.name == type(slotted).__name__
    assert made.fields == {"a": 1, "b": 2}
    assert (made.get("a"), made.get("b"), made.get("c", 3)) == (1, 2, 3)
    assert list(items.items) == [1, 2]
    assert list(pairs.pairs) == [("a", 1)]
    assert items.get("name") == pairs.get("name") == "x"
    assert isinstance(kind, Name)
    assert (kind.module, kind.name) == (__name__, "Colour")
    assert function.name == "join"
    assert copied([colour, made, items.get("name")]) == ["red", {"a": 1, "b": 2}, "x"]


def test_what_is_made_of_one_plain_value_is_that():
    key = uuid.UUID("12345678123456781234567812345678")
    value = [key, pathlib.PurePosixPath("/a/b"), pathlib.PurePosixPath("c/d")]
    assert copied(load(pickle.dumps(value))) == [str(key), "/a/b", "c/d"]


@pytest.mark.parametrize("old", PICKLES, ids=str)
def test_pickles_of_every_release_are_read(old):
    with old.path.open("rb") as file:
        found = load(file)
    assert isinstance(found, Placeholder)
    assert found.module.startswith("langchain")
    assert found.fields.keys() == old.rest_of_the_file().fields.keys()


class Runs:
    """Pickled as a call of whatever it is given."""

    def __init__(self, function, *arguments):
        self.reduced = (function, arguments)

    def __reduce__(self):
        return self.reduced


def hostile(tmp_path):
    """Pickles that would write a file, import a module or end the process."""
    made = tmp_path / "made"
    command = f"touch {made}"
    yield "system", pickle.dumps(Runs(os.system, command))
    yield "eval", pickle.dumps(Runs(builtins.eval, f"open({str(made)!r}, 'w')"))
    yield (
        "exec",
        pickle.dumps({"a": [Runs(builtins.exec, f"open({str(made)!r}, 'w')")]}),
    )
    yield "open", pickle.dumps(Runs(builtins.open, str(made), "w"))
    yield "popen", pickle.dumps(Runs(subprocess.Popen, ["touch", str(made)]))
    yield "exit", pickle.dumps(Runs(os._exit, 3))
    yield "import", pickle.dumps(Runs(builtins.__import__, "antigravity"))
    yield "map", pickle.dumps(Runs(list, Runs(map, os.system, [command])))
    yield "getattr", b"cbuiltins\ngetattr\n(cbuiltins\n__import__\nVcall\ntR(Vos\ntR."
    yield "inst", b"(S'" + command.encode() + b"'\nios\nsystem\n."
    yield (
        "obj",
        b"(cos\nsystem\nX"
        + struct.pack("<I", len(command))
        + (command.encode() + b"o."),
    )
    yield "global", b"cthis\nd\n."
    yield "global in a package", b"\x80\x04\x8c\x0cxml.sax.saxutils\x8c\x01x\x93."
    yield "new", b"\x80\x02cthis\nd\n)\x81."
    yield (
        "build",
        b"\x80\x02cthis\nd\n)\x81}X\x0c\x00\x00\x00__setstate__cos\nsystem\nsb.",
    )
    yield "extension", b"\x80\x02\x82\x01."
    yield "persistent", b"\x80\x02Pos.system\n."


def test_nothing_runs_and_nothing_is_imported(tmp_path):
    before = set(sys.modules)
    registry = dict(copyreg._extension_registry)
    for name, raw in hostile(tmp_path):
        try:
            copied(load(raw, SMALL))
        except UnreadablePickle:
            assert name == "global in a package"
    made = tmp_path / "made"
    assert not made.exists()
    assert set(sys.modules) == before
    assert registry == copyreg._extension_registry
    # They are what they are taken for.
    for name, raw in hostile(tmp_path):
        if name in ("system", "eval", "exec", "open"):
            pickle.loads(raw)
            assert made.exists()
            made.unlink()


@pytest.mark.parametrize("old", PICKLES[:60:7], ids=str)
def test_no_class_of_an_old_pickle_is_imported(old):
    code = (
        "import sys; from holdover.migrate.unpickling import load\n"
        "before = set(sys.modules)\n"
        "load(open(sys.argv[1], 'rb'))\n"
        "print(sorted(set(sys.modules) - before))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(old.path)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.strip() == "[]"


def test_what_a_placeholder_stands_for_cannot_be_called():
    found = load(pickle.dumps(Runs(os.system, "true")))
    assert (found.module, found.name) in (("posix", "system"), ("nt", "system"))
    assert found.args == ("true",)
    assert not callable(found)
    assert "true" not in repr(found)


def test_what_is_not_in_the_pickle_has_a_placeholder():
    assert load(b"\x80\x02Pa text\n.").args == ("a text",)
    assert load(b"\x80\x02K\x05Q.").args == (5,)
    buffered = pickle.dumps(
        pickle.PickleBuffer(b"x" * 100), 5, buffer_callback=lambda _: False
    )
    assert load(buffered).name == "out-of-band buffer"
    assert load(b"\x80\x02\x84\x01\x00\x00\x00.").name == "extension 1"


def test_several_pickles_in_one_file_are_read_one_after_the_other():
    file = io.BytesIO(
        pickle.dumps([1]) + pickle.dumps({"a": 2}, 0) + pickle.dumps(None)
    )
    assert list(load_all(file)) == [[1], {"a": 2}, None]


# Bombs: each is small, and says a lot.


def memoised(step, times, start=b"]"):
    return b"\x80\x04" + start + b"\x94" + step * times + b"."


BOMBS = {
    "sets": b"\x80\x04(" + b"\x8f" * 100_000 + b"l.",
    "dicts": b"\x80\x04(" + b"}" * 200_000 + b"l.",
    "marks": b"\x80\x04" + b"(" * 100_000 + b"N.",
    "memo": b"\x80\x04N" + b"\x94" * 100_000 + b".",
    "memo far away": b"\x80\x02N" + b"".join(
        b"r" + struct.pack("<I", 2**32 - 1 - at) for at in range(50_000)
    ) + b".",
    "copies": (
        b"\x80\x02(" + b"K\x01" * 10_000 + b"l\x94\x85\x940"
        + b"c__builtin__\nset\n\x94h\x01R0" + b"h\x02h\x01R0" * 10_000 + b"N."
    ),
    "copied mappings": (
        b"\x80\x04}\x94(" + b"".join(
            b"M" + struct.pack("<H", at) + b"N" for at in range(10_000)
        ) + b"u\x85\x940ccollections\nCounter\n\x940"
        + b"h\x02h\x01R0" * 10_000 + b"N."
    ),
    "names": b"\x80\x02" + b"".join(
        b"cm%d\nn\n0" % at for at in range(20_000)
    ) + b"N.",
    "joined names": (
        b"\x80\x02cbuiltins\ngetattr\nq\x00cm\nn\nX"
        + struct.pack("<I", 100_000) + b"x" * 100_000 + b"q\x01\x86R"
        + b"q\x02h\x00h\x02h\x01\x86R" * 5_000 + b"."
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_refused_before_it_takes_much_memory(name):
    tracemalloc.start()
    try:
        with pytest.raises(PickleTooLarge) as raised:
            load(BOMBS[name], SMALL)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 4 * SMALL.memory
    assert isinstance(raised.value, MigrateError)


LIES = {
    "bytes": b"\x80\x04\x8e" + struct.pack("<Q", 2**62) + b"x.",
    "bytes of all": b"\x80\x04\x8e" + struct.pack("<Q", 2**64 - 1) + b"x.",
    "text": b"\x80\x04\x8d" + struct.pack("<Q", 2**40) + b"x.",
    "short text": b"\x80\x02X" + struct.pack("<I", 2**32 - 1) + b"x.",
    "array": b"\x80\x05\x96" + struct.pack("<Q", 2**50) + b"x.",
    "number": b"\x80\x02\x8b" + struct.pack("<i", 2**31 - 1) + b"x.",
    "negative": b"\x80\x02\x8b" + struct.pack("<i", -5) + b"x.",
    "old text": b"T" + struct.pack("<i", -5) + b"x.",
    "frame": b"\x80\x04\x95" + struct.pack("<Q", 2**60) + b"N.",
    "no line": b"Iaaaa",
    "no end": b"\x80\x04]",
    "nothing": b"",
    "no memo": b"\x80\x02h\x05.",
    "nothing to pop": b"\x80\x020.",
    "nothing to build": b"\x80\x02b.",
    "no mark": b"\x80\x02t.",
    "no opcode": b"\x80\x02\xff.",
    "a newer protocol": b"\x80\x09N.",
    "a call of a text": b"\x80\x02U\x01x)R.",
    "items into a text": b"\x80\x02U\x01xNa.",
    "half a pair": b"\x80\x02}(Nu.",
    "too many digits": b"L" + b"9" * 5_000 + b"L\n.",
    "a bad text": b"\x80\x02X\x01\x00\x00\x00\xff.",
    "a negative place": b"Np-1\n.",
}


@pytest.mark.parametrize("name", LIES)
def test_a_lie_is_an_error_with_its_place(name):
    with pytest.raises(UnreadablePickle) as raised:
        load(LIES[name], SMALL)
    assert 0 <= raised.value.at <= len(LIES[name])
    assert "\n" not in str(raised.value)


def test_a_file_that_is_too_large_is_not_read():
    with pytest.raises(PickleTooLarge):
        load(io.BytesIO(pickle.dumps("x" * 1_000)), Limits(size=1_000))


@pytest.mark.parametrize(
    "step", [b"\x85", b"\x86", b"\x87", b"h\x00\x86\x94"], ids=["1", "2", "3", "memo"]
)
def test_depth_costs_nothing(step):
    fill = b"N" * 3 if step in (b"\x86", b"\x87") else b""
    raw = b"\x80\x04N\x94" + (fill[: step[0] - 0x85] + step) * 50_000 + b"."
    found = load(raw)
    with pytest.raises(TooLarge):
        copied(found)
    del found


def twice(kind):
    """Sixty values, each of which holds the one before it twice."""
    value = Made() if kind is Made else kind()
    for _ in range(60):
        inner = value
        if kind is Made:
            value = Made()
            value.one = value.other = inner
        elif kind is dict:
            value = {"one": inner, "other": inner}
        else:
            value = kind((inner, inner))
    return value


@pytest.mark.parametrize("kind", [tuple, list, dict, Made])
def test_what_is_said_sixty_times_in_itself_is_not_copied(kind):
    raw = pickle.dumps(twice(kind))
    assert len(raw) < 5_000
    with pytest.raises(TooLarge):
        plain(load(raw), Allowance(1 << 20))


def test_a_key_that_is_hard_to_hash_is_a_key_of_its_own():
    # A mapping with a tuple whose hash is that of 2**60 others.
    key = pickle.dumps(twice(tuple), 2)[2:-1]
    found = load(b"\x80\x02}(" + key + b"K\x01U\x01aK\x02u.")
    assert found.pop("a") == 2
    ((key, one),) = found.items()
    assert one == 1
    assert isinstance(key, Placeholder)
    numbers = [step * sys.hash_info.modulus for step in range(1, 50)]
    assert len(set(map(hash, numbers))) == 1
    found = load(
        pickle.dumps({"keys": set(numbers), **dict.fromkeys(map(str, numbers))})
    )
    assert len(found["keys"]) == 49
    assert all(isinstance(key, Placeholder) for key in found["keys"])


def test_what_holds_itself_is_read():
    listed = []
    listed.append(listed)
    mapped = {}
    mapped["self"] = (mapped,)
    made = Slotted()
    made.own = made
    found = load(pickle.dumps([listed, mapped, made]))
    assert found[0][0] is found[0]
    assert found[1]["self"][0] is found[1]
    assert found[2].get("own") is found[2]
    with pytest.raises(TooLarge):
        copied(found)


SAMPLE = next(one for one in PICKLES if str(one).endswith("1.0.8-entity")).path


def test_a_pickle_that_ends_anywhere_is_an_error():
    raw = SAMPLE.read_bytes()
    for end in range(0, len(raw), 1 if EVERYTHING else 7):
        with pytest.raises(UnreadablePickle):
            load(raw[:end], SMALL)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_flipped_bits_are_an_error_or_another_value(data):
    raw = bytearray(SAMPLE.read_bytes())
    for _ in range(data.draw(st.integers(1, 8))):
        at = data.draw(st.integers(0, len(raw) - 1))
        raw[at] ^= 1 << data.draw(st.integers(0, 7))
    with suppress(UnreadablePickle, TooLarge):
        copied(load(bytes(raw), SMALL))


_OPCODES = bytes(ord(opcode.code) for opcode in pickletools.opcodes)


@settings(max_examples=2_000 if EVERYTHING else 200, deadline=None)
@given(st.lists(st.sampled_from(_OPCODES), max_size=40), st.binary(max_size=40))
def test_any_program_is_an_error_or_a_value(opcodes, tail):
    with suppress(UnreadablePickle, TooLarge):
        copied(load(bytes(opcodes) + tail + b".", SMALL))


@settings(max_examples=100, deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text() | st.binary()
        | st.floats(allow_nan=False),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
        | st.tuples(inner, inner),
        max_leaves=30,
    ),
    st.sampled_from(PROTOCOLS),
)  # fmt: skip
def test_any_plain_value_comes_back(value, protocol):
    assert load(pickle.dumps(value, protocol)) == value
