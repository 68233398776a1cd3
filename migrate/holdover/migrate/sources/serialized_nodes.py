"""What a serialized object says, the same whether JSON or a pickle says it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdover.migrate.pickled import Placeholder

__all__ = ["MISSING", "class_of", "get", "is_bare", "is_object"]

MISSING: Any = object()
_LC = ("lc", "type", "id")


def is_object(node: Any) -> bool:
    """Whether it has fields."""
    return isinstance(node, dict | Placeholder)


def get(node: Any, name: str, default: Any = None) -> Any:
    """A field of an object."""
    if isinstance(node, Placeholder):
        return node.get(name, default)
    if isinstance(node, dict):
        return fields(node).get(name, default)
    return default


def fields(node: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """The fields in a mapping; those of `load.dumps` are one deeper."""
    if is_constructor(node):
        inner: Mapping[Any, Any] = node["kwargs"]
        return inner
    return node


def is_constructor(node: Any) -> bool:
    """Whether `load.dumps` wrote how to make it."""
    return _is_lc(node, "constructor") and isinstance(node.get("kwargs"), dict)


def is_bare(node: Any) -> bool:
    """Whether `load.dumps` wrote no more than its name, and how it looks."""
    return _is_lc(node, "not_implemented")


def _is_lc(node: Any, kind: str) -> bool:
    return (
        isinstance(node, dict)
        and all(name in node for name in _LC)
        and node["type"] == kind
        and isinstance(node["id"], list)
    )


def class_of(node: Any) -> str:
    """The name of its class, where the form says it."""
    if isinstance(node, Placeholder):
        return node.name.rpartition(".")[2]
    if is_constructor(node) or is_bare(node):
        last = node["id"][-1] if node["id"] else ""
        return last if isinstance(last, str) else ""
    return ""
