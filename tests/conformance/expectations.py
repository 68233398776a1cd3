"""What other people's stores are known to lack, by the names in `stores.py`.

Each is asserted: where a store does better one day, the test fails and the line goes.
"""

from __future__ import annotations

from holdover.compat.testing.known import (
    BY_BATCH,
    MEMORY,
    PERMISSIVE,
    PLAIN_REDIS,
    POSTGRES,
    SQLITE,
    SQLITE_WITH_INDEX,
    because,
)

_COALESCED = tuple(
    because(
        "calls of one moment become one batch, and fail together",
        "concurrency.bad-call-beside-good",
    )
)
_ASYNC = (
    *_COALESCED,
    *because("`aput` and `aget` take the key as it is", "key.number-as-text"),
)
_STOCK_SQLITE = (
    *SQLITE,
    *because(
        "a batch that fails is committed as far as it got", "batch.all-or-nothing"
    ),
)
OWN = {
    "memory": MEMORY,
    "memory-vectors": MEMORY,
    "sqlite": SQLITE,
    "sqlite-vectors": SQLITE_WITH_INDEX,
    "postgres": POSTGRES,
    "postgres-vectors": POSTGRES,
    "plain-redis": PLAIN_REDIS,
}
STOCK = {
    "stock-sqlite": _STOCK_SQLITE,
    "stock-sqlite-vectors": (
        *(one for one in _STOCK_SQLITE if one.name != "value.dates"),
        *because(
            "foreign keys are off: vectors outlive their item",
            "vectors.stale-after-index-false",
            "vectors.deleted-and-put",
        ),
    ),
    "async-sqlite": (*_STOCK_SQLITE, *_ASYNC),
    "stock-postgres": POSTGRES,
    "async-postgres": (*POSTGRES, *_ASYNC),
}
_REDIS_STORE = (
    *because(
        "two writers that find no document write one each",
        "concurrency.one-key",
        always=False,
    ),
    *PERMISSIVE,
    *because(
        "`batch` checks no namespace, nor that it is not the reserved root",
        "validation.reserved-root-by-batch",
        "validation.period-by-batch",
        "validation.empty-label-by-batch",
        "validation.nul-in-label-by-batch",
        "validation.period-reaches-others",
    ),
    *because(
        "a namespace is text to its index: `get` finds none of several labels",
        "namespace.exact",
        "namespace.nested",
        "namespace.siblings",
        "namespace.case",
        "namespace.accents",
        "namespace.word-forms",
        "namespace.stop-words",
        "namespace.wildcards",
        "namespace.separators",
        "namespace.joined",
        "namespace.spaces",
        "namespace.unicode-forms",
        "namespace.deep",
        "namespace.long",
        "batch.results-in-order",
        "batch.usable-after-an-error",
        "batch.all-or-nothing",
        "delete.others",
    ),
    *because(
        "labels are words: case, stems and stop words do not count, and others' "
        "items are overwritten",
        "delete.stop-word",
        "namespace.case-in-search",
        "namespace.star-in-search",
        "search.leak",
        "list.siblings",
        "filter.inside-namespace",
        "model.single-operations",
        "model.batches",
    ),
    *because(
        "a key is a tag: case does not count, a comma separates, and some "
        "characters are syntax",
        "key.case",
        "key.separators",
        "key.separators-when-deleted",
        "key.wildcards",
        "key.spaces",
        "key.empty",
        "key.nul",
    ),
    *because(
        "the query behind it has the default limit of ten",
        "batch.get-many",
        "batch.many-puts",
        "list.complete",
        "list.default-limit",
        "list.paging",
        "list.once",
        "list.suffix",
        "list.wildcard-in-prefix",
        "list.wildcard-in-suffix",
        "list.max-depth-before-limit",
    ),
    *because(
        "a prefix is expanded to 200 terms at most",
        "search.many-namespaces",
    ),
    *because(
        "it writes before it searches",
        "batch.reads-see-state-before",
    ),
    *because(
        "it answers `None` to what it does not know",
        "batch.unknown-operation",
    ),
    *because(
        "true equals one, as in Python",
        "filter.boolean",
    ),
    *because(
        "a missing field is null to it",
        "filter.null-is-not-missing",
    ),
    *because(
        "a list in a filter means any of these",
        "filter.list",
    ),
    *because(
        "operators never match, and none is refused",
        "filter.eq",
        "filter.eq-list",
        "filter.ne",
        "filter.ne-null",
        "filter.ne-missing",
        "filter.order-of-numbers",
        "filter.order-with-missing",
        "filter.order-with-text",
        "filter.unknown-operator",
    ),
    *because(
        "a filter is applied to the page that was found",
        "filter.before-limit",
    ),
    *because(
        "a read refreshes to the configured lifetime, not to the item's",
        "ttl.get-refreshes",
        "ttl.search-refreshes",
    ),
    *because(
        "it gives the order of the index",
        "search.order-newest-first",
    ),
    *because(
        "an update makes a new document",
        "timestamps.created-kept",
    ),
    *because(
        "no limit is the default limit of the query",
        "validation.no-limit",
    ),
    *because(
        "larger integers become floating point",
        "value.beyond-int64",
    ),
    *because(
        "JSON writes every name as text",
        "value.other-keys",
    ),
    *because(
        "orjson writes dates and UUIDs as text",
        "value.dates",
    ),
    *because(
        "a decimal comes back as zero",
        "value.decimals",
    ),
)
_MYSQL = (
    *BY_BATCH,
    *PERMISSIVE,
    *because(
        "`batch` checks no label",
        "validation.period-by-batch",
        "validation.empty-label-by-batch",
        "validation.nul-in-label-by-batch",
        "validation.period-reaches-others",
    ),
    *because(
        "text is compared by the collation of the database: case, accents and "
        "space at the end do not count",
        "key.case",
        "key.accents",
        "key.spaces",
        "key.unicode-forms",
        "namespace.case",
        "namespace.accents",
        "namespace.spaces",
        "namespace.unicode-forms",
        "namespace.case-in-search",
        "delete.others",
        "model.single-operations",
        "model.batches",
    ),
    *because(
        "a namespace is found by `LIKE prefix%`, without the end of a label and "
        "with its wildcards",
        "search.leak",
        "filter.inside-namespace",
        "namespace.wildcards-in-search",
        "namespace.star-in-search",
        "list.siblings",
        "list.wildcard-characters",
        "list.wildcard-in-prefix",
        "list.suffix",
    ),
    *because(
        "operators are written in SQL that MySQL has and MariaDB has not",
        "filter.eq",
        "filter.eq-list",
        "filter.ne",
        "filter.ne-null",
        "filter.ne-missing",
    ),
    *because(
        "an object in a filter holds operators only",
        "filter.nested",
    ),
    *because(
        "fields are compared as text",
        "filter.order-of-numbers",
    ),
    *because(
        "a filter's field is a path in JSON",
        "filter.any-name",
        "filter.dotted-name",
    ),
    *because(
        "a key has 150 characters at most",
        "key.long",
    ),
    *because(
        "MariaDB takes JSON of 32 levels",
        "value.deep",
    ),
    *because(
        "it answers `None` to what it does not know",
        "batch.unknown-operation",
    ),
    *because(
        "only `put` looks whether there are lifetimes",
        "ttl.refused-in-batch",
    ),
    *because(
        "times are in whole seconds, without a zone",
        "timestamps.aware",
        "timestamps.below-a-second",
    ),
    *because(
        "larger integers become floating point",
        "value.beyond-int64",
    ),
    *because(
        "JSON writes every name as text",
        "value.other-keys",
    ),
)
_STORE_CORE = (
    *BY_BATCH,
    *PERMISSIVE,
    *because(
        "`batch` checks no label",
        "validation.period-by-batch",
        "validation.empty-label-by-batch",
        "validation.nul-in-label-by-batch",
    ),
    *because(
        "it writes while it goes through the batch",
        "batch.reads-see-state-before",
        "model.batches",
    ),
    *because(
        "true equals one, as in Python",
        "filter.boolean",
    ),
    *because(
        "a missing field is null to it",
        "filter.null-is-not-missing",
    ),
    *because(
        "an object in a filter holds operators only",
        "filter.nested",
    ),
    *because(
        "an operator it does not know never matches",
        "filter.unknown-operator",
    ),
    *because(
        "only `put` looks whether there are lifetimes",
        "ttl.refused-in-batch",
    ),
    *because(
        "it gives the order of the scan",
        "search.order-newest-first",
    ),
    *because(
        "it compares whatever is there, and Python refuses",
        "filter.order-with-text",
    ),
    *because(
        "a negative limit or offset is a slice in Python",
        "validation.negative-limit",
        "validation.negative-offset",
    ),
    *because(
        "it hands out and keeps the object itself",
        "aliasing.get",
        "aliasing.search",
        "aliasing.put",
    ),
)
_STORE_DYNAMODB = (
    *PERMISSIVE,
    *because(
        "`batch` checks no label",
        "validation.period-by-batch",
        "validation.empty-label-by-batch",
        "validation.nul-in-label-by-batch",
    ),
    *because(
        "it writes while it goes through the batch",
        "batch.reads-see-state-before",
        "model.batches",
    ),
    *because(
        "true equals one, as in Python",
        "filter.boolean",
    ),
    *because(
        "a missing field is null to it",
        "filter.null-is-not-missing",
    ),
    *because(
        "an object in a filter holds operators only",
        "filter.nested",
    ),
    *because(
        "an operator it does not know never matches",
        "filter.unknown-operator",
    ),
    *because(
        "only `put` looks whether there are lifetimes",
        "ttl.refused-in-batch",
    ),
    *because(
        "it gives the order of the scan",
        "search.order-newest-first",
    ),
    *because(
        "it compares whatever is there, and Python refuses",
        "filter.order-with-text",
    ),
    *because(
        "a negative limit or offset is a slice in Python",
        "validation.negative-limit",
        "validation.negative-offset",
    ),
    *because(
        "DynamoDB has no empty keys, none above a kilobyte, and no items above 400",
        "key.empty",
        "key.long",
        "value.large",
    ),
    *because(
        "moto takes a field called `M`, or an empty one, for a type; the "
        "service may not",
        "value.field-names",
    ),
    *because(
        "`batch` does not refuse the reserved root",
        "validation.reserved-root-by-batch",
    ),
    *because(
        "items are written one by one",
        "batch.all-or-nothing",
    ),
    *because(
        "numbers are decimals of 38 digits, and come back as what they look like",
        "value.float-type",
        "value.float-digits",
        "value.decimals",
    ),
    *because(
        "moto: see `value.field-names`",
        "value.roundtrip-hash",
    ),
    *because(
        "bytes come back as boto3's Binary",
        "value.bytes",
    ),
)
_AWS_DYNAMODB = (
    *BY_BATCH,
    *PERMISSIVE,
    *because(
        "DynamoDB has no empty keys, none above a kilobyte, and no items above 400",
        "key.empty",
        "key.long",
        "value.large",
    ),
    *because(
        "moto takes a field called `M`, or an empty one, for a type; the "
        "service may not",
        "value.field-names",
    ),
    *because(
        "`batch` checks no label",
        "validation.period-by-batch",
        "validation.empty-label-by-batch",
        "validation.nul-in-label-by-batch",
    ),
    *because(
        "labels are joined by a colon, which a label may hold: two namespaces are one",
        "namespace.joined",
    ),
    *because(
        "a search is of one namespace, not of those below it",
        "search.many-namespaces",
        "search.leak",
    ),
    *because(
        "reads and writes are sent one by one",
        "batch.reads-see-state-before",
        "batch.all-or-nothing",
        "model.single-operations",
        "model.batches",
    ),
    *because(
        "numbers are boto3's: floating point is refused, integers come back as Decimal",
        "filter.number",
        "filter.order-of-numbers",
        "value.float-type",
        "value.float-digits",
        "value.roundtrip-hash",
        "value.booleans",
        "value.int64",
        "value.beyond-int64",
        "value.tuples",
    ),
    *because(
        "true equals one, as in Python",
        "filter.boolean",
    ),
    *because(
        "operators never match, and none is refused",
        "filter.eq",
        "filter.eq-list",
        "filter.ne",
        "filter.ne-null",
        "filter.ne-missing",
        "filter.order-with-missing",
        "filter.order-with-text",
        "filter.unknown-operator",
    ),
    *because(
        "a filter is applied to the page that was found",
        "filter.before-limit",
    ),
    *because(
        "what expired is there until DynamoDB removes it, within days; moto never does",
        "ttl.below-a-minute",
        "ttl.in-batch",
        "ttl.hidden-at-once",
        "ttl.hidden-from-list",
        "ttl.others-stay",
        "ttl.put-again-shorter",
        "ttl.get-without-refresh",
        "ttl.search-without-refresh",
        "ttl.refresh-is-not-longer",
        "ttl.reading-does-not-revive",
        "ttl.zero",
    ),
    *because(
        "`*` stands for itself",
        "list.wildcard-in-prefix",
        "list.wildcard-in-suffix",
    ),
    *because(
        "DynamoDB refuses a limit of zero",
        "search.limit",
    ),
    *because(
        "a search is of one namespace, not of those below it",
        "search.what-an-item-has",
    ),
    *because(
        "it gives the order of keys",
        "search.order-newest-first",
    ),
    *because(
        "a negative offset is a slice in Python",
        "validation.negative-offset",
    ),
    *because(
        "a surrogate is refused after the item was begun",
        "value.lone-surrogate",
    ),
    *because(
        "bytes come back as boto3's Binary",
        "value.bytes",
    ),
)
THIRD_PARTY = {
    "redis-store": _REDIS_STORE,
    "mysql": _MYSQL,
    "aws-dynamodb": _AWS_DYNAMODB,
    "store-dynamodb": _STORE_DYNAMODB,
    "store-core": _STORE_CORE,
}
EXPECTED = {**OWN, **STOCK, **THIRD_PARTY}
#: The versions what is said above is about.
VERSIONS = {
    "langgraph-checkpoint-sqlite": "3.1.2",
    "langgraph-checkpoint-postgres": "3.2.0",
    "langgraph-checkpoint": "4.3.2",
}
