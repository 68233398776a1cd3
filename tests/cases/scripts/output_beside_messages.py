"""An output beside other outputs is the answer (langchain#19746)."""

from helping import verdict
from langchain_classic.memory import ConversationBufferMemory

memory = ConversationBufferMemory()
try:
    memory.save_context({"input": "q"}, {"output": "a", "messages": []})
except ValueError as error:
    verdict(fault=True, detail=error)
else:
    verdict(memory.buffer != "Human: q\nAI: a", memory.buffer)
