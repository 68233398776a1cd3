"""What a store in plain Redis holds, read by raw commands and its documented layout.

Nothing of the store's own code is used here. The writers of the tests that kill are
here, too: a process started anew has to find them by a plain name.
"""

from __future__ import annotations

import random
import time
from zlib import crc32

import redis


def connect(url, **options):
    """A client that gives bytes; of a cluster, where a node of one answers."""
    client = redis.Redis.from_url(url, protocol=2, **options)
    if client.info("cluster").get("cluster_enabled"):
        client.close()
        return redis.RedisCluster.from_url(url.removesuffix("/0"), **options)
    return client


def text(raw):
    return raw.decode("utf-8", "surrogatepass")


def raw_keys(client, prefix="holdover"):
    """Every key of a store as `{(shard, rest): key}`."""
    begin = prefix.encode() + b":{"
    found = {}
    for key in client.scan_iter(count=1000):
        if key.startswith(begin):
            shard, _, rest = key.removeprefix(begin).partition(b"}:")
            found[int(shard), rest] = key
    return found


def raw_items(client, prefix="holdover"):
    """`{(namespace, key): (created, updated, ttl, json, when it ends)}`."""
    found = {}
    for (_, rest), key in raw_keys(client, prefix).items():
        if not rest.startswith(b"item:"):
            continue
        held = client.get(key)
        if held is None:
            continue
        head, _, json = held.partition(b"\n")
        version, created, updated, ttl = head.split(b";")
        assert version == b"1"
        namespace, _, name = rest.removeprefix(b"item:").partition(b"..")
        place = tuple(text(namespace).split(".")), text(name)
        ends = client.pexpiretime(key)
        found[place] = (
            int(created),
            int(updated),
            int(ttl) if ttl else None,
            json,
            None if ends < 0 else ends,
        )
    return found


def expected_lists(items, shards):
    """The lists that these items have to have, by the documented layout."""
    lists = {}
    for (namespace, key), (_, updated, _, _, ends) in items.items():
        name = ".".join(namespace).encode("utf-8", "surrogatepass")
        member = key.encode("utf-8", "surrogatepass")
        shard = crc32(name) % shards
        labels = b"".join(
            label.encode("utf-8", "surrogatepass") + b"\0" for label in namespace
        )
        lists.setdefault((shard, b"keys:" + name), {})[member] = 0
        lists.setdefault((shard, b"recent:" + name), {})[member] = updated
        lists.setdefault((shard, b"namespaces"), {})[labels] = 0
        if ends is not None:
            full = name + b".." + member
            lists.setdefault((shard, b"expires"), {})[full] = ends
    return lists


def raw_lists(client, prefix="holdover"):
    return {
        place: dict(client.zrange(key, 0, -1, withscores=True))
        for place, key in raw_keys(client, prefix).items()
        if not place[1].startswith(b"item:") and place != (0, b"layout")
    }


def raw_shards(client, prefix="holdover"):
    held = client.get(f"{prefix}:{{0}}:layout")
    assert held.startswith(b"1;shards=")
    return int(held.removeprefix(b"1;shards="))


def disagreements(client, prefix="holdover", *, milliseconds=0):
    """Where lists and items differ; the end of a lifetime may by some milliseconds."""
    items = raw_items(client, prefix)
    lists = raw_lists(client, prefix)
    wanted = expected_lists(items, raw_shards(client, prefix)) if items else {}
    found = []
    for place in sorted({*wanted, *lists}):
        is_, should = lists.get(place, {}), wanted.get(place, {})
        slack = milliseconds if place[1] == b"expires" else 0
        for member in sorted({*is_, *should}):
            a, b = is_.get(member), should.get(member)
            if a is None or b is None or abs(a - b) > slack:
                found.append((place, member, a, b))
    return found


# Writers, each a process of its own.


def calls(seed):
    """Without end, what a writer puts (`None`: deletes) in each call, as pairs."""
    chance = random.Random(seed)
    number = 0
    while True:
        number += 1
        size = chance.choice([1, 1, 2, 5, 20])
        places = chance.sample(range(60), size)
        yield [
            (
                (f"w{seed}", f"n{place % 4}"),
                f"k{place}",
                None if chance.random() < 0.3 else {"call": number, "pad": "x" * place},
                chance.choice([None, None, 600.0]),
            )
            for place in places
        ]


def states(seed):
    """The state after no call, one call, two calls, … of a writer."""
    state = {}
    yield dict(state)
    for call in calls(seed):
        for namespace, key, value, _ in call:
            if value is None:
                state.pop((namespace, key), None)
            else:
                state[namespace, key] = value
        yield dict(state)


def write(url, seed, done, pipe):
    """Carry calls out from number `done` on; tell the number and time of each."""
    from langgraph.store.base import PutOp

    from holdover.compat.stores.redis import PlainRedisStore

    store = None
    for number, call in enumerate(calls(seed), 1):
        if number <= done:
            continue
        ops = [PutOp(namespace, key, v, ttl=ttl) for namespace, key, v, ttl in call]
        while True:
            try:
                store = store or PlainRedisStore.from_url(url)
                store.batch(ops)
            except Exception:
                # The server is away; what is repeated changes nothing.
                time.sleep(0.005)
            else:
                break
        pipe.send((number, time.time()))


def trample(urls, seed, seconds, pipe):
    """Put, delete, read and let expire over namespaces that all writers share."""
    from holdover.compat.stores.redis import PlainRedisStore

    for url in urls:
        store = PlainRedisStore.from_url(url)
        try:
            pipe.send(Trampler(store, seed).run(seconds))
        except Exception as error:
            pipe.send(error)
        store.close()


class Trampler:
    """One of many writers: keys of its own, and keys that all of them change."""

    #: So many turns at least, however busy the machine is.
    LEAST = 10

    def __init__(self, store, seed):
        self.store, self.seed = store, seed
        self.chance, self.turns = random.Random(seed), 0
        self.mine = {}

    def choose(self):
        """An operation: its method, its arguments and what it makes of my own keys."""
        namespace = ("shared", f"n{self.chance.randrange(4)}")
        number = self.chance.randrange(8)
        own, common = f"own {self.seed}/{number}", f"common {number}"
        value = {"by": self.seed, "n": self.chance.random()}
        what = self.chance.randrange(8)
        if what <= 1:
            return "put", (namespace, own, value), {}, ((namespace, own), value)
        if what == 2:
            return "delete", (namespace, own), {}, ((namespace, own), None)
        if what == 3:
            return "put", (namespace, common, value), {}, None
        if what == 4:
            return "delete", (namespace, common), {}, None
        if what == 5:
            ttl = {"ttl": self.chance.choice([0.0001, 0.0005])}
            return "put", (namespace, common, value), ttl, None
        if what == 6:
            return "get", (namespace, own), {}, None
        return "search", (("shared",),), {"limit": 5}, None

    def took(self, chosen, answer):
        method, arguments, _, change = chosen
        if change is not None:
            place, value = change
            self.mine.pop(place, None)
            if value is not None:
                self.mine[place] = value
        if method == "get":
            held = None if answer is None else answer.value
            assert held == self.mine.get(arguments), arguments

    def run(self, seconds):
        ends = time.monotonic() + seconds
        while time.monotonic() < ends or self.turns < self.LEAST:
            self.turns += 1
            chosen = method, arguments, options, _ = self.choose()
            self.took(chosen, getattr(self.store, method)(*arguments, **options))
        return self.mine

    async def arun(self, seconds):
        ends = time.monotonic() + seconds
        while time.monotonic() < ends or self.turns < self.LEAST:
            self.turns += 1
            chosen = method, arguments, options, _ = self.choose()
            answer = await getattr(self.store, f"a{method}")(*arguments, **options)
            self.took(chosen, answer)
        return self.mine
