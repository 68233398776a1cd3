"""Many writers at once on a plain Redis: no item is lost, no list holds a ghost."""

import asyncio
import multiprocessing
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from plain_redis import Trampler, connect, disagreements, raw_items, raw_lists, trample

from holdover.compat.stores.redis import PlainRedisStore

SECONDS = 0.7


@pytest.fixture(params=["redis_url", "cluster_url"])
def url(request):
    return request.getfixturevalue(request.param)


def check(url, owned):
    """What each writer left is there, and lists and items agree."""
    wanted = {}
    for mine in owned:
        wanted |= mine
    # On a busy machine one or another may have had no turn.
    assert sum(map(bool, owned)) > len(owned) // 2
    store = PlainRedisStore.from_url(url)
    found = {
        (item.namespace, item.key): item.value
        for item in store.search((), limit=100_000)
    }
    own = {place: v for place, v in found.items() if place[1].startswith("own ")}
    assert own == wanted
    time.sleep(0.05)  # the last of the common ones expire
    store.sweep_ttl()
    client = connect(url)
    assert disagreements(client) == []
    assert {p for p in raw_items(client) if p[1].startswith("own ")} == set(wanted)
    assert raw_lists(client)
    client.close()
    store.close()


def test_sixteen_threads(url):
    store = PlainRedisStore.from_url(url)
    with ThreadPoolExecutor(16) as pool:
        writers = [Trampler(store, seed) for seed in range(16)]
        owned = list(pool.map(lambda writer: writer.run(SECONDS), writers))
    store.close()
    check(url, owned)


def test_sixteen_tasks(url):
    async def race():
        store = PlainRedisStore.from_url(url)
        writers = [Trampler(store, seed) for seed in range(16)]
        owned = await asyncio.gather(*(writer.arun(SECONDS) for writer in writers))
        await store.aclose()
        store.close()
        return owned

    check(url, asyncio.run(race()))


def test_four_processes(redis_url, cluster_url):
    context = multiprocessing.get_context("spawn")
    urls = redis_url, cluster_url
    started = []
    for seed in range(4):
        ours, theirs = context.Pipe(duplex=False)
        arguments = urls, seed, SECONDS, theirs
        process = context.Process(target=trample, args=arguments)
        process.start()
        theirs.close()
        started.append((process, ours))
    owned = {url: [] for url in urls}
    for process, pipe in started:
        for url in urls:
            answer = pipe.recv()
            assert isinstance(answer, dict), answer
            owned[url].append(answer)
        process.join(30)
        assert process.exitcode == 0
    for url in urls:
        check(url, owned[url])
