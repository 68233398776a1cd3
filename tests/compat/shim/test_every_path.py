"""Each path of the record of 864 is what it should be, or says what became of it."""

from __future__ import annotations

import importlib
import json
import re
import sys
import warnings
from collections import defaultdict
from pathlib import Path

import pytest
from compat.shim.conftest import HAS_CLASSIC, HAS_COMMUNITY, HAS_NEW, HAS_OLD

import holdover.compat
from holdover.compat.shim import entries
from holdover.compat.shim.entries import Kind
from holdover.compat.shim.resolving import SETTINGS

RECORD = Path(__file__).parents[2] / "corpus" / "import_paths.json"
SYMBOLS = json.loads(RECORD.read_text("utf-8"))["symbols"]


def _split(path):
    """Module and name; the name of a generic has dots between its brackets."""
    head, bracket, rest = path.partition("[")
    module, _, name = head.rpartition(".")
    return module, name + bracket + rest


BY_MODULE = defaultdict(list)
for _path in SYMBOLS:
    BY_MODULE[_split(_path)[0]].append(_split(_path)[1])
#: What the record could not find, since what it ran in lacked a package.
FOUND_SINCE = {
    "langchain.agents.agent_toolkits.create_conversational_retrieval_agent",
    "langchain.chains.conversation.memory.ConversationalBufferWindowMemory",
    "langchain.experimental.generative_agents.GenerativeAgent",
    "langchain.memory.chat_message_histories.sql.create_message_model",
    "langchain.schema.BaseLanguageModel",
    "langchain_community.chat_message_histories.sql.create_message_model",
}


def _get(module, name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return getattr(importlib.import_module(module), name)


def _try(module, name):
    try:
        return _get(module, name), None
    except (ImportError, AttributeError) as error:
        return None, error


def _now(path):
    """The object that the record says it is now, if that can be had here."""
    now = SYMBOLS[path]["now"]
    if now in ("unchanged", "GONE"):
        now = path
    try:
        return _get(*_split(now))
    except (ImportError, AttributeError):
        return None


def test_the_record_is_the_whole_record():
    assert len(SYMBOLS) == 864


def test_every_path_that_moved_has_one_of_three_answers():
    silent = [
        path
        for path, held in SYMBOLS.items()
        if held["now"] != "unchanged"
        and path not in FOUND_SINCE
        and entries.answer(*_split(path)) is None
        # The record lacked greenlet; community has these where they were.
        and "langchain_community.chat_message_histories.sql." not in path
    ]
    assert silent == []


@pytest.mark.parametrize("module", sorted(BY_MODULE))
def test_moved_names_are_ours(shim, module):
    """In every lane, wherever the module is not a real one that has them still."""
    moved = {
        name: found
        for name in BY_MODULE[module]
        if (found := entries.answer(module, name)) and found.kind is Kind.MOVED
    }
    if not moved:
        pytest.skip("nothing of it moved to Holdover")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        imported = importlib.import_module(module)
    real = not holdover.compat.real_modules.is_served(imported)
    for name, found in moved.items():
        ours = _get(found.module, found.name)
        got = _get(module, name)
        if real and got is not ours:
            # A real module wins; only override=True replaces what it has.
            assert got.__module__.startswith("langchain"), (module, name)
        else:
            assert got is ours, (module, name)


@pytest.mark.skipif(not HAS_NEW, reason="langchain 1.x is not installed")
@pytest.mark.parametrize(
    "module", sorted(x for x in BY_MODULE if x.partition(".")[0] == "langchain")
)
def test_on_langchain_1_every_moved_name_is_ours(shim, module):
    for name in BY_MODULE[module]:
        found = entries.answer(module, name)
        if found and found.kind is Kind.MOVED:
            assert _get(module, name) is _get(found.module, found.name)


@pytest.mark.skipif(
    not (HAS_CLASSIC and HAS_COMMUNITY), reason="classic or community is missing"
)
@pytest.mark.parametrize("module", sorted(BY_MODULE))
def test_the_rest_are_the_objects_of_today(shim, module):
    """Forwarded and unchanged names: the very object that the record points to."""
    unknown = []
    for name in BY_MODULE[module]:
        path = f"{module}.{name}"
        found = entries.answer(module, name)
        if found and found.kind is not Kind.FORWARDED:
            continue
        got, error = _try(module, name)
        if error is None:
            today = _now(path)
            if today is None:
                unknown.append(path)
            else:
                assert got is today, path
        else:
            assert found is not None, f"{path} cannot be imported: {error}"
            assert isinstance(error, ImportError), path
            needed = found.package or "langchain-core"
            assert re.search(f"pip install (-U )?{needed}", str(error)), path
    assert set(unknown) <= FOUND_SINCE


@pytest.mark.parametrize("module", sorted(BY_MODULE))
def test_removed_names_say_what_to_do(shim, module):
    removed = {
        name: found
        for name in entries.names_of(module)
        if (found := entries.answer(module, name)).kind is Kind.REMOVED
        and (module, name) not in SETTINGS
    }
    if not removed:
        pytest.skip("nothing of it was removed")
    for name, found in removed.items():
        assert found.why.endswith(".")
        if HAS_OLD or (HAS_CLASSIC and module.startswith("langchain_classic")):
            continue  # a real module answers for itself
        with pytest.raises(ImportError, match="does not exist any more") as caught:
            _get(module, name)
        assert found.why in str(caught.value)


@pytest.mark.skipif(HAS_OLD, reason="they are there in langchain 0.3")
@pytest.mark.parametrize(
    "path",
    [
        "langchain.memory.MongoDBChatMessageHistory",
        "langchain.chat_models.ChatOpenAI",
        "langchain.experimental.generative_agents.GenerativeAgent",
        "langchain.vectorstores.Weaviate",
        "langchain.callbacks.SharedCallbackManager",
    ],
)
def test_what_cannot_be_served_is_an_import_error_with_a_way_out(
    shim, path, monkeypatch
):
    monkeypatch.setitem(sys.modules, "langchain_openai", None)  # not installed
    with pytest.raises(ImportError) as caught:
        _get(*_split(path))
    said = str(caught.value)
    assert re.search(r"Run: pip install -?\S|Use \S|give \S", said)
    assert "\n" not in said
