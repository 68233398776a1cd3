"""Messages of any history that a `module:factory` gives for a session.

The application's own class reads what this package has no reader for. It is the one
source that is not read by a driver, so what it changes by being read is its matter.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from holdover.compat.message_records import message_content
from holdover.migrate.errors import SourceNotFound, UsageError
from holdover.migrate.sources.base import Partition, Reject
from holdover.migrate.sources.batching import Rows, make_item
from holdover.migrate.sources.messages import NO_OBJECT, Unreadable, read_message
from holdover.migrate.sources.naming import Names
from holdover.migrate.sources.whole import WholeSource

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator

    from holdover.migrate.sources.base import Batch, ReadOptions, SourceItem

_PARTITIONS = 8


class FactorySource(WholeSource):
    """The histories of the sessions that are named, one call of the factory for each.

    Of a history only `messages` is read, or `aget_messages()` where it has its own and
    `messages` fails. A session whose factory or history raises is a reject.

    Args:
        address: `module:factory`; what it names is called with a session's id.
        options: The sessions, and their root.
    """

    label = "Chat histories of a factory"

    def __init__(self, address: str, options: ReadOptions) -> None:
        self.address = address
        self._options = options
        self._names = Names(options)
        roots = options.roots_or("message_store")
        if len(roots) > 1:
            raise UsageError(
                "The histories of a factory have one root.", hint="Name one --root."
            )
        if not options.sessions:
            raise UsageError(
                f"{address} cannot list its sessions.",
                hint="Name them: --session ID, repeated, or --session-map FILE.",
            )
        self._root = roots[0]
        self._threads: ThreadPoolExecutor | None = None
        self._loop: asyncio.Runner | None = None

    def partitions(self) -> list[Partition]:
        """Shares of the sessions, by hash."""
        if "messages" not in self._options.kinds:
            return []
        return [
            Partition(f"messages-factory-{share}", {"share": share}, aligned=True)
            for share in range(_PARTITIONS)
        ]

    def read(
        self, partition: Partition, cursor: Any = None, *, size: int = 10_000
    ) -> Iterator[Batch]:
        """Read sessions by name from behind the one that the cursor names."""
        rows = Rows()
        done = cursor
        for session in self._sessions(partition.spec["share"]):
            name = _text(session)
            if cursor is not None and name <= cursor:
                continue
            for one in self._messages(session, f"factory:{self.address}:{name}"):
                rows.add(one)
                if rows.count >= size or rows.full:
                    yield rows.batch(done)
                    rows = Rows()
            done = name
        if rows.count:
            yield rows.batch(done)

    def close(self) -> None:
        """End the loop in which asynchronous histories were read."""
        if self._threads is not None and self._loop is not None:
            self._threads.submit(self._loop.close).result()
            self._threads.shutdown()
            self._threads = self._loop = None

    def _sessions(self, share: int) -> list[str]:
        found = [
            session
            for session in self._options.sessions
            if _share(session) == share and self._names.selects(session)
        ]
        return sorted(found, key=_text)

    def _messages(self, session: str, locator: str) -> Iterator[SourceItem | Reject]:
        """A session's messages in order, or why there are none."""
        factory = self._factory
        position = -1
        try:
            messages = self._read(factory, session)
            for position, message in enumerate(messages):
                at = f"{locator}#{position}"
                content = _content(message)
                if isinstance(content, Unreadable):
                    yield Reject(content.reason, at, content.detail)
                else:
                    named = ("message", self._root, session, "", content, at, position)
                    yield make_item((*named, None, None, None))
        except UsageError:
            raise
        except Exception as error:  # noqa: BLE001 - of the application's code, which may raise anything
            # What it says may name people; its class does not.
            yield Reject(
                "factory-failed",
                locator,
                f"Reading the history raised {type(error).__name__}.",
            )

    def _read(self, factory: Callable[[str], Any], session: str) -> Iterable[Any]:
        history = factory(session)
        if inspect.isawaitable(history):
            history = self._awaited(history)
        self._check(history)
        own = getattr(type(history), "aget_messages", None)
        try:
            messages: Iterable[Any] = history.messages
        except Exception:
            if own is None or _is_inherited(own):
                raise
            messages = self._awaited(history.aget_messages())
        return messages

    def _check(self, history: Any) -> None:
        """Refuse what is no history: it would be so for every session."""
        from langgraph.store.base import BaseStore  # noqa: PLC0415

        if isinstance(history, BaseStore):
            raise UsageError(
                f"{self.address} returned a store, not a chat history.",
                hint="As a source, it is called with a session's id and returns a "
                "BaseChatMessageHistory. A store is a source with --layout classic.",
            )
        kind = type(history)
        if not hasattr(kind, "aget_messages") and not hasattr(history, "messages"):
            raise UsageError(
                f"{self.address} returned a {kind.__name__}, not a chat history.",
                hint="It has to return a BaseChatMessageHistory.",
            )

    @cached_property
    def _factory(self) -> Callable[[str], Any]:
        module, _, name = self.address.partition(":")
        try:
            factory: Any = getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError) as error:
            raise SourceNotFound(
                f"{self.address} cannot be imported: {error}.",
                hint="Write module:function, importable from here (set PYTHONPATH).",
            ) from error
        except Exception as error:
            raise SourceNotFound(
                f"{self.address} cannot be imported: it raised {type(error).__name__}.",
                hint=f"Try: python -c 'import {module}'",
            ) from error
        if not callable(factory):
            self._check(factory)
            raise UsageError(
                f"{self.address} is one history; sessions need a function.",
                hint="Write a function that takes a session's id and returns its "
                "history.",
            )
        try:
            inspect.signature(factory).bind("")
        except TypeError:
            raise UsageError(
                f"{self.address} does not take one argument, the session's id.",
                hint="Write a function that takes a session's id and returns its "
                "BaseChatMessageHistory.",
            ) from None
        except ValueError:
            pass  # a class written in C: calling it will tell
        return factory  # type: ignore[no-any-return]

    def _awaited(self, result: Awaitable[Any]) -> Any:
        """Wait for a result, in one loop for all: connections belong to theirs.

        In a thread of its own, as the caller may be in a loop.
        """

        async def waited() -> Any:
            return await result

        if self._threads is None or self._loop is None:
            self._threads = ThreadPoolExecutor(1, "holdover-factory")
            self._loop = asyncio.Runner()
        return self._threads.submit(self._loop.run, waited()).result()


def _content(message: Any) -> dict[str, Any] | Unreadable:
    if isinstance(message, Mapping):
        return read_message(message)
    try:
        return message_content(message)
    except TypeError:
        return NO_OBJECT


def _is_inherited(method: Any) -> bool:
    """Whether it is the base class's, which reads `messages`."""
    from langchain_core.chat_history import (  # noqa: PLC0415
        BaseChatMessageHistory,
    )

    return method is BaseChatMessageHistory.aget_messages


def _share(session: str) -> int:
    return sha256(session.encode("utf-8", "surrogatepass")).digest()[0] % _PARTITIONS


def _text(session: str) -> str:
    """A session for the ledger: what is no UTF-8 as escapes."""
    return session.encode("utf-8", "backslashreplace").decode()
