"""Several runs into one target, however they were cut: it ends as after one run."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing, suppress

import pytest
from moving import normal, read_plainly, rows_of, write_old_file
from sampling import sampled

from holdover.migrate.copying import Copier
from holdover.migrate.errors import SourceUnavailable
from holdover.migrate.options import Options
from holdover.migrate.rollback import rollback
from holdover.migrate.run import migrate
from holdover.migrate.sources.base import ReadOptions
from holdover.migrate.verify import verify

SESSIONS = [f"user {number}" for number in range(12)]
#: What was said: much of it again and again, and of every length.
SAID = {
    name: [("ok", "yes", "ok", name)[at % 4] for at in range(number)]
    for number, name in enumerate(SESSIONS)
}
KNOWN = {name: {"Ana": f"she knows {name}", "Bob": "b"} for name in SESSIONS[::2]}


def message(text):
    return json.dumps({"type": "human", "data": {"content": text}})


def sqlite_file(folder, _):
    path = folder / "old.db"
    write_old_file(path, KNOWN)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(
            "CREATE TABLE message_store (id INTEGER NOT NULL, session_id TEXT, "
            "message TEXT, PRIMARY KEY (id))"
        )
        rows = [(name, message(text)) for name, said in SAID.items() for text in said]
        insert = "INSERT INTO message_store (session_id, message) VALUES (?, ?)"
        db.executemany(insert, rows)
    return str(path)


def redis_keys(_, fixture):
    client = fixture("redis")
    for name, said in SAID.items():
        for text in said:
            client.lpush(f"message_store:{name}", message(text))
    for name, entities in KNOWN.items():
        for entity, summary in entities.items():
            client.set(f"memory_store:{name}:{entity}", summary)
    return fixture("redis_url")


def files(folder, _):
    held = folder / "chats"
    held.mkdir()
    for name, said in SAID.items():
        messages = [json.loads(message(text)) for text in said]
        (held / f"{name}.json").write_text(json.dumps(messages), "utf-8")
    return str(held)


def reading(**read):
    return {"read": ReadOptions(**read)}


ALL = {}
ENTITIES, MESSAGES = (reading(kinds=frozenset({k})) for k in ("entities", "messages"))
NAMED = reading(sessions=frozenset(SESSIONS[:5]), only_named=True)
#: Options of each run; a number stops it behind as many batches.
RUNS = {
    "a kind, then all": [MESSAGES, ALL],
    "every kind alone, then all": [ENTITIES, MESSAGES, ALL],
    "a sample, a larger one, all": [reading(sample=0.1), reading(sample=0.5), ALL],
    "some sessions, then all": [NAMED, ALL],
    "all, then what it holds": [ALL, NAMED, MESSAGES],
    "stopped, with small batches": [({"batch": 1}, 7), ({"batch": 2}, 9), {"batch": 3}],
    "a stopped sample, then all": [({**reading(sample=0.5), "batch": 2}, 4), ALL],
    "stopped, and a sample before it goes on": [
        ({"batch": 3}, 5), reading(sample=0.5), {"batch": 1},
    ],
}  # fmt: skip


def run(source, target, options, stop, monkeypatch):
    """Migrate, or begin to."""
    if stop is None:
        return migrate(source, target, Options(**options))
    real, left = Copier._apply, [stop]

    def stopping(self, batch, progress):
        if not left[0]:
            raise SourceUnavailable("Gone.")
        left[0] -= 1
        return real(self, batch, progress)

    with monkeypatch.context() as patched, suppress(SourceUnavailable):
        patched.setattr(Copier, "_apply", stopping)
        return migrate(source, target, Options(**options))
    return None


@pytest.fixture(params=[sqlite_file, redis_keys, files], ids=lambda one: one.__name__)
def source(request, tmp_path):
    return request.param(tmp_path, request.getfixturevalue)


@pytest.fixture
def at_once(source, tmp_path):
    """What one run leaves."""
    fresh = f"sqlite:///{tmp_path / 'fresh.db'}"
    migrate(source, fresh)
    return normal(read_plainly(fresh))


@pytest.mark.parametrize(
    "target", sampled(["sqlite"], ["postgres", "redis"]), indirect=True
)
@pytest.mark.parametrize("name", RUNS)
def test_the_target_ends_as_after_one_run(source, at_once, target, name, monkeypatch):
    for step in RUNS[name]:
        options, stop = step if isinstance(step, tuple) else (step, None)
        done = run(source, target, options, stop, monkeypatch)
        assert (done is None) == (stop is not None)
        assert not done or (done.exit_code, done.verify.clean) == (0, True)
    assert normal(read_plainly(target)) == at_once

    # Whatever a run finds there already, it counts.
    number = sum(map(len, at_once.values()))
    checked = verify(source, target)
    assert (checked.equal, checked.compared, checked.extra) == (number, number, 0)
    last = migrate(source, target)
    assert last.copy.written == 0
    assert last.plan.decisions.get("already there") == number
    rows = rows_of(target)
    migrate(source, target)
    assert rows_of(target) == rows


def test_each_run_is_undone_alone_and_the_next_fills_the_gap(source, at_once, tmp_path):
    target = f"sqlite:///{tmp_path / 'memory.db'}"
    sample = migrate(source, target, Options(**reading(sample=0.5)))
    whole = migrate(source, target)
    number = sum(map(len, at_once.values()))
    assert 0 < sample.copy.written < number
    assert whole.copy.written == number - sample.copy.written

    undone = rollback(target, sample.copy.run)
    assert (undone.removed, undone.left) == (sample.copy.written, 0)
    assert verify(source, target).missing == sample.copy.written
    again = migrate(source, target)

    assert again.copy.run == whole.copy.run
    assert again.verify.clean
    assert normal(read_plainly(target)) == at_once
    rollback(target)
    assert read_plainly(target) == {}


def test_another_template_is_another_place(source, at_once, tmp_path):
    target = f"sqlite:///{tmp_path / 'memory.db'}"
    other = Options(template="people/{session}")
    first = migrate(source, target, other)
    beside = {n: v for n, v in read_plainly(target).items() if n[0] == "people"}
    number = sum(map(len, at_once.values()))
    assert sum(map(len, beside.values())) == number == first.copy.written
    whole = migrate(source, target)
    assert whole.copy.written == number

    found = read_plainly(target)
    assert {n: v for n, v in found.items() if n[0] == "people"} == beside
    assert normal({n: v for n, v in found.items() if n[0] != "people"}) == at_once
    assert verify(source, target, other).clean
    rollback(target, whole.copy.run)
    assert read_plainly(target) == beside
