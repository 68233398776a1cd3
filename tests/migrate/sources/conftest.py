"""What the tests of sources share."""

from __future__ import annotations

import sqlite3
from contextlib import ExitStack, contextmanager

import pytest
import redis
import servers
from redis_corpus import server
from upstash import upstash

from holdover.migrate.sources import open_source
from holdover.migrate.sources.base import ReadOptions

OWN_DDL = (
    'CREATE TABLE "{}" (\n                key TEXT PRIMARY KEY,\n'
    "                value TEXT\n            )"
)


def listing(folder):
    """Everything that reading must leave alone."""
    found = {}
    for path in folder.iterdir():
        status = path.stat()
        content = path.read_bytes() if path.is_file() else None
        found[path.name] = (status.st_ino, status.st_mtime_ns, status.st_mode, content)
    return found


@pytest.fixture
def untouched():
    """`with untouched(folder):` fails if anything in the folder changed."""

    @contextmanager
    def check(folder):
        before = listing(folder)
        yield
        assert listing(folder) == before

    return check


@pytest.fixture
def make_db(tmp_path):
    """Make a file as the library does: `make_db({table: [(key, value), …]})`."""

    def make(tables=None, *, name="entities.db", script=""):
        folder = tmp_path / "source"
        folder.mkdir(exist_ok=True)
        connection = sqlite3.connect(folder / name)
        connection.executescript(script)
        for table, rows in (tables or {}).items():
            quoted = table.replace('"', '""')
            connection.execute(OWN_DDL.format(quoted))
            connection.executemany(f'INSERT INTO "{quoted}" VALUES (?, ?)', rows)
        connection.commit()
        connection.close()
        return folder / name

    return make


@pytest.fixture
def source():
    """`source(address, roots=…)` opens what reads entities; it is closed after."""
    opened = []

    def make(address, **options):
        options.setdefault("kinds", frozenset({"entities"}))
        opened.append(open_source(str(address), ReadOptions(**options)))
        return opened[-1].parts[0]

    yield make
    for one in opened:
        one.close()


@pytest.fixture
def read_all():
    """Read every partition: items, rejects, number of expired."""

    def read(source, size=10_000):
        items, rejects, expired = [], [], 0
        for partition in source.partitions():
            for batch in source.read(partition, size=size):
                items += batch.items
                rejects += batch.rejects
                expired += batch.expired
        return items, rejects, expired

    return read


class Place:
    """A Redis to write to, and the address by which it is read."""

    def __init__(self, address, url, client_of=None, databases=(0,)):
        self.address, self.url = address, url
        self.client_of = client_of or server(url)
        self.databases = databases

    def client(self):
        return self.client_of(0)


def cluster_client(url):
    return lambda db: redis.RedisCluster.from_url(url) if db == 0 else None


@pytest.fixture(
    params=["server", "cluster", "hosts", "sentinel", "rest", "tls", "unix", "old"]
)
def place(request):
    get = request.getfixturevalue
    with ExitStack() as stack:
        if request.param in ("cluster", "hosts"):
            url = get("cluster_url")
            address = url
            if request.param == "hosts":  # the first of which is gone
                host = f"127.0.0.1:{servers.free_port()}"
                address = url.replace("redis://", f"redis://{host},")
            yield Place(address, url, cluster_client(url))
        elif request.param == "sentinel":
            address = get("sentinel_url")
            yield Place(address, servers.sentinel_master(address))
        elif request.param == "rest":
            url = get("redis_url")
            yield Place(stack.enter_context(upstash(url)).address, url)
        elif request.param == "tls":
            yield Place(get("tls_url"), get("redis_url"))
        elif request.param == "unix":
            url = get("redis_url")
            with redis.Redis.from_url(url) as client:
                folder = client.config_get("dir")["dir"]
            yield Place(f"unix://{folder}/redis.sock?db=0", url)
        else:
            url = get("redis_url" if request.param == "server" else "old_redis_url")
            yield Place(url, url)
