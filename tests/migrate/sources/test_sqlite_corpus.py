"""Files that old releases wrote come out as their manifests say."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from holdover.migrate.errors import SourceDamaged, SourceNotFound
from holdover.migrate.sources.naming import fold

CORPUS = Path(__file__).parents[2] / "corpus"
FOLDERS = [
    folder
    for corpus in [
        CORPUS,
        *filter(None, os.environ.get("HOLDOVER_CORPUS", "").split(os.pathsep)),
    ]
    for folder in sorted(Path(corpus).glob("*/sqlite_entity"))
]
ROOTS = (
    "memory_store",
    "memory_store_archive",
    "kg_facts",
    "select",
    "mémoire",
    "quoted",
    "",
)


def manifest(folder):
    return json.loads((folder / "MANIFEST.json").read_text())


def value(written):
    """The physical value of a manifest; None for what is not text."""
    if isinstance(written, dict):
        if "$repeat" in written:
            unit, times = written["$repeat"]
            return unit * times
        return written.get("$physical_text")
    return written


def truth(file):
    """Rows by physical table: what the stores wrote, without what is not text."""
    tables = {}
    for store in file["stores"]:
        rows = tables.setdefault(fold(store["physical_table"]), {})
        for key, written in store["entities"]:
            rows[key] = value(written)
    return {
        table: {key: text for key, text in rows.items() if text is not None}
        for table, rows in tables.items()
    }


def cases():
    for folder in FOLDERS:
        for name, file in manifest(folder)["files"].items():
            if "stores" in file:
                yield pytest.param(
                    folder, name, id=f"{folder.parent.name}-{Path(name).stem}"
                )


def copied(folder, tmp_path):
    """A copy: git keeps files read-only and of one time, tests may not change them."""
    target = tmp_path / "copy"
    shutil.copytree(folder, target)
    return target


def test_the_corpus_is_there():
    assert len(FOLDERS) >= 4
    assert len(list(cases())) >= 20


@pytest.mark.parametrize(("folder", "name"), list(cases()))
def test_a_file_is_read_as_its_manifest_says(
    folder, name, tmp_path, source, read_all, untouched
):
    here = copied(folder, tmp_path)
    file = manifest(folder)["files"][name]
    with untouched(here):
        opened = source(here / name, roots=ROOTS)
        inventory = opened.inventory()
        items, rejects, expired = read_all(opened, size=7)
        opened.close()
    # Foreign tables that a store was opened over are left out unless named.
    expected = truth(file)
    foreign = {text.split()[0] for text in file.get("foreign_objects", ())}
    expected = {table: rows for table, rows in expected.items() if table not in foreign}
    found = {}
    for item in items:
        table = item.locator.removeprefix(f"sqlite:{name}#")
        assert f"{item.root}_{item.session}".lower() == table.lower()
        assert item.kind == "entity"
        assert item.content == {"name": item.key, "summary": item.content["summary"]}
        found.setdefault(fold(table), {})[item.key] = item.content["summary"]
    assert found == {table: rows for table, rows in expected.items() if rows}
    assert len(items) == sum(map(len, expected.values()))
    assert expired == 0
    assert inventory.blockers == []
    assert sum(group.items for group in inventory.groups) == len(items)
    assert sum(group.sessions for group in inventory.groups) == len(found)
    assert sum(group.bytes for group in inventory.groups) == sum(
        len(item.key.encode()) + len(item.content["summary"].encode()) for item in items
    )
    assert inventory.rejects == {
        reason: sum(reject.reason == reason for reject in rejects)
        for reason in {reject.reason for reject in rejects}
    }


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.parent.name)
def test_look_alikes_are_left_out_and_say_why(folder, tmp_path, source, read_all):
    opened = source(copied(folder, tmp_path) / "mixed_app.db")
    inventory = opened.inventory()
    assert {one.name: one.why.split(" (")[0] for one in inventory.skipped} == {
        "memory_store_a-b c": "same shape, but not written by the library",
        "memory_store_settings": "same shape, but not written by the library",
        "memory_store_kv3": "extra columns: updated_at",
        "memory_store_nopk": "its key is not the primary key",
        "memory_store_blob": "its value is not TEXT",
        "memory_store_wr": "a WITHOUT ROWID table: the library makes none",
        "memory_store_view": "a view: it has no rows of its own",
        "message_store": "chat history: not an entity table",
        "config": "not an entity table",
        "users": "not an entity table",
        "key": "not an entity table",
    }
    assert inventory.skipped_count == 11
    assert {item.session for item in read_all(opened)[0]} == {"alice", "bob", "odd"}
    assert inventory.rejects == {"null-key": 2, "binary-value": 1}
    rejects = {(one.reason, one.locator) for one in read_all(opened)[1]}
    assert rejects == {
        ("null-key", "sqlite:mixed_app.db#memory_store_odd#rowid=4"),
        ("null-key", "sqlite:mixed_app.db#memory_store_odd#rowid=5"),
        ("binary-value", "sqlite:mixed_app.db#memory_store_odd#bytes"),
    }


def test_a_look_alike_is_read_when_its_session_is_named(
    corpus, tmp_path, source, read_all
):
    folder = corpus / "langchain-0.2.17/sqlite_entity"
    opened = source(
        copied(folder, tmp_path) / "mixed_app.db",
        sessions=frozenset({"kv3", "settings", "nopk", "blob", "wr", "view", "a-b c"}),
        only_named=True,
    )
    items, rejects, _ = read_all(opened)
    assert {(item.session, item.key): item.content["summary"] for item in items} == {
        ("kv3", "a"): "b",
        ("kv3", "Over"): "store row in a foreign 3-column table",
        ("settings", "theme"): "dark",
        ("settings", "lang"): "fr",
        ("nopk", "dup"): "2",
        ("a-b c", "k"): "dash and space in the table name",
    }
    assert [one.reason for one in rejects] == ["binary-value"]
    assert sum(item.session == "nopk" for item in items) == 2
    skipped = {one.name for one in opened.inventory().skipped}
    assert {"memory_store_wr", "memory_store_view"} <= skipped


def test_own_tables_under_unknown_roots_block(corpus, tmp_path, source, read_all):
    here = copied(corpus / "langchain-0.0.187/sqlite_entity", tmp_path)
    inventory = source(here / "entities.db").inventory()
    assert {blocker.code for blocker in inventory.blockers} == {"unknown-root"}
    assert [blocker.fix for blocker in inventory.blockers] == [
        "--root '' or --skip _t",
        "--root kg_facts or --skip kg_facts_default",
        "--root 'mémoire' or --skip 'mémoire_t'",
        "--root quoted or --skip quoted_x",
        "--root select or --skip select_t",
    ]
    opened = source(
        here / "entities.db",
        skip=frozenset({"_t", "KG_FACTS_default", "mémoire_t", "quoted_x", "select_t"}),
    )
    inventory = opened.inventory()
    assert inventory.blockers == []
    assert {one.why for one in inventory.skipped} == {"left out by --skip"}
    assert {item.root for item in read_all(opened)[0]} == {"memory_store"}


@pytest.mark.parametrize(
    ("name", "error", "words"),
    [
        ("truncated_half.db", SourceDamaged, "is damaged or incomplete"),
        ("truncated_midpage.db", SourceDamaged, "is damaged or incomplete"),
        ("header_only.db", SourceDamaged, "is damaged or incomplete"),
        ("corrupt_page2.db", SourceDamaged, "is damaged or incomplete"),
        ("not_a_database.db", SourceNotFound, "is not a SQLite database"),
    ],
)
def test_broken_files_say_so_in_one_sentence(
    corpus, tmp_path, source, untouched, name, error, words
):
    here = copied(corpus / "langchain-classic-1.0.8/sqlite_entity", tmp_path)
    with untouched(here), pytest.raises(error, match=words) as caught:
        source(here / name).inventory()
    assert name in str(caught.value)
    assert caught.value.hint
    assert "\n" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_damage_is_also_found_while_reading(corpus, tmp_path, source, read_all):
    here = copied(corpus / "langchain-classic-1.0.8/sqlite_entity", tmp_path)
    whole = bytearray((here / "entities.db").read_bytes())
    opened = source(here / "entities.db")
    opened.partitions()
    # Every page but the first, which holds the list of tables.
    whole[4096:] = b"\xa5" * (len(whole) - 4096)
    (here / "entities.db").write_bytes(whole)
    with pytest.raises(SourceDamaged):
        read_all(opened)


def test_an_empty_file_is_valid_and_noted(
    corpus, tmp_path, source, read_all, untouched
):
    here = copied(corpus / "langchain-classic-1.0.8/sqlite_entity", tmp_path)
    with untouched(here):
        opened = source(here / "zero_byte.db")
        inventory = opened.inventory()
        assert read_all(opened) == ([], [], 0)
    assert inventory.groups == []
    assert inventory.notes == ["0 bytes: an empty database; nothing found."]


def test_a_lost_wal_is_noted(corpus, tmp_path, source):
    here = copied(corpus / "langchain-0.3.27/sqlite_entity", tmp_path)
    left = source(here / "wal_main_only.db").inventory()
    assert any("a -wal file may have been left behind" in note for note in left.notes)
    whole = source(here / "wal.db").inventory()
    assert not any("left behind" in note for note in whole.notes)
    assert not any("temporary copy" in note for note in whole.notes)


def test_a_read_only_file_is_read(corpus, tmp_path, source, read_all, untouched):
    here = copied(corpus / "langchain-classic-1.0.8/sqlite_entity", tmp_path)
    (here / "readonly.db").chmod(0o444)
    twin = truth(manifest(here)["files"]["conversation.db"])
    with untouched(here):
        items, _, _ = read_all(source(here / "readonly.db"))
    assert len(items) == sum(map(len, twin.values()))


class TestHandmade:
    """Files that no release wrote, and that exist all the same."""

    @pytest.fixture
    def open_(self, corpus, tmp_path, source):
        here = copied(corpus / "handmade", tmp_path)
        return lambda name, **options: source(here / name, **options)

    def test_nulls_and_empty_values_are_rejects(self, open_, read_all):
        opened = open_("null_and_empty_values.db")
        items, rejects, _ = read_all(opened)
        assert [(i.key, i.content["summary"]) for i in items] == [
            ("ok", "fine"),
            ("int", "5"),
        ]
        assert [(r.reason, r.locator.rpartition("#")[2]) for r in rejects] == [
            ("null-value", "nul"),
            ("empty-value", "empty"),
            ("null-key", "rowid=4"),
        ]
        assert opened.inventory().rejects == {
            "null-value": 1,
            "empty-value": 1,
            "null-key": 1,
        }

    def test_utf16_is_read(self, open_, read_all):
        items, rejects, _ = read_all(open_("utf16.db"))
        assert [(i.key, i.content["summary"]) for i in items] == [
            ("北京", "首都"),
            ("Zoë", "x"),
        ]
        assert rejects == []

    def test_broken_utf8_is_a_reject(self, open_, read_all):
        items, rejects, _ = read_all(open_("invalid_utf8.db"))
        assert items == []
        assert [(r.reason, r.locator) for r in rejects] == [
            ("not-utf8", "sqlite:invalid_utf8.db#memory_store_s#rowid=1")
        ]

    def test_other_columns_are_never_read(self, open_, read_all):
        opened = open_("renamed_columns.db", sessions=frozenset({"s"}))
        assert read_all(opened) == ([], [], 0)
        assert opened.inventory().skipped[0].why == "other columns: k, v"

    def test_other_letter_case_is_a_look_alike(self, open_, read_all):
        opened = open_("custom_case.db")
        assert read_all(opened) == ([], [], 0)
        assert opened.inventory().skipped[0].name == "Memory_Store_S"
        items, _, _ = read_all(open_("custom_case.db", sessions=frozenset({"s"})))
        assert [(i.root, i.session, i.key) for i in items] == [
            ("memory_store", "S", "a")
        ]
