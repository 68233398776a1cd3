"""Files that are no pickles, or broken ones: what Python says of them is said."""

from __future__ import annotations

import io
import pickle

import old_pickles
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdover.compat import (
    ChatMessageHistory,
    CombinedMemory,
    ConversationBufferMemory,
    ConversationEntityMemory,
    FileChatMessageHistory,
    InMemoryEntityStore,
    RedisChatMessageHistory,
    RedisEntityStore,
    SimpleMemory,
    SQLiteEntityStore,
    shim,
)
from holdover.compat.old_states import UnreadableState
from holdover.compat.placeholders import reading

#: What `pickle.load` raises of such files, as its documentation says.
RAISED = (
    pickle.UnpicklingError, EOFError, ImportError, IndexError, AttributeError,
    ValueError, TypeError, KeyError, OverflowError, MemoryError,
)  # fmt: skip
ONE_EACH = sorted({old.name: old for old in old_pickles.PICKLES}.values(), key=str)


def outcome(load, data):
    try:
        return type(load(io.BytesIO(data)))
    except RAISED as error:
        return type(error), str(error)


@pytest.mark.parametrize(
    "data",
    [b"", b"not a pickle", b"\x80", b"\x80\x09.", b"\x80\xff", b".", b"(", b"R.",
     b"\x80\x04\x95\xff\xff\xff\xff\xff\xff\xff\x7f", b"\x8c\xff", b"0", b"P1\n.",
     b'{"json": true}', b"\x00" * 100, b"h\x05.", b"\x82\x01."],
)  # fmt: skip
def test_what_is_no_pickle_is_refused_as_pickle_refuses_it(data):
    refused = outcome(shim.load, data)

    assert refused == outcome(pickle.load, data)
    assert isinstance(refused, tuple)


@pytest.mark.parametrize("old", ONE_EACH, ids=str)
def test_a_file_that_was_cut_is_refused(old):
    data = old.path.read_bytes()

    for length in {*range(0, len(data) - 1, max(1, len(data) // 40)), len(data) - 1}:
        with pytest.raises((EOFError, pickle.UnpicklingError)):
            shim.load(io.BytesIO(data[:length]))


@given(st.binary(max_size=40))
def test_random_bytes_are_refused_or_read_as_by_pickle(data):
    data = bytes(one for one in data if one not in b"ciRob\x81\x92\x93\x94")
    assert outcome(shim.load, data) == outcome(pickle.load, data)


@pytest.mark.parametrize(
    ("kind", "fields", "said"),
    [
        (ConversationBufferMemory, {"return_messages": "perhaps"}, "return_messages"),
        (ConversationBufferMemory, {"chat_memory": 5}, "chat_memory"),
        (ConversationBufferMemory, {"buffer": [5]}, "int"),
        (ConversationBufferMemory, {"buffer": 5}, "int"),
        (ConversationEntityMemory, {"memory_key": "x"}, "llm: Field required"),
    ],
)
@pytest.mark.parametrize("load", [shim.loads, pickle.loads])
def test_a_state_that_our_class_cannot_hold_is_refused_in_one_sentence(
    load, kind, fields, said
):
    with pytest.raises(UnreadableState) as refused:
        load(pickle.dumps(_Restated(kind, {**fields, "memory_key": "a secret"})))

    message = str(refused.value)
    assert isinstance(refused.value, pickle.UnpicklingError)
    assert message.startswith(
        f"A {kind.__name__} of today cannot hold what was pickled:"
    )
    assert said in message
    assert "secret" not in message
    assert "\n" not in message


KINDS = [
    ConversationBufferMemory, ConversationEntityMemory, SimpleMemory, CombinedMemory,
    InMemoryEntityStore, SQLiteEntityStore, RedisEntityStore, FileChatMessageHistory,
    RedisChatMessageHistory, ChatMessageHistory,
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("load", [shim.loads, pickle.loads])
@pytest.mark.parametrize(
    "state", [5, "text", b"", [1], (), (1, 2), ("a",), {1}, 1.5, True]
)
def test_a_state_that_is_no_mapping_is_refused(kind, load, state):
    with pytest.raises(UnreadableState, match="not a mapping") as refused:
        load(pickle.dumps(_State(kind, state)))

    assert str(refused.value).startswith(f"A {kind.__name__} of today cannot hold")
    assert type(state).__name__ in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("kind", KINDS)
def test_neither_is_none_a_state(kind):
    with pytest.raises(UnreadableState, match="NoneType, not a mapping"):
        kind.__new__(kind).__setstate__(None)


@pytest.mark.parametrize("kind", [ConversationBufferMemory, InMemoryEntityStore])
@pytest.mark.parametrize("load", [shim.loads, pickle.loads])
@pytest.mark.parametrize(
    "part",
    ["__pydantic_extra__", "__pydantic_private__", "__private_attribute_values__"],
)
@pytest.mark.parametrize("value", [5, "text", [1], ("_place",), {"_place"}])
def test_parts_of_a_state_that_are_no_mappings_are_refused(kind, load, part, value):
    state = {"__dict__": {}, "__fields_set__": set(), part: value}

    with pytest.raises(UnreadableState, match="not a mapping"):
        load(pickle.dumps(_State(kind, state)))


class _State:
    def __init__(self, kind, state):
        self.made = (object.__new__, (kind,), state)

    def __reduce_ex__(self, protocol):
        return self.made


class _Restated:
    def __init__(self, kind, fields):
        self.made = (object.__new__, (kind,), {"__dict__": fields})

    def __reduce_ex__(self, protocol):
        return self.made


def test_after_a_broken_file_placeholders_are_as_inert_as_before():
    with pytest.raises((EOFError, pickle.UnpicklingError)):
        shim.loads(old_pickles.PICKLES[0].path.read_bytes()[:-1])
    made = shim.loads(b"cnowhere_at_all\nThing\n.")

    with pytest.raises(TypeError):
        made()
    with reading():
        assert made() is not None


def test_what_the_pickle_runs_is_run(tmp_path):
    """It is pickle, and no safer; the documentation says so."""
    path = tmp_path / "made"
    data = b"cos\nmkdir\n(X" + len(str(path)).to_bytes(4, "little")

    shim.loads(data + str(path).encode() + b"tR.")

    assert path.is_dir()
    assert "runs whatever the pickle says" in shim.load.__doc__
