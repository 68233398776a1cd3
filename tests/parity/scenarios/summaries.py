"""The memories that keep a running summary."""

import asyncio
import contextlib

from langchain_core.language_models.fake import FakeListLLM
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.prompts import PromptTemplate
from parity.comparing import scenario
from parity.library import ModelFailed, words

SUMMARY = "ConversationSummaryMemory"
SUMMARY_BUFFER = "ConversationSummaryBufferMemory"
BOTH = (SUMMARY, SUMMARY_BUFFER)


def numbered():
    """A function that answers `summary 1`, `summary 2`, …"""
    count = iter(range(1, 100))
    return lambda prompt: f"summary {next(count)}"


def talked(lib, name, turns=3, **fields):
    fields.setdefault("llm", lib.llm(numbered()))
    memory = lib.make(name, **fields)
    for n in range(turns):
        lib.save(memory, f"question {n}", f"answer {n}")
    return memory


def old_history(lib, turns=3):
    history = lib.ChatMessageHistory()
    for n in range(turns):
        history.add_user_message(f"old question {n}")
        history.add_ai_message(f"old answer {n}")
    return history


# Both


@scenario(*BOTH)
def predict_new_summary(lib, name):
    memory = lib.make(name, llm=lib.llm("the summary"), human_prefix="H")
    said = [HumanMessage("hello"), AIMessage("hi")]
    new = lib.call(memory, "predict_new_summary", said, "before")
    end = words(memory.llm.prompts[0]).rsplit("Current summary:", 1)[1]
    return new, end


@scenario(*BOTH)
def a_prompt_of_its_own(lib, name):
    prompt = PromptTemplate.from_template("{summary}|{new_lines}|?")
    memory = lib.make(name, llm=lib.llm("s"), prompt=prompt)
    said = [HumanMessage("hello")]
    new = lib.call(memory, "predict_new_summary", said, "before")
    return new, memory.llm.prompts


@scenario(*BOTH)
def a_prompt_with_other_variables(lib, name):
    return lib.make(name, prompt=PromptTemplate.from_template("{summary} {text}"))


@scenario(*BOTH)
def the_message_class_of_a_summary(lib, name):
    memory = talked(
        lib,
        name,
        2,
        summary_message_cls=HumanMessage,
        return_messages=True,
        **({"max_token_limit": 4} if name == SUMMARY_BUFFER else {}),
    )
    return lib.load(memory)["history"][0]


@scenario(*BOTH)
def a_subclass_that_summarises_otherwise(lib, name):
    class Mine(getattr(lib, name)):
        def predict_new_summary(self, messages, existing_summary):
            return f"{existing_summary}+{len(messages)}"

        async def apredict_new_summary(self, messages, existing_summary):
            return self.predict_new_summary(messages, existing_summary)

    limit = {"max_token_limit": 4} if name == SUMMARY_BUFFER else {}
    memory = Mine(llm=lib.llm("unused"), **limit)
    for n in range(3):
        lib.save(memory, f"question {n}", f"answer {n}")
    return lib.load(memory), memory.llm.prompts


@scenario(*BOTH)
def the_model_raises(lib, name):
    limit = {"max_token_limit": 3} if name == SUMMARY_BUFFER else {}
    memory = lib.make(name, llm=lib.failing_llm(), **limit)
    lib.save(memory, "question", "a long enough answer")


@scenario(*BOTH)
def the_turn_is_kept_when_the_model_raises(lib, name):
    memory = lib.make(name, llm=lib.failing_llm(), max_token_limit=99)
    memory.llm.answer = lib.failing_llm().answer
    with contextlib.suppress(ModelFailed):
        lib.save(memory, "question", "answer")
    return lib.messages(memory.chat_memory)


@scenario(*BOTH)
def an_empty_summary(lib, name):
    limit = {"max_token_limit": 4} if name == SUMMARY_BUFFER else {}
    memory = talked(lib, name, llm=lib.llm("first", ""), **limit)
    return lib.load(memory)


@scenario(*BOTH)
def a_chat_model_summarises(lib, name):
    limit = {"max_token_limit": 4} if name == SUMMARY_BUFFER else {}
    memory = talked(lib, name, llm=lib.chat_model(numbered()), **limit)
    return lib.load(memory)


@scenario(*BOTH)
def a_runnable_as_model(lib, name):
    limit = {"max_token_limit": 4} if name == SUMMARY_BUFFER else {}
    memory = talked(lib, name, llm=lib.llm("s").with_fallbacks([lib.llm("t")]), **limit)
    return lib.load(memory)


# ConversationSummaryMemory


@scenario(SUMMARY)
def a_summary_after_each_turn(lib):
    memory = talked(lib, SUMMARY)
    return lib.load(memory), memory.buffer, len(memory.llm.prompts)


@scenario(SUMMARY)
def what_the_model_is_shown(lib):
    memory = talked(lib, SUMMARY, 2, ai_prefix="Bot")
    return [words(p).rsplit("Current summary:", 1)[1] for p in memory.llm.prompts]


@scenario(SUMMARY)
def a_summary_as_a_message(lib):
    return lib.load(talked(lib, SUMMARY, 1, return_messages=True))


@scenario(SUMMARY)
def no_summary_yet_as_a_message(lib):
    return lib.load(lib.make(SUMMARY, return_messages=True))


@scenario(SUMMARY)
def a_summary_to_begin_with(lib):
    memory = lib.make(SUMMARY, llm=lib.llm("new"), buffer="known before")
    before = lib.load(memory)
    lib.save(memory, "hello", "hi")
    return before, "known before" in memory.llm.prompts[0], lib.load(memory)


@scenario(SUMMARY)
def a_summary_assigned(lib):
    memory = talked(lib, SUMMARY, 1)
    memory.buffer = "by hand"
    return lib.load(memory)


@scenario(SUMMARY)
def a_cleared_summary(lib):
    memory = talked(lib, SUMMARY, 1)
    lib.clear(memory)
    return memory.buffer, lib.load(memory), lib.messages(memory.chat_memory)


@scenario(SUMMARY)
def all_messages_are_kept(lib):
    return lib.messages(talked(lib, SUMMARY, 2).chat_memory)


@scenario(SUMMARY)
def from_messages(lib):
    llm = lib.llm(numbered())
    memory = lib.ConversationSummaryMemory.from_messages(
        llm, old_history(lib), memory_key="h", return_messages=False
    )
    return memory.buffer, lib.load(memory), len(llm.prompts)


@scenario(SUMMARY)
def from_messages_in_steps_of_four(lib):
    llm = lib.llm(numbered())
    memory = lib.ConversationSummaryMemory.from_messages(
        llm=llm, chat_memory=old_history(lib), summarize_step=4
    )
    return memory.buffer, ["old answer 1" in prompt for prompt in llm.prompts]


@scenario(SUMMARY)
def from_messages_without_any(lib):
    llm = lib.llm(numbered())
    memory = lib.ConversationSummaryMemory.from_messages(llm, old_history(lib, 0))
    return memory.buffer, len(llm.prompts)


@scenario(SUMMARY)
def from_messages_of_a_subclass(lib):
    class Mine(lib.ConversationSummaryMemory):
        """Of a user."""

    made = Mine.from_messages(lib.llm("s"), old_history(lib, 1))
    return isinstance(made, Mine)


@scenario(SUMMARY)
def from_messages_in_steps_of_zero(lib):
    kind = lib.ConversationSummaryMemory
    kind.from_messages(lib.llm("s"), old_history(lib), summarize_step=0)


@scenario(SUMMARY)
def over_a_history_that_was_there_before(lib):
    memory = lib.make(SUMMARY, llm=lib.llm("s"), chat_memory=old_history(lib))
    return lib.load(memory)


@scenario(SUMMARY)
def a_turn_over_a_history_that_was_there_before(lib):
    memory = lib.make(SUMMARY, llm=lib.llm("s"), chat_memory=old_history(lib))
    lib.save(memory, "hello", "hi")
    shown = memory.llm.prompts[0]
    return len(memory.llm.prompts), "old question 0" in shown, "hello" in shown


# ConversationSummaryBufferMemory


@scenario(SUMMARY_BUFFER)
def within_the_limit(lib):
    memory = talked(lib, SUMMARY_BUFFER, max_token_limit=12)
    return lib.load(memory), memory.moving_summary_buffer, memory.llm.prompts


@scenario(SUMMARY_BUFFER)
def over_the_limit(lib):
    return lib.load(talked(lib, SUMMARY_BUFFER, max_token_limit=4))


@scenario(SUMMARY_BUFFER)
def over_the_limit_as_messages(lib):
    memory = talked(lib, SUMMARY_BUFFER, max_token_limit=4, return_messages=True)
    return lib.load(memory)


@scenario(SUMMARY_BUFFER)
def what_the_model_is_shown_over_the_limit(lib):
    memory = talked(lib, SUMMARY_BUFFER, max_token_limit=4)
    return [words(p).rsplit("Current summary:", 1)[1] for p in memory.llm.prompts]


@scenario(SUMMARY_BUFFER)
def what_is_stored_over_the_limit(lib):
    memory = talked(lib, SUMMARY_BUFFER, max_token_limit=4)
    return lib.messages(memory.chat_memory)


@scenario(SUMMARY_BUFFER)
def the_buffer_of_a_summary_buffer(lib):
    memory = talked(lib, SUMMARY_BUFFER, max_token_limit=4)
    return lib.call(memory, "buffer")


@scenario(SUMMARY_BUFFER)
def pruned_by_hand(lib):
    memory = talked(lib, SUMMARY_BUFFER)
    memory.max_token_limit = 4
    returned = lib.call(memory, "prune")
    return returned, lib.load(memory)


@scenario(SUMMARY_BUFFER)
def a_limit_of_zero(lib):
    memory = talked(lib, SUMMARY_BUFFER, 1, max_token_limit=0)
    return lib.load(memory)


@scenario(SUMMARY_BUFFER)
def a_negative_limit(lib):
    return lib.load(talked(lib, SUMMARY_BUFFER, 1, max_token_limit=-1))


@scenario(SUMMARY_BUFFER)
def a_moving_summary_to_begin_with(lib):
    memory = lib.make(SUMMARY_BUFFER, moving_summary_buffer="known before")
    lib.save(memory, "hello", "hi")
    return lib.load(memory)


@scenario(SUMMARY_BUFFER)
def a_moving_summary_assigned(lib):
    memory = talked(lib, SUMMARY_BUFFER, max_token_limit=4)
    memory.moving_summary_buffer = "by hand"
    return lib.load(memory)


@scenario(SUMMARY_BUFFER)
def a_cleared_moving_summary(lib):
    memory = talked(lib, SUMMARY_BUFFER, max_token_limit=4)
    lib.clear(memory)
    return memory.moving_summary_buffer, lib.load(memory)


@scenario(SUMMARY_BUFFER)
def a_subclass_that_prunes_otherwise(lib):
    class Mine(lib.ConversationSummaryBufferMemory):
        pruned: int = 0

        def prune(self):
            self.pruned += 1

        async def aprune(self):
            self.pruned += 1

    memory = Mine(llm=lib.llm("s"), max_token_limit=1)
    lib.save(memory, "hello there", "hi there")
    return memory.pruned, lib.load(memory)


@scenario(SUMMARY_BUFFER)
def each_turn_is_summarised_once_over_a_file(lib):
    history = lib.FileChatMessageHistory(lib.path("h.json"))
    memory = talked(lib, SUMMARY_BUFFER, 4, chat_memory=history, max_token_limit=4)
    first = sum("question 0" in prompt for prompt in memory.llm.prompts)
    return first, lib.load(memory)


@scenario(SUMMARY_BUFFER)
def after_a_restart_over_a_file(lib):
    def made():
        return lib.make(
            SUMMARY_BUFFER,
            llm=lib.llm("s"),
            chat_memory=lib.FileChatMessageHistory(lib.path("h.json")),
            max_token_limit=4,
        )

    first = made()
    for n in range(2):
        lib.save(first, f"question {n}", f"answer {n}")
    return first.moving_summary_buffer, made().moving_summary_buffer


@scenario(SUMMARY_BUFFER)
def over_a_long_history_that_was_there_before(lib):
    memory = lib.make(
        SUMMARY_BUFFER, chat_memory=old_history(lib, 5), max_token_limit=12
    )
    return lib.load(memory)


@scenario(SUMMARY_BUFFER)
def what_is_left_when_the_model_raises(lib):
    memory = lib.make(SUMMARY_BUFFER, llm=lib.failing_llm(), max_token_limit=4)
    for n in range(2):
        with contextlib.suppress(ModelFailed):
            lib.save(memory, f"question {n}", f"answer {n}")
    return lib.messages(memory.chat_memory)


@scenario(SUMMARY_BUFFER)
def a_model_that_cannot_count(lib):
    memory = lib.make(SUMMARY_BUFFER, llm=FakeListLLM(responses=["ok"]))
    lib.save(memory, "hello", "hi")
    return lib.load(memory)


@scenario(SUMMARY_BUFFER, ways=("async",))
def two_turns_at_once(lib):
    memory = lib.make(SUMMARY_BUFFER)

    async def both():
        turns = [
            memory.asave_context({"input": f"q{n}"}, {"output": f"a{n}"})
            for n in range(2)
        ]
        await asyncio.gather(*turns)

    asyncio.run(both())
    return sorted(str(message.content) for message in memory.chat_memory.messages)
