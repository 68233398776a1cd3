"""Lines of a file, one by one, in flat memory, whether it is compressed or not."""

from __future__ import annotations

import gzip
import json
import zlib
from typing import TYPE_CHECKING, Any, NamedTuple

from holdover.compat.stores.address import redact_url
from holdover.migrate.errors import SourceNotFound, SourceUnavailable
from holdover.migrate.sources.json_array import MOST
from holdover.migrate.sources.messages import Unreadable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import BinaryIO

_GZIP = b"\x1f\x8b"
_MARK = b"\xef\xbb\xbf"
_PIECE = 1 << 20

NOT_UTF8 = Unreadable("not-utf8", "The line is not UTF-8.")
NOT_JSON = Unreadable("not-json", "The line is not a JSON object.")
TOO_DEEP = Unreadable("too-deep", "The line is nested too deeply.")
TOO_LARGE = Unreadable("too-large", "The line is larger than any store takes.")
CUT_OFF = Unreadable("truncated", "The compressed file is damaged or ends here.")


class Line(NamedTuple):
    """A line that is not blank; `value` is an object, or why there is none."""

    number: int
    value: dict[str, Any] | Unreadable
    size: int


def check_file(path: Path) -> None:
    """Refuse what cannot be read several times.

    Raises:
        SourceNotFound: It is not there, or not a file.
    """
    if not path.is_file():
        shown = redact_url(str(path))
        if path.exists():
            raise SourceNotFound(
                f"{shown} is not a regular file.",
                hint="A source is read several times: write it to a file first.",
            )
        raise SourceNotFound(f"There is no file {shown}.", hint="Check the path.")


def lines(path: Path) -> Iterator[Line]:
    """Read the lines of a file.

    Raises:
        SourceUnavailable: It cannot be read.
    """
    try:
        with path.open("rb") as file:
            zipped = file.read(2) == _GZIP
            file.seek(0)
            if zipped:
                with gzip.GzipFile(fileobj=file) as opened:
                    yield from _parsed(opened)  # type: ignore[arg-type]
            else:
                yield from _parsed(file)
    except OSError as error:
        raise SourceUnavailable(
            f"{redact_url(str(path))} cannot be read: {error.strerror}.",
            hint="Check its rights.",
        ) from None


def _parsed(file: BinaryIO) -> Iterator[Line]:
    number = 0
    while True:
        number += 1
        try:
            raw = file.readline(MOST)
            if not raw:
                return
            if len(raw) >= MOST and not raw.endswith(b"\n"):
                _pass_over(file)
                yield Line(number, TOO_LARGE, len(raw))
                continue
        except (EOFError, zlib.error, gzip.BadGzipFile):
            yield Line(number, CUT_OFF, 0)
            return
        if number == 1:
            raw = raw.removeprefix(_MARK)
        if raw.strip():
            yield Line(number, _value(raw), len(raw))


def _pass_over(file: BinaryIO) -> None:
    """Read to the end of the line."""
    while (raw := file.readline(_PIECE)) and not raw.endswith(b"\n"):
        pass


def _value(raw: bytes) -> dict[str, Any] | Unreadable:
    try:
        value = json.loads(raw.decode())
    except UnicodeDecodeError:
        return NOT_UTF8
    except ValueError:
        return NOT_JSON
    except RecursionError:
        return TOO_DEEP
    return value if isinstance(value, dict) else NOT_JSON
