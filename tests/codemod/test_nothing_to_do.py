"""Sources in which there is nothing to do, though they speak of old names."""

from __future__ import annotations

import pytest

LIVING = (
    "from langchain.agents import create_agent",
    "from langchain.agents.middleware import SummarizationMiddleware",
    "from langchain.chat_models import init_chat_model",
    "from langchain.embeddings import init_embeddings",
    "from langchain.messages import AIMessage, HumanMessage",
    "from langchain.tools import tool, ToolRuntime",
    "from langchain_core.chat_history import InMemoryChatMessageHistory",
    "from langchain_core.messages import BaseMessage, get_buffer_string",
    "from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder",
    "from langchain_core.runnables.history import RunnableWithMessageHistory",
    "from langchain_classic.chains import ConversationChain",
    "from langchain_classic.agents import AgentExecutor, initialize_agent",
    "from langchain_community.vectorstores import FAISS",
    "from langchain_community.llms import FakeListLLM",
    "from langchain_text_splitters import CharacterTextSplitter",
    "from langchain_openai import ChatOpenAI",
    "from langgraph.store.memory import InMemoryStore",
    "from holdover.compat import ConversationBufferMemory as langchain_memory",
    "import langchain",
    "import langchain.agents as agents; agents.create_agent",
    "import langchain_core.messages as m; m.HumanMessage",
)
OF_OTHERS = (
    "from mylangchain.memory import ConversationBufferMemory",
    "from langchain_memory import ConversationBufferMemory",
    "from langchainhub.memory import ConversationBufferMemory",
    "from app.langchain.memory import ConversationBufferMemory",
    "from .langchain.memory import ConversationBufferMemory",
    "from ..memory import ConversationBufferMemory  # not langchain.memory",
    "import not_langchain.memory as m; m.ConversationBufferMemory",
    "class langchain: memory = None\nlangchain.memory",
    "def langchain(): pass\nlangchain.memory = 1",
    "for langchain in ():\n    langchain.memory.ConversationBufferMemory",
    "def f(langchain): return langchain.memory.ConversationBufferMemory",
    "lambda langchain: langchain.chains.LLMChain",
    "[langchain.memory for langchain in ()]",
    "x.langchain.memory.ConversationBufferMemory",
)
WORDS = (
    '"""Replaces langchain.memory.ConversationBufferMemory."""',
    "# from langchain.memory import ConversationBufferMemory",
    "print('from langchain.memory import ConversationBufferMemory')",
    "x = 'langchain.memory'",
    "x = {'langchain.memory': 'langchain.memory.SimpleMemory'}",
    "x = b'langchain.memory.SimpleMemory'",
    "x = f'langchain.memory.{name}'",
    "x = r'langchain\\.memory'",
    "log.info('langchain.memory is gone')",
    "import logging; logging.getLogger('langchain.memory')",
    "import warnings; warnings.filterwarnings('ignore', module='langchain.memory')",
    "def f(x: 'a note on langchain.memory'): pass",
    "assert 'langchain' in x, 'no langchain.memory'",
    "class A:\n    '''As langchain.schema.BaseMemory.'''",
)
ARGUMENTS = (
    "Thing(connection_string='x')  # langchain",
    (
        "def SQLChatMessageHistory(**k): pass\n"
        "SQLChatMessageHistory(connection_string='langchain')"
    ),
    "langchain = dict(connection_string='x')",
    "from langchain_postgres import PGVector; PGVector(connection_string='x')",
)


@pytest.mark.parametrize("line", [*LIVING, *OF_OTHERS, *WORDS, *ARGUMENTS])
@pytest.mark.parametrize("form", ["{}\n", "def outer():\n    {}\n    pass\n"])
def test_it_stays_to_the_byte(line, form, rewritten):
    source = form.format(line.replace("\n", "\n    ") if form != "{}\n" else line)

    done = rewritten(source)

    assert done.text == source
    assert done.findings == ()
