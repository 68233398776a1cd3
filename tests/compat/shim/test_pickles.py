"""Every pickle of the corpus: its state is what the program that wrote it had said."""

from __future__ import annotations

import copy
import importlib
import pickle
import warnings
from pathlib import Path

import langchain_core.messages
import old_pickles
import pytest
from fake_models import WordModel
from old_pickles import PICKLES

from holdover.compat import base, notices, shim
from holdover.compat.placeholders import Placeholder, is_lost
from holdover.compat.shim import pickles
from holdover.compat.summary import ConversationSummaryMemory

pytestmark = pytest.mark.filterwarnings(
    "ignore:HO\\d+ ",
    # LangChain's own, of the old paths that it still serves.
    "ignore:Importing .* is deprecated",
    "ignore:.*langchain-community. is being sunset",
    "ignore:Please see the migration guide",
)
LOST_ENTITIES = "old releases kept the entities in the class"


def of(*names):
    return pytest.mark.parametrize(
        "old", [one for one in PICKLES if one.name in names], ids=str
    )


def having(*facts):
    return pytest.mark.parametrize(
        "old", [one for one in PICKLES if set(facts) <= set(one.truth)], ids=str
    )


def with_messages():
    """Those that hold messages, and where in them these are."""
    elsewhere = ("simple", "string_buffer", "buffer_file_history")
    return pytest.mark.parametrize(
        "old", [one for one in PICKLES if one.name not in elsewhere], ids=str
    )


every = pytest.mark.parametrize("old", PICKLES, ids=str)


@pytest.fixture(autouse=True)
def nothing_told():
    """What is said once is said in each test."""
    told = set(notices._told)
    notices._told.clear()
    yield
    notices._told.clear()
    notices._told.update(told)


def load(old):
    with old.path.open("rb") as file:
        if not old.lost:
            return shim.load(file)
        with pytest.warns(UserWarning, match=LOST_ENTITIES):
            return shim.load(file)


def inner(memory):
    """The memories in it, or itself."""
    return getattr(memory, "memories", None) or [getattr(memory, "memory", memory)]


def histories(loaded):
    if hasattr(loaded, "messages"):
        return [loaded]
    return [memory.chat_memory for memory in inner(loaded)]


def messages_of(loaded):
    return [message for one in histories(loaded) for message in one.messages]


def is_ours(made):
    return type(made).__module__.startswith("holdover.")


def triples(graph):
    if type(graph).__module__.startswith("langchain"):
        pytest.importorskip("networkx", reason="LangChain's own graph needs networkx")
    return [[subject, how, what] for subject, what, how in graph.get_triples()]


@every
def test_each_is_of_the_class_that_the_old_name_means_now(old):
    loaded = load(old)

    assert type(loaded).__name__ in {
        old.rest_of_the_file().__class__.__name__,
        "InMemoryChatMessageHistory",  # what ChatMessageHistory is by now
    }
    assert not is_lost(loaded)


@every
def test_what_was_set_is_set(old):
    names = ("human_prefix", "ai_prefix", "memory_key", "return_messages", "k")
    told = old.truth
    memory = load(old)

    for name in (*names, "max_token_limit"):
        if name in told:
            assert getattr(memory, name) == told[name]


@every
def test_each_field_of_today_is_as_it_is_in_the_file(old):
    """Read once more, without any class."""
    memory = load(old)
    fields = old.rest_of_the_file().fields
    plain = (str, int, bool, type(None))
    known = {*type(memory).model_fields, *type(memory).model_computed_fields}

    checked = [n for n, v in fields.items() if n in known and isinstance(v, plain)]
    for name in checked:
        assert getattr(memory, name) == fields[name], name


@of("buffer", "buffer_named", "buffer_return_messages", "window", "readonly",
    "entity", "kg", "summary", "chain_memory")  # fmt: skip
def test_what_was_said_is_said(old):
    if (old.release, old.name) == ("langchain-0.0.100", "summary"):
        pytest.skip("that release kept no messages beside a summary")

    messages = messages_of(load(old))

    assert [one.content for one in messages] == old.said
    assert [one.type for one in messages] == ["human", "ai"] * (len(old.said) // 2)


@of("combined")
def test_each_memory_in_it_has_what_was_said(old):
    combined = load(old)

    assert [one.memory_key for one in combined.memories] == old.truth["memory_keys"]
    for memory in combined.memories:
        assert [one.content for one in memory.chat_memory.messages] == old.said
    assert combined.memory_variables == old.truth["memory_keys"]


@of("token_buffer", "summary_buffer")
def test_of_a_pruned_conversation_the_end_is_there(old):
    memory = load(old)
    content = [one.content for one in memory.chat_memory.messages]

    assert content
    assert content == old.said[-len(content) :]
    if old.release != "langchain-0.0.100":
        history = old.rest_of_the_file().fields["chat_memory"].fields["messages"]
        assert content == [one.fields["content"] for one in history]


@of("summary_buffer")
def test_a_moving_summary_is_there(old):
    fields = old.rest_of_the_file().fields
    memory = load(old)

    assert fields["moving_summary_buffer"]
    assert memory.moving_summary_buffer == fields["moving_summary_buffer"]


@having("summary")
def test_a_summary_is_there(old):
    memory = load(old)

    assert memory.buffer == old.truth["summary"]
    assert memory.load_memory_variables({})["history"] == old.truth["summary"]


@of("string_buffer")
def test_a_text_is_there(old):
    said = iter(old.said)
    lines = [f"\nHuman: {one}\nAI: {next(said)}" for one in said]

    assert load(old).buffer == "".join(lines)


@of("simple")
def test_variables_are_there(old):
    assert load(old).load_memory_variables({}) == old.truth["memories"]


@of("entity", "entity_none_values")
def test_entities_are_there(old):
    memory = load(old)
    expected = {} if old.lost else old.truth["entities"]

    assert dict(memory.entity_store.store) == expected
    assert memory.entity_cache == old.truth.get("entity_cache", memory.entity_cache)


@of("kg")
def test_facts_are_there(old):
    memory = load(old)

    assert triples(memory.kg) == old.truth["triples"]
    if not is_lost(memory.llm):
        memory.llm = WordModel(answers=["Sam"])
        given = memory.load_memory_variables({"input": "Who is Sam?"})
        assert given == {"history": "On Sam: Sam is a hiker. Sam lives in Lyon."}


def _elsewhere(unpickler, folder):
    """Reads a pickle as if its files were in another folder."""

    class Elsewhere(unpickler):
        def find_class(self, module, name):
            if name == "PosixPath":
                return lambda *parts: Path(folder, parts[-1])
            return super().find_class(module, name)

    return Elsewhere


@of("buffer_file_history")
@pytest.mark.parametrize("unpickler", [pickles._Unpickler, pickle.Unpickler])
def test_a_file_of_messages_is_read_where_it_was(old, unpickler, tmp_path):
    written = old.rest_of_the_file().fields["chat_memory"].fields["file_path"]
    assert load(old).chat_memory.file_path == Path(*written.args)
    name = old.truth["turns_live_in"]
    (tmp_path / name).write_bytes((old.path.parent / name).read_bytes())

    with shim.installed(), old.path.open("rb") as file:
        memory = _elsewhere(unpickler, tmp_path)(file).load()

    if unpickler is pickle.Unpickler and not is_ours(memory.chat_memory):
        pytest.skip("LangChain's own class is here")
    assert [one.content for one in memory.chat_memory.messages] == old.said
    memory.save_context({"input": "more"}, {"output": "yes"})
    assert [one.content for one in memory.chat_memory.messages[-2:]] == ["more", "yes"]


@having("messages")
def test_messages_of_every_kind_are_as_they_were(old):
    messages = messages_of(load(old))

    assert len(messages) == len(old.truth["messages"])
    for message, (kind, told, *_) in zip(messages, old.truth["messages"], strict=True):
        assert type(message).__name__ == kind
        for name, said in old_pickles.value(told).items():
            assert getattr(message, name) == said, name


@having("messages")
def test_messages_are_what_they_would_be_if_they_were_made_today(old):
    for message, (kind, told, *_) in zip(
        messages_of(load(old)), old.truth["messages"], strict=True
    ):
        made = getattr(langchain_core.messages, kind)(**old_pickles.value(told))

        assert message == made
        assert message.model_dump() == made.model_dump()
        assert repr(message) == repr(made)
        assert message.model_dump(exclude_unset=True).keys() >= {"content"}


@with_messages()
def test_messages_do_what_messages_do(old):
    for message in messages_of(load(old)):
        dumped = message.model_dump()

        assert dumped["type"] == message.type
        assert dumped["content"] == message.content
        assert dumped["additional_kwargs"] == message.additional_kwargs
        assert dumped["id"] == message.id
        assert set(type(message).model_fields) <= set(dumped)
        assert isinstance(message.model_fields_set, set)
        assert message.pretty_repr()
        assert str(message)
        assert copy.deepcopy(message) == message
        assert message.model_copy(update={"id": "1"}).id == "1"
        assert type(message)(**dumped) == message
        assert pickle.loads(pickle.dumps(message)) == message
        assert langchain_core.messages.messages_from_dict(
            langchain_core.messages.messages_to_dict([message])
        ) == [message]


@every
@pytest.mark.parametrize("again", ["pickled", "copied"])
def test_one_that_was_loaded_is_pickled_and_copied(old, again):
    loaded = load(old)
    if again == "copied":
        made = copy.deepcopy(loaded)
    else:
        made = pickle.loads(pickle.dumps(loaded))

    assert type(made) is type(loaded)
    if old.name == "simple":
        assert made.memories == loaded.memories
    elif old.name == "string_buffer":
        assert made.buffer == loaded.buffer
    elif old.name == "buffer_file_history":
        assert made.chat_memory.file_path == loaded.chat_memory.file_path
    else:
        assert messages_of(made) == messages_of(loaded)
    for name in ("moving_summary_buffer", "entity_cache", "memory_key", "k"):
        assert getattr(made, name, None) == getattr(loaded, name, None)
    if hasattr(loaded, "kg"):
        assert triples(made.kg) == triples(loaded.kg)
    if hasattr(loaded, "entity_store"):
        assert dict(made.entity_store.store) == dict(loaded.entity_store.store)
    if is_lost(getattr(loaded, "llm", None)):
        assert type(made.llm) is type(loaded.llm)
        assert made.llm.responses == loaded.llm.responses


@of("buffer", "buffer_named", "buffer_return_messages", "window", "token_buffer",
    "summary", "summary_buffer", "entity", "kg", "chain_memory")  # fmt: skip
def test_the_conversation_goes_on(old):
    memory = load(old)
    before = [one.content for one in memory.chat_memory.messages]
    if hasattr(memory, "llm"):
        memory.llm = WordModel(answers=["NONE"])
        # What it counts are words: all of them fit.
        memory.__dict__.update(max_token_limit=1000)

    memory.save_context({"input": "And now?"}, {"output": "We go on."})

    assert [one.content for one in memory.chat_memory.messages] == [
        *before, "And now?", "We go on.",
    ]  # fmt: skip


@of("summary")
def test_a_summary_covers_what_came_with_it(old):
    memory = load(old)
    if not isinstance(memory, ConversationSummaryMemory):
        pytest.skip("LangChain's own class is here")
    memory.llm = model = WordModel(answers=["Sam greeted the AI and went on."])

    memory.save_context({"input": "And now?"}, {"output": "We go on."})

    (prompt,) = model.prompts
    assert prompt.endswith(
        "Current summary:\nSam greeted the AI.\n\nNew lines of conversation:\n"
        "Human: And now?\nAI: We go on.\n\nNew summary:"
    )
    assert memory.buffer == "Sam greeted the AI and went on."


@of("string_buffer")
def test_a_text_goes_on(old):
    memory = load(old)
    before = memory.buffer

    memory.save_context({"input": "And now?"}, {"output": "We go on."})

    assert memory.buffer == f"{before}\nHuman: And now?\nAI: We go on."


@of("window")
def test_a_window_shows_its_last_turns(old):
    assert load(old).load_memory_variables({}) == {"history": "Human: \nAI: "}


@every
def test_what_exists_nowhere_is_a_placeholder_and_nothing_else_is(old):
    llm = getattr(load(old), "llm", None)
    gone = [name for module, name in old.missing() if module in old_pickles.FOREIGN]

    assert (type(llm).__name__ in gone) == bool(gone)
    if gone:
        assert isinstance(llm, Placeholder)
        assert llm.responses


def _plainly(old):
    with old.path.open("rb") as file:
        return pickle.load(file)


@every
def test_plain_pickle_does_the_same_where_the_outer_class_is_ours(old):
    with shim.installed():
        if old.missing():
            with pytest.raises(ImportError):
                _plainly(old)
            return
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", LOST_ENTITIES)
            warnings.filterwarnings("ignore", "An entity store in the pickle")
            loaded = _plainly(old)
    if not is_ours(loaded):
        return
    by_load = load(old)

    assert type(loaded) is type(by_load)
    if old.name == "buffer_file_history":
        assert loaded.chat_memory.file_path == by_load.chat_memory.file_path
        return
    if old.name not in ("simple", "string_buffer"):
        assert messages_of(loaded) == messages_of(by_load)
    if hasattr(loaded, "to_dict"):
        assert loaded.to_dict() == by_load.to_dict()


def test_the_outer_class_is_ours_where_langchain_has_none_by_now():
    """So that the test above is about something, in the lanes it is about."""
    if importlib.util.find_spec("langchain") and base.CLASSIC == "langchain":
        pytest.skip("LangChain's own classes are here")
    ours = [one for one in PICKLES if "langchain-0" in one.release]

    with shim.installed():
        plain = [one for one in ours if not one.missing()]
        kinds = {
            type(_plainly(one)).__module__
            for one in plain
            if one.name not in ("kg", "chat_message_history") and not one.lost
        }

    assert len(plain) > 30
    assert all(kind.startswith("holdover.compat") for kind in kinds)
