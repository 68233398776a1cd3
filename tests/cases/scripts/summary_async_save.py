"""An awaited save of the summary memory leaves it empty (langchain#40618, #8580)."""

import asyncio

from helping import model, verdict
from langchain_classic.memory import ConversationSummaryMemory

memory = ConversationSummaryMemory(llm=model("They greet."))
asyncio.run(memory.asave_context({"input": "hello"}, {"output": "hi"}))
verdict(memory.buffer != "They greet.", f"summary {memory.buffer!r}")
