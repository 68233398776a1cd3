"""`override=True`: the installed packages themselves hand out our classes."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from compat.shim.conftest import HAS_CLASSIC, HAS_COMMUNITY, HAS_OLD

ROOT = "langchain_classic" if HAS_CLASSIC else "langchain"
pytestmark = pytest.mark.skipif(
    not (HAS_CLASSIC or HAS_OLD), reason="there is nothing to replace"
)


def run(code, **environment):
    """Its output, and what it warned of; in a fresh process."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | environment,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split(), done.stderr


def test_real_modules_hand_out_ours():
    said, _ = run(
        "from holdover.compat import shim\n"
        "shim.install(override=True)\n"
        f"from {ROOT}.memory import ConversationBufferMemory as a\n"
        f"from {ROOT}.memory.entity import SQLiteEntityStore as b\n"
        f"from {ROOT}.chains.conversation.memory import ConversationEntityMemory as c\n"
        "print(a.__module__, b.__module__, c.__module__)\n"
    )
    assert said == [
        "holdover.compat.buffer",
        "holdover.compat.entity_stores",
        "holdover.compat.entity",
    ]


@pytest.mark.skipif(not (HAS_COMMUNITY or HAS_OLD), reason="community is missing")
def test_so_does_community():
    said, _ = run(
        "from holdover.compat import shim\n"
        "shim.install(override=True)\n"
        "from langchain_community.chat_message_histories import (\n"
        "    FileChatMessageHistory, CassandraChatMessageHistory)\n"
        "from langchain_community.chat_message_histories.redis import (\n"
        "    RedisChatMessageHistory)\n"
        "print(FileChatMessageHistory.__module__)\n"
        "print(RedisChatMessageHistory.__module__)\n"
        "print(CassandraChatMessageHistory.__module__)\n"
    )
    assert said == [
        "holdover.compat.chat_message_histories.file",
        "holdover.compat.chat_message_histories.redis",
        "langchain_community.chat_message_histories.cassandra",
    ]


def test_a_chain_that_makes_its_own_memory_makes_ours():
    said, _ = run(
        "from holdover.compat import shim\n"
        "shim.install(override=True)\n"
        f"from {ROOT}.chains import ConversationChain\n"
        "from langchain_core.language_models import FakeListLLM\n"
        "chain = ConversationChain(llm=FakeListLLM(responses=['ho']))\n"
        "print(type(chain.memory).__module__, chain.predict(input='hi'))\n"
    )
    assert said == ["holdover.compat.buffer", "ho"]


def test_modules_that_took_the_old_class_before_are_named(tmp_path):
    (tmp_path / "too_early.py").write_text(
        f"from {ROOT}.memory import ConversationBufferMemory\n"
    )
    said, told = run(
        "import sys; sys.path.insert(0, '.')\n"
        f"import os; os.chdir({str(tmp_path)!r})\n"
        "import too_early\n"
        "from holdover.compat import shim\n"
        "shim.install(override=True)\n"
        "print(too_early.ConversationBufferMemory.__module__)\n"
    )
    assert said == [f"{ROOT}.memory.buffer"]
    assert "too_early (ConversationBufferMemory)" in told
    assert "Install the shim before them." in told


def test_so_are_classes_that_were_derived_from_an_old_one(tmp_path):
    (tmp_path / "too_early.py").write_text(
        f"import {ROOT}.memory as m\nclass Mine(m.SimpleMemory): pass\ndel m\n"
    )
    _, told = run(
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "import too_early\n"
        "from holdover.compat import shim\n"
        "shim.install(override=True)\n"
    )
    assert "too_early (Mine)" in told


def test_what_others_keep_in_their_modules_is_not_touched():
    said, _ = run(
        "import sys, types\n"
        "class Touchy:\n"
        "    def __getattribute__(self, name): raise RuntimeError(name)\n"
        "odd = types.ModuleType('odd')\n"
        "odd.held, odd.__name__ = Touchy(), Touchy()\n"
        "sys.modules['odd'] = odd\n"
        "sys.modules['no_module'] = Touchy()\n"
        "from holdover.compat import shim\n"
        "shim.install(override=True)\n"
        "print('installed')\n"
    )
    assert said == ["installed"]


def test_without_override_a_real_module_keeps_its_classes():
    said, _ = run(
        "from holdover.compat import shim\n"
        "shim.install()\n"
        f"from {ROOT}.memory import ConversationBufferMemory as a\n"
        "print(a.__module__)\n"
    )
    assert said == [f"{ROOT}.memory.buffer"]


def test_it_can_be_asked_for_later():
    said, _ = run(
        "from holdover.compat import shim\n"
        "shim.install()\n"
        f"import {ROOT}.memory as m\n"
        "shim.install(override=True)\n"
        "print(m.SimpleMemory.__module__)\n"
        "shim.uninstall()\n"
        "print(m.SimpleMemory.__module__)\n"
    )
    assert said == ["holdover.compat.simple", f"{ROOT}.memory.simple"]


def test_upstream_memory_still_builds_its_own_classes():
    """Classic's subclasses were made before, of classic's bases."""
    said, _ = run(
        "from holdover.compat import shim\n"
        "shim.install(override=True)\n"
        f"import {ROOT}.memory as m\n"
        "from langchain_core.language_models import FakeListLLM\n"
        "llm = FakeListLLM(responses=['NONE'] * 9)\n"
        "for name in sorted(m.__all__):\n"
        "    if name in ('ConversationEntityMemory', 'ConversationSummaryMemory'):\n"
        "        memory = getattr(m, name)(llm=llm)\n"
        "        memory.load_memory_variables({'input': 'hi'})\n"
        "        memory.save_context({'input': 'hi'}, {'output': 'ho'})\n"
        "        print(type(memory).__module__)\n"
    )
    assert said == ["holdover.compat.entity", "holdover.compat.summary"]
