"""The keys a classic Redis entity store wrote: read in place, lifetimes untouched."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from holdover.compat import events
from holdover.compat.errors import StoreUnavailable
from holdover.compat.reading import OldValue

if TYPE_CHECKING:
    from holdover.compat.stores.redis_transport import Transport

logger = logging.getLogger("holdover.compat")
_NO_END, _GONE = -1, -2
_WRONG_TYPE = "WRONGTYPE"


class LegacyRedisKeys:
    """One session's string keys, `{key_prefix}:{session_id}:{entity}`.

    A key is read by `GET` and `PTTL`, where the classic class sent a `GETEX`: reading
    changes neither value nor lifetime. What cannot be an entity (another type, no
    UTF-8) is as if it were not there, with an event `legacy_skipped`.

    Args:
        connect: Makes or gives what sends commands; called at the first use.
        key_prefix: The classic prefix.
        session_id: The classic session.
        database: The number of the database, for the locators.
        shown: The address without its password, for errors.

    Raises:
        StoreUnavailable: Redis does not answer, or refuses to.
    """

    def __init__(
        self,
        connect: Callable[[], Transport],
        key_prefix: str,
        session_id: str,
        *,
        database: int = 0,
        shown: str = "Redis",
    ) -> None:
        self._connect = connect
        self._root = key_prefix
        self._prefix = f"{key_prefix}:{session_id}:"
        self._database = database
        self._shown = shown

    def found(self) -> bool:
        """True: whether a session has keys, only a scan of all of them would tell."""
        return True

    def read(self, name: str) -> OldValue | None:
        """The old summary of a name, and what is left of its lifetime."""
        key = self._key(name)
        if key is None:
            return None
        # The lifetime is asked for behind the value, so it is never older.
        value, left = self._send([("GET", key), ("PTTL", key)])
        if _is_wrong_type(value):
            self._skip("another type")
            return None
        for answer in (value, left):
            if isinstance(answer, Exception):
                raise self._unavailable(answer)
        milliseconds = int(left)
        if value is None or milliseconds in {_GONE, 0}:
            return None
        try:
            text = value if isinstance(value, str) else bytes(value).decode()
        except UnicodeDecodeError:
            self._skip("no UTF-8")
            return None
        if milliseconds == _NO_END:
            return OldValue(text)
        return OldValue(text, timedelta(milliseconds=milliseconds))

    def holds(self, names: Sequence[str]) -> set[str]:
        """Which of these names have a key."""
        keys = {name: self._key(name) for name in names}
        known = [name for name, key in keys.items() if key is not None]
        if not known:
            return set()
        answers = self._send([("EXISTS", keys[name]) for name in known])
        for answer in answers:
            if isinstance(answer, Exception):
                raise self._unavailable(answer)
        return {n for n, there in zip(known, answers, strict=True) if int(there)}

    def locator(self, name: str) -> str:
        """Database and key, as a migration names them."""
        return f"redis:{self._database}:{self._prefix}{name}"

    def _key(self, name: str) -> bytes | None:
        try:
            return f"{self._prefix}{name}".encode()
        except UnicodeEncodeError:
            # The classic class could not have written it.
            return None

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

    def _skip(self, why: str) -> None:
        events.emit("legacy_skipped", self._root)
        _log_once(self._root, why)


def of_old_data(message: str, hint: str) -> StoreUnavailable:
    """What is said where Redis does not give the old data."""
    return StoreUnavailable(
        f"The old data cannot be read: {message}",
        hint=f"{hint} Or pass legacy='off' to go on without it.".strip(),
    )


def _is_wrong_type(answer: Any) -> bool:
    return isinstance(answer, Exception) and str(answer).startswith(_WRONG_TYPE)


@functools.cache
def _log_once(root: str, why: str) -> None:
    # Neither session nor entity: they may be names of people.
    logger.warning("A key below %s: is no entity (%s) and was skipped.", root, why)
