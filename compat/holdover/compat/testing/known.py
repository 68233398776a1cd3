"""The differences of the stores Holdover opens, and of `InMemoryStore`.

They are LangGraph's own but for `PlainRedisStore`: what is not said here of
`HoldoverSqliteStore`, it does better than the class it inherits from.
"""

from __future__ import annotations

from collections.abc import Iterator

from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore

from holdover.compat.testing.outcomes import Difference


def because(reason: str, *names: str, always: bool = True) -> Iterator[Difference]:
    """Declare differences that have one reason."""
    for name in names:
        yield Difference(name, reason, always=always)


#: True of most stores written by LangGraph, and of what was written after them.
BY_BATCH = tuple(
    because(
        "`batch` checks labels only, not the namespace as `put` does",
        "validation.empty-namespace-by-batch",
        "validation.reserved-root-by-batch",
    )
)
PERMISSIVE = (
    *because("text is a sequence of labels to it", "validation.text-as-namespace"),
    *because("whatever `dict()` takes is a value", "validation.value-of-another-type"),
)
_EQUALITY = (
    *because("true equals one, as in Python", "filter.boolean"),
    *because("a missing field is null to it", "filter.null-is-not-missing"),
)
_SLICES = tuple(
    because(
        "a negative limit or offset is taken as Python or SQLite takes it",
        "validation.negative-limit",
        "validation.negative-offset",
    )
)

MEMORY = (
    *BY_BATCH,
    *PERMISSIVE,
    *_EQUALITY,
    *_SLICES,
    *because(
        "`batch` checks no namespace at all",
        "validation.period-by-batch",
        "validation.empty-label-by-batch",
        "validation.nul-in-label-by-batch",
        "validation.label-of-another-type-by-batch",
    ),
    *because(
        "it hands out and keeps the object itself, copied at the first level only",
        "aliasing.get",
        "aliasing.search",
        "aliasing.put",
    ),
    *because(
        "it converts the field to float whatever it is",
        "filter.order-with-missing",
        "filter.order-with-text",
    ),
    *because(
        "a namespace is a dictionary that is made by looking and never removed",
        "list.no-ghosts-of-reads",
        "list.no-ghosts-of-items",
    ),
    *because("it gives the order of insertion", "search.order-newest-first"),
    *because("an update makes a new item", "timestamps.created-kept"),
    *because("only `put` looks whether there are lifetimes", "ttl.refused-in-batch"),
    *because(
        "a dictionary may grow while another thread walks it",
        "concurrency.reading-while-writing",
        always=False,
    ),
    *because(
        "vectors are added, and removed only with their item",
        "vectors.stale-after-index-false",
        "vectors.stale-field",
    ),
    *because(
        "it counts distinct texts against the places they stand in",
        "vectors.same-text-twice",
    ),
)

_UNKNOWN = tuple(
    because("it answers `None` to what it does not know", "batch.unknown-operation")
)
_NESTED = tuple(because("an object in a filter holds operators only", "filter.nested"))
_SQL_TTL = tuple(
    because(
        "what expired is there until `sweep_ttl` runs",
        "ttl.hidden-at-once",
        "ttl.hidden-from-list",
    )
)
_POOLED = tuple(
    because(
        "the limit counts vectors, and is applied before they become items",
        "vectors.many-of-one-item",
        "vectors.offset",
    )
)

#: What `HoldoverSqliteStore` and the stock stores on SQLite have in common.
SQLITE = (
    *BY_BATCH,
    *PERMISSIVE,
    *_EQUALITY,
    *_SLICES,
    *_UNKNOWN,
    *_NESTED,
    *_SQL_TTL,
    *_POOLED,
    *because(
        "a filter's field is a path in JSON, of letters, digits, `_`, `-` and `.`",
        "filter.any-name",
        "filter.dotted-name",
    ),
    *because("numbers are compared as floating point", "filter.large-number"),
    *because("`$eq` binds a list as bytes", "filter.eq-list"),
    *because(
        "`!=` in SQL passes over null and what is missing",
        "filter.ne-null",
        "filter.ne-missing",
    ),
    *because(
        "`refresh_ttl` counts only where the store's `ttl` configuration says "
        "`refresh_on_read`",
        "ttl.get-refreshes",
        "ttl.search-refreshes",
    ),
    *because(
        "times are text of SQLite's, in whole seconds without a zone",
        "timestamps.aware",
        "timestamps.below-a-second",
    ),
    *because("an update replaces the row", "timestamps.created-kept"),
    *because("orjson writes NaN as null", "value.nan"),
    *because("orjson writes dates and UUIDs as text", "value.dates"),
    *because("it reads `text_fields` where others read `fields`", "vectors.fields"),
    *because("the vector of a field stays when the field goes", "vectors.stale-field"),
)

#: With an index, the text to embed is made by `json`, which refuses dates.
SQLITE_WITH_INDEX = tuple(one for one in SQLITE if one.name != "value.dates")

POSTGRES = (
    *BY_BATCH,
    *PERMISSIVE,
    *_UNKNOWN,
    *_NESTED,
    *_SQL_TTL,
    *_POOLED,
    *because(
        "deletions are sent before the values of the writes are encoded, and stay",
        "batch.all-or-nothing",
    ),
    *because("`!=` in SQL passes over what is missing", "filter.ne-missing"),
    *because(
        "fields are compared as text",
        "filter.order-of-numbers",
        "filter.order-with-text",
    ),
    *because("PostgreSQL's text has no NUL", "key.nul", "value.nul"),
    *because(
        "rows of one batch have one time, and their order has no tie-break",
        "search.paging-complete",
    ),
    *because(
        "a lifetime is kept as whole minutes: refreshing a shorter one ends it",
        "ttl.get-refreshes",
        "ttl.search-refreshes",
    ),
    *because("jsonb keeps numbers as decimals, without a type", "value.float-type"),
    *because("jsonb sorts the fields", "value.key-order"),
    *because("JSON writes every name as text", "value.other-keys"),
    *because(
        "vectors are added, and removed only with their item",
        "vectors.stale-after-index-false",
        "vectors.stale-field",
    ),
)

PLAIN_REDIS = (
    *_EQUALITY,
    *because("orjson writes UUIDs as text", "value.dates"),
)

_BY_CLASS = {
    "HoldoverSqliteStore": SQLITE,
    "InMemoryStore": MEMORY,
    "PlainRedisStore": PLAIN_REDIS,
    "PostgresStore": POSTGRES,
}


def known_differences(store: BaseStore) -> tuple[Difference, ...]:
    """What is known of a store that `open_store` opened; of others, nothing."""
    ours = type(store) is InMemoryStore or type(store).__module__.startswith(
        ("holdover.compat.stores.", "langgraph.store.postgres")
    )
    found = _BY_CLASS.get(type(store).__name__, ()) if ours else ()
    if found is SQLITE and getattr(store, "index_config", None):
        return SQLITE_WITH_INDEX
    return found
