"""The server or its client is killed at a random moment, and nothing told is lost.

`HOLDOVER_CHAOS_RUNS` is the number of kills in each test; the default is a sample.
"""

import multiprocessing
import os
import random
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import plain_redis
import pytest
import servers
from plain_redis import disagreements, raw_items, states

from holdover.compat.stores.redis import PlainRedisStore

RUNS = int(os.environ.get("HOLDOVER_CHAOS_RUNS", "4"))

#: With `everysec`: the last second, and one more for a write that came late.
LATE = 2
#: The shell stops the server when its own input ends: when we are gone.
GUARD = '"$@" >"$LOG" 2>&1 & echo $!; read -r _; kill -9 $! 2>/dev/null'


class DurableRedis:
    """A server that writes every change to a file, and can be killed and restarted."""

    def __init__(self, folder, fsync):
        self.port = servers.free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self._command = [servers.redis_binary(), "--port", str(self.port)]
        self._command += ["--bind", "127.0.0.1", "--dir", str(folder), "--save", ""]
        self._command += ["--appendonly", "yes", "--appendfsync", fsync]
        self._log = str(folder / "log")
        self._guard = None
        self.start()

    def start(self):
        self._guard = subprocess.Popen(
            ["/bin/sh", "-c", GUARD, "guard", *self._command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env=os.environ | {"LOG": self._log},
        )
        self._pid = int(self._guard.stdout.readline())
        servers.wait_for(self._ready, "the server's start")

    def _ready(self):
        import redis

        try:
            with redis.Redis(port=self.port, protocol=2) as client:
                return not client.info("persistence")["loading"]
        except redis.RedisError:
            return False

    def kill(self):
        os.kill(self._pid, signal.SIGKILL)
        self._guard.stdin.close()
        self._guard.wait(30)
        self._guard.stdout.close()


@contextmanager
def durable_redis(fsync):
    folder = Path(tempfile.mkdtemp(prefix="holdover-durable-"))
    try:
        server = DurableRedis(folder, fsync)
        yield server
        server.kill()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def context():
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["plain_redis", "holdover.compat.stores.redis"])
    return context


class Writer:
    """A process that writes; it tells when each of its calls was answered."""

    def __init__(self, context, url, seed, done=0):
        self.seed, self.acknowledged = seed, [(done, 0.0)]
        self.pipe, theirs = context.Pipe(duplex=False)
        arguments = url, seed, done, theirs
        self.process = context.Process(target=plain_redis.write, args=arguments)
        self.process.start()
        theirs.close()

    def hear(self):
        """Take what it has told until now."""
        while self.pipe.poll(0):
            try:
                self.acknowledged.append(self.pipe.recv())
            except EOFError:
                return

    def wait_for_calls(self, count):
        """Let it be answered that many more times."""
        self.hear()
        wanted = self.acknowledged[-1][0] + count

        def answered():
            self.hear()
            return self.acknowledged[-1][0] >= wanted

        servers.wait_for(answered, "a writer's call")

    def stop(self, number):
        os.kill(self.process.pid, number)

    def kill(self):
        self.stop(signal.SIGKILL)
        self.process.join(30)
        self.hear()
        self.pipe.close()


def held_by(url):
    """The items by raw commands alone, and where the lists differ from them."""
    import orjson

    with plain_redis.connect(url) as client:
        items = raw_items(client)
        wrong = disagreements(client)
    return {place: orjson.loads(item[3]) for place, item in items.items()}, wrong


def calls_behind(found, seed, least):
    """How many whole calls, not less than `least`, led to what is there."""
    mine = {p: value for p, value in found.items() if p[0][0] == f"w{seed}"}
    for number, state in enumerate(states(seed)):
        if number >= least and state == mine:
            return number
        if number > least + 5_000:
            break
    raise AssertionError(f"no number of whole calls from {least} on leads to {mine}")


def repaired(url):
    store = PlainRedisStore.from_url(url)
    mended = store.repair()
    store.close()
    return mended


@pytest.mark.parametrize("fsync", ["always", "everysec"])
def test_the_server_is_killed(context, fsync):
    chance = random.Random(fsync)
    with durable_redis(fsync) as server:
        writers = [Writer(context, server.url, seed) for seed in range(2)]
        try:
            if fsync == "everysec":
                time.sleep(LATE + 0.5)  # or there would be nothing that must not go
            for _ in range(RUNS):
                for writer in writers:
                    writer.wait_for_calls(1)
                time.sleep(chance.random() * 0.15)
                killed = time.time()
                server.kill()
                # They cannot write to the next one until it was looked at.
                for writer in writers:
                    writer.stop(signal.SIGSTOP)
                    writer.hear()
                server.start()
                found, wrong = held_by(server.url)
                assert wrong == []
                for writer in writers:
                    told = writer.acknowledged
                    if fsync == "everysec":
                        told = [one for one in told if one[1] < killed - LATE]
                        assert len(told) > 1
                    least = max((number for number, _ in told), default=0)
                    reached = calls_behind(found, writer.seed, least)
                    # Not beyond the one call that was under way.
                    assert reached <= writer.acknowledged[-1][0] + 1
                assert repaired(server.url) == 0
                assert held_by(server.url) == (found, [])
                for writer in writers:
                    writer.stop(signal.SIGCONT)
        finally:
            for writer in writers:
                writer.kill()


def test_the_client_is_killed(context):
    chance = random.Random(7)
    with durable_redis("always") as server:
        done = 0
        for _ in range(RUNS):
            writer = Writer(context, server.url, 0, done)
            try:
                writer.wait_for_calls(1)
                time.sleep(chance.random() * 0.1)
            finally:
                writer.kill()
            with plain_redis.connect(server.url) as client:
                # What it had sent is still carried out.
                servers.wait_for(lambda c=client: len(c.client_list()) == 1, "an end")
            found, wrong = held_by(server.url)
            assert wrong == []
            told = writer.acknowledged[-1][0]
            done = calls_behind(found, 0, told)
            assert told <= done <= told + 1
            assert repaired(server.url) == 0
            assert held_by(server.url) == (found, [])
        assert done > RUNS
