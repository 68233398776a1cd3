"""Work that waits in a store, and other names of entities, in every kind of store."""

from datetime import timedelta

import pytest
from backends import PlainStore, journal_of, put_plainly, value_of
from langgraph.store.base import PutOp

from holdover.compat.repository import Repository

LEASE = timedelta(seconds=20)

MINUTE = timedelta(minutes=1)
PAST = timedelta(seconds=-1)


def test_work_is_claimed_in_order_with_what_it_holds(repository):
    mine = repository()
    contents = [{"text": "one\x00"}, {"text": "two~"}, {"names": ["Ana"], "n": 3}]
    keys = [mine.enqueue(content) for content in contents]
    works = mine.claim("me", MINUTE)
    assert [work.key for work in works] == keys == sorted(keys)
    assert [work.content for work in works] == contents
    assert [work.claims for work in works] == [1, 0, 0]


def test_nothing_to_claim(repository):
    assert repository().claim("me", MINUTE) == []


def test_a_lease_keeps_others_out_until_it_ends(repository):
    mine = repository()
    key = mine.enqueue({"text": "one"})
    assert mine.claim("me", MINUTE)
    assert mine.claim("other", MINUTE) is None
    assert mine.claim("me", PAST)[0].claims == 2
    assert mine.claim("other", MINUTE)[0].claims == 3
    assert mine.renew(key, "me", MINUTE) is False
    assert mine.renew(key, "other", MINUTE) is True


def test_work_that_comes_meanwhile_is_no_way_around_a_lease(repository):
    mine = repository()
    mine.enqueue({"text": "one"})
    mine.claim("me", MINUTE)
    mine.enqueue({"text": "two"})
    assert mine.claim("other", MINUTE) is None


def test_nor_is_work_that_comes_later_than_its_key_says(scope):
    store = PlainStore()
    mine = Repository(store, scope)
    mine.enqueue({"text": "one"})
    ((namespace, key, value),) = [
        (item.namespace, item.key, item.value)
        for item in store.search(("~holdover", "pending", *scope))
    ]
    mine.clear_pending()
    mine.enqueue({"text": "two"})
    mine.claim("me", MINUTE)
    put_plainly(store, namespace, key, value)
    assert mine.claim("other", MINUTE) is None
    assert [w.content["text"] for w in mine.claim("me", MINUTE)] == ["one", "two"]


def test_two_that_claim_at_once_share_nothing(scope):
    """One looks before an older item arrives, and the other after."""
    from holdover.compat.stores.backend import run

    store = PlainStore()
    one, two = Repository(store, scope), Repository(store, scope)
    early = one._backend  # keys are made in order: the first is written last
    steps = one._enqueue({"text": "older"})
    write_older = next(steps)
    one.enqueue({"text": "newer"})
    claim = one._claim("one", LEASE)
    looked = next(claim).perform(early)
    write_older.perform(early)
    theirs = two.claim("two", LEASE)

    def rest():
        step = claim.send(looked)
        while True:
            try:
                step = claim.send((yield step))
            except StopIteration as stop:
                return stop.value

    mine = run(early, rest())

    texts = [work.content["text"] for work in (*(mine or ()), *(theirs or ()))]
    assert sorted(texts) in (["newer", "older"], ["older"])
    assert len(texts) == len(set(texts))
    # Nobody keeps what he was not given.
    left = one.claim("two", LEASE)
    assert [work.content["text"] for work in left or ()] == ["older", "newer"]


def test_settled_work_is_gone_or_waits_as_it_is(repository):
    mine = repository()
    keys = [mine.enqueue({"text": text}) for text in ("one", "two")]
    first, second = mine.claim("me", MINUTE)
    mine.settle([second.key])
    mine.settle(kept=[first])
    (left,) = mine.pending()
    assert (left.key, left.content) == (keys[0], {"text": "one"})
    assert mine.claim("other", MINUTE) is not None


def test_what_was_cleared_is_not_put_back(repository):
    mine = repository()
    key = mine.enqueue({"text": "one"})
    (work,) = mine.claim("me", MINUTE)
    assert mine.clear_pending() == 1
    mine.settle(kept=[work])
    assert mine.pending() == []
    assert mine.renew(key, "me", MINUTE) is False


def test_work_moved_aside_waits_for_somebody(repository):
    mine = repository()
    mine.enqueue({"text": "one"})
    (work,) = mine.claim("me", MINUTE)
    mine.settle(kept=[work], aside=True)
    assert mine.claim("me", MINUTE) == []
    assert [one.content for one in mine.pending(aside=True)] == [{"text": "one"}]
    assert mine.retry_pending() == 1
    assert (mine.pending(aside=True), len(mine.pending())) == ([], 1)


def test_more_work_than_is_claimed_at_once(repository):
    mine = repository()
    for number in range(120):
        mine.enqueue({"n": number})
    assert [w.content["n"] for w in mine.claim("me", MINUTE)] == list(range(100))
    assert len(mine.pending()) == 120
    assert mine.clear_pending() == 120
    assert mine.pending() == []


def test_scopes_are_apart(repository, scope):
    mine = repository()
    other = repository((*scope, "below"))
    mine.enqueue({"text": "one"})
    assert other.claim("me", MINUTE) == []
    other.enqueue({"text": "two"})
    assert mine.clear_pending() == 1
    assert len(other.pending()) == 1


def test_an_item_of_somebody_else_is_no_work(scope):
    store = PlainStore()
    put_plainly(store, ("~holdover", "pending", *scope), "0", {"text": "hello"})
    mine = Repository(store, scope)
    assert mine.claim("me", MINUTE) == []
    mine.enqueue({"text": "one"})
    assert len(mine.claim("me", MINUTE)) == 1


# Other names.


def test_aliases_are_in_the_record_and_no_revision(repository):
    mine = repository()
    mine.put("entity", {"name": "Deven", "summary": "x"})
    revision = mine.get("entity", "Deven").revision
    assert mine.change_aliases("Deven", add=["D", "Dev", "D"])
    record = mine.get("entity", "Deven")
    assert record.meta["aliases"] == ["D", "Dev"]
    assert (record.revision, len(mine.history("entity", "Deven"))) == (revision, 1)
    assert mine.change_aliases("Deven", split=["D"])
    meta = mine.get("entity", "Deven").meta
    assert (meta["aliases"], meta["splits"]) == (["Dev"], ["D"])


def test_aliases_stay_with_a_new_summary(repository):
    mine = repository()
    mine.put("entity", {"name": "Deven", "summary": "x"}, ttl=MINUTE)
    mine.change_aliases("Deven", add=["D"])
    assert "expires_at" in mine.get("entity", "Deven").meta
    mine.put("entity", {"name": "Deven", "summary": "y"})
    assert mine.get("entity", "Deven").meta["aliases"] == ["D"]


def test_no_aliases_of_what_is_not_there(repository):
    mine = repository()
    assert mine.change_aliases("Nobody", add=["N"]) is False
    assert mine.get("entity", "Nobody") is None


def test_aliases_are_redacted_and_bounded(repository):
    mine = repository(redact=lambda kind, content: {**content, "name": "X"})
    mine.put("entity", {"name": "Deven", "summary": "x"})
    mine.change_aliases("X", add=["Deven", "bad\x00name"])
    assert mine.get("entity", "X").meta["aliases"] == ["X"]
    other = repository()
    other.change_aliases("X", add=[f"n{number}" for number in range(99)])
    assert len(other.get("entity", "X").meta["aliases"]) == 50


# A crash between journal and head.


@pytest.mark.parametrize("before", [True, False])
def test_a_write_that_was_cut_off_is_finished(scope, before):
    store = PlainStore()
    mine = Repository(store, scope)
    if before:
        mine.put("entity", {"name": "Ana", "summary": "one"})
    head = value_of(mine, "Ana")
    mine.put("entity", {"name": "Ana", "summary": "two"})
    new = value_of(mine, "Ana")
    namespace = (*scope, "entities")
    store.batch([PutOp(namespace, "Ana", head)])
    assert mine.finish_write("entity", "Ana") is True
    assert value_of(mine, "Ana") == new
    assert mine.finish_write("entity", "Ana") is False
    assert len(journal_of(mine, "Ana")) == 1 + before


def test_a_write_that_was_overtaken_stays_so(scope):
    store = PlainStore()
    mine = Repository(store, scope)
    mine.put("entity", {"name": "Ana", "summary": "one"})
    mine.put("entity", {"name": "Ana", "summary": "two"})
    mine.delete("entity", "Ana")
    assert mine.finish_write("entity", "Ana") is False
    assert mine.finish_write("entity", "Nobody") is False
    assert mine.get("entity", "Ana") is None
