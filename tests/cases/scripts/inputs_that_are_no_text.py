"""A question that is a message, or a list of them, fails (langchain#5734, #11882)."""

from helping import verdict
from langchain_classic.memory import ConversationBufferMemory
from langchain_core.messages import HumanMessage

kept = []
for said in (HumanMessage("q"), [HumanMessage("q")]):
    memory = ConversationBufferMemory()
    try:
        memory.save_context({"input": said}, {"output": "a"})
        kept.append(memory.buffer)
    except Exception as error:
        kept.append(type(error).__name__)
verdict(kept != ["Human: q\nAI: a"] * 2, kept)
