"""Messages in what `mongoexport` wrote of a collection, lines or an array."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from holdover.migrate.sources.exports import Export
from holdover.migrate.sources.mongodb_documents import Documents

if TYPE_CHECKING:
    from holdover.migrate.sources.batching import Rows

_INTEGERS = ("$numberLong", "$numberInt")


class MongoExport(Export):
    """Documents as extended JSON; their `_id` is an object with `$oid`, or its text."""

    label = "Export of MongoDB"

    @property
    def _prefix(self) -> str:
        return f"mongodb-export:{self._name}#"

    def _add(
        self,
        document: dict[str, Any],
        number: int,  # noqa: ARG002 - the document has an id
        rows: Rows,
    ) -> None:
        self._reader.add({**document, "_id": _id(document.get("_id"))}, rows)

    @cached_property
    def _reader(self) -> Documents:
        return Documents(
            self._options.roots_or("message_store")[0],
            self._prefix,
            self._options.field("session", "SessionId"),
            self._options.field("message", "History"),
            self._names,
        )


def _id(value: Any) -> Any:
    if isinstance(value, dict) and len(value) == 1:
        ((kind, inner),) = value.items()
        if kind == "$oid":
            return inner
        if kind in _INTEGERS:
            try:
                return int(inner)
            except (TypeError, ValueError):
                return None
    return value
