"""Serialized memories in a target, as the memories of today read them."""

from __future__ import annotations

import pytest
from fake_models import WordModel
from moving import files_of, ledger_text, read_plainly, rows_of
from pickling import buffer, dumps, history, old
from sampling import sampled
from serialized import FILES, FOLDERS

from holdover.compat import (
    ConversationBufferMemory,
    ConversationEntityMemory,
    ConversationKGMemory,
    ConversationSummaryBufferMemory,
    ConversationSummaryMemory,
)
from holdover.compat.chat_message_histories import StoreChatMessageHistory
from holdover.migrate.options import Options
from holdover.migrate.run import migrate
from holdover.migrate.sources.base import ReadOptions

PICKLED = Options(read=ReadOptions(session_pattern=r"(?P<session>\w+)\.pkl"))
TURNS = [
    "Hi, I am Sam.", "Hello Sam!", "你好 🎉 \"quoted\", 'single'\nnewline",
    "返事\twith tab", "", "",
]  # fmt: skip
ENTITIES = {"Sam": "Sam is the user.", "Devé": "Devé is a colleague."}
#: The first and the last pickles of each kind: of text, of pydantic 1 and 2.
SOME = ("langchain-0.0.100", "langchain-0.0.200", "langchain-classic-1.0.8")
some_folders = pytest.mark.parametrize(
    "folder",
    sampled(
        [one for one in FOLDERS if one.parent.name in SOME],
        [one for one in FOLDERS if one.parent.name not in SOME],
    ),
    ids=lambda one: one.parent.name,
)


def texts(messages):
    return [message.content for message in messages]


@pytest.fixture
def moved(sqlite_target):
    """Move the pickles of a folder; the target's address."""

    def move(folder):
        before = files_of(folder)
        done = migrate(str(folder), sqlite_target, PICKLED)
        assert files_of(folder) == before
        assert done.verify.clean
        assert not done.copy.rejects
        return sqlite_target

    return move


@some_folders
def test_memories_of_today_go_on_with_what_was_pickled(folder, moved):
    target, release = moved(folder), folder.parent.name
    first = release == "langchain-0.0.100"

    def scope(session):
        return {"store": target, "scope": ("message_store", session)}

    for session in ("buffer", "buffer_named", "window", "combined", "chain_memory"):
        held = StoreChatMessageHistory(**scope(session))
        assert texts(held.messages) == TURNS
        assert [message.type for message in held.messages] == ["human", "ai"] * 3
    memory = ConversationBufferMemory(return_messages=True, **scope("buffer"))
    memory.save_context({"input": "and now?"}, {"output": "today"})
    assert texts(memory.load_memory_variables({})["history"]) == [
        *TURNS, "and now?", "today",
    ]  # fmt: skip

    entities = ConversationEntityMemory(
        llm=WordModel(), store=target, scope=("memory_store", "entity")
    )
    lost = release == "langchain-0.0.150"
    assert dict(entities.entity_store.store) == ({} if lost else ENTITIES)

    graph = ConversationKGMemory(llm=WordModel(), **scope("kg"))
    assert sorted(graph.kg.get_triples()) == [
        ("Sam", "Lyon", "lives in"), ("Sam", "hiker", "is a"),
    ]  # fmt: skip
    assert graph.kg.get_entity_knowledge("Sam") == [
        "Sam is a hiker",
        "Sam lives in Lyon",
    ]

    graph.kg.add_triple(("Sam", "is a", "hiker"))  # has its place already
    assert len(graph.kg.get_triples()) == 2

    model = WordModel(answers=["a newer summary"])
    summary = ConversationSummaryMemory(llm=model, **scope("summary"))
    assert summary.buffer == "Sam greeted the AI."
    assert summary.load_memory_variables({}) == {"history": "Sam greeted the AI."}
    assert model.prompts == []  # what was summarised is not summarised again
    summary.save_context({"input": "a new line"}, {"output": "its answer"})
    assert summary.buffer == "a newer summary"
    (prompt,) = model.prompts
    assert "Sam greeted the AI." in prompt
    assert "a new line" in prompt
    assert "Hi, I am Sam." not in prompt

    pruned = ConversationSummaryBufferMemory(
        llm=WordModel(answers=["more"]), max_token_limit=4, **scope("summary_buffer")
    )
    before = pruned.load_memory_variables({})["history"]
    assert pruned.moving_summary_buffer
    assert before.startswith(f"System: {pruned.moving_summary_buffer}\n")
    assert len(pruned.chat_memory.messages) == (2 if first else 3)
    pruned.save_context({"input": "one two three"}, {"output": "four five six"})
    assert pruned.moving_summary_buffer == "more"


@some_folders
def test_a_second_run_writes_nothing(folder, moved):
    target = moved(folder)
    before = rows_of(target)
    again = migrate(str(folder), target, PICKLED)
    assert again.copy.written == 0
    assert again.exit_code == 0
    assert rows_of(target)["store"] == before["store"]


@pytest.mark.parametrize("target", ["sqlite", "postgres", "redis"], indirect=True)
def test_every_target_holds_what_a_release_pickled(target):
    folder = next(one for one in FOLDERS if one.parent.name == SOME[-1])
    done = migrate(str(folder), target, PICKLED)
    assert done.verify.clean
    items = read_plainly(target)
    kinds = {}
    for namespace, values in items.items():
        kinds[namespace[-1]] = kinds.get(namespace[-1], 0) + len(values)
    trimmed = {"token_buffer": 5, "summary_buffer": 3}
    messages = sum(
        trimmed.get(file.name, len(file.held().messages))
        for file in FILES
        if file.path.parent == folder and file.form == ".pkl"
    )
    assert kinds == {"messages": messages, "entities": 4, "summary": 2, "triples": 2}
    others = [path for path in folder.iterdir() if path.suffix != ".pkl"]
    assert done.copy.skipped == {
        "constant": 2, "no-summary": 2, "repeated-part": 6,
        "not-a-history": len(others),
    }  # fmt: skip
    held = StoreChatMessageHistory(store=target, scope=("message_store", "buffer_rich"))
    assert len(held.messages) == 23
    assert "tool" in {message.type for message in held.messages}


def test_a_dump_that_was_trimmed_since_goes_on_where_it_was(sqlite_target, tmp_path):
    path = tmp_path / "talk.pkl"
    said = [f"line {at}" for at in range(12)]
    path.write_bytes(dumps(buffer(*said[:8], max_token_limit=9)))
    migrate(str(path), sqlite_target)
    path.write_bytes(dumps(buffer(*said[4:], max_token_limit=9)))
    done = migrate(str(path), sqlite_target)
    assert done.exit_code == 0
    held = StoreChatMessageHistory(store=sqlite_target, scope=("message_store", "talk"))
    assert texts(held.messages) == said


def test_a_summary_over_a_history_that_was_moved_alone(sqlite_target, tmp_path):
    """Without the messages it covers, a summary goes on with all that comes."""
    path = tmp_path / "talk.pkl"
    memory = old(
        "x.ConversationSummaryMemory", chat_memory=history("a", "b"), buffer="Before.",
        prompt=None,
    )  # fmt: skip
    path.write_bytes(dumps(memory))
    only = ReadOptions(kinds=frozenset({"summary"}))
    done = migrate(str(path), sqlite_target, Options(read=only))
    assert done.exit_code == 0
    model = WordModel(answers=["After."])
    scope = ("message_store", "talk")
    summary = ConversationSummaryMemory(llm=model, store=sqlite_target, scope=scope)
    assert summary.buffer == "Before."
    summary.save_context({"input": "first line"}, {"output": "first answer"})
    assert summary.buffer == "After."
    assert "first line" in model.prompts[0]


def test_one_root_for_all_is_where_memories_of_today_look(sqlite_target, tmp_path):
    store = old("x.InMemoryEntityStore", store={"Sam": "likes tea"})
    path = tmp_path / "ann.pkl"
    path.write_bytes(
        dumps(old("x.E", chat_memory=history("hi", "yo"), entity_store=store))
    )
    options = Options(read=ReadOptions(roots=("memory_store",)))
    assert migrate(str(path), sqlite_target, options).exit_code == 0
    memory = ConversationEntityMemory(
        llm=WordModel(answers=["Sam"]), store=sqlite_target, session_id="ann"
    )
    assert texts(memory.chat_memory.messages) == ["hi", "yo"]
    assert memory.load_memory_variables({"input": "What about Sam?"})["entities"] == {
        "Sam": "likes tea"
    }


def test_the_command_says_what_a_form_had_lost(
    command, folder, tmp_path, sqlite_target
):
    release = next(one for one in FOLDERS if one.parent.name == SOME[-1])
    done = command("migrate", release / "entity.json", sqlite_target, "--yes")
    assert done.exit_code == 0
    assert "the entities were never in the file" in done.output
    refused = command(
        "migrate", release / "buffer.lcdumps.json", sqlite_target, "--yes"
    )
    assert refused.exit_code == 1
    assert "not-serialized" in refused.output
    typeless = next(one for one in FOLDERS if one.parent.name == "langchain-0.0.200")
    told = command("migrate", typeless / "buffer.json", sqlite_target, "--yes")
    assert told.exit_code == 1
    assert "--roles alternate" in told.output
    arguments = ("migrate", typeless / "buffer.json", sqlite_target, "--yes")
    assert command(*arguments, "--roles", "alternate").exit_code == 0
    assert "Hello Sam" not in ledger_text(sqlite_target) + told.output
