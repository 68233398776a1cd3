"""An awaited clear keeps the summary of what is gone (langchain#40619)."""

import asyncio

from helping import model, verdict
from langchain_classic.memory import ConversationSummaryMemory

memory = ConversationSummaryMemory(llm=model("They greet."))
memory.save_context({"input": "hello"}, {"output": "hi"})
asyncio.run(memory.aclear())
verdict(memory.buffer, f"summary {memory.buffer!r}")
