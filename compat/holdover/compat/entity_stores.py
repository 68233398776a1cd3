"""The classic entity store classes, on a LangGraph store.

One contract for all: a missing key gives the default, deleting one is quiet, an
empty summary changes nothing, only `delete` deletes, and any string is a session
id. Each method has an async twin.
"""

from __future__ import annotations

import functools
import sqlite3
from collections.abc import Iterator, Mapping, MutableMapping
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from pydantic import (
    ConfigDict,
    PlainSerializer,
    PrivateAttr,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    computed_field,
)

from holdover.compat.alike import have_same_fields
from holdover.compat.base import BaseEntityStore
from holdover.compat.both_ways import arun
from holdover.compat.journal import DEFAULT_HISTORY, History
from holdover.compat.legacy.sqlite import LegacySqliteTable
from holdover.compat.memory import is_of_today
from holdover.compat.notices import log_once, warn_of, warn_once
from holdover.compat.place import Place, reads_legacy
from holdover.compat.repository import LegacyPlace, Repository
from holdover.compat.scope import DEFAULT_ROOT, DEFAULT_SESSION, Scope

if TYPE_CHECKING:
    from typing import Self

__all__ = ["BaseEntityStore", "InMemoryEntityStore", "SQLiteEntityStore"]

_ENTITY = "entity"
_PRIVATE_FILES = ("", ":memory:")
_PLACE = "_place"


def _any_string(value: Any, check: ValidatorFunctionWrapHandler) -> Any:
    """Any string is a name, also one that is not valid Unicode."""
    return value if isinstance(value, str) else check(value)


AnyString = Annotated[str, WrapValidator(_any_string)]


class StoreEntityStore(BaseEntityStore):  # noqa: PLW1641 - it changes
    """The five methods and their twins, over a repository made at first use."""

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="ignore")

    #: Whether a child process has to make connections of its own in any case.
    reopens_after_fork: ClassVar[bool] = False

    @functools.cached_property
    def _place(self) -> Place:
        """Where the records are; no private attribute, which pydantic finds slowly."""
        return Place(own_store=self._own_store)

    def __setstate__(self, state: dict[Any, Any]) -> None:
        """Take up a state, also that of a classic entity store."""
        if is_of_today(state, "__dict__", _PLACE):
            super().__setstate__(state)
            return
        from holdover.compat.old_states import revive  # noqa: PLC0415 - rarely needed

        revive(self, state)

    def __eq__(self, other: object) -> bool:
        """As in classic: of one class, for the same entities.

        Nothing is read from a store.
        """
        if self is other:
            return True
        if not isinstance(other, StoreEntityStore):
            return NotImplemented
        return have_same_fields(self, other) and self._has_same(other)

    def _has_same(self, other: StoreEntityStore) -> bool:
        """Whether another one of this class and these fields is about the same."""
        return self._settled().is_same(other._settled())

    def _settle(
        self,
        store: BaseStore | str | None,
        scope: Scope | tuple[str, ...] | str | None,
        *,
        history: History,
        unsafe: bool,
    ) -> None:
        """Say where the records are; it is opened at the first use."""
        self.__dict__[_PLACE] = Place(
            store,
            scope=scope,
            history=history,
            unsafe=unsafe,
            own_store=self._own_store,
            legacy=self._legacy_place,
            reopens_after_fork=self.reopens_after_fork,
        )

    @property
    def base_store(self) -> BaseStore:
        """The LangGraph store behind this object."""
        return self._records().store

    @property
    def scope(self) -> Scope:
        """The raw labels its records are kept under."""
        return self._records().scope

    @property
    def repository(self) -> Repository:
        """History, restore and forget are here: `repository.history("entity", …)`."""
        return self._records()

    def _records(self) -> Repository:
        return self._settled().repository

    async def _arecords(self) -> Repository:
        """The same; a store that has to be opened is opened in a thread."""
        return await arun(self._settled().opened())

    def _settled(self) -> Place:
        place = self._place
        if not place.is_open:
            # What an attribute says by now, not what the constructor was given.
            place.root, place.session = self._own_scope()
        return place

    def _let_go(self) -> None:
        """Let the next use open the store anew."""
        self._place.let_go()

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        """Another object for the same entities: a store is not copied."""
        return self.model_copy()

    def model_copy(
        self, *, update: Mapping[str, Any] | None = None, deep: bool = False
    ) -> Self:
        """Copy it; with other settings, it is about other entities."""
        copied = super().model_copy(update=update, deep=deep)
        if update:
            copied.__dict__[_PLACE] = self._place.for_owner(
                copied._own_store,  # noqa: SLF001 - our own class
                copied._legacy_place,  # noqa: SLF001
            )
        return copied

    def _own_store(self) -> BaseStore:
        return InMemoryStore()

    def _own_scope(self) -> tuple[str, str]:
        raise NotImplementedError

    def _legacy_place(self) -> LegacyPlace | None:
        return None

    def _lifetime(self) -> timedelta | None:
        """How long lives what is set; `None` is for ever."""
        return None

    def _recall(self) -> timedelta | None:
        """How long lives what is read from then on; `None` changes nothing."""
        return None

    def get(self, key: str, default: str | None = None) -> str | None:
        """The summary of an entity, or `default`."""
        record = self._records().get(_ENTITY, _name(key), recall=self._recall())
        return default if record is None else record.text

    def set(self, key: str, value: str | None) -> None:
        """Keep a summary; an empty one changes nothing."""
        self._records().put(_ENTITY, _content(key, value), ttl=self._lifetime())

    def delete(self, key: str) -> None:
        """Remove an entity, also from view of what the old place still holds."""
        self._records().delete(_ENTITY, _name(key))

    def exists(self, key: str) -> bool:
        """Whether an entity is there."""
        return self._records().exists(_ENTITY, _name(key))

    def clear(self) -> None:
        """Remove all entities of this session, and of no other."""
        self._records().clear(_ENTITY)

    async def aget(self, key: str, default: str | None = None) -> str | None:
        """See `get`."""
        records, recall = await self._arecords(), self._recall()
        record = await records.aget(_ENTITY, _name(key), recall=recall)
        return default if record is None else record.text

    async def aset(self, key: str, value: str | None) -> None:
        """See `set`."""
        lifetime = self._lifetime()
        await (await self._arecords()).aput(_ENTITY, _content(key, value), ttl=lifetime)

    async def adelete(self, key: str) -> None:
        """See `delete`."""
        await (await self._arecords()).adelete(_ENTITY, _name(key))

    async def aexists(self, key: str) -> bool:
        """See `exists`."""
        return await (await self._arecords()).aexists(_ENTITY, _name(key))

    async def aclear(self) -> None:
        """See `clear`."""
        await (await self._arecords()).aclear(_ENTITY)


_AsDict = PlainSerializer(dict, return_type=dict)


class InMemoryEntityStore(StoreEntityStore):
    """Entities in this process, or in a store.

    Args:
        store: A mapping keeps its classic meaning: the initial entities. A
            `BaseStore` or an address keeps them there instead.
        session_id: The session below `memory_store`, for a store.
        scope: The whole scope instead, as raw labels.
        history: How much of each entity's journal is kept.
        unsafe: Accept a store that is known to lose data.
        unknown: Anything else is named in a warning.
    """

    _entities: Any = PrivateAttr(default=None)
    _session_id: str | None = PrivateAttr(default=None)

    def __init__(
        self,
        store: Mapping[str, str | None] | BaseStore | str | None = None,
        *,
        session_id: str | None = None,
        scope: Scope | tuple[str, ...] | str | None = None,
        history: History = DEFAULT_HISTORY,
        unsafe: bool = False,
        **unknown: Any,
    ) -> None:
        super().__init__()
        warn_of(unknown, type(self))
        self._session_id = session_id
        given = store if isinstance(store, BaseStore | str) else None
        self._settle(given, scope, history=history, unsafe=unsafe)
        # A configured store is used only under a session: else all would share it.
        named = session_id is not None or scope is not None
        if given is not None or (store is None and named and self._place.is_configured):
            self._entities = _EntityView(self)
        else:
            self._entities = dict(store or {})  # type: ignore[arg-type]

    @computed_field(repr=False)  # type: ignore[prop-decorator]
    @property
    def store(self) -> Annotated[MutableMapping[str, str | None], _AsDict]:
        """The entities as a mapping, whatever holds them."""
        entities: MutableMapping[str, str | None] = self._entities
        return entities

    @store.setter
    def store(self, entities: Mapping[str, str | None]) -> None:
        if self._private is None:
            self.clear()
            self._entities.update(entities)
        else:
            self._entities = dict(entities)

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        """A copy of the entities, where this object alone holds them."""
        copy = super().__deepcopy__(memo)
        private = self._private
        entities = _EntityView(copy) if private is None else dict(private)
        copy._entities = entities  # noqa: SLF001 - our own class
        return copy

    def _own_scope(self) -> tuple[str, str]:
        return DEFAULT_ROOT, self._session_id or DEFAULT_SESSION

    def _has_same(self, other: StoreEntityStore) -> bool:
        assert isinstance(other, InMemoryEntityStore)  # noqa: S101 - of one class
        theirs = other._private  # noqa: SLF001 - our own class
        if self._private is None or theirs is None:
            return self._private is theirs is None and super()._has_same(other)
        return self._private == theirs

    @property
    def _private(self) -> dict[str, str | None] | None:
        return self._entities if isinstance(self._entities, dict) else None

    def get(self, key: str, default: str | None = None) -> str | None:
        """The summary of an entity, or `default`."""
        private = self._private
        return (
            super().get(key, default) if private is None else private.get(key, default)
        )

    def set(self, key: str, value: str | None) -> None:
        """Keep a summary; an empty one changes nothing."""
        private = self._private
        if private is None:
            super().set(key, value)
        elif value and value.strip():
            private[key] = value

    def delete(self, key: str) -> None:
        """Remove an entity."""
        private = self._private
        if private is None:
            super().delete(key)
        else:
            private.pop(key, None)

    def exists(self, key: str) -> bool:
        """Whether an entity is there."""
        private = self._private
        return super().exists(key) if private is None else key in private

    def clear(self) -> None:
        """Remove all entities."""
        private = self._private
        if private is None:
            super().clear()
        else:
            private.clear()

    async def aget(self, key: str, default: str | None = None) -> str | None:
        """See `get`."""
        return (
            self.get(key, default)
            if self._private is not None
            else await super().aget(key, default)
        )

    async def aset(self, key: str, value: str | None) -> None:
        """See `set`."""
        if self._private is not None:
            self.set(key, value)
        else:
            await super().aset(key, value)

    async def adelete(self, key: str) -> None:
        """See `delete`."""
        if self._private is not None:
            self.delete(key)
        else:
            await super().adelete(key)

    async def aexists(self, key: str) -> bool:
        """See `exists`."""
        return (
            self.exists(key)
            if self._private is not None
            else await super().aexists(key)
        )

    async def aclear(self) -> None:
        """See `clear`."""
        if self._private is not None:
            self.clear()
        else:
            await super().aclear()


class SQLiteEntityStore(StoreEntityStore):
    """Entities of a session that a classic `SQLiteEntityStore` kept in a file.

    Without a store, LangGraph's tables are added to the file itself. The classic
    table is only read: a name found there is taken over once.

    Args:
        session_id: Any string.
        db_file: The classic file; with a store, only the place to read old data.
        table_name: The classic table prefix; the root of the scope.
        args: Not supported, as in the classic class.
        store: A `BaseStore` or an address for `open_store`.
        scope: The whole scope instead of `(table_name, session_id)`.
        history: How much of each entity's journal is kept.
        legacy: `"off"` never looks at the classic table.
        unsafe: Accept a store that is known to lose data.
        unknown: Anything else is named in a warning.
    """

    session_id: AnyString = DEFAULT_SESSION
    table_name: AnyString = DEFAULT_ROOT
    db_file: AnyString = "entities.db"

    _read_legacy: bool = PrivateAttr(default=True)
    _conn: sqlite3.Connection | None = PrivateAttr(default=None)

    def __init__(
        self,
        session_id: str = DEFAULT_SESSION,
        db_file: str = "entities.db",
        table_name: str = DEFAULT_ROOT,
        *args: Any,
        store: BaseStore | str | None = None,
        scope: Scope | tuple[str, ...] | str | None = None,
        history: History = DEFAULT_HISTORY,
        legacy: str = "",
        unsafe: bool = False,
        **unknown: Any,
    ) -> None:
        fields: dict[str, Any] = {
            "session_id": session_id,
            "db_file": str(db_file),
            "table_name": table_name,
        }
        super().__init__(*args, **fields)
        warn_of(unknown, type(self))
        self._settle(store, scope, history=history, unsafe=unsafe)
        self._read_legacy = reads_legacy(legacy)
        if session_id == DEFAULT_SESSION and scope is None:
            warn_once(
                "SQLiteEntityStore without a session_id: every user of the session "
                f"{DEFAULT_SESSION!r} shares its entities. Pass session_id=."
            )

    @property
    def full_table_name(self) -> str:
        """The name of the classic table."""
        return f"{self.table_name}_{self.session_id}"

    @property
    def conn(self) -> sqlite3.Connection:
        """A connection to the file for an application's own statements.

        It is opened when it is asked for, and nothing else here uses it: classic's
        users close it.
        """
        if self._conn is None:
            self._conn = sqlite3.connect(self.db_file)
        return self._conn

    def __getstate__(self) -> dict[Any, Any]:
        """Leave the connection of the application out."""
        state = dict(super().__getstate__())
        private = dict(state["__pydantic_private__"] or {}, _conn=None)
        return {**state, "__pydantic_private__": private}

    def _own_scope(self) -> tuple[str, str]:
        return self.table_name, self.session_id

    def _has_same(self, other: StoreEntityStore) -> bool:
        assert isinstance(other, SQLiteEntityStore)  # noqa: S101 - of one class
        if self._read_legacy != other._read_legacy:  # noqa: SLF001 - our own class
            return False
        if self._place.is_own and self.db_file in _PRIVATE_FILES:
            return self._place is other._place  # noqa: SLF001
        return super()._has_same(other)

    def _own_store(self) -> BaseStore:
        if self.db_file in _PRIVATE_FILES:
            return InMemoryStore()
        from holdover.compat.stores.opening import open_store  # noqa: PLC0415

        store = open_store(self.db_file)
        log_once(
            "LangGraph's store tables are kept in %s, beside the classic tables, "
            "which are only read.",
            self.db_file,
        )
        return store

    def _legacy_place(self) -> LegacyPlace | None:
        if not self._read_legacy or self.db_file in _PRIVATE_FILES:
            return None
        return LegacySqliteTable(self.db_file, self.table_name, self.session_id)


class _EntityView(MutableMapping[str, str | None]):
    """The entities of a store as the dictionary that `.store` used to be."""

    def __init__(self, owner: StoreEntityStore) -> None:
        self._owner = owner

    def __getitem__(self, key: str) -> str | None:
        record = self._owner.repository.get(_ENTITY, _name(key))
        if record is None:
            raise KeyError(key)
        return record.text

    def __setitem__(self, key: str, value: str | None) -> None:
        self._owner.set(key, value)

    def __delitem__(self, key: str) -> None:
        if not self._owner.repository.delete(_ENTITY, _name(key)):
            raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        return (record.name for record in self._owner.repository.records(_ENTITY))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return repr(dict(self))


def _name(key: Any) -> str:
    if isinstance(key, str):
        return key
    if key is None or isinstance(key, bytes):
        raise TypeError(f"An entity's name must be a string, not {key!r}.")
    return str(key)


def _content(key: Any, value: Any) -> dict[str, Any]:
    if isinstance(value, bytes | bytearray):
        raise TypeError("An entity's summary must be text; decode the bytes first.")
    # Numbers became text in the classic tables too.
    text = "" if value is None else value if isinstance(value, str) else str(value)
    return {"name": _name(key), "summary": text}
