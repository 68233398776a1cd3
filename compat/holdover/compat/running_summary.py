"""The running summary of a conversation: a text, and how far it got.

Both are one item, so each message is summarised exactly once whatever happens: who
writes writes a text together with what it covers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from holdover.compat.both_ways import Do, Operation
from holdover.compat.place import Place
from holdover.compat.transcript import START, Cursor

_KIND = "summary"
_KEY = "current"
# What a record says where a user has emptied it: an empty text is never stored.
_NO_TEXT = "(none)"


@dataclass(frozen=True, slots=True)
class Summary:
    """A summary and the messages it covers.

    `key` is that of its item, where it is kept in a store.
    """

    text: str = ""
    cursor: Cursor = START
    key: str = _KEY

    def as_dict(self) -> dict[str, Any]:
        """What a record holds of it."""
        fields = {"text": self.text or _NO_TEXT, **self.cursor.as_dict()}
        return fields if self.text else {**fields, "empty": True}

    @classmethod
    def of(cls, content: Mapping[str, Any], key: str = _KEY) -> Summary:
        """The summary in a record, also one that somebody else wrote."""
        text = content.get("text")
        text = text if isinstance(text, str) and not content.get("empty") else ""
        return cls(text, Cursor.of(content), key)


NOTHING = Summary()


class RunningSummary:
    """Reads and writes the summary of one session, in a place or in this object.

    A place without a store keeps it here. In a store, classes that summarise
    different things have items of their own: `current` belongs to the class that wrote
    it first, and another one takes its own name as the key.

    Args:
        owner: The class's name.
        initial: What a session that has none begins with.
        goes_on: Whether it may go on from the summary of another class.
    """

    def __init__(
        self, owner: str = "", initial: str = "", *, goes_on: bool = True
    ) -> None:
        self._owner, self._goes_on = owner, goes_on
        self._initial = Summary(initial)
        self._own: Summary | None = None

    def read(self, place: Place) -> Operation[Summary]:
        """The summary as it stands."""
        if not place.is_shared:
            return self._own or self._initial
        stored = yield from place.opened()
        keys = [_KEY, self._owner]
        current, own = yield Do(
            lambda: stored.get_many(_KIND, keys), lambda: stored.aget_many(_KIND, keys)
        )
        if own is not None:
            return Summary.of({"text": own.text, **own.content}, self._owner)
        if current is None:
            return self._initial
        there = Summary.of({"text": current.text, **current.content})
        if current.content.get("memory", self._owner) == self._owner:
            return there
        return replace(there if self._goes_on else self._initial, key=self._owner)

    def advance(self, place: Place, before: Summary, after: Summary) -> Operation[bool]:
        """Put `after` in place of `before`, and tell whether it counted.

        Somebody else may have written meanwhile, or cleared the session: then theirs
        stays, and what `after` covered is summarised with the next turn.
        """
        if (yield from self.read(place)) != before:
            return False
        yield from self.write(place, after)
        return True

    def write(self, place: Place, summary: Summary) -> Operation[None]:
        """Keep a summary."""
        if not place.is_shared:
            self._own = summary
            return
        stored = yield from place.opened()
        content = {**summary.as_dict(), "memory": self._owner}
        keys = [summary.key]
        yield Do(
            lambda: stored.put(_KIND, content, keys=keys),
            lambda: stored.aput(_KIND, content, keys=keys),
        )

    def clear(self, place: Place) -> Operation[None]:
        """Forget it; what a new conversation begins with is empty too."""
        self._initial, self._own = NOTHING, None
        if place.is_shared:
            stored = yield from place.opened()
            yield Do(lambda: stored.clear(_KIND), lambda: stored.aclear(_KIND))
