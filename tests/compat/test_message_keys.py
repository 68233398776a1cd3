"""Keys of messages: the order of a conversation, whatever the clock does."""

from __future__ import annotations

import pickle
import time
import uuid

import pytest
from histories import clock_at
from hypothesis import given
from hypothesis import strategies as st

from holdover.compat.message_keys import (
    MAX_POSITION,
    MessageKeys,
    adopted_key,
    is_adopted_key,
)


def test_a_key_is_a_uuid_of_version_7_with_the_time_in_it():
    before = time.time()
    (key,) = MessageKeys().make(1)
    parsed = uuid.UUID(key)
    assert (parsed.version, parsed.variant) == (7, uuid.RFC_4122)
    assert before - 0.01 <= (parsed.int >> 80) / 1000 <= time.time() + 0.01


def test_keys_of_one_call_are_adjacent_and_in_order():
    numbers = [uuid.UUID(key).int for key in MessageKeys().make(1000)]
    assert numbers == list(range(numbers[0], numbers[0] + 1000))


def test_keys_grow_from_call_to_call_also_at_one_moment(monkeypatch):
    keys = MessageKeys()
    with clock_at(monkeypatch, 1_800_000_000):
        made = [key for _ in range(1000) for key in keys.make(2)]
    assert made == sorted(set(made))


def test_a_clock_that_is_set_back_does_not_bring_a_key_back(monkeypatch):
    keys = MessageKeys()
    (first,) = keys.make(1)
    with clock_at(monkeypatch, 1_000_000_000):
        (second,) = keys.make(1)
    assert second > first


def test_a_key_that_was_read_is_before_every_key_made(monkeypatch):
    with clock_at(monkeypatch, 4_000_000_000):
        (future,) = MessageKeys().make(1)
    keys = MessageKeys()
    keys.saw(future)
    assert keys.make(1)[0] > future


def test_two_objects_that_read_the_same_key_make_different_ones(monkeypatch):
    with clock_at(monkeypatch, 4_000_000_000):
        (future,) = MessageKeys().make(1)
    objects = [MessageKeys() for _ in range(100)]
    for keys in objects:
        keys.saw(future)
    assert len({keys.make(1)[0] for keys in objects}) == 100


@pytest.mark.parametrize(
    "foreign",
    ["zzz", "", "01a22bd5-fb45-4b4f-8a52-beb8303b6c62", "x" * 36,
     "ffffffff-ffff-7fff-bfff-ffffffffffff", "gggggggg-gggg-7ggg-bggg-gggggggggggg"],
)  # fmt: skip
def test_keys_of_other_programs_change_nothing_that_matters(foreign):
    keys = MessageKeys()
    keys.saw(foreign)
    assert uuid.UUID(keys.make(1)[0]).version == 7


def test_a_pickled_object_goes_on_behind_its_last_key(monkeypatch):
    keys = MessageKeys()
    (first,) = keys.make(1)
    with clock_at(monkeypatch, 1_000_000_000):
        assert pickle.loads(pickle.dumps(keys)).make(1)[0] > first


@given(st.lists(st.integers(0, MAX_POSITION), min_size=2, unique=True))
def test_adopted_keys_are_in_the_order_of_their_positions(positions):
    made = {position: adopted_key(position) for position in positions}
    assert sorted(positions) == sorted(positions, key=made.__getitem__)
    assert len(set(made.values())) == len(positions)


def test_an_adopted_key_is_the_same_in_every_run_and_before_live_ones(monkeypatch):
    assert adopted_key(0) == "00000000-0000-8000-8000-000000000000"
    assert adopted_key(17) == "00000000-0000-8000-8044-000000000000"
    with clock_at(monkeypatch, 1_500_000_000):
        assert adopted_key(MAX_POSITION) < MessageKeys().make(1)[0]


@pytest.mark.parametrize("position", [-1, MAX_POSITION + 1])
def test_a_position_outside_is_refused(position):
    with pytest.raises(ValueError, match="position"):
        adopted_key(position)


def test_adopted_keys_are_recognised():
    assert is_adopted_key(adopted_key(5))
    assert not is_adopted_key(MessageKeys().make(1)[0])
    assert not is_adopted_key("00 a name")
