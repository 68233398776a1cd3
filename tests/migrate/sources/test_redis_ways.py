"""Whatever the way to a Redis, the same is read, and nothing is changed."""

from __future__ import annotations

import socketserver
import threading
import time
from contextlib import ExitStack, contextmanager
from urllib.parse import urlsplit

import pytest
import redis
import servers
from redis_corpus import check, folders, load, options, state, stores
from upstash import upstash

from holdover.migrate.errors import SourceNotFound, SourceUnavailable, UsageError
from holdover.migrate.run import migrate
from holdover.migrate.sources import open_source
from holdover.migrate.sources.base import ReadOptions

DAY = 86_400_000
CORPUS_FOLDERS = [*folders("redis_entity"), *folders("upstash_history")]
READS = {"SCAN", "MGET", "PTTL", "STRLEN", "TYPE"}
OTHERS = {"CLIENT NO-TOUCH", "CLIENT SETINFO", "CLUSTER SLOTS", "CLUSTER NODES"}


@pytest.fixture
def client(place):
    with place.client() as client:
        yield client


@pytest.mark.parametrize(
    "folder", CORPUS_FOLDERS, ids=lambda folder: f"{folder.parent.name}-{folder.name}"
)
def test_the_corpus_is_read_whole(folder, place, client, source, read_all):
    load(folder / "listing.jsonl", place.client_of)
    before = state(client)
    assert before
    opened = source(place.address, **options(folder, 0))
    inventory = opened.inventory()
    items, rejects, expired = read_all(opened, size=50)
    check(items, folder, 0)
    names = [i for p in opened.partitions() for page in opened.keys(p) for i in page]
    assert expired == 0
    assert {one.reason for one in rejects} <= {"not-utf8", "empty-value"}
    assert len(names) == len(items) + sum("value" in one.detail for one in rejects)
    fetched = opened.fetch(opened.partitions()[0], names)
    assert sorted(fetched.items) == sorted(
        item._replace(ttl_ms=other.ttl_ms)
        for item, other in zip(sorted(items), sorted(fetched.items), strict=True)
    )
    assert sum(group.items for group in inventory.groups) == len(names) - sum(
        "value is empty" in one.detail for one in rejects
    )
    assert inventory.blockers == []
    assert not any("moved" in note for note in inventory.notes)
    assert state(client) == before


def test_a_migration_arrives_and_a_second_one_writes_nothing(
    place, client, sqlite_target
):
    for number in range(300):
        ttl = DAY if number % 2 else None
        client.set(f"memory_store:s{number % 7}:{number}", f"é {number}", px=ttl)
    before = state(client)
    done = migrate(place.address, sqlite_target)
    assert (done.exit_code, done.copy.written, done.verify.equal) == (0, 300, 300)
    again = migrate(place.address, sqlite_target)
    assert (again.exit_code, again.copy.written) == (0, 0)
    assert state(client) == before


def test_only_reads_are_sent(place, source, read_all):
    with ExitStack() as stack:
        client = stack.enter_context(place.client())
        for number in range(50):
            client.set(f"memory_store:s:{number}", "v")
        client.set("memory_store:s:empty", "")
        client.hset("memory_store:s:hash", "a", "b")
        client.set("other", "v")
        nodes = [urlsplit(place.url).port]
        if isinstance(client, redis.RedisCluster):
            nodes = [node.port for node in client.get_primaries()]
        monitors = []
        for port in nodes:
            node = stack.enter_context(redis.Redis(port=port, protocol=2))
            monitors.append((node, stack.enter_context(node.monitor())))
        opened = source(place.address)
        opened.inventory()
        read_all(opened)
        opened.fetch(
            opened.partitions()[0],
            [i for b in opened.keys(opened.partitions()[0]) for i in b],
        )
        sent = set()
        for node, monitor in monitors:
            node.echo("the end")
            while "the end" not in (line := monitor.next_command()["command"]):
                words = line.upper().split()
                # Sentinel, the replica, and the shell of the emulator speak as well.
                if words[0] not in {"PING", "INFO", "PUBLISH", "REPLCONF", "SELECT"}:
                    sent.add(words[0] if words[0] in READS else " ".join(words[:2]))
    assert sent - OTHERS == READS


def test_reading_leaves_idle_times_alone(place, client, source, read_all):
    if place.address.startswith("upstash"):
        pytest.skip("Upstash has no CLIENT, and tells no idle times")
    client.set("memory_store:s:e", "v")
    time.sleep(1.1)
    opened = source(place.address)
    assert opened.inventory().groups[0].items == 1
    assert len(read_all(opened)[0]) == 1
    assert client.object("idletime", "memory_store:s:e") >= 1


def test_a_lost_connection_is_opened_again(place, client, source):
    for number in range(500):
        client.set(f"memory_store:s:{number:03}", "v")
    opened = source(place.address)
    batches = opened.read(opened.partitions()[0], size=100)
    found = len(next(batches).items)
    ports = [urlsplit(place.url).port]
    if isinstance(client, redis.RedisCluster):
        ports = [node.port for node in client.get_primaries()]
    for port in ports:
        with redis.Redis(port=port, protocol=2) as node:
            node.client_kill_filter(_type="normal", skipme=True)
    found += sum(len(batch.items) for batch in batches)
    assert found == 500


def test_what_vanishes_or_turns_is_told(place, client, source, read_all):
    for name in "abcde":
        client.set(f"memory_store:s:{name}", name)
    opened = source(place.address)
    opened.inventory()
    client.delete("memory_store:s:a")
    client.delete("memory_store:s:b")
    client.sadd("memory_store:s:b", "member")
    client.set("memory_store:s:c", b"\xff")
    items, rejects, expired = read_all(opened)
    assert [item.key for item in items] == ["d", "e"]
    assert {reject.reason for reject in rejects} == {"wrong-type", "not-utf8"}
    assert len(rejects) == 2
    assert expired == 1


class TestAddresses:
    @pytest.mark.parametrize(
        ("address", "message"),
        [
            ("redis+sentinel://h:port/s", "is not an address of Redis"),
            ("upstash+https://:secret@h?x=1", "is not an address of Upstash"),
            ("https://example.com", "is not a source that can be read"),
        ],
    )
    def test_that_are_none(self, address, message):
        with pytest.raises(SourceNotFound, match=message) as caught:
            open_source(address, ReadOptions())
        assert "secret" not in str(caught.value)

    def test_a_cluster_has_one_database(self, cluster_url, source):
        address = f"{cluster_url.rpartition('/')[0]}/3"
        with pytest.raises(SourceNotFound, match="has no database 3"):
            source(address).inventory()

    def test_the_socket_of_a_node_of_a_cluster(self, tmp_path, source):
        path = str(tmp_path / "redis.sock")
        with (
            servers.redis_cluster(1, "--unixsocket", path),
            pytest.raises(SourceNotFound, match="is a node of a cluster"),
        ):
            source(f"unix://{path}?db=0").inventory()

    def test_several_hosts_that_are_no_cluster(self, redis_url, source):
        address = redis_url.replace("redis://", "redis://127.0.0.1:1,")
        with pytest.raises(SourceNotFound, match="several hosts that are no cluster"):
            source(address).inventory()

    def test_several_hosts_none_of_which_answers(self, source):
        hosts = ",".join(f"127.0.0.1:{port}" for port in servers.free_ports(2))
        with pytest.raises(SourceUnavailable, match="cannot be reached"):
            source(f"redis://:hunter2@{hosts}/0").inventory()

    def test_a_name_the_sentinels_do_not_know(self, sentinel_url, source):
        address = sentinel_url.replace("mymaster", "another")
        with pytest.raises(SourceUnavailable, match="know no running master"):
            source(address).inventory()

    def test_sentinels_that_are_gone(self, source):
        port = servers.free_port()
        with pytest.raises(SourceUnavailable) as caught:
            source(f"redis+sentinel://:hunter2@127.0.0.1:{port}/mymaster").inventory()
        assert "hunter2" not in str(caught.value)

    def test_a_certificate_nobody_signed(self, tls_url, source):
        with pytest.raises(SourceUnavailable):
            source(tls_url.partition("?")[0]).inventory()

    def test_upstash_by_the_variables_of_its_console(
        self, redis_url, monkeypatch, read_all
    ):
        from holdover.migrate.scan import scan

        with redis.Redis.from_url(redis_url) as client:
            client.set("memory_store:s:e", "v")
        with upstash(redis_url) as service:
            monkeypatch.setenv("UPSTASH_REDIS_REST_URL", f"upstash+{service.url}")
            monkeypatch.setenv("UPSTASH_REDIS_REST_TOKEN", service.token)
            inventory = scan("env:UPSTASH_REDIS_REST_URL")
            assert inventory.groups[0].items == 1
            assert inventory.source == f"upstash+{service.url}"
            monkeypatch.setenv("UPSTASH_REDIS_REST_TOKEN", "wrong")
            with pytest.raises(SourceUnavailable, match="refuses the token"):
                scan("env:UPSTASH_REDIS_REST_URL")


@contextmanager
def sentinel_that_names(port):
    """A sentinel that speaks no more than a client asks for, in front of one server."""
    facts = {
        "name": "mymaster",
        "ip": "127.0.0.1",
        "port": str(port),
        "flags": "master",
        "num-other-sentinels": "0",
    }
    words = [word for pair in facts.items() for word in pair]
    answer = f"*1\r\n*{len(words)}\r\n"
    answer += "".join(f"${len(word)}\r\n{word}\r\n" for word in words)

    class Sentinel(socketserver.StreamRequestHandler):
        def handle(self):
            while head := self.rfile.readline():
                words = []
                for _ in range(int(head[1:])):
                    self.rfile.readline()  # its length
                    words.append(self.rfile.readline().strip().upper())
                found = answer if b"MASTERS" in words else "+OK\r\n"
                self.wfile.write(found.encode())

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Sentinel) as server_:
        server_.daemon_threads = True
        threading.Thread(target=server_.serve_forever, daemon=True).start()
        yield server_.server_address[1]
        server_.shutdown()


def test_sentinel_and_its_master_by_tls(tls_url, redis_url, source, read_all):
    with redis.Redis.from_url(redis_url) as client:
        client.set("memory_store:s:e", "v")
    with (
        sentinel_that_names(urlsplit(tls_url).port) as plain,
        servers.tls(f"redis://127.0.0.1:{plain}") as secure,
    ):
        host, trust = urlsplit(secure).netloc, urlsplit(secure).query
        address = f"rediss+sentinel://{host}/mymaster/0?{trust}"
        assert len(read_all(source(address))[0]) == 1
        with pytest.raises(SourceUnavailable):
            source(address.partition("?")[0]).inventory()


def test_a_service_that_falters_is_read_all_the_same(
    redis_url, sqlite_target, monkeypatch
):
    from holdover.compat.stores import upstash_rest

    monkeypatch.setattr(upstash_rest, "_PAUSE", 0.001)
    with redis.Redis.from_url(redis_url) as client:
        for number in range(2_500):
            client.set(f"memory_store:s{number % 7}:{number}", f"é {number}")
    with upstash(redis_url) as service:
        faults = [429, None, "drop", None, None, 503, 502, "drop late", None] * 4
        service.fail(*faults)
        done = migrate(service.address, sqlite_target)
        assert (done.exit_code, done.copy.written, done.verify.equal) == (0, 2500, 2500)
        assert len(service.requests) > len(faults) / 2
        service.fail(*["drop"] * 5)
        with pytest.raises(SourceUnavailable, match="is not there") as caught:
            migrate(service.address, sqlite_target)
        assert service.token not in str(caught.value)


def test_a_root_has_to_be_text():
    with pytest.raises(UsageError, match="UTF-8"):
        open_source("redis://h", ReadOptions(roots=("\udcff",)))


class TestClients:
    def test_of_a_cluster(self, cluster_url, read_all):
        from holdover.migrate.sources.redis import RedisSource

        with redis.RedisCluster.from_url(cluster_url, decode_responses=True) as client:
            for number in range(30):
                client.set(f"memory_store:s:{number}", "v")
            opened = RedisSource(client, ReadOptions())
            assert opened.inventory().groups[0].items == 30
            assert len(read_all(opened)[0]) == 30
            assert client.get("memory_store:s:1") == "v"
            opened.close()
        assert opened.address.startswith("redis://127.0.0.1:")

    def test_of_one_node_of_a_cluster(self, cluster_url, read_all):
        """Its own part would look like everything."""
        from holdover.migrate.sources.redis import RedisSource

        with (
            redis.RedisCluster.from_url(cluster_url) as cluster,
            redis.Redis.from_url(cluster_url, protocol=2) as client,
        ):
            for number in range(30):
                cluster.set(f"memory_store:s:{number}", "v")
            opened = RedisSource(client, ReadOptions())
            assert len(read_all(opened)[0]) == 30
            opened.close()

    def test_of_a_sentinel(self, sentinel_url, read_all):
        from redis.sentinel import Sentinel

        from holdover.migrate.sources.redis import RedisSource

        host, _, port = urlsplit(sentinel_url).netloc.partition(":")
        master = Sentinel([(host, int(port))], protocol=2).master_for("mymaster")
        with master:
            master.set("memory_store:s:e", "v")
            opened = RedisSource(master, ReadOptions())
            assert len(read_all(opened)[0]) == 1
            opened.close()

    def test_of_no_kind_we_know(self):
        from holdover.migrate.sources.redis import RedisSource

        with pytest.raises(SourceNotFound, match="A dict cannot be read"):
            RedisSource({}, ReadOptions())


def test_the_stores_of_every_folder_are_known():
    """Else the tests above would compare nothing with nothing."""
    assert len(CORPUS_FOLDERS) >= 8
    for folder in CORPUS_FOLDERS:
        assert sum(len(store["entities"]) for store in stores(folder)) > 20
