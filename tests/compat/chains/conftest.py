"""Our memories in other people's chains: what is asked, answered and kept."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from holdover.compat import base, close_stores, configured

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

# Chains that are deprecated say so; what ours say still fails a test.
DEPRECATED = (
    "ignore::DeprecationWarning",
    "ignore::PendingDeprecationWarning",
)


def pytest_collection_modifyitems(items):
    for item in items:
        if HERE in item.path.parents:
            for line in DEPRECATED:
                item.add_marker(pytest.mark.filterwarnings(line))


@pytest.fixture(scope="session")
def classic():
    """Import a module of the classic package of this environment."""
    if base.CLASSIC is None:
        pytest.skip("the classic chains are not installed")
    return lambda name: importlib.import_module(f"{base.CLASSIC}.{name}")


@pytest.fixture
def call(way, loop):
    """Run anything that has `invoke`, or `ainvoke` in its place."""

    def run(runnable, *args, **kwargs):
        if way == "sync":
            return runnable.invoke(*args, **kwargs)
        return loop.run(runnable.ainvoke(*args, **kwargs))

    return run


@pytest.fixture
def restarted(tmp_path):
    """A store in a file; each block stands for a process that has it configured."""
    address = f"sqlite:///{tmp_path / 'memory.db'}"

    class Process:
        def __enter__(self):
            self.block = configured(store=address)
            self.block.__enter__()

        def __exit__(self, *failed):
            self.block.__exit__(*failed)
            close_stores()

    return Process
