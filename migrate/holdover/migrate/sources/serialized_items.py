"""From the memories in a file to what is moved of them, each with its session.

The parts of a `CombinedMemory` are of one conversation. What two of them hold alike is
moved once; a part that holds something else of the same kind is a session of its own,
named after the variable that it gave.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from holdover.compat.message_records import message_content, message_from
from holdover.compat.records import key_of
from holdover.compat.running_summary import Summary
from holdover.compat.spoken import spoken
from holdover.compat.transcript import START, Cursor, Entry, moved
from holdover.migrate.pickled_plain import Allowance, TooLarge, plain
from holdover.migrate.sources.base import Reject, SourceItem
from holdover.migrate.sources.batching import make_item
from holdover.migrate.sources.messages import Unreadable
from holdover.migrate.sources.serialized_losses import EMPTY
from holdover.migrate.sources.serialized_messages import (
    NO_MESSAGE,
    NO_ROLE,
    TOO_LARGE,
    read_messages,
)
from holdover.migrate.sources.serialized_nodes import get
from holdover.migrate.sources.vectors_documents import numbers_of
from holdover.migrate.sources.vectors_plain import plain as json_of

if TYPE_CHECKING:
    from holdover.migrate.sources.base import Roles
    from holdover.migrate.sources.serialized_memories import Memory

__all__ = ["Found", "Roots", "Skip", "items_of", "triple"]

#: Characters that one file may become, with 64 for each value.
_ALLOWANCE = 1 << 30
# A cursor knows the place it stands at by the last messages before it.
_TAIL = 4
_REPEATED = "repeated-part"
_NOT_TEXT = Unreadable("not-text", "It is neither a text nor a number.")


class Roots(NamedTuple):
    """The first label of what is moved, by kind."""

    entities: str
    others: str


class Skip(NamedTuple):
    """So many records that are knowingly not moved, and why."""

    reason: str
    number: int = 1


@dataclass
class _Whole:
    """A memory with what has to be read of it to compare it with others."""

    memory: Memory
    messages: Iterable[tuple[int, dict[str, Any] | Unreadable]]
    session: str = ""
    hashes: list[int] = field(default_factory=list)
    #: Kinds that another memory of the session holds alike.
    repeated: set[str] = field(default_factory=set)
    #: How many messages were read, and the last ones of them.
    number: int = 0
    last: list[dict[str, Any]] = field(default_factory=list)


Found = SourceItem | Reject | Skip


def items_of(
    memories: Iterable[Memory],
    session: str,
    locator: str,
    *,
    roots: Roots,
    kinds: AbstractSet[str],
    roles: Roles,
    losses: Counter[str],
) -> Iterator[Found]:
    """All that these memories hold.

    Args:
        memories: Of one file, in the order in which they stand.
        session: Of those for which nothing in the file says another one.
        locator: The file.
        roots: See `Roots`.
        kinds: The labels of what is wanted.
        roles: Whether messages that lost their type are human and AI, in turn.
        losses: Counts what this form had lost, by code.
    """
    allowance = Allowance(_ALLOWANCE)
    of_session: dict[str, list[Memory]] = {}
    for memory in memories:
        name = session if memory.session is None else memory.session
        of_session.setdefault(name, []).append(memory)
        losses.update(memory.losses)
    for name, group in of_session.items():
        wholes = [_Whole(one, _said(one, roles, allowance), name) for one in group]
        if len(wholes) > 1:
            _set_apart(wholes)
        for whole in wholes:
            yield from _items(whole, locator, roots, kinds, losses, allowance)


def _said(
    memory: Memory, roles: Roles, allowance: Allowance
) -> Iterator[tuple[int, dict[str, Any] | Unreadable]]:
    """The messages of a memory, at their places."""
    if memory.texts:
        at = 0
        for text in memory.texts:
            if not isinstance(text, str):
                yield at, NO_MESSAGE
                at += 1
                continue
            try:
                allowance.take(len(text))
            except TooLarge:
                yield at, TOO_LARGE
                return
            for message in spoken([text], *memory.prefixes):
                yield at, message_content(message)
                at += 1
    else:
        trimmed = "pruned" in memory.losses
        yield from read_messages(memory.messages, roles, allowance, trimmed=trimmed)


def _set_apart(wholes: Sequence[_Whole]) -> None:
    """Decide what of several memories in one session is moved, and where."""
    for whole in wholes:
        whole.messages = list(whole.messages)
        whole.hashes = [hash(repr(content)) for _, content in whole.messages]
    longest = max(wholes, key=lambda one: len(one.hashes))
    holders: dict[str, _Whole] = {"messages": longest}
    taken = {wholes[0].session}
    for whole in wholes:
        apart = False
        for kind in _kinds(whole):
            holder = holders.setdefault(kind, whole)
            if holder is whole:
                continue
            if _alike(kind, whole, holder):
                whole.repeated.add(kind)
            else:
                apart = True
        if apart:
            whole.repeated.clear()
            whole.session = _free(whole, taken)
            taken.add(whole.session)


def _kinds(whole: _Whole) -> list[str]:
    memory = whole.memory
    held = {
        "messages": whole.hashes,
        "entities": memory.entities,
        "summary": memory.summary.strip(),
        "triples": memory.graph,
    }
    return [kind for kind, there in held.items() if there]


def _alike(kind: str, one: _Whole, other: _Whole) -> bool:
    """Whether the first holds nothing of a kind that the second does not."""
    if kind == "messages":
        # What was trimmed has lost its older end.
        return one.hashes == other.hashes[len(other.hashes) - len(one.hashes) :]
    if kind == "entities":
        mine, theirs = one.memory.entities, other.memory.entities
        return len(mine) == len(theirs) and all(
            _scalar_text(theirs.get(name)) == _scalar_text(summary)
            for name, summary in mine.items()
        )
    if kind == "summary":
        return (one.memory.summary, one.memory.owner) == (
            other.memory.summary,
            other.memory.owner,
        )
    return False


def _free(whole: _Whole, taken: set[str]) -> str:
    memory = whole.memory
    name = wanted = f"{whole.session}:{memory.key or memory.path}"
    number = 1
    while name in taken:
        number += 1
        name = f"{wanted}:{number}"
    return name


def _items(
    whole: _Whole,
    file: str,
    roots: Roots,
    kinds: AbstractSet[str],
    losses: Counter[str],
    allowance: Allowance,
) -> Iterator[Found]:
    memory = whole.memory
    locator = f"{file}/{memory.path}" if memory.path else file
    # The messages in any case: a summary says how many of them it covers.
    for one in _messages(whole, locator, roots, losses):
        if "messages" in kinds:
            yield one
    if "summary" in kinds and memory.summary.strip():
        if "summary" in whole.repeated:
            yield Skip(_REPEATED)
        else:
            place = ("summary", roots.others, whole.session, "", _summary(whole))
            yield _item(place, f"{locator}/summary")
    if "entities" in kinds:
        yield from _entities(whole, f"{locator}/entities", roots, allowance)
    if "triples" in kinds:
        yield from _triples(whole, f"{locator}/triples", roots, allowance)
    if "turns" in kinds:
        yield from _turns(whole, f"{locator}/turns", roots, allowance)
    if memory.constants:
        yield Skip("constant", memory.constants)
    for code in memory.empty:
        yield Reject(EMPTY[code].reason, locator, EMPTY[code].detail)


def _messages(
    whole: _Whole, locator: str, roots: Roots, losses: Counter[str]
) -> Iterator[Found]:
    """The messages; what a summary has to know of them stays in `whole`."""
    repeated = "messages" in whole.repeated
    for at, content in whole.messages:
        if isinstance(content, Unreadable):
            losses["no-role"] += content is NO_ROLE
            yield Reject(content.reason, f"{locator}#{at}", content.detail)
            continue
        whole.number += 1
        if whole.memory.covers:
            whole.last = [*whole.last[1 - _TAIL :], content]
        if repeated:
            yield Skip(_REPEATED)
        else:
            place = ("message", roots.others, whole.session, "", content)
            yield _item(place, f"{locator}#{at}", at)


def _summary(whole: _Whole) -> dict[str, Any]:
    """The record with which compat's memory goes on from this summary."""
    memory, number = whole.memory, whole.number
    entries = [
        Entry(message_from(one.get("type"), one.get("data")), number)
        for one in whole.last
    ]
    cursor: Cursor = moved(START, entries, number)
    # By count and hash: keys are those of the target.
    cursor = replace(cursor, key="", recent=())
    return {**Summary(memory.summary, cursor).as_dict(), "memory": memory.owner}


def _entities(
    whole: _Whole, locator: str, roots: Roots, allowance: Allowance
) -> Iterator[Found]:
    if "entities" in whole.repeated:
        yield Skip(_REPEATED, len(whole.memory.entities))
        return
    for at, (name, summary) in enumerate(whole.memory.entities.items()):
        if summary is None or summary == "":
            yield Skip("no-summary")
            continue
        key, text = _scalar_text(name), _scalar_text(summary)
        if key is None or text is None:
            yield Reject(_NOT_TEXT.reason, f"{locator}#{at}", _NOT_TEXT.detail)
            continue
        try:
            allowance.take(len(key) + len(text))
        except TooLarge:
            yield Reject(TOO_LARGE.reason, f"{locator}#{at}", TOO_LARGE.detail)
            continue
        content = {"name": key, "summary": text}
        place = ("entity", roots.entities, whole.session, key, content)
        yield _item(place, f"{locator}#{at}")


def _triples(
    whole: _Whole, locator: str, roots: Roots, allowance: Allowance
) -> Iterator[Found]:
    for at, parts in enumerate(_edges(whole.memory.graph)):
        try:
            # Many nodes may share one mapping of edges.
            allowance.take(64 + sum(len(part) for part in parts if _is_text(part)))
        except TooLarge:
            yield Reject(TOO_LARGE.reason, f"{locator}#{at}", TOO_LARGE.detail)
            return
        yield triple(parts, roots, whole.session, f"{locator}#{at}")


def _turns(
    whole: _Whole, locator: str, roots: Roots, allowance: Allowance
) -> Iterator[Found]:
    """The documents of a vector store, each text once."""
    seen: set[str] = set()
    for at, document in enumerate(whole.memory.documents):
        text = get(document, "page_content", get(document, "text"))
        if not isinstance(text, str) or not text.strip():
            yield Reject("not-text", f"{locator}#{at}", "The document has no text.")
            continue
        vector = get(document, "vector")
        try:
            allowance.take(len(text))
            metadata = plain(get(document, "metadata") or {}, allowance)
            allowance.take(4 * len(vector) if isinstance(vector, list) else 0)
        except TooLarge:
            yield Reject(TOO_LARGE.reason, f"{locator}#{at}", TOO_LARGE.detail)
            continue
        content: dict[str, Any] = {"text": text}
        if metadata:
            content["metadata"] = json_of(metadata)
        key = key_of("turn", content)
        if key in seen:
            yield Skip("duplicate")
            continue
        seen.add(key)
        place = ("turn", roots.others, whole.session, "", content)
        yield _item(place, f"{locator}#{at}", vector=numbers_of(vector))


def _edges(graph: Mapping[Any, Any]) -> Iterator[tuple[Any, Any, Any]]:
    """Subject, predicate and object of each edge, as compat reads them."""
    for source, targets in graph.items():
        if not isinstance(targets, dict):
            continue
        for target, edge in targets.items():
            if isinstance(edge, dict):
                yield source, edge.get("relation", ""), target


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def triple(
    parts: tuple[Any, Any, Any], roots: Roots, session: str, locator: str
) -> SourceItem | Reject:
    """The record of one fact: subject, predicate, object."""
    texts = [_scalar_text(part) for part in parts]
    if None in texts:
        return Reject(_NOT_TEXT.reason, locator, _NOT_TEXT.detail)
    subject, predicate, object_ = map(str, texts)
    content = {
        "subject": subject,
        "predicate": predicate,
        "object": object_,
        "text": f"{subject} {predicate} {object_}",
    }
    return _item(("triple", roots.others, session, "", content), locator)


def _scalar_text(value: Any) -> str | None:
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int | float) else None


def _item(
    place: tuple[str, str, str, str, dict[str, Any]],
    locator: str,
    position: int | None = None,
    vector: Sequence[float] | None = None,
) -> SourceItem:
    return make_item((*place, locator, position, None, None, vector))
