"""Killed between a reply and its summaries, again and again: each turn counts once.

`HOLDOVER_CHAOS_RUNS` says how many processes are killed for each store.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from datetime import timedelta

import pytest
from entity_models import Model, memory_of
from moving import environment

from holdover.compat import open_store
from holdover.compat.entities import batch as entity_batch
from holdover.compat.entities import queue as entity_queue

RUNS = int(os.environ.get("HOLDOVER_CHAOS_RUNS", "3"))
#: What one process says at most: the journal holds all of it.
TURNS = max(1, 80 // RUNS)
NAMES = ("Ana", "Ben")
SESSION = "killed"


def hurried():
    """A process that is gone is noticed soon."""
    entity_queue.LEASE = entity_batch.LEASE = timedelta(seconds=1)
    entity_batch.BEAT = 0.2


def memory_at(address, delay):
    return memory_of(
        Model(delay=delay), store=address, session_id=SESSION, background=True
    )


def converse(address, run):
    """Say some things; say so when a reply is out, until somebody ends it."""
    hurried()
    memory = memory_at(address, 0.02)
    for number in range(TURNS):
        said = f"Ana and Ben in r{run}t{number}"
        memory.load_memory_variables({"input": said})
        memory.save_context({"input": said}, {"output": "ok"})
        print(f"r{run}t{number}", flush=True)
    memory.flush()
    print("flushed", flush=True)


@pytest.fixture
def _hurried(monkeypatch):
    monkeypatch.setattr(entity_queue, "LEASE", timedelta(seconds=1))
    monkeypatch.setattr(entity_batch, "LEASE", timedelta(seconds=1))
    monkeypatch.setattr(entity_batch, "BEAT", 0.2)


def kill_some(address, chance):
    """Everything whose reply was out when its process was killed."""
    replied = []
    for run in range(RUNS):
        process = subprocess.Popen(
            [sys.executable, "-W", "ignore", __file__, address, str(run)],
            stdout=subprocess.PIPE,
            text=True,
            env={**environment(), "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        # Sometimes at once after a reply, sometimes while it summarises.
        for _ in range(chance.randrange(1, TURNS + 1)):
            line = process.stdout.readline().strip()
            assert line
            replied.append(line)
        time.sleep(chance.choice((0, 0, 0.03, 0.3)))
        os.kill(process.pid, signal.SIGKILL)
        rest = process.communicate(timeout=60)[0].split()
        replied += [line for line in rest if line != "flushed"]
    return replied


@pytest.mark.usefixtures("_hurried")
def test_each_turn_is_summarised_once(target, emptied):
    emptied()
    store = open_store(target)
    replied = kill_some(target, random.Random(RUNS))
    memory = memory_of(Model(), store=store, session_id=SESSION, background=True)
    records = memory.repository
    memory.flush(120)
    assert records.pending() == []
    for name in NAMES:
        said = [w for w in memory.store[name].split() if w.startswith("r")]
        assert Counter(said).most_common(1)[0][1] == 1
        # A turn may be queued, and its process killed before it could say so.
        assert set(replied) <= set(said)
        turns = [
            turn
            for state in records.history("entity", name)
            for turn in state.meta["source"]["turn"]
        ]
        assert len(turns) == len(set(turns)) == len(said)
    from holdover.compat.stores.opening import close_stores

    close_stores()


if __name__ == "__main__":
    converse(sys.argv[1], sys.argv[2])
