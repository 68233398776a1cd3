"""What LangChain's own unit tests expected of the histories holds for ours."""

import importlib.util
from pathlib import Path

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from holdover import compat

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*deprecated"),
    pytest.mark.filterwarnings("ignore:connection_string="),
]


def of_file(folder, session):
    return compat.FileChatMessageHistory(str(folder / f"{session}.json"))


def of_sql(folder, session):
    pytest.importorskip("sqlalchemy")
    return compat.SQLChatMessageHistory(
        session_id=session,
        connection_string=f"sqlite:///{folder / 'talks.db'}",
        table_name="talks",
    )


@pytest.fixture(params=[of_file, of_sql])
def history(request, tmp_path):
    """Make the history of a session; its place is the same in a test."""
    yield lambda session: request.param(tmp_path, session)
    from holdover.compat.stores.opening import close_stores

    close_stores()


def talk(history, *texts):
    for n, text in enumerate(texts):
        (history.add_ai_message if n % 2 else history.add_user_message)(text)


def test_messages_come_back_with_their_kind(history):
    one = history("one")
    talk(one, "hello", "hi")
    assert one.messages == [HumanMessage("hello"), AIMessage("hi")]


def test_no_message_is_left_after_clearing(history):
    one = history("one")
    talk(one, "hello", "hi")
    one.clear()
    assert one.messages == []


def test_another_object_goes_on_where_the_first_ended(history):
    talk(history("one"), "hello", "hi", "a joke?", "knock knock")
    again = history("one")
    assert [m.content for m in again.messages] == [
        "hello",
        "hi",
        "a joke?",
        "knock knock",
    ]
    talk(again, "who is there?")
    assert len(history("one").messages) == 5


def test_sessions_know_nothing_of_each_other(history):
    one, two = history("one"), history("two")
    talk(one, "hello", "hi")
    talk(two, "other")
    assert [m.content for m in two.messages] == ["other"]
    one.clear()
    assert [m.content for m in two.messages] == ["other"]
    assert one.messages == []


@pytest.mark.skipif(not importlib.util.find_spec("sqlalchemy"), reason="no SQLAlchemy")
def test_a_model_without_the_column_of_the_session_is_refused(tmp_path):
    with pytest.raises(ValueError):
        compat.SQLChatMessageHistory(
            "s",
            session_id_field_name="nobody",
            connection=f"sqlite:///{tmp_path / 'talks.db'}",
        ).add_user_message("hello")


def test_a_relative_path_is_the_one_at_the_time(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    history = compat.FileChatMessageHistory("talk.json")
    assert Path(history.file_path).name == "talk.json"
    history.add_user_message("hello")
    assert [m.content for m in compat.FileChatMessageHistory("talk.json").messages] == [
        "hello"
    ]
