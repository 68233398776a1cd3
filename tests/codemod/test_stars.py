"""`from module import *`."""

from __future__ import annotations

import pytest

STAR = "from langchain.memory import *\n"

REWRITES = {
    "what is used": (
        f"{STAR}x = SimpleMemory()\n",
        "from holdover.compat import SimpleMemory\nx = SimpleMemory()\n",
    ),
    "in several places": (
        f"{STAR}SimpleMemory, MongoDBChatMessageHistory\n",
        (
            "from holdover.compat import SimpleMemory\n"
            "from langchain_mongodb import MongoDBChatMessageHistory\n"
            "SimpleMemory, MongoDBChatMessageHistory\n"
        ),
    ),
    "several stars": (
        f"{STAR}from langchain.chains import *\nSimpleMemory, LLMChain\n",
        (
            "from holdover.compat import SimpleMemory\n"
            "from langchain_classic.chains import LLMChain\n"
            "SimpleMemory, LLMChain\n"
        ),
    ),
    "in a function": (
        f"{STAR}def f(): return [SimpleMemory for _ in x]\n",
        (
            "from holdover.compat import SimpleMemory\n"
            "def f(): return [SimpleMemory for _ in x]\n"
        ),
    ),
    "in an annotation": (
        f"{STAR}x: 'list[SimpleMemory]'\n",
        "from holdover.compat import SimpleMemory\nx: 'list[SimpleMemory]'\n",
    ),
    "exported by name": (
        f"{STAR}__all__ = ['SimpleMemory', 'f']\n",
        "from holdover.compat import SimpleMemory\n__all__ = ['SimpleMemory', 'f']\n",
    ),
    "a submodule": (
        "from langchain.memory.buffer import *\nConversationBufferMemory\n",
        (
            "from holdover.compat import ConversationBufferMemory\n"
            "ConversationBufferMemory\n"
        ),
    ),
    "by a class body that binds it then": (
        f"{STAR}class A: SimpleMemory = SimpleMemory\n",
        (
            "from holdover.compat import SimpleMemory\n"
            "class A: SimpleMemory = SimpleMemory\n"
        ),
    ),
    "deleted": (
        f"{STAR}del SimpleMemory, (x, CombinedMemory)\n",
        (
            "from holdover.compat import CombinedMemory, SimpleMemory\n"
            "del SimpleMemory, (x, CombinedMemory)\n"
        ),
    ),
    "deleted by a function": (
        f"{STAR}def f():\n    global SimpleMemory\n    del SimpleMemory\n",
        (
            "from holdover.compat import SimpleMemory\n"
            "def f():\n    global SimpleMemory\n    del SimpleMemory\n"
        ),
    ),
    "in a type that is no annotation": (
        f"{STAR}A = Optional['SimpleMemory']\n",
        "from holdover.compat import SimpleMemory\nA = Optional['SimpleMemory']\n",
    ),
    "within a try": (
        (
            "try:\n    from langchain.memory import *\nexcept ImportError:\n    pass\n"
            "SimpleMemory\n"
        ),
        (
            "try:\n    from holdover.compat import SimpleMemory\nexcept ImportError:\n"
            "    pass\nSimpleMemory\n"
        ),
    ),
    "a module that lives on": (
        "from langchain.agents import *\nAgentExecutor, create_agent\n",
        (
            "from langchain.agents import *\n"
            "from langchain_classic.agents import AgentExecutor\n"
            "AgentExecutor, create_agent\n"
        ),
    ),
    "a local one is not meant": (
        f"{STAR}SimpleMemory\ndef f(CombinedMemory): return CombinedMemory\n",
        (
            "from holdover.compat import SimpleMemory\nSimpleMemory\n"
            "def f(CombinedMemory): return CombinedMemory\n"
        ),
    ),
}

UNCHANGED = {
    "classic's chains": "from langchain_classic.chains import *\nLLMChain\n",
    "core": "from langchain_core.messages import *\nAIMessage\n",
    "a module that lives on": "from langchain.agents import *\ncreate_agent\n",
    "ours": "from holdover.compat import *\nSimpleMemory\n",
    "relative": "from .memory import *\nSimpleMemory\n",
    "ignored": "from langchain.memory import *  # holdover: ignore\nSimpleMemory\n",
}

TODOS = {
    "exec": f"exec(x)\n{STAR}SimpleMemory\n",
    "eval": f"{STAR}eval(x)\n",
    "globals": f"{STAR}globals()['SimpleMemory']\n",
    "an __all__ that is computed": (
        f"{STAR}__all__ = [x for x in dir()]\nSimpleMemory\n"
    ),
    "an __all__ that grows": (
        f"{STAR}__all__ = ['a']\n__all__ += names()\nSimpleMemory\n"
    ),
    "an __all__ that is extended": (
        f"{STAR}__all__ = ['a']\n__all__.extend(['SimpleMemory'])\n"
    ),
    "an __all__ that is appended to": (
        f"{STAR}__all__ = ['a']\n__all__.append('SimpleMemory')\n"
    ),
    "an __all__ that is replaced": f"{STAR}__all__[:] = ['SimpleMemory']\n",
    "nothing is used": STAR,
}


@pytest.mark.parametrize("name", REWRITES)
def test_a_star_becomes_the_names_that_are_used(name, rewritten):
    before, after = REWRITES[name]

    done = rewritten(before)

    assert done.text == after
    assert not any(finding.safe for finding in done.findings)


@pytest.mark.parametrize("name", UNCHANGED)
def test_other_stars_are_left_alone(name, rewritten):
    done = rewritten(UNCHANGED[name])

    assert done.text == UNCHANGED[name]
    assert done.findings == ()


@pytest.mark.parametrize("name", TODOS)
def test_a_star_whose_use_cannot_be_told_stays(name, rewritten):
    done = rewritten(TODOS[name])

    before, _, after = done.text.partition("# TODO(holdover HO402): ")
    assert before + after.partition("\n")[2] == TODOS[name]
    assert after.partition("\n")[2].startswith(STAR)


@pytest.mark.parametrize("about", [{"module": "pkg.__init__"}, {"stub": True}])
def test_a_star_that_others_may_import_from_stays(about, rewritten):
    done = rewritten(f"{STAR}SimpleMemory\n", **about)

    assert done.text.endswith(f"\n{STAR}SimpleMemory\n")
    assert "HO402" in done.text


def test_a_function_of_ones_own_called_vars_is_no_hindrance(rewritten):
    done = rewritten(f"{STAR}def vars(): ...\nvars(), SimpleMemory\n")

    assert done.text.startswith("from holdover.compat import SimpleMemory\n")
