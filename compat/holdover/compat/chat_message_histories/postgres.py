"""`PostgresChatMessageHistory`: with its classic constructor, on a store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdover.compat.chat_message_histories.classic import (
    DEFAULT_TABLE,
    ClassicHistory,
    name_of,
)
from holdover.compat.journal import DEFAULT_HISTORY, History
from holdover.compat.notices import log_once
from holdover.compat.scope import Scope

if TYPE_CHECKING:
    from langgraph.store.base import BaseStore

    from holdover.compat.legacy.histories import OldHistory

__all__ = ["DEFAULT_CONNECTION_STRING", "PostgresChatMessageHistory"]

DEFAULT_CONNECTION_STRING = "postgresql://postgres:mypassword@localhost/chat_history"


class PostgresChatMessageHistory(ClassicHistory):
    """Messages of a session that a classic history kept in PostgreSQL.

    Without a store, LangGraph's tables are added to the same database. The classic
    table is only read: at the first use the session is taken over whole.

    Args:
        session_id: Any string.
        connection_string: A URL or libpq's `host=… dbname=…`, or `env:NAME`; with a
            store, only the place to read old messages. It is connected to at the first
            use.
        table_name: The classic table; the root of the scope.
        store: A `BaseStore` or an address for `open_store`.
        scope: The whole scope instead of `(table_name, session_id)`.
        history: How much of the journal of a deleted message is kept.
        legacy: `"off"` never looks at the classic table.
        unsafe: Accept a store that is known to lose data.
        unknown: Anything else is named in a warning.
    """

    def __init__(
        self,
        session_id: str,
        connection_string: str = DEFAULT_CONNECTION_STRING,
        table_name: str = DEFAULT_TABLE,
        *,
        store: BaseStore | str | None = None,
        scope: Scope | tuple[str, ...] | str | None = None,
        history: History = DEFAULT_HISTORY,
        legacy: str = "",
        unsafe: bool = False,
        **unknown: Any,
    ) -> None:
        self.table_name = table_name
        self._address = connection_string
        # With a store, the default address is no old place that anybody named.
        self._named = connection_string != DEFAULT_CONNECTION_STRING
        self._settle(
            name_of(session_id),
            table_name,
            store=store,
            scope=scope,
            history=history,
            legacy=legacy,
            unsafe=unsafe,
            unknown=unknown,
        )

    def _own_store(self) -> BaseStore:
        from holdover.compat.legacy.postgres import libpq_url  # noqa: PLC0415
        from holdover.compat.stores.opening import open_store  # noqa: PLC0415

        store = open_store(libpq_url(self._address))
        log_once(
            "LangGraph's store tables are kept in the database of the table %s, which "
            "is only read.",
            self.table_name,
        )
        return store

    def _old(self) -> OldHistory | None:
        from holdover.compat.legacy.postgres import LegacyJsonbTable  # noqa: PLC0415

        if not (self._named or self.place.is_own):
            return None
        own = self.base_store if self.place.is_own else None
        return LegacyJsonbTable(
            self._address, self.table_name, self.place.session or "", own
        )
