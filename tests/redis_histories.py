"""Chat histories that old releases left in Redis, and the truth about them."""

from __future__ import annotations

from collections import Counter

from histories import manifest
from redis_corpus import folders

from holdover.compat.message_records import content_of

LISTS = folders("redis_history")
UPSTASH = folders("upstash_history")
DOCUMENTS = folders("langchain_redis_history")
#: The types that a class was written as, through the releases.
TYPES = {
    "HumanMessage": {"human"},
    "AIMessage": {"ai"},
    "SystemMessage": {"system"},
    "ChatMessage": {"chat"},
    "FunctionMessage": {"function"},
    "ToolMessage": {"tool"},
    "AIMessageChunk": {"AIMessageChunk", "ai"},
    "RemoveMessage": {"remove"},
}
#: What langchain-redis stored of a message.
STORED = {"content", "additional_kwargs", "type"}
#: And since release 0.2.2, of a tool's answer.
STORED_OF_TOOLS = {"tool_call_id", "status"}


def name(folder):
    return f"{folder.parent.name}-{folder.name}"


def root_of(prefix):
    return prefix.removesuffix(":")


def prefix_of(session):
    return session.get("key_prefix") or session["constructor"].get(
        "key_prefix", "message_store:"
    )


def sessions(folder, db=0):
    """The sessions of a folder that still have messages."""
    return [
        one
        for one in manifest(folder)["sessions"]
        if one.get("db", 0) == db and messages_of(one)
    ]


def messages_of(session):
    return session.get("messages") or session.get("messages_sent") or []


def check_messages(items, specs, *, kept=None):
    """The items are the messages that were written, in order, with all their data."""
    positions = [item.position for item in items]
    assert positions == sorted(set(positions))
    assert len(items) == len(specs)
    for item, (kind, fields, *_) in zip(items, specs, strict=True):
        assert item.kind == "message"
        assert item.key == ""
        content = item.content
        assert content["type"] in TYPES[kind]
        written = content_of(content["type"], fields)["data"]
        if kept is not None:
            written = {key: v for key, v in written.items() if key in kept}
        found = {key: content["data"].get(key) for key in written}
        assert found == written
        # Nothing is there that the release did not write.
        more = content["data"].keys() - written.keys() - {"type", "status"}
        assert not {key for key in more if content["data"][key]}


def by_scope(items):
    found = {}
    for item in items:
        found.setdefault((item.root, item.session), []).append(item)
    return found


def by_locator(items):
    found = list(items)
    placed = {item.locator: item for item in found}
    assert len(placed) == len(found)
    return placed


def check_lifetime(items, ttl):
    for item in items:
        if ttl is None:
            assert item.ttl_ms is None
        else:
            assert ttl * 1000 - 120_000 < item.ttl_ms <= ttl * 1000


def count_types(items):
    return Counter(item.content["type"] for item in items)
