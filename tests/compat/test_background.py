"""The worker behind the replies, and the turnstile before a session."""

import asyncio
import os
import subprocess
import sys
import threading
import time

import pytest

from holdover.compat import background
from holdover.compat.background import THREADS, Outcome, Worker
from holdover.compat.both_ways import arun, run
from holdover.compat.entities.turnstile import Turnstile, turnstile


class Work:
    """Work that notes when it is done, and by which thread."""

    def __init__(self, *outcomes, seconds=0.0):
        self.outcomes, self.seconds = list(outcomes), seconds
        self.done, self.threads = [], set()
        self.gate = None

    def __call__(self):
        if self.gate:
            self.gate.wait(10)
        time.sleep(self.seconds)
        self.done.append(time.monotonic())
        self.threads.add(threading.current_thread())
        outcome = self.outcomes.pop(0) if self.outcomes else Outcome()
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome


def test_work_is_done_by_a_daemon_thread():
    worker, work = Worker(), Work()
    worker.finished("a", work).result(10)
    (thread,) = work.threads
    assert thread.daemon
    assert thread is not threading.current_thread()


def test_work_of_one_key_is_done_once_for_several_calls():
    worker, work = Worker(), Work()
    for _ in range(5):
        worker.wake("a", work, after=0.05)
    worker.finished("b", Work()).result(10)
    time.sleep(0.2)
    assert len(work.done) == 1


def test_work_waits_until_it_is_due_and_a_flush_does_not():
    worker, work = Worker(), Work()
    worker.wake("a", work, after=60)
    began = time.monotonic()
    worker.finished("a", work).result(10)
    assert time.monotonic() - began < 5
    assert len(work.done) == 1


def test_a_later_call_does_not_put_it_off():
    worker, work = Worker(), Work()
    worker.wake("a", work, after=0.05)
    worker.wake("a", work, after=60)
    time.sleep(0.3)
    assert len(work.done) == 1


def test_what_comes_while_it_is_done_is_done_afterwards():
    worker, work = Worker(), Work()
    work.gate = threading.Event()
    first = worker.finished("a", work)
    time.sleep(0.05)
    second = worker.finished("a", work)
    work.gate.set()
    first.result(10)
    second.result(10)
    assert len(work.done) == 2


def test_several_keys_at_once_but_no_more_threads_than_allowed():
    worker = Worker()
    works = [Work(seconds=0.1) for _ in range(20)]
    began = time.monotonic()
    for future in [worker.finished(key, work) for key, work in enumerate(works)]:
        future.result(10)
    assert time.monotonic() - began < 20 * 0.1 * 0.8
    assert len(set().union(*(work.threads for work in works))) <= THREADS


def test_an_error_is_logged_and_given_once(caplog):
    worker = Worker()
    worker.finished("a", Work(ValueError("first"))).result(10)
    worker.finished("a", Work(ValueError("second"))).result(10)
    assert "ValueError" in caplog.text
    assert "first" not in caplog.text  # it may hold what was said
    assert str(worker.take_error("a")) == "first"
    assert worker.take_error("a") is None
    assert worker.take_error("b") is None


def test_work_can_ask_to_be_done_again_and_a_flush_waits_for_that():
    worker = Worker()
    work = Work(Outcome(again=0.05, settled=False), Outcome(again=0.05, settled=False))
    worker.finished("a", work).result(10)
    assert len(work.done) == 3


def test_a_flush_does_not_wait_for_a_later_attempt():
    worker, work = Worker(), Work(Outcome(again=60))
    worker.finished("a", work).result(10)
    assert len(work.done) == 1
    worker.finished("a", work).result(10)
    assert len(work.done) == 2


def test_dropped_work_is_not_done():
    worker, work = Worker(), Work()
    worker.wake("a", work, after=0.05)
    worker.keep_error("a", ValueError())
    worker.drop("a")
    time.sleep(0.2)
    assert (work.done, worker.take_error("a")) == ([], None)


def test_who_waits_for_dropped_work_is_let_go():
    worker, work = Worker(), Work()
    work.gate = threading.Event()
    worker.finished("a", work)
    time.sleep(0.05)
    waiting = worker.finished("a", work)
    worker.drop("a")
    waiting.result(10)
    work.gate.set()


def test_threads_without_work_end(monkeypatch):
    monkeypatch.setattr(background, "_IDLE_SECONDS", 0.05)
    worker, work = Worker(), Work()
    worker.finished("a", work).result(10)
    (thread,) = work.threads
    thread.join(10)
    assert not thread.is_alive()
    worker.finished("a", work).result(10)
    assert len(work.done) == 2


def test_waiting_for_what_would_be_lost():
    worker, volatile, durable = Worker(), Work(), Work()
    worker.wake("a", volatile, after=60, volatile=True)
    worker.wake("b", durable, after=60)
    assert worker.wait_for_volatile(10) == 0
    assert (len(volatile.done), len(durable.done)) == (1, 0)
    volatile.gate = threading.Event()
    worker.wake("a", volatile, volatile=True)
    assert worker.wait_for_volatile(0.05) == 1
    volatile.gate.set()


def test_one_worker_for_a_process():
    assert background.worker() is background.worker()


_ENDING = """
import sys, time
from holdover.compat.background import Outcome, worker

def work():
    time.sleep(float(sys.argv[1]))
    print("done", flush=True)
    return Outcome()

worker().wake("a", work, after=60, volatile=sys.argv[2] == "volatile")
"""


@pytest.mark.parametrize(
    ("seconds", "kind", "out"),
    [("0", "volatile", "done\n"), ("0", "durable", ""), ("60", "volatile", "")],
)
def test_the_end_of_the_interpreter(seconds, kind, out):
    began = time.monotonic()
    ended = subprocess.run(
        [sys.executable, "-c", _ENDING, seconds, kind],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert ended.stdout == out
    assert ("call flush()" in ended.stderr) == (seconds == "60")
    assert time.monotonic() - began < 30


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_process_has_a_worker_of_its_own():
    background.worker().finished("a", Work()).result(10)
    pid = os.fork()
    if pid == 0:
        work = Work()
        try:
            background.worker().finished("a", work).result(10)
            os._exit(0 if work.done else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


# The turnstile.


def passing(gate, note, seconds=0.0):
    """An operation that goes through a turnstile."""
    from holdover.compat.both_ways import Do

    came = yield from gate.enter()
    note.append("in")
    try:
        yield Do(lambda: time.sleep(seconds), lambda: asyncio.sleep(seconds))
    finally:
        note.append("out")
        if came:
            gate.leave()
    return came


def test_one_at_a_time_threads_and_tasks():
    gate, note = Turnstile(), []

    async def tasks():
        each = [arun(passing(gate, note, 0.005)) for _ in range(8)]
        assert all(await asyncio.gather(*each))

    threads = [
        threading.Thread(target=run, args=(passing(gate, note, 0.005),))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    asyncio.run(tasks())
    for thread in threads:
        thread.join(10)
    assert note == ["in", "out"] * 16


def test_who_came_first_goes_first():
    gate, order = Turnstile(), []

    def one(number):
        yield from gate.enter()
        order.append(number)
        gate.leave()

    async def all_of_them():
        await arun(gate.enter())
        waiting = []
        for number in range(5):
            waiting.append(asyncio.create_task(arun(one(number))))
            await asyncio.sleep(0)
        gate.leave()
        await asyncio.gather(*waiting)

    asyncio.run(all_of_them())
    assert order == [0, 1, 2, 3, 4]


def test_a_cancelled_one_is_passed_over():
    gate, note = Turnstile(), []

    async def go():
        await arun(gate.enter())
        gone = asyncio.create_task(arun(passing(gate, note)))
        stays = asyncio.create_task(arun(passing(gate, note)))
        await asyncio.sleep(0.01)
        gone.cancel()
        await asyncio.sleep(0.01)
        gate.leave()
        await stays

    asyncio.run(go())
    assert note == ["in", "out"]
    assert run(gate.enter())


def test_one_cancelled_at_the_moment_it_comes_leaves_again():
    gate = Turnstile()

    async def go():
        await arun(gate.enter())
        gone = asyncio.create_task(arun(passing(gate, [])))
        await asyncio.sleep(0.01)
        gate.leave()
        gone.cancel()
        await asyncio.gather(gone, return_exceptions=True)

    asyncio.run(go())
    assert run(gate.enter(0.1))


@pytest.mark.parametrize("way", ["sync", "async"])
def test_patience_ends(way):
    gate = Turnstile()
    assert run(gate.enter())
    if way == "sync":
        assert run(gate.enter(0.05)) is False
    else:
        assert asyncio.run(arun(gate.enter(0.05))) is False
    gate.leave()
    assert run(gate.enter())


def test_a_sync_call_does_not_block_the_loop_that_is_needed():
    gate = Turnstile()

    async def go():
        held = asyncio.create_task(arun(passing(gate, [], 0.05)))
        await asyncio.sleep(0.01)
        assert run(gate.enter()) is False
        assert await held

    asyncio.run(asyncio.wait_for(go(), 10))


def test_one_turnstile_for_a_key_while_it_is_used():
    one = turnstile("key")
    assert turnstile("key") is one
    assert turnstile("other") is not one
