"""`from module import names`, in every shape it is written in."""

from __future__ import annotations

import pytest

from holdover.migrate.codemod.rule import ALL

REWRITES = {
    "one name": (
        "from langchain.memory import ConversationBufferMemory\n",
        "from holdover.compat import ConversationBufferMemory\n",
    ),
    "an alias is kept": (
        "from langchain.memory import ConversationBufferMemory as Memory\n",
        "from holdover.compat import ConversationBufferMemory as Memory\n",
    ),
    "a submodule": (
        "from langchain.memory.buffer import ConversationBufferMemory\n",
        "from holdover.compat import ConversationBufferMemory\n",
    ),
    "the oldest path": (
        "from langchain.chains.conversation.memory import ConversationBufferMemory\n",
        "from holdover.compat import ConversationBufferMemory\n",
    ),
    "core's memory": (
        "from langchain_core.memory import BaseMemory\n",
        "from holdover.compat import BaseMemory\n",
    ),
    "classic's memory": (
        "from langchain_classic.memory import CombinedMemory\n",
        "from holdover.compat import CombinedMemory\n",
    ),
    "a history of community": (
        (
            "from langchain_community.chat_message_histories.file import (\n"
            "    FileChatMessageHistory)\n"
        ),
        "from holdover.compat import (\n    FileChatMessageHistory)\n",
    ),
    "a prompt": (
        "from langchain.memory.prompt import SUMMARY_PROMPT\n",
        "from holdover.compat.prompt import SUMMARY_PROMPT\n",
    ),
    "a class of another name keeps the local one": (
        "from langchain.schema import Memory\n",
        "from holdover.compat import BaseMemory as Memory\n",
    ),
    "nor does an alias change with it": (
        "from langchain.schema import Memory as M\n",
        "from holdover.compat import BaseMemory as M\n",
    ),
    "core": (
        "from langchain.prompts import PromptTemplate\n",
        "from langchain_core.prompts import PromptTemplate\n",
    ),
    "text splitters": (
        "from langchain.text_splitter import CharacterTextSplitter\n",
        "from langchain_text_splitters import CharacterTextSplitter\n",
    ),
    "the root": (
        "from langchain import ConversationChain\n",
        "from langchain_classic.chains import ConversationChain\n",
    ),
    "all go to one place, so only the module changes": (
        (
            "from langchain.memory import (  # why\n"
            "    ConversationBufferMemory,  # first\n"
            "\n"
            "    # the second\n"
            "    CombinedMemory as C\n"
            ")  # end\n"
        ),
        (
            "from holdover.compat import (  # why\n"
            "    ConversationBufferMemory,  # first\n"
            "\n"
            "    # the second\n"
            "    CombinedMemory as C\n"
            ")  # end\n"
        ),
    ),
    "odd spaces and backslashes stay": (
        (
            "from  langchain.memory   import ConversationBufferMemory , \\\n"
            "        CombinedMemory\n"
        ),
        (
            "from  holdover.compat   import ConversationBufferMemory , \\\n"
            "        CombinedMemory\n"
        ),
    ),
    "split in two": (
        "from langchain.memory import CombinedMemory, MongoDBChatMessageHistory as H\n",
        (
            "from holdover.compat import CombinedMemory\n"
            "from langchain_mongodb import MongoDBChatMessageHistory as H\n"
        ),
    ),
    "what lives on stays": (
        "from langchain.agents import AgentExecutor, create_agent\n",
        (
            "from langchain_classic.agents import AgentExecutor\n"
            "from langchain.agents import create_agent\n"
        ),
    ),
    "a split takes the comments along": (
        (
            "from langchain.memory import (  # why\n"
            "    # one\n"
            "    CombinedMemory,  # first\n"
            "    # two\n"
            "    MongoDBChatMessageHistory,  # second\n"
            "    # last\n"
            ")  # end\n"
        ),
        (
            "from holdover.compat import (  # why\n"
            "    # one\n"
            "    CombinedMemory,  # first\n"
            ")\n"
            "from langchain_mongodb import (\n"
            "    # two\n"
            "    MongoDBChatMessageHistory,  # second\n"
            "    # last\n"
            ")  # end\n"
        ),
    ),
    "a split where it stands": (
        (
            "def f():\n"
            "\tif True:\n"
            "\t\tfrom langchain.memory import (\n"
            "\t\t\tCombinedMemory,  # a\n"
            "\t\t\tMongoDBChatMessageHistory,\n"
            "\t\t)\n"
            "\t\treturn CombinedMemory\n"
        ),
        (
            "def f():\n"
            "\tif True:\n"
            "\t\tfrom holdover.compat import (\n"
            "\t\t\tCombinedMemory,  # a\n"
            "\t\t)\n"
            "\t\tfrom langchain_mongodb import MongoDBChatMessageHistory\n"
            "\t\treturn CombinedMemory\n"
        ),
    ),
    "a split with backslashes": (
        (
            "from langchain.memory import CombinedMemory, \\\n"
            "    MongoDBChatMessageHistory\n"
        ),
        (
            "from holdover.compat import CombinedMemory\n"
            "from langchain_mongodb import MongoDBChatMessageHistory\n"
        ),
    ),
    "a comment for a tool is for every line": (
        "from langchain import LLMChain, PromptTemplate  # noqa: E402\n",
        (
            "from langchain_classic.chains import LLMChain  # noqa: E402\n"
            "from langchain_core.prompts import PromptTemplate  # noqa: E402\n"
        ),
    ),
    "several on a line": (
        "import os; from langchain import LLMChain, PromptTemplate; x = 1\n",
        (
            "import os; from langchain_classic.chains import LLMChain; "
            "from langchain_core.prompts import PromptTemplate; x = 1\n"
        ),
    ),
    "on the line of an if": (
        "if True: from langchain import LLMChain, PromptTemplate\n",
        (
            "if True: from langchain_classic.chains import LLMChain; "
            "from langchain_core.prompts import PromptTemplate\n"
        ),
    ),
    "for a type checker only": (
        (
            "from typing import TYPE_CHECKING\n"
            "if TYPE_CHECKING:\n"
            "    from langchain.memory import ConversationBufferMemory\n"
            'def f(x: "ConversationBufferMemory"): ...\n'
        ),
        (
            "from typing import TYPE_CHECKING\n"
            "if TYPE_CHECKING:\n"
            "    from holdover.compat import ConversationBufferMemory\n"
            'def f(x: "ConversationBufferMemory"): ...\n'
        ),
    ),
    "CRLF": (
        "from langchain import LLMChain, PromptTemplate\r\nx = 1\r\n",
        (
            "from langchain_classic.chains import LLMChain\r\n"
            "from langchain_core.prompts import PromptTemplate\r\nx = 1\r\n"
        ),
    ),
    "mixed newlines stay as they are": (
        "x = 1\nfrom langchain import LLMChain, PromptTemplate\r\ny = 2\n",
        (
            "x = 1\nfrom langchain_classic.chains import LLMChain\r\n"
            "from langchain_core.prompts import PromptTemplate\r\ny = 2\n"
        ),
    ),
    "one name twice: the last one counts": (
        "from langchain import LLMChain as m, PromptTemplate as m, LLMChain\n",
        (
            "from langchain_core.prompts import PromptTemplate as m\n"
            "from langchain_classic.chains import LLMChain\n"
        ),
    ),
    "newlines of an old Mac": (
        "from langchain import LLMChain, PromptTemplate\rx = 1\r",
        (
            "from langchain_classic.chains import LLMChain\r"
            "from langchain_core.prompts import PromptTemplate\rx = 1\r"
        ),
    ),
    "a name over two lines": (
        "from langchain import (LLMChain as  # a\n    L, PromptTemplate)\n",
        (
            "from langchain_classic.chains import (\n    LLMChain as  # a\n    L,\n)\n"
            "from langchain_core.prompts import PromptTemplate\n"
        ),
    ),
    "a name over two lines with a backslash": (
        "from langchain import LLMChain as \\\n  L, PromptTemplate\n",
        (
            "from langchain_classic.chains import (\n    LLMChain as \\\n  L,\n)\n"
            "from langchain_core.prompts import PromptTemplate\n"
        ),
    ),
    "no newline at the end": (
        "from langchain import LLMChain, PromptTemplate",
        (
            "from langchain_classic.chains import LLMChain\n"
            "from langchain_core.prompts import PromptTemplate"
        ),
    ),
    "a name of another script": (
        "from langchain.memory import CombinedMemory as größe\nprint(größe)\n",
        "from holdover.compat import CombinedMemory as größe\nprint(größe)\n",
    ),
    "a local of the same name changes nothing": (
        (
            "from langchain.memory import CombinedMemory\n"
            "def f(CombinedMemory): return CombinedMemory\n"
        ),
        (
            "from holdover.compat import CombinedMemory\n"
            "def f(CombinedMemory): return CombinedMemory\n"
        ),
    ),
    "below a future import and a docstring": (
        (
            '"""Says langchain.memory."""\n'
            "from __future__ import annotations\n"
            "from langchain.memory import CombinedMemory\n"
        ),
        (
            '"""Says langchain.memory."""\n'
            "from __future__ import annotations\n"
            "from holdover.compat import CombinedMemory\n"
        ),
    ),
    "exported names stay": (
        "from langchain.memory import CombinedMemory\n__all__ = ['CombinedMemory']\n",
        "from holdover.compat import CombinedMemory\n__all__ = ['CombinedMemory']\n",
    ),
}

UNCHANGED = {
    "nothing of ours": "import os\nfrom sys import path\n",
    "a relative import": "from .langchain.memory import ConversationBufferMemory\n",
    "a relative module": "from .memory import ConversationBufferMemory\n",
    "a relative name": "from . import memory\n",
    "two dots": "from ..langchain import memory, ConversationChain\n",
    "a name that only ends so": "from mylangchain.memory import CombinedMemory\n",
    "a name that only begins so": "from langchain_x.memory import CombinedMemory\n",
    "inside another package": "from my.langchain.memory import CombinedMemory\n",
    "core, where it was": "from langchain_core.messages import AIMessage\n",
    "core's prompts": "from langchain_core.prompts import PromptTemplate\n",
    "a new agent": "from langchain.agents import create_agent\n",
    "a new submodule": "from langchain.agents.middleware import AgentMiddleware\n",
    "a chat model": "from langchain.chat_models import init_chat_model\n",
    "classic's chains": "from langchain_classic.chains import LLMChain\n",
    "community's vectors": "from langchain_community.vectorstores import FAISS\n",
    "a history of community that is nobody else's": (
        "from langchain_community.chat_message_histories import ZepChatMessageHistory\n"
    ),
    "a partner's": "from langchain_openai import ChatOpenAI\n",
    "experimental": "from langchain_experimental.agents import create_csv_agent\n",
    "splitters": "from langchain_text_splitters import CharacterTextSplitter\n",
    "ours": "from holdover.compat import ConversationBufferMemory\n",
    "a comment": "# from langchain.memory import CombinedMemory\n",
    "a docstring": '"""from langchain.memory import CombinedMemory"""\n',
    "a text": "x = 'from langchain.memory import CombinedMemory'\n",
    "a doctest": "def f():\n    '''>>> from langchain.memory import A'''\n",
    "a variable": "langchain = 1\nprint(langchain)\n",
    "an attribute": "x = object()\nx.langchain.memory.ConversationBufferMemory\n",
    "a keyword": "f(langchain=1)\n",
    "a key": "x = {'langchain.memory': 1}\n",
    "a logger": "import logging\nlogging.getLogger('langchain.memory')\n",
    "a distribution": "x = ['langchain', 'langchain-community']\n",
    "empty": "",
    "a comment alone": "# langchain",
    "only white space": "\n\n  \n",
    "a star of somebody else": "from mylangchain.memory import *\n",
    "ignored": "from langchain.memory import CombinedMemory  # holdover: ignore\n",
    "ignored by code": (
        "from langchain.memory import CombinedMemory  # holdover: ignore[HO101]\n"
    ),
    "ignored by codes": (
        "from langchain.memory import CombinedMemory  # holdover: ignore[HO1, HO101]\n"
    ),
    "ignored at the end of several lines": (
        "from langchain.memory import (\n    CombinedMemory,\n)  # holdover: ignore\n"
    ),
    "ignored among other comments": (
        "from langchain.memory import CombinedMemory  # noqa # holdover:ignore\n"
    ),
}

TODOS = {
    "a removed name": (
        "from langchain import verbose\n",
        "HO401",
        "from langchain import verbose\n",
    ),
    "a name nobody knows": (
        "from langchain.memory import Nonsense\n",
        "HO402",
        "from langchain.memory import Nonsense\n",
    ),
    "only it stays behind": (
        "def f():\n    from langchain.memory import CombinedMemory, Nonsense\n",
        "HO402",
        (
            "    from langchain.memory import Nonsense\n"
            "    from holdover.compat import CombinedMemory\n"
        ),
    ),
    "on the line of an if": (
        "if True: from langchain.memory import Nonsense\n",
        "HO402",
        "if True: from langchain.memory import Nonsense\n",
    ),
    "below another comment": (
        "# for later\nfrom langchain.memory import Nonsense\n",
        "HO402",
        "from langchain.memory import Nonsense\n",
    ),
    "in an else": (
        "if x:\n\tpass\nelse:\n\tfrom langchain.memory import Nonsense\n",
        "HO402",
        "\tfrom langchain.memory import Nonsense\n",
    ),
    "after a backslash": (
        "x = 1; \\\nfrom langchain.memory import Nonsense\n",
        "HO402",
        "x = 1; \\\nfrom langchain.memory import Nonsense\n",
    ),
}


@pytest.mark.parametrize("name", REWRITES)
def test_names_are_imported_from_where_they_live(name, rewritten):
    before, after = REWRITES[name]

    done = rewritten(before)

    assert done.text == after
    assert done.findings
    assert all(finding.fixed for finding in done.findings)


@pytest.mark.parametrize("name", UNCHANGED)
def test_anything_else_is_left_alone(name, rewritten):
    done = rewritten(UNCHANGED[name])

    assert done.text == UNCHANGED[name]
    assert done.findings == ()


@pytest.mark.parametrize("name", TODOS)
def test_what_a_person_must_decide_says_so_above_its_line(name, rewritten):
    before, code, below = TODOS[name]

    done = rewritten(before)

    head, _, rest = done.text.partition(f"# TODO(holdover {code}): ")
    comment, _, tail = rest.partition("\n")
    indentation = head.rpartition("\n")[2]
    assert not indentation.strip()
    assert comment
    assert tail == below
    assert [one.code for one in done.findings if not one.fixed] == [code]


def test_a_comment_is_not_repeated_for_each_name(rewritten):
    done = rewritten("from langchain.memory import Nonsense, Stuff, Nonsense as N\n")

    assert done.text.count("TODO") == 1
    assert "where Nonsense is" in done.text
    assert "where Stuff is" in done.text
    assert len(done.findings) == 3


def test_a_comment_that_is_there_is_enough(rewritten):
    before = (
        "# TODO(holdover HO402): ask Ann about this one\n"
        "# and do not forget\n"
        "from langchain.memory import Nonsense\n"
    )

    assert rewritten(before).text == before


def test_only_the_rules_that_were_asked_for_are_applied(rewritten):
    before = "from langchain import LLMChain, PromptTemplate, memory, verbose\n"
    before += "from langchain.memory import CombinedMemory, Nonsense\n"

    done = rewritten(before, codes={"HO201"})

    assert done.text == before.replace(
        "from langchain import LLMChain, PromptTemplate, memory, verbose",
        "from langchain import LLMChain, memory, verbose\n"
        "from langchain_core.prompts import PromptTemplate",
    )
    assert [one.code for one in done.findings] == ["HO201"]
    assert rewritten(before, codes=()).text == before


def test_a_name_is_ignored_where_its_line_says_so(rewritten):
    done = rewritten(
        "from langchain.memory import (\n"
        "    CombinedMemory,  # holdover: ignore\n"
        "    SimpleMemory,\n"
        ")\n"
    )

    assert done.text == (
        "from langchain.memory import (\n"
        "    CombinedMemory,  # holdover: ignore\n"
        ")\n"
        "from holdover.compat import SimpleMemory\n"
    )


def test_findings_say_where_and_what(rewritten):
    done = rewritten(
        "# ä\nif True:\n    from langchain.memory import (\n"
        "        CombinedMemory, RedisEntityStore,\n"
        "        MongoDBChatMessageHistory)\n"
    )

    assert [(one.code, one.line, one.column) for one in done.findings] == [
        ("HO101", 4, 9),
        ("HO103", 4, 25),
        ("HO205", 5, 9),
    ]
    first, _, partner = done.findings
    assert first.old == "langchain.memory.CombinedMemory"
    assert first.new == "holdover.compat.CombinedMemory"
    assert first.safe
    assert not partner.safe
    assert "pip install langchain-mongodb" in partner.message


@pytest.mark.parametrize("code", ALL)
def test_the_example_of_each_rule_is_true(code, rewritten):
    rule = ALL[code]

    done = rewritten(rule.before)

    assert done.text == rule.after
    assert done.text != rule.before
    assert code in {finding.code for finding in done.findings}
    assert rule.what
    assert rule.why.endswith(".")
