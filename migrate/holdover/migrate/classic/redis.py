"""Keys and lists as `RedisEntityStore` and `RedisChatMessageHistory` read them.

A list is pushed under another name in the same slot and renamed when it is complete.
The mark is a key that no classic prefix finds.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from redis.exceptions import RedisError

from holdover.compat.stores.redis_connecting import connect, explain, parse_address
from holdover.migrate.classic.base import (
    SURROGATE,
    Entry,
    Form,
    Refusal,
    unstorable,
)
from holdover.migrate.classic.messages import as_json
from holdover.migrate.errors import TargetError
from holdover.migrate.sources.store import Space

_SHARED = Refusal("key-shared", "Another session has the same key.")
_MARK = b"~holdover:way-back"
_PART = b"~holdover:way-back:part:"
_AT_ONCE = 1_000
_BYTES_AT_ONCE = 4 << 20
_SHOWN = 5
_GLOB = str.maketrans({char: f"\\{char}" for char in "*?[]^-\\"})


class RedisForm(Form):
    """A Redis in which nothing begins with the roots."""

    label = "Redis"
    kinds = frozenset({"entity", "message"})

    def __init__(self, address: str, shown: str) -> None:
        super().__init__(shown)
        self._client: Any = connect(parse_address(address))
        self._keys = _Keys()
        self._goes_on = False

    def begun(self) -> str | None:
        """See `Form.begun`."""
        with self._errors():
            mark = self._client.get(_MARK)
        self._goes_on = mark is not None
        return None if mark is None else bytes(mark).decode()

    def taken(self, roots: Iterable[tuple[str, str]]) -> list[str]:
        """Keys under the roots, of whatever type."""
        found: list[str] = []
        for root in dict.fromkeys(root for _, root in roots):
            if unstorable(root):
                continue
            pattern = f"{root.translate(_GLOB)}:*"
            with self._errors():
                for key in self._client.scan_iter(match=pattern, count=_AT_ONCE):
                    found.append(bytes(key).decode(errors="backslashreplace"))
                    if len(found) == _SHOWN:
                        return [*found, "perhaps more"]
        return found

    def refuses(self, space: Space) -> Refusal | None:
        """A key is UTF-8, and a list has it alone."""
        if unstorable(space.root + space.session):
            return SURROGATE
        if space.kind == "message" and not self._keys.take(_list_key(space), space):
            return _SHARED
        return None

    def refuses_entry(self, space: Space, entry: Entry) -> Refusal | None:
        """A colon in a session and one in a name can make one key of two."""
        if space.kind != "entity":
            return None
        if unstorable(entry.key + entry.value):
            return SURROGATE
        taken = self._keys.take(_entity_key(space, entry.key), space)
        return None if taken else _SHARED

    def begin(self, mark: str) -> None:
        """See `Form.begin`."""
        with self._errors():
            self._client.set(_MARK, mark)

    def write(self, space: Space, entries: Iterable[Entry]) -> int:
        """See `Form.write`."""
        write = self._push if space.kind == "message" else self._set
        return write(space, entries)

    def _set(self, space: Space, entries: Iterable[Entry]) -> int:
        written = 0
        for some in _chunks(entries, _summary_size):
            with self._errors(), self._client.pipeline(transaction=False) as pipe:
                for entry in some:
                    key = _entity_key(space, entry.key)
                    ends = _milliseconds(entry.lifetime)
                    pipe.set(key, entry.value.encode(), px=ends)
                pipe.execute()
            written += len(some)
        return written

    def _push(self, space: Space, entries: Iterable[Entry]) -> int:
        key = _list_key(space)
        part = _part_of(key)
        longest: timedelta | None = timedelta(0)
        written = 0
        with self._errors():
            self._client.delete(part)
            for some in _chunks(entries, _message_size):
                texts = [as_json(entry.value).encode() for entry in some]
                self._client.lpush(part, *texts)
                written += len(texts)
                for entry in some:
                    if longest is not None and entry.lifetime is not None:
                        longest = max(longest, entry.lifetime)
                    else:
                        longest = None
            if written and longest is not None:
                self._client.pexpire(part, _milliseconds(longest))
            if written and part != key:
                self._client.rename(part, key)
        return written

    def messages(self, space: Space) -> Iterator[Any]:
        """From the oldest, which is last."""
        key = _list_key(space)
        with self._errors():
            length = int(self._client.llen(key))
        for end in range(length - 1, -1, -_AT_ONCE):
            start = max(0, end - _AT_ONCE + 1)
            with self._errors():
                texts = self._client.lrange(key, start, end)
            yield from map(json.loads, reversed(texts))

    def summaries(self, space: Space, names: Sequence[str]) -> list[str | None]:
        """See `Form.summaries`; a GET leaves the lifetime alone."""
        with self._errors(), self._client.pipeline(transaction=False) as pipe:
            for name in names:
                pipe.get(_entity_key(space, name))
            values = pipe.execute()
        return [None if value is None else value.decode() for value in values]

    def finish(self) -> None:
        """See `Form.finish`."""
        with self._errors():
            if self._goes_on:
                pattern = _PART + b"*"
                for key in self._client.scan_iter(match=pattern, count=_AT_ONCE):
                    self._client.delete(key)
            self._client.delete(_MARK)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except (RedisError, OSError) as error:
            message, hint = explain(error, self.address)
        else:
            return
        raise TargetError(message, hint=hint)

    def close(self) -> None:
        """See `Form.close`."""
        self._keys.close()
        self._client.close()


class _Keys:
    """Which session each key is of, on local disk."""

    def __init__(self) -> None:
        self._conn = sqlite3.connect("", isolation_level=None)
        self._conn.execute(
            "CREATE TABLE key (digest BLOB PRIMARY KEY, owner BLOB) WITHOUT ROWID"
        )
        self._conn.execute("BEGIN")

    def take(self, key: bytes, space: Space) -> bool:
        """Whether it is this session's, which it is if nobody's so far."""
        digest, owner = _digest(key), _digest(".".join(space.namespace).encode())
        query = "INSERT OR IGNORE INTO key VALUES (?, ?)"
        if self._conn.execute(query, (digest, owner)).rowcount:
            return True
        query = "SELECT owner FROM key WHERE digest = ?"
        return bool(self._conn.execute(query, (digest,)).fetchone()[0] == owner)

    def close(self) -> None:
        self._conn.close()


def _digest(raw: bytes) -> bytes:
    return hashlib.blake2b(raw, digest_size=16).digest()


def _entity_key(space: Space, name: str) -> bytes:
    return f"{space.root}:{space.session}:{name}".encode()


def _list_key(space: Space) -> bytes:
    # `key_prefix` is a root and a colon, unless it was given without.
    return f"{space.root}:{space.session}".encode()


def _part_of(key: bytes) -> bytes:
    """Another key in the same slot; the key itself where there is none."""
    opening, rest = key.partition(b"{")[1:]
    tag = rest.partition(b"}")[0] if opening and b"}" in rest else b""
    if tag:
        return _PART + b"{" + tag + b"}" + hashlib.sha256(key).hexdigest().encode()
    return key if b"}" in key else _PART + b"{" + key + b"}"


def _milliseconds(lifetime: timedelta | None) -> int | None:
    if lifetime is None:
        return None
    return max(1, round(lifetime.total_seconds() * 1000))


def _summary_size(entry: Entry) -> int:
    return len(entry.key) + len(entry.value)


def _message_size(entry: Entry) -> int:
    return len(str(entry.value["data"].get("content", "")))


def _chunks(
    entries: Iterable[Entry], size_of: Callable[[Entry], int]
) -> Iterator[list[Entry]]:
    some: list[Entry] = []
    size = 0
    for entry in entries:
        some.append(entry)
        size += size_of(entry)
        if len(some) >= _AT_ONCE or size >= _BYTES_AT_ONCE:
            yield some
            some, size = [], 0
    if some:
        yield some
