"""`EntityGraph`: facts about entities, as records of a store or in an object."""

from __future__ import annotations

import copy
import pickle

import backends
import pytest
from langgraph.store.base import PutOp

from holdover.compat.both_ways import arun, run
from holdover.compat.graph import EntityGraph
from holdover.compat.place import Place
from holdover.compat.repository import Repository


@pytest.fixture(params=[None, *backends.ALL])
def graph(request, shared_store, way, loop, scope):
    """A graph in itself alone, or on each kind of store."""
    graph = EntityGraph()
    if request.param:
        graph.keep_in(Place(shared_store(request.param), scope=scope))
    return backends.Driven(graph, way, loop)


@pytest.fixture
def alone(way, loop):
    return backends.Driven(EntityGraph(), way, loop)


@pytest.fixture
def do(way, loop):
    """Run an operation by one way."""
    return run if way == "sync" else lambda operation: loop.run(arun(operation))


def filled(graph, *triples):
    for triple in triples:
        graph.add_triple(triple)
    return graph


def test_facts_are_kept_in_order_each_once(graph):
    assert graph.get_triples() == []
    facts = [("Maya", "likes", "tea"), ("Bo", "knows", "Maya"), ("A", "b", "c")]
    filled(graph, *facts, facts[0])
    assert graph.get_triples() == [
        ("Maya", "tea", "likes"),
        ("Bo", "Maya", "knows"),
        ("A", "c", "b"),
    ]


def test_two_entities_are_related_in_several_ways(graph):
    filled(graph, ("Maya", "works at", "Orbit"), ("Maya", "founded", "Orbit"))
    filled(graph, ("Maya", "founded", "Luna"))
    assert graph.get_entity_knowledge("Maya") == [
        "Maya works at Orbit",
        "Maya founded Orbit",
        "Maya founded Luna",
    ]


def test_one_fact_is_deleted_and_no_other(graph):
    filled(graph, ("Maya", "works at", "Orbit"), ("Maya", "founded", "Orbit"))
    graph.delete_triple(("Maya", "works at", "Orbit"))
    graph.delete_triple(("Maya", "knows", "Bo"))
    assert graph.get_triples() == [("Maya", "Orbit", "founded")]
    assert graph.get_number_of_nodes() == 2


def test_clear_removes_everything(graph):
    filled(graph, ("a", "b", "c")).clear()
    assert graph.get_triples() == []
    assert graph.get_number_of_nodes() == 0


def test_facts_found_before_a_clear_are_not_added_after_it(graph, do):
    fact = ("Maya", "likes", "tea")
    for cleared in (False, True, True):
        since = do(graph.since())
        if cleared:
            graph.clear()
        do(graph.adding([fact], since))
        assert len(graph.get_triples()) == (0 if cleared else 1)
    do(graph.adding([fact], do(graph.since())))
    assert len(graph.get_triples()) == 1


def test_any_text_is_kept(graph):
    fact = ("~ü\x00", "is \ud800", "a\nb")
    filled(graph, fact)
    assert graph.get_triples() == [(fact[0], fact[2], fact[1])]


def test_an_entity_is_found_by_another_spelling_if_nothing_is_known_by_this(alone):
    filled(alone, ("Maya  Q", "likes", "tea"), ("maya q", "likes", "ink"))
    assert alone.get_entity_knowledge("maya q") == ["maya q likes ink"]
    assert alone.get_entity_knowledge("MAYA Q") == [
        "Maya  Q likes tea",
        "maya q likes ink",
    ]
    assert alone.get_entity_knowledge("Maya") == []
    assert alone.get_entity_knowledge("tea") == []


@pytest.mark.parametrize(
    ("depth", "facts"),
    [
        (1, ["a to b", "a to c"]),
        (2, ["a to b", "b to d", "a to c", "c to e"]),
        (9, ["a to b", "b to d", "d to e", "a to c"]),
    ],
)
def test_facts_further_away_are_found_depth_first(alone, depth, facts):
    edges = ["ab", "ac", "bd", "de", "ce", "ea", "aa"]
    filled(alone, *((one, "to", other) for one, other in edges))
    assert alone.get_entity_knowledge("a", depth) == facts


def test_entities_can_be_looked_at_and_removed():
    graph = EntityGraph([("a", "to", "b"), ("b", "to", "c"), ("a", "and", "b")])
    graph.add_node("d")
    assert [graph.has_node(one) for one in "abcdx"] == [True] * 4 + [False]
    assert graph.get_number_of_nodes() == 4
    assert graph.get_neighbors("a") == ["b"]
    assert graph.get_neighbors("x") == []
    assert graph.has_edge("a", "b")
    assert not graph.has_edge("b", "a")
    graph.remove_edge("a", "b")
    assert graph.get_triples() == [("b", "c", "to")]
    assert graph.has_node("a")
    with pytest.raises(KeyError):
        graph.remove_edge("a", "b")
    graph.remove_node("c")
    graph.remove_node("x")
    assert graph.get_triples() == []
    assert not graph.has_node("c")
    assert graph.has_node("b")


def test_the_facts_go_and_the_entities_stay():
    graph = EntityGraph([("a", "to", "b")])
    graph.clear_edges()
    assert graph.get_triples() == []
    assert graph.get_number_of_nodes() == 2


def test_entities_are_sorted_by_what_leads_to_what():
    graph = EntityGraph([("c", "to", "d"), ("a", "to", "c"), ("b", "to", "c")])
    graph.add_node("e")
    assert graph.get_topological_sort() == ["e", "a", "b", "c", "d"]
    graph.add_triple(("d", "to", "a"))
    with pytest.raises(ValueError, match="circle"):
        graph.get_topological_sort()


def test_it_is_copied_and_pickled():
    graph = EntityGraph([("a", "to", "b")])
    for twin in (copy.deepcopy(graph), pickle.loads(pickle.dumps(graph))):
        twin.add_triple(("b", "to", "c"))
        assert len(twin.get_triples()) == 2
    assert len(graph.get_triples()) == 1


def test_what_it_held_moves_into_the_place_it_is_given(shared_store, scope):
    graph = EntityGraph([("a", "to", "b")])
    graph.add_triple(("b", "to", "c"))
    place = Place(shared_store("memory"), scope=scope)
    graph.keep_in(place)
    with pytest.raises(ValueError, match="another place"):
        graph.keep_in(place)
    expected = [("a", "b", "to"), ("b", "c", "to")]
    assert graph.get_triples() == expected
    other = EntityGraph()
    other.keep_in(place)
    assert other.get_triples() == expected


def test_what_it_was_given_is_not_lost_when_the_store_fails(shared_store, scope):
    store = backends.PlainStore()
    graph = EntityGraph([("a", "to", "b")])
    graph.keep_in(Place(store, scope=scope))
    batch, store.batch = store.batch, lambda ops: 1 / 0
    with pytest.raises(ZeroDivisionError):
        graph.get_triples()
    store.batch = batch
    assert graph.get_triples() == [("a", "b", "to")]


@pytest.mark.parametrize("kept", [False, True])
def test_a_graph_that_fails_once_is_taken_over_later(kept, scope):
    class Failing:
        fails = True

        def get_triples(self):
            failed, self.fails = self.fails, False
            if failed:
                raise OSError("busy")
            return [("Maya", "tea", "likes")]

    graph = EntityGraph.of(Failing())
    if kept:
        graph.keep_in(Place(backends.PlainStore(), scope=scope))
    with pytest.raises(OSError, match="busy"):
        graph.get_triples()
    assert graph.get_triples() == [("Maya", "tea", "likes")]


def test_a_graph_that_is_cleared_while_it_is_taken_over_stays_empty():
    class Slow:
        def get_triples(self):
            graph.clear()
            return [("Maya", "tea", "likes")]

    graph = EntityGraph.of(Slow())
    assert graph.get_triples() == []


class Interrupted(backends.PlainStore):
    """Does something else just before it puts something into a namespace."""

    into, meanwhile = None, None

    def batch(self, ops):
        ops = list(ops)
        puts = (op for op in ops if isinstance(op, PutOp))
        if self.meanwhile and any(op.namespace == self.into for op in puts):
            meanwhile, self.meanwhile = self.meanwhile, None
            meanwhile()
        return super().batch(ops)


def test_facts_that_are_cleared_while_they_are_written_are_gone(scope, do):
    store = Interrupted()
    graph = EntityGraph([("Maya", "likes", "tea")])
    graph.keep_in(Place(store, scope=scope))
    since = do(graph.since())
    do(graph.adding([("Maya", "likes", "ink")], since))
    assert len(graph.get_triples()) == 2
    other = Repository(store, scope)
    store.into = other.namespace("triple")
    store.meanwhile = lambda: other.clear("triple")
    do(graph.adding([("Maya", "studies", "comets")], since))
    assert store.meanwhile is None
    assert graph.get_triples() == []
    do(graph.adding([("Maya", "studies", "stars")], since))
    assert graph.get_triples() == []
    do(graph.adding([("Maya", "studies", "stars")], do(graph.since())))
    assert graph.get_triples() == [("Maya", "stars", "studies")]


def test_a_forgotten_fact_stays_away(shared_store, scope):
    from holdover.compat.records import key_of

    store = shared_store("memory")
    graph = EntityGraph()
    graph.keep_in(Place(store, scope=scope))
    filled(graph, ("Maya", "likes", "tea"))
    parts = {"subject": "Maya", "predicate": "likes", "object": "tea"}
    Repository(store, scope).forget("triple", key_of("triple", parts))
    filled(graph, ("Maya", "likes", "tea"), ("Maya", "likes", "ink"))
    assert graph.get_triples() == [("Maya", "ink", "likes")]


def test_items_of_others_count_if_they_are_triples(shared_store, scope):
    store = shared_store("memory")
    into = Repository(store, scope).namespace("triple")
    fact = {"subject": "x", "predicate": "to", "object": "y"}
    backends.put_plainly(store, into, "1", {"text": "of others"})
    backends.put_plainly(store, into, "2", {"text": "x to y", **fact})
    backends.put_plainly(store, into, "3", {"text": "x to 5", **fact, "object": 5})
    graph = EntityGraph()
    graph.keep_in(Place(store, scope=scope))
    filled(graph, ("a", "to", "b"))
    assert graph.get_triples() == [("x", "y", "to"), ("a", "b", "to")]


def test_many_facts_are_read_in_pages(shared_store, scope):
    facts = [("a", "to", str(number)) for number in range(1_203)]
    graph = EntityGraph(facts)
    graph.keep_in(Place(shared_store("sqlite"), scope=scope))
    assert [int(sink) for _, sink, _ in graph.get_triples()] == list(range(1_203))


def test_a_graph_of_networkx_is_taken_over():
    pytest.importorskip("networkx", reason="networkx is not installed")
    module = pytest.importorskip("langchain_community.graphs.networkx_graph")
    old = module.NetworkxEntityGraph()
    old.add_triple(module.KnowledgeTriple("Maya", "likes", "tea"))
    assert EntityGraph.of(old).get_triples() == old.get_triples()


def test_what_is_no_graph_is_refused():
    with pytest.raises(TypeError, match="no graph"):
        EntityGraph.of({"a": 1})
