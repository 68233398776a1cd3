"""Fixtures of the tests that kill: the process to fork from, and targets to empty."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from moving import (
    database,
    empty_redis,
    environment,
    is_postgres,
    is_redis,
    path_of,
)


class Doomed:
    """Starts migrations in processes of their own, and ends them."""

    def __init__(self, cwd):
        self.cwd = cwd
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("doomed.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment(),
        )

    def run(
        self, what, source, target, *, kill_after=None, kill=None, crash_at=None,
        **options,
    ):  # fmt: skip
        """Carry out a command; give its exit code, negative where it was killed.

        `kill` is called with its pid after `kill_after` seconds; else it is killed.
        """
        order = {
            "what": what,
            "source": source,
            "target": target,
            "options": options,
            "cwd": str(self.cwd),
            "count": crash_at is not None,
            "crash_at": crash_at,
        }
        (self.cwd / "error").unlink(missing_ok=True)
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        pid = int(self.process.stdout.readline())
        if kill_after is not None:
            time.sleep(kill_after)
            with suppress(ProcessLookupError):
                kill(pid) if kill else os.kill(pid, signal.SIGKILL)
        code = int(self.process.stdout.readline())
        if code == 70:
            raise AssertionError((self.cwd / "error").read_text("utf-8"))
        return code

    def sent(self):
        """How many statements the last one sent, if they were counted."""
        return int((self.cwd / "sent").read_text("utf-8"))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return work


@pytest.fixture
def doomed(folder):
    started = Doomed(folder)
    yield started
    started.process.stdin.close()
    started.process.wait(timeout=60)


@pytest.fixture(params=["sqlite", "postgres", "redis", "cluster"])
def target(request, tmp_path):
    if request.param == "redis":
        return database(request.getfixturevalue("redis_url"), 9)
    if request.param == "cluster":
        return request.getfixturevalue("cluster_url")
    if request.param == "postgres":
        return request.getfixturevalue("postgres_url")
    return f"sqlite:///{tmp_path / 'memory.db'}"


@pytest.fixture
def emptied(target):
    """A function that makes the target as if nothing had ever been there."""

    def empty():
        if is_postgres(target):
            import psycopg

            with psycopg.connect(target, autocommit=True) as db:
                db.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                    "WHERE datname = current_database() AND pid <> pg_backend_pid()"
                )
                db.execute("SET client_min_messages = error")
                db.execute("DROP SCHEMA public CASCADE")
                db.execute("CREATE SCHEMA public")
        elif is_redis(target):
            empty_redis(target)
        else:
            for suffix in ("", "-wal", "-shm", "-journal"):
                Path(path_of(target) + suffix).unlink(missing_ok=True)

    return empty
