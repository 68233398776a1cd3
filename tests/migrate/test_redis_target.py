"""What goes wrong with a Redis as the target: one sentence, nothing lost."""

from __future__ import annotations

import subprocess
import time
from contextlib import suppress
from urllib.parse import urlsplit

import pytest
import redis
import servers
from moving import (
    database,
    ledger_text,
    many,
    one_sentence,
    read_summaries,
    redis_items,
    redis_keys,
    run_cli,
    start_cli,
    write_old_file,
    write_old_redis,
)

from holdover.compat import RedisEntityStore
from holdover.migrate.options import Options
from holdover.migrate.rollback import rollback
from holdover.migrate.run import migrate
from holdover.migrate.verify import verify

SECRET = "s3cr3t-Pa55w0rd"


@pytest.fixture
def source(old_file):
    return write_old_file(old_file, many(60))


def expected(sessions):
    return {("memory_store", name): entities for name, entities in sessions.items()}


def with_login(url, login):
    return url.replace("redis://", f"redis://{login}@")


def test_down_or_no_redis(source, folder):
    port = servers.free_port()
    done = run_cli("migrate", source, f"redis://:{SECRET}@127.0.0.1:{port}", cwd=folder)
    assert done.returncode == 4
    assert "cannot be reached" in one_sentence(done)
    assert SECRET not in done.stdout + done.stderr


@pytest.mark.parametrize("address", ["redis://host/word", "redis://a:b@c@host"])
def test_no_address(source, folder, address):
    done = run_cli("migrate", source, address, cwd=folder)
    assert done.returncode == 2
    assert one_sentence(done)


def test_a_wrong_password_and_a_right_one(source, folder):
    with servers.redis("--requirepass", SECRET) as url:
        done = run_cli("migrate", source, with_login(url, ":wrong"), cwd=folder)
        assert done.returncode == 4
        assert "login" in one_sentence(done)
        right = run_cli("migrate", source, url, cwd=folder,
                        env={"REDISCLI_AUTH": SECRET})  # fmt: skip
        assert right.returncode == 0, right.stderr
        address = with_login(url, f":{SECRET}")
        shown = run_cli("status", address, cwd=folder)
        assert SECRET not in right.stdout + right.stderr + shown.stdout
        assert SECRET not in ledger_text(address)
        assert read_summaries(address) == expected(many(60))


def test_a_user_who_may_only_read(source, folder, redis_url):
    url = servers.redis_user(redis_url, "reader", "~*", "+@read", "+@connection",
                             "+info")  # fmt: skip
    before = redis_keys(redis_url)
    done = run_cli("migrate", source, url, cwd=folder)
    assert done.returncode == 4
    assert "may not run a command" in one_sentence(done)
    assert redis_keys(redis_url) == before
    migrate(source, redis_url)
    # What only looks needs no more.
    before = redis_keys(redis_url)
    for words in (["verify", source, url], ["status", url],
                  ["migrate", source, url, "--dry-run"]):  # fmt: skip
        assert run_cli(*words, cwd=folder).returncode == 0
    assert redis_keys(redis_url) == before


def test_no_memory_left(source, folder):
    """Redis's full disk."""
    big = write_old_file(f"{folder}/big.db", many(6_000))
    with servers.redis() as url, redis.Redis.from_url(url, protocol=2) as client:
        used = client.info("memory")["used_memory"]
        client.config_set("maxmemory", used + 200_000)
        planned = run_cli("migrate", big, url, cwd=folder)
        assert planned.returncode == 3
        assert "more space" in planned.stdout
        # It fills up while it is written to.
        client.config_set("maxmemory", 0)
        code = f"""
import redis
from holdover.migrate import cli, run
apply = run.Copier._apply
def filling(self, batch, progress):
    client = redis.Redis.from_url({url!r}, protocol=2)
    client.config_set("maxmemory", client.info("memory")["used_memory"] + 300_000)
    client.close()
    run.Copier._apply = apply
    return apply(self, batch, progress)
run.Copier._apply = filling
cli.main()
"""
        done = start_cli("migrate", big, url, "--batch", "100", cwd=folder, code=code)
        _, err = done.communicate(timeout=120)
        assert done.returncode == 4
        assert "no memory left" in err
        assert "Traceback" not in err
        client.config_set("maxmemory", 0)
        assert 0 < len(redis_items(url)) < 6_000
        again = migrate(big, url)
        assert again.exit_code == 0
        assert read_summaries(url) == expected(many(6_000))


def test_an_evicting_server_is_named_in_the_plan(source, folder, redis_url):
    with servers.redis("--maxmemory-policy", "allkeys-lru") as url:
        done = run_cli("migrate", source, url, "--dry-run", cwd=folder)
        assert done.returncode == 0
        assert "allkeys-lru" in done.stdout


def test_a_server_that_goes_away_in_the_middle(source, folder):
    """It comes back with what it had logged; the same command goes on."""
    # Each call that is tried again tries in vain: fewer times than it would.
    code = """
import os
from holdover.compat.stores import backend
from holdover.migrate import cli, run
run._ATTEMPTS = backend._ATTEMPTS = 2
apply = run.Copier._apply
count = []
def dropping(self, batch, progress):
    count.append(1)
    if len(count) == 4:
        import redis
        try:
            redis.Redis.from_url(os.environ["ADMIN"], protocol=2).shutdown(nosave=True)
        except redis.RedisError:
            pass
    return apply(self, batch, progress)
run.Copier._apply = dropping
cli.main()
"""
    port = servers.free_port()
    home = folder / "home"
    home.mkdir()
    options = ("--appendonly", "yes", "--appendfsync", "always")

    def start():
        command = [servers.redis_binary(), "--port", str(port), "--dir", str(home)]
        started = subprocess.Popen(
            [*command, "--save", "", *options], stdout=subprocess.DEVNULL
        )
        servers.wait_for(lambda: servers.accepts(port), "a start")
        return started

    url = f"redis://127.0.0.1:{port}/0"
    server = start()
    try:
        done = start_cli("migrate", source, url, "--batch", "10", cwd=folder,
                         code=code, env={"ADMIN": url})  # fmt: skip
        _, err = done.communicate(timeout=120)
        assert done.returncode == 4
        assert "Traceback" not in err
        assert "cannot be reached" in err
        server.wait(30)
        server = start()
        servers.wait_for(lambda: _answers(url), "an answer")
        again = migrate(source, url, Options(batch=10))
        assert again.copy.resumed
        assert again.exit_code == 0
        assert read_summaries(url) == expected(many(60))
        assert verify(source, url).equal == 60
    finally:
        server.kill()
        server.wait()


def _answers(url):
    try:
        with redis.Redis.from_url(url, protocol=2) as client:
            return client.ping()
    except redis.RedisError:
        return False


def test_the_old_keys_and_the_store_in_one_database(redis_url, folder):
    """The usual upgrade: the classic name then reads what was moved beside it."""
    write_old_redis(redis_url, many(40), ttl_ms=3_600_000)
    done = migrate(redis_url, redis_url)
    assert done.exit_code == 0
    assert done.copy.written == 40
    entities = RedisEntityStore("s1", url=redis_url, legacy="off")
    assert entities.get("Entity 1") == many(40)["s1"]["Entity 1"]
    entities.delete("Entity 2")
    again = migrate(redis_url, redis_url)
    assert again.exit_code == 0
    assert again.copy.written == 0
    assert RedisEntityStore("s1", url=redis_url).get("Entity 2") is None
    # Lifetimes of the items are those of the keys.
    ttls = [left for *_, left in redis_items(redis_url).values() if left > 0]
    assert len(ttls) >= 39
    assert max(ttls) < 4 * 86_400_000


def test_into_a_cluster_and_back_out(cluster_url, source):
    done = migrate(source, cluster_url)
    assert done.exit_code == 0
    shards = {key.partition(b"}")[0] for key, *_ in redis_keys(cluster_url)}
    assert len(shards) > 3
    assert rollback(cluster_url).removed == 60
    assert redis_items(cluster_url) == {}


def test_by_sentinel_through_a_failover(source):
    with servers.redis_sentinel() as url:
        assert migrate(source, url).exit_code == 0
        with redis.Redis.from_url(servers.sentinel_master(url), protocol=2) as master:
            master.execute_command("WAIT", 1, 5_000)
            old = urlsplit(servers.sentinel_master(url)).port
            with suppress(redis.ConnectionError):
                master.shutdown(nosave=True, now=True, force=True)
        servers.wait_for(
            lambda: urlsplit(servers.sentinel_master(url)).port != old, "a failover"
        )
        time.sleep(0.5)
        assert verify(source, url).equal == 60
        assert migrate(source, url).copy.written == 0


def test_an_index_is_refused(source, folder, redis_url):
    done = run_cli("migrate", source, database(redis_url, 5), "--index",
                   "openai:text-embedding-3-small", "--dims", "4",
                   cwd=folder)  # fmt: skip
    assert done.returncode == 2
    assert "meaning" in one_sentence(done)
