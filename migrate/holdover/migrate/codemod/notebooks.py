"""The code of a Jupyter notebook, changed at its place in the JSON text.

The file is not dumped anew: outputs, metadata, key order, indentation and escapes
outside the changed lines stay to the byte.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from holdover.migrate.codemod.outcome import Untouchable

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_SPACE = re.compile(r"[ \t\n\r]*")
_DECODER = json.JSONDecoder(strict=False)
_FIRST_WITH_CELLS = 2

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of Python code.

    Attributes:
        number: Its place among all cells, from 1, as a reader counts them.
        text: Its source.
        span: Where the JSON value of the source stands.
    """

    number: int
    text: str
    span: Span


def cells_of(text: str) -> list[Cell]:
    """The code cells of a notebook; none if it is of another language.

    Raises:
        Untouchable: It is no notebook we can read.
    """
    try:
        document = json.loads(text, strict=False)
    except json.JSONDecodeError as error:
        raise Untouchable(f"is not JSON: {error.msg}", line=error.lineno) from None
    except RecursionError:
        raise Untouchable("is nested too deeply") from None
    if not isinstance(document, dict):
        raise Untouchable("is JSON, but no notebook")
    version = document.get("nbformat")
    sheets = document.get("worksheets")
    if "cells" not in document and not isinstance(sheets, list):
        raise Untouchable("is JSON, but no notebook: it has no cells")
    if isinstance(version, int) and version < _FIRST_WITH_CELLS:
        raise Untouchable(f"has the old format {version}; convert it with jupyter")
    if not _is_python(document.get("metadata")):
        return []
    try:
        found = list(_cells(text))
    except (TypeError, KeyError, ValueError, AttributeError):
        raise Untouchable("is no notebook: its cells have another shape") from None
    return [cell for cell in found if cell is not None]


def _is_python(about: Any) -> bool:
    """Of a notebook's metadata; without any, it is taken for Python."""
    if not isinstance(about, Mapping):
        return True
    for part, key in (("kernelspec", "language"), ("language_info", "name")):
        described = about.get(part)
        if isinstance(described, Mapping) and isinstance(described.get(key), str):
            return "python" in described[key].lower()
    return True


def _cells(text: str) -> Iterator[Cell | None]:
    notebook = _members(text, 0)
    if "cells" in notebook:
        lists = [notebook["cells"]]
    else:
        sheets = _items(text, notebook["worksheets"][0])
        lists = [_members(text, at)["cells"] for at, _ in sheets]
    number = 0
    for at, _ in lists:
        for start, _ in _items(text, at):
            number += 1
            yield _cell(text, start, number)


def _cell(text: str, start: int, number: int) -> Cell | None:
    members = _members(text, start)
    values: dict[str, Any] = {
        key: _DECODER.raw_decode(text, members[key][0])[0]
        for key in ("cell_type", "metadata", "language", "source", "input")
        if key in members
    }
    if values.get("cell_type") != "code" or not _is_python_cell(values):
        return None
    key = "source" if "source" in members else "input"
    lines = values[key]
    source = lines if isinstance(lines, str) else "".join(lines)
    return Cell(number, source, members[key])


def _is_python_cell(values: Mapping[str, Any]) -> bool:
    about = values.get("metadata")
    editor = about.get("vscode") if isinstance(about, Mapping) else None
    named = editor.get("languageId") if isinstance(editor, Mapping) else None
    return "python" in str(named or values.get("language") or "python").lower()


def replaced(text: str, changes: Mapping[Cell, str]) -> str:
    """The notebook with other sources in some of its cells."""
    parts, end = [], 0
    for cell in sorted(changes, key=lambda one: one.span):
        start, stop = cell.span
        raw = text[start:stop]
        parts += [text[end:start], _encoded(raw, changes[cell])]
        end = stop
    return "".join([*parts, text[end:]])


def _encoded(raw: str, source: str) -> str:
    """A source as JSON, in the form the old one had: one string, or a list of lines."""
    if raw.startswith('"'):
        return _string(source, raw)
    spans = _items(raw, 0)
    if not spans:
        return json.dumps(source.splitlines(keepends=True))
    old = [_DECODER.raw_decode(raw, start)[0] for start, _ in spans]
    # The usual library cuts at more than newlines; others do not.
    usual = "".join(old).splitlines(keepends=True) == old
    lines = source.splitlines(keepends=True) if usual else _LINE.findall(source)
    # What stays keeps the very escapes it had.
    known = {
        line: raw[start:stop] for line, (start, stop) in zip(old, spans, strict=True)
    }
    before = raw[1 : spans[0][0]]
    after = raw[spans[-1][1] : -1]
    between = raw[spans[0][1] : spans[1][0]] if len(spans) > 1 else f",{before or ' '}"
    items = [known.get(line) or _string(line, raw) for line in lines]
    return f"[{before}{between.join(items)}{after}]"


def _string(value: str, like: str) -> str:
    """A JSON string that escapes what the other text escapes."""
    lone = any("\ud800" <= character <= "\udfff" for character in value)
    return json.dumps(value, ensure_ascii=lone or like.isascii())


def _members(text: str, at: int) -> dict[str, Span]:
    """The values of an object, by key: where each begins and ends."""
    found: dict[str, Span] = {}
    at = _inside(text, at, "{")
    while text[at] != "}":
        key, at = _DECODER.raw_decode(text, at)
        start = _skip(text, _skip(text, at) + 1)
        _, end = _DECODER.raw_decode(text, start)
        found[key] = (start, end)
        at = _next(text, end)
    return found


def _items(text: str, at: int) -> list[Span]:
    found = []
    at = _inside(text, at, "[")
    while text[at] != "]":
        _, end = _DECODER.raw_decode(text, at)
        found.append((at, end))
        at = _next(text, end)
    return found


def _inside(text: str, at: int, opening: str) -> int:
    at = _skip(text, at)
    if text[at] != opening:
        raise ValueError(at)
    return _skip(text, at + 1)


def _next(text: str, end: int) -> int:
    at = _skip(text, end)
    return _skip(text, at + 1) if text[at] == "," else at


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at
