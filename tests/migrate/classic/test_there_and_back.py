"""Old histories of every release, moved there and back, and read again."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections import defaultdict
from contextlib import closing
from pathlib import Path

import pytest
from langchain_core.messages import messages_from_dict

from holdover.migrate.classic.way_back import way_back
from holdover.migrate.options import Options
from holdover.migrate.run import migrate
from holdover.migrate.sources.base import ReadOptions

CORPUS = Path(__file__).parents[2] / "corpus"
FILES = sorted(CORPUS.glob("*/sql_history_sqlite/*.db"))
EMPTY = (None, "", [], {}, False)


def histories_of(path):
    with closing(sqlite3.connect(path)) as db:
        names = db.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"
        ).fetchall()
        return tuple(
            name
            for (name,) in names
            if [row[1] for row in db.execute(f'PRAGMA table_info("{name}")')]
            == ["id", "session_id", "message"]
        )


def rows_of(path, table):
    """`{session: [message]}` in order, of what is JSON of a message."""
    found = defaultdict(list)
    quoted = table.replace('"', '""')
    with closing(sqlite3.connect(path)) as db:
        for session, text in db.execute(
            f'SELECT session_id, message FROM "{quoted}" ORDER BY id'
        ):
            try:
                message = json.loads(text)
                message["type"], message["data"]
            except (TypeError, ValueError, KeyError):
                continue
            if session is not None:
                found[session].append(message)
    return dict(found)


def said(message):
    """A message without what is there by default, in whatever release."""
    data = {n: v for n, v in message["data"].items() if v not in EMPTY}
    data.pop("type", None)
    if data.get("status") == "success":
        del data["status"]
    if message["type"] == "martian":  # which no class knows
        return "chat", stored({**data, "role": "martian"})
    return message["type"], stored(data)


def stored(value):
    """An integer of more than 64 bits is text in a store."""
    if isinstance(value, dict):
        return {name: stored(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [stored(inner) for inner in value]
    large = isinstance(value, int) and not -(2**63) <= value < 2**63
    return str(value) if large else value


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.parts[-3])
def test_there_and_back(path, tmp_path):
    old = tmp_path / "old.db"
    shutil.copy(path, old)
    roots = histories_of(old)
    before = {root: found for root in roots if (found := rows_of(old, root))}
    assert before["message_store"]
    read = ReadOptions(roots=roots, kinds=frozenset({"messages"}))
    moved = migrate(str(old), f"sqlite:///{tmp_path / 'new.db'}", Options(read=read))
    assert moved.copy, moved.plan.blockers
    done = way_back(f"sqlite:///{tmp_path / 'new.db'}", str(tmp_path / "back.db"))
    assert done.clean
    for root, messages in before.items():
        compare(messages, rows_of(tmp_path / "back.db", root))


def compare(before, after):
    assert after.keys() == before.keys()
    for session, messages in before.items():
        assert [said(one) for one in after[session]] == [said(one) for one in messages]
        # No message of it makes a class refuse the session.
        assert len(messages_from_dict(after[session])) == len(messages)
