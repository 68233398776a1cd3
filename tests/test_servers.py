"""The servers of the tests start, are empty for each test, and leave nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import servers

HOLD = """
import sys
sys.path.insert(0, sys.argv[1])
import servers
with getattr(servers, sys.argv[2])() as url:
    print(url, flush=True)
    sys.stdin.read()
"""


def test_postgres_has_pgvector(postgres_url):
    import psycopg

    with psycopg.connect(postgres_url) as connection:
        connection.execute("CREATE EXTENSION vector")
        query = "SELECT '[1,2]'::vector <-> '[1,3]'::vector"
        assert connection.execute(query).fetchone() == (1.0,)


def test_each_test_has_a_database_of_its_own(postgres_url, postgres_server):
    import psycopg

    assert postgres_url != postgres_server
    with psycopg.connect(postgres_url) as connection:
        tables = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"
        assert connection.execute(tables).fetchone() == (0,)


@pytest.mark.parametrize("name", ["postgres", "redis"])
def test_nothing_is_left_of_a_killed_process(name):
    here = Path(__file__).parent
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(here), name],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    url = process.stdout.readline().strip()
    if not url:
        process.wait()
        pytest.skip(f"no {name} on this machine")
    port = int(url.partition("127.0.0.1:")[2].partition("/")[0])
    assert servers.accepts(port)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdin.close()
    process.stdout.close()
    deadline = time.monotonic() + 10
    while servers.accepts(port) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not servers.accepts(port)
