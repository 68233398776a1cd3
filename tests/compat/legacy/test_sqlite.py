"""The old table, read in place."""

import sqlite3
from contextlib import closing

import pytest

from holdover.compat.legacy import sqlite as legacy_sqlite
from holdover.compat.legacy.sqlite import LegacySqliteTable


@pytest.fixture
def place(tmp_path):
    path = tmp_path / "old file?#%.db"
    with closing(sqlite3.connect(path)) as conn, conn:
        conn.execute('CREATE TABLE "memory_store_s" (key TEXT PRIMARY KEY, value TEXT)')
        conn.execute("INSERT INTO memory_store_s VALUES ('a', 'x')")
    return path


def test_reads_and_locates(place):
    table = LegacySqliteTable(str(place), "memory_store", "s")
    assert table.found()
    assert table.read("a") == "x"
    assert table.read("b") is None
    assert table.read("\ud800") is None
    assert table.locator("a") == f"sqlite:{place.name}#memory_store_s"


@pytest.mark.parametrize("session", ["S", "other", "nul\x00", "\ud800", 's" --', ""])
def test_finds_no_other_table(place, session):
    table = LegacySqliteTable(str(place), "memory_store", session)
    assert not table.found()


def test_other_columns_are_no_entity_table(tmp_path):
    path = tmp_path / "e.db"
    with closing(sqlite3.connect(path)) as conn:
        conn.execute('CREATE TABLE "memory_store_s" (k TEXT, v TEXT)')
    assert not LegacySqliteTable(str(path), "memory_store", "s").found()


def test_looks_for_a_missing_table_only_now_and_then(tmp_path, monkeypatch):
    path = tmp_path / "e.db"
    table = LegacySqliteTable(str(path), "memory_store", "s")
    looks = []
    look = table._look
    monkeypatch.setattr(table, "_look", lambda: looks.append(1) or look())
    assert [table.found() for _ in range(100)] == [False] * 100
    assert len(looks) == 1
    monkeypatch.setattr(legacy_sqlite, "_RECHECK_SECONDS", -1)
    assert not table.found()
    assert len(looks) == 2


def test_values_of_other_types_do_not_count(place):
    with closing(sqlite3.connect(place)) as conn, conn:
        conn.execute("INSERT INTO memory_store_s VALUES ('null', NULL)")
        conn.execute("INSERT INTO memory_store_s VALUES ('blob', x'6162')")
        conn.execute("INSERT INTO memory_store_s VALUES ('bad', CAST(x'ff' AS TEXT))")
        conn.execute("INSERT INTO memory_store_s VALUES ('empty', '')")
    table = LegacySqliteTable(str(place), "memory_store", "s")
    assert table.found()
    found = [table.read(name) for name in ("null", "blob", "bad", "empty", "a")]
    assert found == [None, None, None, "", "x"]


def test_a_write_ahead_log_is_read_and_a_writer_not_disturbed(tmp_path):
    path = tmp_path / "wal.db"
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("PRAGMA journal_mode=WAL")
    writer.execute('CREATE TABLE "memory_store_s" (key TEXT PRIMARY KEY, value TEXT)')
    writer.execute("INSERT INTO memory_store_s VALUES ('a', 'in the log')")
    table = LegacySqliteTable(str(path), "memory_store", "s")
    assert table.found()
    assert table.read("a") == "in the log"
    writer.execute("BEGIN EXCLUSIVE")
    writer.execute("UPDATE memory_store_s SET value = 'later'")
    assert table.read("a") == "in the log"
    writer.execute("COMMIT")
    assert table.read("a") == "later"
    writer.close()
