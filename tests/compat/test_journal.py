"""The journal's bound and its places."""

from datetime import UTC, datetime, timedelta

import pytest

from holdover.compat import records
from holdover.compat.journal import Bound, deletion, namespace, raw


@pytest.mark.parametrize(
    ("history", "bound", "off"),
    [
        ("all", Bound(None), False),
        (0, Bound(0), True),
        (1, Bound(1), False),
        (100, Bound(100), False),
        (timedelta(days=1), Bound(None, timedelta(days=1)), False),
    ],
)
def test_bounds(history, bound, off):
    assert Bound.of(history) == bound
    assert Bound.of(history).off is off


@pytest.mark.parametrize("history", [-1, True, None, "some", 1.5, timedelta(days=-1)])
def test_what_is_no_bound(history):
    with pytest.raises(ValueError, match="history="):
        Bound.of(history)


def test_the_oldest_revision_of_an_age_is_by_its_time():
    moment = datetime.now(UTC)
    oldest = Bound.of(timedelta(hours=1)).oldest(moment)
    assert oldest < records.new_revision()
    assert Bound.of(timedelta(0)).oldest(moment + timedelta(seconds=1)) > oldest
    assert Bound.of(5).oldest(moment) is None
    long_ago = Bound.of(timedelta(days=365_000)).oldest(moment)
    assert long_ago == "00000000-0000-7000-0000-000000000000"


def test_every_item_has_a_place_of_its_own():
    places = {
        namespace(scope, label, key)
        for scope in [("a",), ("a", "b"), ("a", "entities")]
        for label in ("entities", "turns")
        for key in ("k", "K", "k.", "~", "k" * 600)
    }
    assert len(places) == 3 * 2 * 5
    for place in places:
        assert place[:2] == ("~holdover", "journal")
        assert all("." not in label for label in place)


def test_entries():
    event = deletion("na\x00me", revision="r2", parent="r1", at="t")
    assert event["meta"]["parent"] == "r1"
    assert event["content"] == {"name": "na~00me"}
    assert "parent" not in deletion("n", revision="r", parent=None, at="t")["meta"]
    assert raw({"x": 1}, at="t", replaced_by="run")["content"] == {"value": {"x": 1}}
