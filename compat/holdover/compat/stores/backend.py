"""How items are read and written: steps the repository asks for, and who does them.

The repository is written once, as generators that yield steps. A backend carries a
step out on one kind of store; `run` drives a generator synchronously, `arun` from
async code.
"""

from __future__ import annotations

import asyncio
import functools
import random
import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar, TypeVar

from langgraph.store.base import (
    BaseStore,
    GetOp,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchItem,
    SearchOp,
)

from holdover.compat.errors import StoreUnavailable, SyncUseOfAsyncStore
from holdover.compat.scope import INTERNAL_ROOT

Namespace = tuple[str, ...]
Pair = tuple[Namespace, str]
Value = Mapping[str, Any]
T = TypeVar("T")

_ATTEMPTS = 12
_FIRST_PAUSE = 0.01
# A driver that waits for a lock itself is asked again only within this time.
_PATIENCE_SECONDS = 20.0
_SLOW_SCAN = 10_000
_EVERYTHING = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Read:
    """The values of exact keys, in order; `None` for what is not there."""

    pairs: Sequence[Pair]

    def perform(self, backend: Any) -> Any:
        """Carry it out."""
        return backend.read(self.pairs)


@dataclass(frozen=True, slots=True)
class Write:
    """Puts and deletes; each group is kept together, all at once where possible."""

    groups: Sequence[Sequence[PutOp]]

    def perform(self, backend: Any) -> Any:
        """Carry it out."""
        return backend.write(self.groups)


@dataclass(frozen=True, slots=True)
class Replace:
    """A put that counts only where the revision of `before` is still there.

    It gives whether it counted. A recall is a read: it must not bring back what was
    overwritten or deleted since it looked. Vectors stay, the content being the same.
    """

    put: PutOp
    before: Value

    def perform(self, backend: Any) -> Any:
        """Carry it out."""
        return backend.replace(self.put, self.before)


@dataclass(frozen=True, slots=True)
class Page:
    """A namespace in key order: `(key, value)` beyond `after`, exactly its own."""

    namespace: Namespace
    after: str | None = None
    limit: int = 1_000
    reverse: bool = False

    def perform(self, backend: Any) -> Any:
        """Carry it out."""
        return backend.page(self.namespace, self.after, self.limit, self.reverse)


@dataclass(frozen=True, slots=True)
class Count:
    """How many items a namespace holds."""

    namespace: Namespace

    def perform(self, backend: Any) -> Any:
        """Carry it out."""
        return backend.count(self.namespace)


@dataclass(frozen=True, slots=True)
class Older:
    """The keys of a namespace but for its `keep` largest."""

    namespace: Namespace
    keep: int

    def perform(self, backend: Any) -> Any:
        """Carry it out."""
        return backend.older(self.namespace, self.keep)


@dataclass(frozen=True, slots=True)
class Namespaces:
    """Every namespace that begins with these labels."""

    prefix: Namespace

    def perform(self, backend: Any) -> Any:
        """Carry it out."""
        return backend.namespaces(self.prefix)


@dataclass(frozen=True, slots=True)
class Search:
    """A search of the store; results may lie outside the namespace asked for."""

    op: SearchOp

    def perform(self, backend: Any) -> Any:
        """Carry it out."""
        return backend.search(self.op)


@dataclass(frozen=True, slots=True)
class Call:
    """Something synchronous that is not the store: the old place, a redactor."""

    function: Callable[[], Any]

    def perform(self, backend: Any) -> Any:  # noqa: ARG002 - a step like the others
        """Carry it out."""
        return self.function()


Step = Read | Write | Replace | Page | Count | Older | Namespaces | Search | Call
Steps = Generator[Step, Any, T]


class Backend(ABC):
    """Reads and writes one store; `is_async` backends return awaitables."""

    is_async: ClassVar[bool] = False
    #: Whether a batch happens whole or not at all.
    atomic: ClassVar[bool] = False
    #: Whether `older` is cheap enough for every write.
    keyed: ClassVar[bool] = True
    #: The largest number of puts in one batch.
    max_puts: ClassVar[int] = 500

    def __init__(self, store: BaseStore) -> None:
        self.store = store
        self.keeps_ttl = bool(getattr(store, "supports_ttl", False))

    @abstractmethod
    def read(self, pairs: Sequence[Pair]) -> Any:
        """See `Read`."""

    @abstractmethod
    def write(self, groups: Sequence[Sequence[PutOp]]) -> Any:
        """See `Write`."""

    @abstractmethod
    def replace(self, put: PutOp, before: Value) -> Any:
        """See `Replace`."""

    @abstractmethod
    def page(
        self,
        namespace: Namespace,
        after: str | None,
        limit: int,
        reverse: bool,  # noqa: FBT001
    ) -> Any:
        """See `Page`."""

    @abstractmethod
    def count(self, namespace: Namespace) -> Any:
        """See `Count`."""

    @abstractmethod
    def older(self, namespace: Namespace, keep: int) -> Any:
        """See `Older`."""

    @abstractmethod
    def search(self, op: SearchOp) -> Any:
        """See `Search`."""

    def namespaces(self, prefix: Namespace) -> Any:
        """See `Namespaces`."""
        return _below(self.store.batch([_list_op(prefix)])[0], prefix)

    def transient(self, error: BaseException) -> bool:  # noqa: ARG002
        """Whether the same write may well succeed if repeated."""
        return False

    def translate(self, error: BaseException) -> BaseException:
        """The error a caller should see instead of a driver's."""
        return error

    def put_op(
        self,
        namespace: Namespace,
        key: str,
        value: Any,
        index: list[str] | None = None,
        ttl: float | None = None,
    ) -> PutOp:
        """A put that indexes only what it names, with a TTL (minutes) if kept."""
        return PutOp(
            namespace,
            key,
            value,
            index=index or False,
            ttl=ttl if self.keeps_ttl else None,
        )

    def batches(self, groups: Sequence[Sequence[PutOp]]) -> Iterable[list[PutOp]]:
        """Pack groups into batches below the limit, in one order for all writers.

        Writers that lock rows in the same order cannot deadlock. Internal items
        come first: where a batch is not atomic, the journal precedes the head.
        """
        ordered = sorted(groups, key=lambda group: _order(group[-1]))
        batch: list[PutOp] = []
        for group in ordered:
            if batch and len(batch) + len(group) > self.max_puts:
                yield from self._parts(batch)
                batch = []
            batch.extend(group)
        if batch:
            yield from self._parts(batch)

    def _parts(self, batch: list[PutOp]) -> Iterable[list[PutOp]]:
        batch.sort(key=_order)
        parts = [batch]
        if not self.atomic:
            internal = [op for op in batch if op.namespace[0] == INTERNAL_ROOT]
            parts = [internal, batch[len(internal) :]]
        # One group alone may be over the limit.
        for part in parts:
            yield from _chunks(part, self.max_puts)


class DirectReads(Backend):
    """A backend that reads one value in one call, with nothing in between."""

    @abstractmethod
    def value(self, prefix: str, key: str) -> Value | None:
        """The value of a key; `prefix` is the namespace joined by dots."""


def revision_in(value: Any) -> Any:
    """The revision of whatever lies there, of any kind."""
    meta = value.get("meta") if isinstance(value, Mapping) else None
    return meta.get("revision") if isinstance(meta, Mapping) else None


def _is_still(item: Any, before: Value) -> bool:
    return item is not None and revision_in(item.value) == revision_in(before)


def _order(op: PutOp) -> tuple[bool, Namespace, str]:
    return (op.namespace[0] != INTERNAL_ROOT, op.namespace, op.key)


def _pauses() -> Iterable[float]:
    """How long to wait before each further attempt, until that has taken too long."""
    end = time.monotonic() + _PATIENCE_SECONDS
    for attempt in range(_ATTEMPTS):
        if time.monotonic() > end:
            return
        # Jitter keeps writers that collided once from colliding again; no secret.
        yield _FIRST_PAUSE * 2 ** min(attempt, 7) * (0.5 + random.random())  # noqa: S311


def run(backend: Backend, steps: Steps[T]) -> T:
    """Drive an operation synchronously."""
    if backend.is_async:
        return _run_on_its_loop(backend, steps)
    result: Any = None
    error: BaseException | None = None
    while True:
        try:
            step = steps.throw(error) if error else steps.send(result)
        except StopIteration as stop:
            return stop.value  # type: ignore[no-any-return]
        result, error = None, None
        pauses = iter(_pauses())
        while True:
            try:
                result = step.perform(backend)
            except Exception as failure:  # noqa: BLE001 - handed to the operation
                pause = next(pauses, None) if backend.transient(failure) else None
                if pause is not None:
                    time.sleep(pause)
                    continue
                error = backend.translate(failure)
            break


async def arun(backend: Backend, steps: Steps[T]) -> T:
    """Drive an operation from async code; a sync store's work leaves the loop."""
    if not backend.is_async:
        if isinstance(backend, MemoryBackend):
            return run(backend, steps)
        return await asyncio.to_thread(run, backend, steps)
    loop = _loop_of(backend.store)
    if loop is not None and loop is not asyncio.get_running_loop():
        there = asyncio.run_coroutine_threadsafe(arun(backend, steps), loop)
        return await asyncio.wrap_future(there)
    result: Any = None
    error: BaseException | None = None
    while True:
        try:
            step = steps.throw(error) if error else steps.send(result)
        except StopIteration as stop:
            return stop.value  # type: ignore[no-any-return]
        result, error = None, None
        pauses = iter(_pauses())
        while True:
            try:
                if isinstance(step, Call):
                    result = await asyncio.to_thread(step.function)
                else:
                    awaitable: Awaitable[Any] = step.perform(backend)
                    result = await awaitable
            except Exception as failure:  # noqa: BLE001 - handed to the operation
                pause = next(pauses, None) if backend.transient(failure) else None
                if pause is not None:
                    await asyncio.sleep(pause)
                    continue
                error = backend.translate(failure)
            break


def _loop_of(store: BaseStore) -> asyncio.AbstractEventLoop | None:
    """The loop an async-only store was made in, and works in alone."""
    return getattr(store, "_loop", None)


def _run_on_its_loop(backend: Backend, steps: Steps[T]) -> T:
    loop = _loop_of(backend.store)
    try:
        running = asyncio.get_running_loop()
    except RuntimeError:
        running = None
    name = type(backend.store).__name__
    if loop is None or not loop.is_running() or loop is running:
        raise SyncUseOfAsyncStore(
            f"{name} works only with async calls here.",
            hint="Use the method's async twin (aget, aset, asave_context …), "
            "or give a sync store.",
        )
    return asyncio.run_coroutine_threadsafe(arun(backend, steps), loop).result()


class PlainBackend(Backend):
    """Any `BaseStore`, by its own `batch`."""

    keyed = False

    def read(self, pairs: Sequence[Pair]) -> list[Value | None]:
        """Read by `GetOp`s that leave every TTL alone."""
        found: list[Value | None] = []
        for chunk in _chunks(pairs, self.max_puts):
            ops = [GetOp(ns, key, refresh_ttl=False) for ns, key in chunk]
            found += map(_value, self.store.batch(ops))
        return found

    def write(self, groups: Sequence[Sequence[PutOp]]) -> None:
        """Write by `PutOp`s."""
        for batch in self.batches(groups):
            self.store.batch(batch)

    def replace(self, put: PutOp, before: Value) -> bool:
        """Look, and put: this store has no way to do both in one moment."""
        look = GetOp(put.namespace, put.key, refresh_ttl=False)
        if not _is_still(self.store.batch([look])[0], before):
            return False
        self.store.batch([put])
        return True

    def search(self, op: SearchOp) -> list[SearchItem]:
        """Search by a `SearchOp`."""
        return self.store.batch([op])[0]  # type: ignore[return-value]

    def page(
        self,
        namespace: Namespace,
        after: str | None,
        limit: int,
        reverse: bool,  # noqa: FBT001
    ) -> list[tuple[str, Value]]:
        """Sort the whole namespace: this store cannot be read by key."""
        items = self._whole(namespace)
        return _slice(items, after, limit, reverse=reverse)

    def count(self, namespace: Namespace) -> int:
        """Count by reading: this store has no other way."""
        return len(self._whole(namespace))

    def older(self, namespace: Namespace, keep: int) -> list[str]:
        """Sort the whole namespace."""
        return sorted(self._whole(namespace), reverse=True)[keep:]

    def _whole(self, namespace: Namespace) -> dict[str, Value]:
        limit = _SLOW_SCAN
        while True:
            op = SearchOp(namespace, limit=limit, refresh_ttl=False)
            items = self.search(op)
            if len(items) < limit:
                return _own(items, namespace)
            limit = _grow(limit, self.store)


class MemoryBackend(PlainBackend):
    """`InMemoryStore`: a sorted list of its own dictionary."""

    keyed = True
    atomic = True
    max_puts = 1_000_000

    def read(self, pairs: Sequence[Pair]) -> list[Value | None]:
        """Look the values up; the store's own read makes an empty namespace."""
        held: Any = self.store._data  # type: ignore[attr-defined]  # noqa: SLF001
        return [_value(held.get(namespace, {}).get(key)) for namespace, key in pairs]

    def replace(self, put: PutOp, before: Value) -> bool:
        """Change the item itself: who writes or deletes meanwhile replaces it."""
        held: Any = self.store._data  # type: ignore[attr-defined]  # noqa: SLF001
        item = held.get(put.namespace, {}).get(put.key)
        if not _is_still(item, before):
            return False
        item.value = dict(put.value or {})
        return True

    def transient(self, error: BaseException) -> bool:
        """Whether a search met another thread's write: the store has no lock."""
        return isinstance(error, RuntimeError) and "changed size" in str(error)

    def _whole(self, namespace: Namespace) -> dict[str, Value]:
        held: Any = self.store._data.get(namespace, {})  # type: ignore[attr-defined]  # noqa: SLF001
        return {key: item.value for key, item in list(held.items())}


class AsyncPlainBackend(Backend):
    """Any store that has only async methods."""

    is_async = True
    keyed = False

    async def read(self, pairs: Sequence[Pair]) -> list[Value | None]:
        """Read by `GetOp`s that leave every TTL alone."""
        found: list[Value | None] = []
        for chunk in _chunks(pairs, self.max_puts):
            ops = [GetOp(ns, key, refresh_ttl=False) for ns, key in chunk]
            found += map(_value, await self.store.abatch(ops))
        return found

    async def write(self, groups: Sequence[Sequence[PutOp]]) -> None:
        """Write by `PutOp`s: `abatch`, as `aput` would coalesce with strangers."""
        for batch in self.batches(groups):
            await self.store.abatch(batch)

    async def replace(self, put: PutOp, before: Value) -> bool:
        """Look, and put: this store has no way to do both in one moment."""
        look = GetOp(put.namespace, put.key, refresh_ttl=False)
        if not _is_still((await self.store.abatch([look]))[0], before):
            return False
        await self.store.abatch([put])
        return True

    async def search(self, op: SearchOp) -> list[SearchItem]:
        """Search by a `SearchOp`."""
        return (await self.store.abatch([op]))[0]  # type: ignore[return-value]

    async def namespaces(self, prefix: Namespace) -> list[Namespace]:
        """Ask the store, and filter what it says."""
        return _below((await self.store.abatch([_list_op(prefix)]))[0], prefix)

    async def page(
        self,
        namespace: Namespace,
        after: str | None,
        limit: int,
        reverse: bool,  # noqa: FBT001
    ) -> list[tuple[str, Value]]:
        """Sort the whole namespace: this store cannot be read by key."""
        items = await self._whole(namespace)
        return _slice(items, after, limit, reverse=reverse)

    async def count(self, namespace: Namespace) -> int:
        """Count by reading: this store has no other way."""
        return len(await self._whole(namespace))

    async def older(self, namespace: Namespace, keep: int) -> list[str]:
        """Sort the whole namespace."""
        return sorted(await self._whole(namespace), reverse=True)[keep:]

    async def _whole(self, namespace: Namespace) -> dict[str, Value]:
        limit = _SLOW_SCAN
        while True:
            op = SearchOp(namespace, limit=limit, refresh_ttl=False)
            items = await self.search(op)
            if len(items) < limit:
                return _own(items, namespace)
            limit = _grow(limit, self.store)


def _value(item: Any) -> Value | None:
    return None if item is None else item.value


def _own(items: Iterable[SearchItem], namespace: Namespace) -> dict[str, Value]:
    return {i.key: i.value for i in items if tuple(i.namespace) == namespace}


def _grow(limit: int, store: BaseStore) -> int:
    if limit == _SLOW_SCAN:
        _warn_of_scans(type(store).__name__)
    if limit >= 2**31 // 8:
        raise StoreUnavailable(f"{type(store).__name__} returned no end of items.")
    return limit * 8


@functools.cache
def _warn_of_scans(store: str) -> None:
    warnings.warn(
        f"{store} cannot be read by key: over {_SLOW_SCAN:,} items of one scope are "
        "read at once.",
        stacklevel=2,
    )


def _slice(
    items: Mapping[str, Value], after: str | None, limit: int, *, reverse: bool
) -> list[tuple[str, Value]]:
    keys = sorted(items, reverse=reverse)
    if after is not None:
        keys = [k for k in keys if (k < after if reverse else k > after)]
    return [(key, items[key]) for key in keys[:limit]]


def _list_op(prefix: Namespace) -> ListNamespacesOp:
    condition = MatchCondition(match_type="prefix", path=prefix)
    return ListNamespacesOp(match_conditions=(condition,), limit=_EVERYTHING)


def _below(found: Any, prefix: Namespace) -> list[Namespace]:
    size = len(prefix)
    return [tuple(ns) for ns in found if tuple(ns[:size]) == prefix]


def _chunks(whole: Sequence[T], size: int) -> Iterable[list[T]]:
    rest = iter(whole)
    while chunk := list(islice(rest, size)):
        yield chunk
