"""What one SQLite table per session costs, against one LangGraph store table.

`SQLiteEntityStore` gives every session its own table. Files with 10,000 and 50,000
sessions of four entities each are made with the library's own statement, and the same
entities are put into a `SqliteStore` file. Measured in fresh connections, as the median
of the processor time, with the file in memory: the first statement (SQLite reads and
parses the whole schema then), a second one, the memory a connection keeps, and the
constructor of the classic class on a session that is there and on a new one. Making the
largest file takes minutes, because each CREATE TABLE searches the whole schema table.

    python docs/measure/session_tables.py [SESSIONS ...]
"""

from __future__ import annotations

import importlib.metadata
import os
import sqlite3
import statistics
import sys
import tempfile
import time
import warnings
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import orjson
from langchain_classic.memory.entity import SQLiteEntityStore
from langgraph.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Callable

ENTITIES = 4
REPEATS = 5
SUMMARY = "{name} is known to session {session} and has been so for a while. " * 2


def entities(session: int) -> list[tuple[str, str]]:
    """Return the names and summaries of one session."""
    names = [f"Entity {number}" for number in range(ENTITIES)]
    return [(name, SUMMARY.format(name=name, session=session)) for name in names]


def make_classic(path: Path, sessions: int) -> None:
    """Write a file as the classic class does, in one transaction."""
    with closing(sqlite3.connect(path)) as connection, connection:
        for session in range(sessions):
            table = f'"memory_store_s{session}"'
            connection.execute(
                f"""
            CREATE TABLE IF NOT EXISTS {table} (
                key TEXT PRIMARY KEY,
                value TEXT
            )
        """
            )
            connection.executemany(
                f"INSERT OR REPLACE INTO {table} (key, value) VALUES (?, ?)",
                entities(session),
            )


def make_store(path: Path, sessions: int) -> None:
    """Write the same entities as a LangGraph store does, in one transaction."""
    with SqliteStore.from_conn_string(str(path)) as store:
        store.setup()
        store.put(("memory_store", "warm-up", "entities"), "x", {"content": {}})
    rows = (
        (
            f"memory_store.s{session}.entities",
            name,
            orjson.dumps({"content": {"name": name, "summary": summary}}),
        )
        for session in range(sessions)
        for name, summary in entities(session)
    )
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executemany(
            "INSERT INTO store (prefix, key, value) VALUES (?, ?, ?)", rows
        )


def median(work: Callable[[], float]) -> float:
    """Return the median of several runs, in milliseconds."""
    return statistics.median(work() for _ in range(REPEATS)) * 1_000


def statements(path: Path, query: str) -> tuple[float, float]:
    """Return the time of the first and of the second statement of a connection."""

    def timed(warm: int) -> float:
        with closing(sqlite3.connect(path)) as connection:
            for _ in range(warm):
                connection.execute(query).fetchall()
            began = time.process_time()
            connection.execute(query).fetchall()
            return time.process_time() - began

    return median(lambda: timed(0)), median(lambda: timed(1))


def resident() -> int:
    """Return the memory of this process in bytes (Linux)."""
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def memory_of_connection(path: Path, query: str) -> float:
    """Return what ten connections keep after one statement, per connection, in MB."""
    before = resident()
    connections = [sqlite3.connect(path) for _ in range(10)]
    for connection in connections:
        connection.execute(query).fetchall()
    kept = (resident() - before) / len(connections) / 1e6
    for connection in connections:
        connection.close()
    return kept


def construct(path: Path, sessions: list[str]) -> float:
    """Return the time to construct the classic class, each time on the next session."""
    upcoming = iter(sessions)

    def timed() -> float:
        began = time.process_time()
        store = SQLiteEntityStore(session_id=next(upcoming), db_file=str(path))
        elapsed = time.process_time() - began
        store.conn.close()
        return elapsed

    return median(timed)


def main(counts: list[int]) -> None:
    """Print one row per layout and number of sessions."""
    print(f"Python {sys.version.split()[0]}, SQLite {sqlite3.sqlite_version},", end=" ")
    for name in ("langchain-classic", "langgraph-checkpoint-sqlite"):
        print(name, importlib.metadata.version(name), end=" ")
    print("\n| sessions | layout | made in s | file MB | first ms | second ms", end="")
    print(" | MB kept | construct ms | construct new ms |")
    classic_query = "SELECT value FROM \"memory_store_s0\" WHERE key = 'Entity 1'"
    store_query = (
        "SELECT value FROM store WHERE prefix = 'memory_store.s0.entities'"
        " AND key = 'Entity 1'"
    )
    for sessions in counts:
        with tempfile.TemporaryDirectory() as folder:
            for layout, make, query in (
                ("one store table", make_store, store_query),
                ("table per session", make_classic, classic_query),
            ):
                path = Path(folder) / f"{layout}.db"
                began = time.process_time()
                make(path, sessions)
                made = time.process_time() - began
                size = path.stat().st_size / 1e6
                kept = memory_of_connection(path, query)
                first, second = statements(path, query)
                print(
                    f"| {sessions:,} | {layout} | {made:.1f} | {size:.1f} "
                    f"| {first:.2f} | {second:.3f} | {kept:.2f} |",
                    end="",
                )
                if make is make_classic:
                    old = construct(path, ["s0"] * REPEATS)
                    new = construct(path, [f"new{n}" for n in range(REPEATS)])
                    print(f" {old:.2f} | {new:.2f} |", end="")
                print(flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main([int(count) for count in sys.argv[1:]] or [1, 10_000, 50_000])
