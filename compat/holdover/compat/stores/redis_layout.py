"""How items lie in a plain Redis: the names of keys and what an item holds. Version 1.

With the prefix `holdover`, and `N` the number of a shard:

- `holdover:{0}:layout`: `1;shards=` and how many shards there are.
- `holdover:{N}:item:<namespace>..<key>`: a string, `1;<created>;<updated>;<ttl>`, a
  newline and the value as JSON. Times are microseconds since 1970; `ttl` is the whole
  lifetime in milliseconds, empty for ever. The Redis key expires with the item.
- `holdover:{N}:keys:<namespace>`: a sorted set of the keys, all with score 0.
- `holdover:{N}:recent:<namespace>`: the same keys by the time of their last put.
- `holdover:{N}:namespaces`: a sorted set of the namespaces that hold items, as labels
  that each end with NUL, so that their order is the order of tuples.
- `holdover:{N}:expires`: `<namespace>..<key>` by the millisecond at which it expires.

A namespace is its labels joined by dots. No label holds a dot and none is empty, so the
first `..` ends it. All keys of a shard lie in one slot of a cluster; the shard of a
namespace is the CRC-32 of its name modulo the number of shards. Text is UTF-8, a lone
surrogate its three bytes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, NamedTuple
from zlib import crc32

import orjson
from langgraph.store.base import InvalidNamespaceError

from holdover.compat.errors import StoreUnsuitable, UnportableValue

VERSION = 1
#: A lifetime beyond this many milliseconds, some 285,000 years, is cut to it.
_LONGEST_MS = 9 * 10**15
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# What orjson would turn into something else is refused instead.
_EXACT = orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_DATACLASS

Namespace = tuple[str, ...]


class Stored(NamedTuple):
    """An item as it lies there: microseconds since 1970, milliseconds, JSON."""

    created: int
    updated: int
    ttl: int | None
    json: bytes

    @property
    def value(self) -> dict[str, Any]:
        """The value."""
        value: dict[str, Any] = orjson.loads(self.json)
        return value


def stored(raw: bytes) -> Stored:
    """Read what an item's Redis key holds."""
    head, _, json = raw.partition(b"\n")
    if not head.startswith(b"1;"):
        raise StoreUnsuitable(
            "An item was written by a newer version.", hint="Update holdover."
        )
    _, created, updated, ttl = head.split(b";")
    return Stored(int(created), int(updated), int(ttl) if ttl else None, json)


def moment(microseconds: int) -> datetime:
    """A time as LangGraph's items carry it."""
    return _EPOCH + timedelta(microseconds=microseconds)


class Space(NamedTuple):
    """A namespace, and where it lies."""

    namespace: Namespace
    name: bytes
    shard: int
    keys: bytes
    recent: bytes

    @property
    def member(self) -> bytes:
        """The namespace in the registry of its shard."""
        return member(self.namespace)


@dataclass(frozen=True)
class Layout:
    """Where things are, for one prefix and one number of shards."""

    prefix: str
    shards: int

    def space(self, namespace: Namespace) -> Space:
        """Where a namespace lies; its labels are valid."""
        return _space(self, namespace)

    def item(self, space: Space, key: str) -> bytes:
        """The Redis key of an item."""
        return self.items(space) + encoded(key)

    def items(self, space: Space) -> bytes:
        """What the Redis keys of a namespace's items begin with."""
        return self.shard_key(space.shard, "item:") + space.name + b".."

    def named(self, shard: int, name: bytes) -> bytes:
        """The Redis key of an item by its name, `<namespace>..<key>`."""
        return self.shard_key(shard, "item:") + name

    def registry(self, shard: int) -> bytes:
        """The Redis key of the namespaces of a shard."""
        return self.shard_key(shard, "namespaces")

    def expires(self, shard: int) -> bytes:
        """The Redis key of what expires in a shard."""
        return self.shard_key(shard, "expires")

    def shard_key(self, shard: int, rest: str) -> bytes:
        """A Redis key in the slot of a shard."""
        return f"{self.prefix}:{{{shard}}}:{rest}".encode()


@lru_cache(maxsize=4096)
def _space(layout: Layout, namespace: Namespace) -> Space:
    name = encoded(".".join(namespace))
    shard = crc32(name) % layout.shards
    keys = layout.shard_key(shard, "keys:") + name
    recent = layout.shard_key(shard, "recent:") + name
    return Space(namespace, name, shard, keys, recent)


def layout_key(prefix: str) -> bytes:
    """Where it is written down which version and how many shards there are."""
    return f"{prefix}:{{0}}:layout".encode()


def layout_text(shards: int) -> str:
    """What is written there."""
    return f"{VERSION};shards={shards}"


def read_layout(prefix: str, text: bytes) -> Layout:
    """Read it.

    Raises:
        StoreUnsuitable: It is of a version this one does not know, or something else.
    """
    version, _, rest = text.decode(errors="replace").partition(";")
    name, _, number = rest.partition("=")
    if version == str(VERSION) and name == "shards" and number.isdecimal():
        return Layout(prefix, int(number))
    raise StoreUnsuitable(
        f"The Redis key {prefix}:{{0}}:layout is not one this version can read.",
        failed=("layout",),
        hint="Update holdover, or choose another prefix.",
    )


def encoded(text: str) -> bytes:
    """Text as Redis holds it."""
    return text.encode("utf-8", "surrogatepass")


def decoded(raw: bytes) -> str:
    """Text from Redis."""
    return raw.decode("utf-8", "surrogatepass")


def member(labels: Namespace) -> bytes:
    """A namespace, or the beginning of some, as the registry holds it."""
    return b"".join([encoded(label) + b"\0" for label in labels])


def labels_of(raw: bytes) -> Namespace:
    """The namespace that a member of the registry stands for."""
    return tuple(decoded(raw[:-1]).split("\0"))


def check_labels(labels: Any) -> Namespace:
    """The labels of a namespace or of the beginning of one.

    Raises:
        TypeError: It is no sequence of strings; one string is none either.
        InvalidNamespaceError: A label is empty or holds a dot or a NUL.
    """
    if isinstance(labels, str | bytes) or not isinstance(labels, tuple | list):
        raise TypeError(f"A namespace is a tuple of strings, not {labels!r}.")
    for label in labels:
        if not isinstance(label, str):
            raise TypeError(f"A label is a string, not {label!r}.")
        if not label or "." in label or "\0" in label:
            raise InvalidNamespaceError(
                f"The label {label!r} is empty or holds a '.' or a NUL character."
            )
    return tuple(labels)


def check_namespace(namespace: Any) -> Namespace:
    """The namespace of a put.

    Raises:
        TypeError: See `check_labels`.
        InvalidNamespaceError: Likewise; or it is empty, or below `langgraph`.
    """
    labels = check_labels(namespace)
    if not labels:
        raise InvalidNamespaceError("A namespace has at least one label.")
    if labels[0] == "langgraph":
        raise InvalidNamespaceError("LangGraph keeps the root 'langgraph' to itself.")
    return labels


def to_json(value: Any) -> bytes:
    """A value as JSON that reads back as the same value.

    Raises:
        TypeError: It is no mapping, or JSON has no word for what is in it: a date, a
            set, a key that is no string, an integer beyond 64 bits.
        UnportableValue: It holds NaN or an infinity.
    """
    if not isinstance(value, Mapping):
        raise TypeError(f"A value is a mapping, not a {type(value).__name__}.")
    json = orjson.dumps(
        value if isinstance(value, dict) else dict(value), option=_EXACT
    )
    if b"null" in json:
        _check_numbers(value)
    return json


def _check_numbers(value: Any) -> None:
    """Refuse the numbers for which orjson writes `null`."""
    if isinstance(value, float):
        if not math.isfinite(value):
            raise UnportableValue(f"JSON has no number {value}.")
    elif isinstance(value, Mapping):
        for part in value.values():
            _check_numbers(part)
    elif isinstance(value, list | tuple):
        for part in value:
            _check_numbers(part)


def milliseconds(minutes: float | None) -> int | None:
    """A lifetime in whole milliseconds, never shorter; `None` for ever.

    Raises:
        ValueError: It is no number.
    """
    if minutes is None or minutes == math.inf:
        return None
    if math.isnan(minutes):
        raise ValueError("A TTL is a number of minutes, not NaN.")
    whole = max(0.0, min(minutes * 60_000, float(_LONGEST_MS)))
    return math.ceil(round(whole, 6))
