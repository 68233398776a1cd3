"""An answer with its sources cannot be saved (langchain#2303, #5630, #9394, #16323)."""

from helping import verdict
from langchain_classic.memory import ConversationBufferMemory

memory = ConversationBufferMemory()
try:
    memory.save_context({"question": "q"}, {"answer": "a", "source_documents": []})
except ValueError as error:
    verdict(fault=True, detail=error)
else:
    verdict(memory.buffer != "Human: q\nAI: a", memory.buffer)
