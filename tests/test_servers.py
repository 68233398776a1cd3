"""The servers of the tests start, are empty for each test, and leave nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import servers

HOLD = """
import sys
sys.path.insert(0, sys.argv[1])
import servers
with getattr(servers, sys.argv[2])() as url:
    print(url, flush=True)
    sys.stdin.read()
"""


def test_postgres_has_pgvector(postgres_url):
    import psycopg

    with psycopg.connect(postgres_url) as connection:
        connection.execute("CREATE EXTENSION vector")
        query = "SELECT '[1,2]'::vector <-> '[1,3]'::vector"
        assert connection.execute(query).fetchone() == (1.0,)


def test_each_test_has_a_database_of_its_own(postgres_url, postgres_server):
    import psycopg

    assert postgres_url != postgres_server
    with psycopg.connect(postgres_url) as connection:
        tables = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"
        assert connection.execute(tables).fetchone() == (0,)


def test_a_cluster_has_every_slot_and_is_empty(cluster_url):
    import redis

    with redis.RedisCluster.from_url(cluster_url) as cluster:
        assert len(cluster.get_primaries()) == 3
        assert cluster.dbsize(target_nodes="primaries") == 0
        for number in range(30):
            cluster.set(f"key {number}", number)
        assert cluster.dbsize(target_nodes="primaries") == 30
    servers.flush_cluster(cluster_url)
    with redis.RedisCluster.from_url(cluster_url) as cluster:
        assert cluster.dbsize(target_nodes="primaries") == 0


def test_a_master_of_a_cluster_has_replicas():
    import redis

    with (
        servers.redis_cluster(1, replicas=1) as url,
        redis.RedisCluster.from_url(url) as cluster,
    ):
        assert len(cluster.get_primaries()) == 1
        assert len(cluster.get_replicas()) == 1


def test_a_sentinel_follows_a_failover():
    with servers.redis_sentinel() as url:
        before = servers.sentinel_master(url)
        with servers.plain_client(port_of(before)) as master:
            master.set("kept", "1")
            assert master.wait(1, 5_000) == 1
            master.shutdown(nosave=True)
        servers.wait_for(lambda: servers.sentinel_master(url) != before, "a failover")
        with servers.plain_client(port_of(servers.sentinel_master(url))) as master:
            assert master.get("kept") == "1"


def test_three_sentinels_know_each_other():
    with servers.redis_sentinel(3) as url:
        assert url.count(",") == 2
        with servers.plain_client(port_of(url.partition(",")[0])) as sentinel:
            assert len(sentinel.sentinel_sentinels("mymaster")) == 2


def test_tls_is_trusted_by_its_authority_and_no_other(tls_url, redis_url):
    import redis

    with redis.Redis.from_url(redis_url) as client:
        client.set("key", "x" * 200_000)
    with redis.Redis.from_url(tls_url) as client:
        assert len(client.get("key")) == 200_000
    with (
        redis.Redis.from_url(tls_url.partition("?")[0]) as client,
        pytest.raises(redis.ConnectionError, match="certificate verify failed"),
    ):
        client.ping()


def test_an_old_server_lacks_what_new_ones_have(old_redis_url):
    import redis

    with redis.Redis.from_url(old_redis_url, protocol=2) as client:
        for command in ("HELLO", "GETEX"):
            with pytest.raises(redis.ResponseError, match="unknown command"):
                client.execute_command(command, "key")


def test_a_user_may_do_what_was_granted_and_nothing_else(redis_url):
    import redis

    with redis.Redis.from_url(redis_url) as client:
        client.set("mine", "1")
        url = servers.redis_user(redis_url, "someone", "+get", "~mine")
        with redis.Redis.from_url(url) as theirs:
            assert theirs.get("mine") == b"1"
            for command in (("GET", "other"), ("SET", "mine", "2")):
                with pytest.raises(redis.exceptions.NoPermissionError):
                    theirs.execute_command(*command)
        client.acl_deluser("someone")


def port_of(url):
    return int(url.rpartition("127.0.0.1:")[2].partition("/")[0])


@pytest.mark.parametrize(
    "name", ["postgres", "redis", "redis_cluster", "redis_sentinel", "redis_tls"]
)
def test_nothing_is_left_of_a_killed_process(name):
    here = Path(__file__).parent
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(here), name],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    url = process.stdout.readline().strip()
    if not url:
        process.wait()
        pytest.skip(f"no {name} on this machine")
    port = port_of(url)
    assert servers.accepts(port)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdin.close()
    process.stdout.close()
    deadline = time.monotonic() + 10
    while servers.accepts(port) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not servers.accepts(port)
