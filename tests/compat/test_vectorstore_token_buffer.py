"""Old turns move to a vector store, each once, with the time they were said."""

import asyncio
import copy
import itertools
import json
import re
import threading
import time
from datetime import UTC, datetime, timedelta

import backends
import fake_models
import pytest
from langchain_core.messages import (
    AIMessage,
    FunctionMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langgraph.store.memory import InMemoryStore
from pydantic import ValidationError
from vector_stores import Empty, Vectors

from holdover.compat import configured, vectorstore_token_buffer_memory
from holdover.compat.base import BaseChatMessageHistory
from holdover.compat.both_ways import arun, run
from holdover.compat.chat_message_histories.file import FileChatMessageHistory
from holdover.compat.chat_message_histories.in_memory import ChatMessageHistory
from holdover.compat.chat_message_histories.store import StoreChatMessageHistory
from holdover.compat.errors import IndexRequired
from holdover.compat.place import Place
from holdover.compat.testing.embedding import DIMENSIONS, embed
from holdover.compat.transcript import Cursor
from holdover.compat.vectors import splitting as text_splitting
from holdover.compat.vectors.flushed import Flushed
from holdover.compat.vectors.splitting import split_text
from holdover.compat.vectorstore_token_buffer_memory import (
    ConversationVectorStoreTokenBufferMemory,
)

INDEX = {"dims": DIMENSIONS, "embed": embed, "fields": ["content.text"]}
CALL = [{"name": "look", "args": {}, "id": "1"}]
STAMP = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d [\w+-]+")


class Copies(BaseChatMessageHistory):
    """Gives a new list each time, as a file or a table does."""

    def __init__(self, held=None):
        self.held = [] if held is None else held

    @property
    def messages(self):
        return list(self.held)

    def add_messages(self, messages):
        self.held.extend(messages)

    def clear(self):
        self.held.clear()


class OnlyAsync(Copies):
    """Can only be awaited."""

    @property
    def messages(self):
        raise RuntimeError("await it")

    async def aget_messages(self):
        return list(self.held)

    def add_messages(self, messages):
        raise RuntimeError("await it")

    async def aadd_messages(self, messages):
        self.held.extend(messages)


def stored(store=None):
    return StoreChatMessageHistory("s", store or InMemoryStore())


HISTORIES = {"list": ChatMessageHistory, "copies": Copies, "store": stored}


@pytest.fixture(params=HISTORIES)
def history(request):
    return HISTORIES[request.param]()


@pytest.fixture
def vectors():
    return Vectors()


@pytest.fixture
def make(way, loop, vectors):
    """A memory that keeps four words, called by each twin."""

    def make(**fields):
        given = {
            "llm": fake_models.WordModel(),
            "max_token_limit": 4,
            "retriever": vectors.as_retriever(),
            **fields,
        }
        memory = ConversationVectorStoreTokenBufferMemory(**given)
        return backends.Driven(memory, way, loop)

    return make


def talk(memory, *numbers):
    for n in numbers:
        memory.save_context({"input": f"question {n}"}, {"output": f"answer {n}"})


def moved(vectors):
    """The embedded texts, without their time."""
    return [STAMP.sub("T", text) for text in vectors.texts]


def turn(n):
    return f"Human: <T/00> question {n}\nAI: <T/00> answer {n}"


def loaded(memory, query="question"):
    return memory.load_memory_variables({"input": query})["history"]


def kept(memory):
    """The newest messages, after what was found from before."""
    return [message.content for message in loaded(memory)[1:]]


# --- as the classic class ---------------------------------------------------------


def test_what_does_not_fit_moves(make, vectors, history):
    memory = make(chat_memory=history, return_messages=True)
    talk(memory, 1, 2, 3)
    assert moved(vectors) == [turn(1), turn(2)]
    assert kept(memory) == ["question 3", "answer 3"]


def test_what_moved_stays_in_the_history(make, history):
    memory = make(chat_memory=history)
    talk(memory, 1, 2, 3)
    assert len(history.messages) == 6


def test_what_is_near_from_before_comes_first(make):
    memory = make(return_messages=True)
    talk(memory, 1, 2, 3)
    first, *newest = loaded(memory)
    assert isinstance(first, SystemMessage)
    assert "question 1" in first.content
    assert "question 3" not in first.content
    assert newest == [HumanMessage("question 3"), AIMessage("answer 3")]


def test_as_text_it_is_one_text(make):
    memory = make()
    talk(memory, 1, 2)
    text = loaded(memory)
    assert text.endswith("\nHuman: question 2\nAI: answer 2")
    assert "<" in text.split("Human: question 2")[0]


def test_text_of_a_template_that_ends_within_a_line(make):
    memory = make(previous_history_template="{previous_history} at {current_time}.")
    talk(memory, 2)
    assert STAMP.sub("T", loaded(memory)) == " at T.\nHuman: question 2\nAI: answer 2"


def test_the_time_is_told_as_classic_told_it(make, vectors):
    talk(make(), 1, 2)
    (text,) = vectors.texts
    now = datetime.now(UTC).astimezone()
    days = [f"{day:%Y-%m-%d}" for day in (now, now - timedelta(days=1))]
    human, ai = text.split("\n")
    assert re.match(
        rf"Human: <({'|'.join(days)}) \d\d:\d\d:\d\d \S+/00> question 1", human
    )
    assert re.match(rf"AI: <({'|'.join(days)}) \d\d:\d\d:\d\d \S+/00> answer 1", ai)


def test_everything_fits(make, vectors):
    memory = make(max_token_limit=100, return_messages=True)
    talk(memory, 1, 2)
    assert vectors.texts == []
    assert len(kept(memory)) == 4


def test_nothing_fits(make, vectors):
    memory = make(max_token_limit=0, return_messages=True)
    talk(memory, 1)
    assert moved(vectors) == [turn(1)]
    assert kept(memory) == []


def test_an_empty_vector_store_may_fail(make):
    memory = make(retriever=Empty().as_retriever(), return_messages=True)
    talk(memory, 1)
    assert kept(memory) == ["question 1", "answer 1"]


def test_a_retriever_is_needed():
    with pytest.raises(ValidationError) as raised:
        ConversationVectorStoreTokenBufferMemory(llm=fake_models.WordModel())
    (error,) = raised.value.errors()
    assert (error["loc"], error["type"]) == (("retriever",), "missing")


def test_classics_template_is_the_default():
    text = vectorstore_token_buffer_memory.DEFAULT_HISTORY_TEMPLATE
    assert "{current_time}" in text
    assert "{previous_history}" in text
    memory = ConversationVectorStoreTokenBufferMemory(
        llm=fake_models.WordModel(), retriever=Vectors().as_retriever()
    )
    assert memory.previous_history_template == text


def test_our_template_has_both_variables(monkeypatch):
    def absent(name):
        raise ImportError(name)

    module = vectorstore_token_buffer_memory
    monkeypatch.delattr(module, "DEFAULT_HISTORY_TEMPLATE", raising=False)
    monkeypatch.setattr(module, "classic_module", absent)
    text = module.DEFAULT_HISTORY_TEMPLATE
    monkeypatch.delattr(module, "DEFAULT_HISTORY_TEMPLATE")
    assert text.format(current_time="T", previous_history="P").count("T") >= 1


def test_an_async_only_history(vectors, loop):
    memory = ConversationVectorStoreTokenBufferMemory(
        llm=fake_models.WordModel(),
        max_token_limit=4,
        retriever=vectors.as_retriever(),
        chat_memory=OnlyAsync(),
        return_messages=True,
    )
    driven = backends.Driven(memory, "async", loop)
    talk(driven, 1, 2)
    driven.save_remainder()
    assert moved(vectors) == [turn(1), turn(2)]


def test_another_counter_may_be_given(make, vectors):
    memory = make(token_counter=len, max_token_limit=2)
    talk(memory, 1, 2)
    assert moved(vectors) == [turn(1)]


def test_an_unknown_input_is_classics_error(make):
    with pytest.raises(ValueError, match="One input key expected"):
        make().load_memory_variables({"foo": "a", "bar": "b"})


def test_anything_may_be_asked(make):
    memory = make(return_messages=True)
    talk(memory, 1, 2)
    assert "question 1" in loaded(memory, [HumanMessage("question")])[0].content


# --- the remainder ----------------------------------------------------------------


def test_the_remainder_is_saved(make, vectors, history):
    memory = make(chat_memory=history, max_token_limit=100, return_messages=True)
    talk(memory, 1, 2)
    memory.save_remainder()
    assert moved(vectors) == [turn(1), turn(2)]
    assert kept(memory) == []


def test_the_remainder_is_saved_once(make, vectors, history):
    memory = make(chat_memory=history)
    talk(memory, 1, 2)
    memory.save_remainder()
    memory.save_remainder()
    talk(memory, 3, 4)
    memory.save_remainder()
    assert moved(vectors) == [turn(n) for n in (1, 2, 3, 4)]


def test_an_unanswered_message_is_part_of_the_remainder(make, vectors, history):
    memory = make(chat_memory=history, max_token_limit=100)
    talk(memory, 1)
    history.add_messages([HumanMessage("are you there")])
    memory.save_remainder()
    assert moved(vectors) == [turn(1), "Human: <T/00> are you there"]


# --- each once --------------------------------------------------------------------


def test_after_a_restart_nothing_moves_twice(make):
    store = InMemoryStore()
    for n in range(1, 6):
        vectors = Vectors()
        talk(make(chat_memory=stored(store), retriever=vectors.as_retriever()), n)
        assert moved(vectors) == ([turn(n - 1)] if n > 1 else [])


def test_after_a_restart_over_a_history_without_a_cursor(make):
    held = []
    for n in range(1, 6):
        vectors = Vectors()
        talk(make(chat_memory=Copies(held), retriever=vectors.as_retriever()), n)
        assert moved(vectors) == ([turn(n - 1)] if n > 1 else [])


def test_with_a_store_the_cursor_survives_over_any_history(make, vectors):
    store, held = InMemoryStore(), []
    for n in range(1, 4):
        memory = make(chat_memory=Copies(held), store=store, session_id="s")
        talk(memory, n)
        memory.save_remainder()
    assert moved(vectors) == [turn(1), turn(2), turn(3)]


def test_a_long_old_history_moves_a_part_at_a_time(make, vectors, monkeypatch):
    monkeypatch.setattr(vectorstore_token_buffer_memory, "_STEP", 3)
    history = stored()
    for n in range(8):
        history.add_messages([HumanMessage(f"question {n}"), AIMessage(f"answer {n}")])
    memory = make(chat_memory=history, return_messages=True)
    talk(memory, 8)
    assert moved(vectors) == [turn(n) for n in range(3)]
    assert kept(memory) == ["question 8", "answer 8"]
    talk(memory, 9)
    talk(memory, 10)
    talk(memory, 11)
    assert moved(vectors) == [turn(n) for n in range(11)]


def test_the_time_survives_a_restart(make, vectors):
    store = InMemoryStore()
    talk(make(chat_memory=stored(store)), 1)
    time.sleep(1.1)
    (key, _), _ = stored(store).page()
    said = datetime.fromtimestamp(int(key.replace("-", "")[:12], 16) / 1000, UTC)
    talk(make(chat_memory=stored(store)), 2)
    (text,) = vectors.texts
    assert f"<{said.astimezone():%Y-%m-%d %H:%M:%S %Z}/00> question 1" in text


def test_without_keys_the_time_is_that_of_the_save(make, vectors):
    memory = make(chat_memory=Copies())
    talk(memory, 1)
    said = datetime.now(UTC).astimezone()
    time.sleep(1.1)
    talk(memory, 2)
    (text,) = vectors.texts
    stamp = datetime.strptime(STAMP.search(text)[0][:19], "%Y-%m-%d %H:%M:%S")
    assert abs(stamp - said.replace(tzinfo=None)) <= timedelta(seconds=1)


def test_a_failed_addition_is_made_up_for(make):
    class Down(Vectors):
        down = True

        def add_texts(self, texts, metadatas=None, *, ids=None, **kwargs):
            if self.down:
                raise ConnectionError("down")
            return super().add_texts(texts, metadatas, ids=ids)

    vectors = Down()
    memory = make(retriever=vectors.as_retriever())
    talk(memory, 1)
    with pytest.raises(ConnectionError):
        talk(memory, 2)
    assert len(memory.chat_memory.messages) == 4
    vectors.down = False
    talk(memory, 3)
    assert moved(vectors) == [turn(1), turn(2)]


def test_overlapping_turns_move_once(vectors):
    memory = ConversationVectorStoreTokenBufferMemory(
        llm=fake_models.WordModel(),
        max_token_limit=4,
        retriever=vectors.as_retriever(),
        chat_memory=stored(),
    )

    async def all_at_once():
        await asyncio.gather(
            *(
                memory.asave_context(
                    {"input": f"question {n}"}, {"output": f"answer {n}"}
                )
                for n in range(20)
            )
        )

    asyncio.run(all_at_once())
    assert len(vectors.texts) == len(set(moved(vectors))) == 19


def test_a_history_that_was_trimmed(make, vectors):
    held = []
    memory = make(chat_memory=Copies(held))
    talk(memory, 1, 2, 3)
    del held[:2]
    talk(memory, 4)
    assert moved(vectors) == [turn(1), turn(2), turn(3)]


def test_clear_begins_anew(make, vectors, history):
    memory = make(chat_memory=history, return_messages=True)
    talk(memory, 1, 2)
    memory.clear()
    assert kept(memory) == []
    assert history.messages == []
    talk(memory, 3)
    assert kept(memory) == ["question 3", "answer 3"]
    talk(memory, 4)
    # Only a history of a store knows its session.
    before = [] if isinstance(history, StoreChatMessageHistory) else [turn(1)]
    assert moved(vectors) == [*before, turn(3)]


def test_clear_leaves_no_cursor(make):
    history = stored()
    memory = make(chat_memory=history)
    talk(memory, 1, 2)
    assert history.repository.get("summary", "vector-memory").content["count"] == 2
    memory.clear()
    assert history.repository.get("summary", "vector-memory") is None


def test_a_cursor_never_goes_back(loop, way):
    place = Place(InMemoryStore(), session="s")
    drive = run if way == "sync" else lambda steps: loop.run(arun(steps))
    drive(Flushed().write(place, Cursor(4, "h", "k")))
    drive(Flushed().write(place, Cursor(2, "g", "j")))
    assert drive(Flushed().read(place)) == Cursor(4, "h", "k")


def test_earlier_exchanges_are_cleared_by_their_memory(make, vectors):
    memory = make(session_id="a")
    talk(memory, 1, 2)
    memory.memory_retriever.clear()
    assert vectors.texts == []


# --- whose it is ------------------------------------------------------------------


class OfSession(ChatMessageHistory):
    """Of another library: it has a session, and no store of ours."""

    session_id: str


@pytest.fixture(params=["store", "file", "other"])
def sessions(request, tmp_path):
    """Makes the history of a session; where it has a store, anew each time."""
    store = InMemoryStore()
    return {
        "store": lambda session: StoreChatMessageHistory(session, store),
        "file": lambda session: FileChatMessageHistory(tmp_path / session / "a.json"),
        "other": lambda session: OfSession(session_id=session),
    }[request.param]


def test_the_session_of_the_history_keeps_exchanges_apart(make, sessions):
    for user in ("u1", "u2"):
        memory = make(chat_memory=sessions(user), return_messages=True)
        talk(memory, user, "x")
    excerpts = loaded(memory, "u1")[0].content
    assert "question u2" in excerpts
    assert "question u1" not in excerpts


def test_another_history_brings_its_own_exchanges(make, sessions):
    histories = [sessions(user) for user in ("u1", "u2")]
    memory = make(chat_memory=histories[0], return_messages=True)
    talk(memory, "u1", "x")
    memory._target.chat_memory = histories[1]
    assert "question u1" not in loaded(memory, "u1")[0].content
    talk(memory, "u2", "y")
    assert "question u2" in loaded(memory, "u2")[0].content
    memory._target.chat_memory = histories[0]
    first, *newest = loaded(memory, "u2")
    assert "question u1" in first.content
    assert "question u2" not in first.content
    assert [one.content for one in newest] == ["question x", "answer x"]


def test_another_history_of_a_store_with_an_index(make, store):
    memory = make(retriever=None, chat_memory=stored(store), return_messages=True)
    talk(memory, "red", "blue")
    memory._target.chat_memory = StoreChatMessageHistory("other", store)
    assert "question red" not in loaded(memory, "red")[0].content
    memory._target.chat_memory = stored(InMemoryStore(index=INDEX))
    assert "question red" not in loaded(memory, "red")[0].content


def test_what_was_set_of_the_memory_within_stays(make):
    memory = make(chat_memory=stored())
    memory.memory_retriever.k = 1
    assert memory.memory_retriever is memory.memory_retriever
    memory._target.chat_memory = StoreChatMessageHistory("other", InMemoryStore())
    assert memory.memory_retriever.k == 1


def test_the_scope_of_the_memory_counts_before_that_of_the_history(make, vectors):
    for user in ("u1", "u2"):
        history = StoreChatMessageHistory(user, InMemoryStore())
        memory = make(chat_memory=history, scope=("team",), return_messages=True)
        talk(memory, user, "x")
    assert "question u1" in loaded(memory, "u1")[0].content
    # Others' conversations are in it, too.
    memory.clear()
    assert len(moved(vectors)) == 2


def test_clear_removes_what_was_moved(make, vectors, sessions):
    vectors.add_texts(["of nobody"])
    talk(make(chat_memory=sessions("other")), 1, 2)
    talk(make(session_id="own"), 1, 2)
    history = sessions("u1")
    talk(make(chat_memory=history), 3, 4)
    # As after a restart.
    memory = make(chat_memory=history, return_messages=True)
    memory.clear()
    assert "question 3" not in loaded(memory, "question 3")[0].content
    assert moved(vectors) == ["of nobody", turn(1), turn(1)]


def test_clear_removes_what_was_moved_in_a_session(make, vectors):
    for session in ("a", "b"):
        memory = make(session_id=session)
        talk(memory, session, "x")
    memory.clear()
    assert moved(vectors) == [turn("a")]


def test_clear_of_no_session_leaves_what_was_moved(make, vectors):
    memory = make()
    talk(memory, 1, 2)
    memory.clear()
    assert moved(vectors) == [turn(1)]


def test_clear_removes_the_turns_of_its_store(make, store):
    for session in ("a", "b"):
        memory = make(retriever=None, store=store, session_id=session)
        talk(memory, session, "x")
        assert memory.memory_retriever.repository.count("turn") == 1
    memory.clear()
    assert memory.memory_retriever.repository.count("turn") == 0
    other = make(retriever=None, store=store, session_id="a", return_messages=True)
    assert "question a" in loaded(other, "a")[0].content


def test_a_clear_waits_for_what_is_moving(vectors):
    class Slow(Vectors):
        def add_texts(self, texts, metadatas=None, *, ids=None, **kwargs):
            started.set()
            time.sleep(0.2)
            return super().add_texts(texts, metadatas, ids=ids)

    started, slow = threading.Event(), Slow()
    memory = ConversationVectorStoreTokenBufferMemory(
        llm=fake_models.WordModel(),
        max_token_limit=4,
        retriever=slow.as_retriever(),
        chat_memory=stored(),
    )
    talk(memory, 1)
    saving = threading.Thread(target=talk, args=(memory, 2))
    saving.start()
    started.wait()
    memory.clear()
    saving.join()
    assert slow.texts == []


def test_equal_sessions_of_two_stores_do_not_wait_for_each_other(vectors):
    class Waiting(Vectors):
        def add_texts(self, texts, metadatas=None, *, ids=None, **kwargs):
            started.set()
            done.wait(10)
            return super().add_texts(texts, metadatas, ids=ids)

    def memory_of(vectors):
        return ConversationVectorStoreTokenBufferMemory(
            llm=fake_models.WordModel(),
            max_token_limit=0,
            retriever=vectors.as_retriever(),
            chat_memory=stored(InMemoryStore()),
        )

    started, done = threading.Event(), threading.Event()
    waiting = threading.Thread(target=talk, args=(memory_of(Waiting()), 1))
    waiting.start()
    started.wait()
    before = time.monotonic()
    talk(memory_of(vectors), 1)
    took = time.monotonic() - before
    done.set()
    waiting.join()
    assert took < 5
    assert moved(vectors) == [turn(1)]


# --- odd histories ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("messages", "texts"),
    [
        (
            [HumanMessage("one"), HumanMessage("two"), AIMessage("yes")],
            ["Human: <T/00> one\ntwo\nAI: <T/00> yes"],
        ),
        (
            [
                HumanMessage("find it"),
                AIMessage("", tool_calls=CALL),
                ToolMessage("a long result", tool_call_id="1"),
                AIMessage("found"),
            ],
            ["Human: <T/00> find it\nAI: <T/00> found"],
        ),
        (
            [
                HumanMessage("find it"),
                AIMessage("", additional_kwargs={"function_call": {"name": "f"}}),
                FunctionMessage("a long result", name="f"),
                AIMessage("found"),
            ],
            ["Human: <T/00> find it\nAI: <T/00> found"],
        ),
        (
            [AIMessage("hello"), HumanMessage("one"), AIMessage("yes")],
            ["AI: <T/00> hello", "Human: <T/00> one\nAI: <T/00> yes"],
        ),
        (
            [SystemMessage("be brief"), HumanMessage("one"), AIMessage("yes")],
            ["Human: <T/00> one\nAI: <T/00> yes"],
        ),
        (
            [HumanMessage("one"), AIMessage("yes"), AIMessage("and no")],
            ["Human: <T/00> one\nAI: <T/00> yes\nand no"],
        ),
        ([HumanMessage("one"), AIMessage("")], ["Human: <T/00> one"]),
        ([SystemMessage("be brief")], []),
        (
            [
                HumanMessage([{"type": "text", "text": "look"}, {"type": "image"}]),
                AIMessage([{"type": "text", "text": "a cat"}]),
            ],
            ["Human: <T/00> look [image]\nAI: <T/00> a cat"],
        ),
    ],
)
def test_whatever_a_history_holds(make, vectors, history, messages, texts):
    history.add_messages(messages)
    memory = make(chat_memory=history, max_token_limit=100)
    memory.save_remainder()
    assert moved(vectors) == texts


def test_a_result_that_comes_late_does_not_hold_it_back(make, vectors, history):
    late = ToolMessage("late", tool_call_id="1")
    history.add_messages([HumanMessage("question 1"), AIMessage("answer 1"), late])
    memory = make(chat_memory=history, store=InMemoryStore(), session_id="s")
    talk(memory, 2)
    assert moved(vectors) == [turn(1)]


@pytest.mark.parametrize(
    "waiting",
    [
        [HumanMessage("a question of so many words")],
        [HumanMessage("a question"), AIMessage("of so many", tool_calls=CALL)],
        [
            HumanMessage("a question"),
            AIMessage("", tool_calls=CALL),
            ToolMessage("of so many words", tool_call_id="1"),
        ],
    ],
)
def test_what_may_still_be_answered_does_not_move(make, vectors, history, waiting):
    memory = make(chat_memory=history)
    talk(memory, 1)
    history.add_messages(waiting)
    if memory._way == "sync":
        run(memory._target._flush(4))
    else:
        memory._loop.run(arun(memory._target._flush(4)))
    assert moved(vectors) == [turn(1)]


# --- long answers -----------------------------------------------------------------


def test_a_long_answer_moves_in_parts(make, vectors):
    memory = make(split_chunk_size=12, max_token_limit=0)
    memory.save_context(
        {"input": "tell me"}, {"output": "one two three four five six seven"}
    )
    parts = moved(vectors)
    assert len(parts) > 2
    for at, part in enumerate(parts):
        human, ai = part.split("\nAI: ")
        assert human == "Human: <T/00> tell me"
        assert ai.startswith(f"<T/{at:02}> ")
    words = {word for part in parts for word in part.split("> ")[-1].split()}
    assert words == {"one", "two", "three", "four", "five", "six", "seven"}


@pytest.mark.parametrize("installed", [True, False])
@pytest.mark.parametrize("size", [10, 100, 300, 1000])
@pytest.mark.parametrize(
    "text",
    [
        "",
        "short",
        " \n ",
        "word " * 500,
        "A line.\n" * 200,
        "A paragraph of a few words.\n\n" * 100,
        "x" * 2_500,
    ],
)
def test_parts_hold_all_of_a_text(text, size, installed, monkeypatch):
    if installed:
        pytest.importorskip("langchain_text_splitters")
    else:
        monkeypatch.setitem(__import__("sys").modules, "langchain_text_splitters", None)
    parts = split_text(text, size)
    assert all(0 < len(part) <= size for part in parts)
    assert set(" ".join(parts).split()) >= set(text.split()) or " " not in text.strip()
    squeezed = re.sub(r"\s", "", text)
    assert sum(len(re.sub(r"\s", "", part)) for part in parts) >= len(squeezed)
    assert bool(parts) == bool(squeezed)


def test_parts_overlap_without_the_package(monkeypatch):
    words = " ".join(f"w{n}" for n in range(400))
    parts = text_splitting._parts(words, 500, 200)
    for one, other in itertools.pairwise(parts):
        assert other.split()[0] in one.split()
    assert [word for part in parts for word in part.split()][-1] == "w399"


# --- over a store -----------------------------------------------------------------


@pytest.fixture
def store():
    return InMemoryStore(index=INDEX)


def test_one_store_keeps_everything(make, store):
    memory = make(retriever=None, store=store, session_id="a", return_messages=True)
    talk(memory, "red", "blue", "green")
    assert "question red" in loaded(memory, "red")[0].content
    assert kept(memory) == ["question green", "answer green"]
    other = make(retriever=None, store=store, session_id="b", return_messages=True)
    assert "question red" not in loaded(other, "red")[0].content


def test_the_history_of_a_store_brings_it_along(make, store):
    memory = make(retriever=None, chat_memory=stored(store), return_messages=True)
    talk(memory, "red", "blue")
    assert "question red" in loaded(memory, "red")[0].content


def test_a_configured_block_counts_when_it_has_ended(make, store):
    with configured(store=store):
        memory = make(retriever=None, session_id="a", return_messages=True)
        other = make(retriever=None, chat_memory=StoreChatMessageHistory("b"))
    talk(memory, "red", "blue")
    assert "question red" in loaded(memory, "red")[0].content
    talk(other, "red", "blue")
    assert other.memory_retriever.base_store is store


def test_a_store_without_an_index_is_refused(make):
    memory = make(retriever=None, store=InMemoryStore(), session_id="a")
    with pytest.raises(IndexRequired):
        loaded(memory)


def test_a_session_finds_its_own_exchanges_only(make, vectors):
    store = InMemoryStore()
    for session in ("a", "b"):
        talk(make(store=store, session_id=session), session, "x")
    first = loaded(make(store=store, session_id="a", return_messages=True), "b")[0]
    assert "question a" in first.content
    assert "question b" not in first.content


def test_it_round_trips(make, vectors):
    memory = make()
    talk(memory, 1, 2)
    data = json.loads(json.dumps(memory.to_dict()))
    assert data["needs"] == ["llm", "retriever"]
    again = ConversationVectorStoreTokenBufferMemory.from_dict(
        data, llm=fake_models.WordModel(), retriever=vectors.as_retriever()
    )
    talk(again, 3)
    assert moved(vectors) == [turn(1), turn(2)]
    assert loaded(again).endswith("\nHuman: question 3\nAI: answer 3")


def test_a_counter_is_needed_again(make):
    data = json.loads(json.dumps(make(token_counter=len).to_dict()))
    assert "token_counter" in data["needs"]
    assert "token_counter" not in data["settings"]


def test_copies_do_not_share_what_moved(vectors):
    memory = ConversationVectorStoreTokenBufferMemory(
        llm=fake_models.WordModel(),
        max_token_limit=4,
        retriever=vectors.as_retriever(),
        return_messages=True,
    )
    talk(memory, 1)
    other = copy.deepcopy(memory)
    talk(memory, 2)
    assert len(other.chat_memory.messages) == 2
    assert kept(other) == ["question 1", "answer 1"]
