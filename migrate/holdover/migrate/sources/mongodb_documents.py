"""One message of a collection: what its document says of it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from holdover.compat.message_keys import MAX_POSITION
from holdover.migrate.sources.base import Reject
from holdover.migrate.sources.batching import make_item
from holdover.migrate.sources.messages import NULL, Unreadable, read_message

if TYPE_CHECKING:
    from holdover.migrate.sources.base import SourceItem
    from holdover.migrate.sources.batching import Rows
    from holdover.migrate.sources.naming import Names

NO_SESSION = Unreadable("no-session", "The session is missing, or no text.")
NO_ORDER = Unreadable(
    "no-order",
    "The _id is neither an ObjectId nor an integer: nothing tells its place.",
)
NOT_UTF8 = Unreadable("not-utf8", "The session or the message is not UTF-8.")

_OBJECT_ID = re.compile("[0-9a-f]{24}")


@dataclass(frozen=True)
class Documents:
    """Reads the documents of one collection.

    Attributes:
        root: The collection.
        prefix: Of a locator; the `_id` follows.
        session: The name of the field that holds the session.
        message: The name of the field that holds the message.
        names: Which sessions are read.
    """

    root: str
    prefix: str
    session: str
    message: str
    names: Names

    def add(self, document: dict[str, Any], rows: Rows) -> None:
        """Add a message, or why there is none; a session not asked for is left out."""
        raw = document.get(self.message)
        rows.size += len(raw) if isinstance(raw, str | bytes) else 500
        self._add(document, rows, raw, named_only=False)

    def add_key(self, document: dict[str, Any], rows: Rows) -> None:
        """Add the place of a message without its content."""
        self._add(document, rows, None, named_only=True)

    def ids(self, locator: str) -> list[Any]:
        """The `_id`s that a locator may name."""
        text = locator.removeprefix(self.prefix)
        if _OBJECT_ID.fullmatch(text):
            from bson import ObjectId  # noqa: PLC0415 - an extra

            return [ObjectId(text), text]
        return [int(text)]

    def _add(
        self, document: dict[str, Any], rows: Rows, raw: Any, *, named_only: bool
    ) -> None:
        session, own_id = document.get(self.session), document.get("_id")
        if isinstance(session, str) and not self.names.selects(session):
            return
        content: dict[str, Any] | Unreadable = {}
        if not isinstance(session, str):
            content = NO_SESSION
        elif not _is_text(session):
            content = NOT_UTF8
        elif not named_only:
            content = _content(raw)
        position, created_at = place_of(own_id)
        if position is None and not isinstance(content, Unreadable):
            content = NO_ORDER
        locator = f"{self.prefix}{own_id}"
        if isinstance(content, Unreadable):
            rows.rejects.append(Reject(content.reason, locator, content.detail))
            return
        rows.items.append(
            _item(self.root, str(session), content, locator, position, created_at)
        )


def place_of(own_id: Any) -> tuple[int | None, datetime | None]:
    """The position of a document in its session, and when it was made.

    An ObjectId is 12 bytes and a position 63 bits: the second, the counter of the
    process, and of the five bytes that tell processes apart a hash of seven bits. Of
    one process, that is the order of the ids.
    """
    if isinstance(own_id, int) and not isinstance(own_id, bool):
        return (own_id if 0 <= own_id <= MAX_POSITION else None), None
    text = str(own_id)
    if not _OBJECT_ID.fullmatch(text):
        return None, None
    raw = bytes.fromhex(text)
    second, counter = int.from_bytes(raw[:4]), int.from_bytes(raw[9:])
    process = blake2b(raw[4:9], digest_size=1).digest()[0] >> 1
    position = second << 31 | counter << 7 | process
    return position, datetime.fromtimestamp(second, UTC)


def _content(raw: Any) -> dict[str, Any] | Unreadable:
    if isinstance(raw, str) and not _is_text(raw):
        return NOT_UTF8
    return NULL if raw is None else read_message(raw)


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # bytes of the server that are no UTF-8
        return False
    return True


def _item(
    root: str,
    session: str,
    content: dict[str, Any],
    locator: str,
    position: int | None,
    created_at: datetime | None,
) -> SourceItem:
    placed = ("message", root, session, "", content, locator, position, created_at)
    return make_item((*placed, None, None))
