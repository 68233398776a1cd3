"""`--scheduler`: a Dask cluster copies what one process would, whoever dies."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import time

import pytest
from moving import (
    database,
    environment,
    many,
    normal,
    one_sentence,
    read_plainly,
    read_summaries,
    rows_of,
    run_cli,
    until,
    write_old_redis,
)
from sampling import sampled

from holdover.migrate.errors import MigrateError, TargetError, UsageError
from holdover.migrate.options import Options
from holdover.migrate.progress import Silent
from holdover.migrate.run import migrate
from holdover.migrate.status import status

pytest.importorskip("distributed")

from holdover.migrate import cluster as ours

pytestmark = pytest.mark.filterwarnings(
    "default"  # of Dask and tornado, which are not ours
)


@pytest.fixture(autouse=True)
def small_partitions(monkeypatch):
    """Few keys are divided, too, and the cluster is looked at often."""
    monkeypatch.setattr("holdover.migrate.sources.redis._WORTH_DIVIDING", 10)
    monkeypatch.setattr(ours, "_TICK", 0.05)
    monkeypatch.setattr(ours, "_LOOK_SECONDS", 0.05)


@pytest.fixture(scope="module")
def local():
    """A real cluster of this machine's processes."""
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None,
        worker_dashboard_address=None, silence_logs=60,
    ) as cluster:  # fmt: skip
        yield cluster


@pytest.fixture
def old(redis_url):
    sessions = many(1_200, sessions=40)
    return write_old_redis(redis_url, sessions), sessions


@pytest.fixture(params=sampled(["postgres"], ["redis"]))
def target(request):
    if request.param == "postgres":
        return request.getfixturevalue("postgres_url")
    return database(request.getfixturevalue("redis_url"), 9)


def check_exact(source, target, sessions):
    assert read_summaries(target) == {
        ("memory_store", session): held for session, held in sessions.items()
    }
    (run,) = status(target)
    assert (run.state, run.rejects) == ("done", 0)
    internal = read_plainly(target, internal=True)
    assert {namespace[1] for namespace, held in internal.items() if held} == {"runs"}
    assert not internal.get(("~holdover", "runs", "leases"))
    held = rows_of(target)
    again = migrate(source, target)
    assert (again.copy.written, again.verify.equal) == (0, 1_200)
    assert rows_of(target) == held


class Watching(Silent):
    """Calls a function when something was copied."""

    def __init__(self, step):
        self.step, self.moved, self.phase = step, 0, ""

    def begin(self, phase, total, done=0):
        self.phase = phase

    def advance(self, number):
        if self.phase == "copying" and number:
            self.moved += number
            self.step(self)


def test_a_cluster_writes_what_one_process_writes(old, target, local, tmp_path):
    source, sessions = old
    alone = f"sqlite:///{tmp_path / 'alone.db'}"
    one = migrate(source, alone, Options(batch=50))
    watching = Watching(lambda _: None)
    options = Options(batch=50, scheduler=local.scheduler_address)
    done = migrate(source, target, options, reporter=watching)
    assert done.exit_code == 0
    assert done.copy.decisions == one.copy.decisions == {"copied": 1_200}
    assert watching.moved == 1_200
    assert normal(read_plainly(target)) == normal(read_plainly(alone))
    check_exact(source, target, sessions)


def test_a_killed_worker_loses_nothing(old, target, local):
    source, sessions = old
    killed = []

    def kill(_):
        if not killed:
            killed.append(local.workers[0].pid)
            os.kill(killed[0], signal.SIGKILL)

    options = Options(batch=1, scheduler=local.scheduler_address)
    done = migrate(source, target, options, reporter=Watching(kill))
    assert killed
    assert done.exit_code == 0
    assert sum(done.copy.decisions.values()) == 1_200
    check_exact(source, target, sessions)


@pytest.fixture
def apart(tmp_path):
    """A scheduler and a worker as they run on other machines: commands of Dask."""
    from contextlib import ExitStack

    at = tmp_path / "scheduler.json"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    env = environment({"PYTHONWARNINGS": "ignore"})
    with ExitStack() as stack:

        def start(what, *arguments):
            code = f"from distributed.cli.dask_{what} import main; main()"
            command = [sys.executable, "-c", code, *arguments]
            process = subprocess.Popen(command, env=env, **quiet)
            stack.callback(process.wait)
            stack.callback(process.kill)
            return process

        scheduler = start("scheduler", "--host", "127.0.0.1", "--port", "0",
                          "--no-dashboard", "--scheduler-file", str(at))  # fmt: skip
        until(lambda: at.exists() and at.read_text().endswith("}"))
        address = json.loads(at.read_text())["address"]
        start("worker", address, "--nthreads", "2", "--no-nanny", "--no-dashboard")
        yield address, scheduler


def test_a_killed_scheduler_loses_nothing(old, postgres_url, apart):
    source, sessions = old
    address, scheduler = apart
    options = Options(batch=1, scheduler=address)
    with pytest.raises(ours.SchedulerUnavailable, match="any more") as why:
        migrate(source, postgres_url, options,
                reporter=Watching(lambda _: scheduler.kill()))  # fmt: skip
    assert why.value.exit_code == 4
    copied = sum(map(len, read_summaries(postgres_url).values()))
    assert 0 < copied < 1_200
    # The worker that is left ends with its batch: the lease was given back.
    done = migrate(source, postgres_url, Options(batch=50))
    assert done.exit_code == 0
    check_exact(source, postgres_url, sessions)


def test_a_worker_stops_for_a_command_that_is_gone(old, postgres_url, apart, folder):
    """Killed, it gives nothing back; whoever runs it again has the lease."""
    source, sessions = old
    code = (
        "from holdover.migrate.cli import main\n"
        "from holdover.migrate.sources import redis\n"
        "redis._WORTH_DIVIDING = 10\n"
        "main()"
    )
    from moving import start_cli

    command = start_cli(
        "migrate", source, postgres_url, "--scheduler", apart[0], "--batch", "1",
        "--rate", "200", cwd=folder, code=code,
    )  # fmt: skip
    until(lambda: len(rows_of(postgres_url).get("store", ())) > 40)
    command.kill()
    command.communicate()
    done = run_cli("migrate", source, postgres_url, cwd=folder)
    assert done.returncode == 0, done.stderr
    check_exact(source, postgres_url, sessions)


def test_rejects_are_listed_where_the_command_runs(redis, redis_url, local, tmp_path):
    sessions = many(200, sessions=10)
    source = write_old_redis(redis_url, sessions)
    for number in range(30):
        redis.set(f"memory_store:s{number}:x", b"\xff")
    target = database(redis_url, 9)
    rejects = tmp_path / "rejects.jsonl"
    options = Options(batch=7, rejects_file=str(rejects),
                      scheduler=local.scheduler_address)  # fmt: skip
    done = migrate(source, target, options)
    assert done.copy.rejects == {"not-utf8": 30}
    listed = [json.loads(line)["locator"] for line in rejects.read_text().splitlines()]
    assert len(listed) == len(set(listed)) == 30
    # None is kept in the target.
    assert "not-utf8" not in json.dumps(
        [
            value
            for values in read_plainly(target, internal=True).values()
            for value in values.values()
            if value["kind"] == "rejects"
        ]
    )


def test_too_many_rejects_stop_the_cluster(redis, redis_url, local, tmp_path):
    source = write_old_redis(redis_url, many(2_000, sessions=10))
    for number in range(200):
        redis.set(f"memory_store:s{number}:x", b"\xff")
    options = Options(batch=1, max_rejects=3, scheduler=local.scheduler_address,
                      rejects_file=str(tmp_path / "rejects"))  # fmt: skip
    target = database(redis_url, 9)
    with pytest.raises(TargetError, match="more than 3 rejects"):
        migrate(source, target, options)
    # The workers are free again, though each had much to do.
    copied = len(rows_of(target)["store"])
    time.sleep(0.5)
    assert len(rows_of(target)["store"]) == copied


def test_no_secret_is_in_what_is_sent(old, postgres_url, local, monkeypatch):
    """Names are; each worker looks into its own environment."""
    source, sessions = old
    sent = []
    from distributed import Client

    submit = Client.submit

    def spy(self, function, *arguments, **options):
        sent.append(pickle.dumps((function, arguments, options)))
        return submit(self, function, *arguments, **options)

    monkeypatch.setattr(Client, "submit", spy)
    secret = "hunter2-" + "x" * 8
    parts = postgres_url.partition("postgres@")
    login = f"{parts[0]}postgres:{secret}@{parts[2]}"
    for name, value in (("OLD", source), ("NEW", login)):
        monkeypatch.setenv(name, value)
        local_environment(local, name, value)
    options = Options(batch=50, scheduler=local.scheduler_address)
    done = migrate("env:OLD", "env:NEW", options)
    assert done.exit_code == 0
    assert sent
    assert any(b"env:NEW" in one for one in sent)
    assert not any(secret.encode() in one for one in sent)
    # The ledger and what the scheduler was told hold none, either.
    check_exact(source, postgres_url, sessions)


def test_a_worker_without_the_variable_is_told_of(
    old, postgres_url, local, monkeypatch
):
    monkeypatch.setenv("NEW_HERE", postgres_url)
    options = Options(scheduler=local.scheduler_address)
    with pytest.raises(UsageError, match=r"For a worker: .*NEW_HERE is not set"):
        migrate(old[0], "env:NEW_HERE", options)


def local_environment(cluster, name, value):
    """Set a variable of every worker, as whoever starts them does."""
    from distributed import Client

    with Client(cluster.scheduler_address, set_as_default=False) as client:
        # What is pickled is a name that every Python knows.
        client.run(exec, f"import os; os.environ[{name!r}] = {value!r}")


def test_a_password_is_refused(tmp_path):
    with pytest.raises(UsageError, match="env:NAME") as why:
        migrate("redis://:secret@127.0.0.1:1/0", "postgresql://127.0.0.1:1/x",
                Options(scheduler="tcp://127.0.0.1:1"))  # fmt: skip
    assert "secret" not in str(why.value)
    with pytest.raises(UsageError, match="env:NAME"):
        migrate("redis://127.0.0.1:1/0", "postgresql://u:secret@127.0.0.1:1/x",
                Options(scheduler="tcp://127.0.0.1:1"))  # fmt: skip


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("old.db", "postgresql://127.0.0.1:1/x"),
        ("sqlite:///old.db", "postgresql://127.0.0.1:1/x"),
        ("file:///old", "postgresql://127.0.0.1:1/x"),
        ("unix:///tmp/redis.sock", "postgresql://127.0.0.1:1/x"),
        ("redis://127.0.0.1:1/0", "new.db"),
        ("redis://127.0.0.1:1/0", "sqlite:///new.db"),
        ("env:A_FILE", "postgresql://127.0.0.1:1/x"),
    ],
)
def test_files_are_refused(source, target, monkeypatch, folder):
    monkeypatch.setenv("A_FILE", "sqlite:////somewhere/old.db")
    with pytest.raises(UsageError, match="not reach") as why:
        migrate(source, target, Options(scheduler="tcp://127.0.0.1:1"))
    assert why.value.exit_code == 2
    assert not any(folder.iterdir())


def test_a_scheduler_that_is_not_there(old, postgres_url, monkeypatch, folder):
    source, sessions = old
    monkeypatch.setattr(ours, "_WAIT_SECONDS", 0.5)
    with pytest.raises(ours.SchedulerUnavailable, match="does not answer") as why:
        migrate(source, postgres_url, Options(scheduler="tcp://127.0.0.1:1"))
    assert why.value.exit_code == 4
    assert migrate(source, postgres_url).exit_code == 0
    check_exact(source, postgres_url, sessions)


def test_the_command_says_so_in_one_sentence(old, postgres_url, folder):
    done = run_cli("migrate", old[0], "new.db", "--scheduler", "tcp://127.0.0.1:1",
                   cwd=folder)  # fmt: skip
    assert done.returncode == 2
    assert "not reach" in one_sentence(done)


def test_a_worker_of_another_version_is_refused(old, postgres_url, local, monkeypatch):
    monkeypatch.setattr("holdover.migrate.errand.VERSION", "0.0.1")
    monkeypatch.setattr("holdover.migrate.errand.Errand.version", "0.0.1")
    make = ours.Errand.of.__func__
    monkeypatch.setattr(
        "holdover.migrate.crews.Errand.of",
        lambda *arguments: made(make, arguments),
    )
    with pytest.raises(UsageError, match=r"this command is 0\.0\.1"):
        migrate(old[0], postgres_url, Options(scheduler=local.scheduler_address))


def made(make, arguments):
    from dataclasses import replace

    return replace(make(ours.Errand, *arguments), version="0.0.1")


def test_what_a_worker_kept_is_listed_by_whoever_goes_on(old, postgres_url, tmp_path):
    """The command died before it listed them."""
    from holdover.migrate.ledger import Ledger
    from holdover.migrate.sources.base import Reject
    from holdover.migrate.targets import open_target

    source, sessions = old

    class Stop(Silent):
        def advance(self, number):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        migrate(source, postgres_url, Options(batch=50), reporter=Stop())
    opened = open_target(postgres_url, writing=True)
    ledger = Ledger(opened)
    (run,) = ledger.runs()
    kept = [Reject("odd", "redis:0:\x00\ud800", "A detail.")]
    opened.write([ledger.rejects_put(run, kept)])
    opened.close()
    rejects = tmp_path / "rejects.jsonl"
    migrate(source, postgres_url, Options(rejects_file=str(rejects)))
    (line,) = rejects.read_text().splitlines()
    assert json.loads(line)["reason"] == "odd"
    check_exact(source, postgres_url, sessions)


def test_errors_have_codes():
    assert issubclass(ours.SchedulerUnavailable, MigrateError)
    assert ours.LeaseLost.exit_code == 4
