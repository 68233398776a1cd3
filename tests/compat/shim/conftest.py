"""The shim, switched on for a test and off after it."""

from __future__ import annotations

import importlib.util

import pytest

from holdover.compat import shim as the_shim


def is_installed(package):
    return importlib.util.find_spec(package) is not None


#: Asked before any test installs the shim, which finds more.
HAS_CLASSIC = is_installed("langchain_classic")
HAS_COMMUNITY = is_installed("langchain_community")
#: langchain 0.3, whose `langchain.memory` is real.
HAS_OLD = is_installed("langchain") and is_installed("langchain.memory")
#: langchain 1.x, which has some of the old modules.
HAS_NEW = is_installed("langchain") and not HAS_OLD


@pytest.fixture
def shim(monkeypatch):
    """Old paths can be imported, and nobody is warned."""
    monkeypatch.setenv("HOLDOVER_SHIM", "silent")
    monkeypatch.delenv("HOLDOVER_SHIM_REPORT", raising=False)
    with the_shim.installed():
        yield the_shim


@pytest.fixture
def loud_shim(monkeypatch):
    """The same, with the warnings that a user sees."""
    monkeypatch.delenv("HOLDOVER_SHIM", raising=False)
    monkeypatch.delenv("HOLDOVER_SHIM_REPORT", raising=False)
    with the_shim.installed():
        yield the_shim
