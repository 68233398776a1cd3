"""A folder of files as `FileChatMessageHistory` reads them: one JSON array a session.

A file gets its name when it is complete. The mark is a hidden file in the folder.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from holdover.compat.errors import AddressError
from holdover.migrate.classic.base import Entry, Form, Refusal, unstorable
from holdover.migrate.classic.messages import as_json
from holdover.migrate.errors import TargetError
from holdover.migrate.sources.store import Space

_NO_NAME = Refusal("file-name", "No file can have that name.")
_SHARED = Refusal("file-shared", "Another session has the same file.")
_MARK = ".holdover-way-back"
_PART = ".holdover-part"
_SUFFIX = ".json"
_LONGEST = 255
_SHOWN = 5


class FilesForm(Form):
    """A folder that is empty, or not there yet."""

    label = "folder of files"
    kinds = frozenset({"message"})

    def __init__(self, path: Path, shown: str) -> None:
        super().__init__(shown)
        self._folder = path.resolve()
        if self._folder.exists() and not self._folder.is_dir():
            raise AddressError(f"{shown} is not a folder.", hint="Name a folder.")
        if not self._folder.parent.is_dir():
            raise AddressError(
                f"The folder {self._folder.parent} does not exist.",
                hint="Create it first.",
            )
        #: Which session each file is of; some systems fold the case of names.
        self._names: dict[str, Space] = {}

    def begun(self) -> str | None:
        """See `Form.begun`."""
        try:
            return (self._folder / _MARK).read_text(encoding="utf-8")
        except FileNotFoundError:
            return None

    def taken(self, roots: Iterable[tuple[str, str]]) -> list[str]:  # noqa: ARG002
        """The files in the folder."""
        if not self._folder.exists():
            return []
        names = sorted(path.name for path in self._folder.iterdir())
        more = len(names) - _SHOWN
        return names[:_SHOWN] + ([f"{more:,} more"] if more > 0 else [])

    def refuses(self, space: Space) -> Refusal | None:
        """A session is the name of a file here."""
        name = file_name(space.session)
        if name is None:
            return _NO_NAME
        owner = self._names.setdefault(name.casefold(), space)
        return None if owner == space else _SHARED

    def begin(self, mark: str) -> None:
        """See `Form.begin`."""
        self._folder.mkdir(mode=0o700, exist_ok=True)
        (self._folder / _MARK).write_text(mark, encoding="utf-8")

    def holds(self, space: Space) -> bool:
        """See `Form.holds`."""
        return self._file(space).exists()

    def write(self, space: Space, entries: Iterable[Entry]) -> int:
        """See `Form.write`."""
        part = self._folder / _PART
        written = 0
        # What was moved is nobody else's to read.
        opened = os.open(part, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
        with os.fdopen(opened, "w", encoding="ascii") as out:
            out.write("[")
            for entry in entries:
                out.write((", " if written else "") + as_json(entry.value))
                written += 1
            out.write("]")
        part.replace(self._file(space))
        return written

    def messages(self, space: Space) -> Iterator[Any]:
        """See `Form.messages`."""
        try:
            text = self._file(space).read_text(encoding="ascii")
        except FileNotFoundError:
            return
        yield from json.loads(text)

    def finish(self) -> None:
        """See `Form.finish`."""
        (self._folder / _PART).unlink(missing_ok=True)
        os.sync()
        (self._folder / _MARK).unlink(missing_ok=True)

    def _file(self, space: Space) -> Path:
        name = file_name(space.session)
        if name is None:
            raise TargetError("A session has no name that a file can have.")
        return self._folder / name

    def close(self) -> None:
        """Nothing is open."""


def file_name(session: str) -> str | None:
    """The file of a session: of one that is a path, its last part."""
    name = PurePosixPath(session).name if "/" in session else session
    if not name.endswith(_SUFFIX):
        name += _SUFFIX
    if name == _SUFFIX or "\x00" in name or unstorable(name):
        return None
    return None if len(name.encode()) > _LONGEST else name
