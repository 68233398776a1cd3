"""Threads and tasks on one session and on many: nothing lost, nothing mixed."""

from __future__ import annotations

import asyncio
import threading

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from holdover.compat.chat_message_histories.store import StoreChatMessageHistory

WRITERS, TURNS = 16, 8


def turn(writer, number):
    return [HumanMessage(f"{writer}:{number}"), AIMessage(f"{writer}:{number}")]


def check_talk(messages, writers):
    """Pairs adjacent, every turn there once, each writer's turns in order."""
    texts = [message.content for message in messages]
    assert [m.type for m in messages] == ["human", "ai"] * (len(texts) // 2)
    assert texts[::2] == texts[1::2]
    for writer in writers:
        own = [text for text in texts[::2] if text.startswith(f"{writer}:")]
        assert own == [f"{writer}:{number}" for number in range(TURNS)]
    assert len(texts) == 2 * TURNS * len(writers)


def in_threads(work):
    failures = []

    def guarded(number):
        try:
            work(number)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(n,)) for n in range(WRITERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


@pytest.mark.parametrize("shared", [True, False], ids=["one object", "an object each"])
def test_threads_on_one_session(store, scope, shared):
    one = StoreChatMessageHistory(store=store, scope=scope)

    def work(writer):
        own = one if shared else StoreChatMessageHistory(store=store, scope=scope)
        for number in range(TURNS):
            own.add_messages(turn(writer, number))
            assert own.last(2)[0].type == "human"

    in_threads(work)
    check_talk(one.messages, range(WRITERS))


def test_threads_on_sessions_of_their_own(store, scope):
    def work(writer):
        own = StoreChatMessageHistory(store=store, scope=(*scope, f"s{writer}"))
        for number in range(TURNS):
            own.add_messages(turn(writer, number))
            check_prefix(own.messages, writer)

    def check_prefix(messages, writer):
        assert {m.content.partition(":")[0] for m in messages} == {str(writer)}

    in_threads(work)
    for writer in range(WRITERS):
        own = StoreChatMessageHistory(store=store, scope=(*scope, f"s{writer}"))
        check_talk(own.messages, [writer])


@pytest.mark.parametrize("sessions", [1, WRITERS])
def test_tasks(store, scope, loop, sessions):
    def history(writer):
        return StoreChatMessageHistory(
            store=store, scope=(*scope, str(writer % sessions))
        )

    async def work(writer):
        own = history(writer)
        for number in range(TURNS):
            await own.aadd_messages(turn(writer, number))
            assert (await own.alast(2))[0].type == "human"

    async def all_of_them():
        await asyncio.gather(*map(work, range(WRITERS)))
        return [await history(session).aget_messages() for session in range(sessions)]

    for session, messages in enumerate(loop.run(all_of_them())):
        check_talk(messages, range(session, WRITERS, sessions))
