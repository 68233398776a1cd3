"""A question of messages goes to the embedding model as it is."""

from helping import vectors, verdict
from langchain_classic.memory import VectorStoreRetrieverMemory
from langchain_core.messages import HumanMessage

store = vectors()
store.add_texts(["about bees"])
memory = VectorStoreRetrieverMemory(retriever=store.as_retriever())
try:
    found = memory.load_memory_variables({"input": [HumanMessage("bees")]})["history"]
except Exception as error:
    verdict(fault=True, detail=repr(error))
else:
    verdict(found != "about bees", found)
