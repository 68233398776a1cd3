"""`docs/after.md` works as it is written, on what our memories wrote, without them."""

import math
import os
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("langchain.agents.middleware")

from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import Field

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "after.md").read_text("utf-8")
BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```", re.MULTILINE | re.DOTALL)
BY_MEANING, BEFORE = "Earlier turns by meaning", "Before you begin"


def sections():
    """Heading -> its blocks, in order."""
    found = defaultdict(list)
    for part in re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]:
        heading, _, text = part.partition("\n")
        found[heading] += BLOCK.findall(text)
    return found


def blocks(heading, language="python"):
    return [code for kind, code in sections()[heading] if kind == language]


class Model(BaseChatModel):
    """Calls a tool when asked what its script says, else answers."""

    calls: dict[str, tuple[str, dict]] = Field(default_factory=dict)
    asked: list[list] = Field(default_factory=list)
    tools: dict[str, object] = Field(default_factory=dict)

    @property
    def _llm_type(self):
        return "scripted"

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        self.asked.append(list(messages))
        last = messages[-1]
        answer = AIMessage(f"Answer {len(self.asked)}")
        if last.type == "human" and last.text in self.calls:
            name, arguments = self.calls[last.text]
            call = {"name": name, "args": arguments, "id": f"c{len(self.asked)}"}
            answer = AIMessage("", tool_calls=[call])
        return ChatResult(generations=[ChatGeneration(message=answer)])

    def bind_tools(self, tools, **kwargs):
        self.tools.update({tool.name: tool for tool in tools})
        return self


CALLS = {
    "Look up New York": ("recall", {"name": "New York"}),
    "Note it": ("remember", {"name": "Ana", "summary": "Ana plays the cello."}),
    "What do you know about Sam?": ("facts", {"about": "Sam"}),
    "Which ferry did I like?": ("earlier", {"query": "ferry"}),
    "Keep it": ("keep", {"text": "Ana likes trains."}),
    "I want to talk to a person.": ("hand_over", {}),
}
WORDS = ("ferry", "train", "lemon", "rain")


class Meaning(Embeddings):
    """As many dimensions as the page says, of which a few stand for words."""

    def embed_documents(self, texts):
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text):
        vector = [float(word in text.lower()) for word in WORDS] + [0.1]
        length = math.sqrt(sum(x * x for x in vector))
        return [x / length for x in vector] + [0.0] * (1536 - len(vector))


def human(number):
    return f"question {number}"


def write_memories(path):
    """What an application with our memories left."""
    from fake_models import WordModel
    from langchain_core.prompts import PromptTemplate

    from holdover.compat import (
        ConversationBufferMemory,
        ConversationEntityMemory,
        ConversationKGMemory,
        ConversationSummaryBufferMemory,
        close_stores,
        open_store,
    )

    store = open_store(f"sqlite:///{path}")
    ana = {"store": store, "session_id": "ana_example"}
    memory = ConversationBufferMemory(**ana)
    for number in range(8):
        memory.save_context({"input": human(number)}, {"output": f"reply {number}"})

    summary = ConversationSummaryBufferMemory(
        llm=WordModel(answers=["Ben asked two things."]),
        prompt=PromptTemplate.from_template("{summary}{new_lines}"),
        store=store,
        session_id="ben",
        max_token_limit=4,
    )
    for number in range(3):
        summary.save_context({"input": human(number)}, {"output": f"reply {number}"})

    entities = ConversationEntityMemory(
        llm=WordModel(answers=["New York", "New York is where Ana's sister lives."]),
        chat_memory=ConversationBufferMemory().chat_memory,
        **ana,
    )
    said = {"input": "My sister lives in New York."}
    entities.load_memory_variables(said)
    entities.save_context(said, {"output": "Nice."})
    assert entities.entity_store.exists("New York")
    records = entities.entity_store.repository
    records.put("entity", {"name": "Ana", "summary": "Ana has a sister."})
    records.put("entity", {"name": "Oslo", "summary": "Oslo is far away."})
    value = store.get(("memory_store", "ana_example", "entities"), "New York")
    value.value["meta"]["aliases"] = ["the Big Apple"]
    store.put(value.namespace, value.key, value.value)

    facts = ConversationKGMemory(
        llm=WordModel(answers=["(Sam, works on, the bridge)", "(Kim, knows, Sam)"]),
        chat_memory=ConversationBufferMemory().chat_memory,
        **ana,
    )
    facts.save_context({"input": "Sam works on the bridge."}, {"output": "Nice."})
    facts.save_context({"input": "Kim knows Sam."}, {"output": "Nice."})
    close_stores()


@pytest.fixture
def without_holdover(monkeypatch):
    """Make every import of ours, and of the classic packages, fail."""

    def block():
        for name in (*sys.modules, "holdover", "langchain_classic"):
            if name.partition(".")[0] in (
                "holdover",
                "langchain_classic",
                "langchain_community",
            ):
                monkeypatch.setitem(sys.modules, name, None)

    return block


def migrate_example(path):
    """What the quickstart leaves."""
    from holdover.migrate.run import migrate

    old = ROOT / "examples" / "old_app" / "entities.db"
    assert migrate(str(old), f"sqlite:///{path}").exit_code == 0


@pytest.fixture
def page(tmp_path, monkeypatch, without_holdover, request):
    """Run the page's sections in order; give each one's variables and questions."""
    getattr(request, "param", write_memories)(tmp_path / "memory.db")
    monkeypatch.chdir(tmp_path)
    model = Model(calls=CALLS)
    monkeypatch.setattr("langchain.chat_models.init_chat_model", lambda name: model)
    monkeypatch.setattr("langchain.embeddings.init_embeddings", lambda name: Meaning())
    without_holdover()
    ran, variables = {}, {}
    for heading in sections():
        if heading in (BEFORE, BY_MEANING):
            continue
        before = len(model.asked)
        for code in blocks(heading):
            exec(compile(code, heading, "exec"), variables)
        ran[heading] = SimpleNamespace(
            **{name: value for name, value in variables.items() if name[0] != "_"},
            asked=model.asked[before:],
        )
    yield ran
    variables["connection"].close()
    variables["checkpointer"].conn.close()


def texts(messages):
    return [message.text for message in messages]


def test_the_page_runs_without_us(page):
    """One run for all: each section does what it says."""
    for name, check in CHECKS.items():
        check(page[name])


@pytest.mark.parametrize("page", [migrate_example], indirect=True)
def test_the_page_runs_on_what_the_quickstart_leaves(page):
    found = "New York is where Ana's sister moved in 2021."
    assert page["Reading"].item.value["content"]["summary"] == found
    (asked,) = page["Entities"].asked
    assert f"New York: {found}" in asked[0].text


def reading(section):
    assert section.item.value["content"]["summary"] == (
        "New York is where Ana's sister lives."
    )
    names = [item.key for item in section.read(*section.ana, "entities")]
    assert names == ["Ana", "New York", "Oslo"]


def whole_conversations(section):
    (asked,) = section.asked
    said = [text for n in range(8) for text in (human(n), f"reply {n}")]
    assert texts(asked) == [*said, "What did I ask first?"]
    assert section.reply["messages"][-1].text == "Answer 1"
    # Once more is not twice.
    section.seed(section.agent, "ana_example", section.messages_of(*section.ana))
    values = section.agent.get_state(section.config).values
    assert len(values["messages"]) == 18
    # Not even where both found no thread.
    update = {"messages": section.messages_of(*section.ana)}
    section.agent.update_state(section.config, update, as_node="model")
    assert len(section.agent.get_state(section.config).values["messages"]) == 18
    assert section.agent.get_state(section.config).next == ()


def the_last_turns(section):
    config = section.seed(section.agent, "window", section.messages_of(*section.ana))
    given = section.agent.invoke({"messages": "now"}, config)
    expected = [text for n in range(3, 8) for text in (human(n), f"reply {n}")]
    assert texts(section.model.asked[-1]) == [*expected, "now"]
    assert len(given["messages"]) == 18


def tokens(section):
    config = section.seed(section.agent, "tokens", section.messages_of(*section.ana))
    section.agent.update_state(
        config, {"messages": [("human", "long " * 1_700)]}, as_node="model"
    )
    section.agent.invoke({"messages": "now"}, config)
    assert texts(section.model.asked[-1]) == ["now"]


def forgetting(section):
    agent = section.create_agent(
        section.model,
        middleware=[section.forget_older],
        checkpointer=section.checkpointer,
    )
    config = section.seed(agent, "forget", section.messages_of(*section.ana))
    long = [("human", "long " * 1_700), ("ai", "oh")]
    agent.update_state(config, {"messages": long}, as_node="model")
    given = agent.invoke({"messages": "now"}, config)
    assert texts(given["messages"])[:-1] == ["now"]


def a_running_summary(section):
    messages = section.agent.get_state(section.config).values["messages"]
    assert texts(messages) == [
        "Here is a summary of the conversation to date:\n\nBen asked two things.",
        "question 2",
        "reply 2",
    ]
    many = [("human", "word " * 100) for _ in range(30)]
    section.agent.update_state(section.config, {"messages": many}, as_node="model")
    given = section.agent.invoke({"messages": "now"}, section.config)
    # One call for the summary, which begins with the old one, and one for the answer.
    summarised, answered = section.model.asked[-2:]
    assert "Ben asked two things." in summarised[-1].text
    assert "question 2" in summarised[-1].text
    assert answered[0].text.startswith(
        "Here is a summary of the conversation to date:\n\nAnswer"
    )
    # The summary, twenty messages and the answer.
    assert len(given["messages"]) == 22


def entities(section):
    (asked,) = section.asked
    assert "New York: New York is where Ana's sister lives." in asked[0].text
    assert "Oslo" not in asked[0].text
    assert section.reply["messages"][-1].type == "ai"

    agent, ana = section.agent, section.Session("ana_example")
    by_alias = {"messages": "How is the big apple?"}
    agent.invoke(by_alias, {"configurable": {"thread_id": "alias"}}, context=ana)
    assert "Ana's sister lives" in section.model.asked[-1][0].text

    config = {"configurable": {"thread_id": "tools"}}
    looked = agent.invoke({"messages": "Look up New York"}, config, context=ana)
    assert looked["messages"][-2].text == "New York is where Ana's sister lives."
    stranger = agent.invoke(
        {"messages": "Look up New York"},
        {"configurable": {"thread_id": "bob"}},
        context=section.Session("bob"),
    )
    assert stranger["messages"][-2].text == "New York is not known."
    agent.invoke({"messages": "Note it"}, config, context=ana)
    learnt = section.store.get((*section.ana, "entities"), "Ana")
    assert learnt.value["content"]["summary"] == "Ana plays the cello."


def facts(section):
    assert sorted(section.reply["messages"][-2].text.splitlines()) == [
        "Kim knows Sam",
        "Sam works on the bridge",
    ]


def several_memories(section):
    prompts = [asked[0].text for asked in section.asked if asked[0].type == "system"]
    assert prompts[0] == "Prices are in USD. New York is where Ana's sister lives."
    # Ours is handed over, and the note is no part of the conversation.
    assert prompts[1] == "Write a note for a colleague."
    assert "question 0" in texts(section.asked[2])
    assert len(section.reply["messages"]) == 16 + 4


def chains(section):
    (asked,) = section.asked
    assert texts(asked)[:2] == ["Answer in one sentence.", "question 0"]
    assert texts(asked)[-1] == "And then?"
    assert len(section.graph.get_state(section.config).values["messages"]) == 18


def own(section):
    assert [asked[0].text for asked in section.asked] == [
        "This user has been here 0 times.",
        "This user has been here 1 times.",
    ]


CHECKS = {
    "Reading": reading,
    "Whole conversations": whole_conversations,
    "The last turns": the_last_turns,
    "Up to a limit of tokens": tokens,
    "A running summary": a_running_summary,
    "Entities": entities,
    "Facts of a knowledge graph": facts,
    "Several memories": several_memories,
    "Chains that are no agents": chains,
    "Memories of your own": own,
}


def test_every_section_with_code_is_checked():
    with_code = {name for name, found in sections().items() if found}
    assert with_code == {*CHECKS, BEFORE, BY_MEANING, "Checklist"}
    linked = set(re.findall(r"\(#([a-z-]+)\)", PAGE))
    headings = {name.lower().replace(" ", "-") for name in sections()}
    assert linked <= headings


def test_every_class_has_a_row():
    import holdover.compat
    from holdover.compat import base

    bases = (base.BaseMemory, base.BaseEntityStore, base.BaseChatMessageHistory)
    table = PAGE.partition("## ")[0]
    missing = [
        name
        for name in holdover.compat.__all__
        if isinstance(found := getattr(holdover.compat, name), type)
        and issubclass(found, bases)
        and f"`{name}`" not in table
    ]
    # What others derive from, not what anybody uses.
    assert set(missing) <= {"BaseEntityStore", "BaseChatMessageHistory"}


def test_labels_are_those_of_the_items(page):
    labels = {}
    for name in ("ana", "a@b.c", "team/red", "two words", "50%", "~", "用户", "a*b\\c"):
        labels[name] = page["Reading"].label(name)
    code = (
        "from holdover.compat.scope import encode_label\n"
        f"given = {labels!r}\n"
        "print({name: encode_label(name) for name in given} == given)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout == "True\n"


def test_records_past_their_end_are_not_read(page):
    section = page["Reading"]
    space = (*section.ana, "entities")
    value = {"content": {"name": "Old"}, "meta": {"expires_at": "2020-01-01T00:00:00"}}
    section.store.put(space, "Old", value)
    section.store.put((*space, "deeper"), "Deep", {"content": {}})
    assert [item.key for item in section.read(*space)] == ["Ana", "New York", "Oslo"]


def test_turns_are_found_by_meaning(page, postgres_url, monkeypatch):
    setup = f"""
import sys
sys.path[:0] = [{str(ROOT / "tests" / "docs")!r}, {str(ROOT / "tests")!r}]
from test_after import Meaning
from holdover.compat import VectorStoreRetrieverMemory
memory = VectorStoreRetrieverMemory(
    store={postgres_url!r},
    session_id="ana_example",
    index={{"dims": 1536, "embed": Meaning()}},
)
for said in ("I liked the ferry to Oslo", "Lemon cake, please", "It will rain"):
    memory.save_context({{"input": said}}, {{"output": "Noted"}})
"""
    subprocess.run([sys.executable, "-c", setup], check=True, timeout=120)
    variables = vars(page["Memories of your own"]) | {"__name__": "page"}
    (code,) = blocks(BY_MEANING)
    code = code.replace("postgresql://localhost/app", postgres_url)
    code += (
        "    kept = agent.invoke({'messages': 'Keep it'},"
        " context=Session('ana_example'))\n"
        "    trains = vectors.search((*ana, 'turns'), query='train', limit=1)\n"
    )
    exec(compile(code, BY_MEANING, "exec"), variables)
    found = variables["reply"]["messages"][-2].text.split("\n\n")
    assert len(found) == 3
    assert found[0] == "input: I liked the ferry to Oslo\noutput: Noted"
    assert [item.value["content"]["text"] for item in variables["trains"]] == [
        "Ana likes trains."
    ]


def test_a_store_in_redis_is_copied(redis_url, postgres_url):
    from langgraph.store.postgres import PostgresStore

    from holdover.compat import ConversationBufferMemory, close_stores, open_store

    memory = ConversationBufferMemory(store=redis_url, session_id="ana")
    memory.save_context({"input": "q0"}, {"output": "a0"})
    (code,) = blocks(BEFORE)
    code = code.replace("redis://localhost:6379/0", redis_url)
    exec(code.replace("postgresql://localhost/app", postgres_url), {})
    space = ("memory_store", "ana", "messages")
    old = open_store(redis_url).search(space)
    with PostgresStore.from_conn_string(postgres_url) as store:
        copied = store.search(space)
        assert store.list_namespaces() == [space]
    close_stores()
    assert {i.key: i.value for i in copied} == {i.key: i.value for i in old}
    assert len(copied) == 2


@pytest.mark.parametrize(
    ("line", "clean"),
    [
        ("import json", True),
        ("from holdover.compat import ConversationBufferMemory", False),
        ("from langchain_classic.chains import ConversationChain", False),
        ("import importlib; importlib.import_module('hold' + 'over.compat')", False),
    ],
)
def test_the_check_finds_what_is_left(tmp_path, line, clean):
    (tmp_path / "app.py").write_text(f"{line}\n")
    check = blocks("Checklist", "sh")[0]
    done = shell(check, tmp_path)
    assert (done.returncode == 0) is clean, done.stdout + done.stderr
    if clean:
        assert done.stdout == ""


def test_what_is_uninstalled_is_ours_or_classic(tmp_path):
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "pip").write_text('#!/bin/sh\necho pip "$@"\n')
    (tools / "pip").chmod(0o755)
    done = shell(blocks("Checklist", "sh")[1], tmp_path, tools)
    assert done.stdout.splitlines() == [
        "pip uninstall --yes holdover langchain-classic langchain-community",
        "pip check",
    ]


def shell(code, folder, *first):
    path = os.pathsep.join(
        map(str, [*first, Path(sys.executable).parent, os.environ["PATH"]])
    )
    return subprocess.run(
        ["bash", "-euc", code],
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
