"""Histories that old releases wrote become threads that an agent can go on with."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from threads import agent, ask, config

from holdover.compat.message_records import content_of
from holdover.migrate.options import Options
from holdover.migrate.run import migrate
from holdover.migrate.sources import open_source
from holdover.migrate.sources.base import ReadOptions
from holdover.migrate.threads.state import is_made_up, is_removal

CORPORA = [
    Path(__file__).parents[1] / "corpus",
    *map(Path, filter(None, os.environ.get("HOLDOVER_CORPUS", "").split(os.pathsep))),
]
FILES = [
    path
    for corpus in CORPORA
    for path in sorted(corpus.glob("*/sql_history_sqlite/chat.db"))
]
#: Tables of the same shape, whose sessions have the same ids.
OTHERS = frozenset({"chat_history_v2", "message store-with space"})
THREADS = Options(read=ReadOptions(skip=OTHERS), into=frozenset({"threads"}))


def sessions_of(path):
    """What the source reads: `{session: [content]}`, by itself."""
    found: dict[str, list] = {}
    source = open_source(path, THREADS.prepared().options.read)
    for part in source.partitions():
        for batch in source.read(part):
            for item in batch.items:
                found.setdefault(item.session, []).append((item.position, item.content))
    source.close()
    return {
        session: [content for _, content in sorted(pairs, key=lambda pair: pair[0])]
        for session, pairs in found.items()
    }


@pytest.mark.parametrize("file", FILES, ids=lambda path: path.parts[-3])
def test_every_session_is_a_thread_with_every_text(file, tmp_path, sqlite_target):
    path = str(shutil.copy(file, tmp_path / "chat.db"))
    truth = sessions_of(path)
    assert len(truth) > 1

    done = migrate(path, sqlite_target, THREADS)

    refused = done.copy.threads.rejects.get("thread-id", 0)
    assert done.copy.threads.written == len(truth) - refused
    assert done.verify.threads.equal == len(truth) - refused
    unfit = {s for s in truth if not s or "\x00" in s or len(s.encode()) > 1000}
    assert refused == len(unfit)
    with agent(sqlite_target) as one:
        for session, contents in truth.items():
            if session in unfit:
                continue
            state = one.get_state(config(session))
            assert state.next == ()
            texts = [
                message.content
                for message in state.values["messages"]
                if not is_made_up(message)
            ]
            told = [
                content_of(content["type"], content["data"])["data"]["content"]
                for content in contents
                if not is_removal(content)
            ]
            assert sorted(map(str, texts)) == sorted(
                str(text).encode("utf-8", "backslashreplace").decode()
                if isinstance(text, str)
                else str(text)
                for text in told
            )
            assert ask(one, session, "and now?")[-1] == ("human", "and now?")
