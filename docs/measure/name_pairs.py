"""How often a name finds the entity it means, on the committed list of name pairs.

A row of `tests/compat/name_pairs.json` is a name that was said, the names that are
known, and what a person says it means: one of them, `new`, or `ambiguous`. A match is
that entity found. A wrong merge is any other entity found. A miss is an entity that was
not found: the name then gets a record of its own. Classic compares keys exactly.

    python docs/measure/name_pairs.py [--rows]
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from holdover.compat.resolve import Known, resolve

PAIRS = Path(__file__).parents[2] / "tests" / "compat" / "name_pairs.json"
APART = ("new", "ambiguous")

Row = tuple[str, list[str], str, str, str]
Meaning = Callable[[str, list[str]], str]


def rows() -> list[Row]:
    """Return the committed rows."""
    return [tuple(row) for row in json.loads(PAIRS.read_text("utf-8"))]


def ours(said: str, known: list[str]) -> str:
    """Return what Holdover takes the name for."""
    found = resolve(said, [Known(name) for name in known])
    return found.how if found.how in APART else found.name


def classic(said: str, known: list[str]) -> str:
    """Return what a classic entity store finds under the name."""
    return said if said in known else "new"


def outcome(row: Row, meaning: Meaning) -> str:
    """Return how one row went."""
    said, known, expected, *_ = row
    found = meaning(said, known)
    if found in APART:
        return "kept apart" if expected in APART else "miss"
    return "match" if found == expected else "wrong merge"


def figures(meaning: Meaning) -> Counter[str]:
    """Count how the rows went."""
    return Counter(outcome(row, meaning) for row in rows())


def main() -> None:
    """Print the table, and the rows that are no plain success when asked."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--rows", action="store_true", help="print misses too")
    show = arguments.parse_args().rows
    every = rows()
    same = sum(row[2] not in APART for row in every)
    labels = {row[3] for row in every}
    print(f"{len(every)} pairs, {len(labels)} labels of language or script:")
    print(f"{same} mean a known entity, {len(every) - same} must be kept apart")
    print(f"{'':10}{'matches':>9}{'wrong merges':>14}{'misses':>8}{'kept apart':>12}")
    for name, meaning in (("Holdover", ours), ("classic", classic)):
        count = figures(meaning)
        print(
            f"{name:10}{count['match']:>9}{count['wrong merge']:>14}"
            f"{count['miss']:>8}{count['kept apart']:>12}"
        )
    agreed = sum(ours(row[0], row[1]) == row[2] for row in every)
    print(f"Holdover says exactly what the person said, new or ambiguous too: {agreed}")
    for row in every if show else ():
        how = outcome(row, ours)
        if how in {"miss", "wrong merge"}:
            print(f"{how:12}{row[0]!r} of {row[1]}: {row[4]} ({row[3]})")


if __name__ == "__main__":
    main()
