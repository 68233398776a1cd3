"""A switch while the old application writes 200 times a second, and the new one too.

A few seconds of it; a whole minute with `HOLDOVER_EVERYTHING=1`.
"""

from __future__ import annotations

import itertools
import json
import sqlite3
import threading
import time
from contextlib import closing

import pytest
import redis as redis_client
from moving import DDL, plain_store, read_summaries
from sampling import EVERYTHING, sampled

from holdover.compat.chat_message_histories import StoreChatMessageHistory
from holdover.compat.repository import Repository
from holdover.compat.scope import Scope
from holdover.migrate.run import set_up
from holdover.migrate.sync import sync
from holdover.migrate.verify import verify

SECONDS = 60 if EVERYTHING else 3
RATE = 200
SESSIONS = [f"session-{n}" for n in range(7)]
TABLE = (
    "CREATE TABLE message_store (\n\tid INTEGER NOT NULL, \n\tsession_id TEXT, \n\t"
    "message TEXT, \n\tPRIMARY KEY (id)\n)"
)


class Writer(threading.Thread):
    """The old application: adds messages, keeps entities up to date.

    `messages` and `entities` are what a reader of its place has to find.
    """

    def __init__(self):
        super().__init__(daemon=True)
        self.messages = {session: [] for session in SESSIONS}
        self.entities = {session: {} for session in SESSIONS}
        self.stopped = threading.Event()
        self.failed = None

    def run(self):
        try:
            with closing(self.connect()) as place:
                self.write(place)
        except Exception as error:
            self.failed = error

    def write(self, place):
        began = time.monotonic()
        for n in itertools.count():
            if self.stopped.is_set():
                return
            session = SESSIONS[n % len(SESSIONS)]
            if n % 2:
                text = f"message {n}"
                self.add(place, session, text)
                self.messages[session].append(text)
            else:
                name, summary = f"entity {n % 50}", f"as of {n}"
                self.keep(place, session, name, summary)
                self.entities[session][name] = summary
            ahead = began + (n + 1) / RATE - time.monotonic()
            time.sleep(max(0, ahead))

    @staticmethod
    def as_message(text):
        return json.dumps({"type": "human", "data": {"content": text}})


class RedisWriter(Writer):
    def __init__(self, url):
        super().__init__()
        self.url = url

    def connect(self):
        return redis_client.Redis.from_url(self.url)

    def add(self, place, session, text):
        place.lpush(f"message_store:{session}", self.as_message(text))

    def keep(self, place, session, name, summary):
        place.set(f"memory_store:{session}:{name}", summary, ex=86_400)
        # As the class does when it reads.
        place.getex(f"memory_store:{session}:entity 0", ex=259_200)


class FileWriter(Writer):
    def __init__(self, path):
        super().__init__()
        self.path = path
        with closing(sqlite3.connect(path)) as db, db:
            db.execute(TABLE)
            for session in SESSIONS:
                db.execute(DDL.format(f"memory_store_{session}"))

    def connect(self):
        return sqlite3.connect(self.path, isolation_level=None, timeout=30)

    def add(self, place, session, text):
        place.execute(
            "INSERT INTO message_store (session_id, message) VALUES (?, ?)",
            (session, self.as_message(text)),
        )

    def keep(self, place, session, name, summary):
        table = f'"memory_store_{session}"'
        place.execute(f"INSERT OR REPLACE INTO {table} VALUES (?, ?)", (name, summary))


@pytest.fixture
def writer(request, redis_url, tmp_path):
    if request.param == "redis":
        started = RedisWriter(redis_url)
        started.source = redis_url
    else:
        started = FileWriter(tmp_path / "old.db")
        started.source = str(tmp_path / "old.db")
    started.start()
    yield started
    started.stopped.set()
    started.join()


def texts_of(store, session):
    history = StoreChatMessageHistory(store=store, scope=("message_store", session))
    return [message.content for message in history.messages]


@pytest.mark.parametrize(
    ("writer", "target"),
    sampled(
        [("redis", "postgres"), ("sqlite", "sqlite")],
        [
            (old, new)
            for old, new in itertools.product(
                ["redis", "sqlite"], ["sqlite", "postgres", "redis", "cluster"]
            )
            if (old, new) not in {("redis", "postgres"), ("sqlite", "sqlite")}
        ],
    ),
    indirect=True,
)
def test_no_loss_no_duplicate_and_the_order_kept(writer, target):
    set_up(target)
    ends = time.monotonic() + SECONDS
    syncs = 0
    while time.monotonic() < ends:
        done = sync(writer.source, target)
        assert done.exit_code == 0, done
        syncs += 1
        # The new application is in use as well: it changed one of them, added some.
        with plain_store(target) as store:
            new = Repository(store, Scope("memory_store", SESSIONS[0]))
            new.put("entity", {"name": "entity 0", "summary": "of the new one"})
            new.put("entity", {"name": f"new {syncs}", "summary": "x"})
    writer.stopped.set()
    writer.join()
    assert writer.failed is None
    assert syncs > 1
    written = sum(map(len, writer.messages.values()))
    assert written > 4 * len(SESSIONS)

    last = sync(writer.source, target, final=True, on_source_delete="delete")
    assert last.exit_code == 0, last
    assert last.deletions.deleted == 0
    with plain_store(target) as store:
        found = {session: texts_of(store, session) for session in SESSIONS}
    assert found == writer.messages
    summaries = read_summaries(target)
    wanted = {("memory_store", s): dict(e) for s, e in writer.entities.items()}
    mine = wanted["memory_store", SESSIONS[0]]
    mine["entity 0"] = "of the new one"
    mine |= {f"new {n}": "x" for n in range(1, syncs + 1)}
    for place, entities in wanted.items():
        assert summaries[place] == entities
    assert summaries.keys() == wanted.keys()

    # The switch: the new application goes on, and verify has nothing against that.
    with plain_store(target) as store:
        for session in SESSIONS:
            history = StoreChatMessageHistory(
                store=store, scope=("message_store", session)
            )
            history.add_user_message("after the switch")
            Repository(store, Scope("memory_store", session)).delete(
                "entity", min(writer.entities[session])
            )
        found = {session: texts_of(store, session) for session in SESSIONS}
    assert all(texts[-1] == "after the switch" for texts in found.values())
    checked = verify(writer.source, target)
    assert (checked.missing, checked.different) == (0, 0)
    assert checked.changed >= len(SESSIONS)
    again = sync(writer.source, target, final=True)
    assert again.exit_code == 0
    assert again.passes[0].changes == 0
