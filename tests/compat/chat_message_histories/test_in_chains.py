"""Histories where LangChain's own classes use them."""

from __future__ import annotations

import asyncio

import pytest
from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables.history import RunnableWithMessageHistory
from langgraph.store.memory import InMemoryStore

from holdover.compat.chat_message_histories.store import StoreChatMessageHistory

pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore::PendingDeprecationWarning"
)


@pytest.mark.parametrize("way", ["sync", "async"])
def test_a_runnable_with_message_history(way):
    store = InMemoryStore()
    model = GenericFakeChatModel(messages=iter([AIMessage("one"), AIMessage("two")]))
    chain = RunnableWithMessageHistory(
        model, lambda session_id: StoreChatMessageHistory(session_id, store)
    )
    config = {"configurable": {"session_id": "ann"}}
    for text in ("a", "b"):
        if way == "sync":
            chain.invoke([HumanMessage(text)], config)
        else:
            asyncio.run(chain.ainvoke([HumanMessage(text)], config))
    texts = [m.content for m in StoreChatMessageHistory("ann", store).messages]
    assert texts == ["a", "one", "b", "two"]
    assert StoreChatMessageHistory("bob", store).messages == []


def test_it_is_a_history_of_langchain():
    one = StoreChatMessageHistory("s", InMemoryStore())
    assert isinstance(one, BaseChatMessageHistory)
    one.add_user_message("hi")
    one.add_ai_message("hello")
    assert str(one) == "Human: hi\nAI: hello"
