"""Sessions become threads: an agent goes on with them, on both checkpointers."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sqlite3
import warnings
from contextlib import closing

import psycopg
import pytest
from langchain_core.messages import (
    AIMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    message_to_dict,
)
from moving import (
    files_of,
    is_postgres,
    path_of,
    read_plainly,
    rows_of,
)
from sampling import sampled
from threads import (
    Bomb,
    agent,
    ask,
    checkpointer,
    checkpoints_of,
    config,
    threads_of,
    write_history,
)

from holdover.compat.stores.redis_connecting import connect, parse_address
from holdover.migrate.errors import MigrateError, UsageError
from holdover.migrate.options import Options
from holdover.migrate.rollback import rollback
from holdover.migrate.run import migrate
from holdover.migrate.sources.base import ReadOptions
from holdover.migrate.threads.moving import ThreadsVerified
from holdover.migrate.verify import verify

THREADS = frozenset({"threads"})
BOTH = frozenset({"items", "threads"})
ALICE = [
    HumanMessage("I am Alice."),
    AIMessage("Hello Alice!"),
    HumanMessage("What time is it?"),
    AIMessage("", tool_calls=[{"name": "clock", "args": {"zone": "UTC"}, "id": "c1"}]),
    ToolMessage("12:00", tool_call_id="c1"),
    AIMessage("It is noon."),
]
BOB = [HumanMessage("I am Bob."), AIMessage("Hello Bob!")]


def told(messages):
    return [(message.type, message.content) for message in messages]


def into(kinds=THREADS, **more):
    return Options(into=kinds, **more)


@pytest.fixture(params=["sqlite", "postgres"])
def target(request, tmp_path):
    """The address of an empty target that can hold threads."""
    if request.param == "postgres":
        return request.getfixturevalue("postgres_url")
    return f"sqlite:///{tmp_path / 'memory.db'}"


#: What does not depend on the database is shown on one, but where everything runs.
on_one = pytest.mark.parametrize(
    "target", sampled(["sqlite"], ["postgres"]), indirect=True
)


@pytest.fixture
def history(old_file):
    return write_history(old_file, {"alice": ALICE, "bob": BOB})


def test_an_agent_answers_a_follow_up_from_a_migrated_thread(history, target):
    before = files_of(history.rpartition("/")[0])

    done = migrate(history, target, into())

    assert done.exit_code == 0
    assert done.copy.threads.decisions == {"copied": 2}
    assert done.copy.threads.messages == 8
    assert done.verify.threads == ThreadsVerified(equal=2)
    with agent(target, system_prompt="Be kind.") as one:
        state = one.get_state(config("alice"))
        assert state.next == ()
        assert told(state.values["messages"]) == told(ALICE)
        assert state.values["messages"][3].tool_calls[0]["args"] == {"zone": "UTC"}

        given = ask(one, "alice", "And my name?")

        assert given == [
            ("system", "Be kind."),
            *told(ALICE),
            ("human", "And my name?"),
        ]
        assert ask(one, "bob", "?")[1:] == [*told(BOB), ("human", "?")]
        history_ = list(one.get_state_history(config("alice")))
        assert [len(s.values.get("messages", [])) for s in history_] == [8, 7, 6, 6]
        assert history_[-1].metadata["source"] == "update"
        assert history_[-1].next == ()
        # Going back to the migrated state and asking anew is another branch.
        fork = one.invoke({"messages": [("human", "again")]}, history_[-1].config)
        assert told(fork["messages"])[:7] == [*told(ALICE), ("human", "again")]
    assert files_of(history.rpartition("/")[0]) == before


def test_the_async_agent_goes_on_too(history, target):
    migrate(history, target, into())

    async def turn():
        from langchain.agents import create_agent
        from threads import Telling

        if is_postgres(target):
            from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver as Saver

            opened = Saver.from_conn_string(target)
        else:
            from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver as Saver

            opened = Saver.from_conn_string(path_of(target))
        async with opened as saver:
            one = create_agent(Telling(seen=[]), checkpointer=saver)
            said = {"messages": [("human", "more")]}
            done = await one.ainvoke(said, config("bob"))
        return json.loads(done["messages"][-1].content)

    assert [tuple(p) for p in asyncio.run(turn())] == [*told(BOB), ("human", "more")]


def test_items_and_threads_in_one_run(history, target):
    done = migrate(history, target, into(BOTH))

    assert done.exit_code == 0
    assert done.copy.decisions == {"copied": 8}
    assert done.copy.threads.decisions == {"copied": 2}
    assert done.verify.equal == 8
    assert done.verify.threads.equal == 2
    items = read_plainly(target)[("message_store", "bob", "messages")]
    texts = [items[key]["content"]["data"]["content"] for key in sorted(items)]
    assert texts == [message.content for message in BOB]
    assert threads_of(target) == {"alice": told(ALICE), "bob": told(BOB)}

    undone = rollback(target)

    assert (undone.removed, undone.threads.removed) == (8, 2)
    assert threads_of(target) == {}
    assert read_plainly(target) == {}


@on_one
def test_threads_alone_leave_the_rest_of_a_source_alone(old_file, target):
    from moving import write_old_file

    write_history(old_file, {"s": BOB})
    write_old_file(old_file, {"s": {"Bob": "a man"}})

    done = migrate(str(old_file), target, into())

    assert done.exit_code == 0
    assert read_plainly(target) == {}
    assert threads_of(target) == {"s": told(BOB)}


def test_a_repetition_writes_nothing(history, target):
    first = migrate(history, target, into())
    rows = rows_of(target)

    again = migrate(history, target, into())

    assert again.plan.threads.decisions == {"already there": 2}
    assert again.plan.to_write == 0
    assert again.verify.threads == ThreadsVerified(equal=2)
    assert again.copy.run == first.copy.run
    assert rows_of(target) == rows


@on_one
def test_dry_run_and_verify_write_nothing(history, target):
    plan = migrate(history, target, into(), dry_run=True).plan

    assert plan.threads.decisions == {"copied": 2}
    assert verify(history, target, into()).threads == ThreadsVerified(
        missing=2, examples={"missing": _places(history)}
    )
    assert {name for name, rows in rows_of(target).items() if rows} == set()


def _places(history):
    where = f"sqlite:{history.rpartition('/')[2]}#message_store"
    return [where, where]


def test_what_came_since_is_added_in_place(history, target):
    migrate(history, target, into())
    more = [HumanMessage("Still there?"), AIMessage("Yes.")]
    write_history(history, {"bob": more, "carol": BOB})

    done = migrate(history, target, into())

    assert done.copy.threads.decisions == {
        "already there": 1,
        "updated": 1,
        "copied": 1,
    }
    assert threads_of(target)["bob"] == told([*BOB, *more])
    assert len(checkpoints_of(target, "bob")) == 1
    assert done.verify.threads == ThreadsVerified(equal=3)


def test_a_thread_that_was_continued_is_never_touched_again(history, target):
    migrate(history, target, into())
    with agent(target) as one:
        ask(one, "alice", "more")
    rows = rows_of(target)
    write_history(history, {"alice": [HumanMessage("old app")]})

    done = migrate(history, target, into())

    assert done.plan.threads.decisions == {"superseded": 1, "already there": 1}
    assert done.verify.threads == ThreadsVerified(equal=1, changed=1)
    assert done.exit_code == 0
    assert rows_of(target) == rows

    undone = rollback(target)

    assert (undone.threads.removed, undone.threads.left) == (1, 1)
    assert undone.threads.examples == ["alice"]
    assert threads_of(target).keys() == {"alice"}


def test_a_pruned_thread_is_still_known(history, postgres_url):
    """Applications may keep the newest checkpoint only."""
    migrate(history, postgres_url, into())
    with agent(postgres_url) as one:
        ask(one, "alice", "more")
        one.checkpointer.prune(["alice"])

    done = migrate(history, postgres_url, into())

    assert done.plan.threads.decisions == {"superseded": 1, "already there": 1}
    assert done.verify.threads == ThreadsVerified(equal=1, changed=1)


def foreign_thread(target, thread="alice"):
    with agent(target) as one:
        ask(one, thread, "mine")


def test_a_foreign_thread_of_the_same_id_is_a_conflict(history, target):
    foreign_thread(target)
    before = checkpoints_of(target, "alice")

    blocked = migrate(history, target, into())

    assert blocked.exit_code == 3
    (blocker,) = blocked.plan.blockers
    assert blocker.code == "thread-conflicts"
    assert blocker.fix == "--on-conflict skip|overwrite"
    assert threads_of(target).keys() == {"alice"}
    # A thread has no revisions: the policy of items does not help.
    assert migrate(history, target, into(on_conflict="version")).exit_code == 3

    skipped = migrate(history, target, into(on_conflict="skip"))

    assert skipped.copy.threads.decisions == {"skipped": 1, "copied": 1}
    assert skipped.verify.threads.different == 1
    assert skipped.exit_code == 1
    assert checkpoints_of(target, "alice") == before


def test_an_overwritten_thread_comes_back_with_a_rollback(history, target):
    foreign_thread(target)
    before = checkpoints_of(target, "alice")

    done = migrate(history, target, into(on_conflict="overwrite"))

    assert done.copy.threads.decisions == {"overwritten": 1, "copied": 1}
    assert done.verify.threads == ThreadsVerified(equal=2)
    assert threads_of(target)["alice"] == told(ALICE)
    with agent(target) as one:
        assert ask(one, "bob", "?") == [*told(BOB), ("human", "?")]

    undone = rollback(target)

    assert (undone.threads.restored, undone.threads.left) == (1, 1)
    assert checkpoints_of(target, "alice") == before


def test_nothing_of_a_foreign_thread_is_run(history, target):
    """A checkpoint names classes, which LangGraph makes when it is read."""
    foreign_thread(target)
    (newest, *_) = checkpoints_of(target, "alice")
    newest.checkpoint["channel_values"]["messages"].append(Bomb())
    newest.checkpoint["channel_versions"]["messages"] = "9.9"
    with checkpointer(target) as saver:
        place = {"configurable": {"thread_id": "alice", "checkpoint_ns": ""}}
        versions = newest.checkpoint["channel_versions"]
        saver.put(place, newest.checkpoint, newest.metadata, versions)
    Bomb.made.clear()

    plan = migrate(history, target, into(), dry_run=True).plan

    assert plan.threads.decisions == {"conflict": 1, "copied": 1}
    assert Bomb.made == []


def test_the_same_conversation_made_by_others_is_already_there(history, target):
    with agent(target) as one:
        copied = {"messages": [m.model_copy() for m in BOB]}
        one.update_state(config("bob"), copied, as_node="model")
        ids = [m.id for m in one.get_state(config("bob")).values["messages"]]
    fresh = [
        {"type": m.type, "data": {**message_to_dict(m)["data"], "id": identity}}
        for m, identity in zip(BOB, ids, strict=True)
    ]
    source = write_history(history.replace(".db", "-2.db"), {"bob": fresh})

    done = migrate(source, target, into())

    assert done.plan.threads.decisions == {"already there": 1}
    assert done.verify.threads == ThreadsVerified(equal=1)


def test_sessions_of_two_tables_that_share_an_id_are_a_blocker(old_file, target):
    write_history(old_file, {"bob": BOB, "only": BOB})
    source = write_history(old_file, {"bob": ALICE}, table="archive")
    both = ReadOptions(roots=("message_store", "archive"))

    blocked = migrate(source, target, into(read=both))

    assert blocked.exit_code == 3
    (blocker,) = blocked.plan.blockers
    assert blocker.code == "thread-collisions"
    assert blocked.plan.threads.collisions == 1
    assert blocker.fix == "--thread-id '{root}:{session}'"

    named = into(read=both, thread_id="{root}:{session}")
    assert migrate(source, target, named).exit_code == 0
    assert threads_of(target) == {
        "message_store:bob": told(BOB),
        "message_store:only": told(BOB),
        "archive:bob": told(ALICE),
    }


@on_one
@pytest.mark.parametrize(
    "session",
    ["", "a\x00b", "x" * 1001],
    ids=["empty", "NUL", "too long"],
)
def test_a_session_whose_name_is_no_thread_id_is_a_reject(session, old_file, target):
    source = write_history(old_file, {session: BOB, "good": BOB})

    done = migrate(source, target, into())

    assert done.copy.rejects == {"thread-id": 1}
    assert done.exit_code == 1
    assert threads_of(target) == {"good": told(BOB)}
    again = migrate(source, target, into())
    assert again.plan.to_write == 0
    assert again.exit_code == 1


def test_hostile_names_are_only_names(old_file, target):
    sessions = ["a.b/c", "~holdover/x", "'; DROP TABLE checkpoints; --", "%s", "ü☃"]
    source = write_history(old_file, dict.fromkeys(sessions, BOB))

    assert migrate(source, target, into()).exit_code == 0
    assert threads_of(target) == dict.fromkeys(sessions, told(BOB))
    assert rollback(target).threads.removed == len(sessions)
    assert threads_of(target) == {}


def test_hard_contents_arrive_and_compare_equal(old_file, target):
    messages = [
        {"type": "human", "data": {"content": "nul \x00, half \ud800, 🙂"}},
        {"type": "ai", "data": {"content": [{"type": "text", "text": "x"}, "y"]}},
        {"type": "ai", "data": {"content": "", "tool_calls": [], "odd": {"n": 2**70}}},
        {"type": "human", "data": {"content": "", "example": False, "id": 7}},
        {"type": "martian", "data": {"content": "beep"}},
        {"type": "ai", "data": {"content": None, "response_metadata": {"f": 1e300}}},
    ]
    source = write_history(old_file, {"s": messages})

    done = migrate(source, target, into())

    assert done.verify.threads == ThreadsVerified(equal=1)
    assert migrate(source, target, into()).plan.to_write == 0
    found = threads_of(target)["s"]
    assert found[0] == ("human", "nul \x00, half \\ud800, 🙂")
    assert found[4] == ("human", "beep")
    with agent(target) as one:
        assert len(ask(one, "s", "?")) == 7


@on_one
def test_what_was_made_valid_is_counted_and_told(old_file, target, command):
    history = [
        ToolMessage("lost", tool_call_id="gone"),
        HumanMessage("q"),
        SystemMessage("from now on, French"),
        AIMessage("", tool_calls=[{"name": "f", "args": {}, "id": "1"}]),
    ]
    source = write_history(old_file, {"s": history})

    done = command("migrate", source, target, "--into", "threads", "--yes")

    assert done.exit_code == 0, done.output
    assert "threads   1 written, 6 messages" in done.output
    assert (
        "repaired  result made up 1, call made up 1, system message moved to the "
        "front 1\n" in done.output
    )
    assert "lost" not in done.output
    with agent(target) as one:
        given = ask(one, "s", "go on")
    assert [kind for kind, _ in given] == [
        "system", "ai", "tool", "human", "ai", "tool", "human",
    ]  # fmt: skip


def test_the_json_report_tells_of_threads(history, sqlite_target, command):
    done = command("migrate", history, sqlite_target, "--into", "threads", "--json")

    report = json.loads(done.output)
    assert report["plan"]["threads"]["decisions"] == {"copied": 2}
    assert report["copy"]["threads"]["decisions"] == {"copied": 2}
    assert report["verify"]["threads"]["equal"] == 2
    found = command("verify", history, sqlite_target, "--into", "threads")
    assert found.exit_code == 0
    assert "verified  2 of 2 threads equal" in found.output
    undone = command("rollback", sqlite_target)
    assert "2 threads removed" in undone.output, undone.output


@on_one
def test_no_content_is_in_the_metadata_or_the_ledger(old_file, target):
    source = write_history(old_file, {"s": [HumanMessage("my secret")]})

    migrate(source, target, into())

    (one,) = checkpoints_of(target, "s")
    assert "secret" not in json.dumps(one.metadata)
    assert one.metadata["holdover"]["session"] == "s"
    ledger = read_plainly(target, internal=True)
    assert "secret" not in json.dumps([list(v.values()) for v in ledger.values()])


def test_damage_in_the_target_is_found(history, target):
    migrate(history, target, into())
    with checkpointer(target) as saver:
        one = next(iter(saver.list(config("bob"))))
        checkpoint = one.checkpoint
        checkpoint["channel_values"]["messages"].pop()
        place = {"configurable": {"thread_id": "bob", "checkpoint_ns": ""}}
        if is_postgres(target):
            saver.conn.execute("DELETE FROM checkpoint_blobs WHERE thread_id = 'bob'")
        saver.put(place, checkpoint, one.metadata, checkpoint["channel_versions"])

    found = verify(history, target, into()).threads

    assert (found.equal, found.different) == (1, 1)

    with checkpointer(target) as saver:
        saver.delete_thread("bob")
    found = verify(history, target, into()).threads
    assert (found.equal, found.missing) == (1, 1)


def test_a_thread_made_beside_ours_is_different(history, target):
    """A race that nothing can prevent: a new thread while ours was written."""
    foreign_thread(target, "bob")
    (newest, *_) = checkpoints_of(target, "bob")
    with checkpointer(target) as saver:
        saver.delete_thread("bob")
    migrate(history, target, into())
    with checkpointer(target) as saver:
        place = {"configurable": {"thread_id": "bob", "checkpoint_ns": ""}}
        versions = newest.checkpoint["channel_versions"]
        saver.put(place, newest.checkpoint, newest.metadata, versions)

    found = verify(history, target, into()).threads

    assert (found.equal, found.different, found.changed) == (1, 1, 0)


@on_one
def test_the_clock_of_the_migration_does_not_matter(history, target, monkeypatch):
    """Graphs go on from the largest id, which begins with a time."""
    import time

    ahead = time.time_ns() + 10**18
    with monkeypatch.context() as patched:
        patched.setattr(time, "time_ns", lambda: ahead)
        migrate(history, target, into())

    with agent(target) as one:
        ask(one, "bob", "first")
        assert len(ask(one, "bob", "second")) == 5


def test_threads_go_into_a_database_that_has_some(history, target):
    """The application's checkpointer is there before a store is."""
    foreign_thread(target, "theirs")

    done = migrate(history, target, into())

    assert done.exit_code == 0
    assert threads_of(target).keys() == {"theirs", "alice", "bob"}
    rollback(target)
    assert threads_of(target).keys() == {"theirs"}


def test_a_plain_redis_is_refused_with_a_sentence(history, redis_url):
    with pytest.raises(UsageError, match="holds no threads") as refused:
        migrate(history, redis_url, into())

    assert refused.value.exit_code == 2
    client = connect(parse_address(redis_url))
    assert client.dbsize() == 0
    client.close()


def test_kinds_without_messages_are_refused(history, sqlite_target):
    only = ReadOptions(kinds=frozenset({"entities"}))
    with pytest.raises(UsageError, match="moves messages"):
        migrate(history, sqlite_target, into(read=only))
    with pytest.raises(UsageError, match="nothing"):
        migrate(history, sqlite_target, into(thread_id="{user}"))


def test_tables_of_another_program_are_left_alone(history, tmp_path):
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("CREATE TABLE checkpoints (id INTEGER, note TEXT)")

    with pytest.raises(MigrateError, match="table of its own named checkpoints"):
        migrate(history, f"sqlite:///{path}", into())


def test_many_sessions_interleaved_in_one_table(old_file, target):
    sessions = {
        f"s{at}": [HumanMessage(f"{at}.{n}") for n in range(1 + at % 7)]
        for at in range(210)  # more than are written at once
    }
    source = write_history(old_file, sessions)

    done = migrate(source, target, into(batch=37))

    assert done.copy.threads.decisions == {"copied": 210}
    assert threads_of(target) == {s: told(m) for s, m in sessions.items()}
    assert migrate(source, target, into()).plan.to_write == 0


@on_one
def test_a_trimmed_list_keeps_what_was_moved_of_it(redis, redis_url, target):
    """`LTRIM` moves every place of a list; the thread keeps its old end."""
    key = "message_store:alice"
    texts = [json.dumps(message_to_dict(message)) for message in ALICE]
    redis.lpush(key, *texts[:3])
    assert migrate(redis_url, target, into()).exit_code == 0
    assert threads_of(target) == {"alice": told(ALICE[:3])}

    redis.lpush(key, *texts[3:])
    redis.ltrim(key, 0, 3)  # the newest four
    grown = migrate(redis_url, target, into())

    assert grown.copy.threads.decisions == {"updated": 1}
    assert threads_of(target) == {"alice": told(ALICE)}
    assert grown.verify.threads == ThreadsVerified(equal=1)
    redis.ltrim(key, 0, 1)  # between a call and its result
    again = migrate(redis_url, target, into())
    assert again.plan.threads.decisions == {"already there": 1}
    assert again.verify.threads == ThreadsVerified(equal=1)
    assert threads_of(target) == {"alice": told(ALICE)}


@on_one
def test_lifetimes_end_with_a_sentence_in_the_plan(redis, redis_url, target):
    redis.lpush("message_store:a", json.dumps(message_to_dict(BOB[0])))
    redis.expire("message_store:a", 3600)

    plan = migrate(redis_url, target, into(), dry_run=True).plan

    assert any("threads have no lifetime" in fact for fact in plan.facts)


# Killed at any point.

SESSIONS = {f"s{n}": [*BOB, HumanMessage(str(n))] for n in range(30)}


def killed_after(steps, source, target):
    """Migrate in a process that is killed at its n-th step; how it ended."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # threads of other tests may be there
        pid = os.fork()
    if not pid:
        try:
            _die_after(steps)
            migrate(source, target, into())
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _die_after(steps):
    from holdover.migrate.threads import moving
    from holdover.migrate.threads.postgres import PostgresThreads
    from holdover.migrate.threads.sqlite import SqliteThreads

    left = steps

    def dying(real):
        def call(*arguments):
            nonlocal left
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*arguments)

        return call

    moving._AT_ONCE = 7
    for table in (PostgresThreads, SqliteThreads):
        table.write = dying(table.write)
    # Inside of transactions, too.
    psycopg.Cursor.executemany = dying(psycopg.Cursor.executemany)
    SqliteThreads._row = dying(SqliteThreads._row)
    moving._Writer._record = dying(moving._Writer._record)


def test_killed_anywhere_each_thread_is_there_once_and_whole(old_file, target):
    source = write_history(old_file, SESSIONS)
    ends = set()
    for steps in sampled([0, 1, 2, 3, 5, 9, 40], range(10, 45)):
        ends.add(killed_after(steps, source, target))
        for thread, messages in threads_of(target).items():
            assert messages == told(SESSIONS[thread])

        done = migrate(source, target, into())

        assert done.exit_code == 0
        assert done.verify.threads == ThreadsVerified(equal=30)
        assert threads_of(target) == {s: told(m) for s, m in SESSIONS.items()}
        for thread in ("s0", "s29"):
            assert len(checkpoints_of(target, thread)) == 1
        assert rollback(target).threads.removed == 30
    assert -signal.SIGKILL in ends


def test_a_killed_rollback_goes_on(old_file, target):
    source = write_history(old_file, SESSIONS)
    migrate(source, target, into())
    with agent(target) as one:
        ask(one, "s3", "more")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pid = os.fork()
    if not pid:
        from holdover.migrate.threads.postgres import PostgresThreads
        from holdover.migrate.threads.sqlite import SqliteThreads

        try:
            for table in (PostgresThreads, SqliteThreads):
                _kill_at(table, "s25")
            rollback(target)
        finally:
            os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL
    assert 1 < len(threads_of(target)) < 30

    undone = rollback(target)

    assert undone.threads.left == 1
    assert threads_of(target).keys() == {"s3"}


def _kill_at(table, thread):
    real = table.remove

    def remove(self, thread_id, checkpoint_id):
        if thread_id == thread:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(self, thread_id, checkpoint_id)

    table.remove = remove


def test_status_counts_threads_with_the_records(tmp_path):
    from holdover.migrate.status import status

    source = tmp_path / "chats.jsonl"
    said = {"session": "s", "type": "human", "data": {"content": "hi"}}
    source.write_text(json.dumps(said) + "\n")
    for into, number in (({"threads"}, 1), ({"items", "threads"}, 2)):
        target = str(tmp_path / f"{len(into)}.db")
        migrate(str(source), target, Options(into=frozenset(into)))
        (run,) = status(target)
        assert (run.done, run.planned) == (number, number)
