"""An awaited save of the graph memory learns nothing (langchain#40618)."""

import asyncio

from helping import model, verdict
from langchain_community.memory.kg import ConversationKGMemory

memory = ConversationKGMemory(llm=model("(Maya, studies, comets)"))
said = {"input": "Maya studies comets"}
asyncio.run(memory.asave_context(said, {"output": "nice"}))
verdict(len(memory.kg.get_triples()) != 1, memory.kg.get_triples())
