"""`ConversationEntityMemory` without the background: what it gives, keeps and asks."""

import copy
import pickle
import threading
import warnings

import pytest
from backends import Driven
from entity_models import EXTRACT, PROMPTS, SUMMARISE, Model, memory_of, turn
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.store.memory import InMemoryStore
from pydantic import Field

from holdover.compat.base import BaseEntityStore
from holdover.compat.entity import (
    ConversationEntityMemory,
    InMemoryEntityStore,
    SQLiteEntityStore,
)

STORES = ("memory", "sqlite", "postgres", "redis", "plain", "async-sqlite")


@pytest.fixture
def driven(way, loop):
    return lambda memory: Driven(memory, way, loop)


@pytest.fixture(params=STORES)
def held(request, shared_store, way):
    if request.param.startswith("async") and way == "sync":
        pytest.skip("an async-only store")
    return shared_store(request.param)


def stored(store, scope, model=None, **fields):
    return memory_of(model or Model(), store=store, scope=scope, **fields)


class Notebook(BaseEntityStore):
    """Somebody's own entity store: five synchronous methods."""

    pages: dict = Field(default_factory=dict)

    def get(self, key, default=None):
        return self.pages.get(key, default)

    def set(self, key, value):
        self.pages[key] = value

    def delete(self, key):
        del self.pages[key]

    def exists(self, key):
        return key in self.pages

    def clear(self):
        self.pages.clear()


def test_a_first_turn_gives_a_new_name_and_keeps_its_summary(driven):
    memory = memory_of(Model())
    loaded = turn(driven(memory), "Maya maps comets")
    assert loaded == {"history": "", "entities": {"Maya": ""}}
    assert memory.entity_cache == ["Maya"]
    assert memory.store == {"Maya": "Maya maps comets"}
    assert [m.content for m in memory.buffer] == ["Maya maps comets", "ok"]


def test_the_second_turn_sees_the_first(driven):
    memory = driven(memory_of(Model()))
    turn(memory, "Maya maps comets")
    assert memory.load_memory_variables({"input": "and Maya?"}) == {
        "history": "Human: Maya maps comets\nAI: ok",
        "entities": {"Maya": "Maya maps comets"},
    }


def test_messages_instead_of_text(driven):
    memory = driven(memory_of(Model(), return_messages=True))
    turn(memory, "hello")
    loaded = memory.load_memory_variables({"input": "hi"})
    assert loaded["history"] == [HumanMessage("hello"), AIMessage("ok")]


def test_a_window_of_k_turns(driven):
    memory = driven(memory_of(Model(), k=2))
    for said in ("one", "two", "three"):
        turn(memory, said)
    loaded = memory.load_memory_variables({"input": "four"})
    assert loaded["history"] == "Human: two\nAI: ok\nHuman: three\nAI: ok"


def test_what_the_model_is_asked(driven):
    model = Model()
    memory = driven(memory_of(model))
    turn(memory, "Maya maps comets", "nice")
    turn(memory, "Maya naps", "good")
    before = "Human: Maya maps comets\nAI: nice"
    assert model.asked("EXTRACT") == [["", "Maya maps comets"], [before, "Maya naps"]]
    assert model.asked() == [
        ["Maya", "", before, "Maya maps comets"],
        [
            "Maya",
            "Maya maps comets",
            f"{before}\nHuman: Maya naps\nAI: good",
            "Maya naps",
        ],
    ]


def test_two_calls_one_after_the_other_however_many_names(driven):
    model = Model(delay=0.1)
    turn(driven(memory_of(model)), "Ana Ben Cleo Dan")
    assert len(model.calls) == 5
    assert model.most_at_once == 4


def test_another_model_for_the_names(driven):
    model, small = Model(extract=AssertionError), Model(summary=AssertionError)
    memory = memory_of(model, extraction_llm=small.llm)
    turn(driven(memory), "Maya naps")
    assert (len(small.calls), len(model.calls)) == (1, 1)


def test_a_save_without_a_load_finds_the_names_itself(driven):
    model = Model()
    memory = memory_of(model)
    driven(memory).save_context({"input": "hello"}, {"output": "hi"})
    driven(memory).save_context({"input": "Maya naps"}, {"output": "ok"})
    assert memory.store == {"Maya": "Maya naps"}
    assert model.asked("EXTRACT")[1] == ["Human: hello\nAI: hi", "Maya naps"]


def test_names_of_another_input_are_not_used(driven):
    memory = memory_of(Model())
    mine = driven(memory)
    mine.load_memory_variables({"input": "Ana sings"})
    mine.load_memory_variables({"input": "Ben naps"})
    mine.save_context({"input": "Ana sings"}, {"output": "ok"})
    assert memory.store == {"Ana": "Ana sings"}


@pytest.mark.parametrize("how", ["field", "assigned", "changed"])
def test_names_that_a_user_put_into_the_cache(driven, how):
    model = Model()
    fields = {"entity_cache": ["Ana"]} if how == "field" else {}
    memory = memory_of(model, **fields)
    if how == "assigned":
        memory.entity_cache = ["Ana"]
    elif how == "changed":
        driven(memory).load_memory_variables({"input": "hello"})
        memory.entity_cache.append("Ana")
    driven(memory).save_context({"input": "hello"}, {"output": "ok"})
    assert memory.store == {"Ana": "hello"}


def test_no_names_no_summaries(driven):
    model = Model()
    memory = memory_of(model)
    loaded = turn(driven(memory), "hello")
    assert (loaded["entities"], memory.entity_cache, model.asked()) == ({}, [], [])


def test_no_more_names_than_allowed(driven):
    memory = memory_of(Model(), max_entities=2)
    loaded = turn(driven(memory), "Ana Ben Cleo")
    assert list(loaded["entities"]) == ["Ana", "Ben"]


def test_other_names_for_the_variables(driven):
    memory = memory_of(Model(), chat_history_key="chat_history")
    assert memory.memory_variables == ["entities", "chat_history"]
    same = memory_of(Model(), memory_key="chat_history")
    assert (same.chat_history_key, same.memory_key) == ("chat_history",) * 2
    assert "chat_history" in turn(driven(same), "hello")


def test_other_prefixes(driven):
    model = Model()
    memory = driven(memory_of(model, human_prefix="Ada", ai_prefix="Bot"))
    turn(memory, "hello")
    assert turn(memory, "hi")["history"] == "Ada: hello\nBot: ok"


@pytest.mark.parametrize(
    ("inputs", "fields", "text"),
    [
        ({"question": "Ana"}, {}, "Ana"),
        ({"question": "Ana", "other": 1}, {"input_key": "question"}, "Ana"),
        ({"input": HumanMessage("Ana")}, {}, "Ana"),
        (
            {
                "input": [
                    {"type": "text", "text": "Ana"},
                    {"type": "image_url", "image_url": {"url": "data:,"}},
                ]
            },
            {},
            "Ana [image]",
        ),
        ({"input": {"who": "Ana"}}, {}, '{"who": "Ana"}'),
        ({"input": 7}, {}, "7"),
        ({"input": None}, {}, ""),
    ],
)
def test_inputs_of_every_kind_reach_the_model_as_text(driven, inputs, fields, text):
    model = Model()
    memory = driven(memory_of(model, **fields))
    memory.load_memory_variables(inputs)
    memory.save_context(inputs, {"output": "ok"})
    assert model.asked("EXTRACT")[0][1] == text
    assert len(model.asked("EXTRACT")) == 1
    assert all(asked[3] == text for asked in model.asked())


@pytest.mark.parametrize(
    ("inputs", "outputs", "error"),
    [
        ({"a": 1, "b": 2}, {"output": "ok"}, ValueError),
        ({"input": "hi"}, {"a": 1, "b": 2}, ValueError),
        ({"input": "hi"}, {}, ValueError),
    ],
)
def test_misuse_is_refused_before_anything_is_kept(driven, inputs, outputs, error):
    memory = memory_of(Model())
    with pytest.raises(error):
        driven(memory).save_context(inputs, outputs)
    assert memory.buffer == []


def test_a_named_key_that_is_missing_is_named(driven):
    memory = driven(memory_of(Model(), input_key="question"))
    with pytest.raises(KeyError, match="input_key"):
        memory.load_memory_variables({"input": "hi"})


@pytest.mark.parametrize(
    "answer", ["", "  ", None, 7, [], "No new information about Maya.", "x" * 200_000]
)
def test_an_answer_of_no_use_keeps_the_summary(driven, answer, seen):
    memory = memory_of(Model(summary=answer), store={"Maya": "an astronomer"})
    turn(driven(memory), "Maya naps")
    assert memory.store == {"Maya": "an astronomer"}
    assert len(memory.buffer) == 2
    filler = [event for event in seen if event.name == "filler_ignored"]
    assert len(filler) == (isinstance(answer, str) and answer.startswith("No new"))


@pytest.mark.parametrize("answer", ["", None, 7, "NONE", "none.", "x" * 10_000_000])
def test_an_extraction_of_no_use_gives_no_names(driven, answer):
    memory = memory_of(Model(extract=answer))
    assert turn(driven(memory), "Maya naps")["entities"] == {}
    assert len(memory.buffer) == 2


def test_a_summary_that_fails_leaves_the_others_and_the_turn(driven, caplog):
    def summary(entity, *_):
        if entity != "Ben":
            return f"about {entity}"
        raise TimeoutError("no answer")

    memory = memory_of(Model(summary=summary))
    with pytest.raises(TimeoutError, match="no answer"):
        turn(driven(memory), "Ana Ben Cleo")
    assert memory.store == {"Ana": "about Ana", "Cleo": "about Cleo"}
    assert len(memory.buffer) == 2


def test_of_several_failures_the_first_is_raised_and_the_others_logged(driven, caplog):
    def summary(entity, *_):
        raise ValueError(entity)

    memory = memory_of(Model(summary=summary))
    with pytest.raises(ValueError, match="Ana"):
        turn(driven(memory), "Ana Ben")
    told = [one.getMessage() for one in caplog.records]
    assert len([one for one in told if "ValueError" in one]) == 1
    assert "Ben" not in caplog.text  # an error may hold what was said


def test_an_extraction_that_fails_on_load_changes_nothing(driven):
    model = Model()
    memory = memory_of(model)
    turn(driven(memory), "Ana sings")
    model.extract = ConnectionError
    with pytest.raises(ConnectionError):
        driven(memory).load_memory_variables({"input": "Ben naps"})
    assert memory.entity_cache == ["Ana"]
    with pytest.raises(ConnectionError):
        driven(memory).save_context({"input": "Ben naps"}, {"output": "ok"})
    assert len(memory.buffer) == 4
    assert memory.store == {"Ana": "Ana sings"}


def test_a_long_summary_is_cut_after_a_sentence(driven):
    text = "She maps comets. She naps at noon. She lives in Turin."
    memory = memory_of(Model(summary=text), max_summary_chars=40)
    turn(driven(memory), "Maya")
    assert memory.store == {"Maya": "She maps comets. She naps at noon."}
    whole = memory_of(Model(summary="x" * 9_000), max_summary_chars=None)
    turn(driven(whole), "Maya")
    assert len(whole.store["Maya"]) == 9_000


@pytest.mark.parametrize(
    ("text", "limit", "cut"),
    [
        ("short", 5, "short"),
        ("One two three", 9, "One two"),
        ("One two three", 7, "One two"),
        ("A. Bcdefghijklmnop", 10, "A. Bcdefgh"),
        ("abcdefghij", 4, "abcd"),
        ("Is it? Yes, it is so", 12, "Is it?"),
        ("これは。それは。あれは", 9, "これは。それは。"),
    ],
)
def test_where_a_summary_is_cut(text, limit, cut):
    from holdover.compat.entities.summaries import shortened

    assert shortened(text, limit) == cut


def test_an_unchanged_summary_writes_nothing(held, scope, driven):
    memory = stored(held, scope, Model(summary="She naps."))
    mine = driven(memory)
    turn(mine, "Maya naps")
    turn(mine, "Maya naps again")
    records = driven(memory.repository)
    assert [r.text for r in records.history("entity", "Maya")] == ["She naps."]


# Names.


def test_another_spelling_finds_the_same_entity(driven, seen):
    names = iter(["LangGraph", "langgraph"])
    memory = memory_of(Model(extract=lambda *_: next(names)))
    turn(driven(memory), "one")
    loaded = turn(driven(memory), "two")
    assert loaded["entities"] == {"LangGraph": "one"}
    assert memory.store == {"LangGraph": "one two"}
    assert [e.name for e in seen if e.name.startswith("name_")] == ["name_resolved"]


def saying(*names):
    rest = iter(names)
    return Model(extract=lambda *_: next(rest))


def test_a_merge_is_shown_and_undone(held, scope, driven):
    memory = driven(stored(held, scope, saying("Deven Smith", "Deven", "Deven")))
    turn(memory, "one")
    assert turn(memory, "two")["entities"] == {"Deven Smith": "one"}
    assert memory.aliases() == {"Deven Smith": ["Deven"]}
    memory.split("Deven Smith", "Deven")
    assert memory.aliases() == {}
    assert turn(memory, "three")["entities"] == {"Deven": ""}
    again = driven(stored(held, scope))
    assert again.load_memory_variables({"input": "Deven"})["entities"] == {
        "Deven": "three"
    }


def test_an_ambiguous_name_is_a_name_of_its_own(held, scope, driven, seen):
    model = saying("Deven Smith, Deven Jones", "Deven")
    memory = driven(stored(held, scope, model))
    turn(memory, "one")
    assert turn(memory, "two")["entities"] == {"Deven": ""}
    assert memory.aliases() == {}
    assert [e.name for e in seen if e.name.startswith("name_")] == ["name_ambiguous"]


def test_an_alias_survives_the_object_and_a_new_summary(held, scope, driven):
    turn(driven(stored(held, scope, saying("Deven Smith"))), "one")
    turn(driven(stored(held, scope, saying("Deven"))), "two")
    last = driven(stored(held, scope, saying("Deven Smith")))
    turn(last, "three")
    assert last.aliases() == {"Deven Smith": ["Deven"]}


def test_aliases_without_a_store(driven):
    memory = driven(memory_of(saying("Deven Smith", "Deven", "Deven")))
    turn(memory, "one")
    turn(memory, "two")
    assert memory.aliases() == {"Deven Smith": ["Deven"]}
    memory.split("Deven Smith", "Deven")
    assert turn(memory, "three")["entities"] == {"Deven": ""}


def test_splitting_what_is_not_there(driven):
    with pytest.raises(KeyError, match="Nobody"):
        driven(memory_of(Model())).split("Nobody", "x")


def test_the_same_name_twice_in_one_turn_is_one_entity(driven):
    memory = memory_of(saying("Deven Smith, Deven"))
    assert turn(driven(memory), "one")["entities"] == {"Deven Smith": ""}
    assert memory.store == {"Deven Smith": "one"}


# Places.


def test_entities_and_messages_are_in_the_store(held, scope, driven):
    turn(driven(stored(held, scope)), "Maya naps")
    again = driven(stored(held, scope))
    assert again.load_memory_variables({"input": "Maya"}) == {
        "history": "Human: Maya naps\nAI: ok",
        "entities": {"Maya": "Maya naps"},
    }


def test_sessions_are_apart(held, scope, driven):
    root = scope[0]
    turn(driven(stored(held, (root, "a"))), "Maya naps")
    other = driven(stored(held, (root, "b")))
    assert other.load_memory_variables({"input": "Maya"}) == {
        "history": "",
        "entities": {"Maya": ""},
    }


def test_a_session_id_is_enough(driven):
    store = InMemoryStore()
    memory = memory_of(Model(), store=store, session_id="s")
    turn(driven(memory), "Maya naps")
    item = store.get(("memory_store", "s", "entities"), "Maya")
    assert item.value["content"]["summary"] == "Maya naps"
    assert len(store.search(("memory_store", "s", "messages"))) == 2
    assert memory.base_store is store
    assert dict(memory.store) == {"Maya": "Maya naps"}


def test_a_durable_entity_store_keeps_the_messages_too(tmp_path, driven):
    def memory():
        entities = SQLiteEntityStore("s", db_file=str(tmp_path / "e.db"))
        return memory_of(Model(), entity_store=entities)

    turn(driven(memory()), "Maya naps")
    again = memory()
    assert [m.content for m in again.buffer] == ["Maya naps", "ok"]
    assert again.entity_store.get("Maya") == "Maya naps"
    assert dict(again.store) == {"Maya": "Maya naps"}
    assert again.base_store is again.entity_store.base_store


def test_messages_beside_entities_that_end_end_with_them(redis_url, driven):
    from holdover.compat.entity import RedisEntityStore

    memory = memory_of(
        Model(), entity_store=RedisEntityStore("s", redis_url, ttl=60, recall_ttl=90)
    )
    turn(driven(memory), "Maya naps")
    assert memory.chat_memory.lifetime.total_seconds() == 90
    (message, _) = memory.repository.page("message")
    assert "expires_at" in message.meta


def test_a_private_entity_store_keeps_the_messages_private():
    memory = memory_of(Model(), entity_store=InMemoryEntityStore({"Maya": "x"}))
    assert type(memory.chat_memory).__name__ == "ChatMessageHistory"
    with pytest.raises(ValueError, match="store"):
        _ = memory.base_store


def test_an_entity_store_of_somebody_else(driven):
    memory = memory_of(Model(), entity_store=Notebook())
    mine = driven(memory)
    turn(mine, "Maya naps")
    assert turn(mine, "Maya sings")["entities"] == {"Maya": "Maya naps"}
    assert memory.entity_store.pages == {"Maya": "Maya naps Maya sings"}
    mine.clear()
    assert memory.entity_store.pages == {}


def test_somebody_elses_store_leaves_the_event_loop(loop):
    threads = []

    class Slow(Notebook):
        def get(self, key, default=None):
            threads.append(threading.current_thread())
            return default

    memory = memory_of(Model(), entity_store=Slow())
    turn(Driven(memory, "async", loop), "Maya naps")
    assert threads
    assert loop._thread not in threads


def test_our_store_with_a_method_of_somebody_else(driven):
    noted = []

    class Noting(InMemoryEntityStore):
        def set(self, key, value):
            noted.append(key)
            super().set(key, value)

    turn(driven(memory_of(Model(), entity_store=Noting())), "Maya naps")
    assert noted == ["Maya"]


def test_a_mapping_gives_the_first_entities_as_it_did(driven):
    memory = memory_of(
        Model(), store={"Maya": "astronomer"}, buffer=["Human: hi", "AI: hello", "so"]
    )
    assert memory.store == {"Maya": "astronomer"}
    assert [(m.type, m.content) for m in memory.buffer] == [
        ("human", "hi"),
        ("ai", "hello"),
        ("human", "so"),
    ]
    assert turn(driven(memory), "Maya")["entities"] == {"Maya": "astronomer"}


@pytest.mark.parametrize(
    "fields", [{"store": {"Maya": "x"}}, {"buffer": ["Human: hi"]}]
)
def test_first_contents_of_a_shared_session_are_refused(fields):
    entities = InMemoryEntityStore(InMemoryStore(), session_id="s")
    with pytest.raises(ValueError, match="itself"):
        memory_of(Model(), entity_store=entities, **fields)


def test_clear_removes_this_session_and_no_other(held, scope, driven):
    root = scope[0]
    mine, other = (driven(stored(held, (root, name))) for name in "ab")
    for memory in (mine, other):
        turn(memory, "Maya naps")
    mine.clear()
    assert mine.load_memory_variables({"input": "Maya"}) == {
        "history": "",
        "entities": {"Maya": ""},
    }
    assert other.load_memory_variables({"input": "Maya"})["entities"] == {
        "Maya": "Maya naps"
    }


def test_clear_empties_the_cache_and_the_names(driven):
    memory = memory_of(saying("Deven Smith", "Deven"))
    turn(driven(memory), "one")
    turn(driven(memory), "two")
    driven(memory).clear()
    assert (memory.buffer, memory.entity_cache, dict(memory.store)) == ([], [], {})
    assert memory.aliases() == {}


# Copies.


@pytest.mark.parametrize("place", ["private", "stored"])
def test_to_dict_and_back(place, driven):
    import json

    fields = {} if place == "private" else {"store": InMemoryStore(), "session_id": "s"}
    memory = memory_of(saying("Deven Smith", "Deven"), **fields)
    turn(driven(memory), "one")
    turn(driven(memory), "two")
    data = json.loads(json.dumps(memory.to_dict()))
    again = ConversationEntityMemory.from_dict(data, llm=Model().llm, **PROMPTS)
    assert dict(again.store) == {"Deven Smith": "one two"}
    assert again.aliases() == {"Deven Smith": ["Deven"]}
    assert again.entity_cache == ["Deven Smith"]
    assert [m.content for m in again.buffer] == ["one", "ok", "two", "ok"]
    assert again.k == memory.k


def test_from_dict_leaves_a_session_that_is_there_alone():
    store = InMemoryStore()
    memory = memory_of(Model(), store=store, session_id="s")
    turn(memory, "Maya naps")
    data = memory.to_dict()
    turn(memory, "Maya sings")
    again = ConversationEntityMemory.from_dict(
        data, llm=Model().llm, store=store, **PROMPTS
    )
    assert dict(again.store) == {"Maya": "Maya naps Maya sings"}
    assert len(again.buffer) == 4


def test_json_of_pydantic():
    memory = memory_of(Model(), store={"Maya": "x"}, buffer=["Human: hi"])
    data = memory.model_dump(mode="json", exclude=set(PROMPTS))
    again = ConversationEntityMemory.model_validate({**data, "llm": Model().llm})
    assert again.store == {"Maya": "x"}
    assert [m.content for m in again.buffer] == ["hi"]
    assert '"Maya":"x"' in memory.model_dump_json(exclude=set(PROMPTS))


def test_a_deep_copy_of_a_private_memory_is_apart():
    memory = memory_of(saying("Ana", "Ben"))
    turn(memory, "one")
    other = copy.deepcopy(memory)
    turn(other, "two")
    assert (list(memory.store), list(other.store)) == (["Ana"], ["Ana", "Ben"])
    assert len(memory.buffer) == 2


def test_a_deep_copy_on_a_store_works_on_the_same_records(scope):
    memory = memory_of(Model(), store=InMemoryStore(), scope=scope)
    other = copy.deepcopy(memory)
    turn(other, "Maya naps")
    assert dict(memory.store) == {"Maya": "Maya naps"}


def test_a_pickle(tmp_path):
    from langchain_core.language_models import FakeListLLM

    def memory(**fields):
        llm = FakeListLLM(responses=["Maya", "Maya naps."])
        return ConversationEntityMemory(llm=llm, **PROMPTS, **fields)

    private = memory()
    turn(private, "Maya naps")
    again = pickle.loads(pickle.dumps(private))
    assert again.store == {"Maya": "Maya naps."}
    assert (again.entity_cache, len(again.buffer)) == (["Maya"], 2)
    durable = memory(
        entity_store=SQLiteEntityStore("s", db_file=str(tmp_path / "e.db"))
    )
    turn(durable, "Maya naps")
    again = pickle.loads(pickle.dumps(durable))
    assert dict(again.store) == {"Maya": "Maya naps."}
    assert len(again.buffer) == 2


def test_constructing_opens_nothing(tmp_path):
    path = tmp_path / "memory.db"
    memory_of(Model(), store=str(path), session_id="s")
    memory_of(Model(), entity_store=SQLiteEntityStore("s", db_file=str(path)))
    assert not path.exists()


def test_constructing_warns_of_nothing_but_unknown_arguments():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        memory_of(Model(), memory_key="x", buffer=[], store={})
    assert [str(one.message) for one in caught] == []
    with pytest.warns(UserWarning, match="no_such_thing"):
        memory_of(Model(), no_such_thing=1)


def test_the_classic_prompts_are_the_default():
    from holdover.compat import prompt

    memory = ConversationEntityMemory(llm=Model().llm)
    assert memory.entity_extraction_prompt == prompt.ENTITY_EXTRACTION_PROMPT
    assert memory.entity_summarization_prompt == prompt.ENTITY_SUMMARIZATION_PROMPT
    assert {*EXTRACT.input_variables} == {
        *prompt.ENTITY_EXTRACTION_PROMPT.input_variables
    }
    assert {*SUMMARISE.input_variables} == {
        *prompt.ENTITY_SUMMARIZATION_PROMPT.input_variables
    }


@pytest.mark.parametrize(
    "fields",
    [
        {"debounce": -1},
        {"max_summary_chars": 0},
        {"max_entities": -1},
        {"entity_store": object()},
        {"llm": "gpt"},
    ],
)
def test_bad_settings_are_refused(fields):
    with pytest.raises(ValueError):
        ConversationEntityMemory(**{"llm": Model().llm, **fields})


def test_nothing_is_learnt_of_a_conversation_that_is_cleared_meanwhile(driven, scope):
    for where in ({}, {"store": InMemoryStore(), "scope": scope}):
        model = Model()
        memory = memory_of(model, **where)
        turn(driven(memory), "Ben sings")

        def summary(entity, before, history, said, memory=memory):
            memory.clear()
            return f"{before} {said}".strip()

        model.summary = summary
        turn(driven(memory), "Ana sings")

        assert dict(memory.store) == {}
        assert memory.buffer == []
