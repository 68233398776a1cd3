"""Old data is read through once per name, and a deletion always wins."""

import pytest
from backends import OldPlace, PlainStore, put_plainly, value_of
from langgraph.store.base import GetOp, PutOp

from holdover.compat import marks, records
from holdover.compat.repository import Repository
from holdover.compat.stores.backend import Write


def entity(name, summary):
    return {"name": name, "summary": summary}


def mark_of(mine, key, namespace=marks.touched_namespace):
    op = GetOp(namespace(tuple(mine.scope), "entities"), key, refresh_ttl=False)
    item = mine.store.batch([op])[0]
    return item and item.value


def test_a_name_is_adopted_once(repository, seen):
    place = OldPlace(a="old", b="older")
    mine = repository(legacy=place)
    record = mine.get("entity", "a")
    assert (record.name, record.text) == ("a", "old")
    assert value_of(mine, "a")["meta"]["status"] == "imported"
    assert value_of(mine, "a")["meta"]["source"] == {
        "kind": "adoption",
        "locator": "old:place",
    }
    assert records.intact(value_of(mine, "a"))
    place.entities["a"] = "changed since"
    assert mine.get("entity", "a").text == "old"
    assert place.reads == 1
    assert [event.name for event in seen] == ["adopted"]
    assert mark_of(mine, "a")["content"] == {"what": "adopted"}


def test_what_was_set_is_not_looked_up(repository):
    place = OldPlace(a="old")
    mine = repository(legacy=place)
    mine.put("entity", entity("a", "new"))
    assert mine.get("entity", "a").text == "new"
    assert place.reads == 0
    assert mark_of(mine, "a")["content"] == {"what": "set"}


def test_many_and_exists_read_through(repository):
    mine = repository(legacy=OldPlace(a="old"))
    mine.put("entity", entity("b", "new"))
    found = mine.get_many("entity", ["a", "b", "c"])
    assert [record and record.text for record in found] == ["old", "new", None]
    other = repository(legacy=OldPlace(d="old"))
    assert other.exists("entity", "d")


@pytest.mark.parametrize("adopted", [True, False])
@pytest.mark.parametrize("how", ["delete", "clear", "forget"])
def test_deleted_stays_deleted(repository, adopted, how):
    place = OldPlace(a="old")
    mine = repository(legacy=place)
    if adopted:
        mine.get("entity", "a")
    if how == "clear":
        mine.clear("entity")
    else:
        getattr(mine, how)("entity", "a")
    assert mine.get("entity", "a") is None
    assert not mine.exists("entity", "a")
    assert mine.page("entity") == []
    # Another process, later, with the same old file.
    again = repository(legacy=OldPlace(a="old"))
    assert again.get("entity", "a") is None


def test_deleted_without_a_place_stays_deleted_when_one_appears(repository):
    """The old file is configured only on some machines."""
    repository().delete("entity", "a")
    assert repository(legacy=OldPlace(a="old")).get("entity", "a") is None


def test_set_after_a_deletion_counts(repository):
    mine = repository(legacy=OldPlace(a="old"))
    mine.delete("entity", "a")
    mine.put("entity", entity("a", "new"))
    assert mine.get("entity", "a").text == "new"
    mine.clear("entity")
    mine.put("entity", entity("a", "newer"))
    assert mine.get("entity", "a").text == "newer"


def test_restore_undoes_a_deletion_of_an_adopted_name(repository):
    mine = repository(legacy=OldPlace(a="old"))
    mine.get("entity", "a")
    mine.delete("entity", "a")
    assert mine.restore("entity", "a").text == "old"
    assert mine.get("entity", "a").text == "old"


def test_history_of_an_adopted_name(repository):
    mine = repository(legacy=OldPlace(a="old"))
    mine.get("entity", "a")
    mine.put("entity", entity("a", "new"))
    assert [s.text for s in mine.history("entity", "a")] == ["new", "old"]


def test_nothing_old_adds_no_marks(repository):
    mine = repository()
    mine.put("entity", entity("a", "x"))
    assert mark_of(mine, "a") is None


def test_adoption_is_redacted(repository):
    def redact(kind, content):
        return {**content, "summary": content["summary"].replace("secret", "***")}

    mine = repository(legacy=OldPlace(a="a secret"), redact=redact)
    assert mine.get("entity", "a").text == "a ***"
    assert value_of(mine, "a")["content"]["summary"] == "a ***"


def test_a_name_that_must_not_be_kept_is_read_but_not_adopted(repository):
    def redact(kind, content):
        return {**content, "name": "[hidden]"}

    mine = repository(legacy=OldPlace(a="old"), redact=redact)
    assert mine.get("entity", "a").text == "old"
    assert mine.count("entity") == 0
    assert mark_of(mine, "a") is None


def test_a_name_that_redaction_empties_is_not_adopted(repository):
    mine = repository(
        legacy=OldPlace(a="old"),
        redact=lambda kind, content: {**content, "summary": ""},
    )
    assert mine.get("entity", "a") is None


# --- races: two operations, step by step --------------------------------------


class Stepped:
    """An operation that stops before each of its steps."""

    def __init__(self, mine, steps):
        self.backend, self.steps = mine._backend, steps
        self.result, self.done = None, False
        self.next = self._advance(None)

    def _advance(self, answer):
        try:
            return self.steps.send(answer)
        except StopIteration as stop:
            self.result, self.done = stop.value, True
            return None

    def step(self):
        self.next = self._advance(self.next.perform(self.backend))

    def finish(self):
        while not self.done:
            self.step()
        return self.result

    def until(self, kind):
        while not self.done and not isinstance(self.next, kind):
            self.step()


KEPT = ("memory", "sqlite", "stock-sqlite", "plain", "postgres")


def interleavings(n, m):
    """Every order of n steps of one with m of another."""
    from itertools import combinations

    for chosen in combinations(range(n + m), n):
        yield ["first" if at in chosen else "second" for at in range(n + m)]


@pytest.mark.parametrize(("removal", "steps"), [("delete", 2), ("clear", 4)])
@pytest.mark.parametrize("kind", KEPT)
def test_no_order_of_steps_revives_what_was_deleted(fresh, kind, removal, steps):
    """An adoption that began before a deletion ends without a head, in any order."""
    store = fresh(kind)
    for n, order in enumerate(interleavings(5, steps)):
        place = OldPlace(a="old")
        mine = Repository(store, ("root", str(n)), legacy=place)
        adoption = Stepped(mine, mine._get("entity", "a", None))
        deletion = Stepped(
            mine,
            mine._delete("entity", ["a"])
            if removal == "delete"
            else mine._clear("entity"),
        )
        for which in order:
            one = adoption if which == "first" else deletion
            if not one.done:
                one.step()
        adoption.finish()
        deletion.finish()
        # Neither through us, nor as any agent would look.
        assert mine.get("entity", "a") is None, order
        assert Repository(mine.store, mine.scope).get("entity", "a") is None, order
        assert value_of(mine, "a") is None, order
        assert mine.page("entity") == [], order


@pytest.mark.parametrize("kind", KEPT)
def test_an_adoption_beside_a_write_loses_no_revision(fresh, kind):
    """Where both run at once either may be the head, but no revision is lost."""
    store = fresh(kind)
    for n, order in enumerate(interleavings(5, 2)):
        place = OldPlace(a="old")
        mine = Repository(store, ("root", str(n)), legacy=place, history="all")
        adoption = Stepped(mine, mine._get("entity", "a", None))
        write = Stepped(mine, mine._put_many("entity", [entity("a", "new")]))
        for which in order:
            one = adoption if which == "first" else write
            if not one.done:
                one.step()
        adoption.finish()
        write.finish()
        texts = [state.text for state in mine.history("entity", "a")]
        assert "new" in texts, order
        assert mine.get("entity", "a") is not None


@pytest.mark.parametrize("kind", KEPT)
def test_two_writers_lose_no_revision_in_any_order(fresh, kind):
    store = fresh(kind)
    for n, order in enumerate(interleavings(3, 3)):
        mine = Repository(store, ("root", str(n)), history="all")
        mine.put("entity", entity("a", "zero"))
        one = Stepped(mine, mine._put_many("entity", [entity("a", "one")]))
        two = Stepped(mine, mine._put_many("entity", [entity("a", "two")]))
        for which in order:
            stepped = one if which == "first" else two
            if not stepped.done:
                stepped.step()
        one.finish()
        two.finish()
        texts = {state.text for state in mine.history("entity", "a")}
        assert texts == {"zero", "one", "two"}, order


def test_an_adoption_that_was_overtaken_does_not_count(repository):
    """A head left by another version, which did not look twice."""
    mine = repository(legacy=OldPlace(a="old"))
    mine.get("entity", "a")
    left = value_of(mine, "a")
    mine.delete("entity", "a")
    put_plainly(mine.store, mine.namespace("entity"), "a", left)
    assert mine.get("entity", "a") is None
    mine.put("entity", entity("b", "new"))
    mine.clear("entity")
    put_plainly(mine.store, mine.namespace("entity"), "a", left)
    assert mine.get("entity", "a") is None


def test_a_later_clear_counts_beside_an_earlier_deletion(repository):
    mine = repository(legacy=OldPlace(a="old"))
    mine.get("entity", "a")
    mine.delete("entity", "a")
    mine.restore("entity", "a")
    restored = value_of(mine, "a")
    mine.clear("entity")
    put_plainly(mine.store, mine.namespace("entity"), "a", restored)
    assert mine.get("entity", "a") is None


class RecordingStore(PlainStore):
    """Remembers the roots of each batch of writes."""

    def __init__(self):
        super().__init__()
        self.writes = []

    def batch(self, ops):
        ops = list(ops)
        roots = [op.namespace[0] for op in ops if isinstance(op, PutOp)]
        self.writes += [roots] if roots else []
        return super().batch(ops)


def test_journal_goes_before_the_head_where_a_batch_is_not_atomic(scope):
    store = RecordingStore()
    mine = Repository(store, scope)
    mine.put("entity", entity("a", "x"))
    mine.put("entity", entity("a", "y"))
    mine.delete("entity", "a")
    assert all(len(set(roots)) == 1 for roots in store.writes)
    assert [roots[0] for roots in store.writes] == ["~holdover", scope[0]] * 3


def test_a_write_is_sorted_so_that_writers_lock_in_one_order(shared_store, scope):
    mine = Repository(shared_store("memory"), scope)
    steps = mine._put_many("entity", [entity(n, "x") for n in "dbca"])
    stepped = Stepped(mine, steps)
    stepped.until(Write)
    (batch,) = mine._backend.batches(stepped.next.groups)
    places = [(op.namespace[0] != "~holdover", op.namespace, op.key) for op in batch]
    assert places == sorted(places)
    stepped.finish()
