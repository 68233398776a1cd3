"""A recall moves the end of a lifetime, and undoes nothing that happened meanwhile."""

from datetime import datetime, timedelta
from itertools import combinations

import pytest
from backends import ASYNC, SYNC, Driven, OldPlace, journal_of, put_plainly, value_of
from langgraph.store.base import PutOp

from holdover.compat import records
from holdover.compat.repository import Repository
from holdover.compat.stores.backend import (
    AsyncPlainBackend,
    PlainBackend,
    Replace,
)
from holdover.compat.stores.choosing import backend_for

DAY = timedelta(days=1)
CHANGES = {
    "delete": lambda mine: mine._delete("entity", ["a"]),
    "clear": lambda mine: mine._clear("entity"),
    "write": lambda mine: mine._put_many("entity", [entity("a", "new")]),
    "write that ends": lambda mine: mine._put_many(
        "entity", [entity("a", "new")], ttl=DAY
    ),
}


def entity(name, summary):
    return {"name": name, "summary": summary}


class Stepped:
    """An operation that is carried out step by step."""

    def __init__(self, mine, steps, loop):
        self.backend, self.steps, self.loop = mine._backend, steps, loop
        self.done, self.result, self.taken = False, None, 0
        self._next = self._advance(None)

    def _advance(self, answer):
        try:
            return self.steps.send(answer)
        except StopIteration as stop:
            self.done, self.result = True, stop.value
            return None

    def step(self):
        if not self.done:
            self.taken += 1
            answer = self._next.perform(self.backend)
            if self.backend.is_async:
                answer = self.loop.run(answered(answer))
            self._next = self._advance(answer)

    def finish(self):
        while not self.done:
            self.step()
        return self.result


async def answered(awaitable):
    return await awaitable


def length(mine, loop, steps):
    stepped = Stepped(mine, steps, loop)
    stepped.finish()
    return stepped.taken


# A store nobody knows has a moment between its look and its put.
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("kind", [k for k in (*SYNC, *ASYNC) if k != "plain"])
@pytest.mark.parametrize("ending", [True, False], ids=["ends", "for ever"])
def test_no_order_of_steps_undoes_what_happened(fresh, loop, kind, change, ending):
    """A recall is a read: what was deleted stays away, what was written stays there."""
    store = fresh(kind)
    lifetime = DAY if ending else None

    def begin(n):
        mine = Repository(store, ("root", str(n)), history="all")
        driven = Driven(mine, "async" if mine._backend.is_async else "sync", loop)
        driven.put("entity", entity("a", "zero"), ttl=lifetime)
        return mine, driven

    mine, _ = begin("recall")
    recalls = length(mine, loop, mine._get("entity", "a", 3 * DAY))
    mine, _ = begin("change")
    changes = length(mine, loop, CHANGES[change](mine))
    assert recalls > 1
    for n, chosen in enumerate(combinations(range(recalls + changes), recalls)):
        mine, driven = begin(n)
        recall = Stepped(mine, mine._get("entity", "a", 3 * DAY), loop)
        changing = Stepped(mine, CHANGES[change](mine), loop)
        for at in range(recalls + changes):
            (recall if at in chosen else changing).step()
        # It gives what it saw.
        assert {r and r.text for r in [recall.finish()]} <= {"zero", "new", None}
        changing.finish()
        record = driven.get("entity", "a")
        assert (record and record.text) == ("new" if "write" in change else None)


def test_every_backend_of_ours_has_its_way(store):
    kind = type(backend_for(store))
    plain = {PlainBackend.replace, AsyncPlainBackend.replace}
    assert (kind.replace in plain) is (kind in {PlainBackend, AsyncPlainBackend})


@pytest.mark.parametrize("there", [None, "other", "same"])
def test_it_counts_only_for_the_revision_that_was_read(repository, loop, there):
    mine = repository()
    mine.put("entity", entity("a", "old"))
    before = value_of(mine, "a") if mine._way == "sync" else mine.get("entity", "a")
    before = before if isinstance(before, dict) else dict(before.value)
    if there is None:
        mine.delete("entity", "a")
    elif there == "other":
        mine.put("entity", entity("a", "new"))
    backend = mine._backend
    put = PutOp(mine.namespace("entity"), "a", {**before, "mark": 1}, index=False)
    done = Replace(put, before).perform(backend)
    if backend.is_async:
        done = loop.run(answered(done))
    assert done is (there == "same")
    record = mine.get("entity", "a")
    assert (record and record.value.get("mark")) == (1 if done else None)
    assert (record and record.text) == {None: None, "other": "new", "same": "old"}[
        there
    ]


def test_a_recall_of_what_an_agent_wrote_without_a_revision(repository):
    mine = repository()
    value = {"kind": "entity", "content": entity("a", "by an agent")}
    put_plainly_on(mine, value)
    assert mine.get("entity", "a", recall=DAY).text == "by an agent"
    assert records.remaining(mine.get("entity", "a").meta) > timedelta(hours=23)


def put_plainly_on(mine, value):
    if mine._backend.is_async:
        namespace = mine.namespace("entity")
        mine._loop.run(mine.store.abatch([PutOp(namespace, "a", value, index=False)]))
    else:
        put_plainly(mine.store, mine.namespace("entity"), "a", value)


def test_a_recall_may_also_bring_the_end_nearer(repository):
    """As the classic classes do."""
    mine = repository()
    mine.put("entity", entity("a", "x"), ttl=30 * DAY)
    mine.get("entity", "a", recall=DAY)
    assert records.remaining(mine.get("entity", "a").meta) <= DAY


def test_a_recall_keeps_the_vectors(fresh):
    """The content is the same: nothing is embedded again."""
    from langgraph.store.memory import InMemoryStore

    embedded = []

    def embed(texts):
        embedded.extend(texts)
        return [[1.0, 0.0] for _ in texts]

    store = InMemoryStore(index={"dims": 2, "embed": embed})
    mine = Repository(store, ("root", "s"))
    mine.put("entity", entity("a", "x"), ttl=DAY)
    assert len(embedded) == 1
    mine.get("entity", "a", recall=3 * DAY)
    assert len(embedded) == 1
    (found,) = mine.search("entity", "anything")
    assert found[0].text == "x"


def test_an_adoption_takes_over_what_is_left_of_a_lifetime(repository):
    from holdover.compat.reading import OldValue

    place = OldPlace(a=OldValue("old", timedelta(hours=1)), b=OldValue("for ever"))
    mine = repository(legacy=place)
    left = records.remaining(mine.get("entity", "a").meta)
    assert timedelta(minutes=59) < left <= timedelta(hours=1)
    assert "expires_at" not in mine.get("entity", "b").meta
    # A recall extends what was adopted in the same call.
    again = repository(legacy=OldPlace(c=OldValue("old", timedelta(hours=1))))
    again.get("entity", "c", recall=3 * DAY)
    assert records.remaining(again.get("entity", "c").meta) > 2 * DAY


def test_what_a_recall_let_outlive_its_entry_is_journaled_again(
    repository, monkeypatch
):
    """The store dropped the entry when the lifetime it was written with was over."""
    mine = repository(history="all")
    mine.put("entity", entity("a", "one"), ttl=timedelta(hours=1))
    mine.get("entity", "a", recall=3 * DAY)
    lose_journal(mine)
    mine.put("entity", entity("a", "two"), ttl=timedelta(hours=1))
    assert [s.text for s in mine.history("entity", "a")] == ["two", "one"]
    mine.get("entity", "a", recall=3 * DAY)
    lose_journal(mine)
    mine.delete("entity", "a")
    assert mine.restore("entity", "a").text == "two"


def lose_journal(mine):
    from holdover.compat import journal

    into = journal.namespace(tuple(mine.scope), "entities", "a")
    entries = [s.revision for s in mine.history("entity", "a")]
    assert entries
    ops = [PutOp(into, revision, None) for revision in entries]
    if mine._backend.is_async:
        mine._loop.run(mine.store.abatch(ops))
    else:
        mine.store.batch(ops)
        assert journal_of(mine, "a") == []


def test_the_end_is_the_moment_and_the_lifetime(repository, monkeypatch):
    mine = repository()
    moment = records.now()
    monkeypatch.setattr(records, "now", lambda: moment)
    mine.put("entity", entity("a", "x"), ttl=DAY)
    mine.get("entity", "a", recall=3 * DAY)
    end = datetime.fromisoformat(mine.get("entity", "a").meta["expires_at"])
    assert end == moment + 3 * DAY
    monkeypatch.setattr(records, "now", lambda: moment + 3 * DAY)
    assert mine.get("entity", "a") is None
