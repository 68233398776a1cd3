"""A rollback stopped at any write of a store without transactions, and run again."""

from __future__ import annotations

import sys

import backends
import pytest
from langgraph.store.base import PutOp
from moving import items_of, write_old_file

from holdover.compat.stores import opening
from holdover.migrate.options import Options
from holdover.migrate.rollback import rollback
from holdover.migrate.run import migrate
from holdover.migrate.status import status

NAMESPACE = ("memory_store", "s", "entities")
FOREIGN = {"text": "by an agent", "n": [1, None]}


class Stopped(BaseException):
    """As sudden as a kill, but that the test goes on."""


class Stopping(backends.PlainStore):
    """Stops at one of its writes."""

    def __init__(self):
        super().__init__()
        self.writes, self.stop_at = 0, 0

    def batch(self, ops):
        ops = list(ops)
        if any(isinstance(op, PutOp) for op in ops):
            self.writes += 1
            if self.writes == self.stop_at:
                raise Stopped
        return super().batch(ops)


@pytest.fixture
def store(monkeypatch):
    made = Stopping()
    module = type(sys)("stopping")
    module.make = made
    monkeypatch.setitem(sys.modules, "stopping", module)
    monkeypatch.setattr(opening, "_opened", {})
    return made


def everything(store):
    return items_of(store), {
        place: values
        for place, values in items_of(store, internal=True).items()
        if values and place[1] != "labels"
    }


def test_stopped_at_every_write(store, old_file):
    source = write_old_file(old_file, {"s": {"Taken": "ours", "A": "a", "B": "b"}})
    at = 0
    while True:
        at += 1
        for namespace in list(store.inner._data):
            store.inner._data.pop(namespace)
        store.put(NAMESPACE, "Taken", FOREIGN)
        before = everything(store)
        store.writes = store.stop_at = 0
        done = migrate(source, "stopping:make", Options(on_conflict="overwrite"))
        assert done.exit_code == 0
        assert everything(store) != before
        store.writes, store.stop_at = 0, at
        try:
            rollback("stopping:make")
        except Stopped:
            store.stop_at = 0
            if status("stopping:make"):
                rollback("stopping:make")
            assert everything(store) == before, f"write {at}"
        else:
            break
    assert at > 6
    assert everything(store) == before
