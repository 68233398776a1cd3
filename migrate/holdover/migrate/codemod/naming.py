"""Names of files, as a reader, a list and a patch need them."""

from __future__ import annotations

import os
import re
from pathlib import Path

#: What would move the cursor or begin a new line.
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_ESCAPES = {
    **{
        ord(b): rb"\%c" % ord(a)
        for a, b in zip("abtnvfr", "\a\b\t\n\v\f\r", strict=True)
    },
    **{ord(c): rb"\%c" % ord(c) for c in '"\\'},
}
_ASCII = 0x80
_LONGEST = 200


def plain(path: str) -> str:
    """A name in one line, for a reader."""
    return _CONTROL.sub(lambda found: ascii(found[0])[1:-1], path)


def short(path: str) -> str:
    """Likewise in a sentence, which no name makes endless."""
    name = plain(path)
    half = _LONGEST // 2
    return name if len(name) <= _LONGEST else f"{name[:half]}…{name[-half:]}"


def in_list(path: str, *, terminal: bool) -> str | bytes:
    """A line of a list; for a program in the bytes that the system knows it by."""
    return f"{plain(path)}\n" if terminal else os.fsencode(path) + b"\n"


def in_patch(path: str) -> bytes:
    """A name after `---`, such that `patch` and `git apply` read it as it is.

    Spaces are part of it if a tab ends it. Other odd names are quoted as git does.
    """
    # Without the ./ and // that git does not take.
    name = os.fsencode(Path(path).as_posix())
    is_text = _is_utf8(name)
    quoted = b"".join(_escaped(byte, is_text=is_text) for byte in name)
    if quoted != name or name != name.strip():
        return b'"%b"' % quoted
    return name + b"\t" if b" " in name else name


def _is_utf8(name: bytes) -> bool:
    try:
        name.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _escaped(byte: int, *, is_text: bool) -> bytes:
    if byte in _ESCAPES:
        return _ESCAPES[byte]
    shown = is_text if byte >= _ASCII else ord(" ") <= byte < _ASCII - 1
    return bytes([byte]) if shown else b"\\%03o" % byte
