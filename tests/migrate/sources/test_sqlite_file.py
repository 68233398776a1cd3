"""Whatever state a file is in: the right rows or one sentence, and no trace."""

from __future__ import annotations

import os
import pwd
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest

from holdover.migrate.errors import SourceNotFound, SourceUnavailable
from holdover.migrate.sources import sqlite_file
from holdover.migrate.sources.base import ReadOptions
from holdover.migrate.sources.sqlite import SqliteSource

IN_WAL = ("wal", "OnlyInWal", "still only in the -wal file")
APPLICATION = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
for line in sys.stdin:
    print(repr(connection.execute(line).fetchall()), flush=True)
"""


@contextmanager
def application(path):
    """Another process on the file: `run(sql)` gives its rows."""
    process = subprocess.Popen(
        [sys.executable, "-c", APPLICATION, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )

    def run(sql):
        process.stdin.write(sql + "\n")
        process.stdin.flush()
        return process.stdout.readline().strip()

    try:
        yield run
    finally:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


@contextmanager
def bound_by_permissions():
    """Be a user who may not do everything, also where the tests run as root."""
    if os.geteuid() != 0:
        yield
        return
    nobody = pwd.getpwnam("nobody")
    os.setegid(nobody.pw_gid)
    os.seteuid(nobody.pw_uid)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """Where copies go, so that a test can see that they are removed."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def open_folder():
    """A folder that other users reach, too (pytest's own are closed)."""
    folder = Path(tempfile.mkdtemp(prefix="holdover-test-"))
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


def rows(source):
    return [
        (item.session, item.key, item.content["summary"])
        for part in source.partitions()
        for batch in source.read(part)
        for item in batch.items
    ]


@pytest.mark.parametrize("form", ["{}", "sqlite:///{}"])
def test_a_missing_file_is_not_made(tmp_path, source, form):
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(SourceNotFound, match="does not exist"):
        source(form.format(folder / "none.db")).inventory()
    assert list(folder.iterdir()) == []


def test_what_is_not_a_database_says_so(tmp_path, source, untouched):
    (tmp_path / "folder.db").mkdir()
    (tmp_path / "text.db").write_text("SQLite is a library\n")
    os.mkfifo(tmp_path / "pipe.db")
    for name, words in (
        ("folder.db", "is not a file"),
        ("text.db", "is not a SQLite database"),
        ("pipe.db", "is not a file"),
    ):
        with (
            untouched(tmp_path),
            pytest.raises(SourceNotFound, match=words) as caught,
        ):
            source(f"sqlite:///{tmp_path / name}").inventory()
        assert "SQLite is a library" not in str(caught.value)


@pytest.mark.parametrize(
    "name",
    ["a b.db", "100%.db", "what?mode=rwc#x.db", "日本.db", "it's\n.db", "'\".db"],
)
@pytest.mark.parametrize("form", ["{}", "sqlite:///{}"])
def test_any_file_name_works(make_db, source, untouched, name, form):
    path = make_db({"memory_store_s": [("k", "v")]}, name=name)
    with untouched(path.parent):
        opened = source(form.format(path))
        assert opened.inventory().groups[0].items == 1
        assert rows(opened) == [("s", "k", "v")]
        locator = next(opened.read(opened.partitions()[0])).items[0].locator
    assert locator == f"sqlite:{name}#memory_store_s"


def test_a_symbolic_link_is_followed_to_its_companions(corpus, tmp_path, source):
    real = tmp_path / "real"
    shutil.copytree(corpus / "langchain-0.3.27/sqlite_entity", real)
    (tmp_path / "link.db").symlink_to(real / "wal.db")
    assert ("wal", "OnlyInWal") in [r[:2] for r in rows(source(tmp_path / "link.db"))]


def test_a_wal_without_shm_is_copied_and_the_copy_removed(
    corpus, tmp_path, source, untouched, temporary
):
    here = tmp_path / "here"
    here.mkdir()
    for name in ("wal.db", "wal.db-wal"):
        shutil.copyfile(corpus / "langchain-0.3.27/sqlite_entity" / name, here / name)
    with untouched(here):
        opened = source(here / "wal.db")
        assert ("wal", "OnlyInWal", "still only in the -wal file") in rows(opened)
        assert any("temporary copy" in note for note in opened.inventory().notes)
        assert len(list(temporary.iterdir())) == 1
        opened.close()
    assert list(temporary.iterdir()) == []


def test_a_shm_without_wal_does_not_bring_a_wal(make_db, source, untouched):
    path = make_db({"memory_store_s": [("k", "v")]}, script="PRAGMA journal_mode=WAL;")
    path.with_name("entities.db-shm").write_bytes(bytes(32768))
    with untouched(path.parent):
        assert rows(source(path)) == [("s", "k", "v")]


def test_a_copy_is_removed_when_nobody_closes_the_source(corpus, tmp_path, temporary):
    here = tmp_path / "here"
    shutil.copytree(corpus / "langchain-classic-1.0.8/sqlite_entity", here)
    opened = SqliteSource(str(here / "hot_journal.db"), ReadOptions())
    assert len(rows(opened)) == 120
    assert len(list(temporary.iterdir())) == 1
    opened._file.connection.close()
    del opened
    assert list(temporary.iterdir()) == []


def test_a_hot_journal_is_rolled_back_in_a_copy(
    corpus, tmp_path, source, untouched, temporary
):
    here = tmp_path / "here"
    here.mkdir()
    for name in ("hot_journal.db", "hot_journal.db-journal"):
        origin = corpus / "langchain-classic-1.0.8/sqlite_entity" / name
        shutil.copyfile(origin, here / name)
    with untouched(here):
        opened = source(here / "hot_journal.db")
        found = rows(opened)
        opened.close()
    assert found == [
        ("hot", f"E{i:03}", f"committed summary {i} " + "x" * 200) for i in range(120)
    ]
    assert list(temporary.iterdir()) == []


def test_the_journal_of_a_running_writer_is_not_hot(make_db, source, temporary):
    path = make_db({"memory_store_s": [("k", "old")]})
    with application(path) as run:
        run("PRAGMA cache_size=1")
        run("BEGIN IMMEDIATE")
        run("UPDATE memory_store_s SET value = 'new'")
        assert path.with_name("entities.db-journal").exists()
        assert rows(source(path)) == [("s", "k", "old")]
    assert list(temporary.iterdir()) == []


def test_a_live_wal_is_read_in_place_and_can_be_checkpointed(
    make_db, source, untouched, temporary
):
    path = make_db(
        {"memory_store_s": [(f"k{i}", "v") for i in range(10)]},
        script="PRAGMA journal_mode=WAL;",
    )
    with application(path) as run:
        run("INSERT INTO memory_store_s VALUES ('late', 'in the wal')")
        with untouched(path.parent):
            opened = source(path)
            assert opened.inventory().groups[0].items == 11
            batches = opened.read(opened.partitions()[0], size=4)
            assert len(next(batches).items) == 4
        # Between two batches nothing keeps the application's checkpoint waiting.
        assert run("PRAGMA wal_checkpoint(TRUNCATE)") == "[(0, 0, 0)]"
        run("INSERT INTO memory_store_s VALUES ('later', 'v')")
        keys = [item.key for batch in batches for item in batch.items]
        assert keys == ["k4", "k5", "k6", "k7", "k8", "k9", "late", "later"]
    assert list(temporary.iterdir()) == []


def test_a_writer_can_write_between_batches(make_db, source):
    path = make_db({"memory_store_s": [(f"k{i}", "v") for i in range(10)]})
    opened = source(path)
    batches = opened.read(opened.partitions()[0], size=4)
    next(batches)
    with application(path) as run:
        assert run("INSERT INTO memory_store_s VALUES ('late', 'v')") == "[]"
    assert [i.key for batch in batches for i in batch.items][-1] == "late"


@pytest.mark.parametrize("journal", ["DELETE", "WAL"])
def test_an_exclusive_lock_is_named_after_the_timeout(make_db, untouched, journal):
    path = make_db(
        {"memory_store_s": [("k", "v")]}, script=f"PRAGMA journal_mode={journal};"
    )
    with application(path) as run:
        run("PRAGMA locking_mode=EXCLUSIVE")
        run("BEGIN EXCLUSIVE")
        opened = SqliteSource(str(path), ReadOptions(), timeout=0.2)
        with untouched(path.parent), pytest.raises(SourceUnavailable) as caught:
            opened.inventory()
        assert "is locked" in str(caught.value)
    assert rows(opened) == [("s", "k", "v")]
    opened.close()


@pytest.mark.parametrize("lock", ["BEGIN", "BEGIN IMMEDIATE"])
def test_other_locks_do_not_matter(make_db, lock):
    path = make_db({"memory_store_s": [("k", "v")]})
    with application(path) as run:
        run(lock)
        run("SELECT count(*) FROM memory_store_s")
        opened = SqliteSource(str(path), ReadOptions(), timeout=0.2)
        assert rows(opened) == [("s", "k", "v")]
        opened.close()


def test_a_file_that_keeps_changing_is_not_half_copied(
    corpus, tmp_path, monkeypatch, temporary
):
    shutil.copytree(corpus / "langchain-classic-1.0.8/sqlite_entity", tmp_path / "d")
    path = tmp_path / "d" / "wal_main_only.db"
    states = iter(range(100))
    monkeypatch.setattr(sqlite_file, "_state", lambda _: next(states))
    monkeypatch.setattr(sqlite_file, "_PAUSE", 0)
    opened = SqliteSource(str(path), ReadOptions())
    with pytest.raises(SourceUnavailable, match="keeps changing"):
        opened.inventory()
    opened.close()
    assert list(temporary.iterdir()) == []


def test_a_full_disk_is_one_sentence(corpus, tmp_path, monkeypatch, temporary):
    shutil.copytree(corpus / "langchain-classic-1.0.8/sqlite_entity", tmp_path / "d")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(sqlite_file.shutil, "copyfileobj", full)
    opened = SqliteSource(str(tmp_path / "d" / "wal_main_only.db"), ReadOptions())
    with pytest.raises(SourceUnavailable, match="no space left"):
        opened.inventory()
    opened.close()
    assert list(temporary.iterdir()) == []


def test_a_file_without_permission_is_unavailable(make_db, open_folder, source):
    path = open_folder / "entities.db"
    shutil.copyfile(make_db({"memory_store_s": [("k", "v")]}), path)
    path.chmod(0)
    with bound_by_permissions(), pytest.raises(SourceUnavailable) as caught:
        source(path).inventory()
    assert "cannot be read: permission denied" in str(caught.value)


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["conversation.db"], ("conv_a", "", "summary for the empty entity name")),
        (["wal.db", "wal.db-wal"], IN_WAL),
        (["wal.db", "wal.db-wal", "wal.db-shm"], IN_WAL),
        (["wal_main_only.db"], ("wal", "Checkpointed", "in the main file")),
        (
            ["hot_journal.db", "hot_journal.db-journal"],
            ("hot", "E119", "committed summary 119 " + "x" * 200),
        ),
    ],
)
def test_a_read_only_folder_is_enough(
    corpus, open_folder, source, untouched, names, expected
):
    for name in names:
        origin = corpus / "langchain-classic-1.0.8/sqlite_entity" / name
        shutil.copyfile(origin, open_folder / name)
        (open_folder / name).chmod(0o444)
    open_folder.chmod(0o555)
    with untouched(open_folder), bound_by_permissions():
        opened = source(open_folder / names[0])
        assert expected in rows(opened)
        opened.close()


def test_no_content_is_in_any_message(tmp_path):
    error = sqlite3.OperationalError("Could not decode with text 'secret summary'")
    found = sqlite_file.source_error(error, tmp_path / "x.db")
    assert "secret" not in str(found)
