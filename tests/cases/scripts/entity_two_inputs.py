"""A second input makes the memory fail (langchain#9352, #12730, #22427)."""

from helping import entity_model, verdict
from langchain_classic.memory import ConversationEntityMemory

memory = ConversationEntityMemory(llm=entity_model())
try:
    found = memory.load_memory_variables({"input": "Maya?", "language": "en"})
except ValueError as error:
    verdict(fault=True, detail=error)
else:
    verdict("Maya" not in found["entities"], found)
