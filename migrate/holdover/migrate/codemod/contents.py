"""From the bytes of a file to its text and back, to the byte."""

from __future__ import annotations

import codecs
import io
import tokenize
from dataclasses import dataclass
from pathlib import Path

from holdover.migrate.codemod.files import is_regular
from holdover.migrate.codemod.outcome import Untouchable

#: No file without one of these has anything to rewrite.
MARKS = ("langchain", "holdover")
#: Of source text. The parser takes about a kilobyte of memory for each byte.
LARGEST = 1_000_000
#: Of a notebook, most of which is pictures.
LARGEST_NOTEBOOK = 64_000_000
_PIECE = 1 << 20
_WIDE = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


def mentions(path: str) -> bool:
    """Whether a file is worth parsing; what cannot be read is, for its reason.

    However large the file, no more than a piece of it is held.
    """
    try:
        if not is_regular(path):
            return True
        with Path(path).open("rb") as file:
            piece = file.read(_PIECE)
            marks = _marks_in(piece)
            longest = max(map(len, marks))
            while piece:
                if any(mark in piece for mark in marks):
                    return True
                more = file.read(_PIECE)
                piece = piece[-longest:] + more if more else b""
    except OSError:
        return True
    return False


def mentioned_in(data: bytes) -> bool:
    """Likewise of a content that is at hand."""
    return any(mark in data for mark in _marks_in(data))


def mentioned_in_text(text: str) -> bool:
    """Likewise of a text."""
    return any(mark in text for mark in MARKS)


def _marks_in(data: bytes) -> list[bytes]:
    """How the marks are written in a file that begins so."""
    return [mark.encode(_WIDE.get(data[:2], "ascii")) for mark in MARKS]


def read(path: str) -> bytes:
    """The bytes of a file that is not too large to be parsed.

    Raises:
        Untouchable: It cannot be read, or is no file, or too large.
    """
    most = LARGEST_NOTEBOOK if path.endswith(".ipynb") else LARGEST
    try:
        if not is_regular(path):
            raise Untouchable("is not a regular file")
        with Path(path).open("rb") as file:
            data = file.read(most + 1)
            if len(data) > most:
                raise Untouchable(f"is larger than {most:,} bytes; not parsed")
            return data
    except OSError as error:
        raise Untouchable(f"cannot be read: {error.strerror}") from None


@dataclass(frozen=True, slots=True)
class Decoded:
    """A decoded file.

    Attributes:
        text: Newlines as they are, without the byte order mark.
        encoding: As its first lines declare it.
        bom: The byte order mark it began with, or nothing.
    """

    text: str
    encoding: str
    bom: bytes

    def encoded(self, text: str) -> bytes:
        """A text as this file would hold it.

        Raises:
            Untouchable: Its encoding has no such characters.
        """
        try:
            return self.bom + text.encode(self.encoding)
        except UnicodeEncodeError as error:
            raise Untouchable(f"cannot be written in {error.encoding}") from None


def decode(data: bytes, *, declared: bool = True) -> Decoded:
    """The text of a source file.

    Args:
        data: All of it.
        declared: It is Python, whose first lines may name an encoding.

    Raises:
        Untouchable: It is not text in the encoding it should be in, or would not
            come out again as it went in.
    """
    if data[:2] in _WIDE:
        raise Untouchable("is UTF-16, which Python cannot read; save it as UTF-8")
    bom = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
    encoding = _declared(data) if declared else "utf-8"
    body = data[len(bom) :]
    try:
        text = body.decode(encoding)
        same = text.encode(encoding) == body
    except UnicodeDecodeError as error:
        line = body.count(b"\n", 0, error.start) + 1
        raise Untouchable(f"is not {encoding}", line=line) from None
    except (UnicodeError, LookupError) as error:
        raise Untouchable(f"cannot be decoded: {error}") from None
    if not same:
        raise Untouchable(f"would not stay the same to the byte in {encoding}")
    if len(text) > LARGEST and declared:
        raise Untouchable(f"has more than {LARGEST:,} characters; not parsed")
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise Untouchable("holds a NUL character", line=line)
    return Decoded(text, encoding, bom)


def _declared(data: bytes) -> str:
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    except SyntaxError as error:
        if str(error.msg).startswith("invalid or missing"):
            return "utf-8"  # and it is not that: who decodes it says where
        raise Untouchable(f"cannot be decoded: {error.msg}", line=1) from None
    return "utf-8" if encoding == "utf-8-sig" else encoding
