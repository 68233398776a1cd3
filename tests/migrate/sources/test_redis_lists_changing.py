"""Lists are pushed to, trimmed and deleted while they are read."""

from __future__ import annotations

import json
import threading

import pytest
import redis
from hypothesis import given, settings
from hypothesis import strategies as st
from redis.exceptions import ResponseError
from sampling import EVERYTHING

from holdover.migrate.errors import SourceUnavailable
from holdover.migrate.sources import open_source, redis_list_reading
from holdover.migrate.sources.base import ReadOptions
from holdover.migrate.sources.batching import Pace
from holdover.migrate.sources.redis_list_reading import read_long


class Changing:
    """A list as Redis keeps it, that changes between two questions."""

    address = "redis://h"

    def __init__(self, entries, changes=()):
        self.list = list(entries)  # oldest first
        self.changes = iter(changes)
        self.asked = 0
        self.largest = 0

    def ask(self, commands):
        (_, _, start, stop), (name, _) = commands
        assert name == b"PTTL"
        change = next(self.changes, None)
        if change is not None:
            change(self)
        self.asked += 1
        newest_first = self.list[::-1]
        size = len(newest_first)
        first, last = max(0, size + int(start)), size + int(stop)
        found = newest_first[first : last + 1] if last >= 0 else []
        self.largest = max(self.largest, len(found))
        return [found, -1 if self.list else -2]


def pace(records):
    made = Pace(records)
    made.records = records
    return made


def read(wire, records=4):
    """Every entry with its position."""
    found = []
    for piece in read_long(wire, b"k", pace(records)):
        assert piece.entries
        found += enumerate(piece.entries, start=piece.position)
    return found


def named(count, prefix=b"m"):
    return [b"%b%d" % (prefix, n) for n in range(count)]


def push(count):
    def change(wire):
        at = getattr(wire, "pushed", 0)
        wire.list += named(at + count, b"new")[at:]
        wire.pushed = at + count

    return change


def trim(count):
    def change(wire):
        del wire.list[:count]

    return change


def keep(newest):
    def change(wire):
        wire.list = wire.list[-newest:] if newest else []

    return change


def renew(wire):
    wire.list = named(30, b"again%d-" % wire.asked)


def test_a_list_that_stands_still():
    wire = Changing(named(1000))
    assert read(wire, 50) == list(enumerate(named(1000)))
    assert wire.asked <= 21
    assert wire.largest <= 50 + redis_list_reading._BEHIND


@pytest.mark.parametrize("count", [0, 1, 3, 4, 5])
def test_lists_as_long_as_a_piece(count):
    assert read(Changing(named(count))) == list(enumerate(named(count)))


def test_pushes_are_at_the_other_end():
    wire = Changing(named(100), [push(3)] * 10)
    found = read(wire, 10)
    assert found[:100] == list(enumerate(named(100)))
    assert [entry for _, entry in found[100:]] == named(30, b"new")


@pytest.mark.parametrize("cut", [1, 2, 15, 16, 17, 50, 63, 64, 65, 79, 80, 81, 99])
@pytest.mark.parametrize("after", [1, 3, 8])
def test_a_trim_loses_what_it_removes_and_nothing_else(cut, after):
    wire = Changing(named(200), [None] * after + [trim(cut)])
    found = read(wire, 10)
    read_before = after * 10
    known = [one for one in found if one[1] in named(200)]
    entries = [entry for _, entry in known]
    if cut <= read_before:
        assert found == list(enumerate(named(200)))
    else:  # what was removed before it was read is gone, and the rest follows
        assert entries == named(read_before) + named(200)[cut:]
        positions = [position for position, _ in known]
        assert positions == sorted(set(positions))


def test_trims_without_end():
    wire = Changing(named(300), [None] + [trim(1)] * 200)
    found = read(wire, 10)
    assert found == list(enumerate(named(300)))
    assert wire.asked <= 32  # each trim is taken up, and not looked for again


@pytest.mark.parametrize("cut", range(65, 284, 3))
def test_what_was_read_last_is_found_again_wherever_it_is(cut):
    wire = Changing(named(400), [None] * 30 + [trim(cut)])
    assert read(wire, 10) == list(enumerate(named(400)))


@pytest.mark.parametrize("newest", [0, 1, 5, 16, 20])
def test_a_list_that_is_cut_to_its_newest(newest):
    wire = Changing(named(200), [None, None, keep(newest)])
    found = read(wire, 30)
    gone = set(named(200)[60 : 200 - newest])
    assert [e for _, e in found] == [e for e in named(200) if e not in gone]


def test_a_list_that_begins_anew_goes_on_behind():
    wire = Changing(named(100), [None, None, renew])
    found = read(wire, 20)
    assert [e for _, e in found] == named(40) + named(30, b"again2-")
    assert [p for p, _ in found] == list(range(70))


def test_entries_that_are_all_alike():
    wire = Changing([b"same"] * 500, [push(2)] * 3)
    found = read(wire, 20)
    assert [p for p, _ in found] == list(range(len(found)))
    assert [e for _, e in found][:500] == [b"same"] * 500


def test_a_key_that_becomes_something_else_ends():
    wire = Changing(named(100))
    ask = wire.ask

    def answers(commands):
        found = ask(commands)
        return found if wire.asked < 3 else [ResponseError("WRONGTYPE …"), found[1]]

    wire.ask = answers
    assert read(wire, 20) == list(enumerate(named(40)))
    wire.ask = lambda _: [ResponseError("NOPERM secret"), -1]
    with pytest.raises(SourceUnavailable) as caught:
        read(wire)
    assert "secret" not in str(caught.value)


changes = st.one_of(
    st.none(),
    st.integers(1, 9).map(push),
    st.integers(1, 40).map(trim),
    st.integers(0, 30).map(keep),
    st.just(renew),
)


@settings(max_examples=3_000 if EVERYTHING else 300, deadline=None)
@given(
    st.integers(0, 80),
    st.lists(changes, max_size=25),
    st.integers(1, 30),
    st.sampled_from([16, 20, 64]),
)
def test_whatever_happens(count, happening, records, behind):
    """Nothing that stays is missing, nothing comes twice, and the order is kept."""
    wire = Changing(named(count), happening)
    begun = set(wire.list)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(redis_list_reading, "_BEHIND", behind)
        found = read(wire, records)
    entries = [entry for _, entry in found]
    assert len(set(entries)) == len(entries)
    positions = [position for position, _ in found]
    assert positions == sorted(set(positions))
    stayed = [entry for entry in wire.list if entry in begun]
    assert [entry for entry in entries if entry in set(stayed)] == stayed
    if renew not in happening:
        original = {entry: n for n, entry in enumerate(named(count))}
        orders = [original[entry] for entry in entries if entry in original]
        assert orders == sorted(orders)
    assert wire.asked < 1_000


@pytest.mark.parametrize("trimming", [False, True])
def test_a_real_list_that_another_writes(redis_url, trimming):
    count = 6_000
    with redis.Redis.from_url(redis_url, protocol=2) as client:
        lines = [
            json.dumps({"type": "human", "data": {"content": f"m{n}"}})
            for n in range(count)
        ]
        client.lpush("message_store:s", *lines)
        options = ReadOptions(kinds=frozenset({"messages"}))
        source = open_source(redis_url, options)
        source.inventory()
        stop = threading.Event()

        def write():
            number = count
            with redis.Redis.from_url(redis_url, protocol=2) as other:
                while not stop.is_set() and number < count + 3_000:
                    other.lpush("message_store:s", lines[0].replace("m0", f"m{number}"))
                    number += 1
                    if trimming and number % 10 == 0:
                        other.ltrim("message_store:s", 0, count - 1)

        thread = threading.Thread(target=write)
        thread.start()
        try:
            found = [
                item
                for part in source.partitions()
                for batch in source.read(part, size=100)
                for item in batch.items
            ]
        finally:
            stop.set()
            thread.join()
            source.close()
        texts = [item.content["data"]["content"] for item in found]
        numbers = [int(text[1:]) for text in texts]
        assert numbers == sorted(set(numbers))
        assert numbers[-1] >= count - 1
        left = client.lrange("message_store:s", -1, -1)[0]
        oldest_left = int(json.loads(left)["data"]["content"][1:])
        assert set(range(oldest_left, count)) <= set(numbers)
        if not trimming:
            assert [item.position for item in found] == numbers
