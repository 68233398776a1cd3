"""Steps and who carries them out: sync, async, from threads and from loops."""

import asyncio
import threading

import pytest
from backends import Loop, PlainStore, opened
from langgraph.store.base import GetOp, PutOp, SearchOp
from langgraph.store.base.batch import AsyncBatchedBaseStore
from langgraph.store.memory import InMemoryStore

from holdover.compat.errors import StoreUnavailable, SyncUseOfAsyncStore
from holdover.compat.repository import Repository
from holdover.compat.stores import backend as backends
from holdover.compat.stores.backend import (
    Call,
    Namespaces,
    Older,
    Page,
    PlainBackend,
    Read,
    Write,
    arun,
    run,
)
from holdover.compat.stores.choosing import backend_for


def entity(name, summary):
    return {"name": name, "summary": summary}


class AwaitOnly(AsyncBatchedBaseStore):
    """A store of somebody's own that can only be awaited."""

    def __init__(self):
        super().__init__()
        self.inner = InMemoryStore()

    async def abatch(self, ops):
        await asyncio.sleep(0)
        return self.inner.batch(list(ops))


# --- async-only stores --------------------------------------------------------


@pytest.fixture(params=["async-sqlite", "async-postgres", "await-only"])
def awaited(request, loop, tmp_path):
    """A store that lives in the loop of another thread."""
    if request.param == "await-only":

        async def make():
            return AwaitOnly()

        yield loop.run(make())
        return
    url = None
    if "postgres" in request.param:
        pytest.importorskip("langgraph.store.postgres")
        url = request.getfixturevalue("postgres_url")
    with opened(request.param, loop, path=tmp_path / "s.db", url=url) as store:
        yield store


def test_sync_use_in_its_own_loop_says_what_to_do(awaited, loop):
    mine = Repository(awaited, "s")

    async def use_sync():
        return mine.get("entity", "a")

    with pytest.raises(SyncUseOfAsyncStore, match="async twin") as refused:
        loop.run(use_sync())
    assert isinstance(refused.value, RuntimeError)


def test_sync_use_from_another_thread_works(awaited):
    mine = Repository(awaited, "s")
    mine.put("entity", entity("a", "x"))
    assert mine.get("entity", "a").text == "x"
    assert [r.text for r in mine.page("entity")] == ["x"]


def test_async_use_from_another_loop_works(awaited, loop):
    mine = Repository(awaited, "s")

    async def compete():
        await asyncio.gather(*(mine.aget("entity", str(n)) for n in range(20)))

    # Now its locks belong to its own loop.
    loop.run(compete())

    async def use():
        await asyncio.gather(
            *(mine.aput("entity", entity(str(n), "x")) for n in range(20))
        )
        return [r.name async for r in mine.arecords("entity")]

    assert len(asyncio.run(use())) == 20


def test_sync_use_after_its_loop_ended_says_what_to_do():
    other = Loop()

    async def make():
        return AwaitOnly()

    store = other.run(make())
    other.close()
    with pytest.raises(SyncUseOfAsyncStore):
        Repository(store, "s").get("entity", "a")


def test_many_tasks_at_once(awaited, loop):
    mine = Repository(awaited, "s", history="all")

    async def work(worker):
        for n in range(10):
            await mine.aput("entity", entity(f"{worker}", f"{n}"))
            record = await mine.aget("entity", f"{worker}")
            assert record.text == f"{n}"

    async def both():
        await asyncio.gather(*(work(n) for n in range(16)))
        return [len(await mine.ahistory("entity", str(n))) for n in range(16)]

    assert loop.run(both()) == [10] * 16


# --- sync stores in async code ------------------------------------------------


def test_a_sync_store_leaves_the_loop_free(shared_store, scope):
    store = shared_store("plain")
    mine = Repository(store, scope)
    threads = set()
    batch = store.batch

    def noting(ops):
        threads.add(threading.current_thread())
        return batch(ops)

    store.batch = noting
    try:
        asyncio.run(mine.aput("entity", entity("a", "x")))
    finally:
        del store.batch
    assert threading.current_thread() not in threads


@pytest.mark.parametrize(
    "kind", ["memory", "sqlite", "stock-sqlite", "plain", "postgres"]
)
def test_sixteen_threads(kind, shared_store, scope):
    mine = Repository(shared_store(kind), scope, history="all")
    failures = []

    def work(worker):
        try:
            for n in range(15):
                mine.put("entity", entity(f"own {worker}", f"{n}"))
                mine.put("entity", entity("shared", f"{worker}/{n}"))
                assert mine.get("entity", f"own {worker}").text == f"{n}"
                assert mine.get("entity", "shared") is not None
                mine.page("entity", limit=5)
                mine.search("entity", limit=5)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(mine.history("entity", "shared")) == 16 * 15
    assert mine.count("entity") == 17


def test_a_search_of_memory_that_met_a_write_is_repeated(scope):
    store = InMemoryStore()
    mine = Repository(store, scope)
    mine.put("entity", entity("a", "x"))
    search, failures = mine._backend.search, [1, 2]

    def met_a_write(op):
        if failures:
            failures.pop()
            raise RuntimeError("dictionary changed size during iteration")
        return search(op)

    mine._backend.search = met_a_write
    assert [record.text for record, _ in mine.search("entity")] == ["x"]
    assert failures == []


# --- driving ------------------------------------------------------------------


class Flaky(PlainBackend):
    """Fails so many times, as a deadlock would."""

    def __init__(self, failures):
        super().__init__(PlainStore())
        self.failures, self.attempts = failures, 0

    def write(self, groups):
        self.attempts += 1
        if self.attempts <= self.failures:
            raise TimeoutError("deadlock")
        super().write(groups)

    def transient(self, error):
        return isinstance(error, TimeoutError)

    def translate(self, error):
        return StoreUnavailable(str(error))


def one_write(backend):
    yield Write([[backend.put_op(("n",), "k", {"x": 1})]])
    return (yield Read([(("n",), "k")]))


@pytest.fixture
def no_pauses(monkeypatch):
    monkeypatch.setattr(backends, "_FIRST_PAUSE", 0)


@pytest.mark.parametrize("failures", [0, 1, 12])
def test_transient_failures_are_repeated(failures, no_pauses, way):
    backend = Flaky(failures)
    steps = one_write(backend)
    value = run(backend, steps) if way == "sync" else asyncio.run(arun(backend, steps))
    assert value == [{"x": 1}]
    assert backend.attempts == failures + 1


def test_but_not_for_ever(no_pauses, monkeypatch):
    backend = Flaky(1_000)
    with pytest.raises(StoreUnavailable, match="deadlock"):
        run(backend, one_write(backend))
    assert backend.attempts == 13
    # Nor for long, where each attempt itself waits for a lock.
    monkeypatch.setattr(backends, "_PATIENCE_SECONDS", -1)
    impatient = Flaky(1_000)
    with pytest.raises(StoreUnavailable):
        run(impatient, one_write(impatient))
    assert impatient.attempts == 1


def test_an_operation_may_catch_what_a_step_raised():
    class Broken(PlainBackend):
        def read(self, pairs):
            raise OSError("down")

    def steps():
        try:
            yield Read([(("n",), "k")])
        except OSError as error:
            return str(error)

    assert run(Broken(PlainStore()), steps()) == "down"


def test_calls_are_steps_too(way):
    def steps():
        return (yield Call(lambda: 5))

    backend = PlainBackend(PlainStore())
    found = (
        run(backend, steps()) if way == "sync" else asyncio.run(arun(backend, steps()))
    )
    assert found == 5


# --- batches ------------------------------------------------------------------


@pytest.mark.parametrize("atomic", [True, False])
def test_batches_keep_groups_together_below_the_limit(atomic):
    class Small(PlainBackend):
        max_puts = 10

    Small.atomic = atomic
    backend = Small(PlainStore())
    groups = [
        [
            backend.put_op(("~holdover", "journal", f"{n:02}"), "r", {"n": n}),
            backend.put_op(("scope",), f"{n:02}", {"n": n}),
        ]
        for n in reversed(range(13))
    ]
    batches = list(backend.batches(groups))
    assert sum(map(len, batches)) == 26
    assert all(len(batch) <= 10 for batch in batches)
    written = {}
    for at, batch in enumerate(batches):
        for op in batch:
            written[op.namespace[0], op.value["n"]] = at
    for n in range(13):
        journal, head = written["~holdover", n], written["scope", n]
        assert journal == head if atomic else journal < head


def test_one_group_may_be_larger_than_a_batch():
    class Small(PlainBackend):
        max_puts = 10

    backend = Small(PlainStore())
    group = [backend.put_op(("~holdover", "x"), str(n), None) for n in range(25)]
    group.append(backend.put_op(("scope",), "k", {"x": 1}))
    sizes = [len(batch) for batch in backend.batches([group])]
    assert sizes == [10, 10, 5, 1]


def test_a_put_asks_for_no_ttl_where_none_is_kept():
    assert PlainBackend(PlainStore()).put_op(("n",), "k", {}, ttl=5).ttl is None


# --- what each backend answers ------------------------------------------------


def test_every_backend_gives_the_same_answers(store, scope, loop):
    backend = backend_for(store)
    namespace = (*scope, "answers")
    neighbours = [(*namespace, "below"), (*scope, "answers2"), (*scope, "answer")]
    keys = ["a", "B", "b", "é", "\U0001f389", "ab", "a b", "0", "~", "Z"]

    def steps():
        groups = [[backend.put_op(namespace, k, {"k": k})] for k in keys]
        groups += [
            [backend.put_op(ns, k, {"no": 1})] for ns in neighbours for k in keys
        ]
        yield Write(groups)
        found = [(yield Read([(namespace, key) for key in [*keys, "missing"]]))]
        for after, limit, reverse in [
            (None, 100, False),
            (None, 3, False),
            ("a", 3, False),
            ("a", 100, True),
            (None, 2, True),
            ("zzz", 5, False),
            ("!", 5, True),
        ]:
            page = yield Page(namespace, after, limit, reverse)
            found.append([key for key, _ in page])
            assert all(value == {"k": key} for key, value in page)
        for keep in (0, 3, 100):
            found.append((yield Older(namespace, keep)))
        found.append(sorted((yield Namespaces(namespace))))
        yield Write([[backend.put_op(namespace, key, None)] for key in keys[:4]])
        found.append([key for key, _ in (yield Page(namespace))])
        return found

    found = (
        loop.run(arun(backend, steps())) if backend.is_async else run(backend, steps())
    )
    ordered = sorted(keys)
    assert found == [
        [*({"k": key} for key in keys), None],
        ordered,
        ordered[:3],
        [key for key in ordered if key > "a"][:3],
        [key for key in ordered if key < "a"][::-1],
        ordered[::-1][:2],
        [key for key in ordered if key > "zzz"],
        [],
        ordered[::-1],
        ordered[::-1][3:],
        [],
        [namespace, neighbours[0]],
        [key for key in ordered if key not in keys[:4]],
    ]


def test_reads_of_memory_leave_no_ghosts():
    store = InMemoryStore()
    mine = Repository(store, "s")
    mine.get("entity", "a")
    mine.page("entity")
    mine.search("entity")
    assert store.list_namespaces() == []


def test_reads_never_extend_a_lifetime(scope):
    class Strict(PlainStore):
        def batch(self, ops):
            ops = list(ops)
            for op in ops:
                assert not (isinstance(op, GetOp | SearchOp) and op.refresh_ttl)
            return super().batch(ops)

    mine = Repository(Strict(), scope)
    mine.put("entity", entity("a", "x"))
    mine.get("entity", "a")
    mine.search("entity")
    mine.page("entity")
    mine.history("entity", "a")
    mine.delete("entity", "a")


@pytest.mark.parametrize("name", ["RedisStore", "AsyncRedisStore"])
def test_a_store_that_loses_data_is_refused(name, monkeypatch):
    from holdover.compat.errors import StoreUnsuitable

    lossy = type(name, (PlainStore,), {"__module__": "langgraph.store.redis.base"})
    of_users = type("MyStore", (lossy,), {})
    for store in (lossy(), of_users()):
        with pytest.raises(StoreUnsuitable, match="unsafe=True") as refused:
            Repository(store, "s")
        assert "case" in refused.value.failed
        Repository(store, "s", unsafe=True).put("entity", entity("a", "x"))
    import importlib.metadata

    for version, refused in [("0.5.2", True), ("0.4.9", True), ("0.5.3", False)]:
        monkeypatch.setattr(importlib.metadata, "version", lambda _, v=version: v)
        if refused:
            with pytest.raises(StoreUnsuitable, match=version):
                backend_for(lossy())
        else:
            backend_for(lossy())


def test_puts_leave_the_loop_of_others_alone(scope):
    """`aput` would share its batch with strangers' operations of the same tick."""

    class Watched(PlainStore):
        async def aput(self, *arguments, **options):
            raise AssertionError("never aput")

        put = aput

    mine = Repository(Watched(), scope)
    asyncio.run(mine.aput("entity", entity("a", "x")))
    assert isinstance(PutOp(("a",), "k", {}), PutOp)
