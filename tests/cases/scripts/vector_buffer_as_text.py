"""Text of the vector token buffer is taken apart into characters."""

from helping import model, vectors, verdict
from langchain_classic.memory import ConversationVectorStoreTokenBufferMemory

memory = ConversationVectorStoreTokenBufferMemory(
    llm=model(), retriever=vectors().as_retriever(), max_token_limit=99
)
memory.save_context({"input": "hello"}, {"output": "hi"})
found = memory.load_memory_variables({"input": "x"})["history"]
whole = isinstance(found, str) or any("Human: hello" in str(part) for part in found)
verdict(not whole, repr(found[-3:]))
