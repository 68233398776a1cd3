"""Everything that is done with classic gives the same with ours, but for what is
declared; and what is declared is so, on both sides."""

import importlib.util

import parity.scenarios  # noqa: F401 - registers them
import pytest
from parity.comparing import SCENARIOS, Raises, outcome
from parity.differences import DIFFERENCES

from holdover.compat import base

if base.CLASSIC is None:
    pytest.skip("no classic package to compare with", allow_module_level=True)

CASES = [(one, way) for one in SCENARIOS for way in one.ways]


def missing(one):
    return one.needs is not None and importlib.util.find_spec(one.needs) is None


def same(classic, ours):
    return classic.allows(ours) if isinstance(classic, Raises) else classic == ours


@pytest.mark.parametrize(
    ("one", "way"), CASES, ids=[f"{one.id}-{way}" for one, way in CASES]
)
def test_the_same_or_declared(one, way, lane, library):
    if missing(one):
        pytest.skip(f"classic's {one.of} needs {one.needs}")
    declared = [row for row in DIFFERENCES if row.covers(one, way, lane)]
    classic = outcome(one, library("classic", way))
    ours = outcome(one, library("ours", way))
    if not declared:
        assert same(classic, ours), f"\nclassic {classic!r}\nours    {ours!r}"
        return
    (row,) = declared
    assert classic == row.classic, "classic"
    assert ours == row.ours, "ours"
    assert not same(classic, ours), "it does not differ any more"


def test_no_row_is_without_its_scenario():
    known = {(one.of, one.name, way) for one in SCENARIOS for way in one.ways}
    for row in DIFFERENCES:
        for of in row.classes:
            ways = [way for way in ("sync", "async") if row.way in (None, way)]
            assert any((of, row.scenario, way) in known for way in ways), row


def test_no_scenario_has_the_name_of_another():
    names = [(one.of, one.name) for one in SCENARIOS]
    assert len(names) == len(set(names))
