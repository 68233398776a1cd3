"""Fixtures of the migration tests."""

from __future__ import annotations

import pytest
import redis as redis_client
from moving import database
from typer.testing import CliRunner


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Rejects files go to the working directory."""
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return work


@pytest.fixture(params=["sqlite", "postgres", "redis", "cluster"])
def target(request, tmp_path):
    """The address of an empty target, of each kind."""
    if request.param == "postgres":
        return request.getfixturevalue("postgres_url")
    if request.param == "redis":
        # Beside the old data, which is in other databases.
        return database(request.getfixturevalue("redis_url"), 9)
    if request.param == "cluster":
        return request.getfixturevalue("cluster_url")
    return f"sqlite:///{tmp_path / 'memory.db'}"


@pytest.fixture
def sqlite_target(tmp_path):
    return f"sqlite:///{tmp_path / 'memory.db'}"


@pytest.fixture
def old_file(tmp_path):
    """The path of a classic file that is not there yet."""
    folder = tmp_path / "old"
    folder.mkdir()
    return folder / "entities.db"


@pytest.fixture
def redis(redis_url):
    with redis_client.Redis.from_url(redis_url) as client:
        yield client


@pytest.fixture
def command():
    """The command line in this process: `command("scan", …)` gives the result."""
    from holdover.migrate.cli import app

    def invoke(*arguments, env=None):
        return CliRunner().invoke(app, [str(one) for one in arguments], env=env)

    return invoke
