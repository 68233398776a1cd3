"""Entities given by the old arguments vanish (langchain#2997, MemoryBot#1)."""

from helping import entity_model, verdict
from langchain_classic.memory import ConversationEntityMemory

memory = ConversationEntityMemory(
    llm=entity_model(), store={"Maya": "an astronomer"}, buffer=["Human: hi"]
)
known = memory.entity_store.get("Maya")
verdict(known != "an astronomer", f"known {known!r}")
