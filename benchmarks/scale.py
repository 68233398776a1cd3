"""Large migrations: a history in PostgreSQL, entities in Redis; several processes.

What is measured runs in processes of its own, so that its memory is its own; a row
compares things that ran one after the other.
"""

from __future__ import annotations

import json
import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

import data
import raw

SESSIONS = 1_000
ROUNDS = 3
Row = tuple[str, str, str, str, str]

_MIGRATE = """
import json, re, sys, time
from holdover.migrate.options import Options
from holdover.migrate.run import migrate

class Clock:
    begun = {}
    def begin(self, phase, total, done=0):
        self.begun[phase] = time.perf_counter()
        print(json.dumps({"phase": phase}), flush=True)
    def advance(self, number): pass
    def end(self): self.ended = time.perf_counter()

source, target, options = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
if (few := options.pop("divided", 0)):
    # Less than a million is divided as a million is.
    from holdover.migrate.sources import sql, sqlite
    sql._PARTITION_ROWS = min(sql._PARTITION_ROWS, few // 4 + 1)
    sqlite._PARTITION_BYTES = min(sqlite._PARTITION_BYTES, few * 50)
clock, began = Clock(), time.perf_counter()
report = migrate(source, target, Options(**options), reporter=clock)
assert report.exit_code == 0, report
status = open("/proc/self/status").read()
print(json.dumps({
    "copy": clock.begun["verifying"] - began,
    "verify": clock.ended - clock.begun["verifying"],
    "equal": report.verify.equal,
    # Not ru_maxrss, which a child inherits from its parent.
    "peak": int(re.search(r"VmHWM:\\s+(\\d+)", status)[1]) // 1024,
}), flush=True)
"""


class Measured:
    """A migrate in a process of its own."""

    def __init__(self, source: str, target: str, **options: object) -> None:
        command = [sys.executable, "-c", _MIGRATE, source, target]
        self.began = time.perf_counter()
        self.process = subprocess.Popen(
            [*command, json.dumps(options)], stdout=subprocess.PIPE, text=True
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()

    def wait_for(self, phase: str) -> None:
        """Until it has begun."""
        for line in self.process.stdout:
            if json.loads(line).get("phase") == phase:
                return
        raise AssertionError(f"it never began {phase}")

    def result(self) -> dict:
        """Seconds of copy and verify, and peak memory in MB."""
        out, _ = self.process.communicate()
        assert self.process.returncode == 0
        return json.loads(out.splitlines()[-1])


def measured(source: str, target: str, **options: object) -> dict:
    """Carry out a migrate and say what it took."""
    with Measured(source, target, **options) as one:
        return one.result()


def timed(work: Callable[[], object]) -> float:
    """Seconds that something takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def per_item(seconds: float, items: int) -> str:
    """Microseconds an item."""
    return f"{seconds / items * 1e6:.1f} µs"


def rounds(items: int) -> int:
    """One of a million is enough."""
    return ROUNDS if items <= 200_000 else 1


def rows_of(
    name: str, items: int, runs: list[dict], nakeds: list[float], limit: float
) -> Iterator[Row]:
    """The rows that every path has."""
    copy = statistics.median(one["copy"] for one in runs)
    check = statistics.median(one["verify"] for one in runs)
    base = statistics.median(nakeds)
    yield (
        f"{name}, {items:,} items, without verify",
        per_item(copy, items),
        f"{copy / base:.2f}× raw ({per_item(base, items)})",
        f"≤ {limit}×",
        "met" if copy / base <= limit else "MISSED",
    )
    yield (
        "full verify of it, against the copy",
        per_item(check, items),
        f"{check / copy:.2f}× the copy",
        "≤ 1×",
        "met" if check <= copy else "MISSED",
    )


def memory_row(name: str, items: int, large: int, few: int, small: int) -> Row:
    """Peak memory of many and of a tenth."""
    return (
        f"peak memory of it, {items:,} items",
        f"{large} MB",
        f"{large / small:.2f}× that of {few:,} items ({small} MB)",
        "≤ 200 MB, flat",
        "met" if large <= 200 and large / small < 1.1 else "MISSED",
    )


@contextmanager
def databases() -> Iterator[tuple[str, str, Callable[[], None]]]:
    """A database to read, another one to write, and what empties that."""
    import psycopg
    from tests import servers

    from holdover.compat.stores import open_store

    with servers.postgres() as source:
        target = servers.with_database(source, "target")
        with psycopg.connect(source, autocommit=True) as conn:
            conn.execute("CREATE DATABASE target")
        open_store(target)

        def empty() -> None:
            with psycopg.connect(target, autocommit=True) as conn:
                conn.execute("TRUNCATE store")

        yield source, target, empty


def history(items: int, folder: Path) -> Iterator[Row]:
    """A history in PostgreSQL into both SQL stores."""
    from langgraph.store.postgres import PostgresStore

    with databases() as (source, target, empty):
        numbers = iter(range(1_000))

        def fresh() -> str:
            return str(folder / f"target{next(numbers)}.db")

        data.fill_history(source, items // 10, SESSIONS)
        small_file = measured(source, fresh())["peak"]
        small = measured(source, target)["peak"]
        data.fill_history(source, items, SESSIONS)
        runs, nakeds = [], []
        for _ in range(rounds(items)):
            nakeds.append(timed(lambda: raw.history_to_sqlite(source, Path(fresh()))))
            runs.append(measured(source, fresh()))
            for file in folder.glob("target*"):
                file.unlink()
        name = "PostgreSQL history → SQLite store"
        yield from rows_of(name, items, runs, nakeds, 3)
        yield memory_row(name, items, runs[0]["peak"], items // 10, small_file)
        runs, nakeds = [], []
        for _ in range(rounds(items)):
            empty()
            nakeds.append(timed(lambda: raw.history_to_postgres(source, target)))
            empty()
            runs.append(measured(source, target))
        name = "PostgreSQL history → PostgreSQL store"
        yield from rows_of(name, items, runs, nakeds, 2.5)
        yield memory_row(name, items, runs[0]["peak"], items // 10, small)
        copy = runs[0]["copy"] / items
        empty()
        data.fill_history(source, few := min(items, 10_000), 100)
        with PostgresStore.from_conn_string(target) as store:
            slow = timed(lambda: raw.naive_history(source, store, 100)) / few
        yield (
            f"the naive loop of the classic class and put ({few:,} items), against it",
            per_item(slow * few, few),
            f"{slow / copy:.1f}× slower than ours",
            "",
            "",
        )


def redis_scale(items: int, folder: Path) -> Iterator[Row]:
    """Entities in Redis into PostgreSQL."""
    import redis
    from tests import servers

    with servers.redis() as url, databases() as (_, target, empty):
        client = redis.Redis.from_url(url, protocol=2)
        data.fill_redis(client, items // 10, SESSIONS)
        small = measured(url, target)["peak"]
        client.flushdb()
        data.fill_redis(client, items, SESSIONS)
        runs, nakeds = [], []
        for _ in range(rounds(items)):
            empty()
            nakeds.append(timed(lambda: raw.redis_to_postgres(client, target)))
            empty()
            runs.append(measured(url, target))
        name = "Redis entities → PostgreSQL store"
        yield from rows_of(name, items, runs, nakeds, 2.5)
        yield memory_row(name, items, runs[0]["peak"], items // 10, small)


def resumed(source: str, target: str, whole: float) -> tuple[float, float, int]:
    """Kill a copy half-way, carry on: seconds of both, and what was there between."""
    with Measured(source, target) as one:
        one.wait_for("copying")
        time.sleep(max(0.0, whole / 2 - (time.perf_counter() - one.began)))
        os.kill(one.process.pid, signal.SIGKILL)
        one.process.wait()
        first = time.perf_counter() - one.began
    began = time.perf_counter()
    second = measured(source, target)
    return first, time.perf_counter() - began - second["verify"], second["equal"]


def resume(items: int, folder: Path) -> Iterator[Row]:
    """What a kill in the middle costs."""
    import redis
    from tests import servers

    with servers.redis() as url, databases() as (source, target, empty):
        data.fill_history(source, items, SESSIONS)
        data.fill_redis(redis.Redis.from_url(url, protocol=2), items, SESSIONS)
        for name, old in (
            ("PostgreSQL history → PostgreSQL store", source),
            ("Redis entities → PostgreSQL store", url),
        ):
            empty()
            began = time.perf_counter()
            whole = measured(old, target)
            whole_seconds = time.perf_counter() - began - whole["verify"]
            empty()
            first, second, equal = resumed(old, target, whole_seconds)
            assert equal == items
            extra = first + second - whole_seconds
            yield (
                f"{name}, {items:,} items: killed half-way and run again",
                f"{first + second:.1f} s",
                (
                    f"{extra / whole_seconds:+.0%} of an undisturbed copy "
                    f"({whole_seconds:.1f} s)"
                ),
                "",
                "",
            )


def workers(items: int, folder: Path) -> Iterator[Row]:
    """`--workers 2` against 1."""
    import redis
    from tests import servers

    with servers.redis() as url, databases() as (source, target, empty):
        data.fill_history(source, items, SESSIONS)
        data.fill_redis(redis.Redis.from_url(url, protocol=2), items, SESSIONS)
        entities = folder / "entities.db"
        data.make_sqlite(entities, items, SESSIONS)
        files = iter(range(1_000))
        for name, old, new in (
            ("PostgreSQL history → PostgreSQL store", source, target),
            ("PostgreSQL history → SQLite store", source, None),
            ("Redis entities → PostgreSQL store", url, target),
            ("SQLite entities → PostgreSQL store", str(entities), target),
        ):
            seconds: dict[int, list[float]] = {1: [], 2: []}
            for _ in range(rounds(items)):
                for number, found in seconds.items():
                    empty()
                    place = new or str(folder / f"workers{next(files)}.db")
                    one = measured(old, place, workers=number, divided=items)
                    found.append(one["copy"])
                    for file in folder.glob("workers*"):
                        file.unlink()
            alone, two = (statistics.median(found) for found in seconds.values())
            yield (
                f"{name}, {items:,} items: --workers 2 against 1",
                per_item(two, items),
                f"{alone / two:.2f}× as fast ({per_item(alone, items)})",
                "",
                "",
            )


def dask(items: int, folder: Path) -> Iterator[Row]:
    """A cluster of two local processes against none, item for item."""
    import psycopg
    from distributed import LocalCluster

    with databases() as (source, target, empty):
        data.fill_history(source, items, SESSIONS)

        def held() -> list[tuple]:
            # All but what no two runs share: its id, and when it was.
            with psycopg.connect(target) as conn:
                return conn.execute(
                    "SELECT count(*), sum(('x' || md5(prefix || key || "
                    "((value - 'meta')::text) || (value->'meta'->>'hash') || "
                    "(value->'meta'->'source'->>'locator')))::bit(64)::bigint::numeric)"
                    " FROM store WHERE prefix NOT LIKE '~holdover.%'"
                ).fetchall()

        empty()
        alone = measured(source, target, divided=items)["copy"]
        plain = held()
        empty()
        with LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=60
        ) as cluster:
            address = cluster.scheduler_address
            shared = measured(source, target, scheduler=address, divided=items)
        same = held() == plain
        yield (
            (
                f"PostgreSQL history → PostgreSQL store, {items:,} items: "
                "a Dask LocalCluster of 2, against none"
            ),
            per_item(shared["copy"], items),
            (
                f"{alone / shared['copy']:.2f}× as fast ({per_item(alone, items)}); "
                f"{plain[0][0]:,} items, each {'the same' if same else 'NOT THE SAME'}"
            ),
            "the same items",
            "met" if same else "MISSED",
        )
