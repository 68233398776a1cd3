"""Servers die, are promoted and trade slots while they are read; no key is lost."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack, contextmanager
from urllib.parse import urlsplit

import pytest
import redis
import servers
from redis.crc import key_slot

from holdover.migrate.errors import SourceUnavailable
from holdover.migrate.sources import redis_wire
from holdover.migrate.sources.base import ReadOptions
from holdover.migrate.sources.redis import RedisSource

DAY = 86_400_000
KEYS = 6_000


def fill(client, count=KEYS):
    """Keys in every part of the cluster; every third one with a lifetime."""
    keys = [f"memory_store:s{n % 50}:{n}" for n in range(count)]
    pipeline = client.pipeline(transaction=False)
    for n, key in enumerate(keys):
        pipeline.set(key, f"value {n}", px=None if n % 3 else DAY)
    pipeline.execute()
    return set(keys)


@contextmanager
def opened(address):
    source = RedisSource(address, ReadOptions())
    try:
        yield source
    finally:
        source.close()


def port_of(url):
    return urlsplit(url).port


class Nodes:
    """A cluster by its masters, in the order in which they are scanned."""

    def __init__(self, url, stack):
        self.cluster = stack.enter_context(redis.RedisCluster.from_url(url))
        primaries = sorted(self.cluster.get_primaries(), key=lambda node: node.port)
        self.ports = [node.port for node in primaries]
        self.clients = [
            stack.enter_context(redis.Redis(port=port, protocol=2))
            for port in self.ports
        ]
        self.ids = [
            client.execute_command("CLUSTER MYID").decode() for client in self.clients
        ]

    def slots(self, at):
        ranges = self.clients[0].execute_command("CLUSTER SLOTS")
        return [
            slot
            for first, last, master, *_ in ranges
            if master[1] == self.ports[at]
            for slot in range(first, last + 1)
        ]

    def begin(self, slot, giver, taker):
        """Open a slot at both ends, as `redis-cli --cluster reshard` does."""
        take = "CLUSTER", "SETSLOT", slot, "IMPORTING", self.ids[giver]
        give = "CLUSTER", "SETSLOT", slot, "MIGRATING", self.ids[taker]
        self.clients[taker].execute_command(*take)
        self.clients[giver].execute_command(*give)

    def move(self, slot, giver, taker, count=1_000):
        keys = self.clients[giver].execute_command(
            "CLUSTER", "GETKEYSINSLOT", slot, count
        )
        if keys:
            place = "127.0.0.1", self.ports[taker]
            self.clients[giver].execute_command(
                "MIGRATE", *place, "", 0, 5_000, "KEYS", *keys
            )
        return len(keys)

    def finish(self, slot, taker):
        for client in [self.clients[taker], *self.clients]:
            client.execute_command("CLUSTER", "SETSLOT", slot, "NODE", self.ids[taker])

    def reshard(self, slot, giver, taker):
        self.begin(slot, giver, taker)
        moved = self.move(slot, giver, taker)
        self.finish(slot, taker)
        return moved


@pytest.fixture(scope="module")
def changing_cluster():
    """A cluster for tests that move slots: they stay where they are moved to."""
    try:
        with servers.redis_cluster() as url:
            yield url
    except servers.Unavailable as why:
        pytest.skip(str(why))


@pytest.fixture
def nodes(changing_cluster):
    servers.flush_cluster(changing_cluster)
    with ExitStack() as stack:
        yield Nodes(changing_cluster, stack)


def part_of(nodes, at, keys):
    """How many of the keys one of the masters has."""
    mine = set(nodes.slots(at))
    return sum(key_slot(key.encode()) in mine for key in keys)


def test_keys_that_move_to_a_server_already_scanned_are_found(changing_cluster, nodes):
    keys = fill(nodes.cluster)
    moved = nodes.slots(2)[:150]
    found, resharded = set(), 0
    with opened(changing_cluster) as source:
        for page in source._wire.scan():
            found.update(key.decode() for key in page)
            if not resharded and part_of(nodes, 0, found) >= part_of(nodes, 0, keys):
                # The first is scanned whole; the last gives it what is not seen yet.
                assert part_of(nodes, 2, found) == 0
                resharded = sum(nodes.reshard(slot, 2, 0) for slot in moved)
        assert resharded > 30
        assert found == keys
        assert source._wire.notes() == []  # during the second scan nothing moved


def test_every_key_is_read_once_while_slots_move(changing_cluster, nodes):
    keys = fill(nodes.cluster)
    with opened(changing_cluster) as source:
        assert source.inventory().groups[0].items == KEYS
        batches = source.read(source.partitions()[0], size=500)
        items, slots, moved = [], iter(nodes.slots(0)[:100]), 0
        for batch in batches:
            items += batch.items
            assert (batch.rejects, batch.expired) == ([], 0)
            for slot in [slot for slot, _ in zip(slots, range(20), strict=False)]:
                moved += nodes.reshard(slot, 0, 1)
    assert moved > 20
    check_items(items, keys)


def check_items(items, keys):
    assert len(items) == len(keys)
    assert {f"{i.root}:{i.session}:{i.key}" for i in items} == keys
    for item in items:
        assert item.content["summary"] == f"value {item.key}"
        assert (item.ttl_ms is None) == bool(int(item.key) % 3)


def test_a_slot_that_is_half_moved_is_read_from_both_ends(changing_cluster, nodes):
    keys = fill(nodes.cluster)
    per_slot = Counter(key_slot(key.encode()) for key in keys)
    busiest = max(nodes.slots(1), key=per_slot.__getitem__)
    nodes.begin(busiest, 1, 2)
    try:
        assert nodes.move(busiest, 1, 2, count=1) == 1
        left = nodes.clients[1].execute_command("CLUSTER", "COUNTKEYSINSLOT", busiest)
        assert left >= 1
        with opened(changing_cluster) as source:
            inventory = source.inventory()
            items = [
                item
                for batch in source.read(source.partitions()[0])
                for item in batch.items
            ]
        assert inventory.groups[0].items == KEYS
        check_items(items, keys)
        assert any("Slots of the cluster moved" in note for note in inventory.notes)
    finally:
        nodes.move(busiest, 1, 2)
        nodes.finish(busiest, 2)


def test_a_master_that_dies_is_followed_by_its_replica():
    with ExitStack() as stack:
        url = stack.enter_context(servers.redis_cluster(3, replicas=1))
        nodes = Nodes(url, stack)
        keys = fill(nodes.cluster, 2_000)
        for client in nodes.clients:
            assert client.wait(1, 5_000) == 1
        with opened(url) as source:
            # While values are read …
            batches = source.read(source.partitions()[0], size=200)
            items = list(next(batches).items)
            seed = nodes.ports.index(port_of(url))
            kill(nodes.clients[seed])
            items += [item for batch in batches for item in batch.items]
            check_items(items, keys)
            # … while keys are listed …
            pages = source._wire.scan()
            found = set(next(pages))
            kill(nodes.clients[(seed + 1) % 3])
            found.update(key for page in pages for key in page)
            assert {key.decode() for key in found} == keys
            source.inventory()
        # … and before, as long as one of the named hosts answers.
        port = nodes.ports[(seed + 2) % 3]
        with opened(f"redis://127.0.0.1:{port_of(url)},127.0.0.1:{port}") as source:
            assert source.inventory().groups[0].items == 2_000


def kill(client):
    client.shutdown(nosave=True)
    client.close()


def test_a_master_that_stays_away_is_named(monkeypatch):
    monkeypatch.setattr(redis_wire, "FAILOVER_SECONDS", 1.0)
    with ExitStack() as stack:
        url = stack.enter_context(servers.redis_cluster(3))
        nodes = Nodes(url, stack)
        fill(nodes.cluster, 1_000)
        with opened(url) as source:
            source.inventory()
            gone = next(p for p in nodes.ports if p != port_of(url))
            kill(nodes.clients[nodes.ports.index(gone)])
            with pytest.raises(SourceUnavailable, match=f"127.0.0.1:{gone}, a node of"):
                for _ in source.read(source.partitions()[0], size=100):
                    pass
        with (
            opened(url.replace("//", "//:hunter2@")) as source,
            pytest.raises(SourceUnavailable) as caught,
        ):
            source.inventory()
        assert "hunter2" not in str(caught.value)
        with opened(url) as source, pytest.raises(SourceUnavailable, match=f":{gone}"):
            source.inventory()


def test_slots_that_nobody_has_are_told():
    with ExitStack() as stack:
        no_matter = ("--cluster-require-full-coverage", "no")
        url = stack.enter_context(servers.redis_cluster(1, *no_matter))
        client = stack.enter_context(redis.Redis(port=port_of(url), protocol=2))
        client.set("memory_store:s:e", "v")
        with opened(url) as source:
            assert source.inventory().groups[0].items == 1
        client.execute_command("CLUSTER", "DELSLOTS", *range(100))
        with (
            opened(url) as source,
            pytest.raises(SourceUnavailable, match="no server for 100 of its 16,384"),
        ):
            source.inventory()


def test_a_cluster_that_is_down_is_told(monkeypatch):
    monkeypatch.setattr(redis_wire, "FAILOVER_SECONDS", 0.5)
    with ExitStack() as stack:
        url = stack.enter_context(servers.redis_cluster(3))
        nodes = Nodes(url, stack)
        fill(nodes.cluster, 1_000)
        with opened(url) as source:
            source.inventory()
            # Every node still answers, but says that not all slots have a server.
            slot = key_slot(b"memory_store:s1:1")
            for client in nodes.clients:
                client.execute_command("CLUSTER", "DELSLOTS", slot)
            with pytest.raises(SourceUnavailable, match=r"no server for|is down"):
                list(source.read(source.partitions()[0], size=100))


def test_the_master_that_sentinel_promotes_is_read():
    with ExitStack() as stack:
        address = stack.enter_context(servers.redis_sentinel())
        master = stack.enter_context(
            redis.Redis.from_url(servers.sentinel_master(address))
        )
        keys = fill(master, 3_000)
        assert master.wait(1, 5_000) == 1
        with opened(address) as source:
            assert source.inventory().groups[0].items == 3_000
            batches = source.read(source.partitions()[0], size=500)
            items = list(next(batches).items)
            kill(master)
            items += [item for batch in batches for item in batch.items]
        check_items(items, keys)


def test_a_scan_begins_again_at_another_server():
    """A cursor of the old server would skip keys of the new one without a word."""
    with ExitStack() as stack:
        address = stack.enter_context(servers.redis_sentinel())
        master = stack.enter_context(
            redis.Redis.from_url(servers.sentinel_master(address))
        )
        keys = fill(master, 5_000)
        assert master.wait(1, 5_000) == 1
        with opened(address) as source:
            pages = source._wire.scan()
            found = [next(pages), next(pages)]
            kill(master)
            found += pages
        assert {key.decode() for page in found for key in page} == keys
        # All pages of the new one, besides those of the old.
        assert sum(map(len, found)) >= 5_000 + len(found[0]) + len(found[1])


def test_a_server_that_always_breaks_off_is_told(redis_url):
    with redis.Redis.from_url(redis_url, protocol=2) as client:
        fill(client, 3_000)
    with opened(redis_url) as source:
        wire = source._wire

        def scan():
            for _ in wire.scan():
                wire._line.close()

        with pytest.raises(SourceUnavailable, match="breaks the connection before"):
            scan()


def test_a_user_who_may_not_ask_for_the_nodes_is_told(cluster_url):
    with ExitStack() as stack:
        nodes = Nodes(cluster_url, stack)
        fill(nodes.cluster, 100)
        rights = ["+scan", "+mget", "+pttl", "+strlen", "+type", "~*"]
        for port in nodes.ports:
            url = f"redis://127.0.0.1:{port}/0"
            slots = servers.redis_user(url, "slots", "+cluster|slots", *rights)
            blind = servers.redis_user(url, "blind", *rights)
        with opened(slots) as source:
            inventory = source.inventory()
            assert inventory.groups[0].items == 100
            assert any("moved meanwhile is not known" in n for n in inventory.notes)
        with (
            opened(blind) as source,
            pytest.raises(SourceUnavailable, match="the others are not known"),
        ):
            source.inventory()
        for client in nodes.clients:
            client.acl_deluser("slots", "blind")
