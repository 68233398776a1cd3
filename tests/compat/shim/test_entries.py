"""The data: whole, and the same however it is asked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from holdover.compat.shim import entries
from holdover.compat.shim.entries import Kind, answer

DATA = Path(entries.__file__).with_name("data")
HOMES = json.loads((DATA / "homes.json").read_text("utf-8"))["modules"]


@pytest.mark.parametrize(
    ("module", "name", "now", "code"),
    [
        ("langchain.memory", "ConversationBufferMemory", "holdover.compat", "HO101"),
        ("langchain.memory", "RedisChatMessageHistory", "holdover.compat", "HO102"),
        ("langchain.memory.entity", "SQLiteEntityStore", "holdover.compat", "HO103"),
        ("langchain.memory.entity", "BaseEntityStore", "holdover.compat", "HO104"),
        ("langchain_core.memory", "BaseMemory", "holdover.compat", "HO104"),
        (
            "langchain.memory.prompt",
            "SUMMARY_PROMPT",
            "holdover.compat.prompt",
            "HO105",
        ),
        ("langchain.schema", "HumanMessage", "langchain_core.messages", "HO201"),
        ("langchain.llms", "OpenAI", "langchain_community.llms", "HO202"),
        (
            "langchain.text_splitter",
            "CharacterTextSplitter",
            "langchain_text_splitters",
            "HO203",
        ),
        ("langchain.chains", "LLMChain", "langchain_classic.chains", "HO204"),
        ("langchain", "LLMChain", "langchain_classic.chains", "HO204"),
        ("langchain.chat_models", "ChatOpenAI", "langchain_openai", "HO205"),
        ("langchain.pydantic_v1", "BaseModel", "pydantic.v1", "HO205"),
        ("langchain.schema", "Memory", "holdover.compat", "HO104"),
        (
            "langchain.callbacks.base",
            "CallbackManager",
            "langchain_core.callbacks",
            "HO201",
        ),
        (
            "langchain.agents.load_tools",
            "load_tools",
            "langchain_community.agent_toolkits.load_tools",
            "HO202",
        ),
        ("langchain_community.chat_models", "ChatOpenAI", "langchain_openai", "HO205"),
        ("langchain.chat_models.openai", "ChatOpenAI", "langchain_openai", "HO205"),
        (
            "langchain.chains.vector_db_qa.base",
            "VectorDBQA",
            "langchain_classic.chains",
            "HO204",
        ),
        ("langchain_core.prompts", "PipelinePromptTemplate", "", "HO401"),
        ("langchain_classic.memory", "SimpleMemory", "holdover.compat", "HO101"),
        (
            "langchain_community.chat_message_histories",
            "FileChatMessageHistory",
            "holdover.compat",
            "HO102",
        ),
    ],
)
def test_where_a_name_is_now(module, name, now, code):
    found = answer(module, name)
    assert (found.module, found.code) == (now, code)


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("langchain.agents", "create_agent"),
        ("langchain.chat_models", "init_chat_model"),
        ("langchain.messages", "AIMessage"),
        ("langchain_core.messages", "AIMessage"),
        ("langchain_classic.chains", "LLMChain"),
        ("langchain_community.llms", "OpenAI"),
        ("langgraph.store.base", "BaseStore"),
        ("langchain", "__version__"),
        ("langchain_openai", "ChatOpenAI"),
        ("mylangchain.memory", "ConversationBufferMemory"),
        ("langchainx.memory", "ConversationBufferMemory"),
        ("", "x"),
        ("langchain.memory", ""),
        ("langchain..memory", "ConversationBufferMemory"),
    ],
)
def test_what_stays_or_never_was_has_no_answer(module, name):
    assert answer(module, name) is None


def test_every_answer_is_complete():
    for module in HOMES:
        for name in entries.names_of(module):
            found = answer(module, name)
            assert found.code.startswith("HO"), (module, name)
            if found.kind is Kind.REMOVED:
                assert (found.module, found.name) == ("", "")
                assert found.why.rstrip().endswith((".", ")")), (module, name)
            else:
                assert found.path == f"{found.module}.{found.name}"
                assert found.path != f"{module}.{name}"


def test_an_answer_never_points_to_another_old_path():
    for module in HOMES:
        for name in entries.names_of(module):
            found = answer(module, name)
            again = answer(found.module, found.name)
            assert again is None or again.path == found.path, (module, name, found.path)


def test_stars_name_only_what_has_an_answer():
    for module in HOMES:
        assert set(entries.star_names(module)) <= set(entries.names_of(module)), module


@pytest.mark.parametrize(
    ("module", "gone"),
    [
        ("langchain", False),
        ("langchain.agents", False),
        ("langchain.chat_models", False),
        ("langchain.memory", True),
        ("langchain.memory.buffer", True),
        ("langchain.chains", True),
        ("langchain.schema", True),
        ("langchain.experimental", True),
        ("langchain_core", False),
        ("langchain_core.memory", True),
        ("langchain_core.messages", False),
        ("langchain_community.chat_message_histories", False),
        ("langchain_community.chat_message_histories.mongodb", True),
        ("langchain_classic.memory", False),
        ("numpy", False),
    ],
)
def test_which_modules_are_gone(module, gone):
    assert entries.is_gone(module) is gone
