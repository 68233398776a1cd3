"""Every input is embedded, whatever input_key says (langchain#3845, #7695)."""

from helping import texts, vectors, verdict
from langchain_classic.memory import VectorStoreRetrieverMemory

store = vectors()
memory = VectorStoreRetrieverMemory(
    retriever=store.as_retriever(), memory_key="facts", input_key="input"
)
memory.save_context({"input": "hello", "history": "ALL OF IT"}, {"output": "hi"})
(text,) = texts(store)
verdict("ALL OF IT" in text or "hello" not in text, repr(text))
