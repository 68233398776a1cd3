"""`StoreChatMessageHistory` on every kind of store, by both twins."""

from __future__ import annotations

import copy
import datetime as dt
import pickle

import pytest
from histories import clock_at
from langchain_core.messages import AIMessage, ChatMessage, HumanMessage, ToolMessage
from langgraph.store.memory import InMemoryStore

from holdover.compat import records
from holdover.compat.chat_message_histories.store import StoreChatMessageHistory
from holdover.compat.configuration import configure, configured
from holdover.compat.place import Place


@pytest.fixture
def history(store, scope, both):
    def make(scope=scope, **options):
        options = {"store": store, "scope": scope, **options}
        return both(StoreChatMessageHistory(**options))

    return make


def test_messages_come_back_in_order(history):
    turn = [
        HumanMessage("hi", id="one"),
        AIMessage("", tool_calls=[{"name": "f", "args": {"x": 1}, "id": "c"}]),
        ToolMessage("42", tool_call_id="c"),
    ]
    one = history()
    assert one.messages() == []
    one.add_messages(turn)
    one.add_message(AIMessage("done"))
    assert one.messages() == [*turn, AIMessage("done")]
    assert history().messages() == [*turn, AIMessage("done")]
    assert one.count() == 4


def test_adding_nothing_writes_nothing(history):
    one = history()
    one.add_messages([])
    assert one.messages() == []


def test_clear_removes_only_this_session(history):
    one, other = history(("root", "one.1")), history(("root", "one"))
    for each in (one, other):
        each.clear()
        each.add_messages([HumanMessage("x")])
    one.clear()
    assert one.messages() == []
    assert other.texts() == ["x"]


def test_a_page_goes_either_way_from_a_key(history):
    one = history()
    one.add_messages([HumanMessage(str(n)) for n in range(7)])
    pairs = one.page(limit=3)
    assert [m.content for _, m in pairs] == ["0", "1", "2"]
    pairs = one.page(pairs[-1][0], 3)
    assert [m.content for _, m in pairs] == ["3", "4", "5"]
    back = one.page(pairs[0][0], 2, reverse=True)
    assert [m.content for _, m in back] == ["2", "1"]
    assert one.page(limit=0) == []


@pytest.mark.parametrize(("number", "expected"), [(0, ""), (2, "56"), (99, "0123456")])
def test_the_last_messages(history, number, expected):
    one = history()
    one.add_messages([HumanMessage(str(n)) for n in range(7)])
    assert "".join(m.content for m in one.last(number)) == expected


def test_one_message_is_deleted_by_its_key(history):
    one = history()
    one.add_messages([HumanMessage("keep"), HumanMessage("drop")])
    key = one.page()[1][0]
    assert one.delete(key)
    assert not one.delete(key)
    assert one.texts() == ["keep"]


@pytest.mark.parametrize("call", ["delete", "clear"])
def test_what_was_removed_can_be_restored(history, call):
    one = history()
    one.add_messages([HumanMessage("a", id="x"), AIMessage("b")])
    key = one.page()[0][0]
    getattr(one, call)(*[key] * (call == "delete"))
    one.repository.restore("message", key)
    assert one.messages()[0] == HumanMessage("a", id="x")


def test_more_messages_than_a_page(history):
    one = history()
    one.add_messages([HumanMessage(str(n)) for n in range(1201)])
    assert one.texts() == [str(n) for n in range(1201)]


@pytest.mark.parametrize(
    ("before", "after"),
    [("abc", "xyz"), ("abcd", "cd"), ("abcd", ""), ("", "ab"), ("abc", "abcd"),
     ("abc", "cba"), ("aab", "ab")],
)  # fmt: skip
def test_assigning_replaces_all(store, scope, before, after):
    one = StoreChatMessageHistory(store=store, scope=scope)
    one.add_messages([HumanMessage(c) for c in before])
    one.messages = [HumanMessage(c) for c in after]
    assert "".join(m.content for m in one.messages) == after


def test_trimming_by_assignment_writes_no_message_anew():
    one = StoreChatMessageHistory("s", InMemoryStore())
    one.add_messages([HumanMessage(c) for c in "abcd"])
    keys = [key for key, _ in one.page()]
    one.messages = one.messages[-2:]
    assert [key for key, _ in one.page()] == keys[-2:]


def test_a_clock_set_back_keeps_the_order(monkeypatch):
    store = InMemoryStore()
    writer = StoreChatMessageHistory("s", store)
    writer.add_user_message("first")
    reader = StoreChatMessageHistory("s", store)
    assert reader.last(1)[0].content == "first"
    with clock_at(monkeypatch, 1_000_000_000):
        reader.add_ai_message("second")
        writer.add_user_message("third")
        writer.add_user_message("fourth")
    texts = [m.content for m in writer.messages]
    assert sorted(texts[:2]) != ["fourth", "third"]
    assert texts[0] == "first"
    assert texts.index("third") < texts.index("fourth")


def test_items_of_other_programs_are_shown():
    store = InMemoryStore()
    one = StoreChatMessageHistory("s", store)
    one.add_user_message("mine")
    space = one.repository.namespace("message")
    store.put(space, "zzz", {"role": "assistant", "content": "theirs"})
    store.put(space, "zzzz", {"no": "text"})
    store.put(
        space,
        "zzzzz",
        {
            "kind": "message",
            "content": {"type": "narrator", "data": {"content": "far"}},
        },
    )
    assert one.messages == [
        HumanMessage("mine"), AIMessage("theirs"), ChatMessage("far", role="narrator"),
    ]  # fmt: skip
    assert one.delete("zzz")
    assert [m.content for m in one.messages] == ["mine", "far"]


def test_an_agent_reads_plain_items():
    store = InMemoryStore()
    StoreChatMessageHistory("ann", store).add_user_message("hi")
    (item,) = store.search(("memory_store", "ann", "messages"))
    assert item.value["content"] == {
        "type": "human", "data": {"content": "hi", "type": "human"},
    }  # fmt: skip
    assert item.value["kind"] == "message"


@pytest.mark.parametrize(
    "session", ["", "a.b", "日本", "x" * 3000, "\x00", "\ud800", "a/b~*"]
)
def test_any_string_is_a_session(session):
    store = InMemoryStore()
    StoreChatMessageHistory(session, store).add_user_message("mine")
    StoreChatMessageHistory("other", store).add_user_message("theirs")
    one = StoreChatMessageHistory(session, store)
    assert one.session_id == session
    assert [m.content for m in one.messages] == ["mine"]


def test_an_end_of_life(monkeypatch):
    store = InMemoryStore()
    one = StoreChatMessageHistory("s", store, ttl=60)
    one.add_user_message("short")
    StoreChatMessageHistory("s", store).add_user_message("for ever")
    later = records.now() + dt.timedelta(seconds=61)
    monkeypatch.setattr(records, "now", lambda: later)
    assert [m.content for m in one.messages] == ["for ever"]


@pytest.mark.parametrize("ttl", [0, -1, dt.timedelta(0)])
def test_a_life_of_nothing_is_refused(ttl):
    with pytest.raises(ValueError, match="ttl"):
        StoreChatMessageHistory("s", InMemoryStore(), ttl=ttl)


def test_without_a_store_the_error_says_what_to_pass():
    with pytest.raises(ValueError, match=r"store=.*configure"):
        StoreChatMessageHistory("s")


def test_a_configured_store_is_used():
    store = InMemoryStore()
    configure(store=store, scope="acme")
    StoreChatMessageHistory("s").add_user_message("hi")
    assert len(store.search(("acme", "memory_store", "s", "messages"))) == 1
    with pytest.raises(ValueError, match="session"):
        StoreChatMessageHistory()


def test_the_redactor_sees_every_message():
    def redact(kind, content):
        assert kind == "message"
        data = {**content["data"], "content": content["data"]["content"].upper()}
        return {**content, "data": data}

    with configured(store=InMemoryStore(), redact=redact):
        one = StoreChatMessageHistory("s")
    one.add_user_message("hi")
    assert one.messages == [HumanMessage("HI")]


def test_a_place_that_is_shared_with_another_object():
    place = Place(InMemoryStore(), session="s")
    one = StoreChatMessageHistory.at(place)
    one.add_user_message("hi")
    assert one.place is place
    assert one.repository is place.repository
    assert one.base_store is place.repository.store
    assert StoreChatMessageHistory.at(place).messages == [HumanMessage("hi")]
    with pytest.raises(ValueError, match="store"):
        StoreChatMessageHistory.at(Place(session="s"))


def test_another_session_may_be_set_later():
    store = InMemoryStore()
    one = StoreChatMessageHistory("a", store)
    one.add_user_message("a")
    one.session_id = "b"
    one.add_user_message("b")
    assert [m.content for m in StoreChatMessageHistory("a", store).messages] == ["a"]
    assert [m.content for m in StoreChatMessageHistory("b", store).messages] == ["b"]


def test_copies_and_pickles_work_on_the_same_messages(tmp_path):
    one = StoreChatMessageHistory("s", f"sqlite:///{tmp_path / 's.db'}")
    one.add_user_message("hi")
    for other in (copy.deepcopy(one), pickle.loads(pickle.dumps(one))):
        assert other.messages == [HumanMessage("hi")]
        other.add_ai_message("x")
        one.clear()
        one.add_user_message("hi")
    assert repr(one) == "StoreChatMessageHistory(scope=('memory_store', 's'))"
    assert str(one) == "Human: hi"


def test_many_constructions_open_one_connection_and_run_no_ddl(tmp_path, monkeypatch):
    from holdover.compat.stores import sqlite

    opened, statements = [], []
    connect = sqlite.connect

    def counted(path):
        conn = connect(path)
        opened.append(path)
        conn.set_trace_callback(statements.append)
        return conn

    monkeypatch.setattr(sqlite, "connect", counted)
    url = f"sqlite:///{tmp_path / 's.db'}"
    StoreChatMessageHistory("first", url).add_user_message("x")
    statements.clear()
    made = [StoreChatMessageHistory(str(n), url) for n in range(1000)]
    assert statements == []
    assert made[7].messages == []
    assert len(opened) == 1
    assert not [
        s for s in statements if s.lstrip().upper().startswith(("CREATE", "ALTER"))
    ]


def test_constructing_opens_nothing(tmp_path):
    StoreChatMessageHistory("s", f"sqlite:///{tmp_path / 'no' / 's.db'}")
    StoreChatMessageHistory("s", "postgresql://nobody@127.0.0.1:1/none")
    assert list(tmp_path.iterdir()) == []


def test_the_last_of_many_are_read_alone(tmp_path):
    url = f"sqlite:///{tmp_path / 's.db'}"
    few, many = (StoreChatMessageHistory(name, url) for name in ("few", "many"))
    few.add_messages([HumanMessage(str(n)) for n in range(100)])
    many.add_messages([HumanMessage(str(n)) for n in range(10_000)])

    assert [m.content for m in many.last(2)] == ["9998", "9999"]

    def instructions(history):
        """How many steps SQLite takes; a time would be of this machine."""
        steps = []
        conn = history.base_store.conn
        conn.set_progress_handler(lambda: steps.append(1) and 0, 1)
        history.last(10)
        conn.set_progress_handler(None, 0)
        return len(steps)

    assert 0 < instructions(many) <= 2 * instructions(few)


def test_a_message_of_another_class_is_refused_before_anything_is_written():
    one = StoreChatMessageHistory("s", InMemoryStore())
    with pytest.raises(TypeError, match="int"):
        one.add_messages([HumanMessage("a"), 3])
    assert one.messages == []
