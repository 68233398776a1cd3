"""pgvector: collections and tables, rights, orders, and what changes meanwhile."""

from __future__ import annotations

import struct
from contextlib import closing

import psycopg
import pytest
from old_embedding import packed, vector
from vector_corpus import POSTGRES, load_dump, read

from holdover.migrate.sources import open_source
from holdover.migrate.sources.base import ReadOptions

TURNS = frozenset({"turns"})
DUMPS = {path.stem: path for path, _ in POSTGRES}


def raw(numbers):
    return struct.pack(f"<{len(numbers)}f", *numbers)


def literal(text):
    return str(vector(text))


@pytest.fixture
def sql(postgres_url):
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION vector")

        def run(statement, *values):
            return connection.execute(statement, values or None)

        yield run


@pytest.fixture
def filled(postgres_url, sql):
    """As `langchain_postgres` makes it, with some rows of our own."""
    load_dump(postgres_url, DUMPS["postgres"])
    return postgres_url


def new_row(sql, key, text, collection="memories", metadata=None):
    sql(
        "INSERT INTO langchain_pg_embedding (id, collection_id, embedding, document,"
        " cmetadata) SELECT %s, uuid, %s::vector, %s, %s::jsonb"
        " FROM langchain_pg_collection WHERE name = %s",
        key,
        literal(text or ""),
        text,
        metadata,
        collection,
    )


def test_read_in_parts_and_resumed_at_every_one(filled, sql):
    for at in range(20):
        new_row(sql, f"key {at}", f"text {at % 17}")
    options = ReadOptions(kinds=TURNS, roots=("memories",))
    with closing(open_source(filled, options)) as source:
        (partition,) = source.partitions()
        (whole,) = source.read(partition)
        assert len(whole.items) == 5 + 17
        assert whole.skipped == {"duplicate": 4}
        seen, skipped = [], 0
        for batch in source.read(partition, size=3):
            seen += batch.items
            skipped += sum(batch.skipped.values())
            rest = list(source.read(partition, batch.cursor, size=3))
            assert seen + [i for one in rest for i in one.items] == whole.items
            assert skipped + sum(sum(one.skipped.values()) for one in rest) == 4


def test_resumed_where_the_last_row_is_gone(filled, sql):
    for at in range(8):
        new_row(sql, f"key {at}", f"text {at}")
    options = ReadOptions(kinds=TURNS, roots=("memories",))
    with closing(open_source(filled, options)) as source:
        (partition,) = source.partitions()
        batches = source.read(partition, size=4)
        first = next(batches)
        batches.close()
        sql("DELETE FROM langchain_pg_embedding WHERE id = %s", first.cursor)
        rest = [i for one in source.read(partition, first.cursor) for i in one.items]
    assert len(first.items) + len(rest) == 5 + 8
    assert not {i.content["text"] for i in first.items} & {
        i.content["text"] for i in rest
    }


def test_nothing_is_written_and_only_reading_is_needed(filled, sql):
    sql("CREATE ROLE looker LOGIN")
    sql("GRANT SELECT ON ALL TABLES IN SCHEMA public TO looker")
    before = sql("SELECT t::text FROM langchain_pg_embedding t ORDER BY 1").fetchall()
    found = read(filled.replace("postgres@", "looker@"), kinds=TURNS)
    assert len(found.items) == 11
    after = sql("SELECT t::text FROM langchain_pg_embedding t ORDER BY 1").fetchall()
    assert after == before
    sql("DROP OWNED BY looker")
    sql("DROP ROLE looker")


def test_rows_that_are_hidden_block(filled, sql):
    sql("CREATE ROLE half LOGIN")
    sql("GRANT SELECT ON langchain_pg_collection TO half")
    sql("GRANT SELECT (id, document, collection_id) ON langchain_pg_embedding TO half")
    address = filled.replace("postgres@", "half@")
    try:
        (blocker,) = read(address, kinds=TURNS).inventory.blockers
        assert blocker.code == "rights"
        assert "may not read its column embedding" in blocker.message
        assert "--skip langchain_pg_embedding" in blocker.fix
        sql("GRANT SELECT ON langchain_pg_embedding TO half")
        sql("ALTER TABLE langchain_pg_embedding ENABLE ROW LEVEL SECURITY")
        sql("CREATE POLICY part ON langchain_pg_embedding USING (id > '8')")
        (blocker,) = read(address, kinds=TURNS).inventory.blockers
        assert "does not see all of its rows" in blocker.message
        left = read(address, kinds=TURNS, skip=frozenset({"langchain_pg_embedding"}))
        assert left.inventory.blockers == []
        assert left.items == []
        # The owner sees everything, policy or not.
        assert len(read(filled, kinds=TURNS).items) == 11
    finally:
        sql("DROP OWNED BY half")
        sql("DROP ROLE half")


def test_documents_that_are_none(filled, sql):
    new_row(sql, "none", None)
    new_row(sql, "empty", "")
    new_row(sql, "listed", "text", metadata="[1]")
    new_row(sql, "number", "text", metadata="5")
    new_row(sql, "null", "without metadata", metadata="null")
    found = read(filled, kinds=TURNS, roots=("memories",))
    assert sorted(found.reasons) == ["bad-metadata"] * 2 + ["empty-text"] * 2
    assert "without metadata" in found.texts
    assert all("postgresql:" in one.locator for one in found.rejects)


def test_rows_without_a_collection_and_collections_of_one_name(filled, sql):
    sql("ALTER TABLE langchain_pg_collection DROP CONSTRAINT IF EXISTS"
        " langchain_pg_collection_name_key")  # fmt: skip
    sql(
        "INSERT INTO langchain_pg_collection (uuid, name)"
        " VALUES (gen_random_uuid(), 'memories')"
    )
    sql(
        "INSERT INTO langchain_pg_embedding (id, collection_id, embedding, document)"
        " SELECT 'twin ' || uuid, uuid, %s::vector, 'in the twin'"
        " FROM langchain_pg_collection WHERE name = 'memories'",
        literal("x"),
    )
    sql(
        "INSERT INTO langchain_pg_embedding (id, document)"
        " VALUES ('lost', 'a lost one')"
    )
    found = read(filled, kinds=TURNS)
    by_root = {}
    for item in found.items:
        by_root.setdefault(item.root, []).append(item.content["text"])
    assert by_root["memories"].count("in the twin") == 1
    assert by_root["langchain"] == ["a lost one"]
    assert found.skipped == {"duplicate": 3}
    (lost,) = [item for item in found.items if item.root == "langchain"]
    assert lost.vector is None


def test_a_table_without_a_key_a_view_and_other_vectors(postgres_url, sql):
    sql('CREATE TABLE "odd: %s table" (content text, langchain_metadata json,'
        ' embedding vector(8), "a ""column" text, gone int)')  # fmt: skip
    sql('ALTER TABLE "odd: %s table" DROP COLUMN gone')
    for at in range(5):
        sql(
            'INSERT INTO "odd: %%s table" VALUES (%s, %s, %s::vector, %s)',
            f"text {at}",
            '{"n": 1}' if at else None,
            literal(f"text {at}"),
            "x" if at == 2 else None,
        )
    sql('CREATE VIEW seen AS SELECT * FROM "odd: %s table"')
    sql("CREATE TABLE images (id int PRIMARY KEY, pixels vector(3))")
    sql("CREATE TABLE store_vectors (prefix text, key text, embedding vector(8))")
    found = read(postgres_url, kinds=TURNS, size=2)
    assert sorted(found.texts) == [f"text {at}" for at in range(5)]
    assert {item.root for item in found.items} == {"odd: %s table"}
    metadata = {i.content["text"]: i.content.get("metadata") for i in found.items}
    assert metadata["text 0"] is None
    assert metadata["text 1"] == {"n": 1}
    assert metadata["text 2"] == {"n": 1, 'a "column': "x"}
    for item in found.items:
        assert raw(item.vector) == packed(item.content["text"])
    (images,) = found.inventory.skipped
    assert images.name == "images"
    assert "--field content=COLUMN" in images.why


def test_two_schemas(filled, sql):
    sql("CREATE SCHEMA tenant")
    sql("CREATE TABLE tenant.langchain_pg_collection AS TABLE langchain_pg_collection")
    sql("CREATE TABLE tenant.langchain_pg_embedding AS TABLE langchain_pg_embedding")
    sql("ALTER TABLE tenant.langchain_pg_embedding ADD PRIMARY KEY (id)")
    found = read(filled, kinds=TURNS)
    assert {item.root for item in found.items} == {
        "memories",
        "other",
        "tenant.memories",
        "tenant.other",
    }
    assert len({item.locator for item in found.items}) == 22


def test_an_embedding_that_is_an_array_or_half_as_long(filled, sql):
    sql("ALTER TABLE langchain_pg_embedding ALTER embedding TYPE real[]"
        " USING embedding::real[]")  # fmt: skip
    found = read(filled, kinds=TURNS)
    assert {raw(item.vector) for item in found.items} == {
        packed(text) for text in found.texts
    }
    sql("ALTER TABLE langchain_pg_embedding ALTER embedding TYPE halfvec(8)"
        " USING embedding::vector::halfvec")  # fmt: skip
    found = read(filled, kinds=TURNS)
    for item in found.items:
        exact = vector(item.content["text"])
        assert list(item.vector) == pytest.approx(exact, abs=1e-3)


def test_beside_chat_histories(filled, sql):
    sql("CREATE TABLE message_store (id serial PRIMARY KEY, session_id text,"
        " message jsonb)")  # fmt: skip
    sql(
        "INSERT INTO message_store (session_id, message) VALUES ('s', %s::jsonb)",
        '{"type": "human", "data": {"content": "hi"}}',
    )
    found = read(filled)
    assert {item.kind for item in found.items} == {"turn", "message"}
    assert len(found.items) == 12


def test_other_databases_have_no_turns(sql, postgres_url):
    sql("DROP EXTENSION vector")
    found = read(postgres_url, kinds=TURNS)
    assert (found.items, found.rejects) == ([], [])
