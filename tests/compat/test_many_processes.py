"""Eight processes write the same ten entities: no revision is lost, none deadlocks."""

import json
import random
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from holdover.compat.repository import Repository
from holdover.compat.stores.opening import close_store, open_sqlite

PROCESSES, TURNS, OF, NAMES = 8, 200, 4, [f"entity {n}" for n in range(10)]


def turns(address, worker):
    """Write as one process does; print what was written and what failed."""
    from holdover.compat.stores.opening import open_store

    chance = random.Random(worker)
    mine = Repository(open_store(address), ("root", "session"), history="all")
    written, failed = [], []
    print("ready", flush=True)
    sys.stdin.readline()
    for turn in range(TURNS):
        names = chance.sample(NAMES, OF)
        contents = [
            {"name": name, "summary": f"{name}: {worker}/{turn}"} for name in names
        ]
        try:
            mine.put_many("entity", contents)
        except Exception as error:
            failed.append(repr(error))
        else:
            written += [content["summary"] for content in contents]
    print(json.dumps({"written": written, "failed": failed}))


def classic(path, _):
    """Write as an old application does, by the old class where it is installed."""
    try:
        from langchain_classic.memory.entity import SQLiteEntityStore
    except ImportError:
        store = None
    else:
        store = SQLiteEntityStore("session", path, "memory_store")
    written, failed = [], []
    conn = sqlite3.connect(path)
    if store is None:
        with conn:
            conn.execute(
                'CREATE TABLE IF NOT EXISTS "memory_store_session" '
                "(key TEXT PRIMARY KEY, value TEXT)"
            )
    print("ready", flush=True)
    sys.stdin.readline()
    for turn in range(TURNS):
        name, text = f"old {turn % 20}", f"classic {turn}"
        try:
            if store is not None:
                store.set(name, text)
            else:
                with conn:
                    conn.execute(
                        'INSERT OR REPLACE INTO "memory_store_session" VALUES (?, ?)',
                        (name, text),
                    )
        except sqlite3.OperationalError as error:
            # Its own five seconds of patience; no fault of ours.
            failed.append(repr(error))
        else:
            written.append((name, text))
    conn.close()
    if store is not None:
        store.conn.close()
    print(json.dumps({"written": written, "failed": failed}))


def start(what, *arguments):
    return subprocess.Popen(
        [sys.executable, "-W", "ignore", __file__, what, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def race(processes):
    """Let all begin at one moment; give what each printed."""
    try:
        for process in processes:
            assert process.stdout.readline() == "ready\n"
        for process in processes:
            process.stdin.write("\n")
            process.stdin.flush()
        answers = [process.communicate(timeout=300)[0] for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()
    return [json.loads(answer) for answer in answers]


def check(store, answers):
    mine = Repository(store, ("root", "session"), history="all")
    assert [answer["failed"] for answer in answers] == [[]] * PROCESSES
    for name in NAMES:
        states = mine.history("entity", name)
        told = [
            text
            for answer in answers
            for text in answer["written"]
            if text.startswith(f"{name}: ")
        ]
        texts = [state.text for state in states]
        assert sorted(texts) == sorted(told)
        assert mine.get("entity", name).text in told
        assert len({state.revision for state in states}) == len(states)


def test_on_sqlite_with_the_old_application(tmp_path):
    path = tmp_path / "entities.db"
    # The old application was first: an existing file keeps its rollback journal.
    with closing(sqlite3.connect(path)) as conn, conn:
        conn.execute(
            'CREATE TABLE "memory_store_session" (key TEXT PRIMARY KEY, value TEXT)'
        )
    processes = [start("turns", path, n) for n in range(PROCESSES)]
    *answers, old = race([*processes, start("classic", path, 0)])
    store = open_sqlite(str(path))
    check(store, answers)
    assert store.conn.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    rows = dict(store.conn.execute('SELECT key, value FROM "memory_store_session"'))
    assert rows == dict(old["written"])
    close_store(store)


def test_on_sqlite(tmp_path):
    path = tmp_path / "memory.db"
    answers = race([start("turns", path, n) for n in range(PROCESSES)])
    store = open_sqlite(str(path))
    check(store, answers)
    close_store(store)


def test_on_postgresql(postgres_url):
    pytest.importorskip("langgraph.store.postgres")
    from holdover.compat.stores.opening import open_store

    answers = race([start("turns", postgres_url, n) for n in range(PROCESSES)])
    check(open_store(postgres_url), answers)


@pytest.mark.parametrize("place", ["redis_url", "cluster_url"])
def test_on_redis(place, request):
    from holdover.compat.stores.opening import open_store

    url = request.getfixturevalue(place)
    answers = race([start("turns", url, n) for n in range(PROCESSES)])
    store = open_store(url)
    check(store, answers)
    assert store.repair() == 0


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent.parent))
    {"turns": turns, "classic": classic}[sys.argv[1]](sys.argv[2], int(sys.argv[3]))
