"""Events: names, counts and roots, never contents."""

import dataclasses

import pytest
from backends import OldPlace, put_plainly

from holdover.compat import events


def test_no_event_holds_content(repository, scope, seen):
    mine = repository(legacy=OldPlace(old="SECRET old"), history=1)
    mine.put("entity", {"name": "SECRET name", "summary": "SECRET one"})
    mine.put("entity", {"name": "SECRET name", "summary": "SECRET two"})
    mine.put("entity", {"name": "SECRET name", "summary": "SECRET two"})
    mine.put("entity", {"name": "SECRET name", "summary": " "})
    mine.get("entity", "old")
    put_plainly(mine.store, mine.namespace("entity"), "SECRET key", {"n": 1})
    mine.get("entity", "SECRET key")
    mine.propose("entity", {"name": "SECRET", "summary": "SECRET"}, "SECRET")
    mine.delete("entity", "old")
    mine.forget("entity", "SECRET name")
    mine.put("entity", {"name": "SECRET name", "summary": "SECRET three"})
    told = {event.name for event in seen}
    assert told >= {
        "unchanged",
        "empty_ignored",
        "adopted",
        "foreign_item",
        "pending",
        "deleted",
        "forgotten",
        "tombstoned",
    }
    for event in seen:
        assert "SECRET" not in repr(dataclasses.asdict(event))
        assert event.root == scope[0]
        assert event.count >= 1


def test_a_subscriber_that_fails_is_logged_and_the_others_hear(caplog):
    heard = []

    def broken(event):
        raise ValueError("no")

    ends = [events.subscribe(broken), events.subscribe(heard.append)]
    try:
        events.emit("adopted", "root", 2)
    finally:
        for end in ends:
            end()
    assert heard == [events.Event("adopted", "root", 2)]
    assert "subscriber failed" in caplog.text


def test_a_subscription_ends():
    heard = []
    end = events.subscribe(heard.append)
    end()
    end()
    events.emit("adopted", "root")
    assert heard == []


def test_one_of_two_equal_subscriptions_may_end_alone():
    one, other = [], []
    end_one = events.subscribe(one.append)
    end_other = events.subscribe(other.append)
    end_one()
    events.emit("adopted", "root")
    end_other()
    assert (len(one), len(other)) == (0, 1)


def test_events_are_immutable():
    with pytest.raises(dataclasses.FrozenInstanceError):
        events.Event("adopted", "root").count = 5
