"""An answer that is a message or a dict fails (langchain#17867, #17269, #6761)."""

from helping import verdict
from langchain_classic.memory import ConversationBufferMemory
from langchain_core.messages import AIMessage

kept = {}
for answer in (AIMessage("hi"), {"answer": 42}):
    memory = ConversationBufferMemory()
    try:
        memory.save_context({"input": "q"}, {"output": answer})
        kept[type(answer).__name__] = memory.chat_memory.messages[-1].content
    except Exception as error:
        kept[type(answer).__name__] = error
verdict(kept != {"AIMessage": "hi", "dict": '{"answer": 42}'}, kept)
