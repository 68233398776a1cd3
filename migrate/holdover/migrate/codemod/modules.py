"""Module objects: `import langchain.memory as m`, and what is read from them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import libcst as cst

from holdover.compat.shim.entries import (
    ROOTS,
    answer,
    is_gone,
    knows_module,
    names_of,
)
from holdover.migrate.codemod.draft import UNDECIDED, Draft, Fate, NewImport, removed
from holdover.migrate.codemod.module_uses import Use, moving, must_go, uses_of
from holdover.migrate.codemod.scopes import Binding, Scope, dotted


def plan(draft: Draft) -> None:
    """Decide what becomes of modules bound to names, and rewrite their uses."""
    roots: dict[tuple[Scope, str], list[Binding]] = {}
    for statement, _ in draft.names.imports:
        for binding, path in _modules(draft, statement):
            if _is_dotted(binding):
                roots.setdefault((binding.scope, binding.name), []).append(binding)
            else:
                _plan_alias(draft, binding, path)
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


def _is_dotted(binding: Binding) -> bool:
    """Whether it binds the root of the module's path, not the module."""
    return (
        isinstance(binding.statement, cst.Import)
        and binding.alias is not None
        and binding.alias.asname is None
    )


def _plan_alias(draft: Draft, binding: Binding, path: str) -> None:
    alias = binding.alias
    assert alias is not None  # noqa: S101 - only imports come here
    uses = uses_of(draft, binding, path)
    wanted = [use for use in uses if must_go(use)]
    if not uses and is_gone(path):
        _plan_unused(draft, binding, path)
    if not wanted:
        return
    moves = moving(draft, uses)
    targets = {use.answer.module for use in moves if use.answer}
    same = all(use.answer and use.answer.name == use.name for use in moves)
    direct = all(use.module == path for use in moves)
    if len(moves) == len(uses) and len(targets) == 1 and same and direct:
        _swap(draft, binding, targets.pop())
        for use in moves:
            _report(draft, use)
        return
    bindings = draft.names.bound[binding.name]
    alone = [one for one in bindings if one.scope is binding.scope] == [binding]
    problem = _problem(draft, uses, moves, alone=alone)
    if problem:
        _undecided(draft, alias, path, problem)
        return
    fate = draft.fates[alias]
    fate.keep = len(moves) < len(uses)
    _rewrite(draft, moves, fate)
    _leave(draft, [use for use in uses if use not in moves])


def _plan_unused(draft: Draft, binding: Binding, path: str) -> None:
    """A module that nothing is read from: perhaps only whether it is there."""
    alias = binding.alias
    assert alias is not None  # noqa: S101 - only imports come here
    found = [one for name in names_of(path) if (one := answer(path, name))]
    homes = Counter(one.module for one in found)
    new, count = homes.most_common(1)[0] if homes else ("", 0)
    if not new or count * 2 <= len(found):
        _undecided(draft, alias, path, "nothing shows what it is imported for")
        return
    code = next(one.code for one in found if one.module == new)
    if _is_dotted(binding) and (root := _taken(draft, new)):
        _undecided(draft, alias, path, f"{root} means something else here")
    elif draft.takes(code, alias):
        _swap(draft, binding, new)
        message = f"Most of what {path} held is in {new} now."
        draft.found(code, alias, path, new, message, safe=False)


def _swap(draft: Draft, binding: Binding, target: str) -> None:
    """Import another module under the name that the old one had."""
    assert binding.alias is not None  # noqa: S101 - only imports come here
    fate = draft.fates[binding.alias]
    fate.keep = False
    local = "" if _is_dotted(binding) else binding.name
    package, _, last = target.rpartition(".")
    if package and isinstance(binding.statement, cst.ImportFrom):
        fate.new.append(NewImport(package, last, local))
    else:
        fate.new.append(NewImport(target, local=local))


def _problem(
    draft: Draft, uses: Sequence[Use], moves: Sequence[Use], *, alone: bool
) -> str:
    """Why its uses cannot be rewritten; empty if they can."""
    if not alone:
        return "its name means other things here too"
    if any(not use.name and (moves or must_go(use)) for use in uses):
        return "the module itself is used here, not only its names"
    for use in moves:
        if use.answer and (root := _taken(draft, use.answer.module)):
            return f"{root} means something else here"
    return ""


def _taken(draft: Draft, module: str) -> str:
    """The root of a module, if the source uses that name for something else."""
    root = module.partition(".")[0]
    bindings = draft.names.bound.get(root, ())
    return "" if all(map(_is_dotted, bindings)) else root


def _undecided(draft: Draft, alias: cst.ImportAlias, path: str, problem: str) -> None:
    if draft.takes(UNDECIDED, alias):
        draft.todo(
            UNDECIDED,
            alias,
            path,
            f"import by name what is needed of {path}: {problem}.",
        )


def _rewrite(draft: Draft, moves: Iterable[Use], fate: Fate) -> None:
    """Read names from their new modules, by their whole path."""
    modules: list[str] = []
    for use in moves:
        assert use.answer is not None  # noqa: S101 - `_moves` saw to it
        at = use.reference.at
        start, end = draft.span(use.node)
        if at:
            start, end = start + at[0], start + at[use.depth + 1]
        draft.edit(start, end, use.answer.path)
        _report(draft, use)
        modules.append(use.answer.module)
    fate.new += [NewImport(module) for module in dict.fromkeys(modules)]


def _report(draft: Draft, use: Use) -> None:
    assert use.answer is not None  # noqa: S101 - `_moves` saw to it
    at = use.reference.at[0] if use.reference.at else 0
    draft.found_moved(use.node, use.path, use.answer, at=at)


def _leave(draft: Draft, uses: Iterable[Use]) -> None:
    """Say what is to be decided about the uses that stay."""
    for use in uses:
        became = use.answer
        if became is None:
            if use.name and is_gone(use.module) and draft.takes(UNDECIDED, use.node):
                draft.unknown(use.node, use.module, use.name)
        elif removed(became):
            if draft.takes(became.code, use.node):
                draft.removed(use.node, use.path, became)
        elif draft.takes(became.code, use.node) and draft.takes(UNDECIDED, use.node):
            message = f"{use.path} is {became.path} now."
            if use.stored:
                message = f"{use.path} is {became.path} now, and is replaced here."
            draft.todo(UNDECIDED, use.node, use.path, message)


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
    here = [one for one in draft.names.bound[first.name] if one.scope is first.scope]
    problem = _problem(draft, wanted, moves, alone=set(here) == set(bindings))
    if problem:
        for one in gone or bindings[:1]:
            if one.alias:
                _undecided(draft, one.alias, paths[one], problem)
        return
    served: dict[Binding, list[Use]] = {one: [] for one in bindings}
    rest: list[Use] = []
    for use in uses:
        fitting = [
            one for one in bindings if f"{use.path}.".startswith(f"{paths[one]}.")
        ]
        best = max(fitting, key=lambda one: len(paths[one]), default=None)
        (rest if best is None else served[best]).append(use)
    for binding, mine in served.items():
        _plan_part(draft, binding, paths[binding], mine, rest, moves)
        rest = []
    _leave(draft, [use for use in uses if use not in moves])


def _plan_part(
    draft: Draft,
    binding: Binding,
    path: str,
    mine: Sequence[Use],
    rest: Sequence[Use],
    moves: Sequence[Use],
) -> None:
    """One of these imports, the uses of its module, and uses of the root alone."""
    assert binding.alias is not None  # noqa: S101 - only imports come here
    going = [use for use in (*mine, *rest) if use in moves]
    staying = [use for use in mine if use not in moves]
    if not mine and is_gone(path):
        _plan_unused(draft, binding, path)
    elif going:
        alive = not is_gone(path)
        kept = bool(staying) or (alive and (not mine or len(going) < len(mine)))
        draft.fates[binding.alias].keep = kept
    if not going and binding.alias not in draft.fates:
        return
    fate = draft.fates[binding.alias]
    if not fate.keep and any(use not in moves for use in rest):
        fate.new.append(NewImport(path.partition(".")[0]))
    _rewrite(draft, going, fate)
