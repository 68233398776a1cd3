"""What a migrated item costs, and where: the figures of `docs/sizing.md`.

    python docs/measure/sizing.py [--items 200000]

Processor time is counted, not time that passed: it hardly depends on what else the
machine does. Servers are the ones of the tests; source and target are two of them.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT)]

import data  # noqa: E402
import psycopg  # noqa: E402
import redis  # noqa: E402
from tests import servers  # noqa: E402

from holdover.compat.stores import open_store  # noqa: E402
from holdover.migrate.options import Options  # noqa: E402
from holdover.migrate.run import migrate  # noqa: E402

SESSIONS = 1_000
_TICKS = os.sysconf("SC_CLK_TCK")


class Phases:
    """A reporter that reads clocks when a phase begins and at the end."""

    def __init__(self, read: Callable[[], list[float]]) -> None:
        self._read = read
        self.at: dict[str, list[float]] = {}

    def begin(self, phase: str, *_: int) -> None:
        self.at[phase] = self._read()

    def advance(self, _: int) -> None:
        pass

    def end(self) -> None:
        self.at["end"] = self._read()


class Postgres:
    """A server of its own."""

    def __init__(self, url: str) -> None:
        self.url = url
        with psycopg.connect(url) as conn:
            (folder,) = conn.execute("SHOW data_directory").fetchone()
        self._pid = int((Path(folder) / "postmaster.pid").read_text().split()[0])

    def cpu(self) -> float:
        """Seconds of all its processes, also of those that ended."""
        total = sum(_times(self._pid))
        children = Path(f"/proc/{self._pid}/task/{self._pid}/children").read_text()
        return total + sum(sum(_times(int(child))[:2]) for child in children.split())

    def bytes(self) -> tuple[int, int]:
        """Of the store with its indexes, and of the log so far."""
        with psycopg.connect(self.url) as conn:
            return conn.execute(
                "SELECT coalesce(pg_total_relation_size(to_regclass('store')), 0), "
                "pg_current_wal_lsn() - '0/0'::pg_lsn"
            ).fetchone()


class Redis:
    """A server of its own."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._client = redis.Redis.from_url(url, protocol=2)

    def cpu(self) -> float:
        """Seconds of it."""
        info = self._client.info("cpu")
        return info["used_cpu_user"] + info["used_cpu_sys"]

    def bytes(self) -> tuple[int, int]:
        """Of its memory; it writes no log."""
        return self._client.info("memory")["used_memory"], 0


class File:
    """A SQLite file."""

    def __init__(self, path: Path) -> None:
        self.url = str(path)

    def cpu(self) -> float:
        """It is part of the client."""
        return 0.0

    def bytes(self) -> tuple[int, int]:
        """Of the file; the log is folded into it."""
        path = Path(self.url)
        return (path.stat().st_size if path.exists() else 0), 0


def _times(pid: int) -> list[float]:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return [0.0]
    return [int(one) / _TICKS for one in fields[11:15]]


@contextmanager
def places(folder: Path, items: int) -> Iterator[dict[str, Callable]]:
    """What makes each end, filled where it is a source."""
    with ExitStack() as stack:

        def postgres() -> Postgres:
            return Postgres(stack.enter_context(servers.postgres()))

        def store() -> Postgres:
            made = postgres()
            open_store(made.url)
            return made

        def history() -> Postgres:
            made = postgres()
            data.fill_history(made.url, items, SESSIONS)
            return made

        def a_redis() -> Redis:
            return Redis(stack.enter_context(servers.redis()))

        def entities() -> Redis:
            made = a_redis()
            client = redis.Redis.from_url(made.url, protocol=2)
            data.fill_redis(client, items, SESSIONS)
            return made

        def file() -> File:
            return File(folder / f"store{time.monotonic_ns()}.db")

        def old_file() -> File:
            made = File(folder / f"entities{time.monotonic_ns()}.db")
            data.make_sqlite(Path(made.url), items, SESSIONS)
            return made

        yield {
            "PostgreSQL history": history,
            "Redis entities": entities,
            "SQLite entities": old_file,
            "PostgreSQL store": store,
            "SQLite store": file,
            "Redis store": a_redis,
        }


PATHS = [
    ("PostgreSQL history", "PostgreSQL store"),
    ("PostgreSQL history", "SQLite store"),
    ("Redis entities", "PostgreSQL store"),
    ("Redis entities", "Redis store"),
    ("SQLite entities", "SQLite store"),
]


def client_cpu() -> float:
    """Seconds of this process."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Print one row for each path."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--items", type=int, default=200_000)
    items = parser.parse_args().items
    print(
        "| from → to | client | source | target | target grows | its log |\n"
        "|---|---|---|---|---|---|"
    )
    for source_kind, target_kind in PATHS:
        with (
            tempfile.TemporaryDirectory(prefix="holdover-sizing-") as folder,
            places(Path(folder), items) as make,
        ):
            source, target = make[source_kind](), make[target_kind]()
            held, log = target.bytes()

            def read(source=source, target=target) -> list[float]:
                return [client_cpu(), source.cpu(), target.cpu()]

            began = read()
            phases = Phases(read)
            report = migrate(source.url, target.url, Options(), reporter=phases)
            assert report.verify.equal == items, report
            copied = phases.at["verifying"]
            now, written = target.bytes()
            figures = [
                (b - a) / items * 1e6 for a, b in zip(began, copied, strict=True)
            ]
            checked = [
                (b - a) / items * 1e6
                for a, b in zip(copied, phases.at["end"], strict=True)
            ]
            shown = " | ".join(
                f"{one:.1f} + {two:.1f} µs"
                for one, two in zip(figures, checked, strict=True)
            )
            print(
                f"| {source_kind} → {target_kind} | {shown} | "
                f"{(now - held) / items:,.0f} bytes | "
                f"{(written - log) / items:,.0f} bytes |",
                flush=True,
            )


if __name__ == "__main__":
    main()
