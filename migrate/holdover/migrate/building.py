"""From what a source holds to the rows a target takes: the loop that must be fast."""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from holdover.compat import records
from holdover.compat.errors import InvalidScope, UnportableValue
from holdover.compat.message_keys import adopted_key
from holdover.compat.scope import encode_key
from holdover.migrate.layouts.building import ShapedBuilder
from holdover.migrate.layouts.shape import named
from holdover.migrate.mapping import Mapper
from holdover.migrate.options import Prepared
from holdover.migrate.sources.base import Reject, SourceItem
from holdover.migrate.targets.base import Row

_MINUTE_MS = 60_000


class RowBuilder:
    """Builds the rows of one run.

    What does not change within a batch (the moment, the run) is made once; an
    imported record's revision is its run's id.
    """

    def __init__(
        self, mapper: Mapper, run_id: str, *, keep_ttl: bool, keep_vectors: bool = True
    ) -> None:
        self._mapper = mapper
        self._run_id = run_id
        self._keep_ttl, self._keep_vectors = keep_ttl, keep_vectors

    @classmethod
    def of(cls, prepared: Prepared, run_id: str) -> RowBuilder:
        """The builder of a run with these choices."""
        options = prepared.options
        if shape := named(options.layout):
            # Its rows go where `ShapedTarget` takes them, not where records go.
            return ShapedBuilder(prepared, shape)  # type: ignore[return-value]
        return cls(
            prepared.mapper,
            run_id,
            keep_ttl=options.ttl == "keep",
            keep_vectors=options.vectors != "embed",
        )

    def rows(self, items: Iterable[SourceItem]) -> tuple[list[Row], list[Reject]]:
        """Build what can be stored; the rest are rejects."""
        moment = records.now()
        at = records.timestamp(moment)
        labels, build = self._mapper.labels, records.build
        rows: list[Row] = []
        rejects: list[Reject] = []
        # Neighbours mostly share their session and their locator.
        last_locator, meta = None, {}
        last_kind = last_root = last_session = None
        namespace: tuple[str, ...] = ()
        for item in items:
            (
                kind,
                root,
                session,
                key,
                content,
                locator,
                _,
                created_at,
                ttl_ms,
                vector,
            ) = item
            if locator is not last_locator:
                last_locator, meta = locator, self._meta(at, locator)
            try:
                if (
                    session is not last_session
                    or root is not last_root
                    or kind is not last_kind
                ):
                    namespace = labels(kind, root, session)
                    last_kind, last_root, last_session = kind, root, session
                item_key = encode_key(key) if kind == "entity" else _key(item)
                own, ttl = meta, None
                if ttl_ms is not None or created_at is not None:
                    own, ttl = self._with_times(meta, item, moment)
                value = build(kind, content, own)
            except InvalidScope as error:
                last_session = None
                rejects.append(Reject("scope", locator, str(error)))
            except UnportableValue as error:
                rejects.append(Reject("unportable", locator, str(error)))
            else:
                if not self._keep_vectors:
                    vector = None
                rows.append(Row(namespace, item_key, value, ttl, vector))
        return rows, rejects

    def place(self, item: SourceItem) -> tuple[tuple[str, ...], str]:
        """Where an item goes; raises as `rows` rejects."""
        namespace = self._mapper.labels(item.kind, item.root, item.session)
        key = encode_key(item.key) if item.kind == "entity" else _key(item)
        return namespace, key

    def _meta(self, at: str, locator: str) -> dict[str, Any]:
        return {
            "revision": self._run_id,
            "status": "imported",
            "recorded_at": at,
            "source": {"kind": "migration", "run": self._run_id, "locator": locator},
        }

    def _with_times(
        self, meta: dict[str, Any], item: SourceItem, moment: datetime
    ) -> tuple[dict[str, Any], float | None]:
        meta = dict(meta)
        ttl = None
        if item.created_at is not None:
            meta["valid_from"] = records.timestamp(item.created_at)
        if item.ttl_ms is not None and self._keep_ttl:
            lifetime = timedelta(milliseconds=item.ttl_ms)
            meta["expires_at"] = records.timestamp(moment + lifetime)
            ttl = float(max(1, math.ceil(item.ttl_ms / _MINUTE_MS)))
        return meta, ttl


def _key(item: SourceItem) -> str:
    """The item key of the other kinds."""
    if item.kind != "message":
        return encode_key(records.key_of(item.kind, item.content))
    if item.position is None:
        raise UnportableValue("A message without a position has no place in its order.")
    try:
        return adopted_key(item.position)
    except ValueError as error:
        raise UnportableValue(str(error)) from None
