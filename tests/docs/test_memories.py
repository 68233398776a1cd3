"""`docs/memories.md` works as it is written, with models and embeddings of ours."""

import contextlib
import importlib
import inspect
import re
import warnings
from pathlib import Path

import pytest

pytest.importorskip("langchain.embeddings")

from fake_models import WordModel
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.prompts import PromptTemplate

from holdover.compat import (
    ConversationEntityMemory,
    SQLiteEntityStore,
    close_stores,
    open_store,
)
from holdover.compat.repository import Repository

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "memories.md").read_text("utf-8")
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
ANA = ("memory_store", "ana_example")
MODULE = re.compile(r"`([\w.]+)`")


def sections():
    """Heading -> its blocks, in order."""
    found = {}
    for part in re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]:
        heading, _, text = part.partition("\n")
        found[heading] = BLOCK.findall(text)
    return {heading: code for heading, code in found.items() if code}


class Run:
    """Runs the page, section by section, in one namespace."""

    def __init__(self):
        self.names = {
            "model": WordModel(answers=["New York"]),
            "prompt": PromptTemplate.from_template("{summary}{new_lines}"),
        }

    def __call__(self, heading):
        for code in sections()[heading]:
            exec(compile(code, heading, "exec"), self.names)

    def __getattr__(self, name):
        return self.names[name]


@pytest.fixture
def page(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        "langchain.embeddings.init_embeddings",
        lambda name: DeterministicFakeEmbedding(size=1536),
    )
    # LangGraph keeps the function it found first.
    embed = importlib.import_module("langgraph.store.base.embed")
    embed._get_init_embeddings.cache_clear()
    yield Run()
    close_stores()
    embed._get_init_embeddings.cache_clear()


def turn(memory, said="I flew to New York"):
    memory.load_memory_variables({"input": said})
    memory.save_context({"input": said}, {"output": "Noted"})


def test_every_block_runs_in_order(page):
    for heading in sections():
        if heading == "Earlier states, and forgetting":
            learn()
        if heading == "Saving one as JSON":
            # The memory that is meant is the page's first.
            page("Where a memory keeps things")
        page(heading)


def learn():
    """Two states of New York."""
    entities = Repository(open_store("sqlite:///memory.db"), ANA)
    for summary in ("a city", "a city with ferries"):
        entities.put("entity", {"name": "New York", "summary": summary})
    return entities


def test_with_a_store_everything_is_there(page):
    page("Where a memory keeps things")
    turn(page.memory)
    assert page.memory.repository.count("message") == 2
    assert tuple(page.memory.repository.scope) == ANA


def test_the_conversation_is_beside_the_entities(page, tmp_path):
    page("Entities")
    turn(page.memory)
    again = ConversationEntityMemory(
        llm=page.model,
        entity_store=SQLiteEntityStore(session_id="ana_example", db_file="entities.db"),
    )
    known = again.load_memory_variables({"input": "New York"})
    assert known["history"] == "Human: I flew to New York\nAI: Noted"
    assert tuple(again.chat_memory.place.scope) == ANA
    assert (tmp_path / "entities.db").exists()
    assert not (tmp_path / "memory.db").exists()


def test_earlier_states_and_forgetting(page, capsys):
    entities = learn()
    page("Earlier states, and forgetting")
    said = capsys.readouterr().out.splitlines()
    assert [line.partition(" ")[2] for line in said] == [
        "a city with ferries",
        "a city",
    ]
    assert entities.history("entity", "New York") == []
    page.memory.entity_store.set("New York", "a town")
    assert not page.memory.entity_store.exists("New York")
    turn(page.memory)
    assert len(page.memory.buffer) == 2
    entities.forget()
    turn(page.memory)
    assert page.memory.buffer == []


def test_clear_begins_anew(page):
    learn()
    page("Earlier states, and forgetting")
    turn(page.memory)
    page.memory.clear()
    turn(page.memory)
    assert len(page.memory.buffer) == 2


def test_kinds_are_those_there_are():
    from holdover.compat.records import KINDS

    table = PAGE.partition("| kind | its key |")[2].partition("\n\n")[0]
    assert re.findall(r"^\| `(\w+)`", table, flags=re.MULTILINE) == list(KINDS)


def test_turns_are_found(page):
    page("Turns by meaning")
    found = page.memory.load_memory_variables({"input": "ferry"})
    assert found == {"history": "input: I liked the ferry\noutput: Noted"}


def test_arguments_are_fields(page):
    page("Turns by meaning")
    table = PAGE.partition("| argument | what it does |")[2].partition("\n\n")[0]
    named = re.findall(r"^\| `(\w+)`", table, flags=re.MULTILINE)
    assert len(named) == 7
    assert set(named) <= set(type(page.memory).model_fields)


def test_what_was_closed_is_opened_again(page, tmp_path):
    page("Where a memory keeps things")
    turn(page.memory)
    page("Closing stores")
    assert list(tmp_path.iterdir()) == []
    page("Where a memory keeps things")
    assert page.memory.chat_memory.messages == []


def imports():
    """Each old module of the table, with ours."""
    table = PAGE.partition("| old | ours |")[2].partition("\n\n")[0]
    for row in table.splitlines()[2:]:
        left, right = row.strip("| ").split(" | ")
        (ours, *_) = MODULE.findall(right)
        for old in MODULE.findall(left):
            if "." in old:
                yield old, ours
    for name in ("file", "in_memory", "postgres", "redis", "sql", "upstash_redis"):
        both = f"chat_message_histories.{name}"
        yield f"langchain_community.{both}", f"holdover.compat.{both}"


@pytest.mark.parametrize(("old", "ours"), list(imports()))
def test_old_names_are_in_our_modules(old, ours):
    """Of lane `current`, where `langchain_classic` is what `langchain` was."""
    pytest.importorskip("langchain_classic")
    from holdover.compat.errors import MissingDependency

    old = re.sub(r"^langchain\.", "langchain_classic.", old)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the old packages
        names = ["BaseMemory"]
        if old != "langchain_core.memory":  # 1.x has none
            names = names_of(importlib.import_module(old))
        assert names
        module = importlib.import_module(ours)
        for name in names:
            # Of another package, and it says so.
            with contextlib.suppress(MissingDependency):
                getattr(module, name)


def names_of(module):
    """What people import from a module: what it lists, its classes and prompts."""
    passes_on = module.__name__.endswith((".entity", ".kg", ".summary"))
    classes = [
        name
        for name, value in vars(module).items()
        if inspect.isclass(value) and value.__module__ == module.__name__
    ]
    prompts = [
        name
        for name in vars(module)
        if name.endswith(("_PROMPT", "_TEMPLATE", "_DELIMITER")) and name[0] != "_"
    ]
    own = [*classes, *([] if passes_on else prompts)]
    return [*own, *getattr(module, "__all__", ())] or ["get_prompt_input_key"]
