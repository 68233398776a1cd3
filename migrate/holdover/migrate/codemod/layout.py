"""How a rewritten import is laid out: as it was, wherever that is possible."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import libcst as cst

from holdover.migrate.codemod.draft import Draft, NewImport
from holdover.migrate.codemod.scopes import dotted

WIDTH = 88
#: Comments that speak to a tool of the line they stand on.
_PRAGMA = re.compile(
    r"#\s*(noqa|holdover|type:|pragma|pylint|isort|nosec|ruff|mypy|pyright|fmt)"
)


def replace_module(draft: Draft, statement: cst.ImportFrom, module: str) -> None:
    """Where all names go to one module, change that and their names alone."""
    assert statement.module is not None  # noqa: S101 - it is not relative
    assert not isinstance(statement.names, cst.ImportStar)  # noqa: S101
    start, end = draft.span(statement.module)
    if draft.text.source[start:end] != module:
        draft.edit(start, end, module)
    for alias in statement.names:
        fate = draft.fates.get(alias)
        if fate is None:
            continue
        start, end = draft.span(alias)
        text = draft.text.source[start:end]
        texts = [text] if fate.keep else []
        texts += [_as_written(alias, text, new) for new in fate.new]
        if texts != [text]:
            draft.edit(start, end, _between(draft, statement, start, end).join(texts))


def _between(draft: Draft, statement: cst.ImportFrom, start: int, end: int) -> str:
    """What separates names: a line where each has its own, and no comment."""
    text = draft.text
    before = text.source[text.line_start(start) : start]
    line, column = text.place(end)
    if statement.lpar is None or before.strip() or "#" in text.line(line)[column:]:
        return ", "
    return f",{text.newline(end)}{before}"


def _as_written(alias: cst.ImportAlias, text: str, new: NewImport) -> str:
    """The text it had, if that says the same."""
    same = isinstance(alias.name, cst.Name) and alias.name.value == new.name
    local = alias.asname.name if alias.asname else alias.name
    if same and isinstance(local, cst.Name) and local.value == new.local:
        return text
    return new.text


@dataclass(slots=True)
class _Part:
    """One imported name with the comments that are its own."""

    module: str
    text: str
    local: str
    before: list[str] = field(default_factory=list)
    after: str = ""


def regroup(draft: Draft, statement: cst.ImportFrom, module: str) -> None:
    """Split an import whose names go to several modules."""
    assert not isinstance(statement.names, cst.ImportStar)  # noqa: S101
    source = draft.text.source
    spans = [draft.span(alias) for alias in statement.names]
    start, end = draft.span(statement)
    (opening, before), *gaps = _comments(draft, statement, spans)
    parts: list[_Part] = []
    for alias, (first, last), gap in zip(statement.names, spans, gaps, strict=True):
        mine: list[_Part] = []
        text = source[first:last]
        fate = draft.fates.get(alias)
        if fate is None or fate.keep:
            local = dotted((alias.asname or alias).name)
            mine.append(_Part(module, text, local))
        for new in fate.new if fate else ():
            written = _as_written(alias, text, new) if new.name else new.text
            module_of_it = new.module if new.name else ""
            mine.append(_Part(module_of_it, written, new.local or new.text))
        mine[0].before = before
        mine[0].after = gap[0]
        before = gap[1]
        parts += mine
    indentation = draft.text.indentation(start)
    inside = indentation + _step(draft, indentation, spans[0][0], start)
    groups = _by_module(_that_count(parts))
    if draft.has_todo(statement):
        # The comment comes above the first line, and is about what stays.
        groups.sort(key=lambda members: members[0].module != module)
    texts = []
    for index, members in enumerate(groups):
        texts += _statement(
            members,
            indentation,
            inside,
            draft.text.newline(start),
            opening=opening if not index else "",
            closing=before if index == len(groups) - 1 else (),
        )
    draft.edit(start, end, joined(draft, statement, texts))


def write_lines(
    draft: Draft, statement: cst.ImportFrom, new: Iterable[NewImport], *, keep: bool
) -> None:
    """Write imports in the place of a star, or after it."""
    start, end = draft.span(statement)
    indentation = draft.text.indentation(start)
    parts = [_Part(one.module, one.text, one.local) for one in new]
    texts = [draft.text.source[start:end]] if keep else []
    inside = indentation + _step(draft, indentation, start, start)
    for members in _by_module(parts):
        texts += _statement(members, indentation, inside, draft.text.newline(start))
    draft.edit(start, end, joined(draft, statement, texts))


def _that_count(parts: Sequence[_Part]) -> list[_Part]:
    """Without those whose name a later one takes, now that the order may change."""
    last = {part.local: part for part in parts}
    found: list[_Part] = []
    comments: list[str] = []
    for part in parts:
        comments += part.before
        if last[part.local] is part:
            part.before, comments = comments, []
            found.append(part)
        elif part.after:
            comments.append(part.after)
    return found


def _by_module(parts: Iterable[_Part]) -> list[list[_Part]]:
    groups: dict[str, list[_Part]] = {}
    for part in parts:
        groups.setdefault(part.module, []).append(part)
    return list(groups.values())


def _comments(
    draft: Draft, statement: cst.ImportFrom, spans: Sequence[tuple[int, int]]
) -> list[tuple[str, list[str]]]:
    """The comments after the bracket, and after each name."""
    if statement.lpar is None:
        return [("", [])] * (len(spans) + 1)
    source = draft.text.source
    starts = [draft.span(statement.lpar)[0] + 1, *(last for _, last in spans)]
    ends = [*(first for first, _ in spans), draft.span(statement)[1] - 1]
    return [_split(source[a:b]) for a, b in zip(starts, ends, strict=True)]


def _split(gap: str) -> tuple[str, list[str]]:
    """The comment on the line of what precedes, and those on lines of their own."""
    lines = [line.strip() for line in re.split(r"\r\n?|\n", gap)]
    first = lines[0]
    comment = first[first.index("#") :] if "#" in first else ""
    return comment, [line.lstrip(", ") for line in lines[1:] if "#" in line]


def _step(draft: Draft, indentation: str, name: int, start: int) -> str:
    """One step of indentation, as the source does it."""
    text = draft.text
    own = text.indentation(name)
    if text.line_start(name) != text.line_start(start) and own.startswith(indentation):
        return own[len(indentation) :] or "    "
    return "\t" if "\t" in indentation else "    "


def _statement(
    members: Sequence[_Part],
    indentation: str,
    inside: str,
    newline: str,
    *,
    opening: str = "",
    closing: Sequence[str] = (),
) -> list[str]:
    """The import of some names of a module; of modules, where they have none."""
    module = members[0].module
    texts = list(dict.fromkeys(part.text for part in members))
    commented = opening or closing or any(part.before or part.after for part in members)
    commented = commented or any(text.splitlines() != [text] for text in texts)
    if not module:
        comments = [opening] if opening else []
        for part in members:
            comments += [*part.before, *([part.after] if part.after else [])]
        imports = [f"import {text}" for text in texts]
        above = f"{newline}{indentation}".join([*comments, *closing, imports[0]])
        return [above, *imports[1:]]
    line = f"from {module} import {', '.join(texts)}"
    if not commented and len(indentation) + len(line) <= WIDTH:
        return [line]
    lines = [f"from {module} import (" + (f"  {opening}" if opening else "")]
    for part in members:
        lines += [f"{inside}{comment}" for comment in part.before]
        lines.append(
            f"{inside}{part.text}," + (f"  {part.after}" if part.after else "")
        )
    lines += [f"{inside}{comment}" for comment in closing]
    lines.append(f"{indentation})")
    return [newline.join(lines)]


def joined(
    draft: Draft, statement: cst.Import | cst.ImportFrom, texts: Sequence[str]
) -> str:
    """Statements one below the other, or beside where they share a line."""
    start, end = draft.span(statement)
    around = draft.names.parents.get(statement)
    alone = isinstance(around, cst.SimpleStatementLine) and len(around.body) == 1
    if not alone:
        return "; ".join(texts)
    line = draft.text.line(draft.text.place(end)[0])
    after = line[draft.text.place(end)[1] :]
    pragma = after.rstrip() if _PRAGMA.match(after.strip()) else ""
    separator = f"{draft.text.newline(start)}{draft.text.indentation(start)}"
    return f"{pragma}{separator}".join(texts)
