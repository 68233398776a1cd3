"""What the tests of sources share."""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager

import pytest

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
    """`source(address, roots=…)` opens a source that is closed afterwards."""
    opened = []

    def make(address, **options):
        opened.append(open_source(str(address), ReadOptions(**options)))
        return opened[-1]

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
