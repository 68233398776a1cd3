"""Memory does not grow with the number of records."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from moving import environment, write_old_file, write_old_redis

PROGRAM = """
import pathlib, re, sys
from holdover.migrate.options import Options
from holdover.migrate.run import migrate
source, target = sys.argv[1:]
done = migrate(source, target, Options(batch=2_000))
assert done.exit_code == 0, done
again = migrate(source, target, Options(batch=2_000))
assert again.copy.written == 0
# Not ru_maxrss: that one counts what the parent had when it started this process.
peak = re.search(r"VmHWM:\\s+(\\d+)", pathlib.Path("/proc/self/status").read_text())
print(done.copy.written, peak[1])
"""
FEW, LOTS = 10_000, 60_000
GROWTH_KB = 16_000

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="the peak is read from /proc"
)


def peak(source, target, cwd):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, source, target],
        capture_output=True, text=True, check=False, cwd=cwd, env=environment(),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return tuple(map(int, done.stdout.split()))


def sessions(count):
    return {
        f"session {at}": {f"Entity {n}": f"{at} {n} " + "x" * 100 for n in range(100)}
        for at in range(count // 100)
    }


@pytest.mark.parametrize(
    ("end", "target"), [("file", "sqlite"), ("redis", "postgres")], indirect=["target"]
)
def test_six_times_the_records_need_no_more_memory(
    end, target, tmp_path, folder, request
):
    peaks = {}
    for number, count in enumerate((FEW, LOTS)):
        if end == "file":
            source = write_old_file(tmp_path / f"{count}.db", sessions(count))
        else:
            source = write_old_redis(
                request.getfixturevalue("redis_url"), sessions(count)
            )
        into = target
        if number and target.startswith("sqlite"):
            into = f"sqlite:///{tmp_path / 'second.db'}"
        elif number:
            import psycopg

            with psycopg.connect(target, autocommit=True) as db:
                db.execute("TRUNCATE store")
        copied, peaks[count] = peak(source, into, folder)
        assert copied == count
    # Held as rows, the records of the difference would weigh twice that.
    assert peaks[LOTS] - peaks[FEW] < GROWTH_KB, peaks
