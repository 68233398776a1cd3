"""A model with retries is refused (langchain#12980, Langchain-Chatchat#1021)."""

from helping import model, verdict
from langchain_classic.memory import ConversationSummaryMemory

try:
    memory = ConversationSummaryMemory(llm=model("They greet.").with_retry())
    memory.save_context({"input": "hello"}, {"output": "hi"})
except Exception as error:
    verdict(fault=True, detail=repr(error))
else:
    verdict(memory.buffer != "They greet.", memory.buffer)
