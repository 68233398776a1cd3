"""The entities of a memory, whatever holds them: our stores, a dict, any other."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from langchain_core.runnables import run_in_executor

from holdover.compat.base import BaseEntityStore
from holdover.compat.both_ways import Do, Operation, Together
from holdover.compat.entities.aliases import ALIASES, MOST_ALIASES, SPLITS, names_in
from holdover.compat.entity_stores import InMemoryEntityStore, StoreEntityStore
from holdover.compat.notices import log_once
from holdover.compat.records import Record
from holdover.compat.repository import Repository
from holdover.compat.resolve import Known
from holdover.compat.scope import DEFAULT_ROOT

_ENTITY = "entity"
#: Among more names than this, only the very name is found.
MOST_KNOWN = 20_000
_PAGE = 1_000
Summaries = dict[str, str]


class Names:
    """Other names of entities that no record of ours holds, and names seen so far."""

    def __init__(self) -> None:
        self.aliases: dict[str, list[str]] = {}
        self.splits: dict[str, list[str]] = {}
        self.seen: dict[str, None] = {}

    def known(self, names: Iterable[str]) -> list[Known]:
        """These names, with what else they are called."""
        return [
            Known(
                name,
                frozenset(self.aliases.get(name, ())),
                frozenset(self.splits.get(name, ())),
            )
            for name in names
        ]

    def change(self, name: str, add: Iterable[str], split: Iterable[str]) -> None:
        """Note other names, or that some are not."""
        apart = set(split)
        aliases = dict.fromkeys((*self.aliases.get(name, ()), *add))
        self.aliases[name] = [a for a in aliases if a not in apart][-MOST_ALIASES:]
        splits = dict.fromkeys((*self.splits.get(name, ()), *split))
        self.splits[name] = list(splits)[-MOST_ALIASES:]

    def clear(self) -> None:
        """Forget them."""
        for names in (self.aliases, self.splits, self.seen):
            names.clear()


class Entities(ABC):
    """What a memory does with its entities; each operation is written once."""

    #: For events.
    root: str = DEFAULT_ROOT

    @abstractmethod
    def read(self, names: Sequence[str]) -> Operation[dict[str, str | None]]:
        """The summaries of these names, exactly as they are spelled."""

    @abstractmethod
    def write(self, summaries: Summaries, source: Mapping[str, Any]) -> Operation[None]:
        """Keep summaries; `source` says what they come from."""

    @abstractmethod
    def known(self) -> Operation[list[Known] | None]:
        """Every entity there is; `None` where there are too many to compare."""

    @abstractmethod
    def rename(
        self, name: str, add: Sequence[str] = (), split: Sequence[str] = ()
    ) -> Operation[bool]:
        """Note other names of an entity, or that some are not; whether it is there."""

    def turns(self, name: str) -> Operation[set[str]]:  # noqa: ARG002
        """The turns that went into a summary, as far as that is known."""
        yield from ()
        return set()

    @abstractmethod
    def clear(self) -> Operation[None]:
        """Remove all entities."""


class StoredEntities(Entities):
    """Records in a store, which hold aliases and where they come from."""

    def __init__(self, entities: StoreEntityStore) -> None:
        self._entities = entities
        self.records: Repository = entities.repository
        self.root = self.records.scope[0]

    def read(self, names: Sequence[str]) -> Operation[dict[str, str | None]]:
        """See `Entities`; it is a recall, where the store has such a thing."""
        recall = self._entities._recall()  # noqa: SLF001 - our own class
        stored = self.records
        found: list[Record | None]
        if recall is None:
            found = yield Do(
                lambda: stored.get_many(_ENTITY, names),
                lambda: stored.aget_many(_ENTITY, names),
            )
        else:
            found = yield Together([self._recalled(name, recall) for name in names])
            for one in found:
                if isinstance(one, Exception):
                    raise one
        return {
            name: None if record is None else record.text
            for name, record in zip(names, found, strict=True)
        }

    def _recalled(self, name: str, recall: Any) -> Operation[Record | None]:
        stored = self.records
        record: Record | None = yield Do(
            lambda: stored.get(_ENTITY, name, recall=recall),
            lambda: stored.aget(_ENTITY, name, recall=recall),
        )
        return record

    def write(self, summaries: Summaries, source: Mapping[str, Any]) -> Operation[None]:
        """See `Entities`."""
        stored = self.records
        contents = [{"name": n, "summary": text} for n, text in summaries.items()]
        options = {"source": source, "ttl": self._entities._lifetime()}  # noqa: SLF001
        yield Do(
            lambda: stored.put_many(_ENTITY, contents, **options),
            lambda: stored.aput_many(_ENTITY, contents, **options),
        )

    def known(self) -> Operation[list[Known] | None]:
        """See `Entities`."""
        found = yield from self.all()
        if found is None:
            return None
        return [
            Known(
                record.name,
                frozenset(names_in(record, ALIASES)),
                frozenset(names_in(record, SPLITS)),
            )
            for record in found
        ]

    def all(self, limit: int = MOST_KNOWN) -> Operation[list[Record] | None]:
        """Every record, or `None` if there are more than `limit`."""
        stored = self.records
        found: list[Record] = []
        while len(found) <= limit:
            after = found[-1].key if found else None
            page = yield _page(stored, after)
            found += page
            if len(page) < _PAGE:
                return found
        log_once("Over %s entities: names are not resolved any more.", f"{limit:,}")
        return None

    def rename(
        self, name: str, add: Sequence[str] = (), split: Sequence[str] = ()
    ) -> Operation[bool]:
        """See `Entities`."""
        stored = self.records
        there: bool = yield Do(
            lambda: stored.change_aliases(name, add=add, split=split),
            lambda: stored.achange_aliases(name, add=add, split=split),
        )
        return there

    def turns(self, name: str) -> Operation[set[str]]:
        """See `Entities`."""
        stored = self.records
        yield Do(
            lambda: stored.finish_write(_ENTITY, name),
            lambda: stored.afinish_write(_ENTITY, name),
        )
        states: list[Record] = yield Do(
            lambda: stored.history(_ENTITY, name),
            lambda: stored.ahistory(_ENTITY, name),
        )
        sources = [state.meta.get("source") for state in states]
        turns = [s.get("turn") for s in sources if isinstance(s, Mapping)]
        return {turn for each in turns if isinstance(each, list) for turn in each}

    def clear(self) -> Operation[None]:
        """See `Entities`."""
        yield Do(self._entities.clear, self._entities.aclear)


class ForeignEntities(Entities):
    """Any entity store, by its five methods; a sync one leaves the event loop alone."""

    def __init__(self, entities: BaseEntityStore, names: Names) -> None:
        self._entities, self._names = entities, names

    def read(self, names: Sequence[str]) -> Operation[dict[str, str | None]]:
        """See `Entities`."""
        get = self._entities.get

        def read() -> dict[str, str | None]:
            return {name: get(name, "") or None for name in names}

        found: dict[str, str | None] = yield self._do(read)
        seen = dict.fromkeys(name for name, text in found.items() if text)
        self._names.seen.update(seen)
        return found

    def write(self, summaries: Summaries, source: Mapping[str, Any]) -> Operation[None]:  # noqa: ARG002
        """See `Entities`."""

        def write() -> None:
            for name, text in summaries.items():
                self._entities.set(name, text)

        yield self._do(write)
        self._names.seen.update(dict.fromkeys(summaries))

    def known(self) -> Operation[list[Known] | None]:
        """Those its mapping shows, if it has one, and those that came by."""
        yield from ()
        shown = getattr(self._entities, "store", None)
        names = list(shown) if isinstance(shown, Mapping) else list(self._names.seen)
        return None if len(names) > MOST_KNOWN else self._names.known(names)

    def rename(
        self, name: str, add: Sequence[str] = (), split: Sequence[str] = ()
    ) -> Operation[bool]:
        """See `Entities`."""
        yield from ()
        self._names.change(name, add, split)
        return True

    def clear(self) -> Operation[None]:
        """See `Entities`."""
        yield self._do(self._entities.clear)
        self._names.clear()

    def _do(self, call: Any) -> Do:
        return Do(call, lambda: run_in_executor(None, call))


class PrivateEntities(ForeignEntities):
    """A dict of this object's own."""

    def _do(self, call: Any) -> Do:
        async def acall() -> Any:
            return call()

        return Do(call, acall)


def is_ours(entities: BaseEntityStore) -> bool:
    """Whether an entity store is one of ours that nobody changed."""
    methods = (type(entities).get, type(entities).set)
    return isinstance(entities, StoreEntityStore) and all(
        method.__module__.startswith("holdover.compat.") for method in methods
    )


def is_private(entities: BaseEntityStore) -> bool:
    """Whether the entities are a dict that nobody else sees."""
    return (
        isinstance(entities, InMemoryEntityStore)
        and is_ours(entities)
        and isinstance(entities.store, dict)
    )


def is_stored(entities: BaseEntityStore) -> bool:
    """Whether the entities are records in a store."""
    return is_ours(entities) and not is_private(entities)


def access(entities: BaseEntityStore, names: Names) -> Entities:
    """How to reach the entities of an entity store."""
    if isinstance(entities, StoreEntityStore) and is_stored(entities):
        return StoredEntities(entities)
    if is_private(entities):
        return PrivateEntities(entities, names)
    return ForeignEntities(entities, names)


def _page(stored: Repository, after: str | None) -> Do:
    return Do(
        lambda: stored.page(_ENTITY, after=after, limit=_PAGE),
        lambda: stored.apage(_ENTITY, after=after, limit=_PAGE),
    )
