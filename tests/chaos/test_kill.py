"""Killed at any moment and run again: every record exactly once.

`HOLDOVER_CHAOS_RUNS` says how many random moments are tried for each target.
"""

from __future__ import annotations

import json
import os
import random
import time
from pathlib import Path

import pytest
from moving import (
    dumped_keys,
    is_postgres,
    is_redis,
    many,
    path_of,
    plain_store,
    read_plainly,
    read_summaries,
    redis_items,
    restore_keys,
    rows_of,
    summaries_of,
    write_old_file,
    write_old_redis,
)

from holdover.migrate.options import Options
from holdover.migrate.rollback import rollback
from holdover.migrate.run import migrate
from holdover.migrate.status import status
from holdover.migrate.verify import verify

RUNS = int(os.environ.get("HOLDOVER_CHAOS_RUNS", "5"))
BATCH = 15
ROWS = 3_000


def check_finished(source, target, sessions):
    """Everything is there once, and another run touches no row."""
    items = read_plainly(target)
    assert summaries_of(items) == {
        ("memory_store", session): entities for session, entities in sessions.items()
    }
    (run,) = status(target)
    assert (run.state, run.rejects) == ("done", 0)
    internal = read_plainly(target, internal=True)
    # Nothing was written twice: no item has a history, no lease is left.
    assert {namespace[1] for namespace, held in internal.items() if held} == {"runs"}
    assert not internal.get(("~holdover", "runs", "leases"))
    runs = {
        value["meta"]["source"]["run"]
        for values in items.values()
        for value in values.values()
    }
    assert runs == {run.run}
    state = rows_of(target)
    again = migrate(source, target)
    assert again.exit_code == 0
    assert again.copy.written == 0
    assert rows_of(target) == state
    checked = verify(source, target)
    assert (checked.equal, checked.clean) == (sum(map(len, sessions.values())), True)
    assert rows_of(target) == state


def moments(request, statements):
    """Every statement; in a cluster, where each takes long, some of them."""
    every = range(1, statements + 1)
    if "cluster" not in request.node.name or statements <= RUNS:
        return every
    return sorted(random.Random(RUNS).sample(every, RUNS))


def copied_so_far(target):
    if not rows_of(target).get("store"):
        return 0
    return sum(map(len, read_summaries(target).values()))


@pytest.mark.parametrize("end", ["file", "redis"])
def test_killed_at_a_random_moment(target, emptied, doomed, tmp_path, request, end):
    # A cluster's batch goes to several servers.
    count = ROWS // 5 if "cluster" in request.node.name else ROWS
    sessions = many(count, sessions=20)
    if end == "file":
        source = write_old_file(tmp_path / "entities.db", sessions)
    else:
        url = request.getfixturevalue("redis_url")
        source = write_old_redis(url, sessions)
    assert doomed.run("migrate", source, target, batch=BATCH) == 0
    check_finished(source, target, sessions)
    emptied()
    began = time.monotonic()
    assert doomed.run("migrate", source, target, batch=BATCH) == 0
    whole = time.monotonic() - began

    random.seed(RUNS)
    inside = 0
    # Redis as the target is killed as often, less often from each kind of source.
    few = end == "redis" or is_redis(target)
    rounds = max(3, RUNS // 5) if few else RUNS
    for number in range(rounds):
        emptied()
        for _ in range(1 + number % 3):
            moment = random.uniform(0, 1.05 * whole)
            code = doomed.run("migrate", source, target, kill_after=moment, batch=BATCH)
            assert code in (0, -9)
        inside += 0 < copied_so_far(target) < count
        done = migrate(source, target, Options(batch=BATCH))
        assert done.exit_code == 0
        check_finished(source, target, sessions)
    # The moments were not all before or all after the copy.
    assert inside or rounds < 10


def test_killed_before_every_statement(target, emptied, doomed, tmp_path, request):
    """The first set-up included: nothing but a rerun is needed."""
    sessions = many(12, sessions=2)
    source = write_old_file(tmp_path / "entities.db", sessions)
    assert doomed.run("migrate", source, target, crash_at=0, batch=5) == 0
    statements = doomed.sent()
    assert statements > 30
    for number, at in enumerate(moments(request, statements)):
        emptied()
        code = doomed.run("migrate", source, target, crash_at=at, batch=5)
        assert code == 9, f"statement {at}"
        again = migrate(source, target, Options(batch=5))
        assert again.exit_code == 0, f"statement {at}"
        assert read_summaries(target) == {
            ("memory_store", session): entities
            for session, entities in sessions.items()
        }, f"statement {at}"
        if number % 8 == 7:
            check_finished(source, target, sessions)


def test_killed_in_a_second_pass(target, doomed, tmp_path, request):
    """What came since the first copy is not passed over by a resumed second one."""
    path = tmp_path / "entities.db"
    sessions = many(40, sessions=4)
    source = write_old_file(path, sessions)
    assert migrate(source, target, Options(batch=5)).exit_code == 0
    grown = {session: dict(entities) for session, entities in sessions.items()}
    # In a cluster, where each round takes long, every fourth of the moments.
    every = 4 if "cluster" in request.node.name and RUNS < 25 else 1
    for round_ in range(0, 25, every):
        for session, entities in grown.items():
            entities[f"later {round_}"] = f"{session} {round_}"
        write_old_file(path, grown)
        code = doomed.run("migrate", source, target, crash_at=20 + 3 * round_, batch=5)
        assert code in (0, 9)
        done = migrate(source, target, Options(batch=5))
        assert done.exit_code == 0
        assert done.verify.equal == sum(map(len, grown.values()))
    check_finished(source, target, grown)


FOREIGN = {"z": 1.0, "a": [2.5, {"y": None}], "text": "by an agent"}
NAMESPACE = ("memory_store", "s", "entities")


def prepare(source, target):
    with plain_store(target) as store:
        store.setup()
        store.put(NAMESPACE, "Taken", FOREIGN, index=False)
        store.put(NAMESPACE, "Other", {"content": "stays"}, index=False)
    values = values_of(target)
    done = migrate(source, target, Options(on_conflict="overwrite", batch=4))
    assert done.exit_code == 0
    assert values_of(target) != values
    return values


def values_of(target):
    """Namespace, key and value of every row as stored: their bytes, or their JSON."""
    if is_postgres(target):
        import psycopg

        with psycopg.connect(target) as db:
            return db.execute(
                "SELECT prefix, key, value::text FROM store ORDER BY 1, 2"
            ).fetchall()
    if is_redis(target):
        return [(*place, item[3]) for place, item in redis_items(target).items()]
    return [row[:3] for row in rows_of(target)["store"]]


class Saved:
    """The state of a target, to be put back as it was."""

    def __init__(self, target):
        self.target = target
        if is_postgres(target):
            self._execute(
                "CREATE SCHEMA saved", "CREATE TABLE saved.store AS TABLE store"
            )
        elif is_redis(target):
            self.keys = dumped_keys(target)
        else:
            self.bytes = Path(path_of(target)).read_bytes()

    def put_back(self):
        if is_postgres(self.target):
            self._execute(
                "TRUNCATE store", "INSERT INTO store SELECT * FROM saved.store"
            )
        elif is_redis(self.target):
            restore_keys(self.target, self.keys)
        else:
            for suffix in ("-wal", "-shm"):
                Path(path_of(self.target) + suffix).unlink(missing_ok=True)
            Path(path_of(self.target)).write_bytes(self.bytes)

    def _execute(self, *statements):
        import psycopg

        with psycopg.connect(self.target) as db:
            for statement in statements:
                db.execute(statement)


def test_a_rollback_killed_before_every_statement(target, doomed, tmp_path, request):
    entities = {name: f"ours {name}" for name in ("Taken", "A", "B", "C", "D", "E")}
    source = write_old_file(tmp_path / "entities.db", {"s": entities})
    before = prepare(source, target)
    saved = Saved(target)
    assert doomed.run("rollback", source, target, crash_at=0) == 0
    assert values_of(target) == before
    statements = doomed.sent()
    assert statements > 15
    for at in moments(request, statements):
        saved.put_back()
        assert doomed.run("rollback", source, target, crash_at=at) == 9
        if status(target):
            rollback(target)
        assert values_of(target) == before, f"statement {at}"
        assert status(target) == []


def test_a_rejects_file_is_whole_after_a_kill(doomed, tmp_path, folder):
    """What cannot be moved is never passed over unlisted."""
    import sqlite3
    from contextlib import closing

    sessions = many(40, sessions=4)
    source = write_old_file(tmp_path / "entities.db", sessions)
    with closing(sqlite3.connect(source)) as db, db:
        for session in sessions:
            db.execute(f'INSERT INTO "memory_store_{session}" VALUES (NULL, ?)', ("x",))
    target = f"sqlite:///{tmp_path / 'memory.db'}"
    rejects = folder / "rejects.jsonl"
    for at in range(20, 120, 7):
        code = doomed.run("migrate", source, target, crash_at=at, batch=5,
                          rejects_file=str(rejects))  # fmt: skip
        if code != 9:
            break
    done = migrate(source, target, Options(batch=5, rejects_file=str(rejects)))
    assert done.copy.rejects == {"null-key": 4}
    listed = [json.loads(line) for line in rejects.read_text("utf-8").splitlines()]
    assert {line["locator"].partition("#rowid")[0] for line in listed} == {
        f"sqlite:entities.db#memory_store_{session}" for session in sessions
    }
