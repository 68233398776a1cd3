"""Writing: nothing is lost, nothing empty or unchanged is written."""

from datetime import UTC, datetime, timedelta

import pytest
from backends import journal_of, put_plainly, value_of
from langgraph.store.base import GetOp

from holdover.compat import journal, records
from holdover.compat.errors import UnportableValue
from holdover.compat.repository import Repository


def entity(name, summary, **more):
    return {"name": name, "summary": summary, **more}


def test_what_is_put_is_there(repository):
    mine = repository()
    assert mine.put("entity", entity("New York", "a city")) == "written"
    record = mine.get("entity", "New York")
    assert (record.name, record.text, record.foreign) == ("New York", "a city", False)
    assert mine.exists("entity", "New York")
    assert not mine.exists("entity", "new york")
    assert mine.get("entity", "new york") is None


def test_an_agent_reads_the_documented_item(repository, scope):
    mine = repository()
    mine.put("entity", entity("New York", "a city"), ttl=None)
    op = GetOp((*scope, "entities"), "New York", refresh_ttl=False)
    item = mine.store.batch([op])[0]
    meta = item.value["meta"]
    assert item.value["kind"] == "entity"
    assert item.value["content"] == {"name": "New York", "summary": "a city"}
    assert set(meta) == {"v", "revision", "status", "recorded_at", "hash", "source"}
    assert (meta["v"], meta["status"], meta["source"]) == (
        1,
        "inferred",
        {"kind": "chain"},
    )


@pytest.mark.parametrize("nothing", ["", "   ", "\n\t\u3000", None])
def test_an_empty_summary_changes_nothing(repository, nothing, seen):
    mine = repository()
    mine.put("entity", entity("a", "first"))
    before = value_of(mine, "a")
    assert mine.put("entity", entity("a", nothing)) == "empty"
    assert mine.put("entity", entity("b", nothing)) == "empty"
    assert value_of(mine, "a") == before
    assert mine.get("entity", "b") is None
    assert [event.name for event in seen] == ["empty_ignored", "empty_ignored"]


def test_an_unchanged_value_writes_nothing(repository, seen):
    mine = repository()
    mine.put("entity", entity("a", "same"))
    before = value_of(mine, "a")
    assert mine.put("entity", entity("a", "same")) == "unchanged"
    assert value_of(mine, "a") == before
    assert len(journal_of(mine, "a")) == 1
    assert [event.name for event in seen] == ["unchanged"]


def test_every_chain_write_is_in_the_journal(repository):
    mine = repository()
    for text in ("one", "two", "three"):
        mine.put("entity", entity("a", text))
    states = mine.history("entity", "a")
    assert [state.text for state in states] == ["three", "two", "one"]
    assert states[0].revision == value_of(mine, "a")["meta"]["revision"]
    parents = [state.meta.get("parent") for state in states]
    assert parents == [states[1].revision, states[2].revision, None]
    assert len(journal_of(mine, "a")) == 3


def test_a_superseded_import_is_journaled(repository):
    """A bulk import of a new item has no journal entry; its successor makes one."""
    mine = repository()
    imported = records.build(
        "entity",
        entity("a", "imported"),
        {
            "revision": records.new_revision(),
            "status": "imported",
            "recorded_at": records.timestamp(records.now()),
            "source": {"kind": "migration", "run": "r"},
        },
    )
    put_plainly(mine.store, mine.namespace("entity"), "a", imported)
    mine.put("entity", entity("a", "learnt"))
    assert [s.text for s in mine.history("entity", "a")] == ["learnt", "imported"]
    assert journal_of(mine, "a")[0] == imported


@pytest.mark.parametrize(
    "foreign",
    [
        {"content": "an agent's note"},
        {"x": [1, {"deep": None}]},
        {"kind": "entity", "content": "no mapping", "meta": 5},
        {"kind": "deletion", "content": {}},
        {"kind": "raw"},
    ],
)
def test_a_foreign_item_is_kept_raw_before_it_is_overwritten(repository, foreign, seen):
    mine = repository()
    put_plainly(mine.store, mine.namespace("entity"), "a", foreign)
    mine.put("entity", entity("a", "ours"))
    raw, ours = journal_of(mine, "a")
    assert raw["kind"] == "raw"
    assert raw["content"]["value"] == foreign
    assert ours["content"]["summary"] == "ours"
    assert "foreign_item" in [event.name for event in seen]
    assert mine.history("entity", "a")[0].text == "ours"


def test_an_agents_note_can_be_restored(repository):
    mine = repository()
    put_plainly(mine.store, mine.namespace("entity"), "a", {"content": "a note"})
    mine.put("entity", entity("a", "ours"))
    assert [s.text for s in mine.history("entity", "a")] == ["ours", "a note"]
    assert mine.restore("entity", "a").text == "a note"
    assert value_of(mine, "a")["content"] == {"name": "a", "summary": "a note"}


def test_unknown_fields_are_written_back(repository):
    mine = repository()
    mine.put("entity", entity("a", "one", colour="red\x00"))
    value = dict(value_of(mine, "a"))
    value["theirs"] = {"x": 1}
    value["meta"] = {**value["meta"], "v": 7, "new_in_7": [1], "aliases": ["A"]}
    put_plainly(mine.store, mine.namespace("entity"), "a", value)
    assert mine.put("entity", entity("a", "two")) == "written"
    after = value_of(mine, "a")
    assert after["theirs"] == {"x": 1}
    assert after["meta"]["new_in_7"] == [1]
    assert after["meta"]["aliases"] == ["A"]
    assert after["meta"]["v"] == 1
    record = mine.get("entity", "a")
    assert record.content == {"name": "a", "summary": "two", "colour": "red\x00"}
    assert records.intact(after)


def test_an_unknown_field_with_an_escape_keeps_its_meaning(repository):
    mine = repository()
    mine.put("entity", entity("a", "one"), meta={"theirs": "nul\x00"})
    for text in ("two", "three"):
        mine.put("entity", entity("a", text))
        meta = value_of(mine, "a")["meta"]
        assert meta["theirs"] == "nul~00"
        assert meta["escaped"] == ["meta.theirs"]


def test_many_at_once_and_twice_the_same(repository):
    mine = repository()
    outcomes = mine.put_many(
        "entity",
        [entity("a", "1"), entity("b", ""), entity("a", "2"), entity("a", "2")],
    )
    assert outcomes == ["written", "empty", "written", "unchanged"]
    assert mine.get("entity", "a").text == "2"
    assert [s.text for s in mine.history("entity", "a")] == ["2", "1"]


def test_nothing_at_all_is_fine(repository):
    mine = repository()
    assert mine.put_many("entity", []) == []
    assert mine.get_many("entity", []) == []


def test_more_than_any_batch_holds(shared_store, scope):
    """20,000 puts in one call, on the stores with the tightest limits."""
    for kind in ("sqlite", "stock-sqlite", "postgres"):
        mine = Repository(shared_store(kind), scope)
        contents = [entity(f"n{n:05}", str(n)) for n in range(7_000)]
        # A mark, a revision and a head each are 20,000 puts and more.
        assert set(mine.put_many("entity", contents)) == {"written"}
        assert mine.count("entity") == 7_000
        names = [content["name"] for content in contents]
        assert [r.text for r in mine.get_many("entity", names)][-1] == "6999"
        assert len(journal_of(mine, "n06999")) == 1


def test_what_cannot_be_stored_is_refused_and_changes_nothing(repository):
    mine = repository()
    for content, options in [
        (entity("a", "x", bad=float("nan")), {}),
        (entity("a", "x"), {"meta": {"confidence": float("nan")}}),
        (entity("a", "x"), {"source": {"turn": [2**70]}}),
        (entity("a", "x"), {"source": {"model": object()}}),
    ]:
        with pytest.raises(UnportableValue):
            mine.put_many("entity", [entity("b", "fine"), content], **options)
    assert mine.count("entity") == 0


def test_awkward_meta_from_a_caller_is_escaped_and_empty_is_dropped(repository):
    mine = repository()
    mine.put(
        "entity",
        entity("a", "x"),
        source={"model": "m\x00", "run": None, "turn": []},
        meta={"confidence": 0.0, "valid_from": None, "aliases": []},
    )
    meta = value_of(mine, "a")["meta"]
    assert meta["source"] == {"kind": "chain", "model": "m~00"}
    assert meta["escaped"] == ["meta.source.model"]
    assert meta["confidence"] == 0
    assert "valid_from" not in meta
    assert "aliases" not in meta


@pytest.mark.parametrize("name", ["", " ", "nul\x00", "\ud800", "~", "x" * 600, "a.b"])
def test_any_name_and_any_text(repository, name):
    mine = repository()
    text = f"about {name}\x00\udfff~"
    mine.put("entity", entity(name, text))
    record = mine.get("entity", name)
    assert (record.name, record.text) == (name, text)
    assert [s.text for s in mine.history("entity", name)] == [text]
    assert mine.delete("entity", name)
    assert mine.get("entity", name) is None
    assert mine.restore("entity", name).text == text


def test_redact_runs_before_every_write(repository, fresh):
    store = fresh("sqlite")

    def redact(kind, content):
        assert kind == "entity"
        return {**content, "summary": content["summary"].replace("secret", "***")}

    mine = repository(store=store, redact=redact)
    mine.put("entity", entity("a", "a secret"))
    mine.put("entity", entity("a", "another secret"))
    mine.restore("entity", "a")
    mine.approve("entity", mine.propose("entity", entity("b", "no secret"), "why"))
    mine.propose("entity", entity("c", "the secret"), "why")
    assert mine.get("entity", "a").text == "a ***"
    assert "secret" not in fresh.rows("sqlite")


def test_a_redactor_that_leaves_nothing_writes_nothing(repository):
    mine = repository(redact=lambda kind, content: {**content, "summary": ""})
    assert mine.put("entity", entity("a", "x")) == "empty"
    assert mine.get("entity", "a") is None


def test_a_redactor_that_fails_stops_the_write(repository):
    def redact(kind, content):
        raise RuntimeError("no")

    mine = repository(redact=redact)
    with pytest.raises(RuntimeError, match="no"):
        mine.put("entity", entity("a", "x"))
    assert mine.count("entity") == 0


def test_shortened_labels_are_kept_whole(repository, scope):
    session = "s" * 300 + "\x00"
    mine = repository(scope=(scope[0], session))
    mine.put("entity", entity("a", "x"))
    (encoded,) = [label for label in mine.namespace("entity") if "~~" in label]
    item = mine.store.batch(
        [GetOp(("~holdover", "labels"), encoded, refresh_ttl=False)]
    )[0]
    assert records.read("entity", "", {**item.value, "kind": "entity"}).content == {
        "label": session
    }


def test_labels_are_kept_also_when_the_first_write_failed(shared_store, scope):
    mine = Repository(shared_store("memory"), (scope[0], "s" * 300))
    write, broken = mine._backend.write, [True]

    def fail(groups):
        if broken:
            broken.clear()
            raise OSError("down")
        return write(groups)

    mine._backend.write = fail
    with pytest.raises(OSError, match="down"):
        mine.put("entity", entity("a", "x"))
    mine.put("entity", entity("a", "x"))
    label = mine.namespace("entity")[1]
    assert mine.store.batch([GetOp(("~holdover", "labels"), label)])[0]


# --- expiry -------------------------------------------------------------------


def put_expired(mine, name="a", text="old"):
    """Write an item whose lifetime has ended, but which nobody has swept."""
    mine.put("entity", entity(name, text), ttl=timedelta(seconds=-1))


def test_expired_items_are_gone_for_every_read(repository, seen):
    mine = repository()
    put_expired(mine)
    assert mine.get("entity", "a") is None
    assert not mine.exists("entity", "a")
    assert mine.get_many("entity", ["a"]) == [None]
    assert mine.page("entity") == []
    assert list(mine.records("entity")) == []
    assert mine.search("entity") == []
    assert mine.history("entity", "a") == []
    assert not mine.delete("entity", "a")
    assert {event.name for event in seen} >= {"expired"}


def test_an_expired_item_can_be_learnt_again(repository):
    mine = repository()
    put_expired(mine, text="same")
    assert mine.put("entity", entity("a", "same")) == "written"
    assert mine.get("entity", "a").text == "same"


def ttl_minutes(store, namespace, key):
    """What the store itself keeps of a lifetime."""
    query = "SELECT ttl_minutes FROM store WHERE prefix = ? AND key = ?"
    return store.conn.execute(query, (".".join(namespace), key)).fetchone()[0]


def test_the_stores_ttl_is_rounded_up(shared_store, scope):
    mine = Repository(shared_store("sqlite"), scope)
    for seconds, minutes in [(1, 1), (60, 1), (61, 2), (90, 2), (86_400, 1440)]:
        name = str(seconds)
        mine.put("entity", entity(name, "x"), ttl=timedelta(seconds=seconds))
        assert ttl_minutes(mine.store, mine.namespace("entity"), name) == minutes
        end = datetime.fromisoformat(value_of(mine, name)["meta"]["expires_at"])
        assert timedelta(0) < end - datetime.now(UTC) <= timedelta(seconds=seconds)
    mine.put("entity", entity("for ever", "x"))
    assert ttl_minutes(mine.store, mine.namespace("entity"), "for ever") is None


def test_a_recall_extends_the_same_revision_in_one_put(repository):
    mine = repository()
    mine.put("entity", entity("a", "x"), ttl=timedelta(hours=1))
    before = value_of(mine, "a")
    mine.get("entity", "a", recall=timedelta(days=3))
    after = value_of(mine, "a")
    assert after["meta"]["revision"] == before["meta"]["revision"]
    assert after["content"] == before["content"]
    end = datetime.fromisoformat(after["meta"]["expires_at"])
    assert end - datetime.now(UTC) > timedelta(days=2)
    # A read without recall leaves the lifetime alone.
    mine.get("entity", "a")
    assert value_of(mine, "a") == after


def test_a_recall_extends_the_stores_ttl_too(shared_store, scope):
    mine = Repository(shared_store("sqlite"), scope)
    mine.put("entity", entity("a", "x"), ttl=timedelta(hours=1))
    mine.get("entity", "a", recall=timedelta(days=3))
    assert ttl_minutes(mine.store, mine.namespace("entity"), "a") == 3 * 1440


def test_history_outlives_the_lifetime_it_was_written_with(repository):
    """A recall put the end of the item off; its journal still says the old one."""
    mine = repository()
    put_expired(mine, text="one")
    mine.put("entity", entity("a", "two"), ttl=timedelta(seconds=-1))
    value = dict(value_of(mine, "a"))
    later = records.timestamp(records.now() + timedelta(days=1))
    value["meta"] = {**value["meta"], "expires_at": later}
    put_plainly(mine.store, mine.namespace("entity"), "a", value)
    assert [s.text for s in mine.history("entity", "a")] == ["two", "one"]
    assert mine.history("entity", "a")[0].meta["expires_at"] == later


def test_an_unchanged_write_begins_the_lifetime_anew(repository):
    mine = repository()
    mine.put("entity", entity("a", "x"), ttl=timedelta(hours=1))
    revision = value_of(mine, "a")["meta"]["revision"]
    assert mine.put("entity", entity("a", "x"), ttl=timedelta(days=1)) == "extended"
    meta = value_of(mine, "a")["meta"]
    assert meta["revision"] == revision
    assert records.remaining(meta) > timedelta(hours=23)
    assert mine.put("entity", entity("a", "x")) == "extended"
    assert "expires_at" not in value_of(mine, "a")["meta"]
    assert mine.put("entity", entity("a", "x")) == "unchanged"


def test_the_journal_ends_with_its_item(repository):
    """Also what was journaled when the item had no end yet."""
    mine = repository()
    mine.put("entity", entity("a", "one"))
    mine.put("entity", entity("a", "two"))
    mine.put("entity", entity("a", "three"), ttl=timedelta(hours=1))
    entries = journal_of(mine, "a")
    assert len(entries) == 3
    assert all("expires_at" in entry["meta"] for entry in entries)
    assert [s.text for s in mine.history("entity", "a")] == ["three", "two", "one"]
    put_expired(mine, text="four")
    assert mine.history("entity", "a") == []


def test_the_journals_ttl_is_the_items(shared_store, scope):
    mine = Repository(shared_store("sqlite"), scope)
    mine.put("entity", entity("a", "one"))
    mine.put("entity", entity("a", "two"), ttl=timedelta(hours=1))
    mine.delete("entity", "a")
    into = ".".join(journal.namespace(scope, "entities", "a"))
    query = "SELECT ttl_minutes FROM store WHERE prefix = ?"
    found = [row[0] for row in mine.store.conn.execute(query, (into,))]
    assert found == [60, 60, 60]


# --- the journal's bound ------------------------------------------------------


def test_the_bound_is_physical(repository):
    mine = repository(history=3)
    for n in range(10):
        mine.put("entity", entity("a", str(n)))
        if mine._backend.keyed:
            assert len(journal_of(mine, "a")) <= 3
    assert [s.text for s in mine.history("entity", "a")] == ["9", "8", "7"]


def test_the_bound_holds_where_items_come_and_go(repository):
    mine = repository(history=4)
    for n in range(12):
        mine.put("entity", entity("a", str(n)))
        (mine.clear("entity") if n % 2 else mine.delete("entity", "a"))
        if mine._backend.keyed:
            assert len(journal_of(mine, "a")) <= 5
    if mine._backend.keyed:
        mine.put("entity", entity("a", "x"))
        mine.put("entity", entity("a", "y"))
        assert len(journal_of(mine, "a")) <= 4


def test_the_bound_holds_where_imports_are_superseded(repository):
    mine = repository(history=2)
    for n in range(6):
        put_plainly(mine.store, mine.namespace("entity"), "a", {"content": f"note {n}"})
        mine.put("entity", entity("a", str(n)))
        if mine._backend.keyed:
            assert len(journal_of(mine, "a")) <= 2


def test_a_store_read_as_a_whole_is_trimmed_now_and_then(shared_store, scope):
    mine = Repository(shared_store("plain"), scope, history=2)
    assert not mine._backend.keyed
    for n in range(300):
        mine.put("entity", entity("a", str(n)))
    assert len(journal_of(mine, "a")) < 200
    assert len(mine.history("entity", "a")) == 2


def test_all_keeps_all_and_none_keeps_none(repository):
    everything, nothing = repository(history="all"), repository(history=0)
    everything.put_many("entity", [entity("a", str(n)) for n in range(130)])
    assert len(everything.history("entity", "a")) == 130
    nothing.put("entity", entity("b", "one"))
    nothing.put("entity", entity("b", "two"))
    nothing.delete("entity", "b")
    assert journal_of(nothing, "b") == []
    assert nothing.history("entity", "b") == []


def test_default_keeps_the_newest_hundred(repository):
    mine = repository()
    mine.put_many("entity", [entity("a", str(n)) for n in range(103)])
    for n in (103, 104):
        mine.put("entity", entity("a", str(n)))
    if mine._backend.keyed:
        assert len(journal_of(mine, "a")) == 100
    assert [s.text for s in mine.history("entity", "a")][::99] == ["104", "5"]


def test_an_age_drops_what_is_older(repository, monkeypatch):
    mine = repository(history=timedelta(days=2))
    mine.put("entity", entity("a", "old"))
    mine.put("entity", entity("a", "now"))
    assert [s.text for s in mine.history("entity", "a")] == ["now", "old"]
    real = records.now
    monkeypatch.setattr(records, "now", lambda: real() + timedelta(days=3))
    # The head is what it is, however old.
    assert [s.text for s in mine.history("entity", "a")] == ["now"]
    mine.put("entity", entity("a", "later"))
    if mine._backend.keyed:
        assert [e["content"]["summary"] for e in journal_of(mine, "a")] == ["later"]


def test_an_oversized_journal_is_trimmed_within_the_limits_of_a_batch(
    shared_store, scope
):
    store = shared_store("postgres")
    everything = Repository(store, scope, history="all")
    everything.put_many("entity", [entity("a", str(n)) for n in range(9_000)])
    assert len(journal_of(everything, "a")) == 9_000
    mine = Repository(store, scope, history=5)
    mine.put("entity", entity("a", "last"))
    assert len(journal_of(mine, "a")) == 5
