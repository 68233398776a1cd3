"""No output can be left out of what is stored (langchain#9347)."""

from helping import texts, vectors, verdict
from langchain_classic.memory import VectorStoreRetrieverMemory

store = vectors()
memory = VectorStoreRetrieverMemory(
    retriever=store.as_retriever(), exclude_output_keys=["output"]
)
memory.save_context({"input": "hello"}, {"output": "SECRET"})
verdict("SECRET" in texts(store)[0], texts(store))
