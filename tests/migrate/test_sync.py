"""Sync: passes over a source in use, deletions, renewed lifetimes, the last pass."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import sys
import time
import types
from contextlib import closing

import pytest
from langchain_core.messages import HumanMessage
from moving import (
    ledger_text,
    plain_store,
    read_plainly,
    read_summaries,
    rows_of,
    run_cli,
    start_cli,
    write_old_file,
)
from sampling import sampled, without_cluster

from holdover.compat.chat_message_histories import StoreChatMessageHistory
from holdover.compat.repository import Repository
from holdover.compat.scope import Scope
from holdover.migrate.errors import RunBusy, UsageError
from holdover.migrate.ledger import Ledger
from holdover.migrate.options import Options
from holdover.migrate.rollback import rollback
from holdover.migrate.run import migrate
from holdover.migrate.sources.base import ReadOptions
from holdover.migrate.status import status
from holdover.migrate.sync import PassReport, sync
from holdover.migrate.targets import open_target

OLD = {"Ana": "old Ana", "Bob": "old Bob", "Cy": "old Cy"}
NAMESPACE = ("memory_store", "s", "entities")


def history(target, name):
    with plain_store(target) as store:
        states = Repository(store, Scope("memory_store", "s")).history("entity", name)
    return [state.text for state in states]


def delete_row(path, session, name):
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(f'DELETE FROM "memory_store_{session}" WHERE key = ?', (name,))


@without_cluster
def test_the_first_sync_copies_all(target, old_file):
    source = write_old_file(old_file, {"s": OLD, "t": OLD})
    done = sync(source, target)
    assert done.settled
    assert done.exit_code == 0
    assert done.first.written == 6
    assert [one.changes for one in done.passes] == [0]
    assert read_summaries(target) == {
        ("memory_store", "s"): OLD,
        ("memory_store", "t"): OLD,
    }
    (run,) = status(target)
    assert (run.state, run.done) == ("copied", 6)
    assert run.resume


def test_what_changed_follows_and_what_the_application_wrote_stays(target, old_file):
    source = write_old_file(old_file, {"s": OLD})
    migrate(source, target)
    with plain_store(target) as store:
        new = Repository(store, Scope("memory_store", "s"))
        new.put("entity", {"name": "Bob", "summary": "Bob, in the new place"})
        new.put("entity", {"name": "Eve", "summary": "only in the new place"})
    write_old_file(old_file, {"s": {"Ana": "Ana, later", "Bob": "Bob, later"}})
    write_old_file(old_file, {"new": {"N": "n"}})
    done = sync(source, target)
    (one,) = done.passes
    assert (one.new, one.changed, one.read) == (1, 1, 4)
    assert done.decisions == {
        "copied": 1,
        "updated": 1,
        "already there": 1,
        "superseded": 1,
    }
    assert read_summaries(target) == {
        ("memory_store", "s"): {
            "Ana": "Ana, later",
            "Bob": "Bob, in the new place",
            "Cy": "old Cy",
            "Eve": "only in the new place",
        },
        ("memory_store", "new"): {"N": "n"},
    }
    assert history(target, "Ana") == ["Ana, later", "old Ana"]
    # Nothing changed since: nothing but the ledger is written.
    before = read_plainly(target)
    assert sync(source, target).passes[0].changes == 0
    assert read_plainly(target) == before


def test_a_value_that_changes_again_and_again_is_followed(target, old_file):
    source = write_old_file(old_file, {"s": OLD})
    for n in range(4):
        write_old_file(old_file, {"s": {"Ana": f"Ana {n}"}})
        assert sync(source, target).exit_code == 0
        assert read_summaries(target)["memory_store", "s"]["Ana"] == f"Ana {n}"
    assert history(target, "Ana") == ["Ana 3", "Ana 2", "Ana 1", "Ana 0"]
    with plain_store(target) as store:
        Repository(store, Scope("memory_store", "s")).put(
            "entity", {"name": "Ana", "summary": "of the application"}
        )
    write_old_file(old_file, {"s": {"Ana": "Ana, too late"}})
    assert sync(source, target, final=True).exit_code == 0
    assert history(target, "Ana")[0] == "of the application"


@without_cluster
def test_the_last_pass_verifies(target, old_file):
    source = write_old_file(old_file, {"s": OLD})
    sync(source, target)
    write_old_file(old_file, {"s": {"Dee": "late"}})
    done = sync(source, target, final=True)
    assert done.exit_code == 0
    assert (done.verify.equal, done.verify.missing) == (4, 0)
    (run,) = status(target)
    assert run.state == "done"
    assert run.verified_at


@without_cluster
def test_the_last_pass_says_what_is_not_clean(target, old_file):
    source = write_old_file(old_file, {"s": OLD})
    sync(source, target)
    with plain_store(target) as store:
        value = store.get(NAMESPACE, "Ana").value
        value["content"]["summary"] += "!"
        del value["meta"]["source"]
        store.put(NAMESPACE, "Ana", value, index=False)
    done = sync(source, target, final=True)
    assert (done.verify.different, done.exit_code) == (1, 1)
    assert status(target)[0].state == "copied"


@without_cluster
def test_an_empty_source_that_fills(target, old_file):
    source = write_old_file(old_file, {"s": {}})
    assert sync(source, target).settled
    write_old_file(old_file, {"s": OLD})
    done = sync(source, target, final=True)
    assert done.exit_code == 0
    assert read_summaries(target) == {("memory_store", "s"): OLD}


@without_cluster
def test_a_blocked_plan_writes_nothing(target, old_file):
    source = write_old_file(old_file, {"s": OLD})
    write_old_file(old_file, {"s": OLD}, root="other")
    done = sync(source, target)
    assert done.exit_code == 3
    assert rows_of(target) == {}


# Deletions.


def test_a_deletion_in_the_source_is_kept_or_follows(target, old_file):
    source = write_old_file(old_file, {"s": OLD, "t": OLD})
    migrate(source, target)
    with plain_store(target) as store:
        Repository(store, Scope("memory_store", "s")).put(
            "entity", {"name": "Bob", "summary": "of the application"}
        )
    for session, name in (("s", "Ana"), ("s", "Bob"), ("t", "Cy")):
        delete_row(source, session, name)
    before = read_plainly(target)
    kept = sync(source, target)
    assert (kept.deletions.deleted, kept.deletions.removed) == (2, 0)
    assert read_plainly(target) == before
    assert sorted(kept.deletions.examples) == [
        "sqlite:entities.db#memory_store_s",
        "sqlite:entities.db#memory_store_t",
    ]

    gone = sync(source, target, on_source_delete="delete")
    assert (gone.deletions.deleted, gone.deletions.removed) == (2, 2)
    assert read_summaries(target) == {
        ("memory_store", "s"): {"Bob": "of the application", "Cy": "old Cy"},
        ("memory_store", "t"): {"Ana": "old Ana", "Bob": "old Bob"},
    }
    # It can be brought back, and comes back by itself where the source has it again.
    with plain_store(target) as store:
        restored = Repository(store, Scope("memory_store", "s")).restore(
            "entity", "Ana"
        )
    assert restored.text == "old Ana"
    write_old_file(old_file, {"t": {"Cy": "Cy is back"}})
    last = sync(source, target, on_source_delete="delete", final=True)
    assert last.exit_code == 0
    found = read_summaries(target)
    assert found["memory_store", "t"]["Cy"] == "Cy is back"
    assert found["memory_store", "s"]["Ana"] == "old Ana"


def test_a_deleted_item_that_was_edited_in_place_stays(target, old_file):
    source = write_old_file(old_file, {"s": OLD})
    migrate(source, target)
    with plain_store(target) as store:
        value = store.get(NAMESPACE, "Ana").value
        value["content"]["summary"] = "edited"
        store.put(NAMESPACE, "Ana", value, index=False)
    delete_row(source, "s", "Ana")
    done = sync(source, target, on_source_delete="delete")
    assert (done.deletions.removed, done.deletions.changed) == (0, 1)
    assert read_summaries(target)["memory_store", "s"]["Ana"] == "edited"


def test_rollback_takes_away_what_a_deletion_left(target, old_file):
    source = write_old_file(old_file, {"s": OLD})
    migrate(source, target)
    delete_row(source, "s", "Ana")
    sync(source, target, on_source_delete="delete")
    rollback(target)
    assert read_plainly(target) == {}
    assert "Ana" not in ledger_text(target)


@without_cluster
def test_what_ended_in_the_source_is_no_deletion(target, redis, redis_url):
    redis.set("memory_store:s:Soon", "x", px=1_500)
    redis.set("memory_store:s:Later", "y", px=600_000)
    redis.set("memory_store:s:Always", "z")
    migrate(redis_url, target)
    redis.delete("memory_store:s:Later", "memory_store:s:Always")
    time.sleep(1.6)
    done = sync(redis_url, target, on_source_delete="delete")
    assert (done.deletions.deleted, done.deletions.removed) == (2, 2)
    assert done.deletions.expired == 1
    live = read_summaries(target).get(("memory_store", "s"), {})
    assert live.keys() <= {"Soon"}  # which no reader of ours sees any more


def test_what_is_no_entity_is_none_in_a_later_pass_either(
    redis, redis_url, sqlite_target
):
    """A key of another type is left out; a pass that looks anew finds that, too."""
    redis.set("memory_store:s:Ana", "old Ana")
    redis.hset("memory_store:s:profile", "a", "b")
    assert migrate(redis_url, sqlite_target).exit_code == 0
    for final in (False, True):
        done = sync(redis_url, sqlite_target, final=final)
        assert (done.exit_code, done.rejects) == (0, {})


def push(redis, session, *texts):
    messages = [json.dumps({"type": "human", "data": {"content": t}}) for t in texts]
    redis.lpush(f"message_store:{session}", *messages)


def texts_of(target, session):
    with plain_store(target) as store:
        own = StoreChatMessageHistory(store=store, scope=("message_store", session))
        return [message.content for message in own.messages]


def test_a_trimmed_list_keeps_its_messages_and_a_cleared_one_is_gone(
    target, redis, redis_url
):
    for session in ("trimmed", "cleared", "anew"):
        push(redis, session, *(f"{session} {n}" for n in range(6)))
    migrate(redis_url, target)
    redis.ltrim("message_store:trimmed", 0, 2)
    push(redis, "trimmed", "trimmed 6", "trimmed 7")
    redis.delete("message_store:cleared", "message_store:anew")
    push(redis, "anew", "another talk")
    done = sync(redis_url, target)
    assert (done.passes[0].new, done.passes[0].changed) == (3, 0)
    assert done.deletions.deleted == 6
    gone = sync(redis_url, target, on_source_delete="delete", final=True)
    assert gone.exit_code == 0
    assert (gone.deletions.deleted, gone.deletions.removed) == (6, 6)
    assert texts_of(target, "trimmed") == [f"trimmed {n}" for n in range(8)]
    assert texts_of(target, "anew") == [
        *(f"anew {n}" for n in range(6)),
        "another talk",
    ]
    assert texts_of(target, "cleared") == []


def half_written(folder, _):
    said = [{"type": "human", "data": {"content": text}} for text in "abc"]
    held = folder / "chats"
    for name in ("below/ana", "bob", "cleo"):
        (held / name).parent.mkdir(parents=True, exist_ok=True)
        (held / f"{name}.json").write_text(json.dumps(said), "utf-8")
        os.utime(held / f"{name}.json", (1_700_000_000, 1_700_000_000))

    def broken():
        (held / "below/ana.json").write_text('[{"type": "hum', "utf-8")
        os.utime(held / "below/ana.json", (1_700_000_000, 1_700_000_000))
        (held / "bob.json").unlink()

    return held.as_uri(), {}, broken, (3, 3)


def server_away(_, monkeypatch):
    app, away, gone = types.ModuleType("the_app"), [], []

    def factory(session):
        if session in away:
            raise ConnectionError
        said = [] if session in gone else [HumanMessage(text) for text in "abc"]
        return types.SimpleNamespace(messages=said)

    app.factory = factory
    monkeypatch.setitem(sys.modules, "the_app", app)

    def broken():
        away.append("ana")
        gone.append("bob")

    names = frozenset({"ana", "bob", "cleo"})
    return "the_app:factory", {"sessions": names}, broken, (3, 3)


def dump_cut_off(folder, _):
    path = folder / "memories.json"
    held = {
        str(at): {"id": str(at), "vector": [at], "text": f"turn {at}", "metadata": {}}
        for at in range(5)
    }
    path.write_text(json.dumps(held), "utf-8")
    cut = path.read_text("utf-8")[:100]
    return str(path), {}, lambda: path.write_text(cut, "utf-8"), (4, 0)


@pytest.mark.parametrize("made", [half_written, server_away, dump_cut_off])
def test_what_cannot_be_read_now_is_not_deleted(
    made, tmp_path, sqlite_target, monkeypatch
):
    address, read, broken, (unknown, deleted) = made(tmp_path, monkeypatch)
    options = Options(read=ReadOptions(**read))
    migrate(address, sqlite_target, options)
    before = read_plainly(sqlite_target)
    broken()

    done = sync(address, sqlite_target, options, on_source_delete="delete")

    assert sum(done.rejects.values()) == 1
    found = done.deletions
    assert (found.unknown, found.deleted, found.removed) == (unknown, deleted, deleted)
    left = {n: v for n, v in before.items() if "bob" not in n}
    assert read_plainly(sqlite_target) == left


# Lifetimes.


def test_a_renewed_lifetime_extends(target, redis, redis_url):
    for name in ("Renewed", "Persisted", "Same", "Shorter", "Ours"):
        redis.set(f"memory_store:s:{name}", name, px=120_000)
    migrate(redis_url, target)
    before = read_plainly(target)[NAMESPACE]
    with plain_store(target) as store:
        Repository(store, Scope("memory_store", "s")).put(
            "entity", {"name": "Ours", "summary": "of the application"}
        )
        ours = store.get(NAMESPACE, "Ours").value
    redis.getex("memory_store:s:Renewed", px=240_000)
    redis.persist("memory_store:s:Persisted")
    redis.pexpire("memory_store:s:Shorter", 60_000)
    redis.getex("memory_store:s:Ours", px=240_000)
    done = sync(redis_url, target)
    assert done.passes[0].extended == 2
    after = read_plainly(target)[NAMESPACE]
    assert after["Same"] == before["Same"]
    assert after["Shorter"] == before["Shorter"]
    assert after["Ours"] == ours
    assert "expires_at" not in after["Persisted"]["meta"]
    ends = [state["Renewed"]["meta"]["expires_at"] for state in (before, after)]
    assert ends[0] < ends[1]
    for name in ("Renewed", "Persisted"):
        one, other = after[name], before[name]
        assert one["content"] == other["content"]
        assert one["meta"]["revision"] == other["meta"]["revision"]
    assert sync(redis_url, target).passes[0].changes == 0


# How it ends.


def test_a_writer_that_is_faster_is_told(sqlite_target, old_file):
    """So slow a copy that what comes in a pass is over a second's work."""
    source = write_old_file(old_file, {"s": OLD})
    migrate(source, sqlite_target)
    number = 0

    def write(_done):
        nonlocal number
        number += 1
        write_old_file(old_file, {"s": {f"E{number} {n}": "x" for n in range(25)}})

    write(None)
    options = Options(rate=20)
    done = sync(source, sqlite_target, options, max_passes=1, told=write)
    assert [one.new for one in done.passes] == [25]
    assert not done.settled
    assert done.exit_code == 1
    # Nothing is lost by giving up.
    assert sync(source, sqlite_target, final=True).exit_code == 0


def test_settled_is_less_than_a_second():
    assert PassReport(1, left=0.99).settled
    assert not PassReport(1, left=1.0).settled


def test_only_one_at_a_time(sqlite_target, old_file):
    source = write_old_file(old_file, {"s": OLD})
    migrate(source, sqlite_target)
    with closing(open_target(sqlite_target, writing=True)) as held:
        ledger = Ledger(held)
        (run,) = ledger.runs()
        with ledger.leased(run), pytest.raises(RunBusy):
            sync(source, sqlite_target)
    assert sync(source, sqlite_target).settled


def test_the_file_itself_is_no_target(old_file):
    source = write_old_file(old_file, {"s": OLD})
    with pytest.raises(UsageError, match="the same file"):
        sync(source, f"sqlite:///{source}")


def test_the_rejects_of_the_last_pass_are_listed(sqlite_target, old_file, folder):
    source = write_old_file(old_file, {"s": OLD})
    with closing(sqlite3.connect(source)) as db, db:
        db.execute('INSERT INTO "memory_store_s" VALUES (NULL, ?)', ("no name",))
    done = sync(source, sqlite_target, final=True)
    assert done.exit_code == 1
    assert done.rejects == {"null-key": 1}
    (listed,) = (folder / done.rejects_file).read_text().splitlines()
    assert json.loads(listed)["reason"] == "null-key"


def test_a_selection_does_not_delete_the_rest(sqlite_target, old_file):
    """What the options leave out is not what the source lost."""
    source = write_old_file(old_file, {"s": OLD, "t": OLD})
    migrate(source, sqlite_target)
    only = Options(read=ReadOptions(sessions=frozenset({"s"}), only_named=True))
    done = sync(source, sqlite_target, only, on_source_delete="delete")
    assert done.deletions.deleted == 0
    assert len(read_summaries(sqlite_target)) == 2


# The command.


def test_the_command_prints_the_four_steps(sqlite_target, old_file, command):
    source = write_old_file(old_file, {"s": OLD})
    done = command("sync", source, sqlite_target)
    assert done.exit_code == 0, done.output
    steps = re.findall(r"^ +(\d)\. (\w+)", done.stdout, re.MULTILINE)
    assert steps == [
        ("1", "stop"),
        ("2", "one"),
        ("3", "verify"),
        ("4", "switch"),
    ]
    assert "--final" in done.stdout
    last = command("sync", source, sqlite_target, "--final")
    assert last.exit_code == 0, last.output
    assert "3 of 3 equal" in last.stdout
    assert "clean" in last.stdout
    as_json = command("sync", source, sqlite_target, "--final", "--json")
    found = json.loads(as_json.stdout)
    assert (found["command"], found["exit_code"]) == ("sync", 0)
    assert found["verify"]["equal"] == 3


@pytest.mark.parametrize(
    "target", sampled(["sqlite"], ["postgres", "redis"]), indirect=True
)
@pytest.mark.parametrize(
    "how", sampled([signal.SIGINT], [signal.SIGTERM, signal.SIGKILL])
)
def test_an_interrupted_pass_is_resumed(target, old_file, folder, how):
    source = write_old_file(old_file, {"s": {f"E{n}": "x" for n in range(400)}})
    running = start_cli("sync", source, target, "--rate", "50", cwd=folder)
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if sum(map(len, read_summaries(target).values())) >= 50:
            break
        time.sleep(0.05)
    running.send_signal(how)
    _, err = running.communicate(timeout=30)
    if how == signal.SIGKILL:
        assert running.returncode == -how
    else:
        assert running.returncode == 130
        assert "run the same command again" in err
    done = run_cli("sync", source, target, "--final", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert len(read_summaries(target)["memory_store", "s"]) == 400
