"""Messages that `MongoDBChatMessageHistory` of either package left in MongoDB."""

from __future__ import annotations

from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

from holdover.compat.stores.address import redact_url
from holdover.migrate.errors import SourceNotFound, SourceUnavailable, UsageError
from holdover.migrate.sources.base import Group, Inventory, Partition
from holdover.migrate.sources.batching import Pace, Rows
from holdover.migrate.sources.mongodb_documents import Documents
from holdover.migrate.sources.naming import Names

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pymongo import MongoClient
    from pymongo.collection import Collection

    from holdover.migrate.sources.base import Batch, ReadOptions, SourceItem

DEFAULT_DATABASE = "chat_history"
DEFAULT_COLLECTION = "message_store"

_AT_ONCE = 1000
_PATIENCE_MS = 10_000
_OTHER_IDS: Mapping[str, Any] = {"$not": {"$type": "objectId"}}
_REFUSED = (13, 18)  # unauthorized, authentication failed


class MongoSource:
    """Collections of one database, read by `_id` in short queries: no cursor waits.

    Args:
        address: `mongodb://…/DATABASE` or `mongodb+srv://…`, with the driver's options.
        options: The collections are the roots; the fields `session` and `message` name
            those of a custom layout.
    """

    label = "MongoDB"

    def __init__(self, address: str, options: ReadOptions) -> None:
        try:
            import pymongo  # noqa: F401, PLC0415 - an extra
        except ImportError as error:
            raise UsageError(
                "MongoDB needs packages that are not installed.",
                hint="Run: pip install 'holdover[mongodb]'",
            ) from error
        self._address = address
        self.address = redact_url(address)
        self._options = options
        self._names = Names(options)
        self._roots = options.roots_or(DEFAULT_COLLECTION)
        self._session = options.field("session", "SessionId")
        self._message = options.field("message", "History")
        self._pace = Pace(_AT_ONCE)

    def inventory(self, *, others: bool = False) -> Inventory:
        """Have the server count; raises a `SourceError`."""
        found = Inventory(self.address)
        if "messages" not in self._options.kinds:
            return found
        with self._errors():
            for root in self._roots:
                group = self._count(root)
                if group.items:
                    found.groups.append(group)
            if others or not found.groups:
                found.notes += self._other_histories()
        if not self._names.selects_all:
            found.notes.append(
                "The numbers are those of whole collections; only the sessions that"
                " were asked for are moved."
            )
        return found

    def partitions(self) -> list[Partition]:
        """The months of each collection's ObjectIds, and what has another `_id`."""
        if "messages" not in self._options.kinds:
            return []
        found = []
        with self._errors():
            for root in self._roots:
                found += [
                    Partition(
                        f"messages-mongodb-{root}-{month}",
                        {"root": root, "month": month},
                    )
                    for month in self._months(root)
                ]
                if self._has_other_ids(root):
                    name = f"messages-mongodb-{root}-others"
                    found.append(Partition(name, {"root": root, "month": None}))
        return found

    def read(
        self, partition: Partition, cursor: Any = None, *, size: int = 10_000
    ) -> Iterator[Batch]:
        """Read by `_id` from behind the cursor."""
        documents = self._documents(partition)
        rows = Rows()
        done = cursor
        for page in self._pages(
            partition, cursor, {self._session: 1, self._message: 1}
        ):
            before = rows.size
            for document in page:
                documents.add(document, rows)
                if partition.spec["month"]:
                    done = str(document["_id"])
                if rows.count >= size or rows.full:
                    yield rows.batch(done)
                    before -= rows.size
                    rows = Rows()
            self._pace.note(len(page), rows.size - before)
        if rows.count:
            yield rows.batch(done)

    def keys(
        self, partition: Partition, *, size: int = 10_000
    ) -> Iterator[list[SourceItem]]:
        """Read ids and sessions only."""
        documents = self._documents(partition)
        rows = Rows()
        for page in self._pages(partition, None, {self._session: 1}):
            for document in page:
                documents.add_key(document, rows)
            if len(rows.items) >= size:
                yield rows.items
                rows = Rows()
        if rows.items:
            yield rows.items

    def fetch(self, partition: Partition, items: Sequence[SourceItem]) -> Batch:
        """Read these documents again."""
        documents = self._documents(partition)
        collection = self._collection(partition.spec["root"])
        fields = {self._session: 1, self._message: 1}
        rows = Rows()
        with self._errors():
            for start in range(0, len(items), _AT_ONCE):
                some = items[start : start + _AT_ONCE]
                wanted = [one for item in some for one in documents.ids(item.locator)]
                with collection.find({"_id": {"$in": wanted}}, fields) as found:
                    for document in found:
                        documents.add(document, rows)
        return rows.batch()

    def close(self) -> None:
        """Close the connections and end their sessions."""
        if "_client" in vars(self):
            self._client.close()
            del self._client

    @cached_property
    def _client(self) -> MongoClient[dict[str, Any]]:
        from pymongo import MongoClient  # noqa: PLC0415 - an extra
        from pymongo.errors import PyMongoError  # noqa: PLC0415

        settings: dict[str, Any] = {"appname": "holdover"}
        if "serverselectiontimeoutms" not in self._address.lower():
            settings["serverSelectionTimeoutMS"] = _PATIENCE_MS
        try:
            return MongoClient(self._address, **settings)
        except (PyMongoError, ValueError) as error:
            # Not chained: what it says may quote the address.
            raise SourceNotFound(
                f"{self.address} is not an address that MongoDB's driver can use"
                f" ({type(error).__name__}).",
                hint="Write mongodb://USER:PASSWORD@HOST/DATABASE.",
            ) from None

    def _collection(self, root: str) -> Collection[dict[str, Any]]:
        from bson.codec_options import CodecOptions  # noqa: PLC0415 - an extra
        from bson.codec_options import DatetimeConversion as Dates  # noqa: PLC0415

        codec: CodecOptions[dict[str, Any]] = CodecOptions(
            # Bytes that are no UTF-8 come as surrogates, and are rejects one by one.
            unicode_decode_error_handler="surrogateescape",
            tz_aware=True,
            datetime_conversion=Dates.DATETIME_AUTO,
        )
        database = self._client.get_default_database(DEFAULT_DATABASE, codec)
        return database[root]

    def _documents(self, partition: Partition) -> Documents:
        root = partition.spec["root"]
        database = self._collection(root).database.name
        return Documents(
            root,
            f"mongodb:{database}.{root}#",
            self._session,
            self._message,
            self._names,
        )

    def _selection(self) -> dict[str, Any]:
        """What the server can leave out itself."""
        options = self._options
        few = 0 < len(options.sessions) <= _AT_ONCE
        if options.only_named and few and options.session_pattern is None:
            return {self._session: {"$in": sorted(options.sessions)}}
        return {}

    def _pages(
        self, partition: Partition, cursor: str | None, fields: dict[str, int]
    ) -> Iterator[list[dict[str, Any]]]:
        """Pages of documents in the order of their ids."""
        from bson import ObjectId  # noqa: PLC0415 - an extra

        collection = self._collection(partition.spec["root"])
        month = partition.spec["month"]
        if month is None:
            # Ids of several types have no common "greater": one cursor reads them.
            yield from self._others(collection, fields)
            return
        start, end = _bounds(month)
        bounds: dict[str, Any] = {"$gte": start, "$lt": end}
        if cursor is not None:
            bounds = {"$gt": ObjectId(cursor), "$lt": end}
        while True:
            number = self._pace.records
            wanted = {**self._selection(), "_id": bounds}
            with (
                self._errors(),
                collection.find(
                    wanted, fields, sort=[("_id", 1)], limit=number
                ) as found,
            ):
                page = list(found)
            if page:
                yield page
            if len(page) < number:
                return
            bounds = {"$gt": page[-1]["_id"], "$lt": end}

    def _others(
        self, collection: Collection[dict[str, Any]], fields: dict[str, int]
    ) -> Iterator[list[dict[str, Any]]]:
        wanted = {**self._selection(), "_id": _OTHER_IDS}
        page: list[dict[str, Any]] = []
        with (
            self._errors(),
            collection.find(wanted, fields, sort=[("_id", 1)]) as found,
        ):
            for document in found:
                page.append(document)
                if len(page) >= self._pace.records:
                    yield page
                    page = []
        if page:
            yield page

    def _months(self, root: str) -> list[str]:
        """From the month of the oldest ObjectId to that of the newest."""
        from bson import ObjectId  # noqa: PLC0415 - an extra

        collection = self._collection(root)
        any_id = {"_id": {"$gte": ObjectId("0" * 24), "$lte": ObjectId("f" * 24)}}
        ends = [
            collection.find_one(any_id, {"_id": 1}, sort=[("_id", way)])
            for way in (1, -1)
        ]
        if ends[0] is None or ends[1] is None:
            return []
        first, last = (end["_id"].generation_time for end in ends if end)
        numbers = range(first.year * 12 + first.month - 1, last.year * 12 + last.month)
        return [f"{number // 12:04}-{number % 12 + 1:02}" for number in numbers]

    def _has_other_ids(self, root: str) -> bool:
        """Whether ids of another type are there: one of them is the first or the last.

        Ids are in the order of their types.
        """
        from bson import ObjectId  # noqa: PLC0415 - an extra

        ends = [
            self._collection(root).find_one({}, {"_id": 1}, sort=[("_id", way)])
            for way in (1, -1)
        ]
        return any(end and not isinstance(end["_id"], ObjectId) for end in ends)

    def _count(self, root: str) -> Group:
        collection = self._collection(root)
        items = collection.estimated_document_count()
        sessions = 0
        if items:
            by_session: list[dict[str, Any]] = [
                {"$group": {"_id": f"${self._session}"}},
                {"$count": "n"},
            ]
            with collection.aggregate(by_session, allowDiskUse=True) as counted:
                sessions = sum(one["n"] for one in counted)
        return Group(root, "message", sessions, items, self._size(collection))

    def _size(self, collection: Collection[dict[str, Any]]) -> int:
        from pymongo.errors import OperationFailure  # noqa: PLC0415 - an extra

        try:
            answer = collection.database.command("collStats", collection.name)
        except (OperationFailure, NotImplementedError):
            return 0  # not every role may ask, nor every compatible server answers
        return int(answer.get("size", 0))

    def _other_histories(self) -> list[str]:
        """Collections that look like histories and are none of the roots."""
        from pymongo.errors import OperationFailure  # noqa: PLC0415 - an extra

        database = self._collection(DEFAULT_COLLECTION).database
        fields = {self._session: {"$exists": True}, self._message: {"$exists": True}}
        try:
            names = [
                name
                for name in sorted(database.list_collection_names())
                if name not in self._roots
                and not name.startswith("system.")
                and database[name].find_one(fields, {"_id": 1})
            ]
        except OperationFailure:
            return []
        return [f"{name} also holds chat histories: --root {name}." for name in names]

    @contextmanager
    def _errors(self) -> Iterator[None]:
        from pymongo.errors import (  # noqa: PLC0415 - an extra
            ConfigurationError,
            OperationFailure,
            PyMongoError,
        )

        try:
            yield
        except OperationFailure as error:
            # Not chained, as below: what a server says may quote what it was asked.
            refused = error.code in _REFUSED
            raise SourceUnavailable(
                f"{self.address} refuses "
                + (
                    "the login or the rights." if refused else f"a read ({error.code})."
                ),
                hint="A role that may read the database is enough.",
            ) from None
        except ConfigurationError as error:
            raise SourceNotFound(
                f"{self.address} is not an address that MongoDB's driver can use"
                f" ({type(error).__name__}).",
                hint="Check its host and its options.",
            ) from None
        except PyMongoError as error:
            raise SourceUnavailable(
                f"{self.address} does not answer ({type(error).__name__}).",
                hint="Check the address, and that the server runs and can be reached.",
            ) from None


def _bounds(month: str) -> tuple[Any, Any]:
    """The first ObjectId of a month and of the next."""
    from bson import ObjectId  # noqa: PLC0415 - an extra

    number = int(month[:4]) * 12 + int(month[5:]) - 1
    return ObjectId(_first(number)), ObjectId(_first(number + 1))


def _first(number: int) -> str:
    """The smallest id of a month; behind the last one that has any, the largest."""
    from datetime import UTC, datetime  # noqa: PLC0415

    seconds = int(datetime(number // 12, number % 12 + 1, 1, tzinfo=UTC).timestamp())
    return f"{seconds:08x}{0:016x}" if seconds < 1 << 32 else "f" * 24
