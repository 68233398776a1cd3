"""Tells what else lies in a Redis, by names and types.

Of a list or a JSON document that may be a chat history, one entry is looked at: whether
it is a message tells which `--root` is missing.
"""

from __future__ import annotations

import re
from collections import Counter
from shlex import quote
from typing import TYPE_CHECKING
from zlib import crc32

from redis.exceptions import ResponseError

from holdover.migrate.sources.base import Other
from holdover.migrate.sources.redis_messages import holds_message, session_of
from holdover.migrate.sources.redis_spool import Spool

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from holdover.migrate.sources.redis_wire import Wire

#: So many names of a kind are remembered, to count each once.
REMEMBERED = 1_000_000
#: About so many keys of a kind are asked for their type.
SAMPLED = 1_000
#: So many of their entries are held at once; one may be large.
_LOOKED_AT = 50
#: So many roots are named that would have to be added.
_NAMED = 5

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
_LIST, _DOCUMENT = b"list", b"ReJSON-RL"


class Others:
    """The keys that nobody reads, by kind.

    Args:
        names: Keys that are not told, because somebody else tells of them.
        advise: Look which chat histories another root would find.
    """

    def __init__(
        self, names: frozenset[bytes] = frozenset(), *, advise: bool = False
    ) -> None:
        self._names, self._advise = names, advise
        self._spools: dict[str, Spool] = {}
        self._added: Counter[str] = Counter()
        self._beyond: Counter[str] = Counter()

    def take(self, keys: Sequence[bytes]) -> None:
        """Note keys."""
        found: dict[str, list[bytes]] = {}
        for key in keys:
            if key not in self._names:
                match = _KINDS.match(key)
                kind = (match and match.lastgroup) or _OTHER
                found.setdefault(kind, []).append(key)
        for kind, names in found.items():
            if self._added[kind] < REMEMBERED:
                self._added[kind] += len(names)
                self._spools.setdefault(kind, Spool()).add(names)
            else:
                self._beyond[kind] += len(names)

    def count(self, wire: Wire) -> tuple[list[Other], list[str]]:
        """Count the kinds, with what a reader has to know about the counts."""
        counts: Counter[tuple[str, str]] = Counter()
        rough: set[tuple[str, str]] = set()
        notes: dict[str, None] = {}
        for kind in [kind for kind in self._spools if kind != _BOOKKEEPING]:
            total, names = self._told(kind, wire, notes)
            asked = sum(names.values())
            for one, number in names.items():
                if one[1]:
                    counts[one] += round(total * number / asked)
                    if asked < total:
                        rough.add(one)
        order = [*_NAMES, _OTHER]
        others = [
            Other(kind.replace("_", "-"), name, counts[kind, name], one in rough)
            for one in sorted(counts, key=lambda one: (order.index(one[0]), one))
            for kind, name in [one]
            if counts[one]
        ]
        return others, list(notes)

    def close(self) -> None:
        """Give the disk space back."""
        for spool in self._spools.values():
            spool.close()

    def _told(
        self, kind: str, wire: Wire, notes: dict[str, None]
    ) -> tuple[int, Counter[tuple[str, str]]]:
        """How many keys there are of a kind, and what some of them are.

        What is gone has no name.
        """
        spool = self._spools[kind]
        spool.seal()
        told: Counter[tuple[str, str]] = Counter()
        roots: Counter[tuple[str, str]] = Counter()
        for page in spool.pages():
            chosen = [
                key
                for key in page
                if crc32(key) * spool.count < SAMPLED << 32 and _is_text(key)
            ]
            types: list[bytes] = []
            for answer in wire.each([b"TYPE"], chosen)[0] if chosen else []:
                if isinstance(answer, ResponseError):
                    notes[_BY_NAME] = None
                types.append(b"" if isinstance(answer, ResponseError) else answer)
            histories = {}
            if self._advise:
                histories = dict(_histories(wire, kind, chosen, types))
            for key, name in zip(chosen, types, strict=True):
                if key in histories:
                    roots[histories[key]] += 1
                elif name == _ABSENT:
                    told[kind, ""] += 1
                elif not name or name in _TYPES.get(kind, ()):
                    told[kind, _NAMES.get(kind) or _by_type(name)] += 1
                else:
                    told[_OTHER, _by_type(name)] += 1
        told.update(_advice(roots))
        if not told:  # none is text
            told[kind, _NAMES.get(kind) or _by_type(b"")] = 1
        return spool.count + self._beyond[kind], told


def _advice(roots: Counter[tuple[str, str]]) -> Counter[tuple[str, str]]:
    """What histories are called, with the root that would have them moved."""
    told: Counter[tuple[str, str]] = Counter()
    for at, ((kind, root), number) in enumerate(roots.most_common()):
        if at >= _NAMED:
            advice = "under other prefixes"
        else:
            advice = f"add --root {quote(root) if root else 'PREFIX'}"
        told[kind, f"{_NAMES[kind].removesuffix(')')}; {advice})"] += number
    return told


def _histories(
    wire: Wire, kind: str, keys: Sequence[bytes], types: Sequence[bytes]
) -> Iterator[tuple[bytes, tuple[str, str]]]:
    """Which of the keys are chat histories, and the roots that would find them."""
    wanted = [
        (key, name)
        for key, name in zip(keys, types, strict=True)
        if (name == _LIST and kind in (_OTHER, "chat_history"))
        or (name == _DOCUMENT and kind in (_OTHER, "langchain_redis_history"))
    ]
    for start in range(0, len(wanted), _LOOKED_AT):
        some = wanted[start : start + _LOOKED_AT]
        answers = wire.ask(
            [
                [b"LRANGE", key, b"0", b"0"]
                if name == _LIST
                else [b"JSON.GET", key, b"$.session_id"]
                for key, name in some
            ]
        )
        for (key, name), answer in zip(some, answers, strict=True):
            text = key.decode()
            if name == _LIST and holds_message(answer):
                prefix = text.rpartition(":")[0]
                if kind == "chat_history":
                    prefix = text.partition(":")[0]
                yield key, ("chat_history", prefix)
            elif name == _DOCUMENT and (session := session_of(answer)) is not None:
                prefix = text.rpartition(":")[0].removesuffix(session)
                if prefix.endswith(":"):
                    what = "langchain_redis_history"
                    yield key, (what, prefix.removesuffix(":"))


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
