"""Fixtures for every test: servers, databases, the corpus."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from uuid import uuid4

import pytest

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import servers  # noqa: E402


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
def corpus() -> Path:
    """Data written by old releases; never open it in place, copy it."""
    return HERE / "corpus"


@pytest.fixture(scope="session")
def corpora(corpus) -> list[Path]:
    """`corpus` and the folders named by `HOLDOVER_CORPUS`, separated as in PATH."""
    more = os.environ.get("HOLDOVER_CORPUS", "")
    return [corpus, *(Path(folder) for folder in more.split(os.pathsep) if folder)]
