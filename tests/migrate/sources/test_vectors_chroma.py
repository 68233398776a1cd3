"""Chroma, read raw: what its versions keep, and what may be odd in it."""

from __future__ import annotations

import shutil
import sqlite3
import struct
from contextlib import closing

import pytest
from old_embedding import packed
from vector_corpus import CHROMA, one, read

from holdover.migrate.errors import MigrateError, SourceNotFound

OLD = one("langchain-classic-1.0.8", "chroma/chroma.sqlite3")
NEWEST = CHROMA[-1][0]


def raw(vector):
    return None if vector is None else struct.pack(f"<{len(vector)}f", *vector)


@pytest.fixture
def place(tmp_path):
    """A copy of a Chroma that chromadb wrote, with its indexes."""
    return shutil.copytree(NEWEST, tmp_path / "chroma")


@pytest.fixture
def change(place):
    def run(*statements):
        with closing(sqlite3.connect(place / "chroma.sqlite3")) as db, db:
            for statement in statements:
                db.execute(*statement) if isinstance(statement, tuple) else db.execute(
                    statement
                )

    return run


def test_the_database_alone_is_enough(place):
    found = read(place / "chroma.sqlite3")
    assert found.items == read(place).items


def test_roots_are_collections(place):
    found = read(place, roots=("small", "cosine"))
    assert {item.root for item in found.items} == {"small", "cosine"}
    assert [one.name for one in found.inventory.skipped] == ["memories"]
    found = read(place, skip=frozenset({"memories", "cosine"}))
    assert {item.root for item in found.items} == {"small"}


def test_one_name_in_two_databases(place, change):
    change(
        "INSERT INTO databases SELECT 'other-id', 'other', id FROM tenants",
        "UPDATE collections SET name = 'memories', database_id = 'other-id'"
        " WHERE name = 'small'",
    )
    roots = {item.root for item in read(place).items}
    assert roots == {
        "default_tenant/default_database/memories",
        "default_tenant/other/memories",
        "cosine",
    }


def test_without_the_index_folders_only_what_is_in_the_queue_has_vectors(place):
    for path in place.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
    found = read(place)
    with_vectors = [item for item in found.items if item.vector is not None]
    assert 0 < len(with_vectors) < len(found.items)
    for item in with_vectors:
        assert raw(item.vector) == packed(item.content["text"])
    notes = " ".join(found.inventory.notes)
    assert "its index is missing" in notes


def test_without_the_queue_what_the_index_has_is_used(place, change):
    change("DELETE FROM embeddings_queue")
    found = read(place, roots=("memories",))
    kept = [item for item in found.items if item.vector is not None]
    assert 0 < len(kept) < len(found.items)
    for item in kept:
        # What was changed later is in the queue alone, and its old vector elsewhere.
        if item.content["text"].startswith("input: turn"):
            assert raw(item.vector) == packed(item.content["text"])


@pytest.mark.parametrize("name", ["header.bin", "data_level0.bin"])
@pytest.mark.parametrize("how", ["cut", "zeros", "ones", "gone"])
def test_a_broken_index(place, name, how):
    for path in place.glob(f"*/{name}"):
        held = path.read_bytes()
        changed = {
            "cut": held[: len(held) // 3],
            "zeros": bytes(len(held)),
            "ones": b"\xff" * len(held),
        }
        path.unlink() if how == "gone" else path.write_bytes(changed[how])
    found = read(place)
    assert len(found.items) == 35
    assert found.rejects == []


@pytest.mark.parametrize("pickled", [b"", b"junk", b"\x80\x04N.", b"\x80\x04]."])
def test_a_broken_pickle_of_labels(place, pickled):
    for path in place.glob("*/index_metadata.pickle"):
        path.write_bytes(pickled)
    found = read(place)
    assert len(found.items) == 35
    assert "its index is damaged" in " ".join(found.inventory.notes)


def test_a_label_that_leads_nowhere(place):
    import pickle

    for path in place.glob("*/index_metadata.pickle"):
        held = pickle.loads(path.read_bytes())
        held["id_to_label"] = dict.fromkeys(held["id_to_label"], 10**18)
        path.write_bytes(pickle.dumps(held))
    assert len(read(place).items) == 35


def test_a_segment_that_is_a_path_leads_nowhere(place, change):
    inside = max(place.glob("*/index_metadata.pickle"), key=lambda p: p.stat().st_size)
    segment = inside.parent.name
    inside.parent.rename(place.parent / "outside")
    change(
        ("UPDATE segments SET id = '../outside' WHERE id = ?", (segment,)),
        "DELETE FROM collections WHERE name <> 'memories'",
    )
    change("DELETE FROM embeddings_queue")
    found = read(place)
    assert {item.vector for item in found.items} == {None}


def test_rows_that_are_no_documents(place, change):
    change(
        "UPDATE embedding_metadata SET string_value = NULL"
        " WHERE key = 'chroma:document' AND id = 1",
        "DELETE FROM embedding_metadata WHERE key = 'chroma:document' AND id = 4",
        "UPDATE embedding_metadata SET string_value = '  '"
        " WHERE key = 'chroma:document' AND id = 5",
        "UPDATE embedding_metadata SET string_value = CAST(x'fffe41' AS TEXT)"
        " WHERE key = 'chroma:document' AND id = 6",
        "UPDATE embedding_metadata SET string_value = NULL, int_value = 5"
        " WHERE key = 'chroma:document' AND id = 7",
    )
    found = read(place, roots=("memories",))
    assert sorted(found.reasons) == ["empty-text"] * 3 + ["not-text"] * 2
    assert len(found.items) == 16


def test_what_is_in_the_queue_and_no_vector(place, change):
    change(
        "UPDATE embeddings_queue SET vector = x'0000c07f'",
        "UPDATE embeddings_queue SET encoding = 'INT32' WHERE seq_id % 2",
    )
    assert len(read(place).items) == 35


def test_metadata_of_every_type(place, change):
    into = "INSERT INTO embedding_metadata VALUES"
    into_list = "INSERT INTO embedding_metadata_array VALUES"
    change(
        "DELETE FROM embedding_metadata WHERE id = 1 AND key <> 'chroma:document'",
        f"{into} (1, 'text', 'x', NULL, NULL, NULL)",
        f"{into} (1, 'whole', NULL, 7, NULL, NULL)",
        f"{into} (1, 'number', NULL, NULL, 0.5, NULL)",
        f"{into} (1, 'truth', NULL, NULL, NULL, 0)",
        f"{into} (1, 'nothing', NULL, NULL, NULL, NULL)",
        f"{into} (1, 'chroma:uri', 'x', NULL, NULL, NULL)",
        f"{into_list} (1, 'list', 'a', NULL, NULL, NULL)",
        f"{into_list} (1, 'list', 'b', NULL, NULL, NULL)",
    )
    item = read(place, roots=("memories",)).items[0]
    assert item.content["metadata"] == {
        "text": "x",
        "whole": 7,
        "number": 0.5,
        "truth": False,
        "nothing": None,
        "list": ["a", "b"],
    }


def test_chroma_before_its_database(tmp_path):
    place = tmp_path / "old"
    place.mkdir()
    for name in ("chroma-collections.parquet", "chroma-embeddings.parquet"):
        (place / name).write_bytes(b"PAR1")
    with pytest.raises(SourceNotFound, match=r"before 0\.4") as caught:
        read(place)
    assert "chroma-migrate" in caught.value.hint


@pytest.mark.parametrize(
    "held", [b"", b"SQLite format 3\x00", b"SQLite format 3\x00" + bytes(4096), b"text"]
)
def test_another_file_of_that_name(tmp_path, held):
    place = tmp_path / "chroma"
    place.mkdir()
    (place / "chroma.sqlite3").write_bytes(held)
    with pytest.raises(MigrateError):
        read(place)


def test_a_chroma_in_use_is_read_where_it_lies(place, untouched, change):
    change("PRAGMA journal_mode=DELETE")
    with closing(sqlite3.connect(place / "chroma.sqlite3")) as writer:
        writer.execute("BEGIN IMMEDIATE")
        writer.execute(
            "INSERT INTO embedding_metadata VALUES (1, 'new', 'x', NULL, NULL, NULL)"
        )
        found = read(place)
    assert len(found.items) == 35


def test_the_one_of_the_release_has_its_times(tmp_path):
    path = shutil.copytree(OLD.path, tmp_path / "chroma")
    found = read(path)
    assert [item.created_at.year for item in found.items] == [2026] * 9
    assert all(item.created_at.tzinfo for item in found.items)
