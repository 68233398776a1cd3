"""Runs over files, lines, factories and MongoDB that stop anywhere, and go on."""

from __future__ import annotations

import json
import os
import sys
import time
import types

import pytest
from bson import ObjectId
from mongo_server import mongo_server
from old_messages import messages_in

from holdover.migrate.errors import SourceUnavailable
from holdover.migrate.options import Options
from holdover.migrate.run import migrate
from holdover.migrate.sources import factory, files, jsonl, mongodb
from holdover.migrate.sources.base import ReadOptions

SESSIONS = {f"s{n}": 3 + n % 5 for n in range(20)}
TRUTH = {
    ("message_store", name): [f"{name} {at}" for at in range(number)]
    for name, number in SESSIONS.items()
}


def message(name, at):
    return {"type": "human", "data": {"content": f"{name} {at}"}}


@pytest.fixture
def folder_of_files(tmp_path):
    folder = tmp_path / "chats"
    folder.mkdir()
    for name, number in SESSIONS.items():
        path = folder / f"{name}.json"
        path.write_text(json.dumps([message(name, at) for at in range(number)]))
        os.utime(path, (time.time() - 60,) * 2)
    return folder.as_uri(), files.FileHistories


@pytest.fixture
def lines(tmp_path):
    """Interleaved: the first of each session, then the second, …"""
    path = tmp_path / "export.jsonl"
    path.write_text("\n".join(
        json.dumps({"session": name, **message(name, at)})
        for at in range(max(SESSIONS.values()))
        for name, number in SESSIONS.items()
        if at < number
    ))  # fmt: skip
    return str(path), jsonl.JsonLines


@pytest.fixture
def histories(monkeypatch):
    from langchain_core.messages import HumanMessage

    def history(session):
        said = [HumanMessage(f"{session} {at}") for at in range(SESSIONS[session])]
        return types.SimpleNamespace(messages=said)

    app = types.ModuleType("the_app")
    app.history = history
    monkeypatch.setitem(sys.modules, "the_app", app)
    return "the_app:history", factory.FactorySource


@pytest.fixture
def documents():
    with mongo_server() as server:
        at = 0
        for turn in range(max(SESSIONS.values())):
            for name, number in SESSIONS.items():
                if turn < number:
                    at += 1
                    own = f"{1_700_000_000 + at * 40_000:08x}{'ab' * 5}{at:06x}"
                    server["chat_history"]["message_store"].insert_one({
                        "_id": ObjectId(own), "SessionId": name,
                        "History": json.dumps(message(name, turn)),
                    })  # fmt: skip
        yield server.address, mongodb.MongoSource


@pytest.mark.parametrize("after", [0, 1, 4, 9])
@pytest.mark.parametrize(
    "place", ["folder_of_files", "lines", "histories", "documents"]
)
def test_a_run_that_stops_anywhere_goes_on(
    place, after, sqlite_target, request, monkeypatch
):
    address, source = request.getfixturevalue(place)
    options = Options(batch=7, read=ReadOptions(sessions=frozenset(SESSIONS)))
    real = source.read
    left = [after]

    def stopping(self, partition, cursor=None, *, size=10_000):
        for batch in real(self, partition, cursor, size=size):
            if size == 7 and left[0] <= 0:
                raise SourceUnavailable("Gone.")
            left[0] -= size == 7
            yield batch

    monkeypatch.setattr(source, "read", stopping)
    with pytest.raises(SourceUnavailable):
        migrate(address, sqlite_target, options)
    before = sum(map(len, messages_in(sqlite_target).values()))
    assert before == 0 or before >= after
    monkeypatch.setattr(source, "read", real)

    done = migrate(address, sqlite_target, options)

    found = {
        scope: [one["data"]["content"] for one in contents]
        for scope, contents in messages_in(sqlite_target).items()
    }
    assert found == TRUTH
    assert done.exit_code == 0
    assert done.copy.resumed or before == 0
    assert done.verify.equal == sum(SESSIONS.values())
    assert migrate(address, sqlite_target, options).copy.written == 0
