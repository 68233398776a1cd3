"""What lies at a path, told from its first bytes: the one place that decides.

A file is looked at by what is in it. Its name decides where nothing is in it, where
what is in it can be read in no way, and for the two forms that look like nothing in
particular (a pickle of the oldest protocol, a log of JSON lines).
"""

from __future__ import annotations

import importlib
import json
import re
import zlib
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from holdover.compat.legacy.files import encodings
from holdover.migrate.errors import SourceNotFound

if TYPE_CHECKING:
    from collections.abc import Collection

    from holdover.migrate.sources.base import ReadOptions, Source


class Kind(StrEnum):
    """The forms that a file or a folder may have."""

    SQLITE = "sqlite"
    HISTORIES = "histories"
    JSONL = "jsonl"
    MONGODB_EXPORT = "mongodb-export"
    DYNAMODB_EXPORT = "dynamodb-export"
    FAISS = "faiss"
    CHROMA = "chroma"
    SKLEARN = "sklearn"
    VECTOR_DUMP = "vector-dump"
    SERIALIZED = "serialized"
    PICKLE = "pickle"
    GML = "gml"


#: What reads a form: `module:name` of something called with the address, the path and
#: the options. SQLite has its own place in `open_source`.
OPENERS: dict[Kind, str] = {
    Kind.HISTORIES: "holdover.migrate.sources.files:FileHistories",
    Kind.JSONL: "holdover.migrate.sources.jsonl:JsonLines",
    Kind.MONGODB_EXPORT: "holdover.migrate.sources.mongodb_export:MongoExport",
    Kind.DYNAMODB_EXPORT: "holdover.migrate.sources.dynamodb_export:DynamoExport",
    Kind.FAISS: "holdover.migrate.sources.vectors_faiss:open_faiss",
    Kind.CHROMA: "holdover.migrate.sources.vectors_chroma:open_chroma",
    Kind.SKLEARN: "holdover.migrate.sources.vectors_sklearn:open_sklearn",
    Kind.VECTOR_DUMP: "holdover.migrate.sources.vectors_dump:open_dump",
    Kind.SERIALIZED: "holdover.migrate.sources.serialized:MemoryFiles",
    Kind.PICKLE: "holdover.migrate.sources.serialized:MemoryFiles",
    Kind.GML: "holdover.migrate.sources.serialized:MemoryFiles",
}

#: What each form is to a person.
NAMES: dict[Kind, str] = {
    Kind.SQLITE: "a SQLite file",
    Kind.HISTORIES: "a file history",
    Kind.JSONL: "a file of JSON lines",
    Kind.MONGODB_EXPORT: "an export of MongoDB",
    Kind.DYNAMODB_EXPORT: "an export of DynamoDB",
    Kind.FAISS: "a FAISS index",
    Kind.CHROMA: "a Chroma database",
    Kind.SKLEARN: "a dump of a SKLearnVectorStore",
    Kind.VECTOR_DUMP: "a dump of an InMemoryVectorStore",
    Kind.SERIALIZED: "a serialized memory",
    Kind.PICKLE: "a pickle",
    Kind.GML: "a knowledge graph",
}

_HEAD = 256 << 10
_SQLITE = b"SQLite format 3\x00"
# What the other two serializers of a SKLearnVectorStore begin with.
_PARQUET, _BSON_OF_SKLEARN = b"PAR1", b"\x04ids\x00"
_GZIP = b"\x1f\x8b"
_PICKLE = re.compile(rb"\x80[\x02-\x05]")
_LINES = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")
_PICKLES = (".pkl", ".pickle")
# Of a message without an envelope, of `load.dumps`, or of a memory.
_OF_MEMORIES = ("content", "lc", "chat_memory", "memory", "memory_key", "messages")
# A string that does not end goes to the end of the text: nothing is tried twice.
_TOKEN = re.compile(r'"((?:[^"\\]|\\.)*+)(?:"(\s*:)?|\\?\Z)|[\[\]{}]', re.DOTALL)
_GRAPH = re.compile(r"\s*(?:(?:#|Creator|Version|comment)[^\n]*\n\s*)*graph\s*\[")


class Outline(NamedTuple):
    """How a JSON text begins.

    Attributes:
        opening: `[` or `{`; empty if it is neither.
        keys: Of the outermost object, in order, as far as the beginning shows.
        inner: Of the first object in it.
    """

    opening: str
    keys: Collection[str] = ()
    inner: Collection[str] = ()


def open_path(address: str, path: Path, kind: Kind, options: ReadOptions) -> Source:
    """Open what lies at a path.

    Raises:
        SourceNotFound: Nothing here reads that form.
    """
    if kind not in OPENERS:
        raise SourceNotFound(f"{path} is {NAMES[kind]}, which is not read from a file.")
    module, _, name = OPENERS[kind].partition(":")
    source: Source = getattr(importlib.import_module(module), name)(
        address, path, options
    )
    return source


def kind_of(path: Path) -> Kind:
    """Tell what lies at a path; of a file, only its beginning is read.

    What is not there or cannot be opened is a SQLite file: that says why it cannot.
    """
    if path.is_dir():
        return _kind_of_folder(path)
    name = path.name.lower()
    if known := kind_by_name(path):
        return known
    if not path.is_file():
        return Kind.SQLITE
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
    except OSError:
        return _kind_of_name(name)
    return kind_of_bytes(head, name)


def kind_by_name(path: Path) -> Kind | None:
    """The file of a vector store, whose bytes say no more than their format."""
    name = path.name.lower()
    if name == "chroma.sqlite3":
        return Kind.CHROMA
    if name.endswith(".faiss"):
        return Kind.FAISS
    beside = name.endswith(_PICKLES) and path.with_suffix(".faiss").exists()
    return Kind.FAISS if beside else None


def kind_of_bytes(head: bytes, name: str) -> Kind:
    """Tell what a file is that begins like this; `name` is in lower case."""
    if begins_as_sqlite(head):
        return Kind.SQLITE
    if _PICKLE.match(head):
        return Kind.PICKLE
    if head.startswith(_PARQUET) or head[4:9] == _BSON_OF_SKLEARN:
        return Kind.SKLEARN
    if head.startswith(_GZIP):
        head, name = unzipped(head), f"{name}.jsonl.gz"
    for encoding in encodings(head):
        # Not strictly: the head may end within a character.
        text = head.decode(encoding, "ignore")
        if text.strip():
            return _kind_of_text(text, name)
    return _kind_of_name(name)


def is_other_json(head: bytes, *, whole: bool) -> bool:
    """Whether it is JSON that is no history: an array without messages, or a value.

    Args:
        head: The beginning of the file.
        whole: Whether it is all of the file.
    """
    texts = (head.decode(encoding, "ignore") for encoding in encodings(head))
    text = next(filter(str.strip, texts), "").strip("\ufeff \t\r\n")
    first = text.removeprefix("[").lstrip()
    if not first or first[0] == "]" or '"type"' in text or '"data"' in text:
        return False
    if not whole:
        return text != first
    try:
        _, end = json.JSONDecoder().raw_decode(first)
    except (ValueError, RecursionError):
        return False  # of a history, perhaps, that was cut short
    return text != first or end == len(first)


def may_be_memory(head: bytes) -> bool:
    """Whether damaged JSON begins like a serialized memory: by the names in it."""
    for encoding in encodings(head):
        found = outline(head.decode(encoding, "ignore"))
        if not {*found.keys, *found.inner}.isdisjoint(_OF_MEMORIES):
            return True
    return False


def begins_as_sqlite(head: bytes) -> bool:
    """Whether it is one, and not only nothing else."""
    return head.startswith(_SQLITE)


def unzipped(head: bytes) -> bytes:
    """The beginning of what was compressed, of which this is the beginning."""
    try:
        return zlib.decompressobj(wbits=31).decompress(head, _HEAD)
    except zlib.error:
        return b""


def outline(text: str) -> Outline:
    """Look at the beginning of a JSON text, which may be cut anywhere."""
    start = text.lstrip("\ufeff \t\r\n")
    if start[:1] not in ("[", "{"):
        return Outline("")
    depth, objects = 0, 0
    keys: dict[str, None] = {}
    inner: dict[str, None] = {}
    for token in _TOKEN.finditer(start):
        if token[0] in "[{":
            depth += 1
            objects += depth == 2 and token[0] == "{"  # noqa: PLR2004
        elif token[0] in "]}":
            depth -= 1
            if depth <= 0:
                break
        elif token[2] and depth == 1:
            keys[token[1]] = None
        elif token[2] and depth == 2 and objects == 1:  # noqa: PLR2004
            inner[token[1]] = None
    return Outline(start[0], keys, inner)


def _kind_of_folder(path: Path) -> Kind:
    try:
        names = {entry.name.lower() for entry in path.iterdir()}
    except OSError:
        return Kind.HISTORIES
    if names & {"chroma.sqlite3", "chroma-embeddings.parquet"}:
        return Kind.CHROMA
    if "index.pkl" in names or any(name.endswith(".faiss") for name in names):
        return Kind.FAISS
    return Kind.HISTORIES


def _kind_of_text(text: str, name: str) -> Kind:
    found = outline(text)
    export = _export(found)
    if export is not None:
        return export
    if name.endswith(_LINES):
        return Kind.JSONL
    if found.opening == "[":
        return _kind_of_array(found)
    if found.opening == "{":
        return _kind_of_object(found)
    if _GRAPH.match(text):
        return Kind.GML
    return _kind_of_name(name)


def _export(found: Outline) -> Kind | None:
    """The exports of servers, by what only they have."""
    top = found.keys if found.opening == "{" else found.inner
    if "$oid" in found.inner or ("_id" in top and "History" in top):
        return Kind.MONGODB_EXPORT
    if list(found.keys)[:1] in (["Item"], ["Items"]):
        return Kind.DYNAMODB_EXPORT
    return None


def _kind_of_array(found: Outline) -> Kind:
    inner = found.inner
    if "data" not in inner and any(name in inner for name in _OF_MEMORIES):
        return Kind.SERIALIZED
    return Kind.HISTORIES


def _kind_of_object(found: Outline) -> Kind:
    keys = found.keys
    if "session" in keys and ("message" in keys or "data" in keys):
        return Kind.JSONL
    if "type" in keys and "data" in keys:
        return Kind.HISTORIES
    if list(keys)[:1] == ["ids"]:
        return Kind.SKLEARN
    if "id" in found.inner and "vector" in found.inner:
        return Kind.VECTOR_DUMP
    return Kind.SERIALIZED


def _kind_of_name(name: str) -> Kind:
    """What a file was meant to be whose content does not tell."""
    by_ending: dict[str, Any] = {
        ".json": Kind.HISTORIES,
        ".gml": Kind.GML,
        **dict.fromkeys(_LINES, Kind.JSONL),
        **dict.fromkeys(_PICKLES, Kind.PICKLE),
    }
    for ending, kind in by_ending.items():
        if name.endswith(ending):
            return Kind(kind)
    return Kind.SQLITE
