"""`scan`, `--dry-run`, `status` and `verify` write nothing anywhere."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from moving import (
    environment,
    files_of,
    many,
    path_of,
    redis_state,
    rows_of,
    write_old_file,
    write_old_redis,
)

from holdover.migrate.run import migrate
from holdover.migrate.scan import scan
from holdover.migrate.status import status
from holdover.migrate.verify import verify

CAPS = "-dac_override,-dac_read_search"


def listing(*folders):
    """Every file with its bytes and its time: not even a touch goes unseen."""
    return [
        (path, path.stat().st_mtime_ns, path.stat().st_size)
        for folder in folders
        for path in sorted(Path(folder).rglob("*"))
    ], [files_of(folder) for folder in folders]


def read_everything(source, target):
    assert scan(source).groups[0].items == 50
    assert migrate(source, target, dry_run=True).exit_code == 0
    status(target)
    return verify(source, target)


def test_nothing_is_made_where_there_is_nothing(target, old_file, folder):
    source = write_old_file(old_file, many(50))
    before = listing(old_file.parent, folder)
    checked = read_everything(source, target)
    assert checked.missing == 50
    assert rows_of(target) == {}
    assert not Path(path_of(target)).exists()
    assert listing(old_file.parent, folder) == before


def test_nothing_changes_where_there_is_something(target, old_file, folder, tmp_path):
    source = write_old_file(old_file, many(50))
    assert migrate(source, target).exit_code == 0
    before = listing(old_file.parent, folder), rows_of(target)
    places = sorted(path.name for path in tmp_path.iterdir())
    assert read_everything(source, target).equal == 50
    assert (listing(old_file.parent, folder), rows_of(target)) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == places


def test_a_redis_is_not_touched(redis_url, redis, sqlite_target):
    write_old_redis(redis_url, many(50), ttl_ms=86_400_000)
    before = redis_state(redis_url)
    writes = redis.info("stats")["total_writes_processed"]
    assert writes
    read_everything(redis_url, sqlite_target)
    assert redis_state(redis_url) == before


def test_a_finished_target_leaves_no_file_beside_it(sqlite_target, old_file, tmp_path):
    source = write_old_file(old_file, many(50))
    migrate(source, sqlite_target)
    read_everything(source, sqlite_target)
    beside = [path.name for path in tmp_path.iterdir() if "memory.db" in path.name]
    assert beside == ["memory.db"]


@pytest.mark.parametrize("mode", ["wal", "delete"])
@pytest.mark.parametrize("beside", [False, True], ids=["closed", "in use"])
def test_a_target_in_a_folder_that_cannot_be_written(
    mode, beside, old_file, sqlite_target, tmp_path
):
    """Root may write everywhere, unless it gives that up."""
    import sqlite3

    command = [sys.executable]
    if os.geteuid() == 0:
        if not shutil.which("setpriv"):
            pytest.skip("root needs setpriv to be refused anything")
        command = ["setpriv", f"--bounding-set={CAPS}", f"--inh-caps={CAPS}", *command]
    shut = Path(shutil.copytree(tmp_path, tmp_path.with_name(f"{tmp_path.name}-shut")))
    try:
        source = write_old_file(shut / "entities.db", many(50))
        target = f"sqlite:///{shut / 'memory.db'}"
        migrate(source, target)
        with closing(sqlite3.connect(shut / "memory.db")) as db:
            db.execute(f"PRAGMA journal_mode={mode}")
        for path in [shut, *shut.rglob("*")]:
            path.chmod(stat.S_IRUSR | stat.S_IRGRP | stat.S_IROTH
                       | (0o111 if path.is_dir() else 0))  # fmt: skip
        with closing(sqlite3.connect(shut / "memory.db")) as db:
            if beside:  # the application has it open, so that a -wal file is there
                db.execute("SELECT count(*) FROM store").fetchone()
                for path in shut.glob("memory.db-*"):
                    path.chmod(0o444)
            before = files_of(shut)
            program = (
                "from holdover.migrate.run import migrate\n"
                "from holdover.migrate.status import status\n"
                "from holdover.migrate.verify import verify\n"
                f"source, target = {source!r}, {target!r}\n"
                "assert migrate(source, target, dry_run=True).exit_code == 0\n"
                "assert [run.state for run in status(target)] == ['done']\n"
                "assert verify(source, target).equal == 50\n"
            )
            done = subprocess.run(
                [*command, "-c", program],
                capture_output=True, text=True, check=False, cwd="/",
                env=environment(),
            )  # fmt: skip
            assert done.stderr == ""
            assert done.returncode == 0
            assert files_of(shut) == before
    finally:
        for path in [shut, *shut.rglob("*")]:
            path.chmod(0o700)


def test_a_connection_that_may_only_read(postgres_url, old_file):
    import psycopg

    source = write_old_file(old_file, many(50))
    read_only = f"{postgres_url}?options=-c%20default_transaction_read_only%3Don"
    assert read_everything(source, read_only).missing == 50
    migrate(source, postgres_url)
    assert read_everything(source, read_only).equal == 50
    with (
        psycopg.connect(read_only) as db,
        pytest.raises(psycopg.errors.ReadOnlySqlTransaction),
    ):
        db.execute("DELETE FROM store")


def test_a_role_that_may_only_read(postgres_url, old_file):
    from urllib.parse import urlsplit
    from uuid import uuid4

    import psycopg

    source = write_old_file(old_file, many(50))
    migrate(source, postgres_url)
    role = f"reader_{uuid4().hex}"
    with psycopg.connect(postgres_url, autocommit=True) as db:
        db.execute(f"CREATE ROLE {role} LOGIN")
        db.execute(f"GRANT SELECT ON store TO {role}")
    try:
        as_reader = postgres_url.replace("postgres@", f"{role}@")
        assert urlsplit(as_reader).username == role
        assert read_everything(source, as_reader).equal == 50
    finally:
        with psycopg.connect(postgres_url, autocommit=True) as db:
            db.execute(f"DROP OWNED BY {role}")
            db.execute(f"DROP ROLE {role}")
