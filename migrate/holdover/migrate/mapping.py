"""From a root and a session of the source to a namespace of the target."""

from __future__ import annotations

import csv
import io
import json
import re
import string
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from holdover.compat.errors import InvalidScope
from holdover.compat.records import KINDS
from holdover.compat.scope import Scope
from holdover.migrate.errors import UsageError

DEFAULT_TEMPLATE = "{root}/{session}"
_BUILT_IN = frozenset({"root", "session"})
_CACHED = 100_000


class SessionMap:
    """What a `--session-map` file says of each session: columns for the template."""

    def __init__(self, rows: Mapping[tuple[str, str], Mapping[str, str]]) -> None:
        self._rows = rows
        self.columns = frozenset(name for row in rows.values() for name in row)

    @property
    def sessions(self) -> frozenset[str]:
        """The sessions it names."""
        return frozenset(session for session, _ in self._rows)

    def columns_of(self, session: str, label: str) -> Mapping[str, str]:
        """The columns of a session, for one kind's label or for all of them."""
        row = self._rows.get((session, label)) or self._rows.get((session, ""))
        return row or {}

    def canonical(self) -> Any:
        """The same for the same content, in any order: for the run's fingerprint."""
        return sorted([*key, sorted(row.items())] for key, row in self._rows.items())

    @classmethod
    def load(cls, path: str) -> SessionMap:
        """Read a CSV file with a header, or JSON: a list of objects with `session`.

        Raises:
            UsageError: The file is missing, not of that form, or names a session
                twice.
        """
        try:
            text = Path(path).read_bytes().decode("utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(
                f"The session map {path} cannot be read: {error}.",
                hint="Give a UTF-8 CSV or JSON file.",
            ) from error
        try:
            rows = json.loads(text) if text.lstrip()[:1] in "[{" else _csv_rows(text)
        except (ValueError, csv.Error) as error:
            raise UsageError(
                f"The session map {path} is not valid: {error}."
            ) from error
        if isinstance(rows, dict):
            rows = [
                {**row, "session": session} if isinstance(row, dict) else row
                for session, row in rows.items()
            ]
        return cls(_indexed(rows, path))


def _csv_rows(text: str) -> list[dict[str, str]]:
    # Not split into lines here: a quoted session may hold a line break.
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    rows = []
    for row in reader:
        if None in row:
            raise csv.Error(f"line {reader.line_num} has more columns than the header")
        rows.append(row)
    return rows


def _indexed(rows: Any, path: str) -> dict[tuple[str, str], dict[str, str]]:
    found: dict[tuple[str, str], dict[str, str]] = {}
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, dict) or not isinstance(row.get("session"), str):
            raise UsageError(
                f"Row {number} of the session map {path} names no session.",
                hint="The first line of a CSV file is its header: session,…",
            )
        key = (row["session"], row.get("kind") or "")
        if key in found:
            raise UsageError(f"The session map {path} names {key[0]!r} twice.")
        found[key] = {
            name: str(value)
            for name, value in row.items()
            if name not in ("session", "kind") and value is not None
        }
    return found


class Mapper:
    """Turns `(kind, root, session)` into encoded labels; the template is checked first.

    Args:
        template: Labels separated by `/`, each with `{names}` in it.
        session_map: Where more names may come from.
        session_pattern: A regular expression whose named groups are names, too.

    Raises:
        UsageError: The template uses a name that nothing provides.
    """

    def __init__(
        self,
        template: str = DEFAULT_TEMPLATE,
        session_map: SessionMap | None = None,
        session_pattern: str | None = None,
    ) -> None:
        self.template = template
        self._map = session_map
        self._pattern = _compiled(session_pattern)
        self._labels = [_parsed(label) for label in template.split("/")]
        known = set(_BUILT_IN)
        known |= session_map.columns if session_map else set()
        known |= set(self._pattern.groupindex) if self._pattern else set()
        used = {name for label in self._labels for _, name in label if name}
        if unknown := sorted(used - known):
            raise UsageError(
                f"The template {template!r} uses {{{unknown[0]}}}, which nothing "
                "provides.",
                hint=f"Known here: {', '.join(sorted(known))}.",
            )
        self._readers: list[re.Pattern[str]] | None = None
        self._cache: dict[tuple[str, str, str], tuple[str, ...]] = {}
        self.cut_labels: dict[str, str] = {}

    @property
    def injective(self) -> bool:
        """Whether two sessions of the source cannot meet in one namespace."""
        names = [[name for _, name in label if name] for label in self._labels]
        literal = all(not text for label in self._labels for text, _ in label)
        return literal and sorted(names) == [["root"], ["session"]]

    def labels(self, kind: str, root: str, session: str) -> tuple[str, ...]:
        """The whole namespace of a kind.

        Raises:
            InvalidScope: It would be too long, or the map does not name the session.
        """
        asked = (kind, root, session)
        found = self._cache.get(asked)
        if found is None:
            if len(self._cache) > _CACHED:
                self._cache.clear()
            found = self._cache[asked] = self._mapped(kind, root, session)
        return found

    def scope(self, kind: str, root: str, session: str) -> Scope:
        """The raw scope of a session."""
        label = KINDS[kind].label
        names = {"root": root, "session": session}
        if self._pattern and (match := self._pattern.fullmatch(session)):
            names |= {n: v for n, v in match.groupdict().items() if v is not None}
        if self._map:
            names |= self._map.columns_of(session, label)
        try:
            return Scope(
                *(
                    "".join(text + (names[name] if name else "") for text, name in one)
                    for one in self._labels
                )
            )
        except KeyError as error:
            raise InvalidScope(
                f"Nothing gives {{{error.args[0]}}} for this session.",
                hint="Add it to the session map.",
            ) from None

    def read_back(self, scope: Sequence[str]) -> dict[str, str] | None:
        """The names that a raw scope was made of; `None` if it was not made so.

        Raises:
            UsageError: A label has two names, so that where one ends is not known.
        """
        if self._readers is None:
            self._readers = [_reader(label, self.template) for label in self._labels]
        if len(scope) != len(self._readers):
            return None
        found: dict[str, str] = {}
        for reader, label in zip(self._readers, scope, strict=True):
            match = reader.fullmatch(label)
            if match is None:
                return None
            for name, value in match.groupdict().items():
                if found.setdefault(name, value) != value:
                    return None
        return found

    def _mapped(self, kind: str, root: str, session: str) -> tuple[str, ...]:
        scope = self.scope(kind, root, session)
        self.cut_labels |= scope.cut_labels()
        return (*scope.encoded(), KINDS[kind].label)


def _parsed(label: str) -> list[tuple[str, str | None]]:
    """Literal text and the name that follows it, in turn."""
    try:
        parts = list(string.Formatter().parse(label))
    except ValueError as error:
        raise UsageError(
            f"The template's label {label!r} is not valid: {error}."
        ) from error
    found = []
    for text, name, form, conversion in parts:
        if name is not None and (not name.isidentifier() or form or conversion):
            raise UsageError(
                f"The template's label {label!r} is not valid.",
                hint="Write names in braces, for example {root}/{session}.",
            )
        found.append((text, name))
    return found or [("", None)]


def _reader(label: list[tuple[str, str | None]], template: str) -> re.Pattern[str]:
    names = [name for _, name in label if name]
    if len(names) > 1:
        raise UsageError(
            f"The template {template!r} has two names in one label, so that sessions "
            "cannot be read back from their scopes.",
            hint="Name them in a --session-map.",
        )
    text = "".join(
        re.escape(text) + (f"(?P<{name}>.*)" if name else "") for text, name in label
    )
    return re.compile(text, re.DOTALL)


def _compiled(pattern: str | None) -> re.Pattern[str] | None:
    if pattern is None:
        return None
    try:
        return re.compile(pattern, re.DOTALL)
    except re.error as error:
        raise UsageError(f"--session-pattern is not valid: {error}.") from error
