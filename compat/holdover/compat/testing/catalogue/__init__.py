"""The properties, one module a group; importing this registers them all."""

from holdover.compat.testing.catalogue import (
    aliasing,
    batches,
    concurrency,
    deleting,
    filters,
    keys,
    lifetimes,
    listing,
    model,
    namespaces,
    searching,
    timestamps,
    twins,
    validation,
    values,
    vectors,
)

__all__ = [
    "aliasing",
    "batches",
    "concurrency",
    "deleting",
    "filters",
    "keys",
    "lifetimes",
    "listing",
    "model",
    "namespaces",
    "searching",
    "timestamps",
    "twins",
    "validation",
    "values",
    "vectors",
]
