"""Retire: the commands are run for real, and what is left is looked at."""

from __future__ import annotations

import io
import json
import shutil
import socket
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest
from moving import files_of, plain_store, rows_of, write_old_file

from holdover.compat.repository import Repository
from holdover.compat.scope import Scope
from holdover.migrate.care import forget
from holdover.migrate.errors import RunNotFound
from holdover.migrate.options import Options
from holdover.migrate.retire import retire
from holdover.migrate.run import migrate
from holdover.migrate.sources.base import ReadOptions

OLD = {"Ana": "old Ana", "Bob": "old Bob"}
HOSTILE = [
    "plain",
    "a'; DROP TABLE accounts; --",
    'double " quote',
    "back\\slash\\",
    "line\nbreak\r\n.quit\n\\q",
    "$(touch here) `touch here`",
    "%s {} ${HOME} ;&|",
    "会话-🎉",
    "*",
    "tab\tand\x01\x7f",
    "-rf",
    "'",
]


def commands(source, target, **options):
    out = io.BytesIO()
    report = retire(source, target, out, Options(**options))
    return out.getvalue(), report


def run_sqlite(path, script):
    """By the tool where there is one, else as it reads a script."""
    tool = shutil.which("sqlite3")
    if tool:
        done = subprocess.run(
            [tool, "-bail", str(path)], input=script, capture_output=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, b""), done.stderr
    else:
        with closing(sqlite3.connect(path)) as db:
            db.executescript(script.decode())


def tables(path):
    with closing(sqlite3.connect(path)) as db:
        return {
            name: db.execute(f'SELECT count(*) FROM "{quoted}"').fetchone()[0]
            for (name,) in db.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table'"
            ).fetchall()
            for quoted in [name.replace('"', '""')]
        }


def run_redis(url, script):
    """Line by line, as the server itself reads what is typed into a connection."""
    parts = urlsplit(url)
    answers = []
    with (
        socket.create_connection((parts.hostname, parts.port)) as connection,
        connection.makefile("rb") as replies,
    ):
        for line in script.splitlines():
            assert line.isascii()
            connection.sendall(line + b"\r\n")
            answers.append(replies.readline())
    return answers


def message(text):
    return json.dumps({"type": "human", "data": {"content": text}})


# SQLite.


def test_tables_of_entities(target, old_file):
    sessions = dict.fromkeys(HOSTILE, OLD)
    source = write_old_file(old_file, sessions)
    write_old_file(old_file, {"junk": OLD})
    with closing(sqlite3.connect(source)) as db, db:
        db.execute('INSERT INTO "memory_store_junk" VALUES (NULL, ?)', ("no name",))
        db.execute("CREATE TABLE accounts (id)")
    migrate(source, target)
    before = files_of(old_file.parent), rows_of(target)
    script, report = commands(source, target)
    assert (files_of(old_file.parent), rows_of(target)) == before
    assert report.languages == ["sql"]
    # No script of the sqlite3 tool can name a table with a carriage return in it.
    odd = [name for name in HOSTILE if "\r" in name]
    assert report.commands == len(HOSTILE) - len(odd)
    assert (report.kept, report.exit_code) == (1 + len(odd), 1)
    run_sqlite(source, script)
    left = {f"memory_store_{name}": 2 for name in odd}
    assert tables(source) == {"memory_store_junk": 3, "accounts": 0} | left
    listed = map(json.loads, Path(report.kept_file).read_text().splitlines())
    assert {kept["locator"].rpartition("#")[0] for kept in listed} == {
        "sqlite:entities.db#memory_store_junk",
        "sqlite:entities.db",
    }


def test_what_the_application_changed_may_go(target, old_file):
    source = write_old_file(old_file, {"s": {**OLD, "Cy": "x", "Dee": "y"}})
    migrate(source, target)
    with plain_store(target) as store:
        repository = Repository(store, Scope("memory_store", "s"))
        repository.put("entity", {"name": "Ana", "summary": "newer"})
        repository.delete("entity", "Bob")
    forget(target, "s", entity="Cy")
    script, report = commands(source, target)
    assert report.classes == {"changed": 3, "equal": 1}
    assert report.exit_code == 0
    assert b"memory_store_s" in script


def test_nothing_is_written_where_something_is_missing(target, old_file):
    source = write_old_file(old_file, {"s": OLD, "t": OLD})
    migrate(source, target)
    write_old_file(old_file, {"t": {"Late": "written since"}})
    script, report = commands(source, target)
    assert (script, report.refused, report.exit_code) == (b"", True, 1)
    assert report.classes == {"equal": 4, "missing": 1}


def test_without_a_run_there_is_nothing_to_retire(target, old_file):
    source = write_old_file(old_file, {"s": OLD})
    with pytest.raises(RunNotFound):
        commands(source, target)
    migrate(source, target)
    with pytest.raises(RunNotFound):
        commands(source, target, ttl="drop")


def test_what_was_not_asked_for_stays(sqlite_target, old_file):
    source = write_old_file(old_file, {"s": OLD, "t": OLD})
    only = ReadOptions(sessions=frozenset({"s"}), only_named=True)
    migrate(source, sqlite_target, Options(read=only))
    script, _ = commands(source, sqlite_target, read=only)
    run_sqlite(source, script)
    assert tables(source) == {"memory_store_t": 2}


def history_file(path, sessions, junk=()):
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(
            "CREATE TABLE message_store (\n\tid INTEGER NOT NULL, \n\tsession_id TEXT, "
            "\n\tmessage TEXT, \n\tPRIMARY KEY (id)\n)"
        )
        rows = [
            (session, message(f"{session} {n}"))
            for session in sessions
            for n in range(3)
        ]
        rows[4:4] = [("s", text) for text in junk]
        db.executemany(
            "INSERT INTO message_store (session_id, message) VALUES (?, ?)", rows
        )
    return str(path)


def test_rows_of_messages_but_for_junk(sqlite_target, tmp_path):
    source = history_file(tmp_path / "chat.db", ["s", "t", *HOSTILE], junk=["{", "[]"])
    migrate(source, sqlite_target)
    script, report = commands(source, sqlite_target)
    with closing(sqlite3.connect(source)) as db, db:
        # A straggler: it was never moved, so it must survive the commands.
        db.execute(
            "INSERT INTO message_store (session_id, message) VALUES ('s', ?)",
            (message("late"),),
        )
    run_sqlite(source, script)
    with closing(sqlite3.connect(source)) as db:
        left = [row[0] for row in db.execute("SELECT message FROM message_store")]
    assert left == ["{", "[]", message("late")]
    assert report.kept == 2
    assert report.commands == 2


# PostgreSQL.


@pytest.mark.parametrize(
    "table", ["message_store", 'odd "name"; DROP TABLE accounts; --']
)
def test_postgres_rows(sqlite_target, postgres_url, table):
    name = table.replace('"', '""')
    with psycopg.connect(postgres_url) as db:
        db.execute("CREATE TABLE accounts (id int)")
        db.execute(
            f'CREATE TABLE "{name}" (id SERIAL PRIMARY KEY, session_id TEXT, '
            "message TEXT)"
        )
        for session in [*HOSTILE[:3], "other"]:
            for n in range(3):
                db.execute(
                    f'INSERT INTO "{name}" (session_id, message) VALUES (%s, %s)',
                    (session, message(f"{n}")),
                )
        db.execute(
            f'INSERT INTO "{name}" (session_id, message) VALUES (%s, %s)', ("s", "{")
        )
        # A gap: numbers that are taken, and whose rows are not there yet.
        db.execute(f'DELETE FROM "{name}" WHERE id = 5')
    read = ReadOptions(roots=(table,))
    migrate(postgres_url, sqlite_target, Options(read=read))
    script, report = commands(postgres_url, sqlite_target, read=read)
    assert report.languages == ["sql"]
    with psycopg.connect(postgres_url) as db:
        db.execute(
            f'INSERT INTO "{name}" VALUES (5, %s, %s)', ("late", message("late"))
        )
    with psycopg.connect(postgres_url, autocommit=True) as db:
        db.execute(script)
        left = db.execute(f'SELECT session_id FROM "{name}" ORDER BY id').fetchall()
        assert left == [("late",), ("s",)]
        assert db.execute("SELECT count(*) FROM accounts").fetchone() == (0,)


# Redis.


def test_redis_keys_and_lists(target, redis, redis_url):
    for name in HOSTILE:
        redis.set(f"memory_store:s:{name}", "x")
        redis.lpush(f"message_store:{name}", message("1"), message("2"))
    redis.set("memory_store:NUL \x00:\x1b[2J\xff", "x")
    others = {
        b"memory_store:s:empty": ("set", b""),
        b"memory_store:s:bytes": ("set", b"\xff"),
        b"memory_store:\xff:bytes": ("set", b"x"),
        b"message_store:junk": ("lpush", b"{"),
        b"memory_store:two:colons:here": ("set", b"x"),
        b"another:key": ("set", b"x"),
    }
    for key, (how, value) in others.items():
        getattr(redis, how)(key, value)
    redis.lpush("message_store:junk", message("good"))
    read = ReadOptions(ambiguous="reject")
    migrate(redis_url, target, Options(read=read))
    everything = set(redis.keys("*")) if target.startswith(redis_url[:-1]) else None
    script, report = commands(redis_url, target, read=read)
    assert report.languages == ["redis"]
    answers = run_redis(redis_url, script)
    assert set(answers) == {b":1\r\n"}
    assert len(answers) == report.commands == 2 * len(HOSTILE) + 1
    kept = {key for key in redis.keys("*") if not key.startswith(b"holdover:")}
    assert kept == others.keys()
    assert everything is None or everything - set(redis.keys("*"))
    assert report.exit_code == 1


# Files.


def test_files(sqlite_target, tmp_path):
    folder = tmp_path / "old"
    names = [name.replace("/", "_") + ".json" for name in HOSTILE]
    (folder / "deeper").mkdir(parents=True)
    for name in names:
        (folder / name).write_text(f"[{message('1')}]")
    (folder / "junk.json").write_text(f"[{message('1')}, 7]")
    (folder / "notes.txt").write_text("not a history")
    migrate(str(folder), sqlite_target)
    script, report = commands(str(folder), sqlite_target)
    assert report.languages == ["sh"]
    (tmp_path / "retire.sh").write_bytes(script)
    done = subprocess.run(
        ["sh", str(tmp_path / "retire.sh")],
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert sorted(files_of(folder)) == ["junk.json", "notes.txt"]
    assert not (tmp_path / "here").exists()


# The command.


def test_the_command(sqlite_target, old_file, command, folder):
    source = write_old_file(old_file, {"s": OLD})
    command("migrate", source, sqlite_target)
    done = command("retire", source, sqlite_target)
    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines() == [
        "BEGIN;",
        'DROP TABLE "memory_store_s";',
        "COMMIT;",
    ]
    written = command("retire", source, sqlite_target, "--output", "out.sql", "--json")
    found = json.loads(written.stdout)
    assert (found["command"], found["commands"]) == ("retire", 1)
    assert (folder / "out.sql").read_text() == done.stdout
    assert (folder / "out.sql").stat().st_mode & 0o077 == 0
    write_old_file(old_file, {"s": {"Late": "x"}})
    refused = command("retire", source, sqlite_target)
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "no command was written" in refused.stderr
