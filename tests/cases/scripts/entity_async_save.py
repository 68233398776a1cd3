"""An awaited save of the entity memory writes no summary (langchain#40618)."""

import asyncio

from helping import entity_model, verdict
from langchain_classic.memory import ConversationEntityMemory

memory = ConversationEntityMemory(llm=entity_model())
said = {"input": "Maya maps comets"}


async def turn():
    await memory.aload_memory_variables(said)
    await memory.asave_context(said, {"output": "noted"})


asyncio.run(turn())
kept = memory.entity_store.get("Maya")
verdict(kept != "Maya is an astronomer.", f"kept {kept!r}")
