"""Measure what DESIGN promises, side by side in one run; prints ratios.

    python benchmarks/run.py [--items N] [--only sqlite,redis,…] [--full]

Each ratio compares two things that ran one after the other, several times in turn;
the medians are compared. Absolute figures depend on the machine.
"""

from __future__ import annotations

import argparse
import logging
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]

import data
import raw
import scale
from codemod import codemod
from conversations import conversations
from entity_turn import entity_turn
from plain_redis import plain_redis
from shim import shim

ROUNDS = 3
Row = tuple[str, str, str, str, str]


class Clock:
    """A reporter that notes when the verify of a migrate began."""

    def begin(self, phase: str, total: int, done: int = 0) -> None:
        self.verifying = time.perf_counter()

    def advance(self, number: int) -> None:
        pass

    def end(self) -> None:
        self.ended = time.perf_counter()


def timed(work: Callable[[], object]) -> float:
    """Seconds that something takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def in_turn(*works: Callable[[], object], rounds: int = ROUNDS) -> list[float]:
    """Median seconds of each, run in turn so that all meet the same noise."""
    times: list[list[float]] = [[] for _ in works]
    for _ in range(rounds):
        for at, work in enumerate(works):
            times[at].append(timed(work))
    return [statistics.median(one) for one in times]


def per_item(seconds: float, items: int) -> str:
    """Microseconds an item."""
    return f"{seconds / items * 1e6:.1f} µs"


def verdict(ratio: float, limit: float) -> str:
    """Whether the target is met."""
    return "met" if ratio <= limit else "MISSED"


def verify_row(copy: float, check: float, items: int) -> Row:
    """How long a full verify takes, against the copy before it."""
    return (
        "full verify of it, against the copy",
        per_item(check, items),
        f"{check / copy:.2f}× the copy",
        "≤ 1×",
        verdict(check / copy, 1),
    )


def sqlite_copy(items: int, folder: Path) -> Iterator[Row]:
    """SQLite entities into a SQLite store, and the verify of it."""
    from holdover.migrate.run import migrate

    source = folder / "old.db"
    data.make_sqlite(source, items, 200)
    numbers = iter(range(10_000))

    def fresh() -> Path:
        return folder / f"target{next(numbers)}.db"

    copies, checks = [], []

    def ours() -> None:
        clock = Clock()
        began = time.perf_counter()
        report = migrate(str(source), str(fresh()), reporter=clock)
        assert report.verify is not None
        assert report.verify.equal == items, report
        copies.append(clock.verifying - began)
        checks.append(clock.ended - clock.verifying)

    naked, _ = in_turn(lambda: raw.sqlite_to_sqlite(source, fresh()), ours)
    copy, check = statistics.median(copies), statistics.median(checks)
    yield (
        f"SQLite → SQLite store, {items:,} items, without verify",
        per_item(copy, items),
        f"{copy / naked:.2f}× raw ({per_item(naked, items)})",
        "≤ 3×",
        verdict(copy / naked, 3),
    )
    yield verify_row(copy, check, items)


def redis_copy(items: int, folder: Path) -> Iterator[Row]:
    """Redis entities into a PostgreSQL store."""
    import psycopg
    import redis
    from tests import servers

    from holdover.compat.stores import open_store
    from holdover.migrate.run import migrate

    with servers.redis() as url, servers.postgres() as dsn:
        client = redis.Redis.from_url(url, protocol=2)
        data.fill_redis(client, items, 200)
        open_store(dsn)

        def empty() -> None:
            with psycopg.connect(dsn, autocommit=True) as conn:
                conn.execute("TRUNCATE store")

        def naked() -> None:
            raw.redis_to_postgres(client, dsn)

        copies, checks, nakeds = [], [], []
        for _ in range(ROUNDS):
            empty()
            nakeds.append(timed(naked))
            empty()
            clock = Clock()
            began = time.perf_counter()
            report = migrate(url, dsn, reporter=clock)
            assert report.verify is not None
            assert report.verify.equal == items, report
            copies.append(clock.verifying - began)
            checks.append(clock.ended - clock.verifying)
        base, copy = statistics.median(nakeds), statistics.median(copies)
        check = statistics.median(checks)
        yield (
            f"Redis → PostgreSQL store, {items:,} items, without verify",
            per_item(copy, items),
            f"{copy / base:.2f}× raw ({per_item(base, items)})",
            "≤ 2.5×",
            verdict(copy / base, 2.5),
        )
        yield verify_row(copy, check, items)
        client.flushdb()
        few = max(1, items // 20)
        data.fill_redis(client, few, 10)
        empty()
        slow = timed(lambda: raw.naive_redis_to_postgres(client, dsn)) / few
        yield (
            f"the naive loop of get and put ({few:,} items), against it",
            per_item(slow * few, few),
            f"{slow / (copy / items):.1f}× slower than ours",
            "≥ 8×",
            verdict(8, slow / (copy / items)),
        )


_PEAK = """
import re, sys
from holdover.migrate.run import migrate
report = migrate(sys.argv[1], sys.argv[2])
assert report.exit_code == 0, report
# Not ru_maxrss, which a child inherits from its parent.
print(int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) // 1024)
"""


def memory(items: int, folder: Path) -> Iterator[Row]:
    """Peak memory of a whole migrate, at a tenth and at five times the items."""
    peaks = {}
    for size in (items // 2, items * 5):
        source = folder / f"memory{size}.db"
        data.make_sqlite(source, size, 1_000)
        command = [sys.executable, "-c", _PEAK, str(source), f"{source}.target"]
        out = subprocess.run(command, check=True, capture_output=True, text=True)
        peaks[size] = int(out.stdout)
        source.unlink()
        Path(f"{source}.target").unlink()
    small, large = peaks.values()
    yield (
        f"peak memory, {items * 5:,} items",
        f"{large} MB",
        f"{large / small:.2f}× that of {items // 2:,} items ({small} MB)",
        "≤ 200 MB, flat",
        "met" if large <= 200 and large / small < 1.1 else "MISSED",
    )


def entity_store(items: int, folder: Path) -> Iterator[Row]:
    """`get` and `set` of the entity store, against classic's own class."""
    from langchain_classic.memory.entity import SQLiteEntityStore as Classic

    from holdover.compat import SQLiteEntityStore as Ours
    from holdover.migrate.run import migrate

    logging.getLogger("holdover.compat").setLevel(logging.ERROR)
    warnings.simplefilter("ignore")

    def gets(one) -> Callable[[], object]:
        return lambda: [one.get(f"k{n % 50}") for n in range(5_000)]

    def sets(one) -> Callable[[], object]:
        return lambda: [
            one.set(f"k{n % 50}", f"{time.perf_counter_ns()} {data.summary(n)}")
            for n in range(500)
        ]

    for mode in ("delete", "wal"):
        # Files as the classic class leaves them keep their rollback journal.
        files = [folder / f"{who}-{mode}.db" for who in ("classic", "ours")]
        for file in files:
            Classic("s", db_file=str(file)).conn.execute(f"PRAGMA journal_mode={mode}")
        classic = Classic("s", db_file=str(files[0]))
        ours = Ours("s", db_file=str(files[1]), legacy="off")
        if mode == "wal":
            classic.conn.execute("PRAGMA synchronous=NORMAL")
        for one in (classic, ours):
            for n in range(50):
                one.set(f"k{n}", data.summary(n))
        for name, work, count, limit in (
            ("get", gets, 5_000, 1.5),
            ("set", sets, 500, 3),
        ):
            base, mine = in_turn(work(classic), work(ours), rounds=5)
            yield (
                f"SQLiteEntityStore.{name}, one session, journal_mode={mode}",
                per_item(mine, count),
                f"{mine / base:.2f}× classic ({per_item(base, count)})",
                f"≤ {limit}×",
                verdict(mine / base, limit),
            )

    sessions = 10_000
    old, new = folder / "many.db", folder / "moved.db"
    data.make_sqlite(old, sessions * 4, sessions)
    migrate(str(old), str(new))

    def classic_request() -> None:
        one = Classic("user000000", db_file=str(old))
        one.get("Entity 0000001")
        one.conn.close()

    def our_request() -> None:
        Ours("user000000", db_file=str(new), legacy="off").get("Entity 0000001")

    base, mine = in_turn(
        lambda: [classic_request() for _ in range(20)],
        lambda: [our_request() for _ in range(20)],
    )
    # Opening a file parses every table of its schema: what each request pays.
    yield (
        f"a request (construct and get), {sessions:,} sessions",
        per_item(mine, 20),
        f"{mine / base:.4f}× classic ({per_item(base, 20)})",
        "< 1×",
        verdict(mine / base, 1),
    )


def start_up(items: int, folder: Path) -> Iterator[Row]:
    """What importing and asking for help cost."""

    def python(code: str) -> Callable[[], object]:
        return lambda: subprocess.run([sys.executable, "-c", code], check=True)

    base, mine = in_turn(
        python("import langchain_core.messages"),
        python("import langchain_core.messages, holdover.compat"),
        rounds=7,
    )
    extra = (mine - base) * 1000
    yield (
        "import holdover.compat, over langchain_core.messages",
        f"{extra:.0f} ms",
        f"{mine / base:.2f}×",
        "≤ 50 ms",
        verdict(extra, 50),
    )
    (help_,) = in_turn(
        lambda: subprocess.run(
            [Path(sys.executable).with_name("holdover"), "--help"],
            check=True,
            capture_output=True,
        ),
        rounds=7,
    )
    yield (
        "holdover --help",
        f"{help_ * 1000:.0f} ms",
        "",
        "< 333 ms",
        verdict(help_, 1 / 3),
    )


GROUPS = {
    "sqlite": sqlite_copy,
    "redis": redis_copy,
    "memory": memory,
    "entities": entity_store,
    "start": start_up,
    "plain-redis": plain_redis,
    "conversations": conversations,
    "entity-turn": entity_turn,
    "shim": shim,
    "codemod": codemod,
    "history": scale.history,
    "redis-scale": scale.redis_scale,
    "resume": scale.resume,
    "workers": scale.workers,
    "dask": scale.dask,
}
ITEMS = 200_000
#: Those that are asked about a million (`--full`), and take less by default.
LARGE = {
    "history": 50_000,
    "redis-scale": 50_000,
    "resume": 50_000,
    "workers": 50_000,
    "dask": 50_000,
}
FULL = 1_000_000


def main() -> None:
    """Run the groups and print one table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--items", type=int)
    parser.add_argument(
        "--full", action="store_true", help="a million for the large ones"
    )
    parser.add_argument("--only", default=",".join(GROUPS))
    arguments = parser.parse_args()
    print("| what | ours | ratio | target | |\n|---|---|---|---|---|")
    for name in arguments.only.split(","):
        with tempfile.TemporaryDirectory(prefix="holdover-bench-") as folder:
            items = FULL if arguments.full and name in LARGE else arguments.items
            items = items or LARGE.get(name, ITEMS)
            for row in GROUPS[name](items, Path(folder)):
                print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()
