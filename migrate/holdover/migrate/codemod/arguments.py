"""Arguments that were renamed, of calls whose class is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import libcst as cst

from holdover.compat.shim.entries import ROOTS, answer, star_names
from holdover.migrate.codemod import stars
from holdover.migrate.codemod.advice import Advice, Argument, Rule
from holdover.migrate.codemod.draft import Draft, NewImport
from holdover.migrate.codemod.rule import CALLS
from holdover.migrate.codemod.scopes import Binding, Scope, dotted

_OURS = "holdover.compat"


@dataclass(frozen=True, slots=True)
class _Making:
    """A call of a class that a rule names, now or by a `partial` later.

    Attributes:
        call: The call.
        func: What names the class.
        args: What the class is given.
        scope: Where it is called.
        path: The class, by its newest path.
    """

    call: cst.Call
    func: cst.BaseExpression
    args: Sequence[cst.Arg]
    scope: Scope
    path: str

    @property
    def name(self) -> str:
        """The class alone."""
        return self.path.rpartition(".")[2]


def plan(draft: Draft) -> None:
    """Do what the rules say about each call of a class they name."""
    for call, scope in draft.names.calls:
        func, args = _called(call)
        path = _class_of(draft, func, scope)
        if not path:
            continue
        making = _Making(call, func, args, scope, path)
        arguments = [
            Argument(
                one.keyword.value if one.keyword else "",
                one.star,
                one.value,
                draft.written(one.value),
            )
            for one in args
        ]
        for rule, advise in CALLS[making.name]:
            advice = advise(arguments)
            if advice is not None and draft.takes(rule.code, call):
                _follow(draft, rule, making, advice)


def _called(call: cst.Call) -> tuple[cst.BaseExpression, Sequence[cst.Arg]]:
    if dotted(call.func).rpartition(".")[2] == "partial" and call.args:
        first = call.args[0]
        if not first.star and not first.keyword:
            return first.value, call.args[1:]
    return call.func, call.args


def _class_of(
    draft: Draft,
    func: cst.BaseExpression,
    scope: Scope,
) -> str:
    """The dotted path of the class that is called, if all that binds it says so."""
    parts = dotted(func).split(".")
    if not parts[0]:
        return ""
    home = draft.names.home(parts[0], scope)
    if home is None:
        paths = _from_star(draft, parts)
    else:
        paths = {_bound_to(one, parts) for one in home.bindings[parts[0]]}
    path = paths.pop() if len(paths) == 1 else ""
    known = path.partition(".")[0] in (*ROOTS, "holdover")
    return path if known and path.rpartition(".")[2] in CALLS else ""


def _bound_to(binding: Binding, parts: Sequence[str]) -> str:
    """What a dotted name is, by one import; by its newest name, where it has one."""
    statement, alias = binding.statement, binding.alias
    if statement is None or alias is None:
        return ""
    rest = list(parts[1:])
    path = dotted(alias.name)
    if isinstance(statement, cst.ImportFrom):
        if statement.relative:
            return ""
        path = f"{dotted(statement.module)}.{path}"
    elif not alias.asname:
        path = parts[0]
    return _newest(".".join([path, *rest]))


def _from_star(draft: Draft, parts: Sequence[str]) -> set[str]:
    found = set()
    for statement, _ in draft.names.imports:
        if isinstance(statement.names, cst.ImportStar) and isinstance(
            statement, cst.ImportFrom
        ):
            module = "" if statement.relative else dotted(statement.module)
            if len(parts) == 1 and parts[0] in star_names(module):
                found.add(_newest(f"{module}.{parts[0]}"))
            elif not module or module.partition(".")[0] not in ROOTS:
                found.add("")  # it may come from there
    return found


def _newest(path: str) -> str:
    module, _, name = path.rpartition(".")
    became = answer(module, name)
    return became.path if became is not None and became.path else path


def _follow(draft: Draft, rule: Rule, making: _Making, advice: Advice) -> None:
    old = f"{making.name}({advice.old})"
    message = f"{old}: {advice.message}"
    prefix: str | None = ""
    if advice.needs:
        prefix = _import(draft, making, advice.needs)
    if not advice.changes or prefix is None:
        message = f"{message} {advice.otherwise}".rstrip()
        draft.todo(rule.code, making.call, old, message)
    elif _change(draft, making, advice, prefix):
        new = f"{making.name}({advice.new})"
        draft.found(rule.code, making.call, old, new, message)


def _import(draft: Draft, making: _Making, needs: str) -> str | None:
    """Import a name in the way of the class that is called.

    Returns:
        What stands before the name where it is read; `None` if it cannot be imported.
    """
    if not making.path.startswith(f"{_OURS}."):
        return None
    if not isinstance(making.func, cst.Name):
        return _module_beside(draft, making)
    there = draft.names.home(needs, making.scope)
    if there is not None:
        paths = (f"{_OURS}.{needs}", f"{making.path.rpartition('.')[0]}.{needs}")
        bound = there.bindings[needs]
        return "" if all(_bound_to(one, [needs]) in paths for one in bound) else None
    if draft.names.bound.get(needs):
        return None
    new = NewImport(_OURS, needs, needs)
    home = draft.names.home(making.func.value, making.scope)
    if home is None:
        return _import_with_star(draft, making.func.value, new)
    bindings = home.bindings[making.func.value]
    if any(one.within is not home for one in bindings):
        return None
    for binding in bindings:
        assert binding.alias is not None  # noqa: S101 - `_class_of` saw to it
        fate = draft.fates[binding.alias]
        if new not in fate.new:
            fate.new.append(new)
    return ""


def _import_with_star(draft: Draft, name: str, new: NewImport) -> str | None:
    """Have a name imported where the star goes that gives the class."""
    found = []
    for statement, _ in draft.names.imports:
        if isinstance(statement, cst.ImportFrom) and isinstance(
            statement.names, cst.ImportStar
        ):
            module = "" if statement.relative else dotted(statement.module)
            if name not in star_names(module):
                continue
            if not stars.expands(draft, statement, module):
                return None
            found.append(statement)
    for statement in found:
        if new not in draft.needs[statement]:
            draft.needs[statement].append(new)
    return "" if found else None


def _module_beside(draft: Draft, making: _Making) -> str | None:
    """How the call will name `holdover.compat`, with its dot; `None` if not at all."""
    start, end = draft.span(making.func)
    if any((one.start, one.end) == (start, end) for one in draft.edits):
        return f"{_OURS}."  # `modules` wrote the whole path there
    first, *rest = dotted(making.func).split(".")[:-1]
    home = draft.names.home(first, making.scope)
    if home is None:
        return None
    for binding in home.bindings[first]:
        if ".".join([_module_after(draft, binding), *rest]) != _OURS:
            return None
    return f"{'.'.join([first, *rest])}."


def _module_after(draft: Draft, binding: Binding) -> str:
    """The module that an import binds when all is rewritten; empty if unclear."""
    fate = draft.fates.get(binding.alias) if binding.alias else None
    if fate is None:
        return _bound_to(binding, [binding.name])
    if fate.keep or len(fate.new) != 1:
        return ""
    new = fate.new[0]
    local = new.local or new.name or new.module.partition(".")[0]
    path = new.module if new.local or new.name else local
    return f"{path}.{new.name}".rstrip(".") if local == binding.name else ""


def _change(draft: Draft, making: _Making, advice: Advice, prefix: str) -> bool:
    spans = [draft.span(one) for one in making.args]
    end = draft.span(making.call)[1] - 1
    source = draft.text.source
    drops = [_without(spans, run, end) for run in _runs(sorted(advice.drops))]
    if any("#" in source[start:end] for start, end in drops):
        return False  # a comment would go with it
    for start, end in drops:
        draft.edit(start, end, "")
    for index in {*advice.keywords, *advice.values}:
        one = making.args[index]
        keyword = one.keyword.value if one.keyword else ""
        keyword = advice.keywords.get(index, keyword)
        value = draft.span(one.value)
        if one.keyword and index in advice.keywords:
            draft.edit(*draft.span(one.keyword), keyword)
        elif index in advice.keywords:
            draft.edit(spans[index][0], spans[index][0], f"{keyword}=")
        if index in advice.values:
            draft.edit(*value, f"{prefix}{advice.values[index]}")
    return True


def _runs(indexes: Sequence[int]) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    for index in indexes:
        if runs and runs[-1][1] == index - 1:
            runs[-1] = (runs[-1][0], index)
        else:
            runs.append((index, index))
    return runs


def _without(
    spans: Sequence[tuple[int, int]], run: tuple[int, int], end: int
) -> tuple[int, int]:
    """What goes with arguments: the comma on one side of them."""
    first, last = run
    if last + 1 < len(spans):
        return spans[first][0], spans[last + 1][0]
    if first:
        return spans[first - 1][1], spans[last][1]
    return spans[first][0], end
