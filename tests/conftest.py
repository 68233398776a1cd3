"""Fixtures for every test: servers, databases, the corpus.

What a run leaves out because it repeats is in `sampling.py`.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

import hypothesis  # noqa: F401 - else its plugin loads it at the end, for its summary
import pytest

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import servers  # noqa: E402

#: Each worker has servers of its own; more workers than this would only start more.
MOST_WORKERS = 8


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist, which reads what is set here
def pytest_cmdline_main(config):
    """The whole suite runs in several processes; what is named on the command line,
    in one, where nothing has to start first. `-n` beats both."""
    options = config.option
    if (
        config.args_source == pytest.Config.ArgsSource.TESTPATHS
        and "PYTEST_XDIST_WORKER" not in os.environ
        and getattr(options, "numprocesses", 0) is None
        and not (options.usepdb or options.collectonly)
    ):
        options.numprocesses = "auto"
        options.maxprocesses = options.maxprocesses or MOST_WORKERS
    if getattr(options, "numprocesses", None) and options.dist == "no":
        # Neighbours stay together, and with them what a module or the reports of
        # the stores share; and it costs little for many thousands of tests.
        options.dist = "worksteal"


@pytest.fixture(scope="session")
def postgres_server():
    """URL of a running PostgreSQL; a test that writes wants `postgres_url`."""
    pytest.importorskip("psycopg")
    try:
        with servers.postgres() as url:
            yield url
    except servers.Unavailable as why:
        pytest.skip(str(why))


@pytest.fixture
def postgres_url(postgres_server):
    """URL of an empty database, dropped afterwards."""
    import psycopg

    name = f"test_{uuid4().hex}"
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
    yield servers.with_database(postgres_server, name)
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


@pytest.fixture(scope="session")
def mariadb_server():
    """URL of a running MariaDB; a test wants `mariadb_url`."""
    pytest.importorskip("pymysql")
    try:
        with servers.mariadb() as url:
            yield url
    except servers.Unavailable as why:
        pytest.skip(str(why))


@pytest.fixture
def mariadb_url(mariadb_server):
    """URL of an empty database of the system's MariaDB, dropped afterwards."""
    import pymysql

    name = f"test_{uuid4().hex}"
    parts = urlsplit(mariadb_server)
    with pymysql.connect(
        host=parts.hostname, port=parts.port, user="root", autocommit=True
    ) as connection:
        cursor = connection.cursor()
        cursor.execute(f"CREATE DATABASE {name} CHARACTER SET utf8mb4")
        yield servers.with_database(mariadb_server, name)
        cursor.execute(f"DROP DATABASE {name}")


@pytest.fixture(scope="session")
def redis_server():
    """URL of a running Redis-protocol server."""
    try:
        with servers.redis() as url:
            yield url
    except servers.Unavailable as why:
        pytest.skip(str(why))


@pytest.fixture
def redis_url(redis_server):
    """URL of an emptied Redis (every database of it)."""
    import redis

    with redis.Redis.from_url(redis_server) as client:
        client.flushall()
    return redis_server


@pytest.fixture(scope="session")
def json_server():
    """URL of a running Redis-protocol server with the module RedisJSON."""
    try:
        with servers.redis("--loadmodule", servers.redis_json_module()) as url:
            yield url
    except servers.Unavailable as why:
        pytest.skip(str(why))


@pytest.fixture
def json_url(json_server):
    """URL of an emptied Redis that keeps JSON documents."""
    import redis

    with redis.Redis.from_url(json_server) as client:
        client.flushall()
    return json_server


@pytest.fixture(scope="session")
def cluster_server():
    """URL of a node of a Redis Cluster with three masters."""
    try:
        with servers.redis_cluster() as url:
            yield url
    except servers.Unavailable as why:
        pytest.skip(str(why))


@pytest.fixture
def cluster_url(cluster_server):
    """URL of a node of an emptied cluster."""
    servers.flush_cluster(cluster_server)
    return cluster_server


@pytest.fixture(scope="session")
def sentinel_server():
    """Address of a master and its replica by a sentinel."""
    try:
        with servers.redis_sentinel() as url:
            yield url
    except servers.Unavailable as why:
        pytest.skip(str(why))


@pytest.fixture
def sentinel_url(sentinel_server):
    """Address, by a sentinel, of an emptied master; not for a test that kills it."""
    servers.flush_sentinel(sentinel_server)
    return sentinel_server


@pytest.fixture
def tls_url(redis_url):
    """URL of an emptied Redis by TLS, with the authority to trust."""
    with servers.tls(redis_url) as url:
        yield url


@pytest.fixture(scope="session")
def old_redis_server():
    """URL of a Redis that lacks what came with version 6: HELLO and GETEX."""
    names = ("HELLO", "GETEX")
    renamed = [part for name in names for part in ("--rename-command", name, "")]
    try:
        with servers.redis(*renamed) as url:
            yield url
    except servers.Unavailable as why:
        pytest.skip(str(why))


@pytest.fixture
def old_redis_url(old_redis_server):
    """URL of an emptied Redis without HELLO and GETEX."""
    import redis

    with redis.Redis.from_url(old_redis_server, protocol=2) as client:
        client.flushall()
    return old_redis_server


@pytest.fixture(scope="session")
def corpus() -> Path:
    """Data written by old releases; never open it in place, copy it."""
    return HERE / "corpus"


@pytest.fixture(scope="session")
def corpora(corpus) -> list[Path]:
    """`corpus` and the folders named by `HOLDOVER_CORPUS`, separated as in PATH."""
    more = os.environ.get("HOLDOVER_CORPUS", "")
    return [corpus, *(Path(folder) for folder in more.split(os.pathsep) if folder)]
