"""Installing costs nothing, and uninstalling leaves nothing."""

from __future__ import annotations

import importlib
import subprocess
import sys
import threading
import types

import pytest
from compat.shim.conftest import HAS_NEW, HAS_OLD

from holdover.compat import shim as the_shim
from holdover.compat.real_modules import is_served


@pytest.fixture(autouse=True)
def _silent(monkeypatch):
    monkeypatch.setenv("HOLDOVER_SHIM", "silent")


AFTER_OLD_IMPORTS = """\
shim.install()
import langchain.memory.chat_memory, langchain.memory.entity
import langchain_classic.memory.entity
"""


def the_state():
    """All that an installed shim may change."""
    roots = ("langchain", "langchain_classic", "langchain_community", "langchain_core")
    mine = {
        name: module
        for name, module in sys.modules.items()
        if name.partition(".")[0] in roots
    }
    return (
        list(sys.meta_path),
        {name for name, module in mine.items() if is_served(module)},
        {name: type(module) for name, module in mine.items()},
        {name: set(vars(module)) for name, module in mine.items()},
    )


def test_it_imports_nothing():
    code = (
        "import sys\n"
        "import holdover.compat.shim as shim\n"
        "before = set(sys.modules)\n"
        "shim.install()\n"
        "print(sorted(set(sys.modules) - before))\n"
        "shim.uninstall()\n"
        "print(any(name.startswith('langchain') for name in sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["[]", "False"]


def test_uninstalling_leaves_everything_as_it_was():
    importlib.import_module("langchain_core.messages")
    if HAS_NEW or HAS_OLD:
        importlib.import_module("langchain.chat_models")
    with the_shim.installed():  # whatever real modules this loads stay loaded
        _use()
    before = the_state()
    with the_shim.installed():
        _use()
        assert the_state()[0] != before[0]
    assert the_state() == before


def test_uninstalling_leaves_replaced_classes_as_they_were():
    with the_shim.installed(override=True):
        _use()
    before = the_state()
    memory = sys.modules.get("langchain_classic.memory.buffer") or sys.modules.get(
        "langchain.memory.buffer"
    )
    old = memory and memory.ConversationBufferMemory
    with the_shim.installed(override=True):
        _use()
        if memory and not is_served(memory):
            assert memory.ConversationBufferMemory is not old
    assert the_state() == before
    assert (memory and memory.ConversationBufferMemory) is old


def _use():
    for name in (
        "langchain.memory",
        "langchain.memory.chat_message_histories.redis",
        "langchain.schema.messages",
        "langchain_core.memory",
    ):
        importlib.import_module(name)
    module = importlib.import_module("langchain.memory")
    assert module.SimpleMemory
    assert importlib.import_module("langchain").memory is module


def test_a_module_that_stands_there_by_another_hand_stays(monkeypatch):
    mine = types.ModuleType("langchain.memory")
    with the_shim.installed():
        monkeypatch.setitem(sys.modules, "langchain.memory", mine)
    assert sys.modules["langchain.memory"] is mine


def test_a_second_installation_changes_nothing():
    with the_shim.installed():
        finders = list(sys.meta_path)
        the_shim.install()
        assert sys.meta_path == finders
        with the_shim.installed():
            assert sys.meta_path == finders
        assert sys.meta_path == finders  # the inner block ended, the outer goes on
    the_shim.uninstall()  # nothing to do


def test_it_ends_when_the_block_raises():
    before = list(sys.meta_path)
    with pytest.raises(KeyError), the_shim.installed():
        raise KeyError
    assert sys.meta_path == before


@pytest.mark.skipif(HAS_OLD, reason="langchain 0.3 has the old modules")
def test_what_was_imported_goes_on_working():
    with the_shim.installed():
        from langchain.memory import ConversationBufferMemory
    memory = ConversationBufferMemory()
    memory.save_context({"input": "hi"}, {"output": "ho"})
    assert memory.buffer == "Human: hi\nAI: ho"
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("langchain.memory")


@pytest.mark.skipif(HAS_OLD, reason="langchain 0.3 has the old modules")
@pytest.mark.parametrize("time", range(20))
def test_threads_that_import_at_once_get_the_same(time):
    lines = (
        "from langchain.memory import ConversationBufferMemory as found",
        "from langchain.memory.buffer import ConversationBufferMemory as found",
        "import langchain.memory as m; found = m.buffer.ConversationBufferMemory",
        "from langchain import memory; found = memory.ConversationBufferMemory",
    )
    found, failed = [], []
    start = threading.Barrier(len(lines) * 2)

    def work(line):
        space = {}
        start.wait()
        try:
            exec(line, space)
            found.append(space["found"])
        except Exception as error:
            failed.append(error)

    with the_shim.installed():
        threads = [threading.Thread(target=work, args=(line,)) for line in lines * 2]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not failed
    assert len(set(found)) == 1
    assert len(found) == len(lines) * 2


def test_threads_that_install_and_uninstall_leave_nothing():
    before = list(sys.meta_path)
    start = threading.Barrier(8)

    def work():
        start.wait()
        for _ in range(50):
            the_shim.install()
            the_shim.uninstall()

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sys.meta_path == before


def test_holdover_itself_is_the_same_with_and_without():
    """Our classes build on the installed package, never on what the shim serves."""
    code = (
        "import sys\n"
        "from holdover.compat import shim\n"
        "{install}\n"
        "from holdover.compat import base, ConversationEntityMemory\n"
        "import holdover.compat.prompt as prompt\n"
        "bases = ConversationEntityMemory.__mro__\n"
        "print(base.CLASSIC, [x.__module__ for x in bases])\n"
        "print(type(prompt.SUMMARY_PROMPT))"
    )
    seen = {
        subprocess.run(
            [sys.executable, "-W", "ignore", "-c", code.format(install=install)],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for install in (
            "pass",
            "shim.install()",
            AFTER_OLD_IMPORTS,
        )
    }
    assert len(seen) == 1, seen
