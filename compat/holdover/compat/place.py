"""Which store an object uses, and below which scope; opened at its first use.

Applications build memories, histories and entity stores for every request: making
one opens no connection.
"""

from __future__ import annotations

import asyncio
import copy
import os
import threading
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from uuid import UUID

from holdover.compat.both_ways import Do, Operation
from holdover.compat.configuration import configuration, in_context
from holdover.compat.errors import InvalidScope
from holdover.compat.journal import DEFAULT_HISTORY, History
from holdover.compat.notices import warn_once
from holdover.compat.repository import LegacyPlace, Repository
from holdover.compat.scope import DEFAULT_ROOT, DEFAULT_SESSION, Scope
from holdover.compat.stores import opening
from holdover.compat.stores.choosing import given_store

if TYPE_CHECKING:
    from langgraph.store.base import BaseStore

# What is made at first use is made once, whichever thread comes first.
_making = threading.RLock()
#: Every place in use, to be told of a fork.
_places: weakref.WeakSet[Place] = weakref.WeakSet()


def _after_fork() -> None:
    """Let go of stores that were opened by address: the connection is the parent's."""
    global _making  # noqa: PLW0603 - another thread may have held it
    _making = threading.RLock()
    for place in list(_places):
        if place.reopens_after_fork or place.uses(opening.is_inherited):
            place.let_go()


def _let_go_of(stores: list[BaseStore]) -> None:
    """Let go of stores that are closed, or whose file is gone."""
    for place in list(_places):
        if place.uses(lambda store: any(store is one for one in stores)):
            place.let_go()


opening.when_gone(_let_go_of)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def reads_legacy(legacy: str) -> bool:
    """Whether old places are looked at: the argument, else `HOLDOVER_LEGACY`."""
    return (legacy or os.environ.get("HOLDOVER_LEGACY", "")).strip().lower() != "off"


def session_name(session: Any) -> str | None:
    """A session as text; databases give their ids as numbers or UUIDs.

    Raises:
        InvalidScope: It is none of these.
    """
    if session is None or isinstance(session, str):
        return session
    if isinstance(session, int | UUID) and not isinstance(session, bool):
        return str(session)
    raise InvalidScope(
        f"A session_id must be a string, not {type(session).__name__}.",
        hint="Convert the id with str() first.",
    )


class Place:
    """A store and a scope, as an object was told them.

    Which store: the one given, else the configured one, else the class's own, else
    none. A configured store is used only under a session or a scope: without, every
    user of the process would share its records.

    Args:
        store: A `BaseStore`, an address for `open_store`, or `None`.
        scope: The whole scope, as raw labels; by default `(root, session)` below
            what is configured.
        root: The classic table name or key prefix.
        session: The session; any string, or a number or UUID as its text.
        own_session: What stands for it where the class's own store is used.
        history: How much of each item's journal is kept.
        unsafe: Accept a store that is known to lose data.
        own_store: Opens the class's own store.
        legacy: Makes the old place to read through.
        reopens_after_fork: A child process needs connections of its own in any case.

    Raises:
        TypeError: What was given as a store is none.
        AddressError: It is an empty address.
        InvalidScope: The session is none, or a label is no string.
    """

    def __init__(
        self,
        store: BaseStore | str | None = None,
        *,
        scope: Scope | tuple[str, ...] | str | None = None,
        root: str = DEFAULT_ROOT,
        session: str | None = None,
        own_session: str | None = None,
        history: History = DEFAULT_HISTORY,
        unsafe: bool = False,
        own_store: Callable[[], BaseStore] | None = None,
        legacy: Callable[[], LegacyPlace | None] | None = None,
        reopens_after_fork: bool = False,
    ) -> None:
        self.store = given_store(store)
        self.root = root
        self.session = session_name(session)
        self._own_session = own_session
        self.reopens_after_fork = reopens_after_fork
        self._scope = None if scope is None else Scope.of(scope)
        self._history, self._unsafe = history, unsafe
        self._own_store, self._legacy = own_store, legacy
        # A `configured` block counts for what is made in it, also when it has ended.
        self._settings = in_context()
        self._repository: Repository | None = None

    @property
    def given_scope(self) -> list[str] | None:
        """The labels of the scope it was given, if it was."""
        return None if self._scope is None else list(self._scope)

    @property
    def is_named(self) -> bool:
        """Whether it has a session or scope of its own."""
        return self.session is not None or self._scope is not None

    @property
    def is_open(self) -> bool:
        """Whether it was used."""
        return self._repository is not None

    @property
    def is_configured(self) -> bool:
        """Whether a store is configured, whether or not it is used here."""
        return (self._settings or configuration()).store is not None

    @property
    def is_shared(self) -> bool:
        """Whether there is a store at all; without, its owner keeps things itself."""
        if self.store is not None or self._own_store is not None:
            return True
        return self.is_named and self.is_configured

    @property
    def is_own(self) -> bool:
        """Whether it is the class's own store: none was given, none is configured."""
        own = self._own_store is not None and self.store is None
        return own and not self.is_configured

    @property
    def scope(self) -> Scope:
        """The raw labels its records are kept under."""
        if self._scope is not None:
            return self._scope
        settings = self._settings or configuration()
        session = session_name(self.session)
        if self._own_session is not None and self.is_own:
            session = self._own_session
        return Scope(
            *settings.scope,
            self.root,
            DEFAULT_SESSION if session is None else session,
        )

    @property
    def repository(self) -> Repository:
        """The records there; made once.

        Raises:
            ValueError: It has no store.
        """
        repository = self._repository
        if repository is None:
            with _making:
                repository = self._repository
                if repository is None:
                    repository = self._repository = self._opened()
                    _places.add(self)
        return repository

    def is_same(self, other: Place) -> bool:
        """Whether both keep their records in one store, under one scope."""
        if not (self.is_shared and other.is_shared):
            return False
        if self is other:
            return True
        mine, theirs = self._which(), other._which()
        # What a store takes for equal may be another one.
        is_one = mine is theirs or (isinstance(mine, str) and mine == theirs)
        return is_one and self.scope == other.scope

    def _which(self) -> Any:
        """What tells its store from others, without opening it."""
        if self.store is not None:
            return self.store
        # What a class opens by itself, its owner's fields tell apart.
        settings = self._settings or configuration()
        return settings.store if self.is_configured else None

    def for_session(self, session: str) -> Place:
        """The same store, under a session that became known later."""
        other = copy.copy(self)
        other.session, other._scope = session_name(session), None  # noqa: SLF001 - its own
        return other

    def for_owner(
        self,
        own_store: Callable[[], BaseStore],
        legacy: Callable[[], LegacyPlace | None],
    ) -> Place:
        """The same for another object, which opens what is its own."""
        other = copy.copy(self)
        other._own_store, other._legacy = own_store, legacy  # noqa: SLF001 - its own
        return other

    def opened(self) -> Operation[Repository]:
        """The records there; from async code, a store is opened in a thread."""
        if self._repository is not None:
            return self._repository
        opened: Repository = yield Do(lambda: self.repository, self._aopened)
        return opened

    async def _aopened(self) -> Repository:
        try:
            return await asyncio.to_thread(lambda: self.repository)
        except RuntimeError:
            # A factory may make a store that belongs to the running loop.
            return self.repository

    def uses(self, test: Callable[[BaseStore], bool]) -> bool:
        """Whether an open store passes a test."""
        return self._repository is not None and test(self._repository.store)

    def let_go(self) -> None:
        """Let the next use open the store anew."""
        self._repository = None

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what is opened again where it is needed."""
        return {**self.__dict__, "_repository": None}

    def __deepcopy__(self, memo: dict[int, Any]) -> Place:
        """A store is not copied: the copy works on the same records."""
        return self

    def _opened(self) -> Repository:
        settings = self._settings or configuration()
        store = self.store if self.store is not None else self._configured()
        if isinstance(store, str):
            store = opening.open_store(store)
        if store is None and self._own_store is not None:
            store = self._own_store()
        if store is None:
            raise ValueError(
                "Nothing here has a store; pass store=. A configured store is used "
                "only with session_id= or scope=."
            )
        if self.store is not None and not self.is_named:
            warn_once(
                "A store was given without session_id=: everybody shares the session "
                f"{DEFAULT_SESSION!r}. Pass session_id=."
            )
        return Repository(
            store,
            self.scope,
            history=self._history,
            redact=settings.redact,
            legacy=self._legacy() if self._legacy else None,
            unsafe=self._unsafe,
        )

    def _configured(self) -> BaseStore | None:
        settings = self._settings or configuration()
        owned = self._own_store is not None
        return settings.opened() if self.is_named or owned else None
