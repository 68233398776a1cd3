"""What happens to the import of a module object, and to what is read from it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import libcst as cst

from holdover.compat.shim.entries import answer, is_gone, names_of
from holdover.migrate.codemod.draft import UNDECIDED, Draft, Fate, NewImport, removed
from holdover.migrate.codemod.module_uses import Use, is_mentioned, must_go
from holdover.migrate.codemod.scopes import Binding


def is_dotted(binding: Binding) -> bool:
    """Whether it binds the root of the module's path, not the module."""
    return (
        isinstance(binding.statement, cst.Import)
        and binding.alias is not None
        and binding.alias.asname is None
    )


def plan_unused(draft: Draft, binding: Binding, path: str) -> None:
    """A module that nothing is read from: perhaps only whether it is there."""
    alias = binding.alias
    assert alias is not None  # noqa: S101 - only imports come here
    found = [one for name in names_of(path) if (one := answer(path, name))]
    homes = Counter(one.module for one in found)
    new, count = homes.most_common(1)[0] if homes else ("", 0)
    if not new or count * 2 <= len(found):
        undecided(draft, binding, path, "nothing shows what it is imported for")
        return
    codes = sorted({one.code for one in found if one.module == new})
    code = next((one for one in codes if draft.takes(one, alias)), "")
    if is_dotted(binding) and (root := _taken(draft, new)):
        undecided(draft, binding, path, f"{root} means something else here")
    elif code:
        swap(draft, binding, new)
        message = f"Most of what {path} held is in {new} now."
        draft.found(code, alias, path, new, message, safe=False)


def swap(draft: Draft, binding: Binding, target: str) -> None:
    """Import another module under the name that the old one had."""
    assert binding.alias is not None  # noqa: S101 - only imports come here
    fate = draft.fates[binding.alias]
    fate.keep = False
    local = "" if is_dotted(binding) else binding.name
    package, _, last = target.rpartition(".")
    if package and isinstance(binding.statement, cst.ImportFrom):
        fate.new.append(NewImport(package, last, local))
    else:
        fate.new.append(NewImport(target, local=local))


def problem_of(
    draft: Draft,
    bindings: Sequence[Binding],
    uses: Sequence[Use],
    moves: Sequence[Use],
) -> str:
    """Why its uses cannot be rewritten; empty if they can."""
    name, scope = bindings[0].name, bindings[0].scope
    if set(scope.bindings[name]) != set(bindings) or any(
        {*draft.names.homes(name, use.reference.scope)} - {scope, None} for use in uses
    ):
        return "its name means other things here too"
    if any(one.within is not scope for one in bindings):
        return "it is imported in one scope for another"
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
    return "" if all(map(is_dotted, bindings)) else root


def missed_by(draft: Draft, binding: Binding, path: str) -> str:
    """Who else may read the name of a module; empty if nobody does."""
    names = draft.names
    if binding.scope.kind == "class":
        return "it is an attribute of a class, which others may read"
    if binding.scope is names.module:
        if draft.reexports:
            return "other files may import it from here"
        if names.exported is None:
            return "it cannot be told what __all__ holds"
    if is_mentioned(draft, binding, path):
        return f"a string names it as {binding.name}"
    return ""


def undecided(draft: Draft, binding: Binding, path: str, problem: str) -> None:
    """Leave an import as it is, and say why."""
    alias = binding.alias
    if alias is not None and draft.takes(UNDECIDED, alias):
        draft.todo(
            UNDECIDED,
            alias,
            path,
            f"import by name what is needed of {path}: {problem}.",
        )


def rewrite_uses(draft: Draft, moves: Iterable[Use], fates: Iterable[Fate]) -> None:
    """Read names from their new modules, by their whole path."""
    modules: list[str] = []
    for use in moves:
        assert use.answer is not None  # noqa: S101 - `moving` gives no others
        at = use.reference.at
        start, end = draft.span(use.node)
        if at:
            start, end = start + at[0], start + at[use.depth + 1]
        draft.edit(start, end, use.answer.path)
        report(draft, use)
        modules.append(use.answer.module)
    for fate in fates:
        fate.new += [NewImport(module) for module in dict.fromkeys(modules)]


def report(draft: Draft, use: Use) -> None:
    """Say where a name that was read from a module is now."""
    assert use.answer is not None  # noqa: S101 - `moving` gives no others
    at = use.reference.at[0] if use.reference.at else 0
    draft.found_moved(use.node, use.path, use.answer, at=at)


def leave(draft: Draft, uses: Iterable[Use]) -> None:
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
