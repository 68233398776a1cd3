"""States of every form, also of classes of which the corpus has no pickle."""

from __future__ import annotations

import copy
import functools
import pickle
import subprocess
import sys
import threading
import tracemalloc
import types
from typing import Any

import langchain_core.chat_history as core_history
import pytest
from fake_models import WordModel
from hypothesis import given
from hypothesis import strategies as st
from langchain_core import messages as core
from langchain_core.documents import Document
from langchain_core.language_models import FakeListLLM
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.prompts import PromptTemplate
from pydantic import Field, PrivateAttr
from vector_stores import Vectors

from holdover import compat
from holdover.compat import base, shim
from holdover.compat.graph import EntityGraph
from holdover.compat.placeholders import is_lost


class State:
    """Pickled as an object of another class, with a state it may once have had."""

    def __init__(self, kind, state=None):
        self.kind, self.state = kind, state

    def __reduce_ex__(self, protocol):
        made = (object.__new__, (self.kind,))
        return made if self.state is None else (*made, self.state)


def pydantic_1(kind, private=None, **fields):
    return State(
        kind,
        {
            "__dict__": fields,
            "__fields_set__": set(fields),
            "__private_attribute_values__": private or {},
        },
    )


def pydantic_2(kind, private=None, **fields):
    return State(
        kind,
        {
            "__dict__": fields,
            "__pydantic_extra__": None,
            "__pydantic_fields_set__": set(fields),
            "__pydantic_private__": private,
        },
    )


both_forms = pytest.mark.parametrize("form", [pydantic_1, pydantic_2])
both_ways = pytest.mark.parametrize("loads", [pickle.loads, shim.loads])


def through(loads, state):
    return loads(pickle.dumps(state))


def old_history(*texts):
    kinds = (HumanMessage, AIMessage)
    said = [
        pydantic_1(kinds[at % 2], content=text, additional_kwargs={}, example=False)
        for at, text in enumerate(texts)
    ]
    return pydantic_1(compat.ChatMessageHistory, messages=said)


@both_ways
@both_forms
def test_fields_that_nobody_knows_any_more_are_left_out(form, loads):
    memory = through(
        loads,
        form(
            compat.ConversationBufferMemory,
            memory_key="chat",
            verbose=True,
            callbacks=[1],
            callback_manager={"x": 1},
            lc_kwargs={"memory_key": "wrong"},
            _lc_kwargs={},
        ),
    )

    assert memory.memory_key == "chat"
    assert (
        memory.model_dump().keys()
        == compat.ConversationBufferMemory().model_dump().keys()
    )
    for name in ("verbose", "callbacks", "callback_manager", "lc_kwargs"):
        assert not hasattr(memory, name)


@both_ways
@both_forms
def test_fields_that_came_later_have_their_defaults(form, loads):
    memory = through(loads, form(compat.ConversationEntityMemory, llm=WordModel()))
    fresh = compat.ConversationEntityMemory(llm=WordModel())

    assert memory.to_dict() == fresh.to_dict()
    assert memory.entity_extraction_prompt == fresh.entity_extraction_prompt


class Mine(compat.ConversationBufferMemory):
    """A user's own class, that takes arguments of its own."""

    tenant: str
    tags: list[str] = Field(default_factory=list)
    _seen: int = PrivateAttr(default=0)

    def __init__(self, tenant):
        super().__init__(tenant=tenant)


@both_ways
@both_forms
def test_a_users_own_subclass_keeps_its_own_fields(form, loads):
    memory = through(
        loads,
        form(
            Mine,
            private={"_seen": 3},
            chat_memory=old_history("hi", "hello"),
            tenant="acme",
            tags=["a"],
        ),
    )

    assert type(memory) is Mine
    assert (memory.tenant, memory.tags, memory._seen) == ("acme", ["a"], 3)
    assert memory.buffer == "Human: hi\nAI: hello"
    memory.save_context({"input": "more"}, {"output": "yes"})
    assert memory.buffer.endswith("\nHuman: more\nAI: yes")
    assert pickle.loads(pickle.dumps(memory)).to_dict() == memory.to_dict()


@both_ways
@both_forms
def test_a_summary_with_a_history_of_the_pickle_is_not_made_again(form, loads):
    model = WordModel(answers=["all of it"])
    memory = through(
        loads,
        form(
            compat.ConversationSummaryMemory,
            llm=model,
            buffer="so far",
            chat_memory=old_history("hi", "hello"),
        ),
    )
    assert memory.buffer == "so far"

    memory.save_context({"input": "more"}, {"output": "yes"})

    (prompt,) = memory.llm.prompts
    assert "hello" not in prompt
    assert "so far" in prompt
    assert memory.buffer == "all of it"


@both_ways
@both_forms
def test_a_history_without_any_summary_yet_is_summarised(form, loads):
    memory = through(
        loads,
        form(
            compat.ConversationSummaryMemory,
            llm=WordModel(answers=["all of it"]),
            buffer="",
            chat_memory=old_history("hi", "hello"),
        ),
    )

    memory.save_context({"input": "more"}, {"output": "yes"})

    assert "hello" in memory.llm.prompts[0]


@both_ways
@both_forms
def test_the_entities_of_an_entity_store(form, loads):
    entities = {"Sam": "A hiker.", "Nil": None, "Empty": ""}
    store = through(loads, form(compat.InMemoryEntityStore, store=entities))

    assert store.store == entities
    store.set("Lyon", "A town.")
    assert store.get("Lyon") == "A town."
    assert copy.deepcopy(store).store == {**entities, "Lyon": "A town."}
    assert pickle.loads(pickle.dumps(store)).store == store.store


@both_ways
@both_forms
def test_an_entity_store_of_sqlite_reads_on_in_its_file(form, loads, tmp_path):
    file = tmp_path / "entities.db"
    store = through(
        loads,
        form(
            compat.SQLiteEntityStore,
            session_id="s",
            table_name="memory_store",
            db_file=str(file),
            conn=None,
        ),
    )
    store.set("Sam", "A hiker.")

    assert compat.SQLiteEntityStore("s", str(file)).get("Sam") == "A hiker."


@both_ways
@both_forms
def test_an_entity_store_of_redis_has_its_address(form, loads):
    store = through(
        loads,
        form(
            compat.RedisEntityStore, session_id="s", key_prefix="p", ttl=5, recall_ttl=9
        ),
    )

    assert (store.session_id, store.key_prefix) == ("s", "p")
    assert (store.ttl, store.recall_ttl) == (5, 9)


def test_an_entity_store_without_a_state_is_empty_and_says_so():
    store = State(compat.InMemoryEntityStore)
    memory = pydantic_1(
        compat.ConversationEntityMemory, llm=WordModel(), entity_store=store
    )

    with pytest.warns(UserWarning, match="in no pickle"):
        made = through(pickle.loads, memory)

    assert made.entity_store.store == {}
    made.entity_store.set("Sam", "A hiker.")
    assert made.entity_store.get("Sam") == "A hiker."


@both_ways
@both_forms
def test_a_memory_over_a_retriever(form, loads):
    store = Vectors()
    store.add_documents([Document("input: hi\noutput: hello")])
    retriever = State(type(store.as_retriever()), store.as_retriever().__getstate__())
    memory = through(
        loads,
        form(
            compat.VectorStoreRetrieverMemory,
            retriever=retriever,
            memory_key="known",
            input_key="input",
            return_docs=False,
        ),
    )

    assert memory.load_memory_variables({"input": "hi"}) == {
        "known": "input: hi\noutput: hello"
    }


@both_forms
def test_a_retriever_that_is_gone_is_a_placeholder(form):
    gone = State(threading.Thread)  # pickled under another name below
    data = pickle.dumps(
        form(
            compat.VectorStoreRetrieverMemory,
            retriever=gone,
            memory_key="known",
        ),
        protocol=0,
    ).replace(b"cthreading\nThread\n", b"cgone\nRetriever\n")

    memory = shim.loads(data)

    assert is_lost(memory.retriever)
    assert memory.memory_key == "known"
    memory.retriever = Vectors().as_retriever()
    memory.save_context({"input": "hi"}, {"output": "hello"})
    assert "hello" in memory.load_memory_variables({"input": "hi"})["known"]


@both_ways
@both_forms
@pytest.mark.parametrize(
    "kind",
    [compat.AgentTokenBufferMemory, compat.ConversationTokenBufferMemory,
     compat.ConversationSummaryBufferMemory, compat.ConversationKGMemory],
)  # fmt: skip
def test_memories_with_a_model(form, loads, kind):
    memory = through(
        loads,
        form(
            kind,
            llm=WordModel(answers=["NONE"]),
            memory_key="known",
            chat_memory=old_history("hi", "hello"),
        ),
    )

    assert memory.memory_variables == ["known"]
    steps = (
        {"intermediate_steps": []} if hasattr(memory, "intermediate_steps_key") else {}
    )
    memory.save_context({"input": "more"}, {"output": "yes", **steps})
    assert [one.content for one in memory.chat_memory.messages[-4:]] == [
        "hi", "hello", "more", "yes",
    ]  # fmt: skip


@both_forms
def test_a_history_that_is_gone_is_a_placeholder(form):
    data = pickle.dumps(
        form(
            compat.ConversationSummaryMemory,
            llm=WordModel(answers=["all of it"]),
            buffer="so far",
            chat_memory=State(threading.Thread, {"session_id": "s"}),
        ),
        protocol=0,
    ).replace(b"cthreading\nThread\n", b"cgone\nHistory\n")

    memory = shim.loads(data)

    assert is_lost(memory.chat_memory)
    assert memory.chat_memory.session_id == "s"
    assert memory.buffer == "so far"
    memory.chat_memory = compat.ChatMessageHistory()
    memory.save_context({"input": "more"}, {"output": "yes"})
    assert memory.buffer == "all of it"


@both_ways
def test_a_history_of_a_service_has_its_address(loads):
    old = {"session_id": "s", "key_prefix": "p:", "ttl": 5, "unheard_of": 1}
    history = through(loads, State(compat.RedisChatMessageHistory, old))

    assert (history.session_id, history.key, history.ttl) == ("s", "p:s", 5)


def test_histories_of_ours_are_pickled_as_ever(tmp_path):
    history = compat.FileChatMessageHistory(tmp_path / "f.json", legacy="off")
    history.add_user_message("hi")
    again = pickle.loads(pickle.dumps(history))

    assert [one.content for one in again.messages] == ["hi"]
    assert vars(again).keys() == vars(history).keys()
    assert vars(again).keys() == vars(shim.loads(pickle.dumps(history))).keys()


@both_ways
def test_a_graph_of_networkx(loads):
    graph = State(
        EntityGraph,
        {"_graph": Adjacent({"Sam": {"Lyon": {"relation": "lives in"}}, "Lyon": {}})},
    )
    made = through(loads, graph)

    assert made.get_triples() == [("Sam", "Lyon", "lives in")]
    made.add_triple(("Sam", "is a", "hiker"))
    assert made.get_number_of_nodes() == 3
    assert pickle.loads(pickle.dumps(made)).get_triples() == made.get_triples()


class Adjacent:
    def __init__(self, adjacent):
        self._adj = adjacent


class Application:
    """Somebody else's class, which holds what is old."""

    def __init__(self, **parts):
        self.__dict__.update(parts)


class WithSlots:
    __slots__ = ("part",)

    def __init__(self, part):
        self.part = part


@pytest.mark.parametrize(
    "hold",
    [lambda one: [one], lambda one: {"a": (one,)}, lambda one: Application(part=one),
     lambda one: Application(deep=[{"a": Application(part=one)}]), WithSlots,
     lambda one: pydantic_1(core_history.InMemoryChatMessageHistory, messages=[one])],
)  # fmt: skip
def test_messages_are_whole_wherever_they_are(hold):
    message = pydantic_1(HumanMessage, content="hi", additional_kwargs={"a": 1})
    made = through(shim.loads, Application(held=hold(message), same=message))

    expected = HumanMessage("hi", additional_kwargs={"a": 1})
    assert made.same == expected
    assert made.same.model_dump() == expected.model_dump()
    assert made.same in _everything(made.held)


def _everything(one):
    if isinstance(one, core.BaseMessage):
        return [one]
    if isinstance(one, dict):
        one = list(one.values())
    elif isinstance(one, WithSlots):
        one = [one.part]
    elif not isinstance(one, list | tuple):
        one = list(vars(one).values())
    return [message for part in one for message in _everything(part)]


def test_a_message_in_two_places_is_one():
    message = pydantic_1(HumanMessage, content="hi", additional_kwargs={})
    first, second = through(shim.loads, [message, {"again": message}])

    assert second["again"] is first


@given(
    st.fixed_dictionaries(
        {"content": st.text(),
         "additional_kwargs": st.dictionaries(st.text(), st.text())},
        optional={"name": st.text(), "id": st.text(), "said_by": st.text(),
                  "example": st.booleans(), "lc_kwargs": st.just({"content": "x"})},
    ),
    st.sampled_from([HumanMessage, AIMessage, core.SystemMessage]),
    st.sampled_from([pydantic_1, pydantic_2]),
)  # fmt: skip
def test_an_old_message_is_the_message_of_today_with_these_fields(fields, kind, form):
    message = through(shim.loads, form(kind, **fields))
    told = {n: v for n, v in fields.items() if n != "lc_kwargs" and v is not False}

    expected = kind(**told)
    assert message == expected
    assert message.model_dump() == expected.model_dump()
    for name, value in told.items():
        assert getattr(message, name) == value


@both_forms
def test_of_an_old_message_only_what_says_something_counts_as_set(form):
    message = through(
        shim.loads,
        form(AIMessage, content="", additional_kwargs={}, name=None, example=False),
    )

    assert message.model_dump(exclude_unset=True) == {"content": ""}
    message.name = "Ann"
    assert message.model_dump(exclude_unset=True) == {"content": "", "name": "Ann"}


@both_forms
def test_models_of_others_have_fields_that_came_later(form):
    llm = through(shim.loads, form(FakeListLLM, responses=["a", "b"], i=1, cache=None))

    assert llm.tags is None
    assert llm.metadata == FakeListLLM(responses=["a"]).metadata
    assert llm.invoke("?") == "b"
    assert llm.model_dump().keys() == FakeListLLM(responses=["a"]).model_dump().keys()


class LearntToCount(core_history.BaseChatMessageHistory):
    """A history whose constructor takes more than it did once."""

    def __init__(self, path, encoding="utf-8", start=0):
        self.path, self.encoding, self.start = path, encoding, start

    @property
    def messages(self):
        return [HumanMessage(f"{self.path} {self.encoding} {self.start}")]

    def clear(self):
        """Do nothing."""


def test_histories_of_others_have_what_their_constructor_learnt_since():
    old = State(LearntToCount, {"path": "f", "start": 2})
    memory = through(
        shim.loads, pydantic_1(compat.ConversationBufferMemory, chat_memory=old)
    )

    assert memory.buffer == "Human: f utf-8 2"


@both_forms
def test_the_facts_in_a_graph_that_is_gone(form):
    inner = State(threading.Thread, {"_adj": {"Sam": {"Lyon": {"relation": "likes"}}}})
    graph = State(threading.Thread, {"_graph": inner})
    old = form(compat.ConversationKGMemory, llm=WordModel(), kg=graph)
    data = pickle.dumps(old, protocol=0)

    memory = shim.loads(data.replace(b"cthreading\nThread\n", b"cgone\nGraph\n"))

    assert isinstance(memory.kg, EntityGraph)
    assert memory.kg.get_triples() == [("Sam", "Lyon", "likes")]


def test_a_message_that_would_be_refused_today_keeps_what_it_says():
    message = through(
        shim.loads, pydantic_1(HumanMessage, content=5, additional_kwargs={})
    )

    assert message.content == 5
    assert message.type == "human"
    assert message.model_fields_set >= {"content"}


def test_a_model_and_a_prompt_work_that_pydantic_1_pickled():
    made = through(
        shim.loads,
        {
            "llm": pydantic_1(FakeListLLM, responses=["a", "b"], i=1, cache=None),
            "prompt": pydantic_1(
                PromptTemplate,
                input_variables=["x"],
                template="say {x}",
                template_format="f-string",
                validate_template=True,
                partial_variables={},
                output_parser=None,
                lc_kwargs={},
            ),
        },
    )

    assert made["llm"].invoke("?") == "b"
    assert made["prompt"].format(x="it") == "say it"
    assert made["prompt"] == PromptTemplate(
        input_variables=["x"], template="say {x}", validate_template=True
    )


def test_a_state_of_today_is_left_as_it_is():
    memory = compat.ConversationBufferMemory(session_id="s")
    memory.save_context({"input": "hi"}, {"output": "hello"})
    llm = FakeListLLM(responses=["a"])

    for one in (memory, llm, HumanMessage("hi", id="1")):
        made = shim.loads(pickle.dumps(one))
        assert made.__getstate__()["__dict__"] == one.__getstate__()["__dict__"]
        assert made.model_fields_set == one.model_fields_set
    assert shim.loads(pickle.dumps(memory)).to_dict() == memory.to_dict()


def test_a_class_of_nothing_that_a_module_has_for_one_it_cannot_import(monkeypatch):
    """As langchain_community's has it where classic packages are missing."""
    module = types.ModuleType("langchain_community.memory.kg")
    exec("class ConversationKGMemory: pass\nclass Other: pass", vars(module))
    for name in ("langchain_community", "langchain_community.memory", module.__name__):
        monkeypatch.setitem(sys.modules, name, module)

    data = b"clangchain_community.memory.kg\n%s\n."
    assert shim.loads(data % b"ConversationKGMemory") is compat.ConversationKGMemory
    assert shim.loads(data % b"Other") is module.Other


BODIES = {
    "pass": True, "...": True, '"""Nothing."""': True,
    # As the classes of Python 3.13 have it, and others where it is written.
    "__firstlineno__ = 1; __static_attributes__ = ()": True,
    "x = 1": False, "def f(self): pass": False, "__slots__ = ()": False,
    "x: int": False,
}  # fmt: skip


@pytest.mark.parametrize(("body", "is_hollow"), BODIES.items())
def test_what_is_a_class_of_nothing(monkeypatch, body, is_hollow):
    module = types.ModuleType("langchain_community.memory.kg")
    exec(f"class ConversationKGMemory:\n    {body}", vars(module))
    for name in ("langchain_community", "langchain_community.memory", module.__name__):
        monkeypatch.setitem(sys.modules, name, module)
    expected = compat.ConversationKGMemory if is_hollow else module.ConversationKGMemory

    found = shim.loads(b"clangchain_community.memory.kg\nConversationKGMemory\n.")

    assert found is expected


class Counted(HumanMessage):
    """A user's own kind of message."""

    @functools.cached_property
    def words(self):
        return self.content.split()


def test_what_a_cached_property_left_in_a_message_is_no_value_of_it():
    message = Counted("a b", additional_kwargs={"said": 1})
    assert message.words == ["a", "b"]

    made = shim.loads(pickle.dumps(message))

    assert made == message
    assert made.model_extra == message.model_extra == {}
    assert vars(made) == vars(message)
    old = through(
        shim.loads,
        pydantic_1(Counted, content="a b", additional_kwargs={}, words=["a", "b"]),
    )
    assert old == Counted("a b")
    assert old.words == ["a", "b"]


class ByName(HumanMessage):
    """Pickled by a name, as an object that stays where it is."""

    def __reduce__(self):
        return "LIVE"


# As a program may have it that read an old pickle without the shim.
LIVE = ByName.__new__(ByName)
LIVE.__setstate__({"__dict__": {"content": "hi", "example": False}})


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_what_a_name_leads_to_stays_as_it_is(protocol):
    before = dict(vars(LIVE))
    kept = pydantic_1(ByName, content="hi", additional_kwargs={})

    live, made, again = shim.loads(
        pickle.dumps([LIVE, kept, {"again": LIVE}], protocol)
    )

    assert live is again["again"] is LIVE
    assert vars(LIVE) == before
    assert made == ByName("hi")


def handed_out(name):
    return globals()[name]


class HandedOut:
    """Pickled as what a function of the program gives."""

    def __init__(self, name):
        self.name = name

    def __reduce__(self):
        return handed_out, (self.name,)


SERVICE = LearntToCount.__new__(LearntToCount)
WHOLE = Counted("hi")


def test_what_a_function_hands_out_stays_as_it_is_if_the_pickle_makes_none_of_these():
    before = dict(vars(LIVE))
    service = dict(vars(SERVICE))
    live, other = shim.loads(pickle.dumps([HandedOut("LIVE"), HandedOut("SERVICE")]))

    assert (live is LIVE, other is SERVICE) == (True, True)
    assert vars(LIVE) == before
    assert vars(SERVICE) == service


@both_ways
def test_what_is_whole_stays_as_it_is_wherever_it_comes_from(loads):
    assert WHOLE.words == ["hi"]
    before, told = dict(vars(WHOLE)), set(WHOLE.model_fields_set)
    of_one_class = pydantic_1(Counted, content="x", additional_kwargs={})
    history = pydantic_1(
        compat.ChatMessageHistory, messages=[HandedOut("WHOLE"), of_one_class]
    )

    made = through(
        loads, pydantic_1(compat.ConversationBufferMemory, chat_memory=history)
    )

    assert made.chat_memory.messages[0] is WHOLE
    assert (vars(WHOLE), WHOLE.model_fields_set) == (before, told)


class KeepsOtherNames(core_history.BaseChatMessageHistory):
    """A history whose arguments are no attributes."""

    def __init__(self, path, encoding="utf-8"):
        self._at = path, encoding

    messages = ()

    def clear(self):
        """Do nothing."""


def test_a_history_that_keeps_its_arguments_under_other_names_is_given_none():
    made = through(shim.loads, State(KeepsOtherNames, {"_at": ("f", "utf-8")}))

    assert vars(made) == {"_at": ("f", "utf-8")}


class Awkward:
    """Raises whatever it is asked."""

    __slots__ = ("__dict__", "__private", "part")

    def __init__(self, part):
        self.part, self.own, self.__private = part, part, part

    def __getattr__(self, name):
        # What pickle asks each object for.
        raise (AttributeError if name == "__setstate__" else RuntimeError)(name)


class Stubborn(Awkward):
    """Raises even more."""

    __slots__ = ()

    def __getattribute__(self, name):
        if name in ("__dict__", "__class__"):
            raise RuntimeError(name)
        return super().__getattribute__(name)


class Emptied(Awkward):
    """Has slots with nothing in them."""

    __slots__ = ("never",)


@pytest.mark.parametrize("kind", [Awkward, Emptied])
def test_objects_that_raise_when_they_are_asked_are_read(kind):
    message = pydantic_1(HumanMessage, content="hi", additional_kwargs={})

    made = through(shim.loads, Restored(kind, message))

    assert type(made) is kind
    assert made.own == HumanMessage("hi")
    if kind is Awkward:
        assert made.part is made.own
        assert made._Awkward__private is made.own


def test_an_object_without_anything_to_see_is_read():
    made = shim.loads(pickle.dumps(HandedOut("STUBBORN")))

    assert made is STUBBORN


STUBBORN = Stubborn(5)


class Restored:
    """Pickled as an awkward object with a part that is old."""

    def __init__(self, kind, part):
        self.kind, self.part = kind, part

    def __reduce__(self):
        slots = {"part": self.part, "_Awkward__private": self.part}
        state = {"own": self.part}, {} if self.kind is Emptied else slots
        return object.__new__, (self.kind,), state


def test_many_plain_values_cost_little():
    numbers = [float(one) for one in range(300_000)]
    data = pickle.dumps([numbers, dict.fromkeys(range(1000))])

    tracemalloc.start()
    try:
        pickle.loads(data)
        plain = tracemalloc.get_traced_memory()[1]
        tracemalloc.reset_peak()
        shim.loads(data)
        ours = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert ours < plain * 1.5 + 1_000_000


@both_ways
@both_forms
@pytest.mark.parametrize("name", ["chat_memory", "entity_cache", "buffer"])
def test_none_where_there_is_a_list_is_nothing(form, loads, name):
    kind = compat.ConversationEntityMemory
    if name != "entity_cache":
        kind = compat.ConversationBufferMemory
    more = {"llm": WordModel()} if name == "entity_cache" else {}

    memory = through(loads, form(kind, **more, **{name: None}))

    assert memory.chat_memory.messages == []
    assert memory.to_dict() == kind(**more).to_dict()


def test_a_history_of_none_is_empty():
    made = through(shim.loads, pydantic_1(compat.ChatMessageHistory, messages=None))

    assert made.messages == []


def test_reading_a_pickle_is_no_use_of_an_old_path(monkeypatch):
    """Nobody can rewrite the file; `pickle.load` under the shim is one."""
    monkeypatch.setenv("HOLDOVER_SHIM", "error")
    gone = b"clangchain.callbacks.shared\nSharedCallbackManager\n"
    data = b"(clangchain.prompts.prompt\nPromptTemplate\n" + gone + b"l."

    with shim.installed():
        prompt, gone = shim.loads(data)
        assert shim.report().uses == ()

    assert prompt is PromptTemplate or base.CLASSIC == "langchain"
    assert is_lost(gone)


def test_nothing_of_this_is_loaded_where_no_state_is_old():
    program = (
        "import pickle, sys; from holdover import compat;"
        "memory = compat.ConversationEntityMemory.model_construct();"
        "memory = compat.ConversationBufferMemory();"
        "pickle.loads(pickle.dumps(memory));"
        "store = compat.InMemoryEntityStore({'a': 'b'});"
        "pickle.loads(pickle.dumps(store));"
        "print([n for n in sys.modules if n.startswith('holdover')])"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        capture_output=True, text=True, check=True,
    )  # fmt: skip

    assert "holdover.compat.memory" in done.stdout
    for module in ("old_states", "old_fields", "half_made", "placeholders", "spoken"):
        assert f"holdover.compat.{module}" not in done.stdout


def test_several_threads_load_at_once():
    data = pickle.dumps(
        pydantic_1(compat.ConversationBufferMemory, chat_memory=old_history("a", "b"))
    )
    made: list[Any] = []
    threads = [
        threading.Thread(target=lambda: made.append(shim.loads(data))) for _ in range(8)
    ]
    for one in threads:
        one.start()
    for one in threads:
        one.join()

    assert [memory.buffer for memory in made] == ["Human: a\nAI: b"] * 8
