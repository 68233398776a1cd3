"""A memory cannot be written as JSON and read again (langchain#13282, #11275)."""

from helping import verdict
from langchain_classic.memory import ConversationBufferMemory

memory = ConversationBufferMemory()
memory.save_context({"input": "hello"}, {"output": "hi"})
try:
    twin = ConversationBufferMemory.model_validate_json(memory.model_dump_json())
except Exception as error:
    verdict(fault=True, detail=repr(error))
else:
    verdict(twin.buffer != memory.buffer, twin.buffer)
