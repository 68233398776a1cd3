"""What an entity memory holds besides its fields: of an input, of the object."""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Annotated, Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.store.memory import InMemoryStore
from pydantic import PlainSerializer, ValidatorFunctionWrapHandler, WrapValidator

from holdover.compat.base import BaseEntityStore
from holdover.compat.entities.access import Names, is_ours, is_private
from holdover.compat.entity_stores import InMemoryEntityStore, StoreEntityStore
from holdover.compat.place import Place
from holdover.compat.repository import Repository

#: Of so many inputs the names are kept until their turns are saved.
_MOST_INPUTS = 256
_QUEUE = "_queue"


class Found(list[str]):
    """The names a load found, as they were: anything else was put there by a user."""

    def __init__(self, names: Sequence[str] = ()) -> None:
        super().__init__(names)
        self.original = tuple(names)


def assigned(cache: list[str]) -> list[str] | None:
    """The names that a user put into a cache, or `None` if nobody did."""
    if isinstance(cache, Found):
        return None if tuple(cache) == cache.original else list(cache)
    return list(cache) or None


class Home:
    """The event loop that async code of an object runs in, until it ends."""

    def __init__(self, loop: asyncio.AbstractEventLoop | None) -> None:
        self._loop = loop
        self._stay: Future[None] | None = None
        if loop is None or not loop.is_running():
            return
        # A loop that is about to end cancels its tasks and runs a little longer: what
        # is begun then is never finished.
        staying = _forever()
        try:
            self._stay = asyncio.run_coroutine_threadsafe(staying, loop)
        except RuntimeError:  # closed in this very moment
            staying.close()

    @property
    def loop(self) -> asyncio.AbstractEventLoop | None:
        """The loop, or `None` where it ended."""
        return None if self._stay is None or self._stay.done() else self._loop

    def leave(self) -> None:
        """Nothing more is to be done there."""
        if self._stay and self._loop and not self._loop.is_closed():
            self._stay.cancel()


async def _forever() -> None:
    await asyncio.Event().wait()


class State:
    """What belongs to one memory object; copies and pickles take it along."""

    def __init__(self) -> None:
        self.names = Names()
        self._of_inputs: OrderedDict[str, tuple[str, ...]] = OrderedDict()
        #: Whether somebody looked for turns that an earlier process left.
        self.looked = False
        #: Where async code of this object runs.
        self.loop: asyncio.AbstractEventLoop | None = None
        # How often it was cleared: who asks a model looks whether that changed.
        self.cleared = 0

    def remember(self, text: str, names: Sequence[str]) -> None:
        """Keep the names in an input until its turn is saved."""
        key = _key(text)
        self._of_inputs[key] = tuple(names)
        self._of_inputs.move_to_end(key)
        while len(self._of_inputs) > _MOST_INPUTS:
            self._of_inputs.popitem(last=False)

    def names_in(self, text: str) -> tuple[str, ...] | None:
        """The names a load found in this very input."""
        return self._of_inputs.get(_key(text))

    def queue(self) -> Repository:
        """Where turns wait that have no store to wait in."""
        queue: Repository | None = self.__dict__.get(_QUEUE)
        if queue is None:
            # The same for all, whichever thread comes first.
            made = Repository(InMemoryStore(), ("private",))
            queue = self.__dict__.setdefault(_QUEUE, made)
        return queue

    def waiting(self) -> list[dict[str, Any]]:
        """The turns in it."""
        queue: Repository | None = self.__dict__.get(_QUEUE)
        return [dict(work.content) for work in queue.pending()] if queue else []

    def wait_again(self, turns: Sequence[Mapping[str, Any]]) -> None:
        """Put such turns into it."""
        for turn in turns:
            self.queue().enqueue(turn)

    def clear(self) -> None:
        """Forget what was said and found."""
        self.cleared += 1
        self.names.clear()
        self._of_inputs.clear()

    def notice_loop(self) -> None:
        """Remember the event loop that async code runs in."""
        self.loop = asyncio.get_running_loop()

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what belongs to this process."""
        kept = {n: v for n, v in self.__dict__.items() if n != _QUEUE}
        return {**kept, "looked": False, "loop": None, "waiting": self.waiting()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take up what waited."""
        waiting = state.pop("waiting")
        self.__dict__.update(state)
        self.wait_again(waiting)


def _key(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def place_beside(entities: StoreEntityStore) -> Place:
    """The store and scope of an entity store, for what is kept beside its entities."""
    own: Any = entities
    place: Place = own._place.for_owner(partial(getattr, own, "base_store"), _nothing)  # noqa: SLF001 - our own class
    place.root, place.session = own._own_scope()  # noqa: SLF001
    return place


def _nothing() -> None:
    """No old place: the one of the entities holds no messages."""


def lifetime_beside(entities: Any) -> Any:
    """How long messages live beside entities: as long as these may."""
    lifetimes = [entities._lifetime(), entities._recall()]  # noqa: SLF001
    ending = [lifetime for lifetime in lifetimes if lifetime is not None]
    return max(ending) if lifetimes[0] is not None else None


def _read_entities(value: Any, check: ValidatorFunctionWrapHandler) -> Any:
    """Accept what `_dump_entities` made of an entity store."""
    if isinstance(value, Mapping):
        return InMemoryEntityStore(store=value.get("store") or {})
    return check(value)


def _dump_entities(entities: BaseEntityStore) -> dict[str, Any]:
    if is_ours(entities) and isinstance(entities, InMemoryEntityStore):
        return {"store": dict(entities.store) if is_private(entities) else {}}
    return {}


EntityStore = Annotated[
    BaseEntityStore,
    WrapValidator(_read_entities),
    PlainSerializer(_dump_entities, return_type=dict, when_used="json"),
]


def seeds(
    lines: Sequence[BaseMessage | str] | str, human_prefix: str, ai_prefix: str
) -> list[BaseMessage]:
    """Messages from the lines of an old `buffer`, such as `"Human: hi"`."""
    return [
        line
        if isinstance(line, BaseMessage)
        else _spoken(line, human_prefix, ai_prefix)
        for line in ([lines] if isinstance(lines, str) else lines)
    ]


def _spoken(line: str, human_prefix: str, ai_prefix: str) -> BaseMessage:
    for prefix, kind in ((human_prefix, HumanMessage), (ai_prefix, AIMessage)):
        if line.startswith(f"{prefix}:"):
            return kind(line.removeprefix(f"{prefix}:").strip())
    return HumanMessage(line)
