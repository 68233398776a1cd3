"""What the classic histories share: a place of their own, and old messages to read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from holdover.compat.chat_message_histories.store import StoreChatMessageHistory
from holdover.compat.errors import HoldoverError
from holdover.compat.journal import DEFAULT_HISTORY, History
from holdover.compat.notices import warn_of
from holdover.compat.place import Place, reads_legacy
from holdover.compat.scope import Scope

if TYPE_CHECKING:
    from langgraph.store.base import BaseStore

    from holdover.compat.legacy.histories import OldHistory

__all__ = ["ClassicHistory"]

#: What the classic classes called their tables and keys.
DEFAULT_TABLE = "message_store"


class ClassicHistory(StoreChatMessageHistory):
    """A history with a store of its own, and an old place that is read once."""

    _reads_legacy = True

    def _settle(
        self,
        session: str,
        root: str,
        *,
        store: BaseStore | str | None,
        scope: Scope | tuple[str, ...] | str | None,
        history: History = DEFAULT_HISTORY,
        legacy: str = "",
        unsafe: bool = False,
        unknown: Iterable[str] = (),
        ttl: float | timedelta | None = None,
        own_session: str | None = None,
    ) -> None:
        warn_of(unknown, type(self))
        self._reads_legacy = reads_legacy(legacy)
        place = Place(
            store,
            scope=scope,
            root=root,
            session=session,
            own_session=own_session,
            history=history,
            unsafe=unsafe,
            own_store=self._own_store,
        )
        self._begin(place, ttl)

    def __setstate__(self, state: Any) -> None:
        """Take up a state, also that of a classic history."""
        if isinstance(state, Mapping) and "place" in state:
            self.__dict__.update(state)
            return
        from holdover.compat.old_states import (  # noqa: PLC0415 - rarely needed
            revive_plain,
        )

        revive_plain(self, state)

    def _is_of_one(self) -> bool:
        """See the base class: a database in memory is the object's own."""
        address = vars(self).get("_connection")
        if not (self.place.is_own and isinstance(address, str)):
            return False
        from holdover.compat import sql_engines  # noqa: PLC0415 - rarely needed

        try:
            url = sql_engines.url_of(address)
        except HoldoverError:
            return False  # neither of them can be used
        is_file = sql_engines.database_file(url) is not None
        return url.get_backend_name() == "sqlite" and not is_file

    def _own_store(self) -> BaseStore:
        """Open the store used where none is given or configured."""
        raise NotImplementedError

    def _old_history(self) -> OldHistory | None:
        return self._old() if self._reads_legacy else None

    def _old(self) -> OldHistory | None:
        raise NotImplementedError


def name_of(session_id: Any) -> str:
    """A session id as text; tables kept numbers as text, too.

    Raises:
        TypeError: It is neither text nor a number, nor a UUID.
    """
    if isinstance(session_id, str):
        return session_id
    if session_id is None or isinstance(session_id, bytes):
        raise TypeError(f"A session_id must be a string, not {session_id!r}.")
    return str(session_id)


def root_of(key_prefix: str) -> str:
    """The first label of the scope: the prefix without a last colon."""
    return key_prefix.removesuffix(":")
