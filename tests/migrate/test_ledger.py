"""Runs, their lease, and what `status` tells of them."""

from __future__ import annotations

import os
import socket
from datetime import timedelta
from pathlib import Path

import pytest
from moving import many, read_plainly, read_summaries, rows_of, write_old_file

from holdover.compat import records
from holdover.migrate.errors import RunBusy, RunNotFound, TargetError
from holdover.migrate.ledger import LEASES, Ledger, new_run
from holdover.migrate.options import Options
from holdover.migrate.rollback import rollback
from holdover.migrate.run import migrate
from holdover.migrate.status import status
from holdover.migrate.targets import open_target


@pytest.fixture
def opened(target):
    one = open_target(target, writing=True)
    one.prepare()
    yield one
    one.close()


def lease_of(target):
    held = read_plainly(target, internal=True).get(LEASES, {})
    return next(iter(held.values()), None)


def keep_lease(opened, run, **content):
    held = {
        "host": socket.gethostname(), "pid": os.getpid(), "began": "0",
        "ends_at": records.timestamp(records.now() + timedelta(minutes=1)), **content,
    }  # fmt: skip
    value = {"kind": "lease", "content": held, "meta": {"v": 1}}
    opened.write([opened.put(LEASES, run.lease, value)])


@pytest.fixture
def run():
    return new_run("/old.db", "f" * 16, "holdover migrate /old.db x", 5)


def test_a_lease_is_held_and_given_back(opened, target, run):
    with Ledger(opened).leased(run):
        lease = lease_of(target)["content"]
        assert lease["pid"] == os.getpid()
        assert lease["host"] == socket.gethostname()
        with pytest.raises(RunBusy) as busy, Ledger(opened).leased(run):
            pass
        assert str(os.getpid()) in str(busy.value)
        assert busy.value.exit_code == 2
    assert lease_of(target) is None


def test_two_runs_of_one_command_share_a_lease(opened, run):
    """Also before either is recorded: whoever comes second waits."""
    other = new_run(run.source, run.fingerprint, run.command, 5)
    assert other.id != run.id
    with (
        Ledger(opened).leased(run),
        pytest.raises(RunBusy),
        Ledger(opened).leased(other),
    ):
        pass
    another = new_run("/another.db", run.fingerprint, run.command, 5)
    with Ledger(opened).leased(run), Ledger(opened).leased(another):
        pass


def test_a_process_of_this_host_that_is_gone_loses_its_lease(opened, run):
    keep_lease(opened, run, pid=2**22 - 1)
    with Ledger(opened).leased(run):
        pass


def test_a_killed_process_whose_lease_arrives_late_loses_it(opened, run, monkeypatch):
    """The server still carried out what the client had sent."""
    swap, late = opened.swap, []

    def after_another(*arguments, **options):
        if not late:
            late.append(True)
            keep_lease(opened, run, pid=2**22 - 1)
        return swap(*arguments, **options)

    monkeypatch.setattr(opened, "swap", after_another)
    with Ledger(opened).leased(run):
        assert opened.read([(LEASES, run.lease)])[0]["content"]["pid"] == os.getpid()


def test_a_reused_process_number_is_not_the_holder(opened, run):
    keep_lease(opened, run, pid=1, began="no such moment")
    with Ledger(opened).leased(run):
        pass


@pytest.mark.parametrize("minutes", [-1, 1])
def test_another_host_loses_its_lease_by_time(opened, run, minutes):
    ends_at = records.timestamp(records.now() + timedelta(minutes=minutes))
    keep_lease(opened, run, host="elsewhere", pid=1, ends_at=ends_at)
    if minutes < 0:
        with Ledger(opened).leased(run):
            pass
    else:
        with (
            pytest.raises(RunBusy, match="process 1 on elsewhere"),
            Ledger(opened).leased(run),
        ):
            pass


def test_a_failure_gives_the_lease_back(opened, target, run):
    with pytest.raises(ValueError, match="a failure"), Ledger(opened).leased(run):
        raise ValueError("a failure")
    assert lease_of(target) is None


def test_a_lease_that_could_not_be_given_back_is_not_in_the_way(opened, run):
    """The target failed and came back; this process goes on."""
    with Ledger(opened).leased(run):
        write = opened.write
        opened.write = None
    opened.write = write
    with Ledger(opened).leased(run):
        pass


def test_ids_are_found_by_their_beginning(target, old_file, tmp_path):
    one = write_old_file(old_file, {"s": {"A": "1"}})
    first = migrate(one, target).copy.run
    two = write_old_file(tmp_path / "two.db", {"t": {"B": "2"}})
    second = migrate(two, target).copy.run
    assert [run.run for run in status(target)] == [first, second]
    assert [run.run for run in status(target, second)] == [second]
    alike = next(at for at in range(36) if first[at] != second[at])
    unique = first[: alike + 1]
    assert [run.run for run in status(target, unique)] == [first]
    with pytest.raises(RunNotFound) as caught:
        rollback(target, first[:4])
    assert first in str(caught.value)
    assert second in str(caught.value)
    assert caught.value.exit_code == 2
    with pytest.raises(RunNotFound):
        status(target, "nothing")


def test_status_of_an_interrupted_run(target, old_file, monkeypatch):
    source = write_old_file(old_file, many(100))
    from holdover.migrate.copying import Copier

    apply, batches = Copier._apply, []

    def stopping(self, batch, progress):
        if len(batches) == 3:
            raise KeyboardInterrupt
        batches.append(batch)
        return apply(self, batch, progress)

    with monkeypatch.context() as patch:
        patch.setattr(Copier, "_apply", stopping)
        with pytest.raises(KeyboardInterrupt):
            migrate(source, target, Options(batch=10), command="holdover migrate x y")
    (found,) = status(target)
    assert (found.state, found.done, found.planned) == ("copying", 30, 100)
    assert found.resume == "holdover migrate x y"
    assert found.last_progress is not None
    assert lease_of(target) is None
    assert sum(map(len, read_summaries(target).values())) == 30

    done = migrate(source, target, Options(batch=10))
    assert done.copy.resumed
    assert done.copy.run == found.run
    assert done.copy.decisions == {"copied": 100}
    (found,) = status(target)
    assert (found.state, found.done, found.resume) == ("done", 100, None)


def test_a_run_that_was_copied_but_not_verified_is_completed(
    target, old_file, monkeypatch
):
    import holdover.migrate.run as module

    def stopping(*_, **__):
        raise KeyboardInterrupt

    source = write_old_file(old_file, many(20))
    with monkeypatch.context() as patch:
        patch.setattr(module, "compare_reported", stopping)
        with pytest.raises(KeyboardInterrupt):
            migrate(source, target)
    (found,) = status(target)
    assert found.state == "copied"
    assert found.resume
    assert migrate(source, target).exit_code == 0
    (found,) = status(target)
    assert (found.state, found.resume) == ("done", None)
    assert found.verified_at


def test_a_redis_run_counts_nothing_twice(redis, redis_url, target, monkeypatch):
    for number in range(50):
        redis.set(f"memory_store:s:{number}", "x")
    redis.set("memory_store:a:bad", b"\xff\xfe")
    from holdover.migrate.copying import Copier

    apply, batches = Copier._apply, []

    def stopping(self, batch, progress):
        if len(batches) == 3:
            raise KeyboardInterrupt
        batches.append(batch)
        return apply(self, batch, progress)

    with monkeypatch.context() as patch:
        patch.setattr(Copier, "_apply", stopping)
        with pytest.raises(KeyboardInterrupt):
            migrate(redis_url, target, Options(batch=10, rejects_file="r.jsonl"))
    done = migrate(redis_url, target, Options(batch=10, rejects_file="r.jsonl"))
    assert done.copy.rejects == {"not-utf8": 1}
    assert sum(done.copy.decisions.values()) == 50
    (found,) = status(target)
    # The plan reads no values: it counts the one that is not text.
    assert (found.done, found.planned, found.rejects) == (50, 51, 1)
    assert len(Path("r.jsonl").read_text("utf-8").splitlines()) == 1


def test_too_many_rejects_stop_the_run_and_stay_too_many(target, old_file):
    import sqlite3
    from contextlib import closing

    source = write_old_file(old_file, {"s": {"A": "1"}, "t": {"B": "2"}})
    with closing(sqlite3.connect(source)) as db, db:
        for _ in range(3):
            db.execute('INSERT INTO "memory_store_s" VALUES (NULL, ?)', ("x",))
    for _ in range(3):  # repeating alone does not get over the limit
        with pytest.raises(TargetError, match="more than 2 rejects") as caught:
            migrate(source, target, Options(max_rejects=2, batch=1))
        assert caught.value.exit_code == 4
    done = migrate(source, target, Options(max_rejects=3, batch=1))
    assert done.exit_code == 1
    assert done.copy.rejects == {"null-key": 3}
    assert read_summaries(target) == {
        ("memory_store", "s"): {"A": "1"},
        ("memory_store", "t"): {"B": "2"},
    }


def test_a_run_being_rolled_back_cannot_be_migrated(target, old_file, monkeypatch):
    import holdover.migrate.rollback as module
    from holdover.migrate.errors import UsageError

    source = write_old_file(old_file, many(20))
    migrate(source, target)

    def stopping(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(module, "_undo", stopping)
        with pytest.raises(KeyboardInterrupt):
            rollback(target)
    (found,) = status(target)
    assert (found.state, found.resume) == ("rolling back", None)
    state = rows_of(target)
    with pytest.raises(UsageError, match="rolled back"):
        migrate(source, target)
    assert rows_of(target) == state
    assert rollback(target).removed == 20
    assert status(target) == []


def test_a_rollback_that_failed_can_be_repeated_at_once(target, old_file, monkeypatch):
    """In the same process, too: its lease is not in its own way."""
    import holdover.migrate.rollback as module

    source = write_old_file(old_file, many(20))
    migrate(source, target)

    def failing(*_):
        raise TargetError("lost")

    with monkeypatch.context() as patch:
        patch.setattr(module, "_undo", failing)
        with pytest.raises(TargetError):
            rollback(target)
    assert rollback(target).removed == 20


def test_fields_of_a_newer_version_do_not_disturb(opened, target, run):
    ledger = Ledger(opened)
    value = run.value()
    value["content"]["new_field"] = [1]
    progress = {
        "kind": "progress",
        "content": {"partition": "p", "cursor": None, "done": True, "shiny": 1,
                    "counts": {"copied": 4}},
        "meta": {"v": 2, "recorded_at": records.timestamp(records.now())},
    }  # fmt: skip
    namespace = ("~holdover", "runs")
    opened.write(
        [
            opened.put(namespace, run.id, value),
            opened.put((*namespace, run.id), "p", progress),
        ]
    )
    assert [one.id for one in ledger.runs()] == [run.id]
    assert [(one.done, one.state) for one in status(target)] == [(4, "copying")]
