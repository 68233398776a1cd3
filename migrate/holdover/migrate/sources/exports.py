"""Exports of document databases: a file of JSON lines, or of one JSON array."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

from holdover.compat.stores.address import redact_url
from holdover.migrate.errors import SourceUnavailable
from holdover.migrate.sources.base import Inventory, Partition, Reject
from holdover.migrate.sources.batching import Rows
from holdover.migrate.sources.json_array import JsonArray, TooDeep
from holdover.migrate.sources.lines import NOT_JSON, TOO_DEEP, check_file, lines
from holdover.migrate.sources.messages import Unreadable
from holdover.migrate.sources.naming import Names
from holdover.migrate.sources.whole import WholeSource

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from holdover.migrate.sources.base import Batch, ReadOptions

_HEAD = 64


class Export(WholeSource):
    """The documents of a file, each of which a subclass reads.

    Args:
        address: The path.
        path: The file, compressed with gzip or not.
        options: How names are read.
    """

    def __init__(self, address: str, path: Path, options: ReadOptions) -> None:
        self.address = redact_url(address)
        self._path, self._options = path, options
        self._names = Names(options)
        self._name = path.name.encode("utf-8", "backslashreplace").decode()

    def inventory(self, *, others: bool = False) -> Inventory:
        """Read every document once; raises a `SourceError` if there is no file."""
        check_file(self._path)
        return super().inventory(others=others)

    def partitions(self) -> list[Partition]:
        """The file."""
        wanted = "messages" in self._options.kinds
        return [Partition("messages-export")] if wanted else []

    def read(
        self,
        partition: Partition,  # noqa: ARG002 - there is one
        cursor: Any = None,
        *,
        size: int = 10_000,
    ) -> Iterator[Batch]:
        """Read the documents behind the one that the cursor numbers."""
        start = cursor or 0
        rows = Rows()
        number = start
        for number, document in self._documents():
            if number <= start:
                continue
            if isinstance(document, Unreadable):
                at = f"{self._prefix}{number}"
                rows.rejects.append(Reject(document.reason, at, document.detail))
            else:
                self._add(document, number, rows)
            if rows.count >= size or rows.full:
                yield rows.batch(number)
                rows = Rows()
        if rows.count:
            yield rows.batch(number)

    @property
    @abstractmethod
    def _prefix(self) -> str:
        """Of a locator."""

    @abstractmethod
    def _add(self, document: dict[str, Any], number: int, rows: Rows) -> None:
        """Add what a document holds."""

    def _documents(self) -> Iterator[tuple[int, dict[str, Any] | Unreadable]]:
        """The documents with their numbers, or why one cannot be read."""
        try:
            with self._path.open("rb") as file:
                array = file.read(_HEAD).lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"["
        except OSError as error:
            raise SourceUnavailable(
                f"{self.address} cannot be read: {error.strerror}.",
                hint="Check its rights.",
            ) from None
        if array:
            yield from self._in_array()
        else:
            for line in lines(self._path):
                yield line.number, line.value

    def _in_array(self) -> Iterator[tuple[int, dict[str, Any] | Unreadable]]:
        number = 0
        with self._path.open("rb") as file:
            found = JsonArray(file)
            for number, element in enumerate(found, start=1):
                if isinstance(element, TooDeep):
                    yield number, TOO_DEEP
                else:
                    yield number, element if isinstance(element, dict) else NOT_JSON
        if found.damage:
            yield number + 1, Unreadable(found.damage.reason, found.damage.detail)
