"""The codec: reversible, injective, and nothing any backend refuses or folds."""

import re
import sys
import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from holdover.compat.errors import InvalidScope
from holdover.compat.scope import (
    MAX_KEY_BYTES,
    MAX_LABEL_BYTES,
    Scope,
    decode_key,
    decode_label,
    encode_key,
    encode_label,
    is_cut,
)

# Any code point at all, the awkward ones often.
AWKWARD = st.sampled_from(
    [
        *"~./*%\\: \t\n\r\x00\x1f\x7f\x80\x85\xa0\u2028\u3000\ud800\udfff",
        *("~~", "~7e", "~00", "langgraph", "Alice", "alice", "e\u0301", "\U0001f389"),
    ]
)
ANY = st.lists(st.one_of(AWKWARD, st.characters(exclude_categories=())), max_size=60)
TEXT = ANY.map("".join)

FORBIDDEN_LABEL = re.compile(r"[./*%\\\s\x00-\x1f\x7f-\x9f\ud800-\udfff]")
FORBIDDEN_KEY = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]|\A\s|\s\Z")


@pytest.mark.parametrize(
    ("raw", "encoded"),
    [
        ("alice", "alice"),
        ("alice@example.com", "alice@example~2ecom"),
        ("", "~"),
        ("~", "~7e"),
        ("~~", "~7e~7e"),
        ("a/b", "a~2fb"),
        ("a*b", "a~2ab"),
        ("50%", "50~25"),
        ("a b", "a~20b"),
        ("DOMAIN\\alice", "DOMAIN~5calice"),
        ("a\x00b", "a~00b"),
        ("a\u00a0b", "a~c2~a0b"),
        ("\ud800", "~ed~a0~80"),
        ("Zoë-北京:🎉", "Zoë-北京:🎉"),
        ("langgraph", "langgraph"),
        ("~holdover", "~7eholdover"),
        (
            "7f0e3b1c-5f7d-4c0e-9f58-1f0f5f6f7a10",
            "7f0e3b1c-5f7d-4c0e-9f58-1f0f5f6f7a10",
        ),
    ],
)
def test_label_escapes(raw, encoded):
    assert encode_label(raw) == encoded
    assert decode_label(encoded) == raw


@pytest.mark.parametrize(
    ("raw", "encoded"),
    [
        ("New York", "New York"),
        ("a.b/c*d%e", "a.b/c*d%e"),
        ("", "~"),
        (" a", "~20a"),
        ("a \n", "a~20~0a"),
        ("  ", "~20~20"),
        ("a\tb", "a~09b"),
        ("a~b", "a~7eb"),
        ("\udc00", "~ed~b0~80"),
        ("langgraph", "langgraph"),
    ],
)
def test_key_escapes(raw, encoded):
    assert encode_key(raw) == encoded
    assert decode_key(encoded) == raw


def test_reserved_root_is_escaped_only_where_it_is_reserved():
    assert Scope("langgraph", "langgraph").encoded() == ("~6canggraph", "langgraph")
    assert Scope.decode(("~6canggraph", "langgraph")) == ("langgraph", "langgraph")
    for namespace in [("langgraph", "x"), ("x", "~6canggraph")]:
        with pytest.raises(InvalidScope):
            Scope.decode(namespace)


@settings(max_examples=300)
@given(TEXT)
@example("\ud83d\ude00")
@example("~" * 70)
@example("." * 66)
def test_labels_come_back(raw):
    for root in (False, True):
        encoded = encode_label(raw, root=root)
        assert encoded
        assert not FORBIDDEN_LABEL.search(encoded)
        assert encoded not in ("~holdover", "langgraph" if root else None)
        assert len(encoded.encode()) <= MAX_LABEL_BYTES
        if is_cut(encoded):
            with pytest.raises(InvalidScope):
                decode_label(encoded, root=root)
        else:
            assert decode_label(encoded, root=root) == raw


@settings(max_examples=300)
@given(TEXT)
@example("\ud83d\ude00")
@example("~" * 171)
@example(" " * 171)
def test_keys_come_back(raw):
    encoded = encode_key(raw)
    assert encoded
    assert not FORBIDDEN_KEY.search(encoded)
    assert len(encoded.encode()) <= MAX_KEY_BYTES
    if not is_cut(encoded):
        assert decode_key(encoded) == raw


@settings(max_examples=300)
@given(TEXT, TEXT)
@example("", "~")
@example("~2e", ".")
@example("langgraph", "~6canggraph")
def test_distinct_names_stay_distinct(one, other):
    for encode in (encode_label, encode_key, lambda raw: encode_label(raw, root=True)):
        assert (encode(one) == encode(other)) == (one == other)


@settings(max_examples=500)
@given(st.text("~0123456789abcdefAF.xé", max_size=12))
def test_decoding_accepts_nothing_else(encoded):
    for encode, decode in ((encode_label, decode_label), (encode_key, decode_key)):
        try:
            raw = decode(encoded)
        except InvalidScope:
            continue
        assert encoded == encode(raw)


@pytest.mark.parametrize(
    "encoded", ["~2", "~2E", "~61", "a.b", "~c3", "~c3~28", "", " ", "~7e~", "~~ab"]
)
def test_decoding_refuses_a_label_that_was_never_encoded(encoded):
    with pytest.raises(InvalidScope):
        decode_label(encoded)


@pytest.mark.parametrize(
    "raw", ["x" * 201, "é" * 101, "🎉" * 51, "." * 67, "\ud800" * 23]
)
def test_long_label_is_cut_between_characters(raw):
    encoded = encode_label(raw)
    head, digest = encoded.split("~~")
    assert is_cut(encoded)
    assert re.fullmatch("[0-9a-f]{64}", digest)
    assert 100 < len(encoded.encode()) <= MAX_LABEL_BYTES
    # The head is whole characters of the name: it decodes by itself.
    assert raw.startswith(decode_label(head))


def test_labels_up_to_the_limit_are_whole():
    assert encode_label("x" * 200) == "x" * 200
    assert encode_key("x" * 512) == "x" * 512
    assert is_cut(encode_key("x" * 513))


def test_cut_labels_differ_where_only_their_ends_differ():
    assert encode_label("x" * 300 + "a") != encode_label("x" * 300 + "b")
    # Not even what looks like a shortened label can be mistaken for one.
    cut = encode_label("x" * 300)
    assert encode_label(cut) != cut


def test_every_character_is_escaped_or_harmless():
    """White space and control characters, by Unicode's word, not by our list."""
    for code in range(sys.maxunicode + 1):
        character = chr(code)
        bad = (
            unicodedata.category(character) in ("Cc", "Cs")
            or character.isspace()
            or character in "./*%\\~"
        )
        assert ("~" in encode_label(character)) == bad, hex(code)


@given(st.lists(TEXT, min_size=1, max_size=4))
def test_scope_comes_back(labels):
    scope = Scope(*labels)
    try:
        encoded = scope.encoded()
    except InvalidScope:
        return
    assert set(scope.cut_labels()) == {label for label in encoded if is_cut(label)}
    if not scope.cut_labels():
        assert Scope.decode(encoded) == scope


def test_too_long_a_scope_is_refused_and_names_the_template():
    with pytest.raises(InvalidScope, match=r"1000 bytes.*template"):
        Scope(*["x" * 200] * 5).encoded()
    assert Scope(*["x" * 200] * 4).encoded()


@pytest.mark.parametrize("labels", [(), (1,), (None,), ("a", b"b")])
def test_scope_refuses_what_is_no_label(labels):
    with pytest.raises(InvalidScope):
        Scope(*labels)


def test_a_string_is_one_label_not_its_letters():
    assert Scope.of("abc") == ("abc",)
    assert Scope.of(["a", "b"]) == ("a", "b")
    assert Scope.of(Scope("a")) == ("a",)
