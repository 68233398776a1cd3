"""Messages as serialized objects hold them, in the form of every release.

A pickle knows the class of a message; so does `load.dumps`. `.json()` and `.dict()`
write fields only, and up to 0.0.303 no field says who speaks. What else a message has
tells some of them apart: a role, the name of a function, a call of one. In those
releases the messages of humans and AIs alone have `example`, from 0.0.187 on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from holdover.compat.message_records import content_of
from holdover.migrate.pickled import Placeholder, parts_of
from holdover.migrate.pickled_plain import Allowance, TooLarge, plain
from holdover.migrate.sources.messages import Unreadable, read_message
from holdover.migrate.sources.serialized_nodes import (
    class_of,
    fields,
    get,
    is_bare,
    is_constructor,
    is_object,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdover.migrate.sources.base import Roles

__all__ = [
    "NOT_SERIALIZED",
    "is_known_message",
    "is_message",
    "lost_fields",
    "read_messages",
]

NOT_SERIALIZED = Unreadable(
    "not-serialized", "The file holds the name of this object, and not what was in it."
)
NO_ROLE = Unreadable(
    "no-role",
    "Nothing says who spoke: --roles alternate reads human and AI in turn.",
)
NO_MESSAGE = Unreadable("not-a-message", "It is no message.")
UNKNOWN_CLASS = Unreadable("unknown-class", "Its class is no message class we know.")
TOO_LARGE = Unreadable("too-large", "It is too large, or nested too deeply.")

_BY_CLASS = {
    "HumanMessage": "human",
    "AIMessage": "ai",
    "SystemMessage": "system",
    "ChatMessage": "chat",
    "FunctionMessage": "function",
    "ToolMessage": "tool",
    "RemoveMessage": "remove",
}
_BY_CLASS |= {f"{name}Chunk": kind for name, kind in _BY_CLASS.items()}
#: What only the messages of a type have, and `.json()` from 0.3 on leaves out.
_OWN_FIELDS = {"ai": "tool_calls", "chat": "role", "tool": "tool_call_id"}
# Copies of what is in the other fields, and what belonged to a process that ended.
_LEFT_OUT = frozenset({"lc_kwargs", "callbacks", "callback_manager"})
# Of one message; no store takes more.
_MESSAGE_SIZE = 128 << 20
_HUMAN, _AI = "human", "ai"
_BY_ROLE = {"assistant": _AI, "system": "system", "user": _HUMAN}
# It is the AI that answers to what a function returned, as to a human.
_LAST_SPEAKER = {_HUMAN: _HUMAN, _AI: _AI, "function": _HUMAN, "tool": _HUMAN}


def is_message(node: Any) -> bool:
    """Whether it is a message, in any form."""
    if not is_object(node):
        return False
    name = class_of(node)
    if name:
        return name in _BY_CLASS or (
            isinstance(node, Placeholder)
            and isinstance(get(node, "content"), str | list)
            and isinstance(get(node, "additional_kwargs"), dict)
        )
    if "content" in node:
        return "additional_kwargs" in node or any(
            isinstance(node.get(name), str) for name in ("role", "type")
        )
    return isinstance(node.get("type"), str) and isinstance(node.get("data"), dict)


def is_known_message(node: Any) -> bool:
    """Whether a message in JSON says what only messages of ours, or of a chat, say."""
    if class_of(node) or "additional_kwargs" in node:
        return True
    known = {*_BY_CLASS, *_BY_CLASS.values(), *_BY_ROLE}
    return any(node.get(name) in known for name in ("type", "role"))


def read_messages(
    nodes: Sequence[Any], roles: Roles, allowance: Allowance, *, trimmed: bool = False
) -> Iterator[tuple[int, dict[str, Any] | Unreadable]]:
    """Each of a list of messages at its place: the content of a record, or why none.

    Args:
        nodes: The messages, oldest first.
        roles: Whether those that nothing tells apart are human and AI, in turn.
        allowance: How much of the file may be copied.
        trimmed: Whether the oldest ones may be gone. A turn ends with the AI, so that
            of an odd number the first is the AI's; else the human begins.
    """
    has_example = any(get(node, "example") is not None for node in nodes)
    speaker = _HUMAN if trimmed and len(nodes) % 2 else ""
    for at, node in enumerate(nodes):
        found: dict[str, Any] | Unreadable | str = _read(
            node, allowance, has_example=has_example
        )
        if isinstance(found, str):  # one of the two who cannot be told apart
            if roles == "refuse":
                yield at, NO_ROLE
                continue
            kind = _HUMAN if speaker in ("", _AI) else _AI
            found = _content(kind, node, allowance)
        if isinstance(found, dict):
            speaker = _LAST_SPEAKER.get(found["type"], speaker)
        yield at, found


def lost_fields(nodes: Sequence[Any]) -> bool:
    """Whether these were written by a `.json()` that leaves out fields of messages."""
    return any(
        isinstance(node, dict)
        and "response_metadata" in node
        and not is_constructor(node)
        and _OWN_FIELDS.get(str(node.get("type")), "content") not in node
        for node in nodes
    )


def _read(
    node: Any, allowance: Allowance, *, has_example: bool
) -> dict[str, Any] | Unreadable | str:
    """The content, why there is none, or `"?"` for a human or an AI."""
    if is_bare(node):
        return NOT_SERIALIZED
    if not is_object(node):
        return NO_MESSAGE
    name = class_of(node)
    if not name and "content" not in node:
        return _in_envelope(node)
    kind = get(node, "type")
    if not isinstance(kind, str):
        kind = _BY_CLASS.get(name) or (
            None if name else _told(node, has_example=has_example)
        )
    if kind is None:
        return UNKNOWN_CLASS
    if kind == "?":
        return "?"
    return _content(kind, node, allowance)


def _in_envelope(node: dict[str, Any]) -> dict[str, Any] | Unreadable:
    """A message as `message_to_dict` gives it."""
    data = node.get("data")
    if isinstance(data, dict):
        try:
            plain(data, Allowance(_MESSAGE_SIZE))
        except TooLarge:
            return TOO_LARGE
    return read_message(node)


def _told(node: dict[str, Any], *, has_example: bool) -> str:
    """Who speaks in a message of a release that did not write it down."""
    role = node.get("role")
    if isinstance(role, str):
        # LangChain's own has additional_kwargs; without, it is how models are asked.
        plain_role = "chat" if "additional_kwargs" in node else _BY_ROLE.get(role)
        return plain_role or "chat"
    if isinstance(node.get("name"), str):
        return "function"
    more = node.get("additional_kwargs")
    if isinstance(more, dict) and "function_call" in more:
        return _AI
    return "?" if "example" in node or not has_example else "system"


def _content(kind: str, node: Any, allowance: Allowance) -> dict[str, Any] | Unreadable:
    share = _Share(allowance)
    own: dict[str, Any] = {}
    try:
        for name, value in _fields(node):
            if name not in _LEFT_OUT and name not in own:
                own[name] = plain(value, share, 1)
    except TooLarge:
        return TOO_LARGE
    return content_of(kind, own)


def _fields(node: Any) -> Iterator[tuple[str, Any]]:
    """Names and values, without a copy: many messages may share one large state."""
    parts = parts_of(node.state) if isinstance(node, Placeholder) else [fields(node)]
    for part in parts:
        for name, value in part.items():
            if isinstance(name, str):
                yield name, value


class _Share(Allowance):
    """What one message may take of what the file may."""

    def __init__(self, whole: Allowance) -> None:
        super().__init__(_MESSAGE_SIZE)
        self._whole = whole

    def take(self, size: int) -> None:
        """See `Allowance.take`."""
        super().take(size)
        self._whole.take(size)
