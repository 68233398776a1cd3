"""`module:factory`: any history, by the class that knows it."""

from __future__ import annotations

import asyncio
import sys
import types
from pathlib import Path
from typing import ClassVar

import pytest
from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.store.memory import InMemoryStore
from old_messages import check_messages, messages_in

from holdover.compat.chat_message_histories import StoreChatMessageHistory
from holdover.migrate.errors import SourceNotFound, UsageError
from holdover.migrate.options import Options
from holdover.migrate.run import migrate
from holdover.migrate.sources import open_source
from holdover.migrate.sources.base import ReadOptions

CALL = {"name": "f", "args": {"x": 1}, "id": "c1", "type": "tool_call"}


def talk(session):
    return [
        HumanMessage(f"hi from {session}", id=f"{session}-1"),
        AIMessage("", tool_calls=[CALL]),
        ToolMessage("1", tool_call_id="c1", status="error", artifact={"rows": [1]}),
        AIMessage([{"type": "text", "text": "é"}], response_metadata={"m": "x"}),
    ]


class Strict:
    """A history of which everything but `messages` is forbidden."""

    def __init__(self, session):
        self.messages = talk(session)

    async def aget_messages(self):
        raise AssertionError("it was not needed")

    def __getattr__(self, name):
        raise AssertionError(f"{name} was asked for")


class OnlyAsync(BaseChatMessageHistory):
    """As histories in `async_mode` are; its connection belongs to one loop."""

    loops: ClassVar[set[object]] = set()

    def __init__(self, session):
        self.session = session

    @property
    def messages(self):
        raise ValueError("Attempting to use a sync method in async mode.")

    async def aget_messages(self):
        self.loops.add(asyncio.get_running_loop())
        await asyncio.sleep(0)
        return talk(self.session)

    def clear(self):
        raise AssertionError

    def add_messages(self, messages):
        raise AssertionError


@pytest.fixture
def module(monkeypatch):
    """`module(factory)` gives its address."""

    def make(factory):
        found = types.ModuleType("the_app")
        found.factory = factory
        monkeypatch.setitem(sys.modules, "the_app", found)
        return "the_app:factory"

    return make


def options(*sessions, **read):
    return Options(read=ReadOptions(sessions=frozenset(sessions), **read))


async def _awaited(session):
    return OnlyAsync(session)


def _compat(session):
    history = StoreChatMessageHistory(session, store=InMemoryStore())
    history.add_messages(talk(session))
    return history


FACTORIES = {
    "a function": Strict,
    "only asynchronous": OnlyAsync,
    "a coroutine function": _awaited,
    "a class of compat": _compat,
}


@pytest.mark.parametrize("name", FACTORIES)
def test_every_message_arrives(name, module, sqlite_target):
    OnlyAsync.loops.clear()
    done = migrate(module(FACTORIES[name]), sqlite_target, options("ann", "bob", ""))
    assert done.exit_code == 0
    found = messages_in(sqlite_target)
    assert set(found) == {("message_store", name) for name in ("ann", "bob", "")}
    for (_, session), contents in found.items():
        specs = [(type(one).__name__, one.model_dump()) for one in talk(session)]
        check_messages(contents, specs)
    # One loop in a run: what is connected in it can be used again.
    assert len(OnlyAsync.loops) <= 1


def test_it_may_be_called_from_within_a_loop(module, sqlite_target):
    async def main():
        return migrate(module(OnlyAsync), sqlite_target, options("ann"))

    assert asyncio.run(main()).exit_code == 0


def test_a_session_that_fails_is_a_reject_and_the_others_go_on(module, sqlite_target):
    def factory(session):
        if session == "bad":
            raise RuntimeError("the password is hunter2")
        if session == "half":
            return types.SimpleNamespace(messages=_half())
        return Strict(session)

    def _half():
        yield HumanMessage("one")
        yield "no message"
        yield {"type": "ai", "data": {"content": "a dict"}}
        raise KeyError("hunter2")

    done = migrate(module(factory), sqlite_target, options("ann", "bad", "half"))
    assert done.copy.rejects == {"factory-failed": 2, "not-a-message": 1}
    found = messages_in(sqlite_target)
    assert len(found["message_store", "ann"]) == 4
    assert [one["data"]["content"] for one in found["message_store", "half"]] == [
        "one", "a dict",
    ]  # fmt: skip
    rejects = Path(done.copy.rejects_file).read_text()
    assert "RuntimeError" in rejects
    assert "hunter2" not in rejects
    assert done.exit_code == 1
    assert done.verify.clean


def test_no_session_is_a_usage_error_that_says_so(module, command):
    address = module(Strict)
    done = command("migrate", address, "target.db")
    assert done.exit_code == 2
    assert "--session" in done.output
    assert "Traceback" not in done.output


def test_the_command_takes_sessions_and_a_map(module, command, folder):
    (folder / "map.csv").write_text("session,tenant\nann,acme\nbob,beta\n")
    address = module(Strict)
    done = command(
        "migrate", address, "target.db", "--yes", "--session", "cid",
        "--session-map", "map.csv", "--template", "{root}/{session}",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert {session for _, session in messages_in("sqlite:///target.db")} == {
        "ann", "bob", "cid",
    }  # fmt: skip


USAGE = {
    "a store": (lambda _: InMemoryStore(), UsageError, "a store"),
    "something else": (lambda _: 7, UsageError, "int"),
    "no argument": (lambda: None, UsageError, "one argument"),
    "two arguments": (lambda a, b: None, UsageError, "one argument"),
    "a ready store": (InMemoryStore(), UsageError, "a store"),
    "a ready history": (types.SimpleNamespace(messages=[]), UsageError, "function"),
}


@pytest.mark.parametrize("name", USAGE)
def test_what_is_no_factory_of_histories(name, module):
    factory, error, words = USAGE[name]
    source = open_source(module(factory), ReadOptions(sessions=frozenset({"a"})))
    with pytest.raises(error, match=words):
        source.inventory()


def test_what_cannot_be_imported(tmp_path, monkeypatch):
    (tmp_path / "broken_app.py").write_text("raise OSError('secret')")
    monkeypatch.syspath_prepend(tmp_path)
    for address in ("no_such_module:f", "json:no_such_name", "broken_app:f"):
        source = open_source(address, ReadOptions(sessions=frozenset({"a"})))
        with pytest.raises(SourceNotFound) as caught:
            source.inventory()
        assert address in str(caught.value)
        assert "secret" not in str(caught.value)


def test_roots_and_samples(module, sqlite_target):
    many = options(*(f"s{n}" for n in range(50)), roots=("chats",), sample=0.3)
    migrate(module(Strict), sqlite_target, many)
    found = messages_in(sqlite_target)
    assert {root for root, _ in found} == {"chats"}
    assert 2 < len(found) < 35
    with pytest.raises(UsageError):
        open_source(
            module(Strict), ReadOptions(sessions=frozenset("a"), roots=("a", "b"))
        )


def test_a_run_goes_on_behind_the_last_whole_session(module):
    source = open_source(module(Strict), ReadOptions(
        sessions=frozenset(f"s{n}" for n in range(30)),
    ))  # fmt: skip
    total, cursors = 0, set()
    for partition in source.partitions():
        assert partition.aligned
        everything = [i for b in source.read(partition) for i in b.items]
        total += len(everything)
        for batch in source.read(partition, size=5):
            if batch.cursor is not None:
                cursors.add(batch.cursor)
                later = source.read(partition, batch.cursor)
                rest = [item for one in later for item in one.items]
                assert everything[len(everything) - len(rest) :] == rest
                assert not rest or rest[0].position == 0
    assert total == 120
    assert len(cursors) > 8
    source.close()
