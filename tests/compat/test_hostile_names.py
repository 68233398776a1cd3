"""Ten thousand hostile session ids and names: each comes back, none meets another."""

import random

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from holdover.compat.errors import InvalidScope
from holdover.compat.repository import Repository
from holdover.compat.scope import Scope

EXAMPLES = 10_000

PARTS = st.sampled_from(
    [
        *"~./*%\\:;|,_-'\"?#&=+@^$`<>(){}[]! \t\n\r\x00\x01\x1f\x7f\x80\x85\xa0",
        *"aAeEiIkK\u0131\u0130\u212aß\u1e9e\ufb01\u0301\u0308éÉ北\U0001f389",
        *("\u2028", "\ud800", "\udfff", "\ufeff", "\ufffd", "\ud83d", "\ude00"),
        *("~~", "~7e", "~2e", "~00", "..", "a.b", "langgraph", "memory_store"),
        *("entities", "messages", "journal", "~holdover", "session", "the", "users"),
        *("user1", "user10", "alice@example.com", "0000-4000-8000", "null", "default"),
    ]
)


def incompressible(number):
    """Text longer than a label or key may be, which no index could make shorter."""
    chance = random.Random(number)
    return chance.randbytes(chance.randint(90, 400)).hex()


NAMES = st.one_of(
    st.lists(PARTS, min_size=1, max_size=5).map("".join),
    st.text(st.characters(exclude_categories=()), max_size=8),
    PARTS,
    PARTS.map(lambda part: part * 200),
    st.integers(0, 2**16).map(incompressible),
)


@pytest.fixture(scope="module")
def told():
    """What each session was told: `{session: {name: summary}}`."""
    drawn = {}

    @seed(20261130)
    @settings(
        max_examples=EXAMPLES,
        phases=[Phase.generate],
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(NAMES, NAMES)
    def draw(session, name):
        drawn.setdefault(session, {})[name] = f"{name} of {session}"

    draw()
    return drawn


@pytest.mark.parametrize("kind", ["memory", "sqlite", "postgres"])
def test_ten_thousand_hostile_names(kind, shared_store, scope, told):
    assert sum(map(len, told.values())) > 0.8 * EXAMPLES
    assert len(told) > 0.2 * EXAMPLES
    store = shared_store(kind)
    of_session = {}
    for session, entities in told.items():
        mine = Repository(store, (scope[0], session), history=0)
        contents = [{"name": n, "summary": s} for n, s in entities.items()]
        assert set(mine.put_many("entity", contents)) == {"written"}
        of_session[session] = mine
    assert len({mine.namespace("entity") for mine in of_session.values()}) == len(told)
    for session, entities in list(told.items())[:: 2 if kind == "postgres" else 1]:
        # By reading all there is: everything of its own, nothing of anybody else's.
        found = of_session[session].page("entity", limit=EXAMPLES)
        assert {r.name: r.text for r in found} == entities
    for session in list(told)[::20]:
        mine, entities = of_session[session], told[session]
        found = mine.get_many("entity", list(entities))
        assert {r.name: r.text for r in found} == entities
        searched = mine.search("entity", limit=EXAMPLES)
        assert {r.name: r.text for r, _ in searched} == entities


@settings(max_examples=300)
@given(st.lists(NAMES, min_size=1, max_size=4), st.lists(NAMES, min_size=1, max_size=4))
def test_no_two_scopes_share_a_namespace(one, other):
    try:
        places = [
            {
                ("current", *Scope(*labels).encoded(), "entities"),
                ("journal", *Scope(*labels).encoded(), "entities", "key"),
                ("legacy", *Scope(*labels).encoded(), "entities"),
                ("legacy", *Scope(*labels).encoded(), "entities", "deleted"),
            }
            for labels in (one, other)
        ]
    except InvalidScope:
        return
    assert places[0].isdisjoint(places[1]) == (one != other)
