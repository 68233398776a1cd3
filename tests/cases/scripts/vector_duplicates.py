"""A turn that is saved again fills the context twice."""

from helping import texts, vectors, verdict
from langchain_classic.memory import VectorStoreRetrieverMemory

store = vectors()
memory = VectorStoreRetrieverMemory(retriever=store.as_retriever())
for _ in range(3):
    memory.save_context({"input": "I am allergic to nuts"}, {"output": "noted"})
text = memory.load_memory_variables({"input": "allergic"})["history"]
verdict(text.count("nuts") != 1, f"{len(texts(store))} stored: {text!r}")
