"""Module objects: `import langchain.memory as m`, and what is read from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import libcst as cst

from holdover.compat.shim.entries import ROOTS, answer, is_gone, knows_module
from holdover.migrate.codemod.draft import UNDECIDED, Draft, NewImport
from holdover.migrate.codemod.module_fates import (
    is_dotted,
    leave,
    missed_by,
    plan_unused,
    problem_of,
    report,
    rewrite_uses,
    swap,
    undecided,
)
from holdover.migrate.codemod.module_uses import Use, moving, must_go, uses_of
from holdover.migrate.codemod.scopes import Binding, Scope, dotted


def plan(draft: Draft) -> None:
    """Decide what becomes of modules bound to names, and rewrite their uses."""
    roots: dict[tuple[Scope, str], list[Binding]] = {}
    aliases: dict[tuple[Scope, str, str], list[Binding]] = {}
    for statement, _ in draft.names.imports:
        for binding, path in _modules(draft, statement):
            if is_dotted(binding):
                roots.setdefault((binding.scope, binding.name), []).append(binding)
            else:
                key = (binding.scope, binding.name, path)
                aliases.setdefault(key, []).append(binding)
    for (_, _, path), bindings in aliases.items():
        _plan_alias(draft, bindings, path)
    for bindings in roots.values():
        _plan_root(draft, bindings)


def _modules(
    draft: Draft, statement: cst.Import | cst.ImportFrom
) -> Iterator[tuple[Binding, str]]:
    """The names that an import binds to modules we know."""
    if isinstance(statement.names, cst.ImportStar):
        return
    before = ""
    if isinstance(statement, cst.ImportFrom):
        before = "" if statement.relative else f"{dotted(statement.module)}."
        if before.partition(".")[0] not in ROOTS:
            return
    for alias in statement.names:
        path = f"{before}{dotted(alias.name)}"
        if path.partition(".")[0] not in ROOTS:
            continue
        if before and (
            answer(before[:-1], dotted(alias.name)) or not knows_module(path)
        ):
            continue
        name = dotted(alias.asname.name) if alias.asname else dotted(alias.name)
        local = name.partition(".")[0]
        for binding in draft.names.bound.get(local, ()):
            if binding.alias is alias and not draft.ignored(UNDECIDED, alias):
                yield binding, path


def _plan_alias(draft: Draft, bindings: Sequence[Binding], path: str) -> None:
    """The imports of one module under one name: several in branches, or in cells."""
    first = bindings[0]
    uses = uses_of(draft, first, path)
    if not uses and is_gone(path):
        for binding in bindings:
            plan_unused(draft, binding, path)
    if not any(map(must_go, uses)):
        return
    moves = moving(draft, uses)
    targets = {use.answer.module for use in moves if use.answer}
    same = all(use.answer and use.answer.name == use.name for use in moves)
    direct = all(use.module == path for use in moves)
    if len(moves) == len(uses) and len(targets) == 1 and same and direct:
        target = targets.pop()
        for binding in bindings:
            swap(draft, binding, target)
        for use in moves:
            report(draft, use)
        return
    keep = len(moves) < len(uses)
    problem = problem_of(draft, bindings, uses, moves)
    if not problem and not keep:
        problem = missed_by(draft, first, path)
    fates = [draft.fates[one.alias] for one in bindings if one.alias and not problem]
    for binding in bindings if problem else ():
        undecided(draft, binding, path, problem)
    for fate in fates:
        fate.keep = keep
    if fates:
        rewrite_uses(draft, moves, fates)
        leave(draft, [use for use in uses if use not in moves])


def _plan_root(draft: Draft, bindings: Sequence[Binding]) -> None:
    """`import langchain.memory` binds `langchain`, like others of its kind."""
    first = bindings[0]
    paths = {one: dotted(one.alias.name) for one in bindings if one.alias}
    gone = [one for one, path in paths.items() if is_gone(path)]
    uses = uses_of(draft, first, first.name)
    wanted = [use for use in uses if must_go(use)]
    if not wanted and not gone:
        return
    moves = moving(draft, uses)
    problem = problem_of(draft, bindings, wanted, moves)
    if not problem and first.scope.kind == "class":
        problem = "it is an attribute of a class, which others may read"
    if not problem and _depends(draft, paths):
        problem = f"which module of {first.name} is imported depends on the branch"
    if problem:
        for one in gone or bindings[:1]:
            undecided(draft, one, paths[one], problem)
        return
    served: dict[str, list[Use]] = {path: [] for path in paths.values()}
    rest: list[Use] = []
    for use in uses:
        fitting = [path for path in served if f"{use.path}.".startswith(f"{path}.")]
        best = max(fitting, key=len, default=None)
        (rest if best is None else served[best]).append(use)
    for path, mine in served.items():
        alike = [one for one in bindings if paths[one] == path]
        _plan_part(draft, alike, path, mine, rest, moves)
        rest = []
    leave(draft, [use for use in uses if use not in moves])


def _depends(draft: Draft, paths: Mapping[Binding, str]) -> bool:
    """Whether different modules are imported in different blocks."""
    parents = draft.names.parents
    blocks = {parents[parents[one.statement]] for one in paths if one.statement}
    return len(blocks) > 1 and len(set(paths.values())) > 1


def _plan_part(
    draft: Draft,
    bindings: Sequence[Binding],
    path: str,
    mine: Sequence[Use],
    rest: Sequence[Use],
    moves: Sequence[Use],
) -> None:
    """The imports of one path, the uses of its module, and uses of the root alone."""
    going = [use for use in (*mine, *rest) if use in moves]
    staying = [use for use in mine if use not in moves]
    aliases = [one.alias for one in bindings if one.alias]
    if not mine and is_gone(path):
        for binding in bindings:
            plan_unused(draft, binding, path)
    elif going:
        alive = not is_gone(path)
        kept = bool(staying) or (alive and (not mine or len(going) < len(mine)))
        for alias in aliases:
            draft.fates[alias].keep = kept
    fates = [draft.fates[one] for one in aliases if going or one in draft.fates]
    for fate in fates:
        if not fate.keep and any(use not in moves for use in rest):
            fate.new.append(NewImport(path.partition(".")[0]))
    if fates:
        rewrite_uses(draft, going, fates)
