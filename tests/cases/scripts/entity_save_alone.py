"""A save without a load before it learns nothing."""

from helping import entity_model, verdict
from langchain_classic.memory import ConversationEntityMemory

memory = ConversationEntityMemory(llm=entity_model())
memory.save_context({"input": "Maya maps comets"}, {"output": "nice"})
verdict(not memory.entity_store.exists("Maya"), dict(memory.entity_store.store))
