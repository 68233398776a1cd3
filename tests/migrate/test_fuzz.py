"""Hostile input on every source: items and rejects, or one sentence; nothing else.

A seed is a file of the corpus, what is done to it, and how it is read and moved. Each
runs with a limit of processor time and memory, in a process that dies with it. To see
one again, in the folder `tests`:

    python fuzzing.py SEED 1

`HOLDOVER_FUZZ_RUNS=N` runs so many seeds from a start that is drawn and shown;
`HOLDOVER_EVERYTHING=1` runs 20,000.
"""

from __future__ import annotations

import json
import logging
import os
import random
import shutil
import socket
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, suppress
from pathlib import Path

import fuzzing
import mongomock
import pytest
from fuzzing import MARKER, links_of_open_files, messages, move, read_whole
from mongo_server import mongo_server
from moving import DDL
from sampling import EVERYTHING
from upstash import upstash

from holdover.migrate.errors import MigrateError, SourceError
from holdover.migrate.options import Options
from holdover.migrate.run import migrate
from holdover.migrate.sources.base import ReadOptions
from holdover.migrate.sources.files import _walk
from holdover.migrate.sources.sqlite_file import SqliteFile

RUNS = int(os.environ.get("HOLDOVER_FUZZ_RUNS") or (20_000 if EVERYTHING else 0))
SEEDS = (random.randrange(10**9), RUNS) if RUNS else (0, 80)
ROWS = max(60, RUNS // 10)
#: No progress for so long is a hang, also one that takes no processor time.
SILENCE = 120
TESTS = Path(fuzzing.__file__).parent


def test_damaged_files(tmp_path):
    first, count = SEEDS
    said = tmp_path / "said"
    with said.open("wb") as out:
        running = subprocess.Popen(
            [sys.executable, str(TESTS / "fuzzing.py"), str(first), str(count)],
            stdout=out,
            stderr=subprocess.STDOUT,
            env={**os.environ, "HOLDOVER_FUZZ_FOLDER": str(tmp_path)},
        )
        while running.poll() is None:
            if time.time() - said.stat().st_mtime > SILENCE:
                running.kill()
            time.sleep(0.1)
    lines = said.read_text("utf-8").splitlines()
    assert running.returncode == 0, "\n".join(["It hung or died:", *lines[-40:]])
    faults = [line for line in lines if line.startswith("FAULT")]
    assert not faults, "\n".join(faults)
    outcomes = [line for line in lines if line.startswith("done")]
    assert len(outcomes) == count
    for one in (", moved", "Source", "(0, "):
        assert any(one in line for line in outcomes), (
            f"the damages are too alike: {one}"
        )


# What is no file, where a file is looked for.


def _with_companion(suffix):
    def make(path):
        with closing(sqlite3.connect(path)) as db:
            db.execute(DDL.format("memory_store_s"))
        return path.with_name(path.name + suffix)

    return make


def _in_copy(form, name):
    def make(path):
        shutil.copytree(TESTS / "corpus" / form, path)
        (inner, *_) = sorted(path.rglob(name))
        inner.unlink()
        return inner

    return make


NAMES = ["x.db", "x.json", "x.jsonl", "x.pkl", "x.gml", "x", "index.faiss", "index.pkl"]
FAISS = "langchain-0.2.17/vector_memory/faiss"
CHROMA = "companions-chroma-0.4.24/vector_memory/chroma"
WHERE = {
    **dict.fromkeys([*NAMES, "chroma.sqlite3"]),
    **{f"x.db{one}": _with_companion(one) for one in ("-wal", "-journal", "-shm")},
    **{f"faiss/{one}": _in_copy(FAISS, one) for one in ("index.faiss", "index.pkl")},
    **{
        f"chroma/{one}": _in_copy(CHROMA, one)
        for one in ("header.bin", "data_level0.bin", "index_metadata.pickle")
    },
}


def _socket(path):
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(os.path.relpath(path))


WHAT = {
    "a pipe": os.mkfifo,
    "a socket": _socket,
    "a device": lambda path: path.symlink_to("/dev/zero"),
    "a circle": lambda path: path.symlink_to(path.name),
    "a way to nowhere": lambda path: path.symlink_to("nowhere"),
    "a folder": Path.mkdir,
}
_PLACES = """
import sys
from fuzzing import read_or_say
for address in sys.stdin.read().split("\\n"):
    print(address, read_or_say(address), flush=True)
"""


def test_what_is_no_file(tmp_path, monkeypatch):
    addresses = []
    for what, make in WHAT.items():
        for where, prepare in WHERE.items():
            folder = tmp_path / what.replace(" ", "-") / where.replace("/", "-")
            folder.mkdir(parents=True)
            monkeypatch.chdir(folder)
            path = folder / where.partition("/")[0].partition(".db-")[0]
            path = path.with_suffix(".db") if ".db-" in where else path
            make(prepare(path) if prepare else path)
            addresses += [str(path), str(folder)]
            if EVERYTHING or what in ("a pipe", "a device"):
                addresses += [f"file://{path}", f"sqlite:///{path}"]
    done = subprocess.run(
        [sys.executable, "-c", _PLACES],
        input="\n".join(addresses),
        capture_output=True,
        text=True,
        timeout=SILENCE,
        check=False,
        env={**os.environ, "PYTHONPATH": str(TESTS)},
    )
    assert done.returncode == 0, f"{done.stdout[-300:]} {done.stderr[-3000:]}"
    assert len(done.stdout.splitlines()) == len(addresses)


@pytest.mark.parametrize("end", ["source", "target"])
@pytest.mark.parametrize(
    "address",
    [
        "a\0b",
        "file:///a%00b",
        "sqlite:///a\0b",
        "x" * 300,
        "x/" * 4000,
        "circle",
        "circle/x",
    ],
    ids=[
        "nul",
        "nul-url",
        "nul-sqlite",
        "long name",
        "long path",
        "circle",
        "in a circle",
    ],
)
def test_paths_that_cannot_be(address, end, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("circle").symlink_to("circle")
    with closing(sqlite3.connect("old.db")) as db:
        db.execute(DDL.format("memory_store_s"))
        db.execute("INSERT INTO memory_store_s VALUES ('a', 'b')")
        db.commit()
    options = Options(ReadOptions(sessions=frozenset({"s"})))
    ends = (address, "new.db") if end == "source" else ("old.db", address)
    with pytest.raises(MigrateError) as refused:
        migrate(*ends, options)
    assert len(str(refused.value)) < 600


def test_folders_deeper_than_calls(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for _ in range(sys.getrecursionlimit() + 100):
        Path("d").mkdir()
        os.chdir("d")
    Path("s.json").write_text("[]")
    monkeypatch.chdir(tmp_path)
    try:
        (found,) = _walk(str(tmp_path), "", set())
        assert found.place.endswith("d/d/s.json")
        assert found.problem is None
    finally:  # what `shutil.rmtree` cannot
        subprocess.run(["rm", "-rf", str(tmp_path / "d")], check=True)


def test_a_damaged_copy_leaves_nothing_open(tmp_path):
    # It is read from a copy, as it uses write-ahead logging and its log is missing.
    old = TESTS / "corpus/langchain-0.2.17/sqlite_entity/wal_main_only.db"
    path, raw = tmp_path / "old.db", old.read_bytes()
    outcomes = set()
    for start in range(100, len(raw), 500):
        path.write_bytes(raw[:start] + bytes(500) + raw[start + 500 :])
        with suppress(SourceError), closing(SqliteFile(path)) as file:
            outcomes.add("opened")
            file.connection.execute("SELECT 1")
            outcomes.add("read")
        assert not [one for one in links_of_open_files() if "source.db" in one]
    assert outcomes == {"opened", "read"}


# The same values, where servers keep them.


def _text(raw):
    return raw.decode("utf-8", "replace").replace("\0", "")


def _redis_lists(request):
    client = request.getfixturevalue("redis")
    for at, raw in enumerate(messages(SEEDS[0] + 1, ROWS)):
        client.rpush(f"message_store:s{at % 7}", raw)
        if at % 5 == 0:
            client.set(f"memory_store:s:{at}", raw)
            client.set(b"memory_store:" + raw[:99], raw)
            client.rpush(b"message_store:" + raw[:99], raw)
    return request.getfixturevalue("redis_url")


def _redis_documents(request):
    import redis

    url = request.getfixturevalue("json_url")
    with redis.Redis.from_url(url, protocol=2) as client:
        for at, raw in enumerate(messages(SEEDS[0] + 2, ROWS)):
            for value in (raw, b'{"session_id": "s", "timestamp": %d,' % at + raw[1:]):
                try:
                    client.execute_command("JSON.SET", f"chat:s:{at}", "$", value)
                except redis.ResponseError:
                    client.set(f"chat:s:{at}", value)
    return url


def _postgres(request, kind):
    import psycopg

    url = request.getfixturevalue("postgres_url")
    with psycopg.connect(url, autocommit=True) as db:
        db.execute(
            "CREATE TABLE message_store (id serial PRIMARY KEY, session_id text,"
            f" message {kind})"
        )
        kept = 0
        for at, raw in enumerate(messages(SEEDS[0] + 3, ROWS)):
            try:
                db.execute(
                    f"INSERT INTO message_store (session_id, message)"
                    f" VALUES (%s, %s::{kind})",
                    (f"s{at % 7}", _text(raw)),
                )
            except psycopg.Error:
                continue
            kept += 1
    assert kept
    return url


def _mongodb(request):
    chance = random.Random(4)
    server = request.getfixturevalue("mongo")
    collection = server["chat_history"]["message_store"]
    for at, raw in enumerate(messages(SEEDS[0] + 4, ROWS)):
        history = _text(raw)
        if chance.random() < 0.3:
            history = chance.choice(
                [raw, None, at, [history], {"a": history}, 1.5, True]
            )
        document = {"SessionId": f"s{at % 7}", "History": history}
        if chance.random() < 0.1:
            document[chance.choice(["SessionId", "_id"])] = chance.choice(
                [at, _text(raw)[:50], None, {"a": at}]
            )
        with suppress(mongomock.DuplicateKeyError):
            collection.insert_one(document)
    return server.address


def _upstash(request):
    _redis_lists(request)
    return request.getfixturevalue("rest").address


def _named(value):
    return _text(str(value).encode("utf-8", "replace")) or "-"


def _attribute(raw, chance):
    """A value as DynamoDB writes it down, of any of its types."""
    text = _text(raw)
    try:
        known = json.loads(text)
    except (ValueError, RecursionError):
        known = text
    said = {"type": {"S": "human"}, "data": {"M": {"content": {"S": text}}}}
    if isinstance(known, dict) and chance.random() < 0.2:
        inner = {_named(name): {"S": _named(one)} for name, one in known.items()}
        return {"M": inner}
    return chance.choice([
        {"S": text}, {"B": raw}, {"NULL": True}, {"BOOL": False}, {"N": "-7.5e3"},
        {"L": [{"S": text}]}, {"M": said}, {"M": said}, {"M": {"type": {"S": text}}},
        {"SS": [text or "a"]}, {"M": {**said, "data": {"L": [{"M": said}]}}},
    ])  # fmt: skip


def _dynamodb(request):
    import boto3
    from botocore.exceptions import ClientError

    chance = random.Random(5)
    monkeypatch = request.getfixturevalue("monkeypatch")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "x")
    server = request.getfixturevalue("dynamodb")
    client = boto3.client("dynamodb", endpoint_url=server, region_name="us-east-1")
    client.create_table(
        TableName="Fuzz",
        KeySchema=[{"AttributeName": "SessionId", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "SessionId", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    rows = iter(list(messages(SEEDS[0] + 5, ROWS)))
    for at in range(ROWS // 7):
        item = {"SessionId": {"S": f"s{at}"}}
        item["History"] = {"L": [_attribute(next(rows), chance) for _ in range(6)]}
        if at % 9 == 0:
            item["History"] = _attribute(next(rows), chance)
        if at % 7 == 0:
            item["expireAt"] = _attribute(next(rows), chance)
        try:
            client.put_item(TableName="Fuzz", Item=item)
        except ClientError as error:  # DynamoDB does not keep that
            assert "ValidationException" in str(error)  # noqa: PT017
    return f"dynamodb://Fuzz?region=us-east-1&endpoint_url={server}"


@pytest.fixture
def rest(redis_url):
    with upstash(redis_url) as service:
        yield service


@pytest.fixture
def dynamodb():
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def mongo():
    with mongo_server() as server:
        yield server


SERVERS = {
    "Redis lists and entities": _redis_lists,
    "langchain-redis": _redis_documents,
    "PostgreSQL text": lambda request: _postgres(request, "text"),
    "PostgreSQL jsonb": lambda request: _postgres(request, "jsonb"),
    "MongoDB": _mongodb,
    "DynamoDB": _dynamodb,
    "Upstash": _upstash,
}


@pytest.mark.parametrize("name", SERVERS)
def test_hostile_rows_of_servers(name, request, tmp_path):
    address = SERVERS[name](request)
    options = ReadOptions(ambiguous="first")
    items, rejects = read_whole(address, options, random.Random(name))
    assert items
    assert rejects
    assert move(address, tmp_path, options) == "moved"
    listed = [json.loads(line) for line in (tmp_path / "rejects.jsonl").open()]
    assert len(listed) >= rejects
    assert not [one for one in listed if MARKER in one["detail"]]
