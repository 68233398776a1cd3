"""What tests of a migration share: old data, both ends read plainly, the command."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, contextmanager
from itertools import pairwise
from pathlib import Path

#: As `SQLiteEntityStore` of 0.3.27 and later leaves it in `sqlite_master`.
DDL = (
    'CREATE TABLE "{}" (\n'
    "                key TEXT PRIMARY KEY,\n"
    "                value TEXT\n"
    "            )"
)
ESCAPE = re.compile(r"(?:~[0-9a-f]{2})+")


def table(root, session):
    return f"{root}_{session}".replace('"', '""')


def write_old_file(path, sessions, root="memory_store"):
    """Make or extend a classic file: `{session: {name: summary}}`."""
    with closing(sqlite3.connect(path)) as db, db:
        for session, entities in sessions.items():
            name = table(root, session)
            known = db.execute(
                "SELECT 1 FROM sqlite_master WHERE name = ?", (name,)
            ).fetchone()
            if not known:
                db.execute(DDL.format(name))
            db.executemany(
                f'INSERT OR REPLACE INTO "{name}" VALUES (?, ?)', entities.items()
            )
    return str(path)


def many(count, sessions=5, root="s"):
    """`count` entities over some sessions, each with a summary of its own."""
    return {
        f"{root}{at}": {
            f"Entity {n}": f"summary {at} of {n} " + "x" * (n % 50)
            for n in range(count // sessions)
        }
        for at in range(sessions)
    }


def write_old_redis(url, sessions, root="memory_store", ttl_ms=None):
    import redis

    with redis.Redis.from_url(url) as client, client.pipeline() as pipe:
        for session, entities in sessions.items():
            for name, summary in entities.items():
                pipe.set(f"{root}:{session}:{name}", summary, px=ttl_ms)
        pipe.execute()
    return url


def files_of(folder):
    """Every file below a folder with the digest of its bytes."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(Path(folder).rglob("*"))
        if path.is_file()
    }


def database(url, number):
    """Another database of a Redis; the one in an URL beats `db=`."""
    return f"{url.rpartition('/')[0]}/{number}"


def redis_state(url):
    """Every old key of every database: its bytes, its value and when it ends."""
    import redis

    from holdover.compat.stores.redis_connecting import connect, parse_address

    found = {}
    for db in (0, 3):
        with redis.Redis.from_url(database(url, 0)) as probe:
            if db and probe.info("cluster")["cluster_enabled"]:
                continue
        with connect(parse_address(database(url, db))) as client:
            keys = client.scan_iter(count=1000)
            keys = [key for key in keys if not key.startswith(b"holdover:")]
            for key, dump, ends in asked(client, keys, ["dump"], ["pexpiretime"]):
                found[db, key] = (dump, ends)
    return found


# Both targets, read as an agent reads them.


def asked(client, keys, *questions):
    """The answers about each key, many keys in one exchange.

    A question is the name of a command and what follows the key.
    """
    for start in range(0, len(keys), 500):
        some = keys[start : start + 500]
        with client.pipeline(transaction=False) as pipe:
            for key in some:
                for name, *more in questions:
                    getattr(pipe, name)(key, *more)
            answers = iter(pipe.execute())
        for key in some:
            yield key, *(next(answers) for _ in questions)


def is_postgres(target):
    return target.startswith("postgres")


def is_redis(target):
    return target.startswith("redis")


def path_of(target):
    return target.removeprefix("sqlite:///")


@contextmanager
def plain_store(target):
    """LangGraph's own store, nothing of ours, but on Redis."""
    if is_postgres(target):
        from langgraph.store.postgres import PostgresStore

        with PostgresStore.from_conn_string(target) as store:
            yield store
    elif is_redis(target):
        # There is no other reader of that layout; test_redis.py reads the keys alone.
        from holdover.compat.stores.redis import PlainRedisStore

        store = PlainRedisStore.from_url(target)
        yield store
        store.close()
    else:
        from langgraph.store.sqlite import SqliteStore

        with SqliteStore.from_conn_string(path_of(target)) as store:
            yield store


def items_of(store, *, internal=False):
    """`{namespace: {key: value}}`, by `list_namespaces`, `search` and `get`."""
    found = {}
    offset = 0
    while namespaces := store.list_namespaces(limit=500, offset=offset):
        offset += len(namespaces)
        for namespace in map(tuple, namespaces):
            if (namespace[0] == "~holdover") != internal:
                continue
            own = [
                item
                for item in store.search(namespace, limit=100_000)
                if tuple(item.namespace) == namespace
            ]
            found[namespace] = {item.key: item.value for item in own}
    return found


def read_plainly(target, *, internal=False):
    if not has_store(target):
        return {}
    with plain_store(target) as store:
        return items_of(store, internal=internal)


def unescape(text):
    """The documented escape, undone without us."""
    if text == "~":
        return ""
    return ESCAPE.sub(
        lambda run: bytes.fromhex(run[0].replace("~", "")).decode(
            "utf-8", "surrogatepass"
        ),
        text,
    )


def summaries_of(items):
    """`{(label, …): {name: summary}}` of entity items, all escapes undone."""
    found = {}
    for namespace, values in items.items():
        if namespace[-1] != "entities":
            continue
        scope = tuple(map(unescape, namespace[:-1]))
        for key, value in values.items():
            content = dict(value["content"])
            for path in value["meta"].get("escaped", ()):
                where, _, name = path.partition(".")
                if where == "content":
                    content[name] = unescape(content[name])
            if "~~" not in key:
                assert unescape(key) == content["name"]
            found.setdefault(scope, {})[content["name"]] = content["summary"]
    return found


def has_store(target):
    """Whether the tables of a store are there, or any key of one."""
    if is_redis(target):
        from holdover.compat.stores.redis_connecting import connect, parse_address

        address = parse_address(target)
        prefix = address.store_options.get("prefix", "holdover")
        client = connect(address)
        found = any(True for _ in client.scan_iter(f"{prefix}:*", count=1000))
        client.close()
        return found
    if is_postgres(target):
        import psycopg

        with psycopg.connect(target) as db:
            (place,) = db.execute("SELECT to_regclass('public.store')").fetchone()
        return place is not None
    if not Path(path_of(target)).exists():
        return False
    with closing(sqlite3.connect(path_of(target))) as db:
        question = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'store'"
        return db.execute(question).fetchone() is not None


def read_summaries(target):
    return summaries_of(read_plainly(target))


def rows_of(target):
    """Every row of every table of a target, with its times and SQLite's types.

    Of a Redis, every key; what is written down of the layout stands apart.
    """
    if is_redis(target):
        keys = redis_keys(target)
        layout = [row for row in keys if row[0].endswith(b":layout")]
        rest = [row for row in keys if row not in layout]
        return {"store": rest, "store_migrations": layout} if keys else {}
    if not is_postgres(target):
        path = path_of(target)
        if not Path(path).exists():
            return {}
        with closing(sqlite3.connect(path)) as db:
            names = [
                name
                for (name,) in db.execute(
                    "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"
                )
            ]
            return {name: _sqlite_rows(db, name) for name in names}
    import psycopg

    with psycopg.connect(target) as db:
        names = [
            name
            for (name,) in db.execute(
                "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1"
            )
        ]
        return {
            name: db.execute(f'SELECT t::text FROM "{name}" t ORDER BY 1').fetchall()
            for name in names
        }


def redis_keys(url):
    """Every key of a store: what it holds and when it ends."""
    from holdover.compat.stores.redis_connecting import connect, parse_address

    address = parse_address(url)
    prefix = address.store_options.get("prefix", "holdover")
    client = connect(address)
    keys = sorted(client.scan_iter(f"{prefix}:*", count=1000))
    kinds = dict(asked(client, keys, ["type"]))
    texts = [key for key in keys if kinds[key] == b"string"]
    lists = [key for key in keys if kinds[key] != b"string"]
    ranged = ["zrange", 0, -1, False, True]  # with the scores
    found = [
        *asked(client, texts, ["get"], ["pexpiretime"]),
        *asked(client, lists, ranged, ["pexpiretime"]),
    ]
    client.close()
    return sorted(found, key=lambda row: row[0])


def redis_items(url):
    """What every item's key holds, by the documented layout alone.

    `{(namespace, key): (created, updated, ttl, json, milliseconds left)}`.
    """
    from holdover.compat.stores.redis_connecting import connect, parse_address

    address = parse_address(url)
    prefix = address.store_options.get("prefix", "holdover").encode()
    client = connect(address)
    found = {}
    keys = list(client.scan_iter(prefix + b":{*}:item:*", count=1000))
    for key, value, left in asked(client, keys, ["get"], ["pttl"]):
        namespace, _, name = key.partition(b":item:")[2].partition(b"..")
        head, _, json_ = value.partition(b"\n")
        version, created, updated, ttl = head.split(b";")
        assert version == b"1"
        place = namespace.decode(), name.decode("utf-8", "surrogatepass")
        found[place] = (created, updated, ttl, json_, left)
    client.close()
    return dict(sorted(found.items()))


def empty_redis(url):
    """Remove every key of a database or cluster."""
    from holdover.compat.stores.redis_connecting import connect, parse_address

    client = connect(parse_address(url))
    client.flushdb()
    client.close()


def restore_keys(url, keys):
    """Put back what `dumped_keys` gave, and nothing else."""
    from holdover.compat.stores.redis_connecting import connect, parse_address

    empty_redis(url)
    client = connect(parse_address(url))
    for key, dump, ends in keys:
        client.restore(key, max(ends, 0), dump, absttl=ends > 0)
    client.close()


def dumped_keys(url):
    """Every key as `restore_keys` takes it."""
    from holdover.compat.stores.redis_connecting import connect, parse_address

    client = connect(parse_address(url))
    keys = list(client.scan_iter(count=1000))
    found = list(asked(client, keys, ["dump"], ["pexpiretime"]))
    client.close()
    return found


def _sqlite_rows(db, name):
    columns = [row[1] for row in db.execute(f'PRAGMA table_info("{name}")')]
    types = ", ".join(f'typeof("{column}")' for column in columns)
    return db.execute(f'SELECT *, {types} FROM "{name}" ORDER BY 1, 2').fetchall()


def ledger_text(target):
    """All of the internal items as one text, to look for what must not be there."""
    return json.dumps(
        [
            [list(ns), values]
            for ns, values in read_plainly(target, internal=True).items()
        ]
    )


def normal(items):
    """Items without what differs between any two runs."""
    for values in items.values():
        for value in values.values():
            meta = value["meta"]
            for name in ("revision", "recorded_at"):
                meta.pop(name)
            meta["source"].pop("run")
    return items


def until(condition, seconds=120):
    """Wait until something is so."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.01)


# A plan, and the command.


def asked_for(plan_of, options):
    """Add what the plan's blockers ask for, taking their first advice, until none."""
    from holdover.migrate.options import Options
    from holdover.migrate.sources.base import ReadOptions

    for _ in range(20):
        blockers = plan_of(options).blockers
        if not blockers:
            return options
        for blocker in blockers:
            words = shlex.split(blocker.fix)
            word, value, read = words[0], words[1], options.read
            if word == "--root":
                named = [b for a, b in pairwise(words) if a == "--root"]
                change = {"roots": tuple(dict.fromkeys((*read.roots, *named)))}
            elif word == "--ambiguous":
                change = {"ambiguous": value.partition("|")[0]}
            else:
                raise AssertionError(blocker.fix)
            options = Options(read=ReadOptions(**{**vars(read), **change}))
    raise AssertionError("the plan never runs out of blockers")


def run_cli(*arguments, cwd, env=None, timeout=120):
    """The real command in a process of its own."""
    done = start_cli(*arguments, cwd=cwd, env=env)
    try:
        out, err = done.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        done.kill()
        raise
    return subprocess.CompletedProcess(done.args, done.returncode, out, err)


def start_cli(*arguments, cwd, env=None, code=None):
    command = [
        sys.executable,
        *(["-c", code] if code else ["-m", "holdover.migrate.cli"]),
    ]
    return subprocess.Popen(
        [*command, *map(str, arguments)],
        cwd=cwd,
        env=environment(env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Whoever runs the tests in the background has Ctrl-C ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    )


def environment(more=None):
    env = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("HOLDOVER", "PG", "REDISCLI"))
    }
    return env | {"PYTHONWARNINGS": "error", "LC_ALL": "C.UTF-8"} | dict(more or {})


def one_sentence(done):
    """What the command said on stderr: one line, no traceback."""
    assert "Traceback" not in done.stderr, done.stderr
    lines = done.stderr.splitlines()
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("holdover: ")
    return lines[0].removeprefix("holdover: ")
