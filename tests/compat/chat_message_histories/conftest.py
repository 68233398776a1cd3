"""Old histories in a store of each kind."""

from __future__ import annotations

import contextlib
import importlib
import warnings

import backends
import pytest


@pytest.fixture(scope="session", autouse=True)
def _warned_of_by_older_packages():
    """What LangGraph's package warns of when it is loaded is not of these tests."""
    with warnings.catch_warnings(), contextlib.suppress(ImportError):
        warnings.simplefilter("ignore")
        importlib.import_module("langgraph.store.postgres")


class Both(backends.Driven):
    """A history by one twin; its messages are asked for as `messages()`."""

    def messages(self):
        if self._way == "sync":
            return self._target.messages
        return self._loop.run(self._target.aget_messages())

    def texts(self):
        return [message.content for message in self.messages()]


@pytest.fixture
def both(way, loop):
    """Drive a history by one twin."""
    return lambda history: Both(history, way, loop)


@pytest.fixture(params=["memory", "sqlite", "postgres", "redis"])
def target(request, shared_store):
    """A store of each usual kind; others' data is in it too."""
    return shared_store(request.param)


@pytest.fixture(autouse=True)
def _engines_closed():
    yield
    from holdover.compat.redis_clients import close_clients
    from holdover.compat.sql_engines import close_engines
    from holdover.compat.stores.opening import close_stores

    close_engines()
    close_clients()
    close_stores()
