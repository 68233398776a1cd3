"""`FileChatMessageHistory`: with its classic constructor, on a store."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdover.compat.chat_message_histories.classic import (
    DEFAULT_TABLE,
    ClassicHistory,
)
from holdover.compat.errors import StoreUnavailable
from holdover.compat.journal import DEFAULT_HISTORY, History
from holdover.compat.legacy.files import LegacyFile
from holdover.compat.notices import log_once
from holdover.compat.scope import Scope

if TYPE_CHECKING:
    from langgraph.store.base import BaseStore

    from holdover.compat.legacy.histories import OldHistory

__all__ = ["FileChatMessageHistory"]

#: The store of all histories in a folder.
STORE_FILE = "holdover.db"


class FileChatMessageHistory(ClassicHistory):
    """Messages that a classic history kept in a file.

    Without a store, they are kept in `holdover.db` in the same folder, under the file's
    name; folder and file are made when a message is added. In a store that is given or
    configured, the session is the absolute path. The classic file is only read: at the
    first use it is taken over whole.

    Args:
        file_path: The classic file; it need not exist.
        encoding: Its encoding; by default it is found out.
        ensure_ascii: Kept as an attribute; nothing is written to the file.
        store: A `BaseStore` or an address for `open_store`.
        scope: The whole scope instead of `("message_store", path)`.
        history: How much of the journal of a deleted message is kept.
        legacy: `"off"` never looks at the file.
        unsafe: Accept a store that is known to lose data.
        unknown: Anything else is named in a warning.
    """

    def __init__(
        self,
        file_path: str | os.PathLike[str],
        *,
        encoding: str | None = None,
        ensure_ascii: bool = True,
        store: BaseStore | str | None = None,
        scope: Scope | tuple[str, ...] | str | None = None,
        history: History = DEFAULT_HISTORY,
        legacy: str = "",
        unsafe: bool = False,
        **unknown: Any,
    ) -> None:
        self.file_path = Path(file_path)
        self.encoding = encoding
        self.ensure_ascii = ensure_ascii
        # The folder we are in may change.
        self._path = Path(os.path.abspath(self.file_path))  # noqa: PTH100 - symlinks stay
        self._settle(
            str(self._path),
            DEFAULT_TABLE,
            store=store,
            scope=scope,
            history=history,
            legacy=legacy,
            unsafe=unsafe,
            unknown=unknown,
            own_session=self._path.name,
        )

    def _own_file(self) -> Path:
        return self._path.with_name(STORE_FILE)

    def _is_nowhere(self) -> bool:
        return (
            self.place.is_own
            and not self._own_file().exists()
            and not (self._reads_legacy and self._path.exists())
        )

    def _own_store(self) -> BaseStore:
        from holdover.compat.stores.opening import open_store  # noqa: PLC0415

        own = self._own_file()
        try:
            own.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreUnavailable(
                f"{own.parent} cannot be made: {error.strerror}.",
                hint="Check the path, or pass store= to keep the messages elsewhere.",
            ) from error
        store = open_store(f"sqlite:///{own}")
        log_once(
            "Chat histories of the folder %s are kept in its file %s; the classic "
            "files are only read.",
            str(own.parent),
            STORE_FILE,
        )
        return store

    def _old(self) -> OldHistory:
        return LegacyFile(self._path, self.encoding, self.place.root)
