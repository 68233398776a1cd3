"""Lists that lost their old ends: every message arrives once, at its place."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdover.compat import StoreChatMessageHistory
from holdover.migrate.aligning import _shift, _Shifts
from holdover.migrate.building import RowBuilder
from holdover.migrate.options import Options
from holdover.migrate.run import migrate
from holdover.migrate.sources.base import Batch, SourceItem

words = st.lists(st.integers(), unique=True, max_size=30)


def placed(known, placed_at, contents, shift):
    """What a target holds after another pass with this shift."""
    merged = dict(known)
    for position, content in zip(placed_at, contents, strict=True):
        merged.setdefault(position + shift, content)
    return [merged[position] for position in sorted(merged)]


@given(words, st.integers(0, 30), st.integers(0, 30))
def test_a_trimmed_list_of_different_messages_is_found_again(said, seen, lost):
    """`seen` messages were moved; then it grew, and lost `lost` at its old end."""
    seen = min(seen, len(said))
    lost = min(lost, len(said) - 1) if said else 0
    now = said[lost:]
    if not now:
        return
    known = dict(enumerate(said[:seen]))

    shift = _shift(range(len(now)), now, known, whole=True)

    # What was lost before it was ever moved leaves no gap.
    gone = said[seen:lost]
    expected = [one for one in said if one not in gone]
    assert placed(known, range(len(now)), now, shift) == expected


@given(
    st.lists(st.sampled_from("ab"), max_size=12),
    st.sets(st.integers(0, 11)),
    st.lists(st.sampled_from("ab"), min_size=1, max_size=12),
    st.booleans(),
)
def test_nothing_known_is_ever_replaced(moved, deleted, now, whole):
    """Also where the same is said again and again, and some of it is gone."""
    known = {at: one for at, one in enumerate(moved) if at not in deleted}
    shift = _shift(range(len(now)), now, known, whole=whole)
    assert shift >= 0
    for at, one in enumerate(now):
        assert known.get(at + shift, one) == one


class Moved:
    """A target that holds what was moved, as far as aligning asks it."""

    def __init__(self, rows):
        self.rows = {(row.namespace, row.key): row.value for row in rows}

    def read(self, pairs):
        return [self.rows.get(pair) for pair in pairs]

    def entries(self, namespace):
        return [(key, v) for (n, key), v in self.rows.items() if n == namespace]


def items_of(sessions):
    return [
        SourceItem(
            "message", "r", session, "", {"type": "human", "data": {"content": word}},
            f"list:{session}#{at}", at,
        )
        for session, words in sessions.items()
        for at, word in enumerate(words)
    ]  # fmt: skip


said = st.lists(st.sampled_from("ab"), min_size=1, max_size=6)


@given(st.tuples(said, said, said), st.tuples(said, said, said), st.integers(1, 4))
def test_where_batches_end_makes_no_difference(moved, now, size):
    builder = RowBuilder.of(Options().prepared(), "run")
    before = items_of(dict(zip("xyz", moved, strict=True)))
    items = items_of(dict(zip("xyz", now, strict=True)))
    target = Moved(builder.rows(before)[0])

    def aligned(size):
        batches = [
            Batch(items[at : at + size], [], at) for at in range(0, len(items), size)
        ]
        found = list(_Shifts(target, builder).applied(batches))
        assert [one.cursor for one in found] == [one.cursor for one in batches]
        return [item for one in found for item in one.items]

    assert aligned(size) == aligned(len(items))


def write(path, texts):
    messages = [{"type": "human", "data": {"content": text}} for text in texts]
    path.write_text(json.dumps(messages))


def texts_in(target, session):
    history = StoreChatMessageHistory(session, target, root="message_store")
    return [message.content for message in history.messages]


@pytest.fixture
def chats(tmp_path):
    folder = tmp_path / "chats"
    folder.mkdir()
    return folder


STEPS = {
    "grew": ["a", "b", "c", "d"],
    "trimmed": ["b", "c"],
    "trimmed and grew": ["c", "d", "e"],
    "the same again behind it": ["b", "c", "a", "b", "c"],
    "lost its newest": ["a", "b"],
    "began anew": ["x", "y"],
    "began anew as before": ["a", "x"],
}
AFTER = {
    "grew": ["a", "b", "c", "d"],
    "trimmed": ["a", "b", "c"],
    "trimmed and grew": ["a", "b", "c", "d", "e"],
    "the same again behind it": ["a", "b", "c", "a", "b", "c"],
    "lost its newest": ["a", "b", "c"],
    "began anew": ["a", "b", "c", "x", "y"],
    "began anew as before": ["a", "b", "c", "a", "x"],
}


@pytest.mark.parametrize("step", STEPS)
def test_a_file_migrated_again(chats, target, step):
    write(chats / "ana.json", ["a", "b", "c"])
    write(chats / "bob.json", ["1", "2"])
    assert migrate(str(chats), target).exit_code == 0

    write(chats / "ana.json", STEPS[step])
    again = migrate(str(chats), target)

    assert again.exit_code == 0
    assert again.copy.written == len(AFTER[step]) - 3
    assert texts_in(target, "ana") == AFTER[step]
    assert texts_in(target, "bob") == ["1", "2"]
    third = migrate(str(chats), target)
    assert (third.exit_code, third.copy.written) == (0, 0)
    assert texts_in(target, "ana") == AFTER[step]


#: What was moved, what the list holds then, and what is in the target after it.
REPEATED = {
    "its beginning is like its middle": ("k a k b", "k b c", "k a k b c"),
    "all of it is like its beginning": ("k k x k", "k k", "k k x k k"),
    "and there is nothing new": ("k a k b", "k b", "k a k b"),
    "the same ever again": ("k k k", "k k k", "k k k"),
}


@pytest.mark.parametrize("batch", [1, 2, 3, 10_000])
@pytest.mark.parametrize("case", REPEATED)
def test_where_the_same_is_said_again_a_batch_says_nothing(
    chats, sqlite_target, case, batch
):
    """A session is found by all of it, wherever a batch ends."""
    first, then, after = map(str.split, REPEATED[case])
    for name in ("ana", "bob", "cleo"):
        write(chats / f"{name}.json", first)
    options = Options(batch=batch)
    migrate(str(chats), sqlite_target, options)
    write(chats / "ana.json", then)
    write(chats / "cleo.json", then)

    again = migrate(str(chats), sqlite_target, options)

    found = [texts_in(sqlite_target, name) for name in ("ana", "bob", "cleo")]
    assert found == [after, first, after]
    assert (again.exit_code, again.verify.clean) == (0, True)
    assert again.copy.written == 2 * (len(after) - len(first))
    assert migrate(str(chats), sqlite_target, options).copy.written == 0


def test_messages_that_the_application_changed_or_deleted_say_nothing(chats, target):
    write(chats / "ana.json", ["a", "b", "c", "d"])
    migrate(str(chats), target)
    history = StoreChatMessageHistory("ana", target, root="message_store")
    keys = [record.key for record in history.repository.records("message")]
    history.repository.put(
        "message", {"type": "human", "data": {"content": "B"}}, keys=keys[1:2]
    )
    history.repository.delete("message", keys[2])

    write(chats / "ana.json", ["a", "b", "c", "d", "e"])
    assert migrate(str(chats), target).exit_code == 0
    assert texts_in(target, "ana") == ["a", "B", "d", "e"]
    write(chats / "ana.json", ["c", "d", "e", "f"])
    migrate(str(chats), target)
    assert texts_in(target, "ana") == ["a", "B", "d", "e", "f"]


def test_what_compat_adopted_is_aligned_as_well(chats, target):
    """Read through first, trimmed by the old application, migrated then."""
    from holdover.compat import FileChatMessageHistory

    write(chats / "ana.json", ["a", "b", "c"])
    adopted = FileChatMessageHistory(
        chats / "ana.json", store=target, scope=("message_store", "ana")
    )
    assert len(adopted.messages) == 3
    write(chats / "ana.json", ["c", "d"])

    done = migrate(str(chats), target, Options())

    assert done.verify.clean
    assert texts_in(target, "ana")[:3] == ["a", "b", "c"]
