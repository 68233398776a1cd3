"""`--layout langmem` and `--layout deepagents`: items in other programs' forms."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import uuid
import warnings
from contextlib import closing

import old_embedding
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import HumanMessage
from langgraph.store.base import PutOp
from moving import (
    files_of,
    is_redis,
    path_of,
    plain_store,
    read_plainly,
    rows_of,
    write_old_file,
)
from sampling import sampled
from threads import threads_of, write_history

from holdover.migrate.layouts.deepagents import DeepagentsShape, file_name, name_of
from holdover.migrate.layouts.langmem import LangmemShape
from holdover.migrate.options import Options
from holdover.migrate.rollback import rollback
from holdover.migrate.run import migrate
from holdover.migrate.sources.base import SourceItem
from holdover.migrate.verify import verify

LAYOUTS = ["langmem", "deepagents"]
PEOPLE = {
    "alice": {"Bob": "a friend", "../x/..": "odd", "": "no name"},
    "zoe": {"Bob": "her brother"},
}


#: Layouts are written by what every target has; the bulk paths have no part in it.
everywhere = pytest.mark.parametrize(
    "target", sampled(["sqlite", "postgres", "redis"], ["cluster"]), indirect=True
)
on_some = pytest.mark.parametrize(
    "target", sampled(["sqlite", "redis"], ["postgres", "cluster"]), indirect=True
)


def shaped(layout, **more):
    return Options(layout=layout, **more)


def texts_of(target):
    """`{namespace: texts}`, as both programs read them, without the guide."""
    found = {}
    for namespace, items in read_plainly(target).items():
        texts = []
        for key, value in items.items():
            content = value["content"]
            if key != "/README.md":
                texts.append(
                    content if isinstance(content, str) else content["content"]
                )
        found[namespace] = sorted(texts)
    return found


@pytest.fixture
def source(old_file):
    return write_old_file(old_file, PEOPLE)


@everywhere
def test_entities_become_memories(source, target):
    before = files_of(source.rpartition("/")[0])

    done = migrate(source, target, shaped("langmem"))

    assert done.exit_code == 0
    assert done.copy.decisions == {"copied": 4}
    assert done.verify.equal == 4
    assert texts_of(target) == {
        ("memories", "alice"): ["../x/..: odd", ": no name", "Bob: a friend"],
        ("memories", "zoe"): ["Bob: her brother"],
    }
    for items in read_plainly(target).values():
        for key, value in items.items():
            assert str(uuid.UUID(key)) == key
            assert value == {"kind": "Memory", "content": value["content"]}
            assert value["content"].keys() == {"content"}
    assert files_of(source.rpartition("/")[0]) == before


@on_some
def test_entities_become_files(source, target):
    done = migrate(source, target, shaped("deepagents"))

    assert done.exit_code == 0
    assert done.copy.decisions == {"copied": 6}  # with a guide for each session
    items = read_plainly(target)[("alice", "filesystem")]
    assert items.keys() == {
        "/README.md",
        "/entities/Bob.md",
        "/entities/%2e.%2fx%2f...md",
        "/entities/%.md",
    }
    bob = items["/entities/Bob.md"]
    assert bob["content"] == "# Bob\n\na friend\n"
    assert bob.keys() == {"content", "encoding", "created_at", "modified_at"}
    assert bob["encoding"] == "utf-8"
    guide = items["/README.md"]["content"]
    assert "/entities/" in guide
    assert "/turns/" not in guide  # there are none in this source


@on_some
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_repetition_writes_nothing(layout, source, target):
    migrate(source, target, shaped(layout))
    rows = rows_of(target)

    again = migrate(source, target, shaped(layout))

    assert again.plan.to_write == 0
    assert again.verify.clean
    assert rows_of(target) == rows


@everywhere
@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_the_source_changed_is_changed_and_what_the_agent_changed_stays(
    layout, source, target
):
    migrate(source, target, shaped(layout))
    ours, theirs = _places(target)
    with plain_store(target) as store:
        edited = {**store.get(*theirs).value}
        edited["content"] = (
            "rewritten" if layout == "deepagents" else {"content": "rewritten"}
        )
        store.put(*theirs, edited)
    write_old_file(source, {"alice": {"Bob": "a foe"}, "zoe": {"Bob": "a foe"}})

    done = migrate(source, target, shaped(layout))

    assert done.copy.decisions["updated"] == 1
    assert done.copy.decisions["superseded"] == 1
    assert done.verify.changed == 1
    assert done.exit_code == 0
    with plain_store(target) as store:
        assert "a foe" in json.dumps(store.get(*ours).value)
        assert store.get(*theirs).value == edited

    undone = rollback(target)

    assert undone.left == 1
    assert undone.removed == (5 if layout == "deepagents" else 3)
    assert undone.examples == [f"{'/'.join(theirs[0])} {theirs[1]}"]
    (left,) = read_plainly(target).values()
    assert left == {theirs[1]: edited}


def _places(target):
    """Where Bob is in each session."""
    found = []
    for session in ("alice", "zoe"):
        for namespace, items in read_plainly(target).items():
            for key, value in items.items():
                if session in namespace and "Bob" in json.dumps(value["content"]):
                    found.append((namespace, key))
    return found


@on_some
@pytest.mark.parametrize("layout", LAYOUTS)
def test_verify_tells_missing_from_changed_and_different(layout, source, target):
    migrate(source, target, shaped(layout))
    first, second = _places(target)
    with plain_store(target) as store:
        store.delete(*first)
        store.put(*second, {"content": "x", "kind": "Memory"})

    report = verify(source, target, shaped(layout))

    assert (report.missing, report.changed, report.different) == (1, 1, 0)
    assert not report.clean


@everywhere
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_foreign_item_is_a_conflict_and_comes_back(layout, source, target, tmp_path):
    other = f"sqlite:///{tmp_path / 'probe.db'}"
    migrate(source, other, shaped(layout))
    place, _ = _places(other)
    theirs = {"kind": "Memory", "content": {"content": "mine"}}
    with plain_store(target) as store:
        store.setup() if hasattr(store, "setup") else None
        store.put(*place, theirs)

    for policy in ("fail", "version"):
        blocked = migrate(source, target, shaped(layout, on_conflict=policy))
        assert blocked.exit_code == 3
        assert blocked.plan.decisions["conflict"] == 1
    skipped = migrate(source, target, shaped(layout, on_conflict="skip"))
    assert skipped.copy.decisions["skipped"] == 1
    assert skipped.exit_code == 1
    assert read_plainly(target)[place[0]][place[1]] == theirs

    done = migrate(source, target, shaped(layout, on_conflict="overwrite"))
    assert done.copy.decisions["overwritten"] == 1
    assert done.exit_code == 0

    undone = rollback(target)

    assert undone.restored == 1
    assert read_plainly(target) == {place[0]: {place[1]: theirs}}
    assert _notes(target) == []


def _notes(target):
    internal = read_plainly(target, internal=True)
    return [ns for ns in internal if ns[:2] == ("~holdover", "layouts")]


@on_some
def test_two_layouts_and_records_live_side_by_side(source, target):
    for layout in ("native", *LAYOUTS):
        assert migrate(source, target, shaped(layout)).exit_code == 0
    for layout in ("native", *LAYOUTS):
        assert verify(source, target, shaped(layout)).clean

    rollback(target)  # the newest: deepagents

    assert {ns[-1] for ns in read_plainly(target)} == {"entities", "alice", "zoe"}


@on_some
@pytest.mark.parametrize("layout", LAYOUTS)
def test_messages_stay_out_and_are_counted(layout, old_file, target, command):
    source = write_old_file(old_file, {"s": {"Bob": "a man"}})
    write_history(source, {"s": [HumanMessage("hi"), HumanMessage("there")]})

    plan = command("migrate", source, target, "--layout", layout, "--dry-run")
    done = migrate(source, target, shaped(layout))

    assert "2 messages stay out" in plan.output
    assert done.copy.skipped == {"not-in-layout": 2}
    assert done.verify.skipped == {"not-in-layout": 2}
    assert done.exit_code == 0
    assert len(read_plainly(target)) == 1

    if not is_redis(target):
        both = shaped(layout, into=frozenset({"items", "threads"}))
        assert migrate(source, target, both).exit_code == 0
        assert threads_of(target) == {"s": [("human", "hi"), ("human", "there")]}


def test_a_template_says_where_items_go(source, sqlite_target):
    options = shaped("deepagents", template="users/{session}/files")
    migrate(source, sqlite_target, options)

    assert read_plainly(sqlite_target).keys() == {
        ("users", "alice", "files"),
        ("users", "zoe", "files"),
    }


def test_sessions_that_meet_in_one_namespace_are_told_of(old_file, sqlite_target):
    source = write_old_file(old_file, {"a": {"Bob": "1"}, "b": {"Bob": "2"}})
    one = shaped("deepagents", template="all")

    blocked = migrate(source, sqlite_target, one)

    assert blocked.exit_code == 3
    assert "collisions" in {blocker.code for blocker in blocked.plan.blockers}
    # Memories have keys of their own, wherever they are.
    together = shaped("langmem", template="all")
    assert migrate(source, sqlite_target, together).exit_code == 0
    assert texts_of(sqlite_target) == {("all",): ["Bob: 1", "Bob: 2"]}


# Every kind.


def item(kind, key="", **content):
    return SourceItem(kind, "r", "s", key, content, "here#0")


@pytest.mark.parametrize(
    ("record", "memory", "path", "file"),
    [
        (
            item("entity", "Bob", name="Bob", summary="a man"),
            "Bob: a man",
            "/entities/Bob.md",
            "# Bob\n\na man\n",
        ),
        (
            item("turn", text="in: a\nout: b"),
            "in: a\nout: b",
            "/turns/",
            "in: a\nout: b",
        ),
        (
            item("turn", text="t", metadata={"page": 1}),
            "t",
            "/turns/",
            't\n\n---\n{"page": 1}\n',
        ),
        (
            item("triple", subject="A", predicate="is", object="B", text="A is B"),
            "A is B",
            "/facts/",
            "A is B",
        ),
        (item("summary", text="long ago"), "long ago", "/summary.md", "long ago"),
        (
            item("summary", text="nul \x00, half \ud800"),
            "nul \u2400, half \\ud800",
            "/summary.md",
            "nul \u2400, half \\ud800",
        ),
    ],
)
def test_each_kind_has_its_form(record, memory, path, file):
    from datetime import UTC, datetime

    moment = datetime(2024, 1, 2, tzinfo=UTC)
    langmem, deepagents = LangmemShape(), DeepagentsShape()

    assert langmem.value(record, moment)["content"] == {"content": memory}
    assert deepagents.value(record, moment)["content"] == file
    assert deepagents.key(record).startswith(path)
    later = datetime(2025, 1, 2, tzinfo=UTC)
    for shape in (langmem, deepagents):
        now, then = shape.value(record, moment), shape.value(record, later)
        assert shape.hash_of(now) == shape.hash_of(then)


# Names.


@settings(max_examples=300, deadline=None)
@given(st.text(st.characters(codec=None), max_size=60))
def test_any_name_is_one_part_of_a_path_and_comes_back(name):
    file = file_name(name)

    assert "/" not in file
    assert "\\" not in file
    assert file not in ("", ".", "..")
    assert file.isprintable() or not name.isprintable()
    file.encode()
    if "%%" not in file:
        assert name_of(file) == name


@settings(max_examples=100, deadline=None)
@given(st.lists(st.text(max_size=300), unique=True, min_size=2, max_size=6))
def test_different_names_are_different_files(names):
    files = [file_name(name) for name in names]

    assert len(set(files)) == len(names)
    assert all(len(file.encode()) <= 200 for file in files)


@pytest.mark.parametrize("char", ["/", "%", "é", "a"])
def test_long_names_are_cut_and_stay_apart(char):
    first, second = file_name(char * 1000), file_name(char * 1001)

    assert first != second
    assert max(len(first.encode()), len(second.encode())) <= 200
    assert name_of(file_name(char * 60)) == char * 60


# Killed anywhere.


@everywhere
@pytest.mark.parametrize("layout", LAYOUTS)
def test_killed_anywhere_a_repetition_ends_exact(layout, old_file, target, tmp_path):
    people = {f"s{s}": {f"P{n}": f"{s}{n}" for n in range(6)} for s in range(3)}
    source = write_old_file(old_file, people)
    other = f"sqlite:///{tmp_path / 'whole.db'}"
    migrate(source, other, shaped(layout))
    whole = texts_of(other)
    for steps in sampled([1, 8], range(2, 40, 3)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pid = os.fork()
        if not pid:
            try:
                _die_after(steps)
                migrate(source, target, shaped(layout, batch=4))
            finally:
                os._exit(0)
        ended = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        assert ended == -signal.SIGKILL or steps > 8

        done = migrate(source, target, shaped(layout, batch=4))

        assert done.exit_code == 0
        assert done.verify.clean
        assert texts_of(target) == whole
        assert rollback(target).left == 0
        assert read_plainly(target) == {}
        assert _notes(target) == []


def _die_after(steps):
    from holdover.migrate.layouts.applying import ShapedTarget

    real, left = ShapedTarget._noted, steps

    def dying(self, one) -> PutOp:
        nonlocal left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(self, one)

    ShapedTarget._noted = dying


# By meaning.


@pytest.mark.parametrize(
    ("layout", "said"),
    [("langmem", "Bob: her brother"), ("deepagents", "# Bob\n\nher brother\n")],
)
def test_an_index_embeds_what_an_item_says(layout, said, source, sqlite_target):
    options = shaped(layout, index="old_embedding:embed", dims=old_embedding.DIMS)

    assert migrate(source, sqlite_target, options).exit_code == 0

    with closing(sqlite3.connect(path_of(sqlite_target))) as db:
        rows = db.execute("SELECT prefix, key, embedding FROM store_vectors").fetchall()
        items = db.execute(
            "SELECT count(*) FROM store WHERE prefix NOT LIKE '~holdover%'"
        ).fetchone()
    assert len(rows) == items[0]
    assert [raw for prefix, _, raw in rows if "zoe" in prefix].count(
        old_embedding.packed(said)
    ) == 1
    assert rollback(sqlite_target).left == 0
