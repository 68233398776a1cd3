"""The page of stores is made from the reports, and says what the tests assert."""

import importlib.util
from pathlib import Path

import pytest
from expectations import EXPECTED

from holdover.compat.testing import properties

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def matrix():
    path = ROOT / "docs/measure/store_matrix.py"
    spec = importlib.util.spec_from_file_location("store_matrix", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_what_the_reports_make(matrix):
    text = matrix.PAGE.read_text("utf-8")
    assert matrix.page(text, matrix.load()) == text


def test_there_is_a_report_of_every_store_with_every_property(matrix):
    reports = matrix.load()
    assert set(reports) == set(matrix.ORDER) == set(EXPECTED)
    names = [one.name for one in properties()]
    for name, report in reports.items():
        assert report["schema"] == 1
        assert sorted(one["name"] for one in report["properties"]) == sorted(names)
        assert not any(
            one["outcome"] in ("fail", "error", "difference vanished")
            for one in report["properties"]
        ), name


def test_the_page_says_what_is_declared(matrix):
    for name, report in matrix.load().items():
        lacking = {one["name"] for one in report["properties"] if "reason" in one}
        declared = {one.name for one in EXPECTED[name]}
        assert lacking <= declared, name
