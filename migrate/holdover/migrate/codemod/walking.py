"""One walk through a tree: expressions, and what all nodes have in common."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import re
from collections.abc import Callable, Mapping
from typing import ClassVar

import libcst as cst

from holdover.migrate.codemod.scopes import (
    Binding,
    Reference,
    Scope,
    dotted,
    home_of,
    unquoted,
)

_DOTTED = re.compile(r"(?<![\w.\"'])[^\W\d]\w*(?:\.[^\W\d]\w*)*")
#: Fields of libcst's nodes that hold no name.
_DECORATION = re.compile(
    r"whitespace|lpar$|rpar$|leading|lines_after|trailing|comma$|semicolon$|header$"
    r"|footer$|indent$|dot$|operator$|equal$|async|lbra|rbra|colon$|default_indent"
)
#: What of `typing` is about types wherever it stands, strings included.
_GENERIC = (
    "Annotated", "Callable", "ClassVar", "Dict", "Final", "FrozenSet", "Generic",
    "Iterable", "Iterator", "List", "Mapping", "Optional", "Sequence", "Set", "Tuple",
    "Type", "Union",
)  # fmt: skip
#: What to do with a node, by its type.
Handlers = Mapping[type[cst.CSTNode], Callable[..., None]]


class Walk:
    """What a tree binds and reads.

    Attributes:
        module: The outermost scope.
        scopes: All of them.
        imports: Each import, with the scope it stands in.
        references: Each name that is read.
        calls: Each call, with its scope.
        fallbacks: Each `try`.
        parents: What each node stands in.
        exported: What `__all__` lists; `None` if that cannot be told.
        deleted: The names of the module that a `del` names.
        texts: The strings that are no annotations.
    """

    def __init__(self, tree: cst.Module) -> None:
        self.module = Scope("module", None)
        self.scopes = [self.module]
        self.imports: list[tuple[cst.Import | cst.ImportFrom, Scope]] = []
        self.references: list[Reference] = []
        self.calls: list[tuple[cst.Call, Scope]] = []
        self.fallbacks: list[cst.Try] = []
        self.parents: dict[cst.CSTNode, cst.CSTNode] = {}
        self.exported: set[str] | None = set()
        self.deleted: set[str] = set()
        self.texts: list[cst.SimpleString] = []
        self._nonlocal: list[Binding] = []
        self._path: list[cst.CSTNode] = []
        self._annotating = False
        self._visit(tree, self.module)
        self._bind_nonlocal()

    def _open(self, kind: str, parent: Scope) -> Scope:
        scope = Scope(kind, parent)
        self.scopes.append(scope)
        return scope

    def _visit(self, node: cst.CSTNode, scope: Scope) -> None:
        if self._path:
            self.parents[node] = self._path[-1]
        self._path.append(node)
        special = self._special.get(type(node))
        if special is None:
            self._children(node, scope)
        else:
            special(self, node, scope)
        self._path.pop()

    def _children(self, node: cst.CSTNode, scope: Scope, *skip: str) -> None:
        for name in _fields(type(node)):
            if name not in skip:
                self._all(getattr(node, name), scope)

    def _all(self, found: object, scope: Scope) -> None:
        if isinstance(found, cst.CSTNode):
            self._visit(found, scope)
        elif isinstance(found, list | tuple):
            for one in found:
                if isinstance(one, cst.CSTNode):
                    self._visit(one, scope)

    def _bind(
        self,
        name: str,
        scope: Scope,
        statement: cst.Import | cst.ImportFrom | None = None,
        alias: cst.ImportAlias | None = None,
    ) -> None:
        declared = scope.elsewhere.get(name)
        home = self.module if declared == "global" else scope
        binding = Binding(name, home, scope, statement, alias)
        if declared == "nonlocal":
            self._nonlocal.append(binding)
        else:
            home.bindings[name].append(binding)

    def _bind_nonlocal(self) -> None:
        """Only now, as the function around may bind the name further down."""
        for binding in self._nonlocal:
            home = home_of(binding.name, binding.within, self.module)
            binding.scope = home or binding.within
            binding.scope.bindings[binding.name].append(binding)

    def _target(self, node: cst.CSTNode, scope: Scope) -> None:
        """Bind what an assignment, loop or `del` names."""
        if isinstance(node, cst.Name):
            self._bind(node.value, scope)
        elif isinstance(node, cst.Attribute):
            self._attribute(node, scope, stored=True)
        elif isinstance(node, cst.Tuple | cst.List):
            for element in node.elements:
                self._target(element.value, scope)
        elif isinstance(node, cst.StarredElement):
            self._target(node.value, scope)
        else:
            if isinstance(node, cst.Subscript) and dotted(node.value) == "__all__":
                self.exported = None
            self._visit(node, scope)

    def _name(self, node: cst.Name, scope: Scope) -> None:
        self.references.append(Reference((node.value,), (node,), scope))

    def _attribute(
        self, node: cst.Attribute, scope: Scope, *, stored: bool = False
    ) -> None:
        chain: list[cst.CSTNode] = [node]
        inner: cst.CSTNode = node.value
        parts = [node.attr.value]
        while isinstance(inner, cst.Attribute):
            chain.append(inner)
            parts.append(inner.attr.value)
            inner = inner.value
        if not isinstance(inner, cst.Name):
            # This node is in the path already, except for a target.
            self._visit(inner, scope)
            return
        chain.append(inner)
        parts.append(inner.value)
        if stored and self._path:
            self.parents[node] = self._path[-1]
        for outer, below in itertools.pairwise(chain):
            self.parents[below] = outer
        self.references.append(
            Reference(
                tuple(reversed(parts)), tuple(reversed(chain)), scope, stored=stored
            )
        )

    def _string(self, node: cst.SimpleString, scope: Scope) -> None:
        if not self._annotating:
            self.texts.append(node)
            return
        plain = unquoted(node)
        if plain is None:
            return
        start, text = plain
        for match in _DOTTED.finditer(text):
            parts = tuple(match[0].split("."))
            at = [start + match.start()]
            for index in range(len(parts)):
                at.append(at[0] + len(".".join(parts[: index + 1])))
            self.references.append(
                Reference(parts, (node,) * len(parts), scope, tuple(at))
            )

    def _annotation(self, node: cst.CSTNode, scope: Scope) -> None:
        before, self._annotating = self._annotating, True
        self._children(node, scope)
        self._annotating = before

    def _subscript(self, node: cst.Subscript, scope: Scope) -> None:
        before = self._annotating
        self._visit(node.value, scope)
        name = dotted(node.value).rpartition(".")[2]
        self._annotating = (before or name in _GENERIC) and name != "Literal"
        for index, element in enumerate(node.slice):
            if name == "Annotated" and index:
                self._annotating = False  # what a tool reads, as it stands
            self._visit(element, scope)
        self._annotating = before

    def _call(self, node: cst.Call, scope: Scope) -> None:
        self.calls.append((node, scope))
        before, self._annotating = self._annotating, False
        self._visit(node.func, scope)
        base, _, called = dotted(node.func).rpartition(".")
        if base == "__all__":
            self.exported = None
        for index, argument in enumerate(node.args):
            keyword = argument.keyword.value if argument.keyword else ""
            self._annotating = (
                (called == "cast" and index == 0 and not keyword)
                or (called == "TypeVar" and (index > 0 or keyword == "bound"))
                or (called == "NewType" and (keyword == "tp" or index == 1))
                or (called == "ForwardRef" and index == 0)
            )
            self._visit(argument, scope)
        self._annotating = before

    def _argument(self, node: cst.Arg, scope: Scope) -> None:
        self._visit(node.value, scope)

    def _named(self, node: cst.NamedExpr, scope: Scope) -> None:
        self._visit(node.value, scope)
        home: Scope = scope
        while home.kind == "comprehension" and home.parent:
            home = home.parent
        self._target(node.target, home)

    def _lambda(self, node: cst.Lambda, scope: Scope) -> None:
        inner = self._open("function", scope)
        self._parameters(node.params, scope, inner)
        self._visit(node.body, inner)

    def _parameters(self, node: cst.Parameters, scope: Scope, inner: Scope) -> None:
        stars = (node.star_arg, node.star_kwarg)
        for param in (
            *node.posonly_params,
            *node.params,
            *node.kwonly_params,
            *(star for star in stars if isinstance(star, cst.Param)),
        ):
            self._bind(param.name.value, inner)
            self._all(param.annotation, scope)
            self._all(param.default, scope)

    def _comprehension(self, node: cst.BaseComp, scope: Scope) -> None:
        inner = self._open("comprehension", scope)
        outer: Scope = scope
        loop: cst.CompFor | None = node.for_in
        while loop is not None:
            self._visit(loop.iter, outer)
            self._target(loop.target, inner)
            self._all(loop.ifs, inner)
            outer, loop = inner, loop.inner_for_in
        self._children(node, inner, "for_in")

    _special: ClassVar[Handlers] = {
        cst.Annotation: _annotation,
        cst.Arg: _argument,
        cst.Attribute: _attribute,
        cst.Call: _call,
        cst.DictComp: _comprehension,
        cst.GeneratorExp: _comprehension,
        cst.Lambda: _lambda,
        cst.ListComp: _comprehension,
        cst.Name: _name,
        cst.NamedExpr: _named,
        cst.SetComp: _comprehension,
        cst.SimpleString: _string,
        cst.Subscript: _subscript,
    }


@functools.cache
def _fields(kind: type[cst.CSTNode]) -> tuple[str, ...]:
    return tuple(
        one.name for one in dataclasses.fields(kind) if not _DECORATION.match(one.name)
    )
