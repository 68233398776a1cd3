"""What forms of serialized memories had lost before anybody could move it.

Each sentence is true of the form, whatever was in the object: nobody can tell from the
file alone how much that was.
"""

from __future__ import annotations

from holdover.migrate.sources.messages import Unreadable
from holdover.migrate.sources.serialized_messages import NOT_SERIALIZED

__all__ = ["EMPTY", "LOSSES"]

#: By code: what a form never holds.
LOSSES = {
    "entities": "The .json(), .dict() and model_dump_json() of releases from 0.3 on "
    "write an empty entity_store: the entities were never in the file",
    "entities-of-class": "Up to 0.0.187, the class InMemoryEntityStore kept the "
    "entities of all sessions of a process, and no object did: they were never in the "
    "file",
    "message-fields": "The .json(), .dict() and model_dump_json() of releases from 0.3 "
    "on write only the fields that all messages have: tool calls, tool_call_id, roles "
    "and usage were never in the file",
    "messages": "The file does not hold the messages of this memory",
    "no-role": "The .json() and .dict() of releases up to 0.0.303 do not say who "
    "spoke: --roles alternate reads human and AI in turn",
    "pruned": "A memory with a token limit drops old turns for good, or keeps no more "
    "of them than a summary: they were never in the file",
    "summary-only": "The first summary memories kept their summary, and no message",
    "text": "The first memories kept what was said as one text: a line in a message "
    "that looks like the beginning of another one is read as that",
}

#: By code: why an object that should hold something is a reject.
EMPTY = {
    "empty-object": Unreadable(
        "empty-object",
        "The object is empty: releases from 0.3 on write the memories in a "
        "CombinedMemory or ReadOnlySharedMemory as {}.",
    ),
    "not-serialized": NOT_SERIALIZED,
    "same-object": Unreadable(
        "same-object",
        "It is the object of another session in this file, and was read for that one.",
    ),
    "too-deep": Unreadable("too-deep", "It is nested too deeply to be gone through."),
}
