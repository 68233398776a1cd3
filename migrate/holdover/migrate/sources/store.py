"""A LangGraph store with our records as a source: the way back begins here.

Only read, by the backends of the targets, session by session and in pages.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from holdover.compat import records
from holdover.compat.errors import InvalidScope
from holdover.compat.reading import LABELS
from holdover.compat.records import KINDS, Record
from holdover.compat.rollout import in_share
from holdover.compat.scope import (
    INTERNAL_ROOT,
    decode_key,
    decode_label,
    encode_label,
    is_cut,
)
from holdover.compat.stores.backend import Namespace

if TYPE_CHECKING:
    import re

    from holdover.migrate.options import Prepared
    from holdover.migrate.targets.base import Target

_KIND_OF = {kind.label: kind for kind in KINDS.values()}
#: The first part of a scope whose template has no `{root}`, by kind.
_DEFAULT_ROOTS = {"message": "message_store"}
_DEFAULT_ROOT = "memory_store"
_PAGE = 2_000
_SPACES = 1_000
# Loose scans of the index: each page begins behind the last prefix of the one before.
_SQLITE_SPACES = (
    "SELECT DISTINCT prefix FROM store WHERE prefix > ? ORDER BY prefix LIMIT ?"
)
_POSTGRES_SPACES = (
    "SELECT DISTINCT prefix FROM store WHERE prefix > %s ORDER BY prefix LIMIT %s"
)


class Space(NamedTuple):
    """One kind of one session: where it is, and what that was made of."""

    kind: str
    root: str
    session: str
    namespace: Namespace


@dataclass
class Left:
    """Namespaces that are of no session that was asked for, by reason."""

    counts: dict[str, int] = field(default_factory=dict)

    def add(self, reason: str) -> None:
        """Count one."""
        self.counts[reason] = self.counts.get(reason, 0) + 1


class StoreSource:
    """The sessions in a store.

    Args:
        target: The store, opened to be read.
        prepared: Template, selection and session map.
    """

    label = "LangGraph store"

    def __init__(self, target: Target, prepared: Prepared) -> None:
        self._target = target
        self.address = target.address
        self._read = prepared.options.read
        self._mapper = prepared.mapper
        self._session_map = prepared.session_map
        self._pattern: re.Pattern[str] | None = None
        if self._read.session_pattern:
            import re  # noqa: PLC0415

            self._pattern = re.compile(self._read.session_pattern, re.DOTALL)
        self._named: dict[Namespace, tuple[str, str]] | None = None
        self._whole_labels: dict[str, str] = {}

    def spaces(self, left: Left | None = None) -> Iterator[Space]:
        """What there is of each session; what is left out is counted in `left`."""
        left = left or Left()
        for namespace in self._namespaces():
            if namespace[0] == INTERNAL_ROOT:
                continue
            kind = _KIND_OF.get(namespace[-1])
            if kind is None or kind.label not in self._read.kinds:
                left.add("another kind")
                continue
            names = self._names(kind.name, namespace)
            if names is None:
                left.add("another scope")
            elif not self._selects(*names):
                left.add("not selected")
            else:
                yield Space(kind.name, *names, namespace)

    def count(self, space: Space) -> int:
        """How many items it holds, expired ones included."""
        return self._target.count(space.namespace)

    def records(self, space: Space) -> Iterator[Record | None]:
        """Its records in the order of their keys; `None` for what is unreadable."""
        after = None
        while True:
            page = self._target.page(space.namespace, after, limit=_PAGE)
            for key, value in page:
                yield records.read(space.kind, key, value)
            if len(page) < _PAGE:
                return
            after = page[-1][0]

    # Namespaces.

    def _namespaces(self) -> Iterator[Namespace]:
        target: Any = self._target
        label = target.label
        if label == "SQLite store" and not target.missing:
            yield from _paged(
                lambda after: target.store.conn.execute(
                    _SQLITE_SPACES, (after, _SPACES)
                ).fetchall()
            )
        elif label == "PostgreSQL store" and not target.missing:
            yield from _paged(lambda after: _of_postgres(target, after))
        else:
            yield from sorted(target.namespaces())

    def _names(self, kind: str, namespace: Namespace) -> tuple[str, str] | None:
        """Root and session, or `None` where the template did not make the scope."""
        if self._session_map is not None or "{session}" not in self._mapper.template:
            return self._mapped().get(namespace)
        try:
            scope = [
                self._decoded(label, root=not position)
                for position, label in enumerate(namespace[:-1])
            ]
        except InvalidScope:
            return None
        names = self._mapper.read_back(scope)
        if names is None:
            return None
        roots = self._read.roots
        default = roots[0] if len(roots) == 1 else _default_root(kind)
        return names.get("root", default), names["session"]

    def _mapped(self) -> dict[Namespace, tuple[str, str]]:
        """Where the named sessions are: what a map says cannot be read back."""
        if self._named is None:
            self._named = {}
            for kind in KINDS:
                roots = self._read.roots or (_DEFAULT_ROOT, _default_root(kind))
                for session in sorted(self._read.sessions):
                    for root in roots:
                        try:
                            place = self._mapper.labels(kind, root, session)
                        except InvalidScope:
                            continue
                        # Without {root}, the default of the kind comes last.
                        self._named[place] = root, session
        return self._named

    def _decoded(self, label: str, *, root: bool) -> str:
        if not is_cut(label):
            return decode_label(label, root=root)
        whole = self._whole_labels.get(label)
        if whole is None:
            (value,) = self._target.read([(LABELS, label)])
            content = value.get("content") if value is not None else None
            whole = content.get("label") if isinstance(content, dict) else None
            if not isinstance(whole, str) or encode_label(whole, root=root) != label:
                raise InvalidScope(f"{label!r} was shortened, and is not known.")
            self._whole_labels[label] = whole
        return whole

    def _selects(self, root: str, session: str) -> bool:
        read = self._read
        if read.roots and root not in read.roots:
            return False
        named = session in read.sessions or (
            self._pattern is not None and self._pattern.fullmatch(session) is not None
        )
        if read.only_named and not named:
            return False
        return read.sample >= 1 or in_share(session, read.sample)


def name_of(record: Record) -> str:
    """The name of an entity, whoever wrote it."""
    if not record.foreign:
        return record.name
    try:
        return decode_key(record.key)
    except InvalidScope:
        return record.key


def _default_root(kind: str) -> str:
    return _DEFAULT_ROOTS.get(kind, _DEFAULT_ROOT)


def _paged(page: Any) -> Iterator[Namespace]:
    after = ""
    while rows := page(after):
        prefixes: Sequence[str] = [row[0] for row in rows]
        yield from (tuple(prefix.split(".")) for prefix in prefixes)
        after = prefixes[-1]


def _of_postgres(target: Any, after: str) -> list[Any]:
    from psycopg.rows import tuple_row  # noqa: PLC0415 - an extra

    with target.store.conn.cursor(row_factory=tuple_row) as cursor:
        found: list[Any] = cursor.execute(_POSTGRES_SPACES, (after, _SPACES)).fetchall()
    return found
