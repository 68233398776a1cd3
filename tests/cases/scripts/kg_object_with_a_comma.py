"""A triple whose object has a comma is dropped."""

from helping import model, verdict
from langchain_community.memory.kg import ConversationKGMemory

memory = ConversationKGMemory(llm=model("(Maya, lives in, Paris, France)"))
memory.save_context({"input": "Maya lives in Paris"}, {"output": "nice"})
found = memory.kg.get_triples()
verdict(found != [("Maya", "Paris, France", "lives in")], found)
