"""What an item holds: the same after every backend, strict to write, kind to read."""

import json
import math
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from langgraph.store.base import GetOp, PutOp

from holdover.compat import records, schema
from holdover.compat.errors import UnportableValue
from holdover.compat.stores.backend import Read, Write, arun, run
from holdover.compat.stores.choosing import backend_for

META = {
    "revision": "01900000-0000-7000-8000-000000000001",
    "status": "inferred",
    "recorded_at": "2026-01-02T03:04:05.000006+00:00",
    "source": {"kind": "chain"},
}
ANY_TEXT = st.text(
    st.one_of(
        st.sampled_from('~\x00\ud800\udfff\n"\\'), st.characters(exclude_categories=())
    ),
    max_size=12,
)
FIELD_NAMES = st.text("abcé ~.0", max_size=4)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | ANY_TEXT,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(FIELD_NAMES, inner, max_size=3)
    ),
    max_leaves=12,
)
CONTENTS = st.dictionaries(FIELD_NAMES, JSON, max_size=4)
AWKWARD = {
    "floats": [0.1, -0.0, 1e22, 1.7e308, 5e-324, 1e16, 1.2345678901234567e17, 2.0**63],
    "integers": [0, 2**63 - 1, -(2**63), 2**53 + 1],
    "nested": {"b": [1, {"c": None}], "a": [], "": {}},
    "texts": ["", "北京 🎉", "e\u0301", "nul\x00", "\ud800~", "~00", "\\u0000", 'q"'],
    "flags": [True, False],
}


def build(content, kind="entity", **meta):
    return records.build(kind, content, {**META, **meta})


def same(one, other):
    """Equal, where a number may have become a float or an integer on the way."""
    if isinstance(one, float) or isinstance(other, float):
        numbers = isinstance(one, int | float) and isinstance(other, int | float)
        return numbers and float(one) == float(other)
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[n], other[n]) for n in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and one == other


@settings(max_examples=150)
@given(CONTENTS)
@example({"a": {"b": "\x00"}, "a.b": "~41"})
@example({"a~2eb": "\x00", "a.b": "~41"})
@example(AWKWARD)
def test_content_comes_back(content):
    value = build(content)
    json.dumps(value).encode()
    assert "\x00" not in json.dumps(value, ensure_ascii=False)
    assert "\\u0000" not in json.dumps(value).replace("\\\\", "")
    read = records.read("entity", "k", value)
    assert read.content == content
    assert not read.foreign
    assert records.intact(value)


@settings(max_examples=150)
@given(CONTENTS)
@example(AWKWARD)
@example({"x": 1.2345678901234567e17})
def test_hash_survives_jsonb(content):
    """As PostgreSQL keeps a value: sorted keys, numbers as exact decimals."""
    from decimal import Decimal

    value = build(content)

    def jsonb(number):
        exact = Decimal(number)
        return int(exact) if exact == exact.to_integral_value() else float(number)

    stored = json.loads(json.dumps(value, sort_keys=True), parse_float=jsonb)
    assert records.content_hash(stored) == value["meta"]["hash"]
    assert records.intact(stored)


@settings(max_examples=150)
@given(CONTENTS, CONTENTS)
@example({"a": "\x00"}, {"a": "~00"})
@example({"a": 2**53}, {"a": 2**53 + 1})
@example({"a": True}, {"a": 1})
@example({"a": "1"}, {"a": 1})
def test_another_content_has_another_hash(one, other):
    hashes = [build(content)["meta"]["hash"] for content in (one, other)]
    assert (hashes[0] == hashes[1]) == same(one, other)


def test_awkward_values_through_every_store(store, loop, scope):
    namespace = (*scope, "entities")
    value = build(AWKWARD)
    backend = backend_for(store)
    write = backend.put_op(namespace, "k", value)

    def steps():
        yield Write([[write]])
        return (yield Read([(namespace, "k")]))

    (read,) = (
        loop.run(arun(backend, steps())) if backend.is_async else run(backend, steps())
    )
    (item,) = store.batch([GetOp(namespace, "k", refresh_ttl=False)])
    # By our reads and by anybody's.
    for stored in (read, item.value):
        assert records.intact(stored)
        assert records.content_hash(stored) == value["meta"]["hash"]
        record = records.read("entity", "k", stored)
        assert same(record.content, AWKWARD)
        assert stored["meta"]["escaped"] == ["content.texts.3", "content.texts.4"]


@pytest.mark.parametrize("kind", ["memory", "sqlite", "postgres"])
def test_any_content_through_stores(kind, shared_store, scope):
    store = shared_store(kind)
    namespace = (*scope, "entities")

    @settings(
        max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture]
    )
    @given(CONTENTS)
    def round_trip(content):
        value = build(content)
        store.batch([PutOp(namespace, "k", value)])
        stored = store.batch([GetOp(namespace, "k", refresh_ttl=False)])[0].value
        assert records.intact(stored)
        assert same(records.read("entity", "k", stored).content, content)

    round_trip()


def test_only_what_cannot_be_stored_is_escaped():
    value = build({"name": "a\x00~", "summary": "~ and ~00"})
    assert value["content"] == {"name": "a~00~7e", "summary": "~ and ~00"}
    assert value["meta"]["escaped"] == ["content.name"]


def test_locator_is_escaped_too():
    value = build({"summary": "x"}, source={"kind": "migration", "locator": "t\x00"})
    assert value["meta"]["source"]["locator"] == "t~00"
    assert value["meta"]["escaped"] == ["meta.source.locator"]
    # It says where the content was, and is no part of it.
    assert value["meta"]["hash"] == build({"summary": "x"})["meta"]["hash"]


@pytest.mark.parametrize(
    ("content", "path"),
    [
        ({"a": math.nan}, "content.a"),
        ({"a": [1, math.inf]}, "content.a.1"),
        ({"a": 2**63}, "content.a"),
        ({"a": -(2**63) - 1}, "content.a"),
        ({"a": {1: "x"}}, "content.a"),
        ({1: "x"}, "content"),
        ({"a\x00": "x"}, "content"),
        ({"\ud800": "x"}, "content"),
        ({"a": b"x"}, "content.a"),
        ({"a": {"x"}}, "content.a"),
        ({"a": datetime.now(UTC)}, "content.a"),
        ({"a": object()}, "content.a"),
    ],
)
def test_what_some_store_would_change_is_refused(content, path):
    with pytest.raises(UnportableValue) as refused:
        build(content)
    assert refused.value.path == path
    assert isinstance(refused.value, ValueError)


def test_depth_is_bounded():
    deep = "x"
    for _ in range(85):
        deep = [deep]
    assert records.intact(build({"a": deep}))
    for _ in range(20):
        deep = [deep]
    with pytest.raises(UnportableValue, match="deep"):
        build({"a": deep})


@settings(max_examples=100)
@given(
    kind=st.sampled_from(sorted(records.KINDS)),
    content=CONTENTS,
    meta=st.fixed_dictionaries(
        {
            "revision": st.uuids().map(str),
            "status": st.sampled_from(["inferred", "imported", "verified"]),
            "recorded_at": st.datetimes(timezones=st.just(UTC)).map(records.timestamp),
            "source": st.fixed_dictionaries(
                {"kind": st.sampled_from(["chain", "migration", "human", "agent"])},
                optional={
                    "run": st.uuids().map(str),
                    "turn": st.lists(st.uuids().map(str), min_size=1, max_size=2),
                    "locator": ANY_TEXT.filter(bool),
                    "model": st.text("abc", min_size=1),
                },
            ),
        },
        optional={
            "parent": st.uuids().map(str),
            "expires_at": st.datetimes(timezones=st.just(UTC)).map(records.timestamp),
            "valid_from": st.datetimes(timezones=st.just(UTC)).map(records.timestamp),
            "confidence": st.floats(0, 1),
            "aliases": st.lists(st.text("ab", min_size=1), min_size=1, max_size=2),
            "somebody_elses": st.integers(0, 9),
        },
    ),
)
def test_what_we_build_is_what_the_schema_says(kind, content, meta):
    built = records.build(kind, content, meta)
    model = schema.Record.model_validate(built)
    dumped = json.loads(model.model_dump_json(exclude_none=True))
    # Timestamps are one moment in two spellings.
    for name in ("recorded_at", "valid_from", "expires_at"):
        if name in dumped["meta"]:
            moment = datetime.fromisoformat(dumped["meta"][name])
            dumped["meta"][name] = records.timestamp(moment)
    # Nulls inside a content are its own; those of `meta` do not exist.
    dumped["content"] = built["content"]
    assert dumped == built


def test_schema_knows_every_kind():
    kinds = schema.Record.model_fields["kind"].annotation.__args__
    assert set(kinds) == set(records.KINDS)


@pytest.mark.parametrize("field", ["content", "text", "summary", "data"])
def test_foreign_item_with_an_obvious_text_is_shown(field):
    record = records.read("entity", "key", {field: "hello", "x": 1})
    assert (record.text, record.foreign, record.name) == ("hello", True, "key")
    assert record.revision is None


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"content": {"no": "text"}},
        {"text": 5},
        {"kind": "entity"},
        {"kind": "entity", "content": []},
        {"kind": "entity", "content": {}, "meta": None},
        {"kind": "entity", "content": {}, "meta": []},
        "text",
        5,
        None,
        ["text"],
    ],
)
def test_foreign_item_without_one_is_skipped(value):
    assert records.read("entity", "key", value) is None


def test_newer_version_is_readable():
    value = build({"name": "a", "summary": "s", "future": [1]})
    value["meta"] |= {"v": 99, "from_the_future": True}
    value["also"] = "new"
    record = records.read("entity", "a", value)
    assert (record.text, record.foreign) == ("s", False)
    assert record.meta["from_the_future"] is True
    assert record.content["future"] == [1]


@pytest.mark.parametrize("escaped", [["content.summary"], "content", 7, [["x"]], None])
def test_left_over_escape_note_does_no_harm(escaped):
    """Another program changed a text and kept our note, or broke it."""
    value = build({"name": "a", "summary": "s"})
    value["meta"]["escaped"] = escaped
    value["content"]["summary"] = "now ~ this"
    assert records.read("entity", "a", value).text == "now ~ this"
    assert not records.intact(value)


def test_foreign_values_are_never_intact_and_never_raise():
    deep = []
    for _ in range(5000):
        deep = [deep]
    for value in (
        {},
        {"meta": {"hash": 1}},
        {"meta": "x"},
        {"kind": "entity", "content": {"x": object()}, "meta": {"hash": "h"}},
        {"kind": "entity", "content": {"x": deep}, "meta": {"hash": "h"}},
        {"kind": "entity", "content": {"x": "\ud800"}, "meta": {"hash": "h"}},
        {"kind": "entity", "content": {1: 10**400}, "meta": {"hash": "h"}},
    ):
        assert not records.intact(value)


def test_carried_over_fields_keep_their_meaning():
    content = {"name": "a", "summary": "s", "note": "nul\x00"}
    head = {**build(content, theirs="x\x00"), "extra": 1}
    # The other program's own field in `meta` needs the careful way too.
    head = {
        **records.build("entity", content, {**META, "theirs": "x\x00"}, careful=True),
        "extra": 1,
    }
    extra, inner, outer = records.unknown_fields(head, frozenset({"name", "summary"}))
    assert extra == {"extra": 1}
    assert inner == {"note": "nul\x00"}
    assert outer == {"theirs": "x\x00"}


def test_expiry_is_exact_to_the_microsecond():
    end = datetime(2026, 1, 1, tzinfo=UTC)
    meta = {"expires_at": records.timestamp(end)}
    just_before = records.timestamp(end - timedelta(microseconds=1))
    assert not records.is_expired(meta, just_before)
    assert records.is_expired(meta, records.timestamp(end))
    assert not records.is_expired({}, records.timestamp(end))
    assert not records.is_expired({"expires_at": 5}, records.timestamp(end))


def test_timestamps_sort_as_text():
    moments = [
        datetime(2026, 1, 1, tzinfo=UTC),
        datetime(2026, 1, 1, 0, 0, 0, 1, tzinfo=UTC),
        datetime(2026, 1, 1, 5, tzinfo=UTC),
    ]
    texts = [records.timestamp(moment) for moment in moments]
    assert texts == sorted(texts)
    assert {len(text) for text in texts} == {32}


def test_revisions_come_in_the_order_they_were_made():
    made = [records.new_revision() for _ in range(2000)]
    assert made == sorted(set(made))


@pytest.mark.parametrize(
    ("kind", "content", "key"),
    [
        ("entity", {"name": "New York"}, "New York"),
        ("summary", {"text": "x"}, "current"),
    ],
)
def test_key_of(kind, content, key):
    assert records.key_of(kind, content) == key


def test_turns_are_one_by_their_normalised_text():
    keys = {
        records.key_of("turn", {"text": text})
        for text in ("I  like\nTea", "i like tea", " I LIKE TEA ")
    }
    assert len(keys) == 1
    assert records.key_of("turn", {"text": "i like teas"}) not in keys


def test_triples_differ_by_part():
    def key(*parts):
        names = ("subject", "predicate", "object")
        return records.key_of("triple", dict(zip(names, parts, strict=True)))

    assert key("a b", "c", "d") != key("a", "b c", "d")
    assert key("\ud800", "b", "c")
