"""Vectors for the bulk paths: embedded in batches, named as the store names them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from langgraph.store.base import get_text_at_path, tokenize_path

from holdover.compat.records import KINDS
from holdover.compat.stores.backend import Namespace
from holdover.migrate.conflicts import WRITES, Decision, OnConflict, settle
from holdover.migrate.targets.resolving import Resolver

if TYPE_CHECKING:
    from holdover.migrate.targets.base import Row, Target

#: A field's name in `store_vectors`, and its numbers.
Vector = tuple[str, Sequence[float]]
_BATCH = 256


def texts_of(value: Any) -> list[tuple[str, str]]:
    """The texts a record's kind indexes, with the field names the store gives them."""
    found = []
    for path in KINDS[value["kind"]].index:
        texts = get_text_at_path(value, tokenize_path(path))
        for at, text in enumerate(texts):
            found.append((f"{path}.{at}" if len(texts) > 1 else path, text))
    return found


def embed(
    target: Target, batch: Sequence[Row], policy: OnConflict
) -> dict[tuple[Namespace, str], list[Vector]]:
    """Embed what will be written as current items, each text once."""
    wanted: list[tuple[tuple[Namespace, str], str, str]] = []
    for one in Resolver(target).decide(batch):
        decision = settle(one.decision, policy)
        if decision in WRITES and decision is not Decision.VERSION:
            place = (one.row.namespace, one.row.key)
            wanted += [(place, name, text) for name, text in texts_of(one.row.value)]
    texts = list(dict.fromkeys(text for _, _, text in wanted))
    store: Any = target.store
    known: dict[str, Sequence[float]] = {}
    for at in range(0, len(texts), _BATCH):
        chunk = texts[at : at + _BATCH]
        vectors = store.embeddings.embed_documents(chunk)
        known.update(zip(chunk, vectors, strict=True))
    found: dict[tuple[Namespace, str], list[Vector]] = {}
    for place, name, text in wanted:
        found.setdefault(place, []).append((name, known[text]))
    return found
