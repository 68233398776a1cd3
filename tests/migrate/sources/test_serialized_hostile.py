"""Serialized files that are broken, or made to do harm."""

from __future__ import annotations

import json
import struct
import tracemalloc
from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pickling import buffer, dumps, message, old
from sampling import EVERYTHING, sampled
from serialized import FILES

from holdover.migrate.sources import open_source, serialized_items, serialized_reading
from holdover.migrate.sources.base import ALL_KINDS, ReadOptions

OPTIONS = ReadOptions(kinds=ALL_KINDS, roles="alternate")
SMALL = 1 << 20
SECRET = "a-secret-that-is-content"


def read(path, options=OPTIONS):
    """Counts of what a source gives; every detail of its rejects."""
    opened = open_source(str(path), options)
    kinds, details = Counter(), []
    for partition in opened.partitions():
        for batch in opened.read(partition):
            kinds.update(item.kind for item in batch.items)
            details += batch.rejects
            kinds["skipped"] += sum(batch.skipped.values())
    opened.close()
    return kinds, details


@pytest.fixture
def peak():
    """How much memory what was done so far took at most."""
    tracemalloc.start()
    yield lambda: tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()


@pytest.fixture
def small(monkeypatch):
    """Limits that a test can reach."""
    monkeypatch.setattr(serialized_items, "_ALLOWANCE", SMALL)
    monkeypatch.setattr(serialized_reading, "_MEMORY", SMALL)


def repeated(make, times):
    value = make(None, None)
    for _ in range(times):
        value = make(value, value)
    return value


MESSAGE = message("HumanMessage", "x" * 50_000)
EDGES = {str(at): {"relation": "knows"} for at in range(1_000)}
BOMBS = {
    "one message many times": [MESSAGE] * 10_000,
    "one content many times": [message("HumanMessage", MESSAGE.fields["content"])
                               for _ in range(2_000)],
    "a message in itself": repeated(
        lambda one, other: message("AIMessage", "", one=one, other=other), 60
    ),
    "lists in lists": [message("HumanMessage", repeated(lambda a, b: [a, b], 60))] * 3,
    "memories in memories": repeated(
        lambda one, other: old("x.CombinedMemory", memories=[one, other]), 60
    ),
    "sessions in sessions": repeated(lambda a, b: {"a": a, "b": b}, 50),
    "one mapping of edges": old("x.NetworkxEntityGraph", _graph=old(
        "networkx.DiGraph", _adj=dict.fromkeys(
            map(str, range(1_000)), EDGES
        ),
    )),
    "one summary": old("x.InMemoryEntityStore", store=dict.fromkeys(
        map(str, range(10_000)), "x" * 10_000
    )),
    "one text": old("x.ConversationBufferMemory", buffer=["\nHuman: " + "x" * 50_000]
                    * 10_000, memory_key="h"),
    "many states of one": [old("x.Any", **{str(at): at for at in range(500)})] * 9,
}  # fmt: skip


@pytest.mark.parametrize("name", BOMBS)
def test_a_small_pickle_does_not_become_a_large_one(name, tmp_path, small, peak):
    raw = dumps(BOMBS[name])
    path = tmp_path / "old.pkl"
    path.write_bytes(raw)
    before = peak()
    kinds, rejects = read(path)
    assert peak() - before < 40 * SMALL + 30 * len(raw)
    assert {reject.reason for reject in rejects} <= {
        "too-large", "no-memory", "too-deep",
    }  # fmt: skip
    assert kinds.total() + len(rejects) > 0


def test_placeholders_that_share_a_large_state_are_gone_through_once(tmp_path):
    # `NEWOBJ` and `BUILD` with one state of 10,000 fields, 20,000 times.
    fields = b"".join(b"X\x05\x00\x00\x00%05dN" % at for at in range(10_000))
    raw = b"\x80\x02}q\x00(" + fields + b"u0ca\nB\nq\x01(" + (
        b"h\x01)\x81h\x00b" * 20_000
    ) + b"l."  # fmt: skip
    path = tmp_path / "old.pkl"
    path.write_bytes(raw)
    _, (reject,) = read(path)
    assert reject.reason == "no-memory"


JSON_BOMBS = {
    "lists": b'{"a":[' + b"[]," * 60_000 + b"[]]}",
    "objects": b'{"a":[' + b"{}," * 60_000 + b"{}]}",
    "texts": b'{"a":[' + b'"",' * 60_000 + b'""]}',
    "deep": b'{"messages":' + b"[" * 200_000 + b"]" * 200_000 + b"}",
    "deep objects": b'{"messages":' * 50_000 + b"1" + b"}" * 50_000,
    "a long number": b'{"messages":' + b"9" * 10_000 + b"}",
    "not closed": b'{"messages":[{"type":"human","content":"x"',
    "no text": b'{"messages":\xff\xfe}',
    "a NUL": b'{"messages":\x00}',
    "half a pair": b'{"messages":[{"type":"human","content":"\\ud800"}]}',
}


@pytest.mark.parametrize("name", JSON_BOMBS)
def test_json_that_is_no_memory_or_too_much(name, tmp_path, small, peak):
    path = tmp_path / "old.json"
    path.write_bytes(JSON_BOMBS[name])
    before = peak()
    kinds, rejects = read(path)
    assert peak() - before < 16 * SMALL
    reasons = {reject.reason for reject in rejects}
    if name == "half a pair":
        assert kinds["message"] == 1
    else:
        assert kinds.total() == 0
        assert reasons <= {
            "too-large", "too-deep", "not-json", "no-memory", "not-utf8",
            "not-a-message", "damaged", "truncated",
        }  # fmt: skip
        assert reasons


def test_a_message_that_is_too_deep_is_one_reject(tmp_path):
    deep = json.loads("[" * 90 + "]" * 90)
    held = [
        {"type": "human", "content": [deep], "additional_kwargs": {}},
        {"type": "human", "data": {"content": [deep]}},
        {"type": "human", "content": "well", "additional_kwargs": {}},
    ]
    path = tmp_path / "old.json"
    path.write_text(json.dumps({"messages": held}))
    kinds, rejects = read(path)
    assert kinds["message"] == 1
    assert [reject.reason for reject in rejects] == ["too-large", "too-large"]


PICKLED = [file for file in FILES if file.form == ".pkl"]
TEXTS = [file for file in FILES if file.form in (".json", ".gml", ".lcdumps.json")]


@pytest.mark.parametrize(
    "file",
    sampled(PICKLED[::25], [f for f in PICKLED if f not in PICKLED[::25]]),
    ids=str,
)
def test_a_file_that_was_cut_off_gives_what_it_can(file, tmp_path):
    raw = file.path.read_bytes()
    path = tmp_path / file.path.name
    for end in range(0, len(raw), 97):
        path.write_bytes(raw[:end])
        _, rejects = read(path)
        assert rejects


@settings(
    max_examples=500 if EVERYTHING else 60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(file=st.sampled_from(FILES), data=st.data())
def test_flipped_bits_never_crash(file, data, tmp_path):
    raw = bytearray(file.path.read_bytes())
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(raw) - 1))
        raw[at] ^= 1 << data.draw(st.integers(0, 7))
    path = tmp_path / file.path.name
    path.write_bytes(bytes(raw))
    opened = open_source(str(path), OPTIONS)
    for partition in opened.partitions():
        for batch in opened.read(partition):
            for item in batch.items:
                json.dumps(item.content)
                assert item.kind in ("message", "entity", "summary", "triple", "turn")
    opened.close()


@settings(
    max_examples=500 if EVERYTHING else 60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    held=st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=3),
        lambda inner: st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["chat_memory", "messages", "buffer", "memory", "memories", "store",
                 "entity_store", "kg", "moving_summary_buffer", "content", "type",
                 "data", "lc", "id", "kwargs", "additional_kwargs", "memory_key",
                 "prompt", "role", "_graph", "_adj"]
            ),
            inner,
        ),
        max_leaves=25,
    )
)  # fmt: skip
def test_fields_of_any_shape_never_crash(held, tmp_path):
    path = tmp_path / "old.json"
    path.write_text(json.dumps({"memory": held}))
    read(path)
    path = tmp_path / "old.pkl"
    path.write_bytes(dumps(old("x.Memory", memory=held, **(
        held if isinstance(held, dict) and "memory" not in held else {}
    ))))  # fmt: skip
    read(path)


def test_rejects_and_notes_hold_no_content(tmp_path):
    held = {
        "messages": [
            {"content": SECRET, "additional_kwargs": {}}, {"type": SECRET}, SECRET,
        ],
        "entity_store": {"store": {SECRET: [SECRET]}},
    }  # fmt: skip
    options = ReadOptions(kinds=ALL_KINDS)
    for name, raw in (
        ("a.json", json.dumps(held).encode()),
        ("b.json", json.dumps(held).encode()[:-9]),
        ("c.pkl", dumps(buffer(SECRET))[:-20]),
        ("d.gml", f'graph [ node [ id 0 label "{SECRET}" ] edge ['.encode()),
        ("e.gml", f'graph [ edge [ source 0 relation "{SECRET}" ] {SECRET}'.encode()),
        ("f.pkl", b"\x80\x04X" + struct.pack("<I", 99) + SECRET.encode()),
    ):
        path = tmp_path / name
        path.write_bytes(raw)
        _, rejects = read(path, options)
        assert rejects
        told = [*rejects, *open_source(str(path), options).inventory().notes]
        assert SECRET not in str(told)
