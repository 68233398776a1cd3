"""An awaited save notes no time, so that a later flush fails (langchain#40618)."""

import asyncio

from helping import model, texts, vectors, verdict
from langchain_classic.memory import ConversationVectorStoreTokenBufferMemory

store = vectors()
memory = ConversationVectorStoreTokenBufferMemory(
    llm=model(), retriever=store.as_retriever(), max_token_limit=3, return_messages=True
)
turn = {"input": "where is the key"}, {"output": "under the mat outside"}
asyncio.run(memory.asave_context(*turn))
try:
    memory.save_remainder()
except IndexError as error:
    verdict(fault=True, detail=repr(error))
else:
    verdict(not any("under the mat" in text for text in texts(store)), texts(store))
