"""Serialized memories in the forms that programs give them, and their sessions."""

from __future__ import annotations

import json
import os
from collections import Counter

import pytest
from pickling import buffer, dumps, history, message, old

from holdover.compat.transcript import Cursor
from holdover.migrate.errors import SourceUnavailable, UsageError
from holdover.migrate.sources.base import ALL_KINDS

FLAT = [
    {"type": "human", "content": "hi", "additional_kwargs": {}, "example": False},
    {"type": "ai", "content": "yo", "additional_kwargs": {}, "example": False},
]
SUMMARY = "langchain.memory.summary.ConversationSummaryMemory"
SUMMARY_BUFFER = "langchain.memory.summary_buffer.ConversationSummaryBufferMemory"
ENTITY = "langchain.memory.entity.ConversationEntityMemory"
COMBINED = "langchain.memory.combined.CombinedMemory"


def in_order(items):
    return sorted(items, key=lambda item: item.locator)


class Read:
    """What a source gave: items, rejects, what was skipped, its inventory."""

    def __init__(self, opened):
        self.items, self.rejects, self.skipped = [], [], Counter()
        for partition in opened.partitions():
            for batch in opened.read(partition):
                self.items += batch.items
                self.rejects += batch.rejects
                self.skipped.update(batch.skipped)
        self.inventory = opened.inventory()

    @property
    def reasons(self):
        return Counter(reject.reason for reject in self.rejects)

    def said(self, session=None):
        """The messages, by session where none is named."""
        found = {}
        for item in self.items:
            if item.kind == "message":
                said = (item.content["type"], item.content["data"]["content"])
                found.setdefault(item.session, []).append(said)
        return found if session is None else found.get(session)

    def of(self, kind):
        return [item for item in self.items if item.kind == kind]


@pytest.fixture
def read(source, tmp_path):
    """`read(value)` writes JSON; `read(bytes)` a pickle; reads the one file."""

    def look(held, name=None, **options):
        raw = held if isinstance(held, bytes) else json.dumps(held).encode()
        name = name or ("old.pkl" if isinstance(held, bytes) else "old.json")
        path = tmp_path / name
        path.write_bytes(raw)
        options.setdefault("kinds", ALL_KINDS)
        return Read(source(path, **options))

    return look


TURN = [("human", "hi"), ("ai", "yo")]


@pytest.mark.parametrize(
    "held",
    [
        {"messages": FLAT},
        {"chat_memory": {"messages": FLAT}, "memory_key": "history"},
        {"memory": {"chat_memory": {"messages": FLAT}}},
        {"memory": {"memory": {"chat_memory": {"messages": FLAT}}}},
        {"memories": [{"chat_memory": {"messages": FLAT}}]},
        FLAT,
        [{"chat_memory": {"messages": FLAT}}],
        {"messages": [{"type": one["type"], "data": one} for one in FLAT]},
        [
            {"lc": 1, "type": "constructor", "id": ["langchain", "schema", kind],
             "kwargs": {"content": text}}
            for kind, text in (("HumanMessage", "hi"), ("AIMessage", "yo"))
        ],
        {"messages": [
            {"role": "user", "content": "hi"}, {"role": "assistant", "content": "yo"},
        ]},
        {"buffer": "\nHuman: hi\nAI: yo", "human_prefix": "Human", "memory_key": "h"},
        {"buffer": ["Human: hi\nAI: yo"], "memory_key": "h"},
        {"buffer": "\nMe: hi\nIt: yo", "human_prefix": "Me", "ai_prefix": "It"},
        dumps(buffer("hi", "yo")),
        dumps(history("hi", "yo")),
        dumps(history("hi", "yo").fields["messages"]),
        dumps(tuple(history("hi", "yo").fields["messages"]), 0),
        dumps(old("langchain.chains.ConversationChain", memory=buffer("hi", "yo"))),
        dumps(old("app.Bot", chain=old("app.Chain", memory=buffer("hi", "yo")))),
        dumps(old("app.Bot", parts=[1, {"memory": buffer("hi", "yo")}])),
        dumps(old("langchain.memory.ReadOnlySharedMemory", memory=buffer("hi", "yo"))),
        dumps({"memory": buffer("hi", "yo"), "made": "2023"}),
    ],
)  # fmt: skip
def test_one_conversation_is_the_session_of_its_file(held, read):
    found = read(held)
    assert found.said() == {"old": TURN}
    assert not found.rejects
    assert not found.skipped
    assert {item.root for item in found.items} == {"message_store"}
    assert [item.position for item in found.items] == [0, 1]


@pytest.mark.parametrize(
    "held",
    [
        {"ann": FLAT, "bob": {"messages": FLAT}},
        {"ann": {"chat_memory": {"messages": FLAT}}, "bob": FLAT},
        dumps({"ann": buffer("hi", "yo"), "bob": history("hi", "yo")}),
        dumps({"ann": history("hi", "yo").fields["messages"],
               "bob": buffer("hi", "yo")}),
        dumps(old("app.Store", state={}, store={"ann": buffer("hi", "yo"),
                                                "bob": buffer("hi", "yo")})),
    ],
)  # fmt: skip
def test_a_mapping_of_sessions_is_that(held, read):
    found = read(held)
    assert found.said() == {"ann": TURN, "bob": TURN}
    assert read(held, sessions=frozenset({"bob"}), only_named=True).said() == {
        "bob": TURN
    }
    sampled = [read(held, sample=share).said() for share in (0.0, 0.2, 0.5, 0.8)]
    assert sampled[0] == {}
    assert all(said.items() <= found.said().items() for said in sampled)


def test_keys_of_several_parts_name_a_session_too(read):
    held = {
        ("ann", "1"): buffer("hi", "yo"),
        ("ann", 2): buffer("hi", "yo"),
        7: buffer("a"),
    }
    assert read(dumps(held)).said() == {
        "ann:1": TURN, "ann:2": TURN, "7": [("human", "a")],
    }  # fmt: skip
    nested = {"ann": {"1": FLAT, "2": FLAT}}
    assert read(nested).said().keys() == {"ann:1", "ann:2"}


def test_positions_and_locators_name_the_place(read):
    held = {"ann": {"memories": [{"chat_memory": {"messages": FLAT}}]}}
    assert [item.locator for item in read(held).items] == [
        "file:old.json/ann.memories.0#0", "file:old.json/ann.memories.0#1",
    ]  # fmt: skip
    assert [item.locator for item in read(FLAT).items] == [
        "file:old.json#0", "file:old.json#1",
    ]  # fmt: skip


def test_one_object_in_two_sessions_is_told(read):
    shared = buffer("hi", "yo")
    found = read(dumps({"ann": shared, "bob": shared, "cid": [shared]}))
    assert found.said() == {"ann": TURN}
    assert found.reasons == {"same-object": 2}
    one = history("hi", "yo")
    over_one = {name: old("x.M", chat_memory=one) for name in ("ann", "bob")}
    found = read(dumps(over_one))
    assert found.said() == {"ann": TURN}
    assert found.reasons == {"same-object": 1}


def test_parts_over_one_history_are_one_conversation(read):
    one = history("hi", "yo")
    parts = [
        old("langchain.memory.ConversationBufferMemory", chat_memory=one),
        old(SUMMARY, chat_memory=one, buffer="They greet.", prompt=None),
    ]
    found = read(dumps(old(COMBINED, memories=parts)))
    assert found.said() == {"old": TURN}
    assert [item.content["text"] for item in found.of("summary")] == ["They greet."]
    assert not found.rejects
    assert not found.skipped


def test_a_part_that_was_trimmed_is_in_the_whole_one(read):
    short = buffer("three", "four", memory_key="short")
    whole = buffer("one", "two", "three", "four", memory_key="whole")
    other = buffer("x", "y", memory_key="other")
    third = buffer("z", memory_key="other")
    for number, parts in enumerate(([short, whole], [whole, short])):
        found = read(dumps(old(COMBINED, memories=parts)), f"{number}.pkl")
        assert [text for _, text in found.said(str(number))] == [
            "one", "two", "three", "four",
        ]  # fmt: skip
        assert found.skipped == {"repeated-part": 2}
    found = read(dumps(old(COMBINED, memories=[whole, other, third])))
    assert found.said().keys() == {"old", "old:other", "old:other:2"}
    assert not found.skipped


def test_a_summary_covers_what_its_class_had_summarised(read):
    one = old(SUMMARY, chat_memory=history("a", "b", "c"), buffer="S", prompt=None)
    (item,) = read(dumps(one)).of("summary")
    assert item.content["memory"] == "ConversationSummaryMemory"
    cursor = Cursor.of(item.content)
    assert cursor.count == 3
    assert cursor.hash
    assert not cursor.key
    other = old(
        SUMMARY_BUFFER, chat_memory=history("c"), moving_summary_buffer="S",
        max_token_limit=5,
    )  # fmt: skip
    (item,) = read(dumps(other)).of("summary")
    assert item.content == {
        "text": "S", "count": 0, "memory": "ConversationSummaryBufferMemory",
    }  # fmt: skip
    for empty in ("", " \n"):
        one = old(SUMMARY, chat_memory=history(), buffer=empty, prompt=None)
        assert read(dumps(one)).items == []


def test_entities_of_any_kind_of_store(read):
    held = {"Sam": "likes tea", "Nil": None, "": "no name", "Blank": "", 7: 5, "L": []}
    store = old("langchain.memory.entity.InMemoryEntityStore", store=held)
    found = read(dumps(old(ENTITY, chat_memory=history(), entity_store=store)))
    assert {item.key: item.content for item in found.of("entity")} == {
        "Sam": {"name": "Sam", "summary": "likes tea"},
        "": {"name": "", "summary": "no name"},
        "7": {"name": "7", "summary": "5"},
    }
    assert {item.root for item in found.items} == {"memory_store"}
    assert found.skipped == {"no-summary": 2}
    assert found.reasons == {"not-text": 1}
    alone = read(dumps(store))
    assert len(alone.items) == 3
    written = read({"entity_store": {"store": {"Sam": "tea"}}, "chat_memory": None})
    assert [item.key for item in written.items] == ["Sam"]
    first = read({"store": {"Sam": "tea"}, "entity_cache": [], "buffer": []})
    assert [item.key for item in first.items] == ["Sam"]


def documents():
    """A FAISS store as it is in a pickle, and one of `langchain_core`."""
    held = {
        name: old(
            "langchain_core.documents.base.Document", page_content=text, metadata=m
        )
        for name, text, m in (
            ("b", "input: hi\noutput: yo", {}),
            ("a", "input: and?\noutput: no", {"at": 5}),
            ("c", "INPUT: hi\noutput:  yo", {}),
            ("d", "", {}),
        )
    }
    store = old("x.InMemoryDocstore", _dict=held)
    faiss = old(
        "x.FAISS", docstore=store, index_to_docstore_id={0: "a", 1: "b", 2: "c"}
    )
    core = {
        name: {"id": name, "text": one.fields["page_content"], "vector": [0.5, 1.0],
               "metadata": one.fields["metadata"]}
        for name, one in held.items()
    }  # fmt: skip
    return faiss, old(
        "langchain_core.vectorstores.in_memory.InMemoryVectorStore", store=core
    )


@pytest.mark.parametrize("number", [0, 1])
def test_a_vector_store_in_a_pickle_is_turns(number, read):
    store = documents()[number]
    retriever = old("x.VectorStoreRetriever", vectorstore=store)
    memory = old("x.VectorStoreRetrieverMemory", retriever=retriever, memory_key="h")
    found = read(dumps(memory))
    turns = {item.content["text"]: item for item in found.of("turn")}
    texts = ["input: and?\noutput: no", "input: hi\noutput: yo"]
    assert list(turns) == (texts if number == 0 else texts[::-1])
    assert turns[texts[0]].content["metadata"] == {"at": 5}
    assert "metadata" not in turns[texts[1]].content
    vectors = [item.vector for item in found.items]
    assert [list(one or ()) for one in vectors] == [[], [0.5, 1.0]][number:][:1] * 2
    assert found.skipped == {"duplicate": 1}
    assert found.reasons == {"not-text": 1}
    buffered = old(
        "x.ConversationVectorStoreTokenBufferMemory", chat_memory=history("a"),
        retriever=retriever, max_token_limit=9,
    )  # fmt: skip
    both = read(dumps(buffered))
    assert len(both.of("turn")) == 2
    assert both.said() == {"old": [("human", "a")]}


def test_other_stores_are_named_and_their_secrets_are_not(read):
    store = old(
        "langchain.memory.entity.RedisEntityStore", url="redis://me:secret@host/0"
    )
    memory = old(ENTITY, chat_memory=history("a"), entity_store=store)
    notes = read(dumps(memory)).inventory.notes
    assert any("entities in a RedisEntityStore" in note for note in notes)
    assert "secret" not in str(notes)
    sql = old(
        "langchain.memory.SQLChatMessageHistory", connection_string="pg://u:secret@h"
    )
    found = read(dumps(old("x.ConversationBufferMemory", chat_memory=sql)))
    assert found.items == found.rejects == []
    assert any("SQLChatMessageHistory" in note for note in found.inventory.notes)
    assert "secret" not in str(found.inventory)


def test_names_in_a_file_do_not_reach_the_terminal_as_they_are(read):
    files = old("x.FileChatMessageHistory", file_path="a\x1b[31m\nb" + "c" * 9_000)
    memory = old("x.ConversationBufferMemory", chat_memory=files, memory_key="h")
    (note,) = [n for n in read(dumps(memory)).inventory.notes if "the file" in n]
    assert "a?[31m?bccc" in note
    assert note.isprintable()
    assert len(note) < 500


def test_one_root_is_for_all_that_is_in_a_file(read):
    store = old("x.InMemoryEntityStore", store={"Sam": "tea"})
    held = dumps(old(ENTITY, chat_memory=history("a"), entity_store=store))
    assert {item.root for item in read(held, roots=("mine",)).items} == {"mine"}
    with pytest.raises(UsageError):
        read(held, roots=("mine", "yours"))


@pytest.mark.parametrize(
    ("kinds", "there"),
    [
        ({"messages"}, {"message"}),
        ({"entities"}, {"entity"}),
        ({"summary"}, {"summary"}),
        ({"messages", "summary"}, {"message", "summary"}),
        ({"turns"}, set()),
    ],
)
def test_only_the_kinds_that_are_asked_for(kinds, there, read):
    store = old("x.InMemoryEntityStore", store={"Sam": "tea", "Nil": None})
    held = old(
        ENTITY, chat_memory=history("a"), entity_store=store, moving_summary_buffer="S"
    )
    found = read(dumps(held), kinds=frozenset(kinds))
    assert {item.kind for item in found.items} == there
    assert found.skipped.keys() == ({"no-summary"} if "entity" in there else set())


def test_a_message_that_is_none_does_not_stop_the_others(read):
    held = {
        "messages": [
            FLAT[0], None, 5, "text", [], {"type": "human"}, FLAT[1],
            {"type": "human", "content": None, "additional_kwargs": {}}, *FLAT * 4,
        ]
    }  # fmt: skip
    found = read(held)
    assert found.reasons == {"not-a-message": 5}
    assert [item.position for item in found.items][:3] == [0, 6, 7]
    assert len(found.items) == 11
    unknown = read(
        dumps([*history("a", "b").fields["messages"], old("x.Y", content="")])
    )
    assert unknown.reasons == {"unknown-class": 1}


def test_roles_are_told_apart_as_far_as_anything_tells(read):
    def plain(text, **more):
        return {"content": text, "additional_kwargs": {}, **more}

    call = {"function_call": {"name": "f"}}
    held = {
        "messages": [
            plain("be kind"), plain("hi", example=False), plain("yo", example=False),
            {**plain("", example=False), "additional_kwargs": call},
            plain("5", name="f"), plain("five", example=False),
            plain("thanks", example=False), plain("note", role="critic"),
        ]
    }  # fmt: skip
    found = read(held, roles="alternate")
    assert [kind for kind, _ in found.said("old")] == [
        "system", "human", "ai", "ai", "function", "ai", "human", "chat",
    ]  # fmt: skip
    refused = read(held)
    assert refused.reasons == {"no-role": 4}
    assert [kind for kind, _ in refused.said("old")] == [
        "system", "ai", "function", "chat",
    ]  # fmt: skip
    # Before there was `example`, nothing tells a system message apart.
    first = read({"messages": [plain("hi"), plain("yo")]}, roles="alternate")
    assert first.said("old") == TURN


def test_files_that_hold_no_memory_say_so(read):
    for held in ({"a": 1}, {}, {"a": []}, dumps({"a": 1}), dumps(None), dumps([5])):
        found = read(held)
        assert found.items == []
        assert found.reasons == {"no-memory": 1}


def test_several_pickles_in_a_file_are_parts_of_it(read):
    held = dumps(buffer("hi", "yo")) + dumps(buffer("more", memory_key="more"))
    assert read(held).said() == {"old": TURN, "old:more": [("human", "more")]}
    broken = held + b"\x80\x04}"
    found = read(broken)
    assert found.said().keys() == {"old", "old:more"}
    assert found.reasons == {"damaged-pickle": 1}


def test_a_folder_is_read_with_all_that_lies_in_it(source, tmp_path, untouched):
    folder = tmp_path / "folder"
    (folder / "below").mkdir(parents=True)
    envelope = [{"type": one["type"], "data": one} for one in FLAT]
    (folder / "history.json").write_text(json.dumps(envelope))
    (folder / "memory.json").write_text(json.dumps({"messages": FLAT}))
    (folder / "pickled.pkl").write_bytes(dumps(buffer("hi", "yo")))
    (folder / "below" / "sessions.pickle").write_bytes(
        dumps({"ann": buffer("hi", "yo")})
    )
    (folder / "settings.json").write_text('{"colour": "red"}')
    (folder / "broken.pkl").write_bytes(b"\x80\x04]\x94(")
    (folder / "notes.txt").write_text("no history")
    with untouched(folder):
        opened = source(folder, kinds=ALL_KINDS)
        found = Read(opened)
        again = [
            i for p in opened.partitions() for page in opened.keys(p) for i in page
        ]
    assert found.said() == {
        "history": TURN, "memory": TURN, "pickled": TURN, "ann": TURN,
    }  # fmt: skip
    assert found.reasons == {"damaged-pickle": 1}
    assert found.skipped == {"not-a-history": 2}
    named = [skipped.name for skipped in found.inventory.skipped]
    assert named == ["notes.txt", "settings.json"]
    assert in_order(again) == in_order(found.items)
    # Only what holds nothing but messages may be said to be safe to delete.
    assert [session for session, _, _ in opened.files()] == ["history"]
    by_folder = source(
        folder, kinds=ALL_KINDS, session_pattern=r"below/(?P<session>\w+)\.pickle"
    )
    assert Read(by_folder).said() == {"ann": TURN}


def test_reading_goes_on_behind_any_file(source, tmp_path):
    for at in range(20):
        (tmp_path / f"{at:02}.pkl").write_bytes(dumps(buffer(f"q{at}", f"a{at}")))
    opened = source(tmp_path, kinds=ALL_KINDS)
    whole = in_order(Read(opened).items)
    assert len(whole) == 40
    for partition in opened.partitions():
        batches = list(opened.read(partition, size=1))
        for at, batch in enumerate(batches):
            if batch.cursor is None:
                continue
            before = [item for one in batches[: at + 1] for item in one.items]
            cursor = json.loads(json.dumps(batch.cursor))
            after = [i for one in opened.read(partition, cursor) for i in one.items]
            sessions = {item.session for item in after}
            kept = [item for item in before if item.session not in sessions]
            everything = [item for one in batches for item in one.items]
            assert in_order([*kept, *after]) == in_order(everything)


def test_two_files_of_one_session_are_not_mixed(source, tmp_path):
    (tmp_path / "a.json").write_text(json.dumps({"messages": FLAT}))
    (tmp_path / "a.pkl").write_bytes(dumps(buffer("other", "words")))
    found = Read(source(tmp_path, kinds=ALL_KINDS))
    assert found.said() == {"a": TURN}
    assert found.reasons == {"same-session": 1}
    assert [one.code for one in found.inventory.blockers] == ["same-session"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_rights_is_an_error(read, tmp_path):
    (tmp_path / "old.pkl").write_bytes(dumps(buffer("hi")))
    (tmp_path / "old.pkl").chmod(0)
    with pytest.raises(SourceUnavailable):
        read(b"")


def test_text_in_other_encodings_is_read(read, tmp_path, source):
    held = json.dumps({"messages": FLAT}, ensure_ascii=False).replace("hi", "héé")
    for name in ("utf-16", "utf-8-sig", "utf-32"):
        path = tmp_path / f"{name}.json"
        path.write_bytes(held.encode(name))
        found = Read(source(path, kinds=ALL_KINDS))
        assert found.said(name) == [("human", "héé"), ("ai", "yo")]
    path.write_bytes(held.encode("cp1252"))
    found = Read(source(path, kinds=ALL_KINDS, fields=(("encoding", "cp1252"),)))
    assert found.said("utf-32") == [("human", "héé"), ("ai", "yo")]


def test_what_nobody_can_store_is_kept_as_text(read):
    held = message("AIMessage", "x", tool_calls=[{"args": {"n": 2**80, "b": b"\xff"}}])
    held.fields["artifact"] = old("app.Thing", size=5)
    (item,) = read(dumps([held])).items
    data = item.content["data"]
    assert data["tool_calls"] == [{"args": {"n": str(2**80), "b": "/w=="}}]
    assert data["artifact"] == {"size": 5}


#: Beside memories in a folder: what is none, in part or in a place.
OTHERS = {
    "MANIFEST": {"files": {"a.json": {"messages": FLAT}}, "list": [{}], "n": 1},
    "tsconfig": {"compilerOptions": {}},
    "empty": {},
    "request": {"model": "m", "messages": [{"role": "user", "content": "hi"}]},
    "article": {"type": "page", "content": "..."},
    "typed": [{"type": "page", "content": "..."}],
    "numbers": [1, 2, 3],
    "rows": [{"id": 1}],
    "text": "hello",
    "nothing": None,
    "by-day": {"monday": {"chat_memory": {"messages": FLAT}}, "version": 1},
}


def test_other_json_in_a_folder_is_skipped_by_name(source, tmp_path):
    """Even where two of them have the name of one session, nothing is in the way."""
    for name, other in OTHERS.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(other))
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "empty.json").write_text("{}")
    (tmp_path / "comments.json").write_text('{ // for people\n"colour": "red"}')
    opened = source(tmp_path, kinds=ALL_KINDS)
    found, plan = Read(opened), opened.inventory()
    assert (found.said(), found.reasons) == ({}, {})
    assert plan.blockers == plan.never_stored == plan.groups == []
    assert found.skipped == {"not-a-history": plan.skipped_count}
    assert plan.skipped_count == len(OTHERS) + 2


def test_memories_in_a_folder_are_read_in_each_clear_form(source, tmp_path):
    forms = {
        "list": FLAT,
        "history": {"messages": FLAT},
        "memory": {"memory_key": "history", "chat_memory": {"messages": FLAT}},
        "chain": {"_type": "chain", "memory": {"chat_memory": {"messages": FLAT}}},
        "user": {"ann": {"chat-1": {"messages": FLAT}, "chat-2": []}},
    }
    for name, form in forms.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(form))
    (tmp_path / "cut.json").write_text('{"chat_memory": {"messages": [')
    found = Read(source(tmp_path, kinds=ALL_KINDS))
    assert set(found.said()) == {*forms, "ann:chat-1"} - {"user"}
    assert found.reasons == {"not-json": 1}
    assert not found.skipped


def test_what_was_never_stored_is_said_of_what_is_there(source, tmp_path):
    envelope = [{"type": one["type"], "data": one} for one in FLAT]
    (tmp_path / "history.json").write_text(json.dumps(envelope))
    (said,) = source(tmp_path, kinds=ALL_KINDS).inventory().never_stored
    assert said.startswith("A file history keeps")
    (tmp_path / "memory.json").write_text(json.dumps({"messages": FLAT}))
    assert len(source(tmp_path, kinds=ALL_KINDS).inventory().never_stored) == 2
