"""What old classes kept in fields that those of today do not have, or have no more.

- A `buffer` where there was no history yet is what was said, as text; see `spoken`.
  Where a class of today takes a `buffer`, as a running summary, it stays one.
- A mapping `store` beside no `entity_store` is the entities.
- The graph of a class that is gone, or of networkx where that is not installed, gives
  its triples.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdover.compat.placeholders import Placeholder
from holdover.compat.spoken import spoken

__all__ = ["LEFT_OUT", "modern", "takes", "triples_in"]

#: Of a process that ended, or a copy of what the other fields say.
LEFT_OUT = frozenset({"callback_manager", "lc_kwargs"})

# What there is none of, as a subclass or a program may have set it.
_NEVER_NONE = frozenset({"buffer", "chat_memory", "entity_cache", "messages", "store"})


def takes(kind: Any) -> set[str]:
    """The names of what an object of a class can be given."""
    return {*kind.model_fields, *kind.model_computed_fields}


def modern(kind: Any, fields: Mapping[str, Any]) -> dict[str, Any]:
    """These fields, as a class of today keeps what they say."""
    known = takes(kind)
    fields = {n: v for n, v in fields.items() if v is not None or n not in _NEVER_NONE}
    if "chat_memory" in known - fields.keys() and "buffer" not in known:
        fields["chat_memory"] = _history(fields.pop("buffer", ()), fields)
    if "entity_store" in known - fields.keys() and "store" in fields:
        fields["entity_store"] = _entities(fields.pop("store"))
    if isinstance(fields.get("kg"), Placeholder):
        triples = triples_in(fields["kg"])
        fields["kg"] = fields["kg"] if triples is None else _graph(triples)
    return fields


def triples_in(graph: object) -> list[tuple[str, str, str]] | None:
    """The triples of a networkx graph and of what wraps one, or of a placeholder.

    Returns:
        Subject, predicate and object of each; `None` if it is no graph.
    """
    inner = getattr(graph, "_graph", graph)
    edges = getattr(inner, "_adj", None)
    if not isinstance(edges, Mapping):
        return None
    return [
        (source, str(edge.get("relation", "")), target)
        for source, targets in edges.items()
        for target, edge in targets.items()
    ]


def _history(said: Any, fields: Mapping[str, Any]) -> Any:
    from holdover.compat.chat_message_histories.in_memory import (  # noqa: PLC0415
        ChatMessageHistory,
    )

    texts = [said] if isinstance(said, str) else said
    human = fields.get("human_prefix") or "Human"
    ai = fields.get("ai_prefix") or "AI"
    return ChatMessageHistory(messages=spoken(texts, human, ai))


def _entities(store: Any) -> Any:
    from holdover.compat.entity_stores import InMemoryEntityStore  # noqa: PLC0415

    return InMemoryEntityStore(store=store)


def _graph(triples: list[tuple[str, str, str]]) -> Any:
    from holdover.compat.graph import EntityGraph  # noqa: PLC0415

    return EntityGraph(triples)
