"""Every classic history has its name here: ours, the installed one, or a reason."""

from __future__ import annotations

import importlib.util
import re
import sys
import types

import pytest

from holdover import compat
from holdover.compat import chat_message_histories
from holdover.compat.base import CLASSIC, BaseChatMessageHistory
from holdover.compat.chat_message_histories import forwarded as forwarding
from holdover.compat.chat_message_histories.forwarded import FORWARDED, forwarded
from holdover.compat.errors import MissingDependency

HAS_COMMUNITY = importlib.util.find_spec("langchain_community") is not None
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@pytest.mark.parametrize("name", chat_message_histories.__all__)
def test_our_own(name):
    found = getattr(chat_message_histories, name)
    assert issubclass(found, BaseChatMessageHistory)
    assert name in dir(chat_message_histories)


@pytest.mark.skipif(CLASSIC is None, reason="no classic package here")
def test_no_classic_name_is_missing():
    from holdover.compat.base import classic_module

    names = set(classic_module("memory.chat_message_histories").__all__)
    assert names <= {*chat_message_histories.__all__, *FORWARDED}


@pytest.mark.skipif(not HAS_COMMUNITY, reason="langchain-community is not installed")
def test_an_installed_class_is_given_as_it_is():
    from langchain_community.chat_message_histories import DynamoDBChatMessageHistory

    found = chat_message_histories.DynamoDBChatMessageHistory
    assert found is DynamoDBChatMessageHistory
    assert forwarded("MotorheadMemory").__name__ == "MotorheadMemory"


@pytest.fixture
def _nothing_installed(monkeypatch):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(forwarding, "import_real", missing)


@pytest.mark.usefixtures("_nothing_installed")
@pytest.mark.parametrize("name", FORWARDED)
def test_a_missing_class_says_what_to_do(name):
    with pytest.raises(MissingDependency, match=name) as caught:
        forwarded(name)
    assert isinstance(caught.value, ImportError)
    assert "StoreChatMessageHistory" in str(caught.value)
    if name != "RocksetChatMessageHistory":
        assert "pip install" in str(caught.value)


@pytest.fixture
def imported(monkeypatch):
    """Import a name from the package, which keeps what it has given once."""

    def imported(name):
        monkeypatch.delitem(vars(compat), name, raising=False)
        found = {}
        exec(f"from holdover.compat import {name}", found)
        return found[name]

    return imported


@pytest.mark.usefixtures("_nothing_installed")
@pytest.mark.parametrize("name", compat._FORWARDED)
def test_the_package_says_what_became_of_a_missing_class(name, imported):
    with pytest.raises(MissingDependency, match=rf"{name} is a class of .*langchain"):
        imported(name)


@pytest.mark.parametrize("name", compat._FORWARDED)
def test_the_package_gives_what_is_installed(name, imported):
    try:
        installed = forwarded(name)
    except MissingDependency as missing:
        with pytest.raises(MissingDependency, match=re.escape(str(missing))):
            imported(name)
    else:
        assert imported(name) is installed
    if name == "MotorheadMemory" and HAS_COMMUNITY and CLASSIC:
        assert imported(name).__module__.endswith("motorhead_memory")


@pytest.mark.usefixtures("_nothing_installed")
@pytest.mark.parametrize(
    ("name", "fate"),
    [
        ("MotorheadMemory", "deprecated"),
        ("ZepMemory", "no longer support"),
        ("ZepChatMessageHistory", "Zep Cloud"),
        ("RocksetChatMessageHistory", "2024"),
        ("MongoDBChatMessageHistory", "pip install langchain-mongodb"),
    ],
)
def test_it_says_what_became_of_it(name, fate):
    with pytest.raises(ImportError, match=fate):
        forwarded(name)


def test_the_package_of_the_vendor_serves_where_community_does_not(monkeypatch):
    vendor = types.ModuleType("langchain_mongodb")

    class MongoDBChatMessageHistory:
        add_message = None

    vendor.MongoDBChatMessageHistory = MongoDBChatMessageHistory
    monkeypatch.setitem(sys.modules, "langchain_mongodb", vendor)
    monkeypatch.setitem(
        sys.modules, "langchain_community.chat_message_histories.mongodb", None
    )
    found = chat_message_histories.MongoDBChatMessageHistory
    assert found is MongoDBChatMessageHistory


def test_a_placeholder_is_no_class(monkeypatch):
    empty = types.ModuleType("motorhead_memory")
    empty.MotorheadMemory = type("MotorheadMemory", (), {})
    monkeypatch.setitem(
        sys.modules, "langchain_community.memory.motorhead_memory", empty
    )
    monkeypatch.setitem(sys.modules, "langchain_community", types.ModuleType("x"))
    monkeypatch.setitem(
        sys.modules, "langchain_community.memory", types.ModuleType("x")
    )
    with pytest.raises(ImportError, match="Motorhead"):
        forwarded("MotorheadMemory")


@pytest.mark.parametrize("name", ["MotorheadMemory", "NoChatMessageHistory", "Nothing"])
def test_what_is_no_history_is_no_name(name):
    with pytest.raises(AttributeError, match=name):
        getattr(chat_message_histories, name)
