"""Installing costs nothing, and uninstalling leaves nothing."""

from __future__ import annotations

import importlib
import importlib.util
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


# Other tests in this process have taken old classes before, and it says so.
@pytest.mark.filterwarnings("ignore::holdover.compat.shim.LegacyImportWarning")
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


@pytest.mark.skipif(not HAS_NEW, reason="langchain 1.x is not installed")
@pytest.mark.parametrize(
    "calls",
    [
        ["install()", "install(override=True)"],
        ["install(override=True)", "install()"],
        ["install(override=True)"] * 3,
        ["install()", "installed(override=True).__enter__()"],
        ["installed().__enter__()", "install(override=True)", "install()"],
    ],
)
def test_any_order_of_calls_installs_once(calls):
    code = "\n".join(
        [
            "import sys, warnings",
            "from holdover.compat import shim",
            "before = len(sys.meta_path)",
            *(f"kept = shim.{call}" for call in calls),
            "import langchain.agents, langchain_classic.memory as m",
            "print(len(sys.meta_path) - before, m.SimpleMemory.__module__)",
            "shim.uninstall()",
            "print(len(sys.meta_path) - before, m.SimpleMemory.__module__)",
        ]
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == [
        *("2", "holdover.compat.simple"),
        *("0", "langchain_classic.memory.simple"),
    ], done.stderr


def test_blocks_that_overlap_end_with_the_last():
    before = list(sys.meta_path)
    one, other = the_shim.installed(), the_shim.installed()
    one.__enter__()
    other.__enter__()
    one.__exit__(None, None, None)
    _use()
    other.__exit__(None, None, None)
    assert sys.meta_path == before


@pytest.mark.skipif(HAS_OLD, reason="langchain 0.3 has the old modules")
def test_modules_that_were_made_again_go_as_well():
    with the_shim.installed():
        first = importlib.import_module("langchain.memory")
        importlib.util.module_from_spec(first.__spec__)
        del sys.modules["langchain.memory"]
        assert importlib.import_module("langchain.memory") is not first
    assert "langchain.memory" not in sys.modules


@pytest.mark.skipif(HAS_NEW or HAS_OLD, reason="langchain is installed")
@pytest.mark.parametrize("below", ["langchain", "langchain/memory"])
def test_a_folder_that_an_installation_left_is_no_module(tmp_path, monkeypatch, below):
    (tmp_path / below).mkdir(parents=True)
    monkeypatch.syspath_prepend(tmp_path)
    with the_shim.installed():
        _use()


@pytest.mark.skipif(HAS_OLD, reason="langchain 0.3 has the old modules")
def test_a_module_that_is_loaded_lazily():
    with the_shim.installed():
        spec = importlib.util.find_spec("langchain.memory")
        spec.loader = importlib.util.LazyLoader(spec.loader)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        assert module.SimpleMemory.__module__ == "holdover.compat.simple"


@pytest.mark.skipif(HAS_NEW or HAS_OLD, reason="langchain is installed")
def test_langchain_core_asks_a_langchain_for_its_settings():
    """As langchain-core 0.3 does before every call of a model."""
    with the_shim.installed():
        langchain = importlib.import_module("langchain")
        assert (langchain.verbose, langchain.debug) == (False, False)
        assert langchain.llm_cache is None
        assert the_shim.report().uses == ()


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
