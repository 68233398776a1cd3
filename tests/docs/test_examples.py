"""The examples run, and the sample is what its script makes."""

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
OLD_APP = ROOT / "examples" / "old_app"
READER = ROOT / "examples" / "read_with_langgraph.py"


def run(*arguments, cwd, env=None):
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, "PYTHONIOENCODING": "utf-8", **(env or {})},
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )


def holds(path):
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        tables = dict(connection.execute("SELECT name, sql FROM sqlite_master"))
        rows = {
            name: connection.execute(f'SELECT * FROM "{name}"').fetchall()
            for name in tables
            if not name.startswith("sqlite_")
        }
    return tables, rows


def test_the_sample_is_what_its_script_makes(tmp_path):
    pytest.importorskip("langchain_classic")
    made = run(OLD_APP / "make_sample.py", tmp_path / "made.db", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    assert "6 sessions, 41 entities" in made.stdout
    assert made.stderr == ""
    assert holds(tmp_path / "made.db") == holds(OLD_APP / "entities.db")


def test_the_old_chain_writes_such_a_file(tmp_path):
    pytest.importorskip("langchain_classic")
    talked = run(OLD_APP / "chain.py", tmp_path / "chain.db", "s1", cwd=tmp_path)
    assert talked.returncode == 0, talked.stderr
    tables, rows = holds(tmp_path / "chain.db")
    assert dict(rows["memory_store_s1"]) == {
        "New York": "New York is where Ana's sister lives.",
        "Ana": "Ana has a sister who moved to New York and likes it there.",
    }
    written = {sql for name, sql in tables.items() if name == "memory_store_s1"}
    sample = holds(OLD_APP / "entities.db")[0]["memory_store_default"]
    assert written == {sample.replace("default", "s1")}


def test_the_result_is_read_without_holdover(tmp_path):
    from holdover.migrate.run import migrate

    assert migrate(str(OLD_APP / "entities.db"), str(tmp_path / "m.db")).exit_code == 0
    blocked = (
        "import runpy, sys\n"
        "sys.modules['holdover'] = None\n"
        f"sys.argv = ['read', {str(tmp_path / 'm.db')!r}]\n"
        f"runpy.run_path({str(READER)!r}, run_name='__main__')"
    )
    read = run("-c", blocked, cwd=tmp_path)
    assert read.returncode == 0, read.stderr
    _, rows = holds(OLD_APP / "entities.db")
    for table, entities in rows.items():
        if table.startswith("memory_store_"):
            session = table.removeprefix("memory_store_")
            assert f"memory_store/{session}/entities\n" in read.stdout
            for name, summary in entities:
                line = f"  {name!r}: {summary}\n"
                assert line.replace("\r\n", "\n") in read.stdout
