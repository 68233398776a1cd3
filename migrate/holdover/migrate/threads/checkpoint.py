"""A thread as one checkpoint: what a graph finds when it goes on with it."""

from __future__ import annotations

import hashlib
import inspect
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson
from langchain_core.messages import BaseMessage
from langgraph.checkpoint.base import Checkpoint, CheckpointMetadata
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from holdover.compat.message_records import message_content

#: The channel of `AgentState` that holds the conversation.
CHANNEL = "messages"
#: The field of a checkpoint's metadata that is ours.
META = "holdover"
_FORMAT = 4
_VERSION = 1
_HASH_DIGITS = 32
_ID_BITS = 62


@dataclass(frozen=True)
class Origin:
    """Where a thread came from: what its checkpoint's metadata says of it."""

    locator: str
    root: str
    session: str
    run: str
    hash: str

    @property
    def place(self) -> tuple[str, str, str]:
        """The same for the same session of the same source."""
        return (self.locator, self.root, self.session)

    def value(self) -> dict[str, Any]:
        """As it is stored."""
        return {"v": _VERSION, **vars(self)}

    @classmethod
    def of(cls, metadata: Any) -> Origin | None:
        """Read a checkpoint's metadata; `None` if the checkpoint is not ours."""
        own = metadata.get(META) if isinstance(metadata, Mapping) else None
        if not isinstance(own, Mapping):
            return None
        fields: dict[str, Any] = {n: own.get(n) for n in cls.__dataclass_fields__}
        if not all(isinstance(value, str) for value in fields.values()):
            return None
        return cls(**fields)


@dataclass(frozen=True)
class Thread:
    """A session on its way into a checkpointer."""

    id: str
    messages: Sequence[BaseMessage]
    origin: Origin
    ended_at: datetime

    @property
    def checkpoint_id(self) -> str:
        """The id of its checkpoint."""
        return checkpoint_id(self.id, self.origin.hash)

    @property
    def version(self) -> str:
        """The channel's version, as savers make the first one."""
        return f"{1:032}.0.{int(self.origin.hash[:12], 16):016}"

    @property
    def checkpoint(self) -> Checkpoint:
        """What a finished turn leaves: messages, and no node that has to run."""
        return Checkpoint(
            v=_FORMAT,
            id=self.checkpoint_id,
            ts=self.ended_at.isoformat(),
            channel_values={CHANNEL: list(self.messages)},
            channel_versions={CHANNEL: self.version},
            versions_seen={"__input__": {}},
            updated_channels=[CHANNEL],
        )

    @property
    def metadata(self) -> CheckpointMetadata:
        """An update from outside, and where it came from."""
        found: Any = {"source": "update", "step": 0, "parents": {}}
        found[META] = self.origin.value()
        return found  # type: ignore[no-any-return]


def serializer() -> JsonPlusSerializer:
    """LangGraph's own, which makes nothing but messages and plain values.

    By default it imports and calls whatever a checkpoint names, and we read those of
    others. Releases before that can be refused are what they are.
    """
    known = inspect.signature(JsonPlusSerializer.__init__).parameters
    strict = "allowed_msgpack_modules"
    options: dict[str, Any] = {strict: None} if strict in known else {}
    return JsonPlusSerializer(**options)


def checkpoint_id(thread_id: str, content: str) -> str:
    """The same for the same content, and before every id that a graph makes.

    A graph goes on from the checkpoint with the largest id, and ids begin with a
    clock: of time zero, ours is never taken for newer, whoever's clock is wrong.
    """
    digest = hashlib.sha256(f"{thread_id}\x00{content}".encode()).digest()
    digits = int.from_bytes(digest[:8], "big") >> (64 - _ID_BITS)
    return str(uuid.UUID(int=6 << 76 | 0b10 << _ID_BITS | digits))


def origin_of(thread_id: str, row_id: str, metadata: Any) -> Origin | None:
    """Where a checkpoint came from, if a migration wrote it.

    A checkpoint that an application derived from ours may carry ours's metadata on.
    """
    origin = Origin.of(metadata)
    if origin and row_id == checkpoint_id(thread_id, origin.hash):
        return origin
    return None


def hash_of(messages: Sequence[BaseMessage]) -> str:
    """The hash of a conversation: the same before and after it was stored."""
    contents = [message_content(message) for message in messages]
    raw = orjson.dumps(contents, option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(raw).hexdigest()[:_HASH_DIGITS]


def messages_of(checkpoint: Mapping[str, Any]) -> list[BaseMessage] | None:
    """The conversation of a checkpoint; `None` if it holds none we can read."""
    values = checkpoint.get("channel_values")
    found = values.get(CHANNEL) if isinstance(values, Mapping) else None
    if isinstance(found, list) and all(isinstance(m, BaseMessage) for m in found):
        return found
    return None
