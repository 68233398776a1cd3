"""Tells what else lies in a Redis, by names and types; contents are not looked at."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING
from zlib import crc32

from redis.exceptions import ResponseError

from holdover.migrate.sources.base import Other
from holdover.migrate.sources.redis_spool import Spool

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdover.migrate.sources.redis_wire import Wire

#: So many names of a kind are remembered, to count each once.
REMEMBERED = 1_000_000
#: About so many keys of a kind are asked for their type.
SAMPLED = 1_000

# A message of langchain-redis is named by its ULID, before release 0.2.2 by its time.
_KINDS = re.compile(
    rb"(?P<chat_history>message_store:)"
    rb"|(?P<langchain_redis_history>(?:.*:)?chat:.*:"
    rb"(?:[0-9A-HJKMNP-TV-Z]{26}|\d+\.\d+)\Z)"
    rb"|(?P<langgraph_checkpoints>"
    rb"(?:checkpoint(?:_blob|_write|_latest)?|write_keys_zset):)"
    rb"|(?P<langgraph_store>store(?:_vectors)?:[0-9A-Za-z-]{26,36}(?::|\Z))"
    rb"|(?P<holdover_store>.*:\{\d+\}:item:)"
    rb"|(?P<bookkeeping>.*:(?:layout|\{\d+\}:"
    rb"(?:(?:keys|recent):.*|namespaces|expires))\Z)",
    re.DOTALL,
)
_OTHER = "other"
#: Ours too, but no item of the store: not told.
_BOOKKEEPING = "bookkeeping"
_NAMES = {
    "chat_history": "chat histories (RedisChatMessageHistory)",
    "langchain_redis_history": "chat messages (langchain-redis)",
    "langgraph_store": "items of a LangGraph RedisStore",
    "langgraph_checkpoints": "keys of a LangGraph Redis checkpointer",
    "holdover_store": "items of a Holdover store",
}
#: What a kind is made of; what only is named like it is something else.
_TYPES = {
    "chat_history": {b"list"},
    "langchain_redis_history": {b"ReJSON-RL", b"hash"},
    "langgraph_checkpoints": {b"ReJSON-RL", b"hash", b"string", b"zset"},
    "langgraph_store": {b"ReJSON-RL", b"hash"},
    "holdover_store": {b"string"},
}
_ABSENT = b"none"


class Others:
    """The keys that are under none of the roots, by kind."""

    def __init__(self, roots: Sequence[str]) -> None:
        self._prefixes = tuple(f"{root}:".encode() for root in roots)
        self._roots = {root.encode() for root in roots}
        self._spools: dict[str, Spool] = {}
        self._added: Counter[str] = Counter()
        self._beyond: Counter[str] = Counter()

    def take(self, keys: list[bytes]) -> list[bytes]:
        """Note the keys of others, and give back those under the roots."""
        prefixes = self._prefixes
        ours = [key for key in keys if key.startswith(prefixes)]
        if len(ours) == len(keys):
            return keys
        found: dict[str, list[bytes]] = {}
        for key in keys:
            if not key.startswith(prefixes) and key not in self._roots:
                match = _KINDS.match(key)
                kind = (match and match.lastgroup) or _OTHER
                found.setdefault(kind, []).append(key)
        for kind, names in found.items():
            if self._added[kind] < REMEMBERED:
                self._added[kind] += len(names)
                self._spools.setdefault(kind, Spool()).add(names)
            else:
                self._beyond[kind] += len(names)
        return ours

    def count(self, wire: Wire) -> tuple[list[Other], list[str]]:
        """Count the kinds, with what a reader has to know about the counts."""
        counts: Counter[tuple[str, bytes]] = Counter()
        rough: set[tuple[str, bytes]] = set()
        notes: dict[str, None] = {}
        for kind in [kind for kind in self._spools if kind != _BOOKKEEPING]:
            total, types = self._types(kind, wire, notes)
            asked = sum(types.values())
            for name, number in types.items():
                if name == _ABSENT:
                    continue
                as_named = not name or name in _TYPES.get(kind, ())
                one = (kind, b"") if as_named else (_OTHER, name)
                counts[one] += round(total * number / asked)
                if asked < total:
                    rough.add(one)
        order = [*_NAMES, _OTHER]
        others = [
            Other(
                kind.replace("_", "-"),
                _NAMES.get(kind) or _by_type(name),
                counts[kind, name],
                (kind, name) in rough,
            )
            for kind, name in sorted(counts, key=lambda one: (order.index(one[0]), one))
            if counts[kind, name]
        ]
        return others, list(notes)

    def close(self) -> None:
        """Give the disk space back."""
        for spool in self._spools.values():
            spool.close()

    def _types(
        self, kind: str, wire: Wire, notes: dict[str, None]
    ) -> tuple[int, Counter[bytes]]:
        """How many keys there are of a kind, and the types of some of them."""
        spool = self._spools[kind]
        spool.seal()
        types: Counter[bytes] = Counter()
        for page in spool.pages():
            chosen = [
                key
                for key in page
                if crc32(key) * spool.count < SAMPLED << 32 and _is_text(key)
            ]
            for answer in wire.each([b"TYPE"], chosen)[0] if chosen else []:
                if isinstance(answer, ResponseError):
                    notes[_BY_NAME] = None
                    answer = b""  # noqa: PLW2901 - a type nobody told
                types[answer] += 1
        if not types:  # none is text
            types[b""] = 1
        return spool.count + self._beyond[kind], types


_BY_NAME = (
    "What the keys outside the roots are is told by their names alone, because the "
    "user may not ask for their types."
)


def _is_text(key: bytes) -> bool:
    try:
        key.decode()
    except UnicodeDecodeError:
        return False
    return True


def _by_type(name: bytes) -> str:
    kind = {b"ReJSON-RL": "JSON"}.get(name, name.decode(errors="replace"))
    return f"other keys ({kind})" if kind else "other keys"
