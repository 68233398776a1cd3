"""`EntityGraph`: facts about entities, as records of a store or in this object."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Self

from holdover.compat import facts, records
from holdover.compat.both_ways import Operation, arun, run
from holdover.compat.edges import edges_of, reached, sorted_by
from holdover.compat.place import Place
from holdover.compat.repository import Repository
from holdover.compat.triples import KnowledgeTriple

__all__ = ["EntityGraph"]


class Since(NamedTuple):
    """A moment; with it, facts are added unless all were removed after it.

    Attributes:
        held: What the object itself held then: what is added there is gone with it.
        clearing: Which clearing of the stored facts was the last one.
    """

    held: dict[KnowledgeTriple, None]
    clearing: Any


class EntityGraph:
    """Who relates to what, and how: a directed graph of named entities.

    Any two may be related in several ways. In a store, only the triples are kept: an
    entity without any is known to this object alone.

    Args:
        triples: What it begins with; what a store holds already is not doubled.
    """

    def __init__(self, triples: Iterable[tuple[str, str, str]] = ()) -> None:
        self._place: Place | None = None
        self._triples: dict[KnowledgeTriple, None] = {}
        self._nodes: dict[str, None] = {}
        self._given: list[KnowledgeTriple] = [KnowledgeTriple(*one) for one in triples]
        self._source: Any = None

    def __setstate__(self, state: Any) -> None:
        """Take up a state, also that of a `NetworkxEntityGraph`."""
        if isinstance(state, dict) and "_triples" in state:
            self.__dict__.update(state)
            return
        from holdover.compat.old_states import (  # noqa: PLC0415 - rarely needed
            check_state,
            old_triples,
        )

        check_state(EntityGraph, state)
        EntityGraph.__init__(self, old_triples(state))

    @classmethod
    def of(cls, graph: Any) -> Self:
        """Take over the triples of another graph, when they are first needed.

        Raises:
            TypeError: It has no `get_triples`.
        """
        if isinstance(graph, cls):
            return graph
        if not callable(getattr(graph, "get_triples", None)):
            raise TypeError(f"A {type(graph).__name__} is no graph of entities.")
        taken = cls()
        taken._source = graph
        return taken

    @property
    def place(self) -> Place | None:
        """Where the triples are kept; `None` where this object has them."""
        return self._place

    def keep_in(self, place: Place) -> None:
        """Keep the triples in a place with a store; those it has go there, too.

        Raises:
            ValueError: It has such a place.
        """
        if self._place is not None:
            raise ValueError("This graph is kept in another place.")
        self._given = [*self._triples, *self._given]
        self._triples.clear()
        self._place = place

    def get_triples(self) -> list[tuple[str, str, str]]:
        """All of them as (subject, object, predicate), in the order they came in."""
        return run(self._listed())

    async def aget_triples(self) -> list[tuple[str, str, str]]:
        """See `get_triples`."""
        return await arun(self._listed())

    def add_triple(self, knowledge_triple: tuple[str, str, str]) -> None:
        """Add a fact; what is known about the two besides it stays."""
        run(self.adding([knowledge_triple]))

    async def aadd_triple(self, knowledge_triple: tuple[str, str, str]) -> None:
        """See `add_triple`."""
        await arun(self.adding([knowledge_triple]))

    def delete_triple(self, knowledge_triple: tuple[str, str, str]) -> None:
        """Remove one fact, and no other; its entities stay."""
        run(self._deleting([KnowledgeTriple(*knowledge_triple)]))

    async def adelete_triple(self, knowledge_triple: tuple[str, str, str]) -> None:
        """See `delete_triple`."""
        await arun(self._deleting([KnowledgeTriple(*knowledge_triple)]))

    def get_entity_knowledge(self, entity: str, depth: int = 1) -> list[str]:
        """What is known about an entity, each fact as a sentence.

        Args:
            entity: Its name; if nothing is known by it, other spellings count.
            depth: How many steps away the facts may be.
        """
        return run(self.knowing([entity], depth))[0]

    async def aget_entity_knowledge(self, entity: str, depth: int = 1) -> list[str]:
        """See `get_entity_knowledge`."""
        return (await arun(self.knowing([entity], depth)))[0]

    def clear(self) -> None:
        """Remove everything."""
        run(self.clearing())

    async def aclear(self) -> None:
        """See `clear`."""
        await arun(self.clearing())

    def clear_edges(self) -> None:
        """Remove all facts; the entities stay."""
        run(self._deleting(run(self.all())))

    def add_node(self, node: str) -> None:
        """Add an entity of which nothing is known."""
        self._nodes[node] = None

    def has_node(self, node: str) -> bool:
        """Whether an entity is there."""
        return node in self._all_nodes()

    def remove_node(self, node: str) -> None:
        """Remove an entity with all facts in which it is."""
        triples = run(self.all())
        run(self._deleting([one for one in triples if node in (one[0], one[2])]))
        self._nodes.pop(node, None)

    def get_number_of_nodes(self) -> int:
        """How many entities there are."""
        return len(self._all_nodes())

    def has_edge(self, source_node: str, destination_node: str) -> bool:
        """Whether a fact leads from one entity to the other."""
        return destination_node in edges_of(run(self.all())).get(source_node, {})

    def remove_edge(self, source_node: str, destination_node: str) -> None:
        """Remove all facts that lead from one entity to the other.

        Raises:
            KeyError: There is none.
        """
        edge = (source_node, destination_node)
        there = [one for one in run(self.all()) if (one[0], one[2]) == edge]
        if not there:
            raise KeyError(
                f"No fact leads from {source_node!r} to {destination_node!r}."
            )
        run(self._deleting(there))

    def get_neighbors(self, node: str) -> list[str]:
        """The entities that facts about this one lead to."""
        return list(edges_of(run(self.all())).get(node, {}))

    def get_topological_sort(self) -> list[str]:
        """The entities, each before those that facts about it lead to.

        Raises:
            ValueError: Facts lead in a circle.
        """
        return sorted_by(edges_of(run(self.all())), self._all_nodes())

    def all(self) -> Operation[list[KnowledgeTriple]]:
        """The triples, in the order in which they came in."""
        yield from self._take_over()
        stored = yield from self._stored()
        if stored is None:
            return list(self._triples)
        return (yield from facts.read(stored))

    def since(self) -> Operation[Since]:
        """This moment, for `adding` facts that take a while to be found."""
        held, stored = self._triples, (yield from self._stored())
        if stored is None:
            return Since(held, None)
        return Since(held, (yield facts.last_clearing(stored)))

    def adding(
        self, triples: Iterable[tuple[str, str, str]], since: Since | None = None
    ) -> Operation[None]:
        """Add facts together; none where everything was removed `since`."""
        yield from self._take_over()
        yield from self._put([KnowledgeTriple(*one) for one in triples], since)

    def knowing(
        self, entities: Sequence[str], depth: int = 1
    ) -> Operation[list[list[str]]]:
        """What is known about each of these, from one reading of the graph."""
        edges = edges_of((yield from self.all()))
        spellings: dict[str, list[str]] = {}
        for node in edges:
            spellings.setdefault(records.normalised(node), []).append(node)
        known: list[list[str]] = []
        for entity in entities:
            facts = reached(edges, entity, depth)
            if not facts:
                others = spellings.get(records.normalised(entity), [])
                facts = [fact for one in others for fact in reached(edges, one, depth)]
            known.append(facts)
        return known

    def clearing(self) -> Operation[None]:
        """Remove everything."""
        self._given, self._source = [], None
        # Another one: what is still added to the old one is not here.
        self._triples = {}
        self._nodes.clear()
        stored = yield from self._stored()
        if stored is not None:
            yield facts.clear(stored)

    def _listed(self) -> Operation[list[tuple[str, str, str]]]:
        triples = yield from self.all()
        return [(subject, object_, how) for subject, how, object_ in triples]

    def _all_nodes(self) -> dict[str, None]:
        nodes = dict(self._nodes)
        for subject, _, object_ in run(self.all()):
            nodes.update({subject: None, object_: None})
        return nodes

    def _deleting(self, triples: Sequence[KnowledgeTriple]) -> Operation[None]:
        yield from self._take_over()
        there = set((yield from self.all()))
        gone = [triple for triple in triples if triple in there]
        stored = yield from self._stored()
        for triple in gone:
            self._nodes.update({triple.subject: None, triple.object_: None})
            self._triples.pop(triple, None)
        if stored is not None:
            yield from facts.remove(stored, gone)

    def _take_over(self) -> Operation[None]:
        """Add what it was given to begin with, once."""
        if not self._given and self._source is None:
            return
        since = yield from self.since()
        source, self._source = self._source, None
        given, self._given = self._given, []
        try:
            if source is not None:
                found = source.get_triples()
                given = [*given, *(KnowledgeTriple(s, how, o) for s, o, how in found)]
                source = None
            yield from self._put(given, since)
        except BaseException:
            if self._triples is since.held:
                self._given, self._source = [*given, *self._given], source
            raise

    def _put(
        self, triples: Sequence[KnowledgeTriple], since: Since | None = None
    ) -> Operation[None]:
        stored = yield from self._stored()
        if stored is None:
            held = self._triples if since is None else since.held
            held.update(dict.fromkeys(triples))
        else:
            clearing = facts.ANY_TIME if since is None else since.clearing
            yield from facts.add(stored, triples, clearing)

    def _stored(self) -> Operation[Repository | None]:
        """Its records, if it has a place for them."""
        return None if self._place is None else (yield from self._place.opened())
