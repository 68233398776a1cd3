"""`from module import names`: each name from where it lives now."""

from __future__ import annotations

import libcst as cst

from holdover.compat.shim.entries import Answer, answer, is_gone, knows_module
from holdover.migrate.codemod import stars
from holdover.migrate.codemod.draft import UNDECIDED, Draft, NewImport, removed
from holdover.migrate.codemod.layout import joined, regroup, replace_module
from holdover.migrate.codemod.scopes import dotted


def module_of(statement: cst.ImportFrom) -> str:
    """The module it imports from, if some of its names have an answer."""
    module = "" if statement.relative else dotted(statement.module)
    return module if knows_module(module) else ""


def write(draft: Draft) -> None:
    """Decide what becomes of each imported name, and write the imports anew."""
    for statement, _ in draft.names.imports:
        if isinstance(statement, cst.Import):
            _write_import(draft, statement)
            continue
        module = module_of(statement)
        if module and isinstance(statement.names, cst.ImportStar):
            stars.expand(draft, statement, module)
            continue
        if isinstance(statement.names, cst.ImportStar):
            continue
        if module:
            for alias in statement.names:
                _decide(draft, module, alias)
        if any(alias in draft.fates for alias in statement.names):
            _write_from(draft, statement, dotted(statement.module))


def _decide(draft: Draft, module: str, alias: cst.ImportAlias) -> None:
    name = dotted(alias.name)
    found = answer(module, name)
    old = f"{module}.{name}"
    if found is None:
        if is_gone(module) and not knows_module(old) and draft.takes(UNDECIDED, alias):
            draft.unknown(alias, module, name)
        return
    if found.path == old or not draft.takes(found.code, alias):
        return
    if removed(found):
        draft.removed(alias, old, found)
        return
    fate = draft.fates[alias]
    fate.keep = False
    fate.new.insert(0, named(alias, found))
    draft.found_moved(alias, old, found)


def named(alias: cst.ImportAlias, found: Answer) -> NewImport:
    """The new import of a name, under the local name it has."""
    local = alias.asname.name if alias.asname else alias.name
    return NewImport(found.module, found.name, dotted(local))


def _write_import(draft: Draft, statement: cst.Import) -> None:
    written: set[str] = set()
    for alias in statement.names:
        fate = draft.fates.get(alias)
        if fate is None:
            continue
        start, end = draft.span(alias)
        texts = [draft.text.source[start:end]] if fate.keep else []
        texts += [new.text for new in fate.new]
        texts = [text for text in dict.fromkeys(texts) if text not in written] or texts
        written |= set(texts)
        if len(statement.names) == 1:
            lines = [f"import {text}" for text in texts]
            draft.edit(*draft.span(statement), joined(draft, statement, lines))
        else:
            draft.edit(start, end, ", ".join(texts))


def _write_from(draft: Draft, statement: cst.ImportFrom, module: str) -> None:
    assert not isinstance(statement.names, cst.ImportStar)  # noqa: S101
    targets = set()
    for alias in statement.names:
        fate = draft.fates.get(alias)
        targets |= {module} if fate is None or fate.keep else set()
        targets |= (
            {new.module if new.name else "" for new in fate.new} if fate else set()
        )
    if len(targets) == 1 and "" not in targets:
        replace_module(draft, statement, targets.pop())
    else:
        regroup(draft, statement, module)
