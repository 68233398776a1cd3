"""The page of differences is made from the rows, and can be read."""

import importlib.util
from pathlib import Path

import pytest
from parity.comparing import SCENARIOS
from parity.differences import DIFFERENCES, SECTIONS

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def generator():
    path = ROOT / "docs/measure/differences.py"
    spec = importlib.util.spec_from_file_location("differences_page", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_what_the_rows_make(generator):
    text = generator.PAGE.read_text("utf-8")
    assert text == generator.page(), "run: python docs/measure/differences.py"


def test_every_row_says_why():
    assert [row for row in DIFFERENCES if not row.why] == []


def test_what_is_shown_is_short(generator):
    for row in DIFFERENCES:
        if row.like is None and row.shown is None:
            longest = max(len(repr(row.classic)), len(repr(row.ours)))
            assert longest <= generator.LONGEST, row


def test_a_row_stands_for_another_of_its_section():
    for section in SECTIONS:
        shown = {row.scenario for row in section.rows if row.like is None}
        for row in section.rows:
            assert row.like is None or row.like in shown, row


def test_every_class_that_differs_is_on_the_page(generator):
    known = {one.of for one in SCENARIOS}
    for row in DIFFERENCES:
        assert set(row.classes) <= known
