"""Vectors for the bulk paths: kept or embedded, and named as the store names them.

A vector that the source holds is kept where it has the index's dimensions and stands
for the one text that the index would embed. That it came from the index's model cannot
be seen in it, so a few are compared with what the model makes of their texts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from langgraph.store.base import get_text_at_path, tokenize_path

from holdover.compat.records import KINDS
from holdover.compat.stores.backend import Namespace
from holdover.migrate.conflicts import WRITES, Decision, OnConflict, settle
from holdover.migrate.errors import UsageError
from holdover.migrate.targets.resolving import Resolver
from holdover.migrate.targets.stored_vectors import Vector

if TYPE_CHECKING:
    from holdover.migrate.targets.base import Row, Target

#: What becomes of vectors that have the index's dimensions: kept where a few of them
#: are what the model makes, kept without a question, or made anew.
Vectors = Literal["auto", "keep", "embed"]
#: Rows in one transaction where texts are embedded: what a kill loses was paid for.
EMBEDDED_AT_ONCE = 500
_BATCH = 256
_COMPARED = 3
# One model gives nearly the same twice; two have nothing in common.
_ALIKE = 0.9


def texts_of(value: Any) -> list[tuple[str, str]]:
    """The texts a record's kind indexes, with the field names the store gives them."""
    found = []
    for path in KINDS[value["kind"]].index:
        texts = get_text_at_path(value, tokenize_path(path))
        for at, text in enumerate(texts):
            found.append((f"{path}.{at}" if len(texts) > 1 else path, text))
    return found


def index_dims(target: Target) -> int | None:
    """The dimensions of the index a target was opened with."""
    config: Any = getattr(target.store, "index_config", None)
    return config.get("dims") if config else None


def kept(row: Row, dims: int | None) -> Vector | None:
    """The vector a row brings, if it can stand in the index as it is."""
    if row.vector is None or len(row.vector) != dims:
        return None
    texts = texts_of(row.value)
    # It was made of the whole text, and has to be found by that.
    if len(texts) != 1 or texts[0][1] != row.value["content"].get("text"):
        return None
    return texts[0][0], row.vector


def embed(
    target: Target, batch: Sequence[Row], policy: OnConflict
) -> dict[tuple[Namespace, str], list[Vector]]:
    """The vectors of what will be written as current items; each text embedded once."""
    dims = index_dims(target)
    found: dict[tuple[Namespace, str], list[Vector]] = {}
    wanted: list[tuple[tuple[Namespace, str], str, str]] = []
    for one in Resolver(target).decide(batch):
        decision = settle(one.decision, policy)
        if decision in WRITES and decision is not Decision.VERSION:
            place = (one.row.namespace, one.row.key)
            vector = kept(one.row, dims)
            if vector is not None:
                found[place] = [vector]
            else:
                wanted += [
                    (place, name, text) for name, text in texts_of(one.row.value)
                ]
    texts = list(dict.fromkeys(text for _, _, text in wanted))
    store: Any = target.store
    known: dict[str, Sequence[float]] = {}
    for at in range(0, len(texts), _BATCH):
        chunk = texts[at : at + _BATCH]
        vectors = store.embeddings.embed_documents(chunk)
        known.update(zip(chunk, vectors, strict=True))
    for place, name, text in wanted:
        found.setdefault(place, []).append((name, known[text]))
    return found


class ModelCheck:
    """Compares a few vectors that would be kept with what the model makes of them.

    Args:
        target: The target, opened with its index.
        vectors: What was asked for; only `auto` compares.
    """

    def __init__(self, target: Target, vectors: Vectors) -> None:
        self._target = target
        self._left = vectors == "auto" and target.bulk and index_dims(target)

    def check(self, rows: Sequence[Row]) -> None:
        """Look at a batch, until some were compared.

        Raises:
            UsageError: They are those of another model.
        """
        if not self._left:
            return
        dims = index_dims(self._target)
        found = [
            row
            for row in rows
            # A text with escapes is no longer the one that was embedded.
            if kept(row, dims) and "escaped" not in row.value["meta"]
        ][:_COMPARED]
        if not found:
            return
        self._left = False
        store: Any = self._target.store
        texts = [texts_of(row.value)[0][1] for row in found]
        made = store.embeddings.embed_documents(texts)
        alike = sum(
            _cosine(row.vector or (), vector) >= _ALIKE
            for row, vector in zip(found, made, strict=True)
        )
        if 2 * alike < len(found):
            raise UsageError(
                "The source's vectors have the dimensions of the index, but the model"
                " of --index makes others of the same texts.",
                hint="Name the model they came from; or embed all texts anew:"
                " --vectors embed.",
            )


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    size = math.hypot(*one) * math.hypot(*other)
    if not size:
        return 1.0  # it has no direction that could be another one
    return sum(a * b for a, b in zip(one, other, strict=True)) / size
