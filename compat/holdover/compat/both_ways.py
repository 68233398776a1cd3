"""One operation, written once, run synchronously or from async code.

An operation is a generator that yields what has two forms, a `Do` or several
operations `Together`, and gets the result back. `run` drives it synchronously,
`arun` from async code, so the async methods do exactly what the sync ones do.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Awaitable, Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

T = TypeVar("T")

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


def run(operation: Operation[T]) -> T:
    """Drive an operation synchronously."""
    result: Any = None
    error: BaseException | None = None
    while True:
        try:
            step = operation.throw(error) if error else operation.send(result)
        except StopIteration as stop:
            return stop.value  # type: ignore[no-any-return]
        result, error = None, None
        try:
            result = step.call() if isinstance(step, Do) else _all(step.operations)
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
