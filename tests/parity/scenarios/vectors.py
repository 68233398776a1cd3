"""The memories that search."""

import re

from langchain_core.documents import Document
from langchain_core.messages import HumanMessage
from langchain_core.retrievers import BaseRetriever
from parity.comparing import scenario
from parity.library import words

RETRIEVER = "VectorStoreRetrieverMemory"
TOKENS = "ConversationVectorStoreTokenBufferMemory"


class Fixed(BaseRetriever):
    """No retriever of a vector store."""

    def _get_relevant_documents(self, query, *, run_manager):
        return [Document("found")]


def kept(vectors):
    return [entry["text"] for entry in vectors.store.values()]


@scenario(RETRIEVER)
def default_values_of_a_retriever_memory(lib):
    memory = lib.make(RETRIEVER)
    return {
        "memory_key": memory.memory_key,
        "input_key": memory.input_key,
        "return_docs": memory.return_docs,
        "exclude_input_keys": memory.exclude_input_keys,
        "memory_variables": memory.memory_variables,
    }


@scenario(RETRIEVER, TOKENS)
def without_a_retriever(lib, name):
    llm = {"llm": lib.llm("ok")} if name == TOKENS else {}
    return type(getattr(lib, name)(**llm))


@scenario(RETRIEVER)
def a_turn_as_a_document(lib):
    vectors = lib.vectors()
    memory = lib.make(RETRIEVER, retriever=vectors.as_retriever())
    returned = lib.call(memory, "save_context", {"input": "bees"}, {"output": "nice"})
    return returned, kept(vectors)


@scenario(RETRIEVER)
def found_by_what_is_said(lib):
    vectors = lib.vectors("zzz zzz", "about bees")
    retriever = vectors.as_retriever(search_kwargs={"k": 1})
    return lib.load(lib.make(RETRIEVER, retriever=retriever), "bees")


@scenario(RETRIEVER)
def found_as_documents(lib):
    vectors = lib.vectors("about bees")
    memory = lib.make(RETRIEVER, retriever=vectors.as_retriever(), return_docs=True)
    found = lib.load(memory, "bees")["history"]
    return [document.page_content for document in found]


@scenario(RETRIEVER)
def several_found(lib):
    vectors = lib.vectors("bees", "bee")
    return lib.load(lib.make(RETRIEVER, retriever=vectors.as_retriever()), "bees")


@scenario(RETRIEVER)
def nothing_found(lib):
    return lib.load(lib.make(RETRIEVER), "bees")


@scenario(RETRIEVER)
def saved_and_found(lib):
    memory = lib.make(RETRIEVER)
    lib.save(memory, "I keep bees", "nice")
    return lib.load(memory, "bees")


@scenario(RETRIEVER)
def keys_of_its_own(lib):
    vectors = lib.vectors()
    memory = lib.make(
        RETRIEVER, retriever=vectors.as_retriever(), memory_key="facts", input_key="q"
    )
    lib.save(memory, {"q": "bees", "facts": "old"}, {"a": "nice"})
    return kept(vectors), lib.load(memory, {"q": "bees"}), memory.memory_variables


@scenario(RETRIEVER)
def other_inputs_beside_the_input_key(lib):
    vectors = lib.vectors()
    memory = lib.make(RETRIEVER, retriever=vectors.as_retriever(), input_key="input")
    lib.save(memory, {"input": "bees", "chat_history": "ALL"}, "nice")
    return kept(vectors)


@scenario(RETRIEVER)
def several_inputs_without_an_input_key(lib):
    vectors = lib.vectors()
    memory = lib.make(RETRIEVER, retriever=vectors.as_retriever())
    lib.save(memory, {"foo": "bees", "bar": "honey"}, "nice")
    return kept(vectors)


@scenario(RETRIEVER)
def excluded_inputs(lib):
    vectors = lib.vectors()
    memory = lib.make(
        RETRIEVER, retriever=vectors.as_retriever(), exclude_input_keys=["lang"]
    )
    lib.save(memory, {"input": "bees", "lang": "en", "history": "old"}, "nice")
    return kept(vectors)


@scenario(RETRIEVER)
def steps_among_the_outputs(lib):
    vectors = lib.vectors()
    memory = lib.make(RETRIEVER, retriever=vectors.as_retriever())
    lib.save(memory, "q", {"output": "a", "intermediate_steps": [("find", "seen")]})
    return kept(vectors)


@scenario(RETRIEVER)
def a_turn_saved_twice(lib):
    vectors = lib.vectors()
    memory = lib.make(RETRIEVER, retriever=vectors.as_retriever())
    for _ in range(2):
        lib.save(memory, "bees", "nice")
    return kept(vectors)


@scenario(RETRIEVER)
def no_output_to_save(lib):
    vectors = lib.vectors()
    lib.save(lib.make(RETRIEVER, retriever=vectors.as_retriever()), "bees", {})
    return kept(vectors)


@scenario(RETRIEVER)
def two_inputs_to_search_with(lib):
    return lib.load(lib.make(RETRIEVER), {"foo": "a", "bar": "b"})


@scenario(RETRIEVER)
def two_inputs_one_of_them_input(lib):
    memory = lib.make(RETRIEVER, retriever=lib.vectors("bees").as_retriever())
    return lib.load(memory, {"input": "bees", "lang": "en"})


@scenario(RETRIEVER)
def no_input_to_search_with(lib):
    return lib.load(lib.make(RETRIEVER), {})


@scenario(RETRIEVER)
def an_input_key_that_is_not_there(lib):
    return lib.load(lib.make(RETRIEVER, input_key="q"), "bees")


@scenario(RETRIEVER)
def a_message_to_search_with(lib):
    memory = lib.make(RETRIEVER, retriever=lib.vectors("bees").as_retriever())
    return lib.load(memory, {"input": [HumanMessage("bees")]})


@scenario(RETRIEVER)
def a_cleared_retriever_memory(lib):
    vectors = lib.vectors("of somebody else")
    memory = lib.make(RETRIEVER, retriever=vectors.as_retriever())
    lib.save(memory, "bees", "nice")
    returned = lib.call(memory, "clear")
    return returned, kept(vectors)


@scenario(RETRIEVER)
def a_retriever_of_another_kind(lib):
    return lib.load(lib.make(RETRIEVER, retriever=Fixed()), "x")


@scenario(RETRIEVER)
def a_retriever_that_is_none(lib):
    return lib.make(RETRIEVER, retriever=None)


@scenario(RETRIEVER)
def an_unknown_argument_warns(lib):
    return lib.warned(lambda: lib.make(RETRIEVER, return_messages=True))


@scenario(RETRIEVER)
def the_retriever_is_not_dumped(lib):
    return sorted(
        {"retriever", "memory_key", "input_key", "return_docs"}
        & lib.make(RETRIEVER).model_dump().keys()
    )


@scenario(RETRIEVER)
def a_retriever_assigned_later(lib):
    memory = lib.make(RETRIEVER)
    memory.retriever = lib.vectors("bees").as_retriever()
    memory.memory_key = "facts"
    return lib.load(memory, "bees")


@scenario(RETRIEVER)
def a_subclass_that_forms_its_documents(lib):
    class Mine(lib.VectorStoreRetrieverMemory):
        def _form_documents(self, inputs, outputs):
            return [Document(f"{inputs['input']} -> {outputs['output']}")]

    vectors = lib.vectors()
    memory = Mine(retriever=vectors.as_retriever())
    lib.save(memory, "bees", "nice")
    return kept(vectors)


# ConversationVectorStoreTokenBufferMemory


def talked(lib, turns=3, **fields):
    memory = lib.make(TOKENS, **fields)
    for n in range(turns):
        lib.save(memory, f"question {n}", f"answer {n}")
    return memory


STAMP = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d [\w+-]*")


def untimed(value):
    """Texts and messages without the time they tell, and on one line."""
    if isinstance(value, list):
        return [untimed(one) for one in value]
    if isinstance(value, str):
        return words(STAMP.sub("NOW", value))
    return value.type, untimed(str(value.content))


@scenario(TOKENS)
def within_the_limit_as_messages(lib):
    return untimed(lib.load(talked(lib, return_messages=True), "x")["history"])


@scenario(TOKENS)
def within_the_limit_as_text(lib):
    return untimed(lib.load(talked(lib, 1), "x")["history"])


@scenario(TOKENS)
def what_falls_out_is_searched(lib):
    vectors = lib.vectors()
    retriever = vectors.as_retriever(search_kwargs={"k": 1})
    memory = talked(lib, return_messages=True, retriever=retriever, max_token_limit=4)
    loaded = untimed(lib.load(memory, "question 0")["history"])
    return sorted(untimed(kept(vectors))), loaded


@scenario(TOKENS)
def the_remainder_is_saved(lib):
    vectors = lib.vectors()
    memory = talked(lib, 2, retriever=vectors.as_retriever(), return_messages=True)
    returned = memory.save_remainder()
    loaded = untimed(lib.load(memory, "x")["history"])[1:]
    return returned, sorted(untimed(kept(vectors))), loaded


@scenario(TOKENS)
def the_remainder_saved_twice(lib):
    vectors = lib.vectors()
    memory = talked(lib, 1, retriever=vectors.as_retriever())
    memory.save_remainder()
    memory.save_remainder()
    return untimed(kept(vectors))


@scenario(TOKENS)
def a_long_answer_is_split(lib):
    vectors = lib.vectors()
    memory = lib.make(
        TOKENS,
        retriever=vectors.as_retriever(),
        max_token_limit=1,
        split_chunk_size=300,
    )
    lib.save(memory, "tell me", " ".join(f"word{n}" for n in range(60)))
    return [len(text) for text in sorted(untimed(kept(vectors)))]


@scenario(TOKENS)
def chunks_smaller_than_their_overlap(lib):
    vectors = lib.vectors()
    memory = lib.make(
        TOKENS, retriever=vectors.as_retriever(), max_token_limit=1, split_chunk_size=12
    )
    lib.save(memory, "tell me", "one two three four five six")
    return sorted(untimed(kept(vectors)))


@scenario(TOKENS)
def a_template_of_its_own(lib):
    memory = lib.make(
        TOKENS,
        retriever=lib.vectors("bees").as_retriever(),
        previous_history_template="Found: {previous_history} at {current_time}",
        return_messages=True,
        memory_key="h",
    )
    return untimed(lib.load(memory, "bees")["h"])


@scenario(TOKENS)
def its_memory_retriever(lib):
    memory = lib.make(TOKENS, retriever=lib.vectors("bees").as_retriever())
    inner = memory.memory_retriever
    return (
        isinstance(inner, lib.VectorStoreRetrieverMemory),
        inner is memory.memory_retriever,
        inner.retriever is memory.retriever,
    )


@scenario(TOKENS)
def a_limit_of_zero(lib):
    vectors = lib.vectors()
    talked(lib, 1, retriever=vectors.as_retriever(), max_token_limit=0)
    return untimed(kept(vectors))


@scenario(TOKENS)
def an_odd_number_of_messages(lib):
    history = lib.ChatMessageHistory()
    history.add_user_message("said before")
    vectors = lib.vectors()
    talked(
        lib,
        1,
        chat_memory=history,
        retriever=vectors.as_retriever(),
        max_token_limit=3,
    )
    return sorted(untimed(kept(vectors)))


@scenario(TOKENS)
def a_history_that_was_there_before(lib):
    history = lib.ChatMessageHistory()
    history.add_user_message("said before")
    history.add_ai_message("answered before")
    vectors = lib.vectors()
    memory = talked(
        lib,
        1,
        chat_memory=history,
        retriever=vectors.as_retriever(),
        max_token_limit=4,
    )
    return len(kept(vectors)), lib.messages(memory.chat_memory)[-1]


def remainder_saved(lib, vectors, session=None):
    """A memory of a turn that is embedded; its history may have a session."""

    class OfSession(lib.ChatMessageHistory):
        session_id: str

    kind = lib.ChatMessageHistory
    history = kind() if session is None else OfSession(session_id=session)
    memory = lib.make(
        TOKENS,
        chat_memory=history,
        retriever=vectors.as_retriever(),
        return_messages=True,
        previous_history_template="{current_time} {previous_history}",
    )
    # Awaited, classic notes no time, and cannot save the remainder.
    memory.save_context({"input": f"said to {session}"}, {"output": "nice"})
    memory.save_remainder()
    return memory


@scenario(TOKENS)
def histories_of_two_sessions(lib):
    vectors = lib.vectors()
    remainder_saved(lib, vectors, "ana")
    memory = remainder_saved(lib, vectors, "bea")
    _, *found = untimed(lib.load(memory, "said to ana")["history"])[0][1].split(
        "Human:"
    )
    return sorted(one.strip() for one in found)


@scenario(TOKENS)
def cleared_when_turns_of_a_session_are_embedded(lib):
    vectors = lib.vectors("of somebody else")
    remainder_saved(lib, vectors, "ana")
    lib.clear(remainder_saved(lib, vectors, "bea"))
    return sorted(untimed(kept(vectors)))


@scenario(TOKENS)
def cleared_when_turns_are_embedded(lib):
    vectors = lib.vectors()
    lib.clear(remainder_saved(lib, vectors))
    return untimed(kept(vectors))


@scenario(TOKENS)
def three_buffers_of_a_vector_buffer(lib):
    memory = talked(lib, 1)
    return memory.buffer, memory.buffer_as_str, memory.buffer_as_messages


@scenario(TOKENS)
def two_inputs_to_search_with__tokens(lib):
    return lib.load(lib.make(TOKENS), {"foo": "a", "bar": "b"})
