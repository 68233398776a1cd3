"""What is in a serialized object: the memories in it, and what each of them holds.

Objects are known by their fields, as `.json()` writes no class. What is looked for may
stand anywhere: in a chain, in a list, in a mapping of sessions. An object that occurs
twice is read once, and one that holds itself does no harm.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from holdover.migrate.pickled import Placeholder, parts_of
from holdover.migrate.pickled_plain import path_text
from holdover.migrate.sources.serialized_messages import (
    is_known_message,
    is_message,
    lost_fields,
)
from holdover.migrate.sources.serialized_nodes import (
    MISSING,
    class_of,
    get,
    is_bare,
    is_constructor,
    is_object,
)

__all__ = ["Memory", "is_expected", "is_ours", "memories_in"]

#: The classes whose summaries are told apart in a store.
_SUMMARY, _SUMMARY_BUFFER = (
    "ConversationSummaryMemory",
    "ConversationSummaryBufferMemory",
)
# What no memory is in, though some of it looks like one: a prompt has messages.
_PASSED_OVER = frozenset(
    {"callback_manager", "callbacks", "client", "lc_kwargs", "llm", "prompt"}
)
_DEEPEST = 60
# How deep sessions of JSON that is clearly ours may be: by tenant, by user, by chat.
_DEEPEST_SESSION = 4
_LONGEST_SHOWN = 300
_INNER = ("memory", "memories")
_DEEPER = (*_INNER, "retriever")
_PREFIXES = {"human_prefix": "Human", "ai_prefix": "AI"}


@dataclass
class Memory:
    """One memory, or a bare history, and what it holds.

    Attributes:
        path: Where it is in the file; empty if it is all of it.
        session: What a mapping around it calls it, or `None`.
        key: The name of the variable that it gave, or an empty text.
        messages: In whatever form they are, oldest first.
        texts: What was said, as text, where there are no messages yet.
        prefixes: Who speaks in those: the human and the AI.
        entities: Name and summary of each.
        summary: The running summary.
        owner: The class whose summary it is.
        covers: Whether the summary is of the messages that are here, too.
        graph: The mapping of nodes to mappings of nodes to attributes.
        documents: Of a vector store in it, as it holds them.
        constants: How many variables a `SimpleMemory` gives.
        empty: Codes of what should be here and is not; see `serialized_losses`.
        losses: Codes of what this form had lost before.
        pointers: Where else its content is.
    """

    path: str = ""
    session: str | None = None
    key: str = ""
    messages: Sequence[Any] = ()
    texts: Sequence[Any] = ()
    prefixes: tuple[str, str] = ("Human", "AI")
    entities: Mapping[Any, Any] = field(default_factory=dict)
    summary: str = ""
    owner: str = ""
    covers: bool = False
    graph: Mapping[Any, Any] = field(default_factory=dict)
    documents: Sequence[Any] = ()
    constants: int = 0
    empty: list[str] = field(default_factory=list)
    losses: list[str] = field(default_factory=list)
    pointers: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Place:
    path: str = ""
    session: str | None = None
    depth: int = 0

    def below(self, name: str, *, session: str | None = None) -> _Place:
        return _Place(
            f"{self.path}.{name}" if self.path else name,
            self.session if session is None else _joined(self.session, session),
            self.depth + 1,
        )


def memories_in(root: Any) -> Iterator[Memory]:
    """The memories in what was read from a file, in the order in which they stand."""
    seen = _Seen()
    waiting: list[tuple[Any, _Place]] = [(root, _Place())]
    while waiting:
        node, place = waiting.pop()
        if not isinstance(node, dict | list | tuple | Placeholder):
            continue
        if not seen.first(node, place.session):
            if seen.is_shared(node, place.session):
                yield Memory(place.path, place.session, empty=["same-object"])
            continue
        if place.depth > _DEEPEST:
            yield Memory(place.path, place.session, empty=["too-deep"])
            continue
        found = _memory(node, place, seen)
        if found is not None:
            seen.mark(node)
            yield found
        waiting += reversed(list(_inside(node, place, found, seen)))


def is_ours(root: Any, depth: int = 0) -> bool:
    """Whether JSON is clearly a memory, a history, or a mapping of sessions to those.

    Beside those in a folder lies what other programs wrote, and some of that looks
    like one in places: a mapping of sessions, however, holds nothing else.
    """
    if depth > _DEEPEST_SESSION:
        return False
    if isinstance(root, list | tuple):
        return all(is_ours(one, depth + 1) for one in root)
    if not isinstance(root, dict) or not root:
        return False
    if is_bare(root) or is_constructor(root) or _is_wrapper(root):
        return True
    if is_message(root):
        return is_known_message(root)
    if _memory(root, _Place("."), _Seen()) is not None:
        # With more beside its messages, it is a request to a model, or its log.
        alone = get(root, "chat_memory", MISSING) is MISSING and "messages" in root
        return not alone or _has_only(root, "messages")
    return all(is_ours(one, depth + 1) for one in root.values())


def is_expected(memory: Memory) -> bool:
    """Whether it stands where a memory has to be, so that an empty one is a loss."""
    return not set(_DEEPER).isdisjoint(memory.path.split("."))


class _Seen:
    """What was read already, and for which session.

    One object may stand in many places. It is read once, and what is below it gone
    through once; where it is a memory, and belongs to another session too, that is
    said.
    """

    def __init__(self) -> None:
        self._sessions: dict[int, str | None] = {}
        self._memories: set[int] = set()

    def first(self, node: Any, session: str | None) -> bool:
        """Whether it was not there before; what is empty never was."""
        if not isinstance(node, Placeholder) and not node:
            return True
        new = id(node) not in self._sessions
        if new:
            self._sessions[id(node)] = session
        return new

    def mark(self, node: Any) -> None:
        """Note that it is what a memory holds."""
        self._memories.add(id(node))

    def is_shared(self, node: Any, session: str | None) -> bool:
        """Whether it holds what was read for another session."""
        return id(node) in self._memories and self._sessions[id(node)] != session

    def takes(self, node: Any, made: Memory) -> bool:
        """Whether a memory is the first one to hold this."""
        if self.first(node, made.session):
            self.mark(node)
            return True
        if self.is_shared(node, made.session) and "same-object" not in made.empty:
            made.empty.append("same-object")
        return False


def _memory(node: Any, place: _Place, seen: _Seen) -> Memory | None:
    """What this object itself holds; `None` if it is no memory."""
    made = Memory(place.path, place.session)
    if isinstance(node, list | tuple):
        if not _are_messages(node):
            return None
        made.messages = node
        return made
    if is_bare(node):
        made.empty.append("not-serialized")
        return made
    if is_message(node):
        made.messages = [node]
        return made
    if _is_prompt(node):
        return None
    if not isinstance(node, Placeholder) and not node:
        if not place.path:
            return None
        made.empty.append("empty-object")
        return made
    known = [
        _history(node, made, seen),
        _texts(node, made, seen),
        _entities(node, made, seen),
        _graph(node, made, seen),
        _documents(node, made, seen),
        _constants(node, made),
    ]
    if not any(known):
        return None
    made.key = _text(get(node, "memory_key")) or _text(get(node, "chat_history_key"))
    if get(node, "max_token_limit") is not None:
        made.losses.append("pruned")
    return made


def _inside(
    node: Any, place: _Place, found: Memory | None, seen: _Seen
) -> Iterator[tuple[Any, _Place]]:
    """What may hold a memory in this object, with its place."""
    if isinstance(node, list | tuple):
        if found is None:
            for at, one in enumerate(node):
                yield one, place.below(str(at))
    elif is_bare(node) or is_message(node) or _is_prompt(node):
        return
    elif found is not None or (isinstance(node, dict) and _is_wrapper(node)):
        for name in _DEEPER:
            inner = get(node, name)
            if not isinstance(inner, dict) or not found or not found.constants:
                yield inner, place.below(name)
    elif isinstance(node, Placeholder):
        yield from _inside_object(node, place, seen)
    else:
        yield from _sessions(node.items(), place)


def _is_wrapper(node: dict[Any, Any]) -> bool:
    return any(isinstance(node.get(name), dict | list | Placeholder) for name in _INNER)


def _inside_object(
    node: Placeholder, place: _Place, seen: _Seen
) -> Iterator[tuple[Any, _Place]]:
    """The fields of an object that is no memory, and what it was made of."""
    yield from _sessions(node.pairs, place)
    for part in parts_of(node.state):
        if seen.first(part, place.session):
            for name, value in part.items():
                if isinstance(name, str) and not _passed_over(name):
                    yield value, place.below(name)
    yield node.args, place
    yield node.items, place


def _passed_over(name: str) -> bool:
    return name in _PASSED_OVER or name.endswith("_prompt")


def _sessions(pairs: Any, place: _Place) -> Iterator[tuple[Any, _Place]]:
    """The values of a mapping, whose keys are names of sessions."""
    for key, value in pairs:
        name = _session_name(key)
        if name is not None:
            yield value, place.below(name, session=name)


def _session_name(key: Any) -> str | None:
    """What a key says: a text, a number, or both in a tuple (a user and a session)."""
    if isinstance(key, Placeholder) and key.name == "tuple" and key.args:
        parts = [_session_name(part) for part in key.args[0]]
        return None if None in parts else ":".join(map(str, parts))
    return str(key) if isinstance(key, str | int) else None


def _joined(outer: str | None, inner: str) -> str:
    return inner if outer is None else f"{outer}:{inner}"


def _history(node: Any, made: Memory, seen: _Seen) -> bool:
    """Messages in `chat_memory`, or in the object itself if it is a history."""
    history = get(node, "chat_memory", MISSING)
    if history is MISSING:
        held = get(node, "messages")
        if not isinstance(held, list | tuple):
            return False
        if held and not _are_messages(held):
            return False
        history = node
    elif not is_object(history):
        return False
    elif not seen.takes(history, made):
        return True  # of another memory, which was read
    messages = get(history, "messages")
    if not isinstance(messages, list | tuple):
        _point(history, made, "messages")
    elif seen.takes(messages, made):
        made.messages = messages
        if lost_fields(messages):
            made.losses.append("message-fields")
    return True


def _texts(node: Any, made: Memory, seen: _Seen) -> bool:
    """A buffer of text, or running summaries."""
    buffer, moving = get(node, "buffer"), get(node, "moving_summary_buffer")
    if isinstance(moving, str):
        made.summary, made.owner = moving, _SUMMARY_BUFFER
    if isinstance(buffer, str):
        if _is_summary(node):
            made.summary, made.owner, made.covers = buffer, _SUMMARY, True
            if get(node, "chat_memory") is None:
                made.losses.append("summary-only")
            return True
        made.texts = [buffer]
    elif isinstance(buffer, list | tuple) and _is_memory(node):
        if seen.takes(buffer, made):
            made.texts = buffer
    else:
        return isinstance(moving, str)
    human, ai = (
        _text(get(node, name)) or default for name, default in _PREFIXES.items()
    )
    made.prefixes = human, ai
    if not _is_memory(node):
        made.texts = ()
        return isinstance(moving, str)
    if any(made.texts):
        made.losses.append("text")
    return True


def _is_summary(node: Any) -> bool:
    name = class_of(node)
    if name.endswith("SummaryMemory"):
        return True
    # Of the others that have a history, no text is kept beside it.
    return get(node, "chat_memory") is not None or (
        get(node, "prompt", MISSING) is not MISSING and _is_memory(node)
    )


def _is_memory(node: Any) -> bool:
    return any(
        get(node, name, MISSING) is not MISSING
        for name in ("memory_key", "chat_history_key", "human_prefix")
    )


def _entities(node: Any, made: Memory, seen: _Seen) -> bool:
    """The entities in an `entity_store`, or where there was none yet."""
    store = get(node, "entity_store", MISSING)
    if store is MISSING:
        held = get(node, "store")
        if not isinstance(held, dict) or not _is_entity_store(node):
            return False
    elif not is_object(store):
        return False
    elif not seen.takes(store, made):
        return True
    else:
        held = get(store, "store")
    if isinstance(held, dict):
        if seen.takes(held, made):
            made.entities = held
    elif isinstance(store, dict):
        made.losses.append("entities")
    elif class_of(store) == "InMemoryEntityStore":
        made.losses.append("entities-of-class")
    else:
        _point(store, made, "entities")
    return True


def _is_entity_store(node: Any) -> bool:
    """Whether a field `store` is of entities, and not of documents or sessions."""
    return (
        class_of(node).endswith("EntityStore")
        or get(node, "entity_cache", MISSING) is not MISSING
        or _has_only(node, "store")
    )


def _graph(node: Any, made: Memory, seen: _Seen) -> bool:
    """The graph in `kg`, or one that was pickled alone."""
    graph = get(node, "kg")
    if graph is None and class_of(node).endswith("Graph"):
        graph = node
    if not isinstance(graph, Placeholder):
        return False
    edges = get(get(graph, "_graph", graph), "_adj")
    if not isinstance(edges, dict):
        return False
    if seen.takes(edges, made):
        made.graph = edges
    return True


def _documents(node: Any, made: Memory, seen: _Seen) -> bool:
    """What a vector store in memory was pickled with: its documents, in order."""
    held = get(get(node, "docstore"), "_dict")
    if isinstance(held, dict):
        if seen.takes(held, made):
            places = get(node, "index_to_docstore_id")
            places = places.items() if isinstance(places, dict) else ()
            known = [one for one in places if tuple(map(type, one)) == (int, str)]
            names = [name for _, name in sorted(known)]
            made.documents = [held.get(one) for one in dict.fromkeys([*names, *held])]
        return True
    held = get(node, "store")
    if class_of(node) != "InMemoryVectorStore" or not isinstance(held, dict):
        return False
    if seen.takes(held, made):
        made.documents = list(held.values())
    return True


def _constants(node: Any, made: Memory) -> bool:
    """The variables of a `SimpleMemory`."""
    variables = get(node, "memories")
    if not isinstance(variables, dict):
        return False
    if class_of(node) != "SimpleMemory" and not _has_only(node, "memories"):
        return False
    made.constants = len(variables)
    return True


def _has_only(node: Any, name: str) -> bool:
    return isinstance(node, dict) and node.keys() == {name}


def _point(elsewhere: Any, made: Memory, what: str) -> None:
    """Note where what belongs to a memory is kept; never more than a path."""
    name = _shown(class_of(elsewhere))
    path = get(elsewhere, "file_path")
    if isinstance(path, Placeholder):
        path = path_text(path)
    if isinstance(path, str):
        made.pointers.append(f"{what} in the file {_shown(path)} ({name})")
    elif name:
        made.pointers.append(f"{what} in a {name}")
    else:
        made.losses.append(what)


def _are_messages(nodes: Sequence[Any]) -> bool:
    """Whether it is a list of messages, some of which may be broken."""
    messages = sum(map(is_message, nodes))
    return 2 * messages > len(nodes) or bool(nodes and all(map(is_bare, nodes)))


def _shown(text: str) -> str:
    """A text of the file for a terminal."""
    plain = "".join(one if one.isprintable() else "?" for one in text[:_LONGEST_SHOWN])
    return plain if len(text) <= _LONGEST_SHOWN else f"{plain}…"


def _is_prompt(node: Any) -> bool:
    name = class_of(node)
    return name.endswith(("PromptTemplate", "MessagesPlaceholder"))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
