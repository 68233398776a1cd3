"""From the documents of a vector store to turns: sessions, duplicates, rejects.

A memory kept each turn as a document: a text, metadata that is mostly empty, a vector.
It kept no session and no time. What says more is used: a metadata key that was named,
the labels that `holdover.compat` writes, the time at which a database took a row.
"""

from __future__ import annotations

import array
import hashlib
import json
import math
import sqlite3
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from holdover.compat.errors import InvalidScope
from holdover.compat.records import key_of
from holdover.compat.scope import DEFAULT_SESSION, Scope
from holdover.migrate.sources.base import Reject
from holdover.migrate.sources.batching import Rows, make_item
from holdover.migrate.sources.naming import names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdover.migrate.sources.base import ReadOptions

# What `holdover.compat` writes into the metadata of a document it saves.
_SCOPE = "holdover_scope"
_RECORDED_AT = "holdover_recorded_at"
_LABELS = 2  # of the default scope: root and session

DETAILS = {
    "empty-text": "The document has no text.",
    "not-text": "The document's text is no text.",
    "bad-metadata": "The document's metadata is no mapping of names to values.",
    "bad-entry": "The entry is no document.",
    "damaged": "The file is damaged: from here on it cannot be read.",
    "missing-document": "The index names a document that is not there.",
    "no-session": "The document's metadata does not say its session.",
}
#: Why a document is knowingly not moved, and how a note says it.
DUPLICATES = {
    "duplicate": "another one of the session says the same, word for word",
    "duplicate-spelling": "another one of the session differs in letter case or white"
    " space only",
    "duplicate-metadata": "another one of the session has the same text with other"
    " metadata",
}


class Document(NamedTuple):
    """What a vector store holds of one text.

    Attributes:
        place: Where it stands in its collection, in JSON: reading goes on behind it.
        name: What its locator ends with.
        text: Its page content.
        metadata: Its metadata, `None` for none.
        vector: Its numbers, where they were asked for and can be read.
        dims: How many they are; 0 where there are none to read.
        created_at: When it was stored, where that was written down.
        flaw: A reason code where it is no document at all.
        known: Whether it was read before.
    """

    place: Any
    name: str
    text: Any = None
    metadata: Any = None
    vector: Sequence[float] | None = None
    dims: int = 0
    created_at: datetime | None = None
    flaw: str | None = None
    known: bool = False


def numbers_of(value: Any) -> Sequence[float] | None:
    """A vector as every index keeps it, in 32 bits; `None` where it is none."""
    if not isinstance(value, list | tuple | array.array) or not value:
        return None
    try:
        packed = array.array("f", value)
    except (TypeError, ValueError, OverflowError):
        return None
    # What is no number, or became infinite in 32 bits, no index takes.
    return packed if all(map(math.isfinite, packed)) else None


class Turns:
    """Makes turns of the documents of one collection.

    Args:
        root: The root of the collection.
        locator: What the locators of its documents begin with.
        options: How names are read.
    """

    def __init__(self, root: str, locator: str, options: ReadOptions) -> None:
        self._root, self._locator = root, locator
        self._field = dict(options.fields).get("session")
        self._selects = names(options).selects
        self._selects_all = names(options).selects_all
        self._seen = _Seen()
        self.unselected = 0

    def add(self, document: Document, rows: Rows) -> None:
        """Add what a document becomes: an item, a reject, or one more skipped."""
        where = f"{self._locator}#{document.name}"
        flaw = document.flaw or _flaw(document)
        if flaw is not None:
            rows.rejects.append(Reject(flaw, where, DETAILS[flaw]))
            return
        metadata = dict(document.metadata or {})
        created_at = document.created_at
        found = self._owner(metadata)
        if found is None:
            rows.rejects.append(Reject("no-session", where, DETAILS["no-session"]))
            return
        root, session = found
        if not self._selects_all and not self._selects(session):
            self.unselected += 1
            return
        moment = _moment(metadata.get(_RECORDED_AT))
        if moment is not None:
            created_at = moment
            del metadata[_RECORDED_AT]
        content: dict[str, Any] = {"text": document.text}
        if metadata:
            content["metadata"] = metadata
        again = self._seen.add(root, session, content)
        if again is not None:
            rows.skipped[again] += 1
            return
        rows.size += len(document.text) + 4 * len(document.vector or ())
        rows.items.append(
            make_item(
                (
                    "turn",
                    root,
                    session,
                    "",
                    content,
                    where,
                    None,
                    created_at,
                    None,
                    document.vector,
                )
            )
        )

    def sessions(self, root: str) -> int:
        """How many sessions of a root have items."""
        return self._seen.sessions(root)

    def close(self) -> None:
        """Forget what was seen."""
        self._seen.close()

    def _owner(self, metadata: dict[str, Any]) -> tuple[str, str] | None:
        """The root and the session of a document; `None` where it does not say it."""
        if self._field is not None:
            value = metadata.get(self._field)
            if isinstance(value, bool) or not isinstance(value, str | int):
                return None
            return self._root, str(value)
        label = metadata.get(_SCOPE)
        if not isinstance(label, str):
            return self._root, DEFAULT_SESSION
        try:
            scope = Scope.decode(tuple(label.split("/")))
        except InvalidScope:
            return self._root, label
        if len(scope) != _LABELS:
            # Only its whole label keeps it apart from all others.
            return self._root, label
        del metadata[_SCOPE]
        return scope[0], scope[1]


def _flaw(document: Document) -> str | None:
    text, metadata = document.text, document.metadata
    if text is None:
        return "empty-text"
    if not isinstance(text, str):
        return "not-text"
    if not text.strip():
        return "empty-text"
    if metadata is not None and not isinstance(metadata, Mapping):
        return "bad-metadata"
    return None


def _moment(value: Any) -> datetime | None:
    try:
        moment = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return None
    return moment if moment.tzinfo else None


class _Seen:
    """The places that are taken, on local disk: memory stays flat."""

    def __init__(self) -> None:
        self._db = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._db.execute("PRAGMA journal_mode=OFF")
        self._db.execute(
            "CREATE TABLE seen (place BLOB PRIMARY KEY, text BLOB, metadata BLOB) "
            "WITHOUT ROWID"
        )
        self._db.execute(
            "CREATE TABLE session (root BLOB, session BLOB, "
            "PRIMARY KEY (root, session)) WITHOUT ROWID"
        )
        self._last: tuple[str, str] | None = None
        self._db.execute("BEGIN")

    def add(self, root: str, session: str, content: Mapping[str, Any]) -> str | None:
        """Take a place; where it is taken, say how this differs from what is there."""
        place = _digest("\x00".join((root, session, key_of("turn", content))))
        text = _digest(content["text"])
        metadata = _digest(_canonical(content.get("metadata")))
        row = (place, text, metadata)
        if self._db.execute(
            "INSERT OR IGNORE INTO seen VALUES (?, ?, ?)", row
        ).rowcount:
            if self._last != (root, session):
                self._last = (root, session)
                self._db.execute(
                    "INSERT OR IGNORE INTO session VALUES (?, ?)",
                    (_digest(root), _digest(session)),
                )
            return None
        kept = self._db.execute(
            "SELECT text = ?, metadata = ? FROM seen WHERE place = ?",
            (text, metadata, place),
        ).fetchone()
        if not kept[1]:
            return "duplicate-metadata"
        return "duplicate" if kept[0] else "duplicate-spelling"

    def sessions(self, root: str) -> int:
        found = self._db.execute(
            "SELECT count(*) FROM session WHERE root = ?", (_digest(root),)
        ).fetchone()
        return int(found[0])

    def close(self) -> None:
        self._db.close()


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:16]


def _canonical(metadata: Any) -> str:
    if not metadata:
        return ""
    try:
        return json.dumps(metadata, sort_keys=True, default=repr)
    except (TypeError, ValueError, RecursionError):
        # It cannot be stored, and is a reject of its own.
        return repr(type(metadata))
