"""The pages about threads and layouts are true: their blocks run, their names exist."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.store.sqlite import SqliteStore
from moving import write_old_file
from threads import Telling, threads_of, write_history
from typer.testing import CliRunner

DOCS = Path(__file__).resolve().parents[2] / "docs"
BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```", re.MULTILINE | re.DOTALL)
PACKAGE = DOCS.parent / "migrate/holdover/migrate"


class Reading(Telling):
    """Reads the guide, then answers."""

    def _generate(self, messages, stop=None, run_manager=None, **_):
        self.seen.append(messages)
        path = {"file_path": "/memories/README.md"}
        call = {"name": "read_file", "args": path, "id": "1", "type": "tool_call"}
        calls = [call] if len(self.seen) == 1 else []
        reply = AIMessage("a friend", tool_calls=calls)
        return ChatResult(generations=[ChatGeneration(message=reply)])


def blocks(page):
    return BLOCK.findall((DOCS / page).read_text("utf-8"))


def run_commands(code):
    from holdover.migrate.cli import app

    for line in code.splitlines():
        program, *arguments = shlex.split(line)
        assert program == "holdover"
        done = CliRunner().invoke(app, arguments)
        assert done.exit_code == 0, done.output
    return done.output


def test_the_page_of_threads_runs(tmp_path, monkeypatch, capsys):
    said = [HumanMessage("I am Alice."), AIMessage("Hello!")]
    write_history(tmp_path / "history.db", {"alice": said})
    monkeypatch.chdir(tmp_path)
    (_, command), (_, code) = blocks("threads.md")

    assert "1 of 1 thread equal" in run_commands(command)
    model = Telling(seen=[])
    exec(code, {"model": model})

    assert "I am Alice." in capsys.readouterr().out
    assert [m.content for m in model.seen[0]] == [
        "I am Alice.",
        "Hello!",
        "And what was my name?",
    ]
    assert len(threads_of("sqlite:///memory.db")["alice"]) == 4


def test_every_change_that_is_counted_is_on_the_page():
    page = (DOCS / "threads.md").read_text("utf-8")
    state = (PACKAGE / "threads/state.py").read_text("utf-8")
    counted = set(re.findall(r'_changes\["([^"]+)"\]', state))

    assert len(counted) > 8
    assert {name for name in counted if name not in page} == set()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_page_of_layouts_runs(tmp_path, monkeypatch, capsys):
    pytest.importorskip("langmem", reason="pip install -e '.[test]'")
    pytest.importorskip("deepagents", reason="pip install -e '.[test]'")
    write_old_file(tmp_path / "entities.db", {"alice": {"Bob": "a friend"}})
    monkeypatch.chdir(tmp_path)
    (_, commands), (_, langmem), (_, deepagents) = blocks("layouts.md")
    run_commands(commands)

    with SqliteStore.from_conn_string("memory.db") as store:
        model = Reading(seen=[])
        names = {"store": store, "model": model}
        exec(langmem, names)
        exec(deepagents, names)
        assert "Bob: a friend" in capsys.readouterr().out
        done = names["agent"].invoke({"messages": [("user", "Who is Bob?")]})
    (answer,) = [m.content for m in done["messages"] if m.type == "tool"]
    assert "What is remembered here" in answer
