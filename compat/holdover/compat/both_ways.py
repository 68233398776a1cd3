"""One operation, written once, run synchronously or from async code.

An operation is a generator that yields what has two forms, a `Do` or several
operations `Together`, and gets the result back. `run` drives it synchronously,
`arun` from async code, so the async methods do exactly what the sync ones do.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Awaitable, Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any, TypeVar

T = TypeVar("T")

# How often a thread looks whether the loop it waits for still runs.
_LOOK_SECONDS = 0.2
#: How many operations of one `Together` run at the same time.
AT_ONCE = 16


@dataclass(frozen=True, slots=True)
class Do:
    """One thing with two forms: a call, and its awaitable twin."""

    call: Callable[[], Any]
    acall: Callable[[], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Together:
    """Operations that run at the same time.

    It gives, for each in order, its result or the exception it ended with: what the
    others did is not lost.
    """

    operations: Sequence[Operation[Any]]


Operation = Generator[Do | Together, Any, T]


class _Stopped(Exception):
    """Carries a `StopIteration` through a generator, which may not raise one."""

    def __init__(self, stop: StopIteration) -> None:
        super().__init__()
        self.stop = stop


def run(operation: Operation[T]) -> T:
    """Drive an operation synchronously."""
    result: Any = None
    error: BaseException | None = None
    while True:
        try:
            step = operation.throw(error) if error else operation.send(result)
        except StopIteration as stop:
            return stop.value  # type: ignore[no-any-return]
        except _Stopped as stopped:
            raise stopped.stop from None
        result, error = None, None
        try:
            result = step.call() if isinstance(step, Do) else _all(step.operations)
        except StopIteration as stop:  # of a model that has no more to say
            error = _Stopped(stop)
        except BaseException as failure:  # noqa: BLE001 - handed to the operation
            error = failure


async def arun(operation: Operation[T]) -> T:
    """Drive an operation from async code."""
    result: Any = None
    error: BaseException | None = None
    while True:
        try:
            step = operation.throw(error) if error else operation.send(result)
        except StopIteration as stop:
            return stop.value  # type: ignore[no-any-return]
        result, error = None, None
        try:
            if isinstance(step, Do):
                result = await step.acall()
            else:
                result = await _aall(step.operations)
        except BaseException as failure:  # noqa: BLE001 - handed to the operation
            error = failure


def _all(operations: Sequence[Operation[Any]]) -> list[Any]:
    if len(operations) < 2:  # noqa: PLR2004 - alone, it needs no thread
        return [_settled(operation) for operation in operations]
    with ThreadPoolExecutor(min(AT_ONCE, len(operations))) as pool:
        # Each thread sees the caller's context: callbacks, `configured` blocks.
        futures = [
            pool.submit(contextvars.copy_context().run, _settled, operation)
            for operation in operations
        ]
        return [future.result() for future in futures]


def _settled(operation: Operation[Any]) -> Any:
    try:
        return run(operation)
    except Exception as error:  # noqa: BLE001 - given as the result
        return error


async def _aall(operations: Sequence[Operation[Any]]) -> list[Any]:
    gate = asyncio.Semaphore(AT_ONCE)

    async def settled(operation: Operation[Any]) -> Any:
        async with gate:
            try:
                return await arun(operation)
            except Exception as error:  # noqa: BLE001 - given as the result
                return error

    return list(await asyncio.gather(*map(settled, operations)))


def visiting(
    loop: asyncio.AbstractEventLoop | None, operation: Operation[T]
) -> Operation[T]:
    """An operation whose steps a thread takes on an event loop, while that runs.

    What async code uses, such as a model, may work only in its loop. The operation
    itself stays in the thread: the end of the loop would cut it in the middle.
    """
    result: Any = None
    error: BaseException | None = None
    while True:
        try:
            step = operation.throw(error) if error else operation.send(result)
        except StopIteration as stop:
            return stop.value  # type: ignore[no-any-return]
        result, error = None, None
        there: Do | Together
        if isinstance(step, Do):
            there = _there(loop, step)
        else:
            there = Together([visiting(loop, one) for one in step.operations])
        try:
            result = yield there
        except BaseException as failure:  # noqa: BLE001 - handed to the operation
            error = failure


def _there(loop: asyncio.AbstractEventLoop | None, step: Do) -> Do:
    def call() -> Any:
        if loop is None or not loop.is_running():
            return step.call()
        awaited = _awaited(step)
        try:
            done = asyncio.run_coroutine_threadsafe(awaited, loop)
        except RuntimeError:  # it was closed in this moment
            awaited.close()
            return step.call()
        while not wait([done], _LOOK_SECONDS).done:
            if not loop.is_running():
                done.cancel()
                return step.call()
        # Cancelled, where the loop ends.
        return step.call() if done.cancelled() else done.result()

    return Do(call, step.acall)


async def _awaited(step: Do) -> Any:
    return await step.acall()


def twins(owner: Any, name: str, twin: str, *arguments: Any) -> Do:
    """A method or property and its async twin; a subclass may have replaced but one.

    What is nearer to the class counts: the async form of a method that was overridden
    alone is that method, in a thread.
    """

    def call() -> Any:
        value = getattr(owner, name)
        return value if isinstance(vars(home)[name], property) else value(*arguments)

    home, depth = _defined(type(owner), name)
    if depth < _defined(type(owner), twin)[1]:
        return Do(call, lambda: asyncio.to_thread(call))
    return Do(call, lambda: getattr(owner, twin)(*arguments))


def _defined(kind: type, name: str) -> tuple[type, int]:
    """The class a name is defined in, and how far up that is."""
    return next((one, at) for at, one in enumerate(kind.__mro__) if name in vars(one))
