"""Lines as `redis-cli` reads them from a file, where that program cannot be run."""

from __future__ import annotations

import re

_WORD = re.compile(rb'\s*(?:"((?:[^"\\]|\\.)*)"|(\S+))', re.DOTALL)
_ESCAPE = re.compile(rb"\\(?:x([0-9a-fA-F]{2})|(.))", re.DOTALL)
_SIGNS = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"b": b"\b", b"a": b"\a"}


def words_of(line):
    """The words of one line; those in double quotes may hold escapes."""
    return [
        _ESCAPE.sub(_meant, match[1]) if match[1] is not None else match[2]
        for match in _WORD.finditer(line)
    ]


def _meant(match):
    if match[1]:
        return bytes.fromhex(match[1].decode())
    return _SIGNS.get(match[2], match[2])
