"""Every source, every target, one process and several: killed, run again, exact.

`HOLDOVER_CHAOS_RUNS` is how many kills there are in all.
"""

from __future__ import annotations

import os
import random
import signal
import time
from contextlib import suppress
from pathlib import Path

import old_sources
import pytest
from moving import database, empty_redis, normal, read_plainly, rows_of

from holdover.migrate.options import Options
from holdover.migrate.run import migrate
from holdover.migrate.status import status

KILLS = int(os.environ.get("HOLDOVER_CHAOS_RUNS", "6"))
TARGETS = ("sqlite", "postgres", "redis")
EACH = -(-KILLS // len(TARGETS))
BATCH = 15


@pytest.fixture(autouse=True)
def divided(monkeypatch):
    """As `old_sources.divide_what_is_small`, for one test."""
    from holdover.migrate.sources import redis, redis_lists, sql, sqlite

    for module, name in (
        (sqlite, "_PARTITION_BYTES"),
        (sql, "_PARTITION_ROWS"),
        (redis, "_WORTH_DIVIDING"),
        (redis_lists, "_WORTH_DIVIDING"),
    ):
        monkeypatch.setattr(module, name, getattr(module, name))
    old_sources.divide_what_is_small()


@pytest.fixture
def servers(postgres_server, redis_url):
    """`servers("postgres")`: the address of something empty to read from."""
    from uuid import uuid4

    import psycopg
    import servers as real

    made = []

    def address(kind):
        if kind == "redis":
            empty_redis(redis_url)
            return redis_url
        made.append(f"old_{uuid4().hex}")
        with psycopg.connect(postgres_server, autocommit=True) as db:
            db.execute(f'CREATE DATABASE "{made[-1]}"')
        return real.with_database(postgres_server, made[-1])

    yield address
    with psycopg.connect(postgres_server, autocommit=True) as db:
        for name in made:
            db.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


@pytest.fixture
def address(request, tmp_path):
    """The target: of each kind, whatever is empty."""
    kind = request.param
    if kind == "postgres":
        return request.getfixturevalue("postgres_url")
    if kind == "redis":
        return database(request.getfixturevalue("redis_url"), 9)
    return f"sqlite:///{tmp_path / 'memory.db'}"


@pytest.fixture
def target(address):
    """What `emptied` empties."""
    return address


def check_exact(source, target, truth):
    """Equal to an undisturbed run; recorded as done; a rerun touches nothing."""
    assert normal(read_plainly(target)) == truth
    (run,) = status(target)
    assert run.state == "done"
    internal = read_plainly(target, internal=True)
    # Nothing was written twice: no item has a history, no lease is left.
    kinds = {namespace[1] for namespace, held in internal.items() if held}
    assert kinds <= {"runs", "labels"}
    assert not internal.get(("~holdover", "runs", "leases"))
    state = rows_of(target)
    again = migrate(source, target, Options(batch=BATCH))
    assert again.copy.written == 0
    assert rows_of(target) == state


def kill_one(pid, wanted):
    """Kill the command, or one of its workers if there are some."""
    pids = [pid]
    if wanted == "worker":
        with suppress(OSError):
            children = Path(f"/proc/{pid}/task/{pid}/children").read_text("utf-8")
            pids = list(map(int, children.split())) or pids
    with suppress(ProcessLookupError):
        os.kill(random.choice(pids), signal.SIGKILL)


@pytest.mark.parametrize("address", TARGETS, indirect=True)
def test_killed_anywhere(address, emptied, doomed, tmp_path, servers):
    chosen = random.Random(f"{address[:5]} {KILLS}")
    random.seed(chosen.random())
    order = []
    landed = []
    while sum(kills for *_, kills in order) < EACH:
        names = [one[0] for one in order]
        left = [name for name in old_sources.SOURCES if name not in names]
        name = chosen.choice(left or list(old_sources.SOURCES))
        # In the large, some kills of each, so that a source is not made for one.
        few = min(max(1, EACH // 20), EACH - sum(kills for *_, kills in order))
        order.append((name, chosen.choice([1, 2]), few))
    for number, (name, workers, kills) in enumerate(order):
        folder = tmp_path / f"{number}"
        folder.mkdir()
        source = old_sources.SOURCES[name](folder, servers)
        emptied()
        options = {"batch": BATCH, "workers": workers}
        began = time.monotonic()
        first = doomed.run("migrate", source, address, **options)
        whole = time.monotonic() - began
        truth = normal(read_plainly(address))
        # 1: some of the corpus is rejected, then as now.
        assert first in (0, 1), (name, first)
        assert truth, name
        for _ in range(kills):
            emptied()
            moment = chosen.uniform(0, 1.05 * whole)
            whom = chosen.choice(["command", "worker"])
            code = doomed.run(
                "migrate", source, address, kill_after=moment,
                kill=lambda pid, whom=whom: kill_one(pid, whom), **options,
            )  # fmt: skip
            assert code in (first, -9), (name, workers)
            landed.append(code)
            done = migrate(source, address, Options(batch=BATCH, workers=workers))
            assert done.exit_code == first, (name, workers, done)
            check_exact(source, address, truth)
    # The moments were not all behind the end.
    assert -9 in landed or len(landed) < 10
