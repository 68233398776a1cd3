"""Places for the scenarios; in a lane without the classic package there is nothing
to compare with."""

import importlib.util
import sys
import warnings

import pytest

from holdover.compat import base, configuration

LANES = {"langchain_classic": "current", "langchain": "legacy"}


@pytest.fixture(scope="session", autouse=True)
def _classic():
    """Import the classic package and silence what it says of its own end."""
    if base.CLASSIC is None:
        pytest.skip("no classic package to compare with")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        base.classic_module("memory.entity")


@pytest.fixture(scope="session")
def lane():
    """`current` or `legacy`: which classic package is compared with."""
    return LANES[base.CLASSIC]


@pytest.fixture(autouse=True)
def _nothing_configured(monkeypatch):
    """No scenario sees the configuration of another one, or of this machine."""
    monkeypatch.setattr(configuration, "_default", configuration.Configuration())
    monkeypatch.delenv("HOLDOVER_LEGACY", raising=False)
    monkeypatch.delenv("UPSTASH_REDIS_REST_URL", raising=False)


@pytest.fixture(scope="session")
def servers_of(request):
    """Give the address of a server, emptied once for each library."""
    import redis
    from parity.library import ask_upstash, fake_upstash_client
    from upstash import upstash

    opened, used = {}, set()

    def of_redis():
        used.add("redis")
        url = request.getfixturevalue("redis_server")
        if "redis" not in opened:
            opened["redis"] = redis.Redis.from_url(url)
        return url

    def of_upstash():
        used.add("redis")
        if "upstash" not in opened:
            opened["upstash"] = upstash(of_redis())
            opened["service"] = opened["upstash"].__enter__()
        return tuple(opened["service"])

    def of_postgres():
        used.add("postgres")
        if "postgres" not in opened:
            import psycopg
            import servers

            server = request.getfixturevalue("postgres_server")
            with psycopg.connect(server, autocommit=True) as connection:
                connection.execute("CREATE DATABASE parity")
            opened["postgres"] = servers.with_database(server, "parity")
        return opened["postgres"]

    def give(kind):
        return {"redis": of_redis, "upstash": of_upstash, "postgres": of_postgres}[
            kind
        ]()

    def empty():
        if "redis" in used:
            opened["redis"].flushall()
        if "postgres" in used:
            import psycopg

            with psycopg.connect(opened["postgres"], autocommit=True) as connection:
                connection.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
        used.clear()

    give.empty = empty
    with pytest.MonkeyPatch.context() as patch:
        if importlib.util.find_spec("upstash_redis") is None:
            fake = fake_upstash_client(ask_upstash)
            patch.setitem(sys.modules, "upstash_redis", fake)
        yield give
    if "upstash" in opened:
        opened["upstash"].__exit__(None, None, None)
    if "redis" in opened:
        opened["redis"].close()


@pytest.fixture
def library(servers_of, tmp_path):
    """Make one of the two libraries, with empty places."""
    from parity.library import Library, silence

    made = []

    def make(name, way):
        folder = tmp_path / f"{name}{len(made)}"
        folder.mkdir()
        servers_of.empty()
        silence()
        made.append(Library(name, way, folder, servers_of))
        return made[-1]

    yield make
    from holdover.compat.stores.opening import close_stores

    close_stores()
