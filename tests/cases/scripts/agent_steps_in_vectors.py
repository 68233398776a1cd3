"""A vector memory embeds the steps of an agent (langchain#13516)."""

from helping import texts, vectors, verdict
from langchain_classic.memory import VectorStoreRetrieverMemory
from langchain_core.agents import AgentAction

store = vectors()
memory = VectorStoreRetrieverMemory(retriever=store.as_retriever())
steps = [(AgentAction("find", {"q": 1}, "log"), "seen")]
memory.save_context({"input": "q"}, {"output": "a", "intermediate_steps": steps})
(text,) = texts(store)
verdict("AgentAction" in text, repr(text))
