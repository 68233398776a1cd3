"""The file a classic `FileChatMessageHistory` kept: read in place, never written."""

from __future__ import annotations

import codecs
import json
import locale
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from holdover.compat.adopting import OldItems
from holdover.compat.errors import StoreUnavailable
from holdover.compat.legacy.histories import OldHistory, numbered
from holdover.compat.notices import logger

# The classic class rewrites the whole file: a reader may see a part of it.
_LOOKS = 4
_PAUSE_SECONDS = 0.05
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_SPACE = " \t\r\n"


class LegacyFile(OldHistory):
    """One file, a JSON array; of a broken one, what stands before the damage.

    Args:
        path: The file; it need not exist.
        encoding: What the classic class was given; by default it is found out.
        root: See `OldHistory`.
    """

    def __init__(self, path: Path, encoding: str | None, root: str) -> None:
        super().__init__(root)
        self._path, self._encoding = path, encoding

    @property
    def locator(self) -> str:
        """The file's name."""
        return f"file:{self._path.name}"

    def read(self) -> OldItems | None:
        """See `OldHistory.read`."""
        for look in range(_LOOKS):
            if look:
                time.sleep(_PAUSE_SECONDS)
            try:
                raw = self._path.read_bytes()
            except FileNotFoundError:
                return None
            except OSError as error:
                raise StoreUnavailable(
                    f"The old history {self._path} cannot be read: {error.strerror}.",
                    hint="Check its rights, or pass legacy='off' to go on without it.",
                ) from error
            text = self._decoded(raw)
            try:
                whole = json.loads(text) if text.strip() else []
            except (ValueError, RecursionError):
                continue
            entries = whole if isinstance(whole, list) else [whole]
            return self._items(numbered(entries))
        return self._items(numbered(_readable(text)))

    def _decoded(self, raw: bytes) -> str:
        for encoding in encodings(raw, self._encoding):
            try:
                return raw.decode(encoding)
            except (UnicodeDecodeError, LookupError):
                continue
        logger.warning(
            "An old history below %s holds text in another encoding than was named; "
            "some of its characters are replaced.",
            self._root,
        )
        return raw.decode(errors="replace")


def encodings(raw: bytes, named: str | None = None) -> Iterator[str]:
    """What a file may be encoded in that begins like this, the likeliest first."""
    if named is not None:
        yield named
    yield from (name for mark, name in _MARKS if raw.startswith(mark))
    yield "utf-8"
    yield locale.getencoding()


def _readable(text: str) -> Iterator[Any]:
    """The elements of an array before its damage, then `None` for the rest."""
    decoder = json.JSONDecoder()
    at = _skip(text, 0, "[")
    while at < len(text) and text[at] != "]":
        try:
            element, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            yield None
            return
        yield element
        at = _skip(text, at, ",")


def _skip(text: str, at: int, separator: str) -> int:
    """Behind white space around one separator."""
    while at < len(text) and text[at] in _SPACE:
        at += 1
    if text[at : at + 1] == separator:
        at += 1
    while at < len(text) and text[at] in _SPACE:
        at += 1
    return at
