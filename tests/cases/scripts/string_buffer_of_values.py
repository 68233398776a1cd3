"""The string buffer fails with what is no text."""

from helping import verdict
from langchain_classic.memory import ConversationStringBufferMemory

memory = ConversationStringBufferMemory()
try:
    memory.save_context({"input": 5}, {"output": ["a"]})
except TypeError as error:
    verdict(fault=True, detail=error)
else:
    verdict("5" not in memory.buffer or "a" not in memory.buffer, memory.buffer)
