"""What the command prints, where, and with which exit code."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
from contextlib import suppress
from html.parser import HTMLParser
from pathlib import Path

import pytest
from moving import (
    DDL,
    environment,
    files_of,
    ledger_text,
    many,
    read_plainly,
    read_summaries,
    rows_of,
    run_cli,
    table,
    write_old_file,
)

from holdover.migrate import cli
from holdover.migrate.cli import app

COMMANDS = [
    "scan",
    "migrate",
    "sync",
    "verify",
    "status",
    "rollback",
    "retire",
    "probe",
    "sweep",
]
COMMANDS += ["forget", "codemod", "exec"]
CANARY = "CANARY-SUMMARY-8c1f"


@pytest.fixture
def source(old_file):
    return write_old_file(old_file, {"ana@x.org": {"Ana": CANARY, "Bob": "b"}, "t": {}})


@pytest.mark.parametrize("arguments", [["--help"], *([c, "--help"] for c in COMMANDS)])
def test_help_pastes_into_a_ticket(command, arguments):
    shown = command(*arguments)
    assert shown.exit_code == 0
    assert shown.stdout.isascii()
    assert "\x1b" not in shown.stdout
    assert max(map(len, shown.stdout.splitlines())) <= 80
    if len(arguments) > 1:
        after = shown.stdout.partition("Examples:")[2].strip().splitlines()
        assert len(after) == 2
        assert all(
            line.strip().startswith(f"holdover {arguments[0]} ") for line in after
        )
        assert "Answers:" in shown.stdout


def test_every_command_is_in_the_overview(command):
    shown = command("--help").stdout
    names = {one.name or one.callback.__name__ for one in app.registered_commands}
    assert names == set(COMMANDS)
    for name in names:
        assert re.search(rf"^  {name} +\w", shown, re.MULTILINE)


def test_version(command):
    from importlib.metadata import version

    assert command("--version").stdout == f"holdover {version('holdover')}\n"


def test_a_whole_migration_as_printed(command, source, target):
    shown = command("scan", source)
    assert shown.exit_code == 0
    assert "2 entities in 1 session under 'memory_store'" in shown.stdout
    shown = command("migrate", source, target, "--dry-run")
    assert (shown.exit_code, rows_of(target)) == (0, {})
    assert "2 to copy" in shown.stdout
    shown = command("migrate", source, target)
    assert shown.exit_code == 0
    lines = dict(line.split(maxsplit=1) for line in shown.stdout.splitlines())
    assert lines["plan"].startswith("1 session, 2 entities")
    assert lines["copied"].split() == ["2", "rejected", "0"]
    assert lines["verified"] == "2 of 2 equal"
    assert lines["undo"].startswith(f"holdover rollback {target} ")
    assert shown.stderr == ""
    again = command("migrate", source, target)
    assert "2 already there" in again.stdout
    planned = command("migrate", source, target, "--dry-run")
    assert "back up the target first" in planned.stdout
    assert command("verify", source, target).stdout == "verified  2 of 2 equal\n"
    status = command("status", target)
    assert "done of" not in status.stdout
    assert "2 of 2   rejected 0" in status.stdout
    run = lines["undo"].split()[-1]
    assert run in status.stdout
    undone = command("rollback", target, run)
    assert undone.stdout == (
        "undone    2 removed, 0 restored, 0 changed since and left\n"
    )
    assert command("status", target).stdout == f"runs      none recorded in {target}\n"


@pytest.mark.parametrize("words", [["--dry-run"], ["--yes"], []])
def test_what_was_never_stored_is_told_once(old_file, sqlite_target, folder, words):
    """On a terminal, too, where the whole plan is shown and the copy asked for."""
    source = write_old_file(old_file, many(5))
    main, terminal = os.openpty()
    done = subprocess.Popen(
        [sys.executable, "-m", "holdover.migrate.cli", "migrate", source,
         sqlite_target, *words],
        cwd=folder, stdin=terminal, stdout=terminal, stderr=terminal,
        env=environment({"NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "500"}),
    )  # fmt: skip
    os.close(terminal)
    os.write(main, b"y\n")
    shown = b""
    with suppress(OSError):
        while part := os.read(main, 65536):
            shown += part
    os.close(main)
    assert done.wait(60) == 0
    assert shown.count(b"were never stored in them") == 1
    assert (b"5 of 5 equal" in shown) == (words != ["--dry-run"])


def test_json_of_every_command(command, source, target, old_file):
    write_old_file(old_file, {"s": {"A": "1"}})
    first = command("migrate", source, target, "--json")
    run = json.loads(first.stdout)["copy"]["run"]
    asked = {
        "scan": ["scan", source],
        "verify": ["verify", source, target],
        "status": ["status", target],
        "sweep": ["sweep", target],
        "probe": ["probe", target],
        "forget": ["forget", target, "--session", "s", "--yes"],
        "rollback": ["rollback", target, run],
    }
    documents = {"migrate": first}
    documents |= {name: command(*words, "--json") for name, words in asked.items()}
    for name, shown in documents.items():
        document = json.loads(shown.stdout)
        assert document["schema"] == 1
        assert document["command"] == name
        assert document["exit_code"] == shown.exit_code == 0, shown.stdout
        assert shown.stderr == ""
    migrated = json.loads(first.stdout)
    assert migrated["copy"]["decisions"] == {"copied": 3}
    assert migrated["verify"]["equal"] == 3
    assert migrated["plan"]["inventory"]["groups"][0]["root"] == "memory_store"
    assert json.loads(documents["status"].stdout)["runs"][0]["state"] == "done"
    assert json.loads(documents["forget"].stdout)["items"] == 1
    assert json.loads(documents["rollback"].stdout)["removed"] == 2


def test_exit_codes(command, source, target, old_file):
    with_conflict = ("memory_store", "ana@x~2eorg", "entities")
    from moving import plain_store

    assert command("verify", source, target).exit_code == 1  # all missing
    with plain_store(target) as store:
        store.setup()
        store.put(with_conflict, "Ana", {"content": "another"}, index=False)
    blocked = command("migrate", source, target)
    assert blocked.exit_code == 3
    assert "fix: --on-conflict skip|version|overwrite" in blocked.stdout
    assert (
        json.loads(command("migrate", source, target, "--json").stdout)["copy"] is None
    )
    skipped = command("migrate", source, target, "--on-conflict", "skip")
    assert skipped.exit_code == 1
    assert command("migrate", source, target, "--on-conflict", "huh").exit_code == 2
    assert command("migrate", source).exit_code == 2
    assert command("unknown").exit_code == 2


@pytest.mark.parametrize(
    "words",
    [
        ["--sample", "0"],
        ["--sample", "200%"],
        ["--sample", "nan"],
        ["--sample", "few"],
        ["--batch", "0"],
        ["--rate", "0"],
        ["--max-rejects", "-1"],
        ["--ambiguous", "maybe"],
        ["--ttl", "forget"],
        ["--kind", "memories"],
        ["--kind", "nonsense"],
        ["--template", "{nobody}"],
        ["--session-map", "absent.csv"],
        ["--session-pattern", "("],
        ["--index", "openai:x"],
        ["--run", "ffff"],
    ],
)
def test_a_wrong_option_writes_nothing(command, source, target, words):
    shown = command("migrate", source, target, *words)
    assert shown.exit_code == 2
    assert "Traceback" not in shown.output
    assert words[0] in shown.stderr or words[1] in shown.stderr
    assert rows_of(target) == {}


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("postgres//u:s3cret@h/db", "Write postgresql://USER"),
        ("postgresql:/u:s3cret@h/db", "Write postgresql://USER"),
        ("u:s3cret@h:5432/db", "Write postgresql://USER"),
        ("redis:u:s3cret@h:6379", "Write redis://USER"),
        ("sqlite://u:s3cret@h/db", "Write sqlite:///"),
        ("/u:s3cret@h/db", "does not exist"),
        ("sqlite:///u:s3cret@h/db", "does not exist"),
        ("", "is empty"),
        ("env:EMPTY_ADDRESS", "is empty"),
    ],
)
def test_a_mistyped_address_keeps_its_password(
    command, source, target, folder, monkeypatch, address, told
):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("EMPTY_ADDRESS", "")
    for words in (
        ["migrate", source, address],
        ["migrate", address, target],
        ["scan", address],
        ["status", address],
        ["rollback", address],
        ["probe", address],
    ):
        shown = command(*words)
        assert shown.exit_code == 2, words
        assert told in shown.stderr
        assert "s3cret" not in shown.output
    assert rows_of(target) == {}


@pytest.mark.parametrize(
    "address", ["postgresql+psycopg2://u:s3cret@h/db", "sqlite+aiosqlite:///s.db"]
)
def test_an_address_with_a_driver_is_refused_with_the_right_form(
    command, source, address
):
    shown = command("migrate", source, address)
    assert shown.exit_code == 2
    assert "Leave it out" in shown.stderr
    assert "s3cret" not in shown.output


def test_rollback_of_nothing_says_what_is_missing(command, source, target, folder):
    shown = command("rollback", f"sqlite:///{folder / 'nothing.db'}")
    assert shown.exit_code == 2
    assert "holds no store" in shown.stderr
    assert not (folder / "nothing.db").exists()
    command("migrate", source, target, "--setup-only")
    shown = command("rollback", target)
    assert shown.exit_code == 2
    assert "records no run, so" in shown.stderr


def test_a_session_that_reads_like_a_login_stays_in_the_command(monkeypatch):
    words = ["holdover", "migrate", "old.db", "redis://:s3cret@h", "--session", "a:b@c"]
    monkeypatch.setattr("sys.argv", words)
    kept = cli._command_line("old.db", "redis://:s3cret@h")
    assert kept == "holdover migrate old.db 'redis://:***@h' --session a:b@c"


def test_setup_only_makes_the_tables(command, source, target):
    assert command("migrate", source, target, "--setup-only").exit_code == 0
    tables = rows_of(target)
    assert tables["store"] == []
    assert tables["store_migrations"]


def test_only_named_sessions(command, target, old_file):
    source = write_old_file(old_file, many(50))
    shown = command("migrate", source, target, "--only-named", "--session", "s1",
                    "--session", "s3")  # fmt: skip
    assert shown.exit_code == 0
    assert {session for _, session in read_summaries(target)} == {"s1", "s3"}


def test_rate_and_batch_copy_everything(command, target, old_file):
    source = write_old_file(old_file, many(60))
    shown = command(
        "migrate", source, target, "--rate", "200", "--batch", "7", "--json"
    )
    copy = json.loads(shown.stdout)["copy"]
    assert copy["written"] == 60
    assert copy["seconds"] >= 0.2


def test_ttl_drop(command, sqlite_target, redis, redis_url):
    redis.set("memory_store:s:E", "x", px=60_000)
    shown = command("migrate", redis_url, sqlite_target, "--ttl", "drop")
    assert shown.exit_code == 0
    (value,) = read_plainly(sqlite_target)["memory_store", "s", "entities"].values()
    assert "expires_at" not in value["meta"]


def test_scan_says_how_long_things_live(command, redis, redis_url):
    redis.set("memory_store:s:For ever", "x")
    redis.set("memory_store:s:Minutes", "x", px=600_000)
    redis.set("memory_store:s:A day", "x", px=86_000_000)
    shown = command("scan", redis_url)
    assert shown.exit_code == 0
    (line,) = [x for x in shown.stdout.splitlines() if x.startswith("lifetimes")]
    assert line.count("1") >= 3
    group = json.loads(command("scan", redis_url, "--json").stdout)["groups"][0]
    assert sum(group["lifetimes"].values()) == group["items"] == 3


def test_ambiguous_keys_are_shown_in_both_readings(command, redis, redis_url, target):
    redis.set("memory_store:a:b:c", "x")
    shown = command("scan", redis_url)
    assert "session 'a' entity 'b:c', or session 'a:b' entity 'c'" in shown.stdout
    assert command("migrate", redis_url, target).exit_code == 3
    assert rows_of(target) == {}
    for how, scope in (("first", "a"), ("last", "a:b")):
        shown = command("migrate", redis_url, target, "--ambiguous", how)
        assert shown.exit_code == 0
        assert ("memory_store", scope) in read_summaries(target)


# No content, no password, nothing that moves the cursor.

HOSTILE = [
    "<script>alert(1)</script>",
    "\x1b[31mred\x1b[0m",
    "new\nline\r",
    "&amp; \" ' {0} {title} %s",
    "\u202eRTL\u2028",
    "🎉",
]


def hostile_file(path):
    import sqlite3
    from contextlib import closing

    sessions = {f"{n} {name}": {name: CANARY} for n, name in enumerate(HOSTILE)}
    source = write_old_file(path, sessions)
    with closing(sqlite3.connect(source)) as db, db:
        for session in sessions:
            name = table("memory_store", session)
            db.execute(f'INSERT INTO "{name}" VALUES (NULL, ?)', (CANARY,))
            db.execute(f'INSERT INTO "{name}" VALUES (?, ?)', ("b", CANARY.encode()))
        db.execute(DDL.format("other_<b>root</b>"))
        db.execute('INSERT INTO "other_<b>root</b>" VALUES (?, ?)', ("k", CANARY))
    return source


class Page(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.tags, self.text = [], set(), []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        if tag not in ("meta", "br", "input"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def test_no_content_in_anything(command, target, old_file, folder):
    source = hostile_file(old_file)
    shown = [
        command("scan", source),
        command("migrate", source, target, "--dry-run"),
        command("migrate", source, target, "--skip", "other_<b>root</b>",
                "--report", "report.html", "--rejects", "rejects.jsonl"),
        command("migrate", source, target, "--skip", "other_<b>root</b>", "--json"),
        command("status", target),
        command("verify", source, target, "--skip", "other_<b>root</b>"),
    ]  # fmt: skip
    namespaces = [ns for ns in read_plainly(target) if ns[-1] == "entities"]
    assert len(namespaces) == len(HOSTILE)
    from moving import plain_store

    with plain_store(target) as store:
        for namespace in namespaces:
            for item in store.search(namespace):
                store.put(namespace, item.key, {"content": CANARY + " other"},
                          index=False)  # fmt: skip
    shown += [
        command("verify", source, target, "--skip", "other_<b>root</b>"),
        command("migrate", source, target, "--skip", "other_<b>root</b>", "--report",
                "conflicts.html"),
        command("rollback", target),
    ]  # fmt: skip
    assert [one.exit_code for one in shown] == [0, 3, 1, 1, 0, 1, 1, 3, 0]
    texts = [one.stdout + one.stderr for one in shown]
    texts += [path.read_text("utf-8") for path in folder.iterdir()]
    texts.append(ledger_text(target))
    assert len(list(folder.iterdir())) >= 3
    for text in texts:
        assert "CANARY" not in text
        assert CANARY.encode().hex() not in text
    for one in shown:
        assert "\x1b" not in one.stdout
        assert "\u202e" not in one.stdout
        assert "Traceback" not in one.output


def test_the_report_is_a_valid_page(command, sqlite_target, old_file, folder):
    source = hostile_file(old_file)
    command("migrate", source, sqlite_target, "--report", "report.html",
            "--root", "memory_store", "--root", "other")  # fmt: skip
    assert stat.S_IMODE((folder / "report.html").stat().st_mode) == 0o600
    text = (folder / "report.html").read_text("utf-8")
    page = Page()
    page.feed(text)
    page.close()
    assert page.open == []
    assert "img" not in page.tags
    assert "b" not in page.tags
    assert "Done, with something rejected or different." in page.text
    blocked = command("migrate", source, sqlite_target, "--report", "blocked.html",
                      "--dry-run")  # fmt: skip
    assert blocked.exit_code == 3
    text = (folder / "blocked.html").read_text("utf-8")
    page = Page()
    page.feed(text)
    assert "b" not in page.tags
    assert "&lt;b&gt;root&lt;/b&gt;" in text


def test_rejects_are_for_their_owner_only(command, sqlite_target, old_file, folder):
    source = hostile_file(old_file)
    shown = command("migrate", source, sqlite_target, "--skip", "other_<b>root</b>")
    (line,) = [x for x in shown.stdout.splitlines() if x.startswith("rejects   listed")]
    path = folder / line.split()[-1]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    rejects = [json.loads(text) for text in path.read_bytes().splitlines()]
    assert len(rejects) == 2 * len(HOSTILE)
    assert {one["reason"] for one in rejects} == {"null-key", "binary-value"}
    assert {frozenset(one) for one in rejects} == {
        frozenset(("reason", "locator", "detail"))
    }


def test_show_content_shows_what_differs(command, target, source):
    command("migrate", source, target)
    namespace = ("memory_store", "ana@x~2eorg", "entities")
    from moving import plain_store

    with plain_store(target) as store:
        store.put(namespace, "Ana", {"content": "theirs"}, index=False)
    hidden = command("verify", source, target)
    assert CANARY not in hidden.stdout
    shown = command("verify", source, target, "--show-content")
    assert shown.exit_code == 1
    assert CANARY in shown.stdout
    assert "theirs" in shown.stdout


def test_a_name_a_terminal_cannot_show(old_file, sqlite_target, folder):
    source = hostile_file(old_file)
    env = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = run_cli("scan", source, cwd=folder, env=env)
    assert done.returncode == 0
    assert done.stdout.isascii()


def test_results_and_progress_go_different_ways(old_file, sqlite_target, folder):
    source = write_old_file(old_file, many(50))
    done = run_cli("migrate", source, sqlite_target, cwd=folder, env={"NO_COLOR": "1"})
    assert done.returncode == 0
    assert done.stderr == ""
    assert "verified" in done.stdout
    assert "\x1b" not in done.stdout


def test_progress_on_a_terminal_is_on_stderr(old_file, sqlite_target, folder):
    source = write_old_file(old_file, many(50))
    main, terminal = os.openpty()
    command = [sys.executable, "-m", "holdover.migrate.cli", "migrate"]
    done = subprocess.Popen(
        [*command, source, sqlite_target],
        cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=terminal,
        text=True, env=environment({"NO_COLOR": "1", "TERM": "xterm"}),
    )  # fmt: skip
    os.close(terminal)
    out, _ = done.communicate(timeout=60)
    err = b""
    try:
        while part := os.read(main, 65536):
            err += part
    except OSError:
        pass
    os.close(main)
    assert done.returncode == 0
    assert "50 of 50 equal" in out
    assert b"copying" in err
    assert b"\x1b[3" not in err  # no colour


def test_a_reader_that_goes_away(old_file, folder):
    import subprocess
    import sys

    from moving import environment

    source = write_old_file(old_file, {f"t{n}": {"a": "b"} for n in range(3000)},
                            root="unknown")  # fmt: skip
    done = subprocess.run(
        f"{sys.executable} -m holdover.migrate.cli scan {source} | head -1",
        shell=True, check=False, cwd=folder, env=environment(), capture_output=True,
        text=True,
    )  # fmt: skip
    assert done.stdout.startswith("source ")
    assert "Traceback" not in done.stderr


def test_an_address_that_is_not_utf8(old_file, sqlite_target, folder):
    """A path is bytes; what is printed and recorded of it is text."""
    import os

    write_old_file(old_file, {"s": {"A": "1"}})
    odd = os.fsdecode(os.fsencode(old_file.parent) + b"/caf\xe9.db")
    Path(old_file).rename(odd)
    done = run_cli("migrate", odd, sqlite_target, cwd=folder)
    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode == 0
    again = run_cli("migrate", odd, sqlite_target, "--json", cwd=folder)
    assert json.loads(again.stdout)["copy"]["resumed"] is True
    assert run_cli("status", sqlite_target, cwd=folder).returncode == 0


def test_python_and_the_command_agree(command, target, old_file):
    import dataclasses

    from holdover.migrate.options import Options
    from holdover.migrate.run import migrate

    source = write_old_file(old_file, many(20))
    planned = migrate(source, target, Options(), dry_run=True)
    document = json.loads(
        command("migrate", source, target, "--dry-run", "--json").stdout
    )
    assert document["plan"].keys() == dataclasses.asdict(planned.plan).keys()
    assert document["plan"]["decisions"] == planned.plan.decisions
    assert document["plan"]["inventory"]["groups"] == [
        dataclasses.asdict(group) for group in planned.plan.inventory.groups
    ]
    done = json.loads(command("migrate", source, target, "--json").stdout)
    again = migrate(source, target)
    assert again.copy.run == done["copy"]["run"]
    assert dataclasses.asdict(again.verify)["equal"] == done["verify"]["equal"] == 20


@pytest.mark.parametrize(
    "words",
    [
        ["--thread-id", "x-{session}"],
        ["--jsonb"],
        ["--dims", "3"],
        ["--vectors", "keep"],
        ["--field", "sesion=user"],
        ["--into", "threads", "--workers", "2"],
        ["--into", "threads", "--scheduler", "tcp://127.0.0.1:1"],
        ["--into", "threads", "--index", "openai:x", "--dims", "3"],
        ["--workers", "2", "--scheduler", "tcp://127.0.0.1:1"],
        ["--layout", "classic", "--into", "threads"],
        ["--layout", "classic", "--workers", "2"],
        ["--layout", "classic", "--on-conflict", "skip"],
        ["--layout", "classic", "--roles", "alternate"],
        ["--layout", "classic", "--report", "r.html"],
        ["--layout", "classic", "--setup-only"],
        ["--setup-only", "--dry-run"],
        ["--setup-only", "--report", "r.html"],
        ["--setup-only", "--into", "threads"],
    ],
)
def test_a_choice_that_would_do_nothing_is_refused(
    command, source, sqlite_target, words, folder, monkeypatch
):
    monkeypatch.chdir(folder)
    shown = command("migrate", source, sqlite_target, *words)
    assert shown.exit_code == 2
    (said,) = shown.stderr.splitlines()
    assert words[0] in said
    assert shown.stdout == ""
    assert rows_of(sqlite_target) == {}
    assert list(folder.iterdir()) == []


#: Of every form, and as they are mistyped: what is refused or cannot be reached.
WITH_PASSWORDS = [
    "postgresql://u:s3cret@127.0.0.1:1/d",
    "postgresql://127.0.0.1:1/d?user=u&password=s3cret",
    "postgresql://u:s3cret",
    "postgresql://u:s3cret@[::1/d",
    "host=127.0.0.1 dbname=d password='a s3cret'",
    "mysql://u:s3cret@127.0.0.1:1/d",
    "mysql+nodriver://u:s3cret@127.0.0.1:1/d",
    "mariadb://u:x@s3cret@127.0.0.1:1/d",
    "mongodb://u:s3cret@127.0.0.1:port/d",
    "mongodb://u:s3cret@127.0.0.1:1/d?serverSelectionTimeoutMS=9",
    "mongodb//u:s3cret@h/d",
    "dynamodb://key:s3cret@TABLE",
    "dynamodb://TABLE?aws_secret_access_key=s3cret",
    "dynamodb://s3cret@[::1",
    "redis://s3cret@127.0.0.1:port/0",
    "redis://127.0.0.1:port/0?password=s3cret",
    "upstash+https://s3cret@[::1",
    "redis://:s3cret",
    "unix://u:s3cret@/no/such.sock",
    "redis+sentinel://u:s3cret@127.0.0.1:1/n/x?sentinel_password=s3cret",
    "https://h.invalid/?_token=s3cret",
    "env:mysql://u:s3cret@h/d",
    "env:HOLDS_ONE",
    "file://u:s3cret@h/x",
    "file://s3cret@[::1/x",
    "jdbc:mysql://u:s3cret@h/d",
    "URL=mysql://u:s3cret@h/d",
    "failing_factory:make",
]


@pytest.mark.parametrize("address", WITH_PASSWORDS)
def test_no_form_of_an_address_shows_its_password(
    command, source, folder, monkeypatch, address
):
    (folder / "failing_factory.py").write_text(
        "def make(*_):\n    raise RuntimeError('s3cret')\n"
    )
    before = files_of(folder)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setenv("HOLDS_ONE", "mysql://u:s3cret@127.0.0.1:1/d")
    monkeypatch.chdir(folder.parent)
    for words, codes in [
        (["scan", address], {2, 4}),
        (["scan", address, address], {2}),
        (["migrate", source, address], {2, 4}),
        ([address], {2}),
    ]:
        shown = command(*words)
        assert "s3cret" not in shown.output, words
        assert "Traceback" not in shown.output, words
        assert shown.exit_code in codes, (words, shown.output)
        assert shown.stdout == ""
    monkeypatch.chdir(folder)
    assert {k: v for k, v in files_of(folder).items() if "pyc" not in str(k)} == before
