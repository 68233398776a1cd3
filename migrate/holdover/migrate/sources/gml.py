"""Reads the graph in a GML file, as `NetworkxEntityGraph.write_to_gml` writes one.

Networkx writes what is not printable ASCII as `&#NNN;`, and each entry on a line of
its own; other programs may lay out a file otherwise, and order it otherwise. Of a
broken file, what stands before the damage is read.
"""

from __future__ import annotations

import codecs
import re
import sys
from collections.abc import Iterator
from html.entities import name2codepoint
from typing import IO, Any, NamedTuple

__all__ = ["Damage", "Edge", "edges_of"]

_CHUNK = 256 << 10
#: The longest single text, in characters.
_LONGEST = 64 << 20
_DEEPEST = 100
_OF_AN_ENTRY = 2  # a graph, and what is in it
_SHORT = 32  # a number is none without its digits
_TOKEN = re.compile(
    r"""
    (?P<space>\s+)
    | (?P<comment>\#[^\n]*(?:\n|\Z))
    | (?P<key>[A-Za-z_][0-9A-Za-z_]*)
    | (?P<number>[+-]?(?:[0-9]*\.[0-9]*(?:[Ee][+-]?[0-9]+)?|[0-9]+|(?i:inf|nan)))
    | "(?P<text>[^"]*)"
    | (?P<open>\[)
    | (?P<close>\])
    """,
    re.VERBOSE,
)
_ESCAPE = re.compile(r"&(?:[0-9A-Za-z]+|#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6});")


class Edge(NamedTuple):
    """An edge with the names of its nodes; `None` where there is no such node."""

    source: str | None
    relation: str
    target: str | None


class Damage(NamedTuple):
    """Why the rest of a file cannot be read."""

    detail: str


def edges_of(file: IO[bytes]) -> Iterator[Edge | Damage]:
    """The edges of the graph, in order; at last the damage, if there is any.

    Args:
        file: Open for reading bytes, at its beginning.
    """
    labels: dict[Any, str] = {}
    edges: list[tuple[Any, Any, str]] = []
    damage = None
    try:
        for kind, fields in _entries(_tokens(file)):
            if kind == "node":
                node = fields.get("id")
                labels[node] = str(fields.get("label", node))
            else:
                relation = fields.get("relation", "")
                edges.append(
                    (fields.get("source"), fields.get("target"), str(relation))
                )
    except _Broken as error:
        damage = Damage(str(error))
    for source, target, relation in edges:
        yield Edge(labels.get(source), relation, labels.get(target))
    if damage is not None:
        yield damage


class _Broken(Exception):
    """The text is no GML from here on."""


def _entries(
    tokens: Iterator[tuple[str, Any]],
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The nodes and edges of the first graph, with their plain fields."""
    path: list[str] = []
    fields: dict[str, Any] = {}
    for kind, key in tokens:
        if kind == "close" and path:
            name = path.pop()
            if path == ["graph"] and name in ("node", "edge"):
                yield name, fields
            if not path and name == "graph":
                return
            continue
        if kind != "key":
            raise _Broken("a name is missing, or a bracket closes nothing")
        what, value = next(tokens, ("", None))
        if what == "open":
            path.append(key)
            if len(path) > _DEEPEST:
                raise _Broken("it is nested too deeply")
            if len(path) == _OF_AN_ENTRY:
                fields = {}
        elif what not in ("text", "number"):
            raise _Broken("a value is missing")
        elif len(path) == _OF_AN_ENTRY:
            fields.setdefault(key, value)
    raise _Broken("it ends early, or there is no graph in it")


def _tokens(file: IO[bytes]) -> Iterator[tuple[str, Any]]:
    """The tokens of the text; raises `_Broken` where there is none."""
    decode = codecs.getincrementaldecoder("utf-8-sig")().decode
    text, at, ended = "", 0, False
    while True:
        match = _TOKEN.match(text, at)
        # What reaches to the end of what was read may go on behind it.
        unsure = match.end() == len(text) if match else _may_go_on(text, at)
        if unsure and not ended:
            if len(text) - at > _LONGEST:
                raise _Broken("a text has no end, or is too long")
            raw = file.read(max(_CHUNK, len(text) - at))
            ended = not raw
            try:
                text, at = text[at:] + decode(raw, ended), 0
            except UnicodeDecodeError:
                raise _Broken("it is no UTF-8") from None
            continue
        if match is None:
            if at == len(text):
                return
            raise _Broken("it is no GML")
        at = match.end()
        kind = str(match.lastgroup)
        if kind == "text":
            yield kind, _ESCAPE.sub(_unescaped, match["text"])
        elif kind == "number":
            yield kind, _number(match[0])
        elif kind not in ("space", "comment"):
            yield kind, match[0]


def _may_go_on(text: str, at: int) -> bool:
    """Whether what is no token yet may be one with more text."""
    return text[at : at + 1] == '"' or len(text) - at < _SHORT


def _number(text: str) -> Any:
    """A number; of an id, its text is as good."""
    try:
        return int(text)
    except ValueError:
        return text


def _unescaped(match: re.Match[str]) -> str:
    """The character of a number or a name; what is neither stands as it is."""
    said = match[0][1:-1]
    if not said.startswith("#"):
        code = name2codepoint.get(said)
    else:
        code = int(f"0{said[1:]}", 16) if said[1] in "xX" else int(said[1:])
    return match[0] if code is None or code > sys.maxunicode else chr(code)
