"""Deleting, which can be undone, and forgetting, which cannot."""

from datetime import timedelta

import pytest
from backends import journal_of, put_plainly, value_of

from holdover.compat.errors import Forgotten, HoldoverError, RevisionNotFound
from holdover.compat.repository import Repository

SECRET = "likes blue cheese"


def entity(name, summary, **more):
    return {"name": name, "summary": summary, **more}


def test_delete_is_quiet_and_stays(repository):
    mine = repository()
    mine.put("entity", entity("a", "x"))
    assert mine.delete("entity", "a") is True
    assert mine.delete("entity", "a") is False
    assert mine.delete("entity", "never") is False
    assert mine.get("entity", "a") is None
    assert value_of(mine, "a") is None
    assert mine.count("entity") == 0


def test_the_journal_of_a_deletion_holds_no_text(repository):
    mine = repository()
    mine.put("entity", entity("a", "x"))
    mine.delete("entity", "a")
    written, deletion = journal_of(mine, "a")
    assert deletion["kind"] == "deletion"
    assert deletion["content"] == {"name": "a"}
    assert deletion["meta"]["parent"] == written["meta"]["revision"]
    assert [s.text for s in mine.history("entity", "a")] == ["x"]


def test_restore_after_an_overwrite(repository):
    mine = repository()
    for text in ("one", "two", "three"):
        mine.put("entity", entity("a", text))
    restored = mine.restore("entity", "a")
    assert restored.text == "two"
    # A restore is a revision like any other: nothing is lost by it.
    assert [s.text for s in mine.history("entity", "a")] == [
        "two",
        "three",
        "two",
        "one",
    ]
    assert restored.meta["source"]["kind"] == "human"


def test_restore_after_a_deletion_and_a_clear(repository):
    mine = repository()
    mine.put("entity", entity("a", "x", more=[1]), meta={"aliases": ["A"]})
    mine.put("entity", entity("b", "y"))
    mine.delete("entity", "a")
    mine.clear("entity")
    restored = mine.restore("entity", "a")
    assert restored.content == entity("a", "x", more=[1])
    assert restored.meta["aliases"] == ["A"]
    assert mine.restore("entity", "b").text == "y"
    assert mine.count("entity") == 2


def test_restore_of_a_revision(repository):
    mine = repository()
    for text in ("one", "two", "three"):
        mine.put("entity", entity("a", text))
    first = mine.history("entity", "a")[-1].revision
    assert mine.restore("entity", "a", first).text == "one"
    mine.delete("entity", "a")
    assert mine.restore("entity", "a", first).text == "one"


def test_restore_keeps_the_end_of_life(repository):
    mine = repository()
    mine.put("entity", entity("a", "x"), ttl=timedelta(hours=1))
    end = value_of(mine, "a")["meta"]["expires_at"]
    mine.delete("entity", "a")
    mine.restore("entity", "a")
    assert value_of(mine, "a")["meta"]["expires_at"][:18] == end[:18]


@pytest.mark.parametrize("revision", [None, "no-such-revision"])
def test_nothing_to_restore(repository, revision):
    mine = repository()
    with pytest.raises(RevisionNotFound) as refused:
        mine.restore("entity", "a", revision)
    assert isinstance(refused.value, KeyError)
    mine.put("entity", entity("a", "only"))
    with pytest.raises(RevisionNotFound):
        mine.restore("entity", "a", revision)


def test_restore_beside_a_foreign_head(repository):
    mine = repository()
    mine.put("entity", entity("a", "ours"))
    put_plainly(
        mine.store, mine.namespace("entity"), "a", {"content": "theirs", "meta": 1}
    )
    assert mine.restore("entity", "a").text == "ours"
    assert mine.restore("entity", "a").text == "theirs"


def test_a_deleted_agents_item_can_be_restored(repository):
    mine = repository()
    put_plainly(mine.store, mine.namespace("entity"), "n\x7f", {"content": "theirs"})
    put_plainly(mine.store, mine.namespace("entity"), "note", {"content": "theirs"})
    assert mine.delete("entity", "note")
    assert mine.restore("entity", "note").text == "theirs"


def test_clear_clears_its_scope_only(repository, scope):
    mine, other = repository(), repository(scope=(scope[0], "session2"))
    deeper = repository(scope=(*scope, "entities"))
    for each in (mine, other, deeper):
        each.put_many("entity", [entity(f"n{n}", "x") for n in range(3)])
    mine.put("summary", {"text": "kept"})
    assert mine.clear("entity") == 3
    assert mine.clear("entity") == 0
    assert (mine.count("entity"), mine.count("summary")) == (0, 1)
    assert (other.count("entity"), deeper.count("entity")) == (3, 3)


def test_clear_of_more_than_a_page(repository):
    mine = repository(history=0)
    mine.put_many("entity", [entity(f"n{n}", "x") for n in range(1_100)])
    assert mine.clear("entity") == 1_100
    assert mine.count("entity") == 0


# --- forgetting ---------------------------------------------------------------

KINDS_WITH_TABLES = ("sqlite", "stock-sqlite", "postgres", "async-postgres")


@pytest.fixture(params=KINDS_WITH_TABLES)
def tables(request, fresh, way, loop):
    """A fresh store and a function that shows all its tables hold."""
    from backends import Driven

    store = fresh(request.param)

    def make(scope=("root", "session"), **options):
        return Driven(Repository(store, scope, **options), way, loop)

    make.text = lambda: fresh.rows(request.param)
    return make


def fill(mine, name="Alice Smith"):
    """Leave what a busy entity leaves everywhere."""
    mine.put("entity", entity(name, f"first {SECRET}"))
    mine.put("entity", entity(name, SECRET))
    mine.delete("entity", name)
    mine.restore("entity", name)
    mine.propose("entity", entity(name, f"perhaps {SECRET}"), "not sure")


def test_forget_erases_an_entity_everywhere(tables):
    mine = tables(history="all")
    fill(mine)
    mine.put("entity", entity("Bob", "stays"))
    assert SECRET in tables.text()
    report = mine.forget("entity", "Alice Smith")
    assert (report.items, report.whole_scope) == (1, False)
    assert report.revisions == 4
    text = tables.text()
    assert SECRET not in text
    assert "Alice" not in text
    assert "alice" not in text
    assert mine.get("entity", "Bob").text == "stays"


def test_forget_erases_a_scope_everywhere(tables):
    session = "alice-session-4711"
    mine, other = tables(("root", session)), tables(("root", "other"))
    fill(mine)
    mine.put("summary", {"text": f"Alice {SECRET}"})
    mine.put("turn", {"text": f"I am Alice, {SECRET}"})
    mine.delete("entity", "Somebody Else")
    mine.put("entity", entity("Gone", SECRET))
    mine.clear("entity")
    mine.put("entity", entity("Headless", SECRET))
    # An agent deleted the item plainly: only its journal is left.
    put_plainly(mine.store, mine.namespace("entity"), "Headless", None)
    mine.put("entity", entity("Headless " + "x" * 600, SECRET))
    name = "Headless " + "x" * 600
    key = mine.page("entity")[0].key
    put_plainly(mine.store, mine.namespace("entity"), key, None)
    fill(other, "Carol")
    report = mine.forget()
    assert report.whole_scope
    text = tables.text()
    for trace in (session, "Alice", "Somebody", "Gone", "Headless", name[:40]):
        assert trace not in text, trace
    assert other.get("entity", "Carol").text == SECRET


def test_forget_erases_a_shortened_session_too(tables):
    session = "alice-" + "4711" * 100
    mine = tables(("root", session))
    mine.put("entity", entity("a", "x"))
    assert "4711" * 100 in tables.text()
    mine.forget()
    assert "alice-4711" not in tables.text()


def test_forget_of_a_kind_leaves_the_scope_open(repository):
    mine = repository()
    mine.put("entity", entity("a", "x"))
    mine.put("summary", {"text": "kept"})
    report = mine.forget("entity")
    assert (report.items, report.whole_scope) == (1, False)
    assert mine.get("summary", "current").text == "kept"
    assert mine.put("entity", entity("a", "new")) == "tombstoned"
    assert mine.put("entity", entity("b", "new")) == "written"


def test_forget_twice_and_of_nothing(repository):
    mine = repository()
    assert mine.forget("entity", "never").items == 0
    mine.put("entity", entity("a", "x"))
    assert mine.forget("entity", "a").items == 1
    assert mine.forget("entity", "a").items == 0


def test_a_name_alone_is_not_the_whole_scope(repository):
    mine = repository()
    mine.put("entity", entity("a", "x"))
    with pytest.raises(ValueError, match="kind"):
        mine.forget(None, "a")
    assert mine.get("entity", "a").text == "x"


def test_what_was_forgotten_cannot_be_restored(repository):
    mine = repository()
    mine.put("entity", entity("a", "x"))
    revision = mine.history("entity", "a")[0].revision
    mine.forget("entity", "a")
    assert mine.history("entity", "a") == []
    for wanted in (None, revision):
        with pytest.raises(Forgotten):
            mine.restore("entity", "a", wanted)
    assert issubclass(Forgotten, HoldoverError)


def test_a_forgotten_value_is_not_restored_under_another_name(repository):
    mine = repository()
    mine.put("entity", entity("b", SECRET))
    mine.put("entity", entity("b", "harmless"))
    mine.put("entity", entity("a", SECRET))
    mine.forget("entity", "a")
    with pytest.raises(Forgotten):
        mine.restore("entity", "b")
    assert mine.get("entity", "b").text == "harmless"
