"""A place that is taken: who wins, what is kept, and what was never touched."""

from __future__ import annotations

import contextlib

import pytest
from moving import (
    is_redis,
    many,
    plain_store,
    read_plainly,
    read_summaries,
    redis_items,
    rows_of,
    write_old_file,
)

from holdover.compat.repository import Repository
from holdover.compat.scope import Scope
from holdover.migrate.conflicts import Decision, decide, descends
from holdover.migrate.options import Options
from holdover.migrate.rollback import rollback
from holdover.migrate.run import migrate
from holdover.migrate.verify import verify

NAMESPACE = ("memory_store", "s", "entities")
#: Key order, floats that are integers, and nothing of ours.
FOREIGN = {"z": 1.0, "a": [2.5, None, {"y": "ü", "b": -0.25}], "text": "by an agent"}


@pytest.fixture
def source(old_file):
    return write_old_file(old_file, {"s": {"Taken": "ours", "Free": "also ours"}})


@pytest.fixture
def taken(target):
    """A target where an agent keeps something of its own in the way."""
    with plain_store(target) as store:
        store.setup()
        store.put(NAMESPACE, "Taken", FOREIGN, index=False)
    return target


def value(target, key="Taken"):
    return read_plainly(target)[NAMESPACE].get(key)


def journal_of(target, key="Taken"):
    namespace = ("~holdover", "journal", *NAMESPACE, key)
    return read_plainly(target, internal=True).get(namespace, {})


def test_fail_stops_before_any_write(taken, source, folder):
    before = rows_of(taken)
    done = migrate(source, taken)
    assert done.exit_code == 3
    assert done.copy is None
    assert [blocker.code for blocker in done.plan.blockers] == ["conflicts"]
    assert done.plan.examples["conflict"] == ["sqlite:entities.db#memory_store_s"]
    assert rows_of(taken) == before
    assert list(folder.iterdir()) == []


def test_fail_does_not_even_set_up(target, source):
    """Two sessions in one place: known without a target."""
    done = migrate(
        write_old_file(source, {"t": {"Taken": "theirs"}}),
        target,
        Options(template="{root}"),
    )
    assert done.exit_code == 3
    assert [blocker.code for blocker in done.plan.blockers] == ["collisions"]
    assert done.plan.collisions == 1
    assert rows_of(target) == {}


def test_skip_leaves_what_is_there(taken, source):
    done = migrate(source, taken, Options(on_conflict="skip"))
    assert done.copy.decisions == {"copied": 1, "skipped": 1}
    assert value(taken) == FOREIGN
    assert value(taken, "Free")["content"]["summary"] == "also ours"
    assert (done.verify.equal, done.verify.different) == (1, 1)
    assert done.exit_code == 1


def test_version_keeps_ours_as_a_revision(taken, source):
    done = migrate(source, taken, Options(on_conflict="version"))
    assert done.copy.decisions == {"copied": 1, "kept as a revision": 1}
    assert value(taken) == FOREIGN
    (entry,) = journal_of(taken).values()
    assert entry["content"] == {"name": "Taken", "summary": "ours"}
    with plain_store(taken) as store:
        texts = [
            record.text
            for record in Repository(store, Scope("memory_store", "s")).history(
                "entity", "Taken"
            )
        ]
    assert sorted(texts) == ["by an agent", "ours"]
    assert done.verify.clean
    before = rows_of(taken)
    again = migrate(source, taken, Options(on_conflict="version"))
    assert again.copy.written == 0
    assert rows_of(taken) == before


def test_overwrite_keeps_what_it_replaced(taken, source):
    done = migrate(source, taken, Options(on_conflict="overwrite"))
    assert done.copy.decisions == {"copied": 1, "overwritten": 1}
    assert value(taken)["content"]["summary"] == "ours"
    (entry,) = journal_of(taken).values()
    assert entry["kind"] == "raw"
    assert entry["content"]["value"] == FOREIGN
    assert done.exit_code == 0
    before = rows_of(taken)
    assert migrate(source, taken).copy.written == 0
    assert rows_of(taken) == before


@pytest.mark.parametrize("policy", ["version", "overwrite"])
def test_rollback_restores_byte_for_byte(taken, source, policy):
    before = rows_of(taken)["store"]
    migrate(source, taken, Options(on_conflict=policy))
    undone = rollback(taken)
    assert undone.left == 0
    assert undone.removed + undone.restored == 2
    after = rows_of(taken)["store"]
    assert values_of(after, taken) == values_of(before, taken)
    assert len(after) == len(before)


def values_of(rows, target):
    """The rows' identity and value as stored; a put sets its own moments."""
    if target.startswith("sqlite"):
        return [row[:3] for row in rows]
    if is_redis(target):
        items = [row for row in rows if b":item:" in row[0]]
        return [(key, held.partition(b"\n")[2]) for key, held, _ in items]
    import json

    return [
        (key, json.dumps(value))
        for key, value in ((row[0].split(",")[:2], json_of(row[0])) for row in rows)
    ]


def json_of(text):
    """The jsonb column of a row printed as text."""
    start = text.index('"{')
    return text[start : text.index('}",') + 2]


def test_rollback_leaves_and_lists_what_changed_since(target, old_file):
    sessions = {"s": {"By chain": "1", "By agent": "2", "Edited": "3", "Same": "4"}}
    migrate(write_old_file(old_file, sessions), target)
    with plain_store(target) as store:
        repository = Repository(store, Scope("memory_store", "s"))
        repository.put("entity", {"name": "By chain", "summary": "newer"})
        store.put(NAMESPACE, "By agent", {"content": "newer"}, index=False)
        edited = store.get(NAMESPACE, "Edited").value
        edited["content"]["summary"] = "edited in place"
        store.put(NAMESPACE, "Edited", edited, index=False)

    undone = rollback(target)
    assert undone.removed == 1
    items = read_plainly(target)[NAMESPACE]
    assert items.keys() == {"By chain", "By agent", "Edited"}
    assert items["By chain"]["content"]["summary"] == "newer"
    # An agent's own item holds no trace of ours: it is not the run's any more.
    assert undone.left == 2
    listed = " ".join(undone.examples)
    assert "By chain" in listed
    assert "Edited" in listed
    with plain_store(target) as store:
        states = Repository(store, Scope("memory_store", "s")).history(
            "entity", "By chain"
        )
    assert [state.text for state in states] == ["newer", "1"]


def test_rollback_then_migrate_again(target, old_file):
    source = write_old_file(old_file, many(60))
    first = migrate(source, target)
    rollback(target)
    assert read_summaries(target) == {}
    assert rows_of(target)["store"] == []
    second = migrate(source, target)
    assert second.copy.run != first.copy.run
    assert second.copy.written == 60
    assert second.exit_code == 0


def test_rollback_of_an_older_run_leaves_the_newer(target, old_file, tmp_path):
    older = write_old_file(old_file, {"s": {"A": "1"}})
    newer = write_old_file(tmp_path / "other.db", {"t": {"B": "2"}})
    first = migrate(older, target)
    migrate(newer, target)
    rollback(target, first.copy.run)
    assert read_summaries(target) == {("memory_store", "t"): {"B": "2"}}
    assert verify(newer, target).equal == 1


def test_a_restored_item_keeps_the_lifetime_the_store_gave_it(target, source):
    with plain_store(target) as store:
        store.setup()
        store.put(NAMESPACE, "Taken", FOREIGN, index=False, ttl=600)
    migrate(source, target, Options(on_conflict="overwrite"))
    rollback(target)
    if is_redis(target):
        ((_, _, ttl, _, left),) = redis_items(target).values()
        assert 590 < int(ttl) / 60_000 <= 600
        assert 590 < left / 60_000 <= 600
        return
    (row,) = rows_of(target)["store"]
    if target.startswith("sqlite"):
        assert row[5] is not None
        assert 590 < row[6] <= 600
    else:
        assert not row[0].endswith(",,)")


# A conflict between plan and write.


@contextlib.contextmanager
def writer_between(monkeypatch, target, act):
    """Let another program act right before the first batch is applied."""
    from holdover.migrate.targets import postgres, redis, sqlite

    kinds = {"sqlite": sqlite.SqliteTarget, "redis": redis.RedisTarget}
    kind = kinds.get(target.partition(":")[0], postgres.PostgresTarget)
    apply = kind.apply
    acted = []

    def interrupted(self, rows, policy, note):
        if not acted:
            acted.append(True)
            with plain_store(target) as store:
                act(store)
        return apply(self, rows, policy, note)

    with monkeypatch.context() as patch:
        patch.setattr(kind, "apply", interrupted)
        yield
    assert acted


@pytest.mark.parametrize("beside", [False, True])
def test_a_place_taken_meanwhile_is_a_reject(
    target, source, monkeypatch, beside, folder
):
    if beside:  # the careful path from the start
        with plain_store(target) as store:
            store.setup()
            store.put(("agent", "notes"), "k", {"a": 1}, index=False)

    def act(store):
        store.put(NAMESPACE, "Taken", FOREIGN, index=False)

    with writer_between(monkeypatch, target, act):
        done = migrate(source, target)
    assert value(target) == FOREIGN
    assert done.copy.decisions == {"copied": 1}
    assert done.copy.rejects == {"conflict": 1}
    assert done.exit_code == 1
    listed = (folder / done.copy.rejects_file).read_text("utf-8")
    assert '"reason":"conflict"' in listed
    assert "sqlite:entities.db#memory_store_s" in listed
    assert journal_of(target) == {}


def test_a_place_taken_between_reading_and_writing(postgres_url, source, monkeypatch):
    """PostgreSQL alone has a moment between the two; the write is conditional."""
    from holdover.migrate.targets.postgres import PostgresTarget

    with plain_store(postgres_url) as store:
        store.setup()
        store.put(NAMESPACE, "Taken", {"old": True}, index=False)
    write_heads = PostgresTarget._write_heads

    def interrupted(self, *arguments):
        with plain_store(postgres_url) as store:
            store.put(NAMESPACE, "Taken", FOREIGN, index=False)
            store.put(NAMESPACE, "Free", FOREIGN, index=False)
        return write_heads(self, *arguments)

    monkeypatch.setattr(PostgresTarget, "_write_heads", interrupted)
    done = migrate(source, postgres_url, Options(on_conflict="overwrite"))
    assert value(postgres_url) == FOREIGN
    assert value(postgres_url, "Free") == FOREIGN
    assert done.copy.rejects == {"conflict": 2}
    assert done.copy.written == 0
    assert journal_of(postgres_url) == {}


def test_a_name_deleted_meanwhile_stays_deleted(target, source, monkeypatch):
    def act(store):
        Repository(store, Scope("memory_store", "s")).delete("entity", "Taken")

    with writer_between(monkeypatch, target, act):
        done = migrate(source, target)
    assert done.copy.decisions == {"copied": 1, "deleted in the target": 1}
    assert read_summaries(target) == {("memory_store", "s"): {"Free": "also ours"}}
    assert done.verify.changed == 1


# What decides, without a store.


def ours(summary="ours", **meta):
    from holdover.compat import records

    base = {
        "revision": "r1",
        "status": "imported",
        "recorded_at": "2026-01-01T00:00:00.000000+00:00",
        "source": {"kind": "migration", "run": "r1", "locator": "here"},
    }
    return records.build("entity", {"name": "E", "summary": summary}, {**base, **meta})


NOW = "2026-06-01T00:00:00.000000+00:00"
PAST = "2026-05-01T00:00:00.000000+00:00"
FUTURE = "2026-07-01T00:00:00.000000+00:00"


@pytest.mark.parametrize(
    ("existing", "expected"),
    [
        (None, Decision.COPY),
        (ours(), Decision.ALREADY),
        (ours(source={"kind": "chain"}), Decision.ALREADY),
        (ours(expires_at=PAST), Decision.UPDATE),
        (ours(expires_at=FUTURE), Decision.ALREADY),
        (ours("other"), Decision.UPDATE),
        ({**ours("other"), "content": {"name": "E", "summary": "edited"}},
         Decision.SUPERSEDED),
        (ours("other", source={"kind": "adoption", "locator": "here"}),
         Decision.SUPERSEDED),
        (ours("other", source={"kind": "migration", "run": "r0", "locator": "here"}),
         Decision.SUPERSEDED),
        (ours("other", source={"kind": "chain"}, parent="r1"), Decision.SUPERSEDED),
        (ours("other", source={"kind": "chain"}), Decision.CONFLICT),
        (ours("other", source={"kind": "chain"}, expires_at=PAST), Decision.UPDATE),
        ({"content": "foreign"}, Decision.CONFLICT),
        ({"meta": "foreign", "content": 1}, Decision.CONFLICT),
        ({"meta": {}, "content": {"big": 10**30}}, Decision.CONFLICT),
        ({}, Decision.CONFLICT),
    ],
)  # fmt: skip
def test_decisions(existing, expected):
    assert decide(ours(), existing, NOW) is expected


def test_a_journal_descends_by_its_locator():
    assert descends([ours()], "here")
    assert not descends([ours(), {"meta": None}, {}], "there")
