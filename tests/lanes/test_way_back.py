"""The way back: moved, used for a while, moved back, and read by the old classes.

In the lanes `legacy`, those are the classes of langchain 0.3.27.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from langchain_core.messages import HumanMessage
from moving import environment, write_old_file

LANE = os.environ.get("HOLDOVER_LANE", "")
TURNS = 1_000 if LANE.startswith("legacy") else 50
READER = Path(__file__).with_name("read_classic.py")
OLD = {"Ana": "a friend", "New York": "a city"}


def run(*arguments, cwd):
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=cwd,
        env=environment() | {"PYTHONWARNINGS": "ignore"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def old_histories(path, session):
    """As the classic class of this environment writes it."""
    from langchain_community.chat_message_histories import SQLChatMessageHistory

    history = SQLChatMessageHistory(session, connection=f"sqlite:///{path}")
    history.add_message(HumanMessage("from before"))
    history.add_ai_message("an old answer")


@pytest.mark.filterwarnings("ignore")
def test_old_classes_read_what_came_back(tmp_path):
    for module in ("langchain_community", "langgraph.store.sqlite", "typer"):
        try:
            found = importlib.util.find_spec(module)
        except ModuleNotFoundError:
            found = None
        if found is None:
            pytest.skip(f"no {module} in this environment")
    from holdover.compat import ConversationBufferMemory, SQLiteEntityStore
    from holdover.compat.chat_message_histories import StoreChatMessageHistory
    from holdover.compat.stores.opening import open_store

    if LANE.startswith("legacy"):
        assert importlib.metadata.version("langchain") == "0.3.27"
    old, new, back = (tmp_path / f"{name}.db" for name in ("old", "new", "back"))
    write_old_file(old, {"ana": OLD})
    old_histories(old, "ana")
    command = ("-m", "holdover.migrate.cli", "migrate")
    run(*command, old, f"sqlite:///{new}", cwd=tmp_path)

    store = open_store(f"sqlite:///{new}")
    history = StoreChatMessageHistory(store=store, scope=("message_store", "ana"))
    memory = ConversationBufferMemory(chat_memory=history)
    for n in range(TURNS):
        memory.save_context({"input": f"question {n}"}, {"output": f"answer {n}"})
    entities = SQLiteEntityStore("ana", store=store)
    entities.set("Ana", "a good friend")
    entities.set("Bob", "met later")
    entities.delete("New York")

    run(*command, f"sqlite:///{new}", back, "--layout", "classic", cwd=tmp_path)
    found = json.loads(run(READER, back, "ana", *OLD, "Bob", cwd=tmp_path))
    turns = [
        pair
        for n in range(TURNS)
        for pair in (["human", f"question {n}"], ["ai", f"answer {n}"])
    ]
    before = [["human", "from before"], ["ai", "an old answer"]]
    assert found["messages"] == before + turns
    assert found["entities"] == {
        "Ana": "a good friend",
        "New York": None,
        "Bob": "met later",
    }
    assert not any(name.startswith("holdover") for name in found["classes"])
