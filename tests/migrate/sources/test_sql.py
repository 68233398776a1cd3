"""Chat histories in SQL databases: what is read, what is refused, and what is not."""

from __future__ import annotations

import json
import sqlite3
import sys
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import pytest
from moving import files_of, rows_of
from sampling import sampled
from servers import with_database
from sql_histories import MYSQL_DDL, POSTGRES_DDL, SQLITE_DDL, mysql

from holdover.migrate.errors import SourceError, SourceUnavailable, UsageError
from holdover.migrate.sources import open_source, sql
from holdover.migrate.sources.base import ReadOptions
from holdover.migrate.sources.sql_rows import moment_of

#: What a MariaDB does is shown by `test_on_mariadb`, and by the dumps of one.
PLACES = sampled(["sqlite", "postgres"], ["mariadb"])


def message(text, kind="human", **more):
    return json.dumps({"type": kind, "data": {"content": text, **more}})


class Place:
    """A database to put old tables into."""

    def __init__(self, kind, url):
        self.kind, self.url = kind, url

    def run(self, statement, rows=None):
        """One statement, or one for each row; `?` marks a parameter."""
        if self.kind == "sqlite":
            with closing(sqlite3.connect(self.url)) as db, db:
                if rows is None:
                    return db.execute(statement).fetchall()
                return db.executemany(statement, rows) and None
        if rows is not None:
            statement = statement.replace("?", "%s")
        if self.kind == "mariadb":
            with mysql(self.url) as cursor:
                if rows is None:
                    cursor.execute(statement)
                    return cursor.fetchall()
                return cursor.executemany(statement, rows) and None
        import psycopg

        with psycopg.connect(self.url, autocommit=True) as db:
            if rows is None:
                done = db.execute(statement)
                return done.fetchall() if done.description else []
            return db.cursor().executemany(statement, rows)

    def history(self, rows, table="message_store", ddl=None):
        """A table as its class made it; rows are (session, message) or have an id."""
        if self.kind == "sqlite":
            self.run(ddl or SQLITE_DDL.format(table))
        else:
            ddl = ddl or (MYSQL_DDL if self.kind == "mariadb" else POSTGRES_DDL["sql"])
            self.run(f"CREATE TABLE {table} ({ddl})")
        rows = list(rows)
        if rows:
            columns = ("id", "session_id", "message")[-len(rows[0]) :]
            marks = ", ".join("?" * len(columns))
            names = ", ".join(columns)
            self.run(f"INSERT INTO {table} ({names}) VALUES ({marks})", rows)


@pytest.fixture(params=PLACES)
def place(request, tmp_path):
    if request.param == "sqlite":
        folder = tmp_path / "old"
        folder.mkdir()
        return Place("sqlite", str(folder / "chat.db"))
    return Place(request.param, request.getfixturevalue(f"{request.param}_url"))


@pytest.fixture
def postgres(postgres_url):
    return Place("postgres", postgres_url)


@pytest.fixture
def messages():
    """A source of which only chat histories are read."""
    opened = []

    def make(address, **options):
        options.setdefault("kinds", frozenset({"messages"}))
        opened.append(open_source(str(address), ReadOptions(**options)))
        return opened[-1]

    yield make
    for one in opened:
        one.close()


def read(source, size=10_000):
    """Texts by root and session, in the order of positions, and rejects."""
    items, rejects = [], []
    for partition in source.partitions():
        for batch in source.read(partition, size=size):
            items += batch.items
            rejects += batch.rejects
    found = {}
    for item in sorted(items, key=lambda item: item.position):
        text = item.content["data"]["content"]
        found.setdefault((item.root, item.session), []).append(text)
    return found, rejects


# What is read.


def test_sessions_are_what_the_application_called_them(place, messages):
    """Names that a database's own comparison takes for one another stay apart."""
    names = ["foo", "FOO", "foo ", "", "föö", "foo%", "o'brien", 'q"`', "🎉", "a\nb"]
    place.history((name, message(f"of {name}")) for name in names)

    source = messages(place.url)
    found, rejects = read(source)

    assert found == {("message_store", name): [f"of {name}"] for name in names}
    assert rejects == []
    (group,) = source.inventory().groups
    assert (group.sessions, group.items) == (len(names), len(names))


def test_messages_come_in_the_order_of_their_rows(place, messages):
    texts = [str(n) for n in range(50)]
    rows = [(f"s{n % 3}", message(text)) for n, text in enumerate(texts)]
    place.history(rows)

    for size in (1, 7, 10_000):
        found, _ = read(messages(place.url), size=size)
        assert found == {("message_store", f"s{n}"): texts[n::3] for n in range(3)}


def test_junk_costs_itself_alone(place, messages):
    place.history([
        ("s", message("first")),
        ("s", "not json"),
        ("s", None),
        (None, message("of nobody")),
        ("s", "[1, 2]"),
        ("s", '{"type": 5, "data": {}}'),
        ("s", '{"type": "human"}'),
        ("s", "[" * 50_000),
        ("s", message("last", "martian")),
    ])  # fmt: skip
    source = messages(place.url)

    found, rejects = read(source)

    assert found == {("message_store", "s"): ["first", "last"]}
    assert [(r.reason, r.locator.rpartition("#")[2]) for r in rejects] == [
        ("not-json", "2"),
        ("null-message", "3"),
        ("null-session", "4"),
        ("not-a-message", "5"),
        ("not-a-message", "6"),
        ("not-a-message", "7"),
        (rejects[-1].reason, "8"),
    ]
    assert rejects[-1].reason in ("not-json", "too-deep")
    assert not any("of nobody" in r.detail or "not json" in r.detail for r in rejects)
    inventory = source.inventory()
    assert inventory.rejects == {"null-session": 1, "null-message": 1}
    (group,) = inventory.groups
    # Items, rejects: together all rows of the table.
    assert group.items + sum(inventory.rejects.values()) == 9
    (partition,) = source.partitions()
    names = [item for page in source.keys(partition) for item in page]
    fetched = source.fetch(partition, names)
    assert [i.content["data"]["content"] for i in fetched.items] == ["first", "last"]
    assert len(fetched.rejects) == 5


def test_a_locator_says_where_a_row_is(place, messages):
    place.history([(7, "s", message("hi"))])
    source = messages(place.url)
    (partition,) = source.partitions()
    (batch,) = source.read(partition)
    (item,) = batch.items

    backend, name = {
        "sqlite": ("sqlite", "chat.db"),
        "postgres": ("postgresql", place.url.rpartition("/")[2]),
        "mariadb": ("mysql", place.url.rpartition("/")[2]),
    }[place.kind]
    assert item.locator == f"{backend}:{name}#message_store#7"
    assert item.position == 7
    assert batch.cursor == 7


def test_integer_sessions_are_text(place, messages):
    ddl = {
        "sqlite": "CREATE TABLE t (id INTEGER PRIMARY KEY, who INTEGER, message TEXT)",
        "postgres": "id serial PRIMARY KEY, who bigint, message text",
        "mariadb": "id int AUTO_INCREMENT PRIMARY KEY, who bigint, message text",
    }[place.kind]
    place.history([], table="t", ddl=ddl)
    insert = "INSERT INTO t (who, message) VALUES (?, ?)"
    place.run(insert, [(42, message("a")), (-1, message("b"))])

    found, _ = read(messages(place.url, roots=("t",), fields=(("session", "who"),)))

    assert found == {("t", "42"): ["a"], ("t", "-1"): ["b"]}


def test_only_chosen_sessions(place, messages):
    rows = [(f"user-{n}", message(str(n))) for n in range(200)]
    place.history([*rows, (None, message("nobody's"))])

    named = messages(
        place.url, sessions=frozenset({"user-7"}), session_pattern=r"user-1\d",
        only_named=True,
    )  # fmt: skip
    found, rejects = read(named, size=3)
    wanted = [7, *range(10, 20)]
    assert found == {("message_store", f"user-{n}"): [str(n)] for n in wanted}
    assert rejects == []
    (group,) = named.inventory().groups
    assert (group.sessions, group.items) == (11, 11)

    sample = messages(place.url, sample=0.25)
    some, _ = read(sample)
    assert 20 < len(some) < 80
    (group,) = sample.inventory().groups
    assert group.items == len(some)
    (partition,) = sample.partitions()
    names = {item.session for page in sample.keys(partition) for item in page}
    assert names == {session for _, session in some}


def test_unreadable_bytes_are_rejects(tmp_path, messages):
    """SQLite keeps text that is no UTF-8, as a session or as a message."""
    path = tmp_path / "old.db"
    place = Place("sqlite", str(path))
    place.history([("s", message("first"))])
    insert = "INSERT INTO message_store (session_id, message) VALUES ({}, {})"
    place.run(insert.format("CAST(x'ff61' AS TEXT)", f"'{message('x')}'"))
    place.run(insert.format("'s'", "CAST(x'7b22ff' AS TEXT)"))
    place.run(insert.format("'s'", f"'{message('last')}'"))

    found, rejects = read(messages(path))

    assert found == {("message_store", "s"): ["first", "last"]}
    assert [(r.reason, r.locator) for r in rejects] == [
        ("not-utf8", "sqlite:old.db#message_store#2"),
        ("not-utf8", "sqlite:old.db#message_store#3"),
    ]


@pytest.mark.parametrize("encoding", ["UTF-16le", "UTF-16be"])
def test_a_file_in_utf_16(encoding, tmp_path, messages):
    path = tmp_path / "old.db"
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(f"PRAGMA encoding = '{encoding}'")
        db.execute(SQLITE_DDL.format("message_store"))
        db.execute(
            "INSERT INTO message_store (session_id, message) VALUES (?, ?)",
            ("会话", json.dumps(json.loads(message("Zoë 🎉")), ensure_ascii=False)),
        )

    found, rejects = read(messages(path))

    assert found == {("message_store", "会话"): ["Zoë 🎉"]}
    assert rejects == []


def test_a_postgres_that_knows_no_encoding(postgres_server, messages):
    import psycopg

    name = "no_encoding"
    with psycopg.connect(postgres_server, autocommit=True) as db:
        db.execute(
            f"CREATE DATABASE {name} ENCODING SQL_ASCII TEMPLATE template0"
            " LOCALE_PROVIDER libc LOCALE 'C'"
        )
    try:
        url = with_database(postgres_server, name)
        with psycopg.connect(url, autocommit=True) as db:
            db.execute(f"CREATE TABLE message_store ({POSTGRES_DDL['sql']})")
            insert = "INSERT INTO message_store (session_id, message) VALUES ({}, {})"
            text = r"convert_from('\x{}', 'SQL_ASCII')"
            good = message("Zoë").encode().hex()
            broken = b'{"type": "human", "data": {"content": "\xe4"}}'.hex()
            db.execute(insert.format("'s'", text.format(good)))
            db.execute(insert.format("'s'", text.format(broken)))
            db.execute(insert.format("'s'", text.format(good)))
        source = messages(url)
        found, rejects = read(source)
        source.close()
        assert found == {("message_store", "s"): ["Zoë", "Zoë"]}
        assert [r.reason for r in rejects] == ["not-utf8"]
    finally:
        with psycopg.connect(postgres_server, autocommit=True) as db:
            db.execute(f"DROP DATABASE {name} WITH (FORCE)")


def test_times_that_python_cannot_hold(postgres, messages):
    postgres.history([], ddl=POSTGRES_DDL["langchain-postgres"])
    session = UUID(int=7)
    times = [
        ("2024-05-06 07:08:09.123456+02", datetime(2024, 5, 6, 5, 8, 9, 123456, UTC)),
        ("infinity", None),
        ("-infinity", None),
        ("0044-03-15 12:00:00 BC", None),
        ("20000-01-01", None),
    ]
    postgres.run(
        "INSERT INTO message_store (session_id, message, created_at)"
        " VALUES (?, ?, CAST(? AS timestamptz))",
        [(session, message("x"), time) for time, _ in times],
    )
    source = messages(postgres.url)
    (partition,) = source.partitions()
    (batch,) = source.read(partition)
    assert [item.created_at for item in batch.items] == [time for _, time in times]
    assert {item.session for item in batch.items} == {str(session)}


def test_a_time_without_a_zone_is_utc(postgres, messages):
    """Whatever zone the server thinks it is in."""
    postgres.history([], ddl=f"{POSTGRES_DDL['sql']}, created_at timestamp")
    postgres.history([], "by_day", f"{POSTGRES_DDL['sql']}, at date, note text")
    insert = "INSERT INTO {} (session_id, message, {}) VALUES (?, ?, ?)"
    noon, day = datetime(2024, 5, 6, 12), datetime(2024, 5, 6)
    rows = [("s", message("x"))]
    postgres.run(insert.format("message_store", "created_at"), [(*rows[0], noon)])
    postgres.run(insert.format("by_day", "at"), [(*rows[0], day.date())])
    url = f"{postgres.url}?options=-cTimeZone%3DAsia/Tokyo"

    source = messages(
        url, roots=("message_store", "by_day"), fields=(("created_at", "at"),)
    )
    times = {
        item.root: item.created_at
        for partition in source.partitions()
        for batch in source.read(partition)
        for item in batch.items
    }
    assert times == {
        "message_store": noon.replace(tzinfo=UTC),
        "by_day": day.replace(tzinfo=UTC),
    }


MOMENTS = [
    (None, None),
    ("2024-05-06 07:08:09.5", datetime(2024, 5, 6, 7, 8, 9, 500000, UTC)),
    ("2024-05-06T07:08:09Z", datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC)),
    (b"2024-05-06T07:08:09+02:00", datetime(2024, 5, 6, 5, 8, 9, tzinfo=UTC)),
    ("2024-05-06", datetime(2024, 5, 6, tzinfo=UTC)),
    ("20240506", datetime(2024, 5, 6, tzinfo=UTC)),
    (1714979289, datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC)),
    (b"1714979289.5", datetime(2024, 5, 6, 7, 8, 9, 500000, UTC)),
    (1714979289500, datetime(2024, 5, 6, 7, 8, 9, 500000, UTC)),
    (1714979289500000, datetime(2024, 5, 6, 7, 8, 9, 500000, UTC)),
    ("0001-01-01T00:00:00+10:00", None),
    (10**30, None),
    ("yesterday", None),
    (b"\xff", None),
    ("", None),
]


@pytest.mark.parametrize(("value", "moment"), MOMENTS)
def test_a_time_in_any_form(value, moment):
    assert moment_of(value) == moment


def test_times_of_mysql_without_a_date(mariadb_url, messages):
    place = Place("mariadb", mariadb_url)
    place.history([], ddl=f"{MYSQL_DDL}, create_time datetime NULL")
    with mysql(mariadb_url) as cursor:
        cursor.execute("SET sql_mode = ''")
        for time in ("'0000-00-00 00:00:00'", "'2024-05-06 07:08:09'", "NULL"):
            cursor.execute(
                "INSERT INTO message_store (session_id, message, create_time)"
                f" VALUES ('s', '{message('x')}', {time})"
            )
    source = messages(mariadb_url)
    (partition,) = source.partitions()
    (batch,) = source.read(partition)
    assert [item.created_at for item in batch.items] == [
        None, datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC), None,
    ]  # fmt: skip


# Which tables.


def test_strangers_are_not_read(postgres, messages):
    """By its name alone a table is no history."""
    postgres.history([("s", message("mine"))], table="mine")
    ddl = f"{POSTGRES_DDL['sql']}, who text"
    postgres.history([("s", message("not yours"))], table="audit", ddl=ddl)
    postgres.history([("s", message("x"))], ddl=ddl)
    postgres.run("CREATE TABLE store (prefix text, key text, value jsonb)")
    postgres.run("CREATE VIEW seen AS SELECT * FROM mine")
    postgres.run("CREATE MATERIALIZED VIEW kept AS SELECT * FROM mine")

    inventory = messages(postgres.url).inventory()

    assert inventory.groups == []
    whys = dict(inventory.skipped)
    assert whys.keys() == {"audit", "message_store", "seen", "kept"}
    assert whys["message_store"].startswith("extra columns: who")
    assert whys["seen"].startswith("a view")
    assert whys["kept"].startswith("a materialised view")
    (blocker,) = inventory.blockers
    assert blocker.code == "unknown-root"
    assert blocker.fix == "--root mine or --skip mine"
    skipping = messages(postgres.url, skip=frozenset({"mine"})).inventory()
    assert skipping.blockers == []
    assert dict(skipping.skipped)["mine"] == "left out by --skip"


def test_a_named_table_may_have_more_columns(place, messages):
    more = {"sqlite": SQLITE_DDL.format("audit").replace("message TEXT", "message TEXT,"
            " who TEXT")}.get(place.kind)  # fmt: skip
    if place.kind != "sqlite":
        base = MYSQL_DDL if place.kind == "mariadb" else POSTGRES_DDL["sql"]
        more = f"{base}, who text"
    place.history([("s", message("x"))], table="audit", ddl=more)
    # Nor does it matter what other names begin with its own.
    place.history([("s", message("y"))], table="audit_log")

    assert messages(place.url).inventory().groups == []
    source = messages(place.url, roots=("audit",), skip=frozenset({"audit_log"}))
    assert source.inventory().blockers == []
    assert read(source)[0] == {("audit", "s"): ["x"]}


def test_a_named_table_of_another_shape_is_a_blocker(place, messages):
    key = "INTEGER PRIMARY KEY" if place.kind == "sqlite" else "int PRIMARY KEY"
    place.run(f"CREATE TABLE notes (id {key}, body varchar(20))")

    (blocker,) = messages(place.url, roots=("notes",)).inventory().blockers

    assert blocker.code == "no-history"
    assert "no column session_id, message" in blocker.message
    assert blocker.fix.startswith("--skip notes or --field ")


def test_a_root_of_entities_blocks_nothing(tmp_path, messages):
    """In a file, a root may be what the names of entity tables begin with."""
    place = Place("sqlite", str(tmp_path / "mixed.db"))
    place.run("CREATE TABLE kv (key TEXT PRIMARY KEY, value TEXT)")
    place.run("CREATE TABLE kv_s (key TEXT PRIMARY KEY, value TEXT)")
    place.history([("s", message("x"))])

    both = frozenset({"entities", "messages"})
    source = messages(place.url, roots=("kv", "message_store"), kinds=both)
    inventory = source.inventory()
    assert inventory.blockers == []
    found, _ = read(source)
    assert found == {("message_store", "s"): ["x"]}


def test_names_in_other_letters(postgres, messages):
    """The class for PostgreSQL let the server fold its table's name."""
    postgres.history([("s", message("folded"))], table="MixedCase")
    postgres.history([("s", message("quoted"))], table='"Quoted"')

    found, _ = read(messages(postgres.url, roots=("MixedCase", "Quoted")))

    assert found == {
        ("MixedCase", "s"): ["folded"],
        ("Quoted", "s"): ["quoted"],
    }


@pytest.mark.parametrize("name", ['a "b"', "?%s", "100% {x}", "e'f`g", "Ünï"])
def test_hostile_names_of_tables_and_columns(name, place, messages):
    mark = "`" if place.kind == "mariadb" else '"'
    quoted = mark + name.replace(mark, mark * 2) + mark
    key = "INTEGER" if place.kind == "sqlite" else "int"
    column = quoted.replace("s", "S")
    place.run(
        f"CREATE TABLE {quoted} (id {key} PRIMARY KEY, {column} varchar(9), message"
        " varchar(99))"
    )
    literal = message("x").replace("'", "''")
    place.run(f"INSERT INTO {quoted} VALUES (1, 's', '{literal}')")

    source = messages(
        place.url, roots=(name,), fields=(("session", name.replace("s", "S")),)
    )
    assert source.inventory().blockers == []
    found, rejects = read(source)
    assert found == {(name, "s"): ["x"]}
    assert rejects == []


def test_a_strangers_name_is_not_in_the_way(tmp_path, messages):
    """In a SQLite file a name may be any bytes."""
    path = tmp_path / "old.db"
    place = Place("sqlite", str(path))
    place.history([("s", message("x"))])
    place.run("CREATE TABLE other (id INTEGER PRIMARY KEY, badname TEXT)")
    raw = path.read_bytes()
    path.write_bytes(raw.replace(b"badname", b"ba\xff\xfe\xfdme"))

    source = messages(path)
    assert source.inventory().blockers == []
    assert read(source)[0] == {("message_store", "s"): ["x"]}


def test_tables_of_other_schemas(postgres, messages):
    postgres.run("CREATE SCHEMA chat")
    postgres.history([("s", message("public"))])
    postgres.history([("s", message("chat"))], table="chat.message_store")

    found, _ = read(messages(postgres.url))
    assert found == {("message_store", "s"): ["public"]}
    (blocker,) = messages(postgres.url).inventory().blockers
    assert blocker.fix.endswith("--skip chat.message_store")
    both = ("message_store", "chat.message_store")
    source = messages(postgres.url, roots=both)
    found, _ = read(source)
    assert found == {
        ("message_store", "s"): ["public"],
        ("chat.message_store", "s"): ["chat"],
    }
    assert source.inventory().blockers == []
    path = f"{postgres.url}?options=-csearch_path%3Dchat"
    found, _ = read(messages(path))
    assert found == {("message_store", "s"): ["chat"]}


def test_a_partitioned_table_is_read_once(postgres, messages):
    postgres.run(
        "CREATE TABLE message_store (id bigint PRIMARY KEY, session_id text, message"
        " jsonb) PARTITION BY RANGE (id)"
    )
    for part in range(2):
        bounds = f"FROM ({part * 10}) TO ({part * 10 + 10})"
        postgres.run(
            f"CREATE TABLE part{part} PARTITION OF message_store FOR VALUES {bounds}"
        )
    rows = [(n, "s", message(str(n))) for n in range(20)]
    postgres.run("INSERT INTO message_store VALUES (?, ?, ?)", rows)

    source = messages(postgres.url)
    found, _ = read(source)
    assert found == {("message_store", "s"): [str(n) for n in range(20)]}
    assert source.inventory().blockers == []


def test_an_empty_table_blocks_nothing(place, messages):
    place.history([], table="other_store")
    inventory = messages(place.url).inventory()
    assert inventory.blockers == []
    assert dict(inventory.skipped)["other_store"] == "an empty table"
    place.run("INSERT INTO other_store (session_id, message) VALUES (?, ?)",
              [("s", message("x"))])  # fmt: skip
    (blocker,) = messages(place.url).inventory().blockers
    assert blocker.fix == "--root other_store or --skip other_store"


# Rows without a number.

UNNUMBERED = {
    "sqlite": "CREATE TABLE t (id TEXT PRIMARY KEY, thread TEXT, body TEXT, at REAL)",
    "postgres": "id uuid PRIMARY KEY, thread text, body jsonb, at timestamptz",
    "mariadb": "id char(36) PRIMARY KEY, thread varchar(50), body longtext,"
    " at datetime(6)",
}
FIELDS = (("session", "thread"), ("message", "body"))
START = datetime(2024, 1, 1, tzinfo=UTC)


def unnumbered(place, sessions, count):
    """`count` rows a session; the ids are in another order than the times."""
    place.history([], table="t", ddl=UNNUMBERED[place.kind])
    rows = []
    for n in range(count):
        time = START + timedelta(seconds=n)
        kept = time.timestamp() if place.kind == "sqlite" else time
        kept = kept.replace(tzinfo=None) if place.kind == "mariadb" else kept
        for session in sessions:
            key = UUID(int=(hash((n, session)) & 0xFFFFFFFFFFFF) << 16)
            rows.append((str(key), session, message(f"{session} {n}"), kept))
    place.run("INSERT INTO t VALUES (?, ?, ?, ?)", rows[::-1])


def test_places_in_sessions_stand_for_numbers(place, messages):
    sessions = ["b", "B", "a", "ä"]
    unnumbered(place, sessions, 25)
    fields = (*FIELDS, ("created_at", "at"))

    for size in (1, 10, 10_000):
        source = messages(place.url, roots=("t",), fields=fields)
        (partition,) = source.partitions()
        assert partition.aligned
        batches = list(source.read(partition, size=size))
        items = [item for batch in batches for item in batch.items]
        # A session's items come together, from its oldest.
        texts = [item.content["data"]["content"] for item in items]
        order = sorted(sessions, key=str.encode)
        assert texts == [f"{s} {n}" for s in order for n in range(25)]
        assert [item.position for item in items] == [*range(25)] * 4
        assert {i.created_at - START for i in items} == {
            timedelta(seconds=n) for n in range(25)
        }
        whole = [item for page in source.keys(partition, size=size) for item in page]
        assert whole == items
    (group,) = source.inventory().groups
    assert (group.sessions, group.items) == (4, 100)


def test_a_session_without_numbers_is_read_again_whole(place, messages):
    sessions = ["a", "b", "c"]
    unnumbered(place, sessions, 30)
    source = messages(place.url, roots=("t",), fields=(*FIELDS, ("created_at", "at")))
    (partition,) = source.partitions()
    whole = [i for batch in source.read(partition, size=10) for i in batch.items]

    for batch in source.read(partition, size=10):
        rest = source.read(partition, batch.cursor, size=10)
        items = [item for one in rest for item in one.items]
        done = len(whole) - len(items)
        assert items == whole[done:]
        assert done % 30 == 0
        read_so_far = whole.index(batch.items[-1]) + 1
        assert 0 <= read_so_far - done <= 30
    assert done == 60


def test_only_chosen_sessions_without_numbers(place, messages):
    unnumbered(place, ["a", "b", "c"], 5)
    place.run("INSERT INTO t VALUES (?, ?, ?, ?)",
              [(str(UUID(int=1)), None, message("x"), None)])  # fmt: skip
    source = messages(
        place.url, roots=("t",), fields=(*FIELDS, ("created_at", "at")),
        sessions=frozenset({"b"}), only_named=True,
    )  # fmt: skip
    found, rejects = read(source, size=2)
    assert found == {("t", "b"): [f"b {n}" for n in range(5)]}
    assert rejects == []
    (group,) = source.inventory().groups
    assert (group.sessions, group.items) == (1, 5)


def test_rows_of_nobody_among_those_without_numbers(place, messages):
    unnumbered(place, ["a"], 3)
    rows = [(str(UUID(int=n)), None, message("x"), None) for n in range(5)]
    place.run("INSERT INTO t VALUES (?, ?, ?, ?)", rows)
    source = messages(place.url, roots=("t",), fields=(*FIELDS, ("created_at", "at")))

    found, rejects = read(source, size=2)

    assert found == {("t", "a"): ["a 0", "a 1", "a 2"]}
    assert [r.reason for r in rejects] == ["null-session"] * 5
    assert source.inventory().rejects == {"null-session": 5}


def test_nothing_that_orders_is_a_blocker(place, messages):
    unnumbered(place, ["a"], 3)
    (blocker,) = messages(place.url, roots=("t",), fields=FIELDS).inventory().blockers
    assert blocker.code == "no-order"
    assert "--field id=COLUMN" in blocker.fix
    # Called the order, an id of any type is one.
    named = messages(place.url, roots=("t",), fields=(*FIELDS, ("id", "id")))
    assert named.inventory().blockers == []
    found, _ = read(named)
    assert sorted(found["t", "a"]) == ["a 0", "a 1", "a 2"]
    ids = [i for (i,) in place.run("SELECT id FROM t ORDER BY id")]
    texts = dict(place.run("SELECT id, body FROM t"))
    ordered = [texts[i] if isinstance(texts[i], dict) else json.loads(texts[i])
               for i in ids]  # fmt: skip
    assert found["t", "a"] == [one["data"]["content"] for one in ordered]


def test_the_hidden_number_of_sqlite(tmp_path, messages):
    place = Place("sqlite", str(tmp_path / "old.db"))
    place.run("CREATE TABLE t (session_id TEXT, message TEXT)")
    rows = [("s", message(str(n))) for n in range(5)]
    place.run("INSERT INTO t VALUES (?, ?)", rows)
    assert messages(place.url, roots=("t",)).inventory().blockers[0].code == "no-order"

    source = messages(place.url, roots=("t",), fields=(("id", "rowid"),))
    (partition,) = source.partitions()
    assert not partition.aligned
    (batch,) = source.read(partition)
    assert [item.position for item in batch.items] == [1, 2, 3, 4, 5]


def test_a_number_that_is_one_of_each_session_only(place, messages):
    """It orders a session's rows, and does not tell a table's rows apart."""
    ddl = "session_id varchar(50), id int, message text, PRIMARY KEY (session_id, id)"
    if place.kind == "sqlite":
        ddl = f"CREATE TABLE t ({ddl})"
    place.history([], table="t", ddl=ddl)
    rows = [(s, n, message(f"{s}{n}")) for n in (2, 1, 3) for s in ("a", "b")]
    place.run("INSERT INTO t VALUES (?, ?, ?)", rows)

    found, _ = read(messages(place.url, roots=("t",)))
    assert found == {("t", s): [f"{s}{n}" for n in (1, 2, 3)] for s in ("a", "b")}


# Numbers.


def test_numbers_with_any_gaps(place, messages):
    big = "bigint" if place.kind != "sqlite" else None
    ddl = f"id {big} PRIMARY KEY, session_id text, message text" if big else None
    numbers = [-3, 0, 5, 2**40, 2**62, 2**63 - 1]
    place.history([(n, "s", message(str(n))) for n in numbers], ddl=ddl)
    source = messages(place.url)

    partitions = source.partitions()
    found, rejects = read(source)

    assert len(partitions) <= 64
    assert found == {("message_store", "s"): [str(n) for n in numbers[1:]]}
    assert [(r.reason, r.locator.rpartition("#")[2]) for r in rejects] == [
        ("bad-position", "-3")
    ]
    names = [
        item.position for p in partitions for page in source.keys(p) for item in page
    ]
    assert names == numbers[1:]


def test_ranges_stay_where_they_are(place, messages, monkeypatch):
    """New rows change no partition that was there, and belong to one."""
    monkeypatch.setattr(sql, "_PARTITION_ROWS", 16)
    place.history((n, "s", message(str(n))) for n in range(10, 100))
    source = messages(place.url)
    before = source.partitions()
    assert len({p.id for p in before}) == len(before) == 7
    read_before, _ = read(source)

    rows = [(n, "s", message(str(n))) for n in range(100, 200)]
    place.run("INSERT INTO message_store (id, session_id, message) VALUES (?, ?, ?)",
              rows)  # fmt: skip

    last = [i for batch in source.read(before[-1]) for i in batch.items]
    assert last[-1].position == 199
    after = source.partitions()
    assert [p.id for p in after[: len(before)]] == [p.id for p in before]
    assert after[: len(before) - 1] == before[:-1]
    found, _ = read(source)
    assert found["message_store", "s"] == [str(n) for n in range(10, 200)]
    assert read_before["message_store", "s"] == [str(n) for n in range(10, 100)]


def test_reading_goes_on_behind_any_row(place, messages):
    place.history((f"s{n % 4}", message(str(n))) for n in range(100))
    source = messages(place.url)
    (partition,) = source.partitions()
    whole = [i for batch in source.read(partition) for i in batch.items]
    for batch in source.read(partition, size=7):
        rest = source.read(partition, batch.cursor, size=9)
        items = [item for one in rest for item in one.items]
        assert items == whole[whole.index(batch.items[-1]) + 1 :]


def test_rows_that_come_and_go_while_it_reads(place, messages):
    place.history((n, "s", message(str(n))) for n in range(1, 101))
    source = messages(place.url)
    (partition,) = source.partitions()
    texts = []
    for number, batch in enumerate(source.read(partition, size=20)):
        texts += [item.content["data"]["content"] for item in batch.items]
        if number == 1:
            # Nothing of ours stands in the way of the application.
            place.run("DELETE FROM message_store WHERE id = 50")
            place.run("INSERT INTO message_store (id, session_id, message)"
                      " VALUES (?, ?, ?)", [(101, "s", message("101"))])  # fmt: skip
    assert texts == [str(n) for n in range(1, 102) if n != 50]


def test_rows_that_go_between_two_questions(postgres, messages, monkeypatch):
    """A server without snapshots may lose what it has just named."""
    from holdover.migrate.sources.sql_rows import RowReader

    rows = [(n, "s", message(str(n))) for n in range(1, 101)]
    postgres.history(rows)
    real = RowReader._ask

    def forgetful(reader, reading, what, rest, parameters):
        found = real(reader, reading, what, rest, parameters)
        return [row for row in found if row[0] % 10] if what == "everything" else found

    monkeypatch.setattr(RowReader, "_ask", forgetful)
    found, _ = read(messages(postgres.url), size=10)
    assert found["message_store", "s"] == [str(n) for n in range(1, 101) if n % 10]


# Nothing changes, and little is needed.


def test_nothing_changes(place, messages):
    place.history((f"s{n % 4}", message(str(n))) for n in range(100))

    def state():
        if place.kind == "sqlite":
            return files_of(place.url.rpartition("/")[0])
        if place.kind == "postgres":
            rows = place.run("SELECT xmin::text, ctid::text, * FROM message_store")
            return rows, rows_of(place.url)
        return place.run("CHECKSUM TABLE message_store"), place.run("SHOW TABLES")

    before = state()
    source = messages(place.url)
    source.inventory(others=True)
    read(source, size=10)
    for partition in source.partitions():
        names = [item for page in source.keys(partition) for item in page]
        source.fetch(partition, names)
    source.close()
    assert state() == before


def test_a_login_that_may_only_select(postgres, messages):
    import psycopg

    postgres.history([("s", message("x"))])
    postgres.history([("s", message("secret"))], table="other")
    with psycopg.connect(postgres.url, autocommit=True) as db:
        db.execute("DROP ROLE IF EXISTS only_reader")
        db.execute("CREATE ROLE only_reader LOGIN")
        db.execute("GRANT SELECT ON message_store TO only_reader")
        db.execute("ALTER ROLE only_reader SET default_transaction_read_only = on")
    url = postgres.url.replace("postgres@", "only_reader@")
    try:
        source = messages(url, skip=frozenset({"other"}))
        assert source.inventory().blockers == []
        found, _ = read(source)
        assert found == {("message_store", "s"): ["x"]}
        (blocker,) = messages(url).inventory().blockers
        assert blocker.code == "unknown-root"
        (blocker,) = (
            messages(url, roots=("other", "message_store")).inventory().blockers
        )
        assert blocker.code == "no-right"
        assert blocker.fix == "--skip other or GRANT SELECT on it"
        source.close()
    finally:
        with psycopg.connect(postgres.url, autocommit=True) as db:
            db.execute("DROP OWNED BY only_reader")
            db.execute("DROP ROLE only_reader")


def test_a_login_of_mariadb_that_may_only_select(mariadb_url, messages):
    place = Place("mariadb", mariadb_url)
    place.history([("s", message("x"))])
    place.history([("s", message("secret"))], table="other")
    name = mariadb_url.rpartition("/")[2]
    with mysql(mariadb_url) as cursor:
        cursor.execute("CREATE OR REPLACE USER reader IDENTIFIED BY 'geheim'")
        cursor.execute(f"GRANT SELECT ON {name}.message_store TO reader")
    url = mariadb_url.replace("root@", "reader:geheim@")
    source = messages(url)
    # What it may not see, it cannot be asked about.
    assert source.inventory().blockers == []
    assert read(source)[0] == {("message_store", "s"): ["x"]}
    assert "geheim" not in source.address
    with mysql(mariadb_url) as cursor:
        cursor.execute("DROP USER reader")


def test_rows_that_a_policy_hides_are_not_left_behind(postgres, messages):
    import psycopg

    postgres.history([("s", message("x")), ("t", message("y"))])
    with psycopg.connect(postgres.url, autocommit=True) as db:
        db.execute("DROP ROLE IF EXISTS narrow_reader")
        db.execute("CREATE ROLE narrow_reader LOGIN")
        db.execute("GRANT SELECT ON message_store TO narrow_reader")
        db.execute("ALTER TABLE message_store ENABLE ROW LEVEL SECURITY")
        db.execute("CREATE POLICY p ON message_store USING (session_id = 's')")
    url = postgres.url.replace("postgres@", "narrow_reader@")
    try:
        (blocker,) = messages(url).inventory().blockers
        assert blocker.code == "row-security"
        assert messages(postgres.url).inventory().blockers == []
    finally:
        with psycopg.connect(postgres.url, autocommit=True) as db:
            db.execute("DROP OWNED BY narrow_reader CASCADE")
            db.execute("DROP ROLE narrow_reader")


def test_a_limit_on_the_time_of_statements(postgres, messages):
    """Counting may take too long; reading is in small pieces, and does not."""
    postgres.history((f"s{n % 50}", message("x" * 2_000)) for n in range(3_000))
    postgres.run(
        "CREATE FUNCTION slow(body text) RETURNS text LANGUAGE sql AS 'SELECT"
        " pg_sleep(0.001)::text'"
    )
    url = f"{postgres.url}?options=-cstatement_timeout%3D250"
    source = messages(url)
    reader = source.parts[0]
    database = reader._database
    whole = database.size
    database.size = lambda column: f"length(slow({column.name})) + {whole(column)}"
    inventory = source.inventory()
    (group,), (note,) = inventory.groups, inventory.notes
    database.size = whole
    reader._readers.clear()
    found, _ = read(source)
    assert sum(map(len, found.values())) == 3_000
    assert group.items == 3_000
    assert "too many to count" in note


def test_a_table_too_long_to_be_counted(place, messages, monkeypatch):
    place.history((f"s{n % 10}", message(str(n))) for n in range(1_000))
    monkeypatch.setattr(sql, "_COUNTED", -1)
    monkeypatch.setattr(sql, "_LOOKED_AT", 100)
    inventory = messages(place.url).inventory()
    (group,) = inventory.groups
    (note,) = inventory.notes
    assert group.sessions == 10
    assert 900 <= group.items <= 1_100
    assert "message_store" in note


# Errors.

WRONG = [
    ("postgresql://u:geheim@127.0.0.1:1/db", "refused", 4),
    ("mysql://u:geheim@127.0.0.1:1/db", "refused", 4),
    ("mysql://u:geheim@127.0.0.1:1/", "names no database", 2),
    ("mysql://u:geheim@127.0.0.1:notaport/db", "not an address", 2),
    ("mysql://u:ge/heim@127.0.0.1/db", "cannot be told from the host", 2),
    ("postgresql://u:geheim@127.0.0.1:1/db?nonsense=1", "libpq", 2),
    ("mysql://u:geheim@127.0.0.1:1/db?nonsense=1", "does not know", 2),
]


@pytest.mark.parametrize(("address", "said", "code"), WRONG)
def test_a_wrong_address(address, said, code):
    with pytest.raises(SourceError) as caught:
        open_source(address, ReadOptions(kinds=frozenset({"messages"}))).inventory()
    assert said in str(caught.value)
    assert caught.value.exit_code == code
    assert "heim" not in str(caught.value)


@pytest.mark.parametrize(
    ("address", "package", "extra"),
    [
        ("postgresql://u@127.0.0.1:1/db", "psycopg", "postgres,sql"),
        ("postgresql://u@127.0.0.1:1/db", "sqlalchemy", "sql"),
        ("mysql://u@127.0.0.1:1/db", "pymysql", "mysql"),
    ],
)
def test_a_package_that_is_missing(address, package, extra, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(UsageError) as caught:
        open_source(address, ReadOptions(kinds=frozenset({"messages"}))).inventory()
    assert caught.value.hint == f"Run: pip install 'holdover[{extra}]'"


def test_a_file_needs_no_sqlalchemy(tmp_path, messages, monkeypatch):
    monkeypatch.setitem(sys.modules, "sqlalchemy", None)
    place = Place("sqlite", str(tmp_path / "old.db"))
    place.history([("s", message("x"))])
    assert read(messages(place.url))[0] == {("message_store", "s"): ["x"]}


@pytest.mark.parametrize("kind", ["postgres", "mariadb"])
def test_a_wrong_login(kind, request):
    url = request.getfixturevalue(f"{kind}_url")
    wrong = url.replace("://postgres@", "://x:geheim@").replace("root@", "x:geheim@")
    with pytest.raises(SourceUnavailable) as caught:
        open_source(wrong, ReadOptions(kinds=frozenset({"messages"}))).inventory()
    assert "geheim" not in str(caught.value)
    assert ":***@" in str(caught.value)


def test_variables_of_libpq(postgres, messages, monkeypatch):
    postgres.history([("s", message("x"))])
    place, name = postgres.url.rpartition("/")[::2]
    monkeypatch.setenv("PGHOST", "127.0.0.1")
    monkeypatch.setenv("PGPORT", place.rpartition(":")[2])
    monkeypatch.setenv("PGUSER", "postgres")
    found, _ = read(messages(f"postgresql:///{name}"))
    assert found == {("message_store", "s"): ["x"]}
    monkeypatch.setenv("PGDATABASE", name)
    found, _ = read(messages("postgresql://"))
    assert found == {("message_store", "s"): ["x"]}


@pytest.mark.parametrize("driver", ["psycopg", "psycopg2", "asyncpg"])
def test_a_driver_in_the_address_does_not_matter(driver, postgres, messages):
    postgres.history([("s", message("x"))])
    address = postgres.url.replace("postgresql:", f"postgresql+{driver}:")
    assert read(messages(address))[0] == {("message_store", "s"): ["x"]}


def test_a_table_that_is_gone(place, messages):
    place.history((n, "s", message(str(n))) for n in range(1, 31))
    source = messages(place.url)
    (partition,) = source.partitions()
    batches = source.read(partition, size=10)
    next(batches)
    place.run("DROP TABLE message_store")
    with pytest.raises(SourceUnavailable) as caught:
        list(batches)
    assert str(caught.value).count(".") <= 12
    assert "SELECT" not in str(caught.value)


def test_a_damaged_file_is_found_before_anything_is_written(tmp_path, messages):
    from holdover.migrate.errors import SourceDamaged

    place = Place("sqlite", str(tmp_path / "old.db"))
    place.history((f"s{n}", message("x" * 500)) for n in range(500))
    with Path(place.url).open("r+b") as file:
        file.seek(20 * 4096)
        file.write(b"\xff" * 4096)
    with pytest.raises(SourceDamaged):
        messages(place.url).inventory()


def test_a_file_with_a_write_ahead_log(tmp_path, messages):
    place = Place("sqlite", str(tmp_path / "old.db"))
    place.run("PRAGMA journal_mode = WAL")
    place.history([("s", message("first"))])
    with closing(sqlite3.connect(place.url)) as db:
        db.execute(
            "INSERT INTO message_store (session_id, message) VALUES ('s', ?)",
            (message("in the log"),),
        )
        db.commit()
        found, _ = read(messages(place.url))
        assert found == {("message_store", "s"): ["first", "in the log"]}


@pytest.mark.parametrize(
    "case",
    [
        test_sessions_are_what_the_application_called_them,
        test_junk_costs_itself_alone,
        test_only_chosen_sessions,
        test_places_in_sessions_stand_for_numbers,
        test_numbers_with_any_gaps,
        test_nothing_changes,
    ],
)
def test_on_mariadb(case, mariadb_url, messages):
    case(Place("mariadb", mariadb_url), messages)
