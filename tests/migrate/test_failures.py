"""What goes wrong in the world: one clear sentence, the right code, nothing lost."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import time
from contextlib import contextmanager
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

import pytest
import servers
from moving import (
    environment,
    files_of,
    is_postgres,
    ledger_text,
    many,
    one_sentence,
    path_of,
    read_summaries,
    rows_of,
    run_cli,
    start_cli,
    write_old_file,
)
from sampling import without_cluster

from holdover.migrate.status import status

SECRET = "s3cr3t-Pa55w0rd"


@pytest.fixture
def source(old_file):
    return write_old_file(old_file, many(50))


def closed_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def expected(sessions):
    return {("memory_store", name): entities for name, entities in sessions.items()}


# Sources.


def test_wrong_paths(tmp_path, sqlite_target, command):
    text = tmp_path / "notes.txt"
    text.write_text("remember the milk, " * 100, "utf-8")
    before = files_of(tmp_path)
    for path, said in [
        (tmp_path / "absent.db", "absent.db"),
        (tmp_path / "no" / "such" / "folder.db", "folder.db"),
        (text, "notes.txt"),
        ("https://example.com/x", "https://example.com/x"),
        ("env:NOT_SET_ANYWHERE", "NOT_SET_ANYWHERE"),
        ("env:", "no name"),
        ("", ""),
    ]:
        done = command("migrate", path, sqlite_target)
        assert said in one_sentence(done)
        assert done.exit_code in (2, 3), (path, done)
        assert done.stdout == ""
    assert files_of(tmp_path) == before


def test_an_empty_variable(folder, sqlite_target, source):
    for words in (["env:EMPTY", sqlite_target], [source, "env:EMPTY"]):
        done = run_cli("migrate", *words, cwd=folder, env={"EMPTY": ""})
        assert done.returncode == 2
        assert "EMPTY is empty" in one_sentence(done)


def test_a_redis_that_is_down(folder, sqlite_target):
    url = f"redis://:{SECRET}@127.0.0.1:{closed_port()}/0"
    done = run_cli("migrate", url, sqlite_target, cwd=folder)
    assert done.returncode == 4
    said = one_sentence(done)
    assert "Redis" in said
    assert SECRET not in done.stdout + done.stderr
    assert rows_of(sqlite_target) == {}


@pytest.mark.parametrize("how", ["url", "env", "REDISCLI_AUTH"])
def test_a_wrong_redis_password(folder, sqlite_target, how):
    with servers.redis("--requirepass", "another") as url:
        with_secret = url.replace("redis://", f"redis://:{SECRET}@")
        address = {"url": with_secret, "env": "env:OLD", "REDISCLI_AUTH": url}[how]
        env = {"OLD": with_secret} if how == "env" else {"REDISCLI_AUTH": SECRET}
        done = run_cli("migrate", address, sqlite_target, cwd=folder,
                       env=env if how != "url" else None)  # fmt: skip
        assert done.returncode == 4
        assert "password" in one_sentence(done).lower() or "login" in done.stderr
        assert SECRET not in done.stdout + done.stderr
        right = run_cli("scan", url, cwd=folder, env={"REDISCLI_AUTH": "another"})
        assert right.returncode == 0


# Targets.


def test_targets_that_are_none(tmp_path, source, command):
    text = tmp_path / "notes.txt"
    text.write_text("remember the milk, " * 100, "utf-8")
    before = files_of(tmp_path)
    for target, said, codes in [
        ("memory://", "memory://", (2,)),
        (tmp_path, str(tmp_path), (2,)),
        (text, "notes.txt", (2, 4)),
        (tmp_path / "no folder" / "x.db", "no folder", (2,)),
        ("mongodb://127.0.0.1:1/0", "not an address of a target", (2,)),
        ("no_such_module:factory", "no_such_module", (2,)),
        ("json:JSONDecoder", "json:JSONDecoder", (2,)),
        ("os:sep", "os:sep", (2,)),
    ]:
        done = command("migrate", source, target)
        assert said in one_sentence(done), target
        assert done.exit_code in codes, (target, done)
    assert files_of(tmp_path) == before


def test_a_file_of_another_application(tmp_path, source, folder):
    import sqlite3
    from contextlib import closing

    path = tmp_path / "shop.db"
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("CREATE TABLE store (id INTEGER, street TEXT)")
    before = files_of(tmp_path)
    done = run_cli("migrate", source, path, cwd=folder)
    assert done.returncode in (2, 4)
    assert "store" in one_sentence(done)
    assert files_of(tmp_path) == before


def test_an_unreachable_postgres(source, folder):
    url = f"postgresql://me:{SECRET}@127.0.0.1:{closed_port()}/db"
    for words in (["migrate", source, url], ["status", url], ["rollback", url]):
        done = run_cli(*words, cwd=folder)
        assert done.returncode == 4
        assert "PostgreSQL" in one_sentence(done)
        assert SECRET not in done.stdout + done.stderr


@contextmanager
def role(postgres_url, *grants, password=None):
    """A role with what is granted and nothing else; gives its URL."""
    import psycopg

    name = f"role_{uuid4().hex[:12]}"
    parts = urlsplit(postgres_url)
    with psycopg.connect(postgres_url, autocommit=True) as db:
        db.execute(f'REVOKE ALL ON DATABASE "{parts.path[1:]}" FROM PUBLIC')
        db.execute("REVOKE ALL ON SCHEMA public FROM PUBLIC")
        secret = f" PASSWORD '{password}'" if password else ""
        db.execute(f"CREATE ROLE {name} LOGIN{secret}")
        db.execute(f'GRANT CONNECT ON DATABASE "{parts.path[1:]}" TO {name}')
        for grant in grants:
            db.execute(grant.format(role=name, db=parts.path[1:]))
    userinfo = f"{name}:{SECRET}"
    host = parts.netloc.rpartition("@")[2]
    try:
        yield urlunsplit(parts._replace(netloc=f"{userinfo}@{host}"))
    finally:
        with psycopg.connect(postgres_url, autocommit=True) as db:
            db.execute(f"DROP OWNED BY {name} CASCADE")
            db.execute(f"DROP ROLE {name}")


USAGE = "GRANT USAGE ON SCHEMA public TO {role}"
STORE = "GRANT SELECT, INSERT, UPDATE, DELETE ON store TO {role}"
STEPS = "GRANT SELECT ON store_migrations TO {role}"


@pytest.mark.parametrize(
    ("ready", "grants"),
    [
        (False, [USAGE]),
        (True, [USAGE]),
        (True, [USAGE, STEPS, "GRANT SELECT ON store TO {role}"]),
        (True, [USAGE, STEPS, STORE]),  # no TEMPORARY
    ],
)
def test_a_role_without_rights(postgres_url, source, folder, ready, grants):
    from holdover.migrate.run import set_up

    if ready:
        set_up(postgres_url)
    before = rows_of(postgres_url)
    with role(postgres_url, *grants) as url:
        done = run_cli("migrate", source, url, cwd=folder)
        assert done.returncode == 4
        assert "permission denied" in one_sentence(done)
        assert SECRET not in done.stdout + done.stderr
    assert rows_of(postgres_url) == before


def test_a_wrong_postgres_password(source, folder, tmp_path):
    with servers.postgres() as url:
        import psycopg

        with psycopg.connect(url, autocommit=True) as db:
            db.execute("CREATE ROLE careful LOGIN PASSWORD 'right'")
            (hba,) = db.execute("SHOW hba_file").fetchone()
            with open(hba, encoding="utf-8") as file:  # noqa: PTH123
                rest = file.read()
            with open(hba, "w", encoding="utf-8") as file:  # noqa: PTH123
                file.write("host all careful 127.0.0.1/32 scram-sha-256\n" + rest)
            db.execute("SELECT pg_reload_conf()")
        time.sleep(0.5)
        wrong = url.replace("postgres@", f"careful:{SECRET}@")
        for words, env in [
            (["migrate", source, wrong], None),
            (["migrate", source, "env:NEW"], {"NEW": wrong}),
            (["migrate", source, url.replace("postgres@", "careful@")],
             {"PGPASSWORD": SECRET}),
        ]:  # fmt: skip
            done = run_cli(*words, cwd=folder, env=env)
            assert done.returncode == 4
            assert "password authentication failed" in one_sentence(done)
            assert SECRET not in done.stdout + done.stderr


def test_a_database_that_goes_away_in_the_middle(postgres_url, source, folder):
    from holdover.migrate.run import migrate

    code = """
import os, sys
from holdover.migrate import cli, run
apply = run.Copier._apply
count = []
def dropping(self, batch, progress):
    count.append(1)
    if len(count) == 3:
        import psycopg
        with psycopg.connect(os.environ["ADMIN"], autocommit=True) as db:
            db.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                       "WHERE datname = current_database() "
                       "AND pid <> pg_backend_pid()")
    return apply(self, batch, progress)
run.Copier._apply = dropping
cli.main()
"""
    done = start_cli("migrate", source, postgres_url, "--batch", "5", cwd=folder,
                     code=code, env={"ADMIN": postgres_url})  # fmt: skip
    out, err = done.communicate(timeout=60)
    done = subprocess.CompletedProcess([], done.returncode, out, err)
    assert done.returncode == 4
    assert "PostgreSQL" in one_sentence(done)
    assert len(read_summaries(postgres_url)) > 0
    again = migrate(source, postgres_url)
    assert again.exit_code == 0
    assert again.copy.resumed
    assert read_summaries(postgres_url) == expected(many(50))


# The disk.


@contextmanager
def small_disk(folder, size):
    folder.mkdir()
    mounted = os.geteuid() == 0 and shutil.which("mount")
    if not mounted:
        pytest.skip("only root can mount a small disk")
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)],
        capture_output=True, check=False,
    )  # fmt: skip
    if made.returncode:
        pytest.skip("a disk cannot be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_disk_that_is_too_small_is_seen_by_the_plan(tmp_path, old_file, folder):
    source = write_old_file(old_file, {"s": {str(n): "x" * 1000 for n in range(2000)}})
    with small_disk(tmp_path / "disk", "1m") as disk:
        done = run_cli("migrate", source, disk / "memory.db", cwd=folder)
        assert done.returncode == 3
        assert "its disk has" in done.stdout
        assert list(disk.iterdir()) == []


def test_a_full_disk(tmp_path, old_file, folder):
    sessions = {"s": {str(n): "x" * 1000 for n in range(2000)}}
    source = write_old_file(old_file, sessions)
    with small_disk(tmp_path / "disk", "8m") as disk:
        target = disk / "memory.db"
        code = """
import os, sys
from holdover.migrate import cli, run
apply = run.Copier._apply
count = []
def filling(self, batch, progress):
    count.append(1)
    if len(count) == 5:
        left = os.statvfs(os.environ["DISK"])
        with open(os.environ["DISK"] + "/big", "wb") as file:
            file.write(b"x" * (left.f_bavail * left.f_frsize - 65536))
    return apply(self, batch, progress)
run.Copier._apply = filling
cli.main()
"""
        done = start_cli("migrate", source, target, "--batch", "50", cwd=folder,
                         code=code, env={"DISK": str(disk)})  # fmt: skip
        out, err = done.communicate(timeout=60)
        full = subprocess.CompletedProcess([], done.returncode, out, err)
        assert full.returncode == 4
        assert "full" in one_sentence(full)
        (disk / "big").unlink()
        again = run_cli("migrate", source, target, cwd=folder)
        assert again.returncode == 0
        assert read_summaries(f"sqlite:///{target}") == expected(sessions)


@without_cluster
def test_a_rejects_file_that_cannot_be_written(target, old_file, folder):
    import sqlite3
    from contextlib import closing

    source = write_old_file(old_file, {"s": {"A": "1"}})
    with closing(sqlite3.connect(source)) as db, db:
        db.execute('INSERT INTO "memory_store_s" VALUES (NULL, ?)', ("x",))
    done = run_cli("migrate", source, target, "--rejects", "no/folder/x", cwd=folder)
    assert done.returncode == 2
    assert "--rejects" in one_sentence(done)
    again = run_cli("migrate", source, target, cwd=folder)
    assert again.returncode == 1
    assert read_summaries(target) == {("memory_store", "s"): {"A": "1"}}


# Interrupted, and two at once.


@without_cluster
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_in_the_middle(target, old_file, folder, how):
    sessions = many(400)
    source = write_old_file(old_file, sessions)
    # Slow enough to be met in the middle, also on a busy machine.
    words = ["migrate", source, target, "--rate", "50", "--batch", "20"]
    going = start_cli(*words, cwd=folder)
    wait_for_items(target, going)
    going.send_signal(how)
    out, err = going.communicate(timeout=30)
    done = subprocess.CompletedProcess(words, going.returncode, out, err)
    assert done.returncode == 130
    assert "run the same command again" in one_sentence(done)
    (run,) = status(target)
    assert run.state == "copying"
    assert 0 < run.done < 400
    resumed = run_cli("migrate", source, target, cwd=folder)
    assert resumed.returncode == 0
    assert read_summaries(target) == expected(sessions)
    (run,) = status(target)
    assert (run.state, run.done) == ("done", 400)


def wait_for_items(target, process):
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        assert process.poll() is None, process.communicate()
        if rows_of(target).get("store") and read_summaries(target):
            return
        time.sleep(0.1)
    raise AssertionError("nothing was copied")


@without_cluster
def test_two_of_one_command(target, old_file, folder):
    sessions = many(400)
    source = write_old_file(old_file, sessions)
    # It would take longer than two other commands, also on a busy machine.
    words = ["migrate", source, target, "--rate", "5", "--batch", "20"]
    first = start_cli(*words, cwd=folder)
    wait_for_items(target, first)
    second = run_cli("migrate", source, target, cwd=folder)
    assert second.returncode == 2
    assert str(first.pid) in one_sentence(second)
    rolling = run_cli("rollback", target, cwd=folder)
    assert rolling.returncode == 2
    assert str(first.pid) in one_sentence(rolling)
    # Killed, so that it gives nothing back, its lease is taken over at once.
    first.kill()
    first.communicate(timeout=30)
    again = run_cli("migrate", source, target, cwd=folder)
    assert again.returncode == 0
    assert read_summaries(target) == expected(sessions)


@without_cluster
def test_two_of_one_command_at_the_same_moment(target, old_file, folder):
    """Neither has recorded a run when the other looks."""
    sessions = many(300)
    source = write_old_file(old_file, sessions)
    words = ["migrate", source, target, "--batch", "20", "--rate", "100"]
    code = """
import os, pathlib, time
import holdover.migrate.run
import holdover.migrate.targets.postgres
import holdover.migrate.targets.redis
import holdover.migrate.targets.sqlite
from holdover.migrate import cli
pathlib.Path(f"ready {os.getpid()}").touch()
while not pathlib.Path("go").exists():
    time.sleep(0.005)
cli.main()
"""
    both = [start_cli(*words, cwd=folder, code=code) for _ in range(2)]
    servers.wait_for(lambda: len(list(folder.glob("ready *"))) == 2, "both", 60)
    (folder / "go").touch()
    ends = []
    for process in both:
        out, err = process.communicate(timeout=60)
        ends.append(subprocess.CompletedProcess([], process.returncode, out, err))
    assert sorted(end.returncode for end in ends) == [0, 2], ends
    assert read_summaries(target) == expected(sessions)
    assert len(status(target)) == 1


@without_cluster
def test_two_sources_into_one_target(target, old_file, tmp_path, folder):
    """They overlap in part: what is the same is not written twice."""
    one, two = many(600), {**many(300), **many(300, root="t")}
    sources = [
        write_old_file(old_file, one),
        write_old_file(tmp_path / "other.db", two),
    ]
    both = [
        start_cli("migrate", source, target, "--batch", "25", "--on-conflict", "skip",
                  cwd=folder)
        for source in sources
    ]  # fmt: skip
    for process in both:
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, (out, err)
    found = read_summaries(target)
    assert found == expected({**one, **{k: v for k, v in two.items() if k[0] == "t"}})
    assert len(status(target)) == 2


# Passwords.


def test_no_password_is_kept_or_printed(
    postgres_url, redis_url, redis, folder, command
):
    redis.set("memory_store:s:A", "1")
    redis.set("memory_store:s:bad", b"\xff")
    redis.acl_setuser(
        "mover", enabled=True, passwords=[f"+{SECRET}"], keys=["*"], commands=["+@all"]
    )
    source = redis_url.replace("redis://", f"redis://mover:{SECRET}@")
    target = postgres_url.replace("postgres@", f"postgres:{SECRET}@")
    assert urlsplit(target).password == SECRET
    env = {"OLD": source, "NEW": target}
    for ends in ([source, target], ["env:OLD", "env:NEW"]):
        shown = [
            run_cli("migrate", *ends, "--report", "r.html", cwd=folder, env=env),
            command("scan", ends[0], env=env),
            command("migrate", *ends, "--dry-run", env=env),
            command("migrate", *ends, "--json", env=env),
            command("verify", *ends, env=env),
            command("status", ends[1], env=env),
            command("status", ends[1], "--json", env=env),
            command("status", ends[1], "ffff", env=env),
        ]
        run = json.loads(shown[6].stdout)["runs"][0]
        assert run["source"].startswith("redis://mover:***@")
        texts = [ledger_text(target)]
        shown.append(command("rollback", ends[1], env=env))
        codes = [done.exit_code for done in shown[1:]]
        assert (shown[0].returncode, codes) == (1, [0, 0, 1, 1, 0, 0, 2, 0])
        texts += [done.stdout + done.stderr for done in shown]
        texts += [path.read_text("utf-8") for path in folder.iterdir()]
        for text in texts:
            assert SECRET not in text
    redis.acl_deluser("mover")


@without_cluster
def test_the_resume_command_resumes(target, old_file, folder):
    import shlex

    sessions = many(400)
    source = write_old_file(old_file, sessions)
    going = start_cli("migrate", "env:OLD SOURCE", "env:NEW", "--rate", "50",
                      "--batch", "20", cwd=folder,
                      env={"OLD SOURCE": source, "NEW": target})  # fmt: skip
    wait_for_items(target, going)
    going.kill()
    going.communicate(timeout=30)
    (run,) = status(target)
    words = shlex.split(run.resume)
    assert words[:4] == ["holdover", "migrate", "env:OLD SOURCE", "env:NEW"]
    done = run_cli(*words[1:], cwd=folder, env={"OLD SOURCE": source, "NEW": target})
    assert done.returncode == 0
    assert read_summaries(target) == expected(sessions)


@pytest.mark.parametrize("words", [[], ["--workers", "2"]])
def test_an_unforeseen_error_says_where_it_was(tmp_path, sqlite_target, folder, words):
    """What nobody foresaw has to be reported, without what is in it.

    A driver quotes the row that it could not write, and a factory its password.
    """
    histories = tmp_path / "histories"
    histories.mkdir()
    for number in range(20):
        message = [{"type": "human", "data": {"content": "hi"}}]
        (histories / f"{number}.json").write_text(json.dumps(message))
    (folder / "sitecustomize.py").write_text(
        f"""
from holdover.migrate import copying
def broken(*_, **__):
    try:
        raise KeyError("{SECRET}")
    except KeyError as error:
        raise ZeroDivisionError("{SECRET}") from error
copying.Copier._apply = broken
"""
    )
    done = run_cli("migrate", histories, sqlite_target, *words, cwd=folder,
                   env={"PYTHONPATH": str(folder)})  # fmt: skip
    assert done.returncode == 4  # failed; 1 would say that there are differences
    assert "KeyError" in done.stderr
    assert "ZeroDivisionError" in done.stderr
    assert "sitecustomize.py" in done.stderr
    assert ("worker.py" in done.stderr) == bool(words)
    assert SECRET not in done.stdout + done.stderr
    assert "left out" in done.stderr.splitlines()[-1]
    assert read_summaries(sqlite_target) == {}


def test_help_answers_without_loading_much(folder):
    program = (
        "import sys\n"
        "sys.argv = ['holdover', '--help']\n"
        "from holdover.migrate import cli\n"
        "try:\n    cli.main()\nexcept SystemExit:\n    pass\n"
        "heavy = {'langchain_core', 'langgraph', 'psycopg', 'redis', 'pydantic'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)\n"
    )
    done = start_cli(cwd=folder, code=program)
    _, err = done.communicate(timeout=60)
    assert err == "[]\n"
    assert environment()["LC_ALL"]
    assert not is_postgres(path_of("x"))
