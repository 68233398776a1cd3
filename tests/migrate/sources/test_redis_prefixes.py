"""What a root stands for among the keys of chat histories; pure logic."""

from __future__ import annotations

import fnmatch
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdover.migrate.sources.naming import Foreign
from holdover.migrate.sources.redis_prefixes import Prefixes, Session, patterns

DEFAULT = "message_store:"


def split(roots, key, *others):
    """Split a key of a database that holds others besides."""
    prefixes = Prefixes(roots, DEFAULT)
    prefixes.note([one.encode() for one in (key, *others)])
    found = prefixes.split(key)
    return None if isinstance(found, Foreign) else tuple(found)


@pytest.mark.parametrize(
    ("roots", "key", "others", "expected"),
    [
        ((), "message_store:s", (), ("message_store:", "s")),
        ((), "message_store:", (), ("message_store:", "")),
        ((), "message_store::", (), ("message_store:", ":")),
        ((), "message_store:a:b", (), ("message_store:", "a:b")),
        ((), "message_stores", (), None),
        (("app",), "app:s", (), ("app:", "s")),
        # Nothing begins with `app:`, so `app` is the whole prefix,
        (("app",), "apps", (), ("app", "s")),
        (("app",), "app", (), ("app", "")),
        # and with anything that does, whatever it is, it is not.
        (("app",), "apps", ("app:x",), None),
        (("app",), "apps", ("app:x", "application:y"), None),
        # One with a colon is exact,
        (("app:",), "app:s", (), ("app:", "s")),
        (("app:",), "apps", (), None),
        (("app:",), "app::s", (), ("app:", ":s")),
        # and both are both.
        (("app", "app:"), "apps", ("app:x",), ("app", "s")),
        (("app", "app:"), "app:x", ("apps",), ("app:", "x")),
        # The longest that fits wins.
        (("a", "a:b"), "a:b:s", (), ("a:b:", "s")),
        (("a", "a:b"), "a:c", (), ("a:", "c")),
        (("a", "a:b"), "a:b", ("a:b:s",), ("a:", "b")),
        (("a:", "a:b"), "a:bs", (), ("a:b", "s")),
        (("a:", "a:b"), "a:bs", ("a:b:s",), ("a:", "bs")),
        (("",), ":s", (), (":", "s")),
        (("",), "s", (), ("", "s")),
        (("",), "s", (":x",), None),
    ],
)
def test_a_root_and_its_keys(roots, key, others, expected):
    assert split(roots, key, *others) == expected


def test_the_root_of_the_scope_is_compat_s():
    from holdover.compat.chat_message_histories.classic import root_of

    for prefix in ("message_store:", "app1", "a::", ":", ""):
        assert Session(prefix, "s").root == root_of(prefix)


@pytest.mark.parametrize(
    ("roots", "key", "session", "expected"),
    [
        ((), "message_store:s:1", "s", ("message_store:", "s")),
        ((), "message_store:a:b:1", "a:b", ("message_store:", "a:b")),
        ((), "message_store:a:b:1", "b", ("message_store:a:", "b")),
        ((), "message_store::1", "", ("message_store:", "")),
        ((), "message_store:odd", "s", ("message_store:", "s")),
        (("app",), "apps:1", "s", ("app", "s")),
        (("app",), "apple:s:1", "s", None),
        (("app",), "app:s:1", "s", ("app:", "s")),
        (("a", "a:b"), "a:b:s:1", "s", ("a:b:", "s")),
        (("a", "a:b"), "a:b:s:1", "b:s", ("a:", "b:s")),
    ],
)
def test_a_key_whose_session_is_known(roots, key, session, expected):
    prefixes = Prefixes(roots, DEFAULT)
    prefixes.note([b"app:x"])
    found = prefixes.split_known(key, session, key.rpartition(":")[2])
    assert (None if isinstance(found, Foreign) else tuple(found)) == expected


@pytest.mark.parametrize(
    ("beginnings", "expected"),
    [
        (["memory_store:"], ["memory_store:*"]),
        (["memory_store:", "message_store:", "chat:"], ["chat:*", "me[ms]*"]),
        (["a", "a:", "ab"], ["a*"]),
        (["a*:", "[x]"], ["[x]*".replace("[x]", "\\[x\\]"), "a\\*:*"]),
        (["app:*", "app:["], ["app:*"]),
        ([""], ["*"]),
        (["ab:é", "ab:ü"], ["ab:*"]),
    ],
)
def test_patterns(beginnings, expected):
    assert patterns(beginnings) == expected


def matches(pattern, text):
    """As Redis matches, of what we write."""
    plain = pattern.replace("\\", "\0")
    plain = re.sub(r"\0(.)", lambda m: f"[{m[1]}]" if m[1] != "\\" else "\\", plain)
    return fnmatch.fnmatchcase(text, plain)


texts = st.text(st.sampled_from("ab:*[]?é"), max_size=4)


@given(st.lists(texts, min_size=1, max_size=5), texts)
def test_patterns_find_everything(beginnings, rest):
    found = patterns(beginnings)
    for one in beginnings:
        assert any(matches(pattern, one + rest) for pattern in found)


@given(st.lists(texts, max_size=3), st.lists(texts, max_size=6))
def test_a_split_key_is_the_key_again(roots, keys):
    prefixes = Prefixes(roots, DEFAULT)
    prefixes.note([key.encode() for key in keys])
    for key in keys:
        found = prefixes.split(key)
        if isinstance(found, Session):
            assert found.prefix + found.session == key
            assert found.root in {root.removesuffix(":") for root in roots or [DEFAULT]}
