"""Calls a function for many paths in several processes, and gives results in order.

A parser that is written in C can end its process, and so can a lack of memory. That
costs the one file it was at: what else was under way is done again, one file a time.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import connection
from typing import Any, Generic, Self, TypeVar

Result = TypeVar("Result")
Wanted = TypeVar("Wanted")

#: Paths that are sent at once. More would make Ctrl-C and a dead process cost more.
_CHUNK = 8
#: Chunks under way or waiting, for each process.
_AHEAD = 3


@dataclass(frozen=True, slots=True)
class Died:
    """Stands for the result of a path whose process did not survive it."""


@dataclass(frozen=True, slots=True)
class _Chunk(Generic[Result]):
    paths: list[tuple[str, bool]]
    future: Future[list[Result]] | None

    @property
    def worth(self) -> list[str]:
        return [path for path, worth in self.paths if worth]


def in_order(
    function: Callable[[str, Wanted], Result],
    paths: Iterable[tuple[str, bool]],
    wanted: Wanted,
    *,
    jobs: int,
) -> Iterator[tuple[str, Result | Died | None]]:
    """Call the function for each path that is worth it; `None` stands for the others.

    Args:
        function: Importable, as other processes import it.
        paths: Each with whether it is worth a call.
        wanted: The function's second argument.
        jobs: How many processes.
    """
    call = functools.partial(_each, function, wanted)
    with _Workers(jobs) as workers:
        waiting: deque[_Chunk[Result]] = deque()
        for paths_of_chunk in _chunks(paths):
            waiting.append(_submit(workers, call, paths_of_chunk))
            if len(waiting) >= jobs * _AHEAD:
                yield from _results(workers, call, waiting)
        while waiting:
            yield from _results(workers, call, waiting)


def _each(
    function: Callable[[str, Wanted], Result], wanted: Wanted, paths: list[str]
) -> list[Result]:
    return [function(path, wanted) for path in paths]


def _chunks(paths: Iterable[tuple[str, bool]]) -> Iterator[list[tuple[str, bool]]]:
    """Cut where there is work for a call; what is not worth one goes along."""
    chunk: list[tuple[str, bool]] = []
    worth = 0
    for path in paths:
        chunk.append(path)
        worth += path[1]
        if worth == _CHUNK or len(chunk) == _CHUNK * 64:
            yield chunk
            chunk, worth = [], 0
    if chunk:
        yield chunk


def _submit(
    workers: _Workers, call: Callable[[list[str]], Any], paths: list[tuple[str, bool]]
) -> _Chunk[Any]:
    worth = [path for path, worthy in paths if worthy]
    if not worth:
        return _Chunk(paths, None)
    return _Chunk(paths, workers.submit(call, worth))


def _results(
    workers: _Workers,
    call: Callable[[list[str]], list[Result]],
    waiting: deque[_Chunk[Result]],
) -> Iterator[tuple[str, Result | Died | None]]:
    """The results of the oldest chunk, or of all of them after a process died."""
    first = waiting.popleft()
    try:
        done = iter(first.future.result() if first.future else [])
    except BrokenProcessPool:
        chunks = [first, *waiting]
        waiting.clear()
        for chunk in chunks:
            yield from _paired(chunk.paths, _one_by_one(workers, call, chunk))
        workers.start_again()
        return
    yield from _paired(first.paths, done)


def _paired(
    paths: list[tuple[str, bool]], results: Iterator[Result | Died]
) -> Iterator[tuple[str, Result | Died | None]]:
    for path, worth in paths:
        yield path, next(results) if worth else None


def _one_by_one(
    workers: _Workers,
    call: Callable[[list[str]], Any],
    chunk: _Chunk[Any],
) -> Iterator[Any]:
    future = chunk.future
    if future and future.done() and not future.cancelled() and not future.exception():
        yield from future.result()
        return
    for path in chunk.worth:
        try:
            yield from workers.alone(call, [path])
        except BrokenProcessPool:
            yield Died()


class _Workers:
    """Processes that end with us, however we end."""

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs
        self._others = set(multiprocessing.active_children())
        self._pool: ProcessPoolExecutor | None = None
        self._single: ProcessPoolExecutor | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            # Nobody wants what they are at.
            for process in set(multiprocessing.active_children()) - self._others:
                process.terminate()
        for pool in (self._pool, self._single):
            if pool:
                pool.shutdown(cancel_futures=True)

    def submit(self, call: Callable[..., Any], *arguments: Any) -> Future[Any]:
        if self._pool is None:
            self._pool = _new_pool(self._jobs)
        try:
            return _submitted(self._pool, call, *arguments)
        except BrokenProcessPool as error:
            broken: Future[Any] = Future()
            broken.set_exception(error)
            return broken

    def alone(self, call: Callable[..., Any], *arguments: Any) -> Any:
        """Call it in a process that is at nothing else."""
        if self._single is None:
            self._single = _new_pool(1)
        try:
            return _submitted(self._single, call, *arguments).result()
        except BrokenProcessPool:
            self._single = None
            raise

    def start_again(self) -> None:
        self._pool = None


def _new_pool(jobs: int) -> ProcessPoolExecutor:
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(jobs, mp_context=context, initializer=_begin)


def _submitted(
    pool: ProcessPoolExecutor, call: Callable[..., Any], *arguments: Any
) -> Future[Any]:
    """Submit with Ctrl-C held back: a process that starts now must not get it."""
    if not hasattr(signal, "pthread_sigmask"):
        return pool.submit(call, *arguments)
    held = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        return pool.submit(call, *arguments)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, held)


def _begin() -> None:
    """In a new process: Ctrl-C is for its parent, and it ends when that ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Trees are many objects and no cycles; to look for some takes a tenth of the time.
    gc.set_threshold(100_000)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        with contextlib.suppress(OSError):
            connection.wait([parent.sentinel])
        os._exit(1)
