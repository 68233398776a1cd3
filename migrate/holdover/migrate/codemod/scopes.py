"""Scopes, what they bind, and the dotted names that are read in them."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field

import libcst as cst

_QUOTED = re.compile(r"[rRuU]?('''|\"\"\"|'|\")(.*)\1", re.DOTALL)


@dataclass(eq=False, slots=True)
class Scope:
    """A module, class, function or comprehension, and what it binds."""

    kind: str
    parent: Scope | None
    bindings: dict[str, list[Binding]] = field(
        default_factory=lambda: defaultdict(list)
    )
    #: Names declared `global` or `nonlocal`.
    elsewhere: dict[str, str] = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class Binding:
    """Something that gives a name a value.

    Attributes:
        name: The local name.
        scope: Where it is bound.
        within: Where that is written; another scope, where `global` says so.
        statement: The import that does it; `None` for anything else.
        alias: The part of that import.
    """

    name: str
    scope: Scope
    within: Scope
    statement: cst.Import | cst.ImportFrom | None = None
    alias: cst.ImportAlias | None = None


@dataclass(eq=False, slots=True)
class Reference:
    """A dotted name that is read, in the code or in an annotation that is a string.

    Attributes:
        parts: `m.X` is `("m", "X")`.
        nodes: The node of each part, or the string's for all.
        at: In a string, where each part ends and the first begins, from its start.
        scope: Where it is read.
        stored: The last part is assigned to or deleted.
    """

    parts: tuple[str, ...]
    nodes: tuple[cst.CSTNode, ...]
    scope: Scope
    at: tuple[int, ...] = ()
    stored: bool = False


def dotted(node: cst.CSTNode | None) -> str:
    """The text of a dotted name; empty if it is something else."""
    if isinstance(node, cst.Name):
        return node.value
    if isinstance(node, cst.Attribute):
        before = dotted(node.value)
        return before and f"{before}.{node.attr.value}"
    return ""


def unquoted(node: cst.CSTNode) -> tuple[int, str] | None:
    """Where a plain string begins after its quotes, and its text."""
    if not isinstance(node, cst.SimpleString):
        return None
    match = _QUOTED.fullmatch(node.value)
    return (match.start(2), match[2]) if match and "\\" not in match[2] else None


def home_of(name: str, scope: Scope, module: Scope) -> Scope | None:
    """The scope whose name it is; `None` where nothing in this source binds it."""
    at: Scope | None = scope
    while at is not None:
        if at is scope or at.kind != "class":
            declared = at.elsewhere.get(name)
            if declared == "global":
                return module if name in module.bindings else None
            if declared is None and name in at.bindings:
                return at
        at = at.parent
    return None
