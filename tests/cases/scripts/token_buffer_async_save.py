"""An awaited save of the token buffer prunes nothing (langchain#40618)."""

import asyncio

from helping import model, verdict
from langchain_classic.memory import ConversationTokenBufferMemory

memory = ConversationTokenBufferMemory(llm=model(), max_token_limit=4)


async def talk():
    for n in range(5):
        await memory.asave_context({"input": f"question {n}"}, {"output": f"reply {n}"})


asyncio.run(talk())
text = memory.load_memory_variables({})["history"]
verdict("question 0" in text, text)
