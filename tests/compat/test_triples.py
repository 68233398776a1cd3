"""What a model says about facts, read as triples."""

from __future__ import annotations

import time

import pytest

from holdover.compat.triples import (
    MAX_TRIPLES,
    KnowledgeTriple,
    parse_triples,
)

TEA, INK = ("Maya", "likes", "tea"), ("Bo", "uses", "ink")


@pytest.mark.parametrize(
    ("answer", "triples"),
    [
        # What classic reads.
        ("(Maya, likes, tea)", [TEA]),
        (" (Maya, likes, tea)<|>(Bo, uses, ink)\n", [TEA, INK]),
        ("NONE", []),
        ("", []),
        # What it cannot, or reads wrongly.
        ("(Maya, lives in, Paris, France)", [("Maya", "lives in", "Paris, France")]),
        ("Maya, likes, tea", [TEA]),
        ("Maya, likes, tea<|>Bo, uses, ink", [TEA, INK]),
        ("(Maya,likes,tea)", [TEA]),
        ("(Maya, likes, tea) <|> (Bo, uses, ink)", [TEA, INK]),
        ("(Maya, likes, tea)\n(Bo, uses, ink)", [TEA, INK]),
        ("(Maya, likes, tea), (Bo, uses, ink)", [TEA, INK]),
        ("(Maya, likes, tea)(Bo, uses, ink)", [TEA, INK]),
        ("- (Maya, likes, tea)\n* (Bo, uses, ink)", [TEA, INK]),
        ("1. (Maya, likes, tea)\n2) Bo, uses, ink", [TEA]),
        ("1. Maya, likes, tea\n2) Bo, uses, ink", [TEA, INK]),
        ("Output: (Maya, likes, tea)", [TEA]),
        ("Output: Maya, likes, tea", [TEA]),
        (
            "Here are the triples:\n\n(Maya, likes, tea)\n\nThat is, I think, all.",
            [TEA],
        ),
        ("```\n(Maya, likes, tea)\n```", [TEA]),
        ('("Maya", "likes", "tea")', [TEA]),
        ("('Maya', 'likes', 'tea')", [TEA]),
        ("(**Maya**, likes, `tea`)", [TEA]),
        ('("Paris, France", is in, Europe)', [("Paris, France", "is in", "Europe")]),
        ("(Maya's cat, likes, 'tea')", [("Maya's cat", "likes", "tea")]),
        ('(Maya, said, "hi" and "bye")', [("Maya", "said", '"hi" and "bye"')]),
        ("[Maya, likes, tea]", [TEA]),
        ('[["Maya", "likes", "tea"], ["Bo", "uses", "ink"]]', [TEA, INK]),
        ("[(Maya, likes, tea)<|>(Bo, uses, ink)]", [TEA, INK]),
        ("(Maya, works at, Orbit (UK))", [("Maya", "works at", "Orbit (UK)")]),
        ("Maya, works at, Orbit (UK, EU)", [("Maya", "works at", "Orbit (UK, EU)")]),
        ("(Maya,\n likes,\n tea)", [TEA]),
        ("(\n  Maya,\n  likes,\n  tea\n)\n(Bo, uses, ink)", [TEA, INK]),
        ("(Maya  ,\t likes ,  tea )", [TEA]),
        ("(\n(\n(Maya, likes, tea)", [TEA]),
        ("(Maya, likes, tea", [TEA]),
        ("Maya, likes, tea.", [TEA]),
        ("\uff08Maya\uff0c likes\uff0c tea\uff09", [TEA]),
        ("(Maya, likes, tea)<|>(Maya, likes, tea)", [TEA]),
        ("(Maya, likes, tea)<|>(Maya, likes)<|>junk<|>(Bo, uses, ink)", [TEA, INK]),
        # No facts.
        ("none.", []),
        ("(NONE, NONE, NONE)", []),
        ("(subject, predicate, object)", []),
        ("(Maya, likes)", []),
        ("(Maya, , tea)", []),
        ("()", []),
        ("Sorry, but I found no facts, none at all.", []),
        ("The human says hello, the AI greets back, and nothing else is stated.", []),
        ("It is a greeting (e.g. hi, hello, hey).", []),
        (f"({'x' * 201}, is, long)", []),
        (f"(it, is, {'x' * 1001})", []),
    ],
)
def test_an_answer_is_read(answer, triples):
    assert parse_triples(answer) == triples


def test_an_essay_is_bounded():
    answer = "<|>".join(f"(a, b, {number})" for number in range(1_000))
    found = parse_triples(answer)
    assert found == [("a", "b", str(number)) for number in range(MAX_TRIPLES)]


@pytest.mark.parametrize(
    "answer",
    [
        "(" * 100_000,
        "[(" * 50_000,
        "(" * 50_000 + ")" * 50_000,
        " " * 100_000,
        "(a" + " " * 90_000 + ",b,c)",
        "(a" + " " * 90_000 + ",b)",
        "a, b" + " " * 90_000,
        "a," * 50_000,
        "(a, b, c)" * 11_000,
        "\n" * 100_000,
        '("' * 50_000,
        ": " * 50_000,
        "(\n" * 50_000,
        "[\n" * 50_000,
        "(a\n" * 33_000,
        "(\n(a)" * 20_000,
        "[\n[a](" * 16_000,
        ("(a" + " " * 1_400 + "b)\n") * 70,
        ("(a," + " " * 1_400 + "b)\n") * 70,
        ("(a, b" + "\t" * 1_400 + ")\n") * 70,
        ("(" + "a " * 700 + ")\n") * 70,
        '(a, "' * 20_000,
    ],
    ids=lambda answer: repr(answer[:10] + answer[-10:]),
)
def test_no_answer_takes_long(answer):
    begun = time.process_time()
    parse_triples(answer)
    assert time.process_time() - begun < 0.5


@pytest.mark.parametrize("text", ["(Maya, likes, tea)", " Maya, likes, tea "])
def test_one_triple_is_read(text):
    triple = KnowledgeTriple.from_string(text)
    assert triple == TEA
    assert (triple.subject, triple.predicate, triple.object_) == TEA


@pytest.mark.parametrize("text", ["", "(Maya, likes)", "Maya"])
def test_what_is_no_triple_is_refused(text):
    with pytest.raises(ValueError, match="Not a triple"):
        KnowledgeTriple.from_string(text)
