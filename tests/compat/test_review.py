"""Proposed records: out of every agent's sight until a person approves."""

import pytest
from backends import value_of

from holdover.compat.errors import RevisionNotFound


def entity(name, summary):
    return {"name": name, "summary": summary}


def test_a_proposal_is_seen_by_nobody(repository, seen):
    mine = repository()
    proposal = mine.propose("entity", entity("a", "maybe"), "low confidence")
    assert mine.get("entity", "a") is None
    assert mine.page("entity") == []
    assert mine.search("entity") == []
    assert mine.count("entity") == 0
    waiting = mine.proposed("entity")
    assert list(waiting) == [proposal]
    assert waiting[proposal].text == "maybe"
    assert waiting[proposal].meta["reason"] == "low confidence"
    assert [event.name for event in seen] == ["pending"]


def test_approve_writes_it_as_verified(repository):
    mine = repository()
    proposal = mine.propose("entity", entity("a", "maybe"), "why")
    assert mine.approve("entity", proposal) == "written"
    meta = value_of(mine, "a")["meta"]
    assert (meta["status"], meta["source"]["kind"]) == ("verified", "human")
    assert mine.proposed("entity") == {}
    with pytest.raises(RevisionNotFound):
        mine.approve("entity", proposal)


def test_approve_of_what_a_chain_learnt_meanwhile_verifies_it(repository):
    mine = repository()
    proposal = mine.propose("entity", entity("a", "same"), "why")
    mine.put("entity", entity("a", "same"))
    assert mine.approve("entity", proposal) == "written"
    assert value_of(mine, "a")["meta"]["status"] == "verified"
    # And a chain that learns it again takes nothing back.
    assert mine.put("entity", entity("a", "same")) == "unchanged"
    assert value_of(mine, "a")["meta"]["status"] == "verified"


def test_reject_drops_it(repository):
    mine = repository()
    proposal = mine.propose("entity", entity("a", "maybe"), "why")
    assert mine.reject("entity", proposal) is True
    assert mine.reject("entity", proposal) is False
    assert mine.proposed("entity") == {}
    assert mine.get("entity", "a") is None


def test_many_wait_in_the_order_they_came(repository):
    mine = repository()
    made = [mine.propose("entity", entity(str(n), "x"), "") for n in range(5)]
    assert list(mine.proposed("entity")) == made
    assert mine.proposed("turn") == {}


def test_proposals_of_scopes_are_apart(repository, scope):
    mine, other = repository(), repository(scope=(scope[0], "other"))
    proposal = mine.propose("entity", entity("a", "x"), "")
    assert other.proposed("entity") == {}
    assert other.reject("entity", proposal) is False
    with pytest.raises(RevisionNotFound):
        other.approve("entity", proposal)
    assert list(mine.proposed("entity")) == [proposal]
