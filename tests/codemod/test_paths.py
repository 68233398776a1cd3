"""Old paths in strings that are looked up at run time."""

from __future__ import annotations

import pytest

IMPORT = "from langchain.memory import SimpleMemory\n"
NOW = "from holdover.compat import SimpleMemory\n"

REWRITES = {
    "a patch of what the file imports": (
        IMPORT + 'with patch("langchain.memory.SimpleMemory"): ...\n',
        NOW + 'with patch("holdover.compat.SimpleMemory"): ...\n',
    ),
    "a method": (
        IMPORT + "mock.patch('langchain.memory.simple.SimpleMemory.clear', x)\n",
        NOW + "mock.patch('holdover.compat.SimpleMemory.clear', x)\n",
    ),
    "by pytest": (
        IMPORT + "monkeypatch.setattr('langchain.memory.SimpleMemory', x)\n",
        NOW + "monkeypatch.setattr('holdover.compat.SimpleMemory', x)\n",
    ),
    "of a module that is imported by its path": (
        (
            "import langchain.memory\nlangchain.memory.SimpleMemory\n"
            'patch("langchain.memory.SimpleMemory")\n'
        ),
        (
            "import holdover.compat\nholdover.compat.SimpleMemory\n"
            'patch("holdover.compat.SimpleMemory")\n'
        ),
    ),
    "as a decorator": (
        IMPORT + "@mock.patch('langchain.memory.SimpleMemory')\ndef f(x): ...\n",
        NOW + "@mock.patch('holdover.compat.SimpleMemory')\ndef f(x): ...\n",
    ),
    "found by its path": (
        "pydoc.locate(r'langchain.memory.SimpleMemory')\n",
        "pydoc.locate(r'holdover.compat.SimpleMemory')\n",
    ),
}

REPORTED = {
    "a module": ("importlib.import_module('langchain.memory')\n", "HO402"),
    "whether a module is there": ("find_spec('langchain.memory')\n", "HO402"),
    "the oldest way": ("__import__('langchain.chains.conversation')\n", "HO402"),
    "a test that needs it": ("pytest.importorskip('langchain.memory')\n", "HO402"),
    "a patch of what others import": (
        "patch('langchain.memory.SimpleMemory')\n",
        "HO101",
    ),
    "a patch beside the import of a module that lives on": (
        "import langchain.agents\npatch('langchain.agents.AgentExecutor')\n",
        "HO204",
    ),
    "a name nobody knows": ("patch('langchain.memory.Nonsense')\n", "HO402"),
    "a name that is gone": ("patch('langchain.verbose', True)\n", "HO401"),
}

UNCHANGED = {
    "any other call": "print('langchain.memory.SimpleMemory')\n",
    "a variable": "import_module(langchain_name)\n",
    "a name put together": "import_module('langchain.' + name)\n",
    "an f-string": "import_module(f'langchain.{name}')\n",
    "another package": "import_module('langchain_openai')\n",
    "a module that lives on": "import_module('langchain.agents')\n",
    "a name that lives on": "patch('langchain.agents.create_agent')\n",
    "a module of another": "patch('mylangchain.memory.SimpleMemory')\n",
    "with names unpacked": "patch(*'langchain.memory')\n",
    "ignored": "import_module('langchain.memory')  # holdover: ignore\n",
    "a message": "setattr(x, 'langchain.memory', 1)\n",
}


@pytest.mark.parametrize("name", REWRITES)
def test_a_path_that_is_sure_is_rewritten_for_review(name, rewritten):
    before, after = REWRITES[name]

    done = rewritten(before)

    assert done.text == after
    assert not done.findings[-1].safe


@pytest.mark.parametrize("name", REPORTED)
def test_a_path_that_is_not_is_only_reported(name, rewritten):
    before, code = REPORTED[name]

    done = rewritten(before)

    assert done.text == before
    assert [(one.code, one.fixed) for one in done.findings] == [(code, False)]


@pytest.mark.parametrize("name", UNCHANGED)
def test_other_strings_are_left_alone(name, rewritten):
    done = rewritten(UNCHANGED[name])

    assert done.text == UNCHANGED[name]
    assert done.findings == ()
