"""The statements of a tree: what they bind, import and export."""

from __future__ import annotations

from typing import ClassVar

import libcst as cst

from holdover.migrate.codemod.scopes import Scope, dotted, unquoted
from holdover.migrate.codemod.walking import Handlers, Walk


class Statements(Walk):
    """A walk that knows Python's statements, too."""

    def _assign(self, node: cst.Assign, scope: Scope) -> None:
        self._visit(node.value, scope)
        for target in node.targets:
            self._target(target.target, scope)
            if isinstance(target.target, cst.Name) and target.target.value == "__all__":
                self._export(node.value)

    def _annotated(self, node: cst.AnnAssign, scope: Scope) -> None:
        self._visit(node.annotation, scope)
        if node.value:
            self._visit(node.value, scope)
        self._target(node.target, scope)
        if dotted(node.target) == "__all__" and node.value:
            self._export(node.value)

    def _augmented(self, node: cst.AugAssign, scope: Scope) -> None:
        self._visit(node.target, scope)
        self._visit(node.value, scope)
        self._target(node.target, scope)
        if dotted(node.target) == "__all__":
            self._export(node.value)

    def _export(self, value: cst.BaseExpression) -> None:
        texts = []
        if isinstance(value, cst.List | cst.Tuple):
            texts = [unquoted(element.value) for element in value.elements]
        if not isinstance(value, cst.List | cst.Tuple) or None in texts:
            self.exported = None
        elif self.exported is not None:
            self.exported |= {text[1] for text in texts if text}

    def _loop(self, node: cst.For, scope: Scope) -> None:
        self._visit(node.iter, scope)
        self._target(node.target, scope)
        self._visit(node.body, scope)
        self._all(node.orelse, scope)

    def _as(self, node: cst.AsName, scope: Scope) -> None:
        self._target(node.name, scope)

    def _delete(self, node: cst.Del, scope: Scope) -> None:
        self._target(node.target, scope)
        targets: list[cst.BaseExpression] = [node.target]
        while targets:
            one = targets.pop()
            if isinstance(one, cst.Tuple | cst.List):
                targets += [element.value for element in one.elements]
            elif isinstance(one, cst.Name) and (
                scope is self.module or scope.elsewhere.get(one.value) == "global"
            ):
                self.deleted.add(one.value)

    def _import(self, node: cst.Import, scope: Scope) -> None:
        self.imports.append((node, scope))
        for alias in node.names:
            self.parents[alias] = node
            name = dotted(alias.asname.name) if alias.asname else ""
            first = dotted(alias.name).partition(".")[0]
            self._bind(name or first, scope, node, alias)

    def _import_from(self, node: cst.ImportFrom, scope: Scope) -> None:
        self.imports.append((node, scope))
        if isinstance(node.names, cst.ImportStar):
            return
        for alias in node.names:
            self.parents[alias] = node
            name = dotted(alias.asname.name) if alias.asname else dotted(alias.name)
            self._bind(name, scope, node, alias)

    def _declare(self, node: cst.Global | cst.Nonlocal, scope: Scope) -> None:
        kind = "global" if isinstance(node, cst.Global) else "nonlocal"
        for item in node.names:
            scope.elsewhere[item.name.value] = kind

    def _function(self, node: cst.FunctionDef, scope: Scope) -> None:
        self._all(node.decorators, scope)
        self._bind(node.name.value, scope)
        inner = self._open("function", scope)
        self._all(node.type_parameters, inner)
        self._parameters(node.params, scope, inner)
        self._all(node.returns, scope)
        self._declared_first(node.body, inner)
        self._visit(node.body, inner)

    def _declared_first(self, body: cst.CSTNode, scope: Scope) -> None:
        """Note `global` before anything is bound: it holds for the whole body."""
        for line in body.body if isinstance(body, cst.IndentedBlock) else ():
            for small in line.body if isinstance(line, cst.SimpleStatementLine) else ():
                if isinstance(small, cst.Global | cst.Nonlocal):
                    self._declare(small, scope)

    def _class(self, node: cst.ClassDef, scope: Scope) -> None:
        self._all(node.decorators, scope)
        self._all(node.bases, scope)
        self._all(node.keywords, scope)
        self._bind(node.name.value, scope)
        inner = self._open("class", scope)
        self._all(node.type_parameters, inner)
        self._visit(node.body, inner)

    def _pattern(self, node: cst.CSTNode, scope: Scope) -> None:
        for name in ("name", "rest"):
            bound = getattr(node, name, None)
            if isinstance(bound, cst.Name):
                self._bind(bound.value, scope)
        self._children(node, scope, "name", "rest")

    def _pattern_keyword(self, node: cst.MatchKeywordElement, scope: Scope) -> None:
        self._visit(node.pattern, scope)

    def _type_parameter(self, node: cst.TypeParam, scope: Scope) -> None:
        self._bind(node.param.name.value, scope)
        self._all(getattr(node.param, "bound", None), scope)
        self._all(node.default, scope)

    def _type_alias(self, node: cst.TypeAlias, scope: Scope) -> None:
        self._bind(node.name.value, scope)
        inner = self._open("function", scope)
        self._all(node.type_parameters, inner)
        before, self._annotating = self._annotating, True
        self._visit(node.value, inner)
        self._annotating = before

    def _try(self, node: cst.Try, scope: Scope) -> None:
        self.fallbacks.append(node)
        self._children(node, scope)

    _special: ClassVar[Handlers] = {
        **Walk._special,  # noqa: SLF001 - the same walk
        cst.AnnAssign: _annotated,
        cst.AsName: _as,
        cst.Assign: _assign,
        cst.AugAssign: _augmented,
        cst.ClassDef: _class,
        cst.Del: _delete,
        cst.For: _loop,
        cst.FunctionDef: _function,
        cst.Global: _declare,
        cst.Import: _import,
        cst.ImportFrom: _import_from,
        cst.MatchAs: _pattern,
        cst.MatchKeywordElement: _pattern_keyword,
        cst.MatchMapping: _pattern,
        cst.MatchStar: _pattern,
        cst.Nonlocal: _declare,
        cst.Try: _try,
        cst.TypeAlias: _type_alias,
        cst.TypeParam: _type_parameter,
    }
