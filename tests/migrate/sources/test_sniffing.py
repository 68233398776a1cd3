"""What lies at a path is told from what is in it."""

from __future__ import annotations

import gzip
import json
import pickle
import random
import sqlite3

import pytest
from redis_corpus import _FOLDERS as CORPORA

from holdover.migrate.sources.sniffing import OPENERS, Kind, kind_of, outline

MESSAGE = {"type": "human", "data": {"content": "hi"}}
TEXTS = {
    "an empty array": (b"[]", Kind.HISTORIES),
    "messages": ([MESSAGE], Kind.HISTORIES),
    "one message": (MESSAGE, Kind.HISTORIES),
    "messages, the data first": ([{"data": {}, "type": "ai"}], Kind.HISTORIES),
    "messages of load.dumps": ([{"lc": 1, "type": "constructor"}], Kind.SERIALIZED),
    "flat messages": ([{"content": "hi", "type": "ai"}], Kind.SERIALIZED),
    "a memory": ({"chat_memory": {"messages": []}}, Kind.SERIALIZED),
    "InMemoryVectorStore": (
        {"u1": {"id": "u1", "vector": [1.0, 2.0], "text": "x"}},
        Kind.VECTOR_DUMP,
    ),
    "SKLearnVectorStore": ({"ids": ["a"], "texts": ["x"]}, Kind.SKLEARN),
    "a line of JSON lines": (
        {"session": "a", "message": MESSAGE, "position": 1},
        Kind.JSONL,
    ),
    "mongoexport": (
        {"_id": {"$oid": "6b0cc5466f41626eb977e6af"}, "SessionId": "a", "History": ""},
        Kind.MONGODB_EXPORT,
    ),
    "mongoexport --jsonArray": (
        [{"_id": {"$oid": "6b0cc5466f41626eb977e6af"}, "History": ""}],
        Kind.MONGODB_EXPORT,
    ),
    "an export to S3": ({"Item": {"SessionId": {"S": "a"}}}, Kind.DYNAMODB_EXPORT),
    "a scan": ({"Items": [], "Count": 0}, Kind.DYNAMODB_EXPORT),
    "a graph": (b"graph [\n  node [\n", Kind.GML),
    "a graph of networkx": (b'Creator "x"\ngraph [\n', Kind.GML),
    "a pickle": (pickle.dumps({"a": 1}), Kind.PICKLE),
    "SQLite": (b"SQLite format 3\x00" + b"\0" * 84, Kind.SQLITE),
    "text": (b"buy milk", Kind.SQLITE),
    "nothing": (b"", Kind.SQLITE),
}


@pytest.mark.parametrize("name", TEXTS)
def test_the_first_bytes_decide_whatever_the_name(name, tmp_path):
    value, kind = TEXTS[name]
    raw = value if isinstance(value, bytes) else json.dumps(value).encode()
    path = tmp_path / "file"
    path.write_bytes(raw)
    assert kind_of(path) is kind
    if not isinstance(value, bytes):
        for encoding in ("utf-8-sig", "utf-16", "utf-32"):
            path.write_text(json.dumps(value), encoding)
            assert kind_of(path) is kind
        # And whatever follows behind what is looked at.
        path.write_bytes(raw[:-1] + b" " * (1 << 20) + b"junk")
        assert kind_of(path) is kind


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.json", Kind.HISTORIES),
        ("A.JSON", Kind.HISTORIES),
        ("a.jsonl", Kind.JSONL),
        ("a.ndjson", Kind.JSONL),
        ("a.jsonl.gz", Kind.JSONL),
        ("a.pkl", Kind.PICKLE),
        ("a.gml", Kind.GML),
        ("a.db", Kind.SQLITE),
    ],
)
@pytest.mark.parametrize("raw", [b"", b" \n", b"\xff\xfe\xfd junk"])
def test_the_name_decides_where_the_content_does_not(name, kind, raw, tmp_path):
    path = tmp_path / name
    path.write_bytes(raw)
    assert kind_of(path) is kind


def test_what_is_not_there_is_as_before_a_sqlite_file(tmp_path):
    assert kind_of(tmp_path / "new.db") is Kind.SQLITE
    assert kind_of(tmp_path / "no folder" / "new") is Kind.SQLITE


def test_compressed_lines(tmp_path):
    path = tmp_path / "export"
    path.write_bytes(gzip.compress(json.dumps({"Item": {}}).encode()))
    assert kind_of(path) is Kind.DYNAMODB_EXPORT
    path.write_bytes(gzip.compress(json.dumps({"session": "a"}).encode()))
    assert kind_of(path) is Kind.JSONL
    path.write_bytes(gzip.compress(b"[]")[:11])
    assert kind_of(path) is Kind.JSONL


def test_folders(tmp_path):
    assert kind_of(tmp_path) is Kind.HISTORIES
    (tmp_path / "alice.json").write_text("[]")
    assert kind_of(tmp_path) is Kind.HISTORIES
    (tmp_path / "my.faiss").touch()
    (tmp_path / "my.pkl").write_bytes(pickle.dumps(()))
    assert kind_of(tmp_path) is Kind.FAISS
    assert kind_of(tmp_path / "my.faiss") is Kind.FAISS
    assert kind_of(tmp_path / "my.pkl") is Kind.FAISS
    sqlite3.connect(tmp_path / "chroma.sqlite3").close()
    assert kind_of(tmp_path) is Kind.CHROMA
    assert kind_of(tmp_path / "chroma.sqlite3") is Kind.CHROMA


EXPECTED = {
    "file_history": {Kind.HISTORIES, Kind.SERIALIZED},
    "sqlite_entity": {Kind.SQLITE},
    "sql_history_sqlite": {Kind.SQLITE},
    "serialized": {Kind.SERIALIZED, Kind.PICKLE, Kind.GML, Kind.HISTORIES, Kind.SQLITE},
    "vector_memory": {Kind.VECTOR_DUMP, Kind.SKLEARN},
    "faiss": {Kind.FAISS},
    "chroma": {Kind.CHROMA},
}


def test_every_file_of_the_corpus_is_told():
    told = 0
    for corpus in CORPORA:
        for path in corpus.rglob("*"):
            expected = EXPECTED.get(path.parent.name)
            told_by_name = path.name == "MANIFEST.json" or path.suffix == ".sql"
            if path.is_file() and expected and not told_by_name:
                assert kind_of(path) in expected, path
                told += 1
                if path.suffix in (".pkl", ".gml") and path.parent.name != "faiss":
                    assert (
                        kind_of(path).value
                        == {".pkl": "pickle", ".gml": "gml"}[path.suffix]
                    )
    assert told > 50


def test_every_kind_has_something_that_reads_it():
    assert set(Kind) - OPENERS.keys() == {Kind.SQLITE}


@pytest.mark.parametrize("seed", range(20))
def test_any_bytes_are_told(seed, tmp_path):
    """And quickly: hostile text does not make the outline slow."""
    chance = random.Random(seed)
    path = tmp_path / "file"
    path.write_bytes(chance.randbytes(chance.randint(0, 5000)))
    assert isinstance(kind_of(path), Kind)
    for hostile in (
        '["' + '\\"' * 100_000,
        "[" * 100_000,
        '{"' * 100_000,
        '{"a":' * 50_000,
    ):
        assert outline(hostile).opening in ("[", "{")
