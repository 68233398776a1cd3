"""The suite for pytest: `StoreConformance` on stores of ours, and as others use it."""

import os
import re
import subprocess
import sys
from contextlib import asynccontextmanager

import pytest
from langgraph.store.memory import InMemoryStore

from holdover.compat.testing import (
    AsyncStoreConformance,
    StoreConformance,
    known_differences,
    properties,
)
from holdover.compat.testing.known import SQLITE

FIVE_LINES = """
import pytest
from holdover.compat.testing import StoreConformance
from langgraph.store.memory import InMemoryStore

@pytest.fixture(scope="{scope}")
def store():
    return {made}

class TestMyStore(StoreConformance):
    {more}
"""
ASYNC = """
from contextlib import asynccontextmanager
from holdover.compat.testing import AsyncStoreConformance
from langgraph.store.memory import InMemoryStore

class TestMyStore(AsyncStoreConformance):
    @asynccontextmanager
    async def opened(self):
        yield InMemoryStore()
"""


def outcomes(tmp_path, text, *arguments):
    """Run pytest on a file as anyone would; give its last lines and the outcomes."""
    path = tmp_path / "test_my_store.py"
    path.write_text(text)
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-rA",
            "-p",
            "no:cacheprovider",
            "-W",
            "error",
            str(path),
            *arguments,
        ],
        cwd=tmp_path,
        # Whatever plugins are installed here, nobody else need have them.
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    summary = done.stdout.rsplit("short test summary info", 1)[-1]
    found = re.findall(r"^(\w+) \S*::test_conforms\[([^]]+)\]", summary, re.MULTILINE)
    return done.stdout, {name: outcome for outcome, name in found}


def test_five_lines(tmp_path):
    text = FIVE_LINES.format(scope="class", made="InMemoryStore()", more="...")
    shown, found = outcomes(tmp_path, text)
    known = {one.name for one in known_differences(InMemoryStore())}
    failed = {name for name, outcome in found.items() if outcome == "FAILED"}
    assert failed - {"concurrency.reading-while-writing"} == {
        name
        for name in known
        if not name.startswith("vectors.") and "reading-while" not in name
    }
    assert "should be: Changing a value that get returned" in shown
    passed = {name for name, outcome in found.items() if outcome == "PASSED"}
    assert "key.case" in passed
    # Skips are told without their name.
    assert len(found) + int(re.search(r"(\d+) skipped", shown)[1]) == len(properties())


def test_declared_differences_are_expected_failures_and_vanished_ones_fail(tmp_path):
    more = (
        "differences = [__import__('holdover.compat.testing').compat.testing."
        "Difference(n, 'so it is') for n in ('aliasing.get', 'key.case')]"
    )
    text = FIVE_LINES.format(scope="class", made="InMemoryStore()", more=more)
    _, found = outcomes(tmp_path, text, "-k", "aliasing.get or key.case")
    assert found == {"aliasing.get": "XFAIL", "key.case": "FAILED"}


def test_a_store_for_each_test(tmp_path):
    text = FIVE_LINES.format(scope="function", made="InMemoryStore()", more="...")
    _, found = outcomes(tmp_path, text, "-k", "key")
    assert set(found.values()) == {"PASSED"}
    assert len(found) >= 13


def test_only_what_is_selected_runs(tmp_path):
    made = "type('Once', (InMemoryStore,), {'put': None})()"
    text = FIVE_LINES.format(scope="class", made=made, more="...")
    _, found = outcomes(tmp_path, text, "-k", "search.nothing")
    assert found == {"search.nothing": "PASSED"}


def test_async(tmp_path):
    shown, found = outcomes(tmp_path, ASYNC, "-k", "batch or aliasing.get")
    assert found["batch.get-many"] == "PASSED", shown
    assert found["aliasing.get"] == "FAILED"


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    from holdover.compat.stores.opening import close_store, open_sqlite

    store = open_sqlite(str(tmp_path_factory.mktemp("suite") / "store.db"))
    yield store
    close_store(store)


class TestHoldoverOnSqlite(StoreConformance):
    """Every property by name, as in other people's tests."""

    differences = SQLITE


class TestMemoryByAsyncMethods(AsyncStoreConformance):
    differences = known_differences(InMemoryStore())

    @asynccontextmanager
    async def opened(self):
        yield InMemoryStore()
