"""Vector memory in files: every form, whole, odd and broken."""

from __future__ import annotations

import importlib.util
import json
import os
import pickle
import shutil
import struct
import subprocess
import sys

import pytest
from old_embedding import DIMS, packed, vector
from vector_corpus import one, read

from holdover.migrate.errors import (
    MigrateError,
    SourceDamaged,
    SourceNotFound,
    SourceUnavailable,
)
from holdover.migrate.sources import vectors_faiss_index
from holdover.migrate.sources.vectors_faiss_index import FaissVectors

FAISS = one("langchain-classic-1.0.8", "faiss/index.pkl")
SKLEARN = one("langchain-classic-1.0.8", "sklearn.json")


def entry(text, **more):
    return {"id": "1", "vector": [0.5] * DIMS, "text": text, "metadata": {}, **more}


@pytest.fixture
def write(tmp_path):
    def to(value, name="memories.json"):
        path = tmp_path / name
        path.write_text(value if isinstance(value, str) else json.dumps(value))
        return path

    return to


def raw(vector):
    return struct.pack(f"<{len(vector)}f", *vector)


# What becomes of a document, whatever held it.


@pytest.mark.parametrize(
    ("held", "reason"),
    [
        (entry(""), "empty-text"),
        (entry(" \n\t"), "empty-text"),
        (entry(None), "empty-text"),
        (entry(12), "not-text"),
        (entry({"a": 1}), "not-text"),
        (entry("text", metadata=[1]), "bad-metadata"),
        (entry("text", metadata="x"), "bad-metadata"),
        ({"id": "1"}, "bad-entry"),
        ([1], "bad-entry"),
        ("secret", "bad-entry"),
        (None, "bad-entry"),
    ],
)
def test_what_is_no_turn_is_a_reject_and_the_rest_goes_on(write, held, reason):
    path = write({"a": entry("first"), "b": held, "c": entry("third")})
    found = read(path)
    assert found.texts == ["first", "third"]
    assert found.reasons == [reason]
    assert found.rejects[0].locator == "file:memories.json#1"
    assert "secret" not in found.rejects[0].detail
    assert found.inventory.rejects == {reason: 1}


def test_what_has_the_place_of_another_is_counted_by_how_it_differs(write):
    path = write(
        {
            "1": entry("Hello  there", metadata={"a": 1}),
            "2": entry("Hello  there", metadata={"a": 1}),
            "3": entry("hello THERE", metadata={"a": 1}),
            "4": entry("Hello  there"),
            "5": entry("Hello there", metadata={"a": 2}),
            "6": entry("another"),
        }
    )
    found = read(path)
    assert [item.content for item in found.items] == [
        {"text": "Hello  there", "metadata": {"a": 1}},
        {"text": "another"},
    ]
    assert found.skipped == {
        "duplicate": 1,
        "duplicate-spelling": 1,
        "duplicate-metadata": 2,
    }
    notes = " ".join(found.inventory.notes)
    for number in (
        "1 document left out: another one of the session says the same",
        "1 document left out: another one of the session differs in letter case",
        "2 documents left out: another one of the session has the same text",
    ):
        assert number in notes
    assert "--field session=KEY" in notes


def test_sessions_by_a_key_of_the_metadata(write):
    path = write(
        {
            "1": entry("same", metadata={"user": "u1", "n": 1}),
            "2": entry("same", metadata={"user": "u2"}),
            "3": entry("same", metadata={"user": 7}),
            "4": entry("same", metadata={"user": None}),
            "5": entry("same", metadata={"user": True}),
            "6": entry("same"),
        }
    )
    found = read(path, fields=(("session", "user"),))
    assert [(item.session, item.content["metadata"]) for item in found.items] == [
        ("u1", {"user": "u1", "n": 1}),
        ("u2", {"user": "u2"}),
        ("7", {"user": 7}),
    ]
    assert found.reasons == ["no-session"] * 3
    named = read(
        path,
        fields=(("session", "user"),),
        sessions=frozenset({"u2"}),
        only_named=True,
    )
    assert [item.session for item in named.items] == ["u2"]
    assert "2 documents are outside the named sessions" in " ".join(
        named.inventory.notes
    )
    whole = read(path, sample=0.0)
    assert whole.items == []


def test_what_holdover_wrote_itself_has_a_session_and_a_time(write):
    from langchain_core.embeddings import DeterministicFakeEmbedding
    from langchain_core.vectorstores import InMemoryVectorStore

    from holdover.compat import VectorStoreRetrieverMemory

    vectors = InMemoryVectorStore(DeterministicFakeEmbedding(size=DIMS))
    for session in ("alice@example.com", "a/b"):
        memory = VectorStoreRetrieverMemory(
            retriever=vectors.as_retriever(), session_id=session
        )
        memory.save_context({"input": "hi"}, {"output": session})
    scoped = VectorStoreRetrieverMemory(
        retriever=vectors.as_retriever(), scope=("acme", "shop", "s1")
    )
    scoped.save_context({"input": "hi"}, {"output": "three labels"})
    path = write("{}")
    vectors.dump(str(path))
    found = read(path)
    assert [(item.root, item.session) for item in found.items] == [
        ("memory_store", "alice@example.com"),
        ("memory_store", "a/b"),
        ("memories", "acme/shop/s1"),
    ]
    assert all(item.created_at is not None for item in found.items)
    assert found.items[0].content == {"text": "input: hi\noutput: alice@example.com"}
    # More labels than a root and a session are only kept apart by all of them.
    assert found.items[2].content["metadata"] == {"holdover_scope": "acme/shop/s1"}


def test_a_root_is_the_name_that_is_given(write):
    path = write({"1": entry("text")})
    assert read(path).items[0].root == "memories"
    assert read(path, roots=("memory_store",)).items[0].root == "memory_store"
    assert read(path, skip=frozenset({"memories"})).items == []


def test_other_kinds_are_not_here(write):
    with pytest.raises(SourceNotFound, match="holds vector memory") as caught:
        read(write({"1": entry("text")}), kinds=frozenset({"messages"}))
    assert caught.value.hint == "Ask for --kind turns."


def test_vectors_that_no_index_takes_are_left_out(write):
    bad = [None, [], "x", [1, "2"], [float("nan")] * 3, [1e39], [float("inf")], [[1.0]]]
    path = write(
        {str(at): entry(f"text {at}", vector=one) for at, one in enumerate(bad)}
        | {"good": entry("good", vector=[1, 2.5])}
    )
    found = read(path)
    assert [item.vector for item in found.items[:-1]] == [None] * len(bad)
    assert list(found.items[-1].vector) == [1.0, 2.5]
    assert found.inventory.groups[0].vectors == {2: 1}


# InMemoryVectorStore.


def test_a_dump_that_ends_early_is_read_as_far_as_it_goes(write):
    text = json.dumps({str(at): entry(f"text {at}") for at in range(5)})
    found = read(write(text[: len(text) // 2]))
    assert found.texts == ["text 0", "text 1"]
    assert found.reasons == ["damaged"]
    with pytest.raises(SourceDamaged, match="is damaged or incomplete"):
        read(write('{"1": {"id": "1", "vector": [1'))


# SKLearnVectorStore.


def columns(**changes):
    return {
        "ids": ["a", "b"],
        "texts": ["one", "two"],
        "metadatas": [{}, {"k": 1}],
        "embeddings": [[1.0], [2.0]],
        **changes,
    }


def test_sklearn_columns_in_any_order(write):
    held = columns()
    found = read(write({name: held[name] for name in ("ids", *reversed(held))}))
    assert found.texts == ["one", "two"]
    assert found.items[1].content["metadata"] == {"k": 1}
    assert [list(item.vector) for item in found.items] == [[1.0], [2.0]]


@pytest.mark.parametrize(
    "held",
    [
        columns(texts=["one"]),
        columns(embeddings=[]),
        columns(metadatas=None),
        {"ids": [], "texts": ["one"]},
    ],
)
def test_sklearn_columns_that_do_not_fit(write, held):
    with pytest.raises(SourceDamaged, match="not of one length"):
        read(write(held))


def test_sklearn_of_another_serializer_is_named(tmp_path):
    parquet = tmp_path / "store.parquet"
    parquet.write_bytes(b"PAR1" + b"\x15\x04\x15" * 20 + b"PAR1")
    bson = tmp_path / "store.bson"
    bson.write_bytes(
        struct.pack("<i", 40) + b"\x04ids\x00" + b"\x05\x00\x00\x00\x00" * 6
    )
    for path in (parquet, bson):
        with pytest.raises(SourceNotFound, match="bson or parquet") as caught:
            read(path)
        assert "serializer='json'" in caught.value.hint


# FAISS.


class Docstore:
    """Has the attribute of the library's, and a class that nobody finds."""

    def __init__(self, held):
        self._dict = held


@pytest.fixture
def index(tmp_path):
    """A copy of an index that a release wrote."""
    folder = tmp_path / "shop"
    shutil.copytree(FAISS.path, folder)
    return folder


def write_index(folder, documents, positions, name="index"):
    """An index with any documents."""
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}.pkl"
    path.write_bytes(pickle.dumps((Docstore(documents), positions)))
    return path


def write_flat(folder, vectors, name="index"):
    dims = len(vectors[0])
    head = struct.pack(
        "<4siqqq?i", b"IxF2", dims, len(vectors), 1 << 20, 1 << 20, True, 1
    )
    numbers = b"".join(map(raw, vectors))
    size = struct.pack("<Q", dims * len(vectors))
    (folder / f"{name}.faiss").write_bytes(head + size + numbers)


def document(text, **metadata):
    from langchain_core.documents import Document

    return Document(text, metadata=metadata)


def test_faiss_root_is_the_folder_or_the_name_of_the_index(index):
    assert {item.root for item in read(index).items} == {"shop"}
    for suffix in (".pkl", ".faiss"):
        found = read(index / f"index{suffix}")
        assert {item.root for item in found.items} == {"shop"}
        shutil.copy(index / f"index{suffix}", index / f"users{suffix}")
    found = read(index)
    assert {item.root for item in found.items} == {"shop", "users"}
    assert {item.root for item in read(index, roots=("users",)).items} == {"users"}
    assert {item.root for item in read(index / "users.faiss").items} == {"users"}


def test_faiss_order_is_that_of_the_positions(tmp_path):
    folder = tmp_path / "faiss"
    held = {name: document(name) for name in ("c", "a", "b", "orphan")}
    write_index(folder, held, {2: "a", 0: "b", 1: "c", 3: "gone"})
    write_flat(folder, [vector(name) for name in "bca"])
    found = read(folder)
    assert found.texts == ["b", "c", "a", "orphan"]
    assert [item.vector and raw(item.vector) for item in found.items] == [
        packed("b"),
        packed("c"),
        packed("a"),
        None,
    ]
    assert found.reasons == ["missing-document"]


def test_faiss_metadata_of_a_pickle(tmp_path):
    from datetime import UTC, datetime

    at = datetime(2023, 5, 1, tzinfo=UTC)
    folder = tmp_path / "faiss"
    deep = []
    for _ in range(40):
        deep = [deep, deep]
    round_ = {}
    round_["itself"] = round_
    held = {
        "1": document("plain", at=at, pair=(1, 2), some={3}, none=None),
        "2": document("a bomb", deep=deep),
        "3": document("endless", **round_),
        "4": document("an object", of=document("secret")),
    }
    write_index(folder, held, dict(enumerate(held)))
    found = read(folder)
    assert found.items[0].content["metadata"] == {
        "at": at.isoformat(),
        "pair": [1, 2],
        "some": [3],
        "none": None,
    }
    assert found.reasons == ["bad-metadata"] * 2
    # An object is refused where a record is made of it, not made into something else.
    assert found.texts == ["plain", "an object"]


def test_nothing_in_a_pickle_is_run(tmp_path):
    made = tmp_path / "made"

    class Runs:
        def __reduce__(self):
            return (os.mkdir, (str(made),))

    folder = tmp_path / "faiss"
    held = {"1": document("text"), "2": Runs()}
    path = write_index(folder, held, {0: "1", 1: "2"})
    pickle.loads(path.read_bytes())
    made.rmdir()  # so it would be, with the reader of the library
    found = read(folder)
    assert found.texts == ["text"]
    assert len(found.rejects) == 1
    assert not made.exists()


@pytest.mark.parametrize(
    "pickled",
    [
        pickle.dumps("text"),
        pickle.dumps((1, 2)),
        pickle.dumps(({}, {0: "1"})),
        pickle.dumps(()),
        b"\x80\x04N.",
        b"\x80\x04",
        b"",
        b"no pickle",
    ],
)
def test_another_pickle_than_that_of_an_index(index, pickled):
    (index / "index.pkl").write_bytes(pickled)
    with pytest.raises(SourceDamaged):
        read(index)


@pytest.mark.parametrize("kind", ["missing", "empty", "cut", "another", "folder"])
def test_faiss_without_vectors_the_texts_are_read(index, kind, monkeypatch):
    path = index / "index.faiss"
    held = path.read_bytes()
    path.unlink()
    if kind == "folder":
        path.mkdir()
    elif kind != "missing":
        part = {"empty": b"", "cut": held[:-1], "another": b"IwFl" + held[4:]}[kind]
        path.write_bytes(part)
    found = read(index)
    assert len(found.texts) == 9
    assert {item.vector for item in found.items} == {None}
    (note,) = [note for note in found.inventory.notes if "cannot be read" in note]
    assert "index.faiss" in note


def test_faiss_is_named_where_it_is_needed_and_not_there(index, monkeypatch):
    path = index / "index.faiss"
    path.write_bytes(b"IHNf" + path.read_bytes()[4:])
    monkeypatch.setattr(vectors_faiss_index.importlib.util, "find_spec", lambda _: None)
    found = read(index)
    assert len(found.texts) == 9
    assert "pip install 'holdover[faiss]'" in " ".join(found.inventory.notes)


faiss = pytest.mark.skipif(
    importlib.util.find_spec("faiss") is None, reason="faiss is not installed"
)
_MAKE = """
import sys, numpy, faiss
kind, path, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
numbers = numpy.frombuffer(sys.stdin.buffer.read(), "<f4").reshape(count, -1)
index = faiss.index_factory(numbers.shape[1], kind)
index.train(numpy.ascontiguousarray(numbers))
index.add(numpy.ascontiguousarray(numbers))
faiss.write_index(index, path)
"""


@faiss
@pytest.mark.parametrize("kind", ["Flat", "HNSW8,Flat", "IVF2,Flat"])
def test_faiss_reads_the_indexes_that_keep_every_number(tmp_path, kind):
    path = tmp_path / "index.faiss"
    texts = [str(at) for at in range(90)]
    command = [sys.executable, "-c", _MAKE, kind, str(path), str(len(texts))]
    numbers = b"".join(map(packed, texts))
    subprocess.run(command, input=numbers, check=True, capture_output=True)
    vectors = FaissVectors(path)
    assert (vectors.missing, vectors.dims, vectors.count) == ("", DIMS, 90)
    assert [raw(vectors.at(at)) for at in range(90)] == [packed(one) for one in texts]
    assert (vectors.at(-1), vectors.at(90)) == (None, None)
    vectors.close()


@faiss
def test_an_index_that_keeps_them_roughly_is_not_used(tmp_path):
    path = tmp_path / "index.faiss"
    command = [sys.executable, "-c", _MAKE, "SQ8", str(path), "90"]
    numbers = b"".join(packed(str(at)) for at in range(90))
    subprocess.run(command, input=numbers, check=True, capture_output=True)
    vectors = FaissVectors(path)
    assert "roughly" in vectors.missing
    assert vectors.at(0) is None


# Where something is no file, or cannot be read.


def test_half_of_an_index(index):
    (index / "index.pkl").unlink()
    for path in (index, index / "index.faiss"):
        with pytest.raises(MigrateError):
            read(path)


def test_a_pickle_beside_an_index_is_listed(index):
    (index / "notes.pkl").write_bytes(pickle.dumps([1]))
    (index / "lost.faiss").write_bytes(b"")
    found = read(index)
    assert {one.name for one in found.inventory.skipped} == {"notes.pkl", "lost.faiss"}


def test_a_file_that_vanishes_is_an_error_of_one_sentence(write):
    from holdover.migrate.sources import open_source
    from holdover.migrate.sources.base import ReadOptions

    path = write({"1": entry("text")})
    source = open_source(str(path), ReadOptions())
    path.unlink()
    with pytest.raises((SourceNotFound, SourceUnavailable)):
        source.inventory()
    source.close()
