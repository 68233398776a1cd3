"""Counts by session, for the report: on local disk, so that memory stays flat."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

#: How a record of the source compares with the target, as `VerifyReport` names it.
CLASSES = ("equal", "changed", "expired", "missing", "different")
_BUFFERED = 50_000


class SessionCounts(NamedTuple):
    """One kind of one session; `scope` are the labels as the target has them."""

    scope: tuple[str, ...]
    kind: str
    counts: dict[str, int]

    @property
    def items(self) -> int:
        """How many records were compared."""
        return sum(self.counts.values())


class Tally:
    """Adds up, for each session and kind, how its records compare."""

    def __init__(self) -> None:
        self._conn = sqlite3.connect("", isolation_level=None)
        columns = ", ".join(f"{name} INTEGER NOT NULL DEFAULT 0" for name in CLASSES)
        self._conn.execute(f"CREATE TABLE tally (place TEXT PRIMARY KEY, {columns})")
        self._new: Counter[tuple[tuple[str, ...], str]] = Counter()

    def add(self, namespace: tuple[str, ...], name: str, number: int = 1) -> None:
        """Count records of a namespace, whose last label is the kind's."""
        self._new[namespace, name] += number
        if len(self._new) >= _BUFFERED:
            self._settle()

    def _settle(self) -> None:
        self._conn.execute("BEGIN")
        for (namespace, name), number in self._new.items():
            self._conn.execute(
                f"INSERT INTO tally (place, {name}) VALUES (?, ?) "  # noqa: S608 - ours
                f"ON CONFLICT (place) DO UPDATE SET {name} = {name} + excluded.{name}",
                (json.dumps(namespace), number),
            )
        self._conn.execute("COMMIT")
        self._new.clear()

    def count(self) -> int:
        """How many sessions and kinds there are."""
        self._settle()
        number: int = self._conn.execute("SELECT count(*) FROM tally").fetchone()[0]
        return number

    def by_root(self) -> list[SessionCounts]:
        """The sums of each first label and kind."""
        sums: dict[tuple[str, str], Counter[str]] = {}
        for one in self._selected("ORDER BY place"):
            root = one.scope[0] if one.scope else ""
            sums.setdefault((root, one.kind), Counter()).update(one.counts)
        return [
            SessionCounts((root,), kind, {name: counts[name] for name in CLASSES})
            for (root, kind), counts in sums.items()
        ]

    def worst(self, limit: int) -> list[SessionCounts]:
        """Sessions with something missing or different first, then the largest."""
        total = " + ".join(CLASSES)
        return list(
            self._selected(
                f"ORDER BY missing + different DESC, {total} DESC, place LIMIT {limit}"
            )
        )

    def _selected(self, order: str) -> Iterable[SessionCounts]:
        self._settle()
        names = ", ".join(CLASSES)
        rows = self._conn.execute(f"SELECT place, {names} FROM tally {order}")  # noqa: S608 - ours
        for place, *numbers in rows:
            *scope, kind = json.loads(place)
            counts = dict(zip(CLASSES, numbers, strict=True))
            yield SessionCounts(tuple(scope), kind, counts)

    def close(self) -> None:
        """Give the disk space back."""
        self._conn.close()
