"""What the plain-Redis store does, as conversations: commands out, answers in.

Each operation is a generator that yields lists of commands, is sent the list of their
answers (an error is an answer like the others) and returns a result. So sync and async
clients, one server and a cluster, and a REST service carry out the same code.
"""

from __future__ import annotations

import heapq
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha1
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from holdover.compat.stores.redis_layout import (
    Layout,
    Namespace,
    Space,
    Stored,
    decoded,
    encoded,
    labels_of,
    layout_key,
    layout_text,
    member,
    read_layout,
    stored,
)

T = TypeVar("T")
Command = tuple[Any, ...]
Talk = Generator[list[Command], list[Any], T]
Pair = tuple[Namespace, str]

_SOURCE = Path(__file__).with_name("redis_apply.lua").read_bytes()
_SHA = sha1(_SOURCE).hexdigest()  # noqa: S324 - the name Redis gives a script

#: A call of the script carries out this many changes, some milliseconds of the server.
_CHANGES_PER_CALL = 100
_BYTES_PER_CALL = 256 * 1024
#: So many calls are sent at once.
_CALLS_AT_ONCE = 64
_VALUES_AT_ONCE = 500
_PAGE = 1_000
_LISTED_AT_ONCE = 500
#: How far the clocks of client and server may be apart, for `list` and `count` alone.
_SKEW_MS = 2_000


@dataclass(frozen=True, slots=True)
class Change:
    """A change of one item; `what` and `condition` are those of `redis_apply.lua`."""

    space: Space
    key: str
    what: str
    json: bytes = b""
    condition: bytes = b""
    group: int = 0


class Found(NamedTuple):
    """An item and where it is."""

    namespace: Namespace
    key: str
    stored: Stored


# Talking.


def ask(commands: list[Command]) -> Talk[list[Any]]:
    """Send commands; raise the first error among the answers."""
    if not commands:
        return []
    answers = yield commands
    unknown = [n for n, a in enumerate(answers) if _is_no_script(a)]
    if unknown:
        # The server was restarted, or never saw the script.
        again = yield [("EVAL", _SOURCE, *commands[n][2:]) for n in unknown]
        answers = list(answers)
        for n, answer in zip(unknown, again, strict=True):
            answers[n] = answer
    for answer in answers:
        if isinstance(answer, Exception):
            raise answer
    return answers


def ask_one(*command: Any) -> Talk[Any]:
    """Send one command."""
    return (yield from ask([command]))[0]


def _is_no_script(answer: Any) -> bool:
    return isinstance(answer, Exception) and (
        type(answer).__name__ == "NoScriptError" or str(answer).startswith("NOSCRIPT")
    )


def layout_of(prefix: str, shards: int, *, create: bool) -> Talk[Layout | None]:
    """Which layout is in use; where none is, write one down or return `None`."""
    key = layout_key(prefix)
    text = yield from ask_one("GET", key)
    if text is None and create:
        yield from ask_one("SET", key, layout_text(shards), "NX")
        text = yield from ask_one("GET", key)
    return None if text is None else read_layout(prefix, _raw(text))


# Reading.


def read(layout: Layout, pairs: Sequence[Pair]) -> Talk[list[Stored | None]]:
    """Read exact keys, in order."""
    by_shard: dict[int, list[int]] = {}
    keys = []
    for n, (namespace, key) in enumerate(pairs):
        space = layout.space(namespace)
        keys.append(layout.item(space, key))
        by_shard.setdefault(space.shard, []).append(n)
    parts = [
        p for places in by_shard.values() for p in _chunks(places, _VALUES_AT_ONCE)
    ]
    commands: list[Command] = [
        ("MGET", *[keys[n] for n in part]) if len(part) > 1 else ("GET", keys[part[0]])
        for part in parts
    ]
    found: list[Stored | None] = [None] * len(keys)
    for part, answer in zip(parts, (yield from ask(commands)), strict=True):
        for n, raw in zip(part, answer if len(part) > 1 else [answer], strict=True):
            found[n] = None if raw is None else stored(_raw(raw))
    return found


def page(
    layout: Layout,
    namespace: Namespace,
    after: str | None,
    limit: int,
    *,
    reverse: bool = False,
) -> Talk[list[tuple[str, Stored]]]:
    """A namespace in the order of its keys, beyond `after`."""
    space = layout.space(namespace)
    entries: list[tuple[str, Stored]] = []
    while len(entries) < limit:
        size = min(limit - len(entries), _PAGE)
        keys = yield from _keys(space, after, size, reverse=reverse)
        values = yield from read(layout, [(namespace, key) for key in keys])
        found = zip(keys, values, strict=True)
        entries += [(key, value) for key, value in found if value is not None]
        if len(keys) < size:
            break
        after = keys[-1]
    return entries


def older(layout: Layout, namespace: Namespace, keep: int) -> Talk[list[str]]:
    """The keys of a namespace but for its `keep` largest."""
    space = layout.space(namespace)
    if not keep:
        return (yield from _all_keys(space, None))
    # The first of the rest; a namespace within its bound needs no more.
    rest = yield from ask_one("ZREVRANGEBYLEX", space.keys, "+", "-", "LIMIT", keep, 1)
    if not rest:
        return []
    first = decoded(_raw(rest[0]))
    return [first, *(yield from _all_keys(space, first))]


def _all_keys(space: Space, after: str | None) -> Talk[list[str]]:
    keys: list[str] = []
    while part := (yield from _keys(space, after, _PAGE, reverse=True)):
        keys += part
        after = part[-1]
    return keys


def _keys(
    space: Space, after: str | None, size: int, *, reverse: bool
) -> Talk[list[str]]:
    start = None if after is None else b"(" + encoded(after)
    command = (
        ("ZREVRANGEBYLEX", space.keys, start or "+", "-")
        if reverse
        else ("ZRANGEBYLEX", space.keys, start or "-", "+")
    )
    answer = yield from ask_one(*command, "LIMIT", 0, size)
    return [decoded(_raw(key)) for key in answer]


def count(layout: Layout, namespace: Namespace, now_ms: int) -> Talk[int]:
    """How many items a namespace holds."""
    space = layout.space(namespace)
    listed = yield from ask_one("ZCARD", space.keys)
    gone = yield from _expired(layout, [space.shard], now_ms)
    names = gone[space.shard]
    dead = sum(1 for name in names if name.partition(b"..")[0] == space.name)
    return max(0, int(listed) - dead)


def search(
    layout: Layout,
    prefix: Namespace,
    matches: Callable[[Mapping[str, Any]], bool] | None,
    limit: int,
    offset: int,
) -> Talk[list[Found]]:
    """What lies at or below a prefix, the last put first."""
    found: list[Found] = []
    if limit <= 0:
        return found
    at_once = min(_VALUES_AT_ONCE, _PAGE if matches else offset + limit)
    own = _Recent(layout.space(prefix)) if prefix else None
    # One more, so that the last one wanted leaves nothing to be read on.
    others = yield from _below(layout, prefix, own, at_once + 1)
    streams = [*([own] if own else []), *map(_Recent, others)]
    yield from _begin(streams, at_once + 1)
    heap = [s.next() for s in streams if s.buffer]
    heapq.heapify(heap)
    while heap and len(found) < limit:
        refs: list[tuple[Space, str]] = []
        while heap and len(refs) < at_once:
            _, _, key, stream = heapq.heappop(heap)
            refs.append((stream.space, key))
            if not stream.buffer and stream.more:
                yield from stream.fill(at_once)
            if stream.buffer:
                heapq.heappush(heap, stream.next())
        pairs = [(space.namespace, key) for space, key in refs]
        for (namespace, key), value in zip(
            pairs, (yield from read(layout, pairs)), strict=True
        ):
            if value is None or (matches and not matches(value.value)):
                continue
            if offset:
                offset -= 1
            elif len(found) < limit:
                found.append(Found(namespace, key, value))
    return found


class _Recent:
    """The keys of a namespace from the last put backwards, read in pieces."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self.buffer: deque[tuple[int, str]] = deque()
        self.more = True
        self._at = 0
        self._score = "+inf"
        self._tied = 0

    def command(self, size: int) -> Command:
        limit = ("LIMIT", self._tied, size)
        return (
            "ZREVRANGEBYSCORE",
            self.space.recent,
            self._score,
            "-inf",
            "WITHSCORES",
            *limit,
        )

    def take(self, answer: Any, size: int) -> None:
        scored = _scored(answer)
        self.more = len(scored) == size
        self._score, self._tied = _beyond(scored, self._score, self._tied)
        self.buffer.extend((score, decoded(raw)) for raw, score in scored)

    def fill(self, size: int) -> Talk[None]:
        self.take((yield from ask_one(*self.command(size))), size)

    def next(self) -> tuple[int, tuple[bytes, int], str, _Recent]:
        """Sorts by time, and what has the same by what is never the same."""
        score, key = self.buffer.popleft()
        self._at += 1
        return -score, (self.space.name, self._at), key, self


def _begin(streams: Sequence[_Recent], wanted: int) -> Talk[None]:
    """Read the first piece of each stream; of many, pieces are small."""
    waiting = [s for s in streams if not s.buffer and s.more]
    size = max(1, min(wanted, 2 * wanted // max(1, len(waiting))))
    for part in _chunks(waiting, _LISTED_AT_ONCE):
        answers = yield from ask([stream.command(size) for stream in part])
        for stream, answer in zip(part, answers, strict=True):
            stream.take(answer, size)


def _below(
    layout: Layout, prefix: Namespace, own: _Recent | None, size: int
) -> Talk[list[Space]]:
    """The namespaces below a prefix; the prefix's own items are read on the way."""
    ranges = [_Range(layout, shard, prefix) for shard in range(layout.shards)]
    extra = [own.command(size)] if own else []
    spaces: list[Space] = []
    while ranges:
        answers = yield from ask([*[r.command() for r in ranges], *extra])
        if own and extra:
            own.take(answers.pop(), size)
            extra = []
        for part, answer in zip(ranges, answers, strict=True):
            part.take(answer)
            spaces += [layout.space(ns) for ns in part.buffer if ns != prefix]
            part.buffer.clear()
        ranges = [part for part in ranges if part.more]
    return spaces


class _Range:
    """The namespaces of a shard that begin with a prefix, read in pieces."""

    def __init__(
        self, layout: Layout, shard: int, prefix: Namespace, size: int = _PAGE
    ) -> None:
        first = member(prefix)
        self._registry = layout.registry(shard)
        self._start: bytes | str = b"[" + first if first else "-"
        self._end: bytes | str = b"(" + first[:-1] + b"\1" if first else "+"
        self._size = size
        self.buffer: deque[Namespace] = deque()
        self.more = True

    def command(self) -> Command:
        return (
            "ZRANGEBYLEX",
            self._registry,
            self._start,
            self._end,
            "LIMIT",
            0,
            self._size,
        )

    def take(self, answer: Sequence[Any]) -> None:
        self.more = len(answer) == self._size
        self.buffer.extend(labels_of(_raw(raw)) for raw in answer)
        if answer:
            self._start = b"(" + _raw(answer[-1])

    def fill(self, beyond: Namespace | None = None) -> Talk[None]:
        """Read on; nothing below `beyond` is wanted any more."""
        if beyond:
            jump = b"[" + member(beyond)[:-1] + b"\1"
            if isinstance(self._start, str) or jump[1:] > self._start[1:]:
                self._start = jump
        self._size = _PAGE
        self.take((yield from ask_one(*self.command())))


def namespaces(
    layout: Layout,
    prefix: Namespace,
    matches: Callable[[Namespace], bool],
    max_depth: int | None,
    limit: int,
    offset: int,
    now_ms: int,
) -> Talk[list[Namespace]]:
    """The namespaces that hold something, in order, cut to `max_depth` labels."""
    empty = yield from _emptied(layout, now_ms)
    size = max(1, min(_PAGE, offset + limit))
    ranges = [_Range(layout, shard, prefix, size) for shard in range(layout.shards)]
    answers = yield from ask([part.command() for part in ranges])
    heap = []
    for n, (part, answer) in enumerate(zip(ranges, answers, strict=True)):
        part.take(answer)
        if part.buffer:
            heap.append((part.buffer.popleft(), n))
    heapq.heapify(heap)
    found: list[Namespace] = []
    last: Namespace | None = None
    while heap and len(found) < limit:
        namespace, n = heapq.heappop(heap)
        if namespace not in empty and matches(namespace):
            cut = namespace[:max_depth]
            if cut != last:
                last = cut
                found += [cut] if not offset else []
                offset -= bool(offset)
        if not ranges[n].buffer and ranges[n].more and len(found) < limit:
            whole = last if last and len(last) == max_depth else None
            yield from ranges[n].fill(whole)
        if ranges[n].buffer:
            heapq.heappush(heap, (ranges[n].buffer.popleft(), n))
    return found


class Place(NamedTuple):
    """How far all namespaces have been read."""

    shard: int = 0
    after: bytes = b""


def some_spaces(layout: Layout, at: Place) -> Talk[tuple[list[Space], Place | None]]:
    """Namespaces from a place on, and the next place; `None` where there is no more."""
    answer = yield from ask_one(
        "ZRANGEBYLEX",
        layout.registry(at.shard),
        b"(" + at.after if at.after else "-",
        "+",
        "LIMIT",
        0,
        _PAGE,
    )
    spaces = [layout.space(labels_of(_raw(raw))) for raw in answer]
    if len(answer) == _PAGE:
        return spaces, Place(at.shard, _raw(answer[-1]))
    following = at.shard + 1
    return spaces, Place(following) if following < layout.shards else None


class FirstPage(NamedTuple):
    """The first items of a namespace; `page` reads on after `after`, if it is set."""

    space: Space
    entries: list[tuple[str, Stored]]
    after: str | None


def first_pages(
    layout: Layout, spaces: Sequence[Space], size: int
) -> Talk[list[FirstPage]]:
    """The first `size` items of each of many namespaces."""
    answers = yield from ask(
        [("ZRANGEBYLEX", s.keys, "-", "+", "LIMIT", 0, size) for s in spaces]
    )
    keys = [[decoded(_raw(key)) for key in answer] for answer in answers]
    pairs = [
        (space.namespace, key)
        for space, own in zip(spaces, keys, strict=True)
        for key in own
    ]
    values = iter((yield from read(layout, pairs)))
    pages = []
    for space, own in zip(spaces, keys, strict=True):
        held = zip(own, islice(values, len(own)), strict=True)
        entries = [(key, value) for key, value in held if value is not None]
        pages.append(FirstPage(space, entries, own[-1] if len(own) == size else None))
    return pages


def _emptied(layout: Layout, now_ms: int) -> Talk[set[Namespace]]:
    """Namespaces that are still listed, whose last items have expired."""
    dead: Counter[bytes] = Counter()
    for gone in (yield from _expired(layout, range(layout.shards), now_ms)).values():
        dead.update(name.partition(b"..")[0] for name in gone)
    spaces = [layout.space(_labels(name)) for name in dead]
    empty = set()
    for part in _chunks(spaces, _LISTED_AT_ONCE):
        sizes = yield from ask([("ZCARD", space.keys) for space in part])
        for space, size in zip(part, sizes, strict=True):
            if int(size) <= dead[space.name]:
                empty.add(space.namespace)
    return empty


def _expired(
    layout: Layout, shards: Sequence[int], now_ms: int
) -> Talk[dict[int, list[bytes]]]:
    """The names of items that have expired and are still listed, by shard."""
    found: dict[int, list[bytes]] = {shard: [] for shard in shards}
    reading = dict.fromkeys(shards, ("-inf", 0))
    while reading:
        answers = yield from ask(
            [
                (
                    "ZRANGEBYSCORE",
                    layout.expires(shard),
                    score,
                    now_ms + _SKEW_MS,
                    "WITHSCORES",
                    "LIMIT",
                    tied,
                    _PAGE,
                )
                for shard, (score, tied) in reading.items()
            ]
        )
        due = dict(zip(reading, map(_scored, answers), strict=True))
        places = [(shard, name) for shard, part in due.items() for name, _ in part]
        held = yield from ask(
            [("EXISTS", layout.named(shard, name)) for shard, name in places]
        )
        for (shard, name), there in zip(places, held, strict=True):
            if not int(there):
                found[shard].append(name)
        reading = {
            shard: _beyond(part, *reading[shard])
            for shard, part in due.items()
            if len(part) == _PAGE
        }
    return found


def _beyond(part: list[tuple[bytes, int]], score: str, tied: int) -> tuple[str, int]:
    """Where to read on by score: the last one, and how many had it."""
    for _, number in part:
        tied = tied + 1 if str(number) == score else 1
        score = str(number)
    return score, tied


# Writing.


class Outcome(NamedTuple):
    """What changes did: the groups left out, and how many entries were mended."""

    refused: set[int]
    mended: int


def apply(layout: Layout, changes: Sequence[Change]) -> Talk[Outcome]:
    """Carry changes out, in calls that each happen whole or not at all.

    What is of one shard keeps its order; a group is not cut, unless it lies in several
    shards.
    """
    refused: set[int] = set()
    mended = 0
    due: dict[tuple[int, bytes], None] = {}
    for part in _chunks(list(_calls(changes)), _CALLS_AT_ONCE):
        calls = [_call(layout, call) for call in part]
        puts = any(one.what.startswith("put") for call in part for one in call)
        if puts and layout.shards > 1:
            # It may have been flushed; of a single shard, the script sees to that.
            text = layout_text(layout.shards)
            calls.append(("SET", layout_key(layout.prefix), text, "NX"))
        answers = yield from ask(calls)
        for changes_of_call, answer in zip(part, answers, strict=False):
            left_out, number, expired = answer
            refused.update(int(group) for group in left_out)
            mended += int(number)
            shard = changes_of_call[0].space.shard
            due.update(dict.fromkeys((shard, _raw(name)) for name in expired))
    if due:
        # The changes are made, whatever becomes of the tidying.
        mends = _calls([_mend(layout, name, n) for n, (_, name) in enumerate(due)])
        yield [_call(layout, part) for part in mends]
    return Outcome(refused, mended)


def _calls(changes: Sequence[Change]) -> Iterator[list[Change]]:
    by_shard: dict[int, list[Change]] = {}
    for change in changes:
        by_shard.setdefault(change.space.shard, []).append(change)
    for own in by_shard.values():
        call: list[Change] = []
        size = 0
        for change in own:
            full = len(call) >= _CHANGES_PER_CALL or size >= _BYTES_PER_CALL
            if full and change.group != call[-1].group:
                yield call
                call, size = [], 0
            call.append(change)
            size += len(change.json) + len(change.condition)
        yield call


def _call(layout: Layout, changes: Sequence[Change]) -> Command:
    shard = changes[0].space.shard
    numbers: dict[Space, int] = {}
    for change in changes:
        numbers.setdefault(change.space, len(numbers) + 1)
    alone = layout.shards == 1
    keys = [layout.registry(shard), layout.expires(shard)]
    keys.append(layout_key(layout.prefix) if alone else layout.registry(shard))
    for space in numbers:
        keys += [space.keys, space.recent]
    keys += [layout.item(change.space, change.key) for change in changes]
    skip = len(layout.named(shard, b""))
    arguments: list[Any] = [skip, len(numbers), layout_text(1) if alone else ""]
    arguments += [space.member for space in numbers]
    for change in changes:
        number = numbers[change.space]
        arguments += [
            number,
            change.group,
            change.what,
            change.condition,
            change.json,
        ]
    return ("EVALSHA", _SHA, len(keys), *keys, *arguments)


def _mend(layout: Layout, name: bytes, group: int = 0) -> Change:
    namespace, _, key = name.partition(b"..")
    return Change(layout.space(_labels(namespace)), decoded(key), "mend", group=group)


def sweep(layout: Layout, now_ms: int) -> Talk[int]:
    """Take expired items off the lists; how many they were."""
    number = 0
    for gone in (yield from _expired(layout, range(layout.shards), now_ms)).values():
        yield from mend(layout, gone)
        number += len(gone)
    return number


def mend(layout: Layout, names: Sequence[bytes]) -> Talk[int]:
    """Make the lists agree with the items of these names; how many entries differed."""
    changes = [_mend(layout, name, n) for n, name in enumerate(names)]
    return (yield from apply(layout, changes)).mended


def mend_keys(layout: Layout, keys: Sequence[bytes]) -> Talk[int]:
    """Make lists and items agree, as far as these Redis keys hold them."""
    names = []
    mended = 0
    for key in keys:
        kind, _, rest = key.partition(b"}:")[2].partition(b":")
        if kind == b"item" and b".." in rest:
            names.append(rest)
        elif kind in (b"keys", b"recent"):
            mended += yield from _mend_listed(layout, key, rest + b"..")
        elif (kind, rest) == (b"expires", b""):
            mended += yield from _mend_listed(layout, key, b"")
    return mended + (yield from mend(layout, names))


def _mend_listed(layout: Layout, key: bytes, begin: bytes) -> Talk[int]:
    """Take off the lists what one of them names and is not there."""
    mended = 0
    cursor: Any = 0
    while True:
        # Unlike a range, it stays complete while entries are taken off.
        cursor, part = yield from ask_one("ZSCAN", key, cursor, "COUNT", _PAGE)
        names = [begin + member for member, _ in _scored(part)]
        mended += yield from mend(layout, names)
        if not int(cursor):
            return mended


def mend_registries(layout: Layout) -> Talk[int]:
    """Take off the registries the namespaces that list nothing; how many it was."""
    mended = 0
    at: Place | None = Place()
    while at is not None:
        spaces, at = yield from some_spaces(layout, at)
        # A namespace is looked at with any of its keys, be it there or not.
        mended += yield from mend(layout, [space.name + b".." for space in spaces])
    return mended


def _labels(name: bytes) -> Namespace:
    return tuple(decoded(name).split("."))


def _raw(answer: Any) -> bytes:
    """An answer as bytes: some clients cannot but decode."""
    return answer if isinstance(answer, bytes) else encoded(str(answer))


def _scored(answer: Sequence[Any]) -> list[tuple[bytes, int]]:
    """Members with whole scores, from RESP2's flat list or RESP3's pairs."""
    if answer and isinstance(answer[0], list | tuple):
        return [(_raw(name), int(float(score))) for name, score in answer]
    return [
        (_raw(answer[n]), int(float(answer[n + 1]))) for n in range(0, len(answer), 2)
    ]


def _chunks(whole: Sequence[T], size: int) -> Iterator[list[T]]:
    rest = iter(whole)
    while part := list(islice(rest, size)):
        yield part
