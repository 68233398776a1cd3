"""An address leads to the source that reads it, or to a sentence."""

from __future__ import annotations

import subprocess
import sys

import pytest

from holdover.migrate.errors import SourceNotFound
from holdover.migrate.sources import open_source
from holdover.migrate.sources.base import ReadOptions


@pytest.mark.parametrize(
    ("address", "label"),
    [
        ("entities.db", "SQLite file"),
        ("/data/entities.db", "SQLite file"),
        ("sqlite:///entities.db", "SQLite file"),
        ("postgresql://user:pw@host/db", "PostgreSQL"),
        ("postgresql+psycopg://user:pw@host/db", "PostgreSQL"),
        ("mysql://user:pw@host/db", "MariaDB or MySQL"),
        ("mariadb+pymysql://user:pw@host/db", "MariaDB or MySQL"),
        ("redis://localhost:6379/0", "Redis"),
        ("rediss://user:pw@host/1", "Redis"),
        ("unix:///run/redis.sock?db=2", "Redis"),
        ("mongodb://user:pw@host/db", "MongoDB"),
        ("mongodb+srv://user:pw@host.example", "MongoDB"),
        ("dynamodb://Table?region=eu-west-1", "DynamoDB"),
        ("file:///data/alice.json", "File history"),
    ],
)
def test_the_scheme_decides(address, label):
    source = open_source(address, ReadOptions())
    assert source.label == label
    assert "pw" not in source.address
    source.close()


@pytest.mark.parametrize("address", ["oracle://u:secret@h/db", "ftp://u:secret@x/y"])
def test_other_addresses_name_what_is_read(address):
    with pytest.raises(SourceNotFound) as caught:
        open_source(address, ReadOptions())
    assert caught.value.exit_code == 2
    assert "redis://" in str(caught.value)
    assert "sqlite:///" in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_malformed_sqlite_address_is_not_found():
    with pytest.raises(SourceNotFound):
        open_source("sqlite://entities.db", ReadOptions())


def test_opening_a_file_does_not_import_redis():
    code = (
        "import sys\n"
        "from holdover.migrate.sources import open_source\n"
        "from holdover.migrate.sources.base import ReadOptions\n"
        "open_source('x.db', ReadOptions())\n"
        "for name in ('redis', 'sqlalchemy', 'psycopg'):\n"
        "    assert name not in sys.modules, name\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
