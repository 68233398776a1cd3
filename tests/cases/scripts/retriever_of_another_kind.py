"""A retriever that wraps another one is refused (langchain#13624, #16261)."""

from helping import verdict
from langchain_classic.memory import VectorStoreRetrieverMemory
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever


class Wrapping(BaseRetriever):
    def _get_relevant_documents(self, query, *, run_manager):
        return [Document(f"about {query}")]


try:
    memory = VectorStoreRetrieverMemory(retriever=Wrapping())
    text = memory.load_memory_variables({"input": "bees"})["history"]
except Exception as error:
    verdict(fault=True, detail=repr(error))
else:
    verdict(text != "about bees", text)
