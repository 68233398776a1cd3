"""A triple without brackets loses its first and last letters."""

from helping import model, verdict
from langchain_community.memory.kg import ConversationKGMemory

memory = ConversationKGMemory(llm=model("Maya, likes, tea"))
memory.save_context({"input": "Maya likes tea"}, {"output": "nice"})
found = memory.kg.get_triples()
verdict(found not in ([], [("Maya", "tea", "likes")]), found)
