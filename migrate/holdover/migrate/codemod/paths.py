"""Dotted paths in strings: `mock.patch`, `import_module` and their like."""

from __future__ import annotations

import libcst as cst

from holdover.compat.shim.entries import (
    ROOTS,
    Answer,
    answer,
    is_gone,
    knows_module,
)
from holdover.migrate.codemod.draft import UNDECIDED, Draft, removed
from holdover.migrate.codemod.scopes import dotted, unquoted

#: Calls that look a name up by its path.
_FINDS = ("import_string", "locate", "resolve_name")
#: Calls that replace a name where it is looked up.
_REPLACES = ("patch", "setattr", "delattr")
#: Calls that are given a module's path.
_IMPORTS = (
    "__import__", "find_loader", "find_spec", "import_module", "importorskip",
    "run_module",
)  # fmt: skip


def plan(draft: Draft) -> None:
    """Rewrite such paths where their meaning is sure, and report the others."""
    for call, _ in draft.names.calls:
        if not call.args or call.args[0].star:
            continue
        called = dotted(call.func).rpartition(".")[2]
        node = call.args[0].value
        if called not in (*_FINDS, *_REPLACES, *_IMPORTS):
            continue
        plain = unquoted(node)
        if plain is None or plain[1].partition(".")[0] not in ROOTS:
            continue
        if called in _IMPORTS:
            _report_module(draft, node, plain[1])
        else:
            _rewrite(draft, node, plain, replaces=called in _REPLACES)


def _report_module(draft: Draft, node: cst.BaseExpression, path: str) -> None:
    if is_gone(path) and draft.takes(UNDECIDED, node):
        message = f"LangChain 1.x has no {path}; a name of it may be elsewhere now."
        draft.found(UNDECIDED, node, path, "", message, fixed=False)


def _rewrite(
    draft: Draft, node: cst.BaseExpression, plain: tuple[int, str], *, replaces: bool
) -> None:
    start, path = plain
    found = _split(path)
    if found is None:
        if is_gone(path.rpartition(".")[0]) and draft.takes(UNDECIDED, node):
            message = f"LangChain 1.x has no {path.rpartition('.')[0]}."
            draft.found(UNDECIDED, node, path, "", message, fixed=False)
        return
    old, became, rest = found
    if not draft.takes(became.code, node):
        return
    if removed(became):
        message = f"{old} is gone. {became.why}".rstrip()
        draft.found(became.code, node, path, "", message, fixed=False)
        return
    new = became.path + rest
    message = f"{old} is {became.path} now."
    sure = not replaces or _imports(draft, old, became)
    if sure:
        at = draft.span(node)[0] + start
        draft.edit(at, at + len(path), new)
    else:
        message += " Where it is replaced depends on who looks it up."
    draft.found(became.code, node, path, new, message, fixed=sure, safe=False)


def _split(path: str) -> tuple[str, Answer, str] | None:
    """The name in a path, and what is read from it."""
    parts = path.split(".")
    for length in range(1, len(parts)):
        module = ".".join(parts[:length])
        became = answer(module, parts[length])
        if became is not None:
            old = ".".join(parts[: length + 1])
            return old, became, path[len(old) :]
        if not knows_module(module):
            return None
    return None


def _imports(draft: Draft, old: str, became: Answer) -> bool:
    """Whether the source's own import of the name goes the same way."""
    for statement, _ in draft.names.imports:
        if isinstance(statement.names, cst.ImportStar):
            continue
        before = ""
        if isinstance(statement, cst.ImportFrom):
            if statement.relative:
                continue
            before = f"{dotted(statement.module)}."
        for alias in statement.names:
            path = before + dotted(alias.name)
            if path == became.path or (
                (one := answer(*path.rpartition(".")[::2])) and one.path == became.path
            ):
                return True
            if not before and old.startswith(f"{path}.") and is_gone(path):
                return True
    return False
