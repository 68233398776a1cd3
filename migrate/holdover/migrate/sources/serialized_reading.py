"""Reads a file that holds a serialized object: JSON, or a pickle.

A file is read whole: what is in it is one object. How much memory that takes is
estimated first and bounded, as a short text can say a lot (`[[],[],…`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from holdover.compat.legacy.files import encodings
from holdover.migrate.errors import PickleTooLarge, UnreadablePickle
from holdover.migrate.sources.messages import Unreadable
from holdover.migrate.unpickling import DEFAULT, load_all, read_bounded

__all__ = ["roots_of_json", "roots_of_pickle"]

_MOST = 256 << 20
_MEMORY = DEFAULT.memory
# About what Python takes for each of these in a JSON text.
_WEIGHTS = ((b"{", 100), (b"[", 72), (b'"', 40), (b",", 40))

TOO_LARGE = Unreadable("too-large", "The file is larger than what is read of one.")
NOT_JSON = Unreadable("not-json", "The file is not valid JSON.")
TOO_DEEP = Unreadable("too-deep", "The JSON is nested too deeply.")
NOT_TEXT = Unreadable("not-utf8", "The text is in no encoding that is known here.")


def roots_of_json(path: Path, encoding: str | None) -> Iterator[Any]:
    """What a file of JSON holds, or why it cannot be read."""
    with path.open("rb") as file:
        raw = read_bounded(file, _MOST)
    if len(raw) > _MOST or _weight(raw) > _MEMORY:
        yield TOO_LARGE
        return
    why = NOT_TEXT
    for name in encodings(raw, encoding):
        try:
            text = raw.decode(name)
        except (UnicodeDecodeError, LookupError):
            continue
        try:
            yield json.loads(text)
        except RecursionError:
            why = TOO_DEEP
        except ValueError:
            why = NOT_JSON
            continue
        else:
            return
        break
    yield why


def roots_of_pickle(path: Path) -> Iterator[Any]:
    """Each object that was pickled into a file; at last, why the rest is not read."""
    with path.open("rb") as file:
        try:
            yield from load_all(file)
        except PickleTooLarge as error:
            yield Unreadable("too-large", error.args[0])
        except UnreadablePickle as error:
            yield Unreadable("damaged-pickle", error.args[0])


def _weight(raw: bytes) -> int:
    # A text that has one emoji takes four bytes for each character.
    return 4 * len(raw) + sum(raw.count(sign) * weight for sign, weight in _WEIGHTS)
