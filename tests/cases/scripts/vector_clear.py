"""Clearing a vector memory removes nothing (langchain#5817)."""

from helping import texts, vectors, verdict
from langchain_classic.memory import VectorStoreRetrieverMemory

store = vectors()
memory = VectorStoreRetrieverMemory(retriever=store.as_retriever())
memory.save_context({"input": "my pin is 1234"}, {"output": "noted"})
memory.clear()
verdict(texts(store), texts(store))
