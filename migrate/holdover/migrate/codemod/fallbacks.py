"""`try: … except ImportError: …` around two imports that have become the same."""

from __future__ import annotations

import re

import libcst as cst

from holdover.migrate.codemod.draft import Draft
from holdover.migrate.codemod.scopes import dotted
from holdover.migrate.codemod.text import Edit, apply

_CAUGHT = ("ImportError", "ModuleNotFoundError")


def collapse(draft: Draft) -> None:
    """Leave one of them, where nothing else is in the statement, not even a comment."""
    for node in draft.names.fallbacks if draft.edits else ():
        bodies = _bodies(node)
        if bodies is None:
            continue
        start = draft.span(node)[0]
        end = draft.span(bodies[1][-1])[1]
        mine = [one for one in draft.edits if start <= one.start and one.end <= end]
        if not mine or "#" in draft.text.source[start:end]:
            continue
        if any(draft.has_todo(one) for body in bodies for one in body):
            continue
        first, second = (_text(draft, body, mine) for body in bodies)
        if first != second:
            continue
        indentation = draft.text.indentation(start)
        newline = draft.text.newline(start)
        draft.edits = [one for one in draft.edits if one not in mine]
        draft.edit(start, end, f"{newline}{indentation}".join(first))


def _bodies(
    node: cst.Try,
) -> tuple[list[cst.SimpleStatementLine], list[cst.SimpleStatementLine]] | None:
    """What is tried and what is done instead, if both only import."""
    if node.orelse or node.finalbody or len(node.handlers) != 1:
        return None
    handler = node.handlers[0]
    caught = [handler.type]
    if isinstance(handler.type, cst.Tuple):
        caught = [element.value for element in handler.type.elements]
    if handler.name or not {dotted(one) for one in caught} <= {*_CAUGHT}:
        return None
    tried, instead = _imports(node.body), _imports(handler.body)
    return (tried, instead) if tried and instead else None


def _imports(body: cst.BaseSuite) -> list[cst.SimpleStatementLine]:
    """The lines of a body, if all of them are imports."""
    found = []
    for line in body.body:
        if not isinstance(line, cst.SimpleStatementLine):
            return []
        if not all(isinstance(one, cst.Import | cst.ImportFrom) for one in line.body):
            return []
        found.append(line)
    return found


def _text(
    draft: Draft, body: list[cst.SimpleStatementLine], edits: list[Edit]
) -> list[str]:
    """The lines as they will be, without their indentation."""
    start, end = draft.span(body[0])[0], draft.span(body[-1])[1]
    mine = [
        Edit(one.start - start, one.end - start, one.text)
        for one in edits
        if start <= one.start and one.end <= end
    ]
    text = apply(draft.text.source[start:end], mine)
    indentation = draft.text.indentation(start)
    lines = re.split(r"\r\n?|\n", text)
    return [line.removeprefix(indentation) for line in lines if line.strip()]
