"""Messages of any history, one JSON object a line: see docs/sources/jsonl.md."""

from __future__ import annotations

import math
from contextlib import closing
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from holdover.compat.message_keys import MAX_POSITION
from holdover.compat.message_records import content_of
from holdover.compat.stores.address import redact_url
from holdover.migrate.sources.base import Batch, Inventory, Partition, Reject
from holdover.migrate.sources.batching import Rows, make_item
from holdover.migrate.sources.lines import check_file, lines
from holdover.migrate.sources.messages import Unreadable, read_message
from holdover.migrate.sources.naming import Names
from holdover.migrate.sources.places import Places
from holdover.migrate.sources.whole import WholeSource

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from holdover.migrate.sources.base import ReadOptions

_FIELDS = frozenset({
    "session",
    "type",
    "data",
    "message",
    "id",
    "position",
    "created_at",
    "expires_at",
    "ttl_seconds",
    "root",
})  # fmt: skip

UNKNOWN_FIELD = Unreadable("unknown-field", "A field is none of those of the form.")
NO_SESSION = Unreadable("no-session", "The session is missing, or no text.")
NO_MESSAGE = Unreadable(
    "not-a-message", "A line has `type` and `data`, or else `message`, an object."
)
BAD_POSITION = Unreadable("bad-position", "The position is no integer from 0.")
BAD_TIME = Unreadable(
    "bad-time", "A time is ISO 8601 with its offset, or seconds since 1970."
)
BAD_TTL = Unreadable("bad-ttl", "ttl_seconds is no number.")
BAD_ROOT = Unreadable("bad-root", "The root is no text.")
BAD_ID = Unreadable("bad-id", "The id is no text.")
MIXED = Unreadable(
    "mixed-positions", "Of this session, some lines have a position and some have none."
)
TAKEN = Unreadable("same-position", "Another line of the session has this position.")

_EXPIRED, _UNSELECTED = "expired", "unselected"
_MOST_SECONDS = 10**12


class _Message(NamedTuple):
    root: str
    session: str
    content: dict[str, Any]
    position: int
    created_at: datetime | None
    ttl_ms: int | None


class JsonLines(WholeSource):
    """A file of JSON lines; sessions may be interleaved.

    Args:
        address: The path.
        path: The file, compressed with gzip or not.
        options: How names are read.
    """

    label = "JSON lines"

    def __init__(self, address: str, path: Path, options: ReadOptions) -> None:
        self.address = redact_url(address)
        self._path, self._options = path, options
        self._names = Names(options)
        self._default = options.roots_or("message_store")[0]
        self._name = path.name.encode("utf-8", "backslashreplace").decode()

    def inventory(self, *, others: bool = False) -> Inventory:
        """Read every line once; raises a `SourceError` if there is no such file."""
        check_file(self._path)
        return super().inventory(others=others)

    def partitions(self) -> list[Partition]:
        """The file: its lines count in the order that they have."""
        return (
            [Partition("messages-lines")] if "messages" in self._options.kinds else []
        )

    def read(
        self,
        partition: Partition,  # noqa: ARG002 - there is one
        cursor: Any = None,
        *,
        size: int = 10_000,
    ) -> Iterator[Batch]:
        """Read the lines behind the one that the cursor numbers.

        The ones before it are read for the positions that they took.
        """
        start = cursor or 0
        rows = Rows()
        number = start
        with closing(Places()) as places:
            for number, value, length in lines(self._path):
                found = self._placed(places, value)
                if number <= start:
                    continue
                if isinstance(found, Unreadable):
                    at = f"jsonl:{self._name}#{number}"
                    detail = f"Line {number:,}: {found.detail}"
                    rows.rejects.append(Reject(found.reason, at, detail))
                elif found == _EXPIRED:
                    rows.expired += 1
                elif isinstance(found, _Message):
                    rows.items.append(self._item(found, number))
                rows.size += length
                if rows.count >= size or rows.full:
                    yield rows.batch(number)
                    rows = Rows()
        if rows.count:
            yield rows.batch(number)

    def _item(self, found: _Message, number: int) -> Any:
        return make_item((
            "message", found.root, found.session, "", found.content,
            f"jsonl:{self._name}#{number}", found.position, found.created_at,
            found.ttl_ms, None,
        ))  # fmt: skip

    def _placed(
        self, places: Places, value: dict[str, Any] | Unreadable
    ) -> _Message | Unreadable | str:
        """A line as a message with its position; else why it is none.

        A line of a session takes its place whether its message can be read or not, so
        that the others have the same place when it is repaired or has expired.
        """
        if isinstance(value, Unreadable):
            return value
        session, root = value.get("session"), value.get("root", self._default)
        if not isinstance(session, str):
            return NO_SESSION
        if not isinstance(root, str):
            return BAD_ROOT
        if self._options.roots and root not in self._options.roots:
            return _UNSELECTED
        if not self._names.selects(session):
            return _UNSELECTED
        position = value.get("position")
        place = f"{len(root)}:{root}{session}"
        if position is None:
            position = places.following(place)
            if position is None:
                return MIXED
        elif not _is_position(position):
            return BAD_POSITION
        elif not (free := places.take(place, position)):
            return MIXED if free is None else TAKEN
        return _message(value, root, session, position)


def _message(
    value: dict[str, Any], root: str, session: str, position: int
) -> _Message | Unreadable | str:
    """The rest of a line whose place is known."""
    if not value.keys() <= _FIELDS:
        return UNKNOWN_FIELD
    content = _content(value)
    if isinstance(content, Unreadable):
        return content
    created_at, ttl = _time(value.get("created_at")), _ttl(value)
    if isinstance(created_at, Unreadable):
        return created_at
    if isinstance(ttl, Unreadable):
        return ttl
    if ttl is not None and ttl <= 0:
        return _EXPIRED
    return _Message(root, session, content, position, created_at, ttl)


def _content(value: dict[str, Any]) -> dict[str, Any] | Unreadable:
    """The message of a line, in any of its forms."""
    if "message" in value:
        message = value["message"]
        if "type" in value or "data" in value or not isinstance(message, dict):
            return NO_MESSAGE
        if "data" not in message and "content" in message:
            # As `model_dump` gives it.
            kind = message.get("type")
            if not isinstance(kind, str):
                return NO_MESSAGE
            content: dict[str, Any] | Unreadable = content_of(kind, message)
        else:
            content = read_message(message)
    else:
        content = read_message(value)
    own_id = value.get("id")
    if isinstance(content, Unreadable) or own_id is None:
        return content
    if not isinstance(own_id, str):
        return BAD_ID
    content["data"].setdefault("id", own_id)
    return content


def _is_position(position: Any) -> bool:
    return type(position) is int and 0 <= position <= MAX_POSITION


def _time(value: Any) -> datetime | Unreadable | None:
    if value is None:
        return None
    try:
        if isinstance(value, str):
            moment = datetime.fromisoformat(value)
            return moment.astimezone(UTC) if moment.tzinfo else BAD_TIME
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value, UTC)
    except (ValueError, OverflowError, OSError):
        pass
    return BAD_TIME


def _ttl(value: dict[str, Any]) -> int | Unreadable | None:
    """The milliseconds left: from now where seconds are given."""
    seconds = value.get("ttl_seconds")
    if seconds is not None:
        if isinstance(seconds, bool) or not isinstance(seconds, int | float):
            return BAD_TTL
        if not math.isfinite(seconds) or abs(seconds) > _MOST_SECONDS:
            return BAD_TTL
        return math.ceil(seconds * 1000)
    ends = _time(value.get("expires_at"))
    if ends is None or isinstance(ends, Unreadable):
        return ends
    return math.ceil((ends - datetime.now(UTC)).total_seconds() * 1000)
