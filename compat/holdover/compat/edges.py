"""Where facts lead: from an entity to others, by one predicate or several."""

from __future__ import annotations

from collections.abc import Iterable

#: For each subject, each object with the predicates between them.
Edges = dict[str, dict[str, list[str]]]


def edges_of(triples: Iterable[tuple[str, str, str]]) -> Edges:
    """The ways on, from each entity to each other."""
    edges: Edges = {}
    for subject, predicate, object_ in triples:
        edges.setdefault(subject, {}).setdefault(object_, []).append(predicate)
    return edges


def reached(edges: Edges, start: str, depth: int) -> list[str]:
    """The facts on the way to each entity, depth first, each entity reached once."""
    facts: list[str] = []
    seen = {start}
    stack = [(start, iter(edges.get(start, {}).items()))]
    while stack:
        source, ahead = stack[-1]
        for sink, predicates in ahead:
            if sink in seen:
                continue
            seen.add(sink)
            facts += [f"{source} {predicate} {sink}" for predicate in predicates]
            if len(stack) < depth:
                stack.append((sink, iter(edges.get(sink, {}).items())))
                break
        else:
            stack.pop()
    return facts


def sorted_by(edges: Edges, nodes: Iterable[str]) -> list[str]:
    """The entities, each before those that it leads to.

    Raises:
        ValueError: They lead in a circle.
    """
    waiting = dict.fromkeys(nodes, 0)
    for sinks in edges.values():
        for sink in sinks:
            waiting[sink] += 1
    ready = [node for node, before in waiting.items() if not before]
    for node in ready:  # it grows meanwhile
        for sink in edges.get(node, {}):
            waiting[sink] -= 1
            if not waiting[sink]:
                ready.append(sink)
    if len(ready) < len(waiting):
        raise ValueError("Facts lead in a circle: there is no such order.")
    return ready
