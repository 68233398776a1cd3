"""`SQLChatMessageHistory`: with its classic constructors, on a store."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from holdover.compat import sql_engines
from holdover.compat.both_ways import Do, Operation
from holdover.compat.chat_message_histories.classic import (
    DEFAULT_TABLE,
    ClassicHistory,
    name_of,
)
from holdover.compat.chat_message_histories.sql_converters import (
    BaseMessageConverter,
    DefaultMessageConverter,
)
from holdover.compat.errors import SyncUseOfAsyncStore
from holdover.compat.journal import DEFAULT_HISTORY, History
from holdover.compat.legacy.tables import LegacyTable
from holdover.compat.notices import log_once, warn_once
from holdover.compat.scope import Scope

if TYPE_CHECKING:
    from langgraph.store.base import BaseStore
    from sqlalchemy.engine import Engine
    from sqlalchemy.ext.asyncio import AsyncEngine

    from holdover.compat.legacy.histories import OldHistory

__all__ = [
    "BaseMessageConverter",
    "DefaultMessageConverter",
    "SQLChatMessageHistory",
    "SyncUseOfAsyncEngine",
]

_NEW = (
    "table_name", "session_id_field_name", "custom_message_converter", "connection",
    "engine_args", "async_mode",
)  # fmt: skip
_OLD = ("connection_string", *_NEW)
_DEFAULT_COLUMNS = ("id", "session_id", "message")


class SyncUseOfAsyncEngine(SyncUseOfAsyncStore, ValueError):
    """A history with an asyncio engine was used by a sync method."""

    code = "sync-use-of-async-engine"


class SQLChatMessageHistory(ClassicHistory):
    """Messages of a session that a classic history kept in an SQL database.

    Without a store, LangGraph's tables are added to the same SQLite file or PostgreSQL
    database; for another one, pass `store=`. The classic table is only selected from:
    at the first use the session is taken over whole.

    Args:
        session_id: Any string.
        positional: In the order of either classic constructor: where the first is an
            address, it is the old `connection_string`, else `table_name`.
        connection: An address as SQLAlchemy takes it, an `Engine` or an `AsyncEngine`,
            or `env:NAME`; with a store, only the place to read old messages.
        store: A `BaseStore` or an address for `open_store`.
        scope: The whole scope instead of `(table_name, session_id)`.
        history: How much of the journal of a deleted message is kept.
        legacy: `"off"` never looks at the classic table.
        unsafe: Accept a store that is known to lose data.
        named: `connection_string` (the old name of `connection`), `table_name`,
            `session_id_field_name`, `custom_message_converter`, `engine_args` and
            `async_mode`, as in the classic class. Anything else is named in a warning.

    Raises:
        ValueError: There is neither a connection nor a store, or two connections; or
            the table has no such column.
    """

    def __init__(
        self,
        session_id: str,
        *positional: Any,
        connection: str | Engine | AsyncEngine | None = None,
        store: BaseStore | str | None = None,
        scope: Scope | tuple[str, ...] | str | None = None,
        history: History = DEFAULT_HISTORY,
        legacy: str = "",
        unsafe: bool = False,
        **named: Any,
    ) -> None:
        self._engines: sql_engines.Engines = {}
        given = _together(positional, {"connection": connection, **named})
        old_name = given.pop("connection_string", None)
        connection = given.pop("connection", None)
        if old_name:
            if connection:
                raise ValueError(
                    "connection_string and connection are mutually exclusive."
                )
            warn_once("connection_string= is now connection=; both work here.")
            connection = old_name
        self.table_name = given.pop("table_name", None) or DEFAULT_TABLE
        column = given.pop("session_id_field_name", None) or "session_id"
        self.session_id_field_name = column
        self._converter = given.pop("custom_message_converter", None)
        self._engine_args: Mapping[str, Any] | None = given.pop("engine_args", None)
        asked = given.pop("async_mode", None)
        self._connection = _checked(connection)
        self.async_mode = self._is_async_engine or bool(asked)
        if not self._has_column(column):
            raise ValueError("SQL model class must have session_id column")
        self._settle(
            name_of(session_id),
            self.table_name,
            store=store,
            scope=scope,
            history=history,
            legacy=legacy,
            unsafe=unsafe,
            unknown=given,
        )
        if self._connection is None and self.place.is_own:
            raise ValueError(
                "connection should be a connection string or an instance of "
                "sqlalchemy.engine.Engine or sqlalchemy.ext.asyncio.AsyncEngine; or "
                "pass store=."
            )

    @property
    def engine(self) -> Engine:
        """The engine; made when it is asked for, one for all objects of an address.

        A database in memory is the object's own.
        """
        if not isinstance(self._connection, str):
            engine: Engine = self._connection
            return engine
        return sql_engines.engine_at(self._connection, self._engine_args, self._engines)

    @property
    def async_engine(self) -> AsyncEngine:
        """The `AsyncEngine` that was given."""
        if not self._is_async_engine:
            raise AttributeError("This history has no asyncio engine.")
        engine: AsyncEngine = self._connection
        return engine

    @property
    def converter(self) -> Any:
        """The message converter that was given, else the default one."""
        return self._converter or DefaultMessageConverter(self.table_name)

    @property
    def sql_model_class(self) -> Any:
        """The model of the classic table."""
        return self.converter.get_sql_model_class()

    @property
    def session_maker(self) -> Any:
        """Makes SQLAlchemy sessions, for an application's own statements."""
        sql_engines.sqlalchemy()
        if self._is_async_engine:
            from sqlalchemy.ext.asyncio import async_sessionmaker  # noqa: PLC0415

            return async_sessionmaker(bind=self.async_engine)
        from sqlalchemy.orm import scoped_session, sessionmaker  # noqa: PLC0415

        return scoped_session(sessionmaker(bind=self.engine))

    def get_messages(self) -> list[Any]:
        """See `messages`."""
        return self.messages

    def __getstate__(self) -> dict[str, Any]:
        """Refuse a ready engine, which holds connections."""
        if not isinstance(self._connection, str | None):
            raise TypeError(
                f"A {type(self).__name__} with an engine cannot be pickled: make it "
                "with an address instead."
            )
        return {**self.__dict__, "_engines": {}}

    @property
    def _is_async_engine(self) -> bool:
        return hasattr(self._connection, "sync_engine")

    def _has_column(self, column: str) -> bool:
        if self._converter is None:
            return column in _DEFAULT_COLUMNS
        return hasattr(self._converter.get_sql_model_class(), column)

    def _engine(self) -> Engine | AsyncEngine:
        return self.async_engine if self._is_async_engine else self.engine

    def _asyncio_only(self) -> Operation[None]:
        """Refuse a sync method where only an asyncio engine is there."""

        def refuse() -> None:
            raise SyncUseOfAsyncEngine(
                f"This {type(self).__name__} has an AsyncEngine and works only with "
                "async calls.",
                hint="Use the method's async twin (aget_messages, aadd_messages, "
                "asave_context …), or give connection= an Engine or an address.",
            )

        async def accept() -> None:
            pass

        if self._is_async_engine:
            yield Do(refuse, accept)

    def _first(self) -> Operation[None]:
        yield from self._asyncio_only()
        yield from super()._first()

    def _clear(self) -> Operation[None]:
        yield from self._asyncio_only()
        yield from super()._clear()

    def _own_store(self) -> BaseStore:
        engine: Any = self._engine()
        store = sql_engines.own_store(engine.url, engine)
        log_once(
            "LangGraph's store tables are kept in the database of the table %s, which "
            "is only read.",
            self.table_name,
        )
        return store

    def _old(self) -> OldHistory | None:
        if self._connection is None:
            return None
        return LegacyTable(
            self._engine,
            self.table_name,
            self.session_id_field_name,
            self.place.session or "",
            self._converter,
        )


def _together(positional: tuple[Any, ...], named: Mapping[str, Any]) -> dict[str, Any]:
    """All arguments by name, whichever constructor the positional ones were for."""
    first = positional[0] if positional else None
    names = _OLD if first is None or _is_address(first) else _NEW
    if len(positional) > len(names):
        raise TypeError(
            f"SQLChatMessageHistory takes at most {len(names) + 1} positional "
            f"arguments, not {len(positional) + 1}."
        )
    given = dict(zip(names, positional, strict=False))
    for name, value in named.items():
        if name in given and value is not None and given[name] is not None:
            raise TypeError(f"SQLChatMessageHistory got two values for {name}.")
        if given.get(name) is None:
            given[name] = value
    return given


def _is_address(value: Any) -> bool:
    return isinstance(value, str) and ("://" in value or value.startswith("env:"))


def _checked(connection: Any) -> Any:
    """What can be connected by: an address, an engine of either kind, or nothing."""
    if connection is None or isinstance(connection, str):
        return connection
    # Asked by name: SQLAlchemy need not be loaded for an address.
    if hasattr(connection, "connect") and hasattr(connection, "url"):
        return connection
    raise ValueError(
        "connection should be a connection string or an instance of "
        "sqlalchemy.engine.Engine or sqlalchemy.ext.asyncio.AsyncEngine."
    )
