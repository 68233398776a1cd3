"""Sixteen threads or tasks on one session, and on sixteen: nothing lost or mixed up."""

import asyncio
import re
import threading

import fake_models
import pytest

from holdover.compat import (
    ConversationBufferMemory,
    ConversationBufferWindowMemory,
    ConversationSummaryBufferMemory,
    ConversationTokenBufferMemory,
)

WORKERS, TURNS = 16, 6
KINDS = ("memory", "sqlite", "postgres", "redis")


def token(**arguments):
    return ConversationTokenBufferMemory(
        llm=fake_models.WordModel(), max_token_limit=1_000, **arguments
    )


def summary(**arguments):
    return ConversationSummaryBufferMemory(
        llm=fake_models.WordModel(answers=["S"]), max_token_limit=40, **arguments
    )


def window(**arguments):
    return ConversationBufferWindowMemory(k=1_000, **arguments)


CLASSES = {
    "buffer": ConversationBufferMemory,
    "window": window,
    "token": token,
    "summary": summary,
}


def in_threads(work):
    failures = []

    def guarded(number):
        try:
            work(number)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(n,)) for n in range(WORKERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def one_turn(memory, worker, turn):
    return memory.save_context(
        {"input": f"q {worker} {turn}"}, {"output": f"a {worker} {turn}"}
    )


async def one_turn_awaited(memory, worker, turn):
    await memory.asave_context(
        {"input": f"q {worker} {turn}"}, {"output": f"a {worker} {turn}"}
    )
    await memory.aload_memory_variables({})


def check(messages, workers):
    """Every turn once, question and answer adjacent, each worker's in order."""
    texts = [message.content for message in messages]
    assert len(texts) == 2 * TURNS * len(workers)
    assert len(set(texts)) == len(texts)
    for question, answer in zip(texts[::2], texts[1::2], strict=True):
        assert (question[0], answer[0]) == ("q", "a")
        assert question[1:] == answer[1:]
    for worker in workers:
        turns = [t for t in texts if re.match(rf"q {worker} ", t)]
        assert turns == [f"q {worker} {turn}" for turn in range(TURNS)]


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


@pytest.fixture
def make(kind, shared_store, scope_of, request):
    """Make a memory of a class for a worker: of its own, or of one session."""

    store = shared_store(kind)

    def maker(name, session):
        return CLASSES[name](store=store, scope=(*scope_of, session))

    return maker


@pytest.fixture
def scope_of(request):
    return ("many", request.node.name.replace("/", "-"))


@pytest.mark.parametrize("name", CLASSES)
def test_threads(make, name):
    def work(worker):
        mine, ours = make(name, f"s{worker}"), make(name, "ours")
        for turn in range(TURNS):
            one_turn(mine, worker, turn)
            one_turn(ours, worker, turn)
            mine.load_memory_variables({})

    in_threads(work)

    check(make(name, "ours").chat_memory.messages, range(WORKERS))
    for worker in range(WORKERS):
        check(make(name, f"s{worker}").chat_memory.messages, [worker])


@pytest.mark.parametrize("name", CLASSES)
async def test_tasks(make, name):
    async def work(worker):
        mine, ours = make(name, f"s{worker}"), make(name, "ours")
        for turn in range(TURNS):
            await one_turn_awaited(mine, worker, turn)
            await one_turn_awaited(ours, worker, turn)

    await asyncio.gather(*(work(worker) for worker in range(WORKERS)))

    check(await make(name, "ours").chat_memory.aget_messages(), range(WORKERS))
    for worker in range(WORKERS):
        check(await make(name, f"s{worker}").chat_memory.aget_messages(), [worker])


@pytest.mark.parametrize("name", CLASSES)
def test_threads_on_one_object(make, name):
    memory = make(name, "one")

    def work(worker):
        for turn in range(TURNS):
            one_turn(memory, worker, turn)
            memory.load_memory_variables({})

    in_threads(work)

    check(memory.chat_memory.messages, range(WORKERS))


@pytest.mark.parametrize("name", CLASSES)
def test_threads_on_one_object_without_a_store(name):
    memory = CLASSES[name]()

    def work(worker):
        for turn in range(TURNS):
            one_turn(memory, worker, turn)
            memory.load_memory_variables({})

    in_threads(work)

    texts = [message.content for message in memory.chat_memory.messages]
    assert len(texts) == len(set(texts)) == 2 * TURNS * WORKERS
