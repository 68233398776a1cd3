"""Every serialized memory that old releases wrote: what is in it, and what is not."""

from __future__ import annotations

from collections import Counter

import pytest
from sampling import EVERYTHING
from serialized import FILES, FOLDERS

from holdover.migrate.sources.base import ALL_KINDS

TURN_BY_TURN = {"buffer_rich", "chat_message_history"}
STATEMENTS = {
    "no-role": "do not say who spoke",
    "entities": "write an empty entity_store",
    "entities-of-class": "kept the entities of all sessions of a process",
    "message-fields": "write only the fields that all messages have",
    "pruned": "drops old turns for good",
    "summary-only": "kept their summary, and no message",
    "text": "kept what was said as one text",
}


@pytest.fixture
def read(source):
    """Everything one file holds, by kind; and its inventory."""

    def look(file, **options):
        opened = source(file.path, kinds=ALL_KINDS, **options)
        kinds, rejects, skipped = {}, Counter(), Counter()
        for partition in opened.partitions():
            for batch in opened.read(partition):
                for item in batch.items:
                    kinds.setdefault(item.kind, []).append(item)
                rejects.update(reject.reason for reject in batch.rejects)
                skipped.update(batch.skipped)
        return kinds, rejects, skipped, opened.inventory()

    return look


def test_there_is_what_the_folders_hold():
    assert len(FOLDERS) >= 6
    # 351 serialized memories, the messages of 4 releases, the graphs of 5.
    assert len(FILES) >= 390 or not EVERYTHING
    assert {file.form for file in FILES} == {
        ".pkl", ".json", ".dict.json", ".model_dump.json", ".lcdumps.json",
        ".lcdumpd.json", ".gml",
    }  # fmt: skip


@pytest.mark.parametrize("file", FILES, ids=str)
def test_what_is_in_a_file_is_what_its_manifest_says(file, read):
    held = file.held()
    roles = {"roles": "alternate"} if file.is_typeless else {}
    if file.is_typeless and file.name in TURN_BY_TURN:
        pytest.skip("no turns: see the test of what nothing tells apart")
    kinds, rejects, skipped, _ = read(file, **roles)

    assert rejects == held.rejects
    assert skipped == held.skipped
    messages = kinds.get("message", [])
    known = held.messages[-len(messages) :] if held.tail else held.messages
    assert len(messages) == len(known)
    assert bool(messages) or not held.tail
    for item, (kind, fields) in zip(messages, known, strict=True):
        assert item.content["type"] == kind
        data = item.content["data"]
        assert {name: data.get(name) for name in fields} == fields
    assert [item.position for item in messages] == list(range(len(messages)))
    assert {i.key: i.content["summary"] for i in kinds.get("entity", [])} == (
        held.entities
    )
    triples = [
        [item.content[part] for part in ("subject", "predicate", "object")]
        for item in kinds.get("triple", [])
    ]
    assert triples == held.triples
    summaries = [item.content["text"] for item in kinds.get("summary", [])]
    if held.summary is not None:
        assert summaries == [held.summary]
    elif file.name == "summary_buffer" and not file.form.startswith(".lc"):
        assert len(summaries) == 1  # of the turns that are not there any more
        assert summaries[0]
    else:
        assert summaries == []
    assert kinds.keys() <= {"message", "entity", "triple", "summary"}


@pytest.mark.parametrize("file", [file for file in FILES if file.is_typeless], ids=str)
def test_who_spoke_is_not_guessed(file, read):
    kinds, rejects, _, inventory = read(file)
    said = {tuple(one) for one in (("system",), ("chat",), ("function",), ("ai",))}
    told = kinds.get("message", [])

    assert rejects.keys() == {"no-role"}
    # What is read all the same says who spoke by what else it has.
    assert {(item.content["type"],) for item in told} <= said
    for item in told:
        data = item.content["data"]
        call = "function_call" in data.get("additional_kwargs", {})
        assert call == (item.content["type"] == "ai")
    lost = file.name == "token_buffer"  # one of the first turn
    assert (
        len(told) + rejects["no-role"]
        == len(file.held().messages) * (2 if file.name == "combined" else 1) - lost
    )
    assert any("--roles alternate" in note for note in inventory.notes)


@pytest.mark.parametrize(
    "file",
    [file for file in FILES if file.is_typeless and file.name in TURN_BY_TURN],
    ids=str,
)
def test_all_that_something_tells_apart_is_what_it_was(file, read):
    kinds, rejects, _, _ = read(file)
    known = file.held().messages
    assert len(kinds["message"]) + rejects["no-role"] == len(known)
    for item in kinds["message"]:
        kind, fields = known[item.position]
        assert item.content["type"] == kind
        assert item.content["data"]["content"] == fields["content"]
    again, rejects, _, _ = read(file, roles="alternate")
    assert not rejects
    assert len(again["message"]) == len(known)


def losses_of(file):
    """What the form of a file had lost, by its kind and release."""
    pickled = file.form == ".pkl"
    if file.form.startswith((".lc", ".gml")):
        return set()
    found = set()
    if file.is_typeless:
        found.add("no-role")
    if file.loses_fields and file.name not in (
        "combined", "readonly", "simple", "string_buffer",
    ):  # fmt: skip
        found.add("message-fields")
        if file.name.startswith("entity"):
            found.add("entities")
    if pickled and file.name.startswith("entity") and file.version == (0, 0, 150):
        found.add("entities-of-class")
    if file.name in ("token_buffer", "summary_buffer"):
        found.add("pruned")
    if file.version == (0, 0, 100) and file.name == "summary":
        found.add("summary-only")
    elif file.version == (0, 0, 100) or file.name == "string_buffer":
        found.add("text")
    return found


@pytest.mark.parametrize("file", FILES, ids=str)
def test_what_a_form_had_lost_is_said(file, read):
    _, rejects, _, inventory = read(file)
    told = {
        code
        for code, words in STATEMENTS.items()
        if any(words in note for note in inventory.notes)
    }
    assert told == losses_of(file)
    assert inventory.rejects == dict(rejects)


@pytest.mark.parametrize(
    "file", [file for file in FILES if file.name == "buffer_file_history"], ids=str
)
def test_a_history_elsewhere_is_named(file, read):
    _, _, _, inventory = read(file)
    if file.form == ".pkl":
        assert any("side_history.json" in note for note in inventory.notes)
    else:
        assert inventory.rejects == {"not-serialized": 1}
