"""`StoreChatMessageHistory`: the messages of a session as records of a store."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, ClassVar, Self

from langchain_core.messages import BaseMessage

from holdover.compat.base import BaseChatMessageHistory
from holdover.compat.both_ways import Do, Operation, arun, run
from holdover.compat.errors import InvalidScope
from holdover.compat.journal import DEFAULT_HISTORY, History
from holdover.compat.message_keys import MessageKeys
from holdover.compat.message_records import message_content, message_of
from holdover.compat.place import Place
from holdover.compat.scope import DEFAULT_ROOT, Scope, decode_key

if TYPE_CHECKING:
    from langgraph.store.base import BaseStore

    from holdover.compat.adopting import OldItems
    from holdover.compat.legacy.histories import OldHistory
    from holdover.compat.records import Record
    from holdover.compat.repository import Repository

__all__ = ["StoreChatMessageHistory"]

_MESSAGE = "message"
# Messages that end together are renewed only when this part of their life is over.
_SLACK = 16
PAGE = 500
# Of one object: where its records are, and how far it got.
_OF_ONE = frozenset({"place", "_keys", "_looked_back", "_engines"})
Pair = tuple[str, BaseMessage]


class StoreChatMessageHistory(BaseChatMessageHistory):
    """The messages of one session, each a record that any program can read.

    Making one opens nothing. It may be used by several threads and tasks at once, and
    several may be made for one session: the messages of a call stay together, in order.

    Args:
        session_id: The session; any string.
        store: A `BaseStore`, or an address for `open_store`; by default the configured
            one.
        scope: The whole scope instead of `(root, session_id)`.
        root: The first label of the scope.
        ttl: How long a message lives (seconds, or a timedelta); `None` is for ever.
        history: How much of the journal of a message that is deleted is kept.
        unsafe: Accept a store that is known to lose data.

    Raises:
        ValueError: There is no store, or `ttl` is not above 0.
    """

    #: Whether an addition renews the life of all messages.
    _ends_together: ClassVar[bool] = False

    def __init__(
        self,
        session_id: str | None = None,
        store: BaseStore | str | None = None,
        scope: Scope | tuple[str, ...] | str | None = None,
        *,
        root: str = DEFAULT_ROOT,
        ttl: float | timedelta | None = None,
        history: History = DEFAULT_HISTORY,
        unsafe: bool = False,
    ) -> None:
        place = Place(
            store,
            scope=scope,
            root=root,
            session=session_id,
            history=history,
            unsafe=unsafe,
        )
        self._begin(place, ttl)

    @classmethod
    def at(cls, place: Place, ttl: float | timedelta | None = None) -> Self:
        """The history of a place that another object uses, too."""
        history = cls.__new__(cls)
        history._begin(place, ttl)  # noqa: SLF001 - our own class
        return history

    def _begin(self, place: Place, ttl: float | timedelta | None) -> None:
        if not place.is_shared:
            raise ValueError(
                f"{type(self).__name__} has no store: pass store=, or a session_id= "
                "where configure(store=...) names one."
            )
        self.place = place
        self.lifetime = lifetime_of(ttl)
        self._keys = MessageKeys()
        self._looked_back = False

    @property
    def session_id(self) -> str | None:
        """The session, as it was given; `None` where only a scope was."""
        return self.place.session

    @session_id.setter
    def session_id(self, session_id: str) -> None:
        self._begin(self.place.for_session(session_id), self.lifetime)

    @property
    def base_store(self) -> BaseStore:
        """The LangGraph store behind this object."""
        return self.repository.store

    @property
    def repository(self) -> Repository:
        """The records of its scope; history, restore and forget are here."""
        return self.place.repository

    @property
    def messages(self) -> list[BaseMessage]:
        """All messages, in order, as a list of the caller's own."""
        return run(self._all())

    @messages.setter
    def messages(self, messages: Sequence[BaseMessage]) -> None:
        run(self._assign(list(messages)))

    async def aget_messages(self) -> list[BaseMessage]:
        """See `messages`."""
        return await arun(self._all())

    def add_message(self, message: BaseMessage) -> None:
        """Add one message."""
        self.add_messages([message])

    async def aadd_message(self, message: BaseMessage) -> None:
        """See `add_message`."""
        await self.aadd_messages([message])

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Add messages; they stay adjacent, whoever else adds some meanwhile."""
        run(self._add(messages))

    async def aadd_messages(self, messages: Sequence[BaseMessage]) -> None:
        """See `add_messages`."""
        await arun(self._add(messages))

    def clear(self) -> None:
        """Remove the messages of this session, and of no other."""
        run(self._clear())

    async def aclear(self) -> None:
        """See `clear`."""
        await arun(self._clear())

    def page(
        self, after: str | None = None, limit: int = PAGE, *, reverse: bool = False
    ) -> list[Pair]:
        """Some messages with their item keys, in order, or `reverse`.

        Args:
            after: The item key they come after, or before if `reverse`.
            limit: How many at most.
            reverse: Newest first.
        """
        return run(self._page(after, limit, reverse=reverse))

    async def apage(
        self, after: str | None = None, limit: int = PAGE, *, reverse: bool = False
    ) -> list[Pair]:
        """See `page`."""
        return await arun(self._page(after, limit, reverse=reverse))

    def last(self, number: int) -> list[BaseMessage]:
        """The newest messages, in order; it reads no others."""
        return run(self._last(number))

    async def alast(self, number: int) -> list[BaseMessage]:
        """See `last`."""
        return await arun(self._last(number))

    def count(self) -> int:
        """How many messages there are; expired ones count until they are swept."""
        return run(self._count())

    async def acount(self) -> int:
        """See `count`."""
        return await arun(self._count())

    def delete(self, key: str) -> bool:
        """Remove the message of an item key; whether there was one."""
        return run(self._delete(key))

    async def adelete(self, key: str) -> bool:
        """See `delete`."""
        return await arun(self._delete(key))

    def is_same(self, other: object) -> bool:
        """Whether both are the history of one session in one store; nothing is read.

        Of histories with stores of their own, all that they were given has to be the
        same.
        """
        if self is other:
            return True
        if not isinstance(other, StoreChatMessageHistory):
            return False
        return (
            type(self) is type(other)
            and self.place.is_same(other.place)
            and _given(self) == _given(other)
            and not self._is_of_one()
        )

    def _is_of_one(self) -> bool:
        """Whether what it is kept in is this object's alone."""
        return False

    def __repr__(self) -> str:
        """Show class and scope, no message."""
        return f"{type(self).__name__}(scope={tuple(self.place.scope)!r})"

    def _is_nowhere(self) -> bool:
        """Whether even the place to look at is not there; reading does not make it."""
        return False

    def _old_history(self) -> OldHistory | None:
        """Where a classic class kept the messages, to be read once."""
        return None

    def _first(self) -> Operation[None]:
        """Take over what a classic class left, once for all objects of the session."""
        if self._looked_back:
            return
        old = self._old_history()
        if old is not None:
            repository = yield from self.place.opened()
            wanted = yield Do(
                lambda: repository.unadopted(_MESSAGE),
                lambda: repository.aunadopted(_MESSAGE),
            )
            found: OldItems | None = (yield Do(old.read, old.aread)) if wanted else None
            # Where it holds nothing, there is no mark: one for every session that is
            # ever made would outlive them all.
            if found is not None and found.items:
                yield Do(
                    lambda: repository.adopt(_MESSAGE, found),
                    lambda: repository.aadopt(_MESSAGE, found),
                )
                self._keys.saw(found.items[-1].key)
        self._looked_back = True

    def _all(self) -> Operation[list[BaseMessage]]:
        return [message for _, message in (yield from self._pairs())]

    def _pairs(self) -> Operation[list[Pair]]:
        found: list[Pair] = []
        while page := (yield from self._page(found[-1][0] if found else None, PAGE)):
            found += page
            if len(page) < PAGE:
                break
        return found

    def _page(
        self, after: str | None, limit: int, *, reverse: bool = False
    ) -> Operation[list[Pair]]:
        if limit <= 0 or self._is_nowhere():
            return []
        yield from self._first()
        repository = yield from self.place.opened()
        options: dict[str, Any] = {"after": after, "limit": limit, "reverse": reverse}
        found: list[Record] = yield Do(
            lambda: repository.page(_MESSAGE, **options),
            lambda: repository.apage(_MESSAGE, **options),
        )
        if found:
            self._keys.saw(max(found[0].key, found[-1].key))
        return [(record.key, message_of(record)) for record in found]

    def _last(self, number: int) -> Operation[list[BaseMessage]]:
        pairs = yield from self._page(None, number, reverse=True)
        return [message for _, message in reversed(pairs)]

    def _add(self, messages: Sequence[BaseMessage]) -> Operation[None]:
        contents = [message_content(message) for message in messages]
        if not contents:
            return
        yield from self._first()
        if not self._keys.began:
            # The clock of who wrote last may be ahead of ours.
            yield from self._page(None, 1, reverse=True)
        repository = yield from self.place.opened()
        lifetime = self.lifetime
        if lifetime is not None and self._ends_together:
            slack = lifetime / _SLACK
            yield Do(
                lambda: repository.renew_all(_MESSAGE, lifetime, slack),
                lambda: repository.arenew_all(_MESSAGE, lifetime, slack),
            )
            lifetime += slack
        options: dict[str, Any] = {
            "keys": self._keys.make(len(contents)),
            "ttl": lifetime,
        }
        yield Do(
            lambda: repository.put_many(_MESSAGE, contents, **options),
            lambda: repository.aput_many(_MESSAGE, contents, **options),
        )

    def _assign(self, messages: list[BaseMessage]) -> Operation[None]:
        """Keep what is in both lists, so that trimming a history only deletes."""
        pairs = yield from self._pairs()
        kept, gone = 0, []
        for key, message in pairs:
            if kept < len(messages) and message == messages[kept]:
                kept += 1
            else:
                gone.append(key)
        # First what is new: a failure in between leaves more than it should be.
        yield from self._add(messages[kept:])
        repository = yield from self.place.opened()
        names = list(map(_raw, gone))
        if names:
            yield Do(
                lambda: repository.delete_many(_MESSAGE, names),
                lambda: repository.adelete_many(_MESSAGE, names),
            )

    def _clear(self) -> Operation[None]:
        if self._is_nowhere():
            return
        repository = yield from self.place.opened()
        yield Do(
            lambda: repository.clear(_MESSAGE), lambda: repository.aclear(_MESSAGE)
        )
        # It left a mark of its own.
        self._looked_back = True

    def _count(self) -> Operation[int]:
        if self._is_nowhere():
            return 0
        yield from self._first()
        repository = yield from self.place.opened()
        number: int = yield Do(
            lambda: repository.count(_MESSAGE), lambda: repository.acount(_MESSAGE)
        )
        return number

    def _delete(self, key: str) -> Operation[bool]:
        if self._is_nowhere():
            return False
        yield from self._first()
        repository, name = (yield from self.place.opened()), _raw(key)
        there: bool = yield Do(
            lambda: repository.delete(_MESSAGE, name),
            lambda: repository.adelete(_MESSAGE, name),
        )
        return there


def _given(history: StoreChatMessageHistory) -> dict[str, Any]:
    return {n: value for n, value in vars(history).items() if n not in _OF_ONE}


def lifetime_of(ttl: float | timedelta | None) -> timedelta | None:
    """Seconds or a timedelta as a lifetime; raises `ValueError` unless above 0."""
    if ttl is None:
        return None
    given = ttl if isinstance(ttl, timedelta) else timedelta(seconds=ttl)
    if given <= timedelta(0):
        raise ValueError(f"ttl={ttl!r}: give seconds above 0, or None for no end.")
    return given


def _raw(key: str) -> str:
    try:
        return decode_key(key)
    except InvalidScope:
        # Of another program: its item keys need not be encoded names.
        return key
