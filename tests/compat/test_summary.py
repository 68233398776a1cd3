"""The running summary: each message once, whatever happens in between."""

import copy
import pickle
import threading
from typing import ClassVar

import backends
import fake_models
import kinds_of_history
import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.prompts import PromptTemplate
from langgraph.store.memory import InMemoryStore

from holdover.compat import (
    ConversationSummaryBufferMemory,
    ConversationSummaryMemory,
    FileChatMessageHistory,
    StoreChatMessageHistory,
)
from holdover.compat.prompt import SUMMARY_PROMPT


@pytest.fixture(params=["sync", "async"])
def driven(request, loop):
    return lambda memory: backends.Driven(memory, request.param, loop)


@pytest.fixture(params=kinds_of_history.KINDS)
def history(request):
    return kinds_of_history.KINDS[request.param]()


PROMPT = PromptTemplate.from_template("[{summary}] + <{new_lines}>")


class Summarizer(fake_models.WordModel):
    """Answers with the summary so far and the lines, so that each can be counted."""

    answers: object = lambda prompt: prompt.replace("\n", " / ")


def said(summary, word):
    return summary.count(word)


def summary_memory(**arguments):
    return ConversationSummaryMemory(
        **{"llm": Summarizer(), "prompt": PROMPT, **arguments}
    )


def buffer_memory(**arguments):
    defaults = {"llm": Summarizer(), "prompt": PROMPT, "max_token_limit": 4}
    return ConversationSummaryBufferMemory(**{**defaults, **arguments})


BOTH = {"summary": summary_memory, "buffer": buffer_memory}


def talk(memory, turns, start=0):
    for number in range(start, start + turns):
        memory.save_context({"input": f"q{number}"}, {"output": f"a{number}"})


def load(memory):
    return memory.load_memory_variables({})["history"]


def everything_once(text, number):
    """Each of the messages of these turns appears exactly once."""
    return all(
        said(text + " ", f"{w}{n} ") + said(text, f"{w}{n}>") + said(text, f"{w}{n}\n")
        == 1
        for n in range(number)
        for w in "qa"
    )


def test_a_summary_grows_with_each_turn(driven, history):
    memory = driven(summary_memory(chat_memory=history))
    talk(memory, 2)

    assert load(memory) == "[[] + <Human: q0 / AI: a0>] + <Human: q1 / AI: a1>"
    assert len(history.messages) == 4


def test_as_messages_it_is_a_system_message(driven):
    memory = driven(summary_memory(return_messages=True))
    talk(memory, 1)

    (message,) = load(memory)
    assert isinstance(message, SystemMessage)
    assert "q0" in message.content


def test_a_history_that_was_there_is_summarised_at_the_first_load(driven, history):
    history.add_messages([HumanMessage("my boat is called Juno"), AIMessage("nice")])
    memory = driven(summary_memory(chat_memory=history))

    assert "Juno" in load(memory)


def test_a_buffer_keeps_the_newest_and_summarises_the_others(driven, history):
    memory = driven(buffer_memory(chat_memory=history))
    talk(memory, 3)

    assert load(memory) == (
        "System: [] + <Human: q0 / AI: a0>\nHuman: q1\nAI: a1\nHuman: q2\nAI: a2"
    )
    assert len(history.messages) == 6


@pytest.mark.parametrize("make", BOTH.values(), ids=BOTH)
def test_a_restart_after_each_turn_changes_nothing(driven, make):
    store = InMemoryStore()
    for number in range(8):
        talk(driven(make(store=store, session_id="s")), 1, start=number)
    steady = make()
    talk(steady, 8)

    assert load(driven(make(store=store, session_id="s"))) == load(steady)
    assert everything_once(load(steady), 8)


@pytest.mark.parametrize("make", BOTH.values(), ids=BOTH)
def test_a_model_that_fails_loses_no_turn_and_no_message(driven, history, make):
    model = Summarizer()
    memory = driven(make(llm=model, chat_memory=history))
    talk(memory, 3)
    working = model.answers
    model.answers = lambda prompt: RuntimeError("down")
    with pytest.raises(RuntimeError, match="down"):
        talk(memory, 1, start=3)
    model.answers = working
    talk(memory, 2, start=4)

    assert everything_once(load(memory), 6)
    assert len(history.messages) == 12


@pytest.mark.parametrize("make", BOTH.values(), ids=BOTH)
@pytest.mark.parametrize(
    "answer", ["none", "empty", "blank", "a number", "a dict", "bytes", "ten megabytes"]
)
def test_an_answer_of_no_use_keeps_the_old_summary(driven, caplog, make, answer):
    memory = make()
    talk(memory, 3)
    before = memory.load_memory_variables({})["history"]
    memory.llm = fake_models.answering(fake_models.MISBEHAVING[answer])
    if make is buffer_memory:
        memory.token_counter = lambda ms: sum(len(m.content.split()) for m in ms)

    talk(driven(memory), 1, start=3)

    after = memory.load_memory_variables({})["history"]
    summary = getattr(memory, "moving_summary_buffer", None) or memory.buffer
    assert summary in before
    assert "word word" not in after
    assert len(memory.chat_memory.messages) == 8
    assert len([r for r in caplog.records if r.name == "holdover.compat"]) == 1


@pytest.mark.parametrize("make", BOTH.values(), ids=BOTH)
def test_an_old_long_history_takes_one_bounded_call_a_turn(driven, make):
    history = kinds_of_history.stored()
    history.add_messages(
        [m for n in range(300) for m in (HumanMessage(f"q{n}"), AIMessage(f"a{n}"))]
    )
    model = Summarizer()
    memory = driven(make(llm=model, chat_memory=history))

    for turn in range(1, 4):
        talk(memory, 1, start=299 + turn)
        assert len(model.prompts) == turn
        lines = model.prompts[-1].rpartition("<")[2]
        assert 0 < lines.count(": ") <= 100


@pytest.mark.parametrize("make", BOTH.values(), ids=BOTH)
def test_what_is_there_can_be_skipped(driven, history, make):
    history.add_messages(
        [m for n in range(300) for m in (HumanMessage(f"q{n}"), AIMessage(f"a{n}"))]
    )
    model = Summarizer()
    memory = driven(make(llm=model, chat_memory=history, backlog="skip"))
    talk(memory, 2, start=300)

    assert len(model.prompts) == 2
    assert "q299" in load(memory)
    assert "q10 " not in load(memory)


@pytest.mark.parametrize("make", BOTH.values(), ids=BOTH)
def test_one_message_of_ten_megabytes_makes_a_bounded_call(make):
    model = Summarizer(answers=["short"])
    memory = make(llm=model)
    memory.save_context({"input": "word " * 2_000_000}, {"output": "ok"})

    assert len(model.prompts) == 1
    assert len(model.prompts[0]) < 50_000
    assert memory.to_dict()["state"]["summary"]["text"] == "short"


@pytest.mark.parametrize("make", BOTH.values(), ids=BOTH)
def test_clear_forgets_the_summary_too(driven, make):
    store = InMemoryStore()
    memory = driven(make(store=store, session_id="s"))
    talk(memory, 4)
    memory.clear()

    assert load(memory) == ""
    assert load(driven(make(store=store, session_id="s"))) == ""
    assert store.search(("memory_store", "s")) == []


def test_what_came_before_a_clear_is_not_written_after_it():
    """A model that is still asked when the session is cleared."""
    memory = buffer_memory(store=InMemoryStore(), session_id="s")
    talk(memory, 3)
    working = memory.llm.answers

    def cleared_meanwhile(prompt):
        memory.clear()
        return working(prompt)

    memory.llm.answers = cleared_meanwhile
    talk(memory, 1, start=3)

    assert memory.moving_summary_buffer == ""


def test_a_memory_given_a_history_finds_its_summary_again():
    store = InMemoryStore()

    def make():
        return buffer_memory(chat_memory=StoreChatMessageHistory("s", store=store))

    talk(make(), 4)

    assert "q0" in make().moving_summary_buffer
    assert make().buffer == make().load_memory_variables({})["history"]


def test_a_history_of_another_package_gives_its_session_to_the_summary():
    store = InMemoryStore()
    history = kinds_of_history.CopyingHistory("other/1")
    talk(buffer_memory(chat_memory=history, store=store), 4)

    assert "q0" in buffer_memory(chat_memory=history, store=store).moving_summary_buffer
    (item,) = store.search(("memory_store",))
    assert item.namespace == ("memory_store", "other~2f1", "summary")
    assert {"text", "count", "hash"} <= item.value["content"].keys()
    assert "last" not in item.value["content"]


def test_a_whole_summary_goes_on_from_that_of_a_buffer():
    store = InMemoryStore()
    talk(buffer_memory(store=store, session_id="s"), 4)
    other = summary_memory(store=store, session_id="s")
    talk(other, 1, start=4)

    assert everything_once(load(other), 5)


@pytest.mark.parametrize("first", ["summary", "buffer"])
def test_both_classes_on_one_conversation_leave_each_other_alone(first):
    """As where one of them is read-only: no message is hidden by the other's cursor."""
    store = InMemoryStore()
    history = StoreChatMessageHistory("s", store=store)
    history.add_messages([HumanMessage("q0"), AIMessage("a0")])
    whole = summary_memory(chat_memory=history)
    recent = buffer_memory(chat_memory=history)
    if first == "summary":
        load(whole)
    for _ in range(2):
        assert load(recent) == "Human: q0\nAI: a0"
        assert load(whole) == "[] + <Human: q0 / AI: a0>"
    history.add_messages([HumanMessage("q1 w w"), AIMessage("a1 w w")])
    recent.prune()

    assert load(recent).startswith("System: [] + <Human: q0")
    assert load(whole) == "[] + <Human: q0 / AI: a0>"


def test_the_first_summary_can_be_given():
    memory = summary_memory(buffer="earlier")
    assert load(memory) == "earlier"
    talk(memory, 1)
    assert load(memory).startswith("[earlier]")

    memory = buffer_memory(moving_summary_buffer="earlier")
    assert load(memory) == "System: earlier"


def test_the_summary_can_be_assigned():
    store = InMemoryStore()
    for make, name in (
        (summary_memory, "buffer"),
        (buffer_memory, "moving_summary_buffer"),
    ):
        memory = make(store=store, session_id=name)
        talk(memory, 3)
        setattr(memory, name, "mine")
        again = make(store=store, session_id=name)
        assert getattr(again, name) == "mine"
        talk(again, 3, start=3)
        assert getattr(again, name).count("mine") == 1
        assert "q0" not in getattr(again, name)


def test_from_messages_summarises_in_steps():
    model = Summarizer()
    history = kinds_of_history.CopyingHistory()
    talk(ConversationSummaryMemory(llm=Summarizer(), chat_memory=history), 3)

    memory = ConversationSummaryMemory.from_messages(model, history, prompt=PROMPT)
    assert len(model.prompts) == 3
    assert everything_once(memory.buffer, 3)
    ConversationSummaryMemory.from_messages(
        model, history, summarize_step=4, prompt=PROMPT
    )
    assert len(model.prompts) == 5


@pytest.mark.parametrize("make", BOTH.values(), ids=BOTH)
def test_a_prompt_with_other_variables_is_refused(make):
    with pytest.raises(ValueError, match="unexpected prompt input variables"):
        make(prompt=PromptTemplate.from_template("{summary}"))


@pytest.mark.parametrize("make", BOTH.values(), ids=BOTH)
def test_the_prompt_is_the_classic_one(make):
    model = fake_models.WordModel(answers=["S"])
    memory = make(llm=model, prompt=SUMMARY_PROMPT)
    talk(memory, 3)

    expected = SUMMARY_PROMPT.format(summary="", new_lines="Human: q0\nAI: a0")
    assert model.prompts[0] == expected


@pytest.mark.parametrize("make", BOTH.values(), ids=BOTH)
def test_to_dict_and_back_keeps_the_summary(make):
    memory = make()
    talk(memory, 4)
    data = memory.to_dict()

    again = type(memory).from_dict(data, llm=Summarizer(), prompt=PROMPT)
    talk(memory, 1, start=4)
    talk(again, 1, start=4)

    assert load(again) == load(memory)
    assert data["needs"] == ["llm", "prompt", "summary_message_cls"]


@pytest.mark.parametrize("make", BOTH.values(), ids=BOTH)
def test_a_copy_goes_on_alone(make):
    memory = make(llm=fake_models.WordModel(answers=["S"]))
    talk(memory, 3)
    again, before = copy.deepcopy(memory), load(memory)
    assert load(again) == before
    again.clear()
    assert load(memory) == before


def test_a_subclass_that_summarises_itself_is_asked(driven):
    class Mine(ConversationSummaryBufferMemory):
        def predict_new_summary(self, messages, existing_summary):
            return f"{existing_summary}{len(messages)}"

        async def apredict_new_summary(self, messages, existing_summary):
            return f"{existing_summary}{len(messages)}"

    memory = Mine(llm=Summarizer(), max_token_limit=4)
    talk(driven(memory), 4)

    assert memory.moving_summary_buffer == "22"


def test_threads_on_one_session_summarise_each_message_once():
    store = InMemoryStore()

    def work(number):
        memory = summary_memory(store=store, session_id="s")
        memory.save_context({"input": f"q{number}"}, {"output": f"a{number}"})

    threads = [threading.Thread(target=work, args=(n,)) for n in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    memory = summary_memory(store=store, session_id="s")
    talk(memory, 1, start=16)

    assert len(memory.chat_memory.messages) == 34
    assert everything_once(load(memory), 17)


async def test_a_history_that_works_from_async_code_alone_is_summarised():
    for make in BOTH.values():
        memory = make(chat_memory=kinds_of_history.AsyncOnlyHistory())
        for number in range(3):
            await memory.asave_context(
                {"input": f"q{number}"}, {"output": f"a{number}"}
            )
        assert "q0" in (await memory.aload_memory_variables({}))["history"]


def test_a_pickled_memory_remembers():
    memory = buffer_memory(llm=fake_models.WordModel(answers=["S"]))
    talk(memory, 4)

    assert load(pickle.loads(pickle.dumps(memory))) == load(memory)


@pytest.mark.parametrize("make", BOTH.values(), ids=BOTH)
def test_in_the_background_no_model_is_called_before_the_reply(driven, make):
    asked_in = set()
    model = Summarizer()
    working = model.answers

    def answers(prompt):
        asked_in.add(threading.current_thread())
        return working(prompt)

    model.answers = answers
    history = kinds_of_history.stored()
    history.add_messages(
        [m for n in range(300) for m in (HumanMessage(f"q{n}"), AIMessage(f"a{n}"))]
    )
    memory = driven(make(llm=model, chat_memory=history, backlog="background"))
    talk(memory, 2, start=300)
    memory.flush()

    assert threading.current_thread() not in asked_in
    assert everything_once(load(memory), 302)


@pytest.mark.parametrize("make", BOTH.values(), ids=BOTH)
def test_an_error_in_the_background_is_raised_once_by_flush(driven, make):
    model = Summarizer()
    working = model.answers
    model.answers = lambda prompt: RuntimeError("down")
    memory = driven(make(llm=model, backlog="background"))
    talk(memory, 4)
    with pytest.raises(RuntimeError, match="down"):
        memory.flush()

    model.answers = working
    memory.flush()

    assert everything_once(load(memory), 4)


@pytest.mark.parametrize("make", BOTH.values(), ids=BOTH)
@pytest.mark.parametrize("turns", [0, 3])
@pytest.mark.parametrize("stored", [True, False])
def test_nothing_survives_a_clear_while_the_model_is_asked(make, turns, stored):
    where = {"store": InMemoryStore(), "session_id": "s"} if stored else {}
    memory = (
        make(max_token_limit=0, **where) if make is buffer_memory else make(**where)
    )
    talk(memory, turns)
    working = memory.llm.answers

    def cleared_meanwhile(prompt):
        memory.clear()
        memory.chat_memory.add_messages([HumanMessage("new")])
        return working(prompt)

    memory.llm.answers = cleared_meanwhile
    talk(memory, 1, start=turns)
    memory.llm.answers = working

    assert "q" not in memory.to_dict()["state"]["summary"]["text"]


def test_a_turn_whose_clock_is_behind_is_summarised_all_the_same(monkeypatch):
    import time

    store = InMemoryStore()
    talk(summary_memory(store=store, session_id="s"), 1)
    now = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: now() - 2_000_000_000)
    behind = summary_memory(store=store, session_id="s")
    load(behind)
    talk(behind, 1, start=1)
    monkeypatch.undo()
    memory = summary_memory(store=store, session_id="s")
    talk(memory, 1, start=2)

    assert everything_once(load(memory), 3)
    assert [m.content for m in memory.chat_memory.messages] == [
        *("q0", "a0", "q1", "a1", "q2", "a2")
    ]


@pytest.mark.parametrize("make", BOTH.values(), ids=BOTH)
def test_a_turn_that_comes_late_is_summarised_all_the_same(make):
    """Its keys were made before those of a turn that was summarised already."""
    store = InMemoryStore()
    history = StoreChatMessageHistory("s", store=store)
    late = [HumanMessage("q0"), AIMessage("a0")]
    from holdover.compat.message_records import message_content

    keys = history._keys.make(2)
    talk(make(store=store, session_id="s"), 3, start=1)
    contents = [message_content(message) for message in late]
    history.repository.put_many("message", contents, keys=keys)
    memory = make(store=store, session_id="s")
    talk(memory, 2, start=4)

    assert everything_once(load(memory), 6)


@pytest.mark.parametrize("kept", [2, 3, 4, 5])
def test_a_trimmed_history_of_answers_that_repeat_is_summarised_to_the_end(kept):
    class Trimmed(kinds_of_history.CopyingHistory):
        def add_messages(self, messages):
            super().add_messages(messages)
            self.kept = self.kept[-kept:]

    memory = summary_memory(chat_memory=Trimmed())
    for number in range(6):
        memory.save_context({"input": f"fact{number}"}, {"output": "Done."})

    assert all(said(load(memory), f"fact{number} ") == 1 for number in range(6))


@pytest.mark.parametrize("make", BOTH.values(), ids=BOTH)
def test_what_was_summarised_elsewhere_is_not_summarised_again(make):
    memory = make(store=InMemoryStore(), session_id="s")
    talk(memory, 4)
    again = type(memory).from_dict(
        memory.to_dict(), llm=Summarizer(), prompt=PROMPT, store=InMemoryStore()
    )
    assert load(again) == load(memory)
    talk(again, 2, start=4)

    assert everything_once(load(again), 6)


def test_a_model_that_fails_leaves_an_old_history_without_a_summary(driven, caplog):
    history = kinds_of_history.CopyingHistory()
    history.add_messages([HumanMessage("q0"), AIMessage("a0")])
    memory = summary_memory(
        llm=fake_models.WordModel(answers=lambda _: RuntimeError("secret")),
        chat_memory=history,
    )

    assert load(driven(memory)) == ""
    assert "RuntimeError" in caplog.text
    assert "secret" not in caplog.text


@pytest.mark.parametrize("make", BOTH.values(), ids=BOTH)
def test_the_summary_can_be_emptied(make):
    name = "buffer" if make is summary_memory else "moving_summary_buffer"
    for where in ({}, {"store": InMemoryStore(), "session_id": "s"}):
        memory = make(**where)
        talk(memory, 4)
        setattr(memory, name, "")
        assert getattr(memory, name) == ""
        talk(memory, 2, start=4)
        assert "q0" not in getattr(memory, name)
        assert "(none)" not in getattr(memory, name)


def test_a_counter_has_to_be_given_again():
    memory = buffer_memory(token_counter=len)
    assert "token_counter" in memory.to_dict()["needs"]
    assert "token_counter" not in buffer_memory().to_dict()["needs"]


@pytest.mark.parametrize("backlog", ["step", "background"])
def test_a_method_that_a_subclass_replaced_counts_in_both_ways(driven, backlog):
    class Mine(ConversationSummaryBufferMemory):
        def predict_new_summary(self, messages, existing_summary):
            return f"{existing_summary}{len(messages)}"

    class Own(Mine):
        pruned: ClassVar[int] = 0

        def prune(self):
            type(self).pruned += 1

    memory = Mine(llm=Summarizer(), max_token_limit=4, backlog=backlog)
    talk(driven(memory), 4)
    memory.flush()
    # Behind the replies, several turns may make one step.
    assert sum(map(int, memory.moving_summary_buffer)) == 4

    memory = Own(llm=Summarizer(), max_token_limit=4, backlog=backlog)
    talk(driven(memory), 2)
    memory.flush()
    assert Own.pruned >= 1


async def test_what_works_in_a_loop_alone_is_summarised_behind_the_reply():
    for make in BOTH.values():
        memory = make(
            chat_memory=kinds_of_history.AsyncOnlyHistory(), backlog="background"
        )
        for number in range(4):
            await memory.asave_context(
                {"input": f"q{number}"}, {"output": f"a{number}"}
            )
        await memory.aflush()
        loaded = await memory.aload_memory_variables({})
        assert everything_once(loaded["history"], 4)


async def test_a_store_is_opened_beside_the_event_loop(tmp_path, monkeypatch):
    from holdover.compat.stores import opening

    here, opened_in = threading.current_thread(), []
    open_sqlite = opening.open_sqlite

    def noted(*arguments, **options):
        opened_in.append(threading.current_thread())
        return open_sqlite(*arguments, **options)

    monkeypatch.setattr(opening, "open_sqlite", noted)
    memory = buffer_memory(store=f"sqlite:///{tmp_path}/m.db", session_id="s")
    await memory.asave_context({"input": "q"}, {"output": "a"})

    assert len(opened_in) == 1
    assert here not in opened_in


def test_two_folders_with_a_file_of_one_name_are_two_sessions_behind_the_reply(
    tmp_path,
):
    """Each flush waits for its own, and raises its own error."""

    def make(folder, model):
        history = FileChatMessageHistory(tmp_path / folder / "chat.json")
        return summary_memory(llm=model, chat_memory=history, backlog="background")

    down = fake_models.WordModel(answers=lambda _: RuntimeError("down"))
    one, two = make("one", down), make("two", Summarizer())
    talk(one, 1)
    talk(two, 1, start=1)

    two.flush()
    with pytest.raises(RuntimeError, match="down"):
        one.flush()
    assert "q1" in load(two)
    assert "q0" not in load(two)
