"""Turns that are found by what is said now: over any retriever, and over a store."""

import copy
import json
import pickle
import warnings
from contextlib import ExitStack, contextmanager
from uuid import uuid4

import backends
import pytest
import vector_stores
from langchain_core.agents import AgentAction
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.retrievers import BaseRetriever
from langgraph.store.memory import InMemoryStore
from pydantic import ValidationError
from vector_stores import DELETING, HABITS, Reading, Vectors, Wrapping

from holdover.compat import configure, configured, notices
from holdover.compat.errors import IndexRequired, RetrieverReadOnly, StoreUnsuitable
from holdover.compat.testing.embedding import DIMENSIONS, embed
from holdover.compat.vectors.scope import FILTERED, SCOPE
from holdover.compat.vectorstore import VectorStoreRetrieverMemory

INDEX = {"dims": DIMENSIONS, "embed": embed, "fields": ["content.text"]}
STORES = ("memory", "sqlite", "postgres", "async-postgres")


@pytest.fixture(autouse=True)
def told(monkeypatch):
    """Each test hears every warning anew."""
    monkeypatch.setattr(notices, "_told", set())


@pytest.fixture
def driven(way, loop):
    return lambda memory: backends.Driven(memory, way, loop)


@pytest.fixture
def over(driven):
    """A memory over a vector store, called by each twin."""

    def make(vectors, search=None, **fields):
        retriever = vectors.as_retriever(search_kwargs=search or {})
        return driven(VectorStoreRetrieverMemory(retriever=retriever, **fields))

    return make


@contextmanager
def opened(kind, loop, request, path):
    if kind == "memory":
        yield InMemoryStore(index=INDEX)
        return
    if kind == "sqlite":
        from holdover.compat.stores.opening import close_store, open_sqlite

        store = open_sqlite(str(path), INDEX)
        yield store
        close_store(store)
        return
    pytest.importorskip("langgraph.store.postgres")
    url = request.getfixturevalue("database_of_vectors")
    if kind == "postgres":
        from holdover.compat.stores.opening import _open, close_store

        store = _open(url, INDEX, setup=True)
        yield store
        close_store(store)
        return
    from langgraph.store.postgres.aio import AsyncPostgresStore

    manager = AsyncPostgresStore.from_conn_string(url, index=INDEX)

    async def enter():
        store = await manager.__aenter__()
        await store.setup()
        return store

    yield loop.run(enter())
    loop.run(manager.__aexit__(None, None, None))


@pytest.fixture(scope="module")
def database_of_vectors(postgres_server):
    import psycopg
    import servers

    name = f"vectors_{uuid4().hex}"
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
    yield servers.with_database(postgres_server, name)
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


@pytest.fixture(scope="module")
def stores(request, loop, tmp_path_factory):
    made = {}
    with ExitStack() as stack:

        def get(kind):
            if kind not in made:
                path = tmp_path_factory.mktemp(kind) / "store.db"
                made[kind] = stack.enter_context(opened(kind, loop, request, path))
            return made[kind]

        yield get


@pytest.fixture(params=STORES)
def indexed(request, stores):
    """Each kind of store with an index; others' data is in it too."""
    return stores(request.param)


@pytest.fixture
def at(indexed, driven):
    """A memory on each store, of a session of its own."""
    session = uuid4().hex

    def make(session=session, **fields):
        memory = VectorStoreRetrieverMemory(store=indexed, session_id=session, **fields)
        return driven(memory)

    return make


def save(memory, *texts):
    for text in texts:
        memory.save_context({"input": text}, {"output": "ok"})


def turn(text):
    return f"input: {text}\noutput: ok"


def found(memory, query="red"):
    return memory.load_memory_variables({"input": query})["history"]


# --- as the classic class ---------------------------------------------------------


def test_a_turn_is_saved_and_found(over):
    memory = over(Vectors())
    save(memory, "red", "blue")
    assert found(memory) == f"{turn('red')}\n{turn('blue')}"
    assert memory.memory_variables == ["history"]


def test_without_a_session_a_document_is_what_classic_saved(over):
    vectors = Vectors()
    save(over(vectors), "red")
    (document,) = vectors.held.values()
    assert (document.page_content, document.metadata) == (turn("red"), {})


def test_documents_of_older_releases_are_found(over):
    vectors = Vectors()
    vectors.add_texts(["input: red"])
    assert found(over(vectors)) == "input: red"


def test_the_retrievers_own_k_counts(over):
    vectors = Vectors()
    memory = over(vectors, {"k": 1})
    save(memory, "red", "blue")
    assert found(memory) == turn("red")
    assert vectors.calls[-1] == {"k": 1}


def test_k_may_be_given(over):
    memory = over(Vectors(), {"k": 1}, k=2)
    save(memory, "red", "blue", "green")
    assert found(memory).count("input: ") == 2


def test_documents_may_be_returned(over):
    memory = over(Vectors(), return_docs=True)
    save(memory, "red")
    assert [one.page_content for one in found(memory)] == [turn("red")]


def test_messages_may_be_returned(over):
    memory = over(Vectors(), return_messages=True)
    assert found(memory) == []
    save(memory, "red")
    assert found(memory) == [SystemMessage(turn("red"))]


def test_neither_retriever_nor_store_is_classics_error():
    with pytest.raises(ValidationError) as raised:
        VectorStoreRetrieverMemory()
    (error,) = raised.value.errors()
    assert (error["loc"], error["type"]) == (("retriever",), "missing")


def test_something_else_as_retriever_is_refused():
    with pytest.raises(ValidationError):
        VectorStoreRetrieverMemory(retriever="red")


def test_retriever_and_store_together_are_refused():
    with pytest.raises(ValueError, match="not both"):
        VectorStoreRetrieverMemory(
            retriever=Vectors().as_retriever(), store=InMemoryStore()
        )


def test_an_unknown_argument_warns():
    with pytest.warns(UserWarning, match="vectorstore") as told:
        VectorStoreRetrieverMemory(retriever=Vectors().as_retriever(), vectorstore=1)
    assert told[0].filename == __file__


def test_an_empty_vector_store_may_fail_as_it_did(over):
    with pytest.raises(AssertionError):
        found(over(vector_stores.Empty()))


def test_the_error_of_a_search_is_the_vector_stores_own(over):
    class Down(Vectors):
        def similarity_search(self, query, k=4, **kwargs):
            raise ConnectionError("down")

    with pytest.raises(ConnectionError):
        found(over(Down()))


def test_an_input_that_was_named_has_to_be_there(over):
    memory = over(Vectors(), input_key="question")
    with pytest.raises(KeyError, match="question"):
        found(memory)
    with pytest.raises(KeyError, match="question"):
        save(memory, "red")


def test_it_is_json(over):
    memory = VectorStoreRetrieverMemory(retriever=Vectors().as_retriever(), k=2)
    data = json.loads(memory.model_dump_json())
    assert data["k"] == 2
    assert "retriever" not in data


def test_it_round_trips(way):
    vectors = Vectors()
    memory = VectorStoreRetrieverMemory(
        retriever=vectors.as_retriever(), session_id="a", metadata={"user": "ana"}
    )
    save(memory, "red")
    data = json.loads(json.dumps(memory.to_dict()))
    assert data["needs"] == ["retriever"]
    again = VectorStoreRetrieverMemory.from_dict(data, retriever=vectors.as_retriever())
    assert found(again) == turn("red")
    assert again.metadata == {"user": "ana"}
    assert again.k is None


def test_no_warning_is_given_for_what_is_right():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        memory = VectorStoreRetrieverMemory(retriever=Vectors().as_retriever())
        save(memory, "red")
        found(memory)
        memory.clear()


# --- what is embedded -------------------------------------------------------------

STEPS = [(AgentAction("find", {"q": 1}, "log"), "seen")]


@pytest.mark.parametrize(
    ("fields", "inputs", "outputs", "text"),
    [
        ({}, {"input": "a"}, {"output": "b"}, "input: a\noutput: b"),
        ({}, {"said": "a"}, {"text": "b"}, "said: a\ntext: b"),
        ({}, {"said": "a", "by": "me"}, {"b": "b"}, "said: a\nby: me\nb: b"),
        ({}, {"input": "a", "lang": "en"}, {"output": "b"}, "input: a\noutput: b"),
        (
            {"input_key": "q"},
            {"input": "a", "q": "c", "history": "ALL"},
            {"output": "b"},
            "q: c\noutput: b",
        ),
        (
            {"memory_key": "facts"},
            {"question": "a", "history": "ALL", "facts": "OLD"},
            {"answer": "b"},
            "question: a\nanswer: b",
        ),
        (
            {"memory_key": "facts"},
            {"said": "a", "by": "me", "chat_history": [HumanMessage("ALL")],
             "stop": ["x"]},
            {"b": "b"},
            "said: a\nby: me\nb: b",
        ),
        (
            {},
            {"said": "a", "by": "me", "others": [HumanMessage("ALL")],
             "known": {"a": 1}},
            {"b": "b"},
            "said: a\nby: me\nb: b",
        ),
        ({}, {"input": "a"}, {"output": "b", "intermediate_steps": STEPS},
         "input: a\noutput: b"),
        ({}, {"input": "a"}, {"one": "b", "two": "c", "steps": STEPS},
         "input: a\none: b\ntwo: c"),
        ({}, {"input": "a"}, {"answer": "b", "source_documents": [Document("x")]},
         "input: a\nanswer: b"),
        ({}, {"input": "a"}, {"output": "b", "answer": "c"}, "input: a\noutput: b"),
        ({"exclude_output_keys": ["output"]}, {"input": "a"}, {"output": "b"},
         "input: a"),
        ({"exclude_input_keys": ["input"]}, {"input": "a"}, {"output": "b"},
         "output: b"),
        ({}, {"input": "a", "history": "OLD"}, {"output": "b"}, "input: a\noutput: b"),
        ({}, {"input": [HumanMessage("a")]}, {"output": AIMessage("b")},
         "input: a\noutput: b"),
        ({}, {"input": {"a": 1}}, {"output": 2}, 'input: {"a": 1}\noutput: 2'),
        (
            {},
            {"input": [{"type": "text", "text": "a"},
                       {"type": "image_url", "image_url": {"url": "data:,AAAA"}}]},
            {"output": "b"},
            "input: a [image]\noutput: b",
        ),
    ],
)  # fmt: skip
def test_only_what_was_said_and_answered_is_embedded(
    over, fields, inputs, outputs, text
):
    vectors = Vectors()
    over(vectors, **fields).save_context(inputs, outputs)
    assert vectors.embedded == [text]


def test_nothing_is_not_embedded(over):
    vectors = Vectors()
    over(vectors).save_context({}, {})
    assert vectors.embedded == []


@pytest.mark.parametrize(
    "query", [[HumanMessage("red")], HumanMessage("red"), ["red"], {"say": "red"}]
)
def test_anything_may_be_looked_for(over, query):
    memory = over(Vectors(), {"k": 1})
    save(memory, "blue", "red")
    assert found(memory, query) == turn("red")


def test_a_subclass_may_form_documents(driven):
    class Mine(VectorStoreRetrieverMemory):
        def _form_documents(self, inputs, outputs):
            return [Document("one", metadata={"n": 1}), Document("two")]

    vectors = Vectors()
    memory = driven(Mine(retriever=vectors.as_retriever(), metadata={"user": "ana"}))
    save(memory, "red")
    assert [(one.page_content, one.metadata) for one in vectors.held.values()] == [
        ("one", {"user": "ana", "n": 1}),
        ("two", {"user": "ana"}),
    ]


# --- whose it is ------------------------------------------------------------------


@pytest.mark.parametrize("kind", HABITS)
def test_a_session_finds_its_own_turns_only(over, kind):
    vectors = kind()
    for n in range(20):
        save(over(vectors, session_id="other"), f"red {n}")
        save(over(vectors), f"red of nobody {n}")
    memory = over(vectors, {"k": 2}, session_id="own")
    assert found(memory) == ""
    save(memory, "blue", "green")
    save(over(vectors, session_id="other"), *(f"blue {n}" for n in range(20)))
    assert sorted(found(memory).split("\ninput: ")) == [
        "green\noutput: ok",
        turn("blue"),
    ]


@pytest.mark.parametrize("kind", HABITS)
def test_without_a_session_no_ones_turns_are_found(over, kind):
    vectors = kind()
    for n in range(20):
        save(over(vectors, session_id="other"), f"red {n}")
    vectors.add_texts(["old blue"])
    assert found(over(vectors, {"k": 2})) == "old blue"


def test_a_search_goes_no_further_than_it_must(over):
    vectors = Vectors()
    memory = over(vectors, {"k": 2}, session_id="own")
    save(memory, "red", "blue", "green")
    vectors.calls.clear()
    found(memory)
    assert [call["k"] for call in vectors.calls] == [2]


def test_where_it_is_safe_the_vector_store_filters(over):
    vectors = vector_stores.PGVector()
    for n in range(20):
        save(over(vectors, session_id="other"), f"red {n}")
    memory = over(vectors, {"k": 1}, session_id="own")
    save(memory, "blue")
    vectors.calls.clear()
    assert found(memory) == turn("blue")
    assert vectors.calls == [{"k": 1, "filter": {SCOPE: "memory_store/own"}}]


def test_a_filter_nobody_knows_is_not_sent(over):
    vectors = Vectors()
    found(over(vectors, session_id="own"))
    assert "filter" not in vectors.calls[0]


def test_the_vector_store_of_core_filters_by_a_function(over):
    pytest.importorskip("numpy")
    from langchain_core.embeddings import Embeddings
    from langchain_core.vectorstores import InMemoryVectorStore

    class Embedding(Embeddings):
        def embed_documents(self, texts):
            return embed(texts)

        def embed_query(self, text):
            return embed([text])[0]

    vectors = InMemoryVectorStore(Embedding())
    for n in range(20):
        save(over(vectors, session_id="other"), f"red {n}")
    memory = over(vectors, {"k": 1}, session_id="own")
    save(memory, "blue", "blue")
    assert found(memory) == turn("blue")
    memory.clear()
    assert len(vectors.store) == 20


def test_scopes_are_told_apart_whatever_they_contain(over):
    vectors = Vectors()
    scopes = [("a", "b"), ("a/b",), ("a", "b", ""), ("A", "b")]
    for scope in scopes:
        save(over(vectors, scope=scope), "red")
    assert len(vectors.held) == len(scopes)
    for scope in scopes:
        assert found(over(vectors, scope=scope)) == turn("red")


def test_the_configured_labels_come_first(over):
    vectors = Vectors()
    configure(scope=("tenant",))
    save(over(vectors, session_id="a"), "red")
    (document,) = vectors.held.values()
    assert document.metadata[SCOPE] == "tenant/memory_store/a"


def test_the_retrievers_own_filter_finds_what_was_saved(over):
    vectors = vector_stores.PGVector()
    ana = over(vectors, {"filter": {"user": "ana"}})
    save(ana, "red")
    (document,) = vectors.held.values()
    assert document.metadata == {"user": "ana", FILTERED: True}
    assert found(ana) == turn("red")
    assert found(over(vectors, {"filter": {"user": "bea"}})) == ""


def test_two_users_may_say_the_same(over):
    vectors = vector_stores.PGVector()
    users = [over(vectors, {"filter": {"user": user}}) for user in ("ana", "bea")]
    users += [over(vectors, {"k": 9}, metadata={"user": user}) for user in ("a", "b")]
    for memory in users:
        save(memory, "red")
    assert len(vectors.held) == 4
    assert found(users[0]) == found(users[1]) == turn("red")
    users[0].clear()
    assert found(users[0]) == ""
    assert found(users[1]) == turn("red")


@pytest.mark.filterwarnings("ignore:What was saved")
@pytest.mark.parametrize("where", [{"user": "ana"}, lambda _: False])
def test_what_was_to_be_found_by_a_filter_is_not_found_without(over, where):
    vectors = Vectors()
    save(over(vectors, {"filter": where}), "red")
    assert found(over(vectors)) == ""


def test_a_session_below_the_retrievers_own_filter(over):
    vectors = vector_stores.PGVector()
    memory = over(vectors, {"filter": {"user": {"$eq": "ana"}}}, session_id="s")
    save(memory, "red")
    (document,) = vectors.held.values()
    assert document.metadata["user"] == "ana"
    vectors.calls.clear()
    found(memory)
    assert vectors.calls[0]["filter"] == {
        "$and": [{"user": {"$eq": "ana"}}, {SCOPE: "memory_store/s"}]
    }


@pytest.mark.parametrize(
    ("where", "metadata"),
    [
        ({"user": "ana", "n": 1}, {"user": "ana", "n": 1}),
        ({"user": {"$eq": "ana"}}, {"user": "ana"}),
        ({"$and": [{"user": "ana"}, {"n": {"$eq": 1}}]}, {"user": "ana", "n": 1}),
        ({"n": {"$gt": 1}, "user": "ana"}, {"user": "ana"}),
        ({"$or": [{"user": "ana"}, {"user": "bea"}]}, {}),
        ({"user": ["ana", "bea"]}, {}),
        ("user == 'ana'", {}),
    ],
)
def test_what_a_filter_wants_to_be_equal_is_saved(over, where, metadata):
    vectors = Vectors()
    save(over(vectors, {"filter": where}), "red")
    (document,) = vectors.held.values()
    assert document.metadata == {**metadata, FILTERED: True}


def by_ana(document):
    return document.metadata.get("user") == "ana"


def test_a_function_as_filter_is_told_what_to_do_about(over):
    memory = over(Vectors(), {"filter": by_ana})
    with pytest.warns(UserWarning, match="metadata=") as told:
        save(memory, "red")
    assert memory._way == "async" or told[0].filename == __file__


def test_with_metadata_a_function_as_filter_finds_it(over):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        vectors = Vectors()
        save(over(vectors, {"filter": by_ana}, metadata={"user": "ana"}), "red")
    (document,) = vectors.held.values()
    assert document.metadata["user"] == "ana"


# --- other retrievers -------------------------------------------------------------


def test_a_wrapping_retriever_writes_to_what_it_wraps(driven):
    vectors = Vectors()
    wrapped = Wrapping(base_retriever=vectors.as_retriever())
    memory = driven(
        VectorStoreRetrieverMemory(retriever=Wrapping(base_retriever=wrapped))
    )
    save(memory, "red")
    assert found(memory) == turn("red")
    memory.clear()
    assert vectors.texts == []


def test_a_wrapped_retriever_shows_no_other_session(driven):
    vectors = Vectors()
    wrapping = Wrapping(base_retriever=vectors.as_retriever())
    for session in ("a", "b"):
        memory = VectorStoreRetrieverMemory(retriever=wrapping, session_id=session)
        save(memory, f"red {session}")
    assert found(driven(memory)) == turn("red b")


def test_a_retriever_that_only_reads_says_so_when_a_turn_is_saved(driven):
    memory = driven(
        VectorStoreRetrieverMemory(retriever=Reading(found=[Document("a")]))
    )
    assert found(memory) == "a"
    with pytest.raises(RetrieverReadOnly, match="Pass writer="):
        save(memory, "red")


def test_a_writer_writes_for_it(driven):
    vectors = Vectors()
    reading = Reading(found=[])
    memory = driven(VectorStoreRetrieverMemory(retriever=reading, writer=vectors))
    save(memory, "red", "red")
    assert vectors.texts == [turn("red")]
    assert memory.delete(turn("red")) is True
    assert vectors.texts == []


def test_a_writer_needs_no_more_than_add_texts(driven):
    class Writer:
        def __init__(self):
            self.given = []

        def add_texts(self, texts, metadatas, ids=None):
            self.given.append((texts, metadatas, ids))

    writer = Writer()
    retriever = Reading(found=[])
    memory = VectorStoreRetrieverMemory(
        retriever=retriever, writer=writer, metadata={"user": "ana"}
    )
    save(driven(memory), "red")
    ((texts, metadatas, ids),) = writer.given
    assert (texts, metadatas) == ([turn("red")], [{"user": "ana"}])
    assert len(ids[0]) == 36


# --- once, and away ---------------------------------------------------------------


@pytest.mark.parametrize("kind", HABITS)
@pytest.mark.parametrize("session", [None, "a"])
def test_a_turn_saved_again_is_there_once(over, kind, session):
    vectors = kind()
    memory = over(vectors, session_id=session)
    save(memory, "I am allergic to nuts", "red")
    save(memory, "I am allergic to nuts", "I AM  allergic to nuts")
    assert len(vectors.held) == 2


def test_a_retry_of_another_process_finds_it_there(over):
    vectors = Vectors()
    save(over(vectors, session_id="a"), "red")
    save(over(vectors, session_id="a"), "red")
    assert vectors.embedded == [turn("red")]


def test_the_error_of_an_addition_is_the_vector_stores_own(over):
    class Full(Vectors):
        def add_texts(self, texts, metadatas=None, *, ids=None, **kwargs):
            raise ValueError("too long" if ids else "too long without ids, too")

    with pytest.raises(ValueError, match=r"^too long$"):
        save(over(Full()), "red")


@pytest.mark.parametrize("kind", DELETING)
def test_clear_deletes_the_sessions_own_turns(over, kind):
    vectors = kind()
    others = ["old", turn("of nobody"), turn("of other")]
    vectors.add_texts(["old"])
    save(over(vectors), "of nobody")
    save(over(vectors, session_id="other"), "of other")
    for n in range(30):
        save(over(vectors, session_id="own"), f"red {n}")
    # Another object, as after a restart.
    over(vectors, session_id="own").clear()
    if kind is vector_stores.NoIds:
        others = vectors.texts[:3]
    assert vectors.texts[:3] == others
    assert len(vectors.texts) == 3


@pytest.mark.parametrize(
    "kind", [Vectors, vector_stores.PGVector, vector_stores.Strict]
)
def test_clear_without_a_session_leaves_what_it_did_not_save(over, kind):
    vectors = kind()
    vectors.add_texts(["knowledge"])
    save(over(vectors, session_id="other"), "of other")
    save(over(vectors), "red")
    with pytest.warns(UserWarning, match="left 1 documents"):
        over(vectors).clear()
    assert vectors.texts == ["knowledge", turn("of other")]


@pytest.mark.parametrize("kind", DELETING)
def test_what_was_cleared_may_be_said_again(over, kind):
    vectors = kind()
    vectors.add_texts(["knowledge"])
    memory = over(vectors, {"k": 1}, session_id="own")
    for _ in range(2):
        save(memory, "red")
        assert found(memory) == turn("red")
        memory.clear()
        assert found(memory) == ""


def test_clear_finds_its_turns_among_thousands(over):
    vectors = Vectors()
    vectors.add_texts([f"red {n}" for n in range(1_500)])
    save(over(vectors, session_id="own"), "green")
    over(vectors, session_id="own").clear()
    assert len(vectors.held) == 1_500


def test_clear_says_what_it_cannot_do(over):
    vectors = vector_stores.NoDeleting()
    memory = over(vectors, session_id="own")
    save(memory, "red")
    with pytest.warns(UserWarning, match="clear") as told:
        memory.clear()
    assert memory._way == "async" or told[0].filename == __file__
    assert vectors.texts == [turn("red")]


def test_clear_never_asks_to_delete_everything(over):
    vectors = Vectors()
    vectors.add_texts(["knowledge"])
    memory = over(vectors, session_id="own")
    memory.clear()
    assert memory.delete("nothing of that text") is False
    assert vectors.texts == ["knowledge"]


@pytest.mark.parametrize("kind", DELETING)
def test_one_turn_is_deleted_by_its_text(over, kind):
    vectors = kind()
    memory = over(vectors, session_id="own")
    save(memory, "my pin is 1234", "red")
    assert memory.delete(turn("my pin is 1234")) is True
    assert vectors.texts == [turn("red")]


def test_one_turn_is_deleted_by_its_id(over):
    vectors = Vectors()
    memory = over(vectors, session_id="own", return_docs=True)
    save(memory, "red")
    (document,) = found(memory)
    assert memory.delete(document.id) is True
    assert vectors.held == {}


def test_no_id_deletes_a_turn_of_another_session(over):
    vectors = Vectors()
    save(over(vectors, session_id="other"), "red")
    (key,) = vectors.held
    assert over(vectors, session_id="own").delete(key) is False
    assert over(vectors).delete(key) is False
    assert list(vectors.held) == [key]


def test_a_turn_of_an_older_release_is_deleted_by_its_text(over):
    vectors = Vectors()
    vectors.add_texts([turn("red"), turn("blue")])
    assert over(vectors).delete(turn("red")) is True
    assert vectors.texts == [turn("blue")]


def test_forget_is_a_deletion_in_a_vector_store(over):
    vectors = Vectors()
    memory = over(vectors, session_id="own")
    save(memory, "red", "blue", "green")
    assert memory.forget(turn("red")).items == 1
    assert memory.forget().items == 2
    assert vectors.texts == []


# --- limits -----------------------------------------------------------------------


def test_what_is_too_far_is_left_out(over):
    memory = over(Vectors(), score_threshold=0.9)
    save(memory, "red red red", "blue blue blue")
    assert found(memory) == turn("red red red")


def test_a_threshold_needs_relevance(over):
    class Unscaled(Vectors):
        def _select_relevance_score_fn(self):
            raise NotImplementedError

    with pytest.raises(NotImplementedError, match="leave out score_threshold"):
        found(over(Unscaled(), score_threshold=0.5))


def test_what_does_not_fit_is_left_out(over):
    def words(messages):
        return sum(len(message.content.split()) for message in messages)

    memory = over(Vectors(), max_context_tokens=9, token_counter=words)
    save(memory, "red", "red and blue and much more than fits", "red blue")
    assert found(memory) == f"{turn('red')}\n{turn('red blue')}"


def test_tokens_are_estimated_without_a_counter(over):
    memory = over(Vectors(), max_context_tokens=20)
    save(memory, "red", "red " * 100)
    assert found(memory) == turn("red")


# --- over a store -----------------------------------------------------------------


def test_a_store_finds_by_meaning(at):
    memory = at(k=2)
    save(memory, "blue", "red", "red blue")
    assert found(memory) == f"{turn('red')}\n{turn('red blue')}"


def test_a_store_gives_four_unless_told(at):
    memory = at(return_docs=True)
    save(memory, *(f"red {n}" for n in range(6)))
    assert len(found(memory)) == 4


def test_a_store_shows_a_session_nothing_else(at):
    save(at(session="x" + uuid4().hex), "red")
    assert found(at()) == ""


def test_a_turn_saved_again_is_one_record(at):
    memory = at()
    save(memory, "I am allergic to nuts", "I am allergic to nuts")
    assert found(memory).count("nuts") == 1
    assert (
        backends.Driven(memory.repository, memory._way, memory._loop).count("turn") == 1
    )


def test_documents_of_a_store_tell_when_and_how_near(at):
    memory = at(return_docs=True, metadata={"user": "ana"})
    save(memory, "red")
    (document,) = found(memory)
    assert document.metadata["recorded_at"].endswith("+00:00")
    assert document.metadata["user"] == "ana"
    assert document.metadata["score"] == pytest.approx(1.0, abs=0.01)


def test_the_score_of_a_store_has_a_threshold(at):
    memory = at(score_threshold=0.9)
    save(memory, "red red red", "blue blue blue")
    assert found(memory, "red red red") == turn("red red red")


def test_clear_of_a_store_clears_its_own_scope(at):
    other = at(session="y" + uuid4().hex)
    save(other, "red")
    memory = at()
    save(memory, "red", "blue")
    memory.clear()
    assert found(memory) == ""
    assert found(other) == turn("red")


def test_a_turn_of_a_store_is_deleted_by_text_or_key(at):
    memory = at(return_docs=True)
    save(memory, "red", "blue")
    assert memory.delete(turn("red")) is True
    assert memory.delete(turn("red")) is False
    (document,) = found(memory)
    assert memory.delete(document.id) is True
    assert found(memory) == []


def test_a_forgotten_turn_is_not_learnt_again(at):
    memory = at()
    save(memory, "red", "blue")
    assert memory.forget(turn("red")).items == 1
    save(memory, "red")
    assert found(memory) == turn("blue")
    assert memory.forget().items == 1
    assert found(memory) == ""


def test_nothing_is_near_to_nothing(at):
    memory = at()
    save(memory, "red")
    assert found(memory, "") == ""
    assert found(memory, " \n") == ""


def test_what_is_redacted_is_never_stored(at):
    def redact(kind, content):
        return {**content, "text": content["text"].replace("1234", "[pin]")}

    configure(redact=redact)
    memory = at()
    save(memory, "red 1234")
    assert found(memory) == turn("red [pin]")
    assert memory.delete(turn("red 1234")) is True
    assert found(memory) == ""


def test_an_item_of_another_program_is_shown_without_a_time(at, indexed, way):
    if not hasattr(indexed, "put") or "Async" in type(indexed).__name__:
        pytest.skip("written synchronously")
    memory = at(return_docs=True)
    namespace = memory.repository.namespace("turn")
    indexed.put(namespace, "k", {"text": "red"}, index=["text"])
    (document,) = found(memory)
    assert (document.page_content, list(document.metadata)) == ("red", ["score"])


@pytest.mark.parametrize("kind", ["memory", "sqlite", "plain", "postgres", "redis"])
def test_a_store_without_an_index_is_refused(shared_store, driven, kind):
    store = shared_store(kind)
    memory = driven(VectorStoreRetrieverMemory(store=store, session_id=uuid4().hex))
    if kind == "plain":  # nobody can tell before it has something to rank
        save(memory, "red")
    else:
        with pytest.raises(IndexRequired, match="open_store"):
            save(memory, "red")
    with pytest.raises(IndexRequired, match="no index"):
        found(memory)


def test_a_store_that_ranks_the_wrong_way_is_refused(tmp_path):
    from holdover.compat.stores.opening import close_store, open_sqlite

    store = open_sqlite(str(tmp_path / "a.db"), {**INDEX, "distance_type": "l2"})
    memory = VectorStoreRetrieverMemory(store=store, session_id="a")
    with pytest.raises(StoreUnsuitable, match="farthest"):
        found(memory)
    close_store(store)


def test_an_address_takes_an_index(driven, tmp_path):
    memory = driven(
        VectorStoreRetrieverMemory(
            store=f"sqlite:///{tmp_path}/a.db", index=INDEX, session_id="a"
        )
    )
    assert not list(tmp_path.iterdir())
    save(memory, "red")
    assert found(memory) == turn("red")
    assert memory.base_store.index_config["dims"] == DIMENSIONS


def test_a_configured_store_stands_in_for_a_retriever(driven):
    configure(store=InMemoryStore(index=INDEX))
    memory = driven(VectorStoreRetrieverMemory(session_id="a"))
    save(memory, "red")
    assert found(memory) == turn("red")
    with pytest.raises(ValidationError):
        VectorStoreRetrieverMemory()


def test_a_configured_block_counts_when_it_has_ended(driven):
    with configured(store=InMemoryStore(index=INDEX)):
        memory = driven(VectorStoreRetrieverMemory(session_id="a"))
    save(memory, "red")
    assert found(memory) == turn("red")


def test_a_retriever_of_a_subclass_is_not_missing(driven):
    class Mine(VectorStoreRetrieverMemory):
        retriever: BaseRetriever = Reading(found=[Document("a")])

    assert found(driven(Mine())) == "a"


def test_a_retriever_counts_before_a_configured_store(over):
    configure(store=InMemoryStore())
    vectors = Vectors()
    save(over(vectors, session_id="a"), "red")
    assert vectors.texts == [turn("red")]


def test_a_memory_on_a_store_round_trips():
    memory = VectorStoreRetrieverMemory(
        store=InMemoryStore(index=INDEX), session_id="a", metadata={"user": "ana"}
    )
    save(memory, "red")
    data = json.loads(json.dumps(memory.to_dict()))
    again = VectorStoreRetrieverMemory.from_dict(data, store=InMemoryStore(index=INDEX))
    before, after = (next(one.repository.records("turn")) for one in (memory, again))
    assert found(again) == turn("red")
    assert before.meta["recorded_at"] == after.meta["recorded_at"]
    assert before.content == after.content


def test_copies_work_on_the_same_turns(tmp_path):
    memory = VectorStoreRetrieverMemory(
        store=f"sqlite:///{tmp_path}/a.db", index=INDEX, session_id="a"
    )
    save(memory, "red")
    assert found(copy.deepcopy(memory)) == turn("red")


def test_it_is_pickled_without_its_connection(tmp_path):
    memory = VectorStoreRetrieverMemory(
        store=f"sqlite:///{tmp_path}/a.db", index=None, session_id="a"
    )
    again = pickle.loads(pickle.dumps(memory))
    assert again._place.scope == memory._place.scope
