"""Every SQL history that old releases wrote is read as its manifest says."""

from __future__ import annotations

import json
import os
import shutil
from collections import defaultdict
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest
from histories import load_dump
from moving import files_of, rows_of
from sampling import sampled
from sql_histories import (
    arrived,
    check,
    contents,
    load_elsewhere,
    load_mariadb,
    tables_of_dump,
    truth_of,
)

from holdover.migrate.options import Options
from holdover.migrate.run import migrate
from holdover.migrate.sources.base import ReadOptions

CORPORA = [
    Path(__file__).parents[2] / "corpus",
    *map(Path, filter(None, os.environ.get("HOLDOVER_CORPUS", "").split(os.pathsep))),
]


def folders(kind):
    found = {}
    for corpus in CORPORA:
        for path in sorted(corpus.glob(f"*/{kind}/MANIFEST.json")):
            found.setdefault(path.parts[-3], path.parent)
    return found


SQLITE, POSTGRES, MARIADB = map(folders, ("sql_history_sqlite", "postgres", "mariadb"))


@pytest.fixture
def messages(source):
    """A source of which only chat histories are read."""
    return partial(source, kinds=frozenset({"messages"}))


def manifest_of(folder):
    return json.loads((folder / "MANIFEST.json").read_text("utf-8"))


def read(source, read_all):
    """`{(root, session): [content, …]}` in the order of positions, and the rejects."""
    items, rejects, _ = read_all(source)
    assert len({(i.root, i.session, i.position) for i in items}) == len(items)
    found = defaultdict(list)
    for item in sorted(items, key=lambda item: item.position):
        found[item.root, item.session].append(item.content)
    return dict(found), rejects


def same_by_names(source):
    """What `keys` and `fetch` give is what `read` gives."""
    for partition in source.partitions():
        names = [item for page in source.keys(partition, size=7) for item in page]
        fetched = source.fetch(partition, names)
        batches = list(source.read(partition, size=7))
        assert fetched.items == [item for batch in batches for item in batch.items]
        known = {reject.locator for batch in batches for reject in batch.rejects}
        assert {reject.locator for reject in fetched.rejects} <= known


@pytest.mark.parametrize("release", SQLITE)
def test_a_file(release, tmp_path, messages, read_all):
    folder = shutil.copytree(SQLITE[release], tmp_path / "source")
    before = files_of(folder)
    entry = manifest_of(folder)["files"]["chat.db"]
    truth = truth_of({"files": {"chat.db": entry}})

    plain = messages(folder / "chat.db")
    inventory = plain.inventory()
    named = {blocker.fix.split(" or ")[0] for blocker in inventory.blockers}
    roots = ("message_store", "chat_history_v2", "message store-with space")
    opened = messages(folder / "chat.db", roots=roots)
    found, rejects = read(opened, read_all)

    # The rows that the makers of the file put among those of the library.
    junk = found.pop(("message_store", "junk"))
    assert [content["data"]["content"] for content in junk] == [
        "unknown type",
        "good row after junk",
    ]
    assert junk[0]["type"] == "martian"
    check(found, truth)
    assert sorted(reject.reason for reject in rejects) == [
        "not-json",
        "null-message",
        "null-session",
    ]
    same_by_names(opened)
    # The library's own tables are asked for, a stranger's of the same shape is not.
    assert {name.rpartition("--root ")[2] for name in named} == {
        "chat_history_v2",
        "'message store-with space'",
    }
    whys = dict(inventory.skipped)
    assert whys["outbox"].startswith("same shape, but not written by the library")
    whole = opened.inventory()
    assert whole.blockers == []
    groups = {g.root: (g.sessions, g.items) for g in whole.groups}
    sessions = [session for root, session in truth if root == "message_store"]
    rows = sum(len(m) for (root, _), m in truth.items() if root == "message_store")
    # Two rows of junk are messages, and that one is no JSON is seen when it is read.
    assert groups["message_store"] == (len(sessions) + 1, rows + 3)
    assert whole.rejects == {"null-session": 1, "null-message": 1}
    assert files_of(folder) == before


CUSTOM = [r for r in SQLITE if "messages" in
          manifest_of(SQLITE[r])["files"]["chat.db"]["custom_converter"]]  # fmt: skip


@pytest.mark.parametrize("release", CUSTOM)
def test_a_table_of_ones_own(release, tmp_path, messages, read_all):
    path = shutil.copy(SQLITE[release] / "chat.db", tmp_path)
    custom = manifest_of(SQLITE[release])["files"]["chat.db"]["custom_converter"]

    opened = messages(
        path,
        roots=(custom["table"],),
        fields=(("session", custom["session_id_field_name"]), ("type", "type")),
        skip=frozenset({"chat_history_v2", "message store-with space"}),
    )
    found, rejects = read(opened, read_all)

    check(found, {(custom["table"], custom["session_id"]): custom["messages"]})
    assert rejects == []
    items, _, _ = read_all(opened)
    assert {item.created_at for item in items} == {
        datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC)
    }
    same_by_names(opened)


@pytest.mark.parametrize("release", POSTGRES)
def test_a_dump_of_postgres(release, postgres_url, messages, read_all):
    folder = POSTGRES[release]
    load_dump(postgres_url, folder / "dump.sql")
    before = rows_of(postgres_url)
    truth = truth_of(manifest_of(folder))

    plain = messages(postgres_url).inventory()
    asked = {blocker.fix.split()[-4] for blocker in plain.blockers}
    tables = {table for table, _ in truth}
    # By their columns alone, a stranger's table of the same shape is asked for, too.
    assert tables - {"message_store"} <= asked
    assert "audit" in dict(plain.skipped)

    opened = messages(postgres_url, roots=tuple(tables))
    found, rejects = read(opened, read_all)

    check(found, truth)
    assert rejects == []
    same_by_names(opened)
    assert rows_of(postgres_url) == before


def test_the_times_of_langchain_postgres(postgres_url, messages, read_all):
    import psycopg

    load_dump(postgres_url, POSTGRES["companions-postgres-0.0.17"] / "dump.sql")
    opened = messages(postgres_url, roots=("chat_history",))
    items, _, _ = read_all(opened)
    with psycopg.connect(postgres_url) as db:
        truth = dict(db.execute("SELECT id, created_at FROM chat_history").fetchall())
    assert {item.position: item.created_at for item in items} == truth


def mariadb_checks(opened, folder, read_all):
    manifest = manifest_of(folder)
    truth = {place: specs for place, specs in truth_of(manifest).items() if specs}
    found, rejects = read(opened, read_all)
    check(found, truth)
    assert rejects == []
    same_by_names(opened)
    dump = tables_of_dump(folder / "dump.sql")
    items, _, _ = read_all(opened)
    for item in items:
        _, rows = dump[item.root]
        row = next(row for row in rows if row[0] == item.position)
        if item.root == "langchain_message_store":
            moment = datetime.fromisoformat(row[-1]).replace(tzinfo=UTC)
            assert item.created_at == moment
        else:
            assert item.created_at is None
    assert len(items) == sum(len(rows) for _, rows in dump.values())


@pytest.mark.parametrize("release", MARIADB)
def test_a_dump_of_mariadb(release, mariadb_url, messages, read_all):
    folder = MARIADB[release]
    load_mariadb(mariadb_url, folder / "dump.sql")
    tables = tables_of_dump(folder / "dump.sql")

    mariadb_checks(messages(mariadb_url, roots=tuple(tables)), folder, read_all)


@pytest.mark.parametrize(
    "release",
    sampled(["companions-postgres-0.0.17"], [r for r in MARIADB if "comp" not in r]),
)
def test_a_dump_of_mariadb_in_tables_elsewhere(
    release, postgres_url, messages, read_all
):
    """The layouts of SingleStore and TiDB are read also where no MariaDB runs."""
    folder = MARIADB[release]
    load_elsewhere(postgres_url, folder / "dump.sql")
    tables = tables_of_dump(folder / "dump.sql")

    mariadb_checks(messages(postgres_url, roots=tuple(tables)), folder, read_all)


@pytest.mark.parametrize("place", ["sqlite", "postgres", "mariadb"])
def test_it_arrives(place, request, tmp_path):
    """From each database through a whole migration, to the byte of its manifest."""
    url = request.getfixturevalue(f"{place}_url") if place != "sqlite" else ""
    if place == "sqlite":
        folder = SQLITE["langchain-classic-1.0.8"]
        url = str(shutil.copy(folder / "chat.db", tmp_path / "chat.db"))
        truth = truth_of(manifest_of(folder))
    elif place == "postgres":
        folder = POSTGRES["companions-postgres-0.0.17"]
        load_dump(url, folder / "dump.sql")
        truth = truth_of(manifest_of(folder))
    else:
        folder = MARIADB["companions-postgres-0.0.17"]
        load_mariadb(url, folder / "dump.sql")
        truth = truth_of(manifest_of(folder))
    target = f"sqlite:///{tmp_path / 'memory.db'}"
    options = Options(
        read=ReadOptions(
            roots=tuple({root for root, _ in truth}),
            kinds=frozenset({"messages"}),
        )
    )

    done = migrate(url, target, options)

    found = contents(arrived(target))
    junk = found.pop(("message_store", "junk"), [])
    assert bool(junk) == (place == "sqlite")
    check(found, truth)
    assert done.verify.clean
    held = sum(map(len, truth.values())) + len(junk)
    assert done.verify.equal == done.copy.written == held
    again = migrate(url, target, options)
    assert again.copy.written == 0
    assert again.verify.clean
