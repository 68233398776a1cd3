"""Tool calls have to be in the text of a buffer (langchain#33970, #29158)."""

from helping import verdict
from langchain_classic.memory import ConversationBufferMemory
from langchain_core.messages import AIMessage

memory = ConversationBufferMemory()
call = {"name": "find", "args": {"q": 1}, "id": "c"}
memory.chat_memory.add_message(AIMessage("", tool_calls=[call]))
verdict("find" not in memory.buffer, memory.buffer)
