"""One store of each kind for all tests; each test has a scope of its own."""

from __future__ import annotations

from contextlib import ExitStack
from uuid import uuid4

import backends
import pytest

from holdover.compat import configuration, events
from holdover.compat.repository import Repository


@pytest.fixture(scope="session")
def loop():
    loop = backends.Loop()
    yield loop
    loop.close()


@pytest.fixture(scope="session")
def database(postgres_server):
    """URL of one database for the whole run."""
    import psycopg
    import servers

    name = f"compat_{uuid4().hex}"
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
    yield servers.with_database(postgres_server, name)
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


@pytest.fixture(scope="session")
def store_redis():
    """URL of a Redis of its own: `redis_url` empties the other one."""
    import servers

    try:
        with servers.redis() as url:
            yield url
    except servers.Unavailable as why:
        pytest.skip(str(why))


@pytest.fixture(scope="session")
def shared_store(request, loop, tmp_path_factory):
    """Give the store of a kind, opened at its first use."""
    opened = {}
    with ExitStack() as stack:

        def get(kind):
            if kind not in opened:
                url = None
                if "postgres" in kind:
                    pytest.importorskip("langgraph.store.postgres")
                    url = request.getfixturevalue("database")
                elif "redis" in kind:
                    url = request.getfixturevalue("store_redis")
                path = tmp_path_factory.mktemp(kind) / "store.db"
                store = backends.opened(kind, loop, path=path, url=url)
                opened[kind] = stack.enter_context(store)
            return opened[kind]

        yield get


@pytest.fixture(params=backends.ALL)
def store(request, shared_store):
    """Each kind of store; others' data is in it too."""
    return shared_store(request.param)


@pytest.fixture
def fresh(request, loop, tmp_path):
    """Make an empty store of a kind; `fresh.rows(kind)` shows its tables."""
    with ExitStack() as stack:
        url = []

        def place(kind):
            if "postgres" in kind and not url:
                pytest.importorskip("langgraph.store.postgres")
                url.append(request.getfixturevalue("postgres_url"))
            place = url[0] if url else None
            if "redis" in kind:
                place = request.getfixturevalue("redis_url")
            return {"path": tmp_path / f"{kind}.db", "url": place}

        def make(kind):
            manager = backends.opened(kind, loop, **place(kind))
            return stack.enter_context(manager)

        make.rows = lambda kind: backends.rows_of(kind, **place(kind))
        yield make


@pytest.fixture(params=["sync", "async"])
def way(request):
    return request.param


@pytest.fixture
def scope():
    return (f"root-{uuid4().hex}", "session")


@pytest.fixture
def repository(store, scope, way, loop):
    """Make a repository on each kind of store, called by each twin."""

    def make(scope=scope, store=store, **options):
        return backends.Driven(Repository(store, scope, **options), way, loop)

    return make


@pytest.fixture
def seen():
    """Every event, as (name, count)."""
    found = []
    end = events.subscribe(found.append)
    yield found
    end()


@pytest.fixture(autouse=True)
def _nothing_configured(monkeypatch):
    """No test sees the configuration of another one, or of this machine."""
    monkeypatch.setattr(configuration, "_default", configuration.Configuration())
    monkeypatch.delenv("HOLDOVER_LEGACY", raising=False)
    monkeypatch.delenv("HOLDOVER_TOMBSTONE_KEY", raising=False)
