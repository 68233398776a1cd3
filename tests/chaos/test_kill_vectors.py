"""Vector memory, killed in between: every turn once, each with its own vector."""

from __future__ import annotations

import json
import random
import sqlite3
import struct
from contextlib import closing

import pytest
from moving import is_postgres, path_of, read_plainly
from old_embedding import DIMS, packed, vector
from sampling import EVERYTHING

from holdover.migrate.options import Options
from holdover.migrate.rollback import rollback
from holdover.migrate.run import migrate
from holdover.migrate.status import status

TEXTS = [f"turn {at}" for at in range(40)]
# Nothing is embedded, so no model is needed.
CHOICES = {"index": "nowhere:nothing", "dims": DIMS, "vectors": "keep", "batch": 4}


@pytest.fixture(params=["sqlite", "postgres"])
def target(request, tmp_path):
    if request.param == "postgres":
        return request.getfixturevalue("postgres_url")
    return f"sqlite:///{tmp_path / 'memory.db'}"


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "memories.json"
    texts = [text for text in TEXTS for _ in range(1 + text.endswith("7"))]
    texts.insert(9, "")
    held = {
        str(at): {"id": str(at), "vector": vector(text), "text": text, "metadata": {}}
        for at, text in enumerate(texts)
    }
    path.write_text(json.dumps(held))
    return str(path)


def vectors_by_text(target):
    """`{text: bytes}`: what each turn would be found by."""
    if is_postgres(target):
        import psycopg

        with psycopg.connect(target) as db:
            rows = db.execute("SELECT key, embedding::text FROM store_vectors")
            held = {
                key: struct.pack(f"<{DIMS}f", *json.loads(text)) for key, text in rows
            }
    else:
        with closing(sqlite3.connect(path_of(target))) as db:
            held = dict(db.execute("SELECT key, embedding FROM store_vectors"))
    (turns,) = read_plainly(target).values()
    assert held.keys() == turns.keys()
    return {turns[key]["content"]["text"]: raw for key, raw in held.items()}


def check_finished(source, target):
    assert vectors_by_text(target) == {text: packed(text) for text in TEXTS}
    (run,) = status(target)
    assert (run.state, run.rejects) == ("done", 1)
    again = migrate(source, target, Options(**CHOICES))
    assert (again.copy.written, again.verify.equal) == (0, len(TEXTS))


def test_killed_between_statements(target, source, doomed, emptied):
    assert doomed.run("migrate", source, target, crash_at=0, **CHOICES) == 1
    statements = doomed.sent()
    check_finished(source, target)
    moments = range(1, statements + 1)
    if not EVERYTHING:
        moments = sorted(random.Random(5).sample(moments, 4))
    for at in moments:
        emptied()
        assert doomed.run("migrate", source, target, crash_at=at, **CHOICES) == 9
        done = migrate(source, target, Options(**CHOICES))
        assert done.exit_code == 1  # the one without a text
        assert done.copy.rejects == {"empty-text": 1}, at
        if done.copy.decisions:  # else it was killed after the copy
            assert done.copy.skipped == {"duplicate": 4}, at
        check_finished(source, target)


def test_a_rollback_killed_between_statements(target, source, doomed):
    for at in (15, 40, 80) if EVERYTHING else (40,):
        migrate(source, target, Options(**CHOICES))
        assert doomed.run("rollback", None, target, crash_at=at) in (0, 9)
        if status(target):
            rollback(target)
        assert read_plainly(target) == {}
        if is_postgres(target):
            import psycopg

            with psycopg.connect(target) as db:
                left = db.execute("SELECT count(*) FROM store_vectors").fetchone()
        else:
            with closing(sqlite3.connect(path_of(target))) as db:
                left = db.execute("SELECT count(*) FROM store_vectors").fetchone()
        assert left == (0,)
