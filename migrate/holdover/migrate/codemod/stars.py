"""`from module import *`: the names that are used, from where they live now."""

from __future__ import annotations

import libcst as cst

from holdover.compat.shim.entries import Answer, answer, is_gone, star_names
from holdover.migrate.codemod.draft import UNDECIDED, Draft, NewImport, removed
from holdover.migrate.codemod.layout import write_lines
from holdover.migrate.codemod.scopes import dotted

#: What reads or writes names that the source does not show.
_BY_TEXT = ("eval", "exec", "globals", "locals", "vars")


def expand(draft: Draft, statement: cst.ImportFrom, module: str) -> None:
    """Import by name what the source uses of a star."""
    star = statement.names
    assert isinstance(star, cst.ImportStar)  # noqa: S101 - for the type checker
    if not any(answer(module, name) for name in star_names(module)):
        return
    old = f"{module}.*"
    problem = _problem(draft)
    found = {} if problem else _used(draft, module)
    if not problem and not found:
        if not is_gone(module):
            return
        problem = "no name of it is used here, so other files may import them from here"
    if problem:
        if draft.takes(UNDECIDED, statement) and (is_gone(module) or draft.reexports):
            draft.todo(
                UNDECIDED,
                statement,
                old,
                f"import by name what is needed of {old}: {problem}.",
            )
        return
    if not all(draft.takes(one.code, statement) for one in found.values()):
        return
    _write(draft, statement, module, found)


def expands(draft: Draft, statement: cst.ImportFrom, module: str) -> bool:
    """Whether this star will give way to the names that are used."""
    found = {} if _problem(draft) else _used(draft, module)
    return bool(found) and all(
        draft.takes(one.code, statement) for one in found.values()
    )


def _used(draft: Draft, module: str) -> dict[str, Answer]:
    """What the source uses of a star, and what became of that."""
    return {
        name: one
        for name in star_names(module)
        if (one := answer(module, name)) and _is_used(draft, name)
    }


def _problem(draft: Draft) -> str:
    """Why it cannot be told which names are used; empty if it can."""
    if draft.reexports:
        return "other files may import them from here"
    if draft.names.exported is None:
        return "it cannot be told what __all__ holds"
    for name in _BY_TEXT:
        if any(
            None in draft.names.homes(name, one.scope)
            for one in draft.names.by_name.get(name, ())
        ):
            return f"{name} is used here"
    return ""


def _is_used(draft: Draft, name: str) -> bool:
    names = draft.names
    return name in {*(names.exported or ()), *names.deleted} or any(
        home in (None, names.module)
        for one in names.by_name.get(name, ())
        for home in names.homes(name, one.scope)
    )


def _write(
    draft: Draft, statement: cst.ImportFrom, module: str, found: dict[str, Answer]
) -> None:
    new = []
    for name, one in found.items():
        if removed(one):
            draft.removed(statement, f"{module}.{name}", one)
        elif not _is_imported(draft, name, one):
            new.append(NewImport(one.module, one.name, name))
            draft.found(
                one.code,
                statement,
                f"{module}.{name}",
                one.path,
                f"{module}.{name}, which the star imports, is {one.path} now.",
                safe=False,
            )
    new += [one for one in draft.needs[statement] if one not in new]
    keep = not is_gone(module) or any(map(removed, found.values()))
    if new:
        write_lines(draft, statement, new, keep=keep)


def _is_imported(draft: Draft, name: str, one: Answer) -> bool:
    """Whether the source imports it by name already."""
    return any(
        isinstance(binding.statement, cst.ImportFrom)
        and binding.alias is not None
        and dotted(binding.statement.module) == one.module
        and dotted(binding.alias.name) == one.name
        for binding in draft.names.module.bindings.get(name, ())
    )
