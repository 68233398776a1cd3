"""Entities in SQLite cannot be read from async code: another thread asks."""

import asyncio

from helping import entity_model, place, verdict
from langchain_classic.memory import ConversationEntityMemory, SQLiteEntityStore

memory = ConversationEntityMemory(
    llm=entity_model(),
    entity_store=SQLiteEntityStore(session_id="ana", db_file=place("e.db")),
)
try:
    loaded = asyncio.run(memory.aload_memory_variables({"input": "Maya?"}))
except Exception as error:
    verdict(fault=True, detail=repr(error))
else:
    verdict("Maya" not in loaded["entities"], loaded)
