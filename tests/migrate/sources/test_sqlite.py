"""Partitions, batches, cursors and counts of a SQLite source."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holdover.compat.rollout import in_share
from holdover.migrate.sources import batching, open_source, sqlite
from holdover.migrate.sources.base import SAMPLES, Partition, ReadOptions
from holdover.migrate.sources.sqlite import SqliteSource

OWN_DDL = (
    'CREATE TABLE "{}" (\n                key TEXT PRIMARY KEY,\n'
    "                value TEXT\n            )"
)
WHOLE = Partition("", {"tables_from": "", "tables_to": None})


def pairs(items):
    return [(item.session, item.key) for item in items]


def many(tables, rows=2):
    return {
        f"memory_store_s{t:04}": [(f"k{r}", f"v{t}-{r}") for r in range(rows)]
        for t in range(tables)
    }


def test_batches_reach_across_tables(make_db, source):
    opened = source(make_db(many(50, 3)))
    batches = list(opened.read(WHOLE, size=40))
    assert [len(batch.items) for batch in batches] == [40, 40, 40, 30]
    items = [item for batch in batches for item in batch.items]
    assert pairs(items) == [(f"s{t:04}", f"k{r}") for t in range(50) for r in range(3)]


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_reading_resumes_behind_any_cursor(make_db, source, size):
    path = make_db({**many(5, 4), "memory_store_empty": []})
    whole = [i for batch in source(path).read(WHOLE) for i in batch.items]
    seen = 0
    for batch in source(path).read(WHOLE, size=size):
        seen += len(batch.items)
        rest = [
            i for b in source(path).read(WHOLE, batch.cursor, size=3) for i in b.items
        ]
        assert rest == whole[seen:]
    assert seen == len(whole) == 20


def test_a_cursor_survives_its_table_and_later_rows(make_db, source):
    path = make_db(many(3, 2))
    first = next(source(path).read(WHOLE, size=2))
    assert first.cursor == ["memory_store_s0000", 2]
    with sqlite3.connect(path) as connection:
        connection.execute("INSERT INTO memory_store_s0000 VALUES ('late', 'v')")
    connection.close()
    rest = [i for b in source(path).read(WHOLE, first.cursor) for i in b.items]
    assert pairs(rest)[0] == ("s0000", "late")
    with sqlite3.connect(path) as connection:
        connection.execute("DROP TABLE memory_store_s0000")
    connection.close()
    rest = [i for b in source(path).read(WHOLE, first.cursor) for i in b.items]
    assert pairs(rest) == [(f"s000{t}", f"k{r}") for t in (1, 2) for r in (0, 1)]


def test_any_rowid_is_read(make_db, source):
    path = make_db({"memory_store_s": []})
    with sqlite3.connect(path) as connection:
        for rowid in (-(2**63), -1, 0, 2**63 - 1):
            connection.execute(
                "INSERT INTO memory_store_s (rowid, key, value) VALUES (?, ?, 'v')",
                (rowid, str(rowid)),
            )
    connection.close()
    found = [b.items[0].key for b in source(path).read(WHOLE, size=1)]
    assert found == [str(-(2**63)), "-1", "0", str(2**63 - 1)]


def test_a_table_dropped_while_reading_is_taken_for_empty(make_db, source):
    path = make_db(many(3, 2))
    batches = source(path).read(WHOLE, size=2)
    next(batches)
    with sqlite3.connect(path) as connection:
        connection.execute("DROP TABLE memory_store_s0001")
    connection.close()
    assert pairs([i for b in batches for i in b.items]) == [
        ("s0002", "k0"),
        ("s0002", "k1"),
    ]


def test_large_values_make_smaller_batches(make_db, source, monkeypatch):
    monkeypatch.setattr(batching, "_PER_BATCH", 10_000)
    monkeypatch.setattr(batching, "_AT_ONCE", 5_000)
    path = make_db({"memory_store_s": [(f"k{i}", "x" * 1_000) for i in range(200)]})
    batches = list(source(path).read(WHOLE))
    assert len(batches) > 5
    assert [i.key for b in batches for i in b.items] == [f"k{i}" for i in range(200)]
    # The first request is made before anything is known of the sizes.
    assert all(len(batch.items) <= 16 for batch in batches[1:])


class TestPartitions:
    def test_a_small_file_is_one(self, make_db, source):
        partitions = source(make_db(many(30))).partitions()
        assert [dict(p.spec) for p in partitions] == [
            {"tables_from": "", "tables_to": None}
        ]

    @pytest.fixture
    def small(self, monkeypatch):
        monkeypatch.setattr(sqlite, "_PARTITION_BYTES", 50_000)

    def test_they_cover_everything_once(self, make_db, source, small):
        opened = source(make_db(many(200)))
        partitions = opened.partitions()
        assert 8 <= len(partitions) <= 64
        found = [
            item.session
            for partition in partitions
            for batch in opened.read(partition)
            for item in batch.items
        ]
        assert found == [f"s{t:04}" for t in range(200) for _ in range(2)]
        assert len({p.id for p in partitions}) == len(partitions)
        # A name from before the first and one from behind the last are covered.
        assert partitions[0].spec["tables_from"] == ""
        assert partitions[-1].spec["tables_to"] is None

    def test_new_tables_hardly_move_them(self, make_db, source, small):
        path = make_db(many(200))
        before = source(path).partitions()
        assert source(path).partitions() == before
        with sqlite3.connect(path) as connection:
            for name in ("memory_store_a", "memory_store_s0100x", "memory_store_z"):
                ddl = connection.execute(
                    "SELECT sql FROM sqlite_master WHERE name = 'memory_store_s0000'"
                ).fetchone()[0]
                connection.execute(ddl.replace("memory_store_s0000", name))
        connection.close()
        after = source(path).partitions()
        assert len({p.id for p in before} - {p.id for p in after}) <= 4
        new = source(path)
        sessions = {t.session for p in after for t in new._in_range(p)}
        assert sessions >= {"a", "s0100x", "z"}

    def test_there_are_few_even_of_many_tables(self, make_db, source, monkeypatch):
        monkeypatch.setattr(sqlite, "_PARTITION_BYTES", 1)
        assert len(source(make_db(many(300, 0))).partitions()) == 64


class TestSelection:
    def test_only_named(self, make_db, source, read_all):
        path = make_db(many(5))
        opened = source(
            path,
            sessions=frozenset({"S0001"}),
            session_pattern=r"s000[34]",
            only_named=True,
        )
        items, _, _ = read_all(opened)
        assert {i.session for i in items} == {"s0001", "s0003", "s0004"}
        inventory = opened.inventory()
        assert (inventory.groups[0].sessions, inventory.groups[0].items) == (3, 6)
        assert any("2 entity tables are outside" in note for note in inventory.notes)

    def test_a_sample_takes_whole_sessions(self, make_db, source, read_all):
        path = make_db(many(200))
        items, _, _ = read_all(source(path, sample=0.2))
        chosen = [f"s{t:04}" for t in range(200) if in_share(f"s{t:04}", 0.2)]
        assert pairs(items) == [(s, f"k{r}") for s in chosen for r in range(2)]
        assert 20 < len(chosen) < 60

    def test_other_kinds(self, make_db, source):
        opened = source(make_db(many(2)), kinds=frozenset({"messages"}))
        assert opened.inventory().groups == []
        assert opened.partitions() == []


class TestKeysAndFetch:
    def test_names_are_read_without_values(self, make_db, source, read_all):
        opened = source(make_db(many(7, 3)))
        whole, _, _ = read_all(opened)
        batches = list(opened.keys(WHOLE, size=5))
        assert [len(batch) for batch in batches] == [5, 5, 5, 5, 1]
        names = [item for batch in batches for item in batch]
        assert names == [item._replace(content={}) for item in whole]

    def test_fetch_reads_what_is_still_there(self, make_db, source):
        path = make_db(many(3, 250))
        opened = source(path)
        names = [item for batch in opened.keys(WHOLE) for item in batch]
        with sqlite3.connect(path) as connection:
            connection.execute("DELETE FROM memory_store_s0001 WHERE key <> 'k7'")
            connection.execute("DROP TABLE memory_store_s0002")
            connection.execute("UPDATE memory_store_s0000 SET value = 'new'")
        connection.close()
        found = opened.fetch(opened.partitions()[0], names)
        assert found.rejects == []
        assert {(i.session, i.key): i.content["summary"] for i in found.items} == {
            **{("s0000", f"k{r}"): "new" for r in range(250)},
            ("s0001", "k7"): "v1-7",
        }
        assert opened.fetch(opened.partitions()[0], []).items == []

    def test_what_cannot_be_read_has_no_name(self, make_db, source, read_all):
        path = make_db(
            {"memory_store_s": [("ok", "v"), ("nul", None), (None, "v"), ("e", "")]}
        )
        with sqlite3.connect(path) as connection:
            connection.execute(
                "INSERT INTO memory_store_s VALUES (CAST(x'ff' AS TEXT), 'v')"
            )
            connection.execute("INSERT INTO memory_store_s VALUES ('after', 'v')")
        connection.close()
        opened = source(path)
        assert [[i.key for i in batch] for batch in opened.keys(WHOLE)] == [
            ["ok", "after"]
        ]
        items, rejects, _ = read_all(opened)
        assert [item.key for item in items] == ["ok", "after"]
        assert [r.reason for r in rejects] == [
            "null-value",
            "null-key",
            "empty-value",
            "not-utf8",
        ]


def test_an_empty_value_among_clean_ones_is_a_reject(make_db, source, read_all):
    path = make_db({"memory_store_s": [("a", "v"), ("e", ""), ("b", "v")]})
    items, rejects, _ = read_all(source(path))
    assert [item.key for item in items] == ["a", "b"]
    assert [(one.reason, one.locator) for one in rejects] == [
        ("empty-value", "sqlite:entities.db#memory_store_s#e")
    ]


def test_skip_knows_tables_as_sqlite_does(make_db, source, read_all):
    path = make_db({"Memory_Store_Bob": [("k", "v")], "memory_store_s": [("k", "v")]})
    opened = source(path, skip=frozenset({"MEMORY_store_bob"}))
    assert pairs(read_all(opened)[0]) == [("s", "k")]
    (skipped,) = opened.inventory().skipped
    assert skipped == ("Memory_Store_Bob", "left out by --skip")


@pytest.mark.parametrize("encoding", ["UTF-8", "UTF-16le", "UTF-16be"])
def test_broken_text_is_a_reject_in_every_encoding(make_db, source, read_all, encoding):
    path = make_db(
        {"memory_store_s": [("Zoë\0 北京", "\U0001f389 fine \0 here"), ("b", "  ")]},
        script=f"PRAGMA encoding='{encoding}';",
    )
    # A lone surrogate, which SQLite joins with the letter behind it.
    broken = {"UTF-8": "eda080", "UTF-16le": "3dd86100", "UTF-16be": "d83d0061"}
    with sqlite3.connect(path) as connection:
        for key, value in (
            ("k", f"CAST(x'{broken[encoding]}' AS TEXT)"),
            ("blob", "x'00ff'"),
        ):
            connection.execute(f"INSERT INTO memory_store_s VALUES ('{key}', {value})")
    connection.close()
    items, rejects, _ = read_all(source(path))
    assert [(i.key, i.content["summary"]) for i in items] == [
        ("Zoë\0 北京", "\U0001f389 fine \0 here"),
        ("b", "  "),
    ]
    assert [(r.reason, r.locator.rpartition("#")[2]) for r in rejects] == [
        ("not-utf8", "rowid=3"),
        ("binary-value", "blob"),
    ]


def test_numbers_in_columns_without_a_type_become_text(make_db, source, read_all):
    path = make_db(
        script="CREATE TABLE memory_store_n (key PRIMARY KEY, value);"
        "INSERT INTO memory_store_n VALUES (1, 2.5), ('t', 9007199254740993);"
    )
    items, rejects, _ = read_all(source(path, sessions=frozenset({"n"})))
    assert [(i.key, i.content["summary"]) for i in items] == [
        ("1", "2.5"),
        ("t", "9007199254740993"),
    ]
    assert rejects == []


class TestTables:
    def test_hostile_names(self, make_db, source, read_all):
        names = ['a"b', "a'b", "a;--", "a b", "a\nb", "%_", "[x]", "😀", "x" * 500]
        path = make_db({f"memory_store_{n}": [("k", n)] for n in names})
        opened = source(path)
        assert {(i.session, i.content["summary"]) for i in read_all(opened)[0]} == {
            (n, n) for n in names
        }
        assert opened.inventory().groups[0].sessions == len(names)
        names_read = [i for batch in opened.keys(WHOLE) for i in batch]
        assert len(opened.fetch(opened.partitions()[0], names_read).items) == len(names)

    def test_the_library_s_text_is_recognised_exactly(self, make_db, source):
        names = ["unquoted", "strict", "rowid", "was"]
        own = {name: OWN_DDL.format(f"memory_store_{name}") for name in names}
        path = make_db(
            {"memory_store_quoted": []},
            script=f"{own['unquoted'].replace(chr(34), '')};"
            f"{own['strict']} STRICT; {own['rowid']} WITHOUT ROWID;"
            "CREATE TABLE memory_store_one_line (key TEXT PRIMARY KEY, value TEXT);"
            f"{own['was']};"
            "ALTER TABLE memory_store_was RENAME TO memory_store_renamed;",
        )
        opened = source(path)
        found = {table.session for table in opened._find().entities}
        assert found == {"unquoted", "quoted", "renamed"}

    def test_own_tables_of_one_unknown_root_are_one_blocker(self, make_db, source):
        path = make_db({f"kg_facts_s{i}": [] for i in range(40)} | {"bare": []})
        inventory = source(path, roots=("memory_store",)).inventory()
        assert len(inventory.blockers) == 2
        by_fix = sorted(inventory.blockers, key=lambda b: b.fix)
        assert by_fix[0].fix.startswith("--root kg_facts or --skip kg_facts_s0")
        assert "39 more" in by_fix[0].message
        assert by_fix[1].fix == "--skip bare"
        assert (
            source(path, roots=("kg_facts",)).inventory().groups[0].root == "kg_facts"
        )

    def test_other_tables_are_listed_with_their_number(self, make_db, source):
        script = "".join(f"CREATE TABLE app_{i} (a);" for i in range(30))
        script += (
            "CREATE TABLE store (prefix, key); CREATE TABLE store_migrations (v);"
            "CREATE VIRTUAL TABLE memory_store_fts USING fts5(key, value);"
            "CREATE TABLE memory_store_a (key TEXT PRIMARY KEY, value, rowid TEXT);"
            "CREATE TABLE chats (id INTEGER, session_id TEXT, message TEXT);"
        )
        path = make_db(script=script)
        # One part of a place tells all, so that the parts can be put together.
        found = source(path).inventory().skipped
        read = ReadOptions(kinds=frozenset({"entities"}))
        with closing(open_source(str(path), read)) as whole:
            inventory = whole.inventory()
        assert inventory.skipped == found[:SAMPLES]
        assert inventory.skipped_count == len(found) >= 35
        why = {one.name: one.why for one in found}
        assert why["store"] == why["store_migrations"] == "LangGraph's own table"
        assert why["memory_store_fts"] == "a virtual table"
        assert why["memory_store_a"] == "a column of its own named rowid"
        assert why["chats"] == "chat history: not an entity table"
        # What resembles an entity table comes first.
        assert found[0].name.startswith("memory_store_")

    @pytest.mark.parametrize("needs", ["rule", "collation"])
    @pytest.mark.parametrize("tables", [1, 300])
    @pytest.mark.parametrize("mode", ["DELETE", "WAL"])
    def test_what_another_application_needs_is_not_damage(
        self, make_db, source, tables, mode, needs
    ):
        path = make_db(many(tables, 1), script=f"PRAGMA journal_mode={mode};")
        connection = sqlite3.connect(path)
        if needs == "rule":
            connection.executescript(
                "CREATE TABLE app (a CHECK (a > 0));"
                "PRAGMA ignore_check_constraints=1; INSERT INTO app VALUES (-1);"
            )
        else:
            connection.create_collation("theirs", lambda a, b: (a > b) - (a < b))
            connection.executescript(
                "CREATE TABLE app (a TEXT COLLATE theirs, b);"
                "CREATE INDEX app_a ON app (a); INSERT INTO app VALUES ('x', 'y');"
            )
        connection.close()
        connection = sqlite3.connect(path)
        try:
            plain = connection.execute("PRAGMA quick_check").fetchone()[0]
        except sqlite3.Error as error:
            plain = str(error)
        connection.close()
        assert plain in {
            "CHECK constraint failed in app",
            "no such collation sequence: theirs",
        }
        opened = source(path)
        assert opened.inventory().groups[0].items == tables
        assert len([i for b in opened.read(WHOLE) for i in b.items]) == tables


@settings(
    max_examples=30,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    st.lists(
        st.tuples(
            st.one_of(st.none(), st.text(max_size=4), st.binary(max_size=3)),
            st.one_of(st.none(), st.text(max_size=4), st.binary(max_size=3)),
        ),
        max_size=40,
        unique_by=lambda row: row[0] if row[0] is not None else object(),
    ),
    st.integers(1, 50),
)
def test_counts_foretell_what_is_read(tmp_path, rows, size):
    from holdover.migrate.sources.base import ReadOptions

    path = tmp_path / "random.db"
    path.unlink(missing_ok=True)
    connection = sqlite3.connect(path)
    connection.execute(OWN_DDL.format("memory_store_s"))
    connection.executemany("INSERT INTO memory_store_s VALUES (?, ?)", rows)
    connection.commit()
    connection.close()
    source = SqliteSource(str(path), ReadOptions())
    inventory = source.inventory()
    batches = list(source.read(WHOLE, size=size))
    source.close()
    items = [item for batch in batches for item in batch.items]
    reasons = [reject.reason for batch in batches for reject in batch.rejects]
    assert inventory.groups[0].items == len(items)
    assert inventory.rejects == {reason: reasons.count(reason) for reason in reasons}
    assert len(items) + len(reasons) == len(rows)
    assert all(len(b.items) + len(b.rejects) == size for b in batches[:-1])
    assert [(i.key, i.content["summary"]) for i in items] == [
        (key, value)
        for key, value in rows
        if isinstance(key, str) and value and isinstance(value, str)
    ]
