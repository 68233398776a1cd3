"""Two objects are equal where classic's were: same class, settings and memories."""

from __future__ import annotations

import copy
import functools
import operator
import pickle
from typing import Generic, TypeVar
from unittest import mock

import pytest
from langchain_core.messages import HumanMessage
from langgraph.store.memory import InMemoryStore
from pydantic import BaseModel, PrivateAttr

from holdover import compat
from holdover.compat.base import BaseChatMessageHistory, BaseEntityStore
from holdover.compat.configuration import configure, configured
from holdover.compat.graph import EntityGraph


def _model():
    from langchain_core.language_models import FakeListLLM

    return FakeListLLM(responses=["NONE"] * 9)


MAKERS = {
    "ConversationBufferMemory": dict,
    "ConversationBufferWindowMemory": lambda: {"k": 3},
    "ConversationStringBufferMemory": dict,
    "ConversationSummaryMemory": lambda: {"llm": _model()},
    "ConversationSummaryBufferMemory": lambda: {"llm": _model(), "token_counter": len},
    "ConversationTokenBufferMemory": lambda: {"llm": _model(), "token_counter": len},
    "ConversationEntityMemory": lambda: {"llm": _model()},
    "ConversationKGMemory": lambda: {"llm": _model()},
    "AgentTokenBufferMemory": lambda: {
        "llm": _model(),
        "token_counter": len,
    },
    "SimpleMemory": lambda: {"memories": {"tea": "green"}},
    "InMemoryEntityStore": lambda: {"store": {"Ada": "a poet"}},
}


def say(memory):
    steps = {"intermediate_steps": []} if "Agent" in type(memory).__name__ else {}
    memory.save_context({"input": "hi"}, {"output": "ho", **steps})


def make(name, **more):
    return getattr(compat, name)(**MAKERS[name](), **more)


@pytest.mark.parametrize("name", MAKERS)
def test_two_that_were_made_alike_are_equal(name):
    one, other = make(name), make(name)

    assert one == other
    assert copy.deepcopy(one) == one
    assert one != object()
    with pytest.raises(TypeError, match="unhashable"):
        hash(one)


@pytest.mark.parametrize("name", sorted(MAKERS.keys() - {"SimpleMemory"}))
def test_what_one_of_them_remembers_tells_them_apart(name):
    one, other = make(name), make(name)
    if name == "InMemoryEntityStore":
        one.set("Ada", "a mathematician")
    else:
        say(one)

    assert one != other


@pytest.mark.parametrize("name", ["ConversationBufferMemory", "SimpleMemory"])
def test_one_that_was_pickled_is_equal_to_itself(name):
    one = make(name)
    say(one)

    assert pickle.loads(pickle.dumps(one)) == one


def test_settings_tell_them_apart():
    assert make("SimpleMemory") != compat.SimpleMemory(memories={})
    assert compat.ConversationBufferMemory() != compat.ConversationBufferMemory(
        memory_key="chat"
    )
    assert compat.ConversationBufferMemory() != compat.ConversationBufferWindowMemory()


IN_STORES = sorted(MAKERS.keys() - {"SimpleMemory"})
OVER_HISTORIES = sorted(
    name for name in IN_STORES if hasattr(getattr(compat, name), "from_dict")
    and "chat_memory" in getattr(compat, name).model_fields
)  # fmt: skip


def stored(name, where, who="ana", **more):
    given = {**MAKERS[name](), "store": where, "session_id": who, **more}
    return getattr(compat, name)(**given)


@pytest.mark.parametrize("name", IN_STORES)
def test_in_a_store_it_is_the_place_that_counts(name):
    store, another = InMemoryStore(), InMemoryStore()

    one = stored(name, store)
    assert one == stored(name, store)
    assert one != stored(name, store, "ben")
    assert one != stored(name, another)
    assert one != make(name)
    assert make(name) != one


@pytest.mark.parametrize("name", IN_STORES)
def test_in_a_store_what_one_of_them_did_meanwhile_is_seen_by_both(name):
    store = InMemoryStore()
    # A model for tests counts what it is asked.
    shared = {"llm": _model()} if "llm" in MAKERS[name]() else {}
    one, other = (stored(name, store, **shared) for _ in range(2))
    if name == "InMemoryEntityStore":
        one.set("Ada", "a mathematician")
    else:
        say(one)
        if "chat_memory" in type(one).model_fields:
            one.load_memory_variables({"input": "hi"})
            other.load_memory_variables({"input": "hi"})

    assert one == other


@pytest.mark.parametrize("name", IN_STORES)
def test_the_configured_store_and_its_scope_tell_them_apart(name):
    store = InMemoryStore()
    if name == "InMemoryEntityStore":
        named = lambda: compat.InMemoryEntityStore(session_id="s")  # noqa: E731
    else:
        named = lambda: make(name, session_id="s")  # noqa: E731
    configure(store=store)
    one = named()
    with configured(scope="acme"):
        elsewhere = named()

    assert one == named()
    assert one != elsewhere


@pytest.mark.parametrize("name", OVER_HISTORIES)
def test_it_is_the_place_of_a_history_that_was_given(name):
    store = InMemoryStore()
    over = lambda who, **more: make(  # noqa: E731
        name, chat_memory=compat.StoreChatMessageHistory(who, store, **more)
    )

    assert over("ana") == over("ana")
    assert over("ana") != over("ben")
    assert over("ana") != over("ana", ttl=60)
    assert over("ana") != make(name)


def test_histories_of_files_are_the_same_for_one_file(tmp_path):
    over = lambda file: compat.ConversationBufferMemory(  # noqa: E731
        chat_memory=compat.FileChatMessageHistory(tmp_path / file)
    )

    assert over("a.json") == over("a.json")
    assert over("a.json") != over("b.json")
    assert list(tmp_path.iterdir()) == []


def test_histories_of_databases(tmp_path):
    pytest.importorskip("sqlalchemy")
    over = lambda address: compat.ConversationBufferMemory(  # noqa: E731
        chat_memory=compat.SQLChatMessageHistory("s", connection=address)
    )
    file = f"sqlite:///{tmp_path / 'a.db'}"

    assert over(file) == over(file)
    assert over(file) != over(f"{file}.old")
    in_memory = over("sqlite://")
    assert in_memory == in_memory  # noqa: PLR0124 - whose history is no other's
    assert in_memory != over("sqlite://")


def test_a_history_itself_stays_one_of_many():
    """As classic's: an application may have histories in a set or as keys."""
    store = InMemoryStore()
    one, other = (compat.StoreChatMessageHistory("s", store) for _ in range(2))

    assert one != other
    assert len({one, other}) == 2
    assert one.is_same(other)
    assert not one.is_same(compat.StoreChatMessageHistory("t", store))
    assert not one.is_same(compat.ChatMessageHistory())


class Unreadable(BaseChatMessageHistory):
    """A history whose service is away."""

    def __init__(self, session_id="s"):
        self.session_id = session_id

    @property
    def messages(self):
        raise ConnectionError("nobody there")

    @messages.setter
    def messages(self, messages):
        raise ConnectionError("nobody there")

    async def aget_messages(self):
        raise ConnectionError("nobody there")

    def add_messages(self, messages):
        raise ConnectionError("nobody there")

    def clear(self):
        raise ConnectionError("nobody there")


class UnreadableEntities(BaseEntityStore):
    """An entity store whose service is away."""

    @property
    def store(self):
        raise ConnectionError("nobody there")

    def get(self, key, default=None):
        raise ConnectionError("nobody there")

    def set(self, key, value):
        raise ConnectionError("nobody there")

    delete = exists = get

    def clear(self):
        raise ConnectionError("nobody there")


class UnreadableStore(InMemoryStore):
    """A store that is away."""

    def batch(self, ops):
        raise ConnectionError("nobody there")

    async def abatch(self, ops):
        raise ConnectionError("nobody there")


@pytest.mark.parametrize("name", OVER_HISTORIES)
def test_of_a_history_of_others_nothing_is_read(name):
    history = Unreadable()
    one, other = make(name, chat_memory=history), make(name, chat_memory=history)

    assert one == other
    assert one == one  # noqa: PLR0124 - the same object
    assert one != make(name, chat_memory=Unreadable())
    assert one != make(name)


def test_of_an_entity_store_of_others_nothing_is_read():
    one, other = (
        make("ConversationEntityMemory", entity_store=UnreadableEntities())
        for _ in range(2)
    )

    assert one == other
    one._state.names.seen["Ada"] = None
    one._state.names.change("Ada", ["the countess"], [])
    assert one != other


@pytest.mark.parametrize("name", IN_STORES)
def test_nothing_is_read_from_a_store(name):
    store = UnreadableStore()

    assert stored(name, store) == stored(name, store)
    assert stored(name, store) != stored(name, store, "ben")


def test_a_graph_that_is_kept_elsewhere_is_not_read():
    class Graph:
        def get_triples(self):
            raise ConnectionError("nobody there")

    graph = Graph()
    one, other = (make("ConversationKGMemory", kg=graph) for _ in range(2))

    assert one == other
    assert one != make("ConversationKGMemory", kg=Graph())


def test_facts_are_the_same_whether_or_not_they_were_looked_at():
    facts = [("Ada", "wrote", "notes"), ("Ada", "knew", "Babbage")]
    one, other = (make("ConversationKGMemory", kg=EntityGraph(facts)) for _ in "ab")

    assert one.kg.get_triples()
    assert one == other
    other.kg.delete_triple(facts[0])
    assert one != other
    other.kg.add_triple(facts[0])
    assert one == other


@pytest.mark.parametrize("name", [*MAKERS, "RedisEntityStore"])
def test_what_is_equal_to_anything_is_equal_to_it(name):
    one = make(name) if name in MAKERS else compat.RedisEntityStore("s")

    assert one == mock.ANY
    assert mock.ANY == one  # noqa: SIM300 - the other way round
    assert one != object()
    assert one != None  # noqa: E711 - what is asked
    assert type(one).__eq__(one, 5) is NotImplemented


class Own(compat.ConversationBufferMemory):
    """A user's own class."""

    tenant: str = "acme"
    _seen: int = PrivateAttr(default=0)

    @functools.cached_property
    def words(self):
        return self.tenant.split()


class OwnEntities(compat.InMemoryEntityStore):
    """A user's own class."""

    _seen: int = PrivateAttr(default=0)

    @functools.cached_property
    def words(self):
        return list(self.store)


@pytest.mark.parametrize("kind", [Own, OwnEntities])
def test_private_attributes_count_and_cached_properties_do_not(kind):
    one, other = kind(), kind()

    assert one.words is not None
    assert one == other
    assert other == one
    other._seen = 1
    assert one != other


def test_extra_values_count():
    class Open(compat.ConversationBufferMemory, extra="allow"):
        pass

    assert Open(colour="red") == Open(colour="red")
    assert Open(colour="red") != Open(colour="blue")
    assert Open(colour="red") != Open()


_T = TypeVar("_T")


def test_the_parameters_of_a_generic_class_do_not_count():
    """As in pydantic."""

    class Of(compat.ConversationBufferMemory, Generic[_T]):
        tag: _T

    class Plain(BaseModel, Generic[_T]):
        tag: _T

    assert Plain(tag=1) == Plain[int](tag=1)
    assert Of(tag=1) == Of[int](tag=1)
    assert Of(tag=1) != Of[int](tag=2)


def test_long_histories_are_compared_once(monkeypatch):
    one = compat.ConversationBufferMemory()
    one.chat_memory.add_messages([HumanMessage(str(at)) for at in range(500)])
    other = copy.deepcopy(one)
    compared = []
    equal = HumanMessage.__eq__
    monkeypatch.setattr(
        HumanMessage, "__eq__", lambda *two: compared.append(two) or equal(*two)
    )

    assert one == other
    assert len(compared) == 500


def test_clients_tell_entity_stores_of_redis_apart():
    redis = pytest.importorskip("redis")
    first, second = (redis.Redis(port=port) for port in (1, 2))
    of = lambda client, **more: compat.RedisEntityStore(  # noqa: E731
        "s", redis_client=client, **more
    )

    assert of(first) == of(first)
    assert of(first) != of(second)
    assert of(first) != compat.RedisEntityStore("s")
    assert compat.RedisEntityStore("s") == compat.RedisEntityStore("s")
    assert compat.RedisEntityStore("s") != compat.RedisEntityStore(
        "s", url="redis://localhost:2"
    )
    assert of(first) != of(first, legacy="off")


def test_clients_tell_entity_stores_of_upstash_apart():
    class Client:
        def __init__(self):
            self._url, self._token = "https://x.upstash.io", "t"

    first, second = Client(), Client()
    with mock.patch(
        "holdover.compat.redis_clients.login_of_upstash",
        operator.attrgetter("_url", "_token"),
    ):
        of = lambda client: compat.UpstashRedisEntityStore("s", redis_client=client)  # noqa: E731
        assert of(first) == of(first)
        assert of(first) != of(second)


def test_two_entity_memories_with_one_entity_store_and_model_are_equal():
    model = _model()
    for entities in (
        compat.InMemoryEntityStore({"Ada": "a poet"}),
        compat.InMemoryEntityStore(InMemoryStore(), session_id="s"),
    ):
        one, other = (
            compat.ConversationEntityMemory(llm=model, entity_store=entities)
            for _ in range(2)
        )
        assert one == other


def test_a_private_file_is_of_one_entity_store():
    one = compat.SQLiteEntityStore("s", db_file=":memory:")

    assert copy.copy(one) == one
    assert copy.deepcopy(one) == one
    assert one != compat.SQLiteEntityStore("s", db_file=":memory:")


def test_entity_stores_of_files(tmp_path):
    one = compat.SQLiteEntityStore("ana", db_file=str(tmp_path / "a.db"))

    assert one == compat.SQLiteEntityStore("ana", db_file=str(tmp_path / "a.db"))
    assert one != compat.SQLiteEntityStore("ben", db_file=str(tmp_path / "a.db"))
    assert one != compat.SQLiteEntityStore("ana", db_file=str(tmp_path / "b.db"))
