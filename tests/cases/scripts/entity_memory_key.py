"""The argument that every sibling has for its variable does nothing (langchain#801)."""

from helping import entity_model, verdict
from langchain_classic.memory import ConversationEntityMemory

memory = ConversationEntityMemory(llm=entity_model(), memory_key="chat_history")
variables = memory.memory_variables
verdict(variables != ["entities", "chat_history"], variables)
