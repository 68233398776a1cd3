"""Chat histories of SQL databases through whole migrations: live, killed, large."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from moving import environment
from sampling import EVERYTHING, sampled
from sql_histories import POSTGRES_DDL, SQLITE_DDL, arrived

from holdover.compat.chat_message_histories import (
    PostgresChatMessageHistory,
    SQLChatMessageHistory,
)
from holdover.compat.stores.opening import open_store
from holdover.migrate.options import Options
from holdover.migrate.run import migrate
from holdover.migrate.sources import open_source
from holdover.migrate.sources.base import ReadOptions
from holdover.migrate.status import status

READ = ReadOptions(kinds=frozenset({"messages"}))
PROGRAM = """
import sys
from holdover.migrate.options import Options
from holdover.migrate.run import migrate
from holdover.migrate.sources.base import ReadOptions
source, target, batch = sys.argv[1:4]
read = ReadOptions(kinds=frozenset({"messages"}))
done = migrate(source, target, Options(read=read, batch=int(batch)))
assert done.exit_code == 0, done
"""
#: Dies of itself when so many batches are written.
MORTAL = """
import os, signal, sys
from holdover.migrate import copying
left, whole = int(sys.argv[4]), copying.Copier._apply
def dying(*arguments):
    global left
    done = whole(*arguments)
    left -= 1
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)
    return done
copying.Copier._apply = dying
"""
MEASURED = (
    PROGRAM
    + """
import pathlib, re
peak = re.search(r"VmHWM:\\s+(\\d+)", pathlib.Path("/proc/self/status").read_text())
print(done.copy.written, peak[1])
"""
)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return work


def message(text, kind="human"):
    return json.dumps({"type": kind, "data": {"content": text}})


def write_postgres(url, count, start=0, ddl="community"):
    import psycopg

    with psycopg.connect(url, autocommit=True) as db:
        db.execute(f"CREATE TABLE IF NOT EXISTS message_store ({POSTGRES_DDL[ddl]})")
        copying = "COPY message_store (session_id, message) FROM STDIN"
        with db.cursor().copy(copying) as copy:
            for n in range(start, start + count):
                copy.write_row((f"s{n % 7}", message(f"text {n} " + "x" * 100)))
    return url


def write_sqlite(path, count):
    import sqlite3
    from contextlib import closing

    with closing(sqlite3.connect(path)) as db, db:
        db.execute(SQLITE_DDL.format("message_store"))
        rows = ((f"s{n % 7}", message(f"text {n} " + "x" * 100)) for n in range(count))
        insert = "INSERT INTO message_store (session_id, message) VALUES (?, ?)"
        db.executemany(insert, rows)
    return str(path)


def texts_of(target):
    """`{session: [number, …]}` in the order of the keys."""
    return {
        session: [int(v["content"]["data"]["content"].split()[1]) for v in values]
        for (_, session), values in arrived(target).items()
    }


def expected(count):
    return {f"s{at}": list(range(at, count, 7)) for at in range(7)}


@pytest.mark.parametrize(
    "ends", sampled(["postgres to sqlite"], ["sqlite to postgres"])
)
def test_killed_anywhere_it_goes_on(ends, postgres_url, tmp_path, folder):
    count = 3_000
    sqlite_end = f"sqlite:///{tmp_path / 'memory.db'}"
    if ends == "postgres to sqlite":
        source, target = write_postgres(postgres_url, count), sqlite_end
    else:
        source = write_sqlite(tmp_path / "old.db", count)
        target = postgres_url
    program = [sys.executable, "-c", MORTAL + PROGRAM, source, target, "100"]
    for batches in (1, 9):
        killed = subprocess.run(
            [*program, str(batches)],
            capture_output=True, text=True, check=False, cwd=folder, env=environment(),
        )  # fmt: skip
        assert killed.returncode == -signal.SIGKILL, killed.stderr
    (run,) = status(target)
    moved = sum(map(len, texts_of(target).values()))
    # Each went on where the one before was killed, but for what was not committed.
    assert 800 <= moved <= 1_000
    assert run.state == "copying"

    done = migrate(source, target, Options(read=READ, batch=100))

    assert done.exit_code == 0
    assert done.copy.resumed
    assert texts_of(target) == expected(count)
    assert migrate(source, target, Options(read=READ)).copy.written == 0


def test_rows_that_come_while_it_moves(postgres_url, tmp_path):
    """What a pass does not meet, the next one moves; nothing comes twice."""
    target = f"sqlite:///{tmp_path / 'memory.db'}"
    write_postgres(postgres_url, 700)
    stop = threading.Event()
    written = 700

    def write():
        nonlocal written
        while not stop.is_set():
            write_postgres(postgres_url, 7, written)
            written += 7
            time.sleep(0.005)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        migrate(postgres_url, target, Options(read=READ, batch=50))
        migrate(postgres_url, target, Options(read=READ, batch=50))
    finally:
        stop.set()
        writer.join()
    done = migrate(postgres_url, target, Options(read=READ))

    assert written > 707
    assert done.exit_code == 0
    assert texts_of(target) == expected(written)


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_what_was_read_through_is_there_already(kind, tmp_path, postgres_url):
    """An upgraded application and a migration make the same keys."""
    target = f"sqlite:///{tmp_path / 'memory.db'}"
    store = open_store(target)
    if kind == "sqlite":
        source = write_sqlite(tmp_path / "old.db", 70)
        history = SQLChatMessageHistory(
            "s3", connection=f"sqlite:///{source}", store=store
        )
    else:
        source = write_postgres(postgres_url, 70)
        history = PostgresChatMessageHistory("s3", postgres_url, store=store)
    assert len(history.messages) == 10
    history.add_user_message("new 70")

    done = migrate(source, target, Options(read=READ))

    assert done.exit_code == 0
    assert done.copy.decisions["copied"] == 60
    assert sum(done.copy.decisions.values()) == 70
    found = texts_of(target)
    assert found.pop("s3") == [*range(3, 70, 7), 70]
    assert found == {k: v for k, v in expected(70).items() if k != "s3"}


FEW, LOTS = (20_000, 200_000) if EVERYTHING else (5_000, 30_000)
GROWTH_KB = 20_000


@pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="the peak is read from /proc"
)
def test_many_more_rows_need_no_more_memory(postgres_url, tmp_path, folder):
    peaks = []
    for count in (FEW, LOTS):
        write_postgres(postgres_url, count - (FEW if peaks else 0))
        target = f"sqlite:///{tmp_path / f'{count}.db'}"
        done = subprocess.run(
            [sys.executable, "-c", MEASURED, postgres_url, target, "2000"],
            capture_output=True, text=True, check=False, cwd=folder, env=environment(),
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        copied, peak = map(int, done.stdout.split())
        assert copied == count
        peaks.append(peak)
    assert peaks[1] - peaks[0] < GROWTH_KB, peaks


def test_values_of_any_length(postgres_url):
    """Little is in memory at once, however long single values are."""
    import psycopg

    with psycopg.connect(postgres_url, autocommit=True) as db:
        db.execute(f"CREATE TABLE message_store ({POSTGRES_DDL['sql']})")
        insert = "INSERT INTO message_store (session_id, message) VALUES ('s', %s)"
        lengths = [10] * 500 + [4_000_000] * 12 + [10] * 500
        db.cursor().executemany(insert, [(message("y" * n),) for n in lengths])
    source = open_source(postgres_url, READ)
    (part,) = source.parts
    asked = []
    whole = type(part._database._server).reading

    @contextmanager
    def reading(server):
        with whole(server) as connection:
            real = connection.exec_driver_sql

            def watched(statement, *more, **options):
                found = real(statement, *more, **options)
                columns = statement.partition(" FROM ")[0]
                if columns.endswith('"message"'):
                    asked.append(found.cursor.rowcount)
                return found

            connection.exec_driver_sql = watched
            yield connection

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(part._database._server), "reading", reading)
        (partition,) = part.partitions()
        asked.clear()
        batches = list(part.read(partition))
    source.close()
    found = [len(i.content["data"]["content"]) for b in batches for i in b.items]
    assert found == lengths
    # Two long ones are 8 MB, nine of them a batch.
    assert len(batches) > 1
    assert asked == [502, 2, 2, 2, 2, 502]
