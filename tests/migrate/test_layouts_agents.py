"""langmem and deepagents themselves read what was migrated, and go on with it."""

from __future__ import annotations

import json
from contextlib import contextmanager

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from moving import plain_store, read_plainly, write_old_file
from sampling import sampled
from threads import checkpointer, config, write_history

from holdover.migrate.options import Options
from holdover.migrate.rollback import rollback
from holdover.migrate.run import migrate
from holdover.migrate.verify import verify

PEOPLE = {
    "alice": {"Bob": "a friend", "Rome/Milan": "cities she likes"},
    "zoe": {"Bob": "her brother"},
}
LANGMEM, DEEPAGENTS = Options(layout="langmem"), Options(layout="deepagents")
# Both read by `search` and `get`, which the stores' own tests hold equal.
on_one = pytest.mark.parametrize(
    "target", sampled(["sqlite"], ["postgres", "redis"]), indirect=True
)
# Their dependencies announce what will be gone in releases of other packages.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


class Scripted(BaseChatModel):
    """Gives the next of its replies; keeps what it was given."""

    replies: list
    seen: list

    @property
    def _llm_type(self):
        return "scripted"

    def bind_tools(self, tools, **_):
        return self

    def _generate(self, messages, stop=None, run_manager=None, **_):
        self.seen.append(list(messages))
        reply = self.replies.pop(0)
        if callable(reply):
            reply = reply(messages)
        return ChatResult(generations=[ChatGeneration(message=reply)])


def calls(*wanted):
    """A reply that calls tools: pairs of a name and its arguments."""
    return AIMessage(
        "",
        tool_calls=[
            {"name": name, "args": args, "id": f"{name}-{at}", "type": "tool_call"}
            for at, (name, args) in enumerate(wanted)
        ],
    )


@pytest.fixture
def source(old_file):
    return write_old_file(old_file, PEOPLE)


# langmem.


@pytest.fixture
def langmem():
    return pytest.importorskip("langmem", reason="pip install -e '.[test]'")


USER = {"configurable": {"langgraph_user_id": "alice"}}
MEMORIES = ("memories", "{langgraph_user_id}")


@on_one
def test_the_store_manager_finds_and_updates_migrated_memories(langmem, source, target):
    migrate(source, target, LANGMEM)
    with plain_store(target) as store:
        model = Scripted(replies=[AIMessage("nothing new")], seen=[])
        manager = langmem.create_memory_store_manager(
            model, namespace=MEMORIES, store=store
        )
        found = manager.search(query="friends", config=USER)
        assert sorted(item.value.content for item in found) == [
            "Bob: a friend",
            "Rome/Milan: cities she likes",
        ]

        model.replies[:] = [_patch_bob, AIMessage("done")]
        said = {"messages": [{"role": "user", "content": "Bob is my husband now."}]}
        changed = manager.invoke(said, config=USER)

        (prompt, *_) = model.seen[0]
        assert "Bob: a friend" in prompt.content
        assert "her brother" not in prompt.content  # of another user
        assert [one["value"]["content"] for one in changed] == [
            {"content": "Bob: her husband"}
        ]
    texts = {
        value["content"]["content"]
        for value in read_plainly(target)[("memories", "alice")].values()
    }
    assert texts == {"Bob: her husband", "Rome/Milan: cities she likes"}
    report = verify(source, target, LANGMEM)
    assert (report.equal, report.changed) == (2, 1)
    assert rollback(target).left == 1


def _patch_bob(messages):
    """What a model says to change the memory of Bob, by the id it was shown."""
    text = messages[0].content
    before = text[: text.index("Bob: a friend")]
    identity = before.rpartition("instance id=")[2].split()[0].rstrip(">")
    patch = {"op": "replace", "path": "/content", "value": "Bob: her husband"}
    return calls(
        (
            "PatchDoc",
            {"json_doc_id": identity, "planned_edits": "-", "patches": [patch]},
        )
    )


@on_one
def test_the_tools_search_update_and_delete_migrated_memories(langmem, source, target):
    from langchain.agents import create_agent

    migrate(source, target, LANGMEM)
    with plain_store(target) as store:
        search = langmem.create_search_memory_tool(namespace=MEMORIES)
        manage = langmem.create_manage_memory_tool(namespace=MEMORIES)
        model = Scripted(
            seen=[],
            replies=[
                calls(("search_memory", {"query": "who is Bob?"})),
                _change_what_was_found,
                AIMessage("Done."),
            ],
        )
        agent = create_agent(model, tools=[search, manage], store=store)

        done = agent.invoke({"messages": [("human", "Forget Rome.")]}, USER)

    answers = [m.content for m in done["messages"] if m.type == "tool"]
    assert "Bob: a friend" in answers[0]
    assert [answer.split()[0] for answer in answers[1:]] == ["updated", "Deleted"]
    (left,) = read_plainly(target)[("memories", "alice")].values()
    assert left["content"] == "Bob: a good friend"


def _change_what_was_found(messages):
    found = {
        one["value"]["content"]["content"]: one["key"]
        for one in json.loads(messages[-1].content)
    }
    bob = {"id": found["Bob: a friend"], "content": "Bob: a good friend"}
    rome = {"id": found["Rome/Milan: cities she likes"], "action": "delete"}
    return calls(
        ("manage_memory", {"action": "update", **bob}), ("manage_memory", rome)
    )


# deepagents.


@contextmanager
def deep_agent(target, model, user="alice", **options):
    """As its docs set one up: a route into the store, all else in the state."""
    deepagents = pytest.importorskip("deepagents", reason="pip install -e '.[test]'")
    from deepagents.backends import CompositeBackend, StateBackend, StoreBackend

    with plain_store(target) as store:
        remembered = StoreBackend(namespace=lambda _runtime: (user, "filesystem"))
        backend = CompositeBackend(
            default=StateBackend(), routes={"/memories/": remembered}
        )
        yield deepagents.create_deep_agent(
            model=model, backend=backend, store=store, **options
        )


def answers_of(done):
    return [m.content for m in done["messages"] if m.type == "tool"]


@on_one
def test_a_deep_agent_reads_edits_and_writes_migrated_files(source, target):
    migrate(source, target, DEEPAGENTS)
    bob = "/memories/entities/Bob.md"
    model = Scripted(
        seen=[],
        replies=[
            calls(("ls", {"path": "/memories/"})),
            calls(("read_file", {"file_path": "/memories/README.md"})),
            calls(("ls", {"path": "/memories/entities/"})),
            calls(
                ("read_file", {"file_path": bob}),
                ("read_file", {"file_path": "/memories/entities/Rome%2fMilan.md"}),
                ("grep", {"pattern": "friend", "path": "/memories/"}),
                ("glob", {"pattern": "**/*.md", "path": "/memories/"}),
            ),
            calls(
                (
                    "edit_file",
                    {
                        "file_path": bob,
                        "old_string": "a friend",
                        "new_string": "her husband",
                    },
                ),
                (
                    "write_file",
                    {"file_path": "/memories/entities/Ann.md", "content": "# Ann\n"},
                ),
            ),
            AIMessage("Noted."),
        ],
    )

    with deep_agent(target, model) as agent:
        done = agent.invoke({"messages": [("human", "Bob is my husband.")]})

    root, guide, folder, text, rome, grepped, globbed, *_ = answers_of(done)
    assert "/memories/README.md" in root
    assert "/memories/entities/" in root
    assert "What is remembered here" in guide
    assert "/entities/NAME.md" in guide
    assert "/memories/entities/Bob.md" in folder
    assert "a friend" in text
    assert "cities she likes" in rome
    assert "/memories/entities/Bob.md" in grepped
    assert "/memories/entities/Rome%2fMilan.md" in globbed
    files = read_plainly(target)[("alice", "filesystem")]
    assert files["/entities/Bob.md"]["content"] == "# Bob\n\nher husband\n"
    assert files["/entities/Ann.md"]["content"] == "# Ann\n"
    theirs = read_plainly(target)[("zoe", "filesystem")]
    assert theirs["/entities/Bob.md"]["content"] == "# Bob\n\nher brother\n"
    report = verify(source, target, DEEPAGENTS)
    assert (report.changed, report.missing, report.different) == (1, 0, 0)

    undone = rollback(target)

    assert undone.left == 1
    assert read_plainly(target) == {
        ("alice", "filesystem"): {
            name: files[name] for name in ("/entities/Ann.md", "/entities/Bob.md")
        }
    }


@on_one
def test_a_session_whose_name_a_backend_refuses_is_found_by_its_escape(
    old_file, target
):
    source = write_old_file(old_file, {"ünï (x)": {"Bob": "a man"}})
    migrate(source, target, DEEPAGENTS)
    (label, _), *_ = read_plainly(target)
    model = Scripted(
        seen=[],
        replies=[
            calls(("read_file", {"file_path": "/memories/entities/Bob.md"})),
            AIMessage("."),
        ],
    )

    with deep_agent(target, model, user=label) as agent:
        done = agent.invoke({"messages": [("human", "?")]})

    assert "a man" in answers_of(done)[0]
    assert label == "~c3~bcn~c3~af~20~28x~29"


@pytest.mark.parametrize("target", ["sqlite", "postgres"], indirect=True)
def test_a_deep_agent_goes_on_with_a_migrated_thread(old_file, target):
    """Its messages are a channel of another kind, which takes ours for its first."""
    said = [HumanMessage("I am Alice."), AIMessage("Hello!")]
    source = write_history(old_file, {"alice": said})
    migrate(source, target, Options(into=frozenset({"threads"})))
    model = Scripted(seen=[], replies=[AIMessage("one"), AIMessage("two")])

    with (
        checkpointer(target) as saver,
        deep_agent(target, model, checkpointer=saver) as agent,
    ):
        for text in ("and?", "again?"):
            done = agent.invoke({"messages": [("human", text)]}, config("alice"))

    texts = ["I am Alice.", "Hello!", "and?", "one", "again?", "two"]
    assert [m.content for m in done["messages"]] == texts
    assert [m.content for m in model.seen[1] if m.type != "system"] == texts[:-1]
    report = verify(source, target, Options(into=frozenset({"threads"})))
    assert report.threads.changed == 1
