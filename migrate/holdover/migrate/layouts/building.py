"""From what a source holds to items in another program's form."""

from __future__ import annotations

from collections.abc import Iterable

from holdover.compat import records
from holdover.compat.errors import InvalidScope
from holdover.compat.stores.backend import Pair
from holdover.migrate.layouts.shape import Shape, ShapedRow, mapper_of
from holdover.migrate.mapping import Mapper
from holdover.migrate.options import Prepared
from holdover.migrate.sources.base import Reject, SourceItem

_LONGEST_NAMESPACE = 1_000
#: No label of so few characters has to be shortened.
_SHORT = 16


class ShapedBuilder:
    """Does for a layout what `RowBuilder` does for records."""

    def __init__(self, prepared: Prepared, shape: Shape) -> None:
        self.shape = shape
        self._mapper: Mapper = mapper_of(prepared, shape)
        self._cut_labels = prepared.mapper.cut_labels

    def rows(self, items: Iterable[SourceItem]) -> tuple[list[ShapedRow], list[Reject]]:
        """Build what can be stored; the rest are rejects."""
        moment = records.now()
        rows: list[ShapedRow] = []
        rejects: list[Reject] = []
        for item in items:
            try:
                namespace, key = self.place(item)
            except InvalidScope as error:
                rejects.append(Reject("scope", item.locator, str(error)))
                continue
            value = self.shape.value(item, moment)
            content = self.shape.hash_of(value)
            rows.append(ShapedRow(namespace, key, value, item.locator, content))
        return rows, rejects

    def place(self, item: SourceItem) -> Pair:
        """Where an item goes; raises as `rows` rejects."""
        # What it says of a session does not depend on which of its records asks.
        kind = item.kind if item.kind in records.KINDS else "entity"
        scope = self._mapper.scope(kind, item.root, item.session)
        namespace = self.shape.namespace(scope)
        if any(len(label) > _SHORT for label in scope):
            self._cut_labels |= scope.cut_labels()
        if len(".".join(namespace).encode()) > _LONGEST_NAMESPACE:
            raise InvalidScope("The namespace of this session would be too long.")
        return namespace, self.shape.key(item)
