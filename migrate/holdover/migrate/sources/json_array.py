"""Reads the elements of a JSON array in a file, one by one, in flat memory.

What the classic library wrote is read as its own reader did (`json`): lone surrogates,
NaN and integers of any length. Of a damaged array, what stands before the damage.
"""

from __future__ import annotations

import codecs
import json
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from holdover.compat.legacy.files import encodings
from holdover.migrate.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

_CHUNK = 1 << 20
#: Characters of one element. No store takes a larger message.
MOST = 32 << 20
# What an error this close to the end of the buffer says may change with more text:
# the longest thing that is read in one go is a pair of `\uXXXX`.
_NEAR_END = 16
_SPACE = re.compile(r"[ \t\r\n]*")
# What ends a number; the empty text is in no set.
_BEHIND = frozenset(" \t\r\n,]")
_PLAIN = {
    "utf-8-sig": ((codecs.BOM_UTF8, "utf-8"),),
    "utf-16": ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")),
    "utf-32": ((codecs.BOM_UTF32_LE, "utf-32-le"), (codecs.BOM_UTF32_BE, "utf-32-be")),
}
# A string that does not end goes to the end of the text: nothing is tried twice.
_BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)


class Damage(NamedTuple):
    """Where an array cannot be read any further, and why; `at` counts bytes."""

    reason: str
    at: int
    detail: str


class TooDeep:
    """Stands for an element that is nested too deeply to be read."""


def check_encoding(name: str) -> None:
    """Refuse an encoding that does not exist.

    Raises:
        UsageError: It does not, or it encodes no text.
    """
    try:
        "".encode(name).decode(name)
    except LookupError:
        raise UsageError(
            f"There is no encoding {name!r}.",
            hint="Name one that Python knows, for example cp1252 or utf-16.",
        ) from None


def plain_encoding(head: bytes, named: str | None = None) -> tuple[int, str]:
    """How many bytes a byte order mark takes, and the encoding without one."""
    name = codecs.lookup(next(encodings(head, named))).name
    for mark, plain in _PLAIN.get(name, ()):
        if head.startswith(mark):
            return len(mark), plain
    return (0, _PLAIN[name][0][1]) if name in _PLAIN else (0, name)


class JsonArray:
    """The elements of an array; `damage` tells, after the last, why it was the last.

    A single object is an array of one. An element that is nested too deeply is
    `TooDeep`, and the rest is read.

    Args:
        file: Open for reading bytes, at its beginning.
        encoding: Its encoding; by default it is found out.
    """

    def __init__(self, file: BinaryIO, encoding: str | None = None) -> None:
        self.damage: Damage | None = None
        self.empty = True
        self._file = file
        self._named = encoding
        self._codec = "utf-8"
        self._decoder: codecs.IncrementalDecoder | None = None
        self._text, self._at = "", 0
        self._before = 0  # bytes before `_text`
        self._ended = False
        self._undecodable = False
        self._json = json.JSONDecoder(parse_int=_integer)

    def __iter__(self) -> Iterator[Any]:
        """Read; once."""
        opening = self._peek()
        if not opening and not self._undecodable:
            return
        self.empty = False
        if opening not in ("[", "{"):
            self._stop("not-json", "The file does not begin as JSON does.")
            return
        if opening == "{":
            yield from self._element()
        else:
            self._at += 1
            while (following := self._peek()) and following != "]":
                found = False
                for element in self._element():
                    found = True
                    yield element
                if not found:
                    return
                if self._peek() == ",":  # also where there should have been one
                    self._at += 1
            if not following:
                self._stop("truncated", "The file ends within the array.")
                return
            self._at += 1
        if self.damage is None and self._peek():
            self._stop("extra-data", "More follows behind the end of the array.")

    def _element(self) -> Iterator[Any]:
        """The element that begins here, or nothing but `damage`."""
        while True:
            whole = self._ended or len(self._text) - self._at > MOST
            try:
                element, end = self._json.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                if whole or not self._may_go_on(error):
                    self._stop_at(error)
                    return
            except RecursionError:
                closed = self._end_of_deep()
                if closed is not None:
                    self._at = closed
                    yield TooDeep()
                    return
                if whole:
                    self._stop("too-deep", "The array is nested too deeply.")
                    return
            else:
                following = self._text[end : end + 1]
                if isinstance(element, dict | list | str) or following in _BEHIND:
                    self._at = end
                    yield element
                    return
                if whole:  # a number without its end
                    self._stop("not-json", "What follows is not JSON.")
                    return
            self._more()

    def _may_go_on(self, error: json.JSONDecodeError) -> bool:
        return (
            error.msg.startswith("Unterminated string")
            or error.pos >= len(self._text) - _NEAR_END
        )

    def _closes(self, error: json.JSONDecodeError) -> bool:
        """Whether anything behind the error ends what was begun."""
        rest = self._text[error.pos :]
        return not error.msg.startswith("Unterminated") and ("}" in rest or "]" in rest)

    def _end_of_deep(self) -> int | None:
        """Behind the bracket that closes the element that begins here."""
        depth = 0
        for token in _BRACKETS.finditer(self._text, self._at):
            if token[0] in "[{":
                depth += 1
            elif token[0] in "]}":
                depth -= 1
                if depth == 0:
                    return token.end()
        return None

    def _peek(self) -> str:
        """The next character that is no space; empty at the end."""
        while True:
            space = _SPACE.match(self._text, self._at)
            self._at = space.end() if space else self._at
            if self._at < len(self._text):
                return self._text[self._at]
            if self._ended:
                return ""
            self._more()

    def _more(self) -> None:
        """Read on: at least as much as the element that is begun has so far."""
        self._before += len(self._text[: self._at].encode(self._codec))
        self._text, self._at = self._text[self._at :], 0
        wanted = max(_CHUNK, len(self._text))
        raw = self._file.read(wanted)
        if self._decoder is None:
            self._before, self._codec = plain_encoding(raw, self._named)
            self._decoder = codecs.getincrementaldecoder(self._codec)()
            raw = raw[self._before :]
        held = self._decoder.getstate()
        self._ended = not raw
        try:
            self._text += self._decoder.decode(raw, self._ended)
        except UnicodeDecodeError as error:
            self._decoder.setstate(held)
            good = raw[: max(0, error.start - len(held[0]))]
            with suppress(UnicodeDecodeError):
                self._text += self._decoder.decode(good)
            self._ended = self._undecodable = True

    def _stop_at(self, error: json.JSONDecodeError) -> None:
        if not self._ended and len(self._text) - self._at > MOST:
            self._stop("too-large", "A message is larger than any store takes.")
        elif self._ended and self._may_go_on(error) and not self._closes(error):
            self._stop("truncated", "A message begins, and the file ends within it.")
        else:
            self._at = min(error.pos, len(self._text))
            self._stop("not-json", "What follows is not JSON.")

    def _stop(self, reason: str, detail: str) -> None:
        at = self._before + len(self._text[: self._at].encode(self._codec))
        if self._undecodable:
            at = self._before + len(self._text.encode(self._codec))
            reason = "not-text"
            detail = f"The file is not {self._codec.upper()} throughout."
        self.damage = Damage(reason, at, f"Byte {at:,}: {detail}")


def _integer(digits: str) -> int | str:
    """An integer; as text if the interpreter refuses so many digits."""
    try:
        return int(digits)
    except ValueError:
        return digits
