"""Vector memory that releases wrote, read: every text, its vector, its metadata."""

from __future__ import annotations

import shutil
import struct
from contextlib import closing

import pytest
from old_embedding import packed
from vector_corpus import CHROMA, HELD, POSTGRES, load_dump, read

from holdover.migrate.sources import open_source
from holdover.migrate.sources.base import ReadOptions


def bytes_of(vector):
    return struct.pack(f"<{len(vector)}f", *vector)


@pytest.fixture
def place(tmp_path):
    """A copy of a place, which has to stay as it is."""

    def copy(path):
        to = tmp_path / "source" / path.name
        if path.is_dir():
            shutil.copytree(path, to)
        else:
            to.parent.mkdir(exist_ok=True)
            shutil.copy(path, to)
        return to

    return copy


@pytest.mark.parametrize("held", HELD, ids=repr)
def test_every_text_in_its_order_with_its_vector(held, place, untouched):
    path = place(held.path)
    with untouched(path.parent if path.is_file() else path):
        found = read(path)
    unique = list(dict.fromkeys(held.documents))
    assert found.texts == unique
    assert found.rejects == []
    assert found.skipped == (
        {"duplicate": len(held.documents) - len(unique)}
        if len(unique) < len(held.documents)
        else {}
    )
    for item in found.items:
        assert bytes_of(item.vector) == packed(item.content["text"])
        assert (item.kind, item.session, item.key) == ("turn", "default", "")
        assert "metadata" not in item.content
        assert item.ttl_ms is None


def test_the_corpus_has_every_form():
    names = {one.name for one in HELD}
    assert names >= {
        "faiss/index.pkl",
        "chroma/chroma.sqlite3",
        "sklearn.json",
        "in_memory.json",
        "token_buffer.json",
    }
    assert len({one.release for one in HELD if one.name == "faiss/index.pkl"}) >= 5
    assert len(CHROMA) >= 2
    assert len(POSTGRES) >= 3


@pytest.mark.parametrize("held", HELD, ids=repr)
@pytest.mark.parametrize("size", [1, 4])
def test_read_in_parts_and_resumed_at_every_one(held, size):
    with closing(open_source(str(held.path), ReadOptions())) as source:
        (partition,) = source.partitions()
        (whole,) = source.read(partition)
        seen = []
        batches = list(source.read(partition, size=size))
        for batch in batches:
            seen += batch.items
            rest = [
                item
                for later in source.read(partition, batch.cursor, size=size)
                for item in later.items
            ]
            assert seen + rest == whole.items
        skips = sum(sum(batch.skipped.values()) for batch in batches)
        assert skips == sum(whole.skipped.values())


@pytest.mark.parametrize(
    ("path", "said"), CHROMA, ids=[said["release"] for _, said in CHROMA]
)
def test_chroma_says_the_same_of_itself(path, said, place, untouched):
    path = place(path)
    with untouched(path):
        found = read(path)
    for root, documents in said["collections"].items():
        items = {i.content["text"]: i for i in found.items if i.root == root}
        assert items.keys() == {one["text"] for one in documents}
        for one in documents:
            item = items[one["text"]]
            assert (item.content.get("metadata") or None) == (one["metadata"] or None)
            assert item.created_at is not None
            if root == "cosine":
                # Its index holds vectors of length 1, which is the same to a cosine.
                old = struct.unpack("<8f", packed(one["text"]))
                ratios = [a / b for a, b in zip(item.vector, old, strict=True) if b]
                assert max(ratios) - min(ratios) < 1e-5
            else:
                assert bytes_of(item.vector) == packed(one["text"])
    assert found.rejects == []
    assert found.inventory.notes == []


@pytest.mark.parametrize(
    ("path", "collections"), POSTGRES, ids=[path.stem for path, _ in POSTGRES]
)
def test_postgres(path, collections, postgres_url):
    load_dump(postgres_url, path)
    found = read(postgres_url, kinds=frozenset({"turns"}))
    others = {"custom table"} & collections.keys()
    roots = {group.root for group in found.inventory.groups}
    assert roots == collections.keys() - others
    named = [
        read(
            postgres_url,
            kinds=frozenset({"turns"}),
            roots=(other,),
            fields=(("content", "text"), ("metadata", "meta")),
        )
        for other in others
    ]
    items = found.items + [item for more in named for item in more.items]
    for root, documents in collections.items():
        held = {i.content["text"]: i for i in items if i.root == root}
        assert held.keys() == {one["text"] for one in documents}
        for one in documents:
            item = held[one["text"]]
            assert item.content.get("metadata", {}) == one["metadata"]
            assert bytes_of(item.vector) == packed(one["text"])
    doubles = sum(
        len(documents) - len({one["text"] for one in documents})
        for documents in collections.values()
    )
    assert found.skipped == {"duplicate": doubles}
    assert found.rejects == []
