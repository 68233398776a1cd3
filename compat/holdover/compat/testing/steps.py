"""What a property asks of a store, and who carries it out.

Properties are generators: each is written once, yields steps and gets their answers.
`run` drives a generator by the store's sync methods, `arun` by the async ones.
"""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable, Coroutine, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

from langgraph.store.base import BaseStore

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Call:
    """One method of the store, by the name of its sync form."""

    method: str
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)

    def now(self, store: BaseStore) -> Any:
        """Call the sync method."""
        return getattr(store, self.method)(*self.args, **self.kwargs)

    async def later(self, store: BaseStore) -> Any:
        """Call the async method of that name."""
        return await getattr(store, f"a{self.method}")(*self.args, **self.kwargs)


@dataclass(frozen=True, slots=True)
class Attempt:
    """A call that may be refused: the answer is the exception, or `None`."""

    call: Call


@dataclass(frozen=True, slots=True)
class Twin:
    """A call of the other kind: async where the check is sync, and the reverse."""

    call: Call


@dataclass(frozen=True, slots=True)
class Threads:
    """Lanes of calls at the same time in threads; the answer lists what was raised."""

    lanes: Sequence[Sequence[Call]]


@dataclass(frozen=True, slots=True)
class Tasks:
    """The same in tasks of one event loop."""

    lanes: Sequence[Sequence[Call]]


@dataclass(frozen=True, slots=True)
class Sweep:
    """`sweep_ttl()`, which the interface does not know, where the store has one."""


@dataclass(frozen=True, slots=True)
class Sleep:
    """Let time pass."""

    seconds: float


Step = Call | Attempt | Twin | Threads | Tasks | Sweep | Sleep
Steps = Generator[Step, Any, T]


def run(store: BaseStore, steps: Steps[T]) -> T:
    """Carry steps out by sync methods."""
    answer: Any = None
    error: BaseException | None = None
    while True:
        try:
            step = steps.send(answer) if error is None else steps.throw(error)
        except StopIteration as done:
            return done.value  # type: ignore[no-any-return]
        answer, error = None, None
        try:
            answer = _perform(store, step)
        except BaseException as raised:  # noqa: BLE001 - it is the property's to judge
            error = raised


async def arun(store: BaseStore, steps: Steps[T]) -> T:
    """Carry steps out by async methods, in the running loop."""
    answer: Any = None
    error: BaseException | None = None
    while True:
        try:
            step = steps.send(answer) if error is None else steps.throw(error)
        except StopIteration as done:
            return done.value  # type: ignore[no-any-return]
        answer, error = None, None
        try:
            answer = await _aperform(store, step)
        except BaseException as raised:  # noqa: BLE001
            error = raised


def _perform(store: BaseStore, step: Step) -> Any:
    match step:
        case Call():
            return step.now(store)
        case Attempt():
            try:
                step.call.now(store)
            except Exception as error:  # noqa: BLE001
                return error
            return None
        case Twin():
            return _in_a_loop(lambda: step.call.later(store))
        case Threads():
            return _threads(store, step.lanes)
        case Tasks():
            return _in_a_loop(lambda: _tasks(store, step.lanes))
        case Sweep():
            return _sweep(store)
        case Sleep():
            time.sleep(step.seconds)
            return None


async def _aperform(store: BaseStore, step: Step) -> Any:
    match step:
        case Call():
            return await step.later(store)
        case Attempt():
            try:
                await step.call.later(store)
            except Exception as error:  # noqa: BLE001
                return error
            return None
        case Twin():
            return await asyncio.to_thread(step.call.now, store)
        case Threads():
            return await asyncio.to_thread(_threads, store, step.lanes)
        case Tasks():
            return await _tasks(store, step.lanes)
        case Sweep():
            found = _sweep(store)
            return await found if inspect.isawaitable(found) else found
        case Sleep():
            await asyncio.sleep(step.seconds)
            return None


def _sweep(store: BaseStore) -> Any:
    sweep: Callable[[], Any] | None = getattr(store, "sweep_ttl", None)
    return None if sweep is None else sweep()


def _in_a_loop(make: Callable[[], Coroutine[Any, Any, T]]) -> T:
    # In a thread of its own: the caller's may be running a loop already.
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(lambda: asyncio.run(make())).result()


def _threads(store: BaseStore, lanes: Sequence[Sequence[Call]]) -> list[Exception]:
    def walk(lane: Sequence[Call]) -> Exception | None:
        try:
            for call in lane:
                call.now(store)
        except Exception as error:  # noqa: BLE001
            return error
        return None

    with ThreadPoolExecutor(len(lanes)) as pool:
        return [error for error in pool.map(walk, lanes) if error is not None]


async def _tasks(store: BaseStore, lanes: Sequence[Sequence[Call]]) -> list[Exception]:
    async def walk(lane: Sequence[Call]) -> Exception | None:
        try:
            for call in lane:
                await call.later(store)
        except Exception as error:  # noqa: BLE001
            return error
        return None

    walks: list[Awaitable[Exception | None]] = [walk(lane) for lane in lanes]
    return [error for error in await asyncio.gather(*walks) if error is not None]


def interleaved(tracks: Sequence[Steps[T]]) -> Steps[list[T]]:
    """Walk several generators in one: while one sleeps, the others go on.

    Only the waiting is shared. No two steps run at the same time.
    """
    results: dict[int, T] = {}
    wakes = dict.fromkeys(range(len(tracks)), 0.0)
    while wakes:
        number = min(wakes, key=lambda one: wakes[one])
        pause = wakes[number] - time.monotonic()
        if pause > 0:
            yield Sleep(pause)
        nap, value = yield from _until_sleep(tracks[number])
        if nap is None:
            results[number] = value
            del wakes[number]
        else:
            wakes[number] = time.monotonic() + nap.seconds
    return [results[number] for number in range(len(tracks))]


def _until_sleep(track: Steps[T]) -> Steps[tuple[Sleep | None, Any]]:
    """Walk to the next sleep, or to the end, which has a value."""
    answer: Any = None
    error: BaseException | None = None
    while True:
        try:
            step = track.send(answer) if error is None else track.throw(error)
        except StopIteration as done:
            return None, done.value
        if isinstance(step, Sleep):
            return step, None
        answer, error = None, None
        try:
            answer = yield step
        except BaseException as raised:  # noqa: BLE001 - the track's to judge
            error = raised
