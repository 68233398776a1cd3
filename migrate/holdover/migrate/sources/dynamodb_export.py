"""Messages in an export of a DynamoDB table to S3, or in what `aws dynamodb scan` said.

The export is a file of lines, each an object with `Item`; the answer of a scan is one
object with `Items`.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from holdover.migrate.sources.base import Partition, Reject
from holdover.migrate.sources.dynamodb_items import (
    SESSION,
    Gone,
    Layout,
    NotAHistory,
    read_item,
)
from holdover.migrate.sources.exports import Export
from holdover.migrate.sources.json_values import BadJson, JsonValues
from holdover.migrate.sources.lines import NOT_JSON
from holdover.migrate.sources.messages import Unreadable
from holdover.migrate.sources.sniffing import outline

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdover.migrate.sources.batching import Rows

_HEAD = 4096
_BAD_ITEM = Unreadable("not-an-item", "It is no item of a table.")


class DynamoExport(Export):
    """Items as typed JSON, one for each session."""

    label = "Export of DynamoDB"

    def partitions(self) -> list[Partition]:
        """The file; its lists may have lost their old ends."""
        return [Partition(one.id, aligned=True) for one in super().partitions()]

    @property
    def _prefix(self) -> str:
        return f"dynamodb-export:{self._name}:"

    @cached_property
    def _layout(self) -> Layout:
        return Layout.of(self._options, SESSION)

    @cached_property
    def _root(self) -> str:
        return self._options.roots_or("message_store")[0]

    def _add(self, document: dict[str, Any], number: int, rows: Rows) -> None:
        item = document.get("Item")
        if not isinstance(item, dict):
            at = f"{self._prefix}{number}"
            rows.rejects.append(Reject(_BAD_ITEM.reason, at, _BAD_ITEM.detail))
            return
        try:
            for one in read_item(
                item, self._layout, self._root, self._prefix, self._names
            ):
                if isinstance(one, Reject):
                    rows.rejects.append(one)
                elif isinstance(one, Gone):
                    rows.expired += one.number
                else:
                    rows.items.append(one)
        except NotAHistory:
            rows.skipped["not-a-history"] += 1

    def _documents(self) -> Iterator[tuple[int, dict[str, Any] | Unreadable]]:
        """The items of either form."""
        with self._path.open("rb") as file:
            head = file.read(_HEAD).decode("utf-8", "ignore")
        if "Items" not in outline(head).keys:
            yield from super()._documents()
            return
        number = 0
        with self._path.open("rb") as file:
            try:
                for number, item in enumerate(JsonValues(file).elements("Items"), 1):
                    yield number, {"Item": item}
            except BadJson:
                yield number + 1, NOT_JSON
