"""What is saved carries no metadata (langchain#13876, #5043, #9067, #14412)."""

from helping import vectors, verdict
from langchain_classic.memory import VectorStoreRetrieverMemory

store = vectors()
of_ana = store.as_retriever(
    search_kwargs={"filter": lambda document: document.metadata.get("user") == "ana"}
)
ana = VectorStoreRetrieverMemory(retriever=of_ana, metadata={"user": "ana"})
ana.save_context({"input": "I keep bees"}, {"output": "great"})
own = ana.load_memory_variables({"input": "bees"})["history"]
verdict("bees" not in own, f"she finds {own!r}")
