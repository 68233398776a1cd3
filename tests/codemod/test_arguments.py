"""Arguments that were renamed."""

from __future__ import annotations

import pytest

SQL = "from holdover.compat import SQLChatMessageHistory as H\n"
ENTITY = "from holdover.compat import ConversationEntityMemory as M\n"
BUFFER = "from holdover.compat import ConversationBufferMemory as M\n"

REWRITES = {
    "by name": (
        SQL + "H('s', connection_string=url)\n",
        SQL + "H('s', connection=url)\n",
    ),
    "with spaces": (
        SQL + "H(\n    's',\n    connection_string = url,  # here\n)\n",
        SQL + "H(\n    's',\n    connection = url,  # here\n)\n",
    ),
    "from an old path, in one go": (
        (
            "from langchain.memory import SQLChatMessageHistory\n"
            "SQLChatMessageHistory(connection_string=url, session_id='s')\n"
        ),
        (
            "from holdover.compat import SQLChatMessageHistory\n"
            "SQLChatMessageHistory(connection=url, session_id='s')\n"
        ),
    ),
    "of a module": (
        (
            "import langchain_community.chat_message_histories as h\n"
            "h.SQLChatMessageHistory('s', connection_string=url)\n"
        ),
        "import holdover.compat as h\nh.SQLChatMessageHistory('s', connection=url)\n",
    ),
    "of a whole path": (
        (
            "import langchain.memory\n"
            "langchain.memory.SQLChatMessageHistory('s', connection_string=url)\n"
        ),
        (
            "import holdover.compat\n"
            "holdover.compat.SQLChatMessageHistory('s', connection=url)\n"
        ),
    ),
    "of a call to come": (
        SQL + "functools.partial(H, 's', connection_string=url)\n",
        SQL + "functools.partial(H, 's', connection=url)\n",
    ),
    "of a star": (
        (
            "from langchain.memory import *\n"
            "SQLChatMessageHistory('s', connection_string=u)\n"
        ),
        (
            "from holdover.compat import SQLChatMessageHistory\n"
            "SQLChatMessageHistory('s', connection=u)\n"
        ),
    ),
    "in a function": (
        SQL + "f = lambda s: H(s, connection_string=url)\n",
        SQL + "f = lambda s: H(s, connection=url)\n",
    ),
    "an address in the second place": (
        SQL + "H('s', 'sqlite:///x.db')\n",
        SQL + "H('s', connection='sqlite:///x.db')\n",
    ),
    "and what comes after it": (
        SQL + "H('s', f'sqlite:///{x}', 'table', engine_args={})\n",
        SQL
        + "H('s', connection=f'sqlite:///{x}', table_name='table', engine_args={})\n",
    ),
    "either of two imports": (
        (
            "try:\n    from langchain.memory import SQLChatMessageHistory as H\n"
            "except ImportError:\n"
            "    from langchain_community.chat_message_histories import (\n"
            "        SQLChatMessageHistory as H,\n    )\n"
            "H('s', connection_string=url)\n"
        ),
        (
            "try:\n    from holdover.compat import SQLChatMessageHistory as H\n"
            "except ImportError:\n"
            "    from holdover.compat import (\n"
            "        SQLChatMessageHistory as H,\n    )\n"
            "H('s', connection=url)\n"
        ),
    ),
    "entities": (
        (
            "from langchain.memory.entity import ConversationEntityMemory\n"
            "m = ConversationEntityMemory(llm=llm, store={'Ann': 'x'})\n"
        ),
        (
            "from holdover.compat import "
            "ConversationEntityMemory, InMemoryEntityStore\n"
            "m = ConversationEntityMemory(llm=llm, "
            "entity_store=InMemoryEntityStore(store={'Ann': 'x'}))\n"
        ),
    ),
    "entities, where each name has its line": (
        (
            "from holdover.compat import (\n"
            "    ConversationEntityMemory,\n"
            ")\nConversationEntityMemory(store={1: 2})\n"
        ),
        (
            "from holdover.compat import (\n"
            "    ConversationEntityMemory,\n    InMemoryEntityStore,\n"
            ")\nConversationEntityMemory("
            "entity_store=InMemoryEntityStore(store={1: 2}))\n"
        ),
    ),
    "entities, twice": (
        ENTITY + "M(store={1: 2}), M(store=dict(a='b'))\n",
        ENTITY.replace(" as M", " as M, InMemoryEntityStore")
        + "M(entity_store=InMemoryEntityStore(store={1: 2})), "
        "M(entity_store=InMemoryEntityStore(store=dict(a='b')))\n",
    ),
    "entities, with the store imported": (
        ENTITY + "from langchain.memory import InMemoryEntityStore\nM(store={1: 2})\n",
        ENTITY + "from holdover.compat import InMemoryEntityStore\n"
        "M(entity_store=InMemoryEntityStore(store={1: 2}))\n",
    ),
    "entities of a star": (
        (
            "from langchain.memory import *\n"
            "ConversationEntityMemory(llm=x, store={'a': 1})\n"
        ),
        (
            "from holdover.compat import "
            "ConversationEntityMemory, InMemoryEntityStore\n"
            "ConversationEntityMemory(llm=x, "
            "entity_store=InMemoryEntityStore(store={'a': 1}))\n"
        ),
    ),
    "entities of a star that gives the store, too": (
        (
            "from langchain.memory import *\n"
            "ConversationEntityMemory(store={1: 2}), InMemoryEntityStore\n"
        ),
        (
            "from holdover.compat import "
            "ConversationEntityMemory, InMemoryEntityStore\n"
            "ConversationEntityMemory("
            "entity_store=InMemoryEntityStore(store={1: 2})), InMemoryEntityStore\n"
        ),
    ),
    "entities of a module": (
        ("import langchain.memory as m\nm.ConversationEntityMemory(store={'a': 1})\n"),
        (
            "import holdover.compat as m\nm.ConversationEntityMemory("
            "entity_store=m.InMemoryEntityStore(store={'a': 1}))\n"
        ),
    ),
    "entities of a module as a name": (
        (
            "from holdover import compat\n"
            "compat.ConversationEntityMemory(store={'a': 1})\n"
        ),
        (
            "from holdover import compat\ncompat.ConversationEntityMemory("
            "entity_store=compat.InMemoryEntityStore(store={'a': 1}))\n"
        ),
    ),
    "entities of a module whose name goes": (
        (
            "import langchain.memory as m\n"
            "m.ConversationEntityMemory(store={1: 2}), m.MongoDBChatMessageHistory\n"
        ),
        (
            "import holdover.compat\nimport langchain_mongodb\n"
            "holdover.compat.ConversationEntityMemory("
            "entity_store=holdover.compat.InMemoryEntityStore(store={1: 2})), "
            "langchain_mongodb.MongoDBChatMessageHistory\n"
        ),
    ),
    "entities of a whole path": (
        (
            "import langchain.memory\n"
            "langchain.memory.ConversationEntityMemory(store={'a': 1})\n"
        ),
        (
            "import holdover.compat\nholdover.compat.ConversationEntityMemory("
            "entity_store=holdover.compat.InMemoryEntityStore(store={'a': 1}))\n"
        ),
    ),
    "entities of a path that is new already": (
        (
            "import holdover.compat\n"
            "holdover.compat.ConversationEntityMemory(store={'a': 1})\n"
        ),
        (
            "import holdover.compat\nholdover.compat.ConversationEntityMemory("
            "entity_store=holdover.compat.InMemoryEntityStore(store={'a': 1}))\n"
        ),
    ),
    "empty ones": (
        ENTITY + "M(store={}, buffer=[], llm=llm)\n",
        ENTITY + "M(llm=llm)\n",
    ),
    "empty ones at the end": (
        ENTITY + "M(llm=llm, store={}, buffer=[],)\nM(llm=llm, store={})\n",
        ENTITY + "M(llm=llm,)\nM(llm=llm)\n",
    ),
    "nothing else": (ENTITY + "M(buffer=[])\nM(store={},)\n", ENTITY + "M()\nM()\n"),
    "on lines of their own": (
        ENTITY + "M(\n    llm=llm,\n    store={},\n    k=2,\n)\n",
        ENTITY + "M(\n    llm=llm,\n    k=2,\n)\n",
    ),
    "the key": (
        ENTITY + "M(llm=llm, memory_key='chat')\n",
        ENTITY + "M(llm=llm, chat_history_key='chat')\n",
    ),
    "an empty text": (BUFFER + "M(k=1, buffer='')\n", BUFFER + "M(k=1)\n"),
}

UNCHANGED = {
    "right already": SQL + "H('s', connection=url)\n",
    "both": SQL + "H('s', connection_string=a, connection=b)\n",
    "an address that does not show": SQL + "H('s', url)\n",
    "a table": SQL + "H('s', 'table', connection=url)\n",
    "a table alone": SQL + "H('s', 'table')\n",
    "unpacked": SQL + "H(*args)\nH('s', *args)\nH(**kwargs)\n",
    "a class of one's own": "class H: ...\nH(connection_string=1)\n# langchain\n",
    "a name nobody imports": (
        "SQLChatMessageHistory(connection_string=1)\n# langchain\n"
    ),
    "another package's": (
        "from mine import SQLChatMessageHistory\n"
        "SQLChatMessageHistory('s', connection_string=1)\n# langchain\n"
    ),
    "a relative one's": (
        "from .langchain.memory import SQLChatMessageHistory\n"
        "SQLChatMessageHistory('s', connection_string=1)\n"
    ),
    "a parameter": SQL + "def f(H): H(connection_string=1)\n",
    "a local": SQL + "def f():\n    H = g\n    H(connection_string=1)\n",
    "one that was replaced": SQL + "H = g(H)\nH(connection_string=1)\n",
    "a class that has it still": (
        "from holdover.compat import PostgresChatMessageHistory\n"
        "PostgresChatMessageHistory('s', connection_string=url)\n"
    ),
    "a method": SQL + "H.make(connection_string=1)\n",
    "not called": SQL + "print(H, dict(connection_string=1))\n",
    "a star of someone else's": (
        "from holdover.compat import *\nfrom mine import *\n"
        "SQLChatMessageHistory('s', connection_string=1)\n"
    ),
    "a store": ENTITY + "M(llm=llm, store=store, session_id='s')\n",
    "entities beside a store": ENTITY + "M(entity_store=s, store={1: 2})\n",
    "lines that are read still": ENTITY + "M(buffer=['Human: hi'])\n",
    "both keys": ENTITY + "M(memory_key='a', chat_history_key='b')\n",
    "the summary of a summary": (
        "from holdover.compat import ConversationSummaryMemory\n"
        "ConversationSummaryMemory(llm=llm, buffer='')\n"
    ),
    "a comment that would go": ENTITY + "M(\n    store={},  # none yet\n    k=1,\n)\n",
    "ignored": SQL + "H('s', connection_string=url)  # holdover: ignore[HO301]\n",
}

TODOS = {
    "a first text": (BUFFER + "M(buffer='Human: hi')\n", "HO303"),
    "a variable": (BUFFER + "M(buffer=text)\n", "HO303"),
    "a cluster": (
        (
            "from langchain_community.chat_message_histories import "
            "CassandraChatMessageHistory as C\n"
            "C(contact_points=['a'], session_id='s')\n"
        ),
        "HO304",
    ),
    "a cluster by place": (
        (
            "from langchain_community.chat_message_histories import "
            "CassandraChatMessageHistory as C\nC(['a'], 's', 9042)\n"
        ),
        "HO304",
    ),
}


#: Entities whose store nothing can import, and the line above which that is said.
WITHOUT_A_STORE = {
    "a name that is taken": (
        (
            "from langchain.memory import ConversationEntityMemory as M\n"
            "InMemoryEntityStore = 1\n"
        ),
        "M(store={1: 2})\n",
    ),
    "imported in a function for all": (
        (
            "def f():\n    global M\n"
            "    from langchain.memory import ConversationEntityMemory as M\n"
        ),
        "def g(): return M(store={1: 2})\n",
    ),
    "a module that is passed on": (
        "import langchain.memory as m\nf(m)\n",
        "m.ConversationEntityMemory(store={1: 2})\n",
    ),
    "a star whose names cannot be told": (
        "from langchain.memory import *\nexec(x)\n",
        "ConversationEntityMemory(store={1: 2})\n",
    ),
}


@pytest.mark.parametrize("name", WITHOUT_A_STORE)
def test_entities_without_a_store_to_import_are_for_a_person(name, rewritten):
    before, line = WITHOUT_A_STORE[name]

    done = rewritten(before + line)

    above, found, _ = done.text.partition(f"\n{line}")
    assert found
    assert "\n# TODO(holdover HO302): " in above
    assert "InMemoryEntityStore" in above.rpartition("\n")[2]
    assert "import InMemoryEntityStore" not in done.text.replace("# TODO", "")
    assert [one.fixed for one in done.findings if one.code == "HO302"] == [False]


@pytest.mark.parametrize("name", REWRITES)
def test_an_old_argument_gets_its_new_name(name, rewritten):
    before, after = REWRITES[name]

    done = rewritten(before)

    assert done.text == after
    assert any(finding.code.startswith("HO3") for finding in done.findings)


@pytest.mark.parametrize("name", UNCHANGED)
def test_what_is_not_surely_an_old_argument_stays(name, rewritten):
    done = rewritten(UNCHANGED[name])

    assert done.text == UNCHANGED[name]
    assert not any(finding.fixed for finding in done.findings)


@pytest.mark.parametrize("name", TODOS)
def test_an_argument_without_a_successor_is_for_a_person(name, rewritten):
    before, code = TODOS[name]

    done = rewritten(before)

    lines = done.text.splitlines(keepends=True)
    assert lines.pop(1).startswith(f"# TODO(holdover {code}): ")
    assert "".join(lines) == before
    assert [one.code for one in done.findings] == [code]


def test_a_rule_that_was_not_asked_for_leaves_arguments_alone(rewritten):
    before = SQL + "H('s', connection_string=url)\n"

    assert rewritten(before, codes={"HO101"}).text == before
