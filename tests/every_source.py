"""A place of every kind that is read, filled with what old releases wrote there."""

from __future__ import annotations

import json
import shutil
import sys
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import redis_corpus
from moving import files_of, redis_state, rows_of

CORPUS = Path(__file__).parent / "corpus"


@dataclass
class Place:
    """A place that is read.

    Attributes:
        read: Choices of `ReadOptions` without which it is not read whole.
        state: What has to be the same after it was read.
    """

    address: str
    state: Callable[[], Any]
    read: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Kind:
    """A kind of place: the folders of the corpus that fill one, and what does."""

    name: str
    corpus: str
    fill: Callable[[Path, Path, Any], Place]

    @property
    def folders(self):
        """From the newest release to the oldest, with what `HOLDOVER_CORPUS` adds."""
        if not self.corpus:
            return [CORPUS / "handmade"]
        folder, _, pattern = self.corpus.partition("/")
        found = redis_corpus.folders(folder)
        held = [one for one in found if any(one.glob(pattern))] if pattern else found
        return sorted(held, key=_version, reverse=True)


def _version(folder):
    numbers = folder.parent.name.rpartition("-")[2].split(".")
    return [int(one) if one.isdecimal() else 0 for one in numbers], folder.parent.name


def _copied(folder, into, name=""):
    copied = shutil.copytree(folder, into / "source" / folder.name)
    (copied / "MANIFEST.json").unlink(missing_ok=True)
    return Place(str(copied / name), lambda: files_of(copied))


def entity_file(folder, into, _):
    place = _copied(folder, into, "entities.db")
    place.read = {"roots": ("memory_store", "memory_store_archive")}
    return place


def handmade_file(_, into, __):
    held = into / "source"
    held.mkdir()
    path = shutil.copy(CORPUS / "handmade/null_and_empty_values.db", held)
    return Place(str(path), lambda: files_of(held))


def sql_file(folder, into, _):
    return _copied(folder, into, "chat.db")


def postgres(folder, _, fixture):
    from histories import load_dump

    url = fixture("source_url")
    load_dump(url, folder / "dump.sql")
    return Place(url, lambda: rows_of(url))


def mariadb(folder, _, fixture):
    from sql_histories import load_mariadb, mysql

    url = fixture("mariadb_url")
    load_mariadb(url, folder / "dump.sql")

    def state():
        with mysql(url) as cursor:
            cursor.execute("SHOW TABLES")
            names = [name for (name,) in cursor.fetchall()]
            cursor.execute(f"CHECKSUM TABLE {', '.join(f'`{n}`' for n in names)}")
            return cursor.fetchall()

    return Place(url, state)


def pgvector(folder, _, fixture):
    from vector_corpus import load_dump

    url = fixture("source_url")
    load_dump(url, next(iter(sorted(folder.glob("*.sql")))))
    return Place(url, lambda: rows_of(url))


def redis_entities(folder, _, fixture):
    url = fixture("redis_url")
    redis_corpus.load(folder / "listing.jsonl", redis_corpus.server(url))
    read = redis_corpus.options(folder, 0)
    return Place(url, lambda: redis_state(url), read)


def redis_lists(folder, _, fixture):
    url = fixture("redis_url")
    redis_corpus.load(folder / "listing.jsonl", redis_corpus.server(url))
    return Place(url, lambda: redis_state(url), {"ambiguous": "reject"})


def upstash(folder, _, fixture):
    place = redis_lists(folder, _, fixture)
    place.address = fixture("upstash_of")(place.address)
    return place


def redis_documents(folder, _, fixture):
    url = fixture("json_url")
    redis_corpus.load(folder / "listing.jsonl", redis_corpus.server(url))
    read = {"roots": ("chat", "app1:chat", "chat:foo")}
    return Place(url, lambda: redis_state(url), read)


def histories(folder, into, _):
    place = _copied(folder, into)
    place.address = Path(place.address).as_uri()
    return place


def serialized(folder, into, _):
    place = _copied(folder, into)
    place.read = {"session_pattern": r"(?P<session>.+)\.(?:pkl|db)"}
    return place


def graph(folder, into, _):
    return _copied(folder, into, "kg.gml")


def faiss(folder, into, _):
    return _copied(folder, into, "faiss")


def chroma(folder, into, _):
    return _copied(folder, into, "chroma")


def sklearn(folder, into, _):
    return _copied(folder, into, "sklearn.json")


def vector_dump(folder, into, _):
    return _copied(folder, into, "in_memory.json")


def _messages(folder):
    """`{session: [message as JSON]}` of a folder of file histories."""
    path = folder / "rich.json"
    said = json.loads(path.read_text("utf-8"))
    return {"rich": said, "a b:c/d": said[:3], "": said[-1:]}


def json_lines(folder, into, _):
    held = into / "source"
    held.mkdir()
    lines = [
        {"session": session, "created_at": 1_700_000_000 + at, "ttl_seconds": 90_000}
        | one
        for session, said in _messages(folder).items()
        for at, one in enumerate(said)
    ]
    text = "\n".join([*map(json.dumps, lines), "[]", '{"session": "a"}', ""])
    (held / "export.jsonl").write_text(text, "utf-8")
    return Place(str(held / "export.jsonl"), lambda: files_of(held))


def factory(folder, _, fixture):
    from langchain_core.messages import messages_from_dict

    said = {
        session: messages_from_dict(raw) for session, raw in _messages(folder).items()
    }
    module = types.ModuleType("the_app")
    module.factory = lambda session: types.SimpleNamespace(messages=said[session])
    fixture("monkeypatch").setitem(sys.modules, "the_app", module)
    read = {"sessions": frozenset(said)}
    return Place("the_app:factory", lambda: repr(said), read)


def mongodb(folder, _, fixture):
    from bson import ObjectId

    server = fixture("mongo_of")
    path = next(
        folder / name
        for name in ("langchain_mongodb.json", "mongodb.json")
        if (folder / name).exists()
    )
    documents = json.loads(path.read_text("utf-8"))
    for one in documents:
        one["_id"] = ObjectId(one["_id"])
    # Whose text is none, and one that was no history's.
    documents += [{"SessionId": "junk", "History": "{"}, {"SessionId": "junk"}]
    held = server["chat_history"]["message_store"]
    held.insert_many(documents)
    return Place(server.address, lambda: list(held.find()))


def dynamodb(folder, _, fixture):
    dump = json.loads((folder / "dynamodb.json").read_text("utf-8"))
    client, address = fixture("dynamo_of")("SessionTable", dump["SessionTable"])
    return Place(address, lambda: client.scan(TableName="SessionTable")["Items"])


KINDS = [
    Kind("entity-file", "sqlite_entity", entity_file),
    Kind("handmade-file", "", handmade_file),
    Kind("sql-file", "sql_history_sqlite", sql_file),
    Kind("postgres", "postgres", postgres),
    Kind("mariadb", "mariadb", mariadb),
    Kind("pgvector", "vector_memory/*.sql", pgvector),
    Kind("redis-entities", "redis_entity", redis_entities),
    Kind("redis-lists", "redis_history", redis_lists),
    Kind("upstash", "upstash_history", upstash),
    Kind("redis-documents", "langchain_redis_history", redis_documents),
    Kind("histories", "file_history", histories),
    Kind("json-lines", "file_history", json_lines),
    Kind("factory", "file_history", factory),
    Kind("serialized", "serialized", serialized),
    Kind("graph", "serialized/kg.gml", graph),
    Kind("faiss", "vector_memory/faiss", faiss),
    Kind("chroma", "vector_memory/chroma", chroma),
    Kind("sklearn", "vector_memory/sklearn.json", sklearn),
    Kind("vector-dump", "vector_memory/in_memory.json", vector_dump),
    Kind("mongodb", "nosql_histories/*mongodb.json", mongodb),
    Kind("dynamodb", "nosql_histories/dynamodb.json", dynamodb),
]
