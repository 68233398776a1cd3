"""Reads the values of a large JSON file one by one: memory holds one of them.

Python's own decoder wrote these files and reads them here, so that what it alone
writes (`NaN`, half of a surrogate pair) is read as it was; a faster reader replaces
such a half by a question mark.
"""

from __future__ import annotations

import codecs
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

_CHUNK = 256 << 10
#: The longest single value, in characters.
_MOST = 64 << 20
_SPACE = " \t\r\n"
_AFTER = frozenset(f"{_SPACE},:]}}")


class BadJson(Exception):
    """The text is no JSON of the expected shape; says what is wrong, not what it is."""


class JsonValues:
    """The members of the one object that a file holds.

    Args:
        file: Open for reading bytes, at its beginning.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._decode = codecs.getincrementaldecoder("utf-8-sig")().decode
        self._parse = json.JSONDecoder(strict=False).raw_decode
        self._text, self._at, self._ended = "", 0, False

    def members(self) -> Iterator[tuple[str, Any]]:
        """Each name with its value; raises `BadJson`."""
        for name in self._names():
            yield name, self._value()

    def elements(self, wanted: str) -> Iterator[Any]:
        """The elements of the array that a member holds; raises `BadJson`.

        The members before it are passed over, those after it are not looked at.
        """
        for name in self._names():
            if self._peek() == "[":
                for value in self._array():
                    if name == wanted:
                        yield value
            else:
                self._value()
            if name == wanted:
                return

    def _names(self) -> Iterator[str]:
        self._expect("{")
        if self._peek() == "}":
            self._expect("}")
        else:
            while True:
                name = self._value()
                if not isinstance(name, str):
                    raise BadJson("a name is no text")
                self._expect(":")
                yield name
                if self._expect(",}") == "}":
                    break
        if self._peek():
            raise BadJson("something follows its end")

    def _array(self) -> Iterator[Any]:
        self._expect("[")
        if self._peek() == "]":
            self._expect("]")
            return
        while True:
            yield self._value()
            if self._expect(",]") == "]":
                return

    def _peek(self) -> str:
        """The next character that is no white space; "" at the end."""
        while True:
            text, at = self._text, self._at
            while at < len(text) and text[at] in _SPACE:
                at += 1
            self._at = at
            if at < len(text):
                return text[at]
            if not self._more(_CHUNK):
                return ""

    def _expect(self, any_of: str) -> str:
        found = self._peek()
        if not found or found not in any_of:
            raise BadJson("it ends early" if not found else "its form is broken")
        self._at += 1
        return found

    def _value(self) -> Any:
        if not self._peek():
            raise BadJson("it ends early")
        asked = _CHUNK
        while True:
            try:
                value, end = self._parse(self._text, self._at)
            except json.JSONDecodeError:
                pass
            except RecursionError:
                raise BadJson("a value is nested too deeply") from None
            except ValueError:
                raise BadJson("a number is too large") from None
            else:
                # Of a number that was cut, the beginning is a number, too.
                if self._ended or self._text[end : end + 1] in _AFTER:
                    self._at = end
                    return value
            if len(self._text) - self._at > _MOST:
                raise BadJson("a value is broken, or too long")
            if not self._more(asked):
                return self._last()
            asked *= 2

    def _last(self) -> Any:
        """Parse what reaches to the end of the file."""
        try:
            value, self._at = self._parse(self._text, self._at)
        except (ValueError, RecursionError):
            raise BadJson("it ends early, or its form is broken") from None
        return value

    def _more(self, size: int) -> bool:
        """Read on; tell whether there was anything."""
        if self._ended:
            return False
        raw = self._file.read(size)
        self._ended = not raw
        try:
            found = self._decode(raw, self._ended)
        except UnicodeDecodeError:
            raise BadJson("it is no UTF-8") from None
        self._text = self._text[self._at :] + found
        self._at = 0
        return bool(raw)
