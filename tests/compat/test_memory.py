"""What every memory takes and gives besides what the classic ones do."""

import sqlite3
import warnings

import fake_models
import pytest
from langgraph.store.memory import InMemoryStore

from holdover.compat import (
    BaseChatMemory,
    BaseMemory,
    ConversationBufferMemory,
    ConversationSummaryBufferMemory,
    close_stores,
    configured,
)


@pytest.fixture(autouse=True)
def _untold():
    """What was warned of elsewhere is warned of again here."""
    from holdover.compat import notices

    told, notices._told = notices._told, set()
    yield
    notices._told = told


def test_an_unknown_argument_is_warned_of_once():
    with pytest.warns(UserWarning, match=r"does not know the argument\(s\) k, vector"):
        ConversationBufferMemory(vectorstore=1, k=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ConversationBufferMemory(vectorstore=1, k=2)


def test_the_warning_points_at_the_callers_line():
    with pytest.warns(UserWarning, match="does not know") as caught:
        ConversationBufferMemory(nonsense=1)

    assert caught[0].filename == __file__


def test_nothing_deprecated_is_used_to_make_one():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ConversationBufferMemory().save_context({"a": "b"}, {"c": "d"})
        ConversationSummaryBufferMemory(llm=fake_models.WordModel())


def test_without_a_store_asking_for_it_says_what_to_do():
    with pytest.raises(ValueError, match="store="):
        _ = ConversationBufferMemory().base_store


def test_the_store_is_at_hand():
    store = InMemoryStore()
    memory = ConversationBufferMemory(store=store, session_id="s")

    assert memory.base_store is store
    assert memory.repository.scope == ("memory_store", "s")


def test_a_whole_scope_can_be_given():
    store = InMemoryStore()
    memory = ConversationBufferMemory(store=store, scope=("acme", "chat", "7"))
    memory.save_context({"a": "b"}, {"c": "d"})

    assert len(store.search(("acme", "chat", "7", "messages"))) == 2


def test_a_subclass_may_have_fields_of_the_same_names():
    class Mine(ConversationBufferMemory):
        session_id: str
        scope: str = "x"

    assert Mine(session_id="s").session_id == "s"
    assert Mine(session_id="s", scope="mine").scope == "mine"


def test_a_memory_of_ones_own_needs_what_it_always_did():
    class Mine(BaseChatMemory):
        note: str = ""

        @property
        def memory_variables(self):
            return ["note"]

        def load_memory_variables(self, inputs):
            return {"note": self.note}

    memory = Mine(note="n")
    memory.save_context({"input": "a"}, {"output": "b"})

    assert isinstance(memory, BaseMemory)
    assert memory.load_memory_variables({}) == {"note": "n"}
    assert [m.content for m in memory.chat_memory.messages] == ["a", "b"]
    with pytest.raises(TypeError):
        BaseChatMemory()


def test_an_override_of_what_is_said_and_answered_counts():
    class Mine(ConversationBufferMemory):
        def _get_input_output(self, inputs, outputs):
            return inputs["a"].upper(), outputs["c"].upper()

    memory = Mine()
    memory.save_context({"a": "b", "x": "y"}, {"c": "d", "z": "z"})

    assert memory.buffer == "Human: B\nAI: D"


def test_json_and_back():
    memory = ConversationBufferMemory(memory_key="chat")
    memory.save_context({"input": "größe"}, {"output": "日本"})

    again = ConversationBufferMemory.model_validate_json(memory.model_dump_json())

    assert again.buffer == memory.buffer
    assert again.memory_key == "chat"


def test_to_dict_and_back_into_a_store():
    memory = ConversationBufferMemory(store=InMemoryStore(), session_id="s")
    memory.save_context({"input": "a"}, {"output": "b"})
    data = memory.to_dict()
    store = InMemoryStore()

    for _ in range(2):  # what the store holds already is not doubled
        again = ConversationBufferMemory.from_dict(data, store=store)
        assert again.buffer == "Human: a\nAI: b"
    assert len(store.search(("memory_store", "s", "messages"))) == 2


def test_two_scopes_stay_two():
    store, made = InMemoryStore(), []
    for name in ("ana", "bob"):
        memory = ConversationBufferMemory(store=store, scope=("acme", "chat", name))
        memory.save_context({"input": f"I am {name}"}, {"output": "ok"})
        made.append(memory.to_dict())
    elsewhere = InMemoryStore()
    ana, bob = (ConversationBufferMemory.from_dict(d, store=elsewhere) for d in made)

    assert "ana" in ana.buffer
    assert "bob" in bob.buffer
    assert "ana" not in bob.buffer


def test_what_describes_something_else_is_refused():
    data = ConversationBufferMemory().to_dict()

    with pytest.raises(ValueError, match="ConversationBufferMemory, not a Conv"):
        ConversationSummaryBufferMemory.from_dict(data)
    with pytest.raises(ValueError, match="newer Holdover"):
        ConversationBufferMemory.from_dict({**data, "holdover": 99})


def test_a_thousand_of_them_open_one_connection_and_define_nothing(
    tmp_path, monkeypatch
):
    connections, statements = [], []
    connect = sqlite3.connect

    def counted(*arguments, **options):
        connection = connect(*arguments, **options)
        connections.append(arguments)
        connection.set_trace_callback(statements.append)
        return connection

    address = f"sqlite:///{tmp_path}/memory.db"
    model = fake_models.WordModel()
    ConversationBufferMemory(store=address, session_id="0").save_context(
        {"a": "b"}, {"c": "d"}
    )
    close_stores()
    monkeypatch.setattr(sqlite3, "connect", counted)
    with configured(store=address):
        memories = [
            make(session_id=str(n))
            for n in range(500)
            for make in (
                ConversationBufferMemory,
                lambda **a: ConversationSummaryBufferMemory(llm=model, **a),
            )
        ]
        assert (connections, statements) == ([], [])
        for memory in memories:
            memory.load_memory_variables({})
    close_stores()

    assert len(connections) == 1
    defined = [
        s for s in statements if s.lstrip().upper().startswith(("CREATE", "ALTER"))
    ]
    assert defined == []
