"""What a source reads from a module object."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass

import libcst as cst

from holdover.compat.shim.entries import Answer, answer, is_gone, knows_module
from holdover.migrate.codemod.draft import Draft, removed
from holdover.migrate.codemod.scopes import Binding, Reference, unquoted


@dataclass(frozen=True, slots=True)
class Use:
    """What is read from a module object.

    Attributes:
        reference: Where it is read.
        module: The innermost module of the chain.
        depth: How many parts of the reference that module takes.
        name: What is read from it; empty where the module itself is used.
        answer: What became of that name.
        stored: The name is assigned to.
    """

    reference: Reference
    module: str
    depth: int
    name: str
    answer: Answer | None
    stored: bool

    @property
    def node(self) -> cst.CSTNode:
        """The node that names it."""
        parts = self.reference.nodes
        return parts[min(self.depth + bool(self.name), len(parts)) - 1]

    @property
    def path(self) -> str:
        """The old dotted path."""
        return f"{self.module}.{self.name}".rstrip(".")


def uses_of(draft: Draft, binding: Binding, base: str) -> list[Use]:
    """Each read of the module that a binding holds, `base` being its path."""
    found = []
    for reference in draft.names.read_from(binding.name, binding.scope):
        parts, module = reference.parts, base
        depth = 1
        name, became = "", None
        while depth < len(parts):
            became = answer(module, parts[depth])
            if became is None and knows_module(f"{module}.{parts[depth]}"):
                module = f"{module}.{parts[depth]}"
                depth += 1
                continue
            # What every module has is about the module, which is not there any more.
            dunder = parts[depth].startswith("__") and became is None
            name = "" if dunder and is_gone(module) else parts[depth]
            break
        stored = reference.stored and len(parts) == depth + bool(name)
        found.append(Use(reference, module, depth, name, became, stored))
    if binding.scope is draft.names.module and binding.name in (
        draft.names.exported or ()
    ):
        nodes = (binding.alias or draft.tree,)
        everything = Reference((binding.name,), nodes, binding.scope)
        found.append(Use(everything, base, 1, "", None, stored=False))
    return found


def is_mentioned(draft: Draft, binding: Binding, path: str) -> bool:
    """Whether a string that is no annotation reads a name of the module."""
    begins = re.compile(rf"(?<![\w.]){re.escape(binding.name)}\.([^\W\d]\w*)")
    for node in draft.names.texts:
        plain = unquoted(node)
        for match in begins.finditer(plain[1]) if plain else ():
            name = match[1]
            if answer(path, name) is None and not knows_module(f"{path}.{name}"):
                continue
            if plain and _is_expression(plain[1]):
                return True
    return False


def _is_expression(text: str) -> bool:
    """Whether it may be meant for Python; prose that names something is not."""
    try:
        ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def moving(draft: Draft, uses: Sequence[Use]) -> list[Use]:
    """Those that can be read from elsewhere, as far as is known."""
    changed = {(use.module, use.name) for use in uses if use.stored}
    return [
        use
        for use in uses
        if use.answer is not None
        and not removed(use.answer)
        and (use.module, use.name) not in changed
        and draft.takes(use.answer.code, use.node)
        and "#" not in draft.written(use.node)  # a comment would go with it
    ]


def must_go(use: Use) -> bool:
    """Whether it cannot stay as it is."""
    return use.answer is not None or is_gone(use.module)
