"""A vector memory embeds what its siblings loaded (langchain#7695)."""

from helping import entity_model, texts, vectors, verdict
from langchain_classic.memory import (
    CombinedMemory,
    ConversationEntityMemory,
    VectorStoreRetrieverMemory,
)

store = vectors()
memory = CombinedMemory(
    memories=[
        ConversationEntityMemory(llm=entity_model(), input_key="input"),
        VectorStoreRetrieverMemory(
            retriever=store.as_retriever(), memory_key="facts", input_key="input"
        ),
    ]
)
said = {"input": "Maya maps comets"}
loaded = memory.load_memory_variables(said)
memory.save_context({**said, **loaded}, {"output": "nice"})
(text,) = texts(store)
verdict("entities:" in text or "Maya maps comets" not in text, repr(text))
