"""A window cannot be loaded over an async engine (langchain#22021, #23716)."""

import asyncio

from helping import place, verdict
from langchain_classic.memory import ConversationBufferWindowMemory
from langchain_community.chat_message_histories import SQLChatMessageHistory
from sqlalchemy.ext.asyncio import create_async_engine


async def talk():
    engine = create_async_engine("sqlite+aiosqlite:///" + place("h.db"))
    memory = ConversationBufferWindowMemory(
        chat_memory=SQLChatMessageHistory("s", connection=engine), k=2
    )
    await memory.asave_context({"input": "hello"}, {"output": "hi"})
    loaded = await memory.aload_memory_variables({})
    await engine.dispose()
    return loaded["history"]


try:
    text = asyncio.run(talk())
except ValueError as error:
    verdict(fault=True, detail=error)
else:
    verdict(text != "Human: hello\nAI: hi", text)
