"""After the move: the classic-named stores, read-through, reruns and verify."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing

import pytest
from moving import (
    files_of,
    plain_store,
    read_plainly,
    read_summaries,
    rows_of,
    write_old_file,
)

from holdover.compat import SQLiteEntityStore
from holdover.compat.configuration import configured
from holdover.compat.entity_stores import InMemoryEntityStore
from holdover.compat.repository import Repository
from holdover.compat.scope import Scope
from holdover.compat.stores.opening import open_store
from holdover.migrate.care import forget
from holdover.migrate.errors import PlanBlocked, UsageError
from holdover.migrate.options import Options
from holdover.migrate.run import migrate, set_up
from holdover.migrate.sources.base import ReadOptions
from holdover.migrate.verify import verify

OLD = {"Ana": "old Ana", "Bob": "old Bob", "Cy": "old Cy", "Dee": "old Dee"}


@pytest.fixture
def opened(target):
    """The target as the application has it open."""
    store = open_store(target)
    with configured(store=store):
        yield store


def test_redis_moved_then_read_by_a_classic_name(target, redis_url, redis, opened):
    for name, summary in OLD.items():
        redis.set(f"memory_store:ana@example.com:{name}", summary)
    assert migrate(redis_url, target).exit_code == 0

    entities = SQLiteEntityStore("ana@example.com", db_file=":memory:")
    assert {name: entities.get(name) for name in OLD} == OLD
    entities.set("Eve", "new Eve")
    entities.set("Bob", "newer Bob")
    entities.delete("Cy")
    assert forget(target, "ana@example.com", entity="Dee").items == 1
    expected = {"Ana": "old Ana", "Bob": "newer Bob", "Eve": "new Eve"}
    memory = InMemoryEntityStore(session_id="ana@example.com")
    assert dict(memory.store) == expected

    before = rows_of(target)
    again = migrate(redis_url, target)
    assert rows_of(target) == before
    assert again.exit_code == 0
    assert again.plan.decisions == {
        "copied": 0,
        "already there": 1,
        "superseded": 1,
        "deleted in the target": 1,
        "forgotten in the target": 1,
    }
    assert (again.verify.equal, again.verify.changed) == (1, 3)
    assert dict(memory.store) == expected
    # Another run of the same source leaves them alone, too.
    other = migrate(redis_url, target, Options(ttl="drop"))
    assert other.copy.written == 0
    assert dict(memory.store) == expected


def test_a_file_moved_while_it_is_read_through(target, old_file, opened):
    source = write_old_file(old_file, {"s": OLD})
    before = files_of(old_file.parent)
    entities = SQLiteEntityStore("s", db_file=source)
    assert entities.get("Ana") == "old Ana"  # adopted
    entities.set("Bob", "newer Bob")
    entities.delete("Cy")
    assert entities.get("Cy") is None

    done = migrate(source, target)
    assert done.exit_code == 0
    assert done.plan.decisions == {
        "copied": 1,
        "already there": 1,
        "superseded": 1,
        "deleted in the target": 1,
    }
    expected = {"Ana": "old Ana", "Bob": "newer Bob", "Dee": "old Dee"}
    assert read_summaries(target) == {("memory_store", "s"): expected}
    fresh = SQLiteEntityStore("s", db_file=source)
    assert {name: fresh.get(name) for name in OLD} == {**expected, "Cy": None}

    # The application goes on; nothing of it is lost, nothing comes back.
    fresh.set("Dee", "newer Dee")
    fresh.delete("Ana")
    state = rows_of(target)
    again = migrate(source, target)
    assert again.exit_code == 0
    assert rows_of(target) == state
    assert again.verify.changed == 4
    assert fresh.get("Ana") is None
    assert files_of(old_file.parent) == before


def test_adopted_and_changed_is_superseded(target, old_file, opened):
    source = write_old_file(old_file, {"s": OLD})
    entities = SQLiteEntityStore("s", db_file=source)
    entities.get("Ana")
    entities.set("Ana", "newer Ana")
    done = migrate(source, target)
    assert done.plan.decisions["superseded"] == 1
    assert done.exit_code == 0
    assert entities.get("Ana") == "newer Ana"
    history = [state.text for state in entities.repository.history("entity", "Ana")]
    assert history == ["newer Ana", "old Ana"]


def test_a_cleared_session_stays_cleared(target, old_file, opened):
    source = write_old_file(old_file, {"s": OLD, "t": OLD})
    entities = SQLiteEntityStore("s", db_file=source)
    entities.get("Ana")
    entities.clear()
    done = migrate(source, target)
    assert done.copy.decisions == {"copied": 4, "deleted in the target": 4}
    assert read_summaries(target) == {("memory_store", "t"): OLD}
    assert entities.get("Bob") is None


@pytest.mark.parametrize("policy", ["fail", "overwrite"])
def test_forgotten_before_the_move_is_never_imported(target, old_file, policy):
    source = write_old_file(old_file, {"s": OLD, "t": {"Ana": "another", "X": "y"}})
    set_up(target)
    forget(target, "s", entity="ana")  # another spelling of the name
    forget(target, "t")
    done = migrate(source, target, Options(on_conflict=policy))
    assert done.copy.decisions == {"copied": 3, "forgotten in the target": 3}
    rest = {name: summary for name, summary in OLD.items() if name != "Ana"}
    assert read_summaries(target) == {("memory_store", "s"): rest}
    assert done.verify.clean


def test_overwritten_without_a_journal_is_still_superseded(target, old_file):
    source = write_old_file(old_file, {"s": OLD})
    migrate(source, target)
    with plain_store(target) as store:
        Repository(store, Scope("memory_store", "s"), history=0).put(
            "entity", {"name": "Ana", "summary": "newer"}
        )
    state = rows_of(target)
    again = migrate(source, target)
    assert again.exit_code == 0
    assert again.plan.decisions["superseded"] == 1
    assert again.verify.changed == 1
    assert rows_of(target) == state


def test_changes_of_the_source_follow(target, old_file):
    source = write_old_file(old_file, {"s": OLD})
    first = migrate(source, target)
    write_old_file(old_file, {"s": {"Ana": "Ana, later"}, "new": {"N": "n"}})
    again = migrate(source, target)
    assert again.copy.run == first.copy.run
    assert again.copy.decisions == {"copied": 1, "updated": 1, "already there": 3}
    assert again.exit_code == 0
    assert read_summaries(target) == {
        ("memory_store", "s"): {**OLD, "Ana": "Ana, later"},
        ("memory_store", "new"): {"N": "n"},
    }
    with plain_store(target) as store:
        states = Repository(store, Scope("memory_store", "s")).history("entity", "Ana")
    assert [state.text for state in states] == ["Ana, later", "old Ana"]
    state = rows_of(target)
    assert migrate(source, target).copy.written == 0
    assert rows_of(target) == state


def test_the_file_itself_is_no_target(old_file):
    """A source is only read."""
    source = write_old_file(old_file, {"s": OLD})
    before = files_of(old_file.parent)
    with pytest.raises(UsageError, match="the same file"):
        migrate(source, f"sqlite:///{source}")
    assert files_of(old_file.parent) == before


# Verify.


def test_every_class_of_verify(target, old_file):
    names = ["Equal", "Chain", "Deleted", "Forgotten", "Missing", "Edited", "Foreign"]
    source = write_old_file(old_file, {"s": {n: f"old {n}" for n in names}})
    migrate(source, target)
    namespace = ("memory_store", "s", "entities")
    with plain_store(target) as store:
        repository = Repository(store, Scope("memory_store", "s"))
        repository.put("entity", {"name": "Chain", "summary": "new"})
        repository.delete("entity", "Deleted")
        store.delete(namespace, "Missing")
        edited = store.get(namespace, "Edited").value
        edited["content"]["summary"] = "edited in place"
        store.put(namespace, "Edited", edited, index=False)
        store.put(namespace, "Foreign", {"content": "something else"}, index=False)
    forget(target, "s", entity="Forgotten")
    with closing(sqlite3.connect(source)) as db, db:
        db.execute('DELETE FROM "memory_store_s" WHERE key = ?', ("Equal",))
        db.execute('INSERT INTO "memory_store_s" VALUES (NULL, ?)', ("no name",))
    checked = verify(source, target)
    assert (checked.equal, checked.extra) == (0, 1)
    assert checked.changed == 4  # Chain, Deleted, Forgotten, Edited
    assert (checked.missing, checked.different) == (1, 1)
    assert checked.rejected == {"null-key": 1}
    assert not checked.clean
    assert checked.examples == {
        "missing": ["sqlite:entities.db#memory_store_s"],
        "different": ["sqlite:entities.db#memory_store_s"],
    }


def test_expired_in_the_source_is_no_failure(target, redis, redis_url):
    redis.set("memory_store:s:Soon", "x", px=1_000)
    redis.set("memory_store:s:Stays", "y")
    assert migrate(redis_url, target).exit_code == 0
    time.sleep(1.1)
    checked = verify(redis_url, target)
    assert checked.clean
    assert (checked.equal, checked.extra) == (1, 1)


def test_a_target_that_was_never_written_misses_everything(target, old_file):
    source = write_old_file(old_file, {"s": OLD})
    checked = verify(source, target)
    assert (checked.missing, checked.equal, checked.clean) == (4, 0, False)
    assert rows_of(target) == {}


def test_a_changed_byte_is_different(target, old_file):
    """The stored hash is not believed: it is computed again."""
    source = write_old_file(old_file, {"s": OLD})
    migrate(source, target)
    namespace = ("memory_store", "s", "entities")
    with plain_store(target) as store:
        value = store.get(namespace, "Ana").value
        value["content"]["summary"] += "!"
        del value["meta"]["source"]
        store.put(namespace, "Ana", value, index=False)
    checked = verify(source, target)
    assert (checked.equal, checked.different) == (3, 1)


def test_verify_of_a_blocked_source_says_so(target, old_file):
    source = write_old_file(old_file, {"s": OLD})
    write_old_file(old_file, {"s": OLD}, root="other")
    with pytest.raises(PlanBlocked, match="--root other"):
        verify(source, target)


def test_sample_takes_whole_sessions(target, old_file):
    sessions = {f"s{n}": OLD for n in range(200)}
    source = write_old_file(old_file, sessions)
    options = Options(read=ReadOptions(sample=0.1))
    done = migrate(source, target, options)
    assert done.exit_code == 0
    found = read_summaries(target)
    assert 5 <= len(found) <= 45
    assert all(entities == OLD for entities in found.values())
    wider = migrate(source, target, Options(read=ReadOptions(sample=0.5)))
    assert wider.plan.decisions["already there"] == 4 * len(found)
    assert read_summaries(target).keys() > found.keys()
    assert len(read_plainly(target)) == len(read_summaries(target))


@pytest.mark.usefixtures("opened")
def test_many_overwrites_are_still_superseded(target, old_file):
    """The journal keeps a hundred revisions, the origin of a record lasts longer."""
    source = write_old_file(old_file, {"s": {"Ana": "old"}})
    migrate(source, target)
    entities = SQLiteEntityStore("s", db_file=":memory:")
    for n in range(120):
        entities.set("Ana", f"newer {n}")
    again = migrate(source, target)
    assert again.plan.decisions.get("superseded") == 1
    assert again.verify.changed == 1
    assert again.exit_code == 0
