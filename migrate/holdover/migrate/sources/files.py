"""Messages that `FileChatMessageHistory` left in a file, or in a folder of files."""

from __future__ import annotations

import codecs
import locale
import os
import re
import stat
import time
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from holdover.compat.stores.address import redact_url
from holdover.migrate.errors import SourceNotFound, SourceUnavailable, UsageError
from holdover.migrate.sources.base import (
    SAMPLES,
    Blocker,
    Inventory,
    Partition,
    Reject,
    Skipped,
)
from holdover.migrate.sources.batching import Rows, make_item
from holdover.migrate.sources.json_array import (
    Damage,
    JsonArray,
    TooDeep,
    check_encoding,
    plain_encoding,
)
from holdover.migrate.sources.messages import TOO_DEEP, Unreadable, read_message
from holdover.migrate.sources.naming import Names
from holdover.migrate.sources.sniffing import (
    NAMES,
    Kind,
    begins_as_sqlite,
    is_other_json,
    kind_by_name,
    kind_of_bytes,
)
from holdover.migrate.sources.whole import WholeSource, take_inventory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdover.migrate.sources.base import Batch, ReadOptions, SourceItem

#: In how many parts a folder is read.
PARTITIONS = 8
# The classic class rewrites the whole file for each message: a reader may see a part.
_LOOKS = 4
_PAUSE = 0.05
_RECENT = 5.0
# How often this source waits for a writer before it takes files as they are.
_PATIENCE = 100
_ENDING = ".json"

# In a folder of vectors.
_CHROMA_INDEX = "data_level0.bin"
# Enough to tell a history from what is none.
_SNIFFED = 16 << 10

_SAME_SESSION = "Another file has the same session: see --session-pattern."
_NO_MATCH = "it does not match --session-pattern"
NEVER_STORED = (
    "A file history keeps messages and their order: no time, no lifetime, and no name"
    " of the session but the file's."
)


class Entry(NamedTuple):
    """What lies below the folder, or the one file.

    `problem` is why it is not read, where that is known from its name alone.
    """

    place: str
    path: str
    session: str
    problem: Reject | Skipped | None = None


class FileHistories(WholeSource):
    """One file history, or all of them below a folder.

    Files come in the order of their names, so a file is read whole before the next.

    Args:
        address: The path, or `file:///PATH`.
        path: The file or folder.
        options: How names are read; the field `encoding` names that of the files.
    """

    def __init__(self, address: str, path: Path, options: ReadOptions) -> None:
        self.address = redact_url(address)
        self._path, self._options = path, options
        roots = options.roots_or("message_store")
        if len(roots) > 1:
            raise UsageError(
                "File histories have one root: nothing in a file tells another.",
                hint="Name one --root.",
            )
        self._root = roots[0]
        self._encoding = options.field("encoding", "") or None
        if self._encoding:
            check_encoding(self._encoding)
        self._pattern = _session_pattern(options.session_pattern)
        if self._pattern:  # whatever it matches is named
            options = replace(options, session_pattern=None, only_named=False)
        self._names = Names(options)
        self._patience = _PATIENCE
        self._many = path.is_dir()
        self.label = "Folder of file histories" if self._many else "File history"

    def inventory(
        self,
        *,
        others: bool = False,  # noqa: ARG002 - what is no history is listed as skipped
    ) -> Inventory:
        """Read every file once; raises a `SourceError` if the path cannot be read."""
        found = Inventory(self.address)
        self._check_there()
        if not self.partitions():
            return found
        self._look_at_names(found)
        batches = (
            batch._replace(skipped={})
            for partition in self.partitions()
            for batch in self.read(partition)
        )
        take_inventory(found, batches)
        for group in found.groups:
            group.root = self._root
        if found.groups:
            found.never_stored.append(NEVER_STORED)
        return found

    def partitions(self) -> list[Partition]:
        """Shares of a folder's sessions, by hash; or the one file."""
        if "messages" not in self._options.kinds:
            return []
        if not self._many:
            return [Partition("messages-file", aligned=True)]
        return [
            Partition(f"messages-files-{share}", {"share": share}, aligned=True)
            for share in range(PARTITIONS)
        ]

    def read(
        self, partition: Partition, cursor: Any = None, *, size: int = 10_000
    ) -> Iterator[Batch]:
        """Read files by name from behind the one that the cursor names."""
        rows = Rows()
        done = cursor
        for entry, problem in self._share(partition):
            if cursor is not None and order_of(entry.place) <= order_of(cursor):
                continue
            if isinstance(problem, Skipped):
                rows.skipped["not-a-history"] += 1
            for one in [problem] if problem else self._messages(entry):
                if not isinstance(one, Skipped):
                    rows.add(one)
                if rows.count >= size or rows.full:
                    yield rows.batch(done)
                    rows = Rows()
            done = text_of(entry.place)
        if rows.count:
            yield rows.batch(done)

    def files(self) -> Iterator[tuple[str, str, str]]:
        """Each file that is read: its session, its path, and its own locator."""
        for partition in self.partitions():
            for entry, problem in self._share(partition):
                if problem is None:
                    yield entry.session, entry.path, locator_of(entry)

    def _share(
        self, partition: Partition
    ) -> Iterator[tuple[Entry, Reject | Skipped | None]]:
        """The files of a partition, each with why it is not read."""
        seen: set[str] = set()
        share = partition.spec.get("share")
        for entry in self._entries():
            if share is None or _share_of(entry) == share:
                problem = entry.problem or self._no_history(entry)
                if problem is None and entry.session in seen:
                    problem = Reject("same-session", locator_of(entry), _SAME_SESSION)
                if problem is None:
                    seen.add(entry.session)
                yield entry, problem

    def _messages(self, entry: Entry) -> Iterator[SourceItem | Reject]:
        """What a file holds, in order."""
        locator = f"file:{text_of(Path(entry.path).name)}#"
        session, root = entry.session, self._root
        try:
            for position, raw in self._elements(entry.path):
                if isinstance(raw, Damage):
                    yield Reject(raw.reason, locator_of(entry), raw.detail)
                    return
                content = TOO_DEEP if isinstance(raw, TooDeep) else read_message(raw)
                if isinstance(content, Unreadable):
                    where = f"{locator_of(entry)}#{position}"
                    yield Reject(content.reason, where, content.detail)
                else:
                    at = f"{locator}{position}"
                    named = ("message", root, session, "", content, at, position)
                    yield make_item((*named, None, None, None))
        except OSError as error:
            if not self._many:
                raise self._unreadable(error) from None
            yield not_read(entry, error)

    def _elements(self, path: str) -> Iterator[tuple[int, Any]]:
        """The elements of a file with their places; at last its `Damage`, if any.

        Where its writer may have been at work, it is looked at again: its writer only
        adds, so what was read stands.
        """
        read, damage = 0, None
        for look in range(_LOOKS):
            if look:
                time.sleep(_PAUSE)
            try:
                with Path(path).open("rb") as file:
                    opened = os.fstat(file.fileno())
                    array = JsonArray(file, self._encoding or _of_locale(file))
                    for place, element in enumerate(array):
                        if place >= read:
                            read = place + 1
                            yield place, element
            except FileNotFoundError:
                if look:
                    return
                raise
            damage = array.damage
            if damage is None and not array.empty:
                return
            if not self._is_being_written(path, opened):
                break
        if damage is not None:
            yield read, damage

    def _is_being_written(self, path: str, opened: os.stat_result) -> bool:
        """Whether another look is worth its wait."""
        if self._patience <= 0:
            return False
        self._patience -= 1
        try:
            now = Path(path).stat()
        except OSError:
            return True
        return (now.st_ino, now.st_size, now.st_mtime_ns) != (
            opened.st_ino,
            opened.st_size,
            opened.st_mtime_ns,
        ) or abs(time.time() - now.st_mtime) < _RECENT

    def _entries(self) -> Iterator[Entry]:
        """What is to be read, and what cannot be, in the order of the names."""
        if not self._many:
            name = self._path.name
            yield from self._selected(Entry(name, str(self._path), ""))
            return
        try:
            names = os.scandir(self._path)
        except OSError as error:
            raise self._unreadable(error) from None
        names.close()
        status = self._path.stat()
        for entry in _walk(str(self._path), "", {(status.st_dev, status.st_ino)}):
            if entry.problem is not None:
                yield entry
            else:
                yield from self._selected(entry)

    def _selected(self, entry: Entry) -> Iterator[Entry]:
        """The entry with its session, unless it is not to be read."""
        session: str | None = entry.place.rpartition("/")[2].removesuffix(_ENDING)
        if self._pattern:
            match = self._pattern.fullmatch(entry.place)
            session = match["session"] if match else None
            if session is None:
                yield entry._replace(problem=Skipped(text_of(entry.place), _NO_MATCH))
                return
        if session is not None and self._names.selects(session):
            yield entry._replace(session=session)

    def _no_history(self, entry: Entry) -> Reject | Skipped | None:
        """Why a file of a folder is not read; a file that is named is."""
        if not self._many:
            return None
        try:
            with Path(entry.path).open("rb") as file:
                head = file.read(_SNIFFED)
        except OSError as error:
            return not_read(entry, error)
        kind = kind_by_name(Path(entry.path))
        kind = kind or kind_of_bytes(head, entry.path.lower())
        if kind is Kind.HISTORIES and is_other_json(head, whole=len(head) < _SNIFFED):
            return Skipped(text_of(entry.place), "its JSON is of another form")
        if kind is Kind.HISTORIES or not head:
            return None
        plain = kind is Kind.SQLITE and not begins_as_sqlite(head)
        what = "no file history" if plain else NAMES[kind]
        return Skipped(text_of(entry.place), f"it is {what}")

    def _look_at_names(self, found: Inventory) -> None:
        """List what is no history, and sessions that several files have."""
        first: dict[str, str] = {}
        shared: list[tuple[str, str]] = []
        number = 0
        for entry in self._entries():
            problem = entry.problem or self._no_history(entry)
            if isinstance(problem, Skipped):
                found.skipped_count += 1
                if len(found.skipped) < SAMPLES:
                    found.skipped.append(problem)
            elif problem is None:
                other = first.setdefault(entry.session, entry.place)
                if other != entry.place:
                    number += 1
                    shared.append((other, entry.place))
                    del shared[1:]
        if shared:
            one, other = map(text_of, shared[0])
            found.blockers.append(
                Blocker(
                    "same-session",
                    f"{number:,} {'file has' if number == 1 else 'files have'} the "
                    "session of another file, for example "
                    f"{one} and {other}",
                    "--session-pattern '(?P<session>.+)\\.json', or another group "
                    "`session` of the path",
                )
            )

    def _check_there(self) -> None:
        shown = redact_url(text_of(str(self._path)))
        if not self._path.exists():
            raise SourceNotFound(
                f"There is no file or folder {shown}.", hint="Check the path."
            )
        if not (self._path.is_dir() or self._path.is_file()):
            raise SourceNotFound(
                f"{shown} is neither a file nor a folder.",
                hint="A source is read several times: write it to a file first.",
            )

    def _unreadable(self, error: OSError) -> SourceUnavailable:
        return SourceUnavailable(
            f"{redact_url(text_of(str(self._path)))} cannot be read: {error.strerror}.",
            hint="Check its rights.",
        )


def _walk(folder: str, below: str, reached: set[tuple[int, int]]) -> Iterator[Entry]:
    """Everything below a folder, links followed, each folder once."""
    # Folders may lie deeper than calls.
    levels = [_entries_in(folder, below)]
    while levels:
        entry = next(levels[-1], None)
        if entry is None:
            levels.pop()
            continue
        one, status = entry
        if status is None:
            yield one
        elif stat.S_ISDIR(status.st_mode):
            place = (status.st_dev, status.st_ino)
            if place in reached:
                why = "the same folder is read elsewhere"
                yield one._replace(problem=Skipped(text_of(one.place), why))
                continue
            reached.add(place)
            if (Path(one.path) / _CHROMA_INDEX).exists():
                why = "it is the index of a Chroma database"
                yield one._replace(problem=Skipped(text_of(one.place), why))
                continue
            levels.append(_entries_in(one.path, f"{one.place}/"))
        elif stat.S_ISREG(status.st_mode):
            yield one
        else:
            why = "it is no regular file"
            yield one._replace(problem=Skipped(text_of(one.place), why))


def _entries_in(
    folder: str, below: str
) -> Iterator[tuple[Entry, os.stat_result | None]]:
    """What a folder holds, by name, with its status; `None` if `problem` says why."""
    try:
        with os.scandir(folder) as found:
            entries = sorted(found, key=lambda entry: text_of(entry.name))
    except OSError as error:
        entry = Entry(below.rstrip("/"), folder, "")
        yield entry._replace(problem=not_read(entry, error)), None
        return
    for one in entries:
        entry = Entry(below + one.name, one.path, "")
        try:
            yield entry, one.stat()
        except OSError as error:
            if one.is_symlink() or not isinstance(error, FileNotFoundError):
                yield entry._replace(problem=not_read(entry, error)), None


def _session_pattern(regex: str | None) -> re.Pattern[str] | None:
    """The pattern, if it picks sessions from paths."""
    if regex is None:
        return None
    try:
        pattern = re.compile(regex, re.DOTALL)
    except re.error as error:
        raise UsageError(f"--session-pattern is not valid: {error}.") from error
    return pattern if "session" in pattern.groupindex else None


def _of_locale(file: BinaryIO) -> str | None:
    """The locale's encoding, of a file that is in it and not in UTF-8."""
    name = codecs.lookup(locale.getencoding()).name
    if name in ("utf-8", "ascii"):
        return None
    start, plain = plain_encoding(file.read(_SNIFFED))
    file.seek(start)
    decoder = codecs.getincrementaldecoder(plain)()
    try:
        while raw := file.read(1 << 20):
            decoder.decode(raw)
    except UnicodeDecodeError:
        return name
    finally:
        file.seek(0)
    return None


def not_read(entry: Entry, error: OSError) -> Reject:
    """The reject of what the system does not let be read."""
    detail = f"It cannot be read: {error.strerror}."
    return Reject("unreadable", locator_of(entry), detail)


def _share_of(entry: Entry) -> int:
    """In which partition it is; files of one session are in the same."""
    digest = sha256(entry.session.encode("utf-8", "surrogatepass")).digest()
    return digest[0] % PARTITIONS


def order_of(place: str) -> list[str]:
    """What places are sorted by: folder by folder."""
    return text_of(place).split("/")


def locator_of(entry: Entry) -> str:
    """Where a reject is: the path below the folder, which finds it."""
    return f"file:{text_of(entry.place)}"


def text_of(name: str) -> str:
    """A name for people and the ledger: bytes that are no UTF-8 as escapes."""
    return name.encode("utf-8", "backslashreplace").decode()
