"""Any history is read to the end of what is needed; ours no further."""

import asyncio

import kinds_of_history
import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

from holdover.compat.both_ways import arun, run
from holdover.compat.transcript import START, Cursor, beyond, everything, tail


def lines(number, start=0):
    return [HumanMessage(f"m{n}") for n in range(start, start + number)]


def texts(messages):
    return [message.content for message in messages]


@pytest.fixture(params=kinds_of_history.KINDS)
def history(request):
    return kinds_of_history.KINDS[request.param]()


@pytest.fixture(params=[run, lambda operation: asyncio.run(arun(operation))])
def drive(request):
    return request.param


def test_everything_is_a_list_of_its_own(history, drive):
    history.add_messages(lines(3))

    drive(everything(history)).clear()

    assert texts(drive(everything(history))) == ["m0", "m1", "m2"]


def test_a_cursor_covers_what_was_read(history, drive):
    history.add_messages(lines(5))
    entries = drive(beyond(history, START))
    cursor = entries[2].cursor
    history.add_messages(lines(2, 5))

    rest = drive(beyond(history, cursor))

    assert cursor.count == 3
    assert texts(e.message for e in rest) == ["m3", "m4", "m5", "m6"]
    assert [e.cursor.count for e in rest] == [4, 5, 6, 7]
    assert texts(drive(tail(history, lambda read: False, beyond=cursor))) == texts(
        e.message for e in rest
    )


def test_a_cursor_is_found_again_after_the_history_was_trimmed(history, drive):
    history.add_messages(lines(10))
    cursor = drive(beyond(history, START))[6].cursor
    history.messages = history.messages[4:] + lines(2, 10)

    assert texts(e.message for e in drive(beyond(history, cursor))) == [
        f"m{n}" for n in range(7, 12)
    ]


def test_where_what_it_covered_is_gone_everything_is_newer(history, drive):
    history.add_messages(lines(10))
    cursor = drive(beyond(history, START))[6].cursor
    history.clear()
    history.add_messages(lines(2, 20))

    assert texts(e.message for e in drive(beyond(history, cursor))) == ["m20", "m21"]
    assert texts(drive(tail(history, lambda read: False, beyond=cursor))) == [
        "m20",
        "m21",
    ]


def test_a_cursor_of_one_kind_of_history_is_found_in_another(drive):
    copying, stored = kinds_of_history.CopyingHistory(), kinds_of_history.stored()
    for history in (copying, stored):
        history.add_messages(lines(6))
    of_copying = drive(beyond(copying, START))[3].cursor
    of_stored = drive(beyond(stored, START))[3].cursor

    for history, cursor in ((stored, of_copying), (copying, of_stored)):
        left = texts(e.message for e in drive(beyond(history, cursor)))
        assert left == ["m4", "m5"]
        assert texts(drive(tail(history, lambda read: False, beyond=cursor))) == left


def test_a_cursor_survives_messages_that_say_the_same():
    history = kinds_of_history.CopyingHistory()
    history.add_messages([HumanMessage("ok"), AIMessage("ok")] * 5)
    cursor = run(beyond(history, START))[3].cursor

    assert len(run(beyond(history, cursor))) == 6


def counting(history):
    """Count how many messages a stored history reads."""
    read = []
    page = history.page

    def counted(**options):
        found = page(**options)
        read.append(len(found))
        return found

    history.page = counted
    return read


def test_the_newest_of_a_long_history_are_read_without_the_others():
    history = kinds_of_history.stored()
    history.add_messages([SystemMessage("brief"), *lines(5_000)])
    read = counting(history)

    messages = run(tail(history, lambda read: len(read) >= 10, opening=True))

    assert messages[-1].content == "m4999"
    assert messages[0].content == "brief"
    assert sum(read) < 50


def test_the_oldest_of_a_long_history_are_read_without_the_others():
    history = kinds_of_history.stored()
    history.add_messages(lines(5_000))
    read = counting(history)

    entries = run(beyond(history, START, lambda read: len(read) >= 10))

    assert entries[0].message.content == "m0"
    assert sum(read) <= 1_000


def test_a_history_that_works_from_async_code_alone_is_read_there():
    history = kinds_of_history.AsyncOnlyHistory()
    history.kept = lines(3)

    assert len(asyncio.run(arun(everything(history)))) == 3
    with pytest.raises(NotImplementedError, match="aget_messages"):
        run(everything(history))


def test_a_history_without_messages_is_empty(history, drive):
    assert drive(everything(history)) == []
    assert drive(beyond(history, Cursor(3, "x", ""))) == []
    assert drive(tail(history, lambda read: False)) == []
