"""Entity summaries behind the replies: durable, in order, once, and under load."""

import asyncio
import os
import pickle
import threading
import time
from datetime import timedelta

import pytest
from backends import Driven
from entity_models import PROMPTS, Model, capitals, memory_of, turn
from langchain_core.runnables import RunnableLambda
from langgraph.store.memory import InMemoryStore

from holdover.compat import configured
from holdover.compat.entities import batch as entity_batch
from holdover.compat.entities import queue as entity_queue
from holdover.compat.entities.state import Home
from holdover.compat.errors import SyncUseOfAsyncStore
from holdover.compat.repository import Repository

STORES = ("memory", "sqlite", "postgres", "redis", "plain", "async-sqlite")


@pytest.fixture
def driven(way, loop):
    return lambda memory: Driven(memory, way, loop)


@pytest.fixture(params=STORES)
def held(request, shared_store, way):
    if request.param.startswith("async") and way == "sync":
        pytest.skip("an async-only store")
    return shared_store(request.param)


def behind(store, scope, model, **fields):
    return memory_of(model, store=store, scope=scope, background=True, **fields)


def sources(repository, name):
    """The turns of each revision, oldest first."""
    states = repository.history("entity", name)
    return [state.meta["source"].get("turn") for state in reversed(states)]


def queued(store, scope, *lines):
    """Turns that a process left which was killed right after its reply."""
    queue = Repository(store, scope)
    return [
        queue.enqueue(
            {
                "text": line,
                "before": "",
                "lines": f"Human: {line}\nAI: ok",
                "history": f"Human: {line}\nAI: ok",
                "names": capitals("", line).split(", "),
            }
        )
        for line in lines
    ]


class Gated(Model):
    """A model whose summaries wait until they are let through."""

    def __init__(self, **rules):
        super().__init__(**rules)
        self.open = threading.Event()

    def _call(self, prompt):
        if prompt.to_string().startswith("SUMMARISE"):
            self.open.wait(20)
        return super()._call(prompt)

    async def _acall(self, prompt):
        if prompt.to_string().startswith("SUMMARISE"):
            await asyncio.to_thread(self.open.wait, 20)
        return await super()._acall(prompt)


def test_a_save_asks_the_model_nothing(held, scope, driven):
    model = Gated()
    memory = driven(behind(held, scope, model))
    turn(memory, "Ana Ben")
    assert model.asked() == []
    records = driven(Repository(held, scope))
    (work,) = records.pending()
    assert work.content["names"] == ["Ana", "Ben"]
    assert records.get("entity", "Ana") is None
    model.open.set()
    memory.flush()
    assert records.pending() == []
    assert records.get("entity", "Ana").text == "Ana Ben"
    assert sources(records, "Ben") == [[work.key]]
    assert len(model.asked("EXTRACT")) == 1


def test_without_a_store_too(driven):
    model = Gated()
    memory = memory_of(model, background=True)
    turn(driven(memory), "Ana")
    assert (model.asked(), memory.store) == ([], {})
    model.open.set()
    driven(memory).flush()
    assert memory.store == {"Ana": "Ana"}


def test_without_a_load_the_names_are_found_behind_the_reply(driven):
    model = Model()
    model.extract = lambda *parts: time.sleep(0.1) or capitals(*parts)
    memory = memory_of(model, background=True)
    driven(memory).save_context({"input": "Ana naps"}, {"output": "ok"})
    assert memory.store == {}
    driven(memory).flush()
    assert memory.store == {"Ana": "Ana naps"}
    assert len(model.asked("EXTRACT")) == 1


def test_a_turn_that_names_nobody_leaves_nothing_to_do(driven, scope):
    store = InMemoryStore()
    turn(driven(behind(store, scope, Model())), "hello")
    assert Repository(store, scope).pending() == []


def test_the_item_is_no_record_and_in_no_index(scope):
    model = Gated()
    store = InMemoryStore()
    turn(behind(store, scope, model), "Ana")
    assert {item.namespace for item in store.search(scope, limit=99)} == {
        (*scope, "messages")
    }
    (item,) = store.search(("~holdover", "pending"))
    assert item.namespace == ("~holdover", "pending", *scope)
    model.open.set()


def test_the_item_is_redacted(scope):
    def redact(kind, content):
        if kind == "message":
            text = content["data"]["content"].replace("Ana", "X")
            return {**content, "data": {**content["data"], "content": text}}
        return {n: v.replace("Ana", "X") for n, v in content.items()}

    store, model = InMemoryStore(), Gated()
    with configured(redact=redact):
        memory = behind(store, scope, model)
    turn(memory, "Ana naps")
    shown = repr(store._data)
    assert "Ana" not in shown
    assert "X naps" in shown
    model.open.set()
    memory.flush()
    assert dict(memory.store) == {"X": "X naps"}
    assert "Ana" not in repr(store._data)


@pytest.mark.parametrize("how", ["load", "save", "flush", "both"])
@pytest.mark.parametrize("background", [True, False])
def test_the_next_object_does_what_was_left(held, scope, driven, how, background):
    records = driven(Repository(held, scope))
    if hasattr(records._target.store, "_loop"):
        keys = [
            records.enqueue({**one.content})
            for one in leftovers("Ana naps", "Ana sings")
        ]
    else:
        keys = queued(held, scope, "Ana naps", "Ana sings")
    model = Model()
    memory = driven(memory_of(model, store=held, scope=scope, background=background))
    assert len(records.pending()) == 2
    if how in ("load", "both"):
        memory.load_memory_variables({"input": "hello"})
    if how in ("save", "both"):
        memory.save_context({"input": "hello"}, {"output": "ok"})
    if how == "flush":
        memory.flush()
    wait_until(lambda: records.pending() == [])
    assert records.get("entity", "Ana").text == "Ana naps Ana sings"
    assert sources(records, "Ana") == [[key] for key in keys]
    memory.flush()
    assert len(sources(records, "Ana")) == 2


def leftovers(*lines):
    store = InMemoryStore()
    queued(store, ("a", "b"), *lines)
    return Repository(store, ("a", "b")).pending()


def wait_until(true, seconds=20):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_what_was_done_before_a_crash_is_not_done_again(scope):
    store = InMemoryStore()
    (key,) = queued(store, scope, "Ana Ben")
    records = Repository(store, scope)
    # A process that ended after Ana and before Ben, and its lease ran out.
    records.claim("gone", timedelta(seconds=-1))
    records.put("entity", {"name": "Ana", "summary": "Ana Ben"}, source={"turn": [key]})
    model = Model()
    memory = memory_of(model, store=store, scope=scope)
    memory.flush()
    assert [asked[0] for asked in model.asked()] == ["Ben"]
    assert records.get("entity", "Ana").text == "Ana Ben"
    assert records.pending() == []


def test_nor_where_an_earlier_turn_came_after_it(scope):
    """A key is made before its item is written: what is later may be there first."""
    store = InMemoryStore()
    keys = queued(store, scope, "Ana early", "Ana late")
    namespace = ("~holdover", "pending", *scope)
    early = store.get(namespace, keys[0])
    store.delete(namespace, keys[0])
    records = Repository(store, scope)
    # Begun and cut off between the summary and the end of it.
    records.claim("gone", timedelta(seconds=-1))
    records.put(
        "entity", {"name": "Ana", "summary": "Ana late"}, source={"turn": [keys[1]]}
    )
    store.put(namespace, early.key, early.value)
    memory_of(Model(), store=store, scope=scope).flush()
    assert records.get("entity", "Ana").text == "Ana late Ana early"
    assert sources(records, "Ana") == [[keys[1]], [keys[0]]]
    assert records.pending() == []


def test_turns_are_summarised_in_order(driven, scope):
    model = Gated()
    memory = driven(behind(InMemoryStore(), scope, model))
    for number in range(5):
        turn(memory, f"Ana {number}")
    model.open.set()
    memory.flush()
    assert [asked[3] for asked in model.asked()] == [f"Ana {n}" for n in range(5)]
    assert memory.load_memory_variables({"input": "Ana"})["entities"] == {
        "Ana": "Ana 0 Ana 1 Ana 2 Ana 3 Ana 4"
    }


def test_turns_within_the_debounce_make_one_summary(held, scope, driven):
    model = Model()
    memory = driven(behind(held, scope, model, debounce=30))
    turn(memory, "Ana naps")
    turn(memory, "Ana sings with Ben")
    assert model.asked() == []
    memory.flush()
    records = driven(Repository(held, scope))
    said = {asked[0]: asked for asked in model.asked()}
    assert len(model.asked()) == 2
    assert said["Ana"][3] == "Ana naps\nHuman: Ana sings with Ben"
    assert said["Ana"][2] == (
        "Human: Ana naps\nAI: ok\nHuman: Ana sings with Ben\nAI: ok"
    )
    assert said["Ben"][3] == "Ana sings with Ben"
    ((*both,),) = sources(records, "Ana")
    ((second,),) = sources(records, "Ben")
    assert both[1] == second
    assert len(both) == 2


def test_the_debounce_ends_by_itself(driven):
    model = Model()
    memory = driven(memory_of(model, background=True, debounce=0.3))
    turn(memory, "Ana naps")
    turn(memory, "Ana sings")
    wait_until(model.asked)
    assert [asked[3] for asked in model.asked()] == ["Ana naps\nHuman: Ana sings"]


# Errors.


def test_an_error_is_logged_raised_once_and_tried_again(held, scope, driven, caplog):
    model = Model(summary=ConnectionError("down"))
    memory = driven(behind(held, scope, model))
    turn(memory, "Ana")
    with pytest.raises(ConnectionError, match="down"):
        memory.flush()
    assert "ConnectionError" in caplog.text
    assert "down" not in caplog.text  # it may hold what was said
    model.summary = "Ana is fine."
    memory.flush()
    memory.flush()
    records = driven(Repository(held, scope))
    assert records.get("entity", "Ana").text == "Ana is fine."
    assert records.pending() == []


def test_only_what_failed_is_tried_again(scope, driven):
    def summary(entity, before, history, said):
        if entity == "Ben" and broken and "one" in said:
            raise ValueError("Ben")
        return f"{before} {said}".strip()

    broken = True
    store = InMemoryStore()
    model = Model(summary=summary)
    memory = driven(behind(store, scope, model))
    turn(memory, "Ana Ben one")
    turn(memory, "Ana Ben two")
    with pytest.raises(ValueError, match="Ben"):
        memory.flush()
    records = Repository(store, scope)
    assert records.get("entity", "Ana").text == "Ana Ben one Ana Ben two"
    assert [work.content["names"] for work in records.pending()] == [["Ben"]] * 2
    broken = False
    memory.flush()
    # In order, although the second turn would have worked before the first.
    assert records.get("entity", "Ben").text == "Ana Ben one Ana Ben two"
    assert records.get("entity", "Ana").text == "Ana Ben one Ana Ben two"


def test_after_some_attempts_a_turn_is_moved_aside(held, scope, driven, caplog, seen):
    model = Model(summary=ValueError("never"))
    memory = driven(behind(held, scope, model))
    turn(memory, "Ana")
    records = driven(Repository(held, scope))
    flushes = 0
    while records.pending():
        with pytest.raises(ValueError, match="never"):
            memory.flush()
        flushes += 1
    # The first attempt may have been made before anybody waited for it.
    assert flushes in (entity_batch.ATTEMPTS - 1, entity_batch.ATTEMPTS)
    assert len(records.pending(aside=True)) == 1
    assert "moved aside" in caplog.text
    assert "pending_aside" in {event.name for event in seen}
    memory.flush()
    model.summary = "Ana is fine."
    assert records.retry_pending() == 1
    memory.flush()
    assert records.get("entity", "Ana").text == "Ana is fine."


def test_a_busy_session_does_not_use_the_attempts_up(scope):
    store = InMemoryStore()
    model = Model(summary=ValueError)
    for number in range(10):
        memory = behind(store, scope, model)
        turn(memory, f"Ana {number}")
        wait_until(lambda n=number: len(model.asked()) > n)
    time.sleep(0.1)
    assert {work.attempts for work in Repository(store, scope).pending()} <= {0, 1}


def test_an_extraction_that_fails_behind_the_reply_is_tried_again(scope, driven):
    store = InMemoryStore()
    model = Model(extract=TimeoutError("slow"))
    memory = driven(behind(store, scope, model))
    memory.save_context({"input": "Ana"}, {"output": "ok"})
    with pytest.raises(TimeoutError, match="slow"):
        memory.flush()
    model.extract = capitals
    memory.flush()
    assert Repository(store, scope).get("entity", "Ana").text == "Ana"


def test_a_store_that_fails_is_told_too(scope, driven, monkeypatch):
    store = InMemoryStore()
    memory = behind(store, scope, Model())
    turn(driven(memory), "Ana")
    driven(memory).flush()
    monkeypatch.setattr(
        Repository, "_claim", lambda *a: (_ for _ in ()).throw(OSError("disk"))
    )
    with pytest.raises(OSError, match="disk"):
        driven(memory).flush()


ANSWERS = {
    "raises": RuntimeError("broken"),
    "times out": TimeoutError("slow"),
    "none": None,
    "empty": "",
    "huge": "x" * 10_000_000,
    "not text": {"a": 1},
}


@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("where", ["extract", "summary"])
@pytest.mark.parametrize("mode", ["sync", "async", "background", "async background"])
def test_a_model_that_misbehaves_costs_no_turn(loop, mode, where, answer):
    answer = ANSWERS[answer]
    fails = isinstance(answer, Exception)
    model = Model(**{where: answer})
    memory = memory_of(
        model, background="background" in mode, store={"Ana": "kept", "Ben": "kept"}
    )
    mine = Driven(memory, "async" if "async" in mode else "sync", loop)
    inputs, outputs = {"input": "Ana Ben"}, {"output": "ok"}
    errors = []
    for work in (
        lambda: mine.load_memory_variables(inputs),
        lambda: mine.save_context(inputs, outputs),
        mine.flush,
        mine.flush if "background" not in mode else lambda: None,
    ):
        try:
            work()
        except type(answer) as error:
            errors.append(error.args)
    assert memory.store == {"Ana": "kept", "Ben": "kept"}
    assert [m.content for m in memory.buffer] == ["Ana Ben", "ok"]
    assert set(errors) == ({answer.args} if fails else set())


# Several at once.


@pytest.fixture
def two_of_a_file(tmp_path):
    """Two stores on one file, as two processes have them."""
    from holdover.compat.stores.opening import close_store, open_sqlite

    stores = [open_sqlite(str(tmp_path / "both.db")) for _ in range(2)]
    yield stores
    for store in stores:
        close_store(store)


def flush_together(memories):
    threads = [threading.Thread(target=memory.flush) for memory in memories]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)


@pytest.mark.parametrize("background", [True, False])
def test_two_at_once_do_nothing_twice(two_of_a_file, scope, background):
    keys = queued(two_of_a_file[0], scope, *(f"Ana {n}" for n in range(6)))
    models = [Model(delay=0.05) for _ in range(2)]
    flush_together(
        memory_of(model, store=store, scope=scope, background=background)
        for model, store in zip(models, two_of_a_file, strict=True)
    )
    records = Repository(two_of_a_file[0], scope)
    assert sources(records, "Ana") == [[key] for key in keys]
    assert records.get("entity", "Ana").text == " ".join(f"Ana {n}" for n in range(6))
    assert sum(len(model.asked()) for model in models) == 6
    assert records.pending() == []


def test_a_slow_model_keeps_its_lease(two_of_a_file, scope, monkeypatch):
    monkeypatch.setattr(entity_queue, "LEASE", timedelta(seconds=0.6))
    monkeypatch.setattr(entity_batch, "LEASE", timedelta(seconds=0.6))
    monkeypatch.setattr(entity_batch, "BEAT", 0.1)
    (key,) = queued(two_of_a_file[0], scope, "Ana")
    models = [Model(delay=2) for _ in range(2)]
    flush_together(
        memory_of(model, store=store, scope=scope)
        for model, store in zip(models, two_of_a_file, strict=True)
    )
    assert sum(len(model.asked()) for model in models) == 1
    assert sources(Repository(two_of_a_file[0], scope), "Ana") == [[key]]


def test_who_lost_the_lease_writes_nothing(scope):
    store = InMemoryStore()
    queued(store, scope, "Ana")
    records = Repository(store, scope)

    def summary(*_):
        # Somebody takes it over while the model thinks.
        (item,) = store.search(("~holdover", "pending", *scope))
        meta = {**item.value["meta"], "lease": {"owner": "other", "until": "9999"}}
        store.put(item.namespace, item.key, {**item.value, "meta": meta})
        return "late"

    with pytest.raises(TimeoutError):
        memory_of(Model(summary=summary), store=store, scope=scope).flush(0.1)
    assert records.get("entity", "Ana") is None
    assert len(records.pending()) == 1


def test_what_is_cleared_does_not_come_back(held, scope, driven):
    model = Gated()
    memory = driven(behind(held, scope, model))
    turn(memory, "Ana")
    time.sleep(0.2)
    memory.clear()
    model.open.set()
    memory.flush()
    records = driven(Repository(held, scope))
    assert (records.get("entity", "Ana"), records.pending()) == (None, [])
    assert records.page("message") == []


def test_clear_leaves_other_sessions_alone(scope):
    store, model = InMemoryStore(), Gated()
    one, other = (behind(store, (scope[0], name), model) for name in "ab")
    turn(one, "Ana")
    turn(other, "Ana")
    one.clear()
    model.open.set()
    other.flush()
    assert dict(other.store) == {"Ana": "Ana"}
    assert dict(one.store) == {}


def test_forgetting_a_scope_forgets_what_waits(scope):
    store = InMemoryStore()
    queued(store, scope, "Ana")
    Repository(store, scope).forget()
    assert Repository(store, scope).pending() == []


@pytest.mark.parametrize("background", [True, False])
@pytest.mark.parametrize("place", ["private", "memory", "sqlite"])
@pytest.mark.parametrize("sessions", [1, 16])
@pytest.mark.parametrize("shared", [True, False])
def test_sixteen_threads_and_sixteen_tasks(
    background, place, sessions, shared, scope, shared_store
):
    if place == "private" and not (shared or sessions == 16):
        pytest.skip("a private memory is one object")
    model = Model(delay=0.002)

    def make(session):
        fields = {}
        if place != "private":
            fields = {"store": shared_store(place), "scope": (scope[0], f"{session}")}
        return memory_of(model, background=background, **fields)

    memories = [make(session) for session in range(sessions)]

    def of(worker):
        session = worker % sessions
        return memories[session] if shared or place == "private" else make(session)

    def work(worker):
        turn(of(worker), f"Ana thread{worker}")

    async def awork(worker):
        memory = of(worker)
        inputs = {"input": f"Ana task{worker}"}
        await memory.aload_memory_variables(inputs)
        await memory.asave_context(inputs, {"output": "ok"})

    async def tasks():
        await asyncio.gather(*map(awork, range(16)))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(16)]
    for thread in threads:
        thread.start()
    asyncio.run(tasks())
    for thread in threads:
        thread.join(60)
    for session, memory in enumerate(memories):
        memory.flush()
        mine = [n for n in range(16) if n % sessions == session]
        told = sorted(f"{kind}{n}" for kind in ("thread", "task") for n in mine)
        summary = memory.store["Ana"].split()
        assert sorted(word for word in summary if word != "Ana") == told
        assert len(memory.buffer) == 4 * len(mine)


def test_another_process_changes_an_entity_meanwhile(two_of_a_file, scope):
    """Two stores, so nothing in this process keeps the two apart."""
    here, there = two_of_a_file
    other = memory_of(Model(), store=there, scope=scope)
    once = threading.Event()

    def summary(entity, before, history, said):
        if not once.is_set():
            once.set()
            turn(other, "Ana there")
        return f"{before} {said}".strip()

    memory = memory_of(Model(summary=summary), store=here, scope=scope)
    turn(memory, "Ana here")
    assert dict(memory.store) == {"Ana": "Ana there Ana here"}


# Where it runs.


def test_a_flush_leaves_the_event_loop_free(scope):
    memory = behind(InMemoryStore(), scope, Model(delay=0.3))

    async def go():
        ticks = 0
        await memory.aload_memory_variables({"input": "Ana"})
        await memory.asave_context({"input": "Ana"}, {"output": "ok"})
        flushing = asyncio.create_task(memory.aflush())
        while not flushing.done():
            await asyncio.sleep(0.01)
            ticks += 1
        await flushing
        return ticks

    assert asyncio.run(go()) > 5


def test_a_model_that_is_only_async(scope):
    model = Model()

    async def call(prompt):
        return await model._acall(prompt)

    model.llm = RunnableLambda(call)
    memory = behind(InMemoryStore(), scope, model)

    async def go():
        await memory.aload_memory_variables({"input": "Ana"})
        await memory.asave_context({"input": "Ana"}, {"output": "ok"})
        await memory.aflush()

    asyncio.run(go())
    assert dict(memory.store) == {"Ana": "Ana"}


def test_a_loop_that_ends_first_loses_nothing(scope):
    store = InMemoryStore()
    memory = behind(store, scope, Model(delay=0.2))

    async def go():
        await memory.aload_memory_variables({"input": "Ana"})
        await memory.asave_context({"input": "Ana"}, {"output": "ok"})
        await asyncio.sleep(0.05)

    asyncio.run(go())
    memory.flush()
    assert dict(memory.store) == {"Ana": "Ana"}
    assert len(sources(memory.repository, "Ana")) == 1


@pytest.mark.parametrize("end", ["stopped", "closed", "cancelled"])
def test_the_end_of_a_loop_cuts_nothing_off(scope, shared_store, monkeypatch, end):
    """A summary is written while the loop ends: it counts, and counts once."""
    writing, ended = threading.Event(), threading.Event()
    put_many = Repository._put_many

    def slow_put_many(self, kind, *args, **kwargs):
        if kind == "entity":
            writing.set()
            ended.wait(20)
        return (yield from put_many(self, kind, *args, **kwargs))

    monkeypatch.setattr(Repository, "_put_many", slow_put_many)
    memory = behind(shared_store("sqlite"), scope, Model())

    async def go():
        await memory.aload_memory_variables({"input": "Ana"})
        await memory.asave_context({"input": "Ana"}, {"output": "ok"})
        await asyncio.to_thread(writing.wait, 20)

    loop = asyncio.new_event_loop()
    loop.run_until_complete(go())
    if end == "cancelled":
        loop.run_until_complete(cancel_others())
    if end != "stopped":
        loop.close()
    threading.Timer(0.7, ended.set).start()
    memory.flush(20)
    loop.close()
    assert dict(memory.store) == {"Ana": "Ana"}
    assert len(sources(memory.repository, "Ana")) == 1


async def cancel_others():
    """As `asyncio.run` does in the end."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def test_a_loop_that_is_about_to_end_gets_nothing_more_to_do():
    async def ending():
        home = Home(asyncio.get_running_loop())
        await asyncio.sleep(0)
        before = home.loop
        await cancel_others()
        return before is not None, home.loop

    assert asyncio.run(ending()) == (True, None)
    assert Home(None).loop is None


def test_a_sync_flush_in_the_loop_that_is_needed_is_refused(scope):
    memory = behind(InMemoryStore(), scope, Model())

    async def go():
        await memory.aload_memory_variables({"input": "Ana"})
        await memory.asave_context({"input": "Ana"}, {"output": "ok"})
        with pytest.raises(SyncUseOfAsyncStore, match="aflush"):
            memory.flush()
        await memory.aflush()

    asyncio.run(go())
    assert dict(memory.store) == {"Ana": "Ana"}


def test_a_flush_that_takes_too_long(scope, driven):
    model = Gated()
    memory = driven(behind(InMemoryStore(), scope, model))
    turn(memory, "Ana")
    with pytest.raises(TimeoutError):
        memory.flush(0.05)
    model.open.set()
    memory.flush()


def test_a_flush_without_anything_to_do(driven):
    memory = driven(memory_of(Model(), background=True))
    memory.flush()
    driven(memory_of(Model())).flush()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_after_a_fork(tmp_path):
    store = str(tmp_path / "memory.db")
    memory = memory_of(Model(), store=store, session_id="s", background=True)
    turn(memory, "Ana parent")
    memory.flush()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            turn(memory, "Ana child")
            memory.flush(20)
            code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert memory.store["Ana"] == "Ana parent Ana child"


def test_what_waits_in_an_object_goes_with_its_copies(scope):
    from langchain_core.language_models import FakeListLLM

    from holdover.compat.entity import ConversationEntityMemory

    llm = FakeListLLM(responses=["Maya", "Maya naps."])
    memory = ConversationEntityMemory(llm=llm, background=True, debounce=60, **PROMPTS)
    turn(memory, "Maya naps")
    again = pickle.loads(pickle.dumps(memory))
    third = ConversationEntityMemory.from_dict(memory.to_dict(), llm=llm, **PROMPTS)
    for one in (again, third):
        one.flush()
        assert one.store == {"Maya": "Maya naps."}
        llm.i = 1


def test_debounce_without_background_does_nothing_and_says_so(monkeypatch):
    from holdover.compat import notices

    monkeypatch.setattr(notices, "_told", set())
    with pytest.warns(UserWarning, match="background"):
        memory_of(Model(), debounce=1)


def test_a_foreign_entity_store_is_flushed_at_the_end(tmp_path):
    import subprocess
    import sys
    from pathlib import Path

    code = """
import sys
sys.path.insert(0, sys.argv[2])
from entity_models import Model, memory_of, turn
from holdover.compat.base import BaseEntityStore

class Files(BaseEntityStore):
    def get(self, key, default=None): return default
    def set(self, key, value): open(sys.argv[1], "a").write(f"{key}: {value}\\n")
    def delete(self, key): pass
    def exists(self, key): return False
    def clear(self): pass

memory = memory_of(Model(delay=0.1), entity_store=Files(), background=True, debounce=60)
turn(memory, "Ana Ben")
"""
    path = tmp_path / "entities.txt"
    tests = str(Path(__file__).parents[1])
    subprocess.run(
        [sys.executable, "-c", code, str(path), tests], check=True, timeout=60
    )
    assert path.read_text() == "Ana: Ana Ben\nBen: Ana Ben\n"


def test_a_summary_cut_off_before_its_head_counts_after_the_crash(scope):
    from backends import PlainStore, value_of
    from langgraph.store.base import PutOp

    store = PlainStore()
    (key,) = queued(store, scope, "Ana")
    records = Repository(store, scope)
    records.claim("gone", timedelta(seconds=-1))
    records.put("entity", {"name": "Ana", "summary": "before"})
    head = value_of(records, "Ana")
    records.put("entity", {"name": "Ana", "summary": "after"}, source={"turn": [key]})
    store.batch([PutOp((*scope, "entities"), "Ana", head)])
    model = Model()
    memory_of(model, store=store, scope=scope).flush()
    assert model.asked() == []
    assert records.get("entity", "Ana").text == "after"
    assert sources(records, "Ana") == [None, [key]]
