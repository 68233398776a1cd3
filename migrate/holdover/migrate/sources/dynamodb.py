"""Messages that `DynamoDBChatMessageHistory` left in a table: one item a session."""

from __future__ import annotations

import base64
import time
from contextlib import contextmanager
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote, urlsplit

from holdover.compat.stores.address import redact_url
from holdover.migrate.errors import SourceNotFound, SourceUnavailable, UsageError
from holdover.migrate.sources.base import Blocker, Inventory, Partition, Reject
from holdover.migrate.sources.batching import Rows
from holdover.migrate.sources.dynamodb_items import (
    EXPIRES,
    Gone,
    Layout,
    NotAHistory,
    read_item,
)
from holdover.migrate.sources.naming import Names
from holdover.migrate.sources.whole import WholeSource

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from holdover.migrate.sources.base import Batch, ReadOptions

_SEGMENTS = 4
_ATTEMPTS = 6
_PARAMETERS = ("region", "endpoint_url", "profile", "rcu")
_MISSING = ("ResourceNotFoundException",)
_COMPOSITE = 2  # parts of a key


class DynamoSource(WholeSource):
    """A table, read by scans that are eventually consistent: half the price.

    Args:
        address: `dynamodb://TABLE?region=…&endpoint_url=…&profile=…&rcu=…`; `rcu` is
            how many read capacity units a second may be used.
        options: The fields `session`, `message` and `expires_at` name the attributes
            of a custom layout; the last two may be repeated.
    """

    label = "DynamoDB"

    def __init__(self, address: str, options: ReadOptions) -> None:
        try:
            import boto3  # noqa: F401, PLC0415 - an extra
        except ImportError as error:
            raise UsageError(
                "DynamoDB needs packages that are not installed.",
                hint="Run: pip install 'holdover[dynamodb]'",
            ) from error
        self.address = redact_url(address)
        self._table, self._settings = _parsed(address)
        self._rate = _rate(self._settings.pop("rcu", None))
        self._options = options
        self._names = Names(options)
        roots = options.roots_or(self._table)
        if len(roots) > 1:
            raise UsageError("A table has one root.", hint="Name one --root.")
        self._root = roots[0]
        self._used = 0.0
        self._like: dict[str, int] = {}

    def inventory(self, *, others: bool = False) -> Inventory:
        """Scan the table once; raises a `SourceError`."""
        self._used, self._like = 0.0, {}
        if not self._layout_is_clear:
            found = Inventory(self.address)
            parts, keys = (
                " and ".join(self._keys),
                "/".join(f"{{{name}}}" for name in self._keys),
            )
            found.blockers.append(
                Blocker(
                    "composite-key",
                    f"the key of {self._table} has two parts, {parts}, and nothing"
                    " tells which is the session",
                    f"--field session={self._keys[-1]} or --field 'session={keys}'",
                )
            )
            return found
        found = super().inventory(others=others)
        if self._used:
            found.notes.append(
                f"Reading the table once uses {self._used:,.1f} read capacity units;"
                " a migration reads it three times."
            )
        found.notes += [
            f"{number:,} items have no {' or '.join(self._layout.messages)}, but a list"
            f" of messages under {name}: add --field message={name}."
            for name, number in sorted(self._like.items())
        ]
        return found

    def partitions(self) -> list[Partition]:
        """The segments of a parallel scan."""
        if "messages" not in self._options.kinds or not self._layout_is_clear:
            return []
        return [
            Partition(
                f"messages-dynamodb-{segment}", {"segment": segment}, aligned=True
            )
            for segment in range(_SEGMENTS if self._is_by_key else 1)
        ]

    def read(
        self, partition: Partition, cursor: Any = None, *, size: int = 10_000
    ) -> Iterator[Batch]:
        """Scan from behind the item whose key is the cursor."""
        rows = Rows()
        done = cursor
        seen: set[bytes] = set()
        for item in self._items(partition.spec["segment"], cursor):
            for one in self._read(item, seen):
                if isinstance(one, Gone):
                    rows.expired += one.number
                elif one is None:
                    rows.skipped["not-a-history"] += 1
                else:
                    rows.add(one)
                if rows.count >= size or rows.full:
                    yield rows.batch(done)
                    rows = Rows()
            if self._is_by_key:  # else the sessions seen would have to be kept as well
                done = _storable({name: item[name] for name in self._keys})
        if rows.count:
            yield rows.batch(done)

    def _read(self, item: Mapping[str, Any], seen: set[bytes]) -> Iterator[Any]:
        """What an item holds; `None` for one that is no history."""
        stem = f"dynamodb:{self._table}:"
        if not self._is_by_key:
            session = self._layout.session_of(item) or ""
            digest = sha256(session.encode()).digest()[:16]
            if digest in seen:
                detail = "Another item has the same session: see --field session."
                yield Reject("same-session", f"{stem}{session}", detail)
                return
            seen.add(digest)
        try:
            yield from read_item(item, self._layout, self._root, stem, self._names)
        except NotAHistory:
            for name in [name for name in item if _is_history(item[name])]:
                self._like[name] = self._like.get(name, 0) + 1
            yield None

    def _items(self, segment: int, cursor: Any) -> Iterator[Mapping[str, Any]]:
        request: dict[str, Any] = {
            "TableName": self._table,
            "ReturnConsumedCapacity": "TOTAL",
        }
        if self._is_by_key:
            request |= {"Segment": segment, "TotalSegments": _SEGMENTS}
        if cursor is not None:
            request["ExclusiveStartKey"] = _restored(cursor)
        while True:
            with self._errors():
                page = self._client.scan(**request)
            used = page.get("ConsumedCapacity", {}).get("CapacityUnits", 0.0)
            self._used += used
            yield from page["Items"]
            if "LastEvaluatedKey" not in page:
                return
            request["ExclusiveStartKey"] = page["LastEvaluatedKey"]
            if self._rate:
                time.sleep(used / self._rate)

    @cached_property
    def _client(self) -> Any:
        import boto3  # noqa: PLC0415 - an extra
        from botocore.config import Config  # noqa: PLC0415

        settings = dict(self._settings)
        with self._errors():
            session = boto3.Session(
                profile_name=settings.get("profile"),
                region_name=settings.get("region"),
            )
            # Adaptive: slower where the table is throttled.
            config = Config(
                retries={"mode": "adaptive", "max_attempts": _ATTEMPTS},
                connect_timeout=10,
                user_agent_extra="holdover",
            )
            return session.client(
                "dynamodb", endpoint_url=settings.get("endpoint_url"), config=config
            )

    @cached_property
    def _keys(self) -> list[str]:
        """The attributes of the table's key."""
        with self._errors():
            table = self._client.describe_table(TableName=self._table)["Table"]
        return [key["AttributeName"] for key in table["KeySchema"]]

    @cached_property
    def _layout(self) -> Layout:
        return Layout.of(self._options, self._keys[0], self._expires)

    @cached_property
    def _layout_is_clear(self) -> bool:
        named = any(ours == "session" for ours, _ in self._options.fields)
        return named or len(self._keys) < _COMPOSITE

    @cached_property
    def _is_by_key(self) -> bool:
        """Whether no two items can have the same session."""
        return set(self._keys) <= set(self._layout.session_attributes)

    @cached_property
    def _expires(self) -> str:
        """The attribute by which the table forgets items, if it may be asked for."""
        from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415

        try:
            answer = self._client.describe_time_to_live(TableName=self._table)
        except (BotoCoreError, ClientError):
            return EXPIRES
        described = answer.get("TimeToLiveDescription", {})
        return str(described.get("AttributeName", EXPIRES))

    def close(self) -> None:
        """Close the connections."""
        if "_client" in vars(self):
            self._client.close()
            del self._client

    @contextmanager
    def _errors(self) -> Iterator[None]:
        from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415

        try:
            yield
        except ClientError as error:
            code = error.response.get("Error", {}).get("Code", "unknown")
            if code in _MISSING:
                raise SourceNotFound(
                    f"There is no table {self._table} in {self.address}.",
                    hint="Check its name, its region and the account.",
                ) from None
            # Not chained, as below: what a service says may quote what it was asked.
            raise SourceUnavailable(
                f"{self.address} refuses a read ({code}).",
                hint="dynamodb:Scan and dynamodb:DescribeTable are what it takes.",
            ) from None
        except (BotoCoreError, ValueError) as error:
            raise SourceUnavailable(
                f"{self.address} cannot be read ({type(error).__name__}).",
                hint="Credentials and region are those of the AWS command line:"
                " environment, profile or role; a region can be in the address.",
            ) from None


def _parsed(address: str) -> tuple[str, dict[str, str]]:
    """The table, and the settings behind the `?`."""
    form = "Write dynamodb://TABLE?region=REGION, with &endpoint_url=… if needed."
    try:
        parts = urlsplit(address)
    except ValueError:
        raise UsageError(
            f"{redact_url(address)} is not the address of a table.", hint=form
        ) from None
    if "@" in parts.netloc:
        raise UsageError(
            "The address of a table holds no login.",
            hint="Credentials are those of the AWS command line: environment, profile"
            " or role.",
        )
    settings = dict(parse_qsl(parts.query, keep_blank_values=True))
    unknown = sorted(settings.keys() - set(_PARAMETERS))
    if unknown or parts.path.strip("/") or not parts.netloc:
        raise UsageError(
            f"{redact_url(address)} is not the address of a table.", hint=form
        )
    return unquote(parts.netloc), settings


def _rate(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        rate = float(text)
    except ValueError:
        rate = 0.0
    if not rate > 0:
        raise UsageError(f"rcu={text} is no number of read capacity units a second.")
    return rate


def _is_history(typed: Any) -> bool:
    """Whether an attribute looks like what the class writes."""
    messages = typed.get("L")
    first = messages[0].get("M", {}) if messages else {}
    return "type" in first and "data" in first


def _storable(key: Mapping[str, Any]) -> dict[str, Any]:
    """A key as JSON: bytes in base64."""
    return {
        name: {
            kind: base64.b64encode(value).decode() if kind == "B" else value
            for kind, value in typed.items()
        }
        for name, typed in key.items()
    }


def _restored(key: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: {
            kind: base64.b64decode(value) if kind == "B" else value
            for kind, value in typed.items()
        }
        for name, typed in key.items()
    }
