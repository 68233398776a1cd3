"""One session of a DynamoDB table: what its item says, in DynamoDB's typed JSON."""

from __future__ import annotations

import math
import string
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from holdover.migrate.errors import UsageError
from holdover.migrate.sources.base import Reject
from holdover.migrate.sources.batching import make_item
from holdover.migrate.sources.messages import TOO_DEEP, Unreadable, read_message

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from holdover.migrate.sources.base import ReadOptions, SourceItem
    from holdover.migrate.sources.naming import Names

_MOST_SECONDS = 10**11

SESSION, MESSAGES, EXPIRES = "SessionId", "History", "expireAt"

_ENCRYPTED = Unreadable(
    "encrypted", "The messages are bytes: they were encrypted with kms_key_id."
)
_NO_LIST = Unreadable("not-a-list", "The messages are no list.")
_NO_SESSION = Unreadable("no-session", "The item has no text as its session.")


class NotAHistory(Exception):
    """The item has no messages under any of the names."""


@dataclass(frozen=True)
class Gone:
    """Messages of a session past its end."""

    number: int


@dataclass(frozen=True)
class Layout:
    """What the attributes of a table are called.

    Attributes:
        session: The attribute of the session, or text with several in braces.
        messages: The attributes that may hold the list of messages.
        expires: The attributes that may hold the end, in seconds since 1970.
    """

    session: str
    messages: Sequence[str]
    expires: Sequence[str]

    @classmethod
    def of(cls, options: ReadOptions, session: str, expires: str = EXPIRES) -> Layout:
        """The layout that the options name, with these defaults.

        Raises:
            UsageError: A name in braces is left open.
        """
        session = options.field("session", session)
        try:
            list(string.Formatter().parse(session))
        except ValueError as error:
            raise UsageError(
                f"--field session={session} is not valid: {error}.",
                hint="Write an attribute, or several in braces: {PK}/{SK}.",
            ) from error
        return cls(
            session,
            _named(options, "message") or (MESSAGES,),
            _named(options, "expires_at") or (expires,),
        )

    @property
    def session_attributes(self) -> list[str]:
        """The attributes that a session is made of."""
        names = [name for _, name, _, _ in string.Formatter().parse(self.session)]
        return [name for name in names if name] or [self.session]

    def session_of(self, item: Mapping[str, Any]) -> str | None:
        """The session of an item; `None` if it has none that is text."""
        values = {name: _text(item.get(name)) for name in self.session_attributes}
        if any(value is None for value in values.values()):
            return None
        if self.session in values:
            return values[self.session]
        parsed = string.Formatter().parse(self.session)
        return "".join(
            text + (values[name] or "" if name else "") for text, name, _, _ in parsed
        )


def read_item(
    item: Mapping[str, Any], layout: Layout, root: str, stem: str, names: Names
) -> Iterator[SourceItem | Reject | Gone]:
    """The messages of an item, oldest first; nothing if it was not asked for.

    Args:
        item: As DynamoDB gives it, each value with its type.
        layout: What its attributes are called.
        root: The root of its session.
        stem: Of a locator; session and position follow.
        names: Which sessions are read.

    Raises:
        NotAHistory: It has no messages.
    """
    name = next((name for name in layout.messages if name in item), None)
    if name is None:
        raise NotAHistory
    session = layout.session_of(item)
    if session is None:
        yield Reject(_NO_SESSION.reason, stem, _NO_SESSION.detail)
        return
    if not names.selects(session):
        return
    locator = f"{stem}{session}"
    typed = item[name] if isinstance(item[name], dict) else {}
    messages = typed.get("L")
    if not isinstance(messages, list):
        why = _ENCRYPTED if "B" in typed else _NO_LIST
        yield Reject(why.reason, locator, why.detail)
        return
    ttl = _ttl(item, layout)
    if ttl is not None and ttl <= 0:
        yield Gone(len(messages))
        return
    for position, raw in enumerate(messages):
        at = f"{locator}#{position}"
        try:
            content = read_message(plain(raw))
        except RecursionError:
            content = TOO_DEEP
        if isinstance(content, Unreadable):
            yield Reject(content.reason, at, content.detail)
        else:
            placed = ("message", root, session, "", content, at, position)
            yield make_item((*placed, None, ttl, None))


def plain(typed: Any) -> Any:
    """A value without its type; numbers are integers or floats again."""
    if not isinstance(typed, dict) or len(typed) != 1:
        return None
    ((kind, value),) = typed.items()
    if kind == "M" and isinstance(value, dict):
        return {name: plain(inner) for name, inner in value.items()}
    if kind == "L" and isinstance(value, list):
        return [plain(inner) for inner in value]
    if kind == "N":
        return _number(value)
    if kind == "NS" and isinstance(value, list):
        return [_number(one) for one in value]
    if kind == "NULL":
        return None
    return value


def _number(text: Any) -> Any:
    try:
        return int(text)
    except (TypeError, ValueError):
        pass
    try:
        number = float(text)
    except (TypeError, ValueError):
        return text
    # Of 38 digits and an exponent, a float keeps less than is shown.
    return number if math.isfinite(number) else text


def _text(typed: Any) -> str | None:
    """A key as text: a string or a number."""
    if isinstance(typed, dict):
        for kind in ("S", "N"):
            if isinstance(typed.get(kind), str):
                return str(typed[kind])
    return None


def _ttl(item: Mapping[str, Any], layout: Layout) -> int | None:
    for name in layout.expires:
        typed = item.get(name)
        ends = _number(typed.get("N")) if isinstance(typed, dict) else None
        if isinstance(ends, int | float) and abs(ends) < _MOST_SECONDS:
            return math.ceil((ends - time.time()) * 1000)
    return None


def _named(options: ReadOptions, name: str) -> tuple[str, ...]:
    return tuple(theirs for ours, theirs in options.fields if ours == name)
