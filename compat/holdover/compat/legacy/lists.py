"""The list a classic Redis history kept: read in place, its lifetime untouched."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from holdover.compat.adopting import OldItems
from holdover.compat.errors import StoreUnavailable
from holdover.compat.legacy.histories import OldHistory, numbered
from holdover.compat.legacy.redis import of_old_data
from holdover.compat.notices import log_once

if TYPE_CHECKING:
    from holdover.compat.stores.redis_transport import Transport

_NO_END, _GONE = -1, -2
_WRONG_TYPE = "WRONGTYPE"


class LegacyRedisList(OldHistory):
    """One session's list, `{key_prefix}{session_id}`, whose newest message is first.

    Args:
        connect: Makes or gives what sends commands; called at the first use.
        key: The list's key.
        root: See `OldHistory`.
        database: The number of the database, for the locators.
        shown: The address without its password, for errors.
    """

    def __init__(
        self,
        connect: Callable[[], Transport],
        key: str,
        root: str,
        *,
        database: int = 0,
        shown: str = "Redis",
    ) -> None:
        super().__init__(root)
        self._connect = connect
        self._key = key
        self._database = database
        self._shown = shown

    @property
    def locator(self) -> str:
        """Database and key."""
        return f"redis:{self._database}:{self._key}"

    def read(self) -> OldItems | None:
        """See `OldHistory.read`."""
        try:
            key = self._key.encode()
        except UnicodeEncodeError:
            # The classic class could not have written it.
            return None
        # The lifetime is asked for behind the list, so it is never older.
        entries, left = self._send([("LRANGE", key, 0, -1), ("PTTL", key)])
        if isinstance(entries, Exception) and str(entries).startswith(_WRONG_TYPE):
            log_once(
                "A key below %s is no list of messages and was skipped.", self._root
            )
            return None
        for answer in (entries, left):
            if isinstance(answer, Exception):
                raise self._unavailable(answer)
        milliseconds = int(left)
        if not entries or milliseconds in {_GONE, 0}:
            return None
        lifetime = timedelta(milliseconds=milliseconds)
        return self._items(
            numbered(reversed(entries)),
            None if milliseconds == _NO_END else lifetime,
        )

    def _send(self, commands: list[tuple[Any, ...]]) -> list[Any]:
        from redis.exceptions import RedisError  # noqa: PLC0415 - takes long to load

        try:
            return self._connect().send(commands)
        except StoreUnavailable as error:
            failure = of_old_data(str(error.args[0]), error.hint)
        except (RedisError, OSError) as error:
            failure = self._unavailable(error)
        raise failure

    def _unavailable(self, error: Exception) -> StoreUnavailable:
        from holdover.compat.stores.redis_connecting import explain  # noqa: PLC0415

        return of_old_data(*explain(error, self._shown))
