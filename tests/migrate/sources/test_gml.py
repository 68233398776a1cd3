"""Graphs in GML files, as networkx and others write them."""

from __future__ import annotations

import io
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdover.migrate.sources import gml
from holdover.migrate.sources.base import ALL_KINDS
from holdover.migrate.sources.gml import Damage, Edge, edges_of

networkx = pytest.importorskip("networkx")

NODES = 'node [ id 0 label "Sam" ] node [ id 1 label "Lyon" ]'
EDGE = 'edge [ source 0 target 1 relation "lives in" ]'
NESTED = """graph [
  node [ id 1 label "a" graphics [ label "no" x 1.5 ] ]
  edge [ source 1 target 1 line [ relation "no" ] relation "r" ] ]
"""
ESCAPED = """graph [
  node [ id -1 label "&#233; &quot;&amp;&#10;&#x1F389;&nope;" ]
  edge [ source -1 target -1 relation "&lt;" ] ]
"""
MULTIPLE = """graph [ multigraph 1 node [ id 0 label "two
lines" ] edge [ source 0 target 0 key 0 relation 5 ] ]
"""
SAM = Edge("Sam", "lives in", "Lyon")


def read(text):
    raw = text if isinstance(text, bytes) else text.encode()
    return list(edges_of(io.BytesIO(raw)))


def written(triples):
    """The file that `NetworkxEntityGraph.write_to_gml` makes of triples."""
    graph = networkx.DiGraph()
    for subject, relation, object_ in triples:
        graph.add_edge(subject, object_, relation=relation)
    file = io.BytesIO()
    networkx.write_gml(graph, file)
    return file.getvalue()


@pytest.mark.parametrize(
    ("text", "edges"),
    [
        (f"graph [ directed 1 {NODES} {EDGE} ]", [SAM]),
        (f"graph [\n\tdirected 1\n{EDGE}\n{NODES}\n]\n", [SAM]),
        (f'Creator "x"\nVersion 1\n# a note [\ngraph [ {NODES} {EDGE} ]', [SAM]),
        (f"\ufeffgraph [{NODES}{EDGE}]", [SAM]),
        (f"graph [ {NODES} {EDGE} {EDGE} ] graph [ {EDGE} ]", [SAM, SAM]),
        ("graph [ node [ id 7 ] edge [ source 7 target 7 ] ]", [Edge("7", "", "7")]),
        (NESTED, [Edge("a", "r", "a")]),
        (ESCAPED, [Edge('é "&\n🎉&nope;', "<", 'é "&\n🎉&nope;')]),
        (MULTIPLE, [Edge("two\nlines", "5", "two\nlines")]),
        (f"graph [ {NODES} edge [ source 0 target 9 ] ]", [Edge("Sam", "", None)]),
        (f"graph [ {NODES} edge [ ] ]", [Edge(None, "", None)]),
        ("graph [ ]", []),
    ],
)
def test_graphs_are_read_however_they_are_laid_out(text, edges):
    assert read(text) == edges


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "graph", "graph [", "graphs [ ]", "{}", "graph [ 5 ]", "graph [ a ]",
        "graph [ a b ]", "]", 'graph [ label "no end ]', "graph [ $ ]",
        b"graph [ \xff ]", "a [ " * 200, "graph [ a ] ]",
    ],
)  # fmt: skip
def test_what_is_no_graph_says_so(text):
    found = read(text)
    assert len(found) == 1
    assert isinstance(found[0], Damage)


@pytest.mark.parametrize("chunk", [1, 2, 3, 7, 64, 10_000])
def test_a_file_is_read_in_any_pieces(chunk, monkeypatch):
    monkeypatch.setattr(gml, "_CHUNK", chunk)
    file = io.BytesIO(f"graph [ {NODES} {EDGE} ]".encode())
    assert list(edges_of(_Slow(file.read, chunk))) == [SAM]


class _Slow:
    """A file that gives a few bytes at a time."""

    def __init__(self, read, most):
        self._read, self._most = read, most

    def read(self, size):
        return self._read(min(size, self._most))


def test_what_stands_before_the_damage_is_read():
    whole = written([("Sam", "lives in", "Lyon"), ("Sam", "is a", "hiker")])
    known = read(whole)
    assert len(known) == 2
    for end in range(len(whole) - 2):
        *edges, damage = read(whole[:end])
        assert isinstance(damage, Damage)
        assert edges == known[: len(edges)]


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.tuples(st.text(), st.text(), st.text()),
        unique_by=lambda one: (one[0], one[2]),
        max_size=8,
    )
)
def test_what_networkx_writes_is_what_it_was(triples):
    expected = {(s, o): r for s, r, o in triples}
    found = read(written(triples))
    assert {(edge.source, edge.target): edge.relation for edge in found} == expected
    assert len(found) == len(expected)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200), st.integers(0, 150))
def test_no_bytes_raise(noise, at):
    raw = f"graph [ {NODES} {EDGE} ]".encode()
    for one in read(raw[:at] + noise + raw[at:]):
        assert isinstance(one, Edge | Damage)


def test_a_text_without_end_takes_no_more_than_it_has_to(monkeypatch):
    monkeypatch.setattr(gml, "_LONGEST", 1 << 20)
    tracemalloc.start()
    try:
        (damage,) = edges_of(_Endless())
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert isinstance(damage, Damage)
    assert peak < 30 << 20


class _Endless:
    def __init__(self):
        self._begun = False

    def read(self, size):
        begin, self._begun = (b"" if self._begun else b'graph [ a "'), True
        return begin + b"x" * size


def test_a_graph_is_the_triples_of_one_session(source, tmp_path, untouched):
    folder = tmp_path / "graphs"
    folder.mkdir()
    (folder / "sam.gml").write_bytes(
        written([("Sam", "lives in", "Lyon"), ("Zoé", "knows", "Sam")]).replace(
            b"graph [", b"graph [\n  edge [ source 0 target 99 ]", 1
        )
    )
    with untouched(folder):
        opened = source(folder / "sam.gml", kinds=ALL_KINDS)
        (partition,) = opened.partitions()
        (batch,) = opened.read(partition)
    assert [item.content["text"] for item in batch.items] == [
        "Sam lives in Lyon", "Zoé knows Sam",
    ]  # fmt: skip
    assert {(item.kind, item.root, item.session) for item in batch.items} == {
        ("triple", "message_store", "sam")
    }
    assert [reject.reason for reject in batch.rejects] == ["no-such-node"]
