"""What a classic history left is taken over whole, once, and never changed."""

from __future__ import annotations

import logging
import threading
from datetime import timedelta

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from holdover.compat import records
from holdover.compat.adopting import OldItems
from holdover.compat.chat_message_histories.classic import ClassicHistory
from holdover.compat.legacy.histories import OldHistory, OldMessage
from holdover.compat.message_keys import adopted_key
from holdover.compat.message_records import message_content


class OldPlace(OldHistory):
    """A classic history: here, a list."""

    locator = "old:place"

    def __init__(self, messages, lifetime=None):
        super().__init__("message_store")
        self.contents = [m and message_content(m) for m in messages]
        self.lifetime = lifetime
        self.reads = 0

    def read(self):
        self.reads += 1
        found = [OldMessage(at, content) for at, content in enumerate(self.contents)]
        return self._items(found, self.lifetime)


class Classic(ClassicHistory):
    def __init__(self, old, store, scope, **options):
        self.old = old
        self._settle("s", "message_store", store=store, scope=scope, **options)

    def _old(self):
        return self.old


TALK = [HumanMessage("hi"), AIMessage("hello"), HumanMessage("bye")]


@pytest.fixture
def old():
    return OldPlace(TALK)


@pytest.fixture
def classic(store, scope, both, old):
    return lambda **options: both(Classic(old, store, scope, **options))


def test_the_first_read_takes_all_over_and_the_next_ones_do_not_look(classic, old):
    assert classic().messages() == TALK
    old.contents = []
    assert classic().messages() == TALK
    assert old.reads == 1


def test_an_addition_comes_behind_what_was_taken_over(classic):
    classic().add_messages([HumanMessage("new")])
    assert classic().texts() == ["hi", "hello", "bye", "new"]


@pytest.mark.parametrize("call", ["count", "last", "page", "delete"])
def test_every_first_touch_takes_over(classic, call):
    arguments = {"last": [2], "delete": ["nothing"]}.get(call, [])
    getattr(classic(), call)(*arguments)
    assert classic().count() == 3


def test_after_a_clear_nothing_old_comes_back(classic, old):
    classic().clear()
    assert classic().messages() == []
    classic().add_message(HumanMessage("new"))
    assert classic().texts() == ["new"]
    assert old.reads == 0


def test_a_clear_after_the_adoption(classic):
    assert classic().count() == 3
    classic().clear()
    assert classic().messages() == []


def test_a_deleted_message_stays_deleted(classic):
    one = classic()
    key = one.page()[1][0]
    assert one.delete(key)
    assert classic().texts() == ["hi", "bye"]


def test_an_adopted_record_says_where_it_came_from(classic, old):
    one = classic()
    one.messages()
    first = one.repository.page("message", limit=1)[0]
    assert first.key == adopted_key(0)
    assert first.meta["status"] == "imported"
    assert first.meta["source"] == {"kind": "adoption", "locator": "old:place#0"}
    assert "expires_at" not in first.meta


def test_what_is_left_of_a_life_goes_along(classic, old):
    old.lifetime = timedelta(seconds=90)
    one = classic()
    one.messages()
    for record in one.repository.page("message"):
        assert timedelta(seconds=60) < records.remaining(record.meta) <= old.lifetime


def test_legacy_off_never_looks(classic, old, monkeypatch):
    assert classic(legacy="off").messages() == []
    monkeypatch.setenv("HOLDOVER_LEGACY", "OFF")
    assert classic().messages() == []
    assert old.reads == 0
    assert classic(legacy="on").messages() == TALK


def test_a_session_without_old_messages_leaves_no_mark(classic, old):
    old.contents = []
    one = classic()
    one.add_message(HumanMessage("new"))
    assert one.repository.unadopted("message")


def test_what_cannot_be_read_is_counted_and_the_rest_taken_over(
    classic, old, caplog, seen
):
    old.contents.insert(1, None)
    with caplog.at_level(logging.WARNING):
        assert classic().messages() == TALK
        assert classic().messages() == TALK
    (said,) = caplog.messages
    assert said.startswith("1 message(s) of an old history below message_store cannot")
    assert "the other 3 are taken over" in said
    assert ("legacy_skipped", 1) in [(e.name, e.count) for e in seen]
    assert ("adopted", 3) in [(e.name, e.count) for e in seen]


def test_where_nothing_can_be_read_a_later_look_may_find_more(classic, old):
    kept, old.contents = old.contents, [None]
    assert classic().messages() == []
    old.contents = kept
    assert classic().messages() == TALK


def test_a_forgotten_session_is_not_taken_over(classic):
    classic().repository.forget()
    assert classic().messages() == []


def test_a_killed_adoption_is_completed(target, scope, old):
    everything = old.read()
    repository = Classic(old, target, scope).repository
    write = repository._write

    def killed_before_the_mark(groups):
        if any("legacy" in op.namespace for group in groups for op in group):
            raise SystemExit
        yield from write(groups)

    repository._write = killed_before_the_mark
    with pytest.raises(SystemExit):
        repository.adopt("message", OldItems(everything.items[:2]))
    other = Classic(old, target, scope)
    assert other.messages == TALK
    assert not other.repository.unadopted("message")


def test_a_clear_during_the_adoption_wins(target, scope, old):
    """The clear comes between the look at its mark and the write, or behind it."""
    for moment in (0, 1):
        one = Classic(old, target, (*scope, str(moment)))
        repository = one.repository
        other = Classic(old, target, (*scope, str(moment)))
        write, writes = repository._write, []

        def interrupted(groups, write=write, other=other, writes=writes, moment=moment):
            if not writes and moment == 0:
                writes.append(1)
                other.clear()
            yield from write(groups)
            if not writes:
                writes.append(1)
                other.clear()

        repository._write = interrupted
        assert one.messages == []
        assert other.messages == []


def test_a_deletion_during_the_adoption_wins(target, scope, old):
    one = Classic(old, target, scope)
    repository = one.repository
    other = Classic(old, target, scope)
    write, writes = repository._write, []

    def interrupted(groups):
        if not writes:
            writes.append(1)
            other.repository.delete("message", adopted_key(1))
        yield from write(groups)

    repository._write = interrupted
    assert [m.content for m in one.messages] == ["hi", "bye"]


def test_several_adopt_at_once_and_each_message_is_there_once(store, scope):
    talk = [HumanMessage(str(n)) for n in range(1200)]
    old, start = OldPlace(talk), threading.Barrier(6)

    def use(number):
        one = Classic(old, store, scope)
        start.wait()
        one.add_message(AIMessage(f"new {number}"))

    threads = [threading.Thread(target=use, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    texts = [m.content for m in Classic(old, store, scope).messages]
    assert texts[:1200] == [str(n) for n in range(1200)]
    assert sorted(texts[1200:]) == [f"new {n}" for n in range(6)]
