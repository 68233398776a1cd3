"""`--workers`: several processes copy what one would, whatever happens to them."""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import signal
import sqlite3
import subprocess
import sys
from collections import deque
from contextlib import closing, suppress
from pathlib import Path

import pytest
from moving import (
    environment,
    many,
    normal,
    one_sentence,
    read_plainly,
    read_summaries,
    rows_of,
    run_cli,
    start_cli,
    until,
    write_old_file,
    write_old_redis,
)
from sampling import sampled

from holdover.compat.errors import HoldoverError
from holdover.migrate.errand import Errand, Failure
from holdover.migrate.errors import RunBusy, TargetError, UsageError
from holdover.migrate.ledger import Ledger
from holdover.migrate.options import Options
from holdover.migrate.pacing import Pace
from holdover.migrate.progress import Silent
from holdover.migrate.run import migrate
from holdover.migrate.sources import open_source
from holdover.migrate.sources.base import ReadOptions
from holdover.migrate.status import status
from holdover.migrate.targets import open_target
from holdover.migrate.verify import verify
from holdover.migrate.workers import Workers

#: The command, from a file that counts as large: it is read in several partitions.
IN_PARTS = """
from holdover.migrate.cli import main
from holdover.migrate.sources import sqlite
sqlite._PARTITION_BYTES = 4096
main()
"""


@pytest.fixture(autouse=True)
def small_partitions(monkeypatch):
    monkeypatch.setattr("holdover.migrate.sources.sqlite._PARTITION_BYTES", 4096)


#: Other targets are written as in one process; tests/chaos kills at all of them.
some_targets = pytest.mark.parametrize(
    "target", sampled(["sqlite", "postgres"], ["redis", "cluster"]), indirect=True
)
one_target = pytest.mark.parametrize(
    "target", sampled(["sqlite"], ["postgres", "redis", "cluster"]), indirect=True
)


@pytest.fixture
def old(old_file):
    """A classic file of several partitions, and what it holds."""
    sessions = many(1_200, sessions=40)
    return write_old_file(old_file, sessions), sessions


def expected(sessions):
    return {("memory_store", session): held for session, held in sessions.items()}


def check_exact(source, target, sessions, rejects=0):
    """Every record once; the ledger says so; a rerun writes nothing."""
    assert read_summaries(target) == expected(sessions)
    (run,) = status(target)
    assert (run.state, run.rejects) == ("done" if not rejects else run.state, rejects)
    internal = read_plainly(target, internal=True)
    assert {namespace[1] for namespace, held in internal.items() if held} == {"runs"}
    assert not internal.get(("~holdover", "runs", "leases"))
    total = sum(map(len, sessions.values()))
    held = rows_of(target)
    again = migrate(source, target)
    assert (again.copy.written, again.verify.equal) == (0, total)
    assert rows_of(target) == held


def children(of=None):
    """The pids of a process's children."""
    found = []
    for task in Path(f"/proc/{of or os.getpid()}/task").iterdir():
        with suppress(OSError):
            found += map(int, (task / "children").read_text().split())
    return [pid for pid in found if b"holdover.migrate.worker" in command_of(pid)]


def command_of(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


class Watching(Silent):
    """Calls a function at each step of the copy."""

    def __init__(self, step):
        self.step, self.phase, self.steps, self.moved = step, "", 0, 0

    def begin(self, phase, total, done=0):
        self.phase = phase

    def advance(self, number):
        if self.phase == "copying":
            self.steps += 1
            self.moved += number
            self.step(self)


@some_targets
def test_workers_write_what_one_process_writes(target, old, tmp_path):
    source, sessions = old
    alone = f"sqlite:///{tmp_path / 'alone.db'}"
    one = migrate(source, alone, Options(batch=50))
    done = migrate(source, target, Options(batch=50, workers=2))
    assert done.exit_code == 0
    assert done.copy.decisions == one.copy.decisions == {"copied": 1_200}
    assert normal(read_plainly(target)) == normal(read_plainly(alone))
    check_exact(source, target, sessions)


def test_the_progress_of_all_is_counted(sqlite_target, old):
    watching = Watching(lambda _: None)
    migrate(old[0], sqlite_target, Options(batch=50, workers=3), reporter=watching)
    assert watching.moved == 1_200
    assert watching.steps >= 1_200 / 50


@some_targets
def test_a_killed_worker_costs_nothing(target, old):
    source, sessions = old
    killed = []

    def kill(watching):
        # One that was killed may still be among them.
        alive = [pid for pid in children() if pid not in killed]
        if watching.steps in (3, 9) and alive:
            os.kill(alive[0], signal.SIGKILL)
            killed.append(alive[0])

    watching = Watching(kill)
    options = Options(batch=10, workers=2)
    done = migrate(source, target, options, reporter=watching)
    assert len(set(killed)) == 2
    assert done.exit_code == 0
    # What its last batch wrote may be found there, and is then not written again.
    assert set(done.copy.decisions) <= {"copied", "already there"}
    assert sum(done.copy.decisions.values()) == 1_200
    check_exact(source, target, sessions)
    assert not children()


def test_a_partition_that_kills_every_worker_ends_the_command(sqlite_target, old_file):
    sessions = many(600, sessions=2)
    source = write_old_file(old_file, sessions)

    def kill(_):
        for pid in children():
            os.kill(pid, signal.SIGKILL)

    options = Options(batch=5, workers=2)
    with pytest.raises(TargetError, match=r"3 workers ended .* with signal 9\.") as why:
        migrate(source, sqlite_target, options, reporter=Watching(kill))
    assert why.value.exit_code == 4
    assert not children()
    assert migrate(source, sqlite_target, options).exit_code == 0
    check_exact(source, sqlite_target, sessions)


def copied(target):
    """How many items a SQLite target holds so far."""
    return sum(not row[0].startswith("~") for row in rows_of(target).get("store", ()))


def in_parts(*arguments, cwd, **options):
    return start_cli("migrate", *arguments, cwd=cwd, code=IN_PARTS, **options)


def test_ctrl_c_ends_all_of_them(sqlite_target, old, folder):
    source, sessions = old
    arguments = (source, sqlite_target, "--workers", "2", "--batch", "1")
    process = in_parts(*arguments, "--rate", "100", cwd=folder)
    until(lambda: len(children(process.pid)) == 2 and copied(sqlite_target))
    workers = children(process.pid)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert err.startswith("holdover: Interrupted.")
    assert len(err.splitlines()) == 1
    assert out == ""
    assert not any(map(command_of, workers))
    assert 0 < sum(map(len, read_summaries(sqlite_target).values())) < 1_200
    done = run_cli("migrate", source, sqlite_target, "--workers", "2", cwd=folder)
    assert done.returncode == 0, done.stderr
    check_exact(source, sqlite_target, sessions)


def test_workers_end_with_a_command_that_is_killed(sqlite_target, old, folder):
    source, sessions = old
    arguments = (source, sqlite_target, "--workers", "2", "--batch", "1")
    process = in_parts(*arguments, "--rate", "100", cwd=folder)
    until(lambda: len(children(process.pid)) == 2 and copied(sqlite_target))
    workers = children(process.pid)
    process.kill()
    process.communicate()
    until(lambda: not any(map(command_of, workers)))
    # The lease of a dead process stops nobody.
    done = run_cli("migrate", source, sqlite_target, "--workers", "2", cwd=folder)
    assert done.returncode == 0, done.stderr
    check_exact(source, sqlite_target, sessions)


def with_nulls(path, sessions):
    """A row without a key in every session: a reject."""
    source = write_old_file(path, sessions)
    with closing(sqlite3.connect(source)) as db, db:
        for session in sessions:
            db.execute(f'INSERT INTO "memory_store_{session}" VALUES (NULL, ?)', ("x",))
    return source


@one_target
def test_rejects_are_listed_once_and_by_one(target, old_file, tmp_path):
    sessions = many(400, sessions=40)
    source = with_nulls(old_file, sessions)
    rejects = tmp_path / "rejects.jsonl"
    options = Options(batch=7, workers=3, rejects_file=str(rejects))
    done = migrate(source, target, options)
    assert done.copy.rejects == {"null-key": 40}
    assert done.exit_code == 1
    listed = [json.loads(line)["locator"] for line in rejects.read_text().splitlines()]
    assert len(listed) == len(set(listed)) == 40
    assert rejects.stat().st_mode & 0o777 == 0o600
    assert read_summaries(target) == expected(sessions)


def test_max_rejects_counts_those_of_all_workers(sqlite_target, old_file):
    sessions = many(400, sessions=40)
    source = with_nulls(old_file, sessions)
    # One worker alone finds fewer in any of the partitions.
    options = Options(batch=5, workers=2, max_rejects=30)
    with pytest.raises(TargetError, match="more than 30 rejects"):
        migrate(source, sqlite_target, options)
    assert not children()
    assert migrate(source, sqlite_target, Options(workers=2)).copy.rejects == {
        "null-key": 40
    }


def test_the_rate_is_one_for_all(sqlite_target, old, monkeypatch):
    counted = []
    ahead = Pace.ahead

    def count(self, number):
        counted.append(number)
        return ahead(self, number) / 1e6

    monkeypatch.setattr(Pace, "ahead", count)
    migrate(old[0], sqlite_target, Options(workers=2, rate=100))
    assert sum(counted) == 1_200
    assert max(counted) <= 50


def test_a_rate_is_kept_over_any_waits(monkeypatch):
    now = [100.0]
    monkeypatch.setattr("holdover.migrate.pacing.time.monotonic", lambda: now[0])
    pace = Pace(10)
    assert pace.ahead(5) == pytest.approx(0.5)
    assert pace.ahead(20) == pytest.approx(2.5)
    now[0] += 10
    assert pace.ahead(1) == pytest.approx(0.1)
    assert Pace(None).ahead(1_000_000) == 0


@one_target
def test_the_lease_is_the_commands_own(target, old):
    source, _ = old
    seen = []

    def look(watching):
        if watching.steps == 5:
            seen.append(held_by(target))
            with pytest.raises(RunBusy):
                migrate(source, target)

    migrate(source, target, Options(batch=20, workers=2), reporter=Watching(look))
    assert seen == [os.getpid()]


def held_by(target):
    opened = open_target(target, writing=False)
    try:
        (run,) = Ledger(opened).runs()
        return Ledger(opened).holder(run)["pid"]
    finally:
        opened.close()


@one_target
def test_a_run_that_one_process_began_is_finished_by_several(target, old):
    source, sessions = old

    def stop(watching):
        if watching.steps == 30:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        migrate(source, target, Options(batch=10), reporter=Watching(stop))
    resumed = Watching(lambda _: None)
    done = migrate(source, target, Options(batch=10, workers=2), reporter=resumed)
    assert done.copy.resumed
    assert resumed.moved < 1_000
    assert done.copy.decisions == {"copied": 1_200}
    check_exact(source, target, sessions)


def test_a_store_in_one_processs_memory_is_refused(old, folder, monkeypatch):
    (folder / "mine.py").write_text(
        "from langgraph.store.memory import InMemoryStore\n"
        "store = InMemoryStore()\n"
        "def make():\n    return store\n"
    )
    monkeypatch.syspath_prepend(str(folder))
    with pytest.raises(UsageError, match="not the store that this command writes"):
        migrate(old[0], "mine:make", Options(workers=2))
    assert not children()


def test_other_kinds_of_writers_may_wait_for_one_another(tmp_path, old):
    """Turns are given in the order in which they are asked for, also after a death."""
    workers = Workers(errand(), 3, list, int, int)
    told = []

    class Line:
        def __init__(self, name):
            self.name = name

        def send(self, what):
            told.append(self.name)

        def close(self):
            pass

    class Worker:
        def __init__(self, name):
            self.line, self.part = Line(name), None
            self.process = subprocess.Popen(["true"])
            workers._workers[self.line] = self

    one, two, three = map(Worker, "abc")
    for worker in (one, two, three):
        workers._when_turn(worker, None)
    assert told == ["a"]
    workers._bury(two)
    assert told == ["a"]
    workers._when_over(one, None)
    assert told == ["a", "c"]
    workers._bury(three)
    assert workers._turns == deque()


def errand():
    from holdover.migrate.ledger import new_run

    run = new_run("s", "f", "c", 0)
    return Errand("s", "t", Options(), None, run, "s")


def test_a_worker_with_another_address_behind_a_name_is_refused(
    sqlite_target, old, tmp_path, monkeypatch
):
    """The variable of the workers is not the one of the command."""
    other = write_old_file(tmp_path / "other.db", many(10))
    monkeypatch.setenv("OLD", old[0])

    def mislead(*arguments, **options):
        return popen(*arguments, **options, env=os.environ | {"OLD": other})

    popen = subprocess.Popen
    monkeypatch.setattr("holdover.migrate.workers.subprocess.Popen", mislead)
    with pytest.raises(UsageError, match=r"For a worker, env:OLD is .*other\.db"):
        migrate("env:OLD", sqlite_target, Options(workers=2))


def test_a_script_without_a_main_guard(old, sqlite_target, folder):
    """Workers do not run the program that started them again."""
    script = folder / "script.py"
    script.write_text(
        "import sys\n"
        "from holdover.migrate.options import Options\n"
        "from holdover.migrate.run import migrate\n"
        "from holdover.migrate.sources import sqlite\n"
        "sqlite._PARTITION_BYTES = 4096\n"
        "done = migrate(sys.argv[1], sys.argv[2], Options(workers=2))\n"
        "print(done.exit_code, done.verify.equal)\n"
    )
    command = [sys.executable, str(script), old[0], sqlite_target]
    done = subprocess.run(
        command, capture_output=True, text=True, env=environment(), check=False
    )
    assert (done.stdout, done.stderr) == ("0 1200\n", "")


def test_what_a_worker_says_is_said_by_the_command(old, sqlite_target, folder):
    """A source that breaks while it is copied: a sentence, and exit code 4."""
    source, _ = old
    code = IN_PARTS.replace(
        "main()",
        "from holdover.migrate import workers\n"
        "start = workers.Workers._start\n"
        "def broken(self):\n"
        "    import os, sys\n"
        "    os.truncate(sys.argv[2], 8192)\n"
        "    start(self)\n"
        "workers.Workers._start = broken\n"
        "main()",
    )
    done = start_cli("migrate", source, sqlite_target, "--workers", "2", code=code,
                     cwd=folder)  # fmt: skip
    out, err = done.communicate(timeout=60)
    assert done.returncode in (3, 4)
    said = one_sentence(subprocess.CompletedProcess((), done.returncode, out, err))
    assert "entities.db" in said


def every_error():
    import holdover.compat
    import holdover.migrate

    for package in (holdover.compat, holdover.migrate):
        for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
            if module.name.endswith(("errors", "cluster", "ledger")):
                importlib.import_module(module.name)
    kinds = [HoldoverError]
    for kind in kinds:
        kinds += kind.__subclasses__()
    return sorted(
        {
            kind
            for kind in kinds
            # Those of the codemod never meet a worker.
            if kind.__module__.startswith("holdover.")
            and ".codemod" not in kind.__module__
        },
        key=lambda kind: kind.__name__,
    )


@pytest.mark.parametrize("kind", every_error(), ids=lambda kind: kind.__name__)
def test_every_error_travels(kind):
    import pickle

    try:
        error = kind("A sentence.", hint="A hint.")
    except (TypeError, ValueError):
        error = kind()
    made = pickle.loads(pickle.dumps(Failure.of(error))).error()
    assert type(made) is kind
    assert str(made) == str(error)
    assert vars(made) == vars(error)


@one_target
def test_verify_after_workers(target, old):
    source, _ = old
    migrate(source, target, Options(workers=2))
    report = verify(source, target)
    assert (report.equal, report.clean) == (1_200, True)


@pytest.fixture
def in_redis(redis, redis_url, monkeypatch):
    """Keys of several slots, some with a hash tag, some of another type."""
    monkeypatch.setattr("holdover.migrate.sources.redis._WORTH_DIVIDING", 10)
    sessions = many(400, sessions=20) | {"{tag}": {f"E{n}": "x" for n in range(30)}}
    source = write_old_redis(redis_url, sessions)
    for number in range(10):
        redis.rpush(f"memory_store:s1:list {number}", "x")
    return source, sessions


def test_the_keys_of_a_redis_are_divided_by_slot(in_redis):
    from redis.crc import key_slot

    source = open_source(in_redis[0], ReadOptions(kinds=frozenset({"entities"})))
    source.inventory()
    parts = source.partitions()
    assert len({part.id for part in parts}) == 16
    found = []
    for part in parts:
        slots = set()
        for batch in source.read(part, size=7):
            assert not batch.rejects
            found += [(item.session, item.key) for item in batch.items]
            slots |= {
                key_slot(item.locator.partition(":0:")[2].encode()) * 16 // 16_384
                for item in batch.items
            }
        names = [item.key for items in source.keys(part) for item in items]
        assert len(names) == sum(len(b.items) for b in source.read(part))
        assert len(slots) <= 1
    source.close()
    held = [(s, name) for s, names in in_redis[1].items() for name in names]
    assert sorted(found) == sorted(held)


def test_workers_find_in_a_redis_what_the_command_found(in_redis, sqlite_target):
    """What the inventory listed as of another type is no reject for them."""
    source, sessions = in_redis
    done = migrate(source, sqlite_target, Options(batch=20, workers=2))
    assert (done.exit_code, done.copy.rejects) == (0, {})
    assert done.copy.decisions == {"copied": 430}
    check_exact(source, sqlite_target, sessions)
