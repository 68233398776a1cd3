"""Every way in which old code imports, and what it may do with what it got."""

from __future__ import annotations

import copy
import importlib
import inspect
import pickle
import pkgutil
import re
import sys
import typing
from unittest import mock

import pytest
from compat.shim.conftest import HAS_CLASSIC, HAS_COMMUNITY, HAS_NEW, HAS_OLD
from langchain_core.messages import HumanMessage

import holdover.compat

pytestmark = [
    pytest.mark.skipif(HAS_OLD, reason="langchain 0.3 has the old modules"),
    # langchain-community says on import that it is no longer maintained.
    pytest.mark.filterwarnings("ignore:.*langchain-community.*:DeprecationWarning"),
]
needs_classic = pytest.mark.skipif(
    not HAS_CLASSIC, reason="langchain-classic is not installed"
)


def run(code, **names):
    """What a block of old code leaves behind."""
    space = {"__name__": "old_application", **names}
    exec(compile(code, "old_application.py", "exec", dont_inherit=True), space)
    return space


FORMS = re.split(
    "---\n",
    """\
from langchain.memory import ConversationBufferMemory as found
---
from langchain.memory.buffer import ConversationBufferMemory as found
---
from langchain.chains.conversation.memory import (
    ConversationBufferMemory as found,
)
---
import langchain.memory
found = langchain.memory.ConversationBufferMemory
---
import langchain.memory.buffer as b
found = b.ConversationBufferMemory
---
import langchain.memory as m
found = m.buffer.ConversationBufferMemory
---
from langchain import memory
found = memory.ConversationBufferMemory
---
from langchain.memory import buffer as b
found = b.ConversationBufferMemory
---
import langchain
found = langchain.memory.ConversationBufferMemory
---
from langchain.memory import *
found = ConversationBufferMemory
---
import importlib
found = importlib.import_module("langchain.memory").ConversationBufferMemory
---
import importlib
found = importlib.import_module(".memory", "langchain").ConversationBufferMemory
---
module = __import__("langchain.memory", fromlist=["ConversationBufferMemory"])
found = module.ConversationBufferMemory
---
found = __import__("langchain.memory").memory.ConversationBufferMemory
---
def inner():
    from langchain.memory import ConversationBufferMemory
    return ConversationBufferMemory
found = inner()
---
try:
    from langchain.memory import ConversationBufferMemory as found
except ImportError:
    found = None
---
import pkgutil
found = pkgutil.resolve_name("langchain.memory:ConversationBufferMemory")
---
import pkgutil
found = pkgutil.resolve_name("langchain.memory.ConversationBufferMemory")
""",
)


@pytest.mark.parametrize("code", FORMS)
def test_each_form_gives_our_very_class(shim, code):
    found = run(code)["found"]

    assert found is holdover.compat.ConversationBufferMemory


def test_a_star_gives_what_resolves_and_nothing_else(shim):
    space = run("from langchain.memory import *")

    assert space["VectorStoreRetrieverMemory"] is (
        holdover.compat.VectorStoreRetrieverMemory
    )
    if not HAS_COMMUNITY:
        assert "XataChatMessageHistory" not in space
    assert "BaseChatMemory" not in space  # it was not public there
    module = sys.modules["langchain.memory"]
    assert set(module.__all__) <= set(space)
    assert set(module.__all__) <= set(dir(module))


def test_stars_of_modules_of_other_packages(shim):
    assert run("from langchain.schema import *")["HumanMessage"] is HumanMessage


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("langchain.schema", "HumanMessage"),
        ("langchain.schema.messages", "HumanMessage"),
    ],
)
def test_objects_of_langchain_core_are_the_same(shim, path, name):
    assert getattr(importlib.import_module(path), name) is HumanMessage


def test_an_instance_by_one_path_is_an_instance_by_every_other(shim):
    space = run(
        "from langchain.memory import ConversationBufferMemory as A\n"
        "import langchain.chains.conversation.memory as memory_of_chains\n"
        "B = memory_of_chains.ConversationBufferMemory\n"
        "from langchain.memory.buffer import ConversationBufferMemory as C\n"
        "from langchain.schema import BaseMemory as D\n"
        "from langchain_core.memory import BaseMemory as E\n"
        "from langchain.memory.chat_memory import BaseChatMemory as F\n"
        "memory = A()\n"
        "checks = [isinstance(memory, one) for one in (A, B, C, D, E, F)]\n"
        "same = D is E"
    )
    assert space["checks"] == [True] * 6
    assert space["same"]


def test_subclasses_of_old_bases(shim):
    space = run(
        "from typing import Any, Dict, List\n"
        "from langchain.schema import BaseMemory\n"
        "class Notes(BaseMemory):\n"
        "    notes: List[str] = []\n"
        "    @property\n"
        "    def memory_variables(self) -> List[str]:\n"
        "        return ['notes']\n"
        "    def load_memory_variables(self, inputs: Dict[str, Any]):\n"
        "        return {'notes': ' '.join(self.notes)}\n"
        "    def save_context(self, inputs, outputs) -> None:\n"
        "        self.notes.append(inputs['input'])\n"
        "    def clear(self) -> None:\n"
        "        self.notes = []\n"
        "memory = Notes()\n"
        "memory.save_context({'input': 'tea'}, {'output': 'ok'})\n"
        "kept = memory.load_memory_variables({})"
    )
    assert space["kept"] == {"notes": "tea"}
    assert isinstance(space["memory"], holdover.compat.BaseMemory)


def test_where_a_class_is_from(shim):
    found = run("from langchain.memory import ConversationBufferMemory as found")[
        "found"
    ]

    assert inspect.getmodule(found).__name__ == "holdover.compat.buffer"
    assert inspect.getsourcefile(found).endswith("buffer.py")
    assert typing.get_type_hints(found)["memory_key"] is str


def test_what_was_pickled_under_an_old_path_is_ours_again(shim):
    found = run("from langchain.memory import SimpleMemory as found")["found"]
    memory = found(memories={"tea": "green"})
    text = pickle.dumps(memory, protocol=0).decode("ascii")
    old = text.replace("holdover.compat.simple", "langchain.memory.simple")

    again = pickle.loads(old.encode("ascii"))
    assert (type(again), again.memories) == (type(memory), memory.memories)
    assert copy.deepcopy(again).memories == memory.memories


def test_a_name_that_never_was_is_no_attribute(shim):
    module = importlib.import_module("langchain.memory")

    assert not hasattr(module, "ConversationTelepathyMemory")
    with pytest.raises(ImportError, match="ConversationTelepathyMemory"):
        run("from langchain.memory import ConversationTelepathyMemory")
    with pytest.raises(ModuleNotFoundError, match=r"langchain\.memory\.telepathy"):
        importlib.import_module("langchain.memory.telepathy")


@pytest.mark.parametrize("name", ["langchainx", "langchain_x", "lang", "langchain.xyz"])
def test_modules_that_never_were_stay_missing(shim, name):
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module(name)


def test_a_test_may_replace_a_name_and_put_it_back(shim):
    with mock.patch("langchain.memory.ConversationBufferMemory", "a fake"):
        assert run("from langchain.memory import ConversationBufferMemory as found")[
            "found"
        ] == ("a fake")
    found = run("from langchain.memory import ConversationBufferMemory as found")[
        "found"
    ]
    assert found is holdover.compat.ConversationBufferMemory


def test_a_module_can_be_reloaded(shim):
    module = importlib.import_module("langchain.memory")

    assert importlib.reload(module) is module
    assert module.SimpleMemory is holdover.compat.SimpleMemory


def test_a_module_looks_like_a_module(shim):
    module = importlib.import_module("langchain.memory")

    assert inspect.ismodule(module)
    assert module.__name__ == module.__spec__.name == "langchain.memory"
    assert module.__package__ == "langchain.memory"
    assert "langchain.memory" in repr(module)
    assert not hasattr(module, "__file__")
    assert list(pkgutil.iter_modules(module.__path__)) == []
    assert "SimpleMemory" in dir(module)


@needs_classic
def test_chains_are_those_of_langchain_classic(shim):
    from langchain_classic.chains import ConversationChain

    space = run(
        "from langchain import ConversationChain as A\n"
        "from langchain.chains import ConversationChain as B\n"
        "from langchain.chains.conversation.base import ConversationChain as C"
    )
    assert {space["A"], space["B"], space["C"]} == {ConversationChain}


@needs_classic
@pytest.mark.skipif(not HAS_COMMUNITY, reason="langchain-community is not installed")
@pytest.mark.parametrize(
    "line",
    [
        "from langchain.llms import OpenAI, FakeListLLM",
        "from langchain.llms.base import LLM",
        "from langchain.prompts import PromptTemplate, MessagesPlaceholder",
        "from langchain.prompts.chat import HumanMessagePromptTemplate",
        "from langchain.agents import initialize_agent, AgentType, Tool",
        "from langchain.agents import AgentExecutor, ConversationalAgent",
        "from langchain.vectorstores import FAISS, Chroma",
        "from langchain.vectorstores.base import VectorStoreRetriever",
        "from langchain.embeddings import OpenAIEmbeddings, FakeEmbeddings",
        "from langchain.embeddings.openai import OpenAIEmbeddings",
        "from langchain.chains import RetrievalQA, ConversationalRetrievalChain",
        "from langchain.chains.question_answering import load_qa_chain",
        "from langchain.chains.summarize import load_summarize_chain",
        "from langchain.text_splitter import RecursiveCharacterTextSplitter",
        "from langchain.document_loaders import TextLoader, DirectoryLoader",
        "from langchain.docstore.document import Document",
        "from langchain.docstore import InMemoryDocstore",
        "from langchain.callbacks import get_openai_callback",
        "from langchain.callbacks.base import BaseCallbackHandler",
        "from langchain.callbacks.manager import CallbackManager",
        "from langchain.callbacks import StreamingStdOutCallbackHandler",
        "from langchain.schema.runnable import RunnablePassthrough, RunnableLambda",
        "from langchain.schema.output_parser import StrOutputParser",
        "from langchain.output_parsers import PydanticOutputParser",
        "from langchain.retrievers import ContextualCompressionRetriever",
        "from langchain.tools import BaseTool, tool, StructuredTool",
        "from langchain.tools.base import BaseTool",
        "from langchain.utilities import SerpAPIWrapper, SQLDatabase",
        "from langchain.indexes import VectorstoreIndexCreator",
        "from langchain.storage import InMemoryStore, LocalFileStore",
        "from langchain.cache import InMemoryCache",
        "from langchain.globals import set_debug, set_llm_cache",
        "from langchain import hub, OpenAI, PromptTemplate, LLMChain, SQLDatabase",
        "from langchain.chat_models.base import BaseChatModel",
        "from langchain.schema import AgentAction, AgentFinish, LLMResult, Document",
        "from langchain.runnables.hub import HubRunnable",
        "from langchain.graphs.networkx_graph import NetworkxEntityGraph",
        "from langchain_core.pydantic_v1 import BaseModel, Field",
        "from langchain.load.dump import dumps",
        "import langchain.agents.mrkl.base as mrkl",
    ],
)
def test_lines_of_old_scripts(shim, line):
    run(line)


@pytest.mark.skipif(not HAS_NEW, reason="langchain 1.x is not installed")
class TestModulesThatStillExist:
    """They keep what they have, and gain what they lost."""

    def test_both_at_once(self, shim):
        from langchain.agents import create_agent

        space = run("from langchain.agents import create_agent, AgentExecutor")
        assert space["create_agent"] is create_agent
        assert space["AgentExecutor"].__module__ == "langchain_classic.agents.agent"

    def test_what_is_public_stays_as_it_was(self, shim):
        import langchain.agents

        assert "AgentExecutor" not in langchain.agents.__all__
        assert "AgentExecutor" not in dir(langchain.agents)
        assert "AgentExecutor" not in run("from langchain.agents import *")

    def test_they_have_their_own_loader_and_source(self, shim):
        import langchain.chat_models as models

        assert models.__spec__.loader is models.__loader__
        assert models.__loader__.__class__.__module__.startswith(
            ("importlib", "_frozen_importlib")
        )
        assert "init_chat_model" in inspect.getsource(models)

    def test_a_module_imported_before_gains_them_too(self, monkeypatch):
        import langchain.agents

        monkeypatch.setenv("HOLDOVER_SHIM", "silent")
        assert not hasattr(langchain.agents, "initialize_agent")
        with holdover.compat.shim.installed():
            assert langchain.agents.initialize_agent
        assert not hasattr(langchain.agents, "initialize_agent")

    def test_they_can_be_reloaded(self, shim):
        import langchain.embeddings

        module = importlib.reload(langchain.embeddings)
        assert module.init_embeddings
        assert run("from langchain.embeddings import CacheBackedEmbeddings")

    def test_a_name_that_never_was(self, shim):
        import langchain

        with pytest.raises(AttributeError, match="'langchain' has no attribute 'xyz'"):
            langchain.xyz  # noqa: B018
