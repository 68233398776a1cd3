"""Care for a store: sweep, forget, probe."""

from __future__ import annotations

import time
from datetime import timedelta
from pathlib import Path

import pytest
from moving import (
    many,
    path_of,
    plain_store,
    read_plainly,
    read_summaries,
    rows_of,
    write_old_file,
)

from holdover.compat.repository import Repository
from holdover.compat.scope import Scope
from holdover.migrate.care import forget, probe, sweep
from holdover.migrate.errors import UsageError
from holdover.migrate.run import migrate


@pytest.fixture
def filled(target):
    with plain_store(target) as store:
        store.setup()
        short = Repository(store, Scope("memory_store", "s"))
        short.put("entity", {"name": "Short", "summary": "x"},
                  ttl=timedelta(milliseconds=1))  # fmt: skip
        short.put("entity", {"name": "Long", "summary": "y"}, ttl=timedelta(days=1))
        short.put("entity", {"name": "For ever", "summary": "z"})
        store.put(("agent",), "own", {"a": 1}, index=False)
    time.sleep(0.01)
    return target


def test_sweep_removes_what_expired_and_nothing_else(filled):
    assert sweep(filled).removed >= 1
    assert read_plainly(filled) == {
        namespace: values
        for namespace, values in read_plainly(filled).items()
        if "Short" not in values
    }
    assert read_summaries(filled)["memory_store", "s"] == {
        "Long": "y",
        "For ever": "z",
    }
    assert ("agent",) in read_plainly(filled)
    before = rows_of(filled)
    assert sweep(filled).removed == 0
    assert rows_of(filled) == before


def test_sweep_reaches_every_namespace(sqlite_target, redis, redis_url):
    """More than a page of namespaces, which empty while they are read."""
    with redis.pipeline() as pipe:
        for number in range(1_200):
            pipe.set(f"memory_store:s{number}:E", "x", px=30_000)
        pipe.execute()
    migrate(redis_url, sqlite_target)
    # As if the half minute were over; the store's own clock counts whole minutes.
    import sqlite3
    from contextlib import closing

    with closing(sqlite3.connect(path_of(sqlite_target))) as db, db:
        db.execute(
            "UPDATE store SET value = CAST(json_set(CAST(value AS TEXT), "
            "'$.meta.expires_at', '2020-01-01T00:00:00.000000+00:00') AS BLOB) "
            "WHERE substr(prefix, 1, 1) <> '~'"
        )
    assert sweep(sqlite_target).removed == 1_200
    assert read_summaries(sqlite_target) == {}


def test_forget_erases_the_history_too(filled):
    with plain_store(filled) as store:
        records = Repository(store, Scope("memory_store", "s"))
        records.put("entity", {"name": "Long", "summary": "SECRET-1"})
        records.put("entity", {"name": "Long", "summary": "SECRET-2"})
    done = forget(filled, "s", entity="Long")
    assert (done.items, done.whole_session) == (1, False)
    assert done.revisions >= 2
    assert any("backups" in place for place in done.not_reached)
    assert "SECRET" not in str(rows_of(filled))
    assert "For ever" in read_summaries(filled)["memory_store", "s"]


def test_forget_a_session(command, filled, old_file):
    source = write_old_file(old_file, {"s": {"New": "x"}, "other": {"Kept": "y"}})
    shown = command("forget", filled, "--session", "s")
    assert shown.exit_code == 0
    assert shown.stdout.startswith("forgotten ")
    assert "not here" in shown.stdout
    done = migrate(source, filled)
    assert done.copy.decisions == {"copied": 1, "forgotten in the target": 1}
    assert read_summaries(filled) == {("memory_store", "other"): {"Kept": "y"}}


def test_forget_elsewhere(command, filled):
    with plain_store(filled) as store:
        Repository(store, Scope("app", "s")).put(
            "entity", {"name": "E", "summary": "x"}
        )
    shown = command("forget", filled, "--session", "s", "--template", "app/{session}")
    assert shown.exit_code == 0
    assert ("app", "s") not in read_summaries(filled)
    assert ("memory_store", "s") in read_summaries(filled)
    wrong = command("forget", filled, "--session", "s", "--template", "{tenant}")
    assert wrong.exit_code == 2


@pytest.mark.parametrize("words", [["sweep"], ["forget", "--session", "s"]])
def test_a_wrong_name_creates_nothing(command, target, words):
    shown = command(words[0], target, *words[1:])
    assert shown.exit_code == 2
    assert "holds no store" in shown.stderr
    assert rows_of(target) == {}
    assert "sqlite" not in target or not Path(path_of(target)).exists()
    with pytest.raises(UsageError):
        sweep(target)


def test_probe_leaves_no_item(command, filled):
    before = rows_of(filled)
    shown = command("probe", filled)
    assert shown.exit_code == 0
    assert "FAILED" not in shown.stdout
    assert "keeps items exact and apart" in shown.stdout
    assert rows_of(filled) == before
    assert probe(filled).failed in ((), [])


def test_care_does_not_disturb_a_migration(target, old_file):
    source = write_old_file(old_file, many(30))
    migrate(source, target)
    sweep(target)
    probe(target)
    done = migrate(source, target)
    assert (done.copy.written, done.verify.equal) == (0, 30)
